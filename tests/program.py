"""How the tests run the programs, as scripts and as modules, what is right, and what they compare."""

import contextlib
import io
import itertools
import os
import re
import string
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest
from experiments import programs

ROOT, BEYOND, FOLDERS = programs.ROOT, programs.BEYOND, programs.FOLDERS
SCRIPTS, VARIANTS = programs.SCRIPTS, programs.VARIANTS
TASKS = {1: "Counting Letters", 2: "Difference", 3: "Signal"}  # What a checkpoint calls them.
script, load, read = programs.script, programs.load, programs.read
DEADLINE = 300  # Seconds, for whatever a test waits for: enough on a machine ten times as busy as usual.


def source(task):
    """Return the text of a program, one of SCRIPTS."""
    return script(task).read_text(encoding="utf-8")


# --- What is right ----------------------------------------------------------------------------------------


def alphabet(task, vocab_size=3):
    """Return the letters of a task, a str; a blank is the first, except in Task 3."""
    return " " * (task != 3) + string.ascii_uppercase[:vocab_size]


def solve(task, letters, vocab_size=3):
    """Return the right answers to a str of letters, counted in plain Python."""
    if task == 3:
        return [letters[1:].count(letters[0])]
    counts = [letters.count(letter) for letter in string.ascii_uppercase[:vocab_size]]
    return counts if task == 1 else [*counts, abs(counts[0] - counts[1])]


def pets_of(text):
    """Return what is right in a list of words, read one by one: the place of each question to its pet."""
    known, right = {}, {}
    for place, word in enumerate(text):
        if place % 2:
            known.setdefault(text[place - 1], word)
        elif word in known:
            right[place] = known[word]
    return right


def percent_right(model, pairs):
    """Return how many percent of the first questions of 2,000 texts a transformer answers."""
    module, places = load("transformer"), 2 * pairs
    texts = module.next_batch(np.random.default_rng(7), pairs, 2000, introduced=pairs)
    right = [pets_of(text)[places] for text in texts.tolist()]
    logits, _ = model(texts[:, : places + 1])
    return 100 * np.mean(np.argmax(logits[:, -1], axis=-1) == right)


# --- How to run a program ---------------------------------------------------------------------------------


def start(task, *flags, python=(sys.executable,), environment=(), **options):
    """Start a program, one of SCRIPTS or a path, as a user does, with this environment; return its Popen."""
    path = script(task) if task in SCRIPTS else task
    options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **dict(environment)}
    return subprocess.Popen([*map(str, (*python, path, *flags))], env=environment, **options)


def finish(process):
    """Wait for a process and return its subprocess.CompletedProcess."""
    try:
        output, errors = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()  # If it still runs.
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def wait_until(condition, awaited):
    """Wait until a function returns true; if that takes too long, say in words what was awaited."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"waited {DEADLINE} seconds until {awaited}"
        time.sleep(0.01)


def run(task, *flags, **options):
    """Run a program as a user does and return its subprocess.CompletedProcess."""
    return finish(start(task, *flags, **options))


def in_process(task, *flags, compiled=True):
    """Run main(argv) in this process, as `run` does; a few steps are faster when they are not compiled."""
    module, output, errors, status = load(task), io.StringIO(), io.StringIO(), 0
    module.plt.close("all")  # What another test has drawn.
    module.tf.config.run_functions_eagerly(not compiled)
    windows = []  # The numbers of those that each plt.show() opens.
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        with mock.patch.object(module.plt, "show", lambda: windows.append(module.plt.get_fignums())):
            try:
                module.main([str(flag) for flag in flags])
            except SystemExit as end:
                status = end.code
    drawn = module.plt.get_fignums() if status == 0 and "--plot" in flags else []
    opened = sum(windows, [])
    assert opened == drawn, f"{len(drawn)} pictures are drawn, and plt.show() opens {len(opened)} windows"
    module.tf.config.run_functions_eagerly(False)
    return subprocess.CompletedProcess(flags, status, output.getvalue(), errors.getvalue())


def output_of(task, *flags, **options):
    """Run main(argv) in this process, without anything on standard error, and return its standard output."""
    completed = in_process(task, *flags, **options)
    assert completed.returncode == 0 and not messages(completed), completed
    return completed.stdout


def messages(completed):
    """Return the lines of standard error that are neither a usage nor TensorFlow's own start-up messages."""
    others = r"usage: |WARNING: All log messages before absl|[IWE]0000 "
    return [line for line in completed.stderr.splitlines() if not re.match(others, line)]


def refused(completed, status, *named):
    """Check that a run ended with this status and one line of its own, which names a flag or a file."""
    lines, named = messages(completed), [": error: ", *map(str, named)]
    good = len(lines) == 1 and all(word in lines[0] for word in named) and completed.returncode == status
    said = f"{completed.args} ends with status {completed.returncode} and says {lines}"
    assert good, f"{said}; it should end with status {status} and one line, which names {named[1:]}"


# --- What it has left -------------------------------------------------------------------------------------


def checkpoint(savepath):
    """Return the path of the only model in a folder; a file is its own."""
    (path,) = savepath.glob("*.npz") if savepath.is_dir() else [savepath]
    return path


def contents(savepath):
    """Return the arrays and the description of the only model in a folder, two dicts."""
    return read(checkpoint(savepath))


def load_model(task, savepath):
    """Return the model in a file, or the only one in a folder."""
    return programs.load_model(load(task), checkpoint(savepath))


def files(folder):
    """Return the sorted names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def losses(output):
    """Return the losses that a training has printed, a dict from the training step to a float."""
    found = re.findall(r"^Iteration (\d+) - Loss (.+)$", output, re.MULTILINE)
    return {int(step): float(loss) for step, loss in found}


def same(printed, expected, tolerance):
    """Check that two texts are the same, but for this difference between their numbers."""
    number = r"\d+\.\d+|\d+"
    for pair in itertools.zip_longest(printed.splitlines(), expected.splitlines(), fillvalue="(nothing)"):
        words, others = (re.sub(number, "0", line) for line in pair)
        found, right = ([float(each) for each in re.findall(number, line)] for line in pair)
        alike = words == others and found == pytest.approx(right, abs=tolerance)
        assert alike, "printed is the line\n  {}\nwhere this is right:\n  {}".format(*pair)
