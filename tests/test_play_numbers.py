"""What the page to play with computes is what the formula gives; it trains as Keras does."""

import re
import shutil
import subprocess
import sys

import browser
import numpy as np
import program
import pytest
import tensorflow as tf
from browser import CHECKPOINTS

SIZES = [  # Models with random weights: the task and the settings.
    (1, {"max_len": 4, "vocab_size": 3, "hidden": 8}),
    (2, {"max_len": 6, "vocab_size": 5, "hidden": 12, "self_att": True}),
    (3, {"max_len": 7, "vocab_size": 4, "hidden": 16, "pos_enc": True, "enc_layers": 2}),
    (3, {"max_len": 5, "vocab_size": 26, "hidden": 8, "pos_enc": False, "enc_layers": 0}),
    ("transformer", {"pairs": 2, "hidden": 24, "layers": 3, "heads": 3}),
]


def test_the_page_is_what_its_sources_give_and_asks_no_network(tmp_path, page):
    folder = shutil.copytree(browser.SOURCES, tmp_path / "beyond" / "play")
    shutil.copy(program.BEYOND / "transformer.py", folder.parent)  # It has the names and pets.
    subprocess.run([sys.executable, folder / "build.py"], check=True, cwd=tmp_path)
    same = folder.with_name("play.html").read_bytes() == browser.PAGE.read_bytes()
    assert same, "Run `python 3_signal/beyond/play/build.py`: play.html is what people open."
    text = re.sub(r'"UEsD[^"]*"', "", browser.PAGE.read_text(encoding="utf-8"))
    asks = re.findall(r"https?://(?!www.w3.org/2000/svg).*|@import.*|\bsrc=.*", text)
    assert asks == [], "the page asks a network"
    page.visit()
    assert page.js("return performance.getEntriesByType('resource').length") == 0, "it asks for a file"


def random_text(reference, seed):
    """Return random letters, a str, or words, a list, that a model can read."""
    generator, settings = np.random.default_rng(seed), reference.settings
    if reference.task != "transformer":
        length = settings["max_len"] + (reference.task == 3) - 2 * seed
        return "".join(generator.choice(list(reference.known), length))
    names, pets = np.reshape(reference.known, (2, -1))
    names, pets = (generator.permutation(words)[: settings["pairs"]] for words in (names, pets))
    return [*np.stack([names, pets], axis=-1).ravel().tolist(), str(names[seed])]


def truth(task, text, settings):
    """Return what is right after each answer that the page shows, a list; None where nobody can know."""
    if task != "transformer":
        return program.solve(task, text, settings["vocab_size"])
    return [text[text.index(text[-1]) + 1]]


def agree(page, reference, text, factors):
    """Check the page against the formula: chances, answers, verdicts, and the weights of each attention."""
    chances, weights = reference(text, factors)
    seen = page.seen()
    assert seen["message"] == "" and seen["weights"].keys() == weights.keys()
    for name, heads in seen["weights"].items():
        browser.check_weights(heads, weights[name], name)
    browser.same(page.js("return Models.shown.chances"), chances, "chances, to the last digits", 1e-5)
    chances = chances[-len(seen["answers"]) :]
    browser.same(seen["chances"], chances.max(axis=-1), "how sure it says it is")
    answers = chances.argmax(axis=-1)
    known = reference.known if reference.task == "transformer" else [*map(str, range(chances.shape[-1]))]
    assert seen["answers"] == [known[answer] for answer in answers], f"answers to {text}, sliders {factors}"
    right = truth(reference.task, text, reference.settings)
    for answer, one, verdict in zip(seen["answers"], right, seen["verdicts"], strict=True):
        judged = ["✓ right", "green"] if answer == str(one) else [f"✗ should be {one}", "red"]
        assert verdict == judged, f"{answer} should be {one}, and one reads: {verdict}"
    columns, rows = seen["axes"]
    assert columns == [one.replace(" ", "␣") for one in text], f"the columns of {text} are called {columns}"
    counted = [f"count of {one}" for one in (reference.known[1:] if reference.task != 3 else text[0])]
    counted += ["|A − B|"] * (reference.task == 2)
    expected = columns if reference.task == "transformer" else counted
    assert rows == expected, f"the rows are called {rows}, and they are {expected}"


def check_all(page, reference):
    """Check a model that is in sight: with two texts, and with all sliders and each one turned."""
    for seed in (0, 1):
        text = random_text(reference, seed)
        page.type(text.lower() if isinstance(text, str) else " ".join(text))
        names = list(page.seen()["weights"])
        page.turn(dict.fromkeys(names, 1))
        agree(page, reference, text, {})
        one_each = [dict.fromkeys(names, 1) | {name: factor} for name in names for factor in (0, 1.5)]
        for factors in (*one_each, dict.fromkeys(names, 0), dict.fromkeys(names, 1.5)):
            page.turn(factors)
            agree(page, reference, text, factors)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_the_models_of_the_page(name, page):
    page.visit("#model=counting")
    page.choose(name)
    for slider in page.seen()["weights"]:
        told = page.text(f"[id='{slider} factor']")
        assert told == page.value(slider) == str(int(name != "counting_equal")), "not as it was trained"
    check_all(page, browser.Reference(CHECKPOINTS[name]))


@pytest.mark.parametrize(("task", "settings"), SIZES)
def test_models_of_other_sizes(task, settings, tmp_path, page):
    path = tmp_path / "checkpoint.npz"
    browser.save_random(path, task, settings)
    page.visit("#model=counting")
    assert page.open(path) == ""
    check_all(page, browser.Reference(path))


def test_accuracy_is_that_of_the_formula(page):
    """Of Task 2, where the right sequences are fewer than the right output steps, at two lengths."""
    page.visit("#model=difference")
    reference, generator = browser.Reference(CHECKPOINTS["difference"]), np.random.default_rng(4)
    for length in (10, 5):
        page.type("ABC BCABCA"[:length])
        letters = np.eye(4)[generator.integers(4, size=(4000, length))]
        counts = letters.sum(axis=1)[:, 1:]
        answers = np.concatenate([counts, abs(counts[:, :1] - counts[:, 1:2])], axis=-1)
        right = (reference.lesson(letters).argmax(axis=-1) == answers).all(axis=-1).mean()
        told, right = page.accuracy(), 1000 * right
        assert abs(told - right) < 60, f"{told} of 1,000 are right, ours {right}"  # Four standard deviations.


def test_the_letter_with_the_first_position_s_vector_is_counted(page):
    """At each step, against the formula, and for most of 1,000 sequences."""
    text = "BBABCCABCAB"
    page.visit(f"#model=signal_pos_enc&letters={text}")
    for step in (*range(1, 11), 0):
        page.choose(str(step), "mark")
        reference = browser.Reference(CHECKPOINTS["signal_pos_enc"])
        vectors = reference.arrays["positional_encoding"][0]
        vectors[[0, step]] = vectors[[step, 0]]
        chances, _ = reference(text)
        seen = page.seen()
        browser.same(seen["chances"], chances.max(axis=-1), "how sure it says it is")
        right = text.count(text[step]) - 1
        assert seen["answers"] == [str(right)] and "✓ right" in seen["verdicts"][0] and page.accuracy() > 980


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
    return [loss, training.weights];
"""


def rows(weight):
    """Return a weight as the page holds it, a matrix."""
    return weight.numpy().astype(float).reshape(-1, weight.shape[-1])


@pytest.mark.parametrize("factor", [1, 0])
def test_a_step_of_training_is_that_of_keras(page, factor):
    """With learnt weights, and with equal ones, where no gradient goes through the scores."""
    page.visit("#train")
    generator = np.random.default_rng(2)
    model = program.load(1).AttentionModel(max_len=10, vocab_size=3, hidden=64)
    for weight in model.weights:
        weight.assign(generator.normal(size=weight.shape) / 3 + ("gamma" in weight.path))
    weights = {weight.path.removeprefix("model/"): weight for weight in model.weights}
    page.js(SET_UP, factor, {name: rows(weight).tolist() for name, weight in weights.items()})
    letters = np.array([np.repeat(range(4), counts) for counts in BATCH])
    inputs, answers = np.eye(4, dtype=np.float32)[letters], np.array(BATCH)[:, 1:]
    texts = np.array(list(" ABC"))[letters].tolist()
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(1e-2)  # The rate of main.py.
    for step in range(3):
        with tf.GradientTape() as tape:
            key = model.key_layer(inputs)
            decoding, _ = model.attention(query=model.query, key=factor * key, value=key)
            loss = loss_function(answers, model.logits_layer(decoding))
        gradients = tape.gradient(loss, list(weights.values()))
        optimizer.apply(gradients, list(weights.values()))
        found, trained = page.js(STEP, texts)
        assert found == pytest.approx(float(loss), rel=1e-3), f"the loss at step {step}"
        for name, weight in weights.items():
            np.testing.assert_allclose(trained[name], rows(weight), atol=2e-4, err_msg=f"{name}, step {step}")
