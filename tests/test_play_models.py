"""Models, a view of the page to play with: letters and words, the slider, weight moved by hand, keys."""

import re
import time

import drawings
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# The colours of the scale from left to right, and where each mark of it and of the slider stands, in percent.
SCALE = """
    const all = (query) => [...document.querySelectorAll(query)];
    const [colours] = all("#first .colours").map((one) => getComputedStyle(one).backgroundImage);
    const parts = (colour) => colour.match(/\\d+/g).map((part) => part / 255);
    return [colours.match(/rgb\\(.*?\\)/g).map(parts),
        ...["ends small", "marks span"].map((marks) => all(`#first .${marks}`)
            .map((mark) => [parseFloat(mark.textContent), parseFloat(mark.style.left)]))];
"""
TEXTS = "return [...document.querySelectorAll('#stage td.cell')].map((cell) => cell.textContent)"
DRAWN = """
    const { model } = library[arguments[0]], roll = dice(5);
    return Array.from({ length: 99 }, () => [model.length, model.draw(roll)]);
"""
CHOSEN = "const { id, head, row, column } = Models.chosen; return [id, head, row, column]"
STOPS = """
    const tables = [...document.querySelectorAll("#stage table[role=grid]")];
    return tables.map((table) => table.querySelectorAll("td[tabindex='0']").length);
"""
PLACES = """
    const parts = document.querySelectorAll("input[type=range], #stage table, #cell, #answers");
    return [...parts].map((part) => part.getBoundingClientRect().top + scrollY);
"""


def weights(page, row=0):
    """Return a row of the weights of the attention in sight."""
    return page.seen()["weights"]["attention"][0][row]


def drag(page, start, end):
    """Drag one cell to another; each is a row and a column."""
    cells = [page.cell("attention", *place) for place in (start, end)]
    webdriver.ActionChains(page.driver, duration=0).drag_and_drop(*cells).perform()


def swipe(page, element, right, down, done):
    """Draw a finger so far, from the middle of an element, and wait until that has done something."""
    box, start = page.box(element), time.time()
    x, y = (box["left"] + box["right"]) / 2, (box["top"] + box["bottom"]) / 2

    def touch(kind, seconds, *fingers):
        when = start + seconds
        page.command("Input.dispatchTouchEvent", type=kind, touchPoints=fingers, timestamp=when)

    touch("touchStart", 0, {"x": x, "y": y})
    for part in range(1, 6):
        touch("touchMove", part / 60, {"x": x + right * part / 5, "y": y + down * part / 5})
    touch("touchEnd", 1)  # It has rested, so that the page does not slide on.
    page.wait(done, 5)


def test_letters_and_words(page):
    """Those that do not fit are refused in one line, and what was shown stays, but for its colours."""
    page.visit("#model=counting")
    page.type("AB")
    before = page.seen()
    for keys, named in (("X", "X"), (Keys.HOME + "?", "?"), (Keys.HOME + "\u00a0", "U+00A0")):
        page.find("letters").send_keys(keys)
        after = page.seen()
        assert named in after["message"] and after["weights"] == before["weights"]
        assert float(page.find("stage").value_of_css_property("opacity")) < 0.6
    page.type("")
    assert page.seen()["message"]
    page.type("B")
    assert page.seen()["message"] == "" and page.seen()["weights"]["attention"] == [[[1], [1], [1]]]
    assert page.find("stage").value_of_css_property("opacity") == "1"
    page.choose("signal")
    assert "B:" in page.seen()["verdicts"][0]
    assert float(page.one("td.chosen").get_attribute("data-weight")) == max(weights(page))
    assert len(weights(page)) == 11
    for text, named in (("A" * 12, "11"), ("A B", "␣")):
        page.type(text)
        assert named in page.seen()["message"]
    page.choose("transformer")
    page.type("Ben\u200b dog ")
    assert "U+200B" in page.seen()["message"]
    page.type("anna DOG ben cat ")
    assert page.seen()["letters"] == "anna DOG ben cat "
    assert not re.search("[✓✗]", page.seen()["verdicts"][-1])  # Nobody can know.
    for keys, named in (("ann", ""), ("x ", "annx"), (Keys.BACKSPACE * 2 + "a", "")):
        page.find("letters").send_keys(keys)
        message = page.seen()["message"]
        assert named in message and bool(message) == bool(named)  # "ann" is still being typed.
    assert "Anna" in page.seen()["verdicts"][-1]
    page.type("Ben cat " * 8)
    assert "15" in page.seen()["message"]  # More words than there are positions.
    page.find("random").click()
    assert len(page.value("letters").split()) == 9 and re.search("[✓✗]", page.seen()["verdicts"][-1])


def test_random_letters_and_words_are_those_of_the_programs(page):
    """Never the same ones, as long as in the training, each sign about as often; no name has two pets."""
    page.visit("#model=counting")
    drawn = set()
    for _ in range(5):
        page.find("random").click()
        drawn.add(page.value("letters"))
    assert len(drawn) == 5
    for name, known in (("counting", " ABC"), ("signal", "ABC")):
        lengths, texts = zip(*page.js(DRAWN, name), strict=True)
        signs, counts = np.unique(texts, return_counts=True)
        assert "".join(signs) == known and set(lengths) == set(map(len, texts))
        np.testing.assert_allclose(counts, np.size(texts) / len(known), rtol=0.25)
    texts = np.array([text for _, text in page.js(DRAWN, "transformer")])
    names, pets, asked = texts[:, :8:2], texts[:, 1:8:2], texts[:, 8:]
    assert all(len(set(row)) == 4 for row in names) and set((names == asked).sum(axis=1)) == {1}
    for words, choices in ((names, 8), (pets, 8), (np.argmax(names == asked, axis=1), 4)):
        _, counts = np.unique(words, return_counts=True)
        np.testing.assert_allclose(counts, [words.size / choices] * choices, rtol=0.5)


def test_what_is_typed_can_be_undone_and_replaced_by_an_address(page):
    """The page writes a blank as ␣ and small letters as capitals, and Ctrl+Z takes them back."""
    page.visit("#model=counting")
    usual = page.value("letters")
    page.find("letters").send_keys(Keys.END, "a b")
    assert page.value("letters") == usual + "A␣B"
    for _ in range(3):
        page.find("letters").send_keys(Keys.CONTROL, "z", Keys.NULL)
    assert page.value("letters") == usual and page.seen()["answers"] == ["2", "3", "2"]
    page.command("Input.imeSetComposition", text="ca", selectionStart=2, selectionEnd=2)
    assert page.value("letters") == usual + "ca"  # A phone's keyboard is still completing it.
    page.command("Input.insertText", text="ca b")
    assert page.value("letters") == usual + "CA␣B" and len(weights(page)) == 14
    page.js("location.hash = '#model=counting&letters=CC&attention=0'")
    page.wait(lambda: page.value("letters") == "CC")
    np.testing.assert_allclose(page.seen()["weights"]["attention"], 0.5)


def test_letters_that_fit_stay_and_the_chosen_cell_stays_with_its_question(page):
    """Another name is asked for: the cell is the brightest one of the last row, as before."""
    page.visit("#model=counting")
    page.type("AAAAB")
    page.choose("difference")
    assert page.value("letters") == "ABB␣CBACBC"
    page.type("AAAAABBBCC")
    page.choose("counting")
    assert page.value("letters") == "AAAAABBBCC"
    page.cell("attention", 1, 5).click()
    page.type("CAB")
    assert page.js(CHOSEN) == ["attention", 0, 1, 2]  # The same row, and its brightest cell.
    assert page.find("cell").is_displayed()
    page.choose("transformer")
    assert not page.find("cell").is_displayed()
    layer, head, row, column = page.js(CHOSEN)
    assert (row, column) == (8, 5)
    page.find("letters").send_keys(Keys.BACKSPACE * 3, "Cleo")
    assert page.js(CHOSEN) == [layer, head, 8, 7]


def test_weight_is_moved_by_hand(page):
    """From 'A' to 'A' nothing changes, from 'A' to 'B' the answer falls; a row keeps its sum."""
    page.visit("#model=counting")
    usual = page.seen()
    before = weights(page)
    page.cell("attention", 0, 7).click()
    assert f"{before[7]:.2f} "[1:] in page.one("#cell_move button").text
    page.one("#cell_move button").click()
    page.cell("attention", 0, 8).click()
    row = weights(page)
    assert row[7] == 0 and row[8] == pytest.approx(2 * before[8]) and sum(row) == pytest.approx(1)
    np.testing.assert_allclose(page.seen()["chances"], usual["chances"], atol=1e-9)
    page.find("put_back").click()
    assert page.seen() == usual
    drag(page, (0, 7), (0, 1))
    dragged = page.seen()
    assert weights(page)[7] == 0 and sum(weights(page)) == pytest.approx(1)
    assert dragged["weights"]["attention"][0][1:] == usual["weights"]["attention"][0][1:]
    assert int(dragged["answers"][0]) < 2 and dragged["answers"][1:] == ["3", "2"]
    webdriver.ActionChains(page.driver).move_to_element(page.cell("attention", 0, 4)).perform()
    assert not page.all("td.target")  # Nothing is being dragged any more.
    drag(page, (0, 8), (0, 2))
    row = weights(page)
    assert row[7] == row[8] == 0 and sum(row) == pytest.approx(1)  # What was moved before stays moved.
    page.turn({"attention": 2})
    assert weights(page)[7] == 0
    page.find("random").click()
    page.find("usual").click()
    assert page.value("attention") == "2" and not page.find("put_back").is_displayed()
    page.turn({"attention": 1})
    held = webdriver.ActionChains(page.driver, duration=0).click_and_hold(page.cell("attention", 0, 7))
    for row, targets in ((0, 1), (1, 0)):  # To another row: its sum would not stay.
        held.move_to_element(page.cell("attention", row, 1)).perform()
        assert len(page.all("td.target")) == targets
    held.release().perform()
    assert page.seen() == usual
    page.cell("attention", 0, 8).click()
    page.press(Keys.ENTER, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.SPACE)
    row = weights(page)
    assert row[8] == 0 and row[6] > 0.25 and page.seen()["answers"][0] == "1"
    page.press(Keys.ENTER, Keys.ESCAPE, Keys.ARROW_LEFT, Keys.ENTER, Keys.ENTER)
    page.press(Keys.ENTER, Keys.ARROW_DOWN, Keys.ARROW_LEFT, Keys.ENTER)
    assert weights(page) == row
    page.turn({"attention": 2})
    page.go("vote")
    page.go("model")
    assert weights(page)[8] == 0 and page.value("attention") == "2" and page.find("put_back").is_displayed()
    page.choose("transformer")
    words = page.seen()
    early, late = (page.cell("block_1/attention", 3, column) for column in (1, 6))
    webdriver.ActionChains(page.driver, duration=0).drag_and_drop(early, late).perform()
    late.send_keys(Keys.ENTER)
    assert page.seen() == words and not page.all(".taken")  # To a later word there is no weight to give.
    page.choose("counting")
    assert page.seen() == usual


def test_the_keyboard_reaches_each_heatmap_and_never_loses_its_place(page):
    """One stop of the Tab key in each heatmap; buttons that are used up or redrawn keep the focus near."""
    page.visit("#model=counting")
    page.choose("transformer")
    assert page.js(STOPS) == [1] * 8
    texts = np.array(page.js(TEXTS)).reshape(8, 9, 9)
    assert ((texts == "") == np.triu(np.ones((9, 9)), 1)).all()  # What comes later has no weight.
    page.find("letters").send_keys(Keys.TAB)
    tables, reached = [], []
    while len(tables) < 8:
        assert page.active not in reached  # The Tab key goes on, never back, and one sees where it is.
        assert page.active.value_of_css_property("outline-style") != "none"
        reached.append(page.active)
        if page.active.tag_name == "td":
            tables.append(page.active.find_element(By.XPATH, "ancestor::table").get_attribute("id"))
            assert "chosen" in page.active.get_attribute("class").split()
        webdriver.ActionChains(page.driver).send_keys(Keys.TAB).perform()
        assert page.active.tag_name != "body"
    assert len(set(tables)) == 8
    page.choose("counting")
    page.cell("attention", 0, 9).send_keys(Keys.ENTER)
    page.type("ABC")
    page.turn({"attention": 3})
    assert page.accuracy() < 100
    assert not page.all(".taken")  # The weight that was taken went with its letters.
    page.cell("attention", 0, 0).send_keys(Keys.ENTER)
    assert page.all(".taken")
    taken = page.find("announced").text
    page.one("#cell_move button").send_keys(Keys.ENTER)
    assert page.active == page.cell("attention", 0, 0) and not page.all(".taken")
    assert page.find("announced").text not in ("", taken)
    page.press(Keys.ENTER, Keys.ARROW_RIGHT, Keys.ENTER)
    for button in ("put_back", "cell_close"):
        page.find(button).send_keys(Keys.ENTER)
        assert page.active == page.cell("attention", 0, 1) and not page.find(button).is_displayed()


def test_the_slider_says_what_it_shows_and_where_it_stops(page):
    """The score follows, colours keep their end, the control is a click away, and nothing jumps."""
    page.visit("#model=counting")
    before, places = page.accuracy(), page.js(PLACES)
    usual, colours, _ = page.colours("#stage td.cell")
    page.turn({"attention": 2})
    assert "old" in page.find("accuracy").get_attribute("class").split()
    assert page.accuracy() < 100 < 900 < before
    assert abs(np.array(page.js(PLACES)) - places).max() < 2
    page.turn({"attention": 3})
    shown, *both = page.colours("#stage td.cell")
    under, number = (drawings.luminance(each) + 0.05 for each in both)
    assert np.maximum(under / number, number / under).min() >= 4.5
    assert page.js(TEXTS) == [f"{weight:.2f}".removeprefix("0") for weight in shown]
    every = np.argsort([*usual, *shown])  # One scale, to compare them.
    assert np.diff(drawings.luminance([*colours, *both[0]])[every]).min() > -0.01
    assert drawings.luminance(colours).max() < under.max() - 0.1  # There was room for brighter ones.
    colours, marks, turns = page.js(SCALE)
    np.testing.assert_allclose(turns, [(factor, 100 / 3 * factor) for factor in range(4)], atol=0.01)
    for weight, place in marks[2:]:  # At a mark, the scale has the colour of its weight.
        page.turn({"attention": 0})
        page.type("ABCAB"[: round(1 / weight)])
        at = [np.interp(place, np.linspace(0, 100, len(colours)), part) for part in np.transpose(colours)]
        np.testing.assert_allclose(page.colours("#stage td.cell")[1][0], at, atol=0.02)
    page.find("usual").click()
    page.one(".shows summary").click()
    page.one(".shows button").click()
    assert page.seen()["shown"] == ["train"] and page.active == page.find("first_guess")
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["playing"])
    slider = page.find("attention")
    left = webdriver.ActionChains(page.driver, duration=0).click_and_hold(slider)  # In the middle: 1.5.
    left.move_by_offset(int(slider.size["width"] * 0.155), 2).release().perform()  # A little before 2.
    assert page.value("attention") == "2"
    slider.send_keys(Keys.ARROW_LEFT)
    assert page.value("attention") == page.find("attention factor").text == "1.9"
    page.find("attention back").click()
    assert page.value("attention") == "1" and page.active == slider
    assert not page.find("attention back").is_displayed()


def test_a_page_from_right_to_left_keeps_its_heatmaps(page):
    """As a browser turns it that translates the page."""
    page.visit("#model=counting")
    page.js("document.documentElement.dir = 'rtl'")
    page.cell("attention", 0, 0).send_keys(Keys.ARROW_DOWN)
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_UP)
    assert page.js(CHOSEN) == ["attention", 0, 0, 1] and page.find("cell").is_displayed()
    assert page.active.rect["x"] > page.cell("attention", 0, 0).rect["x"]


def test_a_finger_moves_weight_along_a_row_and_scrolls_elsewhere(page):
    """The page up and down, wherever it begins; to the side a picture that is wider than its place."""
    page.visit("#model=counting")
    page.screen(390, 400)
    page.turn({"attention": 2})
    page.command("Emulation.setTouchEmulationEnabled", enabled=True)
    place = "window.scrollTo(0, 0); arguments[0].scrollIntoView({ block: 'center' }); return scrollY"
    cell, slider = page.cell("attention", 0, 7), page.find("attention")
    for part in (cell, slider):
        before, top = page.seen(), page.js(place, part)
        swipe(page, part, 0, -150, lambda top=top: page.js("return scrollY") > top + 50)
        assert page.seen() == before and not page.find("cell").is_displayed()
    page.js(place, cell)
    left = page.box(page.cell("attention", 0, 1))["left"] - page.box(cell)["left"]
    swipe(page, cell, left, 0, lambda: weights(page)[7] == 0)
    assert weights(page)[1] > before["weights"]["attention"][0][0][1]
    page.go("vote")
    page.type("ABC" * 13, "vote_letters")
    picture = page.one("#models .picture")
    page.js(place, picture)
    swipe(page, picture, -60, 0, lambda: page.js("return arguments[0].scrollLeft", picture) > 20)


def test_on_a_phone_the_row_of_a_tapped_cell_is_seen_at_once(page):
    """It comes from below, the cell stays in sight above it, and it goes again."""
    page.visit("#model=counting")
    page.screen(390)
    for model, *place in (("counting", "attention", 2, 2), ("transformer", "block_2/attention", 8, 3)):
        page.choose(model)
        sheet, cell = page.find("cell"), page.cell(*place)
        assert not sheet.is_displayed()
        page.js("arguments[0].scrollIntoView({ block: 'end' }); arguments[0].click()", cell)
        page.wait(lambda sheet=sheet: page.box(sheet)["bottom"] == 844, 5)
        assert 0 < page.box(cell)["top"] and page.box(cell)["bottom"] <= page.box(sheet)["top"] < 600
        page.find("cell_close").click()
        assert not sheet.is_displayed()
    layer = page.one("[data-attention='block_2/attention']")
    button = layer.find_elements(By.CSS_SELECTOR, ".which button")[2]
    button.click()
    (table,) = (one for one in layer.find_elements(By.TAG_NAME, "table") if one.is_displayed())
    assert table.get_attribute("id") == f"block_2/attention {int(button.text) - 1}"
    assert layer.find_elements(By.CSS_SELECTOR, "[aria-pressed=true]") == [button]
    page.screen(1280, mobile=False)  # There it stands beside all heatmaps.
    page.cell("block_1/attention", 8, 3, 3).click()
    page.js("arguments[0].scrollIntoView({ block: 'end' })", page.cell("block_1/attention", 8, 3, 3))
    assert page.js("return scrollY") > 100 and 0 <= page.box(sheet)["top"] < page.box(sheet)["bottom"] <= 844


def test_on_a_phone_one_sees_what_a_moved_weight_does(page):
    """Two taps and a press, from 'A' to 'B': then the sheet is gone, and the answers are in sight."""
    page.visit("#model=counting")
    page.screen(390, 667)
    page.cell("attention", 0, 7).click()
    page.one("#cell_move button").click()
    page.cell("attention", 0, 1).click()
    assert not page.find("cell").is_displayed() and page.seen()["answers"] == ["1", "3", "2"]
    answers = page.box(page.find("answers"))
    assert 0 <= answers["top"] < answers["bottom"] <= 667
