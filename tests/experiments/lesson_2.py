"""Lesson 2, Difference: what self-attention adds, which model does without it, and where it is needed."""

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
# The rows of each table, by the letter of an edit, what is trained, and the seeds.
APART = {
    "plain": (PLAIN, TEN),
    "`--self_att`": (ASKING, TEN),
    **{letter: (run(letter), TEN) for letter in "AB"},
    **{letter: (run(letter, ""), TEN) for letter in "CDE"},
}
LONGER = {
    f"{label}, {steps}": (APART[label][0]._replace(flags=f"{flags} --steps {steps}".strip()), TEN)
    for label, flags in (("plain", ""), ("`--self_att`", SELF), ("A", SELF))
    for steps in (2000, 4000)
}
AGAIN = {f"{one}, 4000, again": (LONGER[f"{one}, 4000"][0], range(11, 21)) for one in ("A", "`--self_att`")}
BLIND = {letter: (run(letter), TEN) for letter in "GF"}
RUNS = [(BEFORE, TEN), *APART.values(), *LONGER.values(), *AGAIN.values(), *BLIND.values()]
PAIRS = [("A", "`--self_att`"), ("A, 2000", "`--self_att`, 2000"), ("A, 4000", "`--self_att`, 4000"),
         ("B", "C"), tuple(AGAIN)]  # fmt: skip


def parts(model):
    """Return what is right of sequences, of counts, of differences, and the loss of the same three."""
    answers, chances = interventions.cases().answers, interventions.cases().chances
    logits = model(interventions.cases().inputs)[0].numpy().astype(float)
    right = logits.argmax(axis=-1) == answers
    logits -= logits.max(axis=-1, keepdims=True)
    chosen = np.take_along_axis(logits, answers[..., None], -1)[..., 0]
    losses = chances @ (np.log(np.exp(logits).sum(axis=-1)) - chosen)
    rights = right.all(axis=1), right[:, :3].mean(axis=1), right[:, 3]
    return *(chances @ np.column_stack(rights)), losses.mean(), losses[:3].mean(), losses[3]


def weights_over_difference(model, differences=range(-6, 7)):
    """Return the mean weights of output step 3 for each A − B, float (differences, 4)."""
    weights = interventions.all_weights(interventions.first_decoding(model))[:, 3]
    answers, chances = interventions.cases().answers, interventions.cases().chances
    signed = answers[:, 0] - answers[:, 1]
    return np.array([np.average(weights[signed == one], 0, chances[signed == one]) for one in differences])


def report(trained):
    """Print the tables of the laboratory of Lesson 2; trained is a trainings.Trainings."""
    print(f"\nA difference of 1, the best guess without any letter: {2 * math.comb(20, 11) / 2**20:.1%}")
    groups = {label: trained.models(*row) for label, row in (APART | LONGER | AGAIN | BLIND).items()}
    asking, before = groups["`--self_att`"], trained.models(BEFORE, TEN)
    found = {label: [parts(model) for model in group] for label, group in groups.items()}
    head = ["right: sequences", "counts", "differences", "loss", "of the counts", "of the difference"]
    measuring.compare("Trained anew", head, found, list, *["%"] * 3, *["{:.3f}"] * 3, each=True)
    rows = []
    for pair in PAIRS:
        wins = np.sum([np.less(*losses)[3:] for losses in zip(*map(found.get, pair), strict=True)], axis=0)
        rows.append([*pair, *wins])
    head = ["the first", "the second", "loss", "of the counts", "of the difference"]
    measuring.table("In how many pairs with one seed the first has the smaller", head, rows)
    print_readable(groups, asking, before)
    interventions.report(asking, before, groups["F"])
    inputs, answers = measuring.fresh(TASK).inputs, measuring.fresh(TASK).answers
    few = {label: groups[label] for label in ("plain", "`--self_att`")}
    measuring.compare("Right of 10,000 new sequences", ["right"], few, lambda model: measuring.score(
        measuring.outputs(model, inputs), answers)[:1], "%", each=True)  # fmt: skip


def print_readable(groups, asking, before):
    """Print what the best last layer reads, with its controls, and to what output step 3 attends."""
    vectors = {label: map(interventions.last_vectors, groups[label]) for label in APART | LONGER}
    queries = [interventions.random_query(like, seed) for seed, like in enumerate(asking)]
    random = [interventions.first_decoding(*pair) for pair in zip(before, queries, strict=True)]
    pairs = zip(before, random, strict=True)
    again = [model.self_attention(one, one, one)[0].numpy() for model, one in pairs]
    vectors |= {"random queries, nothing trained": random, "the same, with self-attention": again}
    shares = interventions.cases().inputs.mean(axis=1)
    vectors["no network, the shares of the letters"] = [np.repeat(shares[:, None], 4, axis=1)]
    head = ["sequences", "counts", "differences", "one for the difference alone"]
    found = {label: list(group) for label, group in vectors.items()}
    measuring.compare("With the best last layer", head, found, interventions.readable, *["%"] * 4)
    some = {label: groups[label] for label in ("plain", "`--self_att`", "A", "B", "F")}
    head = ["'A'", "'B'", "'C'", "the largest of the four over the least"]
    title, measure = "Output step 3 on a letter, times a blank's weight", interventions.beside_a_blank
    measuring.compare(title, head, some | {"before": before}, measure, *["{:.2f}"] * 4)
    found = {one: [*map(interventions.first_decoding, some[one])] for one in ("`--self_att`", "plain", "A")}
    found["F"] = list(map(interventions.blind, some["F"]))
    found["random queries, nothing trained"] = random
    head = ["the larger count", "the smaller count", "'C'", "itself", "the larger gets more", "its least"]
    forms = [*["{:.2f}"] * 4, "%", "{:.2f}"]
    measuring.compare("Output step 3 attends, A ≠ B", head, found, interventions.attended, *forms)
    head, some = ["a count on itself", "output step 3 on itself", "a count's is its largest"], ["plain", "A"]
    title, found = "Never used: what the attention to each other would be", {one: groups[one] for one in some}
    measuring.compare(title, head, found, interventions.on_itself, "{:.2f}", "{:.2f}", "%")
