"""The checkpoint: whatever happens to it, no model is lost and none is made up."""

import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import zipfile

import numpy as np
import program
import pytest

# --- Damage -----------------------------------------------------------------------------------------------


def refused(savepath):
    """Return whether --test refuses what lies in a folder, in a line that harms nobody."""
    completed = program.in_process(1, "--sample_len", 1, "--savepath", savepath)
    if completed.returncode:
        program.refused(completed, 1, savepath / "checkpoint.npz", "--savepath")
        assert not completed.stdout and not re.search("--train|pickle", completed.stderr)
    return completed.returncode != 0


def spoilt(good):
    """Yield the content of a file with damages of many kinds."""
    for place in range(0, len(good), len(good) // 40):  # A bit, everywhere.
        yield good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :]
    for length in (0, 1, 100, len(good) // 2, len(good) - 1):
        yield good[:length]
    yield good[: len(good) // 2] + bytes(len(good) - len(good) // 2)
    yield good[1000:]
    yield b"no archive\n"


def test_a_damaged_file_is_refused_or_still_the_model(savepath):
    """A bit that nobody reads may change: a date, a permission."""
    path = savepath / "checkpoint.npz"
    good, (arrays, _) = path.read_bytes(), program.contents(savepath)
    verdicts = []
    for content in spoilt(good):
        path.write_bytes(content)
        verdicts.append(refused(savepath))
        if not verdicts[-1]:
            read, _ = program.contents(savepath)
            assert all(np.array_equal(read[name], array) for name, array in arrays.items())
    assert verdicts.count(True) > 30


class Trap:
    """An object that leaves a trace where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_nothing_of_a_stranger_is_executed(savepath, tmp_path):
    arrays, description = program.contents(savepath)
    path, trap = savepath / "checkpoint.npz", np.array([Trap(tmp_path / "trace")], dtype=object)
    for changed in ({"query": trap}, {"description": trap}):
        np.savez(path, **({"description": json.dumps(description)} | arrays | changed))
        assert refused(savepath)
    path.write_bytes(pickle.dumps(Trap(tmp_path / "trace")))
    assert refused(savepath)
    assert not (tmp_path / "trace").exists()


def test_what_no_training_writes_is_refused(savepath):
    arrays, description = program.contents(savepath)
    wrong = [{"task": "Difference"}, {"settings": None}, {"settings": {}}]
    for change in ({"hidden": "64"}, {"max_len": 0}, {"vocab_size": 27}, {"sharpness": 1.0}):
        wrong.append({"settings": description["settings"] | change})
    texts = ["{", "[]", "null", "{}", *(json.dumps(description | change) for change in wrong)]
    changes = [{"description": text} for text in texts]
    changes += [{"query": arrays["query"][:, :2]}, {"query": np.array("text")}, {"second": arrays["query"]}]
    good, path = {"description": json.dumps(description)} | arrays, savepath / "checkpoint.npz"
    for changed in changes:
        np.savez(path, **(good | changed))
        assert refused(savepath), changed
    del good["query"]
    np.savez(path, **good)
    assert refused(savepath)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("query", b"no array")
    assert refused(savepath)


# --- Several programs at once -------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_of_two_trainings_into_one_folder_one_is_killed_and_ctrl_c_ends_the_other(
    savepath, tmp_path, monkeypatch
):
    """Whoever reads meanwhile finds a model at every instant. In two containers, both are process 7.

    The step that Ctrl-C says is that of the weights: a training of so many steps ends with the same.
    """
    (tmp_path / "sitecustomize.py").write_text("import os\nos.getpid = lambda: 7\n", encoding="utf-8")
    flags, output = ("--train", "--seed", 1, "--print_every", 10, "--save_every", 1), tmp_path / "output.txt"
    environment = {"PYTHONPATH": str(tmp_path), "MPLBACKEND": "what_nobody_draws_with"}
    with output.open("w") as file:
        words = ("--steps", 10**5, "--savepath", savepath)
        killed = program.start(1, *flags, *words, stdout=file, env=environment)
    while not output.stat().st_size:  # It has not yet begun.
        with pytest.raises(subprocess.TimeoutExpired):
            killed.wait(0.1)
    adam, (usual, _), steps = program.load(1).tf.keras.optimizers.Adam, program.contents(savepath), set()
    apply = adam.apply

    def look():
        arrays, description = program.contents(savepath)  # The archive's checksums find what is torn.
        assert arrays.keys() == usual.keys()
        steps.add(description["step"])

    def apply_and_look(optimizer, *gradients):
        apply(optimizer, *gradients)
        look()
        if len(steps) > 20 and len(program.files(savepath)) == 2:  # The other one saves.
            assert killed.poll() is None
            killed.kill()
            program.finish(killed)
            look()
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 7)
        patch.setattr(adam, "apply", apply_and_look)
        stopped = program.in_process(1, *flags, "--savepath", savepath, compiled=False)
    printed = max(program.losses(output.read_text(encoding="utf-8")))
    assert abs(max(steps - {2000}) - printed) < 10  # No loss line is lost.
    arrays, description = program.contents(savepath)
    (line,) = program.messages(stopped)
    assert stopped.returncode == 130 and str(description["step"]) in line
    assert len(program.files(savepath)) <= 2  # One that was not finished.
    words = ("--steps", description["step"], "--savepath", tmp_path / "again")
    program.output_of(1, *flags, *words, compiled=False)
    again, _ = program.contents(tmp_path / "again")
    assert arrays.keys() == again.keys() and all((arrays[name] == again[name]).all() for name in arrays)
