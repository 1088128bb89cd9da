"""The moving picture of the front page, and a still of it: what somebody does with the page to play with.

python -m tests.experiments.film        (writes ask.gif and ask.png; it needs Chromium and its driver)
"""

import base64
import collections
import io
import shutil

from PIL import Image
from selenium import webdriver

from . import programs

PAGE = programs.BEYOND / "play.html"
IMAGES = PAGE.with_name("images")
RARE = [(0x81, 0x55, 0x00), (0xB3, 0x12, 0x3C)]  # Of small words: the query, and what is wrong.
FRAME = 60  # Milliseconds.
POINTER = """
    const pointer = document.createElement("div");
    pointer.id = "pointer";
    pointer.style.cssText = "position: fixed; z-index: 9; pointer-events: none; left: 80%; top: 70%";
    const shape = "M2 2 L2 25 L8 19 L12 28 L16 26 L12 18 L20 18 Z";
    pointer.append(draw("svg", { width: 30, height: 30, style: "width: 30px" }));
    pointer.firstChild.append(draw("path", { d: shape, fill: "#1b1c20", stroke: "#fff", "stroke-width": 2 }));
    document.body.append(pointer);
"""
PLACE = "pointer.style.left = `${arguments[0]}px`; pointer.style.top = `${arguments[1]}px`"
CENTRE = """
    const box = document.querySelector(arguments[0]).getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
"""
# Show the question alone, or all.
HIDDEN = """
    for (const part of ["ask_says", "ask_why", "ask_next", "ask_knobs"]) {
        $(part).style.opacity = arguments[0] ? 0 : 1;
    }
    $("ask_words").children[largest(Ask.weights)].classList.toggle("looked", !arguments[0]);
"""
# Draw the arcs on their way, from weights to other weights.
BETWEEN = """
    const [from, to, part] = arguments;
    const last = to.map((weight, place) => from[place] + part * (weight - from[place]));
    Ask.drawn = { ...Ask.drawn, last };
    Ask.drawArcs();
"""


class Film:
    """A visit to Ask, frame by frame."""

    def __init__(self, driver):
        self.driver, self.frames, self.at = driver, [], [820, 470]
        command = driver.execute_cdp_cmd
        size = {"width": 1040, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        command("Emulation.setDeviceMetricsOverride", size)
        # Nothing moves by itself, so that each frame is the same each time.
        calm = {"name": "prefers-reduced-motion", "value": "reduce"}
        command("Emulation.setEmulatedMedia", {"features": [calm]})
        driver.get(PAGE.as_uri() + "#ask")
        driver.execute_script(POINTER)

    def picture(self, scale=1):
        """Return what is seen of the words, the answer and its chances, a PIL image."""
        ends = "document.querySelector(arguments[0]).getBoundingClientRect()"
        top = self.driver.execute_script(f"return {ends}.top", "#ask .card") - 8
        bottom = self.driver.execute_script(f"return {ends}.bottom", "#ask_below") + 8
        clip = {"x": 16, "y": top, "width": 1008, "height": bottom - top, "scale": scale}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")

    def show(self, milliseconds=FRAME):
        """Keep what is seen for a while."""
        self.frames.append((self.picture(), milliseconds))

    def ease(self, start, end):
        """Let the arcs grow and shrink."""
        for number in range(1, 8):
            part = 1 - (1 - number / 7) ** 2
            self.driver.execute_script(BETWEEN, start, end, part)
            self.show()

    def go(self, target, count=7, dragging=False):
        """Move the pointer, with the button pressed or not."""
        end = self.driver.execute_script(CENTRE, target)
        start = self.at
        for number in range(1, count + 1):
            part = number / count
            part = part * part * (3 - 2 * part)
            lift = 90 * part * (1 - part) * 4 if dragging else 0  # A line is carried above the words.
            x, y = (start[axis] + part * (end[axis] - start[axis]) for axis in (0, 1))
            self.at = [x, y - lift]
            self.driver.execute_script(PLACE, *self.at)
            if dragging:
                self.mouse("mouseMoved")
            self.show()

    def mouse(self, kind):
        """Do something with the mouse, its left button pressed, where the pointer is."""
        place = {"x": self.at[0], "y": self.at[1], "button": "left", "clickCount": 1}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, **place})

    def save(self, path):
        """Write the frames in their 128 commonest colours: most of what is drawn has exactly one."""
        pictures = [picture for picture, _ in self.frames]
        counts = collections.Counter()
        for picture in pictures:
            counts.update({colour: count for count, colour in picture.getcolors(2**24)})
        palette = Image.new("P", (1, 1))
        common = [colour for colour, _ in counts.most_common(128 - len(RARE))]
        palette.putpalette([part for colour in [*RARE, *common] for part in colour])
        first, *others = [picture.quantize(palette=palette, dither=0) for picture in pictures]
        durations = [duration for _, duration in self.frames]
        first.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)


def play(film):
    """Ask for Ben's pet, take the line to the owl, and let the model attend equally to all."""
    script = film.driver.execute_script
    learnt = script("return Ask.weights")
    script("document.querySelector('[data-attend=equal]').click()")
    while script("return Ask.score === null"):  # Measured before, so that the text says it at once.
        pass
    script("document.querySelector('[data-attend=learnt]').click()")
    script("pointer.hidden = true")
    still = film.picture(2)
    script("pointer.hidden = false")
    nothing = [0] * len(learnt)
    script(HIDDEN, True)
    script(BETWEEN, nothing, nothing, 1)
    film.show(500)
    film.ease(nothing, learnt)
    script(HIDDEN, False)
    film.show(1000)
    film.go('[data-arc="5"]')
    film.mouse("mousePressed")
    film.go("#ask_words > :nth-child(8)", 14, dragging=True)
    film.mouse("mouseReleased")
    film.show(1000)
    before = script("return Ask.weights")
    film.go("[data-attend=equal]")
    film.mouse("mousePressed")
    film.mouse("mouseReleased")
    film.ease(before, script("return Ask.weights"))
    film.show(1500)
    return still


def draw():
    """Write ask.gif and ask.png."""
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        film = Film(driver)
        play(film).save(IMAGES / "ask.png", optimize=True)
        film.save(IMAGES / "ask.gif")
    finally:
        driver.quit()


if __name__ == "__main__":
    draw()
