"""What the tests share: one trained model of each variant, and of the transformer."""

import functools
import os
import pathlib
import shutil
import signal
import time
import types

import program
import pytest

pytest_plugins = ["browser", "drawings", "figures", "names_and_pets"]

# Where there is a display, --plot would open windows and wait until somebody closes them.
os.environ["MATPLOTLIBRC"] = str(pathlib.Path(__file__).with_name("matplotlibrc"))
# A shell's background job ignores Ctrl-C, and so would what the tests start in one.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Return a function from a variant's name to its training: .savepath, .plotpath and .stdout.

    Tests run in several processes; the first that asks for a variant trains it for all.
    """
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    @functools.cache
    def train(variant):
        folder = base / f"trained {variant}"
        task, flags = program.TRAININGS[variant]
        training = types.SimpleNamespace(savepath=folder / "models", plotpath=folder / "plots")
        try:
            folder.mkdir()
        except FileExistsError:
            deadline = time.monotonic() + 300
            while not (folder / "output.txt").exists():
                assert not (folder / "failed").exists(), "the training has failed in another process"
                assert time.monotonic() < deadline, "the process that trains has not ended"
                time.sleep(0.1)
        else:
            paths = ("--savepath", training.savepath, "--plotpath", training.plotpath)
            try:
                output = program.output_of(task, "--train", "--plot", "--seed", 1, *flags, *paths)
            except BaseException:
                (folder / "failed").touch()
                raise
            (folder / "unfinished").write_text(output, encoding="utf-8")
            (folder / "unfinished").rename(folder / "output.txt")
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
    """Return a function that copies a program with an edit, beside it the main.py, and returns its path."""

    def edit(task, old, new):
        source, folder = program.source(task), tmp_path / "edited"
        assert source.count(old) == 1
        folder.mkdir()
        shutil.copy(program.script(task).with_name("main.py"), folder)
        path = folder / program.script(task).name
        path.write_text(source.replace(old, new), encoding="utf-8")
        return path

    return edit
