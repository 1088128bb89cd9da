"""The page to play with trains as main.py does: its gradients, its Adam, its results."""

import numpy as np
import program
import pytest
import tensorflow as tf
from browser import PAGE
from selenium.webdriver.common.by import By

# Counts of ␣, A, B, C in sequences of ten; a letter that is missing, and one that is all there is.
BATCH = [[3, 2, 3, 2], [0, 10, 0, 0], [10, 0, 0, 0], [1, 0, 4, 5], [2, 6, 1, 1], [4, 1, 1, 4]]
SET_UP = """
    const [factor, weights] = arguments;
    Train.training = new Training(factor, 7);
    for (const name of Object.keys(weights)) {
        weights[name].forEach((row, index) => row.forEach((number, column) => {
            Train.training.weights[name][index][column] = number;
        }));
    }
"""
GRADIENTS = "return Train.training.gradients(arguments[0])"
STEP = """
    Train.training.adam(Train.training.gradients(arguments[0]).gradients);
    return Train.training.weights;
"""
SCORES = "const { training } = Train; return [training.right(), training.model.trainedAt, training.step]"


def rows(weight):
    """Return a weight as the page holds it, a matrix."""
    return weight.numpy().astype(float).reshape(-1, weight.shape[-1])


@pytest.mark.parametrize("factor", [1, 0])
def test_gradients_and_steps_of_adam_are_those_of_keras(page, factor):
    """With learnt weights, and with equal ones, where no gradient goes through the logits."""
    module, generator = program.load(1), np.random.default_rng(2)
    model = module.AttentionModel(max_len=10, vocab_size=3, hidden=64)
    for weight in model.weights:
        weight.assign(generator.normal(size=weight.shape) / 3 + ("gamma" in weight.path))
    names = [weight.path.removeprefix("model/") for weight in model.weights]
    page.driver.execute_script(
        SET_UP, factor, {name: rows(one).tolist() for name, one in zip(names, model.weights, strict=True)}
    )
    letters = np.array([np.repeat(range(4), counts) for counts in BATCH])
    inputs, answers = np.eye(4, dtype=np.float32)[letters], np.array(BATCH)[:, 1:]
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(1e-2)
    for step in range(3):
        with tf.GradientTape() as tape:
            key = model.key_layer(inputs)
            decoding, _ = model.attention(query=model.query, key=factor * key, value=key)
            loss = loss_function(answers, model.logits_layer(decoding))
        gradients = tape.gradient(loss, model.trainable_variables)
        if step == 0:
            found = page.driver.execute_script(GRADIENTS, BATCH)
            assert found["loss"] == pytest.approx(float(loss), rel=1e-5)
            for name, gradient in zip(names, gradients, strict=True):
                np.testing.assert_allclose(found["gradients"][name], rows(gradient), rtol=1e-3, atol=1e-6)
        optimizer.apply(gradients, model.trainable_variables)
        weights = page.driver.execute_script(STEP, BATCH)
        for name, weight in zip(names, model.weights, strict=True):
            np.testing.assert_allclose(weights[name], rows(weight), atol=2e-4, err_msg=f"{name}, step {step}")


def loss_curve(page):
    """Return the newest loss curve as it is drawn, float (points, 2), in the drawing's units."""
    points = page.driver.find_element(By.CSS_SELECTOR, "#losses polyline.now").get_attribute("points")
    return np.array([[float(number) for number in point.split(",")] for point in points.split()])


def test_both_kinds_train_and_become_models(page):
    """Learnt weights find their letters, equal ones stay equal and count, Stop keeps what there is."""
    page.visit("#train")
    page.driver.execute_cdp_cmd("Page.bringToFront", {})
    assert page.seen()["shown"] == ["train"]
    for run, (kind, least) in enumerate({"learnt": 900, "equal": 850}.items(), start=1):
        page.driver.find_element(By.CSS_SELECTOR, f"[name=kind][value={kind}]").click()
        page.find("start").click()
        page.wait(lambda: page.is_on("stop"))
        page.wait(lambda: page.is_on("start"), 120)
        curve = loss_curve(page)
        assert len(curve) == 41 and curve[0, 0] < 60 and curve[-1, 0] == 510  # Steps 1, 50, ..., 2,000.
        # From above ln 11 to below 0.4, in the median, as a single step is noisy.
        assert curve[0, 1] < 40 and np.median(curve[-9:, 1]) > 120
        right, trained_at, steps = page.driver.execute_script(SCORES)
        assert right >= least and steps == 2000 and trained_at == (kind == "learnt")
        row = page.all("#runs tr")[run]
        assert f"{right} of 1,000" in row.text and row.get_attribute("data-kind") == kind
        assert ("What does it show?" in page.find("compare").text) == (run == 2)  # Both kinds.
    page.find("start").click()
    page.wait(lambda: "Step" in page.find("progress").text)
    page.find("stop").click()
    page.wait(lambda: len(page.all("#runs tr")) == 4)
    stopped = page.driver.execute_script(SCORES)[2]
    assert 0 < stopped < 2000 and page.is_on("start")
    page.button("Open run 2").click()
    seen = page.seen()
    assert seen["shown"] == ["playing"] and seen["letters"] == "␣BC␣CBBAA␣"
    np.testing.assert_allclose(seen["weights"]["attention"], 0.1)
    assert page.find("attention").get_attribute("value") == "0"
    assert page.accuracy() == int(
        page.find("runs").find_elements(By.TAG_NAME, "tr")[2].get_attribute("data-right")
    )
    page.choose("trained_1")
    weights = np.array(page.seen()["weights"]["attention"])[0]
    for row, letter in zip(weights, "ABC", strict=True):
        own = np.array(list("␣BC␣CBBAA␣")) == letter
        assert row[own].min() > row[~own].max()
    page.visit("#model=trained_1&letters=AB")
    assert "trained in the page" in page.seen()["message"]


def test_the_page_trains_with_the_settings_of_main():
    """So that its loss and its scores can be compared with the lesson's."""
    arguments = program.load(1).parse_arguments(["--train"])
    text = PAGE.read_text(encoding="utf-8")
    assert f"const STEPS = {arguments.steps};" in text and f"const BATCH = {arguments.batchsize};" in text
    assert f"const RATE = {arguments.lr};" in text and program.load(1).DEFAULTS == {
        "max_len": 10,
        "vocab_size": 3,
        "hidden": 64,
    }
