"""What the programs promise whoever uses them: each test plays the user."""

import os
import shutil
import signal
import sys

import numpy as np
import program
import pytest

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals, limits and permissions")
LAST = {1: 2000, "transformer": 700}  # The last training step of the models that are there.
SMALL = {1: (), "transformer": ("--layers", 1, "--heads", 1, "--hidden", 8, "--pairs", 1)}
every_training = pytest.mark.parametrize("task", LAST)


def step_in(savepath, task=1):
    """Return the training step of the only model in a folder, which is complete and fits its program."""
    program.load_model(task, savepath)
    return program.contents(savepath)[1]["step"]


# --- Edits --------------------------------------------------------------------------------------------------


@every_training
def test_an_edit_after_the_training_is_said_but_other_line_ends_are_not(task, copy_of, tmp_path):
    savepath, path = copy_of(task), tmp_path / "beyond" / program.script(task).name
    path.parent.mkdir()
    flags = ("--test", "--seed", 1, "--savepath", savepath)
    usual = program.output_of(task, *flags)
    shutil.copy(program.script(3), tmp_path / "main.py")  # The transformer looks for it there.
    path.write_text(program.source(task) + "# An edit.\n", encoding="utf-8")
    completed = program.in_process(path, *flags)
    (line,) = program.messages(completed)
    assert completed.returncode == 0 and completed.stdout == usual and str(savepath) in line
    path.write_bytes("\r\n".join(program.source(task).split("\n")).encode())
    program.load.cache_clear()
    assert program.output_of(path, *flags) == usual


def test_a_model_that_does_not_fit_an_edited_program_is_refused(savepath, edited):
    """And nothing is proposed that would replace it."""
    path = edited("self.attention = Attention()", 'self.attention = Attention(name="other")')
    completed = program.in_process(path, "--test", "--savepath", savepath)
    program.refused(completed, 1, program.checkpoint(savepath), "--savepath")
    assert "--train" not in completed.stderr


def test_an_edit_that_raises_shows_its_own_traceback(savepath, edited):
    path = edited("tf.nn.softmax(logits, axis=-1)", "tf.nn.softmax(logit, axis=-1)")
    with pytest.raises(NameError, match="'logit' is not defined"):
        program.in_process(path, "--test", "--savepath", savepath)


# --- Folders and disks ------------------------------------------------------------------------------------


def bad_folders(tmp_path):
    """Return paths in which nothing can be written, not even by an administrator."""
    (tmp_path / "file").touch()
    return [tmp_path / "file", *(["/proc"] if sys.platform == "linux" else [])]


@every_training
def test_a_folder_that_cannot_be_written_is_told_before_the_training(task, copy_of, tmp_path):
    savepath = copy_of(task)
    flags = ("--train", "--plot", "--savepath", savepath, "--plotpath", tmp_path)
    for folder in bad_folders(tmp_path):
        for flag in ("--savepath", "--plotpath"):
            completed = program.in_process(task, *flags, flag, folder)
            program.refused(completed, 1, program.script(task).name, folder, flag)
            assert not completed.stdout
    assert step_in(savepath, task) == LAST[task] and len(program.files(savepath)) == 1


@every_training
def test_a_picture_that_fails_comes_after_the_test(task, copy_of, tmp_path):
    folder, *_ = bad_folders(tmp_path)
    flags = ("--test", "--plot", "--savepath", copy_of(task), "--plotpath", folder)
    completed = program.in_process(task, *flags)
    program.refused(completed, 1, folder, "--plotpath")
    assert "Accuracy" in completed.stdout


@POSIX
def test_home_is_home_behind_an_equals_sign_and_a_class_may_read_what_is_there(tmp_path, monkeypatch):
    program.load(1)  # With that home, matplotlib would make a folder of its own in it.
    monkeypatch.setenv("HOME", str(tmp_path))
    before = os.umask(0o027)
    try:
        paths = ("--savepath=~/models", "--plotpath=~/plots")
        program.output_of(1, "--train", "--plot", "--steps", 1, *paths, compiled=False)
    finally:
        os.umask(before)
    paths = [tmp_path / "models" / "checkpoint.npz", tmp_path / "plots" / "loss.png"]
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == paths
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o640}


@POSIX
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # By NumPy 1.26.
def test_a_full_disk_leaves_the_model_that_was_there(savepath):
    """A limit on the size of files makes the same write fail."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        completed = program.in_process(1, "--train", "--steps", 1, "--savepath", savepath, compiled=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    program.refused(completed, 1, program.checkpoint(savepath))
    assert step_in(savepath) == 2000 and len(program.files(savepath)) == 1


# --- Ctrl-C, numbers that are none ------------------------------------------------------------------------


@every_training
def test_ctrl_c_replaces_no_earlier_model_before_the_first_checkpoint(task, copy_of, tmp_path, monkeypatch):
    """But it saves where there is none, and where the training has saved a checkpoint of its own."""
    adam, earlier, new = program.load(task).tf.keras.optimizers.Adam, copy_of(task), tmp_path / "new"
    apply = adam.apply

    def apply_or_stop(optimizer, *gradients):
        if optimizer.iterations == stop:
            signal.raise_signal(signal.SIGINT)
        apply(optimizer, *gradients)

    monkeypatch.setattr(adam, "apply", apply_or_stop)
    for folder, stop, save_every, kept in (
        (new, 0, 100, None),
        (earlier, 5, 100, LAST[task]),
        (new, 5, 100, 5),
        (earlier, 5, 4, 5),
    ):
        flags = ("--print_every", 4, "--save_every", save_every, "--savepath", folder)
        stopped = program.in_process(task, "--train", *SMALL[task], *flags, compiled=False)
        (line,) = program.messages(stopped)
        assert stopped.returncode == 130 and str(stop) in line.replace(str(folder), "")
        if kept is None:
            assert not program.files(folder)
        else:
            assert step_in(folder, task) == kept and len(program.files(folder)) == 1
            assert str(program.checkpoint(folder)) in line


@every_training
def test_numbers_that_are_none_are_never_saved(task, copy_of):
    """Neither where the loss shows it, nor where only the weights do."""
    savepath = copy_of(task)
    flags = ("--train", *SMALL[task], "--seed", 1, "--lr", "1e9", "--savepath", savepath)
    for every in (("--print_every", 5), ("--save_every", 1)):
        completed = program.in_process(task, *flags, *every, compiled=False)
        program.refused(completed, 1, "--lr")
        assert "nan" not in completed.stdout
        # Adam's first step is as long as --lr says, so the weights after it are numbers, and are saved.
        assert (step_in(savepath, task) == LAST[task]) == (every[1] != 1)
    assert all(np.isfinite(array).all() for array in program.contents(savepath)[0].values())
