"""Vote, a view of the page to play with: alone, and in class."""

import re

import drawings
import numpy as np
from selenium.webdriver.common.keys import Keys

HIDDEN = [["?"] * 3] * 3
PICTURES = """
    const texts = (query) => [...document.querySelectorAll(query)].map((cell) => cell.textContent);
    return [0, 1, 2].map((model) => ["th[scope=row]", "th[scope=col]", "td.answer"].map((cell) =>
        texts(`#lineup_${model} ${cell}`)));
"""


def answers(page):
    """Return the three answers of each of the three models, "?" where they are hidden."""
    return [[text.split()[0] for text in texts] for *_, texts in page.js(PICTURES)]


def scores(page):
    """Return how many of 1,000 sequences each model gets right, as soon as all are told."""
    page.wait(lambda: page.find("moral").is_displayed())
    (equal, learnt, fixed) = (
        int(told.get_attribute("data-right")) for told in page.all("#models [data-right]")
    )
    assert equal > 850 and learnt > 900 and fixed < 850  # Of ten letters, whatever is typed.
    assert all(
        str(right) in page.find(f"reveal_{model}").text for model, right in enumerate((equal, learnt, fixed))
    )


def are_judged(page, text):
    """Check each answer's verdict, and the letters above the pictures."""
    for counted, above, verdicts in page.js(PICTURES):
        assert counted == ["A", "B", "C"] and above[:-1] == list(text)
        for letter, verdict in zip("ABC", verdicts, strict=True):
            said, *instead = re.findall(r"\d+", verdict)
            right = str(text.count(letter))
            assert instead == ([] if said == right else [right]) and ("✓" in verdict) != bool(instead)


def test_one_press_votes_and_tells_what_became_of_it(page):
    """Whoever is alone sees no answer before; then answers, scores, and the score of what was chosen."""
    page.visit("#vote")
    assert page.seen()["shown"] == ["vote"] and answers(page) == HIDDEN
    weights, colours, _ = page.colours("#models td.cell")
    equal, learnt, fixed = weights.reshape(3, 30)
    assert np.ptp(equal) == 0 and 0.2 < max(learnt) < 0.3 and max(fixed) > 0.45
    shades = drawings.luminance(colours)[np.argsort(weights)]
    assert np.diff(shades).min() > -0.01  # One scale, to compare them.
    page.find("vote_random").click()
    drawn = page.value("vote_letters")
    page.find("vote_0").click()
    are_judged(page, drawn)
    page.find("again").send_keys(Keys.ENTER)  # Under the mouse it would still move.
    page.type("aaaa bbbbb", "vote_letters")
    assert page.value("vote_letters") == "AAAA␣BBBBB"
    assert answers(page) == HIDDEN and not page.find("show").is_displayed()
    page.find("vote_2").click()
    assert answers(page)[1][:2] == ["4", "5"]
    page.find("vote_2").click()  # One vote is enough.
    scores(page)
    assert [page.find(f"vote_{model}").is_displayed() for model in range(3)] == [False, False, True]
    whose = [name.get_property("textContent") for name in page.all("#models .whose")]
    assert re.findall(r"\d", "".join(whose)) == ["1", "2", "3"] and max(whose, key=len) == whose[2]
    are_judged(page, "AAAA␣BBBBB")
    page.one("#reveal_2 button").click()
    seen = page.seen()
    assert seen["shown"] == ["playing"] and seen["letters"] == "AAAA␣BBBBB"
    assert "model=counting_fixed" in page.link
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["vote"])
    page.type("ab", "vote_letters")
    are_judged(page, "AB")
    assert re.findall(r"\d+", page.find("vote_length").text) == ["2", "10"]
    page.type("abx", "vote_letters")
    assert "X" in page.seen()["message"] and page.find("vote_length").text
    assert float(page.find("models").value_of_css_property("opacity")) < 0.6
    page.find("vote_usual").click()
    are_judged(page, "␣BC␣CBBAA␣")
    assert page.seen()["message"] == page.find("vote_length").text == ""
    page.find("again").click()
    assert answers(page) == HIDDEN and not page.find("moral").is_displayed()
    for ending, model in (("again", "signal"), ("in_class", "counting")):  # Before the scores are told.
        page.js("for (const id of arguments) document.getElementById(id).click()", "vote_0", ending)
        page.go("model")
        page.choose(model)
        page.accuracy()  # In that time the scores of the vote would have come, too.
        page.go("vote")
        assert all(page.is_on(f"vote_{model}") for model in range(3)) and not page.all("#models [data-right]")
        assert not page.find("moral").is_displayed()


def test_in_class_votes_are_counted_before_anything_is_given_away(page):
    """Boxes that outlive a reload, answers from the start, a button that shows; a new vote asks first."""
    page.visit("#vote=class")
    page.type("aaaa bbbbb", "vote_letters")
    assert answers(page)[1][:2] == ["4", "5"]
    for _ in range(2):
        page.find("vote_2").click()
    page.driver.refresh()
    page.find("votes_0").send_keys(Keys.BACKSPACE, "17")
    told = {re.sub(r"[\d.]", "", box.text) for box in page.all("#models > div")}
    assert len(told) == 1 and not re.search("[✓✗]", *told)  # But for numbers, all three look the same.
    assert not page.find("moral").is_displayed()
    page.driver.refresh()
    assert [page.value(f"votes_{model}") for model in range(3)] == ["17", "0", "2"]
    page.type("a" * 40, "vote_letters")
    for picture in page.all("#models .picture"):  # However long the sequence is.
        box = page.box(picture)
        for answer in picture.find_elements("css selector", "td.answer b"):
            assert box["left"] <= page.box(answer)["left"] < box["right"]
    page.find("show").click()
    scores(page)
    assert not page.is_on("show")
    page.find("again").click()
    page.find("again_no").click()
    assert page.value("votes_0") == "17" and page.find("moral").is_displayed()
    page.find("again").click()
    page.find("again_yes").click()
    page.visit(f"#{page.link}")
    assert page.value("votes_0") == "0" and not page.find("moral").is_displayed()
    page.find("in_class").click()
    assert page.link == "vote"
    assert not page.all("#models input") and answers(page) == HIDDEN
