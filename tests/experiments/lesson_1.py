"""Lesson 1, Counting Letters: how an average counts, and what a model needs for it."""

import collections
import functools
import itertools
import math

import numpy as np

from . import lesson_1_interventions as interventions
from . import measuring, programs, trainings

TASK = 1
TEN, TWENTY = range(1, 11), range(1, 21)
scores = functools.partial(measuring.scores, TASK)
compare_scores = functools.partial(measuring.compare_scores, TASK)


def setup(edit=None, flags=""):
    """Return a trainings.Setup of this lesson."""
    return trainings.Setup(TASK, edit, flags)


# The rows of the tables: what a page calls them, what is trained, and the seeds.
MAIN = "`main.py`"
LINEUP = {
    "A: equal weights": setup("A"),
    MAIN: setup(),
    "B: its own letter × 100": setup("B"),
}
LONG = {label: lineup._replace(flags="--steps 8000") for label, lineup in LINEUP.items()}
PARTS = {
    MAIN: setup(),
    "D: no residual, so no query is added": setup("D"),
    "A: equal weights": setup("A"),
    "A+E: equal weights, no layer norm": setup("A+E"),
    "A+F: equal weights, a ReLU in place of layer norm": setup("A+F"),
}
LENGTHS = {MAIN: setup(), "C: sum, no layer norm": setup("C")}
DELAYED = {"H: no √depth": "H", "I: separate keys and values": "I", "J: additive score": "J"}
SETUPS = [(each, TEN) for rows in (LINEUP, LONG, PARTS, LENGTHS) for each in rows.values()]
SETUPS += [(setup(edit + more), TEN) for edit in DELAYED.values() for more in ("", "+K")]
SETUPS += [(setup(), TWENTY)]
TESTED_LENGTHS = range(1, 21)
SHOWN = " BC CBBAA "  # The sequence that the lesson shows.


def report(cache):
    """Print the figures of the lesson and of its laboratory, with the models of a trainings.ModelCache."""
    measuring.beside_the_original(TASK, {"Task 1": cache.models(setup(), TWENTY)})
    print_training(cache)
    print_counting_curve(cache)
    print_factors(cache)
    print_standard_deviations(cache)
    print_lineup(cache)
    print_lengths(cache)
    print_parts(cache)
    print_delayed(cache)


# --- The weights and the queries ------------------------------------------------------------------------


def print_training(cache):
    """Print how weights compare, also where no training needed them, and where queries point."""
    checkpoints = [cache.checkpoint(setup("A"), seed) for seed in cache.chosen(TEN)]
    groups = {
        MAIN: cache.models(setup(), TEN),
        "A, tested without the edit": [programs.load_model(cache.module(TASK), path) for path in checkpoints],
    }
    head = ["its own letter's weight, as a multiple of", "a blank's", "another letter's", "sequences right"]

    def measure(model):
        return *interventions.ratios(model), scores(model)[0]

    measuring.compare("A row's weight on its own letter", head, groups, measure, "{:.2f}", "{:.2f}", "%")
    cosines = measuring.summary(np.ravel([interventions.query_key_cosines(model) for model in groups[MAIN]]))
    print(f"\nThe cosine of an output step's query and its letter's key: {cosines}")


# --- The counting curve ---------------------------------------------------------------------------------


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


def print_counting_curve(cache):
    """Print the total weight on 'A' for each count, and how far the formula is from it."""
    models, counts = cache.models(setup(), TEN), np.arange(11)
    measured = [interventions.weight_by_count(model) for model in models]
    title, head = "Total weight on 'A', by the number of 'A's", ["n", *counts]
    measuring.compare(title, head, {"measured": measured}, list, *["{:.2f}"] * 11)
    ratios = np.exp(np.log([interventions.ratios(model) for model in models]).mean(axis=0))
    difference = abs(np.mean(measured, axis=0) - weight_formula(counts, *ratios)).max()
    print(f"\nThe formula differs from the mean over the models by {difference:.3f} at most.")


# --- Changed weights ------------------------------------------------------------------------------------


def in_words(answers):
    """Return how often each answer is given, by the runs in a list of arrays: "4 5 4", "1 1 0 in 2 runs"."""
    counts = collections.Counter(" ".join(map(str, answer)) for answer in answers)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{answer} in {runs} run{'s' * (runs > 1)}" for answer, runs in counts.most_common())


def print_factors(cache):
    """Print what factors at the logits do, and how far the counting curve predicts it."""
    models, shown, columns = cache.models(setup(), TEN), measuring.spell(TASK, SHOWN), []
    for factor in interventions.FACTORS.values():
        pairs = [interventions.with_factor(model, shown, factor) for model in models]
        totals = measuring.summary(weights[0, 0, shown.letters[0] == 1].sum() for _, weights in pairs)
        columns.append([totals, in_words(answers[0] for answers, _ in pairs)])
    weights, answers = zip(*columns, strict=True)
    rows = [["weight on the two 'A's", *weights], ["answers", *answers]]
    measuring.table(f"Logits multiplied, {SHOWN!r}", ["logits", *interventions.FACTORS], rows)

    counts, measured = measuring.new_data(TASK).answers, [interventions.by_factor(model) for model in models]
    right = [(answers[0] == counts).all(axis=-1).mean() for answers, _ in measured]
    print(f"\nRight, logits × 0: {measuring.percent(right)}")
    rows = {}
    for label, most in (("the model says the same", 0), ("it is off by one at most", 1)):
        rows[label] = [[(abs(answers - ruler)[ruler == count] <= most).mean() for count in range(11)]
                       for answers, ruler in measured]  # fmt: skip
    measuring.compare("All factors", ["the ruler says", *range(11)], rows, list, *["%"] * 11)
    print("\nThe highest answers:", *(answers.max() for answers, _ in measured))


# --- What layer norm divides by -------------------------------------------------------------------------


def print_standard_deviations(cache):
    """Print what layer norm divides by, how answers follow it, and what is said to half as many letters."""
    groups = {label: cache.models(each, TEN) for label, each in LINEUP.items()}
    title = "One vector or one deviation for all"
    head = ["", "right, one c for all", "right, one standard deviation for all"]
    measuring.compare(title, head, groups, interventions.same_for_all, "%", "%")
    data, means = measuring.new_data(TASK), []
    for model in groups[MAIN]:
        deviation = interventions.apart(model, data)[1][..., 0]
        means.append([deviation[data.answers == n].mean() for n in range(7)])
    head, rows = ["letters there", *range(7)], {"the standard deviation": means}
    measuring.compare("The mean standard deviation", head, rows, list, *["{:.2f}"] * 7)
    logits = [measuring.logits_of(model, measuring.spell(TASK, "AB BC").inputs) for model in groups[MAIN]]
    print(f"\nWhat `main.py` answers to AB BC: {in_words(each[0].argmax(axis=-1) for each in logits)}")


# --- The line-up ----------------------------------------------------------------------------------------


def print_lineup(cache):
    """Print how many sequences are right, also after longer training."""
    rows = []
    for label, each in LINEUP.items():
        groups = cache.models(each, TEN), cache.models(LONG[label], TEN)
        rows.append([label, *(measuring.percent(scores(model)[0] for model in group) for group in groups)])
    measuring.table("The line-up", ["sequences right, after", "2,000 steps", "8,000 steps"], rows)


# --- Other lengths --------------------------------------------------------------------------------------


def ways(counts, length):
    """Return how many sequences have these three counts, an int."""
    a, b, c = counts
    return math.comb(length, a) * math.comb(length - a, b) * math.comb(length - a - b, c)


def predicted_at(length):
    """Return the chance that 10 · n / length rounds to n for each of the three counts n, exactly."""
    fits = np.rint(np.arange(length + 1) * 10 / length) == np.arange(length + 1)
    triples = itertools.product(np.flatnonzero(fits).tolist(), repeat=3)
    return sum(ways(each, length) for each in triples if sum(each) <= length) / 4**length


def right_by_length(models, lengths=TESTED_LENGTHS):
    """Return the sequences right at lengths, float (models, lengths), of models trained at length 10."""
    right = []
    for model, length in itertools.product(models, lengths):
        data = measuring.new_data(TASK, 4000, seed=length, max_len=length)
        answers = measuring.logits_of(model, data.inputs).argmax(axis=-1)
        right.append((answers == data.answers).all(axis=-1).mean())
    return np.reshape(right, (-1, len(lengths)))


def print_lengths(cache):
    """Print what models that were trained at length 10 say at other lengths."""
    lengths = (5, 9, 10, 11, 20)
    curves = {label: right_by_length(cache.models(each, TEN), lengths) for label, each in LENGTHS.items()}
    rows = [[label, *map(measuring.percent, curve.T)] for label, curve in curves.items()]
    measuring.table("Right, trained at length 10", ["`--sample_len`", *lengths], rows)


# --- The parts, and the training -------------------------------------------------------------------------


def most_in_one_order(length=10):
    """Return the chance of the three counts of a sequence in increasing order, exactly.

    With equal weights and no layer norm, no model gets more right than as many sequences: its rows can have
    the same three counts right in one order only, and all orders have the same chance.
    """
    counts = itertools.combinations_with_replacement(range(length + 1), 3)
    return sum(ways(each, length) for each in counts if sum(each) <= length) / 4**length


def print_parts(cache):
    """Print what is right where parts are taken away, and the bound for A+E."""
    groups = {label: cache.models(each, TEN) for label, each in PARTS.items()}
    compare_scores("Parts taken away", groups, each=True)
    print(f"\nThe most that any model with A+E can have right: {most_in_one_order():.2%}")


def print_delayed(cache):
    """Print what three changes cost, and how equal weights at first help."""
    rows = []
    for label, more in (("without help", ""), ("K: equal weights at first", "+K")):
        groups = [cache.models(setup(edit + more), TEN) for edit in DELAYED.values()]
        cells = (measuring.percent(scores(model)[0] for model in models) for models in groups)
        rows.append([label, *cells])
    measuring.table("Held back, and not", ["right", *DELAYED], rows)
