"""Lesson 1, the weights of a model, and what it says when something inside it is changed."""

import numpy as np

from . import measuring

TASK = 1
FACTORS = {"× 0": 0, "× ½": 0.5, "× 1": 1, "× 1½": 1.5, "× 2": 2, "× 2½": 2.5, "× 3": 3}  # Of the logits.


# --- The weights and the queries ------------------------------------------------------------------------


def preferences(model):
    """Return how many times a blank's and two letters' weight the own letter has, float (output steps, 3)."""
    weights = (
        model(measuring.spell(TASK, " ABC").inputs)[1].numpy()[0].astype(float)
    )  # These hold on any text.
    others = [[0, *({1, 2, 3} - {step + 1})] for step in range(3)]
    return np.array([weights[step, step + 1] / weights[step, kinds] for step, kinds in enumerate(others)])


def ratios(model):
    """Return the preferences over a blank and over another letter, geometric means over the output steps."""
    logarithms = np.log(preferences(model))
    return np.exp(logarithms[:, 0].mean()), np.exp(logarithms[:, 1:].mean())


def query_key_cosines(model):
    """Return the cosine of each output step's query and its own letter's key, both less their means, (3,)."""
    key = model.key_layer(np.eye(4, dtype=np.float32)[1:]).numpy()
    query, key = (vectors - vectors.mean(axis=-1, keepdims=True) for vectors in (model.query.numpy()[0], key))
    norms = np.linalg.norm(query, axis=-1) * np.linalg.norm(key, axis=-1)
    return (query * key).sum(axis=-1) / norms


def weight_by_count(model, step=0):
    """Return the mean total weight of an output step on its letter, for each count among ten from 0 to 10."""
    own, means = step + 1, []
    rest = np.random.default_rng(0).choice([kind for kind in range(4) if kind != own], (4000, 10))
    for count in range(11):
        letters = np.where(np.arange(10) < count, own, rest)
        weights = model(measuring.given_letters(TASK, letters).inputs)[1].numpy()[:, step]
        means.append((weights * (letters == own)).sum(axis=-1).mean())
    return means


# --- Changed weights ------------------------------------------------------------------------------------


def norm_of(model):
    """Return the layer norm of a model, which an edit may have moved."""
    return getattr(model, "attention", model).layer_norm


def read_counts(model, vectors):
    """Return the counts that a model reads from what its last dense layer gets."""
    return model.logits_layer(vectors).numpy().argmax(axis=-1)


def with_factor(model, data, factor=1):
    """Return what the last dense layer gets if a factor multiplies the logits, and the weights then."""
    weights = model(data.inputs)[1].numpy() ** factor
    weights /= weights.sum(axis=-1, keepdims=True)
    return norm_of(model)(weights @ model.key_layer(data.inputs) + model.query).numpy(), weights


def by_factor(model):
    """Return what a model answers with each factor, and what the ruler says: both int (factors, samples, 3).

    The ruler says for which count the total weight on the own letter is usual without a factor, or nearest.
    """
    data, answers, totals = measuring.new_data(TASK), [], []
    own = data.letters[:, None] == np.arange(1, 4)[:, None]
    for factor in FACTORS.values():
        vectors, weights = with_factor(model, data, factor)
        answers.append(read_counts(model, vectors))
        totals.append((weights * own).sum(axis=-1))
    usual = np.array([weight_by_count(model, step) for step in range(3)])
    return np.array(answers), abs(np.array(totals)[..., None] - usual).argmin(axis=-1)


# --- What layer norm divides by -------------------------------------------------------------------------


def apart(model, data):
    """Return weighted mean + query less their mean, (…, 64), and their standard deviation, (…, 1)."""
    sums = (model(data.inputs)[1] @ model.key_layer(data.inputs) + model.query).numpy()
    rest = sums - sums.mean(axis=-1, keepdims=True)
    return rest, np.sqrt((rest**2).mean(axis=-1, keepdims=True) + norm_of(model).epsilon)


def same_for_all(model):
    """Return the sequences right if all get the same vector to be divided, and if all are divided alike."""
    data, norm, right = measuring.new_data(TASK), norm_of(model), []
    rest, deviation = apart(model, data)
    for divided in (rest.mean(axis=(0, 1)) / deviation, rest / deviation.mean()):
        answers = read_counts(model, norm.gamma * divided + norm.beta)
        right.append((answers == data.answers).all(axis=-1).mean())
    return right
