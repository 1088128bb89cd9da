"""The moving picture of the front page: it is filmed with the page as it is now."""

import numpy as np
import pytest
from experiments import film
from matplotlib import pyplot
from PIL import Image, ImageSequence

# The weights as they are drawn, those that they should be, the width of the pointer, what is below it, and
# whether the answer is seen.
DRAWN = """
    const { width } = document.querySelector("#pointer path").getBoundingClientRect();
    const at = document.elementsFromPoint(parseFloat(pointer.style.left), parseFloat(pointer.style.top));
    const below = ["#ask_words > :nth-child(8)", "[data-attend=equal]"].filter(
        (place) => at.some((part) => part.closest(place)),
    );
    return [
        Ask.drawn.last, Ask.weights, pointer.hidden ? 99 : width, below.join(), $("ask_says").style.opacity,
    ];
"""


def test_ben_has_the_cat_then_the_owl_then_a_guess(page, monkeypatch):
    """The still, and what stands for a second: the line at the cat, at the owl, equal weights."""
    page.move()
    saved = {}

    class Answer(str):
        """What is read in the place of a picture: its scale, its answer, and whether it has come to rest."""

        def save(self, path, **_):
            saved[path.name] = self

    real = film.Film.picture

    def picture(self, scale=1):
        if scale == 2:  # All that the still of the front page shows.
            still = pyplot.imread(film.IMAGES / "ask.png")
            assert page.js("return pointer.hidden")
            assert real(self, scale).size == pytest.approx(still.shape[1::-1], rel=0.05)
        drawn, weights, pointer, below, seen = page.js(DRAWN)
        answer = page.find("ask_answer").get_attribute("data-answer") if seen != "0" else "?"
        moving = "" if np.allclose(drawn, weights) and pointer > 9 else ", moving"
        return Answer(f"{scale} {answer}{moving}{below and f', at {below}'}")

    monkeypatch.setattr(film.Film, "picture", picture)
    monkeypatch.setattr(film.Film, "save", lambda self, path: saved.update({path.name: self.frames}))
    monkeypatch.setattr(film.webdriver, "Chrome", lambda *_: page.driver)
    monkeypatch.setattr(page.driver, "quit", lambda: None)
    film.draw()
    cat, owl, guess = (said for said, milliseconds in saved["ask.gif"] if milliseconds >= 1000)
    assert (saved["ask.png"], cat, owl[:5]) == ("2 cat", "1 cat", "1 owl") and guess[:5] not in (cat, "1 owl")
    assert owl.endswith(":nth-child(8)") and guess.endswith("=equal]")
    said = [said for said, _ in saved["ask.gif"]]
    assert said[:7] == ["1 ?, moving"] * 7
    assert said[said.index(owl) - 1][:5] == "1 owl"  # The line has come along with the pointer.
    assert all("moving" in each for each in said[-8:-2])  # From one line to equal ones.
    assert 5 < sum(milliseconds for _, milliseconds in saved["ask.gif"]) / 1000 < 8


def test_a_film_is_shown_for_ever_each_frame_as_long_as_it_should(tmp_path):
    made, colours = film.Film.__new__(film.Film), [(0x81, 0x55, 0), (255, 255, 255), (0xB3, 0x12, 0x3C)]
    made.frames = [(Image.new("RGB", (9, 9), colour), 60 + 440 * (colour[1] > 99)) for colour in colours]
    made.save(tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as saved:
        seen = [(frame.convert("RGB").getpixel((4, 4)), frame.info["duration"], frame.info["loop"])
                for frame in ImageSequence.Iterator(saved)]  # fmt: skip
    assert seen == [(colours[0], 60, 0), (colours[1], 500, 0), (colours[2], 60, 0)]
