"""The pictures that the programs draw: figures as a notebook would show them, and what must be in them."""

import pathlib

import numpy as np
import program
import pytest
from matplotlib import colors, pyplot


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
        assert text.get_text() == f"{weight:.2f}"
        shades = luminance([colors.to_rgb(text.get_color()), image.cmap(image.norm(weight))[:3]]) + 0.05
        assert shades.max() / shades.min() > 3


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
