"""The arrays and weights in the pictures, of the models in the page to play with, by the formula in NumPy."""

import base64
import json
import re
import types

import numpy as np
import pytest
from experiments import (
    by_hand,
    lesson_1,
    measuring,
    pictures,
    play,
    programs,
    transformer,
    transformer_pictures,
)
from scipy import special


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """Return what draws with a model of the page, and gives the figure in place of saving it."""
    (text,) = play.PLACE.findall(play.PAGE.read_text(encoding="utf-8"))
    files, drawn = json.loads(text), []
    monkeypatch.setattr(pictures, "save", lambda figure, task, name: drawn.append(figure))

    def draw(name, task, file, picture):
        (tmp_path / file).write_bytes(base64.b64decode(files[name]))
        module = programs.load(task)
        model, *_ = module.load_model(module.parse_arguments(["--test", "--savepath", str(tmp_path)]))
        picture(types.SimpleNamespace(models=lambda *_: [model]))
        figure = drawn.pop()
        pictures.pyplot.close(figure)
        return model, figure

    return draw


def arrays(figure):
    """Return the arrays that are drawn as cells, in the order of drawing, and the heights of all bars."""
    cells = [np.ma.filled(axes.images[0].get_array(), 0) for axes in figure.axes if axes.images]
    return cells, np.array([bar.get_height() for axes in figure.axes for bar in axes.patches])


def test_counting(shown):
    model, figure = shown("counting", 1, "checkpoint.npz", pictures.draw_arrays)
    (letters, key, query, weights, means, hidden), bars = arrays(figure)
    inputs = measuring.spell(1, lesson_1.SHOWN).inputs
    np.testing.assert_array_equal(letters.T, inputs[0])
    np.testing.assert_allclose(weights, special.softmax(query @ key / 8, axis=1), atol=1e-6)
    np.testing.assert_allclose(means, weights @ key.T, atol=1e-6)
    logits, expected = (array.numpy()[0] for array in model(inputs))
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    np.testing.assert_allclose(model.logits_layer(hidden[None])[0], logits, atol=1e-5)
    np.testing.assert_allclose(bars, special.softmax(logits, axis=1).ravel(), atol=1e-6)


def test_transformer(shown):
    model, figure = shown("transformer", "transformer", "transformer.npz", transformer_pictures.draw_arrays)
    cells, bars = arrays(figure)
    begun, query, key, value, first, means, attended, after_first, second, after_second = cells
    known, words = transformer.program().vocabulary(4), transformer_pictures.TEXT.split()
    logits, weights = model(np.array([[known.index(word) for word in words]]))
    np.testing.assert_allclose(bars, special.softmax(logits[0, -1]), atol=1e-6)
    np.testing.assert_allclose(model.logits_layer(model.norm(after_second.T[None])), logits, atol=1e-4)
    masked = np.where(np.tri(9, dtype=bool), query.T @ key / 8**0.5, -np.inf)
    np.testing.assert_allclose(first, special.softmax(masked, axis=1), atol=1e-6)
    np.testing.assert_allclose(means.T, first @ value.T, atol=1e-6)
    for array, layer in ((first, 0), (second, 1)):
        assert any(np.allclose(array, head, atol=1e-6) for head in weights[layer][0].numpy())
    block = model.blocks[0]
    np.testing.assert_allclose(
        attended.T, begun.T + block.attention(block.norm_1(begun.T[None]))[0][0], atol=1e-5
    )
    dense = block.contract(block.expand(block.norm_2(attended.T[None])))[0].numpy()
    np.testing.assert_allclose(after_first.T, attended.T + dense, atol=1e-5)


def test_what_goes_from_word_to_word(shown):
    """The weights in the picture: of pets on names, of the question on its pet."""
    model, figure = shown("transformer", "transformer", "transformer.npz", transformer_pictures.draw_flow)
    known, words = transformer.program().vocabulary(4), transformer_pictures.TEXT.split()
    _, weights = model(np.array([[known.index(word) for word in words]]))
    names = [weights[0][0, 1, pet, pet - 1] for pet in (1, 3, 5, 7)]  # Both heads are called 2 on the page.
    said = [f"{float(weight):.2f}".removeprefix("0") for weight in (*names, weights[1][0, 1, 8, 3])]
    drawn = [text.get_text() for text in figure.axes[0].texts]
    assert [text for text in drawn if re.fullmatch(r"1?\.\d\d", text)] == said


def numbers(figure):
    """Return the numbers that are written in a picture, in the order of drawing."""
    words = [text.get_text() for text in figure.axes[0].texts]
    return [float(word) for word in words if re.fullmatch(r"\d*\.?\d+", word)]


def test_words_and_heads(monkeypatch):
    """What the examples by hand write: vectors and weights of words; queries, weights, means of heads."""
    drawn = []
    monkeypatch.setattr(pictures, "save", lambda figure, task, name: drawn.append(figure))
    by_hand.draw_words()
    by_hand.draw_two_heads()
    vectors = np.array([(2, 0, 1), (0, 2, 0), (2, 0, 0)])
    weights = special.softmax(vectors @ vectors.T / 3**0.5, axis=1)
    expected = [*np.hstack([vectors, weights @ vectors]).ravel(), *weights.ravel()]
    assert numbers(drawn[0]) == pytest.approx(expected, abs=0.005)
    expected, unit = [], np.eye(2)
    for query in ((4, 4), (4, 0), (0, 4)):
        (mean,) = special.softmax([np.array(query) / 2**0.5], axis=1)  # The values are the unit vectors.
        expected += [
            *query,
            *(number for row in (0, 1) for number in (*unit[row], mean[row], *unit[row])),
            *mean,
        ]
    joined = [number for query in ((4, 0), (0, 4)) for number in special.softmax(np.array(query) / 2**0.5)]
    assert numbers(drawn[1]) == pytest.approx(expected + joined, abs=0.005)
    for figure in drawn:
        pictures.pyplot.close(figure)
