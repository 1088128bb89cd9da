"""Finds the programs and loads them as modules."""

import functools
import importlib.util
import json
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEYOND = ROOT / "3_signal" / "beyond"
FOLDERS = {1: "1_counting-letters", 2: "2_difference", 3: "3_signal"}
SCRIPTS = {task: f"{folder}/main.py" for task, folder in FOLDERS.items()}
SCRIPTS["transformer"] = "3_signal/beyond/transformer.py"
VARIANTS = {  # What each task trains: the task and the flags.
    "1": (1, ()),
    "2": (2, ()),
    "2 --self_att": (2, ("--self_att",)),
    "3": (3, ()),
    "3 --pos_enc": (3, ("--pos_enc",)),
}


def script(task):
    """Return the path of a program, a pathlib.Path; task is one of SCRIPTS."""
    return ROOT / SCRIPTS[task]


@functools.cache
def load(program):
    """Return a program, one of SCRIPTS or a path, as a module."""
    path = script(program) if program in SCRIPTS else program
    specification = importlib.util.spec_from_file_location(f"{path.stem} of {path.parent.name}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def read(checkpoint):
    """Return the arrays of a checkpoint, a dict, and its description, a dict, read by NumPy alone."""
    with np.load(checkpoint, allow_pickle=False) as archive:
        arrays = dict(archive)
    return arrays, json.loads(arrays.pop("description").item())


def load_model(module, checkpoint):
    """Return the model in a checkpoint, as a program, a module, builds it today."""
    arrays, description = read(checkpoint)
    kind = getattr(module, "AttentionModel", None) or module.Transformer
    model = kind(**description["settings"])
    for weight in model.weights:
        weight.assign(arrays.pop(weight.path.removeprefix("model/")))
    assert not arrays
    return model
