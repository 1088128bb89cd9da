"""Lesson 1: what the weights of a model are, what its dense layer reads, and what changed weights do."""

import fractions
import itertools
import math

import numpy as np

from . import measuring

TASK = 1
KINDS = " ABC"  # What an element may be; output step 0 counts 'A', which has index 1.
FAINT = 0.01  # Of the largest weight: what has less is out of view.


# --- The weights ----------------------------------------------------------------------------------------


def weights_of(model):
    """Return the weights of each output step on a sequence with every kind of element, float (3, 4).

    The weight of an element depends on its kind alone, up to a factor that is the same for the whole
    sequence; so the ratios of these weights are those of any other sequence.
    """
    weights = model(measuring.spell(TASK, KINDS).inputs)[1].numpy()[0].astype(float)
    return np.broadcast_to(weights, (3, 4))


def in_view(model):
    """Return how many of the four kinds of elements each output step has in view, int (3,).

    In view is what has at least a hundredth of the largest weight.
    """
    weights = weights_of(model)
    return (weights >= FAINT * weights.max(axis=1, keepdims=True)).sum(axis=1)


def steps_right(model):
    """Return the fraction of answers right, for each output step, float (3,)."""
    data = measuring.fresh(TASK)
    return (measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers).mean(axis=0)


def best_with(kinds):
    """Return how often the best answer to the share of a letter is right, if only so many kinds are in view.

    The elements in view have the same weight, the letter is one of them; what is out of view is not known.
    First for any reader of the shares of all kinds in view, then for one who reads the letter's own share
    and never answers less where that is larger.
    """
    by_all, by_own = {}, {}
    for counts in itertools.product(range(11), repeat=4):
        if sum(counts) != 10:
            continue
        chance = math.factorial(10) / math.prod(map(math.factorial, counts)) / 4**10
        seen = sum(counts[:kinds])
        shares = tuple(fractions.Fraction(count, seen) if seen else -1 for count in counts[:kinds])
        for table, key in ((by_all, shares), (by_own, shares[0])):
            table.setdefault(key, np.zeros(11))[counts[0]] += chance
    best = np.zeros(11)  # The most that is right so far, for each highest answer so far.
    for _, chances in sorted(by_own.items()):
        best = np.maximum.accumulate(best) + chances
    return sum(chances.max() for chances in by_all.values()), best.max()


def best_without_own():
    """Return how often the best answer is right, if one other kind is in view, which tells if it occurs."""
    table = np.zeros((2, 11))
    for count, other in itertools.product(range(11), repeat=2):
        if count + other <= 10:
            ways = math.comb(10, count) * math.comb(10 - count, other) * 2 ** (10 - count - other)
            table[int(other > 0), count] += ways / 4**10
    return table.max(axis=1).sum()


# --- What is mixed --------------------------------------------------------------------------------------


def lengths_of(model):
    """Return the lengths of value + query for each kind, float (3, 4), after the mean is taken off.

    The weights of an average sum to 1, so weights · value + query is the weighted sum of value + query; layer
    norm takes the mean off and divides by the length. So an element counts by its weight times this length.
    """
    inputs = measuring.spell(TASK, KINDS).inputs
    values = getattr(model, "value_layer", model.key_layer)(inputs).numpy()[0].astype(float)
    sums = values[None] + model.query.numpy()[0].astype(float)[:, None]
    return np.linalg.norm(sums - sums.mean(axis=-1, keepdims=True), axis=-1)


def summands(model):
    """Return what is added up, means over the output steps: three lengths and two preferences.

    The lengths of value + query for the own letter, a blank and another letter; weight times length of the
    own letter, as a multiple of a blank's and of another letter's.
    """
    weights, lengths, found = weights_of(model), lengths_of(model), []
    for step in range(3):
        own, others = step + 1, sorted({1, 2, 3} - {step + 1})
        parts, length = np.log(weights[step] * lengths[step]), lengths[step]
        more = np.exp([parts[own] - parts[0], parts[own] - parts[others].mean()])
        found.append([length[own], length[0], length[others].mean(), *more])
    return np.mean(found, axis=0)


def query_length(model):
    """Return the mean length of the queries."""
    return np.linalg.norm(model.query.numpy()[0], axis=-1).mean()


# --- Changed weights ------------------------------------------------------------------------------------


def interventions_on_counting(model):
    """Return what changed weights do in a trained model: sequences right, and a second share.

    "equal": all weights are made equal. "exchanged": output steps 0 and 1 exchange their weights and keep
    their own query; then right means that they count as before, and the second share is that of sequences, of
    those with A ≠ B, where both answers have changed places. "sharper": all logits are doubled.
    """
    data = measuring.fresh(TASK)
    value = model.key_layer(data.inputs).numpy()
    weights = model(data.inputs)[1].numpy()
    changes = {
        "none": weights,
        "equal": np.full_like(weights, 0.1),
        "exchanged": weights[:, [1, 0, 2]],
        "sharper": weights**2 / (weights**2).sum(axis=-1, keepdims=True),
    }
    found, differ = {}, data.answers[:, 0] != data.answers[:, 1]
    for name, changed in changes.items():
        logits = model.logits_layer(model.attention.layer_norm(changed @ value + model.query)).numpy()
        told = logits.argmax(axis=-1)
        swapped = (told[:, :2] == data.answers[:, 1::-1]).all(axis=-1)[differ].mean()
        found[name] = ((told == data.answers).all(axis=-1).mean(), swapped)
    return found


def usual_weights(model):
    """Return the mean total weight of output step 0 on 'A' for each count from 0 to 6, float (7,)."""
    data = measuring.fresh(TASK)
    total = (model(data.inputs)[1].numpy()[:, 0] * (data.letters == 1)).sum(axis=-1)
    return np.array([total[data.answers[:, 0] == number].mean() for number in range(7)])


def rest_of_one_kind(model):
    """Give output step 0 the usual total weight on 'A' for each count from 1 to 6, and the rest to one kind.

    Return the share of these counts that come out if that kind is a blank, and if it is 'B'.
    """
    value, usual = model.key_layer(np.eye(4, dtype=np.float32)).numpy(), usual_weights(model)[1:, None]
    found = []
    for kind in (0, 2):
        mixture = usual * value[1] + (1 - usual) * value[kind] + model.query.numpy()[0, 0]
        told = model.logits_layer(model.attention.layer_norm(mixture[:, None])).numpy()[:, 0].argmax(axis=-1)
        found.append((told == np.arange(1, 7)).mean())
    return found


def moved_weight(model):
    """Give output step 0 the total weight on 'A' that it has for another count.

    The weights on 'A' and those on the rest keep their proportions; the counts are 1 to 6.

    Returns:
        The share of answers that become the other count, that come within one of it, and that stay; and, as a
        control, the share that is right when the total weight is set to the mean for the count that is there.
    """
    data = measuring.fresh(TASK)
    value, weights = model.key_layer(data.inputs).numpy(), model(data.inputs)[1].numpy()[:, 0]
    own, count = data.letters == 1, data.answers[:, 0]
    total = (weights * own).sum(axis=-1)
    usual = usual_weights(model)
    other = np.random.default_rng(0).integers(1, 7, len(count))

    def answer(wanted):
        """Return what output step 0 answers when 'A' gets the weight that is usual for the wanted count."""
        goal = usual[wanted][:, None]
        on_own, on_rest = weights / np.maximum(total, 1e-9)[:, None], weights / (1 - total)[:, None]
        mixture = np.einsum("bk,bkd->bd", np.where(own, on_own * goal, on_rest * (1 - goal)), value)
        decoding = model.attention.layer_norm((mixture + model.query.numpy()[:, 0])[:, None])
        return model.logits_layer(decoding).numpy()[:, 0].argmax(axis=-1)

    cases = (count >= 1) & (count <= 6)
    right = (answer(np.clip(count, 1, 6)) == count)[cases].mean()
    cases &= other != count
    told = answer(other)[cases]
    near = (abs(told - other[cases]) <= 1).mean()
    return (told == other[cases]).mean(), near, (told == count[cases]).mean(), right


# --- The size of the logits -----------------------------------------------------------------------------


def saturation(hidden, scaled, samples=2000, keys=10):
    """Return the mean entropy of attention weights, in nats, and the mean sizes of two gradients.

    Query and keys are drawn from the normal distribution. The sizes are the Frobenius norms of the derivative
    of the weights by the logits that the softmax gets, diag(weights) - weights weightsᵀ, and of the
    derivative of the weights by the query, which is the same times the keys, divided as the logits.
    """
    generator = np.random.default_rng(0)
    divisor = math.sqrt(hidden) if scaled else 1
    found = []
    for _ in range(samples // 200):
        query = generator.normal(size=(200, 1, hidden))
        key = generator.normal(size=(200, keys, hidden))
        logits = (query * key).sum(axis=-1) / divisor
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1)
        by_logits = weights[:, :, None] * (np.eye(keys) - weights[:, None])
        by_query = by_logits @ key / divisor
        sizes = [np.sqrt((gradient**2).sum(axis=(1, 2))) for gradient in (by_logits, by_query)]
        found.append([entropy.mean(), *(size.mean() for size in sizes)])
    return np.mean(found, axis=0)
