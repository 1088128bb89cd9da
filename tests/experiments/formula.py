"""Attention by its formula, in NumPy: the reference of the tests, and what the experiments change."""

import numpy as np


def attend(query, key, value, factor=1):
    """Return the weighted means of the values and the weights: equation 1 of Vaswani et al. (2017).

    Args:
        query: float (..., queries, depth).
        key: float (..., keys, depth).
        value: float (..., keys, numbers).
        factor: float, what the logits are multiplied by.

    Returns:
        means: float64 (..., queries, numbers).
        weights: float64 (..., queries, keys); each row sums to 1.
    """
    query, key, value = (np.asarray(array, dtype=np.float64) for array in (query, key, value))
    logits = factor * (query @ key.swapaxes(-1, -2)) / np.sqrt(key.shape[-1])
    exponentials = np.exp(logits)
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ value, weights


def normalize(vectors):
    """Return layer normalization without its learnt scale and shift, with the epsilon of Keras."""
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-3)
