"""What the programs promise whoever uses them, whatever happens to a file, a folder or a run."""

import json
import os
import pathlib
import pickle
import signal
import sys

import numpy as np
import program
import pytest
from experiments import play

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals and limits")


def refused(savepath):
    """Return whether --test refuses what lies in a folder; if so, in a line that names the file."""
    completed = program.in_process(1, "--test", "--savepath", savepath)
    if completed.returncode:
        program.refused(completed, 1, program.checkpoint(savepath))
    return completed.returncode != 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy leaves it open.
def test_a_damaged_file_is_refused_or_still_the_model(savepath):
    """A bit that nobody reads may change: a date, a permission."""
    path, arrays = savepath / "checkpoint.npz", program.contents(savepath)[0]
    good, verdicts = path.read_bytes(), []
    bad = [good[:length] for length in (0, 1, 100, len(good) // 2, len(good) - 1)]
    for place in range(0, len(good), len(good) // 20):  # A bit, everywhere.
        bad.append(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])
    for content in bad:
        path.write_bytes(content)
        verdicts.append(refused(savepath))
        if not verdicts[-1]:
            read, _ = program.contents(savepath)
            assert all(np.array_equal(read[name], array) for name, array in arrays.items())
    assert verdicts.count(True) > 15


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
    path.write_bytes((play.FOLDER / "checkpoints" / "difference.npz").read_bytes())
    program.refused(program.in_process(1, "--test", "--savepath", savepath), 1, "model of Difference")
    np.savez(path, **good)
    assert not refused(savepath)


def test_an_edited_copy_has_its_own_name_and_its_folders_beside_it(savepath, tmp_path, monkeypatch):
    """It refuses a model that it does not fit."""
    path = tmp_path / "half.py"
    path.write_text(program.source(1).replace("Attention()", 'Attention("other")'), encoding="utf-8")
    program.refused(program.run(path, "--lr", 0), 2, "half.py: error: ", "--lr")
    program.refused(program.in_process(path, "--test"), 1, savepath)
    monkeypatch.chdir(tmp_path.parent)  # Paths are shown from there.
    output = program.output_of(path, "--train", "--plot", "--steps", 1, compiled=False)
    here = pathlib.Path(tmp_path.name)
    assert f"Model saved to {here / 'models' / 'checkpoint.npz'}.\n" in output
    assert f"Plot saved to {here / 'plots' / 'loss.png'}.\n" in output
    assert not program.in_process(path, "--test").returncode


@POSIX
def test_a_full_disk_or_a_folder_that_cannot_be_written_is_one_line_and_no_model_is_lost(savepath, tmp_path):
    before = program.checkpoint(savepath).read_bytes()
    flags = ("--train", "--steps", 1, "--hidden", 999, "--savepath")
    python = ("/bin/sh", "-c", 'ulimit -f 40; exec "$0" "$@"', sys.executable)  # No file above 20 or 40 kB.
    program.refused(program.run(1, *flags, savepath, python=python), 1, "File too large")
    assert program.files(savepath) == ["checkpoint.npz"]
    assert program.checkpoint(savepath).read_bytes() == before
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):  # The end of the script says this in a line, too.
        program.in_process(1, *flags, tmp_path / "file", compiled=False)


@POSIX
def test_ctrl_c_and_two_trainings_into_one_folder_leave_a_whole_model(savepath):
    """Whoever reads while they save finds a model at every instant; so a kill leaves one, too."""
    flags = ("--train", "--save_every", 1, "--savepath", savepath, "--steps")
    process, steps = program.start(1, *flags, 10**6), {2}

    def saved():
        return program.contents(savepath)[1]["step"]

    program.wait_until(lambda: saved() > 2 or process.poll(), "the training has saved its third step")
    for _ in range(5):
        program.output_of(1, *flags, 2, compiled=False)
        assert not refused(savepath)
        steps |= {saved() for _ in range(10)}
    program.wait_until(lambda: saved() != 2 or process.poll(), "the other training has saved again")
    process.send_signal(signal.SIGINT)
    completed = program.finish(process)
    assert (completed.returncode, program.messages(completed)) == (130, []), "what Ctrl-C leaves"
    assert any(step % 50 for step in steps - {2})  # It has saved as often as it was told.
    printed = max(program.losses(completed.stdout))
    assert saved() >= printed - 1, f"step {printed} is printed, and the model is that of step {saved()}"
    assert not refused(savepath)


@pytest.mark.parametrize("task", (1, "transformer"))
def test_a_training_that_is_killed_has_printed_its_losses_and_left_a_model(task, tmp_path):
    """Its output goes through a pipe; what Python has not passed on by then is lost."""
    flags = ("--train", "--steps", 3000, "--batchsize", 9, "--savepath", tmp_path)
    process = program.start(task, *flags, environment={"PYTHONUNBUFFERED": ""})
    program.wait_until(lambda: list(tmp_path.glob("*.npz")) or process.poll() is not None, "a model is saved")
    process.kill()
    completed = program.finish(process)
    assert "Training complete!" not in completed.stdout, "there is no model before the end of the training"
    step = program.contents(tmp_path)[1]["step"]
    printed = program.losses(completed.stdout)
    assert step in printed, f"step {step} is saved, and through a pipe one has seen only {printed}"


@pytest.mark.parametrize("lr", (1e9, 1e39))  # The loss is the first that is none, or the weights are.
@pytest.mark.parametrize("task", (1, "transformer"))
def test_numbers_that_are_none_are_never_saved(task, lr, tmp_path):
    flags = ("--steps", 100, "--seed", 1, "--lr", lr, "--print_every", 1, "--save_every", 1)
    completed = program.in_process(task, "--train", *flags, "--savepath", tmp_path, compiled=False)
    program.refused(completed, 1, "--lr")
    assert "nan" not in completed.stdout
    if program.files(tmp_path):
        assert all(np.isfinite(array).all() for array in program.contents(tmp_path)[0].values())
