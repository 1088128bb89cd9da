"""The attention layer and the models, against NumPy, against Keras, and for their shapes."""

import hypothesis
import numpy as np
import program
import pytest
from experiments import formula
from hypothesis import strategies

shapes = strategies.tuples(*(strategies.integers(1, 8) for _ in range(4)), strategies.integers(0, 999))


def arrays(shape):
    """Return a random query, key and value of (batch, queries, keys, depth, seed)."""
    batch, queries, keys, depth, seed = shape
    generator = np.random.default_rng(seed)
    sizes = ((batch, queries, depth), (batch, keys, depth), (batch, keys, depth))
    return [generator.normal(size=size).astype(np.float32) for size in sizes]


def attend(query, key, value):
    """Return output and weights by the formula, in float64."""
    means, weights = formula.attend(query, key, value)
    return formula.normalize(means + query), weights


@hypothesis.given(shapes)
@hypothesis.settings(deadline=None, max_examples=50)
def test_attention_is_the_formula(shape):
    """The layer of Task 1, of which the others are copies."""
    query, key, value = arrays(shape)
    for queries in (query, query[:1]):  # One for each sequence, or the same for all.
        output, weights = program.load(1).Attention()(query=queries, key=key, value=value)
        expected_output, expected_weights = attend(queries, key, value)
        np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
        np.testing.assert_allclose(output, expected_output, atol=1e-3)


def test_attention_is_that_of_keras():
    module = program.load(1)
    query, key, value = arrays((3, 4, 5, 16, 0))
    attention = module.Attention()
    output, weights = attention(query=query, key=key, value=value)
    keras_attention = module.tf.keras.layers.Attention()
    keras_result, keras_weights = keras_attention([query / 16**0.5, value, key], return_attention_scores=True)
    np.testing.assert_allclose(weights, keras_weights, atol=1e-6)
    np.testing.assert_allclose(output, attention.layer_norm(keras_result + query), atol=1e-5)


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
def test_models_are_made_of_the_formula(name):
    """Each model with random weights, against the same computed in NumPy."""
    number, (own, count) = int(name[0]), MODELS[name]
    module, generator = program.load(number), np.random.default_rng(0)
    model = module.AttentionModel(**SIZES, **own)
    assert len(model.weights) == count
    for weight in model.weights:
        assert weight.path not in ("model/query", "model/positional_encoding") or not weight.numpy().any()
        if "layer_norm" not in weight.path:
            weight.assign(generator.normal(size=weight.shape) / 2)
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    inputs, _ = module.Task(7, 5, generator).next_batch(3, length=6)  # Shorter ones must do, too.

    def dense(vectors, name):
        return vectors @ arrays[f"{name}/kernel"] + arrays[f"{name}/bias"]

    vectors, expected = dense(inputs, "embedding" if number == 3 else "key_layer"), []
    if own.get("pos_enc"):
        vectors = vectors + arrays["positional_encoding"][:, :6]
    for layer in range(1, own.get("enc_layers", 0) + 1):
        vectors, weights = attend(vectors, vectors, vectors)
        expanded = np.maximum(dense(vectors, f"encoder_layer_{layer}/expand"), 0)
        assert expanded.shape[-1] == 2 * SIZES["hidden"]
        vectors = formula.normalize(dense(expanded, f"encoder_layer_{layer}/contract") + vectors)
        expected.append(weights)
    decoding, weights = attend(arrays["query"], vectors, vectors)
    expected.insert(0, weights)
    if own.get("self_att"):
        decoding, weights = attend(decoding, decoding, decoding)
        expected.append(weights)
    logits, weights, *others = model(inputs)
    attentions = [weights, *(others[0] if number == 3 else [other for other in others if other is not None])]
    assert logits.shape[-1] == SIZES["max_len"] + 1  # From none to all.
    np.testing.assert_allclose(logits, dense(decoding, "logits_layer"), atol=1e-2)
    for attention, weights in zip(attentions, expected, strict=True):
        np.testing.assert_allclose(attention, weights, atol=1e-3)


def test_without_positions_the_order_of_letters_is_invisible():
    """A model of Task 3 is a function of the multiset of its letters without --pos_enc, and not with it."""
    module = program.load(3)
    inputs, _ = module.Task(7, 5, np.random.default_rng(0)).next_batch(20)
    shuffled = inputs[:, np.random.default_rng(1).permutation(8)]
    for pos_enc in (False, True):
        model = module.AttentionModel(**SIZES, pos_enc=pos_enc, enc_layers=2)
        if pos_enc:
            model.positional_encoding.assign(np.random.default_rng(2).normal(size=(1, 8, 12)))
        model.query.assign(np.random.default_rng(3).normal(size=(1, 1, 12)))
        difference = np.abs(model(inputs)[0] - model(shuffled)[0]).max()
        assert (difference > 1e-2) == pos_enc
        assert pos_enc or difference < 1e-4
