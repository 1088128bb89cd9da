"""The attention layer and the models, against NumPy, against Keras, and for the shapes of the contract."""

import hypothesis
import numpy as np
import program
import pytest
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
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    exponentials = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(key.shape[-1]))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    residual = weights @ value + query
    centred = residual - residual.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-3), weights


@pytest.mark.parametrize("number", program.FOLDERS)
@hypothesis.given(shapes)
@hypothesis.settings(deadline=None, max_examples=25)
def test_attention_is_the_formula(number, shape):
    query, key, value = arrays(shape)
    output, weights = program.load(number).Attention()(query=query, key=key, value=value)
    expected_output, expected_weights = attend(query, key, value)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    np.testing.assert_allclose(output, expected_output, atol=1e-3)


@pytest.mark.parametrize("number", program.FOLDERS)
def test_attention_is_that_of_keras(number):
    module = program.load(number)
    query, key, value = arrays((3, 4, 5, 16, 0))
    attention = module.Attention()
    output, weights = attention(query=query, key=key, value=value)
    keras_attention = module.tf.keras.layers.Attention()
    keras_result, keras_weights = keras_attention([query / 16**0.5, value, key], return_attention_scores=True)
    np.testing.assert_allclose(weights, keras_weights, atol=1e-6)
    np.testing.assert_allclose(output, attention.layer_norm(keras_result + query), atol=1e-5)


@pytest.mark.parametrize("number", program.FOLDERS)
@hypothesis.given(shapes, strategies.randoms(use_true_random=False))
@hypothesis.settings(deadline=None, max_examples=25)
def test_order_of_keys_does_not_matter_and_queries_keep_theirs(number, shape, random):
    query, key, value = arrays(shape)
    attention = program.load(number).Attention()
    output, weights = (np.asarray(array) for array in attention(query=query, key=key, value=value))
    order = random.sample(range(shape[2]), shape[2])
    permuted_output, permuted_weights = attention(query=query, key=key[:, order], value=value[:, order])
    np.testing.assert_allclose(permuted_output, output, atol=1e-4)
    np.testing.assert_allclose(permuted_weights, weights[:, :, order], atol=1e-6)
    order = random.sample(range(shape[1]), shape[1])
    permuted_output, permuted_weights = attention(query=query[:, order], key=key, value=value)
    np.testing.assert_allclose(permuted_output, output[:, order], atol=1e-4)
    np.testing.assert_allclose(permuted_weights, weights[:, order], atol=1e-6)


@pytest.mark.parametrize("number", program.FOLDERS)
def test_a_query_of_batch_one_serves_the_whole_batch(number):
    query, key, value = arrays((4, 3, 5, 8, 1))
    attention = program.load(number).Attention()
    _, weights = attention(query=query[:1], key=key, value=value)
    _, expected = attention(query=np.repeat(query[:1], 4, axis=0), key=key, value=value)
    np.testing.assert_allclose(weights, expected, atol=1e-6)


SIZES = {"max_len": 7, "vocab_size": 5, "hidden": 12}


def check_weights(weights, shape):
    """Check that these are attention weights of this shape."""
    assert weights.shape == shape
    assert (weights.numpy() > 0).all()
    np.testing.assert_allclose(weights.numpy().sum(axis=-1), 1, atol=1e-5)


def weight_shapes(model):
    """Return the sorted shapes of a model's weights."""
    return sorted(tuple(weight.shape) for weight in model.weights)


def test_shapes_of_task_1():
    module = program.load(1)
    model = module.AttentionModel(**SIZES)
    logits, weights = model(module.Task(7, 5).next_batch(3)[0])
    assert logits.shape == (3, 5, 8)
    check_weights(weights, (3, 5, 7))
    assert weight_shapes(model) == sorted([(1, 5, 12), (6, 12), (12,), (12,), (12,), (12, 8), (8,)])
    assert (module.AttentionModel(**SIZES).query.numpy() == 0).all()


@pytest.mark.parametrize("self_att", (False, True))
def test_shapes_of_task_2(self_att):
    module = program.load(2)
    model = module.AttentionModel(**SIZES, self_att=self_att)
    logits, weights, self_attention_weights = model(module.Task(7, 5).next_batch(3)[0])
    assert logits.shape == (3, 6, 8)
    check_weights(weights, (3, 6, 7))
    norms = [(12,), (12,)] * (2 if self_att else 1)
    assert weight_shapes(model) == sorted([(1, 6, 12), (6, 12), (12,), *norms, (12, 8), (8,)])
    if self_att:
        check_weights(self_attention_weights, (3, 6, 6))
    else:
        assert self_attention_weights is None


@pytest.mark.parametrize("pos_enc", (False, True))
@pytest.mark.parametrize("enc_layers", (0, 1, 3))
def test_shapes_of_task_3(pos_enc, enc_layers):
    module = program.load(3)
    model = module.AttentionModel(**SIZES, pos_enc=pos_enc, enc_layers=enc_layers)
    logits, weights, encoder_weights = model(module.Task(7, 5).next_batch(3)[0])
    assert logits.shape == (3, 1, 8)
    check_weights(weights, (3, 1, 8))
    assert len(encoder_weights) == enc_layers
    for layer_weights in encoder_weights:
        check_weights(layer_weights, (3, 8, 8))
    encoder = [(12,), (12,), (12, 24), (24,), (24, 12), (12,), (12,), (12,)] * enc_layers
    positions = [(1, 8, 12)] * pos_enc
    rest = [(5, 12), (12,), (1, 1, 12), (12,), (12,), (12, 8), (8,)]
    assert weight_shapes(model) == sorted([*rest, *positions, *encoder])


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
