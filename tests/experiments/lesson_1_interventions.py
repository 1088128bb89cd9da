"""Lesson 1, the weights of a model, and what it says when something inside it is changed."""

import numpy as np

from . import formula, measuring

TASK = 1
FACTORS = {"× 0": 0, "× ½": 0.5, "× 1": 1, "× 1½": 1.5, "× 2": 2, "× 2½": 2.5, "× 3": 3}  # Of the logits.


# --- The weights and the queries ------------------------------------------------------------------------


def ratios(model):
    """Return how many times a blank's and another letter's weight the own letter has, geometric means."""
    weights = model(measuring.spell(TASK, " ABC").inputs)[1].numpy()[0]  # The ratios hold on any text.
    own = np.diag(weights[:, 1:])[:, None]
    logarithms = np.log(own / weights.astype(float))  # 0 for the own letter itself.
    return np.exp(logarithms[:, 0].mean()), np.exp(logarithms[:, 1:].sum() / 6)


def query_key_cosines(model):
    """Return the cosine of each output step's query and its own letter's key, both less their means, (3,)."""
    reference = formula.of(model)
    pair = reference.arrays["query"][0], reference.embed(np.eye(4)[1:])
    query, key = (vectors - vectors.mean(axis=-1, keepdims=True) for vectors in pair)
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


def with_factor(model, data, factor):
    """Return what a model answers if a factor multiplies the logits, and its weights then."""
    reference = formula.of(model, {"attention": factor})
    answers = reference.lesson(data.inputs).argmax(axis=-1)
    return answers, *reference.weights["attention"]


def by_factor(model):
    """Return what a model answers with each factor, and what the ruler says: both int (factors, samples, 3).

    The ruler says for which count the total weight on the own letter is usual without a factor, or nearest.
    """
    data, answers, totals = measuring.new_data(TASK), [], []
    own = data.letters[:, None] == np.arange(1, 4)[:, None]
    for factor in FACTORS.values():
        counts, weights = with_factor(model, data, factor)
        answers.append(counts)
        totals.append((weights * own).sum(axis=-1))
    usual = np.array([weight_by_count(model, step) for step in range(3)])
    return np.array(answers), abs(np.array(totals)[..., None] - usual).argmin(axis=-1)


# --- What layer norm divides by -------------------------------------------------------------------------


def apart(model, data):
    """Return weighted mean + query less their mean, (…, 64), and what layer norm divides by, (…, 1)."""
    reference, weights = formula.of(model), model(data.inputs)[1].numpy()  # An edit has weights of its own.
    sums = weights @ reference.embed(data.inputs) + reference.arrays["query"]
    rest = sums - sums.mean(axis=-1, keepdims=True)
    return rest, np.sqrt((rest**2).mean(axis=-1, keepdims=True) + formula.EPSILON)


def same_for_all(model):
    """Return the sequences right if all get the same vector to be divided, and if all are divided alike."""
    data, reference, right = measuring.new_data(TASK), formula.of(model), []
    gamma, beta = (array for name, array in reference.arrays.items() if "layer_norm" in name)
    rest, deviation = apart(model, data)
    for divided in (rest.mean(axis=(0, 1)) / deviation, rest / deviation.mean()):
        answers = reference.answers(gamma * divided + beta)
        right.append((answers == data.answers).all(axis=-1).mean())
    return right
