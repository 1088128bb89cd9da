"""What the programs promise whoever uses them: each test plays the user."""

import os
import signal
import sys

import numpy as np
import program
import pytest

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals, limits and permissions")
SOFTMAX = "weights = tf.nn.softmax(logits, axis=-1)"  # A line that the lessons quote and edit.
LAST = {1: 2000, "transformer": 1000}  # The last training step of the models that are there.
SMALL = {1: (), "transformer": ("--layers", 1, "--heads", 1, "--hidden", 8, "--pairs", 1)}
every_training = pytest.mark.parametrize("task", LAST)


def step_in(savepath, task=1):
    """Return the training step of the only model in a folder, which is complete and fits its program."""
    program.load_model(task, savepath)
    return program.contents(savepath)[1]["step"]


# --- Edits --------------------------------------------------------------------------------------------------


@every_training
def test_an_edit_after_the_training_is_said_but_other_line_ends_are_not(task, copy_of, edited):
    flags = ("--test", "--seed", 1, "--savepath", copy_of(task))
    usual = program.output_of(task, *flags)
    path = edited(task, "import json\n", "import json\n\n")
    (line,) = program.messages(edit := program.in_process(path, *flags))
    assert edit.returncode == 0 and edit.stdout == usual and str(flags[-1]) in line
    path.write_bytes("\r\n".join(program.source(task).split("\n")).encode())
    program.load.cache_clear()
    assert program.output_of(path, *flags) == usual


def test_with_an_edit_the_model_computes_what_the_edit_says(savepath, edited):
    path = edited(1, SOFTMAX, SOFTMAX.replace("logits", "0 * logits"))
    completed = program.in_process(path, "--test", "--savepath", savepath)
    assert program.parse(completed.stdout)["attention"][0] == [0.1] * 10


@pytest.mark.parametrize(
    ("task", "old", "new"),
    (
        (1, "self.attention = Attention()", 'self.attention = Attention(name="other")'),
        ("transformer", "Dense(2 * hidden", "Dense(3 * hidden"),
    ),
)
def test_a_model_that_does_not_fit_an_edited_program_is_refused(task, old, new, copy_of, edited):
    """And nothing is proposed that would replace it."""
    savepath, path = copy_of(task), edited(task, old, new)
    completed = program.in_process(path, "--test", "--savepath", savepath)
    program.refused(completed, 1, program.checkpoint(savepath), "--savepath")
    assert "--train" not in completed.stderr


@pytest.mark.parametrize("mode", ("--train", "--test"))
def test_an_edit_that_raises_shows_its_own_traceback(mode, savepath, edited):
    path = edited(1, SOFTMAX, SOFTMAX.replace("logits", "logit"))
    with pytest.raises(NameError, match="'logit' is not defined"):
        program.in_process(path, mode, "--savepath", savepath)
    assert step_in(savepath) == 2000


# --- Folders and disks ------------------------------------------------------------------------------------


def bad_folders(tmp_path):
    """Return paths in which nothing can be written, not even by an administrator."""
    (tmp_path / "file").touch()
    kernels_own = ["/proc"] if sys.platform == "linux" else []
    return [tmp_path / "file", tmp_path / "file" / "below", *kernels_own]


@every_training
def test_a_folder_that_cannot_be_written_is_told_before_the_training(task, copy_of, tmp_path):
    savepath = copy_of(task)
    for folder in bad_folders(tmp_path):
        for flag, others in (
            ("--savepath", ("--plotpath", tmp_path)),
            ("--plotpath", ("--savepath", savepath)),
        ):
            completed = program.in_process(task, "--train", "--plot", flag, folder, *others)
            program.refused(completed, 1, program.script(task).name, folder, flag)
            assert not completed.stdout
    assert step_in(savepath, task) == LAST[task] and len(program.files(savepath)) == 1


@every_training
def test_a_picture_that_fails_comes_after_the_test(task, copy_of, tmp_path):
    flags, (folder, *_) = ("--test", "--seed", 1, "--savepath", copy_of(task)), bad_folders(tmp_path)
    completed = program.in_process(task, *flags, "--plot", "--plotpath", folder)
    program.refused(completed, 1, folder, "--plotpath")
    assert completed.stdout == program.output_of(task, *flags)


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
@every_training
def test_a_full_disk_leaves_the_model_that_was_there(task, copy_of):
    """A limit on the size of files makes the same write fail."""
    resource = pytest.importorskip("resource")
    before, savepath = resource.getrlimit(resource.RLIMIT_FSIZE), copy_of(task)
    flags = ("--train", *SMALL[task], "--steps", 1, "--hidden", 128, "--savepath", savepath)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        completed = program.in_process(task, *flags, compiled=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    program.refused(completed, 1, program.checkpoint(savepath))
    assert step_in(savepath, task) == LAST[task] and len(program.files(savepath)) == 1


# --- Kills, Ctrl-C, numbers that are none -----------------------------------------------------------------


def test_a_kill_while_it_saves_leaves_the_last_complete_checkpoint(savepath, tmp_path):
    """And each loss line that came before it, also where the output goes into a file."""
    flags = ("--train", "--steps", 10**5, "--print_every", 1, "--save_every", 1, "--savepath", savepath)
    with (tmp_path / "output").open("w+", encoding="utf-8") as output:
        process = program.start(1, *flags, stdout=output)
        while program.contents(savepath)[1]["step"] == 2000:  # The first line is not yet the last.
            assert process.poll() is None
        while not any(name.endswith(".part") for name in program.files(savepath)):
            assert process.poll() is None
        process.kill()
        program.finish(process)
        output.seek(0)
        step = max(program.losses(output.read()))
    assert len(program.files(savepath)) <= 2  # At most one that was not finished.
    for path in savepath.glob("*.part"):
        path.unlink()
    assert step_in(savepath) in (step - 1, step)


@POSIX
def test_ctrl_c_saves_what_it_has_reached(tmp_path):
    """The step that it says is that of the weights: a training of so many steps ends with the same."""
    flags = ("--train", "--seed", 1, "--save_every", 10**5)
    process = program.start(1, *flags, "--steps", 10**5, "--savepath", tmp_path / "stopped")
    step = int(process.stdout.readline().split()[1])
    process.send_signal(signal.SIGINT)
    stopped = program.finish(process)
    arrays, description = program.contents(tmp_path / "stopped")
    assert stopped.returncode == 130 and step <= description["step"] < 10**5
    (line,) = program.messages(stopped)
    assert str(description["step"]) in line
    program.output_of(1, *flags, "--steps", description["step"], "--savepath", tmp_path / "again")
    again, _ = program.contents(tmp_path / "again")
    assert arrays.keys() == again.keys() and all((arrays[name] == again[name]).all() for name in arrays)


@every_training
def test_ctrl_c_replaces_no_earlier_model_before_the_first_checkpoint(task, copy_of, tmp_path):
    """But it saves where there is none, and where the training has saved a checkpoint of its own."""
    savepath, new = copy_of(task), tmp_path / "new"
    for folder, save_every, kept in ((savepath, 99, LAST[task]), (new, 99, 20), (savepath, 10, 20)):
        flags = ("--print_every", 10, "--save_every", save_every, "--savepath", folder)
        options = {"stop": "Iteration 20 ", "compiled": False}
        stopped = program.in_process(task, "--train", *SMALL[task], *flags, **options)
        (line,) = program.messages(stopped)
        assert stopped.returncode == 130 and set(program.losses(stopped.stdout)) == {10, 20}
        assert step_in(folder, task) == kept and len(program.files(folder)) == 1
        assert str(program.checkpoint(folder)) in line and "20" in line.replace(str(folder), "")


@every_training
def test_ctrl_c_before_the_first_step_saves_nothing(task, tmp_path, monkeypatch):
    module = program.load(task)
    monkeypatch.setattr(
        getattr(module, "Task", module), "next_batch", lambda *_, **__: signal.raise_signal(2)
    )
    with pytest.raises(SystemExit) as stopped:
        module.main(["--train", "--savepath", str(tmp_path)])
    assert stopped.value.code == 130 and not list(tmp_path.iterdir())


def test_ctrl_c_between_two_loss_lines_saves_the_step_that_the_transformer_has_reached(tmp_path, monkeypatch):
    adam = program.load("transformer").tf.keras.optimizers.Adam
    apply = adam.apply

    def apply_then_stop(optimizer, *gradients):
        apply(optimizer, *gradients)
        if optimizer.iterations == 15:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(adam, "apply", apply_then_stop)
    flags = ("--train", *SMALL["transformer"], "--print_every", 10, "--savepath", tmp_path)
    stopped = program.in_process("transformer", *flags, compiled=False)
    assert stopped.returncode == 130 and step_in(tmp_path, "transformer") == 15


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
