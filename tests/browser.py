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
    const numbers = (part, name) => all(part, `[data-${name}]`).map((one) => Number(one.dataset[name]));
    const lines = (slider) => all(slider.closest("section"), "tr").slice(1);
    const rows = (slider) => lines(slider).map((row) => numbers(row, "weight"));
    return {
        answers: numbers(document, "answer"), probabilities: numbers(document, "probability"),
        verdicts: all(document, "[data-answer]").map((one) => one.textContent),
        weights: Object.fromEntries(all(document, "[type=range]").map((one) => [one.id, rows(one)])),
        message: document.getElementById("message").textContent,
        letters: document.getElementById("letters").value,
    };
"""


class Page:
    """The page in a browser, as a user has it before them."""

    def __init__(self, driver):
        self.driver = driver

    def visit(self, address=""):
        """Open the page anew."""
        self.driver.get("about:blank")
        self.driver.get(PAGE.as_uri() + address)

    def find(self, name):
        """Return the element with this id."""
        return self.driver.find_element(By.ID, name)

    def wait(self, condition, seconds=60):
        """Wait until the condition, a function, is true, and return what it returned."""
        return ui.WebDriverWait(self.driver, seconds, 0.05).until(lambda _: condition())

    def type(self, text):
        """Replace the letters."""
        self.find("letters").send_keys(Keys.CONTROL, "a", Keys.NULL, text or Keys.DELETE)

    def turn(self, knobs):
        """Move sliders, a dict from their ids to where they go."""
        move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));"
        for name, knob in knobs.items():
            self.driver.execute_script(move, self.find(name), knob)

    def open(self, path):
        """Open a checkpoint, and return the message."""
        known = len(self.find("model").find_elements(By.TAG_NAME, "option"))
        self.find("checkpoint").send_keys(str(path))
        self.wait(
            lambda: (
                self.seen()["message"] or len(self.find("model").find_elements(By.TAG_NAME, "option")) > known
            )
        )
        return self.seen()["message"]

    def seen(self):
        """Return what is on the page, a dict: answers, probabilities, weights for each slider, and so on."""
        return self.driver.execute_script(SEEN)

    def accuracy(self):
        """Return how many of 1,000 sequences are right, as soon as it is not greyed out."""
        self.wait(lambda: "old" not in self.find("accuracy").get_attribute("class").split())
        right, length = re.search(
            r"for ([\d,]+) of 1,000 .* length (\d+)", self.find("accuracy").text
        ).groups()
        return int(right.replace(",", "")), int(length)


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
    """Return the page as it is when one opens it; in the end, nothing may have been thrown."""
    browser.driver.get_log("browser")
    browser.visit()
    yield browser
    assert browser.driver.get_log("browser") == []
