"""Task 1, Counting Letters: how an average counts, and what a model needs for it."""

import collections
import functools
import itertools
import math

import formula
import numpy as np

from . import edits, measuring, programs

TASK = 1
TEN, TWENTY = range(1, 11), range(1, 21)
scores = functools.partial(measuring.scores, TASK)
compare_scores = functools.partial(measuring.compare_scores, TASK)


def setup(edit=None, flags=""):
    """Return an edits.Setup of this task."""
    return edits.Setup(TASK, edit, flags)


# The rows of the tables: what the page calls them, and what is trained.
MAIN = "`main.py`"
LINEUP = {
    "A: equal weights": setup("A"),
    MAIN: setup(),
    "B: its own letter × 100": setup("B"),
}
LONG = {label: each._replace(flags="--steps 8000") for label, each in LINEUP.items()}
PARTS = {
    MAIN: setup(),
    "D: no residual, so no query is added": setup("D"),
    "A: equal weights": setup("A"),
    "A+E: equal weights, no layer norm": setup("A+E"),
    "A+F: equal weights, a ReLU in place of layer norm": setup("A+F"),
}
DELAYED = {"without help": setup("I"), "K: equal weights at first": setup("I+K")}
SETUPS = [(each, TEN) for rows in (LINEUP, LONG, PARTS, DELAYED) for each in rows.values()]
SETUPS += [(setup(), TWENTY)]
SHOWN = " BC CBBAA "  # The sequence that the page of the task shows.
FACTORS = {"× 0": 0, "× ½": 0.5, "× 1": 1, "× 1½": 1.5, "× 2": 2, "× 2½": 2.5, "× 3": 3}  # Of the logits.


def report():
    """Print the figures of the task."""
    measuring.beside_the_original(TASK, {"Task 1": edits.models(setup(), TWENTY)})
    print_ratios()
    print_counting_curve()
    print_factors()
    rows = []
    for label, each in LINEUP.items():
        groups = edits.models(each, TEN), edits.models(LONG[label], TEN)
        rows.append([label, *(measuring.percent(scores(model)[0] for model in group) for group in groups)])
    measuring.table("The line-up", ["sequences right, after", "2,000 steps", "8,000 steps"], rows)
    lengths = (5, 9, 10, 11, 20)
    right = np.array([right_by_length(model, lengths) for model in edits.models(setup(), TEN)])
    rows = [[MAIN, *map(measuring.percent, right.T)]]
    measuring.table("Right, trained at length 10", ["`--sample_len`", *lengths], rows)
    compare_scores(
        "Parts taken away", {label: edits.models(each, TEN) for label, each in PARTS.items()}, each=True
    )
    print(f"\nThe most that any model with A+E can have right: {most_in_one_order():.2%}")
    rows = [[label, measuring.percent(scores(model)[0] for model in edits.models(each, TEN))]
            for label, each in DELAYED.items()]  # fmt: skip
    measuring.table("Held back, and not", ["right", "I: separate keys and values"], rows)


REPORTS = {"task_1": report}


# --- The weights ----------------------------------------------------------------------------------------


def ratios(model):
    """Return how many times a blank's and another letter's weight the own letter has, geometric means."""
    weights = model(measuring.spell(TASK, " ABC").inputs)[1].numpy()[0]  # The ratios hold on any text.
    own = np.diag(weights[:, 1:])[:, None]
    logarithms = np.log(own / weights.astype(float))  # 0 for the own letter itself.
    return np.exp(logarithms[:, 0].mean()), np.exp(logarithms[:, 1:].sum() / 6)


def print_ratios():
    """Print how weights compare, also where no training needed them."""
    plain = edits.load(TASK)
    checkpoints = [next(edits.folder(setup("A"), seed).glob("*.npz")) for seed in TEN]
    groups = {
        MAIN: edits.models(setup(), TEN),
        "A, tested without the edit": [programs.load_model(plain, path) for path in checkpoints],
    }
    head = ["its own letter's weight, as a multiple of", "a blank's", "another letter's", "sequences right"]

    def measure(model):
        return *ratios(model), scores(model)[0]

    measuring.compare("A row's weight on its own letter", head, groups, measure, "{:.2f}", "{:.2f}", "%")


def weight_by_count(model, step=0):
    """Return the mean total weight of an output step on its letter, for each count among ten from 0 to 10."""
    own, means = step + 1, []
    rest = np.random.default_rng(0).choice([kind for kind in range(4) if kind != own], (4000, 10))
    for count in range(11):
        letters = np.where(np.arange(10) < count, own, rest)
        weights = model(measuring.given_letters(TASK, letters).inputs)[1].numpy()[:, step]
        means.append((weights * (letters == own)).sum(axis=-1).mean())
    return means


def weight_formula(counts, blank, letter, length=10):
    """Return the total weight on a letter that occurs counts times, float (counts,), averaged over the rest.

    Each of the other elements is a blank or one of two other letters with the same probability; a blank has
    the weight 1 / blank of the letter that is looked for, another letter 1 / letter.
    """
    means = []
    for count in counts:
        rest = length - count
        blanks = np.arange(rest + 1)
        chances = [math.comb(rest, int(n)) * (1 / 3) ** n * (2 / 3) ** (rest - n) for n in blanks]
        others = blanks / blank + (rest - blanks) / letter
        means.append((count / (count + others) * chances).sum() if count else 0.0)
    return np.array(means)


def print_counting_curve():
    """Print the total weight on 'A' for each count, and how far the formula is from it."""
    models, counts = edits.models(setup(), TEN), np.arange(11)
    measured = [weight_by_count(model) for model in models]
    title, head = "Total weight on 'A', by the number of 'A's", ["n", *counts]
    measuring.compare(title, head, {"measured": measured}, list, *["{:.2f}"] * 11)
    means = np.exp(np.log([ratios(model) for model in models]).mean(axis=0))
    difference = abs(np.mean(measured, axis=0) - weight_formula(counts, *means)).max()
    print(f"\nThe formula differs from the mean over the models by {difference:.3f} at most.")


# --- Changed weights ------------------------------------------------------------------------------------


def with_factor(model, data, factor):
    """Return what a model answers if a factor multiplies the logits, and its weights then."""
    reference = formula.of(model, {"attention": factor})
    answers = reference.lesson(data.inputs).argmax(axis=-1)
    return answers, *reference.weights["attention"]


def by_factor(model):
    """Return what a model answers with each factor, and what the ruler says: both int (factors, samples, 3).

    The ruler says for which count the total weight on the own letter is usual without a factor, or nearest.
    """
    data, answers, totals = measuring.new_data(TASK), [], []
    own = data.letters[:, None] == np.arange(1, 4)[:, None]
    for factor in FACTORS.values():
        counts, weights = with_factor(model, data, factor)
        answers.append(counts)
        totals.append((weights * own).sum(axis=-1))
    usual = np.array([weight_by_count(model, step) for step in range(3)])
    return np.array(answers), abs(np.array(totals)[..., None] - usual).argmin(axis=-1)


def in_words(answers):
    """Return how often each answer is given, by the runs in a list of arrays: "4 5 4", "1 1 0 in 2 runs"."""
    counts = collections.Counter(" ".join(map(str, answer)) for answer in answers)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{answer} in {runs} run{'s' * (runs > 1)}" for answer, runs in counts.most_common())


def print_factors():
    """Print what factors at the logits do, and how far the counting curve predicts it."""
    models, shown, columns = edits.models(setup(), TEN), measuring.spell(TASK, SHOWN), []
    for factor in FACTORS.values():
        pairs = [with_factor(model, shown, factor) for model in models]
        totals = measuring.summary(weights[0, 0, shown.letters[0] == 1].sum() for _, weights in pairs)
        columns.append([totals, in_words(answers[0] for answers, _ in pairs)])
    weights, answers = zip(*columns, strict=True)
    rows = [["weight on the two 'A's", *weights], ["answers", *answers]]
    measuring.table(f"Logits multiplied, {SHOWN!r}", ["logits", *FACTORS], rows)

    counts, measured = measuring.new_data(TASK).answers, [by_factor(model) for model in models]
    right = [(answers[0] == counts).all(axis=-1).mean() for answers, _ in measured]
    print(f"\nRight, logits × 0: {measuring.percent(right)}")
    rows = {}
    for label, most in (("the model says the same", 0), ("it is off by one at most", 1)):
        rows[label] = [[(abs(answers - ruler)[ruler == count] <= most).mean() for count in range(11)]
                       for answers, ruler in measured]  # fmt: skip
    measuring.compare("All factors", ["the ruler says", *range(11)], rows, list, *["%"] * 11)
    print("\nThe highest answers:", *(answers.max() for answers, _ in measured))
    logits = [measuring.logits_of(model, measuring.spell(TASK, "AB BC").inputs) for model in models]
    print(f"\nWhat `main.py` answers to AB BC: {in_words(each[0].argmax(axis=-1) for each in logits)}")


# --- Other lengths, and a bound -------------------------------------------------------------------------


def right_by_length(model, lengths):
    """Return the sequences right at lengths, a list of float, of a model trained at length 10."""
    right = []
    for length in lengths:
        data = measuring.new_data(TASK, 4000, seed=length, max_len=length)
        answers = measuring.logits_of(model, data.inputs).argmax(axis=-1)
        right.append((answers == data.answers).all(axis=-1).mean())
    return right


def most_in_one_order(length=10):
    """Return the chance of the three counts of a sequence in increasing order, exactly.

    With equal weights and no layer norm, no model gets more right than as many sequences: its rows can have
    the same three counts right in one order only, and all orders have the same chance.
    """
    ways = 0
    for a, b, c in itertools.combinations_with_replacement(range(length + 1), 3):
        if a + b + c <= length:
            ways += math.comb(length, a) * math.comb(length - a, b) * math.comb(length - a - b, c)
    return ways / 4**length
