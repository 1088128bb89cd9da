"""The checkpoint: what is in it, and that whatever happens to it no model is lost and none is made up."""

import json
import multiprocessing
import os
import pathlib
import pickle
import random
import re
import sys
import time
import zipfile

import numpy as np
import program
import pytest

SETTINGS = {"max_len": 10, "vocab_size": 3, "hidden": 64}
OWN_SETTINGS = {
    "1": {},
    "2": {"self_att": False},
    "2 --self_att": {"self_att": True},
    "3": {"pos_enc": False, "enc_layers": 1},
    "3 --pos_enc": {"pos_enc": True, "enc_layers": 1},
}
NAMES = {"query", "attention/layer_norm/beta", "attention/layer_norm/gamma"}
NAMES |= {f"{layer}/{name}" for layer in ("key_layer", "logits_layer") for name in ("bias", "kernel")}


@pytest.mark.parametrize("variant", program.VARIANTS)
def test_numpy_alone_can_look_inside_and_what_is_loaded_is_what_was_saved(variant, trained):
    task, _ = program.VARIANTS[variant]
    arrays, description = program.contents(trained(variant).savepath)
    assert variant != "1" or set(arrays) == NAMES
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays.values())
    assert description.pop("program")
    settings, step = SETTINGS | OWN_SETTINGS[variant], 1000 if task == 2 else 2000
    assert description == {"task": program.load(task).TASK, "step": step, "settings": settings}
    model, found = program.load_model(task, trained(variant).savepath)
    assert found == settings and len(model.weights) == len(arrays)
    for weight in model.weights:
        assert np.array_equal(weight, arrays[weight.path.removeprefix("model/")])


def test_it_is_on_the_disk_before_it_takes_the_place_of_the_old_one(savepath, monkeypatch):
    """So a power cut leaves a complete one, too."""
    calls = []

    def watch(owner, name):
        usual = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *words: calls.append(name) or usual(*words))

    watch(os, "fsync")
    watch(pathlib.Path, "replace")
    program.load(1).save_model(*program.load_model(1, savepath), 3, savepath)
    assert calls == ["fsync", "replace"] and program.contents(savepath)[1]["step"] == 3


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize(("mask", "mode"), ((0o022, 0o644), (0o027, 0o640)), ids=oct)
def test_permissions_follow_the_umask(mask, mode, savepath):
    """So a class can read the model of its teacher."""
    before = os.umask(mask)
    try:
        program.load(1).save_model(*program.load_model(1, savepath), 3, savepath)
    finally:
        os.umask(before)
    assert (savepath / "checkpoint.npz").stat().st_mode & 0o777 == mode


# --- Damage -----------------------------------------------------------------------------------------------


def refused(savepath):
    """Return whether --test refuses what lies in a folder, in a line that harms nobody."""
    completed = program.in_process(1, "--test", "--savepath", savepath)
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
            found, _ = program.contents(savepath)
            assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    assert verdicts.count(True) > 30
    assert program.output_of(1, "--train", "--steps", 1, "--savepath", savepath)
    assert not refused(savepath)


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


DESCRIPTIONS = ["{", "[]", "null", "{}", '{"task": "Counting Letters"}', '{"settings": {}}']


def test_what_no_training_writes_is_refused(savepath):
    arrays, description = program.contents(savepath)
    good = {"description": json.dumps(description)} | arrays
    changes = [{"description": each} for each in DESCRIPTIONS]
    for changed in (*changes, {"query": arrays["query"][:, :2]}, {"query": np.array("text")}):
        np.savez(savepath / "checkpoint.npz", **(good | changed))
        assert refused(savepath), changed
    del good["query"]
    np.savez(savepath / "checkpoint.npz", **good)
    with zipfile.ZipFile(savepath / "checkpoint.npz", "a") as archive:
        archive.writestr("query", b"no array")
    assert refused(savepath)
    np.savez(savepath / "checkpoint.npz", **{name: good[name] for name in good if name != "query"})
    assert refused(savepath)


# --- Kills, and several programs at once --------------------------------------------------------------------


def save_often(model, settings, times, savepath):
    """Save a model so many times, in a process that believes it has the number that others have, too."""
    os.getpid = lambda: 1  # As in containers.
    for step in range(times):
        program.load(1).save_model(model, settings, step, savepath)


@pytest.fixture
def saver(savepath):
    """Return a function that starts a process that saves a model whose weights are all this number."""
    if sys.platform != "linux":
        pytest.skip("there is no fork here, or not beside TensorFlow's threads")

    def start(number, times):
        model, settings = program.load_model(1, savepath)
        for weight in model.weights:
            weight.assign(np.full(weight.shape, number))
        words = (model, settings, times, savepath)
        process = multiprocessing.get_context("fork").Process(target=save_often, args=words)
        process.start()
        return process

    return start


def numbers(savepath):
    """Return the different weights of the model that NumPy and --test find in a folder."""
    program.load_model(1, savepath)
    return set(np.concatenate([array.ravel() for array in program.contents(savepath)[0].values()]))


def test_two_programs_save_into_one_folder_while_a_third_reads(saver, savepath):
    """The one that reads finds a complete model at every instant."""
    processes, found = [saver(number, 300) for number in (1, 2)], []
    while any(process.is_alive() for process in processes):
        found.append(numbers(savepath))
    assert [process.exitcode for process in processes] == [0, 0]
    assert {1} in found or {2} in found  # It has read while they wrote.
    assert all(len(one) == 1 or len(one) > 100 for one in found)  # One of these, or the trained model.
    assert program.files(savepath) == ["checkpoint.npz"]
    assert len(numbers(savepath)) == 1


@pytest.mark.slow
def test_a_kill_at_any_instant_of_a_save_leaves_a_complete_model(saver, savepath):
    """And one small file at most, which disturbs nobody."""
    generator, inside = random.Random(1), 0
    for kill in range(3000):
        process = saver(kill, 10**6)
        time.sleep(generator.uniform(0.005, 0.03))
        process.kill()
        process.join()
        parts = [path for path in savepath.iterdir() if path.suffix == ".part"]
        assert len(parts) <= 1 and len(program.files(savepath)) == 1 + len(parts)
        assert kill == 0 or len(numbers(savepath)) == 1
        inside += len(parts)
        if inside == 300:
            break
        for part in parts:
            part.unlink()
    assert inside == 300
