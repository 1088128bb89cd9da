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
PLAIN, ASKING, ITSELF, ONE_STEP = setup(flags=""), setup(), setup("A"), setup(flags=f"{SELF} --steps 1")
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
PAIR = "A, 4,000 steps", "`--self_att`, 4,000 steps"
SETUPS = [(each, TEN) for each in (ONE_STEP, *ALL.values())]
BESIDE = {"Task 2": PLAIN, "Task 2 `--self_att`": ASKING}
SETUPS += [(each, TWENTY) for each in (*BESIDE.values(), *(LONG[label] for label in PAIR))]
SCORES = ["sequences right", "counts right", "differences right"]
LOSSES = ["loss", "loss of the counts", "loss of the difference"]


def scores(model):
    """Return what is right of sequences, of counts, of differences, and the loss of the same three."""
    answers, chances = interventions.cases().answers, interventions.cases().chances
    logits = model(interventions.cases().inputs)[0].numpy().astype(float)
    right = logits.argmax(axis=-1) == answers
    logits -= logits.max(axis=-1, keepdims=True)
    chosen = np.take_along_axis(logits, answers[..., None], -1)[..., 0]
    losses = chances @ (np.log(np.exp(logits).sum(axis=-1)) - chosen)
    rights = right.all(axis=1), right[:, :3].mean(axis=1), right[:, 3]
    return *(chances @ np.column_stack(rights)), losses.mean(), losses[:3].mean(), losses[3]


def compare_scores(title, groups, each=False):
    """Print what is right and the losses for groups of models."""
    measuring.compare(title, ["", *SCORES, *LOSSES], groups, scores, *["%"] * 3, *["{:.3f}"] * 3, each=each)


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
    compare_scores("Right and loss", groups, each=True)
    print_pairs({label: cache.models(LONG[label], TWENTY) for label in PAIR})
    trio = {label: groups[f"{label}, 1,000 steps"] for label in TRIO}
    print_weights(trio | {"B": groups[MIXED]}, groups[BLIND])
    interventions.report(trio["`--self_att`"], cache.models(ONE_STEP, TEN), groups[BLIND])


def print_pairs(pair):
    """Print in how many of twenty pairs of training runs with one seed the first has the smaller loss."""
    wins = np.sum([np.less(*map(scores, models))[4:] for models in zip(*pair.values(), strict=True)], axis=0)
    head = ["the first", "the second", "smaller loss of the counts", "of the difference"]
    title = "In how many pairs with one seed, of twenty, the first has the smaller loss"
    measuring.table(title, head, [[*pair, *wins]])


def print_weights(groups, blind):
    """Print to what output step 3 attends: letters, and other output steps."""
    head = ["the difference step's weight, relative to a blank", "on an 'A'", "on a 'B'", "on a 'C'"]
    head += ["the largest of the four over the smallest"]
    title, forms = "The difference step's weights on letters", ["{:.2f}"] * 4
    measuring.compare(title, head, groups, interventions.beside_a_blank, *forms)
    rows = {label: [interventions.first_states(model) for model in groups[label]]
            for label in ("plain", "`--self_att`")}  # fmt: skip
    rows["F"] = list(map(interventions.blind_states, blind))
    head = ["A ≠ B: weight", "on the larger count", "on the smaller", "on 'C'", "on itself"]
    head += ["the larger one gets more"]
    title, forms = "The difference step's weights on output steps", [*["{:.2f}"] * 4, "%"]
    measuring.compare(title, head, rows, interventions.on_counts, *forms)
