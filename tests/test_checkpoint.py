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
    assert description == {"task": program.TASKS[task], "step": step, "settings": settings}
    model, loaded = program.load_model(task, trained(variant).savepath)
    assert loaded == settings and len(model.weights) == len(arrays)
    for weight in model.weights:
        assert np.array_equal(weight, arrays[weight.path.removeprefix("model/")])


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
            read, _ = program.contents(savepath)
            assert all(np.array_equal(read[name], array) for name, array in arrays.items())
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


def test_the_model_of_another_task_is_refused(trained):
    assert refused(trained("2").savepath)


def test_a_variant_that_was_renamed_is_still_that_model(copy_of):
    path = program.checkpoint(copy_of("3 --pos_enc"))
    flags = ("--test", "--seed", 1, "--savepath", path.parent)
    usual = program.output_of(3, *flags, "--pos_enc")
    path.rename(path.with_name("checkpoint.npz"))
    assert program.output_of(3, *flags) == usual


DESCRIPTIONS = ["{", "[]", "null", "{}", '{"task": "Counting Letters"}', '{"settings": {}}']
CHANGES = {"hidden": "64", "max_len": 0, "vocab_size": 27, "sharpness": 1.0}
SETTINGS_OF_OTHERS = [None, {}, *(SETTINGS | {name: value} for name, value in CHANGES.items())]


def test_what_no_training_writes_is_refused(savepath):
    arrays, description = program.contents(savepath)
    good = {"description": json.dumps(description)} | arrays
    changes = [{"description": text} for text in DESCRIPTIONS]
    changes += [{"description": json.dumps(description | {"settings": each})} for each in SETTINGS_OF_OTHERS]
    changes.append({"description": json.dumps(description | {"task": "Difference"})})
    changes += [{"query": arrays["query"][:, :2]}, {"query": np.array("text")}, {"second": arrays["query"]}]
    for changed in changes:
        np.savez(savepath / "checkpoint.npz", **(good | changed))
        assert refused(savepath), changed
    del good["query"]
    np.savez(savepath / "checkpoint.npz", **good)
    with zipfile.ZipFile(savepath / "checkpoint.npz", "a") as archive:
        archive.writestr("query", b"no array")
    assert refused(savepath)
    np.savez(savepath / "checkpoint.npz", **{name: good[name] for name in good if name != "query"})
    assert refused(savepath)


# --- Several programs at once -------------------------------------------------------------------------------


def test_two_trainings_save_into_one_folder_while_a_third_program_reads(savepath, tmp_path):
    """The one that reads finds a complete model at every instant. In two containers, both are process 7."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos.getpid = lambda: 7\n", encoding="utf-8")
    flags, steps = ("--train", "--steps", 99, "--save_every", 1, "--savepath", savepath), set()
    trainings = [program.start(1, *flags, env={"PYTHONPATH": str(tmp_path)}) for _ in range(2)]
    while any(training.poll() is None for training in trainings):
        arrays, description = program.contents(savepath)  # The archive's checksums find what is torn.
        assert arrays.keys() == NAMES
        steps.add(description["step"])
    assert [program.finish(training).returncode for training in trainings] == [0, 0]
    assert len(steps) > 5 and 2000 in steps  # It has read while they wrote.
    assert program.contents(savepath)[1]["step"] == 99
    assert program.files(savepath) == ["checkpoint.npz"]
