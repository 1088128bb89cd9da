"""What the experiments print of two models in the place of each row's ten or twenty, and a record of it.

    python tests/one_run.py

It writes the record, one_run/, anew: after a change of what is measured, or of the models of play.html. Look
at what git says has changed.
"""

import contextlib
import importlib
import inspect
import io
import pathlib
import tempfile
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
    results,
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

    built = {}  # The models of the page, by their names.

    def __init__(self, folder, seeds):
        super().__init__(folder, seeds)
        self.asked = set()  # Which models: (setup, seeds).

    def chosen(self, seeds):
        """Return the first and the last, so that one sees how many there should be."""
        seeds = super().chosen(seeds)
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
        self.asked.add((setup, *super().chosen(seeds)))
        name = self.there(setup)
        known = play.MODELS[name]
        if name not in self.built:
            module = self.module(known.task, known.edit)
            self.built[name] = programs.load_model(module, self.checkpoint(setup, 1))
            self.built[name].arrays = [weight.numpy() for weight in self.built[name].weights]
        model, variants = self.built[name], []
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


def fewer(function, times):
    """Return a function that makes so many times fewer samples than this one."""
    usual = inspect.signature(function).parameters["samples"].default
    return lambda of, samples=usual, **more: function(of, samples // times, **more)


@contextlib.contextmanager
def two_models():
    """Let the experiments have these models; give what they print, their OneRuns, and where they write."""
    caches, inside = [], lesson_2.interventions

    def new_cache(folder, seeds=None):
        caches.append(OneRun(folder, seeds))
        return caches[-1]

    with (
        mock.patch.object(measuring, "new_data", fewer(measuring.new_data, 10)),
        mock.patch.object(transformer, "texts_of", fewer(transformer.texts_of, 30)),
        mock.patch.object(inside, "blind_states", inside.first_states),  # No model here has read nothing.
        mock.patch.object(trainings, "ModelCache", new_cache),
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(experiments, "MODELS", folder),
        mock.patch.object(results, "FOLDER", pathlib.Path(folder, "results")),
        contextlib.redirect_stdout(io.StringIO()) as text,
    ):
        yield text, caches, results.FOLDER


def measure(*flags):
    """Return what the experiments print with these flags, and write, a dict; and which models they ask."""
    with two_models() as (text, caches, folder):
        experiments.main(flags)
        written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*")}
    return text.getvalue(), written, caches[0].asked


def draw():
    """Return what the pictures of many models show."""
    with (
        two_models() as (text, _, folder),
        mock.patch.multiple(pictures, save=describe, draw_heatmaps=mock.Mock(), OF_ONE_MODEL={}),
        mock.patch.object(by_formula, "PICTURES", {}),
        mock.patch.object(diagrams, "PICTURES", {}),
    ):
        pictures.draw(experiments.LESSONS, trainings.ModelCache(folder))
    return text.getvalue()


def describe(figure, task, name):
    """Print what a picture of many models shows: texts and where, lines, bands, bars."""
    print(f"\n### {name} of Lesson {task}\n")
    for axes in figure.axes:
        ends = listed((*axes.get_xlim(), *axes.get_ylim()))
        print(f"- axes {axes.get_xlabel()!r} {axes.get_ylabel()!r} {ends}")
        for ticks in (axes.get_xticklabels(), axes.get_yticklabels()) if axes.axison else ():
            print(f"- ticks {' '.join(tick.get_text() for tick in ticks)}")
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


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    record("pictures").write_text(draw(), encoding="utf-8")
    for name in experiments.LESSONS:
        record(name).write_text(measure("--lesson", name)[0], encoding="utf-8")
