"""What a user does with the page to play with: votes, slides, moves weight, opens files, sends links."""

import re

import numpy as np
import program
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PLACES = """
    const parts = document.querySelectorAll("input[type=range], #stage table, #cell, #answers");
    return [...parts].map((part) => part.getBoundingClientRect().top + scrollY);
"""
ALLOWED = "most new sequences right|how often they are right"
END_OF_THE_COLOURS = "253, 231, 37"
GIVEAWAYS = r"equal|learnt|fixed|trained|right for|\d{3} of|should be|✓|✗|seed"


def luminance(cell, name="background-color"):
    """Return the luminance of a cell's colour, plus 0.05, as in WCAG 2."""
    channels = re.findall(r"[\d.]+", cell.value_of_css_property(name))[:3]
    channels = np.array(channels, dtype=float) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722) + 0.05


def contrasts(page):
    """Return the contrast of the number in each cell of the heatmaps, a ratio as in WCAG 2."""
    pairs = [
        [luminance(cell, name) for name in ("color", "background-color")]
        for cell in page.all("#stage td.cell")
    ]
    return [max(pair) / min(pair) for pair in pairs]


def lineup(page):
    """Return the weights and the answers of the three models of the vote."""
    cells = [
        [float(cell.get_attribute("data-weight")) for cell in page.all(f"#lineup_{model} td.cell")]
        for model in range(3)
    ]
    answers = [
        [cell.get_attribute("data-answer") for cell in page.all(f"#lineup_{model} td.answer")]
        for model in range(3)
    ]
    return cells, answers


def scores(page):
    """Return how many of 1,000 sequences each model of the vote gets right, as soon as all are told."""
    page.wait(lambda: len(page.all("[data-right]")) == 3 and page.find("shown").text)
    return [int(score.get_attribute("data-right")) for score in page.all("#models [data-right]")]


def test_one_press_votes_and_tells_what_became_of_it(page):
    """Whoever is alone sees no answer before; then answers, scores, and the score of what was chosen."""
    page.visit("#vote")
    assert page.seen()["shown"] == ["vote"]
    pictures = page.all("#models .picture, #pair .picture")
    assert not [one for one in pictures if one.get_property("scrollWidth") > one.get_property("clientWidth")]
    weights, answers = lineup(page)
    assert answers == [[None] * 3] * 3 and len(weights[0]) == 30
    assert np.ptp(weights[0]) == 0 and 0.2 < max(weights[1]) < 0.3 and max(weights[2]) > 0.45
    cells = page.all("#models td.cell")
    seen = [(float(cell.get_attribute("data-weight")), luminance(cell)) for cell in cells]
    assert np.diff([shade for _, shade in sorted(seen)]).min() > -0.01  # One scale, to compare them.
    page.type("aaaa bbbbb", "vote_letters")
    assert page.find("vote_letters").get_attribute("value") == "AAAA␣BBBBB"
    assert lineup(page)[1] == [[None] * 3] * 3 and not page.find("show").is_displayed()
    page.button("Vote for Model 3").click()
    assert lineup(page)[1][1][:2] == ["4", "5"]
    equal, learnt, fixed = scores(page)
    assert equal > 850 and learnt > 900 and fixed < 850
    assert str(fixed) in page.find("reveal_2").text and "chose" in page.find("reveal_2").text
    assert "✓" in page.find("lineup_1").text and "✗" in page.find("lineup_2").text
    page.button("Open Model 3").click()
    seen = page.seen()
    assert seen["shown"] == ["playing"] and seen["letters"] == "AAAA␣BBBBB"
    assert "model=counting_fixed" in page.driver.current_url
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["vote"])
    page.find("again").click()
    assert lineup(page)[1] == [[None] * 3] * 3 and not page.find("shown").text


def test_in_class_votes_are_counted_before_anything_is_given_away(page):
    """Boxes that outlive a reload, answers from the start, a button that shows; a new vote asks first."""
    page.visit("#vote=class")
    page.type("aaaa bbbbb", "vote_letters")
    assert lineup(page)[1][1][:2] == ["4", "5"]
    page.find("votes_0").send_keys(Keys.BACKSPACE, "17")
    for _ in range(2):
        page.find("vote_2").click()
    visible = page.driver.find_element(By.TAG_NAME, "body").text
    assert not re.search(GIVEAWAYS, re.sub(ALLOWED, "", visible)), visible
    page.driver.refresh()
    votes = [page.find(f"votes_{model}").get_attribute("value") for model in range(3)]
    assert votes == ["17", "0", "2"]
    page.driver.set_window_size(1280, 900)
    page.type("a" * 40, "vote_letters")
    for table in (page.find(f"lineup_{model}") for model in range(3)):  # However long the sequence is.
        box = table.find_element(By.XPATH, "..").rect
        for answer in table.find_elements(By.CSS_SELECTOR, "td.answer b"):
            assert box["x"] <= answer.rect["x"] < box["x"] + box["width"]
    page.find("show").click()
    assert len(scores(page)) == 3 and not page.is_on("show")
    page.find("again").click()
    page.find("again_no").click()
    assert page.find("votes_0").get_attribute("value") == "17" and page.find("shown").text
    page.find("again").click()
    page.find("again_yes").click()
    assert page.find("votes_0").get_attribute("value") == "0" and not page.find("shown").text
    page.find("in_class").click()
    assert not page.all("#models input") and lineup(page)[1] == [[None] * 3] * 3


def test_weight_is_moved_by_hand(page):
    """From 'A' to 'A' nothing changes, from 'A' to 'B' the answer falls; a row keeps its sum."""
    usual = page.seen()
    page.cell("attention", 0, 7).click()
    page.button("Move this .22 by hand").click()
    page.cell("attention", 0, 8).click()
    moved = page.seen()
    row = moved["weights"]["attention"][0][0]
    assert (
        row[7] == 0
        and row[8] == pytest.approx(2 * usual["weights"]["attention"][0][0][8])
        and sum(row) == pytest.approx(1)
    )
    np.testing.assert_allclose(moved["chances"], usual["chances"], atol=1e-9)
    page.button("Put all weight back").click()
    assert page.seen()["weights"] == usual["weights"]
    pointer = webdriver.ActionChains(page.driver)
    pointer.drag_and_drop(page.cell("attention", 0, 7), page.cell("attention", 0, 1)).perform()
    dragged = page.seen()
    row = dragged["weights"]["attention"][0]
    assert (
        row[0][7] == 0 and sum(row[0]) == pytest.approx(1) and row[1:] == usual["weights"]["attention"][0][1:]
    )
    assert int(dragged["answers"][0]) < 2 and dragged["answers"][1:] == ["3", "2"]
    pointer.drag_and_drop(page.cell("attention", 0, 8), page.cell("attention", 0, 2)).perform()
    row = page.seen()["weights"]["attention"][0][0]
    assert row[7] == row[8] == 0 and sum(row) == pytest.approx(1)  # What was moved before stays moved.
    page.turn({"attention": 2})
    assert page.seen()["weights"]["attention"][0][0][7] == 0
    page.find("random").click()
    page.find("usual").click()
    page.turn({"attention": 1})
    assert page.seen() == usual
    pointer.drag_and_drop(page.cell("attention", 0, 7), page.cell("attention", 1, 1)).perform()
    assert page.seen() == usual
    page.cell("attention", 0, 8).click()
    keys = (Keys.ENTER, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ENTER)
    for key in keys:
        page.driver.switch_to.active_element.send_keys(key)
    row = page.seen()["weights"]["attention"][0][0]
    assert row[8] == 0 and row[6] > 0.25 and page.seen()["answers"][0] == "1"
    page.driver.switch_to.active_element.send_keys(
        Keys.ENTER, Keys.ESCAPE, Keys.ARROW_LEFT, Keys.ENTER, Keys.ENTER
    )
    assert page.seen()["weights"]["attention"][0][0] == row
    for key in (
        Keys.ENTER,
        Keys.ARROW_DOWN,
        Keys.ARROW_LEFT,
        Keys.ENTER,
    ):  # Another row: its sum would not stay.
        page.driver.switch_to.active_element.send_keys(key)
    assert page.seen()["weights"]["attention"][0][0] == row


def test_the_keyboard_reaches_each_heatmap_and_never_loses_its_place(page):
    """One stop of the Tab key in each heatmap; buttons that are used up or redrawn keep the focus near."""

    def active():
        return page.driver.switch_to.active_element

    page.visit("#model=transformer")
    stops = "return [...document.querySelectorAll('#stage table[role=grid]')].map((table) => \
        table.querySelectorAll('td[tabindex=\"0\"]').length)"
    assert page.driver.execute_script(stops) == [1] * 8
    page.find("letters").send_keys(Keys.TAB)
    tables = []
    while len(tables) < 8:
        if active().tag_name == "td":
            tables.append(active().find_element(By.XPATH, "ancestor::table").get_attribute("id"))
            assert "chosen" in active().get_attribute("class").split()
        webdriver.ActionChains(page.driver).send_keys(Keys.TAB).perform()
        assert active().tag_name != "body"
    assert len(set(tables)) == 8
    page.visit("#model=counting")
    page.cell("attention", 0, 9).send_keys(Keys.ENTER)
    page.type("ABC")
    page.turn({"attention": 3})  # The weight that was taken went with its letters.
    assert page.accuracy() < 100 and "Now choose" not in page.find("cell").text
    page.cell("attention", 0, 0).send_keys(Keys.ENTER)
    page.button("Leave it").send_keys(Keys.ENTER)
    assert active() == page.cell("attention", 0, 0) and "stays" in page.find("announced").text
    page.visit("#row")
    for first in ("vote_0", "first_guess", "model"):  # Links lead from view to view: the focus goes along.
        next(one for one in page.all(".next a") if one.is_displayed()).send_keys(Keys.ENTER)
        assert active() == page.find(first)
    page.visit("#vote")
    webdriver.ActionChains(page.driver).send_keys(Keys.TAB).perform()
    assert active() == page.all("nav a")[0]
    page.find("vote_0").send_keys(Keys.ENTER)
    assert active() == page.find("vote_0") and not page.is_on("vote_0")
    page.wait(lambda: page.find("announced").text.count("of 1,000") == 3)
    page.button("Open Model 1").send_keys(Keys.ENTER)
    assert active() == page.find("model")


def test_the_slider_says_what_it_shows_and_where_it_stops(page):
    """The score follows, colours keep their end, the control is a click away, and nothing jumps."""
    page.find("usual").click()
    before, places = page.accuracy(), page.driver.execute_script(PLACES)
    colours = [cell.value_of_css_property("background-color") for cell in page.all("#stage td.cell")]
    assert not any(END_OF_THE_COLOURS in colour for colour in colours)  # There is room for brighter ones.
    colour = page.cell("attention", 0, 7).value_of_css_property("background-color")
    page.turn({"attention": 2})
    assert "old" in page.find("accuracy").get_attribute("class").split()
    assert page.accuracy() < 100 < 900 < before
    assert page.cell("attention", 0, 7).value_of_css_property("background-color") != colour
    moved = np.array(page.driver.execute_script(PLACES)) - places
    assert abs(moved).max() < 2, moved
    page.turn({"attention": 3})
    assert min(contrasts(page)) >= 4.5
    cells = [
        (float(cell.get_attribute("data-weight")), luminance(cell)) for cell in page.all("#stage td.cell")
    ]
    assert np.diff([shade for _, shade in sorted(cells)]).min() > -0.01
    page.driver.find_element(By.CSS_SELECTOR, ".shows summary").click()
    text = page.find("attention shows").text
    assert "this model depends on" in text and "They do not show that the task needs" in text
    page.button("Train one with equal weights").click()
    assert page.seen()["shown"] == ["train"]
    assert page.driver.switch_to.active_element == page.button("It will")
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["playing"])
    slider = page.find("attention")
    left = webdriver.ActionChains(page.driver).click_and_hold(slider)  # In the middle: 1.5.
    left.move_by_offset(int(slider.size["width"] * 0.155), 2).release().perform()  # A little before 2.
    assert slider.get_attribute("value") == "2"
    slider.send_keys(Keys.ARROW_LEFT)
    assert slider.get_attribute("value") == "1.9"
    page.button("Back to × 1").click()
    assert slider.get_attribute("value") == "1" and page.driver.switch_to.active_element == slider


def test_accuracy_is_that_of_main(trained, page):
    (path,) = trained("2").savepath.glob(
        "*.npz"
    )  # Here the right sequences are fewer than the right output steps.
    page.open(path)
    printed = program.parse(program.output_of(2, "--test", "--savepath", path.parent, "--seed", 1))
    assert abs(page.accuracy() - 10 * printed["sequences"]) < 50  # Four standard deviations.
    page.type("ab bc")
    right = page.accuracy()
    assert "of length 5" in page.find("accuracy").text
    lengths = ("--test", "--savepath", path.parent, "--sample_len", 5)
    assert abs(right - 10 * program.parse(program.output_of(2, *lengths))["sequences"]) < 50
    cleared = """
        const menu = document.getElementById("model");
        menu.value = "counting";
        menu.dispatchEvent(new Event("change"));
        return document.getElementById("accuracy").textContent;
    """
    assert page.driver.execute_script(cleared) == ""  # What was measured is of another model.
