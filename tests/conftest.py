"""What the tests share: one trained model of each variant, and how a refusal is checked."""

import functools
import shutil
import subprocess

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


@pytest.fixture
def refuses(capfd):
    """Return a function that runs main(argv) in this process and checks that it is refused."""

    def check(task, *flags, status, words):
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            program.load(task).main([str(flag) for flag in flags])
        completed = subprocess.CompletedProcess(flags, stopped.value.code, *capfd.readouterr())
        program.refused(completed, status, *words)
        return completed

    return check


def pytest_generate_tests(metafunc):
    """Give a test that asks for `examples` two sizes: one for every day, and one for the slow part."""
    if "examples" in metafunc.fixturenames:
        usual, many = metafunc.function.examples
        metafunc.parametrize("examples", (usual, pytest.param(many, marks=pytest.mark.slow)))
