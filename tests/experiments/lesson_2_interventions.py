"""Lesson 2, what a trained model does when something inside it is changed.

The hidden states of a sequence are a vector for each output step: the counts of 'A', 'B', 'C', then step 3.
"""

import functools
import itertools
import math

import numpy as np

from . import formula, measuring

TASK = 2


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


def unequal():
    """Return which cases have A ≠ B, bool (286,), the larger of the two there, int, and the chances."""
    answers, differ = cases().answers, cases().answers[:, 3] > 0
    chances = cases().chances[differ]
    return differ, np.where(answers[differ, 0] < answers[differ, 1], 1, 0), chances / chances.sum()


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


# --- To what output steps attend ------------------------------------------------------------------------


def preference(model):
    """Return how many times the least weight of output step 3 on a kind of letter the largest is, [float]."""
    reference = formula.of(model)
    reference.lesson(np.eye(4))
    (weights,) = reference.weights["attention"]
    return [weights[3].max() / weights[3].min()]


def on_counts(model):
    """Return to what output step 3 attends, or would attend, where A ≠ B: five numbers.

    The mean weights on the larger count, the smaller, 'C', itself; how often the larger one gets more.
    """
    differ, larger, chances = unequal()
    weights = all_weights(first_states(model))[differ, 3]
    most, least = (weights[np.arange(len(weights)), step] for step in (larger, 1 - larger))
    return chances @ np.column_stack([most, least, weights[:, 2:], most > least])


def compare_on_counts(title, groups):
    """Print to what output step 3 attends in groups of models."""
    head = ["A ≠ B: weight", "on the larger count", "on the smaller", "on 'C'", "on itself"]
    head += ["the larger one gets more"]
    measuring.compare(title, head, groups, on_counts, *["{:.2f}"] * 4, "%")


# --- Interventions at output step 3 ---------------------------------------------------------------------


def predicted_difference(model, states, weights):
    """Return the answers of output step 3, int (batch,), for its weights, float (batch, 4).

    The states, float (batch, 4, hidden), are those before self-attention.
    """
    sums = np.einsum("bk,bkd->bd", weights, states) + states[:, 3]
    reference = formula.of(model)
    return reference.answers(reference.normalize("self_attention/layer_norm", sums))


def flipped(model):
    """Flip A − B in output step 3's own state, where A ≠ B, along the way in which the state follows it.

    It goes as far to the other side of 0; the control goes as far in a random direction. Returns a dict from
    the change to how often the larger count gets more, and what is right.
    """
    differ, larger, chances = unequal()
    states, answers = first_states(model)[differ], cases().answers[differ]
    first, second, _, _ = answers.T.astype(float)
    rows, root, own = np.arange(len(answers)), np.sqrt(chances)[:, None], states[:, 3]
    quantities = np.column_stack([first - second, first + second - chances @ (first + second)])
    slopes = np.linalg.lstsq(root * quantities, root * (own - chances @ own), rcond=None)[0]
    change = -2 * np.outer(quantities[:, 0], slopes[0])
    directions = np.random.default_rng(0).normal(size=change.shape)
    lengths = [np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (change, directions)]
    measured = {}
    for name, moved in (("A − B", change), ("as far, at random", directions * lengths[0] / lengths[1])):
        changed = states.copy()
        changed[:, 3] += moved
        weights = all_weights(changed)[:, 3]
        wins = weights[rows, larger] > weights[rows, 1 - larger]
        predicted = predicted_difference(model, changed, weights)
        measured[name] = chances @ wins, chances @ (predicted == answers[:, 3])
    return measured


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
    predicted = predicted_difference(model, states, all_weights(states)[:, 3])
    usable = (predicted == answers[:, 3]) & (answers[:, 3] > 0)
    larger = (answers[:, 0] < answers[:, 1]).astype(int)
    for name, step in (("the larger count", larger), ("the smaller count", 1 - larger)):
        first, second, weights = patch_pairs(usable, step)
        rows, goal = np.arange(len(first)), answers[second, 3] - answers[first, 3]
        of_count, of_difference = states[first].copy(), states[first].copy()
        of_count[rows, step[first]] = states[second, step[first]]
        of_difference[:, 3] = states[second, 3]
        replaced = {"that count's": of_count, "the difference step's own": of_difference}
        for whose, changed in replaced.items():
            moved = predicted_difference(model, changed, all_weights(changed)[:, 3]) - answers[first, 3]
            slope = np.polyfit(goal, moved, 1, w=np.sqrt(weights))[0]
            measured[f"{name}: {whose}"] = slope, np.average(moved == goal, weights=weights)
    return measured


def with_other_weights(model):
    """Change all weights; return a dict from the change to the sequences, counts and differences right."""
    answers, chances, right = cases().answers, cases().chances, {}
    states, reference = first_states(model), formula.of(model)
    changes = {
        "nothing": all_weights(states),
        "all weights equal": np.full((4, 4), 0.25),
        "each step attends only to itself": np.eye(4),
    }
    for name, weights in changes.items():
        changed = reference.normalize("self_attention/layer_norm", weights @ states + states)
        correct = reference.answers(changed) == answers
        of_steps = chances @ correct
        right[name] = chances @ correct.all(axis=1), of_steps[:3].mean(), of_steps[3]
    return right


def report(trained, blind):
    """Print it all, for lists of models with --self_att and of edit F."""
    head = ["changed", "sequences right", "counts right", "differences right"]
    title = "The weights of all output steps are changed"
    measuring.compare_cases(title, head, trained, with_other_weights, *["%"] * 3)
    head = [
        "moved in the difference step's own state, A ≠ B",
        "the larger count gets more",
        "differences right",
    ]
    measuring.compare_cases("Flipped", head, trained, flipped, "%", "%")
    head = ["differs: replaced", "measured", "answers as for the second input"]
    measuring.compare_cases("Activation patching", head, trained, patched, "{:.2f}", "%")
    title, head = "Activation patching, F", ["F, differs: replaced", *head[1:]]

    def patched_blind(model):
        return {f"F, {name}": values for name, values in patched(model, blind_states).items()}

    measuring.compare_cases(title, head, blind, patched_blind, "{:.2f}", "%")
