"""Measure the speed of whole processes, in turns, on a machine that does nothing else.

    python -m tests.experiments.benchmark --other "the original" PYTHON FOLDER

The table, with medians and, for this project, the least and the most, is written into results/speed.md. Other
programs have the same folders and a PYTHON that runs them.
"""

import argparse
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import tqdm

from . import measuring, programs, results

STEPS = {1: 2000, 2: 1000, 3: 2000}  # The same for all, whatever their defaults are.
NOW, REPETITIONS = "this project", 5


def seconds(words):
    """Run a process; return how long it takes, a float."""
    start = time.perf_counter()
    process = subprocess.run(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if process.returncode:
        sys.exit(f"benchmark: error: {' '.join(map(str, words))} ended with {process.returncode}")
    return time.perf_counter() - start


def commands(versions, folder):
    """Return what runs in turns, a dict from (what is measured, name of the version) to a command line.

    Args:
        versions: list of (name, a Python, a folder of the project).
        folder: pathlib.Path for models.
    """
    words = {("`import tensorflow`", NOW): [sys.executable, "-c", "import tensorflow"]}
    for variant, (task, flags) in programs.VARIANTS.items():
        for name, python, project in versions:
            script = pathlib.Path(project) / programs.SCRIPTS[task]
            common = [python, script, f"--savepath={folder / f'{variant}, {name}'}", *flags]
            if script.exists():
                words[f"Task {variant}: `--train`", name] = [*common, "--train", f"--steps={STEPS[task]}"]
            if name == NOW:
                words[f"Task {variant}: `--test`", name] = [*common, "--test"]
    return words


def main():
    """Run everything in turns and print the table."""
    parser = argparse.ArgumentParser("python -m tests.experiments.benchmark")
    other = {"nargs": 3, "action": "append", "default": [], "metavar": ("NAME", "PYTHON", "FOLDER")}
    parser.add_argument("--other", help="also measure another program", **other)
    arguments = parser.parse_args()
    versions = [*arguments.other, (NOW, sys.executable, programs.ROOT)]
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        words = commands(versions, pathlib.Path(folder))
        times = {key: [] for key in words}
        for _ in tqdm.trange(REPETITIONS, desc="repetitions"):
            for key in words:
                times[key].append(seconds(words[key]))
    others = [name for name, *_ in versions[:-1]]
    rows = []
    for label in dict.fromkeys(label for label, _ in times):
        medians = [np.median(times.get((label, name), np.nan)) for name in others]
        ratios = [np.median(times[label, NOW]) / median for median in medians]
        cells = [f"{number:.2f}".replace("nan", "") for number in (*medians, *ratios)]
        rows.append(
            [label, *cells[: len(others)], measuring.summary(times[label, NOW]), *cells[len(others) :]]
        )
    head = ["seconds", *others, NOW, *(f"of {name}" for name in others)]
    with contextlib.redirect_stdout(io.StringIO()) as text:
        measuring.table("Whole processes", head, rows)
    print(text.getvalue())
    results.write("speed", text.getvalue())


if __name__ == "__main__":
    main()
