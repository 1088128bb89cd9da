"""Every number of the examples that the pages compute by hand, computed anew by the formula."""

import re
import textwrap

import numpy as np
import program
import pytest
from experiments import formula, transformer
from scipy import special

FRACTION = r"-?\d*\.\d+"


def text(task, name="README.md"):
    """Return a page of a lesson with ASCII signs, its lines joined, and without the goals of its links."""
    page = program.script(task).with_name(name).read_text(encoding="utf-8")
    return " ".join(re.sub(r"\]\([^)]*\)", "]", page.replace("−", "-")).split())


def section(task, heading, name="README.md"):
    """Return a section of a page, the goal of links to it."""
    return text(task, name).partition(f" ## {heading} ")[2].partition(" ## ")[0]


def before_the_code(task):
    """Return the text of a lesson up to the first lines of its program."""
    return text(task).partition("```python")[0]


def attend(query, vectors):
    """Return dot products, logits, weights and weighted mean; the vectors are keys and values in one."""
    products = np.array(vectors, dtype=float) @ query
    ((mean,), (weights,)) = formula.attend([query], vectors, vectors)
    return products, products / np.sqrt(len(query)), weights, mean


def is_shown_as(shown, numbers):
    """Return whether each number, rounded, is the text that shows it."""
    if len(shown) != len(numbers):
        return False
    precision = [0.5001 * 10 ** -len(one.partition(".")[2]) for one in shown]
    return all(abs(float(one) - other) <= within for one, other, within in zip(shown, numbers, precision))


def check(page, known, by_hand=""):
    """Compare the numbers on a page with those that the formula gives, however the sentences are worded.

    Every vector in brackets with a fraction in it, and every list of shares that add up to 1, must be one of
    the known arrays; every fraction in the text by_hand must be in one of them.
    """
    known = [np.ravel(array) for array in known]
    page = re.sub(r"<img[^>]*>", "", page)
    vectors = re.findall(r"\((-?[\d.]+(?:,? -?[\d.]+)+)\)", page)
    vectors = [re.split(r",? ", vector) for vector in vectors if "." in vector]
    lists = re.findall(r"(?<![\d.])\.\d+(?:(?:,| and|, and) \.\d+)+(?!\d)", page)
    lists = [re.findall(r"\.\d+", numbers) for numbers in lists]
    lists = [numbers for numbers in lists if abs(sum(map(float, numbers)) - 1) < 0.02]
    for shown in vectors + lists:
        assert any(is_shown_as(shown, numbers) for numbers in known), shown
    every = np.concatenate(known)
    fractions = re.findall(rf"(?<![\d.-]){FRACTION}(?!\.?\d)", by_hand)
    for shown in fractions:
        assert any(is_shown_as([shown], [number]) for number in every), shown
    assert len(vectors + lists) + len(fractions) > 3


def test_counting():
    """Ben's pet, three other queries, exp against a plain division, letters, and what they cost."""
    unit, known = np.eye(4), []
    for query in ((0, 2.8, 0, 0), (0, 6, 0, 0), (0, -2.8, 0, 0), (0, 0, 0, 0)):
        _, logits, weights, mean = attend(query, unit)
        known += [query, logits, np.exp(logits), [np.exp(logits).sum()], weights, mean]
        swapped = weights @ unit[[1, 0, 2, 3]]
        assert (swapped == mean).all() == (not any(query))
    known += softmaxes((2, 1, 0, -1), (16, 8, 0, -8))
    known += [(2.4, 5.4, 2.4 / 5.4), (np.e,)]  # Divided by the sum of the logits; what exp is a power of.
    letters, prices = dict(zip(" ABC", unit, strict=True)), dict(zip(" ABC", (0, 3, 5, 1), strict=True))
    for query in ((0, 2.8, 0, 0), (0, 0, 2.8, 0)):
        weights, mean = attend(query, [letters[letter] for letter in "AB BC"])[2:]
        known += [query, weights, mean, [weights @ [prices[letter] for letter in "AB BC"]]]
    ratio = np.exp(1.4)
    for count, sequence in enumerate(("BCBCB", "ABCBC", "AABCB", "AAABC")):
        weights = attend((0, 2.8, 0, 0), [letters[letter] for letter in sequence])[2]
        share = weights[[letter == "A" for letter in sequence]].sum()
        assert share == pytest.approx(count * ratio / (count * ratio + 5 - count))
        known.append([share, count * ratio, count * ratio + 5 - count])
    vectors = np.array([(1, 3, 5, 7), (2, 6, 10, 14)])
    normalized = [(vector - vector.mean()) / vector.std() for vector in vectors]
    assert normalized[0] == pytest.approx(normalized[1])
    check(text(1), [*known, normalized[0]], before_the_code(1))


def test_counting_in_code(capsys):
    """The lines of Lesson 1 print what stands behind them."""
    page = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```\n(import tensorflow as tf\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(lines, {})
    said = [comment.split() for comment in re.findall(r"  # ([ .\d]+)$", lines, re.MULTILINE)]
    printed = [row.split() for row in re.findall(r"\[\[(.+)\]\]", capsys.readouterr().out)]
    assert len(said) == len(printed) == 3
    for one, other in zip(said, printed, strict=True):
        assert [float(number) for number in one] == pytest.approx(list(map(float, other)), abs=0.0005)


def test_dot_product_and_additive_attention_in_code(capsys):
    """What the answers of Lesson 1 compute is what Keras computes, on the page and on other arrays."""
    page = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    asked = page.partition("\n## Exercises\n")[2].partition("\n## ")[0]
    names, means = {}, []
    for block in re.findall(r"^ +```\n(.*?)^ +```$", asked, re.MULTILINE | re.DOTALL):
        exec(textwrap.dedent(block), names)
        means.append([float(number) for number in re.findall(r"\d\.\d+", capsys.readouterr().out)[:4]])
    assert len(means) == 4
    assert means[0] == pytest.approx(means[1], abs=1e-6) and means[2] == pytest.approx(means[3], abs=1e-6)

    generator = np.random.default_rng(0)
    query, key, value, of_query, of_key, vector = (
        generator.normal(size=size) for size in ((3, 4), (5, 4), (5, 6), (4, 7), (4, 7), 7)
    )
    dot, additive = names["tf"].keras.layers.Attention(), names["tf"].keras.layers.AdditiveAttention()
    projected = query @ of_query, value, key @ of_key
    additive.build([array[None].shape for array in projected])
    additive.scale.assign(vector)
    for layer, arrays, found in (
        (dot, (query / 2, value, key), names["attend"](query, key, value)),
        (additive, projected, names["attend_additively"](query, key, value, of_query, of_key, vector)),
    ):
        inputs = [array[None].astype(np.float32) for array in arrays]
        for ours, theirs in zip(found, layer(inputs, return_attention_scores=True), strict=True):
            assert ours == pytest.approx(theirs[0].numpy(), abs=1e-5)


WORDS = np.array([(1, 0, 1), (0, 1, 0), (1, 0, 0)])  # Anna, slept, she.
ASKS = np.array([(4, 0), (3, 0), (-4, 2)])
ANSWERS = np.array([(0, 0), (0, 1), (1, 0)])
GIVES = np.array([(0, 0, 0), (0, 1, 0), (0, 0, 1)])


def self_attention(words, asks=ASKS):
    """Return dot products, logits, weights, means and new vectors of Lesson 2's words, a list of arrays."""
    products = words @ asks @ (words @ ANSWERS).T
    means, weights = formula.attend(words @ asks, words @ ANSWERS, words @ GIVES)
    return [products, products / 2**0.5, weights, means, words + means]


def test_words():
    """Each word's query and what it finds; *she* with another row of W_Q; two names that both answer."""
    known = [row for array in self_attention(WORDS) for row in array]
    other = np.array([(0, 4), *ASKS[1:]])
    known += [self_attention(WORDS, other)[2][2], self_attention(WORDS[[0, 0, 1, 2]])[2][3]]
    check(text(2), known, before_the_code(2))
    assert self_attention(WORDS, other)[2][2].argmax() == 1


def test_words_in_code(capsys):
    """The lines of Lesson 2 have the grids of its text and print weights and new vectors by the formula."""
    page = program.script(2).with_name("README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```\n(import numpy as np\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(lines, names := {})
    grids = [names[name] for name in ("W_Q", "W_K", "W_V")]
    for name, *rows in zip(("woman", "action", "Anna"), *grids, strict=True):
        (shown,) = re.findall(rf"^{name}((?: +[-−]?\d+){{7}})$", page, re.MULTILINE)
        assert [int(number.replace("−", "-")) for number in shown.split()] == [*np.concatenate(rows)]
    printed = re.findall(r"[-. \d]+(?=\])", capsys.readouterr().out)
    printed = np.split(np.array([line.split() for line in printed], dtype=float), 2)
    assert all((grid == other).all() for grid, other in zip(grids, (ASKS, ANSWERS, GIVES), strict=True))
    _, _, weights, _, vectors = self_attention(names["words"])
    for shown, expected in zip(printed, (weights, vectors), strict=True):
        np.testing.assert_allclose(shown, expected, atol=0.00501)


def test_signal():
    unit, query, known = np.eye(4), (0, 0, 2.8, 0), [(0, 0, 2.8, 0), (np.exp(1.4), np.exp(1.4) + 2)]
    letters, places = dict(zip("AB", unit, strict=False)), unit[2:]
    for sequence in ("AB", "BA"):
        plain = [letters[letter] for letter in sequence]
        assert attend(query, plain)[3] == pytest.approx((0.5, 0.5, 0, 0))
        marked = [letters[letter] + place for letter, place in zip(sequence, places, strict=True)]
        known += [*attend(query, plain), *attend(query, marked)]
    for sequence in ("BBA", "ABB"):
        marked = np.array([letters[letter] for letter in sequence])
        marked[0] += places[0]
        known += attend(query, marked)
    known += [(np.sin(place), np.cos(place)) for place in range(4)]
    check(text(3), known, section(3, "By hand"))


def softmaxes(*logits):
    """Return the softmax of each list."""
    return [special.softmax(row) for row in logits]


def test_transformer():
    """The pets, the heads, the first step of the plan, masks, the temperature."""
    unit, known = np.eye(4), []
    pairs = unit[[0, 1]] + unit[[2, 3]]
    products, logits, weights, _ = attend((0, 4), pairs[:, :2])
    known += [products, logits, weights, weights @ pairs[:, 2:]]
    for swapped in (pairs, unit[[0, 1]] + unit[[3, 2]]):  # Whose pet it is does not show in a mean.
        known += [attend((0, 0), swapped[:, :2])[2] @ swapped[:, 2:], swapped.mean(axis=0)]
        assert known[-1] == pytest.approx((0.5, 0.5, 0.5, 0.5))
    unit = np.eye(2)
    (both,), (weights,) = formula.attend([(4, 4)], unit, unit)
    assert both == pytest.approx(formula.attend([(4, 4)], unit, unit[::-1])[0][0])
    assert not np.allclose((0.75, 0.25) @ unit, (0.75, 0.25) @ unit[::-1])
    means, _ = formula.attend([(4, 0), (0, 4)], unit, unit)
    swapped, _ = formula.attend([(4, 0), (0, 4)], unit, unit[::-1])
    known += [both, weights, (0.75, 0.25), *means, *swapped, means, swapped]
    known += softmaxes(*(np.array([2, 1, 0]) / temperature for temperature in (1, 0.5, 2)))
    known.append(attend((0, 0, 4, 0), np.eye(4))[2])  # The word at position 3 asks for position 2.
    known += softmaxes((1.4, 1.4, -np.inf), (0, 0, 1.4))  # A A B with a mask.
    hidden, other = softmaxes((0, 1.4, 0), (0, 1.4, 1.4))
    known += [hidden, other, (hidden[:2].sum(), other[:2].sum())]
    check(text(3, "transformer.md"), known, section(3, "By hand", "transformer.md"))


def test_a_mask_for_attend():
    """The line that an exercise of the last page adds to what an exercise of Lesson 1 has written."""
    source = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    (attend_,) = re.findall(r"( +def attend\(.*?return weights @ value, weights\n)", source, re.DOTALL)
    page = text(3, "transformer.md")
    line, first, second = (
        re.search(rf"`({start}.*?)`", page)[1]
        for start in (r"logits = np\.where\(np\.tri", r"x = np", r"attend\(1\.4")
    )
    lines = textwrap.dedent(attend_).splitlines()
    place = next(number for number, each in enumerate(lines) if "logits =" in each)
    names = {"np": np}
    exec("\n".join([*lines[: place + 1], f"    {line}", *lines[place + 1 :], first]), names)
    _, weights = eval(second, names)
    expected = special.softmax(
        np.where(np.tri(3), 1.4 * np.eye(2)[[0, 1, 0]] @ np.eye(2)[:, [0, 1, 0]], -np.inf), axis=1
    )
    np.testing.assert_allclose(weights, expected)


def test_positions_from_a_formula():
    """The dot product depends on the distance alone, and one matrix turns each position to the one before."""
    places, slowness = np.arange(9)[:, None], np.array([1, 4, 16])
    hands = np.stack([np.sin(places / slowness), np.cos(places / slowness)], axis=-1)  # (9, 3, 2)
    products = np.einsum("pcx,qcx->pqc", hands, hands)
    np.testing.assert_allclose(products, np.cos((places[..., None] - places.T[..., None]) / slowness))
    sines, cosines = np.sin(1 / slowness), np.cos(1 / slowness)
    turn = np.moveaxis(np.array([[cosines, sines], [-sines, cosines]]), -1, 0)  # (3, 2, 2)
    turned = np.einsum("pcx,cxy->pcy", hands, turn)
    np.testing.assert_allclose(turned[1:], hands[:-1])
    assert (np.einsum("pcx,qcx->pq", turned, hands)[1:].argmax(axis=-1) == np.arange(8)).all()


def test_parameters():
    total = transformer.program().Transformer(4, 32, 2, 4).count_params()
    assert f"{total:,}" in text(3, "transformer.md")
