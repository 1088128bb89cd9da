"""Attention and whole models by their formulas, in NumPy: the reference of all tests and experiments."""

import numpy as np

EPSILON = 1e-3  # Of layer normalization, as in Keras.


def softmax(numbers):
    """Return the softmax over the last axis, float64."""
    exponentials = np.exp(numbers - np.max(numbers, axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attend(query, key, value, factor=1, mask=True):
    """Return the weighted means of the values and the weights: equation 1 of Vaswani et al. (2017).

    The scores are multiplied by a factor; the mask, bool (queries, keys), is False where a query cannot
    attend to a key.
    """
    query, key, value = (np.asarray(array, dtype=np.float64) for array in (query, key, value))
    scores = factor * (query @ key.swapaxes(-1, -2)) / np.sqrt(key.shape[-1])
    weights = softmax(np.where(mask, scores, -np.inf))
    return weights @ value, weights


def normalize(vectors):
    """Return layer normalization without its learnt scale and shift."""
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)


def of(model, factors=()):
    """Return a Model with the weights of a Keras model of a program."""
    return Model({weight.path.removeprefix("model/"): weight for weight in model.weights}, factors)


class Model:
    """A model of the tasks, or a transformer, from the arrays of its checkpoint alone.

    factors is a dict from the name of an attention to what multiplies its scores; self.weights one from the
    name of each attention that was computed to the list of its heads' weights, float64 (..., queries, keys).
    """

    def __init__(self, arrays, factors=()):
        self.arrays = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
        self.factors, self.weights = dict(factors), {}

    def dense(self, name, vectors):
        """Return a dense layer's output."""
        return vectors @ self.arrays[f"{name}/kernel"] + self.arrays[f"{name}/bias"]

    def normalize(self, name, vectors):
        """Return layer normalization with its learnt scale and shift."""
        return normalize(vectors) * self.arrays[f"{name}/gamma"] + self.arrays[f"{name}/beta"]

    def mix(self, name, query, key, value, mask=True):
        """Return the weighted means of the values; add the weights of this head of an attention."""
        means, weights = attend(query, key, value, self.factors.get(name, 1), mask)
        self.weights.setdefault(name, []).append(weights)
        return means

    def attend(self, name, query, key):
        """Return attention, with the residual connection and layer normalization."""
        return self.normalize(f"{name}/layer_norm", self.mix(name, query, key, key) + query)

    def embed(self, inputs):
        """Return a vector for each letter of one-hot inputs (..., length, letters), with its position's."""
        if "key_layer/kernel" in self.arrays:
            return self.dense("key_layer", inputs)
        positions = self.arrays.get("positional_encoding", np.zeros((1, inputs.shape[-2], 1)))
        return self.dense("embedding", inputs) + positions[0, : inputs.shape[-2]]

    def lesson(self, inputs):
        """Return the chances of each answer of a task's model to one-hot inputs (..., length, letters)."""
        vectors, layer = self.embed(inputs), 1
        while f"encoder_layer_{layer}/expand/kernel" in self.arrays:
            name = f"encoder_layer_{layer}"
            vectors = self.attend(f"{name}/attention", vectors, vectors)
            expanded = np.maximum(self.dense(f"{name}/expand", vectors), 0)
            vectors = self.normalize(f"{name}/layer_norm", self.dense(f"{name}/contract", expanded) + vectors)
            layer += 1
        decoding = self.attend("attention", self.arrays["query"][0], vectors)
        if "self_attention/layer_norm/gamma" in self.arrays:
            decoding = self.attend("self_attention", decoding, decoding)
        return softmax(self.dense("logits_layer", decoding))

    def embed_words(self, words):
        """Return a vector for each of the words of a transformer, int (..., length), with its position's."""
        return self.arrays["embedding/embeddings"][words] + self.arrays["positions"][0, : np.shape(words)[-1]]

    def block(self, name, vectors, heads):
        """Return the vectors after a block."""
        depth = vectors.shape[-1] // heads
        normalized = self.normalize(f"{name}/norm_1", vectors)
        projected = [normalized @ self.arrays[f"{name}/attention/W_{which}"] for which in "QKV"]
        means, mask = [], np.tri(vectors.shape[-2], dtype=bool)
        for head in range(heads):
            parts = [each[..., head * depth : (head + 1) * depth] for each in projected]
            means.append(self.mix(f"{name}/attention", *parts, mask))
        vectors = vectors + np.concatenate(means, axis=-1) @ self.arrays[f"{name}/attention/W_O"]
        expanded = np.maximum(self.dense(f"{name}/expand", self.normalize(f"{name}/norm_2", vectors)), 0)
        return vectors + self.dense(f"{name}/contract", expanded)

    def next_words(self, vectors):
        """Return the chances of each next word, for the vectors after the last block."""
        return softmax(self.dense("logits_layer", self.normalize("norm", vectors)))

    def transformer(self, settings, words):
        """Return the chances of each next word, after each of the words, int (..., length)."""
        vectors = self.embed_words(words)
        for layer in range(settings["layers"]):
            vectors = self.block(f"block_{layer + 1}", vectors, settings["heads"])
        return self.next_words(vectors)

    def fixed(self, inputs, times):
        """Return the chances of the edit whose own letters get `times` another's weight."""
        weights = softmax(self.factors.get("attention", 1) * np.log(times) * inputs[..., 1:].swapaxes(-1, -2))
        self.weights["attention"] = [weights]
        sums = weights @ self.dense("key_layer", inputs) + self.arrays["query"][0]
        return softmax(self.dense("logits_layer", self.normalize("layer_norm", sums)))
