"""The pictures that the programs draw, as a notebook would show them, and what one sees in them."""

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


def contrast(one, other):
    """Return the contrast of two colours, by the WCAG's definition."""
    shades = luminance([colors.to_rgb(one), colors.to_rgb(other)]) + 0.05
    return shades.max() / shades.min()


def check_heatmap(figure, weights, rows, columns):
    """Check that a figure shows weights, in numbers that can be read, and the names of rows and columns."""
    axes, colour_bar = figure.axes
    (image,) = axes.images
    figure.draw_without_rendering()
    np.testing.assert_allclose(image.get_array(), weights, atol=1e-6)
    brightest = min(1, max(2 / weights.shape[1], weights.max()))
    assert image.norm([0, brightest]).tolist() == pytest.approx([0, 1], abs=1e-5)
    assert axes.get_title() and axes.get_xlabel() and axes.get_ylabel() and colour_bar.get_ylabel()
    assert axes.yaxis_inverted() and not axes.xaxis_inverted()  # The first row is above, as it is printed.
    for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
        check_names(axis, names)
    assert len(axes.texts) == (weights.size if len(columns) <= 25 else 0)
    for text in axes.texts:
        weight = weights[text.get_position()[::-1]]
        assert float(text.get_text()) == pytest.approx(weight, abs=0.00501)
        assert contrast(text.get_color(), image.cmap(image.norm(weight))) > 3


def check_names(axis, names):
    """Check that the ticks of an axis have their names, each of thirty, none on another."""
    ticks = axis.get_ticklabels()
    assert [tick.get_text() for tick in ticks] == [names[int(step)] for step in axis.get_ticklocs()]
    assert len(ticks) == len(names) or len(names) > 30
    boxes = [tick.get_window_extent() for tick in ticks]
    assert not any(box.overlaps(following) for box, following in zip(boxes, boxes[1:], strict=False))


def check_losses(figure, output):
    """Check that a figure shows the losses that are printed."""
    (axes,) = figure.axes
    printed = [[step, float(loss)] for step, loss in program.losses(output).items()]
    assert axes.lines[0].get_xydata().tolist() == printed
    assert axes.get_xlabel() and "nats" in axes.get_ylabel() and axes.get_title()
