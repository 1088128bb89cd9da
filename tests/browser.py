"""The page to play with in a real browser: what its tests see there and do there."""

import base64
import contextlib
import inspect
import io
import os
import re
import shutil
import time

import formula  # The tests of the page take it from here.
import numpy as np
import program
import pytest
import urllib3
from matplotlib import image
from selenium import common, webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui

PAGE, SOURCES = program.BEYOND / "play.html", program.BEYOND / "play"
CHECKPOINTS = {path.stem: path for path in sorted(SOURCES.glob("checkpoints/*.npz"))}  # Those in the page.
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")  # The first is the fastest.
FLAGS = ("headless", "window-size=1280,900", "no-sandbox", "disable-gpu", "disable-background-networking")
MISSING = "no Chromium or Chrome with its driver: apt-get install chromium chromium-driver"
# What there is to see: a part that is shown, its text, and colours.
LOOK = """
    const all = (part, query) => [...part.querySelectorAll(query)];
    const isSeen = (part) => part.checkVisibility({ opacityProperty: true, visibilityProperty: true })
        && part.getBoundingClientRect().width > 0;
    const textOf = (part) => (isSeen(part) ? part.textContent : null);
    const numberOf = (text) => (text ? Number(text.replace("−", "-")) : null);
    const styleOf = (part) => getComputedStyle(part);
    const rgb = (colour) => colour.match(/\\d+/g).map(Number);
    const apart = (one, other) => Math.max(...rgb(one).map((part, at) => Math.abs(part - rgb(other)[at])));
    const hue = (colour) => (rgb(colour)[0] > rgb(colour)[1] ? "red" : "green");
"""
SEEN = f"""{LOOK}
    const rows = (table) => all(table, "tr").slice(1)
        .map((row) => all(row, "td").map((cell) => numberOf(textOf(cell))));
    const tables = (slider) => all(slider.closest("section"), "table").map(rows);
    const items = all(document, "#answers [data-answer]");
    const table = document.querySelector("#first table") || document.head;
    return {{
        answers: items.map((item) => textOf(item.querySelector("b"))),
        chances: items.map((item) => parseInt((textOf(item) || "(?").split("(")[1]) / 100),
        verdicts: items.map((item) => [textOf(item.lastChild), hue(styleOf(item.lastChild).color)]),
        axes: ["col]", "row]"].map((axis) => all(table, "[scope=" + axis).map(textOf)),
        weights: Object.fromEntries(all(document, "#stage [type=range]").map((one) => [one.id, tables(one)])),
        message: textOf(document.getElementById("message")) || "",
        letters: document.getElementById("letters").value,
        shown: document.querySelector("main > section:not([hidden])").id.replace("view_", ""),
    }};
"""
# In Ask: the words; from where to where each line goes, and how thick it is; the number at it; what a screen
# reader says of it; from which pet to whom the blue line goes; the answer; each chance and its bar.
ASKED = f"""{LOOK}
    const stage = document.getElementById("ask_stage");
    const axis = stage.classList.contains("tall") ? "y" : "x";
    const words = all(document, "#ask_words > *");
    const middle = ({{ x, y, width, height }}) => (axis === "x" ? x + width / 2 : y + height / 2);
    const {{ [axis]: start }} = stage.getBoundingClientRect();
    const gaps = (at) => words.map((word) => Math.abs(middle(word.getBoundingClientRect()) - at));
    const nearest = (at) => gaps(at).indexOf(Math.min(...gaps(at)));
    const end = (path, part) => nearest(start + path.getPointAtLength(part * path.getTotalLength())[axis]);
    const card = styleOf(stage.closest(".card")).backgroundColor;
    const drawn = (query) => all(document, query).filter(isSeen);
    const top = (part) => part.getBoundingClientRect().top;
    const rises = (line) => axis === "y" || top(line) < top(words[0]) - 9; // Above the words, not over them.
    const rem = parseFloat(styleOf(document.documentElement).fontSize);
    return {{
        words: words.map((word) => textOf(word.firstChild)),
        title: textOf(document.getElementById("ask_title")),
        lit: drawn("#ask_names [aria-pressed=true]").map(textOf),
        values: words.flatMap((word, place) => (all(word, ".value").some(isSeen) ? [place] : [])),
        lines: drawn("#ask_arcs .arc").filter((line) => apart(styleOf(line).stroke, card) > 99 && rises(line))
            .map((line) => [end(line, 0), end(line, 1), parseFloat(styleOf(line).strokeWidth) / rem]),
        numbers: drawn("#ask_arcs text").map((one) =>
            [nearest(middle(one.getBoundingClientRect()) + (axis === "x" ? 1.5 : 0.6) * rem), textOf(one)]),
        knobs: drawn("[data-arc]").map((one) =>
            [Number(one.dataset.arc), nearest(middle(one.getBoundingClientRect()))]),
        told: all(document, "[data-arc]").map((arc) => Number(arc.ariaValueText.split(" ").pop())),
        owned: drawn("#ask_arcs .mine").filter((line) => rgb(styleOf(line).stroke)[2] > 99) // Blue.
            .map((line) => [end(line, 0), end(line, 1)]),
        answer: textOf(document.querySelector("[data-answer]")),
        chances: drawn("#ask_chances li").map((row) => [textOf(row.firstChild), textOf(row.lastChild),
            row.querySelector("i").offsetWidth / row.querySelector("div").offsetWidth]),
        attends: drawn("[data-attend][aria-pressed=true]").map((button) => button.dataset.attend),
    }};
"""
# Wait until nothing moves any more: for five frames the page has been the same, and no colour is on its way.
STILL = """
    const done = arguments[arguments.length - 1];
    let before, frames;
    const look = () => {
        const now = document.querySelector("main").innerHTML;
        const moves = document.getAnimations().some((one) => one instanceof CSSTransition);
        frames = now === before && !moves ? frames + 1 : 0;
        before = now;
        return frames < 5 ? requestAnimationFrame(look) : done();
    };
    look();
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

    def __init__(self, driver):
        self.driver = driver

    def reset(self):
        """Forget what another test has set and left, and show nothing."""
        self.command("Emulation.clearDeviceMetricsOverride")
        self.command("Emulation.setTouchEmulationEnabled", enabled=False)
        self.media(CALM)
        self.js("if (location.protocol === 'file:') { sessionStorage.clear(); }")  # It has the vote.
        self.driver.get("about:blank")
        self.driver.get_log("browser")

    def visit(self, address=""):
        """Open the page anew; from the page itself, one would only go elsewhere in it."""
        self.driver.get("about:blank")
        self.driver.get(f"{PAGE.as_uri()}{address}")

    def command(self, name, **parameters):
        """Send a command of the Chrome DevTools Protocol; what it sets holds until the test ends."""
        return self.driver.execute_cdp_cmd(name, parameters)

    def media(self, *features, kind=""):
        """Be a screen, or of another kind, with some features of CSS alone."""
        self.command("Emulation.setEmulatedMedia", media=kind, features=features)

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

    def still(self):
        """Wait until nothing moves."""
        self.driver.execute_async_script(STILL)

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

    def picture(self):
        """Return the whole page as it looks, an array of pixels: red, green and blue, from 0 to 255."""
        png = self.command("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        return np.round(255 * image.imread(io.BytesIO(base64.b64decode(png)))[..., :3]).astype(int)

    @property
    def active(self):
        """The element that has the focus."""
        return self.driver.switch_to.active_element

    def value(self, name):
        """Return what stands in a field, a slider or a menu."""
        return self.find(name).get_property("value")

    def seen(self):
        """Return what one sees on the page, a dict: answers, chances, weights for each slider, and so on."""
        return self.js(SEEN)

    def text(self, query):
        """Return the text of the first element that a CSS selector finds, "" where one doesn't see it."""
        return self.js(f"{LOOK} return textOf(document.querySelector(arguments[0])) || ''", query)

    @property
    def link(self):
        """What stands after the # in the address."""
        return self.driver.current_url.partition("#")[2]

    def accuracy(self):
        """Return how many of 1,000 sequences are right, as soon as one sees it."""
        return thousandths(self.wait(lambda: self.text("#accuracy")))

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


class Asked:
    """The view Ask, and what one should see there by the formula."""

    def __init__(self, page, path=CHECKPOINTS["transformer"]):
        self.page, self.reference = page, Reference(path)
        self.last = f"block_{self.reference.settings['layers']}/attention"
        seen = self.seen()
        _, weights = self.reference(seen["words"])
        self.head = int(np.argmin([np.abs(one[-1] - seen["told"]).max() for one in weights[self.last]]))

    def seen(self):
        """Return what there is to see, as soon as nothing moves."""
        self.page.still()
        return self.page.js(ASKED)

    def arc(self, place):
        """Return the knob of the line to a word."""
        return self.page.one(f'[data-arc="{place}"]')

    def word(self, place):
        """Return a word of the text."""
        return self.page.all("#ask_words > *")[place]

    def says(self, *moves, factor=1):
        """Check all that one sees, with weight moved from word to word, and return the answer."""
        seen = self.seen()
        text, row = seen["words"], len(seen["words"]) - 1
        self.reference.moves = [move if len(move) == 4 else (self.last, row, *move) for move in moves]
        chances, weights = self.reference(text, {self.last: factor})
        expected, widths, read = weights[self.last][self.head][-1], np.zeros(row + 1), np.zeros(row + 1)
        for start, end, width in seen["lines"]:
            widths[end] = width * (start == row)
        for place, number in seen["numbers"]:
            read[place] = float(number)
        wide = 1.15 * expected[:row]  # The line of a word to itself would be a blot.
        same(widths[:row], wide, f"how thick one sees the lines to {text[:row]}, in rem", 0.01)
        same(read, np.where(expected > 0.045, expected, 0), f"numbers at the lines to {text}")
        same(seen["told"], expected, f"what is said of the lines to {text}")
        assert all(one == at for one, at in seen["knobs"]), f"knobs, and at which word: {seen['knobs']}"
        for word, percent, bar in seen["chances"]:
            chance = chances[-1, self.reference.known.index(word)]
            same([int(percent[:-1]) / 100, bar], 2 * [chance], f"the chance of {word}, and its bar", 0.011)
        most, asked = int(expected.argmax()), text[row]
        values = [most] if most % 2 and expected[most] > 0.3 else []  # The words below which it says "value".
        attends = [] if moves else ["learnt" if factor else "equal"]
        right = {"title": asked, "lit": [asked], "values": values, "attends": attends}
        right["answer"] = self.reference.known[chances[-1].argmax()]
        assert {name: seen[name] for name in right} == right, "what one sees in Ask, and what is right"
        return right["answer"]


class Reference(formula.Model):
    """A model of the page by its formula; its moves are those by hand: attention, row, from, to."""

    def __init__(self, path):
        arrays, description = program.read(path)
        super().__init__(arrays)
        self.settings, self.moves = description["settings"], []
        self.is_fixed = path.stem == "counting_fixed"
        tasks = {name: task for task, name in program.TASKS.items()}
        self.task = tasks.get(description["task"], "transformer")
        if self.task == "transformer":
            self.known = program.load("transformer").vocabulary(self.settings["pairs"])
        else:
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


def same(found, expected, what, atol=0.0051):
    """Check that one sees the same numbers, at the precision of two decimals."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=what)


def thousandths(text):
    """Return how many of 1,000 are right, of a text that says so."""
    found = re.search(r"([\d,]+) of 1,000", text)
    assert found, f"no word on how many of 1,000 are right, but: {text!r}"
    return int(found[1].replace(",", ""))


def check_weights(found, expected, where):
    """Check numbers in cells against weights; what comes later is empty, and no weight of 0."""
    expected = np.where(np.tri(*np.shape(expected)[-2:]) if "block" in where else True, expected, np.nan)
    same(np.array(found, float), expected, f"what one reads in {where}; only later words are empty, nan")


def save_random(path, task, settings):
    """Save a model with random weights as its program does."""
    module, generator = program.load(task), np.random.default_rng(0)
    model = (getattr(module, "AttentionModel", None) or module.Transformer)(**settings)
    for weight in model.weights:
        weight.assign(generator.normal(size=weight.shape) / 2 + ("gamma" in weight.path))
    module.save(model, settings, 1, path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Say what one sees, where a test of the page fails."""
    report = yield
    page = getattr(item, "funcargs", {}).get("page")
    if report.failed and page and report.when == "call":
        with contextlib.suppress(common.WebDriverException, urllib3.exceptions.HTTPError):
            report.sections.append((f"what one sees at #{page.link}", page.one("body").text))
    return report


def chromium():
    """Return the driver of a Chromium without a window."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)), "")
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(program.DEADLINE)
    return driver


@pytest.fixture(scope="session")
def browser():
    """Return the page in a Chromium; where there is none, a test is skipped, and says how to get one."""
    os.environ["SE_OFFLINE"] = "true"  # Take the driver that is there, and download none.
    try:
        page = Page(chromium())
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
        browser.driver = chromium()
        browser.reset()
    yield browser
    log = browser.driver.get_log("browser")
    assert log == [], f"the page threw: {log}"
