"""The pictures that the programs draw, as a notebook would show them, and what one reads in them."""

import pathlib

import numpy as np
import program
import pytest
from matplotlib import pyplot


@pytest.fixture
def drawn(monkeypatch):
    """Return a function that runs main(argv) where a picture stays open until it is shown, as in a notebook.

    It returns what is printed, and the figures that are shown, by the names of their files.
    """
    shown = []

    def run(task, *flags, **options):
        shown.clear()
        output = program.output_of(task, *flags, **options)
        paths = [pathlib.Path(path) for path in program.plots(output)]
        figures = {path.stem: figure for path, figure in zip(paths, shown, strict=True)}
        for path in paths:
            size = pyplot.imread(path).shape[1::-1]
            assert size == pytest.approx(150 * figures[path.stem].get_size_inches(), abs=1)
        return output, figures

    monkeypatch.setattr(pyplot, "show", lambda: shown.extend(map(pyplot.figure, pyplot.get_fignums())))
    pyplot.switch_backend("module://matplotlib.backends.backend_agg")
    yield run
    pyplot.switch_backend("agg")


def check_heatmap(figure, weights, rows, columns):
    """Check that a figure shows weights, and the names of rows and columns where they belong."""
    axes, _ = figure.axes
    (image,) = axes.images
    np.testing.assert_allclose(image.get_array(), weights, atol=1e-6)
    assert axes.yaxis_inverted() and not axes.xaxis_inverted()  # The first row is above, as it is printed.
    for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
        ticks = [tick.get_text() for tick in axis.get_ticklabels()]
        assert ticks == [names[int(step)] for step in axis.get_ticklocs()]
        assert len(ticks) == len(names) or len(names) > 30
    for text in axes.texts:
        assert float(text.get_text()) == pytest.approx(weights[text.get_position()[::-1]], abs=0.00501)


def check_losses(figure, output):
    """Check that a figure shows the losses that are printed."""
    (axes,) = figure.axes
    printed = [[step, float(loss)] for step, loss in program.losses(output).items()]
    assert axes.lines[0].get_xydata().tolist() == printed
