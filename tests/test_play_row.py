"""One row of attention, step by step, in the page to play with: it computes what the formula does."""

import re

import browser
import formula
import numpy as np
import program
import pytest
from experiments import play
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui

PETS = np.eye(4)
FACTORS = (1, 0, 1.5)
SAID = "#row_steps .room :is(:nth-child(3), :nth-child(4), :nth-child(6))"  # At compare, scale, softmax.
LINES = """
    const number = (text) => Number(text.replace("−", "-"));
    const figures = (line) => [...line.querySelectorAll(".figure")].map((cell) => number(cell.textContent));
    const all = (query) => [...document.querySelectorAll(`${arguments[0]} ${query}`)];
    const shares = all(".segment").map((segment) => parseFloat(segment.style.width));
    return all("[data-weight]").map((weight, place) =>
        [...figures(weight.parentNode), Number(weight.dataset.weight), shares[place]]);
"""
STRIPS = """
    const label = (strip) => strip.getAttribute("aria-label").replaceAll("−", "-");
    const numbers = (strip) => label(strip).split(": ").pop().split(" ").map(Number);
    return [...document.querySelectorAll(arguments[0])].map(numbers);
"""
TEXTS = "return [...document.querySelectorAll(arguments[0])].map((part) => part.textContent)"
BARS = """
    return [...document.querySelectorAll("#row_steps div.amount")].map((bar) =>
        [parseFloat(bar.style.left), parseFloat(bar.style.width)]);
"""
# How strongly the numbers of strips are coloured, those in the lower half as negative numbers.
SHADES = """
    return [...document.querySelectorAll(arguments[0])].map((strip) => {
        const shades = Array(strip.viewBox.baseVal.width).fill(0);
        for (const path of strip.children) {
            for (const [, place, half] of path.getAttribute("d").matchAll(/M(\\d+) (\\d)/g)) {
                shades[place] = Number(path.getAttribute("opacity")) * (half === "0" ? 1 : -1);
            }
        }
        return shades;
    });
"""
IN_SIGHT = """
    const box = document.getElementById("row_steps");
    return [box.dataset.at, ...arguments[0].map((part) => getComputedStyle(box.querySelector(part)).opacity)];
"""
# Which of the sentences is told, which stages are pressed, and whether one can go back and on.
TOLD = """
    const box = document.getElementById("row_steps");
    const all = (query) => [...box.querySelectorAll(query)];
    const told = box.querySelector(".told").textContent;
    const isOn = (step) => box.querySelector(`[data-step=${step}]`).getAttribute("aria-disabled") !== "true";
    return [all(".room p:not(.told)").findIndex((sentence) => sentence.textContent === told),
        all(".stage[aria-pressed=true]").map((stage) => stage.dataset.step), isOn("back"), isOn("next")];
"""


def lines(page, box="#row_steps"):
    """Return what stands beside each key, float (keys, numbers); the last number is the weight."""
    *beside, percent = np.array(page.js(LINES, box)).T
    np.testing.assert_allclose(percent, 100 * beside[-1], atol=0.01)  # Of the bar of all weights.
    return np.array(beside).T


def numbers(page, query):
    """Return the last number in the text of each element."""
    texts = [text.replace("−", "-") for text in page.js(TEXTS, query)]
    return [float(re.findall(r"-?\d*\.?\d+", text)[-1]) for text in texts]


def columns(logits, factor, scale=8):
    """Return the numbers beside each key, (keys, numbers): q · k, scaled, turned by a slider, exp."""
    turned = [factor * logits] if factor != 1 else []
    return np.array([scale * logits, logits, *turned, np.exp(factor * logits)]).T


def check_bars(page, lengths):
    """Check the numbers at the bars, how long these are, and where they begin; return the length of 1."""
    np.testing.assert_allclose(numbers(page, "#row_steps span.amount"), lengths, rtol=5e-3, atol=5.1e-3)
    left, width = np.array(page.js(BARS)).T
    np.testing.assert_allclose(width * np.abs(lengths).sum(), width.sum() * np.abs(lengths), atol=0.5)
    assert np.ptp(left + width * (np.array(lengths) < 0)) < 0.01
    assert left.min() > -0.01 and (left + width).max() < 100.01
    return width.sum() / np.abs(lengths).sum() if np.any(lengths) else None


def counting():
    """Return the first model of the page, by the formula; all keys (4, 64) and queries (3, 64)."""
    reference = formula.Model(program.read(browser.checkpoint("counting"))[0])
    return reference, reference.embed(np.eye(4)), reference.arrays["query"][0]


def press(page, name):
    page.one(f"#row_steps [data-step={name}]").click()


def reaches(page, step):
    """Wait until the row is at a step: what has come is in sight, what is still to come is not."""
    columns = ["td.dot", "td.scaled", "td.exp", ".segment", ".result"]
    expected = [str(step), *(str(int(step >= first)) for first in range(1, 6))]
    page.wait(lambda: page.js(IN_SIGHT, columns) == expected, 10)
    stages = [[], ["compare"], ["scale"], ["softmax"], ["softmax"], ["average"]]
    assert page.js(TOLD) == [step, stages[step], step > 0, step < 5]


def test_the_example_is_that_of_lesson_1(page):
    """Four names as keys, four pets as values; one goes on, back, and asks for somebody else."""
    page.move()
    page.visit("#row")
    reaches(page, 0)
    at_rest = page.one("[data-step=play]").text
    for step in range(1, 6):
        press(page, "next")
        reaches(page, step)
    press(page, "next")
    press(page, "back")
    reaches(page, 4)
    press(page, "play")
    reaches(page, 5)
    page.wait(lambda: len(page.all("#row_steps .chip")) == 4, 5)  # Copies have flown into the mean.
    pressed = "const box = arguments[0].closest('#row_steps'); arguments[0].click(); return box.dataset.at"
    assert page.js(pressed, page.one("[data-step=play]")) == "0"  # From the beginning, if not for long.
    for name in ("next", "back", "softmax", "play"):  # Whoever takes a step takes over.
        press(page, name)
        assert page.one("[data-step=play]").text == at_rest
        press(page, "play")
    press(page, "softmax")
    at = page.find("row_strength").rect
    for owner, strength in enumerate((2.8, 6, 0, 8)):
        page.all("#row_names button")[owner].click()
        page.turn({"row_strength": strength})
        assert page.find("row_strength").rect == at  # Under a finger, it does not move.
        assert float(page.find("row_strong").text) == strength
        dots = strength * PETS[owner]
        exponentials, weights = np.exp(dots / 2), formula.softmax(dots / 2)
        np.testing.assert_allclose(lines(page)[:, :3], columns(dots / 2, 1, 2), rtol=5e-3)
        assert numbers(page, "#row_steps .query .number") == pytest.approx(dots)
        assert numbers(page, "#row_steps .key .number") == PETS.ravel().tolist()
        assert numbers(page, "#row_steps .key .place small") == pytest.approx((dots * PETS).ravel())
        check_bars(page, weights)
        np.testing.assert_allclose(lines(page)[:, 3], weights, atol=1e-6)
        assert numbers(page, "#row_steps .total .exp") == pytest.approx([exponentials.sum()], rel=5e-3)
        assert numbers(page, SAID) == pytest.approx([strength, 4, exponentials.sum()], rel=5e-3)
        mean = numbers(page, "#row_steps .result .number")
        np.testing.assert_allclose(mean, weights @ PETS, atol=0.0051)
    ui.Select(page.find("row_model")).select_by_value("counting")
    reaches(page, 0)  # Each row has its beginning.


def test_what_was_asked_is_taken_to_its_row_by_link_and_by_address(page):
    """Other pets, another name: its key finds its pet. The focus goes along."""

    def found():
        press(page, "average")
        reaches(page, 5)
        chips = [chip.text for chip in page.all("#row_steps .chip")]
        return chips, chips[int(lines(page)[:, 3].argmax())]

    page.visit("#ask&letters=Cleo+hen+Anna+owl+Dan+hen+Ben+cat+Anna")
    page.one('#ask [data-arc="3"]').send_keys(Keys.ARROW_LEFT)
    link = page.find("ask_on")
    address = link.get_attribute("href").partition("#")[2]
    link.send_keys(Keys.ENTER)
    assert page.active.get_attribute("data-step") == "next" and page.link == address
    assert found() == (["hen", "owl", "hen", "cat"], "owl")
    assert numbers(page, "#row_steps .result .number") == [0.28, 0.57, 0.14]  # Two hens are one value.
    page.visit("#row=Cleo")
    assert found() == (["dog", "cat", "owl", "hen"], "owl")
    page.js("location.hash = '#row=Nobody'")
    page.wait(lambda: page.seen()["message"])
    assert found()[1] == "cat"
    page.visit("#row=counting")
    page.go("vote")
    page.go("row")
    assert len(lines(page)) == 10  # What one has left is still there.
    page.go("ask")
    page.one("#ask .next a").click()
    assert "row=" not in page.link and found()[1] == "cat"
    page.visit("#row")
    reaches(page, 5)  # A finished picture, where nothing may move.


def test_a_row_of_a_model_is_the_formula(page):
    """From the query and the keys of 64 numbers to their mean, and the products that matter most."""
    _, keys, queries = counting()
    keys, query = keys[[1, 3, 0, 2, 1]], queries[1]
    logits = keys @ query / 8
    products = query * keys[3]
    places = np.argsort(-np.abs(products))[:4]
    largest = products[places]
    for factor in FACTORS:
        page.visit(f"#row=counting&letters=AC+BA&cell=attention,0,1,3&attention={factor}")
        weights = formula.softmax(factor * logits)
        np.testing.assert_allclose(lines(page)[:, :-1], columns(logits, factor), rtol=5e-3, atol=5.1e-3)
        np.testing.assert_allclose(lines(page)[:, -1], weights, atol=1e-5)
        drawn = {"query": [query], "key": keys, "value": [*keys, weights @ keys], "product": query * keys}
        for kind, vectors in drawn.items():
            strips, shades = (page.js(script, f"#row_steps svg.{kind}") for script in (STRIPS, SHADES))
            np.testing.assert_allclose(strips, vectors, rtol=1e-3, atol=1e-4)
            for shade, vector in zip(np.array(shades), vectors, strict=True):
                by_size = np.abs(shade)[np.argsort(np.abs(vector))]
                assert (shade * vector >= 0).all() and np.diff(by_size).min() >= 0 and by_size.any()
        by = [64, factor] if factor != 1 else [64]
        assert numbers(page, "#row_steps :is(th.scaled, th.turned)") == by
        said = [8 * logits.max(), by[-1], np.exp(factor * logits).sum()]
        assert numbers(page, SAID) == pytest.approx(said, rel=5e-3)
        lefts = [page.one(f"#row_steps {cell}.exp").rect["x"] for cell in ("th", ".total td")]
        assert lefts[0] == lefts[1]
        press(page, "compare")
        long = check_bars(page, 8 * logits)
        press(page, "scale")
        one_long = check_bars(page, factor * logits)
        assert one_long is None or one_long == pytest.approx(long, rel=1e-3)  # One sees them shrink.
        press(page, "next")
        check_bars(page, np.exp(factor * logits))
        press(page, "average")
        reaches(page, 5)
        expected = [*largest, products.sum() - largest.sum(), products.sum()]
        np.testing.assert_allclose(numbers(page, ".matter td:last-child"), expected, atol=0.0051)
        factors = [numbers(page, f".matter .{kind}") for kind in ("query", "key")]
        np.testing.assert_allclose(factors, [query[places], keys[3][places]], atol=0.0051)
        assert numbers(page, ".matter tr:nth-child(-n + 5) th") == [*places + 1, 60]
    page.one("#row_steps tr:nth-child(4)").click()  # Another key.
    assert numbers(page, ".matter td:last-child")[-1] == pytest.approx(8 * logits[2], abs=0.0051)
    which = ui.Select(page.find("row_which"))
    which.select_by_value('["attention",0,2]')
    weights = formula.softmax(1.5 * keys @ queries[2] / 8)
    np.testing.assert_allclose(lines(page)[:, -1], weights, atol=1e-5)
    assert f"cell=attention,0,2,{weights.argmax()}" in page.link
    names = page.js(TEXTS, "#row_steps > table th[scope=row]")
    assert names[0][-1] == "C" and names[1:] == list("AC␣BA") and names[0] in which.first_selected_option.text
    assert page.find("row_text").text == "AC␣BA"
    choose = ui.Select(page.find("row_model")).select_by_value
    for name, start in (("signal", "attention,0,0"), ("difference_self_att", "self_attention,0,3")):
        choose(name)
        assert f"cell={start},{lines(page)[:, -1].argmax()}" in page.link and f"row={name}" in page.link
        places = re.findall(r"\((\d+)\)", page.find("row_which").get_property("textContent"))
        assert [int(place) for place in places] == [*range(1, len(places) + 1)]
        assert len(places) == (11 if name == "signal" else 0)
    choose("")
    assert page.link == "row" and page.find("row_strength").is_displayed()


EVERY_ROW = """
    const [name, factor] = arguments;
    const model = library[name].model;
    const tokens = usual(model);
    const factors = Object.fromEntries(Object.keys(model.run(tokens).seen).map((id) => [id, factor]));
    const shown = { model, tokens, moves: [], ...model.run(tokens, factors) };
    const far = (left, right) => Math.max(...left.map((number, index) => Math.abs(number - right[index])));
    return Object.keys(shown.seen).flatMap((id) => shown.seen[id].heads.flatMap((seen, head) =>
        seen.weights.map((weights, row) => {
            const source = rowOfModel(shown, { id, head, row, column: 0 });
            const computed = computeRow({ ...source, weights: null });
            return Math.max(far(computed.weights, weights), far(computed.mean, seen.context[row]));
        })));
"""


def test_every_row_of_every_model_is_computed_as_the_model_does(page):
    """The model's own weights are tested against the programs; here, what a row is said to consist of."""
    page.visit("#row")
    for name in play.MODELS:
        for factor in FACTORS:
            assert max(page.js(EVERY_ROW, name, factor)) < 1e-9, (name, factor)


def test_a_cell_explains_itself_to_the_end(page):
    """By keyboard, by mouse, and after its weight was moved: its row, the weighted mean, the chances."""
    page.visit("#model=counting")
    reference, keys, queries = counting()
    drawn = [1, 3, 2, 2, 0, 1]
    logits = 1.5 * queries @ keys[drawn].T / 8
    weights, told = formula.softmax(logits), []
    page.turn({"attention": 1.5})
    page.type("ACBB A")
    for row, column, letter in ((1, 1, "C"), (0, 4, "␣"), (0, 5, "A")):
        if letter == "C":
            page.cell("attention", 0, 0).click()
            page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
        elif letter == "␣":
            cell = page.cell("attention", row, column)
            webdriver.ActionChains(page.driver).move_to_element(cell).click().perform()
            lit = [name.get_property("textContent") for name in page.all("#stage .lit")]
            assert lit == ["␣", "count of A"]  # What is the key, and what has the query.
        else:
            page.press(Keys.ENTER, Keys.ARROW_RIGHT, Keys.ENTER)
            weights[0, 4:] = 0, weights[0, 4:].sum()
        title = page.find("cell_title").text
        assert letter in title and re.search(r"\d+(?=nd|th)", title)[0] == str(column + 1)
        assert f"{weights[row, column]:.2f}"[1:] in title
        mean = weights[row] @ keys[drawn]
        sums = mean + queries[row]
        output = reference.normalize("attention/layer_norm", sums)
        chances = formula.softmax(reference.dense("logits_layer", output))
        np.testing.assert_allclose(lines(page, "#cell")[:, -1], weights[row], atol=1e-6)
        told.append(re.sub(r"[\d.]", "", page.js(TEXTS, "#cell .room p:nth-child(6)")[0]))
        strips = page.js(STRIPS, "#cell .mean svg, #cell_rest .numbers")
        np.testing.assert_allclose(strips, [mean, mean, sums, output], rtol=1e-3, atol=1e-5)
        (said,) = re.findall(r"÷ ([\d.]+)", page.find("cell_rest").get_property("textContent"))
        assert float(said) == pytest.approx(np.sqrt(sums.var() + formula.EPSILON), rel=1e-3)
        np.testing.assert_allclose(numbers(page, "#cell .chances li"), 100 * chances, atol=0.5001)
    assert told[0] == told[1] != told[2]  # One reads which weights were moved by hand.
    assert page.one("#cell .chance").value_of_css_property("print-color-adjust") == "exact"
    shown = page.seen()
    page.find("cell_large").click()
    assert page.link.endswith("cell=attention,0,0,5&attention=1.5")
    np.testing.assert_allclose(lines(page)[:, -1], weights[0], atol=1e-6)
    np.testing.assert_allclose(page.js(STRIPS, "#row_steps .mean svg"), [mean], rtol=1e-3, atol=1e-5)
    page.find("row_back").click()
    assert page.seen() == shown and page.active == page.cell("attention", 0, 5)
    for factor in (2, 1, 0):  # What the slider does is seen in the open row.
        page.turn({"attention": factor})
        beside = columns(queries[0] @ keys[drawn].T / 8, factor)
        np.testing.assert_allclose(lines(page, "#cell")[:, :-1], beside, rtol=5e-3, atol=5.1e-3)
    page.press(Keys.ESCAPE)
    assert not page.find("cell").is_displayed()
    page.choose("transformer")
    page.cell("block_2/attention", 8, 5).click()
    words, chances = program.load("transformer").vocabulary(4), page.seen()["chances"][-1]
    listed = [line.split() for line in page.js(TEXTS, "#cell .chances li")][:-1]
    assert listed[0][0] == words[np.argmax(chances)]
    for word, percent in listed:
        assert int(percent[:-1]) == pytest.approx(100 * chances[words.index(word)], abs=0.5001)
    page.cell("block_1/attention", 3, 2).click()
    found, sums = np.array(page.js(STRIPS, "#cell_rest .numbers"))
    places = [words.index(word) for word in page.value("letters").split()]
    before = formula.Model(program.read(browser.checkpoint("transformer"))[0]).embed_words(places)
    np.testing.assert_allclose(sums - found, before[3], atol=2e-3)  # The residual connection.
