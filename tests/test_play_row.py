"""One row of attention, step by step, in the page to play with: it computes what the formula does."""

import re

import browser
import numpy as np
import program
import pytest
from experiments import formula, play
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

PETS = np.eye(4)
FACTORS = (1, 0, 1.5)
LINES = """
    const number = (text) => Number(text.replace("−", "-"));
    const figures = (line) => [...line.querySelectorAll(".figure")].map((cell) => number(cell.textContent));
    return [...document.querySelectorAll(`${arguments[0]} [data-weight]`)].map((weight) =>
        [...figures(weight.parentNode), Number(weight.dataset.weight)]);
"""
STRIPS = """
    const label = (strip) => strip.getAttribute("aria-label").replaceAll("−", "-");
    const numbers = (strip) => label(strip).split(": ").pop().split(" ").map(Number);
    return [...document.querySelectorAll(arguments[0])].map(numbers);
"""


def lines(page, box="#row_steps"):
    """Return what stands beside each key, float (keys, numbers); the last number is the weight."""
    return np.array(page.js(LINES, box))


def numbers(elements):
    """Return the last number in the text of each element."""
    texts = [element.get_property("textContent").replace("−", "-") for element in elements]
    return [float(re.findall(r"-?[\d.]+", text)[-1]) for text in texts]


def counting():
    """Return the first model of the page, by the formula; all keys (4, 64) and queries (3, 64)."""
    reference = formula.Model(program.read(browser.checkpoint("counting"))[0])
    return reference, reference.embed(np.eye(4)), reference.arrays["query"][0]


def press(page, name):
    page.one(f"#row_steps [data-step={name}]").click()


def reaches(page, step, weights, mean):
    """Wait until the row is at a step, with the weights and the mean in sight or not."""

    def opacity(part):
        return page.one(f"#row_steps {part}").value_of_css_property("opacity")

    expected = (str(step), str(int(weights)), str(int(mean)))
    at = page.find("row_steps")
    page.wait(lambda: (at.get_attribute("data-at"), opacity(".segment"), opacity(".result")) == expected, 10)


def test_the_example_is_that_of_lesson_1(page):
    """Four names as keys, four pets as values; one goes on, back, and asks for somebody else."""
    page.visit("#row")
    reaches(page, 0, False, False)
    for step, shown in enumerate([(False, False)] * 3 + [(True, False), (True, True)], start=1):
        press(page, "next")
        reaches(page, step, *shown)
    press(page, "next")
    press(page, "back")
    reaches(page, 4, True, False)
    press(page, "play")
    reaches(page, 5, True, True)
    at = page.find("row_strength").rect
    for owner, strength in enumerate((2.8, 6, 0, 8)):
        page.all("#row_names button")[owner].click()
        page.turn({"row_strength": strength})
        assert page.find("row_strength").rect == at  # Under a finger, it does not move.
        dots = strength * PETS[owner]
        exponentials, weights = np.exp(dots / 2), formula.softmax(dots / 2)
        columns = np.array([dots, dots / 2, exponentials]).T
        np.testing.assert_allclose(lines(page)[:, :3], columns, rtol=5e-3)
        np.testing.assert_allclose(lines(page)[:, 3], weights, atol=1e-6)
        assert numbers(page.all("#row_steps .total .exp")) == pytest.approx([exponentials.sum()], rel=5e-3)
        mean = numbers(page.all("#row_steps .result .number"))
        np.testing.assert_allclose(mean, weights @ PETS, atol=0.0051)


def test_what_was_asked_is_taken_to_its_row_by_link_and_by_address(page):
    """Other pets, another name: its key finds its pet. The focus goes along."""

    def found():
        press(page, "average")
        reaches(page, 5, True, True)
        chips = [chip.text for chip in page.all("#row_steps .chip")]
        return chips, chips[int(lines(page)[:, 3].argmax())]

    page.visit("#ask&letters=Cleo+hen+Anna+owl+Dan+hen+Ben+cat+Anna")
    page.one('#ask [data-arc="3"]').send_keys(Keys.ARROW_LEFT)
    link = page.find("ask_on")
    address = link.get_attribute("href").partition("#")[2]
    link.send_keys(Keys.ENTER)
    assert page.active.get_attribute("data-step") == "next" and page.link == address
    for _ in range(2):
        assert found() == (["hen", "owl", "hen", "cat"], "owl")
        mean = numbers(page.all("#row_steps .result .number"))
        assert mean == [0.28, 0.57, 0.14]  # Two hens are one value.
        page.visit(f"#{address}")
    page.visit("#row=Cleo")
    assert found() == (["dog", "cat", "owl", "hen"], "owl")
    page.visit("#row=Nobody")
    assert page.seen()["message"] and found()[1] == "cat"
    page.stand_still()
    page.visit("#row")
    reaches(page, 5, True, True)  # A finished picture, where nothing may move.


def test_a_row_of_a_model_is_the_formula(page):
    """From the query and the keys of 64 numbers to their mean, and the products that matter most."""
    _, keys, queries = counting()
    keys, query = keys[[1, 3, 0, 2, 1]], queries[1]
    logits = keys @ query / 8
    products = query * keys[1]
    largest = products[np.argsort(-np.abs(products))[:4]]
    for factor in FACTORS:
        page.visit(f"#row=counting&letters=AC+BA&cell=attention,0,1,1&attention={factor}")
        weights = formula.softmax(factor * logits)
        turned = [factor * logits] if factor != 1 else []
        columns = np.array([8 * logits, logits, *turned, np.exp(factor * logits), weights]).T
        np.testing.assert_allclose(lines(page), columns, rtol=5e-3, atol=5.1e-3)
        np.testing.assert_allclose(lines(page)[:, -1], weights, atol=1e-5)
        drawn = {"query": [query], "key": keys, "value": [*keys, weights @ keys]}
        for kind, vectors in drawn.items():
            strips = page.js(STRIPS, f"#row_steps svg.{kind}")
            np.testing.assert_allclose(strips, vectors, rtol=1e-3, atol=1e-4)
        press(page, "scale")
        bars = numbers(page.all("#row_steps span.amount"))
        np.testing.assert_allclose(bars, factor * logits, atol=0.0051)
        press(page, "average")
        reaches(page, 5, True, True)
        expected = [*largest, products.sum() - largest.sum(), products.sum()]
        np.testing.assert_allclose(numbers(page.all(".matter td:last-child")), expected, atol=0.0051)


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
    for name in play.MODELS:
        for factor in FACTORS:
            assert max(page.js(EVERY_ROW, name, factor)) < 1e-9, (name, factor)


def test_a_cell_explains_itself_to_the_end(page):
    """By keyboard, by mouse, and after its weight was moved: its row, the weighted mean, the chances."""
    reference, keys, queries = counting()
    drawn = [1, 3, 2, 2, 0, 1]
    logits = 1.5 * queries @ keys[drawn].T / 8
    weights = formula.softmax(logits)
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
        strips = page.js(STRIPS, "#cell .mean svg, #cell_rest .numbers")
        np.testing.assert_allclose(strips, [mean, mean, sums, output], rtol=1e-3, atol=1e-5)
        (said,) = re.findall(r"÷ ([\d.]+)", page.find("cell_rest").get_property("textContent"))
        assert float(said) == pytest.approx(np.sqrt(sums.var() + formula.EPSILON), rel=1e-3)
        np.testing.assert_allclose(numbers(page.all("#cell .chances li")), 100 * chances, atol=0.5001)
    page.find("cell_large").click()
    assert page.link.endswith("cell=attention,0,0,5&attention=1.5")
    np.testing.assert_allclose(lines(page)[:, -1], weights[0], atol=1e-6)
    np.testing.assert_allclose(page.js(STRIPS, "#row_steps .mean svg"), [mean], rtol=1e-3, atol=1e-5)
