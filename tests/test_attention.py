"""The attention layer of the tasks, against the formula in NumPy and against Keras."""

import formula
import numpy as np
import program
import pytest


@pytest.mark.parametrize("sizes", ((3, 4, 5, 16), (1, 1, 2, 1), (2, 7, 3, 5)))
def test_attention_is_the_formula_and_that_of_keras(sizes):
    """The layer of Task 1, of which the others are copies."""
    (batch, queries, keys, depth), generator, module = sizes, np.random.default_rng(0), program.load(1)
    shapes = ((batch, queries, depth), (batch, keys, depth), (batch, keys, depth))
    query, key, value = (generator.normal(size=shape).astype(np.float32) for shape in shapes)
    for asked in (query[:1], query):  # The same queries for all, or some for each sequence.
        output, weights = module.Attention()(query=asked, key=key, value=value)
        means, expected_weights = formula.attend(asked, key, value)
        np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
        np.testing.assert_allclose(output, formula.normalize(means + asked), atol=1e-3)
    attention, layer_norm = module.tf.keras.layers.Attention(), module.tf.keras.layers.LayerNormalization()
    means, keras_weights = attention([query / depth**0.5, value, key], return_attention_scores=True)
    np.testing.assert_allclose(weights, keras_weights, atol=1e-6)
    np.testing.assert_allclose(output, layer_norm(means + query), atol=1e-5)
