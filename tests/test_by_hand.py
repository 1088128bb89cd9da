"""Every number of the examples that the lessons compute by hand, computed anew by the formula."""

import re
import textwrap

import numpy as np
import program
import pytest
from experiments import formula, transformer
from scipy import special


def text(task, name="README.md"):
    """Return a page of a lesson, with its lines joined."""
    page = program.script(task).with_name(name).read_text(encoding="utf-8")
    return " ".join(page.replace("−", "-").split())


def attend(query, vectors):
    """Return dot products, logits, weights and weighted mean; the vectors are keys and values in one."""
    products = np.array(vectors, dtype=float) @ query
    ((mean,), (weights,)) = formula.attend([query], vectors, vectors)
    return products, products / np.sqrt(len(query)), weights, mean


def written(numbers, separator=", "):
    """Return numbers as a lesson writes them: .50, .12, 1.40."""
    return separator.join(re.sub(r"\b0\.", ".", f"{number:.2f}") for number in numbers)


def test_counting():
    letters = {letter: np.eye(4)[place] for place, letter in enumerate(" ABC")}
    vectors = [letters[letter] for letter in "AB BC"]
    products, logits, weights, mixture = attend((0, 2.8, 0, 0), vectors)
    assert "{:.1f} for the 'A' and {:.0f} for every".format(*products) in text(1)
    assert "results, {:.1f} and {:.0f}, are called".format(*logits) in text(1)
    exps = np.exp(logits)
    assert "exp of each logit: {:.3f} for the 'A' and {:.0f} for every".format(*exps) in text(1)
    assert f"by their sum, {exps.sum():.3f}." in text(1)
    assert f"The 'A' gets {written(weights[:1])}, and every other letter {written(weights[1:2])}." in text(1)
    assert f"({written(mixture, ' ')})" in text(1)
    assert written(attend((0, 0, 2.8, 0), vectors)[2]) in text(1)
    for count, sequence in enumerate(("BCBCB", "ABCBC", "AABCB", "AAABC")):
        weights = attend((0, 2.8, 0, 0), [letters[letter] for letter in sequence])[2]
        share = weights[[letter == "A" for letter in sequence]].sum()
        ratio = np.exp(1.4)
        assert share == pytest.approx(count * ratio / (count * ratio + 5 - count))
        assert count == 0 or f"= {written([share])}" in text(1)


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


def test_exp_turns_differences_into_ratios():
    """Whatever the other logits are, 1.4 more is 4.055 times the weight."""
    for logits in ([1.4, 0, 0, 0, 0], [-0.6, -2, 3], [3.4, 2]):
        weights = special.softmax(logits)
        assert f"e^1.4 = {weights[0] / weights[1]:.3f} times" in text(1)
    assert f"2.4 / 6.4 = {2.4 / (2.4 + 4):.3f} of".replace(" 0.", " .") in text(1)


def test_layer_normalization():
    """A vector and twice this vector give the same."""
    vectors = np.array([(1, 3, 5, 7), (2, 6, 10, 14)])
    normalized = [(vector - vector.mean()) / vector.std() for vector in vectors]
    assert f"({written(normalized[0])})" in text(1) and normalized[0] == pytest.approx(normalized[1])
    assert f"√{vectors[0].var():.0f} = {vectors[0].std():.2f} they" in text(1)


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


WORDS = [(2, 0, 1), (0, 2, 0), (2, 0, 0)]


def test_words():
    """The first example of Lesson 2, in words and in what the picture says."""
    vectors = np.array(WORDS)
    products, logits, weights, mean = attend(vectors[2], vectors)
    said = (
        "So *Anna* is ({} {} {}), *slept* is ({} {} {}), and *she* is ({} {} {}).".format(*vectors.ravel()),
        "with the three words are {:.0f}, {:.0f} and {:.0f}.".format(*products),
        "Divided by √3, they are {:.2f}, {:.0f} and {:.2f},".format(*logits),
        "softmax is {}, {} and {} (rounded).".format(*map(written, weights[:, None])),
        f"the new vector of *she* is ({written(mean, ' ')}):",
        "carry {} from Anna, {} from slept and {} from she; it is".format(*map(written, weights[:, None])),
        f"it is ({written(mean, ' ')})",
    )
    for words in said:
        assert words in text(2)


STATES = [(3, 0, 4), (0, 3, 3), (1, -1, 0)]


def test_difference():
    products, logits, weights, mean = attend(STATES[2], STATES)
    for numbers, said in (
        (products, "dot products with A, B and itself are {:.0f}, {:.0f} and {:.0f}."),
        (logits, "Divided by √3, they are {:.2f}, {:.2f} and {:.2f},"),
        (weights, "their softmax is {:.2f}, {:.2f} and {:.2f}."),
    ):
        assert re.sub(r"\b0\.", ".", said.format(*numbers)) in text(2)
    assert f"≈ ({written(mean)})" in text(2) and f"of the {mean[2]:.2f} comes from A's count" in text(2)
    assert abs(mean[2] - 1) > 1  # Else it seems that attention subtracts.
    _, _, weights, mean = attend((-1, 1, 0), [(3, 0, 4), (0, 3, 5), (-1, 1, 0)])
    assert f"the weights are {written(weights, ', ').replace(', .35', ' and .35')}" in text(2)
    assert f".02 · 4 + .63 · 5 = {mean[2]:.2f}" in text(2)


def test_difference_in_code(capsys):
    """The lines of Lesson 2 print the numbers of both examples, by the formula."""
    page = program.script(2).with_name("README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```\n(import numpy as np\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(lines, {})
    printed = re.findall(r"[-. \d]+(?=\])", capsys.readouterr().out)
    arrays = np.split(np.array([line.split() for line in printed], dtype=float), 4)
    for vectors, weights, means in ((WORDS, *arrays[:2]), (STATES, *arrays[2:])):
        for query, vector in enumerate(vectors):
            _, _, expected, mean = attend(vector, vectors)
            assert weights[query] == pytest.approx(expected, abs=0.005)
            assert means[query] == pytest.approx(mean, abs=0.005)


def test_prices():
    prices = {" ": 0, "A": 3, "B": 5, "C": 1}
    letters = {letter: np.eye(4)[place] for place, letter in enumerate(" ABC")}
    for query, said in (((0, 2.8, 0, 0), "= 2.9"), ((0, 0, 2.8, 0), "= 4.0")):
        weights = attend(query, [letters[letter] for letter in "AB BC"])[2]
        mixture = weights @ [prices[letter] for letter in "AB BC"]
        assert said in text(1) and said == f"= {mixture:.1f}"


def test_signal():
    vectors, query = np.eye(4), (0, 0, 2.8, 0)
    letters, places = dict(zip("AB", vectors, strict=False)), vectors[2:]
    said = (
        "The letter A is (1 0 0 0), and B is (0 1 0 0).",
        "(0 0 1 0) for the first and (0 0 0 1) for the second",
    )
    assert all(words in text(3) for words in (*said, "what comes *first*: (0 0 2.8 0)."))
    for sequence in ("AB", "BA"):
        plain = [letters[letter] for letter in sequence]
        assert attend(query, plain)[3] == pytest.approx((0.5, 0.5, 0, 0))
        marked = [letters[letter] + place for letter, place in zip(sequence, places, strict=True)]
        _, logits, weights, mixture = attend(query, marked)
        assert "logits are {:.1f} and {:.0f},".format(*logits) in text(3)
        assert f"so the weights are {written(weights, ' and ')}." in text(3)
        assert f"`{sequence}` gives ({written(mixture, ' ')})" in text(3)
    for sequence in ("BBA", "ABB"):
        marked = np.array([letters[letter] for letter in sequence])
        marked[0] += places[0]
        mixture = attend(query, marked)[3]
        assert f"`{sequence}` gives ({written(mixture[:3], ' ')} 0)" in text(3)


def test_a_name_and_a_pet_in_one_vector():
    """What stands in the picture and in the text, by the formula."""
    page, unit = text(3, "transformer.md"), np.eye(4)
    pairs = unit[[0, 1]] + unit[[2, 3]]
    for pair, label in zip(
        pairs, ("Anna's dog ({}) has the key ({})", "Ben's cat ({}) has ({})"), strict=True
    ):
        numbers = [" ".join(f"{number:.0f}" for number in part) for part in (pair, pair[:2])]
        assert label.format(*numbers) in page
    products, logits, weights, _ = attend((0, 4), pairs[:, :2])
    assert (
        "Dot products {:.0f} and {:.0f}, divided by √2: {:.0f} and {:.2f}.".format(*products, *logits) in page
    )
    assert f"Weights {written(weights, ' and ')}. W_V makes the values (1 0) and (0 1);" in page
    mean = weights @ pairs[:, 2:]
    assert f"the values is ({written(mean, ' ')})," in page
    for swapped in (pairs, unit[[0, 1]] + unit[[3, 2]]):  # Whose pet it is does not show in a mean.
        assert f"be ({written(attend((0, 0), swapped[:, :2])[2] @ swapped[:, 2:], ' ')})," in page
        assert f"({written(swapped.mean(axis=0), ' ')})" in page


def test_two_heads():
    """One head that asks for both fetches the same if pets are swapped. Two heads do not."""
    page, unit = text(3, "transformer.md"), np.eye(2)
    (both,), (weights,) = formula.attend([(4, 4)], unit, unit)
    assert f"The weights are {written(weights, ' and ')}, and the mean is ({written(both, ' ')}):" in page
    means, _ = formula.attend([(4, 0), (0, 4)], unit, unit)
    swapped, _ = formula.attend([(4, 0), (0, 4)], unit, unit[::-1])
    assert f"The first fetches ({written(means[0], ' ')})," in page
    assert f"the second ({written(means[1], ' ')})," in page
    assert f"side by side: ({written(means.ravel(), ' ')})." in page
    assert f"it would be ({written(swapped.ravel(), ' ')})." in page
    assert both == pytest.approx(formula.attend([(4, 4)], unit, unit[::-1])[0][0])
    assert not np.allclose((0.75, 0.25) @ unit, (0.75, 0.25) @ unit[::-1])


def test_a_mask_for_attend():
    """The line that an exercise of the last page adds to what an exercise of Lesson 1 has written."""
    source = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    (attend_,) = re.findall(r"( +def attend\(.*?return weights @ value, weights\n)", source, re.DOTALL)
    page = text(3, "transformer.md")
    (line,) = re.findall(r"`(logits = np\.where\(np\.tri.*?)`", page)
    first, second = re.findall(r"`(x = .*?)` and `(attend\(.*?)`", page)[0]
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
    said = [f"({written(pair, ' ')})" for pair in hands[1:3, 0]]
    page = text(3, "transformer.md")
    assert f"0, 1 and 2 have (0 1), {said[0]} and {said[1]}." in page
    assert f"cos 1 = {written(products[0, 1, :1])}:" in page
    sines, cosines = np.sin(1 / slowness), np.cos(1 / slowness)
    turn = np.moveaxis(np.array([[cosines, sines], [-sines, cosines]]), -1, 0)  # (3, 2, 2)
    turned = np.einsum("pcx,cxy->pcy", hands, turn)
    np.testing.assert_allclose(turned[1:], hands[:-1])
    assert (np.einsum("pcx,qcx->pq", turned, hands)[1:].argmax(axis=-1) == np.arange(8)).all()


def test_scaling_and_temperature():
    """A softmax of dot products with and without √depth, and of logits divided by a temperature."""
    page = text(3, "transformer.md")
    products = np.random.default_rng(0).normal(size=(2, 10000, 64)).prod(axis=0).sum(axis=1)
    assert products.std() == pytest.approx(8, rel=0.03) and "√64 = 8." in page
    sharp, soft = special.softmax([8, -8]), special.softmax([1, -1])
    assert f"the weights {sharp[0]:.7f} and {sharp[1]:.7f}.".replace(" 0.", " .") in page
    assert f"and the weights are {written(soft, ' and ')}." in page
    assert sharp.prod() < 1e-5 * soft.prod()  # How much a weight changes with its logit.
    for temperature, before in ((1, "give {} at temperature 1"), (0.5, "but {} at ½"), (2, "and {} at 2.")):
        assert before.format(written(special.softmax(np.array([2, 1, 0]) / temperature))) in page


def test_parameters():
    page, total = text(3, "transformer.md"), transformer.program().Transformer(4, 32, 2, 4).count_params()
    assert (
        f"(It has {total:,} learnt numbers in all, its *parameters*.)" in page
        and f"| parameters | {total:,} |" in page
    )


def test_mask():
    """The rows of numbers; and a weight of 0 after the softmax leaks."""
    page = text(3, "transformer.md")
    logits = 1.4 * np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    masked = np.where(np.tri(3, dtype=bool), logits, -np.inf)
    for letter, *rows in zip("ABA", logits, masked, special.softmax(masked, axis=-1), strict=True):
        numbers = [f"{number:.1f}" if number else "0" for number in np.ravel(rows[:2])]
        numbers += [f"{number:.3f}".removeprefix("0") if number else "0" for number in rows[2]]
        assert " ".join([letter, *numbers]).replace("-inf", "-∞") in page
    hidden, other = special.softmax([0, 1.4, 0]), special.softmax([0, 1.4, 1.4])
    thousandths = [f"{number:.3f}"[1:] for number in (*hidden, hidden[:2].sum(), other[:2].sum())]
    assert (
        "weights of B are {}, {} and {}. Without the last one, they add up to {}.".format(*thousandths)
        in page
    )
    assert f"they would add up to {thousandths[-1]}." in page
