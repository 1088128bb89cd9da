"""What the programs promise whoever uses them, in the contract's order: each test plays the user."""

import contextlib
import gc
import io
import json
import os
import pathlib
import pstats
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import program
import pytest

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals, limits and terminals")
LONG = ("--train", "--steps", 10**5, "--print_every", 10, "--save_every", 10**5)


# --- No model that could be tested ------------------------------------------------------------------------


def test_where_nothing_was_trained_it_says_so_and_leaves_nothing(tmp_path):
    completed = program.in_process(1, "--test", "--savepath", tmp_path / "models")
    program.refused(completed, 1, tmp_path / "models", "there is no model yet; train one with --train")
    assert not list(tmp_path.iterdir())


def test_the_model_of_another_task_is_refused(trained):
    completed = program.in_process(1, "--test", "--savepath", trained("2").savepath)
    program.refused(completed, 1, trained("2").savepath / "checkpoint.npz", "Difference")
    assert "--train" not in completed.stderr


def test_an_edit_of_the_program_after_the_training_is_said(savepath, tmp_path):
    """With "all weights equal", the unedited model would answer nothing rightly, without a word."""
    flags = ("--test", "--seed", 1, "--savepath", savepath)
    assert not program.messages(program.in_process(1, *flags))
    edited = tmp_path / "edited.py"
    usual, equal = "weights = tf.nn.softmax(logits, axis=-1)", "weights = tf.nn.softmax(0 * logits, axis=-1)"
    edited.write_text(program.source(1).replace(usual, equal), encoding="utf-8")
    completed = program.in_process(edited, *flags)
    (line,) = program.messages(completed)
    assert line.startswith("main.py: main.py has changed since ") and str(savepath) in line
    found = program.parse(completed.stdout)
    assert completed.returncode == 0 and found["attention"][0] == [0.1] * 10


def test_an_older_checkpoint_without_a_hash_is_read_in_silence(savepath):
    arrays, description = program.contents(savepath)
    assert description.pop("program")
    np.savez(savepath / "checkpoint.npz", description=json.dumps(description), **arrays)
    assert program.parse(program.output_of(1, "--test", "--savepath", savepath))


def test_an_edit_that_changes_the_weights_is_named_as_the_cause(savepath, tmp_path):
    """And nothing is proposed that would replace the model."""
    edited = tmp_path / "main.py"
    source = program.source(1).replace('name="key_layer"', 'name="my_layer"')
    edited.write_text(source, encoding="utf-8")
    completed = program.in_process(edited, "--test", "--savepath", savepath)
    program.refused(completed, 1, savepath / "checkpoint.npz", "edit of main.py")
    assert "--train" not in completed.stderr


# --- Folders and disks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ("--savepath", "--plotpath"))
def test_a_folder_that_cannot_be_made_is_named_before_the_training(flag, savepath, tmp_path):
    below = savepath / "checkpoint.npz" / "below"
    paths = {"--savepath": tmp_path / "other", "--plotpath": tmp_path / "plots"} | {flag: below}
    completed = program.in_process(1, "--train", "--plot", *(word for pair in paths.items() for word in pair))
    program.refused(completed, 1, below)
    assert not completed.stdout
    program.load_model(1, savepath)


@POSIX
def test_a_folder_of_somebody_else_is_refused_before_the_training(tmp_path):
    tmp_path.chmod(0o555)
    own = os.geteuid()
    if own == 0:  # Who may write everywhere.
        program.load(1)
        os.seteuid(65534)
    try:
        completed = program.in_process(1, "--train", "--savepath", tmp_path / "models")
    finally:
        os.seteuid(own)
    program.refused(completed, 1, tmp_path / "models", "Permission denied")
    assert not completed.stdout


@POSIX
@pytest.mark.parametrize(("size", "steps_before"), ((2048, 0), (8192, 1)))
def test_a_full_disk_leaves_the_model_that_was_there(size, steps_before, savepath):
    """A limit on the size of files makes the same write fail: at the start, or when the model is saved."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        completed = program.in_process(1, "--train", "--steps", 1, "--hidden", 256, "--savepath", savepath)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    program.refused(completed, 1, savepath, "File too large")
    assert len(completed.stdout.splitlines()) == steps_before
    assert program.files(savepath) == ["checkpoint.npz"]
    assert program.load_model(1, savepath)[1]["hidden"] == 64


# --- Kills, Ctrl-C, numbers that are none -----------------------------------------------------------------


def test_a_kill_leaves_the_last_complete_checkpoint(savepath):
    flags = ("--train", "--steps", 10**5, "--print_every", 1, "--save_every", 1, "--savepath", savepath)
    process = program.start(1, *flags)
    for _ in range(30):
        process.stdout.readline()
    process.kill()
    program.finish(process)
    assert len(program.files(savepath)) <= 2  # At most one that was not finished.
    program.load_model(1, savepath)
    assert 29 <= program.contents(savepath)[1]["step"] < 2000


@POSIX
def test_ctrl_c_in_the_training_saves_what_it_has_reached(savepath):
    process = program.start(1, *LONG, "--savepath", savepath)
    step = int(process.stdout.readline().split()[1])
    process.send_signal(signal.SIGINT)
    stopped = program.finish(process)
    assert stopped.returncode == 130 and "Training complete" not in stopped.stdout
    assert check_saved(stopped, savepath) >= step


def check_saved(completed, savepath):
    """Check that a training that was stopped has saved its last step and says so; return that step."""
    (line,) = program.messages(completed)
    step = int(re.fullmatch(r"main\.py: stopped; step (\d+) is saved in .+checkpoint\.npz", line)[1])
    assert str(savepath) in line and program.contents(savepath)[1]["step"] == step
    program.load_model(1, savepath)
    return step


@POSIX
def test_ctrl_c_in_the_imports_ends_silently(savepath):
    process = program.start(1, *LONG, "--savepath", savepath)
    maps = pathlib.Path(f"/proc/{process.pid}/maps")  # The libraries of the process.
    deadline = time.monotonic() + 60
    while maps.exists() and "numpy" not in maps.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0 if maps.exists() else 1)
    process.send_signal(signal.SIGINT)
    stopped = program.finish(process)
    assert stopped.returncode == -signal.SIGINT and not stopped.stdout and not program.messages(stopped)
    program.load_model(1, savepath)


def test_a_loss_that_is_no_number_keeps_the_good_model(savepath):
    flags = ("--train", "--lr", "1e30", "--print_every", 10, "--save_every", 10, "--savepath", savepath)
    completed = program.in_process(1, *flags)
    program.refused(completed, 1, "not a number any more after step 10; lower --lr")
    assert program.contents(savepath)[1]["step"] == 2000


@pytest.mark.parametrize("value", (float("nan"), float("inf")))
def test_a_weight_that_is_no_number_keeps_the_good_model(value, savepath):
    model, settings = program.load_model(1, savepath)
    model.weights[-1].assign([value] * 11)
    with pytest.raises(FloatingPointError, match="a weight is not a number any more after step 3"):
        program.load(1).save_model(model, settings, 3, savepath)
    assert program.contents(savepath)[1]["step"] == 2000


# --- Paths and surroundings -------------------------------------------------------------------------------


def test_any_characters_in_a_path_are_taken_literally(savepath, tmp_path, monkeypatch):
    name = "-a [1]* {b}? %s \\n ñ~\udcff" if sys.platform == "linux" else "-a [1] {b} %s ñ~"
    monkeypatch.chdir(tmp_path)
    savepath.rename(name)
    output = program.output_of(1, "--plot", f"--savepath={name}", f"--plotpath={name}/$HOME/~")
    assert program.parse(output)["plots"]
    (tmp_path / "a1").mkdir()
    program.output_of(1, "--train", "--steps", 1, f"--savepath={name}")
    assert program.contents(tmp_path / name)[1]["step"] == 1
    assert program.files(tmp_path / name / "$HOME" / "~") == ["encoder_decoder_attention.png"]
    assert program.files(tmp_path) == sorted([name, "a1"]) and not program.files(tmp_path / "a1")


def test_a_tilde_at_the_beginning_is_the_home_of_the_user(savepath, tmp_path, monkeypatch):
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    output = program.output_of(1, "--plot", "--savepath=~/models", "--plotpath", "~/plots")
    assert program.parse(output)["plots"] and program.files(tmp_path / "plots")


@pytest.mark.skipif(sys.platform != "linux", reason="there is always a display here")
def test_no_display_a_notebook_s_backend_and_the_legacy_keras_do_not_matter(savepath, tmp_path, monkeypatch):
    """Without flags, folders are beside the program, and shown from where the user stands."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MATPLOTLIBRC"):
        monkeypatch.delenv(name, raising=False)
    variables = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "TF_USE_LEGACY_KERAS": "1"}
    shutil.copy(program.script(1), tmp_path)
    completed = program.run("main.py", "--plot", cwd=tmp_path, env=variables)
    assert completed.returncode == 0 and not program.messages(completed)
    (plot,) = program.parse(completed.stdout)["plots"]
    assert plot == str(pathlib.Path("plots", "encoder_decoder_attention.png")) and (tmp_path / plot).exists()


@pytest.mark.parametrize("version", ("3.8", "3.9", "this"))
def test_missing_packages_are_one_line_that_names_the_python(version):
    """For the older ones, there are no packages that would fit."""
    candidates = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    python = sys.executable if version == "this" else next(iter(candidates), shutil.which(f"python{version}"))
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
        pytest.skip(f"there is no Python {version} here")
    completed = program.run(1, "--train", python=(python, "-I", "-S"))
    name = ".".join(map(str, sys.version_info[:3])) if version == "this" else f"{version}."
    program.refused(completed, 1, "No module named", f"in Python {name}", "Python 3.10 to 3.14")
    assert not completed.stdout


# --- Outputs and hosts ------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("output", ("head", "full disk", "terminal"))
def test_a_training_whose_output_fails_saves_what_it_has_reached(output, savepath):
    """A reader that goes, a disk that is full, a terminal that is closed: no traceback, the model is kept."""
    flags = (*LONG, "--savepath", savepath)
    with contextlib.ExitStack() as stack:
        if output == "terminal":
            ours, theirs = os.openpty()
            stack.callback(os.close, theirs)
            process = program.start(1, *flags, stdout=theirs)
            os.read(ours, 1)
            os.close(ours)
        elif output == "head":
            process = program.start(1, *flags)
            process.stdout.readline()
            process.stdout.close()
            process.stdout = None
        elif not pathlib.Path("/dev/full").exists():
            pytest.skip("there is no /dev/full here")
        else:
            full = stack.enter_context(open("/dev/full", "w", encoding="utf-8"))
            process = program.start(1, *flags, stdout=full)
        completed = program.finish(process)
    assert completed.returncode == 1
    assert check_saved(completed, savepath) % 10 == 0


@POSIX
def test_a_test_that_nobody_reads_is_silent(savepath):
    ours, theirs = os.pipe()
    os.close(ours)
    completed = program.run(1, "--test", "--savepath", savepath, stdout=theirs)
    os.close(theirs)
    assert completed.returncode == 1 and not program.messages(completed)


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_test_whose_output_fails_is_one_line(savepath):
    with open("/dev/full", "w", encoding="utf-8") as full:
        completed = program.run(1, "--test", "--savepath", savepath, stdout=full)
    program.refused(completed, 1, "standard output", "No space left on device")


def test_a_python_that_runs_it_goes_on_afterwards(savepath, monkeypatch):
    """As %run in a notebook, Spyder and IDLE do it, with a standard output that is no file."""
    monkeypatch.setattr(sys, "argv", ["main.py", "--test", "--savepath", str(savepath)])
    handler = signal.getsignal(signal.SIGINT)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        runpy.run_path(str(program.script(1)), run_name="__main__")
    assert program.parse(output.getvalue())
    assert signal.getsignal(signal.SIGINT) is handler and gc.isenabled()


def test_a_profile_of_it_can_be_made(savepath, tmp_path):
    python = (sys.executable, "-m", "cProfile", "-o", tmp_path / "profile")
    completed = program.run(1, "--test", "--savepath", savepath, python=python)
    assert "next_batch" in pstats.Stats(str(tmp_path / "profile")).get_stats_profile().func_profiles
    assert program.parse(completed.stdout) and completed.returncode == 0


# --- The rest ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("taskset"), reason="there is no taskset here")
def test_a_seed_repeats_a_run_in_another_process_and_on_one_core(trained, tmp_path):
    python = ("taskset", "-c", min(os.sched_getaffinity(0)), sys.executable)
    flags = ("--seed", 7, "--savepath", tmp_path)
    completed = program.run(3, "--train", "--test", "--pos_enc", "--steps", 100, *flags, python=python)
    training, testing = completed.stdout.split("Input: ")
    assert training.splitlines()[:2] == trained("3 --pos_enc").stdout.splitlines()[:2]
    assert "Input: " + testing == program.output_of(3, "--test", *flags)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS promises any memory")
def test_what_does_not_fit_into_memory_is_one_line(savepath):
    sizes = ("--batchsize", 10**5, "--hidden", 10**4, "--max_len", 100)
    completed = program.in_process(1, "--train", *sizes, "--savepath", savepath)
    program.refused(completed, 1, "memory", "--batchsize", "--max_len", "--hidden")
    assert program.load_model(1, savepath)[1]["hidden"] == 64


@pytest.mark.parametrize("name", ("signal", "numpy", "tensorflow", "keras"))
def test_a_file_named_like_a_package_beside_the_program_is_one_line(name, tmp_path):
    shutil.copy(program.script(1), tmp_path)
    (tmp_path / f"{name}.py").write_text("A = 1\n", encoding="utf-8")
    completed = program.run(tmp_path / "main.py", "--train")
    program.refused(completed, 1, name, "name no file beside main.py like a package")
    assert not completed.stdout


@POSIX
def test_an_ignored_ctrl_c_stays_ignored(tmp_path):
    """As under nohup, and in a background job of a script: neither the imports nor the training stop."""
    python = ("sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable)
    process = program.start(1, *LONG, "--save_every", 10, "--savepath", tmp_path, python=python)
    time.sleep(1)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        process.stdout.readline()
    process.terminate()
    completed = program.finish(process)
    assert completed.returncode == -signal.SIGTERM and not program.messages(completed)
    assert program.contents(tmp_path)[1]["step"] >= 20
