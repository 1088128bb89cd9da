"""Finds the programs of the lessons and loads them as modules."""

import functools
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {1: "1_counting-letters", 2: "2_difference", 3: "3_signal"}
SCRIPTS = {task: f"{folder}/main.py" for task, folder in FOLDERS.items()}
SCRIPTS["transformer"] = "3_signal/transformer.py"
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
    """Return a program, one of SCRIPTS or a path, as a module; it finds what it imports from beside it."""
    path = script(program) if program in SCRIPTS else program
    specification = importlib.util.spec_from_file_location(f"{path.stem} of {path.parent.name}", path)
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(path.parent))
    sys.modules.pop("main", None)  # That of another folder.
    try:
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
