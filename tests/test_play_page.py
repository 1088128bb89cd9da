"""The page to play with as a whole: addresses, the focus, a phone, paper, in another page, a saved copy."""

import itertools
import re

import browser
import drawings
import numpy as np
from matplotlib import colors
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

TOO_WIDE = """
    const parts = document.querySelectorAll("html, .box");
    return Math.max(...[...parts].map((part) => part.scrollWidth - part.clientWidth));
"""
# How wide the card is, after an event, if all that is drawn keeps inside it.
INSIDE = """
    window.dispatchEvent(new Event(arguments[0]));
    const card = document.querySelector("main > :not([hidden]) .card").getBoundingClientRect();
    const parts = document.querySelectorAll("#ask_arcs path, #ask_knobs > :not([hidden]), #row_steps td");
    const shown = [...parts].map((part) => part.getBoundingClientRect()).filter((box) => box.width);
    const fits = shown.every((box) => box.left >= card.left && box.right <= card.right);
    return shown.length > 8 && fits && card.width;
"""
# Of parts, a colour; and of all that is written, the colour and that of what is below it.
PAINTED = """
    const numbers = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const colourOf = (part, property) => getComputedStyle(part)[property];
    const isClear = (part) => colourOf(part, "backgroundColor") === "rgba(0, 0, 0, 0)" && part.parentElement;
    const below = (part) => (isClear(part) ? below(part.parentElement) : colourOf(part, "backgroundColor"));
    const written = [...document.querySelectorAll("h1, p, small, b, a, summary, button, label, .word")]
        .filter((part) => part.checkVisibility({ opacityProperty: true }) && part.textContent);
    const one = (query) => document.querySelector(query);
    return [arguments[0].map(([query, property]) => numbers(colourOf(one(query), property))),
        written.map((part) => [colourOf(part, "color"), below(part)].map(numbers))];
"""
FILL, EDGE = "backgroundColor", "borderTopColor"
MEANINGS = {
    "ask": {
        "query": ((".word.asking", EDGE), (".word.asking small", "color")),
        "key": (("#ask_arcs .first.mine", "stroke"), (".word.found .key", "color")),
        "weight": ((".word.looked", EDGE), ("#ask_arcs .arc", "stroke"), ("#ask_arcs text", "fill")),
        "value": (("#ask_answer", "color"), ("#ask_chances i", FILL)),
    },
    "row": {
        "query": (("#row_steps .query .number:not(.zero)", FILL),),
        "key": (("#row_steps .key .number:not(.zero)", FILL),),
        "weight": (("#row_steps div.amount", FILL), ("#row_steps .segment", FILL)),
        "value": (("#row_steps .chip", EDGE),),
    },
    "model": {
        "query": (("#stage th.lit[scope=row]", FILL),),
        "key": (("#stage th.lit[scope=col]", FILL),),
    },
}


def test_a_colour_has_one_meaning_and_all_is_read_in_light_and_in_dark(page):
    """The lessons' colours, each by its hue. Paper is always light."""
    hues = {"query": 0.115, "key": 0.561, "weight": 0.074, "value": 0.454}
    for view, scheme in itertools.product(MEANINGS, ("light", "dark")):
        features = {"prefers-reduced-motion": "reduce", "prefers-color-scheme": scheme}.items()
        features = [{"name": name, "value": value} for name, value in features]
        page.command("Emulation.setEmulatedMedia", features=features)
        page.visit(f"#{view}")
        for meaning, parts in MEANINGS[view].items():
            painted, written = page.js(PAINTED, parts)
            for hue in colors.rgb_to_hsv(painted)[:, 0]:
                assert min(hues, key=lambda one, hue=hue: abs(hues[one] - hue)) == meaning, (view, scheme)
        shades = drawings.luminance(written) + 0.05
        assert (shades.max(axis=1) / shades.min(axis=1)).min() >= 4.5, (view, scheme)
        assert (np.median(shades[:, 1]) > 0.5) == (scheme == "light")
    page.command("Emulation.setEmulatedMedia", media="print", features=features)
    assert drawings.luminance(page.js(PAINTED, [["body", FILL]])[0]) > 0.5
    assert not page.one("nav").is_displayed()
    page.command("Emulation.setEmulatedMedia", media="")


def test_addresses_and_the_way_back(page):
    """A link of the class plan opens what it says; sliding and typing is no history; views are."""
    page.visit("#model=difference_self_att&letters=ab+c&self_attention=0")
    assert page.value("letters") == "AB␣C" and page.value("self_attention") == "0"
    np.testing.assert_allclose(page.seen()["weights"]["self_attention"], 0.25)
    page.find("attention").send_keys(Keys.HOME)
    page.find("attention").send_keys(Keys.END)
    page.type("bb")
    page.wait(lambda: "letters=BB&self_attention=0&attention=3" in page.link)
    link, sharp = page.link, page.seen()
    page.choose("counting")
    page.driver.back()
    page.wait(lambda: page.driver.current_url == "about:blank")  # The page from which one came.
    page.visit(f"#{link}")
    assert page.seen() == sharp
    for name, shown in (("vote", "vote"), ("train", "train"), ("train=equal", "train"), ("", "ask")):
        page.visit(f"#{name}")
        assert page.seen()["shown"] == [shown]
    for view, shown in (("train", "train"), ("model", "playing"), ("vote", "vote")):
        page.go(view)
        assert page.seen()["shown"] == [shown]
        assert page.one("nav [aria-current]").get_attribute("href").endswith(f"#{view}")
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["playing"])
    page.type("AAB")
    page.turn({"attention": 2})
    left = page.seen()
    page.go("vote")
    page.driver.back()
    page.wait(lambda: page.seen() == left)
    page.driver.refresh()
    assert page.seen() == left
    for strange in ("nobody", "counting&head=1", "counting&attention=7", "signal&attention=x", "trained_1"):
        page.visit(f"#model={strange}")
        assert page.seen()["message"] and page.seen()["weights"]["attention"]
    page.visit("#ask&letters=Anna+dog+Ben")  # Whose pet nobody knows.
    assert page.seen()["message"] and len(page.all("#ask_words > *")) == 9
    page.go("vote")
    assert page.seen()["message"] == ""


def test_the_focus_goes_along(page):
    """By links and buttons from view to view; from an address, the Tab key begins at the navigation."""
    page.visit("#row")
    for first in ("vote_0", "first_guess", "model"):
        next(one for one in page.all(".next a") if one.is_displayed()).send_keys(Keys.ENTER)
        assert page.active == page.find(first) and page.js("return scrollY") == 0
    page.visit("#vote")
    webdriver.ActionChains(page.driver).send_keys(Keys.TAB).perform()
    assert page.active == page.one("nav a")
    page.find("vote_0").send_keys(Keys.ENTER)
    assert page.active == page.find("vote_0") and not page.is_on("vote_0")
    page.wait(lambda: page.find("moral").is_displayed())
    scores = [score.get_attribute("data-right") for score in page.all("#models [data-right]")]
    assert all(score in page.find("announced").text for score in scores)
    page.one("#reveal_0 button").send_keys(Keys.ENTER)
    assert page.active == page.find("model")


def test_a_phone_and_no_network(page):
    """360 pixels wide, no letter model needs scrolling sideways; and nothing is asked of any network."""
    text = browser.PAGE.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//\w+\.\w|@import|\bsrc=", re.sub(r'"UEsD[^"]*"', "", text))
    page.screen(360, 740)
    for option in page.all("#model option"):
        if option.get_attribute("value") != "transformer":
            option.click()
            assert page.js(TOO_WIDE) <= 0, option.text
    for view in ("ask", "row", "train", "vote"):
        page.go(view)
        assert page.js(TOO_WIDE) <= 0, view
    pictures = [page.box(page.find(f"lineup_{model}")) for model in range(3)]
    # To be compared, before one votes.
    assert len({picture["top"] for picture in pictures}) == 1 and pictures[0]["bottom"] < 740
    assert page.js("return performance.getEntriesByType('resource').length") == 0
    page.screen(1920, 1000, mobile=False)  # In front of a class, cells are larger.
    page.wait(lambda: page.box(page.find("lineup_0"))["height"] > 1.3 * pictures[0]["height"], 5)


def test_what_is_printed_fits_on_a_sheet(page):
    """Lines are measured, so they are drawn anew for a sheet, and for the screen after that."""
    page.stand_still()
    for view in ("ask", "row"):
        page.visit(f"#{view}")
        page.wait(lambda: 1000 < page.js(INSIDE, "nothing") < 1280)
        assert 300 < page.js(INSIDE, "beforeprint") < 700, view
        assert 1000 < page.js(INSIDE, "afterprint") < 1280, view


def test_without_scripts_one_line_says_what_is_needed(page):
    page.command("Emulation.setScriptExecutionDisabled", value=True)
    page.visit()
    assert page.one("body").text == page.find("needs").text != ""


def test_inside_another_page_it_stays_itself(page):
    """A frame with srcdoc, as notebooks and editors show pages, has no address of its own."""
    page.driver.get("about:blank")
    page.js(
        "document.body.innerHTML = '<iframe style=\"width: 1200px; height: 800px\"></iframe>';"
        "document.querySelector('iframe').srcdoc = arguments[0];",
        browser.PAGE.read_text(encoding="utf-8"),
    )
    page.driver.switch_to.frame(page.wait(lambda: page.all("iframe"))[0])
    page.wait(lambda: page.seen()["shown"] == ["ask"])
    for view, shown in (("train", "train"), ("vote", "vote"), ("model", "playing")):
        page.go(view)
        assert page.seen()["shown"] == [shown]
    page.turn({"attention": 2})
    assert page.seen()["answers"] == ["4", "5", "4"] and page.accuracy() < 100
    page.driver.switch_to.default_content()


def test_a_copy_that_a_browser_has_saved_is_the_page_again(page, tmp_path):
    """As Ctrl-S writes it: what was shown is in it."""
    options = [option.text for option in page.all("#model option")]
    page.visit("#vote")
    page.find("vote_0").click()
    page.wait(lambda: page.find("moral").is_displayed())
    copy = tmp_path / "copy.html"
    html = page.js("return document.documentElement.outerHTML")
    copy.write_text(f"<!DOCTYPE html>{html}", encoding="utf-8")
    page.driver.get(copy.as_uri() + "#vote")
    assert page.seen()["shown"] == ["vote"] and not page.find("moral").is_displayed()
    assert page.is_on("vote_0")
    assert page.find("needs").get_property("hidden")  # Else it would be seen after eight seconds.
    page.driver.get(copy.as_uri() + "#model=counting")
    assert [option.text for option in page.all("#model option")] == options
    assert page.seen()["answers"] == ["2", "3", "2"]
