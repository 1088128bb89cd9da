"""One row of attention, step by step, in the page to play with: it computes what the formula does."""

import re

import numpy as np
import program
import pytest
import test_play
from experiments import formula
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PETS = np.eye(4)
LINES = """
    const number = (text) => Number(text.replace("−", "-"));
    const figures = (line) => [...line.querySelectorAll(".figure")].map((cell) => number(cell.textContent));
    return [...document.querySelectorAll("#row_steps [data-weight]")].map((weight) =>
        [...figures(weight.parentNode), Number(weight.dataset.weight)]);
"""
STRIPS = """
    const label = (strip) => strip.getAttribute("aria-label").replaceAll("−", "-");
    const numbers = (strip) => label(strip).split(": ").pop().split(" ").map(Number);
    return [...document.querySelectorAll(arguments[0])].map(numbers);
"""


def lines(page):
    """Return what stands beside each key, float (keys, numbers); the last number is the weight."""
    return np.array(page.driver.execute_script(LINES))


def press(page, name):
    page.find("row_steps").find_element(By.CSS_SELECTOR, f"[data-step={name}]").click()


def reaches(page, step, weights, mean):
    """Wait until the row is at a step, with the weights and the mean in sight or not."""

    def opacity(part):
        return page.find("row_steps").find_element(By.CSS_SELECTOR, part).value_of_css_property("opacity")

    expected = (str(step), str(int(weights)), str(int(mean)))
    page.wait(lambda: (page.find("row_steps").get_attribute("data-at"), opacity(".segment"),
                       opacity(".result")) == expected, 10)  # fmt: skip


def test_the_example_is_that_of_lesson_1(page):
    """Four names as keys, four pets as values; one goes on, back, and asks for somebody else."""
    page.driver.set_window_size(1280, 900)
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
        page.find("row_names").find_element(By.CSS_SELECTOR, f":nth-child({owner + 1})").click()
        move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));"
        page.driver.execute_script(move, page.find("row_strength"), strength)
        assert page.find("row_strength").rect == at  # Under a finger, it does not move.
        dots = strength * PETS[owner]
        weights = formula.softmax(dots / 2)
        np.testing.assert_allclose(
            lines(page)[:, :3], np.array([dots, dots / 2, np.exp(dots / 2)]).T, rtol=5e-3
        )
        np.testing.assert_allclose(lines(page)[:, 3], weights, atol=1e-6)
        (total,) = page.all("#row_steps .total .exp")
        total = float(total.get_property("textContent").split()[-1])
        assert total == pytest.approx(np.exp(dots / 2).sum(), rel=5e-3)
        mean = re.findall(r"([\d.]+) \w+", page.find("row_steps").find_element(By.CLASS_NAME, "result").text)
        np.testing.assert_allclose([float(number) for number in mean], weights @ PETS, atol=0.0051)


def test_what_was_asked_is_taken_to_its_row_by_link_and_by_address(page):
    """Other pets, another name: its key finds its pet. The focus goes along."""

    def active():
        return page.driver.switch_to.active_element

    def found():
        press(page, "average")
        reaches(page, 5, True, True)
        chips = [chip.text for chip in page.all("#row_steps .chip")]
        return chips, chips[int(lines(page)[:, 3].argmax())]

    page.visit("#ask&letters=Cleo+hen+Anna+owl+Dan+hen+Ben+cat+Anna")
    page.all('#ask [data-arc="3"]')[0].send_keys(Keys.ARROW_LEFT)
    link = page.find("ask_on")
    address = link.get_attribute("href").partition("#")[2]
    link.send_keys(Keys.ENTER)
    assert active().get_attribute("data-step") == "next"
    assert page.driver.current_url.endswith(f"#{address}")
    for _ in range(2):
        assert found() == (["hen", "owl", "hen", "cat"], "owl")
        mean = page.find("row_steps").find_element(By.CLASS_NAME, "result").text
        assert mean.split()[::2] == [".28", ".57", ".14"]  # Two hens are one value.
        page.visit(f"#{address}")
    page.visit("#row=Cleo")
    assert found() == (["dog", "cat", "owl", "hen"], "owl")
    page.visit("#row=Nobody")
    assert page.seen()["message"] and found()[1] == "cat"


def test_a_finished_picture_where_nothing_may_move(page):
    page.stand_still()
    page.visit("#row")
    reaches(page, 5, True, True)


@pytest.mark.parametrize("factor", [1, 0, 1.5])
def test_a_row_of_a_model_is_the_formula(page, factor):
    """From the query and the keys of 64 numbers to their mean, and the products that matter most."""
    arrays, _ = program.read(test_play.embedded()["counting"])
    page.driver.set_window_size(1280, 900)
    page.visit(f"#row=counting&letters=AC+BA&cell=attention,0,1,1&attention={factor}")
    page.wait(lambda: page.all("#row_steps svg"))
    keys = (arrays["key_layer/kernel"] + arrays["key_layer/bias"])[[1, 3, 0, 2, 1]]
    query = arrays["query"][0, 1]
    logits = keys @ query / 8
    weights = formula.softmax(factor * logits)
    columns = [
        8 * logits,
        logits,
        *([factor * logits] if factor != 1 else []),
        np.exp(factor * logits),
        weights,
    ]
    np.testing.assert_allclose(lines(page), np.array(columns).T, rtol=5e-3, atol=5.1e-3)
    np.testing.assert_allclose(lines(page)[:, -1], weights, atol=1e-5)
    drawn = {
        kind: page.driver.execute_script(STRIPS, f"#row_steps svg.{kind}")
        for kind in ("query", "key", "value")
    }
    np.testing.assert_allclose(drawn["query"], [query], rtol=1e-3)
    np.testing.assert_allclose(drawn["key"], keys, rtol=1e-3)
    np.testing.assert_allclose(drawn["value"], [*keys, weights @ keys], rtol=1e-3, atol=1e-4)
    press(page, "scale")
    bars = [bar.get_attribute("textContent").replace("−", "-") for bar in page.all("#row_steps span.amount")]
    np.testing.assert_allclose([float(bar) for bar in bars], factor * logits, atol=0.0051)
    products = query * keys[1]
    largest = products[np.argsort(-np.abs(products))[:4]]
    press(page, "average")
    reaches(page, 5, True, True)
    told = [row.text.replace("−", "-").split()[-1] for row in page.all(".matter tr")]
    expected = [*largest, products.sum() - largest.sum(), products.sum()]
    np.testing.assert_allclose([float(number) for number in told], expected, atol=0.0051)


EVERY_ROW = """
    const [name, factors] = arguments;
    const model = library[name].model;
    const tokens = usual(model);
    const shown = { model, tokens, moves: [], ...model.run(tokens, factors) };
    const far = (left, right) => Math.max(...left.map((number, index) => Math.abs(number - right[index])));
    return Object.keys(shown.seen).flatMap((id) => shown.seen[id].heads.flatMap((seen, head) =>
        seen.weights.map((weights, row) => {
            const source = rowOfModel(shown, { id, head, row, column: 0 });
            const computed = computeRow({ ...source, weights: null });
            return Math.max(far(computed.weights, weights), far(computed.mean, seen.context[row]));
        })));
"""


@pytest.mark.parametrize("factor", [1, 0, 1.5])
def test_every_row_of_every_model_is_computed_as_the_model_does(page, factor):
    """The model's own weights are tested against the programs; here, what a row is said to consist of."""
    for name in test_play.embedded():
        factors = dict.fromkeys(page.driver.execute_script(
            "const { model } = library[arguments[0]]; return Object.keys(model.run(usual(model)).seen)", name
        ), factor)  # fmt: skip
        assert max(page.driver.execute_script(EVERY_ROW, name, factors)) < 1e-9, name


MOVED = """
    const [box] = arguments;
    const cells = [...document.querySelectorAll(`${box} [data-weight]`)];
    const weights = cells.map((cell) => Number(cell.dataset.weight));
    const mean = document.querySelector(`${box} .mean svg`).getAttribute("aria-label").replaceAll("−", "-");
    return [weights, mean.split(": ").pop().split(" ").map(Number)];
"""


def test_weight_that_was_moved_by_hand_is_in_the_row_and_in_its_mean(page):
    """Beside the heatmap, and where the row is shown large."""
    arrays, _ = program.read(test_play.embedded()["counting"])
    keys = (arrays["key_layer/kernel"] + arrays["key_layer/bias"])[[1, 1, 2]]
    weights = formula.softmax(keys @ arrays["query"][0, 0] / 8) @ [[0, 0, 1], [0, 1, 0], [0, 0, 1]]
    page.driver.set_window_size(1280, 900)
    page.type("AAB")
    page.cell("attention", 0, 0).send_keys(Keys.ENTER)
    page.cell("attention", 0, 2).send_keys(Keys.ENTER)
    for box in ("#cell_row", "#row_steps"):
        seen, mean = page.driver.execute_script(MOVED, box)
        np.testing.assert_allclose(seen, weights, atol=1e-6)
        np.testing.assert_allclose(mean, weights @ keys, rtol=1e-3, atol=1e-5)
        if box == "#cell_row":
            page.driver.execute_script("document.getElementById('cell_large').click()")
            assert page.driver.current_url.endswith("cell=attention,0,0,2")
