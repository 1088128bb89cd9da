"""Lesson 2, Difference: what self-attention adds, who does without it, and where it is needed."""

import itertools
import math

import numpy as np

from . import lesson_2_interventions as interventions
from . import measuring, trainings

TASK = 2
SELF = "--self_att"
TEN = range(1, 11)


def run(edit=None, flags=SELF):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


PLAIN, ASKING, BEFORE = run(flags=""), run(), run(flags=f"{SELF} --steps 1")
LONGER = {
    (name, steps): (run(edit, f"{flags} --steps {steps}".strip()), TEN)
    for name, edit, flags in (("plain", None, ""), ("`--self_att`", None, SELF), ("A", "A", SELF))
    for steps in (2000, 4000)
} | {("two heads", 4000): (run("E 2", f"{SELF} --steps 4000"), TEN)}
# The rows of each table: what a reader calls it, what is trained, and the seeds.
APART = {
    "without `--self_att`": (PLAIN, TEN),
    "`--self_att`": (ASKING, TEN),
    "A: each output step attends to itself alone": (run("A"), TEN),
    "B: all weights equal": (run("B"), TEN),
    "C: a second layer norm and nothing else": (run("C", ""), TEN),
    "D: output step 3 attends to all alike, each count to itself": (run("D"), TEN),
    "E: two heads": (run("E 2"), TEN),
    "I: a second scale and shift, but no second norm": (run("I", ""), TEN),
    "J: a second norm without scale and shift": (run("J", ""), TEN),
}
BLIND = {
    "G: to itself alone; the counts, too": (run("G"), TEN),
    "F: as learnt; the counts, too": (run("F"), TEN),
    "H: to all alike; the counts as learnt": (run("H"), TEN),
}
RUNS = [(BEFORE, TEN), *APART.values(), *LONGER.values(), *BLIND.values()]


def two_parts(model):
    """Return the fractions of sequences, of counts and of differences right, and the losses of all three."""
    data = measuring.fresh(TASK)
    logits = measuring.outputs(model, data.inputs)
    right = logits.argmax(axis=-1) == data.answers
    parts = slice(0, 4), slice(0, 3), slice(3, 4)
    losses = [measuring.score(logits[:, part], data.answers[:, part])[1] for part in parts]
    return right.all(axis=-1).mean(), right[:, :3].mean(), right[:, 3].mean(), *losses


def attended(weights, answers):
    """Return to what output step 3 attends where A ≠ B, five numbers.

    The mean weights on the larger count, the smaller, 'C', itself; how often the larger one gets more.

    Args:
        weights: float (batch, 4, 4).
        answers: int (batch, 4).
    """
    weights, answers = weights[answers[:, 3] > 0, 3], answers[answers[:, 3] > 0]
    larger, rows = np.where(answers[:, 0] < answers[:, 1], 1, 0), np.arange(len(answers))
    most, least = weights[rows, larger], weights[rows, 1 - larger]
    return most.mean(), least.mean(), weights[:, 2].mean(), weights[:, 3].mean(), (most > least).mean()


def each_head(model):
    """Return what `attended` does for each of two heads, the one with more on the larger count first."""
    data = measuring.fresh(TASK)
    halves = np.split(interventions.first_decoding(model, data.inputs), 2, axis=-1)
    found = [attended(interventions.all_weights(half), data.answers) for half in halves]
    return sorted(found, reverse=True)


def every_case(model):
    """Return the larger count's least part of the two weights in all sequences, for |A − B| from 1 to 10."""
    letters = np.array(list(itertools.combinations_with_replacement(range(4), 10)))
    data = measuring.solved(TASK, letters)
    pair = interventions.all_weights(interventions.first_decoding(model, data.inputs))[:, 3, :2]
    part = pair[np.arange(len(pair)), (data.answers[:, 0] < data.answers[:, 1]) * 1] / pair.sum(axis=1)
    return [part[data.answers[:, 3] == difference].min() for difference in range(1, 11)]


def weights_over_difference(model, differences=range(-6, 7)):
    """Return the mean weights of output step 3 for each A − B, float (differences, 4)."""
    data = measuring.fresh(TASK)
    weights = interventions.all_weights(interventions.first_decoding(model, data.inputs))[:, 3]
    signed = data.answers[:, 0] - data.answers[:, 1]
    return np.array([weights[signed == difference].mean(axis=0) for difference in differences])


def report(trained):
    """Print the tables of the laboratory of Lesson 2; trained is a trainings.Trainings."""
    print(f"\nA difference of 1, the best guess without any letter: {2 * math.comb(20, 11) / 2**20:.1%}")
    print_parts(trained, "Trained anew", APART, [(2, 1), (2, 4), (5, 1), (5, 3), (6, 1)])
    print_parts(trained, "Output step 3 has read nothing; it attends", BLIND, [(2, 1)])
    print_jumps(trained)
    print_attended(trained)
    interventions.report(*(trained.models(one, TEN) for one in (ASKING, BEFORE, PLAIN)))


def print_parts(trained, title, rows, pairs):
    """Print what is right, and the losses, for rows as in APART, and who wins in pairs with one seed.

    The pairs are two numbers of rows each: how often does the first have the smaller losses?
    """
    groups = {label: trained.models(*row) for label, row in rows.items()}
    head = ["right: sequences", "counts", "differences", "loss", "of the counts", "of the difference"]
    measuring.compare(title, head, groups, two_parts, *["%"] * 3, *["{:.3f}"] * 3, each=True)
    labels = list(rows)
    for one, other in pairs:
        first, second = (
            np.array([two_parts(model) for model in groups[labels[row]]]) for row in (one, other)
        )
        wins = ", ".join(f"{number} of {len(first)}" for number in (first < second)[:, 3:].sum(axis=0))
        print(f"\nSmaller with {labels[one]} than with {labels[other]}: loss, counts, difference in {wins}.")


def print_jumps(trained):
    """Print how often a printed loss after training step 500 is twice the one before, and what follows."""
    cells = []
    for label, (some, seeds) in APART.items():
        jumps = []
        for seed in trained.chosen(seeds):
            late = [loss for step, loss in trained.losses(some, seed) if step >= 500]
            jumps += [(seed, late[i : i + 4]) for i in range(len(late) - 1) if late[i + 1] > 2 * late[i]]
        whole = [jump for _, jump in jumps if len(jump) == 4]
        back = sum(jump[3] < jump[1] / 2 for jump in whole)
        cells.append([label, len({seed for seed, _ in jumps}), f"{back} of {len(whole)}"])
    head = ["", "trainings with a jump", "half of it is gone 100 training steps later"]
    measuring.table("Jumps of the printed loss", head, cells)


def print_attended(trained):
    """Print to what output step 3 attends where A ≠ B."""
    groups = {
        "`--self_att`": trained.models(ASKING, TEN),
        "F": trained.models(*BLIND["F: as learnt; the counts, too"]),
    }
    data = measuring.fresh(TASK)
    found = {label: [attended(model(data.inputs)[2].numpy(), data.answers) for model in group]
             for label, group in groups.items()}  # fmt: skip
    heads = [each_head(model) for model in trained.models(*APART["E: two heads"])]
    found["E, the head with more on the larger count"], found["E, the other"] = zip(*heads, strict=True)
    head = ["the larger count", "the smaller count", "'C'", "itself", "the larger gets more"]
    measuring.compare("Output step 3 attends, A ≠ B", head, found, list, *["{:.2f}"] * 4, "%")
    title, group = "The larger count's least part of the two, |A − B| =", {"": groups["`--self_att`"]}
    measuring.compare(title, range(1, 11), group, every_case, *["{:.2f}"] * 10)
