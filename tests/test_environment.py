"""What surrounds the programs: variables, settings files, packages, encodings, paths and outputs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import program
import pytest

SHORT = ("--train", "--test", "--plot", "--steps", 2, "--savepath", "models", "--plotpath", "plots")
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has other paths, and no preexec_fn")


def keras_settings(folder, content):
    """Write settings of Keras, as a user may have in the home folder, and return that folder."""
    (folder / ".keras").mkdir(parents=True)
    (folder / ".keras" / "keras.json").write_text(content)
    return str(folder)


FLOAT64 = json.dumps({"floatx": "float64", "epsilon": 1e-3, "backend": "jax", "image_data_format": "x"})
SURROUNDINGS = {
    "the legacy Keras and a notebook's backend": (
        {"TF_USE_LEGACY_KERAS": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline"},
        "",
        "",
    ),
    "another backend of Keras and one of matplotlib that is not there": (
        {"KERAS_BACKEND": "jax", "MPLBACKEND": "nonsense"},
        FLOAT64,
        "",
    ),
    "nonsense in keras.json, and LaTeX": (
        {"MPLBACKEND": "module://nowhere"},
        "{nonsense",
        "text.usetex: True\nfont.size: 40\n",
    ),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_other_settings_change_nothing(name, tmp_path):
    environment, keras, matplotlib = SURROUNDINGS[name]
    home = keras_settings(tmp_path / "home", keras)
    environment = environment | {"HOME": home, "USERPROFILE": home}
    if "json" in name:
        environment["KERAS_HOME"] = str(tmp_path / "home" / ".keras")
    (tmp_path / "matplotlibrc").write_text(matplotlib)
    completed = program.run(1, *SHORT, cwd=tmp_path, env=environment)
    assert completed.returncode == 0 and not program.messages(completed), completed.stderr
    plots = program.parse(completed.stdout.split("checkpoint.npz.\n")[1])["plots"]
    assert plots == ["plots/loss.png", "plots/encoder_decoder_attention.png"]
    _, description = program.contents(tmp_path / "models")
    assert description["step"] == 2


def test_a_backend_that_is_not_there_is_named_in_one_line(savepath, tmp_path):
    (tmp_path / "matplotlibrc").write_text("backend: module://nowhere\n")
    flags = ("--plot", "--savepath", savepath, "--plotpath", tmp_path / "plots")
    program.refused(program.run(1, *flags, cwd=tmp_path), 1, "nowhere")


def test_it_runs_without_assertions_and_docstrings(tmp_path):
    words = [sys.executable, "-OO", *program.command(1, *SHORT)[1:]]
    completed = subprocess.run(words, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120)
    if completed.returncode:
        alone = subprocess.run([sys.executable, "-OO", "-c", "import keras"], capture_output=True)
        if alone.returncode:
            pytest.skip("this Keras itself cannot be imported without docstrings")
    assert completed.returncode == 0 and not program.messages(completed)
    program.loaded(tmp_path / "models")


@pytest.mark.parametrize("package", ("numpy", "matplotlib", "tensorflow"))
@pytest.mark.parametrize("error", ("ImportError", "ValueError"))
def test_a_package_that_fails_to_import_is_one_line(package, error, tmp_path):
    (tmp_path / f"{package}.py").write_text(f"raise {error}('DLL load failed\\nwhile importing')")
    completed = program.run(1, "--train", env={"PYTHONPATH": str(tmp_path)})
    program.refused(completed, 1, "DLL load failed", "activate .venv", "Python 3.10 to 3.14")
    assert not completed.stdout


def test_a_package_that_is_missing_is_one_line(tmp_path):
    words = [sys.executable, "-I", "-S", str(program.script(1)), "--train"]
    completed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    program.refused(completed, 1, "No module named", "activate .venv", "Python 3.10 to 3.14")


@pytest.mark.parametrize("version", ("3.8", "3.9"))
def test_an_older_python_is_one_line(version):
    candidates = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    python = next(map(str, candidates), None) or shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
        pytest.skip(f"there is no Python {version} here")
    words = [python, str(program.script(1)), "--train"]
    completed = subprocess.run(words, capture_output=True, text=True, timeout=60)
    program.refused(completed, 1, "Python 3.10 to 3.14", f"this is {version}.")


# --- Words and paths --------------------------------------------------------------------------------------

STRANGE = "mödel\n\x1b[31m "


@POSIX
@pytest.mark.parametrize("name", (STRANGE.encode(), b"m\xff\xfe"))
def test_what_cannot_be_printed_is_escaped(name, tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/" + name)
    environment = {"PYTHONIOENCODING": "ascii"}
    flags = ("--train", "--plot", "--steps", 1, "--savepath", folder, "--plotpath", folder)
    completed = program.run(1, *flags, env=environment)
    assert completed.returncode == 0 and not program.messages(completed)
    assert len(completed.stdout.splitlines()) == 4  # An iteration, the end, the model and the image.
    assert completed.stdout.isascii() and "\x1b" not in completed.stdout
    assert sorted(os.listdir(folder)) == ["checkpoint.npz", "loss.png"]


@POSIX
@pytest.mark.parametrize("name", (STRANGE, "m\udcff", "a\u202eb\u2028c"))
def test_a_strange_path_in_a_message_is_one_line(name, tmp_path, refuses):
    path = tmp_path / name
    refuses(1, "--test", "--savepath", path, status=1, words=("there is no model yet", "--train --savepath "))
    path.write_text("mine")
    refuses(1, "--train", "--savepath", path, status=1, words=("File exists",))
    refuses(1, "--train", f"--steps={name}", status=2, words=("argument --steps",))


@POSIX
@pytest.mark.parametrize(
    ("savepath", "status"),
    (("models", 1), (".", 1), ("{elsewhere}", 0)),
    ids=("below", "itself", "elsewhere"),
)
def test_a_current_folder_that_is_gone(savepath, status, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    flags = ("--train", "--steps", 1, "--savepath", savepath.format(elsewhere=tmp_path / "models"))
    completed = program.run(1, *flags, cwd=here, preexec_fn=here.rmdir)
    if status:
        program.refused(completed, status, "No such file or directory")
    else:
        assert completed.returncode == 0 and not program.messages(completed)
        program.loaded(tmp_path / "models")


# --- Outputs ----------------------------------------------------------------------------------------------


@POSIX
def test_a_closed_standard_output_is_silence(tmp_path):
    flags = ("--train", "--steps", 1, "--savepath", tmp_path)
    options = {"capture_output": False, "stderr": subprocess.PIPE, "preexec_fn": lambda: os.close(1)}
    completed = program.run(1, *flags, **options)
    assert completed.returncode == 0 and not program.messages(completed)
    program.loaded(tmp_path)
    program.refused(program.run(1, "--help", **options), 1, "standard output")


def test_a_full_disk_under_the_output(savepath):
    if not pathlib.Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with pathlib.Path("/dev/full").open("w") as full:
        flags = ("--test", "--savepath", savepath)
        completed = program.run(1, *flags, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    program.refused(completed, 1, "standard output", "No space left on device")


# --- Seeds ------------------------------------------------------------------------------------------------


def test_a_seed_does_not_depend_on_the_number_of_cores(tmp_path):
    if (
        not shutil.which("taskset")
        or not hasattr(os, "sched_getaffinity")
        or len(os.sched_getaffinity(0)) < 2
    ):
        pytest.skip("there is no taskset, or only one core")
    flags = ("--train", "--test", "--pos_enc", "--steps", 60, "--seed", 3, "--print_every", 1)
    command = program.command(3, *flags, "--savepath", tmp_path)
    one, two = (
        subprocess.run([*words, *command], capture_output=True, text=True, timeout=300, check=True).stdout
        for words in (["taskset", "-c", str(min(os.sched_getaffinity(0)))], [])
    )
    assert one == two


def test_a_seed_repeats_a_run_in_another_process(trained, tmp_path):
    again = program.run(1, "--train", "--steps", 100, "--seed", 7, "--savepath", tmp_path).stdout
    assert again.splitlines()[:2] == trained("1").stdout.splitlines()[:2]
    flags = ("--test", "--seed", 1, "--savepath", trained("1").savepath)
    assert program.run(1, *flags).stdout == program.in_process(1, *flags)
