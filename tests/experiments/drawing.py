"""What every picture is drawn with: a page, words, cells, bars, boxes and arrows, in one meaning a colour.

A page is as wide as 16 inches, of which 800 pixels of a screen make one in 50. Places on it are in inches
from its upper left corner; text of SIZE is then as large as that of the page around it.
"""

import matplotlib.axes
import matplotlib.colors
import matplotlib.patches
import matplotlib.pyplot as pyplot
import numpy as np

from . import programs

WIDTH = 1680  # Pixels.
QUERY, KEY, WEIGHT, VALUE = "#E69F00", "#0072B2", "#D55E00", "#009E73"  # Of Okabe and Ito (2008).
DARK_YELLOW = "#9A6700"
MORE = ("#CC79A7", "#56B4E9")  # Theirs, too; they mean nothing of their own.
INK, GREY, LINE, PALE = "#222222", "#616161", "#bdbdbd", "#f0f0f0"
SIZE, SIDE = 25, 0.9  # Points; inches of a cell.


class Page(matplotlib.axes.Axes):
    """A page to draw on, or a plane on it for a plot."""

    def new_plane(self, left, top, wide, high, **settings):
        """Return a plane at a place of this page; settings are those of matplotlib's axes."""
        height = self.get_ylim()[0]
        place = (left / 16, 1 - (top + high) / height, wide / 16, high / height)
        plane = self.figure.add_axes(place, axes_class=Page, **settings)
        plane.spines[["top", "right"]].set_visible(False)
        plane.tick_params(labelsize=SIZE - 2)
        return plane

    def write(self, across, down, text, colour=INK, size=SIZE, to="center", **look):
        """Write a text around a place, or to its left or right; a query's yellow is darkened to be read."""
        sides = {"left": "right", "right": "left", "center": "center"}
        colour = DARK_YELLOW if colour == QUERY else colour
        return self.text(across, down, text, color=colour, size=size, ha=sides[to], va="center", **look)

    def write_names(self, left, down, names, side=SIDE, size=SIZE - 2):
        """Write the names of columns of cells."""
        for column, name in enumerate(names):
            self.write(left + (column + 0.5) * side, down, name, GREY, size)

    def draw_cells(self, left, top, numbers, colour, names=(), rows=(), side=SIDE, full=1, size=SIZE):
        """Draw a vector or a matrix as cells, the stronger in colour the further from 0, with its numbers.

        Args:
            left, top: floats, the corner.
            colour: str, or a matplotlib colormap: then cells are drawn as in the programs' heatmaps.
            numbers: float (columns,) or (rows, columns).
            names, rows: str of columns and rows, to stand above them and before them.
            side: float, of a cell.
            full: float, the number that has the whole colour.
            size: points of the numbers, 0 for none.
        """
        numbers, plain = np.atleast_2d(np.asarray(numbers, dtype=float)), isinstance(colour, str)
        gap = 0.06 * side if plain else 0
        for (row, column), number in np.ndenumerate(numbers):
            strength = 0 if np.isinf(number) else min(1, abs(number) / full) ** (0.7 if plain else 1)
            place = (left + column * side + gap / 2, top + row * side + gap / 2)
            style = {
                "boxstyle": f"round,pad=0,rounding_size={0.1 * side if plain else 0.001}",
                "linewidth": 0,
            }
            patch = matplotlib.patches.FancyBboxPatch(place, side - gap, side - gap, **style)
            face = shade(colour, strength) if number >= 0 else (1, 1, 1)
            patch.set_facecolor(face)
            if number < 0:
                patch.set(edgecolor=shade(colour, strength) if strength else LINE, linewidth=3)
            self.add_patch(patch)
            if not size:
                continue
            light = np.dot(face[:3], (0.299, 0.587, 0.114))  # From 0 to 1.
            text = "white" if light < 0.6 else INK if strength else GREY
            weight = "bold" if strength and plain else "normal"
            middle = (left + (column + 0.5) * side, top + (row + 0.5) * side)
            narrower = 0.82 if len(short(number)) > 3 else 1
            self.write(*middle, short(number), text, size * narrower, weight=weight)
        self.write_names(left, top - 0.35, names, side, size - 2)
        for row, name in enumerate(rows):
            self.write(left - 0.25, top + (row + 0.5) * side, name, to="left")

    def draw_weight(self, left, down, weight, one):
        """Draw a weight as a bar that begins at a place, and its number; a weight of 1 is `one` long."""
        length = one * weight
        self.add_patch(matplotlib.patches.Rectangle((left, down - 0.25), length, 0.5, color=WEIGHT))
        self.write(left + length + 0.15, down, short(weight), WEIGHT, to="right", weight="bold")

    def draw_box(self, across, down, text, colour=LINE, fill="white", wide=2.0, high=0.9, **look):
        """Draw a box with a text around a place."""
        style = {"boxstyle": "round,pad=0,rounding_size=0.15", "linewidth": 2.5}
        corner = (across - wide / 2, down - high / 2)
        patch = matplotlib.patches.FancyBboxPatch(
            corner, wide, high, edgecolor=colour, facecolor=fill, zorder=5, **style
        )
        self.add_patch(patch)
        self.write(across, down, text, zorder=6, **look)

    def draw_arrow(self, tail, head, colour=GREY, width=3, bend=0.0, points=True, zorder=2):
        """Draw an arrow, or a line if it does not point; `bend` is how far it leaves the straight way."""
        style = f"-|>,head_length={0.35 + 0.06 * width},head_width={0.16 + 0.04 * width}" if points else "-"
        look = {"arrowstyle": style, "mutation_scale": 22, "linewidth": width, "color": colour}
        look |= {"shrinkA": 0, "shrinkB": 0, "connectionstyle": f"arc3,rad={bend}", "capstyle": "butt"}
        self.annotate("", head, tail, arrowprops=look | {"joinstyle": "miter"}, zorder=zorder)

    def draw_heights(self, heights, names, colour, most=None):
        """Draw bars, with their heights as numbers and their names below; `most` fills the plane."""
        most = most or max(heights)
        self.bar(range(len(heights)), heights, 0.75, color=colour)
        self.set(yticks=[], ylim=(0, 1.3 * most), xlim=(-0.6, len(heights) - 0.4))
        self.set_xticks(range(len(heights)), names, size=SIZE)
        self.tick_params(length=0)
        self.spines["left"].set_visible(False)
        for place, height in enumerate(heights):
            self.write(place, height + 0.13 * most, short(height))


def new_page(height):
    """Return a page of 16 by `height` inches."""
    figure = pyplot.figure(figsize=(16, height))
    page = figure.add_axes((0, 0, 1, 1), axes_class=Page, xlim=(0, 16), ylim=(height, 0))
    page.axis("off")
    return page


def new_chart(title, across, up, **settings):
    """Return a plane on a page of its own, with its titles and a grid; settings are those of its axes."""
    page = new_page(10)
    plane = page.new_plane(1.9, 1.2, 13.7, 7, **settings)
    page.write(0.3, 0.5, title, to="right", weight="bold")
    plane.set_xlabel(across, size=SIZE, labelpad=12)
    plane.set_ylabel(up, size=SIZE, labelpad=12)
    plane.grid(color="#e4e4e4", linewidth=1.5)
    plane.set_axisbelow(True)
    return plane


def save(figure, task, name):
    """Write a figure to the images of a task, with the version of matplotlib that has drawn it."""
    path = programs.script(task).parent / "images" / f"{name}.png"
    figure.savefig(path, dpi=WIDTH / figure.get_figwidth(), pil_kwargs={"optimize": True})
    pyplot.close(figure)


def short(number):
    """Return a number as a page writes it: 1, 2.8, 4.06, 0.12, 0.50, −2."""
    if np.isinf(number):
        return "−∞"
    if number == round(number):
        return f"{number:.0f}".replace("-", "−")
    text = f"{number:.2f}"
    if abs(number) >= 1:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−")


def shade(colour, strength):
    """Return a colour between PALE (strength 0) and `colour` (1), or that of a colormap, a tuple."""
    if isinstance(colour, str):
        colour = matplotlib.colors.LinearSegmentedColormap.from_list("shades", [PALE, colour])
    return colour(float(strength))
