"""Lesson 2, what could be read in a model, and what it does when something inside it is changed.

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


def first_states(model, query=None):
    """Return the hidden states of all cases before self-attention, float32 (286, 4, hidden)."""
    key = model.key_layer(cases().inputs)
    return model.attention(query=model.query if query is None else query, key=key, value=key)[0].numpy()


def blind_states(model):
    """Return the same of edit F, in which output step 3 has its bare query."""
    states = first_states(model)
    states[:, 3] = model.query[0, 3]
    return states


def all_weights(states):
    """Return how the output steps attend to each other, float (batch, 4, 4)."""
    return formula.attend(states, states, states)[1]


def random_query(trained, seed, size=1):
    """Return a random query, float32 (1, 4, hidden); size 1 is each vector as long as in a trained model."""
    drawn = np.random.default_rng(seed).normal(size=trained.query.shape)
    lengths = np.linalg.norm(trained.query, axis=-1, keepdims=True) / np.linalg.norm(
        drawn, axis=-1, keepdims=True
    )
    return (size * drawn * lengths).astype(np.float32)


# --- What a new last layer reads ------------------------------------------------------------------------


def probed(states):
    """Return which differences the best last layer for them alone gets right, a list of one fraction."""
    difference, chances = cases().answers[:, 3], cases().chances
    read = measuring.probe(states[:, 3], difference, chances)
    return [chances @ (read(states[:, 3]) == difference)]


def with_other_weights(model):
    """Change all weights, or all queries, then give the model a new last layer.

    Returns a dict from the change to the fractions of sequences, counts and differences right, and of
    differences with the new layer.
    """
    answers, chances, right = cases().answers, cases().chances, {}
    states, random = first_states(model), first_states(model, random_query(model, 0))
    equal, own = np.full((1, 4, 4), 0.25, np.float32), np.eye(4, dtype=np.float32)[None]
    for name, vectors, weights in (
        ("nothing", states, all_weights(states)),
        ("all weights equal", states, equal),
        ("each on itself", states, own),
        ("control: random queries", random, all_weights(random)),
    ):
        changed = model.self_attention.layer_norm(weights @ vectors + vectors).numpy()
        correct = model.logits_layer(changed).numpy().argmax(axis=-1) == answers
        of_steps = chances @ correct
        right[name] = chances @ correct.all(axis=1), of_steps[:3].mean(), of_steps[3], *probed(changed)
    return right


# --- To what output steps attend ------------------------------------------------------------------------


def beside_a_blank(model):
    """Return the weights of output step 3 on 'A', 'B', 'C' over a blank's, and the largest over the least."""
    key = model.key_layer(np.eye(4, dtype=np.float32)[None])
    weights = model.attention(query=model.query, key=key, value=key)[1].numpy()[0, 3]
    return *(weights[1:] / weights[0]), weights.max() / weights.min()


def on_itself(model, query=None):
    """Return the mean weight of a count on itself, a list of one number."""
    weights = all_weights(first_states(model, query))
    itself = cases().chances @ np.diagonal(weights, axis1=1, axis2=2)
    return [itself[:3].mean()]


def on_counts(states):
    """Return to what output step 3 attends where A ≠ B, five numbers, for the hidden states of all cases.

    The mean weights on the larger count, the smaller, 'C', itself; how often the larger one gets more.
    """
    differ, larger, chances = unequal()
    weights = all_weights(states)[differ, 3]
    most, least = (weights[np.arange(len(weights)), step] for step in (larger, 1 - larger))
    return chances @ np.column_stack([most, least, weights[:, 2:], most > least])


# --- Interventions at output step 3 ---------------------------------------------------------------------


def predicted_difference(model, states, weights):
    """Return the answers of output step 3, int (batch,), for its weights, float (batch, 4).

    The states, float32 (batch, 4, hidden), are those before self-attention.
    """
    sums = np.einsum("bk,bkd->bd", weights, states) + states[:, 3]
    logits = model.logits_layer(model.self_attention.layer_norm(sums[:, None]))
    return logits.numpy()[:, 0].argmax(axis=-1)


def without(weights, step, amount):
    """Return weights, (batch, 4), with an amount, (batch,), taken from a step and shared by the others."""
    rows, rest = np.arange(len(weights)), weights.copy()
    rest[rows, step] = 0
    rest *= 1 + (amount / rest.sum(axis=-1))[:, None]
    rest[rows, step] = weights[rows, step] - amount
    return rest


def with_less_weight(model):
    """Take weight away from what output step 3 attends to, where A ≠ B.

    Returns a dict from the change to the weight taken and the fraction of differences right.
    """
    differ, larger, chances = unequal()
    states, difference = first_states(model)[differ], cases().answers[differ, 3]
    weights = all_weights(states)[:, 3]
    most, own, measured = weights[np.arange(len(weights)), larger], weights[:, 3], {}
    for name, step, amount in (
        ("nothing", larger, 0 * most),
        ("all of its own", 3, own),
        ("the larger count's, as much as it has itself", larger, np.minimum(own, most)),
        ("all of the larger count's", larger, most),
    ):
        answers = predicted_difference(model, states, without(weights, step, amount))
        measured[name] = chances @ amount, chances @ (answers == difference)
    return measured


def flipped(model):
    """Flip a quantity in output step 3's own state, where A ≠ B, along the way in which the state follows it.

    A − B goes as far to the other side of 0, A + B of its mean; 'C' as far as A − B, in the length of the
    change. Returns a dict from the quantity to how often the larger count gets more, and what is right.
    """
    differ, larger, chances = unequal()
    states, answers = first_states(model)[differ], cases().answers[differ]
    first, second, third, _ = answers.T.astype(float)
    rows, quantities = np.arange(len(answers)), np.column_stack([first - second, first + second, third])
    quantities[:, 1:] -= chances @ quantities[:, 1:]
    root, own = np.sqrt(chances)[:, None], states[:, 3]
    slopes = np.linalg.lstsq(root * quantities, root * (own - chances @ own), rcond=None)[0]
    changes = [-2 * np.outer(quantity, slope) for quantity, slope in zip(quantities.T, slopes, strict=True)]
    lengths = [chances @ np.linalg.norm(change, axis=1) for change in changes]
    changes[2] *= lengths[0] / lengths[2]
    measured = {}
    for name, change in zip(("A − B", "A + B", "'C'"), changes, strict=True):
        changed = states.copy()
        changed[:, 3] += change
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
    sign, changing, kept = (
        np.sign(answers[:, 0] - answers[:, 1]),
        answers[rows, step],
        answers[rows, 1 - step],
    )
    pairs = usable[:, None] & usable & (changing[:, None] != changing)
    for same in (sign, answers[:, 2], kept):
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
        of_both = of_count.copy()
        of_both[:, 3] = states[second, 3]
        replaced = {"that count's": of_count, "the difference step's own": of_difference, "both": of_both}
        for whose, changed in replaced.items():
            moved = predicted_difference(model, changed, all_weights(changed)[:, 3]) - answers[first, 3]
            slope = np.polyfit(goal, moved, 1, w=np.sqrt(weights))[0]
            measured[f"{name}: {whose}"] = slope, np.average(moved == goal, weights=weights)
    return measured


def report(trained, untrained, blind):
    """Print it all, for lists of models with --self_att, trained and after one step, and of edit F."""
    head = ["changed", "sequences right", "counts right", "differences right", "with the new last layer"]
    title = "The weights of all output steps are changed"
    measuring.compare_cases(title, head, trained, with_other_weights, *["%"] * 4)
    rows = {"after the training": [(model, None) for model in trained],
            "before the training": [(model, None) for model in untrained]}  # fmt: skip
    for size, label in ((1, "random queries as long as trained"), (0.1, "random queries a tenth as long")):
        queries = [random_query(like, seed, size) for seed, like in enumerate(trained)]
        rows[f"before the training, {label}"] = list(zip(untrained, queries, strict=True))
    head = ["a count's mean weight on itself", ""]
    measuring.compare("On itself", head, rows, lambda pair: on_itself(*pair), "{:.2f}")
    head = ["taken from the difference step, A ≠ B", "how much", "differences right"]
    measuring.compare_cases("Weight taken away", head, trained, with_less_weight, "{:.2f}", "%")
    head = [
        "flipped in the difference step's own state, A ≠ B",
        "the larger count gets more",
        "differences right",
    ]
    measuring.compare_cases("Flipped", head, trained, flipped, "%", "%")
    head = ["differs: replaced", "measured", "the second answer comes out"]
    measuring.compare_cases("Activation patching", head, trained, patched, "{:.2f}", "%")
    title, head = "Activation patching, F", ["F, differs: replaced", *head[1:]]

    def patched_blind(model):
        return {f"F, {name}": values for name, values in patched(model, blind_states).items()}

    measuring.compare_cases(title, head, blind, patched_blind, "{:.2f}", "%")
