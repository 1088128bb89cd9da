"""The page to play with trains as main.py does: its gradients, its Adam, its results."""

import math
import re

import numpy as np
import program
import pytest
import tensorflow as tf
import test_readme

# Counts of ␣, A, B, C in sequences of ten; a letter that is missing, and one that is all there is.
BATCH = [[3, 2, 3, 2], [0, 10, 0, 0], [10, 0, 0, 0], [1, 0, 4, 5], [2, 6, 1, 1], [4, 1, 1, 4]]
SET_UP = """
    const [factor, weights] = arguments;
    window.training = new Training(factor, 7);
    for (const name of Object.keys(weights)) {
        weights[name].forEach((row, index) => Object.assign(training.weights[name][index], row));
    }
"""
STEP = """
    const { loss, gradients } = training.gradients(arguments[0]);
    training.adam(gradients);
    return [loss, gradients, training.weights];
"""
UNSEEN = """
    const [one, scored] = [new Training(1, 7), new Training(1, 7)];
    scored.right();
    return [one, scored].map((training) => range(20).map(() => training.draw()));
"""
# Of each curve, what it is, its points, its dashes and its width; where names and lines are, in percent.
CHART = """
    const all = (query) => [...document.querySelectorAll(query)];
    const pairs = (line) => line.getAttribute("points").split(" ").map((pair) => pair.split(",").map(Number));
    const curves = all("#losses polyline").map((line) =>
        [line.getAttribute("class"), pairs(line), getComputedStyle(line).strokeDasharray !== "none",
            parseFloat(getComputedStyle(line).strokeWidth)]);
    const chart = document.getElementById("losses").getBoundingClientRect();
    const middles = all("#chart .loss, #chart .at").map((name) => {
        const { x, y, width, height } = name.getBoundingClientRect();
        const [across, down] = [x + width / 2 - chart.x, y + height / 2 - chart.y];
        return [parseFloat(name.textContent), (100 * across) / chart.width, (100 * down) / chart.height];
    });
    return [curves, middles, all("#losses line").map((line) => Number(line.getAttribute("y1")))];
"""


def depth(loss):
    """Return how far down a loss stands in the chart, which goes from 3 to 0.03 on a logarithmic scale."""
    return 100 * np.clip(np.log(3 / np.array(loss)) / np.log(100), 0, 1)


def rows(weight):
    """Return a weight as the page holds it, a matrix."""
    return weight.numpy().astype(float).reshape(-1, weight.shape[-1])


@pytest.mark.parametrize("factor", [1, 0])
def test_gradients_and_steps_of_adam_are_those_of_keras(page, factor):
    """With learnt weights, and with equal ones, where no gradient goes through the logits."""
    page.visit("#train")
    module, generator = program.load(1), np.random.default_rng(2)
    model = module.AttentionModel(max_len=10, vocab_size=3, hidden=64)
    for weight in model.weights:
        weight.assign(generator.normal(size=weight.shape) / 3 + ("gamma" in weight.path))
    weights = {weight.path.removeprefix("model/"): weight for weight in model.weights}
    page.js(SET_UP, factor, {name: rows(weight).tolist() for name, weight in weights.items()})
    letters = np.array([np.repeat(range(4), counts) for counts in BATCH])
    inputs, answers = np.eye(4, dtype=np.float32)[letters], np.array(BATCH)[:, 1:]
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(1e-2)
    for step in range(3):
        with tf.GradientTape() as tape:
            key = model.key_layer(inputs)
            decoding, _ = model.attention(query=model.query, key=factor * key, value=key)
            loss = loss_function(answers, model.logits_layer(decoding))
        gradients = tape.gradient(loss, list(weights.values()))
        optimizer.apply(gradients, list(weights.values()))
        found_loss, found, trained = page.js(STEP, BATCH)
        for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
            np.testing.assert_allclose(trained[name], rows(weight), atol=2e-4, err_msg=f"{name}, step {step}")
            if step == 0:
                np.testing.assert_allclose(found[name], rows(gradient), rtol=1e-3, atol=1e-6)
                assert found_loss == pytest.approx(float(loss), rel=1e-5)


def test_both_kinds_train_and_become_models(page):
    """Learnt weights find their letters, equal ones stay equal and count, Stop keeps what there is."""
    page.visit("#train")
    page.command("Page.bringToFront")
    assert page.seen()["shown"] == ["train"]
    page.js("Train.drawn = Infinity")  # Drawn at the end alone, it takes three quarters of the time.
    page.find("first_guess").click()
    page.wait(lambda: page.is_on("stop"))
    page.wait(lambda: page.is_on("start"), 120)
    assert not page.is_on("stop")
    curves = page.js("return Train.pair.map(({ points }) => points)")
    for kind, least, curve in zip(("learnt", "equal"), (900, 850), curves, strict=True):
        losses = np.array(curve)
        assert losses[:, 0].tolist() == [1, *range(50, 2001, 50)]
        # From about ln 11, which is 2.4, to below 0.4, in the median, as a single step is noisy.
        assert losses[0, 1] > 2 and np.median(losses[-9:, 1]) < 0.4
        row = page.one(f"#runs [data-kind={kind}]")
        right = row.get_attribute("data-right")
        assert int(right) >= least and right in row.text and "2000" in row.text
        assert kind in row.text and {right, "2,000"} <= set(page.find(f"score_{kind}").text.split())
        shown = page.colours(f"#forming_{kind} td.cell")[0]
        assert (np.ptp(shown) < 1e-9) == (kind == "equal")
    drawn, middles, lines = page.js(CHART)  # With the loss of who knows only how counts occur.
    for kind, (name, line, dashed, _), losses in zip(("learnt", "equal"), drawn, curves, strict=True):
        step, loss = np.array(losses).T
        assert name.split() == ["now", kind] and dashed == (kind == "equal")
        np.testing.assert_allclose(line, np.array([step / 20, depth(loss)]).T, atol=0.051)
    counts = np.array([math.comb(10, count) * 3 ** (10 - count) / 4**10 for count in range(11)])
    (*losses, _, middle, end), across, down = zip(*middles, strict=True)
    np.testing.assert_allclose(lines, depth([*losses, -(counts * np.log(counts)).sum()]))
    np.testing.assert_allclose(down[:5], lines[:5], atol=1)
    np.testing.assert_allclose(across[6:], [middle / 20, end / 20], atol=1)
    guess = page.find("progress")  # Of equal weights.
    assert right in guess.text and guess.get_attribute("data-counts") == "true"
    assert page.find("first_guess").get_attribute("data-guess") in guess.text
    page.js("Train.drawn = 0")
    page.find("start").click()
    page.wait(lambda: re.search(r"\d\d+ of", page.find("progress").text))
    page.find("stop").click()
    page.wait(lambda: len(page.all("#runs tr")) == 5)
    step = page.js("return Train.pair[1].training.step")
    assert 0 < step < 2000 and str(step) in page.all("#runs tr")[-1].text and page.is_on("start")
    assert f"{step:,} " in page.find("score_equal").text
    names, _, _, widths = zip(*page.js(CHART)[0], strict=True)
    assert names[:2] == ("before learnt", "before equal") and max(widths[:2]) < min(widths[2:])
    first_losses = page.js("return Train.curves.map(({ points }) => points[0][1])")
    assert len(set(first_losses)) == 4  # Each training begins with other weights.
    page.all("#runs button")[2].click()
    assert "model=trained_3" in page.link and page.value("attention") == "1"
    assert str(step) in page.one("#model [value=trained_4]").text
    page.go("train")
    page.one("#runs [data-kind=equal] button").click()
    seen = page.seen()
    assert seen["shown"] == ["playing"] and seen["letters"] == "␣BC␣CBBAA␣"
    np.testing.assert_allclose(seen["weights"]["attention"], 0.1)
    assert page.value("attention") == "0" and page.accuracy() == int(right)
    page.choose("trained_1")
    weights = np.array(page.seen()["weights"]["attention"])[0]
    for row, letter in zip(weights, "ABC", strict=True):
        own = np.array(list("␣BC␣CBBAA␣")) == letter
        assert row[own].min() > row[~own].max()


def test_the_page_trains_with_the_settings_of_main(page):
    """So that its loss and its scores can be compared with the lesson's."""
    page.visit("#train")
    defaults = test_readme.flags(1)
    settings = [float(defaults[flag]) for flag in ("--steps", "--batchsize", "--lr")]
    assert page.js("return [STEPS, BATCH, RATE]") == settings
    told = page.one("#train details:last-of-type").get_property("textContent")
    assert all(f"{number:,.0f} " in told for number in settings[:2])
    usual, after_a_score = page.js(UNSEEN)
    assert usual == after_a_score  # It never trains on what it is tested with.
    assert abs(np.mean(usual, axis=0) - 2.5).max() < 0.9  # Each letter is as likely: six standard deviations.
