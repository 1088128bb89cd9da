"""What is to be seen in the pictures that --plot draws: colours are read from the file, as a reader does."""

import pathlib
import re

import numpy as np
import program
import pytest
from matplotlib import colors, pyplot


def drawn(output):
    """Return the figures of the run in this process that printed this, by the names of their files, a dict.

    Each has the picture in its file, too, float (height, width, 4), and the size of this picture.
    """
    found = {}
    plots = [pathlib.Path(path) for path in re.findall(r"^Plot saved to (.+)\.$", output, re.MULTILINE)]
    windows = pyplot.get_fignums()
    assert len(windows) == len(plots), f"{len(windows)} windows open for {len(plots)} saved pictures"
    for path, number in zip(plots, windows):
        figure = found[path.stem] = pyplot.figure(number)
        if hasattr(figure, "pixels"):
            continue  # It was looked at before.
        width, height = figure.dpi * figure.get_size_inches()
        assert width < 1366 and height < 768, f"the window of {path.stem} is larger than a laptop's screen"
        figure.set_dpi(150)
        figure.canvas.draw()
        figure.pixels = pyplot.imread(path)
        size, expected = figure.pixels.shape[1::-1], figure.get_size_inches() * 150
        assert size == pytest.approx(expected, abs=1), f"{path.name} has {size} pixels, not 150 to an inch"
        titles = [text for axes in figure.axes for text in (axes.title, axes.xaxis.label, axes.yaxis.label)]
        for text in (*titles, *figure.texts):
            (left, low), (right, high) = text.get_window_extent().get_points()
            inside = left > -2 and low > -2 and right < size[0] + 2 and high < size[1] + 2
            assert inside or not text.get_text(), f"in {path.stem}, the edge cuts off {text.get_text()!r}"
    return found


def colours(axes, x, y):
    """Return the colours, float (points, 3), that the picture has at these points of axes."""
    points = np.stack([np.ravel(each) for each in np.broadcast_arrays(x, y)], axis=-1)
    across, up = axes.transData.transform(points).astype(int).T
    return axes.figure.pixels[-1 - up, across, :3]


def contrast(*pair):
    """Return the contrast of two colours, as https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio defines it."""
    dark, light = sorted(np.power(color, 2.2) @ (0.2126, 0.7152, 0.0722) for color in pair)
    return (light + 0.05) / (dark + 0.05)


def check_heatmap(axes, weights, rows, columns, top, numbers=False):
    """Check that a heatmap shows weights, nan where it is to be empty, and the names of rows and columns.

    Its colours go up to the weight `top`; numbers says whether the cells have numbers.
    """
    bar, picture = axes.figure.axes[-1], axes.get_title().split("\n")[0]
    assert bar.get_ylabel() == "Weight", f"{picture}: nothing says that its colours are weights"
    low, high = bar.get_ylim()
    too = f"{picture} is all pale or all dark: its colours end at {high:.3f}, not {top:.3f}"
    assert (low, high) == pytest.approx((0, top), rel=0.01), too
    names = np.array([f"{row!r} to {column!r}" for row in rows for column in columns])
    row, column = np.indices(weights.shape).reshape(2, -1)
    seen, flat = colours(axes, column - 0.4 * numbers, row - 0.4 * numbers), weights.ravel()
    scale = colours(bar, 0.5, np.linspace(0.01, 0.99, 99) * top)
    assert contrast(scale[0], (0, 0, 0)) > contrast(scale[-1], (0, 0, 0)), f"{picture}: darker means less"
    distances = abs(seen[:, None] - scale).max(axis=-1)  # (cells, 99)
    read = np.where(distances.min(axis=-1) < 0.1, top * (1 + distances.argmin(axis=-1)) / 100, np.nan)
    wrong = np.flatnonzero(~np.isclose(read, flat, rtol=0, atol=0.05 * top, equal_nan=True))[:3]
    colour = f"weights {flat[wrong]}, colours those of {read[wrong]} (nan: of none, as of a later word)"
    assert not wrong.size, f"{picture}, {names[wrong]}: {colour}"
    assert len(axes.texts) == numbers * weights.size, f"{picture}: {len(axes.texts)} cells have a number"
    for text in axes.texts:
        corners = axes.transData.inverted().transform(text.get_window_extent())
        column, row = corners.mean(axis=0).round().astype(int)
        cell, number = row * len(columns) + column, text.get_text()
        assert abs(corners - (column, row)).max() < 0.5, f"{picture}: {number} is not inside its cell"
        where = f"{picture}, {names[cell]}: {number} in {text.get_color()}"
        assert float(number) == pytest.approx(flat[cell], abs=0.0061), f"{where}, and it is {flat[cell]:.3f}"
        readable = contrast(colors.to_rgb(text.get_color()), seen[cell])
        assert readable > 4.4, f"{where} can hardly be read; choose white or black in draw_heatmap()"
    height = axes.bbox.height / len(rows) / 150
    assert height > 0.15, f"{picture}: a row is {height:.2f} inches high, too thin to see its colours"
    assert axes.yaxis_inverted() and not axes.xaxis_inverted(), f"{picture}: the first row is not above"
    for axis, all_names in ((axes.yaxis, rows), (axes.xaxis, columns)):
        labels = axis.get_ticklabels()
        texts, boxes = [label.get_text() for label in labels], [label.get_window_extent() for label in labels]
        named = [all_names[int(step)] for step in axis.get_ticklocs()]
        assert texts == named, f"{picture}: rows or columns are called {texts}, and are {named}"
        assert len(texts) == len(all_names) or len(all_names) > 15, f"{picture}: only {texts} have a name"
        overlapping = [text for text, one, other in zip(texts, boxes, boxes[1:]) if one.overlaps(other)]
        assert not overlapping, f"{picture}: these names overlap the next ones: {overlapping}"


def check_losses(figure, output):
    """Check that a picture shows the losses that a training has printed, where its axes say."""
    (axes,), losses = figure.axes, program.losses(output)
    (line,), points = axes.lines, [[step, loss] for step, loss in losses.items()]
    assert line.get_xydata().tolist() == points, f"the curve shows {line.get_xydata()}, not {points}"
    wrong = abs(colours(axes, *zip(*points)) - colors.to_rgb(line.get_color())).max(axis=-1) > 0.1
    assert not wrong.any(), f"in the picture of the loss, no curve is to be seen at {np.array(points)[wrong]}"
    assert contrast(colors.to_rgb(line.get_color()), (1, 1, 1)) > 3, "the curve of the loss is too pale"
    assert axes.get_xlim()[0] == 0, f"the steps of the loss begin at {axes.get_xlim()[0]}, not at 0"
    assert not (axes.xaxis_inverted() or axes.yaxis_inverted()), "the loss is upside down or back to front"
    for axis, word in ((axes.xaxis, "step"), (axes.yaxis, "nats")):
        assert word in axis.label.get_text(), f"an axis of the loss is called {axis.label.get_text()!r}"
        places, (low, high) = zip(axis.get_ticklabels(), axis.get_ticklocs()), axis.get_view_interval()
        shown = [(label.get_text(), place) for label, place in places if low <= place <= high]
        plain = re.fullmatch(r"([\d.]+ )+", "".join(f"{text} " for text, _ in shown))
        assert plain, f"on an axis of the loss stand {shown}, the text and the number"
        assert [float(text) for text, _ in shown] == pytest.approx([place for _, place in shown])
