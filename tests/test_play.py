"""What the page to play with computes is what the programs and the formula compute."""

import base64
import io
import json
import re
import runpy

import numpy as np
import program
import pytest
from browser import PAGE
from experiments import formula
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

# Models with random weights: the task and the settings.
MODELS = [
    (1, {"max_len": 4, "vocab_size": 3, "hidden": 8}),
    (2, {"max_len": 10, "vocab_size": 3, "hidden": 64, "self_att": False}),
    (2, {"max_len": 6, "vocab_size": 5, "hidden": 12, "self_att": True}),
    (3, {"max_len": 7, "vocab_size": 4, "hidden": 16, "pos_enc": True, "enc_layers": 2}),
    (3, {"max_len": 5, "vocab_size": 26, "hidden": 8, "pos_enc": False, "enc_layers": 0}),
]
BUILD = PAGE.parent / "play" / "build.py"
CLOSE = {"rtol": 0, "atol": 1e-5}


def agree(seen, chances, weights, truth):
    """Check that answers, verdicts, chances and weights on the page are the expected ones."""
    assert seen["message"] == "" and seen["weights"].keys() == weights.keys()
    assert [int(answer) for answer in seen["answers"]] == chances.argmax(axis=-1).tolist()
    np.testing.assert_allclose(seen["chances"], chances, **CLOSE)
    for name, heads in seen["weights"].items():
        np.testing.assert_allclose(heads, weights[name], **CLOSE)
    for answer, right, verdict in zip(seen["answers"], truth, seen["verdicts"], strict=True):
        assert ("✓ right" if int(answer) == right else f"✗ should be {right}") in verdict


@pytest.mark.parametrize(("task", "settings"), MODELS)
def test_it_computes_what_the_formula_says(task, settings, tmp_path, page):
    """A checkpoint of one's own, each slider at × 1, × 1.5 and × 0, and the last one by itself."""
    generator, arrays, path = np.random.default_rng(0), {}, tmp_path / "checkpoint.npz"
    for weight in program.load(task).AttentionModel(**settings).weights:
        numbers = generator.normal(size=weight.shape) / 2 + ("gamma" in weight.path)
        arrays[weight.path.removeprefix("model/")] = numbers.astype(np.float32)
    description = {"task": program.TASKS[task], "step": 1, "settings": settings}
    np.savez(path, description=json.dumps(description), **arrays)
    letters = program.alphabet(task, settings["vocab_size"])
    assert page.open(path) == ""
    for length in (settings["max_len"] + (task == 3), 3):
        drawn = generator.integers(len(letters), size=length)
        text = "".join(letters[number] for number in drawn)
        page.type(text.lower())
        names, truth = list(page.seen()["weights"]), program.solve(task, text, settings["vocab_size"])
        last_alone = dict.fromkeys(names, 0) | {names[-1]: 1}
        for factors in (*(dict.fromkeys(names, factor) for factor in (1, 1.5, 0)), last_alone):
            page.turn(factors)
            reference = formula.Model(arrays, factors)
            chances = reference.lesson(np.eye(len(letters))[drawn])
            agree(page.seen(), chances, reference.weights, truth)


def embedded():
    """Return the checkpoints in the page, a dict from their names to their open files."""
    text = re.search(r'id="checkpoints">(.*?)</script>', PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    return {name: io.BytesIO(base64.b64decode(coded)) for name, coded in json.loads(text).items()}


def test_the_page_is_what_its_sources_give():
    """Whoever changes a source runs `python play/build.py`; play.html is what people open."""
    assert runpy.run_path(str(BUILD))["build"]() == PAGE.read_text(encoding="utf-8")
    for name, file in embedded().items():
        assert file.read() == (BUILD.parent / "checkpoints" / f"{name}.npz").read_bytes()


def test_the_models_of_the_page_are_checkpoints_of_seed_1(page):
    """All of them are in the menu, work at once, and are right about as often as the lessons say."""
    files = embedded()
    least = {"counting_fixed": 400, "difference": 700, "signal": 400}
    assert files.keys() == {option.get_attribute("value") for option in page.all("#model option")}
    for name in files:
        page.choose(name)
        assert "--seed 1" in page.find("command").get_property("textContent") and page.find("try").text
        sliders = page.seen()["weights"]
        assert ("self_attention" in sliders) == (name == "difference_self_att")
        assert ("encoder_layer_1/attention" in sliders) == (name in ("signal", "signal_pos_enc"))
        right = page.accuracy()
        assert right >= least.get(name, 850), name
        assert right < 850 or name not in least or name == "difference", name
        if name == "counting_equal":
            assert page.find("attention").get_attribute("value") == "0"
            np.testing.assert_allclose(sliders["attention"], 0.1)
            page.turn({"attention": 1})
            page.find("attention back").click()
            assert page.find("attention").get_attribute("value") == "0"  # As it was trained.


def test_weights_that_are_fixed(page):
    """Model 3 of the vote is edit B of the laboratory; the slider multiplies its logits, ln 100 and 0."""
    arrays, description = program.read(embedded()["counting_fixed"])
    page.choose("counting_fixed")
    page.type("AABC  AC")
    inputs = np.eye(4)[[1, 1, 2, 3, 0, 0, 1, 3]]
    for factor in (1, 0, 1.5):
        page.turn({"attention": factor})
        reference = formula.Model(arrays, {"attention": factor})
        agree(page.seen(), reference.fixed(inputs, 100), reference.weights, [3, 1, 2])
    weights = reference.weights["attention"][0]
    assert weights[0, 0] > 900 * weights[0, 2] and description["task"] == "Counting Letters"


def test_the_transformer(page):
    """Each layer's slider by itself; the chances after every word; what comes later has no weight."""
    arrays, description = program.read(embedded()["transformer"])
    settings = description["settings"]
    page.choose("transformer")
    words = program.load("transformer").vocabulary(4)
    for text in ("Anna dog Ben cat Cleo owl Dan hen Ben", "eva rat Dan GOAT Eva", "Ben"):
        page.type(text)
        places = [[word.lower() for word in words].index(word) for word in text.lower().split()]
        for first, second in ((1, 1), (0, 1), (1.5, 0)):
            factors = {"block_1/attention": first, "block_2/attention": second}
            page.turn(factors)
            reference = formula.Model(arrays, factors)
            chances = reference.transformer(settings, places)
            seen = page.seen()
            for name, heads in reference.weights.items():
                np.testing.assert_allclose(seen["weights"][name], heads, **CLOSE)
            np.testing.assert_allclose(page.driver.execute_script("return Models.chances"), chances, **CLOSE)
            assert seen["answers"][-1] == words[chances[-1].argmax()]


RULERS = """
    return [...document.querySelectorAll("#rulers [data-reading]")].map((item) => {
        const place = (one) => parseFloat(one.style.left) / 100;
        const { weight, reading } = item.dataset;
        const ruler = [...item.querySelectorAll(".count")].map(place);
        return [Number(weight), Number(reading), place(item.querySelector(".pointer")), ...ruler];
    });
"""


def test_the_ruler_is_the_usual_weight_of_each_count(trained, page):
    """Measured here on other sequences; the pointers slide, the ruler does not."""
    path = program.checkpoint(trained("1").savepath)
    arrays, generator = program.read(path)[0], np.random.default_rng(3)
    page.open(path)
    page.wait(lambda: page.all(".count"))
    for step, (_, _, _, *ruler) in enumerate(page.driver.execute_script(RULERS)):
        others = [letter for letter in range(4) if letter != step + 1]
        letters = generator.choice(others, (11, 300, 10))
        letters[np.arange(10) < np.arange(11)[:, None, None] + np.zeros((1, 300, 1), int)] = step + 1
        keys = arrays["key_layer/kernel"] + arrays["key_layer/bias"]
        weights = formula.softmax((keys @ arrays["query"][0, step] / 8)[letters])
        usual = (weights * (letters == step + 1)).sum(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(ruler, usual, atol=0.02)
        for factor in (1, 2):
            page.turn({"attention": factor})
            weight, reading, pointer, *still = page.driver.execute_script(RULERS)[step]
            own = np.array(list(page.seen()["letters"])) == "ABC"[step]
            total = np.array(page.seen()["weights"]["attention"])[0, step][own].sum()
            assert weight == pytest.approx(total) == pytest.approx(pointer, abs=1e-3) and still == ruler
            assert reading == np.argmin(np.abs(np.array(ruler) - total))


CELL = """
    const read = (text) => Number(text.replace("−", "-"));
    const figures = (line) => [...line.querySelectorAll(".figure")].map((cell) => read(cell.textContent));
    const numbers = (strip) => strip.getAttribute("aria-label").split(": ").pop().split(" ").map(read);
    const weights = [...document.querySelectorAll("#cell [data-weight]")];
    const lines = weights.map((cell) => [...figures(cell.parentNode), Number(cell.dataset.weight)]);
    const strips = [...document.querySelectorAll("#cell_rest .numbers")].map(numbers);
    const chances = [...document.querySelectorAll("#cell .chances li > :last-child")];
    return [lines, strips, chances.map((chance) => parseInt(chance.textContent))];
"""


def test_a_cell_explains_itself_to_the_end(trained, page):
    """By keyboard, then by mouse: from the dot products to the weights, the weighted mean and the chances."""
    path = program.checkpoint(trained("1").savepath)
    arrays, _ = program.read(path)
    page.open(path)
    page.turn({"attention": 1.5})
    page.type("ACBB A")
    page.cell("attention", 0, 0).click()
    for key in (Keys.ARROW_DOWN, Keys.ARROW_RIGHT):
        page.driver.switch_to.active_element.send_keys(key)
    for row, column, letter in ((1, 1, "C"), (0, 4, "␣")):
        if (row, column) == (0, 4):
            cell = page.cell("attention", row, column)
            webdriver.ActionChains(page.driver).move_to_element(cell).click().perform()
            lit = [name.get_property("textContent") for name in page.all("#stage .lit")]
            assert lit == ["␣", "count of A"]  # What is the key, and what has the query.
        keys = (arrays["key_layer/kernel"] + arrays["key_layer/bias"])[[1, 3, 2, 2, 0, 1]]
        query = arrays["query"][0, row]
        logits = keys @ query / 8
        powers = np.exp(1.5 * logits)
        weights = powers / powers.sum()
        lines, strips, bars = page.driver.execute_script(CELL)
        columns = np.array([8 * logits, logits, 1.5 * logits, powers, weights]).T
        np.testing.assert_allclose(lines, columns, rtol=5e-3, atol=5.1e-3)
        assert letter in page.find("cell_title").text
        assert f"{weights[column]:.2f}"[1:] in page.find("cell_title").text
        assert re.search(r"(\d+)(nd|th)", page.find("cell_title").text)[1] == str(column + 1)
        sums = weights @ keys + query
        deviation = np.sqrt(sums.var() + 1e-3)
        (said,) = re.findall(r"÷ ([\d.]+)", page.find("cell_rest").get_property("textContent"))
        assert float(said) == pytest.approx(deviation, rel=1e-3)
        normalized = (sums - sums.mean()) / deviation
        output = normalized * arrays["attention/layer_norm/gamma"] + arrays["attention/layer_norm/beta"]
        for strip, vector in zip(strips, (weights @ keys, sums, output), strict=True):
            np.testing.assert_allclose(strip, vector, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(bars, 100 * np.array(page.seen()["chances"][row]), atol=0.5001)
