"""What the experiments print of two models in the place of each row's ten or twenty, and a record of it.

    python tests/one_run.py

It writes the record, one_run/, anew: after a change of what is measured, or of the models of play.html. Look
at what git says has changed.
"""

import contextlib
import importlib
import io
import pathlib
import tempfile
import types
import zlib
from unittest import mock

import numpy as np
from experiments import (
    by_formula,
    diagrams,
    lesson_2,
    measuring,
    pictures,
    play,
    programs,
    trainings,
    transformer,
)
from matplotlib import colors, pyplot

experiments = importlib.import_module("experiments.__main__")
FOLDER = pathlib.Path(__file__).with_name("one_run")
USUAL = {1: "counting", 2: "difference_self_att", 3: "signal_pos_enc", "transformer": "transformer"}


class Variant:
    """A Keras model with arrays in the place of its weights; many share one, as building one takes long."""

    def __init__(self, model, arrays):
        self.__dict__.update(model=model, arrays=arrays)

    def __getattr__(self, name):
        if self.model.__dict__.get("variant") is not self:
            for weight, array in zip(self.model.weights, self.arrays, strict=True):
                weight.assign(array)
            self.model.__dict__["variant"] = self
        return getattr(self.model, name)

    def __call__(self, inputs):
        return self.__getattr__("__call__")(inputs)


class OneRun(trainings.ModelCache):
    """The model of the page, and one more: no two setups or seeds have the same, so one sees which it is.

    Of a setup that the page has no model of, both are another of the same task, with other weights.
    """

    def __init__(self, folder):
        super().__init__(folder)
        self.asked = set()  # Which models: (setup, seeds).

    def chosen(self, seeds):
        """Return the first and the last, so that one sees how many there should be."""
        return [min(seeds), max(seeds)]

    def there(self, setup):
        """Return the name of a model of the page that has this setup, or the usual one of its task."""
        return next((name for name, each in play.MODELS.items() if each == setup), USUAL[setup.task])

    def checkpoint(self, setup, seed):
        return play.FOLDER / "checkpoints" / f"{self.there(setup)}.npz"

    def train(self, setups_and_seeds):
        """Nothing."""

    def train_one(self, setup, seed):
        """Nothing."""

    def models(self, setup, seeds):
        self.asked.add((setup, tuple(seeds)))
        name = self.there(setup)
        known = play.MODELS[name]
        if name not in self.loaded:
            module = self.module(known.task, known.edit)
            self.loaded[name] = programs.load_model(module, self.checkpoint(setup, 1))
            self.loaded[name].arrays = [weight.numpy() for weight in self.loaded[name].weights]
        model, variants = self.loaded[name], []
        for seed in self.chosen(seeds):
            generator = np.random.default_rng(zlib.crc32(f"{setup}, {seed}".encode()))
            noise = 0 if setup == known and seed == 1 else 0.06
            factors = [
                1 + noise * (generator.normal(size=array.shape) + generator.normal())
                for array in model.arrays
            ]
            variants.append(Variant(model, [a * f for a, f in zip(model.arrays, factors, strict=True)]))
        return variants

    def losses(self, setup, seed):
        last = zlib.crc32(f"{setup}, {seed}".encode()) / 2**32
        return [(step, last + 1 - step / 2000) for step in range(50, 2001, 50)]


def measure(name):
    """Return what a lesson prints, or what "pictures" draw, a str, and which models were asked for, a set."""
    new_data, texts_of, inside = measuring.new_data, transformer.texts_of, lesson_2.interventions
    with (
        mock.patch.object(measuring, "new_data", lambda task, _=0, **more: new_data(task, 1000, **more)),
        mock.patch.object(transformer, "texts_of", lambda model, _=0: texts_of(model, 300)),
        mock.patch.object(inside, "blind_states", inside.first_states),  # No model here has read nothing.
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()) as text,
    ):
        cache = OneRun(folder)
        if name in experiments.LESSONS:
            experiments.report([name], cache, types.SimpleNamespace(seeds=[1, 2], pictures=False))
        else:
            with mock.patch.multiple(pictures, save=describe, draw_heatmaps=mock.Mock(), OF_ONE_MODEL={}):
                with (
                    mock.patch.object(by_formula, "PICTURES", {}),
                    mock.patch.object(diagrams, "PICTURES", {}),
                ):
                    pictures.draw(experiments.LESSONS, cache)
    return text.getvalue(), cache.asked


def describe(figure, task, name):
    """Print what a picture of many models shows: texts and where, lines, bands, bars."""
    print(f"\n### {name} of Lesson {task}\n")
    for axes in figure.axes:
        for text in axes.texts:
            print(f"- {text.get_text()!r} at {listed(text.get_position())}, {text.get_color()}")
        for line in axes.lines:
            (left, _), *_, (right, _) = line.get_xydata()
            look = f"{line.get_color()} {line.get_marker()} {line.get_linestyle()}"
            print(f"- line {look} from {left:g} to {right:g}: {listed(line.get_ydata())}")
        for band in axes.collections:
            (path,) = band.get_paths()
            print(f"- band {colors.to_hex(band.get_facecolor()[0])}: {listed(path.vertices[:, 1])}")
        bars = [patch for patch in axes.patches if isinstance(patch, pyplot.Rectangle)]
        if bars:
            looks = {colors.to_hex(bar.get_facecolor()) for bar in bars}
            print(f"- bars {' '.join(sorted(looks))}: {listed([bar.get_height() for bar in bars])}")
    pyplot.close(figure)


def listed(numbers):
    """Return numbers as text, with three digits."""
    return " ".join(f"{number:.3f}" for number in numbers)


def record(name):
    """Return the path of the record of a lesson, or of the pictures."""
    return FOLDER / f"{name}.md"


NAMES = [*experiments.LESSONS, "pictures"]
if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        record(name).write_text(measure(name)[0], encoding="utf-8")
