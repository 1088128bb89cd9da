"""The page to play with in a real browser, as a user has it before them; the fixtures of its tests."""

import os
import re
import shutil

import program
import pytest
from selenium import common, webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui

PAGE = program.script(1).with_name("play.html")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
)
SEEN = """
    const all = (part, query) => [...part.querySelectorAll(query)];
    const rows = (table) => all(table, "tr").slice(1).map((row) => all(row, "td").map(weightOf));
    const weightOf = (cell) => Number(cell.dataset.weight);
    const items = all(document, "#answers [data-answer]");
    const sliders = all(document, "#stage [type=range]");
    const headOf = (table) => Number(table.id.split(" ").pop());
    const tables = (slider) => all(slider.closest("section"), "table")
        .sort((one, other) => headOf(one) - headOf(other)).map(rows);
    return {
        answers: items.map((item) => item.dataset.answer),
        chances: items.map((item) => item.dataset.chances.split(" ").map(Number)),
        verdicts: items.map((item) => item.textContent),
        weights: Object.fromEntries(sliders.map((slider) => [slider.id, tables(slider)])),
        message: document.getElementById("message").textContent,
        letters: document.getElementById("letters").value,
        shown: ["ask", "vote", "playing", "train"].filter((id) => document.getElementById(id).offsetParent),
    };
"""


USUAL = {  # What a test may have set, as it is without that.
    "Emulation.clearDeviceMetricsOverride": {},
    "Emulation.setTouchEmulationEnabled": {"enabled": False},
    "Emulation.setEmulatedMedia": {"features": []},
    "Emulation.setScriptExecutionDisabled": {"value": False},
}


class Page:
    """The page in a browser, as a user has it before them."""

    def __init__(self, driver):
        self.driver = driver

    def visit(self, address=""):
        """Open the page anew."""
        self.driver.get("about:blank")
        self.driver.get(PAGE.as_uri() + address)

    def command(self, name, **parameters):
        """Send a command of the Chrome DevTools Protocol; what USUAL names holds until the test ends."""
        self.driver.execute_cdp_cmd(name, parameters)

    def screen(self, width, height=844, mobile=True):
        """Have a screen of this size, in pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.command("Emulation.setDeviceMetricsOverride", **size)

    def stand_still(self):
        """Be a user who wants nothing to move."""
        calm = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.command("Emulation.setEmulatedMedia", features=[calm])

    def find(self, name):
        """Return the element with this id."""
        return self.driver.find_element(By.ID, name)

    def all(self, query):
        """Return the elements that a CSS selector finds."""
        return self.driver.find_elements(By.CSS_SELECTOR, query)

    def button(self, words):
        """Return the button, among those that are visible, with these words on it."""
        (found,) = [one for one in self.all("button") if one.is_displayed() and words in one.text]
        return found

    def is_on(self, name):
        """Return whether the button with this id does something."""
        return self.find(name).get_attribute("aria-disabled") != "true"

    def cell(self, name, row, column, head=0):
        """Return a cell of the heatmap of the attention with this name."""
        return (
            self.find(f"{name} {head}")
            .find_elements(By.CSS_SELECTOR, "tr")[row + 1]
            .find_elements(By.TAG_NAME, "td")[column]
        )

    def wait(self, condition, seconds=60):
        """Wait until the condition, a function, is true, and return what it returned."""
        return ui.WebDriverWait(self.driver, seconds, 0.05).until(lambda _: condition())

    def type(self, text, field="letters"):
        """Replace the letters."""
        self.find(field).send_keys(Keys.CONTROL, "a", Keys.NULL, text or Keys.DELETE)

    def choose(self, name):
        """Choose a model in the menu."""
        ui.Select(self.find("model")).select_by_value(name)

    def turn(self, factors):
        """Move sliders, a dict from their ids to where they go."""
        move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));"
        for name, factor in factors.items():
            self.driver.execute_script(move, self.find(name), factor)

    def open(self, path):
        """Open a checkpoint, and return the message."""
        known = len(self.all("#model option"))
        self.find("checkpoint").send_keys(str(path))
        self.wait(lambda: self.seen()["message"] or len(self.all("#model option")) > known)
        return self.seen()["message"]

    def seen(self):
        """Return what is on the page, a dict: answers, chances, weights for each slider, and so on."""
        return self.driver.execute_script(SEEN)

    def accuracy(self):
        """Return how many of 1,000 sequences are right, as soon as it is not greyed out."""
        self.wait(lambda: "old" not in self.find("accuracy").get_attribute("class").split())
        return int(re.search(r"for ([\d,]+) of 1,000", self.find("accuracy").text)[1].replace(",", ""))


@pytest.fixture(scope="session")
def browser():
    """Return the page in a Chromium without a window."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if found := shutil.which("chromium") or shutil.which("google-chrome"):
        options.binary_location = found
    os.environ["SE_OFFLINE"] = "true"  # Take the driver that is there, and download none.
    try:
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    except common.WebDriverException as error:
        advice = "install Chrome, or Chromium, and its driver, such as with apt-get install chromium-driver"
        pytest.skip(f"there is no browser; {advice} ({type(error).__name__})")
    yield Page(driver)
    driver.quit()


@pytest.fixture
def page(browser):
    """Return the page at its second view, a model; in the end, nothing may have been thrown."""
    browser.driver.get_log("browser")
    browser.visit("#model=counting")
    yield browser
    for name, parameters in USUAL.items():
        browser.command(name, **parameters)
    assert browser.driver.get_log("browser") == []
