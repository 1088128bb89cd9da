"""Lesson 2, Difference: what self-attention adds, who does without it, and where it is needed."""

import itertools
import math

import numpy as np

from . import lesson_2_interventions as interventions
from . import measuring, trainings

TASK = 2
SELF = "--self_att"
TEN, TWENTY = range(1, 11), range(1, 21)


def run(edit=None, flags=SELF):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


PLAIN, ASKING, BEFORE = run(flags=""), run(), run(flags=f"{SELF} --steps 1")
# The rows of each table: what a reader calls it, what is trained, and the seeds.
APART = {
    "without `--self_att`": (PLAIN, TEN),
    "`--self_att`": (ASKING, TEN),
    "A: each output step attends to itself alone": (run("A"), TEN),
    "B: all weights equal": (run("B"), TEN),
    "C: a second layer norm and nothing else": (run("C", ""), TEN),
    "D: a dense layer for each output step alone": (run("D", ""), TEN),
    "E: output step 3 attends to all alike, each count to itself": (run("E"), TEN),
    "J: no residual in the self-attention": (run("J"), range(1, 6)),
    "K: no residual, random queries": (run("K"), TEN),
}
HEADS = {"one head": (ASKING, TWENTY), "F: two heads": (run("F 2"), TWENTY)}
BLIND = {
    "H: to itself alone; the counts, too": (run("H"), TEN),
    "G: as learnt; the counts, too": (run("G"), TEN),
    "I: to all alike; the counts as learnt": (run("I"), TEN),
}
RUNS = [(BEFORE, TEN), *(row for rows in (APART, HEADS, BLIND) for row in rows.values())]


# --- What is right --------------------------------------------------------------------------------------


def two_parts(model):
    """Return the fractions of sequences, of counts and of differences right, and three losses in nats.

    The losses are those of all output steps, of the counts, and of the difference.
    """
    data = measuring.fresh(TASK)
    logits = measuring.outputs(model, data.inputs)
    right = logits.argmax(axis=-1) == data.answers
    sequences, loss = measuring.score(logits, data.answers)
    parts = slice(3), slice(3, 4)
    losses = [measuring.score(logits[:, part], data.answers[:, part])[1] for part in parts]
    return sequences, right[:, :3].mean(), right[:, 3].mean(), loss, *losses


def jumps(losses):
    """Return the losses around each jump: one after training step 500 that is twice the one before.

    Args:
        losses: list of (training step, loss in nats), as Trainings.losses returns it.

    Returns:
        A list of lists of four losses: before it, after it, and the next two.
    """
    late = [loss for step, loss in losses if step >= 500]
    return [late[i : i + 4] for i in range(len(late) - 1) if late[i + 1] > 2 * late[i]]


def multisets(length=10, symbols=4):
    """Return all sequences that differ in more than their order, int (multisets, length), and their shares.

    The shares, float (multisets,), are the probabilities to draw such a sequence.
    """
    letters = np.array(list(itertools.combinations_with_replacement(range(symbols), length)))
    counts = (letters[..., None] == np.arange(symbols)).sum(axis=1)
    ways = [math.factorial(length) / math.prod(map(math.factorial, row)) for row in counts.tolist()]
    return letters, np.array(ways) / symbols**length


def best_guess():
    """Return how often the most frequent difference is right, and which it is."""
    letters, chances = multisets()
    shares = np.bincount(measuring.solved(TASK, letters).answers[:, 3], chances)
    return shares.max(), shares.argmax()


# --- What the output steps attend to --------------------------------------------------------------------


def attended(weights, answers):
    """Return to what output step 3 attends where A ≠ B, five numbers.

    The mean weight on the larger count, the smaller, 'C', itself; how often the larger gets more than the
    smaller one.

    Args:
        weights: float (batch, 4, 4).
        answers: int (batch, 4).
    """
    weights, answers = weights[answers[:, 3] > 0, 3], answers[answers[:, 3] > 0]
    larger, rows = interventions.larger_count(answers), np.arange(len(answers))
    most, least = weights[rows, larger], weights[rows, 1 - larger]
    return most.mean(), least.mean(), weights[:, 2].mean(), weights[:, 3].mean(), (most > least).mean()


def each_head(model):
    """Return what `attended` does for each of two heads, the one with more on the larger count first."""
    data = measuring.fresh(TASK)
    halves = np.split(interventions.first_decoding(model, data.inputs), 2, axis=-1)
    found = [attended(interventions.all_weights(half), data.answers) for half in halves]
    return sorted(found, reverse=True)


def every_case(model):
    """Return the smallest share of the two weights that the larger count gets, for every multiset with A ≠ B.

    A dict from (A, B) to the least of larger / (larger + smaller), over the possible numbers of 'C'.
    """
    data = measuring.solved(TASK, multisets()[0])
    weights = interventions.all_weights(interventions.first_decoding(model, data.inputs))[:, 3]
    larger = interventions.larger_count(data.answers)
    part = np.take_along_axis(weights, larger[:, None], axis=1)[:, 0] / weights[:, :2].sum(axis=1)
    cases = {}
    for (first, second, _, difference), one in zip(data.answers.tolist(), part, strict=True):
        if difference:
            cases[first, second] = min(one, cases.get((first, second), 1))
    return cases


def weights_over_difference(model, differences=range(-6, 7)):
    """Return the mean weights of output step 3 for each A − B, float (differences, 4)."""
    data = measuring.fresh(TASK)
    weights = interventions.all_weights(interventions.first_decoding(model, data.inputs))[:, 3]
    signed = data.answers[:, 0] - data.answers[:, 1]
    return np.array([weights[signed == difference].mean(axis=0) for difference in differences])


# --- The report -----------------------------------------------------------------------------------------


def report(trained):
    """Print the tables of the laboratory of Lesson 2; trained is a trainings.Trainings."""
    share, guess = best_guess()
    print(f"\nThe best guess without any letter is {guess}, right in {100 * share:.1f}%.")
    print_parts(trained, "Trained anew", APART, [(1, 2), (4, 2), (2, 4), (6, 3), (6, 1)])
    print_parts(trained, "Heads", HEADS, [(1, 0)])
    print_parts(trained, "Output step 3 has read nothing; it attends", BLIND, [(1, 2)])
    print_jumps(trained)
    group = trained.models(*APART["J: no residual in the self-attention"])
    same = max(np.abs(np.diff(model.query.numpy()[0], axis=0)).max() for model in group)
    print(f"\nJ: the largest difference between two queries, over {len(group)} models: {same}")
    print_attended(trained)
    interventions.report(trained.models(ASKING, TEN), trained.models(BEFORE, TEN))
    plain = [interventions.cut_off(model) for model in trained.models(PLAIN, TEN)]
    head = ["difference", "output step 3 even on the letters: difference", "counts"]
    measuring.table("Without `--self_att`: right", head, [measuring.columns(plain, "%", "%", "%")])


def print_parts(trained, title, rows, pairs):
    """Print what is right, and the losses, for rows as in APART, and who wins in pairs with one seed.

    The pairs are a list of two numbers of rows each: in how many pairs of trainings has the first row the
    smaller losses?
    """
    labels, cells = list(rows), []
    found = [[two_parts(model) for model in trained.models(*row)] for row in rows.values()]
    for label, parts in zip(labels, found, strict=True):
        low, middle = sum(one[0] < 0.9 for one in parts), np.median([one[0] for one in parts])
        forms = measuring.columns(parts, "%", "%", "%", *["{:.3f}"] * 3)
        cells.append([label, len(parts), *forms, f"{middle:.1%}", f"{low} of {len(parts)}"])
    rights = ["sequences right", "counts right", "difference right"]
    head = ["", "trainings", *rights, "loss", "of the counts", "of the difference", "median", "below 90%"]
    measuring.table(title, head, cells)
    for one, other in pairs:
        both = np.array(list(zip(found[one], found[other], strict=False)))[..., 3:]
        wins = ", ".join(f"{number} of {len(both)}" for number in (both[:, 0] < both[:, 1]).sum(axis=0))
        print(f"\nSmaller with {labels[one]} than with {labels[other]}: the loss, of the counts, of the")
        print(f"difference, in {wins} pairs of trainings.")


def print_jumps(trained):
    """Print how often a printed loss jumps late in a training, and how it comes back."""
    cells = []
    for label, (some, seeds) in (APART | BLIND).items():
        each = [jumps(trained.losses(some, seed)) for seed in trained.chosen(seeds)]
        ended = [jump[3] for one in each for jump in one if len(jump) == 4]
        back = sum(jump[3] < 1.5 * jump[0] for one in each for jump in one if len(jump) == 4)
        cells.append([label, len(each), sum(map(bool, each)), f"{back} of {len(ended)}"])
    head = ["", "trainings", "with a jump", "100 training steps later below 1.5 times the loss before it"]
    measuring.table("A printed loss after training step 500 that is twice the one before", head, cells)


def print_attended(trained):
    """Print to what output step 3 attends where A ≠ B."""
    head = ["the larger count", "the smaller count", "'C'", "itself", "the larger gets more"]
    data, forms, rows = measuring.fresh(TASK), [*["{:.3f}"] * 4, "%"], []
    for label, (some, seeds) in {"`--self_att`": (ASKING, TEN), "G": (run("G"), TEN)}.items():
        found = [
            attended(model(data.inputs)[2].numpy(), data.answers) for model in trained.models(some, seeds)
        ]
        rows.append([label, *measuring.columns(found, *forms)])
    found = [each_head(model) for model in trained.models(*HEADS["F: two heads"])]
    for number, name in enumerate(("F: the head with more on the larger count", "F: the other head")):
        rows.append([name, *measuring.columns([one[number] for one in found], *forms)])
    measuring.table("Self-attention of output step 3, A ≠ B", ["", *head], rows)
    cases = [every_case(model) for model in trained.models(ASKING, TEN)]
    lost = sum(min(case[pair] for case in cases) <= 0.5 for pair in cases[0])
    print(f"\nPairs (A, B) with A ≠ B: {len(cases[0])}. With some number of 'C', the larger count does not")
    print(
        f"get more in {lost} of them, over {len(cases)} models. Where they differ by one, its part of the two"
    )
    close = [pair for pair in cases[0] if abs(pair[0] - pair[1]) == 1]
    print("is at least", measuring.spread(min(case[pair] for pair in close) for case in cases))
