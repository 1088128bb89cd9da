"""Measure how fast the programs are, as whole processes, and print the tables as Markdown.

    python -m tests.experiments.benchmark                     on Linux or macOS
    python -m tests.experiments.benchmark --before FOLDER     also another version of this project, as a ratio
    python -m tests.experiments.benchmark --other "the original" PYTHON FOLDER
                                     also another program with these tasks and flags in FOLDER, run by a
                                     PYTHON that has what it needs; may be given more than once

What is compared runs in turns, several times; the tables give the median and, in brackets, the least and
the most. A ratio is one of medians.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import tqdm

from . import edits, measuring

STEPS = {1: 2000, 2: 1000, 3: 2000}  # Those of main.py; other programs have other defaults.
VARIANTS = {
    "1": (1, []),
    "2": (2, []),
    "2 --self_att": (2, ["--self_att"]),
    "3": (3, []),
    "3 --pos_enc": (3, ["--pos_enc"]),
}


def measured(values, form="{:.2f}"):
    """Return the median of the values and, in brackets, the least and the most."""
    low, middle, high = (form.format(value) for value in (min(values), np.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def process(words):
    """Run a process.

    Returns:
        seconds: float, from its start to its end.
        mebibytes: float, the peak of its memory.
        microseconds: float, a training step between the first and the last line of losses; nan without any.
    """
    start, lines = time.perf_counter(), []
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(list(map(str, words)), **pipes) as child:
        for line in child.stdout:
            if step := re.match(r"Iteration (\d+) ", line):
                lines.append((int(step[1]), time.perf_counter()))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds, memory = (
        time.perf_counter() - start,
        usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
    )
    if child.returncode:
        sys.exit(f"benchmark: error: {' '.join(map(str, words))} ended with {child.returncode}")
    steps, times = np.diff(np.array(lines)[[0, -1]], axis=0)[0] if len(lines) > 1 else (np.nan, np.nan)
    return seconds, memory, 1e6 * times / steps


def commands(variant, programs, folder):
    """Return the processes of a variant, a dict from (what, name of the program) to a command line.

    Args:
        variant: str, of VARIANTS.
        programs: list of (name, a Python, a folder of the project); the last one is this project.
        folder: pathlib.Path for models.
    """
    task, flags = VARIANTS[variant]
    found = {}
    for place, (name, python, project) in enumerate(programs):
        script = pathlib.Path(project) / edits.FOLDERS[task] / "main.py"
        words = [python, script, f"--savepath={folder / str(place)}"]
        if script.exists():
            found["--train", name] = [*words, "--train", f"--steps={STEPS[task]}", *flags]
        if name in ("before", "now"):
            found["--test", name] = [*words, "--test"]
    return found


def whole_processes(programs, repetitions):
    """Print what whole processes take, and how that compares with the version before."""
    floor = {("", "`import tensorflow`"): [sys.executable, "-c", "import tensorflow"]}
    floor["", "Task 1, `--help`"] = [sys.executable, edits.script(1), "--help"]
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        groups = {
            variant: commands(variant, programs, pathlib.Path(folder, str(place)))
            for place, variant in enumerate(VARIANTS)
        }
        turns = {(variant, *key): words for variant, group in groups.items() for key, words in group.items()}
        turns |= {("", *key): words for key, words in floor.items()}
        runs = {key: [] for key in turns}
        for turn in tqdm.trange(repetitions, desc="repetitions"):
            for variant in [*VARIANTS, ""]:
                keys = [key for key in turns if key[0] == variant]
                trained = [key for key in keys if key[1] != "--test"]
                tested = [key for key in keys if key[1] == "--test"]
                for some in (trained, tested):
                    for key in some[:: -1 if turn % 2 else 1]:  # Who goes first changes.
                        runs[key].append(process(turns[key]))
    rows = []
    for (variant, what, name), found in runs.items():
        seconds, memory, micro = zip(*found, strict=True)
        before = runs.get((variant, what, "before"))
        ratio = f"{np.median(seconds) / np.median([one[0] for one in before]):.2f}" if before else ""
        label = f"Task {variant}, `{what}`, {name}" if variant else name
        steps = measured(micro, "{:.0f}") if not np.isnan(micro).any() else ""
        rows.append([label, measured(seconds), ratio, f"{np.median(memory):.0f}", steps])
    head = ["", "seconds", "/ before", "peak MiB", "µs for a training step"]
    measuring.table("Whole processes", head, rows)


def fit(repetitions):
    """Print what a training step takes under Keras `fit`, compiled by XLA and 50 steps for each call."""
    rows = []
    for variant, (task, flags) in VARIANTS.items():
        module = edits.load(edits.script(task))
        keras, arguments = module.tf.keras, module.parse_arguments(["--train", *flags])

        class OnlyLogits(module.AttentionModel):
            """The model, with the logits as the only output."""

            def call(self, inputs):
                return super().call(inputs)[0]

        model = OnlyLogits(**edits.settings(module, *flags))
        model.compile(
            optimizer=keras.optimizers.Adam(arguments.lr),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            steps_per_execution=50,
            jit_compile=True,
        )
        batches = measuring.task_of(task, np.random.default_rng()).next_batch(50, 100)
        data = module.tf.data.Dataset.from_tensor_slices(batches)
        data = data.cache().repeat().prefetch(8)
        model.fit(data, steps_per_epoch=100, verbose=0)
        found = []
        for _ in range(repetitions):
            start = time.perf_counter()
            model.fit(data, steps_per_epoch=1000, verbose=0)
            found.append((time.perf_counter() - start) * 1e3)
        rows.append([variant, measured(found, "{:.0f}")])
    measuring.table("The same models under Keras `fit`", ["Task", "µs for a training step"], rows)


def main():
    """Print all tables."""
    parser = argparse.ArgumentParser(
        "python -m tests.experiments.benchmark", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--before", metavar="FOLDER", help="also measure another version of this project")
    other = {"nargs": 3, "action": "append", "default": [], "metavar": ("NAME", "PYTHON", "FOLDER")}
    parser.add_argument("--other", help="also measure another program", **other)
    parser.add_argument(
        "--repetitions", type=int, default=5, help="how often each process runs (%(default)s)"
    )
    arguments = parser.parse_args()
    before = [("before", sys.executable, arguments.before)] if arguments.before else []
    whole_processes([*arguments.other, *before, ("now", sys.executable, edits.ROOT)], arguments.repetitions)
    fit(arguments.repetitions)


if __name__ == "__main__":
    main()
