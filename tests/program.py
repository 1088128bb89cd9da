"""How the tests, the benchmark and the lessons reach the three programs: as scripts, and as modules."""

import atexit
import contextlib
import functools
import importlib.util
import io
import json
import os
import pathlib
import re
import string
import subprocess
import sys
import tempfile

import numpy as np

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


@functools.cache
def compiled():
    """Return a setting by which TensorFlow keeps compiled trainings, as tests train the same ones often."""
    folder = tempfile.TemporaryDirectory(prefix="compiled-")
    atexit.register(folder.cleanup)
    return {"TF_XLA_FLAGS": f"--tf_xla_persistent_cache_directory={folder.name}"}


def run(task, *flags, cwd=None, **options):
    """Run a task's main.py as a user does and return its subprocess.CompletedProcess."""
    environment = {**os.environ, **compiled(), "PYTHONIOENCODING": "utf-8"} | options.pop("env", {})
    options = {"capture_output": True, "text": True, "timeout": 600} | options
    return subprocess.run(command(task, *flags), cwd=cwd or script(task).parent, env=environment, **options)


@functools.cache
def load(task):
    """Return a task's main.py as a module."""
    specification = importlib.util.spec_from_file_location(f"main_{task}", script(task))
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def in_process(task, *flags):
    """Run main(argv) in this process and return its standard output."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        load(task).main([str(flag) for flag in flags])
    return output.getvalue()


def start(*flags, task=1, **options):
    """Start a task's main.py as a user does and return its subprocess.Popen."""
    environment = {**os.environ, **compiled()}
    options = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "env": environment,
    } | options
    return subprocess.Popen(command(task, *flags), **options)


def finish(process):
    """Wait for a process and return its subprocess.CompletedProcess."""
    stdout, stderr = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def messages(completed):
    """Return the lines of standard error that are not TensorFlow's own start-up messages."""
    lines = completed.stderr.splitlines()
    return [line for line in lines if not re.match(r"WARNING: All log messages before absl|[IWE]0000 ", line)]


def refused(completed, status, *words):
    """Check that a run ended with this status and one line of its own, with these words in it."""
    lines = messages(completed)
    assert completed.returncode == status, completed
    assert len(lines) == 1, completed.stderr
    pattern = r"main\.py: error: .+; see --help" if status == 2 else r"main\.py: error: .+"
    assert re.fullmatch(pattern, lines[0]) and lines[0].isprintable(), lines[0]
    for word in words:
        assert str(word) in lines[0], lines[0]


def contents(savepath):
    """Return the arrays in a folder's checkpoint.npz, a dict, and its description, read by NumPy alone."""
    with np.load(pathlib.Path(savepath) / "checkpoint.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    return arrays, json.loads(arrays.pop("description").item())


def loaded(savepath, task=1):
    """Return the weights, a dict of arrays, and the settings of the model that --test finds in a folder."""
    module = load(task)
    model, settings = module.load_model(module.parse_arguments(["--test", "--savepath", str(savepath)]))
    return {name: weight.numpy() for name, weight in module.named_weights(model).items()}, settings


def same(arrays, others):
    """Return whether two dicts hold the same names and the same finite arrays."""
    return set(arrays) == set(others) and all(np.array_equal(arrays[name], others[name]) for name in arrays)


NUMBERS = r"\[[-\d., e]*\]"
OUTPUT = re.compile(
    r"Input: \n(?P<input>\[\[\['[A-Z ]'\](?:\n  \['[A-Z ]'\])*\]\])\n"
    r"\nPrediction: \n\[\[(?P<prediction>[\d ]+)\]\]\n"
    r"\nEncoder-Decoder Attention: \n"
    rf"(?P<attention>(?:Output step \d+ attended mainly to Input steps: \[[\d ]+\]\n{NUMBERS}\n)+)"
    rf"(?:\nSelf-Attention: \n(?P<self_attention>(?:Attention of Output step \d+:\n{NUMBERS}\n)+))?"
    rf"(?:\nL2-Norm of Positional Encoding:\n(?P<norms>{NUMBERS})\n)?"
    r"\nAccuracy on 10000 new samples: (?P<sequences>\d+\.\d\d)% of sequences, "
    r"(?P<steps>\d+\.\d\d)% of output steps\n"
    r"(?P<plots>(?:Plot saved to .+\.png\.\n)*)"
)


def lists(text):
    """Return each line of the text that is a list of numbers, as a list of float."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("[")]


def parse(output):
    """Return what --test has printed, which must be the whole output, as a dict of Python values."""
    match = OUTPUT.fullmatch(output)
    assert match, output
    mainly = re.findall(r"Input steps: \[([\d ]+)\]", match["attention"])
    return {
        "input": "".join(re.findall(r"'(.)'", match["input"])),
        "prediction": [int(count) for count in match["prediction"].split()],
        "attention": lists(match["attention"]),
        "mainly": [[int(step) for step in steps.split()] for steps in mainly],
        "self_attention": match["self_attention"] and lists(match["self_attention"]),
        "norms": match["norms"] and lists(match["norms"])[0],
        "sequences": float(match["sequences"]),
        "steps": float(match["steps"]),
        "plots": re.findall(r"Plot saved to (.+)\.\n", match["plots"]),
    }


def solve(task, letters, vocab_size=3):
    """Return the right answers to a str of letters, counted in plain Python."""
    if task == 3:
        return [letters[1:].count(letters[0])]
    counts = [letters.count(letter) for letter in string.ascii_uppercase[:vocab_size]]
    return counts if task == 1 else [*counts, abs(counts[0] - counts[1])]
