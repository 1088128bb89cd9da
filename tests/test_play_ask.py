"""Ask, the first view of the page to play with: what it draws and says is what the formula gives."""

import browser
import numpy as np
import program
import pytest
from experiments import formula
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

SEEN = """
    const all = (query) => [...document.querySelectorAll(query)];
    return {
        words: all("#ask_words > *").map((word) => word.firstChild.textContent),
        weights: all("#ask [data-arc]").map((arc) => Number(arc.dataset.weight)),
        widths: all("#ask_arcs .arc").map((arc) => Number(arc.getAttribute("stroke-width"))),
        chances: all("#ask_chances [data-chance]").map((row) =>
            [row.querySelector("span").textContent, Number(row.dataset.chance),
             parseInt(row.querySelector("small").textContent)]),
        answer: document.querySelector("#ask [data-answer]").dataset.answer,
    };
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


class Asked:
    """The view, and what it should show of a checkpoint."""

    def __init__(self, page, path):
        self.page = page
        self.arrays, description = program.read(path)
        self.settings = description["settings"]
        self.words = program.load("transformer").vocabulary(self.settings["pairs"])
        self.last = f"block_{self.settings['layers']}/attention"
        seen, reference = page.js(SEEN), formula.Model(self.arrays)
        reference.transformer(self.settings, self.places(seen["words"]))
        away = [np.abs(head[-1] - seen["weights"]).max() for head in reference.weights[self.last]]
        self.head = np.argmin(away)  # Which one is drawn.

    def places(self, words):
        return [self.words.index(word) for word in words]

    def arc(self, place):
        return self.page.one(f'#ask [data-arc="{place}"]')

    def word(self, place):
        return self.page.all("#ask_words > *")[place]

    def attend(self, how):
        self.page.one(f"#ask [data-attend={how}]").click()

    def says(self, factor=1, moves=()):
        """Check weights, lines, chances and answer of the text that is shown, and return the answer."""
        seen = self.page.js(SEEN)
        reference = Moved(self.arrays, {self.last: factor}, (self.last, self.head), moves)
        chances = reference.transformer(self.settings, self.places(seen["words"]))[-1]
        np.testing.assert_allclose(seen["weights"], reference.weights[self.last][self.head][-1], atol=1e-5)
        assert seen["answer"] == self.words[chances.argmax()]
        for word, chance, percent in seen["chances"]:
            assert chance == pytest.approx(chances[self.words.index(word)], abs=1e-5)
            assert percent == pytest.approx(100 * chance, abs=0.5001)
        self.page.wait(self.are_thick, 5)
        return seen["answer"]

    def are_thick(self):
        """Return whether the lines are as thick as their weights; they may take a moment."""
        seen = self.page.js(SEEN)
        widths = np.array(seen["widths"])
        return widths.any() and np.allclose(widths / widths.sum(), seen["weights"], atol=1e-4)


def fits_on(page, width, height):
    """Return whether all that one takes hold of is on the first screen."""
    parts = ("#ask_words", "#ask [data-answer]", "#ask_told em", "#ask_names")
    boxes = [page.box(page.one(part)) for part in parts]
    return all(
        box["top"] >= 0 and box["left"] >= 0 and box["bottom"] <= height and box["right"] <= width
        for box in boxes
    )


def test_it_looks_up_and_says_what_it_is_made_to_look_at(page):
    """By click, mouse, keys and address: the model of the page against the formula, with the weight moved."""
    page.screen(1280, 657, mobile=False)
    page.stand_still()
    page.visit()
    asked = Asked(page, browser.checkpoint("transformer"))
    assert page.seen()["shown"] == ["ask"] and fits_on(page, 1280, 657)
    for name, pet in {"Cleo": "owl", "Anna": "dog", "Dan": "hen", "Ben": "cat"}.items():
        page.one(f'#ask [data-ask="{name}"]').click()
        seen = page.js(SEEN)
        assert asked.says() == pet and seen["words"][-1] == name and max(seen["weights"]) > 0.9
        (owned,) = page.all("#ask_words .found")  # In the first layer, this pet looks at its owner.
        assert pet in owned.text and name in owned.text and len(page.all("#ask_arcs .first.mine")) == 1
    drag = webdriver.ActionChains(page.driver, duration=0).click_and_hold(asked.arc(5))
    drag.move_to_element(asked.word(6)).move_to_element(asked.word(7)).perform()
    assert asked.says(moves=[(5, 7)]) == "owl"  # It says so before one lets go.
    drag.release().perform()
    assert asked.says(moves=[(5, 7)]) == "owl"
    page.press(Keys.SHIFT + Keys.ARROW_LEFT)
    assert asked.says(moves=[(5, 6)]) not in ("cat", "owl")  # Cleo has no pet to give.
    page.press(Keys.ARROW_LEFT)
    assert asked.says() == "cat"
    page.press(Keys.ARROW_LEFT)
    assert asked.says(moves=[(5, 3)]) == "dog"  # From pet to pet.
    page.press(Keys.END)
    page.visit(f"#{page.link}")
    assert asked.says(moves=[(5, 7)]) == "owl"
    page.js("location.hash = '#ask'")
    page.wait(lambda: page.js(SEEN)["answer"] == "cat")
    asked.says()
    asked.word(1).click()
    assert asked.says(moves=[(5, 1)]) == "hen"
    asked.arc(1).send_keys(Keys.ESCAPE)
    assert asked.says() == "cat"
    asked.attend("equal")
    assert asked.says(factor=0) != "cat"  # Who sees it first sees it fail.
    assert page.all("#ask_answer.wrong") and "cat" in page.find("ask_verdict").text
    right = page.wait(lambda: page.js("return Ask.score"))
    assert 0 < right < 450 and str(right) in page.find("ask_tells").text  # Who only guesses: 412.
    before = page.js(SEEN)["words"]
    page.find("ask_other").click()
    asked.says(factor=0)
    other = page.js(SEEN)["words"]
    assert other[::2] == before[::2] and other[1::2] != before[1::2]
    asked.attend("learnt")
    assert asked.says() == other[5] and not page.all("#ask_says .wrong")
    asked.word(1).click()
    page.find("ask_other").click()
    asked.says()  # Other pets are looked up as it has learnt.


def test_any_transformer_can_be_asked(page, tmp_path):
    """A file of another size, dropped onto the view; its lines move to where they belong."""
    path = tmp_path / "mine.npz"
    browser.write_random(path, "transformer", {"pairs": 2, "hidden": 24, "layers": 3, "heads": 3})
    page.visit("#ask")
    page.drop(path)
    page.wait(lambda: len(page.all("#ask_words > *")) == 5)
    asked = Asked(page, path)
    asked.says()
    asked.attend("equal")
    asked.says(factor=0)


def test_a_finger_drags_on_a_phone_and_nothing_moves_for_who_wants_stillness(page):
    """390 pixels wide: words below each other, all that one takes hold of on the first screen."""

    def touch(kind, *points):
        fingers = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(points)]
        page.command("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)

    def centre(element):
        box = page.box(element)
        return (box["left"] + box["right"]) / 2, (box["top"] + box["bottom"]) / 2

    page.screen(390)
    page.command("Emulation.setTouchEmulationEnabled", enabled=True)
    page.stand_still()
    page.visit("#ask")
    assert fits_on(page, 390, 844)
    start, end = centre(page.one('#ask [data-arc="5"]')), centre(page.all("#ask_words > *")[1])
    touch("touchStart", start)
    touch("touchMove", (start[0], (start[1] + end[1]) / 2))
    here, there = (start[0], end[1]), (start[0], start[1] + 90)
    touch("touchMove", here)
    touch("touchStart", here, there)  # A second finger changes nothing.
    touch("touchMove", here, (there[0], there[1] + 9))
    touch("touchEnd")
    seen = page.js(SEEN)
    assert seen["answer"] == "hen" and seen["weights"][1] > 0.9 and seen["weights"][5] == 0
    assert np.argmax(seen["widths"]) == 1  # At once.
    assert page.js("return scrollY") == 0
