"""Task 1, Counting Letters: how an average counts, and what a model needs for it."""

import functools
import math

import formula
import numpy as np

from . import edits, measuring, programs

TASK, MEASURES = 1, ["right"]
TEN, TWENTY = range(1, 11), range(1, 21)
setup = functools.partial(edits.Setup, TASK)

MAIN, FIXED = "`main.py`", "B: its own letter × 100"
LINEUP = [setup("A"), setup(), setup("B 100")]  # The models of the vote.
PARTS = {
    MAIN: (setup(), TEN),
    "A: equal weights": (setup("A"), TEN),
    "A+F: equal weights, a ReLU in place of layer norm": (setup("A+F"), TEN),
}
RESIDUAL = {MAIN: (setup(), TEN), "C: no residual connection": (setup("C"), TEN)}
DELAYED = {"without help": (setup("I"), TEN), "K: equal weights at first": (setup("I+K"), TEN)}
B_LONG = setup("B 100", "--steps 8000")
TRAINED = {"2,000 steps": (setup(), TEN), "8,000 steps": (setup(flags="--steps 8000"), TEN)}
SETUPS = [(setup(), TWENTY), (setup("B 100"), TEN), (B_LONG, TEN)]
SETUPS += [row for rows in (PARTS, RESIDUAL, DELAYED, TRAINED) for row in rows.values()]
SHOWN = " BC CBBAA "  # The sequence that the page of the task shows.
FACTORS = {"× 0": 0, "× ½": 0.5, "× 1": 1, "× 2": 2}  # Of the scores.


def accuracy(model):
    """Return the fraction of sequences that a model gets right, in a list."""
    return [measuring.right(model, measuring.new_data(TASK))]


def report():
    """Print the figures of the task."""
    models, beside = edits.models(setup(), TEN), {"Task 1": edits.models(setup(), TWENTY)}
    head = ["", "this project: right"]
    measuring.compare("Beside the original", head, beside, accuracy, "%", each=True)
    checkpoints = [next(edits.folder(setup("A"), seed).glob("*.npz")) for seed in TEN]
    bright = [programs.load_model(edits.load(TASK), path) for path in checkpoints]
    head = ["its own letter's weight, as a multiple of", "a blank's", "another letter's", "sequences right"]
    measuring.compare(
        "A row's weight on its own letter",
        head,
        {MAIN: models, "A, tested without the edit": bright},
        lambda model: [*ratios(model), *accuracy(model)],
        *["{:.2f}", "{:.2f}", "%"],
    )
    measured, counts = [weight_by_count(model) for model in models], np.arange(11)
    title, head = "Total weight on 'A', by the number of 'A's", ["n", *counts]
    measuring.compare(title, head, {"measured": measured}, list, *["{:.2f}"] * 11)
    difference = abs(np.array(measured) - 3.1 * counts / (3.1 * counts + 10 - counts)).max()
    print(f"\nThe formula with r = 3.1 differs from any of the models by {difference:.3f} at most.")
    print_factors(models)
    rows = [[FIXED, *(measuring.summary([accuracy(model)[0] for model in edits.models(each, TEN)], "%")
                      for each in (setup("B 100"), B_LONG))]]  # fmt: skip
    measuring.table("The line-up", ["sequences right, after", "2,000 steps", "8,000 steps"], rows)
    lengths = (5, 9, 10, 11, 20)
    data = [measuring.new_data(TASK, 4000, seed=length, max_len=length) for length in lengths]
    measuring.compare(
        "Right, trained at length 10",
        ["`--sample_len`", *lengths],
        {MAIN: models},
        lambda model: [measuring.right(model, each) for each in data],
        *["%"] * 5,
    )
    measuring.compare("Parts taken away", ["", "right"], edits.groups(PARTS), accuracy, "%", each=True)
    head = ["right", "I: separate keys and values"]
    measuring.compare("Held back, and not", head, edits.groups(DELAYED), accuracy, "%")


def report_residual():
    """Print what models without the residual connection get right."""
    head = ["", "right"]
    measuring.compare("No residual connection", head, edits.groups(RESIDUAL), accuracy, "%", each=True)


def report_errors():
    """Print where the model errs, and how it reads a count."""
    head = ["", "all sequences", "no letter six times or more", "some letter is", "of all errors, there"]
    title, forms = f"Where it errs (some letter is in {share_with_six():.2%})", ["%"] * 4
    measuring.compare(title, head, edits.groups(TRAINED), where_it_errs, *forms, each=True)
    for label, row in edits.groups(TRAINED).items():
        ten = [model(measuring.spell(TASK, "A" * 10).inputs)[0].numpy()[0].argmax(axis=-1) for model in row]
        print(f"\nWhat the models after {label} answer to ten 'A's: {measuring.in_words(ten)}")
    chances = readout(edits.models(setup(), TEN))
    rows = [[count, *map("{:.2f}".format, row)] for count, row in enumerate(chances)]
    head = ["'A's", *range(11)]
    measuring.table("The probability of each answer, by the number of 'A's, a mean over models", head, rows)


REPORTS = {"task_1": report, "task_1_errors": report_errors, "task_1_residual": report_residual}


def ratios(model):
    """Return how many times a blank's and another letter's weight the own letter has, geometric means."""
    weights = model(measuring.spell(TASK, " ABC").inputs)[1].numpy()[0]  # The ratios hold on any text.
    logarithms = np.log(np.diag(weights[:, 1:])[:, None] / weights.astype(float))  # 0 for the own letter.
    return np.exp(logarithms[:, 0].mean()), np.exp(logarithms[:, 1:].sum() / 6)


def share_with_six():
    """Return in what share of all sequences of ten letters one occurs six times or more; only one can."""
    return 3 * sum(math.comb(10, count) * 3 ** (10 - count) for count in range(6, 11)) / 4**10


def where_it_errs(model):
    """Return the fractions right: of all sequences, of those with no letter six times or more, of the others.

    And what fraction of all errors is made in the last of these.
    """
    data = measuring.new_data(TASK)
    right = (model(data.inputs)[0].numpy().argmax(axis=-1) == data.answers).all(axis=-1)
    six = (data.answers >= 6).any(axis=-1)
    return right.mean(), right[~six].mean(), right[six].mean(), six[~right].mean()


@functools.cache
def with_so_many():
    """Return 4,000 random sequences with each number of 'A's among ten letters, a list of eleven."""
    rest = np.random.default_rng(0).choice((0, 2, 3), (4000, 10))
    letters = [np.where(np.arange(10) < count, 1, rest) for count in range(11)]
    return [measuring.given_letters(TASK, each) for each in letters]


def weight_by_count(model):
    """Return the mean total weight of output step 0 on the 'A's, for each number of them from 0 to 10."""
    weights = [(model(data.inputs)[1].numpy()[:, 0] * (data.letters == 1)) for data in with_so_many()]
    return [each.sum(axis=-1).mean() for each in weights]


def readout(models):
    """Return how probable each answer of output step 0 is, float (11, 11), a row for each number of 'A's."""
    chances = [formula.softmax(model(data.inputs)[0].numpy()[:, 0].astype(float)).mean(axis=0)
               for model in models for data in with_so_many()]  # fmt: skip
    return np.reshape(chances, (len(models), 11, 11)).mean(axis=0).round(2)


def with_factor(model, data, factor):
    """Return what a model answers if a factor multiplies the scores, and its weights then."""
    reference = formula.of(model, {"attention": factor})
    return reference.lesson(data.inputs).argmax(axis=-1), *reference.weights["attention"]


def print_factors(models):
    """Print what factors at the scores do."""
    shown, weights, answers = measuring.spell(TASK, SHOWN), [], []
    for factor in FACTORS.values():
        pairs = [with_factor(model, shown, factor) for model in models]
        weights.append(measuring.summary([each[0, 0, shown.letters[0] == 1].sum() for _, each in pairs]))
        answers.append(measuring.in_words(answers[0] for answers, _ in pairs))
    rows = [["weight on the two 'A's", *weights], ["answers", *answers]]
    measuring.table(f"Scores multiplied, {SHOWN!r}", ["scores", *FACTORS], rows)
    data = measuring.new_data(TASK)
    right = [(with_factor(model, data, 0)[0] == data.answers).all(axis=-1).mean() for model in models]
    print(f"\nRight, scores × 0: {measuring.summary(right, '%')}")
    short = [with_factor(model, measuring.spell(TASK, "AB BC"), 1)[0][0] for model in models]
    print(f"\nWhat `main.py` answers to AB BC: {measuring.in_words(short)}")
