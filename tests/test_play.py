"""What the page to play with computes is what main.py and the formula compute."""

import json
import re

import numpy as np
import program
import pytest
from browser import PAGE
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui

# Models of other sizes, with random weights.
SIZES = {
    "1 --hidden 8 --max_len 4": (1, {"max_len": 4, "vocab_size": 3, "hidden": 8}),
    "2 --vocab_size 5": (2, {"max_len": 6, "vocab_size": 5, "hidden": 12, "self_att": True}),
    "3 --enc_layers 2": (3, {"max_len": 7, "vocab_size": 4, "hidden": 16, "pos_enc": True, "enc_layers": 2}),
    "3 --enc_layers 0": (3, {"max_len": 5, "vocab_size": 26, "hidden": 8, "pos_enc": False, "enc_layers": 0}),
}
RULERS = """
    return [...document.querySelectorAll("[data-answer]")].map((item) => {
        const place = (one) => parseFloat(one.style.left) / 100;
        const { weight, reading } = item.querySelector("[data-reading]").dataset;
        const ruler = [...item.querySelectorAll(".count")].map(place);
        return [Number(weight), Number(reading), place(item.querySelector(".mark")), ...ruler];
    });
"""


@pytest.fixture
def saved(trained, tmp_path):
    """Return a function from a variant or a name in SIZES to its task and the folder of its checkpoint."""

    def save(name):
        if name in program.VARIANTS:
            return program.VARIANTS[name][0], trained(name).savepath
        (task, settings), generator = SIZES[name], np.random.default_rng(0)
        module = program.load(task)
        model = module.AttentionModel(**settings)
        for weight in model.weights:
            weight.assign(generator.normal(size=weight.shape) / 2 + ("gamma" in weight.path))
        module.save_model(model, settings, 1, tmp_path)
        return task, tmp_path

    return save


def softmax(logits):
    """Return the softmax over the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def formula(task, arrays, settings, inputs, knobs):
    """Return the probabilities of a model and the weights of each attention, with turned knobs, in NumPy.

    From equation 1 and section 3 of Vaswani et al. (2017); inputs are one-hot, float (length, letters).
    """
    seen = {}

    def dense(name, vectors):
        return vectors @ arrays[f"{name}/kernel"] + arrays[f"{name}/bias"]

    def normalize(name, vectors):
        spread = np.sqrt(vectors.var(axis=-1, keepdims=True) + 1e-3)
        centred = vectors - vectors.mean(axis=-1, keepdims=True)
        return centred / spread * arrays[f"{name}/gamma"] + arrays[f"{name}/beta"]

    def attend(name, query, key):
        seen[name] = softmax(knobs.get(name, 1) * query @ key.T / np.sqrt(key.shape[-1]))
        return normalize(f"{name}/layer_norm", seen[name] @ key + query)

    vectors = dense("embedding" if task == 3 else "key_layer", inputs)
    if settings.get("pos_enc"):
        vectors = vectors + arrays["positional_encoding"][0, : len(vectors)]
    for name in (f"encoder_layer_{layer + 1}" for layer in range(settings.get("enc_layers", 0))):
        vectors = attend(f"{name}/attention", vectors, vectors)
        expanded = np.maximum(dense(f"{name}/expand", vectors), 0)
        vectors = normalize(f"{name}/layer_norm", dense(f"{name}/contract", expanded) + vectors)
    decoding = attend("attention", arrays["query"][0], vectors)
    if settings.get("self_att"):
        decoding = attend("self_attention", decoding, decoding)
    return softmax(dense("logits_layer", decoding)), seen


def by_main(task, model, inputs):
    """Return the same as formula does, by the model of main.py."""
    logits, weights, *others = model(inputs[None])
    names = (
        [f"encoder_layer_{layer + 1}/attention" for layer in range(9)] if task == 3 else ["self_attention"]
    )
    others = others[0] if task == 3 else [other for other in others if other is not None]
    seen = {"attention": weights, **dict(zip(names, others, strict=False))}
    return softmax(logits.numpy()[0]), {name: weights.numpy()[0] for name, weights in seen.items()}


def agree(seen, expected, truth):
    """Check that answers, verdicts, probabilities and weights on the page are the expected ones."""
    probabilities, weights = expected
    assert seen["message"] == "" and seen["weights"].keys() == weights.keys()
    assert seen["answers"] == probabilities.argmax(axis=-1).tolist()
    np.testing.assert_allclose(seen["probabilities"], probabilities.max(axis=-1), atol=1e-4)
    for name, found in seen["weights"].items():
        np.testing.assert_allclose(found, weights[name], atol=1e-4)
    for answer, right, verdict in zip(seen["answers"], truth, seen["verdicts"], strict=True):
        assert ("✓" in verdict) == (answer == right) and (answer == right or f"✗ {right} " in verdict)


@pytest.mark.parametrize("name", [*program.VARIANTS, *SIZES])
def test_it_computes_what_main_computes(name, saved, page):
    """A checkpoint of one's own: × 1 is main.py, × 0 and × 1.5 are the formula, each slider by itself."""
    task, savepath = saved(name)
    model, settings = program.load_model(task, savepath)
    arrays, _ = program.contents(savepath)
    source = program.load(task).Task(settings["max_len"], settings["vocab_size"], np.random.default_rng(1))
    assert page.open(savepath / "checkpoint.npz") == ""
    for length in (None, 3):
        inputs = source.next_batch(length=length)[0]
        letters = "".join(source.prettify(inputs)[:, 0])
        page.type(letters.lower())
        names = list(page.seen()["weights"])
        truth = program.solve(task, letters, settings["vocab_size"])
        agree(page.seen(), by_main(task, model, inputs), truth)
        last_alone = dict.fromkeys(names, 0) | {names[-1]: 1}
        for knobs in (
            dict.fromkeys(names, 1.5),
            dict.fromkeys(names, 0),
            last_alone,
            dict.fromkeys(names, 1),
        ):
            page.turn(knobs)
            agree(page.seen(), formula(task, arrays, settings, inputs, knobs), truth)


def test_the_models_of_the_page_are_checkpoints_of_seed_1(page):
    """All seven, and that they are right about as often as main.py says."""
    text = re.search(r'id="checkpoints">(.*?)</script>', PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    options = {
        one.get_attribute("value"): one.text
        for one in page.find("model").find_elements(By.TAG_NAME, "option")
    }
    assert options.keys() == json.loads(text).keys() and len(options) == 7
    for name, title in options.items():
        ui.Select(page.find("model")).select_by_value(name)
        task, flags = int(title.split()[1].rstrip(":,")), re.findall(r"--\w+", title)
        (right, length), sliders = page.accuracy(), page.seen()["weights"]
        assert ("self_attention" in sliders) == ("--self_att" in flags) and length == (
            11 if task == 3 else 10
        )
        assert ("encoder_layer_1/attention" in sliders) == (task == 3 and "--enc_layers" not in flags)
        assert right > (800 if task == 1 or flags else 400), title
        if name == "counting_equal":
            assert (
                page.find("attention").get_attribute("value") == "0"
                and "starts at 0" in page.find("try").text
            )
            np.testing.assert_allclose(sliders["attention"], 0.1)


def test_the_ruler_is_the_usual_weight_of_each_count(trained, page):
    """Measured here on other sequences; the marks slide, the ruler does not."""
    savepath, generator = trained("1").savepath, np.random.default_rng(3)
    model, _ = program.load_model(1, savepath)
    page.open(savepath / "checkpoint.npz")
    page.wait(lambda: page.driver.find_elements(By.CLASS_NAME, "count"))
    for step, (_, _, _, *ruler) in enumerate(page.driver.execute_script(RULERS)):
        others = [letter for letter in range(4) if letter != step + 1]
        letters = generator.choice(others, (11, 300, 10))
        letters[np.arange(10) < np.arange(11)[:, None, None] + np.zeros((1, 300, 1), int)] = step + 1
        weights = np.array(
            [model(np.eye(4, dtype=np.float32)[group])[1].numpy()[:, step] for group in letters]
        )
        usual = (weights * (letters == step + 1)).sum(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(ruler, usual, atol=0.02)
        for knob in (1, 2):
            page.turn({"attention": knob})
            weight, reading, mark, *still = page.driver.execute_script(RULERS)[step]
            own = np.array(list(page.seen()["letters"])) == "ABC"[step]
            total = np.array(page.seen()["weights"]["attention"])[step][own].sum()
            assert weight == pytest.approx(total) == pytest.approx(mark, abs=1e-3) and still == ruler
            assert reading == np.argmin(np.abs(np.array(ruler) - total))


def test_a_cell_explains_itself(trained, page):
    """By keyboard, then by mouse: from the dot product to the weight."""
    savepath = trained("2 --self_att").savepath
    arrays, _ = program.contents(savepath)
    page.open(savepath / "checkpoint.npz")
    page.turn({"attention": 1.5})
    page.type("ACBB A")
    cells = page.driver.find_elements(By.CSS_SELECTOR, "table:first-of-type td")
    page.find("attention").send_keys(Keys.TAB)
    for key in (Keys.TAB, Keys.ARROW_DOWN, Keys.ARROW_RIGHT):
        page.driver.switch_to.active_element.send_keys(key)
    for row, column, letter in ((1, 1, 3), (0, 4, 0)):
        if (row, column) == (0, 4):
            page.driver.find_element(By.TAG_NAME, "h1").click()
            webdriver.ActionChains(page.driver).move_to_element(cells[4]).perform()
        key = arrays["key_layer/kernel"] + arrays["key_layer/bias"]
        products = arrays["query"][0, row] @ key[[1, 3, 2, 2, 0, 1]].T
        powers = np.exp(1.5 * products / 8)
        expected = (products[column], products[column] / 8, 1.5 * products[column] / 8, powers[column])
        text = page.find("cell").text.replace("−", "-")
        found = re.findall(r"(?:key|√64|slider|exp|row)\n(-?[\d.]+)$", text, re.MULTILINE)
        np.testing.assert_allclose([float(one) for one in found[:4]], expected, rtol=2e-3)
        assert float(found[4]) == pytest.approx(powers[column] / powers.sum(), rel=2e-3)
        assert (
            f"÷ {powers.sum():.4g}"[:5] in text
            and f"step {column} ({' ABC'[letter].replace(' ', '␣')}" in text
        )
