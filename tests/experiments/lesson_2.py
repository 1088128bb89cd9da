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
LONG = {
    f"{label}, {steps:,} steps": each._replace(flags=f"{each.flags} --steps {steps}".strip())
    for steps in (2000, 4000)
    for label, each in TRIO.items()
}
BY_STEPS = {f"{label}, 1,000 steps": each for label, each in TRIO.items()} | LONG
NORMS = {
    "D: a second scale and shift": setup("D", ""),
    "E: a second norm": setup("E", ""),
    "C: both, a second layer norm": setup("C", ""),
    "B: both, and mixed with the average": setup("B"),
}
BLIND = {"G: only to itself": setup("G"), "F: as it learns to": setup("F")}
AGAIN = {label: LONG[label] for label in ("A, 4,000 steps", "`--self_att`, 4,000 steps")}
ELEVEN_TO_TWENTY = range(11, 21)
SETUPS = [(each, TEN) for each in (ONE_STEP, *BY_STEPS.values(), *NORMS.values(), *BLIND.values())]
SETUPS += [(each, ELEVEN_TO_TWENTY) for each in AGAIN.values()]
BESIDE = {"Task 2": PLAIN, "Task 2 `--self_att`": ASKING}
SETUPS += [(each, TWENTY) for each in BESIDE.values()]
PAIRS = [(f"A, {steps} steps", f"`--self_att`, {steps} steps") for steps in ("1,000", "2,000", "4,000")]
PAIRS += [("B: both, and mixed with the average", "C: both, a second layer norm")]
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
    groups = {label: cache.models(each, TEN) for label, each in (BY_STEPS | NORMS | BLIND).items()}
    measuring.beside_the_original(TASK, {label: cache.models(each, TWENTY) for label, each in BESIDE.items()})
    print(f"\nA difference of 1, the best guess without any letter: {2 * math.comb(20, 11) / 2**20:.1%}")
    compare_scores("Right and loss", groups, each=True)
    print_pairs(groups, {label: cache.models(each, ELEVEN_TO_TWENTY) for label, each in AGAIN.items()})
    trio = {label: groups[f"{label}, 1,000 steps"] for label in TRIO}
    asking, untrained = trio["`--self_att`"], cache.models(ONE_STEP, TEN)
    print_probe(asking, untrained)
    print_weights(trio, groups, asking, untrained)
    interventions.report(asking, untrained, groups["F: as it learns to"])


def print_pairs(groups, again):
    """Print in how many pairs of training runs with one seed the first has the smaller loss."""
    rows = []
    pairs = [(first, second, groups[first], groups[second]) for first, second in PAIRS]
    pairs += [(*(f"{label}, seeds 11 to 20" for label in again), *again.values())]
    for first, second, *models in pairs:
        wins = np.sum([np.less(*map(scores, pair))[4:] for pair in zip(*models, strict=True)], axis=0)
        rows.append([first, second, *wins])
    head = ["the first", "the second", "smaller loss of the counts", "of the difference"]
    measuring.table("In how many pairs with one seed the first has the smaller loss", head, rows)


def print_probe(asking, untrained):
    """Print what a new last layer for the difference reads from networks that have learnt nothing."""
    queries = [interventions.random_query(model, seed) for seed, model in enumerate(asking)]
    pairs = zip(untrained, queries, strict=True)
    states = {"random queries, untrained": [interventions.first_states(*pair) for pair in pairs]}
    head = ["", "with the new last layer"]
    measuring.compare("From a network that has learnt nothing", head, states, interventions.probed, "%")


def print_weights(trio, groups, asking, untrained):
    """Print to what output step 3 attends: letters, and other output steps."""
    mixing = {"B": groups["B: both, and mixed with the average"]}
    blind = groups["F: as it learns to"]
    rows = trio | mixing
    head = ["the difference step's weight, relative to a blank", "on an 'A'", "on a 'B'", "on a 'C'"]
    head += ["the largest of the four over the smallest"]
    title, forms = "The difference step's weights on letters", ["{:.2f}"] * 4
    measuring.compare(title, head, rows, interventions.beside_a_blank, *forms)
    rows = {label: list(map(interventions.first_states, models)) for label, models in trio.items()}
    queries = [interventions.random_query(model, seed) for seed, model in enumerate(asking)]
    pairs = zip(untrained, queries, strict=True)
    rows["random queries, untrained"] = [interventions.first_states(*pair) for pair in pairs]
    rows["F"] = list(map(interventions.blind_states, blind))
    head = ["A ≠ B: weight", "on the larger count", "on the smaller", "on 'C'", "on itself"]
    head += ["the larger one gets more"]
    title, forms = "The difference step's weights on output steps", [*["{:.2f}"] * 4, "%"]
    measuring.compare(title, head, rows, interventions.on_counts, *forms)
    rows = {f"{label}, never used": trio[label] for label in ("plain", "A")}
    title, head = "What the attention to each other would be", ["", "a count on itself"]
    measuring.compare(title, head, rows, interventions.on_itself, "{:.2f}")
