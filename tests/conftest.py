"""What the tests share: one trained model of each variant, and of the transformer."""

import functools
import os
import pathlib
import shutil
import signal
import types

import filelock
import program
import pytest

pytest_plugins = ["browser", "drawings", "names_and_pets"]

# Where there is a display, --plot would open windows and wait until somebody closes them.
os.environ["MATPLOTLIBRC"] = str(pathlib.Path(__file__).with_name("matplotlibrc"))
# A shell's background job ignores Ctrl-C, and so would what the tests start in one.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Return a function from a variant's name to its training: .savepath, .plotpath and .stdout.

    Of several processes, the first that asks for a variant trains it for all.
    """
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    @functools.cache
    def train(variant):
        task, flags = program.TRAININGS[variant]
        folder = base / f"trained {variant}"
        training = types.SimpleNamespace(savepath=folder / "models", plotpath=folder / "plots")
        with filelock.FileLock(base / f"trained {variant}.lock"):
            if not (folder / "output.txt").exists():
                paths = ("--savepath", training.savepath, "--plotpath", training.plotpath)
                output = program.output_of(task, "--train", "--plot", "--seed", 1, *flags, *paths)
                (folder / "output.txt").write_text(output, encoding="utf-8")
        training.stdout = (folder / "output.txt").read_text(encoding="utf-8")
        return training

    return train


@pytest.fixture
def copy_of(trained, tmp_path):
    """Return a function from a variant to a folder with its model that a test may spoil."""
    return lambda variant: shutil.copytree(trained(str(variant)).savepath, tmp_path / "models")


@pytest.fixture
def savepath(copy_of):
    """Return a folder with a model of Task 1 that a test may spoil."""
    return copy_of("1")


@pytest.fixture
def edited(tmp_path):
    """Return a function that makes an edit in a copy of Task 1's program, and returns its path."""

    def edit(old, new):
        source, path = program.source(1), tmp_path / "main.py"
        assert source.count(old) == 1
        path.write_text(source.replace(old, new), encoding="utf-8")
        return path

    return edit
