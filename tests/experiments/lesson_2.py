"""Lesson 2, Difference: what self-attention adds, who does without it, and where it is needed."""

import itertools
import math

import numpy as np

from . import lesson_2_interventions as interventions
from . import measuring, trainings

TASK = 2
SELF = "--self_att"
TEN, TWENTY = range(1, 11), range(1, 21)
THIRTY = [*TWENTY, *range(31, 41)]  # 21 to 30 are left to repeat everything with seeds that no page has seen.


def run(edit=None, flags=SELF):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


PLAIN, ASKING = run(flags=""), run()
# The rows of each table: what a reader calls it, what is trained, and the seeds.
APART = {
    "without `--self_att`": (PLAIN, THIRTY),
    "`--self_att`": (ASKING, THIRTY),
    "A: each output step attends to itself alone": (run("A"), THIRTY),
    "B: all weights equal": (run("B"), THIRTY),
    "C: a second layer norm and nothing else": (run("C", ""), THIRTY),
    "D: a dense layer for each output step alone": (run("D", ""), TEN),
    "E: output step 3 attends to all alike, each count to itself": (run("E"), THIRTY),
    "J: no residual in the self-attention": (run("J"), TEN),
}
BLIND = {
    "L: as learnt; the counts, too": (run("L"), THIRTY),
    "M: to itself alone; the counts, too": (run("M"), TEN),
    "N: to all alike; the counts, too": (run("N"), THIRTY),
    "O: to all alike; the counts as learnt": (run("O"), THIRTY),
    "P: to all alike; each count to itself": (run("P"), THIRTY),
}
PARTS = {
    "G: a division by the standard deviation": (run("G", ""), TWENTY),
    "H: a scale and a shift": (run("H", ""), TWENTY),
}
MORE_BLIND = {"Q: as learnt; each count to itself": (run("Q"), TWENTY)}
LATER = "C, `--steps 1100`"
MORE_APART = {
    "I: centring and division": (run("I", ""), TEN),
    "K: no residual, random queries": (run("K"), TWENTY),
    "F: output step 3 attends as learnt, each count to itself": (run("F"), TWENTY),
    "without, `--steps 2000`": (run(flags="--steps 2000"), TEN),
    LATER: (run("C", "--steps 1100"), THIRTY),
}
LONG = {
    "without `--self_att`": (run(flags="--steps 5000"), TEN),
    "`--self_att`": (run(flags=f"{SELF} --steps 5000"), TEN),
    "A: each to itself alone": (run("A", f"{SELF} --steps 5000"), TEN),
    "C: a second layer norm": (run("C", "--steps 5000"), TEN),
    "E: output step 3 to all alike, each count to itself": (run("E", f"{SELF} --steps 5000"), TEN),
    "G: a division": (run("G", "--steps 5000"), TEN),
    "H: a scale and a shift": (run("H", "--steps 5000"), TEN),
}
RUNS = [row for rows in (APART, BLIND, PARTS) for row in rows.values()]
MORE = [row for rows in (MORE_BLIND, MORE_APART, LONG) for row in rows.values()]
TEXTS = ("ABB CBACBC", "AABBCC    ", "AAAAAAAACC", "AABB", "ABB")


# --- What is right --------------------------------------------------------------------------------------


def two_parts(model):
    """Return the fractions of sequences, of counts and of differences right, and three losses in nats.

    The losses are those of all output steps, of the counts, and of the difference.
    """
    data = measuring.fresh(TASK)
    logits = measuring.outputs(model, data.inputs)
    right = logits.argmax(axis=-1) == data.answers
    sequences, loss = measuring.score(logits, data.answers)
    counts, difference = (
        measuring.score(logits[:, part], data.answers[:, part])[1] for part in (slice(3), slice(3, 4))
    )
    return sequences, right[:, :3].mean(), right[:, 3].mean(), loss, counts, difference


def jumps(losses):
    """Return how often a printed loss after training step 500 is more than twice that before it.

    Args:
        losses: list of (training step, loss in nats), as Trainings.losses returns it.
    """
    late = [loss for step, loss in losses if step >= 500]
    return sum(loss > 2 * before for before, loss in itertools.pairwise(late))


def best_guess():
    """Return how often the most frequent difference is right, and which it is."""
    letters, chances = multisets()
    difference = measuring.solved(TASK, letters).answers[:, 3]
    shares = np.bincount(difference, chances)
    return shares.max(), shares.argmax()


# --- What the output steps attend to ------------------------------------------------------------------


def multisets(length=10, symbols=4):
    """Return all sequences that differ in more than their order, int (multisets, length), and their shares.

    The shares, float (multisets,), are the probabilities to draw such a sequence.
    """
    letters = np.array(list(itertools.combinations_with_replacement(range(symbols), length)))
    counts = (letters[..., None] == np.arange(symbols)).sum(axis=1)
    ways = [math.factorial(length) / math.prod(map(math.factorial, row)) for row in counts.tolist()]
    return letters, np.array(ways) / symbols**length


def attended(model):
    """Return the mean weights of output step 3 where A ≠ B, and how often the larger count gets more.

    The five numbers: the weight on the larger count, the smaller, 'C', itself; the share of sequences in
    which the larger count gets more than the smaller.
    """
    data = measuring.fresh(TASK)
    weights = model(data.inputs)[2].numpy()
    weights = np.broadcast_to(weights, (len(data.answers), 4, 4))[:, 3]
    differ = data.answers[:, 3] > 0
    weights, larger = weights[differ], interventions.larger_count(data.answers[differ])
    rows = np.arange(len(weights))
    most, least = weights[rows, larger], weights[rows, 1 - larger]
    return most.mean(), least.mean(), weights[:, 2].mean(), weights[:, 3].mean(), (most > least).mean()


def largest_weight(model):
    """Return the mean over sequences of the largest weight of output step 3; 0.25 would be even."""
    return model(measuring.fresh(TASK).inputs)[2].numpy()[:, 3].max(axis=-1).mean()


def every_case(model):
    """Return the smallest share of the two weights that the larger count gets, for every multiset with A ≠ B.

    A dict from (A, B) to the least of larger / (larger + smaller), over the possible numbers of 'C'.
    """
    data = measuring.solved(TASK, multisets()[0])
    weights = interventions.self_weights(model, interventions.first_decoding(model, data.inputs))
    larger = interventions.larger_count(data.answers)
    part = np.take_along_axis(weights, larger[:, None], axis=1)[:, 0] / weights[:, :2].sum(axis=1)
    cases = {}
    for (first, second, _, difference), one in zip(data.answers.tolist(), part, strict=True):
        if difference:
            cases[first, second] = min(one, cases.get((first, second), 1))
    return cases


def letter_weights(model):
    """Return the mean weights of output step 3 on an 'A', a 'B', a 'C' and a blank."""
    data = measuring.fresh(TASK)
    weights = model(data.inputs)[1].numpy()[:, 3]
    return [weights[data.letters == letter].mean() for letter in (1, 2, 3, 0)]


def weights_over_difference(model, differences=range(-6, 7)):
    """Return the mean weights of output step 3 for each A − B, float (differences, 4)."""
    data = measuring.fresh(TASK)
    weights = interventions.self_weights(model, interventions.first_decoding(model, data.inputs))
    signed = data.answers[:, 0] - data.answers[:, 1]
    return np.array([weights[signed == difference].mean(axis=0) for difference in differences])


# --- The report -----------------------------------------------------------------------------------------


def report(trained, everything=False):
    """Print the tables of Lesson 2 and of its laboratory.

    Args:
        trained: trainings.Trainings.
        everything: whether to print also what needs the trainings in MORE.
    """
    lesson(trained)
    print_apart(trained, everything)
    print_blind(trained, everything)
    print_attended(trained)
    interventions.report(trained.models(*APART["`--self_att`"]), trained.module(TASK))


def lesson(trained):
    """Print what the page of the lesson says."""
    print("\n## The lesson")
    labels = list(APART)[:3]
    rows = []
    for step in (200, 400, 600, 800, 1000):
        curves = []
        for label in labels:
            some, seeds = APART[label]
            curves.append([dict(trained.losses(some, seed))[step] for seed in trained.chosen(seeds)])
        rows.append([step, *(measuring.spread(curve, "{:.2f}") for curve in curves)])
    measuring.table("Loss of one batch", ["training step", *labels], rows)
    for text, label in itertools.product(TEXTS, labels):
        group = trained.models(*APART[label])
        print(f"\n`--input {text!r}`, {label}: {measuring.shares(TASK, group, text)}")
        if label == "`--self_att`":
            inputs = measuring.spell(TASK, text).inputs
            weights = [model(inputs)[2].numpy()[0, 3] for model in group]
            print("Weights of output step 3:", ", ".join(measuring.columns(weights, *["{:.2f}"] * 4)))
    share, guess = best_guess()
    print(f"\nThe best guess without any letter is {guess}, right in {100 * share:.1f}%.")


def print_parts(trained, title, rows):
    """Print what is right, and the loss, for rows as in APART.

    Return a dict to what two_parts returns, a list, from the letter of a row, or its label without one.
    """
    found = {label: [two_parts(model) for model in trained.models(*row)] for label, row in rows.items()}
    forms = ("%", "%", "%", "{:.3f}", "{:.3f}", "{:.3f}")
    cells = []
    for label, parts in found.items():
        low = sum(one[0] < 0.9 for one in parts)
        cells.append([label, len(parts), *measuring.columns(parts, *forms), f"{low} of {len(parts)}"])
    rights = ["sequences right", "counts right", "difference right"]
    losses = ["loss", "of the counts", "of the difference"]
    measuring.table(title, ["", "trainings", *rights, *losses, "below 90%"], cells)
    return {label.partition(":")[0]: parts for label, parts in found.items()}


def print_pairs(found, title, pairs):
    """Print in how many pairs of trainings with the same seed the first has the smaller losses.

    Args:
        found: a dict, as print_parts returns it.
        title: str.
        pairs: list of two keys of it each.
    """
    rows = []
    for one, other in pairs:
        both = np.array(list(zip(found[one], found[other], strict=False)))[..., 3:]
        wins = (both[:, 0] < both[:, 1]).sum(axis=0)
        rows.append([one, other, *(f"{number} of {len(both)}" for number in wins)])
    head = ["smaller with", "than with", "the loss", "of the counts", "of the difference"]
    measuring.table(f"{title}: pairs of trainings with the same seed", head, rows)


def print_apart(trained, everything):
    """Print what can be trained without looking at others, and what the gain consists of."""
    rows = APART | PARTS | (MORE_APART if everything else {})
    found = print_parts(trained, "Trained anew", rows)
    if everything:
        later = print_parts(trained, "5,000 training steps", LONG)
        print_pairs(later, "5,000 training steps", [(list(LONG)[1], one) for one in "ACE"])
        for before, after in zip(found["C"], found[LATER], strict=True):
            if min(before[0], after[0]) < 0.9:
                print(f"\nC: {before[0]:.1%} after 1,000 training steps, {after[0]:.1%} after 1,100.")
    plain, asking = list(APART)[:2]
    pairs = [("A", asking), ("C", asking), ("E", asking), (asking, "B"), ("E", "B"), ("B", plain)]
    print_pairs(found, "Trained anew", pairs)
    cells = []
    for label, (some, seeds) in (rows | BLIND | (MORE_BLIND if everything else {})).items():
        if "--steps" not in some.flags:
            each = [jumps(trained.losses(some, seed)) for seed in trained.chosen(seeds)]
            cells.append([label, len(each), sum(each), sum(one > 0 for one in each)])
    head = ["", "trainings", "jumps", "trainings with one"]
    measuring.table("A printed loss after training step 500 that is twice the one before", head, cells)
    group = trained.models(run("J"), TEN)
    same = max(np.abs(np.diff(model.query.numpy()[0], axis=0)).max() for model in group)
    print(f"\nJ: the largest difference between two queries, over {len(group)} models: {same}")


def print_blind(trained, everything):
    """Print what the exchange is worth where output step 3 has read nothing."""
    rows = BLIND | (MORE_BLIND if everything else {})
    found = print_parts(trained, "Output step 3 has read nothing; it attends", rows)
    pairs = ["LN", "LO", "ON", "PN", *(["QP", "LQ"] if everything else [])]
    print_pairs(found, "Output step 3 has read nothing", pairs)
    cells = []
    for label in [label for label, row in rows.items() if row[0] in (run("L"), run("Q"))]:
        models = [[*attended(model)[:4], largest_weight(model)] for model in trained.models(*rows[label])]
        cells.append([label, *measuring.columns(models, *["{:.3f}"] * 5)])
    head = ["", "the larger count", "the smaller", "'C'", "itself", "the largest of the four"]
    measuring.table("Output step 3 has read nothing: its weights, A ≠ B", head, cells)


def print_attended(trained):
    """Print to what output step 3 attends."""
    labels = list(APART)[:2]
    rows = []
    for label in labels:
        found = [letter_weights(model) for model in trained.models(*APART[label])]
        rows.append([label, *measuring.columns(found, *["{:.3f}"] * 4)])
    head = ["", "on an 'A'", "on a 'B'", "on a 'C'", "on a blank"]
    measuring.table("Encoder-decoder attention of output step 3", head, rows)

    group = trained.models(*APART["`--self_att`"])
    found = [attended(model) for model in group]
    head = ["the larger count", "the smaller count", "'C'", "itself", "the larger gets more"]
    cells = measuring.columns(found, *["{:.3f}"] * 4, "%")
    measuring.table("Self-attention of output step 3, A ≠ B", head, [cells])
    cases = [every_case(model) for model in group]
    lost = sum(min(case[pair] for case in cases) <= 0.5 for pair in cases[0])
    print(f"\nPairs (A, B) with A ≠ B: {len(cases[0])}. With some number of 'C', the larger count does not")
    print(f"get more in {lost} of them, over {len(group)} models. The least of its part of the two weights:")
    rows = []
    for difference in range(1, 11):
        close = [pair for pair in cases[0] if abs(pair[0] - pair[1]) == difference]
        rows.append([difference, measuring.spread(min(case[pair] for pair in close) for case in cases)])
    measuring.table("The larger count's part of the two, the least over all cases", ["|A − B|", ""], rows)
    rows = []
    for difference, line in zip(
        range(-6, 7), zip(*map(weights_over_difference, group), strict=True), strict=True
    ):
        rows.append([difference, *measuring.columns(line, *["{:.2f}"] * 4)])
    head = ["A − B", "on output step 0, A", "on output step 1, B", "on output step 2, C", "on itself"]
    measuring.table("Weights of output step 3 over A − B", head, rows)

    rows = []
    for label in labels:
        found = [interventions.cut_off(model) for model in trained.models(*APART[label])]
        rows.append([label, *measuring.columns(found, *["%"] * len(found[0]))])
    head = ["", "difference", "counts", "output step 3 even on the letters: difference", "counts"]
    head += ["every output step on itself alone: difference", "counts"]
    measuring.table("Changed after the training: right", head, rows)
