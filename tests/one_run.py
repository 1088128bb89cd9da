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
from experiments import lesson_2, measuring, play, programs, trainings, transformer

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
        super().__init__(folder, [1, 2])
        self.asked = set()  # Which models: (setup, seeds).

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
            generator = np.random.default_rng(zlib.crc32(f"{setup} {seed}".encode()))
            noise = 0 if setup == known and seed == 1 else 0.1
            factors = [1 + noise * generator.normal(size=array.shape) for array in model.arrays]
            variants.append(Variant(model, [a * f for a, f in zip(model.arrays, factors, strict=True)]))
        return variants

    def losses(self, setup, seed):
        return [(50, 9), (2200, zlib.crc32(f"{setup} {seed}".encode()) / 2**32)]


def measure(lesson):
    """Return what is printed of a lesson, a str, and which models it asked for: a set of (setup, seeds)."""
    new_data, texts_of, inside = measuring.new_data, transformer.texts_of, lesson_2.interventions
    with (
        mock.patch.object(measuring, "new_data", lambda task, _=0, **more: new_data(task, 1000, **more)),
        mock.patch.object(transformer, "texts_of", lambda model, _=0: texts_of(model, 300)),
        mock.patch.object(inside, "blind_states", inside.first_states),  # No model here has read nothing.
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()) as text,
    ):
        cache = OneRun(folder)
        experiments.report([lesson], cache, types.SimpleNamespace(seeds=[1, 2], pictures=False))
    return text.getvalue(), cache.asked


def record(lesson):
    """Return the path of the record of a lesson."""
    return FOLDER / f"lesson_{lesson}.md"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in experiments.LESSONS:
        record(name).write_text(measure(name)[0], encoding="utf-8")
