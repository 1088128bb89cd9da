"""The page to play with as a whole: addresses, the focus, a phone, paper, in another page, a saved copy."""

import re

import browser
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

# How wide the card is, after an event, if all that is drawn keeps inside it.
INSIDE = """
    window.dispatchEvent(new Event(arguments[0]));
    const card = document.querySelector("main > :not([hidden]) .card").getBoundingClientRect();
    const parts = document.querySelectorAll("#ask_arcs path, #ask_knobs > :not([hidden]), #row_steps td");
    const shown = [...parts].map((part) => part.getBoundingClientRect()).filter((box) => box.width);
    const fits = shown.every((box) => box.left >= card.left && box.right <= card.right);
    return shown.length > 8 && fits && card.width;
"""
# Use all that can be used in the view in sight, one after the other; what does nothing, loses the focus, or
# takes a key with a modifier or the right button, which are the browser's.
USED = """
    const faults = [], used = new Set(), { view } = Shell;
    const all = (query) => [...document.querySelectorAll(`main > :not([hidden]) ${query}`)];
    const fields = () => all(":is(input, select)").map((one) => [one.value, one.checked]);
    const state = () => [document.querySelector("main").innerHTML, fields(), location.hash,
        JSON.stringify(sessionStorage)].join();
    const nameOf = (one) => one.id || one.className + one.textContent + one.dataset.step;
    const isNew = (one) => one.checkVisibility({ visibilityProperty: true }) && !used.has(nameOf(one))
        && !one.matches("[aria-disabled=true], [aria-pressed=true], [type=file], [role=slider]");
    const before = state();
    for (const one of all("[tabindex], button, input, select")) {
        const press = (Kind, type, what) =>
            one.dispatchEvent(new Kind(type, { ...what, bubbles: true, cancelable: true }))
            || faults.push(`Taken: ${nameOf(one)}`);
        press(PointerEvent, "pointerdown", { button: 2 });
        for (const key of ["ArrowLeft", "ArrowRight", "Home", "End", "Enter", "Escape"]) {
            for (const modifier of ["altKey", "ctrlKey", "metaKey"]) {
                press(KeyboardEvent, "keydown", { key, [modifier]: true });
            }
        }
    }
    if (state() !== before) {
        faults.push("Taken");
    }
    const others = { range: (one) => one.max - one.value, number: () => 7, text: () => "AB" };
    for (let one; one = all(":is(button, input)").find(isNew) || all("select").find(isNew);) {
        used.add(nameOf(one));
        const before = state();
        one.focus();
        const { outlineStyle, outlineWidth } = getComputedStyle(one);
        if (outlineStyle === "none" || parseFloat(outlineWidth) < 2) {
            faults.push(`As if without the focus: ${nameOf(one)}`);
        }
        if (one.matches("button, [type=checkbox]")) {
            one.click();
        } else {
            const other = [...one.options || []].find((option) => option.value !== one.value);
            one.value = other ? other.value : others[one.type](one);
            one.dispatchEvent(new Event("input"));
            one.dispatchEvent(new Event("change"));
        }
        if (state() === before) {
            faults.push(`Nothing: ${nameOf(one)}`);
        }
        if (!document.activeElement.matches("main *") || !document.activeElement.checkVisibility()) {
            faults.push(`Lost: ${nameOf(one)}`);
        }
        Shell.go(view);
    }
    return [faults, [...used]];
"""
TYPED = """
    window.told = [];
    const announced = document.getElementById("announced");
    new MutationObserver(() => told.push(announced.textContent)).observe(announced, { childList: true });
    for (const text of ["A", "AB", "ABC"]) {
        arguments[0].value = text;
        arguments[0].dispatchEvent(new Event("input"));
    }
    setTimeout(() => { window.rested = true; }, 600);
"""


@pytest.mark.parametrize("view", ["ask", "row", "vote", "vote=class", "model", "model=transformer", "train"])
def test_all_that_can_be_used_does_something_and_the_focus_is_not_lost(view, page):
    page.visit(f"#{view}")
    faults, used = page.js(USED)
    assert faults == [] and len(used) >= 5


@pytest.mark.parametrize(("view", "field"), [("vote=class", "vote_letters"), ("model", "letters")])
def test_while_one_types_nothing_is_announced(view, field, page):
    """Whoever hears the page hears of the last letters, when one rests."""
    page.visit(f"#{view}")
    page.js(TYPED, page.find(field))
    page.wait(lambda: page.js("return window.rested && told.length"))
    assert len(page.js("return told")) == 1


def test_addresses_and_the_way_back(page):
    """A link of the class plan opens what it says; sliding and typing is no history; views are."""
    page.visit("#model=difference_self_att&letters=ab+c&self_attention=0")
    assert page.value("letters") == "AB␣C" and page.value("self_attention") == "0"
    np.testing.assert_allclose(page.seen()["weights"]["self_attention"], 0.25)
    page.find("attention").send_keys(Keys.HOME)
    page.find("attention").send_keys(Keys.END)
    page.type("bb")
    page.wait(lambda: "letters=BB&self_attention=0&attention=3" in page.link)
    page.choose("counting")
    page.driver.back()
    page.wait(lambda: f"?{page.visits}" not in page.driver.current_url)  # Back where one came from.
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
    page.turn({"attention": 1})
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["train"])
    for strange in ("nobody", "counting&head=1", "counting&attention=7", "signal&attention=x", "trained_1"):
        page.visit(f"#model={strange}")
        assert page.seen()["message"] and page.seen()["weights"]["attention"]
    page.visit("#ask&letters=Anna+dog+Ben")  # Whose pet nobody knows.
    assert page.seen()["message"] and len(page.all("#ask_words > *")) == 9
    page.go("vote")
    assert page.seen()["message"] == ""


def test_the_focus_goes_along(page):
    """By links and buttons from view to view; from an address, the Tab key begins at the navigation."""
    page.screen(1280, 400, mobile=False)
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


def test_no_network_and_pictures_to_be_compared(page):
    """A phone shows all three pictures before one votes, a wide screen shows large ones."""
    text = browser.PAGE.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//\w+\.\w|@import|\bsrc=", re.sub(r'"UEsD[^"]*"', "", text))
    page.screen(360, 740)
    page.visit("#vote")
    pictures = [page.box(page.find(f"lineup_{model}")) for model in range(3)]
    assert len({picture["top"] for picture in pictures}) == 1 and pictures[0]["bottom"] < 740
    assert page.js("return performance.getEntriesByType('resource').length") == 0
    page.screen(1920, 1000, mobile=False)
    page.wait(lambda: page.box(page.find("lineup_0"))["height"] > 1.3 * pictures[0]["height"], 5)


def test_what_is_printed_fits_on_a_sheet(page):
    """Lines are measured, so they are drawn anew for a sheet, at once, and for the screen after that."""
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
    page.visit("#model=counting")
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
