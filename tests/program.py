"""How the tests reach the programs, as scripts and as modules, and how they read what these print."""

import contextlib
import io
import json
import os
import pathlib
import re
import string
import subprocess
import sys
from unittest import mock

import pytest
from experiments import programs

ROOT, BEYOND, FOLDERS = programs.ROOT, programs.BEYOND, programs.FOLDERS
SCRIPTS, VARIANTS = programs.SCRIPTS, programs.VARIANTS
TASKS = {1: "Counting Letters", 2: "Difference", 3: "Signal"}  # What a checkpoint calls them.
script, load, read = programs.script, programs.load, programs.read


def source(task):
    """Return the text of a program, one of SCRIPTS."""
    return script(task).read_text(encoding="utf-8")


# --- As scripts -------------------------------------------------------------------------------------------


def start(task, *flags, python=(sys.executable,), **options):
    """Start a program, one of SCRIPTS or a path, as a user does; return its Popen."""
    path = script(task) if task in SCRIPTS else task
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    return subprocess.Popen([*map(str, (*python, path, *flags))], env=environment, **pipes, **options)


def finish(process):
    """Wait for a process and return its subprocess.CompletedProcess."""
    with process:
        try:
            output, errors = process.communicate(timeout=300)
        finally:
            process.kill()  # If it has not ended by now.
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def run(task, *flags, **options):
    """Run a program as a user does and return its subprocess.CompletedProcess."""
    return finish(start(task, *flags, **options))


def messages(completed):
    """Return the lines of standard error that are neither a usage nor TensorFlow's own start-up messages."""
    others = r"usage: |WARNING: All log messages before absl|[IWE]0000 "
    return [line for line in completed.stderr.splitlines() if not re.match(others, line)]


def refused(completed, status, *named):
    """Check that a run ended with this status and one line of its own, which names a flag or a file."""
    lines = messages(completed)
    assert completed.returncode == status and len(lines) == 1, completed
    assert ": error: " in lines[0] and all(str(word) in lines[0] for word in named), lines[0]


# --- As modules -------------------------------------------------------------------------------------------


def in_process(task, *flags, compiled=True):
    """Run main(argv) in this process, as `run` does; a few steps are faster when they are not compiled."""
    module, output, errors, status = load(task), io.StringIO(), io.StringIO(), 0
    module.plt.close("all")  # What another test has drawn.
    module.tf.config.run_functions_eagerly(not compiled)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        with mock.patch.object(module.plt, "show"):
            try:
                module.main([str(flag) for flag in flags])
            except SystemExit as end:
                status = end.code
    module.tf.config.run_functions_eagerly(False)
    return subprocess.CompletedProcess(flags, status, output.getvalue(), errors.getvalue())


def output_of(task, *flags, **options):
    """Run main(argv) in this process, without anything on standard error, and return its standard output."""
    completed = in_process(task, *flags, **options)
    assert completed.returncode == 0 and not messages(completed), completed
    return completed.stdout


def figures(output):
    """Return what the run in this process has drawn that printed this: the names of files and figures."""
    pyplot, drawn = load(1).plt, {}
    for path, number in zip(map(pathlib.Path, plots(output)), pyplot.get_fignums(), strict=True):
        drawn[path.stem] = pyplot.figure(number)
        size = pyplot.imread(path).shape[1::-1]
        assert size == pytest.approx(150 * drawn[path.stem].get_size_inches(), abs=1)
    return drawn


def load_model(task, savepath):
    """Return the model in a file, or the only one in a folder."""
    return programs.load_model(load(task), checkpoint(savepath))


# --- What they write --------------------------------------------------------------------------------------


def checkpoint(savepath):
    """Return the path of the only model in a folder; a file is its own."""
    (path,) = savepath.glob("*.npz") if savepath.is_dir() else [savepath]
    return path


def contents(savepath):
    """Return the arrays and the description of the only model in a folder, two dicts."""
    return read(checkpoint(savepath))


def files(folder):
    """Return the sorted names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


# --- What they print --------------------------------------------------------------------------------------

NUMBERS = r"\[\d+\.\d{1,3}(?:, \d+\.\d{1,3})*\]"
PLOTS = r"(?:Plot saved to .+\.png\.\n)*"
OUTPUT = re.compile(
    r"\nInput: \n(?P<input>\[\[\['[A-Z ]'\](?:\n  \['[A-Z ]'\])*\]\])\n"
    r"\nPrediction: \n\[\[(?P<prediction>[\d ]+)\]\]\n"
    r"\nTruth: \n\[\[(?P<truth>[\d ]+)\]\]\n"
    r"\nEncoder-Decoder Attention: \n"
    rf"(?P<attention>(?:Output step \d+ attended mainly to Input steps: \[[\d\s]+\]\n{NUMBERS}\n)+)"
    rf"(?:\nSelf-Attention: \n(?P<self_attention>(?:Attention of Output step \d+:\n{NUMBERS}\n)+))?"
    rf"(?:\nL2-Norm of Positional Encoding:\n(?P<norms>{NUMBERS})\n)?"
    r"\nAccuracy on (?P<samples>\d+) new samples of length (?P<length>\d+): "
    rf"(?P<sequences>\d+\.\d\d)% of sequences, (?P<steps>\d+\.\d\d)% of output steps\n{PLOTS}"
)


def plots(text):
    """Return the paths in lines that say where a plot was saved."""
    return re.findall(r"^Plot saved to (.+)\.$", text, re.MULTILINE)


def rows(text):
    """Return the lists of numbers below the headings of Output step 0, 1, ..., as lists of float."""
    steps = re.findall(rf"Output step (\d+)[^,]*?\n({NUMBERS})", text or "")
    assert [int(step) for step, _ in steps] == list(range(len(steps)))
    return [json.loads(row) for _, row in steps]


def parse(output):
    """Return what --test has printed, which must be the whole output, as a dict of Python values."""
    match = OUTPUT.fullmatch(output)
    assert match, output
    mainly = re.findall(r"Input steps: \[([\d\s]+)\]", match["attention"])
    numbers = ("norms", "samples", "length", "sequences", "steps")
    return {
        "input": "".join(re.findall(r"'(.)'", match["input"])),
        **{name: [int(count) for count in match[name].split()] for name in ("prediction", "truth")},
        **{name: rows(match[name]) for name in ("attention", "self_attention")},
        **{name: json.loads(match[name] or "[]") for name in numbers},
        "mainly": [[int(step) for step in steps.split()] for steps in mainly],
    }


def alphabet(task, vocab_size=3):
    """Return the letters of a task, a str; a blank is the first, except in Task 3."""
    return " " * (task != 3) + string.ascii_uppercase[:vocab_size]


def solve(task, letters, vocab_size=3):
    """Return the right answers to a str of letters, counted in plain Python."""
    if task == 3:
        return [letters[1:].count(letters[0])]
    counts = [letters.count(letter) for letter in string.ascii_uppercase[:vocab_size]]
    return counts if task == 1 else [*counts, abs(counts[0] - counts[1])]


def losses(output):
    """Return what a training has printed for each training step of a loss line, a dict from int to str."""
    found = re.findall(r"^Iteration (\d+) - Loss (.+)$", output, re.MULTILINE)
    return {int(step): loss for step, loss in found}
