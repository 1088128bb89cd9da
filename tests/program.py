"""How the tests, the benchmark and the lessons reach the three programs: as scripts, and as modules."""

import functools
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {1: "1_counting-letters", 2: "2_difference", 3: "3_signal"}
VARIANTS = {
    "1": (1, ()),
    "2": (2, ()),
    "2 --self_att": (2, ("--self_att",)),
    "3": (3, ()),
    "3 --pos_enc": (3, ("--pos_enc",)),
}


def script(task):
    """Return the path of this task's main.py."""
    return ROOT / FOLDERS[task] / "main.py"


def command(task, *flags):
    """Return the command line that runs a task's main.py with these flags."""
    return [sys.executable, str(script(task)), *map(str, flags)]


def run(task, *flags, cwd=None, **options):
    """Run a task's main.py as a user does and return its subprocess.CompletedProcess."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"} | options.pop("env", {})
    options = {"capture_output": True, "text": True, "timeout": 600} | options
    return subprocess.run(command(task, *flags), cwd=cwd or script(task).parent, env=environment, **options)


@functools.cache
def load(task):
    """Return a task's main.py as a module."""
    specification = importlib.util.spec_from_file_location(f"main_{task}", script(task))
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
