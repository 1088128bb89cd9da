"""The transformer: where a transformer must look, and what it does where it looks."""

import collections
import math
import types

import formula
import numpy as np

from . import edits, measuring, programs

TASK, HEADS = "transformer", 4
FIVE, TEN, TWENTY = range(1, 6), range(1, 11), range(1, 21)


def setup(edit=None, flags=""):
    """Return an edits.Setup of this program."""
    return edits.Setup(TASK, edit, flags)


AS_IT_IS, UNMASKED = setup(), setup("J")
# Where it may look: what a page calls a row, and what is trained with --layers, if any, and an edit.
LOOKS = {
    "as it is": (None, ""),
    "G 1: equal weights in the first layer": ("G 1", ""),
    "G 2: equal weights in the second layer": ("G 2", ""),
    "`--layers 1`": (None, "--layers 1"),
    "G 1 and G 2: equal weights in both": ("G 1+G 2", ""),
}
_, FIRST_EQUAL, *SLOW = LOOKS
EIGHT = "--pairs 8 --steps 2000"


def looks(flags, seeds, labels=tuple(LOOKS)):
    """Return rows of LOOKS, trained with these flags, as a dict from label to (setup, seeds)."""
    return {label: (setup(LOOKS[label][0], f"{LOOKS[label][1]} {flags}".strip()), seeds) for label in labels}


TABLES = {  # What a page calls a column, and rows of (setup, seeds).
    "four pairs, 1,500 steps": looks("", FIVE) | looks("", TWENTY, ["as it is"]),
    "four pairs, 7,500 steps": looks("--steps 7500", FIVE, SLOW),
    "eight pairs, 2,000 steps": looks(EIGHT, FIVE) | looks(EIGHT, TEN, ["as it is"]),
    "eight pairs, 4,000 steps": looks("--pairs 8 --steps 4000", TEN, ["as it is"]),
    "eight pairs, 10,000 steps": looks("--pairs 8 --steps 10000", FIVE, SLOW),
    "right": {"I: no positions": (setup("I"), FIVE)},
}
SETUPS = [row for rows in TABLES.values() for row in rows.values()] + [(UNMASKED, FIVE)]


# --- What is right ----------------------------------------------------------------------------------------


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


def outputs(model, words):
    """Return logits, float (samples, words, vocabulary), and weights, float (layers, samples, heads, ...)."""
    parts = [model(part) for part in np.array_split(words, max(1, len(words) // 1000))]
    logits = np.concatenate([part.numpy() for part, _ in parts])
    return logits, np.concatenate([np.array(weights) for _, weights in parts], axis=1)


def right(model):
    """Return the fraction of first questions right, if a model reads nothing beyond."""
    texts = texts_of(model)
    logits, _ = outputs(model, texts.words[:, : texts.first + 1])
    return (logits[:, -1].argmax(axis=-1) == texts.words[:, texts.first + 1]).mean()


def reading_and_writing(model):
    """Return the fraction right if a model reads the whole text, and if it reads up to the question."""
    texts = texts_of(model)
    logits, _ = outputs(model, texts.words[:, :-1])
    reads = logits[:, texts.first].argmax(axis=-1) == texts.words[:, texts.first + 1]
    return reads.mean(), right(model)


# --- What a trained model does ----------------------------------------------------------------------------


def right_if_equal(model):
    """Return a dict from what is changed to the fraction right, in a list."""
    texts, found = texts_of(model, 2000), {}
    for layer in (1, 2):
        reference = formula.of(model, {f"block_{layer}/attention": 0})
        chances = reference.transformer({"layers": 2, "heads": HEADS}, texts.words[:, : texts.first + 1])
        said = chances[:, -1].argmax(axis=-1)
        found[f"logits of layer {layer} × 0"] = [(said == texts.words[:, texts.first + 1]).mean()]
    return found


def where_heads_attend(model):
    """Return two mean weights, each of the head where it is largest.

    In the first layer, that of an introduced pet on its name; in the last, of the first question on its pet.
    """
    texts = texts_of(model, 2000)
    _, weights = outputs(model, texts.words[:, : texts.first + 1])
    pets = np.arange(1, texts.first, 2)
    of_pets = weights[0][:, :, pets, pets - 1].mean(axis=(0, 2))  # (heads,)
    samples = np.arange(len(texts.words))
    of_question = weights[-1][samples, :, texts.first, 2 * texts.asked + 1].mean(axis=0)  # (heads,)
    return of_pets.max(), of_question.max()


def after_first_layer(model, words, weights=None):
    """Return the vectors after the first block, float (samples, words, hidden).

    Weights, float (samples, words, words), take the place of those of all its heads.
    """
    reference = formula.of(model)
    return reference.block("block_1", reference.embed_words(words), HEADS, weights)


def answers_from(model, vectors):
    """Return what a model says after the last word, int (samples,), by its vectors after the first block."""
    reference = formula.of(model)
    return reference.next_words(reference.block("block_2", vectors, HEADS))[:, -1].argmax(axis=-1)


def swapped(model):
    """Return a dict from what is swapped to the fractions of answers: the other pet, the pet of the text.

    The name asked for and another name, where their pets differ: in the text; or in the text only for the
    vectors after the first layer of their two pets, whose words stay, or of all others (activation patching).
    """
    texts = texts_of(model, 5000)
    words = texts.words[:, : texts.first + 1]
    samples = np.arange(len(words))
    shift = np.random.default_rng(0).integers(1, texts.pairs, len(words))
    own, other = 2 * texts.asked, 2 * ((texts.asked + shift) % texts.pairs)  # Places of names.
    text = words.copy()
    text[samples, own], text[samples, other] = words[samples, other], words[samples, own]
    at_pets = np.zeros(words.shape, bool)
    at_pets[samples, own + 1] = at_pets[samples, other + 1] = True
    mine, changed = after_first_layer(model, words), after_first_layer(model, text)
    different = words[samples, own + 1] != words[samples, other + 1]
    cases = {
        "nothing": mine,
        "two names in the text": changed,
        "after the first layer, the vectors of their pets": np.where(at_pets[..., None], changed, mine),
        "after the first layer, the vectors of all other words": np.where(at_pets[..., None], mine, changed),
    }
    found = {}
    for label, vectors in cases.items():
        said = answers_from(model, vectors)[different]
        found[label] = [(said == words[samples, place + 1][different]).mean() for place in (other, own)]
    return found


def with_shares_exchanged(model):
    """Exchange shares of a name in the first layer's means, in a model whose first layer has equal weights.

    A mean of t words holds 1 / t of each. The two means are those at the asked name's pet and at the last
    pet; the rest of each keeps its proportions. Neither the first pair is asked for nor the last one.

    Returns:
        A dict from the name to the fractions of answers: the last pet, the asked name's pet.
    """
    texts = texts_of(model)
    last = texts.first - 1
    own = 2 * texts.asked + 1
    pets = texts.words[np.arange(len(own)), own]
    cases = (texts.asked > 0) & (own != last) & (pets != texts.words[:, last])
    words, own, pets = texts.words[cases, : texts.first + 1], own[cases], pets[cases]
    samples, length = np.arange(len(own)), texts.first + 1
    equal = np.tri(length) / np.arange(1, length + 1)[:, None]
    found = {}
    names = {"nothing": None, "the name asked for": own - 1, "control: the first name": 0 * own}
    for label, name in names.items():
        weights = np.tile(equal, (len(own), 1, 1))
        for place, other in ((own, last), (last, own)) if label != "nothing" else ():
            share = 1 / (other + 1)
            weights[samples, place] *= np.reshape((1 - share) / (1 - 1 / (place + 1)), (-1, 1))
            weights[samples, place, name] = share
        said = answers_from(model, after_first_layer(model, words, weights))
        found[label] = [(said == words[:, last]).mean(), (said == pets).mean()]
    return found


# --- The tables -------------------------------------------------------------------------------------------


def compare_scores(title, groups, each=False, head="right"):
    """Print for groups of models what is right."""
    measuring.compare(title, ["", head], groups, lambda model: [right(model)], "%", each=each)


def report():
    """Print the figures of the transformer."""
    cases = {4: "four pairs", 8: "eight pairs"}
    rows = [[text, f"{guesser(pairs):.2%}", f"{lowest_loss(pairs):.4f}"] for pairs, text in cases.items()]
    measuring.table("By counting", ["", "the guesser is right", "the lowest loss"], rows)
    for head, rows in TABLES.items():
        compare_scores(head, {label: edits.models(*row) for label, row in rows.items()}, each=True, head=head)
    models, first_equal = edits.models(AS_IT_IS, TEN), edits.models(setup("G 1"), FIVE)
    groups = {"as it is": models, "J: no mask": edits.models(UNMASKED, FIVE)}
    head = ["", "reads the whole text", "reads up to the question"]
    measuring.compare("Without a mask", head, groups, reading_and_writing, "%", "%")
    measuring.compare_cases("Changed after the training", ["", "right"], models, right_if_equal, "%")
    head = ["", "first layer: a pet's weight on its owner's name, in the best head"]
    head += ["second layer: the question's weight on its pet, in the best head"]
    groups = {"as it is": edits.models(AS_IT_IS, TWENTY), FIRST_EQUAL: first_equal}
    measuring.compare("Where heads attend", head, groups, where_heads_attend, *["{:.2f}"] * 2)
    head = ["G 1: shares exchanged", "says the last pet", "says the pet of the text"]
    measuring.compare_cases("Shares exchanged", head, first_equal, with_shares_exchanged, "%", "%")
    head = ["swapped", "says the other pet", "says the pet of the original text"]
    measuring.compare_cases("Swapped names", head, models, swapped, "%", "%")


REPORTS = {"transformer": report}
