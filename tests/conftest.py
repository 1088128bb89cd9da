"""What the tests share: trained models, and a folder with a small one."""

import functools
import os
import pathlib
import shutil
import signal
import types

import filelock
import program
import pytest

pytest_plugins = ["browser"]

# Where there is a display, --plot would open windows and wait until somebody closes them.
os.environ["MATPLOTLIBRC"] = str(pathlib.Path(__file__).with_name("matplotlibrc"))
# A shell's background job ignores Ctrl-C, and so would what the tests start in one.
signal.signal(signal.SIGINT, signal.default_int_handler)

TRAININGS = program.VARIANTS | {"transformer": ("transformer", ("--steps", 500))}


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Return a function from a variant to what --train --test --plot with --seed 1 left and printed.

    Each program has run once in a process of its own, where Keras has settings of the reader's that would
    stop it or give other losses. Of several of the tests, one trains for all.
    """
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    @functools.cache
    def train(variant):
        task, flags = TRAININGS[variant]
        folder = base / f"trained {variant}"
        training = types.SimpleNamespace(savepath=folder / "models", plotpath=folder / "plots")
        with filelock.FileLock(base / f"trained {variant}.lock", timeout=program.DEADLINE):
            if not (folder / "output.txt").exists():
                words = ["--train", "--test", "--plot", "--seed", 1, *flags]
                words += ["--savepath", training.savepath, "--plotpath", training.plotpath]
                if variant in ("2", "3"):
                    completed = program.in_process(task, *words)
                else:
                    folder.mkdir(exist_ok=True)
                    (folder / "keras.json").write_text('{"backend": "jax", "floatx": "float64"}')
                    keras = {"KERAS_HOME": str(folder), "TF_USE_LEGACY_KERAS": "1", "KERAS_BACKEND": "jax"}
                    completed = program.run(task, *words, environment=keras)
                said = program.messages(completed)
                assert completed.returncode == 0 and not said, f"Task {variant} says {said[-3:]}"
                (folder / "output.txt").write_text(completed.stdout, encoding="utf-8")
        training.stdout = (folder / "output.txt").read_text(encoding="utf-8")
        return training

    return train


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Return a function from a task to a folder with a model of it that one training step has made."""

    @functools.cache
    def train(task):
        folder = tmp_path_factory.mktemp("small") / "models"
        program.output_of(task, "--train", "--steps", 1, "--savepath", folder, compiled=False)
        return folder

    return train


@pytest.fixture
def savepath(small, tmp_path):
    """Return a folder with a model of Task 1 that a test may spoil."""
    return shutil.copytree(small(1), tmp_path / "models")
