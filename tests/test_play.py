"""The page to play with, in a real browser: what it shows is what main.py computes, and what its knobs do."""

import io
import json
import os
import re
import shutil
import zipfile

import numpy as np
import program
import pytest
from selenium import common, webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui

PAGE = program.script(1).with_name("play.html")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-quic",
)
FLAGS += ("--disable-background-networking", "--disable-component-update")
# Models of other sizes, with random weights.
SIZES = {
    "1 --hidden 8 --max_len 4": (1, {"max_len": 4, "vocab_size": 3, "hidden": 8}),
    "2 --vocab_size 5": (2, {"max_len": 6, "vocab_size": 5, "hidden": 12, "self_att": True}),
    "3 --enc_layers 2": (3, {"max_len": 7, "vocab_size": 4, "hidden": 16, "pos_enc": True, "enc_layers": 2}),
    "3 --enc_layers 0": (3, {"max_len": 5, "vocab_size": 26, "hidden": 8, "pos_enc": False, "enc_layers": 0}),
}
SEEN = """
    const all = (part, query) => [...part.querySelectorAll(query)];
    const numbers = (part, name) => all(part, `[data-${name}]`).map((one) => Number(one.dataset[name]));
    const lines = (slider) => all(slider.closest("section"), "tr").slice(1);
    const rows = (slider) => lines(slider).map((row) => numbers(row, "weight"));
    return {
        answers: numbers(document, "answer"), probabilities: numbers(document, "probability"),
        verdicts: all(document, "[data-answer]").map((one) => one.textContent),
        weights: Object.fromEntries(all(document, "[type=range]").map((one) => [one.id, rows(one)])),
        message: document.getElementById("message").textContent,
        letters: document.getElementById("letters").value,
    };
"""
RULERS = """
    return [...document.querySelectorAll("[data-answer]")].map((item) => {
        const place = (one) => parseFloat(one.style.left) / 100;
        const { weight, reading } = item.querySelector("[data-reading]").dataset;
        const ruler = [...item.querySelectorAll(".count")].map(place);
        return [Number(weight), Number(reading), place(item.querySelector(".mark")), ...ruler];
    });
"""
TYPE_ON = """
    const [now, before] = [performance.now.bind(performance), location.hash];
    performance.now = () => {  // The page calls it when it has changed the address and is not yet told so.
        if (location.hash !== before) {
            performance.now = now;
            letters.value = "AB";
            letters.dispatchEvent(new Event("input"));
        }
        return now();
    };
"""
TOO_WIDE = """
    return [...document.querySelectorAll("html, section")].map((one) => one.scrollWidth - one.clientWidth);
"""


class Page:
    """The page in a browser, as a user has it before them."""

    def __init__(self, driver):
        self.driver = driver

    def visit(self, address=""):
        """Open the page anew."""
        self.driver.get("about:blank")
        self.driver.get(PAGE.as_uri() + address)

    def find(self, name):
        """Return the element with this id."""
        return self.driver.find_element(By.ID, name)

    def wait(self, condition, seconds=60):
        """Wait until the condition, a function, is true, and return what it returned."""
        return ui.WebDriverWait(self.driver, seconds, 0.05).until(lambda _: condition())

    def type(self, text):
        """Replace the letters."""
        self.find("letters").send_keys(Keys.CONTROL, "a", Keys.NULL, text or Keys.DELETE)

    def turn(self, knobs):
        """Move sliders, a dict from their ids to where they go."""
        move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));"
        for name, knob in knobs.items():
            self.driver.execute_script(move, self.find(name), knob)

    def open(self, path):
        """Open a checkpoint, and return the message."""
        known = len(self.find("model").find_elements(By.TAG_NAME, "option"))
        self.find("checkpoint").send_keys(str(path))
        self.wait(
            lambda: (
                self.seen()["message"] or len(self.find("model").find_elements(By.TAG_NAME, "option")) > known
            )
        )
        return self.seen()["message"]

    def seen(self):
        """Return what is on the page, a dict: answers, probabilities, weights for each slider, and so on."""
        return self.driver.execute_script(SEEN)

    def accuracy(self):
        """Return how many of 1,000 sequences are right, as soon as it is not greyed out."""
        self.wait(lambda: "old" not in self.find("accuracy").get_attribute("class").split())
        right, length = re.search(
            r"for ([\d,]+) of 1,000 .* length (\d+)", self.find("accuracy").text
        ).groups()
        return int(right.replace(",", "")), int(length)


@pytest.fixture(scope="module")
def browser():
    """Return the page in a Chromium without a window."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if found := shutil.which("chromium") or shutil.which("google-chrome"):
        options.binary_location = found
    os.environ["SE_OFFLINE"] = "true"  # Take the driver that is there, and download none.
    try:
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    except common.WebDriverException as error:
        advice = "install Chrome, or Chromium, and its driver, such as with apt-get install chromium-driver"
        pytest.skip(f"there is no browser; {advice} ({type(error).__name__})")
    yield Page(driver)
    driver.quit()


@pytest.fixture
def page(browser):
    """Return the page as it is when one opens it; in the end, nothing may have been thrown."""
    browser.driver.get_log("browser")
    browser.visit()
    yield browser
    assert browser.driver.get_log("browser") == []


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


def test_accuracy_follows_the_slider_and_is_that_of_main(trained, page):
    savepath = trained("2").savepath  # Here the sequences that are right are fewer than the output steps.
    page.open(savepath / "checkpoint.npz")
    printed = program.parse(program.output_of(2, "--test", "--savepath", savepath, "--seed", 1))
    assert abs(page.accuracy()[0] - 10 * printed["sequences"]) < 50  # Four standard deviations.
    page.turn({"attention": 2})
    assert "old" in page.find("accuracy").get_attribute("class").split()
    assert page.accuracy()[0] < 200
    page.type("ab bc")
    assert page.accuracy()[1] == 5


def test_the_slider_by_keyboard_the_way_back_and_the_address(page):
    usual, slider = page.seen()["weights"], page.find("attention")
    slider.send_keys(Keys.HOME)
    np.testing.assert_allclose(page.seen()["weights"]["attention"], 0.1)
    page.wait(lambda: "attention=0" in page.driver.current_url)
    slider.send_keys(Keys.ARROW_RIGHT)
    assert slider.get_attribute("value") == "0.05"
    slider.send_keys(Keys.END)
    page.wait(lambda: "attention=3" in page.driver.current_url)
    sharp, link = page.seen(), page.driver.current_url.partition("#")[2]
    page.driver.back()
    page.driver.back()
    page.wait(lambda: page.seen()["weights"] == usual)
    slider.send_keys(Keys.PAGE_UP)
    page.driver.find_element(By.XPATH, "//button[contains(., 'Back to × 1')]").click()
    assert page.seen()["weights"] == usual
    page.accuracy()  # So the address is written.
    page.driver.execute_script(TYPE_ON)
    page.type("A")
    page.wait(lambda: "letters=AB" in page.driver.current_url)
    assert page.seen()["letters"] == "AB"
    page.visit(f"#{link}")  # Somebody got it by mail.
    assert page.seen() == sharp
    page.visit("#model=difference_self_att&letters=ab+c&self_attention=0")
    assert page.seen()["letters"] == "AB␣C"
    np.testing.assert_allclose(page.seen()["weights"]["self_attention"], 0.25)
    for strange in ("#model=nobody", "#attention=7", "#model=counting&head=1", "#attention=much"):
        page.visit(strange)
        assert "does not have" in page.seen()["message"] and page.seen()["weights"]["attention"]


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


def test_random_letters_and_letters_that_do_not_fit(page):
    drawn = set()
    for _ in range(5):
        page.find("random").click()
        drawn.add(page.seen()["letters"])
    assert len(drawn) == 5 and all(re.fullmatch("[␣ABC]{10}", letters) for letters in drawn)
    page.type("AB")
    before = page.seen()
    for keys, words in (("X", "X is none of this model's letters, ␣ A B C"), (Keys.HOME + "?", "? is none")):
        page.find("letters").send_keys(keys)
        after = page.seen()
        assert words in after["message"] and after["weights"] == before["weights"]
    page.type("")
    assert "at least one letter" in page.seen()["message"]
    page.type("B")
    assert page.seen()["message"] == "" and page.seen()["weights"]["attention"] == [[1], [1], [1]]
    ui.Select(page.find("model")).select_by_value("signal")
    for text, words in (("A" * 12, "At most 11"), ("A B", "none of this model's letters, A B C")):
        page.type(text)
        assert words in page.seen()["message"]


def rewritten(savepath, compress=False, **changes):
    """Return the bytes of a checkpoint with other arrays; None takes one out."""
    arrays, description = program.contents(savepath)
    arrays["description"] = json.dumps(description)
    arrays = {name: array for name, array in (arrays | changes).items() if array is not None}
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **arrays)
    return file.getvalue()


def test_a_file_that_does_not_fit_is_one_line_and_the_model_stays(trained, tmp_path, page):
    savepath = trained("1").savepath
    whole = (savepath / "checkpoint.npz").read_bytes()
    _, description = program.contents(savepath)
    other = json.dumps(description | {"settings": description["settings"] | {"heads": 2}})
    archive = io.BytesIO()
    zipfile.ZipFile(archive, "w").writestr("letter.txt", "no model")
    cases = {
        b"": "no ZIP archive",
        b"A letter to nobody.": "no ZIP archive",
        whole[: len(whole) // 2]: "no ZIP archive",
        whole[:400] + bytes([whole[400] ^ 1]) + whole[401:]: "damaged",
        whole.replace(b"PK\x01\x02", b"PK\x01\x03", 1): "damaged",  # Where the list of files begins.
        rewritten(savepath, compress=True): "compressed",
        archive.getvalue(): "no checkpoint",
        rewritten(savepath, description=None): "no checkpoint",
        rewritten(savepath, description=json.dumps(description | {"task": "<b>Chess"})): "<b>Chess",
        rewritten(savepath, description=other): "heads=2",
        rewritten(savepath, value_layer=np.zeros((4, 64), np.float32)): "value_layer",
        rewritten(savepath, query=None): "query is missing",
        rewritten(savepath, query=np.zeros((1, 3, 32), np.float32)): "1 × 3 × 64",
        rewritten(savepath, query=np.full((1, 3, 64), np.nan, np.float32)): "missing or infinite",
        rewritten(savepath, query=np.zeros((1, 3, 64))): "float32",
    }
    before, path = page.seen(), tmp_path / "model.npz"
    for content, words in cases.items():
        path.write_bytes(content)
        message = page.open(path)
        assert message.startswith("model.npz: ") and words in message and "\n" not in message
        assert page.seen() == before | {"message": message}
        page.type("A")
        assert page.seen()["message"] == "" and page.seen()["weights"] != before["weights"]
        page.type("␣BC␣CBBAA␣")


def test_a_phone_and_no_network(page):
    """360 pixels wide, no model needs scrolling sideways; and nothing is asked of any network."""
    text = PAGE.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//\w+\.\w|@import|\bsrc=", re.sub(r'"UEsD[^"]*"', "", text))
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    for option in page.find("model").find_elements(By.TAG_NAME, "option"):
        option.click()
        assert max(page.driver.execute_script(TOO_WIDE)) <= 0, option.text
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.driver.execute_script("return performance.getEntriesByType('resource').length") == 0
