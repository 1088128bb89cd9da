"""Measure the speed of whole processes, in turns, on a machine that does nothing else.

    python -m tests.experiments.benchmark --before FOLDER --other original PYTHON FOLDER

FOLDER is another version of this project, as after `git worktree add FOLDER VERSION`; or, with a name and
the PYTHON that runs it, another program with the same folders. The table has medians, and least and most.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import tqdm

from . import edits, measuring

VARIANTS = {
    "1": (1, "--steps=2000"),
    "2": (2, "--steps=1000"),
    "2 --self_att": (2, "--steps=1000 --self_att"),
    "3": (3, "--steps=2000"),
    "3 --pos_enc": (3, "--steps=2000 --pos_enc"),
}


def seconds(words):
    """Run a process; return how long it takes, a float."""
    start = time.perf_counter()
    done = subprocess.run(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"benchmark: error: {' '.join(map(str, words))} ended with {done.returncode}")
    return time.perf_counter() - start


def turns(programs, folder):
    """Return what runs in turns, a dict from (variant, what, name of the program) to a command line.

    Args:
        programs: list of (name, a Python, a folder of the project); the last one is this project.
        folder: pathlib.Path for models.
    """
    found = {}
    for variant, (task, flags) in VARIANTS.items():
        for name, python, project in programs:
            script = pathlib.Path(project) / edits.FOLDERS[task] / "main.py"
            words = [python, script, f"--savepath={folder / f'{variant}, {name}'}"]
            if script.exists():
                found[f"Task {variant}", "`--train`", name] = [*words, "--train", *flags.split()]
            if name in ("before", "now"):
                found[f"Task {variant}", "`--test`", name] = [*words, "--test"]
    found["", "`import tensorflow`", ""] = [sys.executable, "-c", "import tensorflow"]
    return found


def main():
    """Run everything in turns and print the table."""
    parser = argparse.ArgumentParser("python -m tests.experiments.benchmark")
    parser.add_argument("--before", metavar="FOLDER", help="also measure another version of this project")
    other = {"nargs": 3, "action": "append", "default": [], "metavar": ("NAME", "PYTHON", "FOLDER")}
    parser.add_argument("--other", help="also measure another program", **other)
    parser.add_argument("--repetitions", type=int, default=5, help="of each process (%(default)s)")
    arguments = parser.parse_args()
    before = [("before", sys.executable, arguments.before)] if arguments.before else []
    programs = [*arguments.other, *before, ("now", sys.executable, edits.ROOT)]
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        commands = turns(programs, pathlib.Path(folder))
        runs = {key: [] for key in commands}
        for _ in tqdm.trange(arguments.repetitions, desc="repetitions"):
            for key, words in commands.items():
                runs[key].append(seconds(words))
    rows = []
    for (variant, what, name), found in runs.items():
        earlier = runs.get((variant, what, "before"))
        ratio = f"{np.median(found) / np.median(earlier):.2f}" if earlier else ""
        rows.append([f"{variant} {what} {name}", measuring.spread(found), ratio])
    measuring.table("Whole processes", ["", "seconds", "/ before"], rows)


if __name__ == "__main__":
    main()
