"""Task 2, Difference: what self-attention adds, which model does without it, and where it is needed."""

import functools
import itertools
import math

import formula
import numpy as np

from . import edits, measuring

TASK, MEASURES = 2, ["sequences right", "counts right", "differences right"]
TEN, TWENTY = range(1, 11), range(1, 21)
setup = functools.partial(edits.Setup, TASK, flags="--self_att")

PLAIN, ASKING = setup(flags=""), setup()
RIGHT = {  # The rows of the tables: what the page calls them, what is trained, and the seeds.
    "plain, 1,000 steps": (PLAIN, TEN),
    "`--self_att`, 1,000 steps": (ASKING, TEN),
    "A, 1,000 steps": (setup("A"), TEN),
    "plain, 4,000 steps": (setup(flags="--steps 4000"), TEN),
    "G: only to itself": (setup("F+A"), TEN),
    "F: as it learns to": (setup("F"), TEN),
    "F+B, 4,000 steps": (setup("F+B", flags="--self_att --steps 4000"), TEN),
}
EXPECTED = {
    "learnt": (ASKING, TEN),
    "D: half to A, half to B": (setup("D"), TEN),
    "E: learnt, but not to itself": (setup("E"), TEN),
}
BESIDE = {"Task 2": (PLAIN, TWENTY), "Task 2 `--self_att`": (ASKING, TWENTY)}
SETUPS = [*RIGHT.values(), *EXPECTED.values(), *BESIDE.values()]


def report():
    """Print the figures of the task."""
    head, groups = ["", "this project: right"], edits.groups(BESIDE)
    measuring.compare("Beside the original", head, groups, lambda model: accuracy(model)[:1], "%", each=True)
    print(f"\nA difference of 1, the best guess without any letter: {2 * math.comb(20, 11) / 2**20:.1%}")
    measuring.compare("Right", ["", *MEASURES], edits.groups(RIGHT), accuracy, *["%"] * 3, each=True)
    title, asking = "The weights of all output steps are changed", edits.models(ASKING, TEN)
    measuring.compare_cases(title, ["changed", *MEASURES], asking, with_other_weights, *["%"] * 3)
    head = ["differs: replaced", "measured"]
    measuring.compare_cases("Activation patching", head, asking, patched, "{:.2f}")


def report_expected():
    """Print what the model that one expects gets right, and to what others attend."""
    title, head = "The model that one expects", ["the difference step's weights", *MEASURES]
    groups = edits.groups(EXPECTED)
    measuring.compare(title, head, groups, accuracy, *["%"] * 3, each=True)
    head = ["A ≠ B: weight", "on the larger count", "on the smaller", "on 'C'", "on itself"]
    head += ["the larger one gets more"]
    rows = {"learnt": groups["learnt"]}
    measuring.compare("How long it was trained", head, rows, on_counts, *["{:.2f}"] * 4, "%")


REPORTS = {"task_2": report, "task_2_expected": report_expected}

# The hidden states of a sequence are a vector for each output step: the counts of 'A', 'B', 'C', then step 3.


@functools.cache
def cases():
    """Return all sequences of ten letters as `measuring.data_of` does, but each set of letters only once.

    Attention does not see order, so 286 cases stand for all; .chances, float (286,), says for how many.
    """
    letters = np.array(list(itertools.combinations_with_replacement(range(4), 10)))
    data = measuring.given_letters(TASK, letters)
    numbers = (letters[..., None] == np.arange(4)).sum(axis=1)
    orders = [math.factorial(10) / math.prod(map(math.factorial, row)) for row in numbers.tolist()]
    data.chances = np.array(orders) / 4**10
    return data


def share_right(answers):
    """Return what is right of sequences, of counts, of differences, three fractions."""
    right = answers == cases().answers
    return cases().chances @ np.column_stack([right.all(axis=1), right[:, :3].mean(axis=1), right[:, 3]])


def accuracy(model):
    """Return what a model gets right, as `share_right` does."""
    return share_right(model(cases().inputs)[0].numpy().argmax(axis=-1))


def first_states(model):
    """Return the hidden states of all cases before self-attention, float64 (286, 4, hidden)."""
    reference = formula.of(model)
    return reference.attend("attention", reference.arrays["query"][0], reference.embed(cases().inputs))


def all_weights(states):
    """Return how the output steps attend to each other, float (batch, 4, 4)."""
    return formula.attend(states, states, states)[1]


def weights_over_difference(model, differences):
    """Return the mean weights of output step 3 for each A − B, float (differences, 4)."""
    weights, answers, chances = all_weights(first_states(model))[:, 3], cases().answers, cases().chances
    signed = answers[:, 0] - answers[:, 1]
    return np.array([np.average(weights[signed == difference], 0, chances[signed == difference])
                     for difference in differences])  # fmt: skip


def on_counts(model):
    """Return to what output step 3 attends where A ≠ B: five numbers.

    The mean weights on the larger count, the smaller, 'C', itself; how often the larger one gets more.
    """
    answers, differ = cases().answers, cases().answers[:, 3] > 0
    larger, chances = (answers[differ, 0] < answers[differ, 1]).astype(int), cases().chances[differ]
    weights = all_weights(first_states(model))[differ, 3]
    most, least = (weights[np.arange(len(weights)), step] for step in (larger, 1 - larger))
    return chances @ np.column_stack([most, least, weights[:, 2:], most > least]) / chances.sum()


def answers_with(model, states, weights):
    """Return a model's answers, int (batch, 4), for these states before self-attention and its weights."""
    reference = formula.of(model)
    return reference.answers(reference.normalize("self_attention/layer_norm", weights @ states + states))


def with_other_weights(model):
    """Make all weights equal; return a dict from the change to what is right."""
    states = first_states(model)
    changes = {"nothing": all_weights(states), "all weights equal": np.full((4, 4), 0.25)}
    return {name: share_right(answers_with(model, states, weights)) for name, weights in changes.items()}


def patched(model):
    """Put the difference step's state from another case in place of its own (activation patching).

    Both cases are answered right, and have the same more frequent letter of 'A' and 'B', the same number of
    'C's, and the same count of 'A' or 'B' but for one. Returns a dict from the count that differs to how far
    the answer moves if the difference moves by 1, in a list.
    """
    states, answers, measured = first_states(model), cases().answers, {}
    said, chances, rows = answers_with(model, states, all_weights(states))[:, 3], cases().chances, range(286)
    usable, sign = (said == answers[:, 3]) & (answers[:, 3] > 0), np.sign(answers[:, 0] - answers[:, 1])
    larger = (sign < 0).astype(int)
    for name, step in (("the larger count", larger), ("the smaller count", 1 - larger)):
        pairs = usable[:, None] & usable & (answers[rows, step][:, None] != answers[rows, step])
        for same in (sign, answers[:, 2], answers[rows, 1 - step]):
            pairs &= same[:, None] == same
        first, second = np.nonzero(pairs)
        weights = chances[first] * chances[second] / (pairs @ chances)[first]
        changed = states[first].copy()
        changed[:, 3] = states[second, 3]
        moved = answers_with(model, changed, all_weights(changed))[:, 3] - answers[first, 3]
        slope = np.polyfit(answers[second, 3] - answers[first, 3], moved, 1, w=np.sqrt(weights))[0]
        measured[f"{name}: the difference step's own"] = [slope]
    return measured
