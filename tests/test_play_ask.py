"""Ask, the first view of the page to play with: what it draws and says is what the formula gives."""

import base64
import json

import numpy as np
import program
import pytest
import test_play
import test_play_files
from experiments import formula
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

SEEN = """
    const all = (query) => [...document.querySelectorAll(query)];
    return {
        words: all("#ask_words > *").map((word) => word.firstChild.textContent),
        weights: all("#ask [data-arc]").map((arc) => Number(arc.dataset.weight)),
        chances: all("#ask_chances [data-chance]").map((row) =>
            [row.querySelector("span").textContent, Number(row.dataset.chance),
             parseInt(row.querySelector("small").textContent)]),
        answer: document.querySelector("#ask [data-answer]").dataset.answer,
    };
"""
WIDTHS = """
    return [...document.querySelectorAll("#ask_arcs .arc")].map((arc) =>
        Number(arc.getAttribute("stroke-width")));
"""
IN_SIGHT = """
    const box = document.querySelector(arguments[0]).getBoundingClientRect();
    return box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
"""


class Moved(formula.Model):
    """The formula, with weight of the last row of one head moved from word to word.

    Args:
        head: (name of an attention, number of a head).
        moves: list of (from, to), places of words.
    """

    def __init__(self, arrays, factors, head, moves):
        super().__init__(arrays, factors)
        self.head, self.moves = head, moves

    def mix(self, name, query, key, value, mask=True):
        """As in formula.Model."""
        context = super().mix(name, query, key, value, mask)
        if (name, len(self.weights[name]) - 1) != self.head:
            return context
        weights = self.weights[name][-1]
        for start, end in self.moves:
            weights[-1, end] += weights[-1, start]
            weights[-1, start] = 0
        return weights @ value


def finding_head(arrays, settings, words, name):
    """Return which head of an attention gives the right pet the most weight, over random texts."""
    generator, total = np.random.default_rng(5), 0
    names, pets = words[: len(words) // 2], words[len(words) // 2 :]
    for _ in range(40):
        asked = generator.permutation(len(names))[: settings["pairs"]]
        text = [part for one in asked for part in (one, len(names) + generator.integers(len(pets)))]
        reference = formula.Model(arrays)
        place = generator.integers(settings["pairs"])
        reference.transformer(settings, [*text, text[2 * place]])
        total = total + np.array([head[-1, 2 * place + 1] for head in reference.weights[name]])
    return int(total.argmax())


class Asked:
    """What the view should show of a checkpoint."""

    def __init__(self, file):
        self.arrays, description = program.read(file)
        self.settings = description["settings"]
        self.words = program.load("transformer").vocabulary(self.settings["pairs"])
        self.last = f"block_{self.settings['layers']}/attention"
        self.head = finding_head(self.arrays, self.settings, self.words, self.last)

    def agrees(self, page, factor=1, moves=()):
        """Check weights, chances and answer of the text that is shown."""
        seen = page.driver.execute_script(SEEN)
        reference = Moved(self.arrays, {self.last: factor}, (self.last, self.head), moves)
        chances = reference.transformer(self.settings, [self.words.index(word) for word in seen["words"]])[-1]
        np.testing.assert_allclose(seen["weights"], reference.weights[self.last][self.head][-1], atol=1e-5)
        assert seen["answer"] == self.words[chances.argmax()]
        for word, chance, percent in seen["chances"]:
            assert chance == pytest.approx(chances[self.words.index(word)], abs=1e-5)
            assert percent == pytest.approx(100 * chance, abs=0.5001)
        page.wait(lambda: self.are_thick(page, seen["weights"]), 5)
        return seen

    def are_thick(self, page, weights):
        """Return whether the lines are as thick as their weights; they take a moment."""
        widths = np.array(page.driver.execute_script(WIDTHS))
        return widths.any() and np.allclose(widths / widths.sum(), weights, atol=1e-4)


def arc(page, place):
    return page.all(f'#ask [data-arc="{place}"]')[0]


def test_it_looks_up_and_says_what_it_is_made_to_look_at(page):
    """By click, mouse, keys and address: the model of the page against the formula, with the weight moved."""
    asked = Asked(test_play.embedded()["transformer"])
    page.driver.set_window_size(1280, 800)
    page.visit()
    assert page.seen()["shown"] == ["ask"]
    for part in ("#ask_words", "#ask [data-answer]", "#ask_told em", "#ask_names"):
        assert page.driver.execute_script(IN_SIGHT, part), part
    for name, pet in {"Cleo": "owl", "Anna": "dog", "Dan": "hen", "Ben": "cat"}.items():
        page.all(f'#ask [data-ask="{name}"]')[0].click()
        seen = asked.agrees(page)
        assert seen["answer"] == pet and seen["words"][-1] == name and max(seen["weights"]) > 0.9
        (owned,) = page.all("#ask_words .found")  # In the first layer, this pet looks at its owner.
        assert pet in owned.text and name in owned.text and len(page.all("#ask_arcs .first.mine")) == 1
    words = page.all("#ask_words > *")
    drag = webdriver.ActionChains(page.driver)
    drag.click_and_hold(arc(page, 5)).move_to_element(words[6]).move_to_element(words[7]).perform()
    assert asked.agrees(page, moves=[(5, 7)])["answer"] == "owl"  # It says so before one lets go.
    drag.release().perform()
    assert asked.agrees(page, moves=[(5, 7)])["answer"] == "owl"
    page.driver.switch_to.active_element.send_keys(Keys.SHIFT, Keys.ARROW_LEFT, Keys.NULL)
    assert asked.agrees(page, moves=[(5, 6)])["answer"] not in ("cat", "owl")  # Cleo has no pet to give.
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    asked.agrees(page)
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert asked.agrees(page, moves=[(5, 3)])["answer"] == "dog"  # From pet to pet.
    page.driver.switch_to.active_element.send_keys(Keys.END)
    link = page.driver.current_url.partition("#")[2]
    page.visit(f"#{link}")
    assert asked.agrees(page, moves=[(5, 7)])["answer"] == "owl"
    page.driver.execute_script("location.hash = '#ask'")
    page.wait(lambda: asked.agrees(page)["answer"] == "cat")
    page.all("#ask_words > *")[1].click()
    assert asked.agrees(page, moves=[(5, 1)])["answer"] == "hen"
    arc(page, 1).send_keys(Keys.ESCAPE)
    assert asked.agrees(page)["answer"] == "cat"
    page.all('#ask [data-attend="equal"]')[0].click()
    guessed = asked.agrees(page, factor=0)
    assert np.ptp(guessed["weights"]) < 1e-9 and guessed["answer"] != "cat"  # Who sees it first sees it fail.
    assert page.all("#ask_answer.wrong") and "cat" in page.find("ask_verdict").text
    right = page.wait(lambda: page.driver.execute_script("return Ask.score"))
    assert 0 < right < 450 and str(right) in page.find("ask_tells").text  # Who only guesses: 412.
    page.find("ask_other").click()
    other = asked.agrees(page, factor=0)["words"]
    assert other[::2] == seen["words"][::2] and other[1::2] != seen["words"][1::2]
    page.all('#ask [data-attend="learnt"]')[0].click()
    assert asked.agrees(page)["answer"] == other[5]
    assert not page.all("#ask_says .wrong")
    page.all("#ask_words > *")[1].click()
    page.find("ask_other").click()
    asked.agrees(page)  # Other pets are looked up as it has learnt.


def test_any_transformer_can_be_asked(page, tmp_path):
    """A file of another size, dropped onto the view."""
    settings = {"pairs": 2, "hidden": 24, "layers": 3, "heads": 3}
    module = program.load("transformer")
    generator, arrays = np.random.default_rng(1), {}
    model = module.Transformer(**settings)
    model(np.zeros((1, 3), int))
    for weight in model.weights:
        numbers = generator.normal(size=weight.shape) / 2 + ("gamma" in weight.path)
        arrays[weight.path.partition("/")[2]] = numbers.astype(np.float32)
    path = tmp_path / "mine.npz"
    np.savez(path, description=json.dumps({"task": "Transformer", "step": 1, "settings": settings}), **arrays)
    page.visit("#ask")
    page.driver.execute_script(test_play_files.DROP, base64.b64encode(path.read_bytes()).decode())
    page.wait(lambda: len(page.all("#ask_words > *")) == 5)
    asked = Asked(path)
    asked.agrees(page)
    page.all('#ask [data-attend="equal"]')[0].click()
    asked.agrees(page, factor=0)


def test_a_finger_drags_on_a_phone_and_nothing_moves_for_who_wants_stillness(page):
    """390 pixels wide: words below each other, all that one takes hold of on the first screen."""

    def touch(kind, *points):
        fingers = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(points)]
        page.command("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)

    def centre(element):
        box = element.rect
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    page.screen(390)
    page.command("Emulation.setTouchEmulationEnabled", enabled=True)
    page.stand_still()
    page.visit("#ask")
    for part in ("#ask_words", "#ask [data-answer]", "#ask_told em", "#ask_names"):
        assert page.driver.execute_script(IN_SIGHT, part), part
    start, end = centre(arc(page, 5)), centre(page.all("#ask_words > *")[1])
    touch("touchStart", start)
    touch("touchMove", (start[0], (start[1] + end[1]) / 2))
    here, there = (start[0], end[1]), (start[0], start[1] + 90)
    touch("touchMove", here)
    touch("touchStart", here, there)  # A second finger changes nothing.
    touch("touchMove", here, (there[0], there[1] + 9))
    touch("touchEnd")
    seen = page.driver.execute_script(SEEN)
    assert seen["answer"] == "hen" and seen["weights"][1] > 0.9 and seen["weights"][5] == 0
    widths = page.driver.execute_script(WIDTHS)
    assert np.argmax(widths) == 1  # At once.
    assert page.driver.execute_script("return scrollY") == 0


def test_what_is_printed_fits_on_a_sheet(page):
    """Lines are measured, so they are drawn anew for a sheet, and for the screen after that."""
    inside = """
        const [event, least, most] = arguments;
        window.dispatchEvent(new Event(event));
        const card = document.querySelector("main > :not([hidden]) .card").getBoundingClientRect();
        const parts = document.querySelectorAll("#ask_arcs path, #ask_knobs > :not([hidden]), #row_steps td");
        const shown = [...parts].map((part) => part.getBoundingClientRect()).filter((box) => box.width);
        return card.width > least && card.width < most && shown.length > 8 &&
            shown.every((box) => box.left >= card.left && box.right <= card.right);
    """
    page.screen(1280, mobile=False)
    for view in ("#ask", "#row"):
        page.visit(view)
        page.wait(lambda: page.driver.execute_script(inside, "nothing", 1000, 1280))
        assert page.driver.execute_script(inside, "beforeprint", 300, 700), view
        assert page.driver.execute_script(inside, "afterprint", 1000, 1280), view
