"""Ask, the first view of the page to play with: what it draws and says is what the formula gives."""

import re

import browser
import formula
import numpy as np
import program
import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

SEEN = """
    const all = (query) => [...document.querySelectorAll(query)];
    const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    const words = all("#ask_words > *");
    const nearest = (point) => {
        const axis = all("#ask_stage.tall").length, boxes = words.map((word) => word.getBoundingClientRect());
        const away = boxes.map((box) => middle(box).map((at, side) => Math.abs(at - point[side])));
        const nearest = Math.min(...away.map((each) => each[axis]));
        return away.findIndex((each) => each[axis] === nearest && each[1 - axis] < 50);
    };
    const endOf = (line, isStart) => {
        const length = isStart === true ? 0 : line.getTotalLength();
        const end = line.getPointAtLength(length).matrixTransform(line.getScreenCTM());
        return nearest([end.x, end.y]);
    };
    const goalOf = ({ effect }) => {
        const [from, to] = effect.getKeyframes().map((frame) => parseFloat(frame.strokeDashoffset));
        return endOf(effect.target, from < to);
    };
    const rows = all("#ask_chances [data-chance]");
    return {
        words: words.map((word) => word.firstChild.textContent),
        weights: all("#ask [data-arc]").map((arc) => Number(arc.dataset.weight)),
        widths: all("#ask_arcs .arc").map((arc) => Number(arc.getAttribute("stroke-width"))),
        ends: all("#ask_arcs .arc").map(endOf),
        goals: document.getAnimations().filter((one) => one.animationName === "flow").map(goalOf),
        knobs: all("#ask [data-arc]:not([hidden])").map((knob) =>
            nearest(middle(knob.getBoundingClientRect()))),
        stops: all("#ask [data-arc][tabindex='0']").map((arc) => Number(arc.dataset.arc)),
        values: all("#ask [data-arc]").map((arc) =>
            arc.getAttribute("aria-valuetext").match(/^\\w+|[\\d.]+$/g).join(" ")),
        hints: all(".knob small").filter((hint) => hint.checkVisibility()).length,
        labels: all("#ask_words .found small").filter((label) => label.checkVisibility())
            .map((label) => label.textContent.match(/\\w+/g)[1]),
        shares: all("#ask_arcs text").map((text) => text.textContent),
        lights: ["looked", "asking"].map((name) => words.findIndex((word) => word.classList.contains(name))),
        chances: rows.map((row) => [row.querySelector("span").textContent, Number(row.dataset.chance),
            parseInt(row.querySelector("small").textContent),
            parseFloat(row.querySelector("i").style.width), row.style.visibility !== "hidden"]),
        most: all("#ask_chances .most span").map((name) => name.textContent),
        answer: document.querySelector("#ask [data-answer]").dataset.answer,
        told: document.getElementById("ask_tells").textContent.match(/[A-Za-z]+|[\\d.,]*\\d/g),
        sure: parseInt(document.getElementById("ask_sure").textContent),
        wrong: document.querySelector("#ask_answer.wrong") !== null,
        asked: all("#ask_names [aria-pressed=true]").map((name) => name.textContent),
        attends: all("#ask [data-attend][aria-pressed=true]").map((button) => button.dataset.attend),
        seen: ["ask_on", "ask_looks", "ask_strange"].map((id) => document.getElementById(id)).map((part) =>
            part.checkVisibility({ visibilityProperty: true }) && part.textContent !== ""),
    };
"""

HEADS = """
    const all = (part, query) => [...part.querySelectorAll(query)];
    const widths = (figure) => all(figure, "path").map((line) => Number(line.getAttribute("stroke-width")));
    return all(document, "#ask_heads > div").map((layer) => all(layer, "figure").map((figure) =>
        [widths(figure), figure.className === "above"]));
"""
CANCEL = """
    const pointerId = Ask.dragged.pointer;
    document.getElementById("ask_stage").dispatchEvent(new PointerEvent("pointercancel", { pointerId }));
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
        """Check all that is shown of the text that is shown, and return the answer."""
        seen = self.page.js(SEEN)
        text, last = seen["words"], len(seen["words"]) - 1
        reference = Moved(self.arrays, {self.last: factor}, (self.last, self.head), moves)
        chances = reference.transformer(self.settings, self.places(text))[-1]
        weights, answer = reference.weights[self.last][self.head][-1], self.words[chances.argmax()]
        np.testing.assert_allclose(seen["weights"], weights, atol=1e-5)
        looked = int(np.argmax(weights))
        values = [f"{text[place]} {weight:.2f}".replace(" 0", " ") for place, weight in enumerate(weights)]
        assert seen["stops"] == [looked] and seen["values"] == values  # Told to who does not see it.
        lit = looked if weights[looked] > 0.3 else -1
        assert seen["lights"] == [lit, last]
        assert seen["answer"] == answer and seen["most"] == [answer]
        assert seen["sure"] == pytest.approx(100 * chances.max(), abs=0.5001)
        for word, chance, percent, width, visible in seen["chances"]:
            assert chance == pytest.approx(chances[self.words.index(word)], abs=1e-5)
            assert visible == (word in text[1::2] or chance >= 0.01)
            assert abs(percent - 100 * chance) < 0.501 and abs(width - 100 * chance) < 0.01
        by_chance = [self.words[place] for place in np.argsort(-chances)]
        other = next(word for word in by_chance if word not in text[1::2])
        assert sorted(word for word, *_ in seen["chances"]) == sorted({*text[1::2], other})
        assert seen["asked"] == [text[-1]] == [self.page.find("ask_title").text]
        strange = chances[self.words.index(other)] >= 0.01
        assert seen["seen"] == [bool(moves), factor == 1 and not moves, strange]
        assert seen["attends"] == ([] if moves else ["learnt" if factor else "equal"])
        right = text[text.index(text[-1]) + 1]
        assert seen["wrong"] == (answer != right)
        assert (right in self.page.find("ask_verdict").text) == (answer != right and not moves)
        keyed = lit if lit > 0 and lit % 2 else text.index(text[-1]) + 1
        labels = text[keyed - 1 : keyed + (keyed == lit)]  # Whose key it is, and its value.
        assert seen["labels"] == labels or self.settings["layers"] > 2  # That one is not trained.
        given = weights[moves[-1][1]] if moves else 1
        told = [f"{share:.2f}"[1:] for share in (given, 1 - given) if given < 0.5]
        assert factor == 0 and not moves or [word for word in seen["told"] if word[-1].isdigit()] == told
        guess = self.page.find("ask_tells").text
        assert factor or moves or ("!" in guess) == (answer == right)
        about = {text[moves[-1][1]], answer} if moves else {answer} if factor == 0 else {text[looked]}
        assert {word for word in seen["told"] if word in self.words} == about
        self.page.wait(self.are_thick, 5)
        return answer

    def are_thick(self):
        """Return whether lines, numbers and knobs are where they belong, as after a moment they are."""
        seen = self.page.js(SEEN)
        widths, weights = np.array(seen["widths"]), np.array(seen["weights"])
        shares = [f"{weight:.2f}".removeprefix("0") for weight in weights if weight > 0.045]
        knobs = np.flatnonzero(weights > 0.02).tolist()
        in_place = seen["ends"] == [*range(len(weights))] and seen["knobs"] == knobs
        thick = widths.any() and np.allclose(widths / widths.sum(), weights, atol=1e-4)
        return thick and in_place and seen["shares"] == shares


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
    page.visit()
    asked = Asked(page, browser.checkpoint("transformer"))
    assert page.seen()["shown"] == ["ask"] and fits_on(page, 1280, 657)
    for name, pet in {"Cleo": "owl", "Anna": "dog", "Dan": "hen", "Ben": "cat"}.items():
        page.one(f'#ask [data-ask="{name}"]').click()
        seen = page.js(SEEN)
        assert asked.says() == pet and seen["words"][-1] == name and max(seen["weights"]) > 0.9
        assert {name, pet} <= {*re.findall(r"\w+", page.find("announced").text)}
        assert len(page.all("#ask_arcs .first")) == 4 and len(page.all("#ask_arcs .first.mine")) == 1
    drag = webdriver.ActionChains(page.driver, duration=0).click_and_hold(asked.arc(5))
    drag.move_to_element(asked.word(6)).move_to_element(asked.word(7)).perform()
    assert asked.says(moves=[(5, 7)]) == "owl"  # It says so before one lets go.
    drag.release().perform()
    assert asked.says(moves=[(5, 7)]) == "owl" and page.js(SEEN)["hints"] == 0
    page.press(Keys.SHIFT + Keys.ARROW_UP)
    assert asked.says(moves=[(5, 6)]) not in ("cat", "owl")  # Cleo has no pet to give.
    assert page.js(SEEN)["hints"] == 1  # To who uses the keyboard.
    page.press(Keys.ARROW_LEFT)
    assert asked.says() == "cat"
    page.press(Keys.ARROW_LEFT)
    assert asked.says(moves=[(5, 3)]) == "dog"  # From pet to pet.
    page.press(Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert asked.says() == "cat"
    asked.word(1).click()
    assert asked.says(moves=[(5, 1)]) == "hen"
    line = page.all("#ask_grabs path")[1]  # It need not be held at its knob.
    drag = webdriver.ActionChains(page.driver, duration=0)
    drag.move_to_element_with_offset(line, 0, 9 - line.rect["height"] // 2).click_and_hold()
    drag.move_to_element(asked.word(3)).perform()
    assert page.js(SEEN)["answer"] == "dog"
    page.js(CANCEL)
    asked.says(moves=[(5, 1)])
    webdriver.ActionChains(page.driver).release().perform()
    asked.says(moves=[(5, 1)])
    asked.arc(1).send_keys(Keys.ESCAPE)
    assert asked.says() == "cat" and page.active == asked.arc(5)
    at_once = "arguments[0].click(); return document.getElementById('ask_tells').textContent"
    assert not re.search(r"\d+ of", page.js(at_once, page.one("#ask [data-attend=equal]")))
    assert asked.says(factor=0) != "cat"  # Who sees it first sees it fail.
    right = page.wait(lambda: page.js("return Ask.score"))
    assert 0 < right < 450 and str(right) in page.find("ask_tells").text  # Who only guesses: 412.
    before, drawn = page.js(SEEN)["words"], set()
    for _ in range(5):
        page.find("ask_other").click()
        other = page.js(SEEN)["words"]
        assert other[::2] == before[::2] and len({*other[1::2]}) == 4
        drawn.add(str(other))
    assert len(drawn) > 1
    asked.says(factor=0)
    asked.arc(5).send_keys(Keys.END)
    asked.arc(3).send_keys(Keys.ARROW_UP)
    page.go("vote")
    page.go("ask")
    asked.says(factor=0, moves=[(5, 7), (3, 1)])  # What was done is still there, and the last of it is told.
    page.visit(f"#{page.link}")
    asked.says(factor=0, moves=[(5, 7), (3, 1)])
    assert page.js(SEEN)["words"] == other
    asked.attend("learnt")
    assert asked.says() == other[5]
    asked.attend("equal")
    asked.word(1).click()
    asked.says(moves=[(5, 1)])  # From where it has learnt to look.
    page.find("ask_other").click()
    asked.says()  # Other pets are looked up as it has learnt.
    page.one("#ask_names [data-ask=Anna]").click()
    page.screen(390, mobile=False)
    page.wait(lambda: page.all("#ask_stage.tall"))
    asked.says()


def test_all_heads_are_shown_on_request(page):
    """As the formula has them, and which ones are drawn large; then the whole model, with the same text."""
    page.visit("#ask&letters=Dan+owl+Anna+dog+Ben+dog+Cleo+hen+Anna")  # Two dogs are one row of chances.
    asked = Asked(page, browser.checkpoint("transformer"))
    assert asked.says() == "dog"
    page.one("#ask_more summary").click()
    page.wait(lambda: page.all("#ask_heads figure"))
    asked.word(7).click()
    page.one("#ask_names [data-ask=Cleo]").click()
    reference = formula.Model(asked.arrays)
    text = page.js(SEEN)["words"]
    reference.transformer(asked.settings, asked.places(text))
    askers = {"block_1/attention": (1, 3, 5, 7), asked.last: (8,)}
    for heads, (name, rows) in zip(page.js(HEADS), askers.items(), strict=True):
        owner = [sum(head[pet, pet - 1] for pet in (1, 3, 5, 7)) for head in reference.weights[name]]
        drawn_large = asked.head if name == asked.last else np.argmax(owner)
        assert [above for _, above in heads] == [head == drawn_large for head in range(4)]
        for (widths, _), weights in zip(heads, reference.weights[name], strict=True):
            others = [weights[row, place] for row in rows for place in range(row)]
            np.testing.assert_allclose(widths, 7 * np.array([one for one in others if one > 0.01]), atol=1e-3)
    page.screen(390)
    assert min(page.box(figure)["width"] for figure in page.all("#ask_heads figure")) > 120
    page.one("#ask_heads button").click()
    seen = page.seen()
    assert seen["shown"] == ["playing"] and seen["letters"].split() == text and seen["answers"] == ["hen"]
    first = page.one(f"[data-attention='{asked.last}'] table").get_attribute("id")
    assert first == f"{asked.last} {asked.head}"  # As in the view from which one came.


def test_any_transformer_can_be_asked(page, tmp_path):
    """A file of another size, dropped onto the view; its lines move to where they belong."""
    path = tmp_path / "mine.npz"
    browser.write_random(path, "transformer", {"pairs": 2, "hidden": 24, "layers": 3, "heads": 3})
    page.move()
    page.visit("#ask")
    page.js("Ask.score = 999")  # As if the model of the page had been measured.
    page.drop(path)
    page.wait(lambda: len(page.all("#ask_words > *")) == 5)
    asked = Asked(page, path)
    asked.says()
    assert set(page.wait(lambda: page.js(SEEN)["goals"])) == {4}  # Values flow to the word that asks.
    (looked,) = page.js(SEEN)["stops"]
    drag = webdriver.ActionChains(page.driver, duration=0).click_and_hold(asked.arc(looked))
    drag.move_to_element_with_offset(asked.word(1), 0, -60).release().perform()
    asked.says(moves=[(looked, 1)])  # From the pointer, the line goes on to the word.
    asked.attend("equal")
    asked.says(factor=0)
    assert page.js("return Ask.score") != 999
    page.one("#ask_more summary").click()
    page.wait(lambda: page.all("#ask_heads button"))[0].click()
    assert "own_" in page.link and len(page.seen()["letters"].split()) == 5


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
