"""Measure the speed of whole processes, on a machine that does nothing else.

    python -m tests.experiments.benchmark
    python -m tests.experiments.benchmark --before FOLDER --other original PYTHON FOLDER

    --before FOLDER             another version of this project, as after `git worktree add FOLDER VERSION`
    --other NAME PYTHON FOLDER  another program with the same folders and main.py, run by a PYTHON that has
                                what it needs; may be given more than once

What is compared runs in turns, several times; the tables give the median and, in brackets, the least and
the most. A ratio is one of medians.
"""

import argparse
import pathlib
import re
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


def measured(values, form="{:.2f}"):
    """Return the median of the values and, in brackets, the least and the most."""
    low, middle, high = (form.format(value) for value in (min(values), np.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def process(words):
    """Run a process.

    Returns:
        seconds: float, from its start to its end.
        microseconds: float, a training step between the first and the last line of losses; nan without any.
    """
    start, lines = time.perf_counter(), []
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(list(map(str, words)), **pipes) as child:
        for line in child.stdout:
            if step := re.match(r"Iteration (\d+) ", line):
                lines.append((int(step[1]), time.perf_counter()))
    seconds = time.perf_counter() - start
    if child.returncode:
        sys.exit(f"benchmark: error: {' '.join(map(str, words))} ended with {child.returncode}")
    steps, times = np.diff(np.array(lines)[[0, -1]], axis=0)[0] if len(lines) > 1 else (np.nan, np.nan)
    return seconds, 1e6 * times / steps


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
        for name, python, project in programs:
            if name in ("before", "now"):
                script = pathlib.Path(project) / edits.FOLDERS[task] / "main.py"
                words = [python, script, "--test", f"--savepath={folder / f'{variant}, {name}'}"]
                found[f"Task {variant}", "`--test`", name] = words
    found["Task 1", "`--help`", "now"] = [sys.executable, edits.script(1), "--help"]
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
                runs[key].append(process(words))
    rows = []
    for (variant, what, name), found in runs.items():
        seconds, micro = zip(*found, strict=True)
        earlier = runs.get((variant, what, "before"))
        ratio = f"{np.median(seconds) / np.median([one[0] for one in earlier]):.2f}" if earlier else ""
        steps = "" if np.isnan(micro).any() else measured(micro, "{:.0f}")
        rows.append([f"{variant} {what} {name}", measured(seconds), ratio, steps])
    measuring.table("Whole processes", ["", "seconds", "/ before", "µs for a training step"], rows)


if __name__ == "__main__":
    main()
