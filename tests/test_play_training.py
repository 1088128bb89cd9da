"""The page to play with trains as main.py does: its gradients, its Adam, its results."""

import numpy as np
import program
import pytest
import tensorflow as tf
import test_readme
from selenium.webdriver.common.by import By

# Counts of ␣, A, B, C in sequences of ten; a letter that is missing, and one that is all there is.
BATCH = [[3, 2, 3, 2], [0, 10, 0, 0], [10, 0, 0, 0], [1, 0, 4, 5], [2, 6, 1, 1], [4, 1, 1, 4]]
SET_UP = """
    const [factor, weights] = arguments;
    window.training = new Training(factor, 7);
    for (const name of Object.keys(weights)) {
        weights[name].forEach((row, index) => row.forEach((number, column) => {
            window.training.weights[name][index][column] = number;
        }));
    }
"""
GRADIENTS = "return window.training.gradients(arguments[0])"
STEP = """
    window.training.adam(window.training.gradients(arguments[0]).gradients);
    return window.training.weights;
"""
UNSEEN = """
    const [one, scored] = [new Training(1, 7), new Training(1, 7)];
    scored.right();
    return [one, scored].map((training) => range(20).map(() => training.draw()));
"""
PAIR = """
    return Train.pair.map(({ training, points }) =>
        [training.right(), training.model.trainedAt, training.step, points.map(([at, loss]) => [at, loss])]);
"""


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


def test_both_kinds_train_and_become_models(page):
    """Learnt weights find their letters, equal ones stay equal and count, Stop keeps what there is."""
    page.visit("#train")
    page.command("Page.bringToFront")
    assert page.seen()["shown"] == ["train"]
    page.button("It will").click()
    page.wait(lambda: page.is_on("stop"))
    page.wait(lambda: page.is_on("start"), 120)
    pair = page.driver.execute_script(PAIR)
    told = page.find("progress").text  # What was guessed of equal weights, and that it is so.
    assert f"{pair[1][0]:,} of 1,000" in told and "n’t" not in told
    kinds = zip(pair, ("learnt", "equal"), (900, 850), page.all("#runs tr")[1:], strict=True)
    for (right, trained_at, steps, curve), kind, least, row in kinds:
        assert right >= least and steps == 2000 and trained_at == (kind == "learnt")
        losses = np.array(curve)
        assert losses[:, 0].tolist() == [1, *range(50, 2001, 50)]
        # From about ln 11, which is 2.4, to below 0.4, in the median, as a single step is noisy.
        assert losses[0, 1] > 2 and np.median(losses[-9:, 1]) < 0.4
        assert f"{right} of 1,000" in row.text and row.get_attribute("data-kind") == kind
        assert page.find(f"score_{kind}").get_attribute("data-right") == str(right)
        drawn = page.find("losses").find_element(By.CSS_SELECTOR, f"polyline.{kind}.now")
        assert len(drawn.get_attribute("points").split()) == 41
    page.find("start").click()
    page.wait(lambda: "Step" in page.find("progress").text)
    page.find("stop").click()
    page.wait(lambda: len(page.all("#runs tr")) == 5)
    assert all(0 < steps < 2000 for _, _, steps, _ in page.driver.execute_script(PAIR)) and page.is_on(
        "start"
    )
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


def test_the_page_trains_with_the_settings_of_main(page):
    """So that its loss and its scores can be compared with the lesson's."""
    defaults = test_readme.flags(1)
    settings = [float(defaults[flag]) for flag in ("--steps", "--batchsize", "--lr")]
    assert page.driver.execute_script("return [STEPS, BATCH, RATE]") == settings
    usual, after_a_score = page.driver.execute_script(UNSEEN)
    assert usual == after_a_score  # It never trains on what it is tested with.
