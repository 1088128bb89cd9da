"""The page to play with in a real browser, as a user has it before them; the fixtures of its tests."""

import base64
import json
import os
import shutil

import numpy as np
import program
import pytest
from experiments import play
from selenium import common, webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui

PAGE = program.BEYOND / "play.html"
# By preference the shell, which is the same browser without what is around a page, and faster for that.
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
FLAGS = (
    "--headless",
    "--window-size=1280,900",  # 757 of them for the page.
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
        answers: items.map((item) => item.querySelector("b").textContent),
        chances: items.map((item) => item.dataset.chances.split(" ").map(Number)),
        verdicts: items.map((item) => item.textContent),
        weights: Object.fromEntries(sliders.map((slider) => [slider.id, tables(slider)])),
        message: document.getElementById("message").textContent,
        letters: document.getElementById("letters").value,
        shown: all(document, "main > section").filter((view) => view.offsetParent).map((view) => view.id),
    };
"""
COLOURS = """
    const parts = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const cells = [...document.querySelectorAll(arguments[0])];
    const styles = cells.map((cell) => getComputedStyle(cell));
    return [cells.map((cell) => Number(cell.dataset.weight)),
        styles.map((style) => parts(style.backgroundColor)), styles.map((style) => parts(style.color))];
"""
DROP = """
    const bytes = Uint8Array.from(atob(arguments[0]), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], "mine.npz"));
    return ["dragover", "drop"].map((type) => {
        const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector("footer").dispatchEvent(event);
        return [event.defaultPrevented, getComputedStyle(document.body).outlineStyle !== "none"];
    });
"""
CALM = {"name": "prefers-reduced-motion", "value": "reduce"}
USUAL = {  # What a test may have set, as it is without that.
    "Emulation.clearDeviceMetricsOverride": {},
    "Emulation.setTouchEmulationEnabled": {"enabled": False},
    "Emulation.setEmulatedMedia": {"media": "", "features": [CALM]},  # Movement takes a browser's time.
    "Emulation.setScriptExecutionDisabled": {"value": False},
}


class Page:
    """The page in a browser, as a user has it before them."""

    def __init__(self, driver):
        self.driver = driver
        self.visits = 0

    def reset(self):
        """Forget what another test has set and left, and show nothing."""
        for name, parameters in USUAL.items():
            self.command(name, **parameters)
        self.js("if (location.protocol === 'file:') { sessionStorage.clear(); }")  # It has the vote.
        self.driver.get("about:blank")

    def visit(self, address=""):
        """Open the page anew; without another name, one would only go elsewhere in it."""
        self.visits += 1
        self.driver.get(f"{PAGE.as_uri()}?{self.visits}{address}")

    def command(self, name, **parameters):
        """Send a command of the Chrome DevTools Protocol; what USUAL names holds until the test ends."""
        self.driver.execute_cdp_cmd(name, parameters)

    def screen(self, width, height=844, mobile=True):
        """Have a screen of this size, in pixels."""
        size = {"width": width, "height": height, "screenWidth": width, "screenHeight": height}
        self.command("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=mobile)
        self.wait(lambda: self.js("return screen.width") == width)  # Under load, that takes a moment.
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def move(self):
        """Be a user who has nothing against movement."""
        self.command("Emulation.setEmulatedMedia", features=[])

    def js(self, script, *arguments):
        """Run a script and return what it returns."""
        return self.driver.execute_script(script, *arguments)

    # --- What there is

    def find(self, name):
        """Return the element with this id."""
        return self.driver.find_element(By.ID, name)

    def one(self, query):
        """Return the first element that a CSS selector finds."""
        return self.driver.find_element(By.CSS_SELECTOR, query)

    def all(self, query):
        """Return the elements that a CSS selector finds."""
        return self.driver.find_elements(By.CSS_SELECTOR, query)

    def cell(self, name, row, column, head=0):
        """Return a cell of the heatmap of the attention with this name."""
        return self.one(f"[id='{name} {head}'] tr:nth-child({row + 2}) td:nth-child({column + 2})")

    @property
    def active(self):
        """The element that has the focus."""
        return self.driver.switch_to.active_element

    def value(self, name):
        """Return what stands in a field, a slider or a menu."""
        return self.find(name).get_attribute("value")

    def is_on(self, name):
        """Return whether the button with this id does something."""
        return self.find(name).get_attribute("aria-disabled") != "true"

    def box(self, element):
        """Return where an element is in the window, a dict: left, right, top, bottom and so on."""
        return self.js("return arguments[0].getBoundingClientRect().toJSON()", element)

    def colours(self, query):
        """Return weights of cells, (cells,), their colours and those of their numbers, (cells, 3)."""
        return [np.array(each) for each in self.js(COLOURS, query)]

    def seen(self):
        """Return what is on the page, a dict: answers, chances, weights for each slider, and so on."""
        return self.js(SEEN)

    @property
    def link(self):
        """What stands after the # in the address."""
        return self.driver.current_url.partition("#")[2]

    def wait(self, condition, seconds=60):
        """Wait until the condition, a function, is true, and return what it returned."""
        return ui.WebDriverWait(self.driver, seconds, 0.05).until(lambda _: condition())

    def accuracy(self):
        """Return how many of 1,000 sequences are right, as soon as it is not greyed out."""
        told = self.find("accuracy")
        self.wait(lambda: "old" not in told.get_attribute("class").split())
        right = int(told.get_attribute("data-right"))
        assert f"{right:,}" in told.text
        return right

    # --- What one does

    def press(self, *keys):
        """Press keys, one after the other, each where the focus is then."""
        for key in keys:
            self.active.send_keys(key)

    def type(self, text, field="letters"):
        """Replace the letters."""
        self.find(field).send_keys(Keys.CONTROL, "a", Keys.NULL, text or Keys.DELETE)

    def go(self, view):
        """Go to a view, by the navigation."""
        self.one(f"nav [href='#{view}']").click()

    def choose(self, name):
        """Choose a model in the menu."""
        ui.Select(self.find("model")).select_by_value(name)

    def turn(self, factors):
        """Move sliders, a dict from their ids to where they go."""
        move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));"
        for name, factor in factors.items():
            self.js(move, self.find(name), factor)

    def open(self, path):
        """Open a checkpoint, and return the message."""
        known = len(self.all("#model option"))
        self.find("checkpoint").send_keys(str(path))
        self.wait(lambda: self.seen()["message"] or len(self.all("#model option")) > known)
        return self.seen()["message"]

    def drop(self, path):
        """Drop a checkpoint, mine.npz, onto the foot of the page, which takes it and shows that it will."""
        assert self.js(DROP, base64.b64encode(path.read_bytes()).decode()) == [[True, True], [True, False]]


def checkpoint(name):
    """Return the path of the checkpoint of a model that is in the page, one of play.MODELS."""
    return play.FOLDER / "checkpoints" / f"{name}.npz"


def write_random(path, task, settings):
    """Write a checkpoint whose weights are random, and return its arrays, a dict."""
    module, generator, arrays = program.load(task), np.random.default_rng(0), {}
    kind = getattr(module, "AttentionModel", None) or module.Transformer
    for weight in kind(**settings).weights:
        numbers = generator.normal(size=weight.shape) / 2 + ("gamma" in weight.path)
        arrays[weight.path.removeprefix("model/")] = numbers.astype(np.float32)
    description = {"task": program.TASKS.get(task, "Transformer"), "step": 1, "settings": settings}
    np.savez(path, description=json.dumps(description), **arrays)
    return arrays


@pytest.fixture(scope="session")
def browser():
    """Return the page in a Chromium without a window."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)), "")
    os.environ["SE_OFFLINE"] = "true"  # Take the driver that is there, and download none.
    try:
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    except common.WebDriverException as error:
        advice = (
            "install Chrome or Chromium and its driver, such as with apt-get install chromium chromium-driver"
        )
        pytest.skip(f"there is no browser; {advice} ({type(error).__name__})")
    yield Page(driver)
    driver.quit()


@pytest.fixture
def page(browser):
    """Return the page, which a test then visits. Nothing moves; in the end, nothing may have been thrown."""
    browser.reset()
    browser.driver.get_log("browser")
    yield browser
    assert browser.driver.get_log("browser") == []
