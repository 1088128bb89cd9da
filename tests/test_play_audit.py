"""Names, contrast and whatever else axe-core audits in each view of the page to play with; and the focus."""

import importlib.resources
import json
import re

import browser
import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

ASK = "ask&attend=equal&move=7-1"
OTHERS = "row row=signal vote vote=class model=difference_self_att model=transformer model train".split()
WRONG = {"vote=class": "vote_letters", "model": "letters"}  # Fields into which a wrong letter is typed.
LOOKS = {  # The first has motion.
    "moving": [],
    "dark": [browser.CALM, {"name": "prefers-color-scheme", "value": "dark"}],
    "phone": [browser.CALM],
}
# Open what can be opened, as with a vote that is wrong and a cell that is chosen.
OPEN = """
    for (const part of document.querySelectorAll("main > :not([hidden]) details")) {
        part.open = true;
    }
    if (Shell.view === Vote) {
        Vote.reveal();
    } else if (Shell.view === Models) {
        CellCard.open();
    }
"""
# What has a text that one can't see, that is turned, or that is beside the screen and doesn't scroll; what a
# redraw writes though it is there already: a screen reader takes in all that is written.
LOST = f"""{browser.LOOK}
    const chain = (part) => (part ? [part, ...chain(part.parentElement)] : []);
    const isTurned = ({{ rotate, scale, transform }}) => rotate !== "none" || scale !== "none"
        || /matrix\\((-|[^,]+, -?[1-9])/.test(transform);
    const isBeside = (part) => part.getBoundingClientRect().right > innerWidth + 1
        && chain(part).every((one) => !/auto|scroll|hidden/.test(styleOf(one).overflowX));
    const hasText = (part) => [...part.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    document.getAnimations().forEach((one) => one.finish());
    const observer = new MutationObserver(() => {{}});
    observer.observe(document.body, {{ characterData: true, childList: true, subtree: true }});
    Shell.view.draw();
    const again = observer.takeRecords().map(({{ target }}) => target.closest ? target : target.parentNode);
    const why = (part) => (part.id === "needs" ? "there" : !isSeen(part) ? "not seen" : isBeside(part)
        ? "beside" : chain(part).some((one) => isTurned(styleOf(one))) ? "turned"
        : parseFloat(styleOf(part).fontSize) < 8 ? "tiny" : "");
    const folds = all(document, "main > :not([hidden]) details");
    const parts = all(document, "body *").filter((part) => hasText(part) && styleOf(part).fontSize !== "0px"
        && part.checkVisibility({{ visibilityProperty: true }}));
    const told = again.filter((part) => !part.closest("[aria-hidden]"));
    const lost = [...parts.filter(why), ...folds.filter(why), ...told];
    return lost.map((part) => `${{why(part) || "again"}}: ${{part.outerHTML}}`);
"""
AUDIT = """
    axe.run(arguments[0]).then(({ violations }) => arguments[1](violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => [id, html.slice(0, 200), failureSummary]))));
"""


@pytest.fixture(scope="module")
def axe():
    """Return the script of axe-core, from its package on PyPI."""
    pytest.importorskip("axe_core_python", reason="pip install -r tests/requirements.txt")
    return (importlib.resources.files("axe_core_python") / "axe.min.js").read_text("utf-8")


@pytest.mark.parametrize("look", LOOKS)
def test_an_audit_by_axe_core_finds_nothing(look, axe, page):
    if look == "phone":
        page.screen(390)
    page.media(*LOOKS[look])
    found = []
    for view in (ASK, *OTHERS):
        page.visit(f"#{view}")
        page.js(OPEN)
        page.wait(lambda: page.js("return Shell.view !== Vote || !document.getElementById('moral').hidden"))
        if view in WRONG:
            page.find(WRONG[view]).send_keys("X")
        page.still()
        if view == ASK:
            browser.Asked(page).says((7, 1), factor=0)
            assert page.text("#ask_told").startswith("It takes .22 from hen, .78 from the rest, and still")
        lost = page.js(LOST)
        assert lost == [], f"in {view}, {look}, these texts are not seen, beside, turned or so: {lost}"
        page.js(axe)
        rules = {"runOnly": ["color-contrast"]} if look == "dark" else {}  # The rest is as in the light.
        found += [(view, *one) for one in page.driver.execute_async_script(AUDIT, rules)]
    assert found == [], json.dumps(found, indent=1, ensure_ascii=False)


STOPS = """
    const isStop = (part) => part.tabIndex >= 0 && part.checkVisibility({ visibilityProperty: true })
        && getComputedStyle(part).pointerEvents !== "none";
    const all = document.querySelectorAll("a[href], button, input, select, summary, [tabindex]");
    return [...all].filter(isStop);
"""


@pytest.mark.parametrize("view", ["ask", "row", "vote=class", "model", "model=transformer", "train"])
def test_the_tab_key_reaches_all_that_can_be_used_and_one_sees_where_it_is(view, page):
    page.visit(f"#{view}")
    stops, reached = page.js(STOPS), []
    for _ in stops:
        webdriver.ActionChains(page.driver).send_keys(Keys.TAB).perform()
        reached.append(page.active)
        outline, html = page.active.value_of_css_property("outline"), page.active.get_attribute("outerHTML")
        assert re.search("solid [2-9]", outline), f"one doesn't see the focus on {html}: {outline}"
    assert reached == stops, f"the Tab key reaches {len(reached)} of {len(stops)}, or in another order"
