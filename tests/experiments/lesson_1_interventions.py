"""Lesson 1: what the weights of a model are, what changed weights do, and where its answers change."""

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


def preferences(model):
    """Return how many times the weight of an output step's own letter is that of the others, float (3, 3).

    The columns are a blank and the other two letters.
    """
    weights = weights_of(model)
    others = [[0, *({1, 2, 3} - {step + 1})] for step in range(3)]
    return np.array([weights[step, step + 1] / weights[step, kinds] for step, kinds in enumerate(others)])


def in_view(model):
    """Return how many of the four kinds of elements each output step has in view, int (3,).

    In view is what has at least a hundredth of the largest weight.
    """
    weights = weights_of(model)
    return (weights >= FAINT * weights.max(axis=1, keepdims=True)).sum(axis=1)


# --- Changed weights ------------------------------------------------------------------------------------

CHANGES = {
    "as they are": lambda weights: weights,
    "all made equal": lambda weights: np.full_like(weights, 1 / weights.shape[-1]),
    "sharper: logits × 1.5": lambda weights: weights**1.5 / (weights**1.5).sum(axis=-1, keepdims=True),
    "rows 0 and 1 exchanged": lambda weights: weights[:, [1, 0, 2]],
}


def decoded(model, inputs, change):
    """Return what the last dense layer gets when a function changes the weights, float (samples, 3, 64)."""
    value, weights = model.key_layer(inputs).numpy(), change(model(inputs)[1].numpy())
    return model.attention.layer_norm(weights @ value + model.query).numpy()


def trained_again(layer, features, answers, steps=1000):
    """Train a dense layer alone, from where it is, by Adam. Return its kernel and bias, float (65, 11).

    Args:
        layer: the Dense layer; it is not changed.
        features: float (samples, outputs, 64), what it gets.
        answers: int (samples, outputs), what it should say.
        steps: int, training steps of 1000 answers each.
    """
    weights = np.vstack([layer.kernel.numpy(), layer.bias.numpy()])
    features, answers = features.reshape(-1, len(weights) - 1), answers.reshape(-1)
    features = np.pad(features, [(0, 0), (0, 1)], constant_values=1)
    mean, square, generator = np.zeros_like(weights), np.zeros_like(weights), np.random.default_rng(0)
    for step in range(1, steps + 1):
        rows = generator.integers(len(answers), size=1000)
        logits = features[rows] @ weights
        slope = np.exp(logits - logits.max(axis=-1, keepdims=True))
        slope /= slope.sum(axis=-1, keepdims=True)
        slope[np.arange(len(rows)), answers[rows]] -= 1  # That of the cross-entropy by the logits.
        gradient = features[rows].T @ slope / len(rows)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        weights -= 0.01 * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-7)
    return weights


def look_or_reader(model, change):
    """Return what a changed look costs: sequences right, then with the last layer alone trained again."""
    data, others = measuring.fresh(TASK), measuring.fresh(TASK, 20000, seed=2000)
    features = decoded(model, data.inputs, change)
    again = trained_again(model.logits_layer, decoded(model, others.inputs, change), others.answers)
    told = [model.logits_layer(features).numpy(), features @ again[:-1] + again[-1]]
    return [(logits.argmax(axis=-1) == data.answers).all(axis=-1).mean() for logits in told]


def moved_weight(model):
    """Give output step 0 the total weight on 'A' that it usually has for another count, from 1 to 6.

    The weights on 'A' and those on the rest keep their proportions. Return the share of answers that become
    the other count, that come within one of it, that stay; and the share right with that for the own count.
    """
    data = measuring.fresh(TASK)
    value, weights = model.key_layer(data.inputs).numpy(), model(data.inputs)[1].numpy()[:, 0]
    own, count = data.letters == 1, data.answers[:, 0]
    total = (weights * own).sum(axis=-1)
    usual = np.array([total[count == number].mean() for number in range(7)])
    other = np.random.default_rng(0).integers(1, 7, len(count))
    told = {}
    for name, wanted in (("other", other), ("own", np.minimum(count, 6))):
        on_own, on_rest = weights / np.maximum(total, 1e-9)[:, None], weights / (1 - total)[:, None]
        moved = np.where(own, on_own * usual[wanted][:, None], on_rest * (1 - usual[wanted])[:, None])
        decoding = model.attention.layer_norm(moved[:, None] @ value + model.query.numpy()[:, :1])
        told[name] = model.logits_layer(decoding).numpy()[:, 0].argmax(axis=-1)
    cases = (count >= 1) & (count <= 6)
    right = (told["own"] == count)[cases].mean()
    cases &= other != count
    apart = abs(told["other"] - other)[cases]
    return (apart == 0).mean(), (apart <= 1).mean(), (told["other"] == count)[cases].mean(), right


# --- Where an answer changes ----------------------------------------------------------------------------


def told_at(model, step, shares):
    """Return what an output step answers to sequences of these shares of " ABC", float (samples, 4).

    The weight of an element depends on its kind alone, so a share may be any number, as in a long sequence.
    """
    weights = shares * weights_of(model)[step]
    value = model.key_layer(np.eye(4, dtype=np.float32)).numpy()
    mixture = weights / weights.sum(axis=-1, keepdims=True) @ value + model.query.numpy()[0, step]
    decoding = model.attention.layer_norm(mixture[:, None].astype(np.float32))
    return model.logits_layer(decoding).numpy()[:, 0].argmax(axis=-1)


def limits(model, step, highest=6):
    """Return ten times the share at which the answer of an output step passes from n - 1 to n, for n from 1.

    The share of its letter rises slowly; the rest are blanks and the other letters in equal parts. Float
    (highest,); in the middle between two counts it would be 0.5, 1.5 and so on.
    """
    own = np.linspace(0, 1, 2001)
    shares = np.repeat((1 - own)[:, None] / 3, 4, axis=1)
    shares[:, step + 1] = own
    told = told_at(model, step, shares)
    return np.array([10 * own[np.argmax(told >= n)] for n in range(1, highest + 1)])


# --- The size of the logits -----------------------------------------------------------------------------


def entropy(depth, divisor):
    """Return the mean entropy, in nats, of the weights of 2,000 random queries with ten random keys each."""
    generator = np.random.default_rng(0)
    query, key = generator.normal(size=(2000, 1, depth)), generator.normal(size=(2000, 10, depth))
    logits = (query * key).sum(axis=-1) / divisor
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1).mean()
