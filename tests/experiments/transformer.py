"""The transformer: where a transformer must look, and what it does where it looks."""

import functools
import math
import types

import formula
import numpy as np

from . import edits, measuring, programs

TASK, MEASURES = "transformer", ["right"]
FIVE, TEN, TWENTY, FRESH = range(1, 6), range(1, 11), range(1, 21), range(701, 721)
setup = functools.partial(edits.Setup, TASK)
AS_IT_IS = setup()
# Where it may look: what a page calls a row, and what is trained with an edit or --layers.
LOOKS = {
    "as it is": ("", None),
    "G 1: equal weights in the first layer": ("", "G 1"),
    "G 2: equal weights in the second layer": ("", "G 2"),
    "`--layers 1`": ("--layers 1", None),
    "G 1 and G 2: equal weights in both": ("", "G 1+G 2"),
}
SLOW = list(LOOKS)[2:]
TABLES = {}  # What a page calls a column, and rows of (setup, seeds).
for column, flags, labels, most in (
    ("four pairs, 1,500 steps", "", LOOKS, TWENTY),
    ("four pairs, 7,500 steps", "--steps 7500", SLOW, None),
    ("eight pairs, 2,000 steps", "--pairs 8 --steps 2000", LOOKS, TEN),
    ("eight pairs, 10,000 steps", "--pairs 8 --steps 10000", SLOW, None),
):
    TABLES[column] = {label: (setup(LOOKS[label][1], f"{LOOKS[label][0]} {flags}".strip()),
                              most if label == "as it is" else FIVE) for label in labels}  # fmt: skip
HEADS = {  # Whose attention is moved: by the number of heads.
    "four heads": (AS_IT_IS, FRESH),
    "`--heads 1`": (setup(flags="--heads 1"), FRESH[:10]),
}
SETUPS = [row for rows in (*TABLES.values(), HEADS) for row in rows.values()]


def guesser(pairs):
    """Return the share of first questions right, if the answer is the pet that occurs most often.

    Each of the pairs has one of 2 * pairs pets. In how many ways no pet has more than `most` of the pairs is
    a coefficient of (1 + x + x² / 2! + … + x^most / most!)^(2 * pairs), times pairs!.
    """
    expected, pets = 1.0, 2 * pairs  # Some pet has at least one pair.
    for most in range(1, pairs):
        terms = [1 / math.factorial(power) for power in range(most + 1)]
        ways = math.factorial(pairs) * np.polynomial.polynomial.polypow(terms, pets)[pairs]
        expected += 1 - ways / pets**pairs  # How probable it is that some pet has more.
    return expected / pairs


def lowest_loss(pairs):
    """Return the mean loss, in nats per word, of one who knows how texts are made and recalls every pet."""
    total = 0
    for introduced in range(1, pairs + 1):
        total += introduced * math.log(2 * pairs)  # Their pets, any of 2 * pairs.
        for turn in range(1, introduced):
            total += math.log(2 * pairs - turn)  # Which new name comes.
            total += math.log((pairs - turn + 1) / (pairs - turn))  # That one comes, and not a question.
        total += math.log(pairs - introduced + 1)  # That a question comes, and not one more new name.
        total += (2 * pairs - introduced) * math.log(introduced)  # Which names are asked for.
    return total / pairs / (4 * pairs - 1)  # All answers are certain.


def texts_of(model, samples=10000):
    """Return texts that no training run has seen, with as many pairs as a model takes.

    Returns:
        .words: int (samples, 4 * pairs), places in the vocabulary.
        .first: int, the place of the first question; what follows it is right.
        .asked: int (samples,), which of the pairs that is.
    """
    pairs = model.embedding.input_dim // 4
    words = programs.load(TASK).next_batch(np.random.default_rng(1000), pairs, samples, introduced=pairs)
    first = 2 * pairs
    asked = (words[:, :first:2] == words[:, first, None]).argmax(axis=-1)
    return types.SimpleNamespace(words=words, first=first, asked=asked, pairs=pairs)


def right(model):
    """Return the fraction of first questions right, if a model reads nothing beyond."""
    texts = texts_of(model)
    parts = np.array_split(texts.words[:, : texts.first + 1], 10)
    said = np.concatenate([model(part)[0].numpy()[:, -1].argmax(axis=-1) for part in parts])
    return (said == texts.words[:, texts.first + 1]).mean()


def accuracy(model):
    """Return the fraction of first questions right, in a list."""
    return [right(model)]


class Moved(formula.Model):
    """A transformer in which `move`, a function, alters the weights of some heads of an attention."""

    def __init__(self, model, name, heads, move):
        super().__init__(formula.of(model).arrays)
        self.name, self.heads, self.move = name, heads, move

    def mix(self, name, query, key, value, mask=True):
        means, weights = super().mix(name, query, key, value, mask), self.weights[name]
        if name != self.name or len(weights) - 1 not in self.heads:
            return means
        self.move(weights[-1])
        return weights[-1] @ value


def heads_of(model):
    """Return how many heads a transformer has."""
    return model.blocks[0].attention.heads


def places_of(texts):
    """Return the places of the pets asked for and of others, int (samples,), and where their words differ."""
    samples = np.arange(len(texts.words))
    shift = np.random.default_rng(0).integers(1, texts.pairs, len(samples))
    own, other = 2 * texts.asked + 1, 2 * ((texts.asked + shift) % texts.pairs) + 1
    return own, other, texts.words[samples, own] != texts.words[samples, other]


def where_heads_attend(model):
    """Return two mean weights of each head, float (heads,) each.

    In the first layer, that of an introduced pet on its name; in the last, of the first question on its pet.
    """
    texts = texts_of(model, 2000)
    weights = np.array(model(texts.words[:, : texts.first + 1])[1])  # (layers, samples, heads, words, words)
    pets = np.arange(1, texts.first, 2)
    of_pets = weights[0][:, :, pets, pets - 1].mean(axis=(0, 2))
    samples = np.arange(len(texts.words))
    return of_pets, weights[-1][samples, :, texts.first, 2 * texts.asked + 1].mean(axis=0)


def best_heads(model):
    """Return the two weights of `where_heads_attend` in the heads where they are largest."""
    return [weights.max() for weights in where_heads_attend(model)]


def said(reference, words, heads):
    """Return the places in the vocabulary of what a formula.Model says after texts, int (samples,)."""
    return reference.transformer({"layers": 2, "heads": heads}, words)[:, -1].argmax(axis=-1)


def looks_moved(model):
    """Return a dict from what some heads do to the fractions of answers: the other pet, the pet of the text.

    In the second layer, the question gives another pet what it gave its own; or the word after that pet, what
    it gave the word after its own; or both. In the first layer, its pet gives the name before its owner's
    what it gave its owner's, in texts where there is one.
    """
    texts, heads = texts_of(model, 5000), heads_of(model)
    words, samples = texts.words[:, : texts.first + 1], np.arange(5000)
    (own, other, different), (of_pets, of_question) = places_of(texts), where_heads_attend(model)

    def to_other(*steps):
        def move(weights):
            row = weights[:, -1]
            given = [row[samples, own + step] for step in steps]
            for step in steps:
                row[samples, own + step] = 0
            for step, weight in zip(steps, given):
                row[samples, other + step] += weight

        return move

    def to_earlier(weights):
        usable = own > 1
        which, pet = samples[usable], own[usable]
        weights[which, pet, pet - 3] += weights[which, pet, pet - 1]
        weights[which, pet, pet - 1] = 0

    every, found = range(heads), {}
    for label, layer, which, move, counted in (
        ("nothing", 2, (), None, different),
        ("layer 2, best head: the weight on the pet", 2, (of_question.argmax(),), to_other(0), different),
        ("layer 2, all heads: the weight on the pet", 2, every, to_other(0), different),
        ("layer 2, all heads: the weight on the word after it", 2, every, to_other(1), different),
        ("layer 2, all heads: both", 2, every, to_other(0, 1), different),
        ("layer 1, best head: the pet's weight on its owner", 1, (of_pets.argmax(),), to_earlier, own > 1),
        ("layer 1, all heads: the pet's weight on its owner", 1, every, to_earlier, own > 1),
    ):
        answers = said(Moved(model, f"block_{layer}/attention", which, move), words, heads)[counted]
        found[label] = [(answers == words[samples, place][counted]).mean() for place in (other, own)]
    return found


def vectors_swapped(model):
    """Return a dict from what is swapped to the fractions of answers: the other pet, the pet of the text.

    The name asked for and another name, where their pets differ and neither is the last, but only for some
    of the vectors after the first layer (activation patching).
    """
    texts, reference, heads = texts_of(model, 5000), formula.of(model), heads_of(model)
    words, (own, other, different) = texts.words[:, : texts.first + 1], places_of(texts)
    samples, counted = np.arange(len(words)), different & (np.maximum(own, other) < texts.first - 1)
    text = words.copy()
    text[samples, own - 1], text[samples, other - 1] = words[samples, other - 1], words[samples, own - 1]
    mine, changed = (reference.block("block_1", reference.embed_words(each), heads) for each in (words, text))
    question, found = np.full_like(own, texts.first), {}
    for label, places in {
        "their pets": (own, other),
        "the words after their pets": (own + 1, other + 1),
        "the question": (question,),
    }.items():
        vectors = mine.copy()
        for place in places:
            vectors[samples, place] = changed[samples, place]
        chances = reference.next_words(reference.block("block_2", vectors, heads))[counted, -1]
        answers = chances.argmax(axis=-1)
        found[label] = [(answers == words[samples, place][counted]).mean() for place in (other, own)]
    return found


def right_if_equal(model):
    """Return a dict from what is changed to the fraction right, in a list."""
    texts, found = texts_of(model, 2000), {}
    for layer in (1, 2):
        reference = formula.of(model, {f"block_{layer}/attention": 0})
        answers = said(reference, texts.words[:, : texts.first + 1], heads_of(model))
        found[f"scores of layer {layer} × 0"] = [(answers == texts.words[:, texts.first + 1]).mean()]
    return found


def report():
    """Print the figures of the transformer."""
    cases = {4: "four pairs", 8: "eight pairs"}
    rows = [[text, f"{guesser(pairs):.2%}", f"{lowest_loss(pairs):.4f}"] for pairs, text in cases.items()]
    measuring.table("By counting", ["", "the guesser is right", "the lowest loss"], rows)
    for head, rows in TABLES.items():
        measuring.compare(head, ["", head], edits.groups(rows), accuracy, "%", each=True)


def report_moved():
    """Print how many models learn the task, and what those say whose attention is moved."""
    groups = edits.groups(HEADS)
    measuring.compare("How many learn", ["", "right"], groups, accuracy, "%", each=True)
    learnt = {name: [model for model in group if right(model) > 0.9] for name, group in groups.items()}
    head = ["", "first layer: a pet's weight on its owner's name, in the best head"]
    head += ["second layer: the question's weight on its pet, in the best head"]
    measuring.compare("Where heads attend", head, learnt, best_heads, *["{:.2f}"] * 2)
    for name, models in learnt.items():
        head = ["moved", "says the other pet", "says the pet of the text"]
        title = f"Moved, {name}, {len(models)} models"
        measuring.compare_cases(title, head, models, looks_moved, "%", "%", each=True)
        head[0], title = "swapped between the layers, the vectors of", f"Vectors swapped, {name}"
        measuring.compare_cases(title, head, models, vectors_swapped, "%", "%", each=True)
    models = learnt["four heads"]
    measuring.compare_cases("Changed after the training", ["", "right"], models, right_if_equal, "%")


REPORTS = {"transformer": report, "transformer_moved": report_moved}
