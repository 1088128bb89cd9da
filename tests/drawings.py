"""The pictures of the programs, as a notebook would show them, and of the lessons; what one sees in them."""

import io
import pathlib
import re

import numpy as np
import program
import pytest
from experiments import drawing
from matplotlib import colors, patches, pyplot
from PIL import Image


@pytest.fixture
def drawn(monkeypatch):
    """Return a function that runs main(argv) where a picture stays open until it is shown, as in a notebook.

    It returns what is printed, and the figures that are shown, by the names of their files.
    """
    shown = []

    def run(task, *flags, **options):
        pyplot.close("all")
        shown.clear()
        output = program.output_of(task, *flags, **options)
        paths = [pathlib.Path(path) for path in program.plots(output)]
        figures = {path.stem: figure for path, figure in zip(paths, shown, strict=True)}
        for path in paths:
            size = pyplot.imread(path).shape[1::-1]
            assert size == pytest.approx(150 * figures[path.stem].get_size_inches(), abs=1)
        assert program.files(paths[0].parent) == sorted(path.name for path in paths)
        return output, figures

    monkeypatch.setattr(pyplot, "show", lambda: shown.extend(map(pyplot.figure, pyplot.get_fignums())))
    pyplot.switch_backend("module://matplotlib.backends.backend_agg")
    yield run
    pyplot.close("all")
    pyplot.switch_backend("agg")


def luminance(colour):
    """Return the relative luminance of colours, (..., 3 or 4), by the WCAG's definition."""
    parts = np.array(colour)[..., :3]
    linear = np.where(parts > 0.04045, ((parts + 0.055) / 1.055) ** 2.4, parts / 12.92)
    return linear @ (0.2126, 0.7152, 0.0722)


def check_heatmap(figure, weights, rows, columns):
    """Check that a figure shows weights, in numbers that can be read, and the names of rows and columns."""
    axes, *others = figure.axes
    (colour_bar,) = axes.child_axes + others
    (image,) = axes.images
    figure.draw_without_rendering()  # Not in the resolution of the file.
    np.testing.assert_allclose(image.get_array(), weights, atol=1e-6)
    brightest = min(1, max(2 / weights.shape[1], weights.max()))
    assert image.get_interpolation() == "nearest" and image.norm.vmax <= 1
    assert image.norm([0, brightest / 2, brightest]).tolist() == pytest.approx([0, 0.5, 1], abs=1e-5)
    assert (np.diff(luminance(image.cmap(np.linspace(0, 1)))) > 0).all()  # Without seeing colours, too.
    assert axes.get_title() and axes.get_xlabel() and axes.get_ylabel() and colour_bar.get_ylabel()
    assert axes.yaxis_inverted() and not axes.xaxis_inverted()  # The first row is above, as it is printed.
    box, room = axes.get_window_extent(), max(weights.shape) <= 23
    sides = np.array((box.width, box.height)) / weights.shape[::-1] / figure.dpi  # Of a cell, in inches.
    assert sides[0] == pytest.approx(sides[1], rel=0.01) or not room
    for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
        check_names(axis, names, len(names) <= 46)
    places = {text.get_position() for text in axes.texts}
    assert places == ({*np.ndindex(weights.shape[::-1])} if max(weights.shape) <= 40 else set())
    for text in axes.texts:
        weight = weights[text.get_position()[::-1]]
        assert re.fullmatch(r"[01]\.\d\d", text.get_text())
        assert float(text.get_text()) == pytest.approx(weight, abs=0.00501)
        assert contrast(text.get_color(), image.cmap(image.norm(weight))) > 3


def check_names(axis, names, each):
    """Check that the ticks of an axis have their names, each of them where there is room, none on another."""
    ticks = axis.get_ticklabels()
    assert [tick.get_text() for tick in ticks] == [names[int(step)] for step in axis.get_ticklocs()]
    assert len(ticks) == len(names) or not each
    boxes = [tick.get_window_extent() for tick in ticks]
    neighbours = zip(boxes, boxes[1:], strict=False)
    assert len(names) > 999 or not any(box.overlaps(following) for box, following in neighbours)


def check_bars(figure, heights, letters):
    """Check that a figure shows a bar of each height, at 0, 1, ..., and the first letters below them."""
    (axes,) = figure.axes
    figure.draw_without_rendering()
    middles = [bar.get_x() + bar.get_width() / 2 for bar in axes.patches]
    assert middles == pytest.approx(range(len(heights)))
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(heights, abs=1e-6)
    assert axes.get_xlabel() and axes.get_ylabel() and axes.get_title()
    check_names(axes.xaxis, [*letters, *map(str, range(len(letters), len(heights)))], len(heights) <= 20)


def check_losses(figure, output):
    """Check that a figure shows the losses that are printed."""
    (axes,) = figure.axes
    printed = [[step, float(loss)] for step, loss in program.losses(output).items()]
    assert axes.lines[0].get_xydata().tolist() == printed
    assert axes.get_xlabel() and "nats" in axes.get_ylabel() and axes.get_title()


# --- The pictures of the lessons, whose first axes are their page -----------------------------------------


def number(text):
    """Return the number that a text of a picture says, a float, or None."""
    plain = text.get_text().replace("−", "-").replace("∞", "inf").replace(",", "")
    found = re.fullmatch(r"(?:= |sum )?(-?(?:\d*\.?\d+|inf))", plain)
    return float(found[1]) if found else None


def lines(figure):
    """Return the texts of a page as one reads them: a list for each line, from the left to the right."""
    found = {}
    for text in figure.axes[0].texts:
        if text.get_text():
            found.setdefault(round(text.get_position()[1], 3), []).append(text)
    return [sorted(found[down], key=lambda text: text.get_position()[0]) for down in sorted(found)]


def numbers(figure):
    """Return the numbers on a page as one reads them, a list for each line that has some."""
    found = [[number(text) for text in line if number(text) is not None] for line in lines(figure)]
    return [line for line in found if line]


def bars(axes):
    """Return the heights of the bars of a plane, each of which has its height as a number."""
    heights = np.array([patch.get_height() for patch in axes.patches])
    assert [number(text) for text in axes.texts] == pytest.approx(heights, abs=0.00501, rel=0.004)
    return heights


def arrows(axes, colour):
    """Return where each arrow of a colour begins and ends, float (arrows, 2, 2)."""
    drawn = [text for text in axes.texts if getattr(text, "arrow_patch", None)]
    drawn = [arrow for arrow in drawn if colors.same_color(arrow.arrow_patch.get_edgecolor(), colour)]
    return np.array([(arrow.xyann, arrow.xy) for arrow in drawn])


def colour_below(text):
    """Return the colour of the last cell or box below a text, else white."""
    across, down = text.get_position()
    colour = "white"
    for box in text.axes.patches:
        if isinstance(box, pyplot.Rectangle | patches.FancyBboxPatch):
            left, top = box.get_x(), box.get_y()
            if left < across < left + box.get_width() and top < down < top + box.get_height():
                colour = box.get_facecolor()
    return colors.to_rgb(colour)


def contrast(one, other):
    """Return the contrast of two colours, by the WCAG's definition."""
    shades = luminance([colors.to_rgb(one), colors.to_rgb(other)]) + 0.05
    return shades.max() / shades.min()


def is_like(colour, other):
    """Return whether two colours have the same hue; one may be darker, to be read."""
    hues = [colors.rgb_to_hsv(colors.to_rgb(each))[0] for each in (colour, other)]
    return abs(hues[0] - hues[1]) < 0.05


def check_committed(figure, path):
    """Check that a figure looks as a picture of a page does.

    Each version of matplotlib sets letters a little differently: of a picture by another one, only the size.
    """
    file = io.BytesIO()
    figure.savefig(file, dpi=drawing.WIDTH / figure.get_figwidth())
    file.seek(0)
    drawn, committed = pyplot.imread(file), pyplot.imread(path)
    assert drawn.shape == committed.shape
    if Image.open(path).text["Software"] == Image.open(file).text["Software"]:
        np.testing.assert_allclose(drawn, committed, atol=0.1)
