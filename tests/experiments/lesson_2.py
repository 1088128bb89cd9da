"""Lesson 2, Difference: what self-attention adds, which model does without it, and where it is needed."""

import math

import numpy as np

from . import lesson_2_interventions as interventions
from . import measuring, trainings

TASK = 2
SELF = "--self_att"
TEN, TWENTY = range(1, 11), range(1, 21)


def setup(edit=None, flags=SELF):
    """Return a trainings.Setup of this lesson."""
    return trainings.Setup(TASK, edit, flags)


# The rows of the tables: what a page calls them, and what is trained.
PLAIN, ASKING, ITSELF = setup(flags=""), setup(), setup("A")
TRIO = {"plain": PLAIN, "`--self_att`": ASKING, "A": ITSELF}
BY_STEPS = {f"{label}, 1,000 steps": each for label, each in TRIO.items()}
LONG = {
    f"{label}, 4,000 steps": each._replace(flags=f"{each.flags} --steps 4000".strip())
    for label, each in TRIO.items()
}
MIXED, BLIND = "B: that, and mixed with the average", "F: as it learns to"
EDITED = {
    "C: a second layer norm": setup("C", ""),
    MIXED: setup("B"),
    "G: only to itself": setup("G"),
    BLIND: setup("F"),
    "F+B: to all four equally": setup("F+B"),
    "F+B, 4,000 steps": setup("F+B", f"{SELF} --steps 4000"),
}
ALL = BY_STEPS | LONG | EDITED
SETUPS = [(each, TEN) for each in ALL.values()]
BESIDE = {"Task 2": PLAIN, "Task 2 `--self_att`": ASKING}
SETUPS += [(each, TWENTY) for each in BESIDE.values()]
SCORES = ["sequences right", "counts right", "differences right"]


def scores(model):
    """Return what is right of sequences, of counts, of differences, three fractions."""
    answers, chances = interventions.cases().answers, interventions.cases().chances
    right = model(interventions.cases().inputs)[0].numpy().argmax(axis=-1) == answers
    return chances @ np.column_stack([right.all(axis=1), right[:, :3].mean(axis=1), right[:, 3]])


def compare_scores(title, groups, each=False):
    """Print what is right for groups of models."""
    measuring.compare(title, ["", *SCORES], groups, scores, *["%"] * 3, each=each)


def weights_over_difference(model, differences=range(-6, 7)):
    """Return the mean weights of output step 3 for each A − B, float (differences, 4)."""
    weights = interventions.all_weights(interventions.first_states(model))[:, 3]
    answers, chances = interventions.cases().answers, interventions.cases().chances
    signed = answers[:, 0] - answers[:, 1]
    return np.array([np.average(weights[signed == difference], 0, chances[signed == difference])
                     for difference in differences])  # fmt: skip


def report(cache):
    """Print the tables of the laboratory of Lesson 2, with the models of a trainings.ModelCache."""
    measuring.beside_the_original(TASK, {label: cache.models(each, TWENTY) for label, each in BESIDE.items()})
    print(f"\nA difference of 1, the best guess without any letter: {2 * math.comb(20, 11) / 2**20:.1%}")
    groups = {label: cache.models(each, TEN) for label, each in ALL.items()}
    compare_scores("Right", groups, each=True)
    trio = {label: groups[f"{label}, 1,000 steps"] for label in TRIO}
    rows = {label: trio[label] for label in ("plain", "`--self_att`")}
    head = ["the difference step's weights on letters", "the largest over the smallest"]
    measuring.compare("On letters", head, rows, interventions.preference, "{:.2f}")
    rows = {label: list(map(interventions.first_states, trio[label])) for label in ("plain", "`--self_att`")}
    head = ["A ≠ B: weight", "on the larger count", "on the smaller", "on 'C'", "on itself"]
    title, forms = "The difference step's weights on output steps", [*["{:.2f}"] * 4, "%"]
    head += ["the larger one gets more"]
    measuring.compare(title, head, rows, interventions.on_counts, *forms)
    interventions.report(trio["`--self_att`"], groups[BLIND])
