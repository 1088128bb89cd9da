"""The transformer: where a transformer must look, and what it does where it looks."""

import collections
import functools
import math
import types

import formula
import numpy as np

from . import edits, measuring, programs

TASK, HEADS, MEASURES = "transformer", 4, ["right"]
FIVE, TEN, TWENTY = range(1, 6), range(1, 11), range(1, 21)
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
_, FIRST_EQUAL, *SLOW = LOOKS
TABLES = {}  # What a page calls a column, and rows of (setup, seeds).
for column, flags, labels, most in (
    ("four pairs, 1,500 steps", "", LOOKS, TWENTY),
    ("four pairs, 7,500 steps", "--steps 7500", SLOW, None),
    ("eight pairs, 2,000 steps", "--pairs 8 --steps 2000", LOOKS, TEN),
    ("eight pairs, 10,000 steps", "--pairs 8 --steps 10000", SLOW, None),
):
    TABLES[column] = {label: (setup(LOOKS[label][1], f"{LOOKS[label][0]} {flags}".strip()),
                              most if label == "as it is" else FIVE) for label in labels}  # fmt: skip
SETUPS = [row for rows in TABLES.values() for row in rows.values()]


def guesser(pairs):
    """Return the share of first questions right, if the answer is the pet that occurs most often.

    Each of the pairs has one of 2 * pairs pets. Counted exactly: one pet after the other chooses its pairs.
    """
    ways = collections.Counter({(0, 0): 1})  # (pairs that have a pet, most of one pet) to the number of ways.
    for _ in range(2 * pairs):
        following = collections.Counter()
        for (taken, most), number in ways.items():
            for more in range(pairs - taken + 1):
                following[taken + more, max(most, more)] += number * math.comb(pairs - taken, more)
        ways = following
    tables = {most: number for (taken, most), number in ways.items() if taken == pairs}
    return sum(most * number for most, number in tables.items()) / pairs / sum(tables.values())


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


def right_if_equal(model):
    """Return a dict from what is changed to the fraction right, in a list."""
    texts, found = texts_of(model, 2000), {}
    for layer in (1, 2):
        reference = formula.of(model, {f"block_{layer}/attention": 0})
        chances = reference.transformer({"layers": 2, "heads": HEADS}, texts.words[:, : texts.first + 1])
        said = chances[:, -1].argmax(axis=-1)
        found[f"scores of layer {layer} × 0"] = [(said == texts.words[:, texts.first + 1]).mean()]
    return found


def where_heads_attend(model):
    """Return two mean weights, each of the head where it is largest.

    In the first layer, that of an introduced pet on its name; in the last, of the first question on its pet.
    """
    texts = texts_of(model, 2000)
    weights = np.array(model(texts.words[:, : texts.first + 1])[1])  # (layers, samples, heads, words, words)
    pets = np.arange(1, texts.first, 2)
    of_pets = weights[0][:, :, pets, pets - 1].mean(axis=(0, 2))  # (heads,)
    samples = np.arange(len(texts.words))
    of_question = weights[-1][samples, :, texts.first, 2 * texts.asked + 1].mean(axis=0)  # (heads,)
    return of_pets.max(), of_question.max()


def swapped(model):
    """Return a dict from what is swapped to the fractions of answers: the other pet, the pet of the text.

    The name asked for and another name, where their pets differ, but only for the vectors after the first
    layer of their two pets, whose words stay, or of all other words (activation patching).
    """
    texts, reference = texts_of(model, 5000), formula.of(model)
    words = texts.words[:, : texts.first + 1]
    samples = np.arange(len(words))
    shift = np.random.default_rng(0).integers(1, texts.pairs, len(words))
    own, other = 2 * texts.asked, 2 * ((texts.asked + shift) % texts.pairs)  # Places of names.
    text = words.copy()
    text[samples, own], text[samples, other] = words[samples, other], words[samples, own]
    at_pets = np.zeros((*words.shape, 1), bool)
    at_pets[samples, own + 1] = at_pets[samples, other + 1] = True
    mine, changed = (reference.block("block_1", reference.embed_words(each), HEADS) for each in (words, text))
    different = words[samples, own + 1] != words[samples, other + 1]
    found = {}
    for label, vectors in {
        "nothing": mine,
        "after the first layer, the vectors of their pets": np.where(at_pets, changed, mine),
        "after the first layer, the vectors of all other words": np.where(at_pets, mine, changed),
    }.items():
        chances = reference.next_words(reference.block("block_2", vectors, HEADS))[different, -1]
        said = chances.argmax(axis=-1)
        found[label] = [(said == words[samples, place + 1][different]).mean() for place in (other, own)]
    return found


def report():
    """Print the figures of the transformer."""
    cases = {4: "four pairs", 8: "eight pairs"}
    rows = [[text, f"{guesser(pairs):.2%}", f"{lowest_loss(pairs):.4f}"] for pairs, text in cases.items()]
    measuring.table("By counting", ["", "the guesser is right", "the lowest loss"], rows)
    for head, rows in TABLES.items():
        measuring.compare(head, ["", head], edits.groups(rows), accuracy, "%", each=True)
    models = edits.models(AS_IT_IS, TEN)
    measuring.compare_cases("Changed after the training", ["", "right"], models, right_if_equal, "%")
    head = ["", "first layer: a pet's weight on its owner's name, in the best head"]
    head += ["second layer: the question's weight on its pet, in the best head"]
    groups = {"as it is": edits.models(AS_IT_IS, TWENTY), FIRST_EQUAL: edits.models(setup("G 1"), FIVE)}
    measuring.compare("Where heads attend", head, groups, where_heads_attend, *["{:.2f}"] * 2)
    head = ["swapped", "says the other pet", "says the pet of the original text"]
    measuring.compare_cases("Swapped names", head, models, swapped, "%", "%")


REPORTS = {"transformer": report}
