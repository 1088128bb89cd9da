"""What the programs promise whoever uses them: each test runs a script, as a user does."""

import json
import os
import pathlib
import pickle
import signal
import time

import numpy as np
import program
import pytest

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
every_training = pytest.mark.parametrize("task", (1, "transformer"))


def step_in(savepath, task=1):
    """Return the training step of the only model in a folder, which is complete and fits its program."""
    program.load_model(task, savepath)
    return program.contents(savepath)[1]["step"]


# --- A model that is not there, or does not fit -----------------------------------------------------------

MISSING = [  # Models that are there, a test that asks for another one, and what the answer names.
    ((), (1, "--test"), ("--train",)),
    (("2",), (2, "--test --self_att"), ("--train", "leave out --self_att")),
    (("2 --self_att",), (2, "--test"), ("--train", "add --self_att")),
    (("3 --pos_enc",), (3, "--test"), ("--train", "--test --pos_enc")),
    (("3",), (3, "--test --pos_enc --enc_layers 2"), ("--train", "or --test")),
    ((), ("transformer", "--test"), ("--train",)),
]


@pytest.mark.parametrize(("there", "asked", "named"), MISSING)
def test_a_model_that_is_not_there(there, asked, named, copy_of, tmp_path):
    """The answer says how to train it and, where another variant is there, how to test that."""
    savepath = copy_of(*there) if there else tmp_path
    task, flags = asked
    completed = program.in_process(task, *flags.split(), "--savepath", savepath)
    program.refused(completed, 1, savepath, *named)
    assert not completed.stdout


def refused(savepath, task=1):
    """Return whether --test refuses what lies in a folder; if so, in a line that names the file."""
    completed = program.in_process(task, "--test", "--savepath", savepath)
    if completed.returncode:
        program.refused(completed, 1, program.checkpoint(savepath))
    return completed.returncode != 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy leaves it open.
def test_a_damaged_file_is_refused_or_still_the_model(savepath):
    """A bit that nobody reads may change: a date, a permission."""
    path, arrays = savepath / "checkpoint.npz", program.contents(savepath)[0]
    good, bad = path.read_bytes(), [b"", b"no archive\n"]
    bad += [good[:length] for length in (1, 100, len(good) // 2, len(good) - 1)]
    bad += [good[: len(good) // 2] + bytes(len(good) - len(good) // 2), good[1000:]]
    for place in range(0, len(good), len(good) // 20):  # A bit, everywhere.
        bad.append(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])
    verdicts = []
    for content in bad:
        path.write_bytes(content)
        verdicts.append(refused(savepath))
        if not verdicts[-1]:
            read, _ = program.contents(savepath)
            assert all(np.array_equal(read[name], array) for name, array in arrays.items())
    assert verdicts.count(True) > 20


class Trap:
    """An object that leaves a trace where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_what_no_training_of_this_program_writes_is_refused_and_not_executed(savepath, tmp_path):
    arrays, description = program.contents(savepath)
    path, settings = savepath / "checkpoint.npz", description["settings"]
    good = {"description": json.dumps(description)} | arrays
    trap = np.array([Trap(tmp_path / "trace")], dtype=object)
    changes = [{"query": trap}, {"description": trap}, {"description": "{"}, {"description": "[]"}]
    for wrong in (None, {}, settings | {"hidden": -1}, settings | {"hidden": "x"}, settings | {"depth": 1}):
        changes.append({"description": json.dumps(description | {"settings": wrong})})
    changes += [{"query": arrays["query"][:, :2]}, {"query": np.array("text")}, {"another": np.ones(1)}]
    for change in changes:
        np.savez(path, **(good | change))
        assert refused(savepath), change
    path.write_bytes(pickle.dumps(Trap(tmp_path / "trace")))
    assert refused(savepath)
    assert not (tmp_path / "trace").exists()
    np.savez(path, **good)
    assert not refused(savepath)


def test_the_model_of_another_task_is_refused(trained, copy_of):
    savepath = copy_of("2")
    assert refused(savepath) and not refused(savepath, 2)


def test_a_model_is_refused_by_an_edited_program_that_it_does_not_fit(savepath, edited):
    path = edited("self.attention = Attention()", 'self.attention = Attention(name="other")')
    program.refused(program.in_process(path, "--test", "--savepath", savepath), 1, savepath)


# --- Folders, signals, numbers that are none --------------------------------------------------------------


@every_training
def test_a_folder_that_cannot_be_written_is_one_line_and_no_model_is_lost(task, copy_of, tmp_path):
    savepath, steps = copy_of(str(task)), {1: 2000, "transformer": 700}
    (tmp_path / "file").touch()
    for flags in (("--train", "--steps", 1), ("--test", "--plot")):
        paths = ("--savepath", savepath, "--plotpath", tmp_path / "file")
        if "--train" in flags:
            paths = ("--savepath", tmp_path / "file")
        program.refused(program.run(task, *flags, *paths), 1, tmp_path / "file")
    assert step_in(savepath, task) == steps[task]


@POSIX
def test_ctrl_c_and_a_kill_leave_a_whole_model(savepath):
    """And whoever reads while a training saves finds a model at every instant, which another run may save."""
    flags = ("--train", "--steps", 10**6, "--print_every", 1, "--save_every", 1, "--savepath", savepath)
    for number, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        process, steps = program.start(1, *flags), set()
        process.stdout.readline()  # The training has begun.
        for _ in range(30):
            steps.add(step_in(savepath))
            time.sleep(0.01)
        process.send_signal(number)
        completed = program.finish(process)
        assert completed.returncode == status and not program.messages(completed)
        assert len(steps) > 3 and step_in(savepath) >= max(steps)


@every_training
def test_numbers_that_are_none_are_never_saved(task, copy_of):
    savepath = copy_of(str(task))
    steps = ("--steps", 100, "--print_every", 5, "--save_every", 5)
    flags = ("--train", "--seed", 1, "--lr", "1e9", "--savepath", savepath)
    completed = program.in_process(task, *flags, *steps, compiled=False)
    program.refused(completed, 1, "--lr")
    assert "nan" not in completed.stdout
    assert all(np.isfinite(array).all() for array in program.contents(savepath)[0].values())


# --- Where they run -----------------------------------------------------------------------------------------


def test_a_copy_speaks_under_its_own_name_and_its_folders_are_beside_it(edited, tmp_path):
    """Wherever the user stands; paths are shown from there."""
    path = edited("Training complete!", "Done!").rename(tmp_path / "half.py")
    program.refused(program.run(path, "--lr", 0), 2, "half.py: error: ", "--lr")
    completed = program.run(path, "--train", "--plot", "--steps", 1, cwd=tmp_path.parent)
    assert completed.returncode == 0 and not program.messages(completed), completed
    folder = tmp_path.name
    assert f"Done!\nModel saved to {folder}{os.sep}models{os.sep}checkpoint.npz.\n" in completed.stdout
    assert program.plots(completed.stdout) == [str(pathlib.Path(folder) / "plots" / "loss.png")]
    assert program.files(tmp_path / "plots") == ["loss.png"]
