"""What the programs promise whoever uses them: each test plays the user."""

import errno
import importlib.metadata
import os
import re
import signal
import sys
import time
import traceback

import program
import pytest

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals, limits and permissions")
COMPILED = pytest.mark.skipif(
    importlib.metadata.version("tensorflow") < "2.18", reason="TensorFlow 2.17 crashes where memory ends"
)
MEMORY = pytest.mark.skipif(sys.platform == "darwin", reason="macOS promises any memory")


# --- No model that could be tested, and edits -------------------------------------------------------------


def test_where_nothing_was_trained_it_says_so_and_leaves_nothing(tmp_path):
    paths = ("--savepath", tmp_path / "models", "--plotpath", tmp_path / "plots")
    completed = program.in_process(1, "--test", "--plot", *paths)
    program.refused(completed, 1, tmp_path / "models", "no model yet", "--train")
    assert not list(tmp_path.iterdir())


def test_the_model_of_another_task_is_refused(trained):
    completed = program.in_process(1, "--test", "--savepath", trained("2").savepath)
    program.refused(completed, 1, trained("2").savepath / "checkpoint.npz", "Difference", "--savepath")
    assert "--train" not in completed.stderr


@pytest.mark.parametrize(("task", "flag"), ((2, "--self_att"), (3, "--pos_enc")))
def test_each_variant_has_a_model_and_pictures_of_its_own(task, flag, tmp_path):
    """The lessons' commands in an order that asks for each too early; none changes a file of the other."""
    paths = ("--savepath", tmp_path / "models", "--plotpath", tmp_path / "plots")
    found = {}
    for mode in ((), (flag,)):
        other = (flag,) if not mode else ()
        missing = program.in_process(task, "--test", *mode, *paths)
        advice = f"train one with {' '.join(('--train', *mode))} --savepath {tmp_path / 'models'}"
        program.refused(missing, 1, f"{advice}, or leave out {flag}" if mode else advice)
        assert missing.stderr.endswith(f", or leave out {flag}\n" if mode else f"{tmp_path / 'models'}\n")
        program.output_of(task, "--train", "--plot", "--steps", 1, *mode, *paths)
        program.parse(program.output_of(task, "--plot", "--seed", 1, *mode, *paths))
        assert all(path.read_bytes() == content for path, content in found.items())
        found = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
        assert program.in_process(task, "--test", *other, *paths).returncode == bool(other)
    names = {path.stem for path in found}
    plain = {name for name in names if not name.endswith(program.ending([flag]))}
    assert len(plain) >= 3 and {name + program.ending([flag]) for name in plain} <= names
    (tmp_path / "models" / "checkpoint.npz").unlink()
    completed = program.in_process(task, "--test", "--hidden", 8, *paths)
    program.refused(completed, 1, f"--train --hidden 8 --savepath {tmp_path / 'models'}, or add {flag}")


@pytest.fixture
def edited(tmp_path):
    """Return a function that writes Task 1's main.py with an edit and returns its path."""

    def write(old, new):
        path = tmp_path / "main.py"
        assert program.source(1).count(old) == 1
        path.write_text(program.source(1).replace(old, new), encoding="utf-8")
        return path

    return write


def test_an_edit_of_the_program_after_the_training_is_said(savepath, edited):
    """With "all weights equal", the unedited model would answer nothing rightly, without a word."""
    flags = ("--test", "--seed", 1, "--savepath", savepath)
    assert not program.messages(program.in_process(1, *flags))
    completed = program.in_process(edited("softmax(logits,", "softmax(0 * logits,"), *flags)
    (line,) = program.messages(completed)
    assert line.startswith("main.py: main.py has changed since ") and str(savepath) in line
    printed = program.parse(completed.stdout)
    assert completed.returncode == 0 and printed["attention"][0] == [0.1] * 10


def test_an_edit_that_changes_the_weights_is_named_as_the_cause(savepath, edited):
    """And nothing is proposed that would replace the model."""
    path = edited('name="key_layer"', 'name="my_layer"')
    completed = program.in_process(path, "--test", "--savepath", savepath)
    program.refused(completed, 1, savepath / "checkpoint.npz", "edit", "--savepath")
    assert "--train" not in completed.stderr


def test_a_model_with_a_layer_more_is_not_read_without_it(savepath, edited):
    """As after a training with an edit that is undone: its other weights would answer nothing rightly."""
    line = '        self.logits_layer = tf.keras.layers.Dense(max_len + 1, name="logits_layer")\n'
    second = '        self.second_norm = tf.keras.layers.LayerNormalization(name="second_norm")\n'
    source = program.source(1).replace(line, line + second)
    source = source.replace("self.logits_layer(decoding)", "self.logits_layer(self.second_norm(decoding))")
    path = edited(program.source(1), source)
    assert program.output_of(path, "--train", "--steps", 1, "--savepath", savepath)
    assert "second_norm/gamma" in program.contents(savepath)[0]
    completed = program.in_process(1, "--test", "--savepath", savepath)
    program.refused(completed, 1, savepath / "checkpoint.npz", "does not fit", "undo an edit")


def test_a_flag_that_a_student_adds(savepath, edited):
    """It takes numbers below 1, and no model that was trained without it, nor the other way round."""
    source = program.source(1)
    for old, new in (
        ('flag("--seed"', 'flag("--sharpness", type=float, help="of the attention (1)")\nflag("--seed"'),
        ('"hidden": 64}', '"hidden": 64, "sharpness": 1.0}'),
        ("max_len, vocab_size, hidden):", "max_len, vocab_size, hidden, sharpness):"),
    ):
        assert source.count(old) == 1
        source = source.replace(old, new)
    path = edited(program.source(1), source)
    unfit = savepath / "checkpoint.npz", "does not fit this main.py; undo an edit, or change --savepath"
    program.refused(program.in_process(path, "--test", "--savepath", savepath), 1, *unfit)
    flags = ("--train", "--steps", 1, "--sharpness", "0.5", "--savepath", savepath)
    assert program.output_of(path, *flags)
    assert program.contents(savepath)[1]["settings"]["sharpness"] == 0.5
    program.refused(program.in_process(1, "--test", "--savepath", savepath), 1, *unfit)
    program.refused(program.in_process(path, "--train", "--sharpness", "-0.5"), 2, "--sharpness", "above 0")


def test_the_line_ends_of_a_system_are_no_change(savepath, tmp_path):
    path = tmp_path / "main.py"
    path.write_bytes("\r\n".join(program.source(1).split("\n")).encode())
    assert program.output_of(path, "--test", "--savepath", savepath)


@pytest.mark.parametrize("mode", ("--train", "--test"))
@pytest.mark.parametrize("edit", ("softmax(logit,", "softmax(logits, 2,"))
def test_an_edit_that_raises_shows_its_own_traceback(edit, mode, savepath, edited):
    with pytest.raises((NameError, TypeError), match="'logit' is not defined|'axis'") as caught:
        program.in_process(edited("softmax(logits,", edit), mode, "--savepath", savepath)
    shown = "".join(traceback.format_exception(caught.value))
    assert f"weights = tf.nn.{edit} axis=-1)" in shown
    program.load_model(1, savepath)


def test_an_edit_that_misses_a_file_of_its_own_shows_its_own_traceback(savepath, edited):
    """It is not told to change --savepath."""
    line = "        if arguments.test:\n"
    path = edited(line, line + '            np.load("/nowhere/notes.npy")\n')
    with pytest.raises(FileNotFoundError, match="/nowhere/notes.npy"):
        program.in_process(path, "--test", "--savepath", savepath)


# --- Folders and disks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ("--savepath", "--plotpath"))
def test_a_folder_that_cannot_be_made_is_named(flag, savepath, tmp_path):
    below = savepath / "checkpoint.npz" / "below"
    paths = {"--savepath": tmp_path / "other", "--plotpath": tmp_path / "plots"} | {flag: below}
    flags = ("--train", "--plot", "--steps", 1, *(word for pair in paths.items() for word in pair))
    program.refused(program.in_process(1, *flags), 1, below, "--savepath", "--plotpath")
    program.load_model(1, savepath)


@pytest.mark.parametrize("flag", ("--savepath", "--plotpath"))
def test_a_file_in_place_of_a_folder_is_told_before_the_training(flag, tmp_path):
    (tmp_path / "file").touch()
    paths = {"--savepath": tmp_path / "models", "--plotpath": tmp_path / "plots"} | {flag: tmp_path / "file"}
    completed = program.in_process(1, "--train", "--plot", *(word for pair in paths.items() for word in pair))
    program.refused(completed, 1, tmp_path / "file", "--savepath", "--plotpath")
    assert not completed.stdout


def test_home_is_home_behind_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    program.output_of(1, "--train", "--plot", "--steps", 1, "--savepath=~/models", "--plotpath=~/plots")
    assert program.files(tmp_path / "models") + program.files(tmp_path / "plots") == [
        "checkpoint.npz",
        "loss.png",
    ]


def test_a_home_that_nobody_has_is_a_folder(tmp_path, monkeypatch):
    """As for a shell, which leaves the name as it is."""
    monkeypatch.chdir(tmp_path)
    program.output_of(1, "--train", "--steps", 1, "--savepath=~nobody-of-this-name/models")
    assert program.files(tmp_path / "~nobody-of-this-name" / "models") == ["checkpoint.npz"]


@pytest.mark.parametrize(("number", "saved"), ((errno.EINVAL, 1), (errno.ENOTSUP, 1), (errno.ENOSPC, 2000)))
def test_a_file_system_that_cannot_sync_loses_no_model(number, saved, savepath, monkeypatch):
    """But where it says that the disk is full, the model that was there stays."""

    def fsync(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    completed = program.in_process(1, "--train", "--steps", 1, "--savepath", savepath)
    assert completed.returncode == (saved == 2000) and len(program.messages(completed)) == (saved == 2000)
    assert program.contents(savepath)[1]["step"] == saved and program.files(savepath) == ["checkpoint.npz"]


@POSIX
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # By NumPy 1.26.
def test_a_full_disk_leaves_the_model_that_was_there(savepath):
    """A limit on the size of files makes the same write fail."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        completed = program.in_process(1, "--train", "--steps", 1, "--hidden", 256, "--savepath", savepath)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    program.refused(completed, 1, "File too large")
    assert program.files(savepath) == ["checkpoint.npz"]
    assert program.load_model(1, savepath)[1]["hidden"] == 64


# --- Kills, Ctrl-C, numbers that are none -----------------------------------------------------------------


def test_a_kill_leaves_the_last_complete_checkpoint(savepath, tmp_path):
    """And each loss line that came before it, also where the output goes into a file."""
    flags = ("--train", "--steps", 10**4, "--print_every", 1, "--save_every", 1, "--savepath", savepath)
    with (tmp_path / "output").open("w+", encoding="utf-8") as output:
        process = program.start(1, *flags, stdout=output)
        while program.contents(savepath)[1]["step"] in (*range(20), 2000):
            assert process.poll() is None
        process.kill()
        program.finish(process)
        output.seek(0)
        step = int(re.fullmatch(r"Iteration (\d+) - Loss .+\n", output.readlines()[-1])[1])
    assert len(program.files(savepath)) <= 2  # At most one that was not finished.
    program.load_model(1, savepath)
    assert program.contents(savepath)[1]["step"] in (step - 1, step)


@POSIX
def test_ctrl_c_in_the_training_saves_what_it_has_reached(savepath, tmp_path):
    """The step that it says is that of the weights: a training of so many steps ends with the same."""
    flags = ("--train", "--seed", 1, "--save_every", 50)
    process = program.start(1, *flags, "--steps", 10**5, "--savepath", savepath)
    step = int(process.stdout.readline().split()[1])
    time.sleep(0.3)  # Into the training steps: they take most of the time.
    process.send_signal(signal.SIGINT)
    stopped = program.finish(process)
    assert stopped.returncode == 130 and "Training complete" not in stopped.stdout
    (line,) = program.messages(stopped)
    saved = int(re.fullmatch(r"main\.py: stopped; step (\d+) is saved in .+checkpoint\.npz", line)[1])
    assert saved >= step and program.contents(savepath)[1]["step"] == saved
    program.in_process(1, *flags, "--steps", saved, "--savepath", tmp_path / "again")
    (first, _), (second, _) = program.contents(savepath), program.contents(tmp_path / "again")
    assert first.keys() == second.keys() and all((first[name] == second[name]).all() for name in first)


@POSIX
def test_ctrl_c_before_the_first_checkpoint_leaves_the_model_that_was_there(savepath):
    process = program.start(1, "--train", "--steps", 10**5, "--save_every", 10**5, "--savepath", savepath)
    step = int(process.stdout.readline().split()[1])
    process.send_signal(signal.SIGINT)
    stopped = program.finish(process)
    (line,) = program.messages(stopped)
    kept = r"main\.py: stopped at step (\d+); (.+)checkpoint\.npz is still the earlier model"
    assert stopped.returncode == 130 and int(re.fullmatch(kept, line)[1]) >= step
    assert program.contents(savepath)[1]["step"] == 2000


@POSIX
def test_ctrl_c_in_the_first_training_saves_what_it_has_reached(tmp_path):
    process = program.start(1, "--train", "--steps", 10**5, "--save_every", 10**5, "--savepath", tmp_path)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    (line,) = program.messages(program.finish(process))
    assert f"step {program.contents(tmp_path)[1]['step']} is saved in" in line


@POSIX
@pytest.mark.parametrize("seconds", (0.5, 1.2, None), ids=("imports", "more imports", "test"))
def test_ctrl_c_elsewhere_shows_no_traceback(seconds, savepath):
    """In one of fifty tries, a package swallows it while it is being imported; a user would press again."""
    for _ in range(3):
        process = program.start(1, "--test", "--sample_len", 10**5, "--savepath", savepath)
        if seconds is None:
            while process.stdout.readline() != "Encoder-Decoder Attention: \n":
                pass
        else:
            time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        completed = program.finish(process)
        swallowed = completed.returncode == 0 or "ImportError: initialization failed" in completed.stderr
        if seconds is None or not swallowed:
            break
    assert completed.returncode == 130 and not program.messages(completed)


def test_a_loss_that_is_no_number_keeps_the_good_model(savepath):
    flags = ("--train", "--seed", 1, "--lr", "1e9", "--save_every", 50, "--savepath", savepath)
    program.refused(program.in_process(1, *flags), 1, "not finite", "lower --lr")
    assert program.contents(savepath)[1]["step"] == 2000


def test_each_number_of_encoder_layers_is_a_model_of_its_own(tmp_path):
    """Six layers replace no other model, and a test without the flag is not one of them."""
    paths, found = ("--savepath", tmp_path, "--plotpath", tmp_path), {}
    for flags in ((), ("--pos_enc",), ("--pos_enc", "--enc_layers", 6), ("--enc_layers", 0)):
        program.refused(program.in_process(3, "--test", *flags, *paths), 1, tmp_path, "--train")
        program.output_of(3, "--train", "--plot", "--steps", 1, *flags, *paths)
        assert all(path.read_bytes() == content for path, content in found.items())
        found = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(found) == 8
    printed = program.output_of(3, "--plot", "--pos_enc", *paths)
    assert len(program.parse(printed)["plots"]) == 3  # The decoder's, one encoder layer's, the norms.
