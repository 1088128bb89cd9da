"""What the page to play with computes is what the programs and the formula compute."""

import re
import shutil
import subprocess
import sys

import browser
import formula
import numpy as np
import program
import pytest
from experiments import play

# Models with random weights: the task and the settings.
MODELS = [
    (1, {"max_len": 4, "vocab_size": 3, "hidden": 8}),
    (2, {"max_len": 10, "vocab_size": 3, "hidden": 64, "self_att": False}),
    (2, {"max_len": 6, "vocab_size": 5, "hidden": 12, "self_att": True}),
    (3, {"max_len": 7, "vocab_size": 4, "hidden": 16, "pos_enc": True, "enc_layers": 2}),
    (3, {"max_len": 5, "vocab_size": 26, "hidden": 8, "pos_enc": False, "enc_layers": 0}),
]
CLOSE = {"rtol": 0, "atol": 1e-5}


def agree(seen, chances, weights, truth):
    """Check that answers, verdicts, chances and weights on the page are the expected ones."""
    assert seen["message"] == "" and seen["weights"].keys() == weights.keys()
    assert [int(answer) for answer in seen["answers"]] == chances.argmax(axis=-1).tolist()
    np.testing.assert_allclose(seen["chances"], chances, **CLOSE)
    for name, heads in seen["weights"].items():
        np.testing.assert_allclose(heads, weights[name], **CLOSE)
    for answer, right, verdict, each in zip(seen["answers"], truth, seen["verdicts"], chances, strict=True):
        assert int(re.findall(r"(\d+)%", verdict)[0]) == pytest.approx(100 * each.max(), abs=0.5001)
        said = [] if int(answer) == right else [str(right)]
        assert ("✓" in verdict) != bool(said) and re.findall(r"\d+", verdict.partition("✗")[2]) == said


@pytest.mark.parametrize(("task", "settings"), MODELS)
def test_it_computes_what_the_formula_says(task, settings, tmp_path, page):
    """A checkpoint of one's own, each slider at × 1, × 1.5 and × 0, and the last one by itself."""
    page.visit("#model=counting")
    path = tmp_path / "checkpoint.npz"
    arrays, generator = browser.write_random(path, task, settings), np.random.default_rng(1)
    letters = program.alphabet(task, settings["vocab_size"])
    assert page.open(path) == ""
    assert page.find("known").text.split() == list(letters.replace(" ", "␣"))
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


def test_the_page_is_what_its_sources_give(tmp_path):
    """It is written beside their folder, from wherever one calls."""
    folder = shutil.copytree(play.FOLDER, tmp_path / "lesson" / "play")
    subprocess.run([sys.executable, folder / "build.py"], check=True, cwd=tmp_path)
    same = folder.with_name("play.html").read_bytes() == browser.PAGE.read_bytes()
    assert same, "Run `python 3_signal/beyond/play/build.py`: play.html is what people open."


NAMES = """
    const texts = (table, query) => [...table.querySelectorAll(query)].map((name) => name.textContent);
    return [...document.querySelectorAll("#stage table[role=grid]")].map((table) =>
        [table.id, texts(table.parentNode, "h3"), texts(table, "[scope=row]"), texts(table, "[scope=col]")]);
"""


def test_the_models_of_the_page_are_checkpoints_of_seed_1(page):
    """All of them are in the menu, work at once, and are right about as often as the lessons say."""
    page.visit("#model=counting")
    ends = {"difference": (700, 1000), "signal": (400, 850)}
    lookers = {"difference_self_att": "self_attention", "transformer": "block_2/attention"}
    assert play.MODELS.keys() == {option.get_attribute("value") for option in page.all("#model option")}
    for name in play.MODELS:
        page.choose(name)
        _, described = program.read(browser.checkpoint(name))
        command, settings = page.find("command").get_property("textContent"), described["settings"]
        assert "--seed 1" in command and page.find("try").text
        assert ("--self_att" in command) == settings.get("self_att", False)
        assert ("--pos_enc" in command) == settings.get("pos_enc", False)
        assert ("--enc_layers 0" in command) == (settings.get("enc_layers") == 0)
        sliders = page.seen()["weights"]
        first, head, row, column = page.js("return Object.values(Models.chosen)")
        assert first == lookers.get(name, "attention") and column == np.argmax(sliders[first][head][row])
        assert row == (len(sliders[first][head]) - 1 if name.startswith(("difference", "transf")) else 0)
        assert ("self_attention" in sliders) == (name == "difference_self_att")
        assert ("encoder_layer_1/attention" in sliders) == (name in ("signal", "signal_pos_enc"))
        assert page.find("ruled").is_displayed() == name.startswith("counting")
        tokens = re.findall(r"\w+" if name == "transformer" else ".", page.value("letters"))
        names = page.js(NAMES)
        assert names[0][0] == f"{first} {head}" or first == "self_attention"  # It is the first that one sees.
        for table, titles, queries, keys in names:
            assert not titles or str(int(table[-1]) + 1) in titles[0]
            assert keys == (queries if table.startswith("self") else tokens)
            assert (queries == tokens) == table.startswith(("enc", "block"))
        if name == "counting_equal":
            assert page.value("attention") == "0"
            np.testing.assert_allclose(sliders["attention"], 0.1)
            page.turn({"attention": 1})
            page.find("attention back").click()
            assert page.value("attention") == "0"  # As it was trained.
        if name.startswith("counting"):  # They are scored in the vote.
            continue
        least, most = ends.get(name, (850, 1000))
        right = page.accuracy()
        assert least <= right <= most, name
        if name == "signal":
            page.turn({"attention": 0})
            page.js("return new Promise((rest) => setTimeout(rest, 350))")  # Then it is being measured.
            page.turn({"attention": 1})
            assert page.accuracy() == right


def test_weights_that_are_fixed(page):
    """Model 3 of the vote is edit B of the laboratory; the slider multiplies its logits, ln 100 and 0."""
    arrays, _ = program.read(browser.checkpoint("counting_fixed"))
    page.visit("#model=counting_fixed")
    page.type("AABC  AC")
    inputs = np.eye(4)[[1, 1, 2, 3, 0, 0, 1, 3]]
    for factor in (1, 0, 1.5):
        page.turn({"attention": factor})
        reference = formula.Model(arrays, {"attention": factor})
        agree(page.seen(), reference.fixed(inputs, 100), reference.weights, [3, 1, 2])


def test_the_transformer(page):
    """Each layer's slider by itself; the chances after every word; what comes later has no weight."""
    arrays, description = program.read(browser.checkpoint("transformer"))
    page.visit("#model=transformer")
    words = program.load("transformer").vocabulary(4)
    texts = {  # After the questions, and at the end, one wants to know what comes next.
        "Anna dog Ben cat Cleo owl Dan hen Ben": [8],
        "eva rat Dan GOAT Eva rat Dan Goat Eva": [4, 6, 8],
        "Anna dog Ben cat": [3],
        "Ben": [0],
    }
    for text, shown in texts.items():
        page.type(text)
        places = [[word.lower() for word in words].index(word) for word in text.lower().split()]
        for first, second in ((1, 1), (0, 1), (1.5, 0)):
            factors = {"block_1/attention": first, "block_2/attention": second}
            page.turn(factors)
            reference = formula.Model(arrays, factors)
            chances = reference.transformer(description["settings"], places)
            seen = page.seen()
            for name, heads in reference.weights.items():
                np.testing.assert_allclose(seen["weights"][name], heads, **CLOSE)
            np.testing.assert_allclose(page.js("return Models.chances"), chances, **CLOSE)
            assert seen["answers"] == [words[chances[place].argmax()] for place in shown]


RULERS = """
    return [...document.querySelectorAll("#rulers > *")].map((item) => {
        const place = (one) => parseFloat(one.style.left) / 100;
        const said = item.querySelector("p").textContent.match(/[\\d.]+/g).map(Number);
        return [...said, ...[...item.querySelectorAll(".pointer, .count")].map(place)];
    });
"""


def test_the_ruler_is_the_usual_weight_of_each_count(page):
    """Measured here on other sequences; the pointers slide, the ruler does not."""
    page.visit("#model=counting")
    reference = formula.Model(program.read(browser.checkpoint("counting"))[0])
    generator = np.random.default_rng(3)
    page.wait(lambda: page.all(".count"))
    for step, (_, _, _, *ruler) in enumerate(page.js(RULERS)):
        others = [letter for letter in range(4) if letter != step + 1]
        letters = generator.choice(others, (11, 300, 10))
        for count in range(11):
            letters[count, :, :count] = step + 1
        logits = reference.embed(np.eye(4)) @ reference.arrays["query"][0, step] / 8
        weights = formula.softmax(logits[letters])
        usual = (weights * (letters == step + 1)).sum(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(ruler, usual, atol=0.02)
        for factor in (1, 2):
            page.turn({"attention": factor})
            weight, reading, pointer, *still = page.js(RULERS)[step]
            own = np.array(list(page.seen()["letters"])) == "ABC"[step]
            total = np.array(page.seen()["weights"]["attention"])[0, step][own].sum()
            assert (weight, pointer, still) == (pytest.approx(total, abs=0.0051), pytest.approx(total), ruler)
            assert reading == np.argmin(np.abs(np.array(ruler) - total))
