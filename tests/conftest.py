"""What the tests share: one trained model of each variant."""

import functools
import shutil

import program
import pytest


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Return a function from a variant's name to its training: .savepath, .plotpath and .output."""

    @functools.cache
    def train(variant):
        folder = tmp_path_factory.mktemp("trained")
        task, flags = program.VARIANTS[variant]
        paths = ("--savepath", folder / "models", "--plotpath", folder / "plots")
        completed = program.run(task, "--train", "--plot", "--seed", 7, *flags, *paths)
        assert completed.returncode == 0, completed.stderr
        completed.savepath, completed.plotpath = folder / "models", folder / "plots"
        return completed

    return train


@pytest.fixture
def savepath(trained, tmp_path):
    """Return a folder with a model of Task 1 that a test may spoil."""
    return shutil.copytree(trained("1").savepath, tmp_path / "models")
