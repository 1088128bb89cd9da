"""The checkpoint: what is in it, and that whatever happens to it no model is lost and none is made up."""

import json
import pathlib
import pickle
import random
import re
import zipfile

import numpy as np
import program
import pytest

SETTINGS = {"max_len": 10, "vocab_size": 3, "hidden": 64}
SETTINGS_OF = {  # The task, and the settings that are not those of every task.
    "1": ("Counting Letters", {}),
    "2": ("Difference", {"self_att": False}),
    "2 --self_att": ("Difference", {"self_att": True}),
    "3": ("Signal", {"pos_enc": False, "enc_layers": 1}),
    "3 --pos_enc": ("Signal", {"pos_enc": True, "enc_layers": 1}),
}
NAMES = {"query", "attention/layer_norm/beta", "attention/layer_norm/gamma"}
NAMES |= {f"{layer}/{name}" for layer in ("key_layer", "logits_layer") for name in ("bias", "kernel")}


@pytest.mark.parametrize("variant", program.VARIANTS)
def test_numpy_alone_can_look_inside(variant, trained):
    arrays, description = program.contents(trained(variant).savepath)
    assert variant != "1" or arrays.keys() == NAMES
    assert all(array.dtype == np.float32 for array in arrays.values())
    task, own = SETTINGS_OF[variant]
    assert description["task"] == task and description["settings"] == SETTINGS | own
    assert description["step"] == (1000 if variant.startswith("2") else 2000)


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
    generator = random.Random(1)
    for part in range(40):  # A bit, everywhere, and at the end, where the archive's directory is.
        place = part * len(good) // 40 if part % 2 else len(good) - 1 - generator.randrange(800)
        yield good[:place] + bytes([good[place] ^ 1 << part % 8]) + good[place + 1 :]
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
    settings = ({"hidden": "64"}, {"max_len": 0}, {"vocab_size": 27}, {"sharpness": 1.0})
    wrong = [{"task": "Difference"}, {"settings": None}, {"settings": {}}]
    wrong += [{"settings": SETTINGS | change} for change in settings]
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


def test_two_trainings_into_one_folder_are_killed_and_leave_a_complete_model(savepath, tmp_path):
    """Whoever reads meanwhile finds one at every instant. In two containers, both are process 7."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos.getpid = lambda: 7\n", encoding="utf-8")
    flags = ("--train", "--steps", 10**6, "--print_every", 10, "--save_every", 1, "--savepath", savepath)
    trainings = [program.start(1, *flags, env={"PYTHONPATH": str(tmp_path)}) for _ in range(2)]
    for training in trainings:
        assert training.stdout.readline()
    steps = set()
    while len(steps) < 50 or len(program.files(savepath)) == 1:  # The kill comes while one saves.
        arrays, description = program.contents(savepath)  # The archive's checksums find what is torn.
        assert arrays.keys() == NAMES and all(training.poll() is None for training in trainings)
        steps.add(description["step"])
    for training in trainings:
        training.kill()
    printed = [max(program.losses(program.finish(training).stdout), default=10) for training in trainings]
    arrays, description = program.contents(savepath)
    assert any(0 <= description["step"] - step <= 10 for step in printed)  # No loss line is lost.
    assert arrays.keys() == NAMES and len(program.files(savepath)) <= 3  # Two that were not finished.
