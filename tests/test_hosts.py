"""Where the programs run: notebooks, machines without a display, settings of a shell, other Pythons."""

import gc
import io
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import types

import program
import pytest
from matplotlib import pyplot
from matplotlib.backends import backend_agg

# There is no display, and what has been set for this process, or by it, is not there either.
UNSET = dict.fromkeys(("DISPLAY", "WAYLAND_DISPLAY", "MATPLOTLIBRC", "MPLBACKEND"))
MATPLOTLIBRC = "backend: module://json\nimage.origin: lower\nfont.size: 20\n"  # That is no backend.
STYLES = ["dark_background", "ggplot", {"image.origin": "lower", "font.size": 20, "image.cmap": "gray"}]


@pytest.fixture(autouse=True)
def no_figures():
    """Close what pictures that could not be written have left open, before and after a test."""
    pyplot.close("all")
    yield
    pyplot.close("all")
    pyplot.switch_backend("agg")


def printed_and_drawn(output, folder):
    """Return the lines that name no file, and a dict from the name of each PNG file to its content."""
    lines = [line for line in output.splitlines() if " saved to " not in line]
    return lines, {path.name: path.read_bytes() for path in folder.glob("*.png")}


def test_settings_of_a_shell_change_neither_losses_nor_pictures(trained, tmp_path):
    """And the folders are beside the program, wherever the user stands; they are shown from there."""
    main, lesson = pathlib.Path("lesson/main.py"), tmp_path / "lesson"
    lesson.mkdir()
    shutil.copy(program.script(1), lesson)
    (tmp_path / "matplotlibrc").write_text(MATPLOTLIBRC, encoding="utf-8")
    flags, test = ("--train", "--steps", 100), ("--test", "--plot", "--seed", 1)
    completed = program.run(main, *flags, *test, cwd=tmp_path, env=UNSET | {"KERAS_BACKEND": "jax"})
    assert completed.returncode == 0 and not program.messages(completed), completed
    model, *plots = re.findall(r" saved to (.+)\.$", completed.stdout, re.MULTILINE)
    assert model == str(main.parent / "models" / "checkpoint.npz") and (tmp_path / model).exists()
    assert {str(main.parent / "plots" / plot) for plot in program.files(lesson / "plots")} == set(plots)
    assert program.files(tmp_path) == ["lesson", "matplotlibrc"] and len(program.files(lesson)) == 3
    losses, usual = program.losses(completed.stdout), program.losses(trained("1").stdout)
    assert list(losses) == [50, 100] and losses.items() <= usual.items()
    paths = ("--savepath", lesson / "models", "--plotpath", tmp_path / "usual")
    lines, pictures = printed_and_drawn(program.output_of(1, *test, *paths), tmp_path / "usual")
    lines_there, pictures_there = printed_and_drawn(completed.stdout, lesson / "plots")
    assert lines_there[-len(lines) :] == lines and pictures.items() <= pictures_there.items() and pictures


def test_a_window_of_the_kind_that_a_user_has_set_opens(savepath, tmp_path, monkeypatch):
    main, shown = pathlib.Path(shutil.copy(program.script(1), tmp_path)), []
    monkeypatch.setenv("MPLBACKEND", "module://a_window")
    monkeypatch.setitem(sys.modules, "a_window", backend_agg)
    monkeypatch.setattr(pyplot, "show", lambda: shown.append((pyplot.get_backend(), pyplot.get_fignums())))
    program.output_of(main, "--test", "--plot", "--savepath", savepath, "--plotpath", tmp_path)
    assert shown == [("module://a_window", [1])] and os.environ["MPLBACKEND"] == "module://a_window"


@pytest.mark.parametrize("task", (1, "transformer"))
def test_a_notebook_shows_the_pictures_and_goes_on_as_it_was(task, trained, tmp_path, monkeypatch):
    """As %run does it, with a standard output that is no file, pictures below the cell, and a style."""
    script, shown = program.script(task), []
    flags = ["--test", "--plot", "--seed", "1", "--savepath", str(trained(str(task)).savepath), "--plotpath"]
    usual = printed_and_drawn(program.output_of(task, *flags, tmp_path / "usual"), tmp_path / "usual")
    assert not pyplot.get_fignums()  # Where nobody looks, a picture is closed.
    display = types.SimpleNamespace(display=shown.append, Image=pathlib.Path)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "a_backend_inline", backend_agg)
    monkeypatch.setattr(sys, "argv", [script.name, *flags, str(tmp_path / "new")])
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    monkeypatch.setenv("MPLBACKEND", "agg")
    modules, frozen = set(sys.modules), gc.get_freeze_count()
    pyplot.switch_backend("module://a_backend_inline")
    with pyplot.style.context(STYLES):
        runpy.run_path(str(script), run_name="__main__")
    assert printed_and_drawn(sys.stdout.getvalue(), tmp_path / "new") == usual
    assert sorted(usual[1]) == sorted(path.name for path in shown) and not pyplot.get_fignums()
    files = [getattr(sys.modules[name], "__file__", None) or "" for name in set(sys.modules) - modules]
    assert not [file for file in files if pathlib.Path(file).parent == script.parent]
    assert gc.get_freeze_count() == frozen and gc.isenabled()
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "1" and os.environ["MPLBACKEND"] == "agg"


# --- Pythons and packages ---------------------------------------------------------------------------------

GOOD = {"matplotlib": "3.8.0", "numpy": "1.26.0", "tensorflow": "2.16.1"}
UNFIT = [("matplotlib", "3.7.5"), ("numpy", "1.25.2"), ("tensorflow", "2.15.1"), ("tensorflow", None)]


def python_of(version):
    """Return the path of a Python of a version such as "3.9"; skip the test where there is none."""
    candidates = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    python = next(iter(candidates), shutil.which(f"python{version}"))
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
        pytest.skip(f"there is no Python {version} here")
    return python


def write_packages(folder, versions):
    """Write packages that have nothing but a version, or are missing, where that is None."""
    for name, version in versions.items():
        (folder / name).mkdir()
        missing = f"raise ModuleNotFoundError('No module named {name}', name={name!r})"
        text = missing if version is None else f"__version__ = {version!r}\n"
        (folder / name / "__init__.py").write_text(text, encoding="utf-8")
    (folder / "matplotlib" / "pyplot.py").touch()


@pytest.mark.parametrize(("name", "version"), UNFIT)
def test_a_package_that_does_not_fit_is_one_line_that_names_the_python(name, version, tmp_path):
    """In a virtual environment, as this one may be, and outside of one, the way out is another."""
    write_packages(tmp_path, GOOD | {name: version})
    for bare in ((), ("-S",)):  # Without site-packages, a Python does not know of its environment.
        python, environment = (sys.executable, *bare), {"PYTHONPATH": str(tmp_path)}
        completed = program.run(1, "--train", python=python, env=environment)
        program.refused(completed, 1, name, version or name, os.path.abspath(sys.executable))
        assert ("requirements.txt" in completed.stderr) == (not bare and sys.prefix != sys.base_prefix)


@pytest.mark.parametrize("version", ("3.7", "3.8"))
def test_another_python_is_named(version, tmp_path):
    """It is too old, whatever packages it has."""
    python = (python_of(version), "-I", "-S")
    program.refused(program.run(1, "--test", "--savepath", tmp_path, python=python), 1, tmp_path)
    (tmp_path / "checkpoint.npz").touch()
    for mode in ("--train", "--test"):
        completed = program.run(1, mode, "--savepath", tmp_path, python=python)
        program.refused(completed, 1, python[0], version)
        assert not completed.stdout


def test_a_package_that_is_there_and_cannot_be_loaded_shows_its_own_error(tmp_path):
    (tmp_path / "matplotlib.py").write_text("import a_library\n", encoding="utf-8")
    completed = program.run(1, "--train", env={"PYTHONPATH": str(tmp_path)})
    assert completed.returncode == 1 and str(tmp_path) in completed.stderr
    assert completed.stderr.endswith("No module named 'a_library'\n")
