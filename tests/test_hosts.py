"""Where the programs run: notebooks, profilers, settings, other Pythons, machines that are too small."""

import gc
import importlib.metadata
import io
import os
import pathlib
import pstats
import re
import runpy
import shutil
import signal
import subprocess
import sys

import program
import pytest

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals, limits and permissions")
COMPILED = pytest.mark.skipif(
    importlib.metadata.version("tensorflow") < "2.18", reason="TensorFlow 2.17 crashes where memory ends"
)
MEMORY = pytest.mark.skipif(sys.platform == "darwin", reason="macOS promises any memory")


NOTEBOOK = """
import runpy, sys
sys.argv = sys.argv[1:]
for hidden in ("200000", "8"):
    sys.argv += ["--hidden", hidden]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as error:
        print(error, file=sys.stderr)
"""

# --- Hosts and surroundings -------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="there is always a display here")
def test_without_a_display_folders_are_beside_the_program(tmp_path, monkeypatch):
    """Wherever the user stands, and they are shown from there."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MATPLOTLIBRC"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "lesson").mkdir()
    path = pathlib.Path(shutil.copy(program.script(1), tmp_path / "lesson"))
    completed = program.run("lesson/main.py", "--train", "--plot", "--steps", 1, cwd=tmp_path)
    assert completed.returncode == 0 and not program.messages(completed)
    model, plot = pathlib.Path("lesson/models/checkpoint.npz"), pathlib.Path("lesson/plots/loss.png")
    assert completed.stdout.endswith(f"Model saved to {model}.\nPlot saved to {plot}.\n")
    assert (tmp_path / model).exists() and (tmp_path / plot).exists()
    assert program.files(tmp_path) == ["lesson"] and len(program.files(path.parent)) == 3


def test_a_python_that_runs_it_goes_on_with_its_own_settings(savepath, monkeypatch):
    """As %run in a notebook, Spyder and IDLE do it, with a standard output that is no file."""
    monkeypatch.setattr(sys, "argv", ["main.py", "--test", "--savepath", str(savepath)])
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    monkeypatch.delenv("MPLBACKEND", raising=False)
    handler = signal.getsignal(signal.SIGINT)
    runpy.run_path(str(program.script(1)), run_name="__main__")
    assert program.parse(sys.stdout.getvalue())
    assert signal.getsignal(signal.SIGINT) is handler and gc.isenabled()
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "1" and "MPLBACKEND" not in os.environ


def test_a_profile_of_it_can_be_made(savepath, tmp_path):
    python = (sys.executable, "-m", "cProfile", "-o", tmp_path / "profile")
    completed = program.run(1, "--test", "--savepath", savepath, python=python)
    assert "next_batch" in pstats.Stats(str(tmp_path / "profile")).get_stats_profile().func_profiles
    assert program.parse(completed.stdout) and completed.returncode == 0


def test_settings_of_a_shell_and_of_files_change_neither_losses_nor_pictures(tmp_path, monkeypatch):
    (tmp_path / "keras.json").write_text('{"backend": "jax", "floatx": "float64"}', encoding="utf-8")
    matplotlibrc = (
        "image.origin: lower\nfont.size: 20\nimage.cmap: gray\nsavefig.dpi: 40\nlines.linewidth: 9\n"
    )
    (tmp_path / "matplotlibrc").write_text(matplotlibrc, encoding="utf-8")
    strange = {
        "KERAS_BACKEND": "jax",
        "KERAS_HOME": str(tmp_path),
        "TF_USE_LEGACY_KERAS": "1",
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # As !python in a notebook inherits it.
    }
    flags = ("--train", "--test", "--plot", "--seed", 1, "--steps", 20, "--print_every", 10)
    widgets = {"MPLBACKEND": "module://ipympl.backend_nbagg"}
    for name, environment in (("strange", strange), ("widgets", widgets), ("usual", {})):
        paths = ("--savepath", tmp_path / name, "--plotpath", tmp_path / name)
        completed = program.run(1, *flags, *paths, env=environment)
        assert completed.returncode == 0 and not program.messages(completed), completed
        (tmp_path / name / "output").write_text(completed.stdout.replace(name, ""), encoding="utf-8")
    files = program.files(tmp_path / "usual")
    assert len(files) == 4 and files == program.files(tmp_path / "strange")
    for name in (name for name in files if not name.endswith(".npz")):
        for folder in ("strange", "widgets"):
            assert (tmp_path / "usual" / name).read_bytes() == (tmp_path / folder / name).read_bytes()


def test_a_host_keeps_the_numbers_of_its_keras(tmp_path):
    keras = program.load(1).tf.keras
    flags = ("--train", "--seed", 1, "--steps", 20, "--print_every", 10, "--savepath", tmp_path)
    usual, policy = program.output_of(1, *flags), keras.config.dtype_policy()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        assert program.output_of(1, *flags) == usual
        assert keras.config.floatx() == "float64" and keras.config.dtype_policy().name == "mixed_bfloat16"
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy(policy)


def test_a_host_with_another_keras_is_told_so(tmp_path):
    pytest.importorskip("jax", reason="no other backend of Keras is here")
    host = "import os; os.environ['KERAS_BACKEND'] = 'jax'; import keras, runpy, sys; "
    host += "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    completed = program.run(1, "--train", "--savepath", tmp_path, python=(sys.executable, "-c", host))
    program.refused(completed, 1, "Keras runs on jax here", "restart")


@pytest.mark.skipif(not shutil.which("taskset"), reason="there is no taskset here")
def test_a_seed_repeats_a_run_in_another_process_and_on_one_core(trained, tmp_path, monkeypatch):
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)  # This process has set it.
    python = ("taskset", "-c", min(os.sched_getaffinity(0)), sys.executable)
    flags = ("--seed", 1, "--savepath", tmp_path)
    completed = program.run(3, "--train", "--test", "--pos_enc", "--steps", 200, *flags, python=python)
    training, testing = completed.stdout.split("\n\n", 1)
    assert training.splitlines()[:4] == trained("3 --pos_enc").stdout.splitlines()[:4]
    assert "\n" + testing == program.output_of(3, "--test", "--pos_enc", *flags)


@pytest.mark.parametrize("version", ("3.9", "this"))
def test_missing_packages_are_one_line_that_names_the_python(version):
    """For the older one, there are no packages that would fit."""
    candidates = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    python = sys.executable if version == "this" else next(iter(candidates), shutil.which(f"python{version}"))
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
        pytest.skip(f"there is no Python {version} here")
    completed = program.run(1, "--train", python=(python, "-I", "-S"))
    name = ".".join(map(str, sys.version_info[:3])) if version == "this" else f"{version}."
    program.refused(completed, 1, "No module named", f"in Python {name}", ".venv")
    assert not completed.stdout


@pytest.mark.parametrize("line", ("raise ImportError('a library is missing')", "import a_library"))
def test_a_package_that_is_there_and_cannot_be_loaded_shows_its_own_error(line, tmp_path):
    (tmp_path / "matplotlib.py").write_text(f"{line}\n", encoding="utf-8")
    completed = program.run(1, "--test", env={"PYTHONPATH": str(tmp_path)})
    assert completed.returncode == 1 and ".venv" not in completed.stderr
    assert re.search(r"(a library is missing|named 'a_library')\n$", completed.stderr)


@MEMORY
@pytest.mark.parametrize(
    "flags",
    (
        "--batchsize 1000000000",
        pytest.param("--batchsize 100000 --hidden 100000 --print_every 1", marks=COMPILED),
    ),
)
def test_what_does_not_fit_into_memory_is_one_line(flags, savepath):
    """In NumPy, and in the compiled training."""
    completed = program.run(1, "--train", *flags.split(), "--savepath", savepath)
    program.refused(completed, 1, "out of memory; one of the sizes is too large")
    assert program.load_model(1, savepath)[1]["hidden"] == 64


@MEMORY
def test_after_a_lack_of_memory_a_notebook_goes_on(tmp_path):
    """Keras keeps what it could not make, and would try again with the next model."""
    completed = program.run(
        3, "--train", "--steps", 1, "--savepath", tmp_path, python=(sys.executable, "-c", NOTEBOOK)
    )
    (line,) = program.messages(completed)
    assert "out of memory" in line and program.load_model(3, tmp_path)[1]["hidden"] == 8, completed


@POSIX
def test_where_nobody_reads_on_there_is_no_traceback(savepath):
    """As in `main.py --test | head -1`."""
    process = program.start(1, "--test", "--savepath", savepath)
    process.stdout.close()
    process.stdout = None
    completed = program.finish(process)
    assert completed.returncode == 1 and not program.messages(completed)
