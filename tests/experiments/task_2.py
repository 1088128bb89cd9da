"""Task 2, Difference: what self-attention adds, which model does without it, and where it is needed."""

import functools
import itertools
import math

import formula
import numpy as np

from . import edits, measuring

TASK = 2
SELF = "--self_att"
TEN, TWENTY = range(1, 11), range(1, 21)


def setup(edit=None, flags=SELF):
    """Return an edits.Setup of this task."""
    return edits.Setup(TASK, edit, flags)


# The rows of the tables: what the page calls them, and what is trained.
PLAIN, ASKING = setup(flags=""), setup()
LONG = f"{SELF} --steps 4000"
BLIND = "F: as it learns to"
ALL = {
    "plain, 1,000 steps": PLAIN,
    "`--self_att`, 1,000 steps": ASKING,
    "A, 1,000 steps": setup("A"),
    "plain, 4,000 steps": setup(flags="--steps 4000"),
    "`--self_att`, 4,000 steps": setup(flags=LONG),
    "A, 4,000 steps": setup("A", LONG),
    "G: only to itself": setup("G"),
    BLIND: setup("F"),
    "F+B: to all four equally": setup("F+B"),
    "F+B, 4,000 steps": setup("F+B", LONG),
}
LEARNT, LEARNT_LONG = "learnt", "learnt, 4,000 training steps"
EXPECTED = {
    LEARNT: setup(),
    "D: half to A, half to B": setup("D"),
    "E: learnt, but not to itself": setup("E"),
    LEARNT_LONG: setup(flags=LONG),
}
SETUPS = [(each, TEN) for rows in (ALL, EXPECTED) for each in rows.values()]
SETUPS += [(PLAIN, TWENTY), (ASKING, TWENTY)]
SCORES = ["sequences right", "counts right", "differences right"]


def compare_scores(title, groups, each=False, head=""):
    """Print what is right for groups of models."""
    measuring.compare(title, [head, *SCORES], groups, scores, *["%"] * 3, each=each)


def report():
    """Print the figures of the task."""
    beside = {"Task 2": edits.models(PLAIN, TWENTY), "Task 2 `--self_att`": edits.models(ASKING, TWENTY)}
    measuring.beside_the_original(TASK, beside)
    print(f"\nA difference of 1, the best guess without any letter: {2 * math.comb(20, 11) / 2**20:.1%}")
    compare_scores("Right", {label: edits.models(each, TEN) for label, each in ALL.items()}, each=True)
    asking = edits.models(ASKING, TEN)
    rows = {"plain": edits.models(PLAIN, TEN), "`--self_att`": asking}
    head = ["the difference step's weights on letters", "the largest over the smallest"]
    measuring.compare("On letters", head, rows, preference, "{:.2f}")
    title, head = "The weights of all output steps are changed", ["changed", *SCORES]
    measuring.compare_cases(title, head, asking, with_other_weights, *["%"] * 3)
    head = ["differs: replaced", "measured", "answers as for the second input"]
    measuring.compare_cases("Activation patching", head, asking, patched, "{:.2f}", "%")
    title, head = "Activation patching, F", ["F, differs: replaced", *head[1:]]

    def patched_blind(model):
        return {f"F, {name}": values for name, values in patched(model, blind_states).items()}

    measuring.compare_cases(title, head, edits.models(ALL[BLIND], TEN), patched_blind, "{:.2f}", "%")


def report_expected():
    """Print what the model that one expects gets right, and the weight on itself."""
    groups = {label: edits.models(each, TEN) for label, each in EXPECTED.items()}
    compare_scores("The model that one expects", groups, each=True, head="the difference step's weights")
    head = ["A ≠ B: weight", "on the larger count", "on the smaller", "on 'C'", "on itself"]
    head += ["the larger one gets more"]
    rows = {label: groups[label] for label in (LEARNT, LEARNT_LONG)}
    measuring.compare("How long it was trained", head, rows, on_counts, *["{:.2f}"] * 4, "%")


REPORTS = {"task_2": report, "task_2_expected": report_expected}


# --- What is right, and where it attends ----------------------------------------------------------------
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


def scores(model):
    """Return what is right of sequences, of counts, of differences, three fractions."""
    right = model(cases().inputs)[0].numpy().argmax(axis=-1) == cases().answers
    return cases().chances @ np.column_stack([right.all(axis=1), right[:, :3].mean(axis=1), right[:, 3]])


def first_states(model):
    """Return the hidden states of all cases before self-attention, float64 (286, 4, hidden)."""
    reference = formula.of(model)
    return reference.attend("attention", reference.arrays["query"][0], reference.embed(cases().inputs))


def blind_states(model):
    """Return the same of edit F, in which output step 3 has its bare query."""
    states = first_states(model)
    states[:, 3] = model.query.numpy()[0, 3]
    return states


def all_weights(states):
    """Return how the output steps attend to each other, float (batch, 4, 4)."""
    return formula.attend(states, states, states)[1]


def weights_over_difference(model, differences):
    """Return the mean weights of output step 3 for each A − B, float (differences, 4)."""
    weights, answers, chances = all_weights(first_states(model))[:, 3], cases().answers, cases().chances
    signed = answers[:, 0] - answers[:, 1]
    return np.array([np.average(weights[signed == difference], 0, chances[signed == difference])
                     for difference in differences])  # fmt: skip


def preference(model):
    """Return how many times the least weight of output step 3 on a kind of letter the largest is, [float]."""
    reference = formula.of(model)
    reference.lesson(np.eye(4))
    (weights,) = reference.weights["attention"]
    return [weights[3].max() / weights[3].min()]


def on_counts(model):
    """Return to what output step 3 attends where A ≠ B: five numbers.

    The mean weights on the larger count, the smaller, 'C', itself; how often the larger one gets more.
    """
    answers, differ = cases().answers, cases().answers[:, 3] > 0
    larger, chances = (answers[differ, 0] < answers[differ, 1]).astype(int), cases().chances[differ]
    weights = all_weights(first_states(model))[differ, 3]
    most, least = (weights[np.arange(len(weights)), step] for step in (larger, 1 - larger))
    return chances @ np.column_stack([most, least, weights[:, 2:], most > least]) / chances.sum()


# --- What a trained model does when something inside it is changed --------------------------------------


def with_other_weights(model):
    """Make all weights equal; return a dict from the change to what is right, as `scores` does."""
    chances, right, reference = cases().chances, {}, formula.of(model)
    states = first_states(model)
    for name, weights in {
        "nothing": all_weights(states),
        "all weights equal": np.full((4, 4), 0.25),
    }.items():
        changed = reference.normalize("self_attention/layer_norm", weights @ states + states)
        correct = reference.answers(changed) == cases().answers
        of_steps = chances @ correct
        right[name] = chances @ correct.all(axis=1), of_steps[:3].mean(), of_steps[3]
    return right


def predicted_difference(model, states):
    """Return the answers of output step 3, int (batch,), for the states before self-attention."""
    sums = np.einsum("bk,bkd->bd", all_weights(states)[:, 3], states) + states[:, 3]
    reference = formula.of(model)
    return reference.answers(reference.normalize("self_attention/layer_norm", sums))


def patch_pairs(usable, step):
    """Return pairs of cases for activation patching that differ in the count of an output step.

    The letter that is more is the same in both, and so are the other count and the number of 'C'.

    Args:
        usable: bool (286,), which cases may be used.
        step: int (286,), 0 or 1 for each case, the count in which they differ.

    Returns:
        first, second: int (pairs,), the cases of each pair.
        weights: float (pairs,), how much each pair counts.
    """
    answers, chances, rows = cases().answers, cases().chances, np.arange(286)
    sign, changing = np.sign(answers[:, 0] - answers[:, 1]), answers[rows, step]
    pairs = usable[:, None] & usable & (changing[:, None] != changing)
    for same in (sign, answers[:, 2], answers[rows, 1 - step]):
        pairs &= same[:, None] == same
    first, second = np.nonzero(pairs)
    return first, second, chances[first] * chances[second] / (pairs @ chances)[first]


def patched(model, states_of=first_states):
    """Put the states of another case, in which one of the two counts is another one, in place of the own.

    Both cases were answered right. Returns a dict from the count that differs, and whose state is replaced,
    to how far the answer moves if the difference moves by 1, and how often the other difference comes out.
    """
    states, answers, measured = states_of(model), cases().answers, {}
    usable = (predicted_difference(model, states) == answers[:, 3]) & (answers[:, 3] > 0)
    larger = (answers[:, 0] < answers[:, 1]).astype(int)
    for name, step in (("the larger count", larger), ("the smaller count", 1 - larger)):
        first, second, weights = patch_pairs(usable, step)
        rows, goal = np.arange(len(first)), answers[second, 3] - answers[first, 3]
        of_count, of_difference = states[first].copy(), states[first].copy()
        of_count[rows, step[first]] = states[second, step[first]]
        of_difference[:, 3] = states[second, 3]
        replaced = {"that count's": of_count, "the difference step's own": of_difference}
        for whose, changed in replaced.items():
            moved = predicted_difference(model, changed) - answers[first, 3]
            slope = np.polyfit(goal, moved, 1, w=np.sqrt(weights))[0]
            measured[f"{name}: {whose}"] = slope, np.average(moved == goal, weights=weights)
    return measured
