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
PLAIN, ASKING = setup(flags=""), setup()
SHORT = {
    "plain, 1,000 steps": PLAIN,
    "`--self_att`, 1,000 steps": ASKING,
    "A, 1,000 steps": setup("A"),
}
LONG = {
    "plain, 4,000 steps": setup(flags="--steps 4000"),
    "`--self_att`, 4,000 steps": setup(flags=f"{SELF} --steps 4000"),
    "A, 4,000 steps": setup("A", f"{SELF} --steps 4000"),
}
BLIND = "F: as it learns to"
EDITED = {
    "C: a second layer norm": setup("C", ""),
    "B: that, and mixed with the average": setup("B"),
    "G: only to itself": setup("G"),
    BLIND: setup("F"),
    "F+B: to all four equally": setup("F+B"),
    "F+B, 4,000 steps": setup("F+B", f"{SELF} --steps 4000"),
}
ALL = SHORT | LONG | EDITED
SETUPS = [(each, TEN) for each in ALL.values()] + [(PLAIN, TWENTY), (ASKING, TWENTY)]
SCORES = ["sequences right", "counts right", "differences right"]


def scores(model):
    """Return what is right of sequences, of counts, of differences, three fractions."""
    answers, chances = interventions.cases().answers, interventions.cases().chances
    right = model(interventions.cases().inputs)[0].numpy().argmax(axis=-1) == answers
    return chances @ np.column_stack([right.all(axis=1), right[:, :3].mean(axis=1), right[:, 3]])


def compare_scores(title, groups, each=False):
    """Print what is right for groups of models."""
    measuring.compare(title, ["", *SCORES], groups, scores, *["%"] * 3, each=each)


def weights_over_difference(model, differences):
    """Return the mean weights of output step 3 for each A − B, float (differences, 4)."""
    weights = interventions.all_weights(interventions.first_states(model))[:, 3]
    answers, chances = interventions.cases().answers, interventions.cases().chances
    signed = answers[:, 0] - answers[:, 1]
    return np.array([np.average(weights[signed == difference], 0, chances[signed == difference])
                     for difference in differences])  # fmt: skip


def report(cache):
    """Print the tables of the laboratory of Lesson 2, with the models of a trainings.ModelCache."""
    beside = {"Task 2": cache.models(PLAIN, TWENTY), "Task 2 `--self_att`": cache.models(ASKING, TWENTY)}
    measuring.beside_the_original(TASK, beside)
    print(f"\nA difference of 1, the best guess without any letter: {2 * math.comb(20, 11) / 2**20:.1%}")
    groups = {label: cache.models(each, TEN) for label, each in ALL.items()}
    compare_scores("Right", groups, each=True)
    asking = cache.models(ASKING, TEN)
    rows = {"plain": cache.models(PLAIN, TEN), "`--self_att`": asking}
    head = ["the difference step's weights on letters", "the largest over the smallest"]
    measuring.compare("On letters", head, rows, interventions.preference, "{:.2f}")
    interventions.compare_on_counts("The difference step's weights on output steps", rows)
    interventions.report(asking, groups[BLIND])
