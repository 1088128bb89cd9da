"""The attention layer and the models of the tasks, against the formulas in NumPy and against Keras."""

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


SIZES = {"max_len": 7, "vocab_size": 5, "hidden": 12}
MODELS = {  # The settings that are not SIZES, and how many arrays of weights there are.
    "1": ({}, 7),
    "2": ({"self_att": False}, 7),
    "2 --self_att": ({"self_att": True}, 9),
    "3 --enc_layers 0": ({"pos_enc": False, "enc_layers": 0}, 7),
    "3 --pos_enc": ({"pos_enc": True, "enc_layers": 1}, 16),
    "3 --enc_layers 3": ({"pos_enc": False, "enc_layers": 3}, 31),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_the_formula_also_by_keras_own_way(name):
    """With random weights, at two lengths, one after the other, which are not the longest."""
    number, (own, count) = int(name[0]), MODELS[name]
    module, generator = program.load(number), np.random.default_rng(0)
    model = module.AttentionModel(**SIZES, **own)
    assert len(model.weights) == count
    for weight in model.weights:
        assert weight.path not in ("model/query", "model/positional_encoding") or not weight.numpy().any()
        weight.assign(generator.normal(size=weight.shape) / 2 + ("gamma" in weight.path))
    reference = formula.of(model)
    if number == 3 and own["enc_layers"]:
        assert reference.arrays["encoder_layer_1/expand/kernel"].shape == (12, 24)
    for length in (6, 3):
        inputs, _ = module.Task(7, 5, generator).next_batch(4, length=length)
        reference.weights.clear()
        chances = reference.lesson(inputs)
        assert chances.shape[-1] == SIZES["max_len"] + 1  # From none to all.
        expected = [weights for (weights,) in reference.weights.values()]
        if number == 3:  # The program returns the decoder's first.
            expected.insert(0, expected.pop())
        for outputs in (model(inputs), model.predict(inputs, verbose=0)):
            logits, *weights = module.tf.nest.flatten(outputs)
            np.testing.assert_allclose(module.tf.nn.log_softmax(logits), np.log(chances), atol=1e-2)
            for one, other in zip(weights, expected, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-4)
