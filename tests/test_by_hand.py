"""Every number of the examples that the lessons compute by hand, computed anew by the formula."""

import re
import textwrap

import numpy as np
import program
import pytest
from experiments import formula


def text(task, name="README.md"):
    """Return a page of a lesson, with its lines joined."""
    page = program.script(task).with_name(name).read_text(encoding="utf-8")
    return " ".join(page.replace("−", "-").split())


def attend(query, vectors):
    """Return dot products, logits, weights and weighted mean; the vectors are keys and values in one."""
    products = np.array(vectors, dtype=float) @ query
    ((mean,), (weights,)) = formula.attend([query], vectors, vectors)
    return products, products / np.sqrt(len(query)), weights, mean


def row(task, title):
    """Return the numbers of a row of the first table of a lesson, a list."""
    (cells,) = re.findall(rf"\| {title} \|([-\d. |]+?)\| (?:\||The|\*\*)", text(task) + " ")[:1]
    return [float(cell) for cell in cells.split("|") if cell.strip()]


def written(numbers, separator=", "):
    """Return numbers as a lesson writes them: .50, .12, 1.40."""
    return separator.join(re.sub(r"\b0\.", ".", f"{number:.2f}") for number in numbers)


def test_counting():
    letters = {letter: np.eye(4)[place] for place, letter in enumerate(" ABC")}
    vectors = [letters[letter] for letter in "AB BC"]
    _, logits, weights, mixture = attend((0, 2.8, 0, 0), vectors)
    assert row(1, "logit") == pytest.approx(logits)
    assert row(1, "weight") == pytest.approx(weights, abs=0.005)
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


def test_the_best_of_ten_keys(capsys):
    """What the lines of Lesson 1 print is what it says, with the division, without it, and at depth 512."""
    page = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```\n(import numpy as np\nquery, keys.*?)^```", page, re.MULTILINE | re.DOTALL)
    np.random.seed(0)
    raw = lines.replace(" / 8)", ")")
    for source in (lines, raw, raw.replace("64", "512")):
        exec(source, {})
    printed = [list(map(float, line.split())) for line in capsys.readouterr().out.splitlines()]
    assert printed[0] == pytest.approx((0.32, 0), abs=0.01) and "it gets .32" in page
    assert printed[1] == pytest.approx((0.86, 1 / 3), abs=0.03) and "keys gets .86" in page
    assert printed[2][1] == pytest.approx(0.7, abs=0.05) and "in about 70% of the draws" in page


def test_difference():
    decodings = [(3, 0, 3), (0, 3, 1), (1, -1, 0)]
    products, logits, weights, mixture = attend((1, -1, 0), decodings)
    assert row(2, "dot product") == pytest.approx(products)
    assert row(2, "logit") == pytest.approx(logits, abs=0.005)
    assert row(2, "weight") == pytest.approx(weights, abs=0.005)
    assert f"({written(mixture)})" in text(2)
    _, _, weights, mixture = attend((-1, 1, 0), [(3, 0, 1), (0, 3, 3), (-1, 1, 0)])
    assert f"the weights are {written(weights[:2])} and {written(weights[2:])}" in text(2)
    assert f".02 · 1 + .63 · 3 = {mixture[2]:.2f}" in text(2)
    products, logits, weights, _ = attend((3, 0, 3), decodings)
    assert f"dot products are {products[0]:.0f}, {products[1]:.0f} and {products[2]:.0f}" in text(2)
    assert f"logits {written(logits[:2])} and {written(logits[2:])}" in text(2)
    assert weights == pytest.approx((1, 0, 0), abs=0.005)
    for name, query in zip(("A", "B", "the difference step"), decodings, strict=True):
        assert f"| {name} asks | {written(attend(query, decodings)[2], ' | ')} |" in text(2)
    _, logits, weights, _ = attend((2, -2, 0), 2 * np.array(decodings))
    assert f"logits {written(logits[:2])} and {written(logits[2:])}" in text(2)
    assert f"the weights {written(weights[:2])} and {written(weights[2:])}" in text(2)


def test_prices():
    prices = {" ": 0, "A": 3, "B": 5, "C": 1}
    letters = {letter: np.eye(4)[place] for place, letter in enumerate(" ABC")}
    for query, said in (((0, 2.8, 0, 0), "= 2.9"), ((0, 0, 2.8, 0), "= 4.0")):
        weights = attend(query, [letters[letter] for letter in "AB BC"])[2]
        mixture = weights @ [prices[letter] for letter in "AB BC"]
        assert said in text(1) and said == f"= {mixture:.1f}"


def test_signal():
    names = ("the letter A", "the letter B", "the first place", "the second place")
    vectors = np.array([row(3, name) for name in names])
    letters, places = dict(zip("AB", vectors, strict=False)), vectors[2:]
    query = row(3, "the query for what comes first")
    for sequence in ("AB", "BA"):
        plain = [letters[letter] for letter in sequence]
        assert attend(query, plain)[3] == pytest.approx((0.5, 0.5, 0, 0))
        marked = [letters[letter] + place for letter, place in zip(sequence, places, strict=True)]
        _, _, weights, mixture = attend(query, marked)
        assert f"| {written(weights)} | ({written(mixture, ' ')}) |" in text(3)
    for sequence in ("BBA", "ABB"):
        marked = np.array([letters[letter] for letter in sequence])
        marked[0] += places[0]
        mixture = attend(query, marked)[3]
        assert f"`{sequence}` gives ({written(mixture[:3], ' ')} 0)" in text(3)


def test_waves():
    """The position that is written out, by the formula of section 3.5 of Vaswani et al. (2017)."""
    angles = 1 / 10000 ** (np.array([0, 2]) / 4)
    waves = [function(angle) for angle in angles for function in (np.sin, np.cos)]
    assert f"position 1 is ({written(waves)})" in text(3, "transformer.md")


def test_projections_and_heads():
    page, vectors = text(3, "transformer.md"), np.array([(3, 0, 3), (0, 3, 1), (1, -1, 0)])
    keys, values = vectors[:, :2], vectors[:, 2]
    products, logits, weights, _ = attend((1, -1), keys)
    assert f"| dot product | {' | '.join(f'{product:.0f}' for product in products)} |" in page
    assert f"√3 | {written(logits, ' | ')} |" in page and f"| weight | {written(weights, ' | ')} |" in page
    assert f"0 = {weights @ values:.2f}" in page
    results = {}
    for head, query in enumerate(2 * np.eye(2), start=1):
        weights = attend(query, keys)[2]
        results[head] = weights @ values, attend(2 * query, keys)[2] @ values
        asks = f"({query[0]:.0f}, {query[1]:.0f}): weights {written(weights)}"
        assert f"{asks}, mixture {results[head][0]:.2f}." in page
    once, twice = np.subtract(results[1], results[2])
    assert f"W_O subtracts: {once:.2f}" in page and f"it subtracts, which gives {once:.2f}, computed" in page
    assert f"(0, 4), we get {twice:.2f}." in page


def test_heads_and_mask_in_code(capsys):
    """The code of the last page, with that of Lesson 1, gives its numbers, and masked agrees with Keras."""
    import tensorflow as tf

    page = program.script(3).with_name("transformer.md").read_text(encoding="utf-8")
    heads, masks = re.findall(r"```python\n(.*?)\n```", page, re.DOTALL)
    lesson = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    (attend_lines,) = re.findall(r"( +import numpy as np\n\n.*?)\n +```", lesson, re.DOTALL)
    names = {"tf": tf}
    exec(f"{textwrap.dedent(attend_lines)}\n{heads}", names)
    said = [f"{abs(float(number)):.2f}" for number in re.findall(r"[-\d.]+", capsys.readouterr().out)[-3:]]
    assert said[:2] == ["0.00", "0.00"] and f"# 0, 0 and {said[2]}:" in heads

    mask, *triangle, _, keras = masks.splitlines()
    exec(keras, names)
    masked = re.sub(r"( +)logits = .*", rf"\g<0>\n\g<1>{mask}", textwrap.dedent(attend_lines))
    exec("\n".join([masked, *triangle]), names)
    printed = np.array(re.findall(r"[\d.]+(?=[ \]])", capsys.readouterr().out)[-9:], dtype=float)
    cells = re.findall(
        r"^\| (?:the first A|B|the last A) \|.+\| (.+) \| (.+) \| (.+) \|$", page, re.MULTILINE
    )
    assert printed.reshape(3, 3) == pytest.approx(np.array(cells, dtype=float), abs=0.0005)
    vectors = np.random.default_rng(0).normal(size=(1, 5, 16)).astype("float32")
    expected = tf.keras.layers.Attention()([vectors / 4, vectors], use_causal_mask=True)
    assert names["attend"](*3 * [vectors[0]])[0] == pytest.approx(expected[0].numpy(), abs=1e-5)


def test_mask():
    page = text(3, "transformer.md")
    vectors = np.sqrt(1.4 * np.sqrt(2)) * np.eye(2)[[0, 1, 0]]
    thousandths = [[f"{weight:.3f}"[1:] for weight in attend(vectors[last], vectors[: last + 1])[2]]
                   for last in range(3)]  # fmt: skip
    assert f"| B | 0 | 1.4 | -∞ | {' | '.join(thousandths[1])} | 0 |" in page
    assert f"| the last A | 1.4 | 0 | 1.4 | {' | '.join(thousandths[2])} |" in page
    for hidden, left in ((0, ".835"), (1, ".555")):
        logits = np.array([0, 1.4, 1.4 * hidden])
        weights = np.exp(logits) / np.exp(logits).sum()
        left_and_all = np.exp(logits[:2]).sum(), np.exp(logits).sum()
        sums = " / ".join(f"{one:.3f}".rstrip("0") for one in left_and_all)
        assert f"{weights[:2].sum():.3f}"[1:] == left and f"{sums} = {left}" in page
    assert f"√2¹² = {np.sqrt(2) ** 12:.0f} times as long" in page
