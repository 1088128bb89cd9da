"""Lesson 1, Counting Letters: how an average counts, and what a model needs for it."""

import itertools
import math

import numpy as np

from . import lesson_1_interventions as interventions
from . import measuring, trainings

TASK = 1
TEN = range(1, 11)  # 21 to 30 are left to repeat everything with seeds that no page has seen.


def run(edit=None, flags=""):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


# The rows of the tables: what a reader calls it, what is trained, and the seeds.
MAIN, SUM, START = "`main.py`", "C: a sum", (run(flags="--steps 1"), TEN)
LINEUP = {"equal weights": "A", "learnt weights": None, "fixed weights, × 100": "B 100.0"}
APART = {MAIN: (run(), TEN)}
APART |= {f"{edit}: {what}": (run(edit), TEN) for edit, what in {
    "A": "all weights equal", "B 100.0": "fixed weights", "C": "a sum", "D": "no residual",
    "E": "no layer norm", "A+E": "equal weights, no layer norm",
    "A+F": "equal weights, a ReLU in place of layer norm",
    "A+E+G": "equal weights, no layer norm, a dense layer for each output step",
    "H": "no √depth", "I": "separate keys and values", "J": "additive score",
    "H+K": "bounded logits", "I+K": "bounded logits", "J+K": "bounded logits",
    "H+L": "equal weights at first", "I+L": "equal weights at first", "J+L": "equal weights at first",
    "I+M": "frozen keys",
}.items()}  # fmt: skip
RUNS = [*APART.values(), START]
LENGTHS = range(1, 21)
TEXTS = ("AABB", "AAAA", "AAAAAAAAAA", "          ")
SHOWN = " BC CBBAA "  # The sequence that the lesson shows.


def report(trained):
    """Print the figures of the lesson and of its laboratory, with the models of a trainings.Trainings."""
    print_heatmaps(trained)
    print_counting(trained)
    print_changed_weights(trained)
    print_lineup(trained)
    print_lengths(trained)
    print_limits(trained)
    print_rows(trained)
    print_saturation()


# --- Where it looks, and how that counts ----------------------------------------------------------------


def ratios(model):
    """Return the preferences over a blank and over another letter, geometric means over the output steps."""
    logarithms = np.log(interventions.preferences(model))
    return np.exp(logarithms[:, 0].mean()), np.exp(logarithms[:, 1:].mean())


def print_heatmaps(trained):
    """Print how weights compare before and after the training, and what the models answer to some texts."""
    rows, groups = [], {"before": trained.models(*START), "after": trained.models(*APART[MAIN])}
    for when, group in groups.items():
        found = np.array([interventions.preferences(model) for model in group])
        largest = sum(interventions.weights_of(one).argmax(axis=1) == [1, 2, 3] for one in group).sum()
        less = (found[:, :, :1] < found[:, :, 1:]).all(axis=(1, 2)).sum()
        cells = [measuring.spread(column) for column in (found[..., 0].ravel(), found[..., 1:].ravel())]
        right = measuring.columns(scores(group), "%", "{:.3f}")
        rows.append([when, *cells, f"{largest} of {3 * len(group)}", f"{less} of {len(group)}", *right])
    head = ["", "× a blank's", "× another letter's", "on the own letter", "blank less", "right", "loss"]
    measuring.table("The own letter's weight, each output step by itself", head, rows)
    cells = measuring.columns([ratios(model) for model in groups["after"]], "{:.2f}", "{:.2f}")
    print("\nMeans over the output steps of a model:", ", ".join(cells))
    for text in TEXTS:
        print(f"\n`--input {text!r}`: {measuring.shares(TASK, groups['after'], text)}")


def mass_by_count(model, length=10):
    """Return the mean total weight of output step 0 on 'A', for each count of 'A' from 0 to 8."""
    data = measuring.fresh(TASK, 40000, max_len=length)
    mass = (model(data.inputs)[1].numpy()[:, 0] * (data.letters == 1)).sum(axis=-1)
    return [mass[data.answers[:, 0] == count].mean() for count in range(9)]


def mass_formula(counts, blank, letter, length=10):
    """Return the total weight on a letter that occurs counts times, int (counts,), averaged over the rest.

    Each of the other elements is a blank or one of two other letters with the same probability; a blank has
    the weight 1 / blank of the letter that is looked for, another letter 1 / letter.
    """
    found = []
    for count in counts:
        rest = length - count
        blanks = np.arange(rest + 1)
        chances = [math.comb(rest, int(n)) * (1 / 3) ** n * (2 / 3) ** (rest - n) for n in blanks]
        others = blanks / blank + (rest - blanks) / letter
        found.append((count / (count + others) * chances).sum() if count else 0.0)
    return np.array(found)


def print_counting(trained):
    """Print the total weight on 'A' for each count: measured, by the formula, and where weights are fixed."""
    group = trained.models(*APART[MAIN])
    blank, letter = np.exp(np.log([ratios(model) for model in group]).mean(axis=0))
    masses = np.array([mass_by_count(model) for model in group])
    formulas = [mass_formula(np.arange(9), *pair) for pair in ((blank, letter), (1, 1), (100, 100))]
    rows = [[n, measuring.spread(masses[:, n]), *(f"{one[n]:.2f}" for one in formulas)] for n in range(9)]
    title = f"Total weight on 'A', with {blank:.2f} times a blank's and {letter:.2f} times another letter's"
    measuring.table(title, ["n", "measured", "formula", "equal", "× 100"], rows)
    apart = abs(masses.mean(axis=0) - formulas[0]).max()
    print(f"\nThe formula differs from the mean by {apart:.3f} at most")


def print_changed_weights(trained):
    """Print what other weights do in a trained model, and with its last layer trained again."""
    rows, group = [], trained.models(*APART[MAIN])
    for name, change in interventions.CHANGES.items():
        found = [interventions.look_or_reader(model, change) for model in group]
        rows.append([name, *measuring.columns(found, "%", "%")])
    keep = interventions.CHANGES["as they are"]
    found = [interventions.look_or_reader(model, keep) for model in trained.models(*START)]
    rows.append(["before the training", *measuring.columns(found, "%", "%")])
    measuring.table("Changed weights", ["weights", "right", "last layer trained again"], rows)
    cells = measuring.columns([interventions.moved_weight(one) for one in group], *["%"] * 4)
    head = ["the other count comes out", "within one of it", "the answer stays", "control: its own count's"]
    measuring.table("The total weight on 'A' set to what is usual for another count", head, [cells])


def lineup(trained, text=SHOWN):
    """Return the mean weights on a text, a dict from equal, learnt and fixed weights to float (3, length)."""
    inputs, groups = measuring.spell(TASK, text).inputs, {}
    for label, edit in LINEUP.items():
        groups[label] = np.mean([one(inputs)[1].numpy()[0] for one in trained.models(run(edit), TEN)], axis=0)
    return groups


def print_lineup(trained):
    """Print three heatmaps of one sequence, and how many answers are right by the count that is there."""
    for label, weights in lineup(trained).items():
        print(f"\n{label}, {SHOWN!r}:\n{np.array2string(weights, precision=2, suppress_small=True)}")
    data, rows = measuring.fresh(TASK), []
    for label, edit in LINEUP.items():
        found = [measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers
                 for model in trained.models(run(edit), TEN)]  # fmt: skip
        by_count = [[one[data.answers == n].mean() for one in found] for n in range(7)]
        whole = measuring.percent(one.all(axis=-1).mean() for one in found)
        rows.append([label, whole, *map(measuring.percent, by_count)])
    measuring.table("Line-up: right, and answers right by count", ["", "sequences", *range(7)], rows)


# --- Shares ---------------------------------------------------------------------------------------------


def predicted_at(length, halves="even"):
    """Return the chance that 10 · n / length rounds to n for each of the three counts n, exactly.

    Halves are rounded to the "even" count or "up".
    """
    seen = np.arange(length + 1) * 10 / length
    fits = (np.rint(seen) if halves == "even" else np.floor(seen + 0.5)) == np.arange(length + 1)
    chance = 0
    for a, b, c in itertools.product(np.flatnonzero(fits).tolist(), repeat=3):
        if a + b + c <= length:
            ways = math.comb(length, a) * math.comb(length - a, b) * math.comb(length - a - b, c)
            chance += ways / 4**length
    return chance


def curves_by_length(trained, row):
    """Return the sequences right at LENGTHS, float (seeds, lengths), for models trained at length 10."""
    data = [measuring.fresh(TASK, 4000, seed=length, max_len=length) for length in LENGTHS]
    return np.array([[measuring.score(measuring.outputs(model, one.inputs), one.answers)[0] for one in data]
                     for model in trained.models(*row)])  # fmt: skip


def print_lengths(trained):
    """Print what models that were trained at length 10 say at other lengths."""
    labels, rows = (MAIN, "A: all weights equal", SUM), []
    curves = [curves_by_length(trained, APART[label]) for label in labels]
    for index, length in enumerate(LENGTHS):
        predicted = [f"{predicted_at(length, halves):.1%}" for halves in ("even", "up")]
        rows.append([length, *predicted, *(measuring.percent(curve[:, index]) for curve in curves)])
    head = ["length", "10 · n / length rounds to n, halves to even", "halves up", *labels]
    measuring.table("Sequences right, trained at length 10", head, rows)


def print_limits(trained):
    """Print where answers change while a share rises, and what that says of single sequences."""
    group = trained.models(*APART[MAIN])
    found = [np.array([interventions.limits(model, step) for step in range(3)]) for model in group]
    columns = np.concatenate(found).T
    rows = [[f"{n} becomes {n + 1}", measuring.spread(column)] for n, column in enumerate(columns)]
    measuring.table("Ten times the share at which an answer changes, of 30 output steps", ["", "at"], rows)
    cells = []
    for length in (9, 10, 11):
        data = measuring.fresh(TASK, 4000, seed=length, max_len=length)
        seen, each = 10 * data.answers / length, []
        rounds = (np.rint(seen) == data.answers).all(axis=-1)
        for model, edges in zip(group, found, strict=True):
            right = measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers
            by_limits = [np.searchsorted(edges[step], seen[:, step], side="right") for step in range(3)]
            own, right = (np.transpose(by_limits) == data.answers).all(axis=-1), right.all(axis=-1)
            each.append([right.mean(), (right == rounds).mean(), (right & rounds).mean() / rounds.mean(),
                         (right & ~rounds).mean(), (right == own).mean()])  # fmt: skip
        cells.append([length, f"{rounds.mean():.1%}", *measuring.columns(each, *["%"] * 5)])
    head = ["length", "rounding says right", "right", "rounding agrees", "right where rounding says so"]
    head += ["right against rounding", "limits agree"]
    measuring.table("Sequence by sequence", head, cells)


# --- The parts ------------------------------------------------------------------------------------------


def scores(group):
    """Return the fraction of sequences right and the loss in nats of each model of a list."""
    data = measuring.fresh(TASK)
    return [measuring.score(measuring.outputs(model, data.inputs), data.answers) for model in group]


def print_rows(trained):
    """Print a table of all trainings; then each, with how many kinds its output steps have in view."""
    cells, each, data = [], [], measuring.fresh(TASK)
    for label, row in APART.items():
        group = trained.models(*row)
        scored, seen = scores(group), np.array([interventions.in_view(model) for model in group])
        answers = [(measuring.outputs(one, data.inputs).argmax(axis=-1) == data.answers) for one in group]
        right = np.array([one.mean(axis=0) for one in answers])
        views = [right[seen == kinds] for kinds in (4, 3, 2, 1)]
        views = [f"{measuring.percent(some)}, {len(some)}" if len(some) else "" for some in views]
        median = f"{100 * np.median([right for right, _ in scored]):.1f}%"
        cells.append([label, *measuring.columns(scored, "%", "{:.3f}"), median, *views])
        each.append(f"{label}: {' '.join(f'{100 * right:.1f}' for right, _ in sorted(scored))}")
    head = ["", "right", "loss", "median", "answers right with four kinds in view", "three", "two", "one"]
    measuring.table("Take it apart", head, cells)
    print("\nSequences right, in %, each training:\n\n" + "\n".join(each), flush=True)


def print_saturation():
    """Print how uneven the weights of random queries and keys are, without and with the division."""
    rows = [[depth, *(f"{interventions.entropy(depth, divisor):.2f}" for divisor in (1, depth**0.5))]
            for depth in (4, 16, 64, 256, 1024)]  # fmt: skip
    measuring.table("Entropy of the weights; at most ln 10 = 2.30", ["depth", "q·k", "q·k / √depth"], rows)
