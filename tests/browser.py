"""The page to play with in a real browser: what its tests see there and do there."""

import base64
import inspect
import os
import shutil
import time

import formula  # The tests of the page take it from here.
import numpy as np
import program
import pytest
import urllib3
from selenium import common, webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui

PAGE, SOURCES = program.BEYOND / "play.html", program.BEYOND / "play"
CHECKPOINTS = {path.stem: path for path in sorted(SOURCES.glob("checkpoints/*.npz"))}  # Those in the page.
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")  # The first is the fastest.
FLAGS = ("headless", "window-size=1280,900", "no-sandbox", "disable-gpu", "disable-background-networking")
MISSING = "no Chromium or Chrome with its driver: apt-get install chromium chromium-driver"
SEEN = """
    const all = (part, query) => [...part.querySelectorAll(query)];
    const rows = (table) => all(table, "tr").slice(1)
        .map((row) => all(row, "td").map((cell) => Number(cell.dataset.weight)));
    const headOf = (table) => Number(table.id.split(" ").pop());
    const tables = (slider) => all(slider.closest("section"), "table")
        .sort((one, other) => headOf(one) - headOf(other)).map(rows);
    const items = all(document, "#answers [data-answer]");
    return {
        answers: items.map((item) => item.querySelector("b").textContent),
        chances: items.map((item) => item.dataset.chances.split(" ").map(Number)),
        verdicts: items.map((item) => item.textContent),
        weights: Object.fromEntries(all(document, "#stage [type=range]").map((one) => [one.id, tables(one)])),
        message: document.getElementById("message").textContent,
        letters: document.getElementById("letters").value,
        shown: document.querySelector("main > section:not([hidden])").id.replace("view_", ""),
    };
"""
DROP = """
    const bytes = Uint8Array.from(atob(arguments[0]), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], "mine.npz"));
    for (const type of ["dragover", "drop"]) {
        const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector("footer").dispatchEvent(event);
    }
"""
MIDDLE = """
    arguments[0].scrollIntoViewIfNeeded();
    const { x, y, width, height } = arguments[0].getBoundingClientRect();
    return [x + width / 2, y + height / 2];
"""
CALM = {"name": "prefers-reduced-motion", "value": "reduce"}  # Movement takes a test's time.


class Page:
    """The page in a browser, as a user has it before them."""

    def __init__(self):
        self.visits, self.options = 0, webdriver.ChromeOptions()
        for flag in FLAGS:
            self.options.add_argument(f"--{flag}")
        self.options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.options.binary_location = next(filter(None, map(shutil.which, BROWSERS)), "")
        self.start()

    def start(self):
        """Start the browser."""
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(self.options, service)
        self.driver.set_script_timeout(program.DEADLINE)

    def reset(self):
        """Forget what another test has set and left, and show nothing."""
        self.command("Emulation.clearDeviceMetricsOverride")
        self.command("Emulation.setTouchEmulationEnabled", enabled=False)
        self.command("Emulation.setEmulatedMedia", media="", features=[CALM])
        self.js("if (location.protocol === 'file:') { sessionStorage.clear(); }")  # It has the vote.
        self.driver.get("about:blank")
        self.driver.get_log("browser")

    def visit(self, address=""):
        """Open the page anew; without another name, one would only go elsewhere in it."""
        self.visits += 1
        self.driver.get(f"{PAGE.as_uri()}?{self.visits}{address}")

    def command(self, name, **parameters):
        """Send a command of the Chrome DevTools Protocol; what it sets holds until the test ends."""
        self.driver.execute_cdp_cmd(name, parameters)

    def screen(self, width, height=844):
        """Be on a phone: a screen of this size, in pixels, and fingers."""
        size = {"width": width, "height": height, "screenWidth": width, "screenHeight": height}
        self.command("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=True)
        self.command("Emulation.setTouchEmulationEnabled", enabled=True)
        self.wait(lambda: self.js("return screen.width") == width)  # Under load, that takes a moment.
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def js(self, script, *arguments):
        """Run a script and return what it returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition):
        """Wait until the condition, a function, is true, and return what it returned."""
        awaited = f"waited {program.DEADLINE} seconds for this:\n{inspect.getsource(condition)}"
        return ui.WebDriverWait(self.driver, program.DEADLINE, 0.05).until(lambda _: condition(), awaited)

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
        return self.find(name).get_property("value")

    def seen(self):
        """Return what is on the page, a dict: answers, chances, weights for each slider, and so on."""
        return self.js(SEEN)

    @property
    def link(self):
        """What stands after the # in the address."""
        return self.driver.current_url.partition("#")[2]

    def accuracy(self):
        """Return how many of 1,000 sequences are right, as soon as it is not greyed out."""
        told = self.find("accuracy")
        self.wait(lambda: "old" not in told.get_attribute("class").split())
        return int(told.get_attribute("data-right"))

    # --- What one does

    def press(self, *keys):
        """Press keys, one after the other, each where the focus is then."""
        for key in keys:
            self.active.send_keys(key)

    def type(self, text, field="letters"):
        """Replace the letters, and press Enter."""
        self.find(field).send_keys(Keys.CONTROL, "a", Keys.NULL, text or Keys.DELETE, Keys.ENTER)

    def drag(self, start, end):
        """Drag one element onto another with the mouse."""
        webdriver.ActionChains(self.driver, duration=0).drag_and_drop(start, end).perform()

    def swipe(self, start, *way):
        """Draw a finger from the middle of an element along steps, each [right, down] in pixels."""
        (x, y), began = self.js(MIDDLE, start), time.time()

        def touch(kind, seconds, *points):
            when = began + seconds
            self.command("Input.dispatchTouchEvent", type=kind, touchPoints=points, timestamp=when)

        touch("touchStart", 0, {"x": x, "y": y})
        for number, (right, down) in enumerate(way, start=1):
            touch("touchMove", number / 30, {"x": x + right, "y": y + down})
        touch("touchEnd", 1)  # It has rested, so that the page does not slide on.

    def way(self, start, end):
        """Return how far it is from one element to another, [right, down], between their middles."""
        boxes = [one.rect for one in (start, end)]
        (x, y), (to_x, to_y) = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes)
        return to_x - x, to_y - y

    def go(self, view):
        """Go to a view, by the navigation."""
        self.one(f"nav [href^='#{view}']").click()
        self.wait(lambda: self.seen()["shown"] == view)

    def choose(self, name, menu="models_menu"):
        """Choose something in a menu, by its value."""
        ui.Select(self.find(menu)).select_by_value(name)

    def turn(self, factors):
        """Move sliders, a dict from their ids to where they go."""
        move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));"
        for name, factor in factors.items():
            self.js(move, self.find(name), factor)

    def open(self, path):
        """Open a checkpoint, and return the message."""
        known = "return Object.keys(library).length"
        before = self.js(known)
        self.find("checkpoint").send_keys(str(path))
        self.wait(lambda: self.seen()["message"] or self.js(known) > before)
        return self.seen()["message"]

    def drop(self, path):
        """Drop a checkpoint, mine.npz, onto the foot of the page."""
        self.js(DROP, base64.b64encode(path.read_bytes()).decode())


class Reference(formula.Model):
    """A model of the page by its formula.

    Args:
        path: of its checkpoint.

    Attributes:
        task: 1, 2, 3 or "transformer".
        known: its letters, a str, or its words, a list.
        moves: list of (name of an attention, row, from, to): weight moved by hand, in all its heads.
    """

    def __init__(self, path):
        arrays, description = program.read(path)
        super().__init__(arrays)
        self.settings, self.moves = description["settings"], []
        self.is_fixed = path.stem == "counting_fixed"
        if description["task"] == "Transformer":
            self.task, self.known = (
                "transformer",
                program.load("transformer").vocabulary(self.settings["pairs"]),
            )
        else:
            (self.task,) = (task for task, name in program.TASKS.items() if name == description["task"])
            self.known = program.alphabet(self.task, self.settings["vocab_size"])

    def mix(self, name, query, key, value, mask=True):
        """As in formula.Model, with the weights moved by hand."""
        means = super().mix(name, query, key, value, mask)
        weights = self.weights[name][-1]
        for attention, row, start, end in self.moves:
            if attention == name:
                weights[row, end] += weights[row, start]
                weights[row, start] = 0
        return weights @ value if self.moves else means

    def __call__(self, text, factors=()):
        """Return the chances of each answer to letters or words, and the weights of each attention."""
        places = [self.known.index(token) for token in text]
        self.weights, self.factors = {}, dict(factors)
        if self.task == "transformer":
            chances = self.transformer(self.settings, places)
        elif self.is_fixed:
            chances = self.fixed(np.eye(len(self.known))[places], 100)
        else:
            chances = self.lesson(np.eye(len(self.known))[places])
        return chances, self.weights


def save_random(path, task, settings):
    """Save a model with random weights as its program does."""
    module, generator = program.load(task), np.random.default_rng(0)
    model = (getattr(module, "AttentionModel", None) or module.Transformer)(**settings)
    for weight in model.weights:
        weight.assign(generator.normal(size=weight.shape) / 2 + ("gamma" in weight.path))
    module.save(model, settings, 1, path)


@pytest.fixture(scope="session")
def browser():
    """Return a Chromium without a window; it is skipped, and says how to get one, where there is none."""
    os.environ["SE_OFFLINE"] = "true"  # Take the driver that is there, and download none.
    try:
        page = Page()
    except common.WebDriverException as error:
        pytest.skip(f"{MISSING} ({type(error).__name__})")
    yield page
    page.driver.quit()


@pytest.fixture
def page(browser):
    """Return the page, which a test then visits. In the end, nothing may have been thrown."""
    try:
        browser.reset()
    except (common.WebDriverException, urllib3.exceptions.HTTPError):  # Lost, as on a busy machine happens.
        browser.driver.service.stop()
        browser.start()
        browser.reset()
    yield browser
    assert browser.driver.get_log("browser") == []
