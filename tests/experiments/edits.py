"""The edits of the programs: read from the folder edits/, applied, trained.

Each is a file that says what it is and then how to make it: lines with "-" go, with "+" come, with a space
stay, and "@@" starts a place. An edit with a number to choose has the word NUMBER in its place; "G 1" is
the edit G with 1 there, "A+F" the edit A and then F.
"""

import collections
import concurrent.futures
import functools
import pathlib
import re
import subprocess
import sys
import types

from . import programs

EDITS = pathlib.Path(__file__).with_suffix("")
MODELS = pathlib.Path(__file__).with_name("models")

# What is trained: one of programs.SCRIPTS, an edit (str) or None, flags such as "--lr 0.003".
Setup = collections.namedtuple("Setup", "task edit flags", defaults=(None, ""))


def read(task):
    """Return the edits of a program, a dict from their letters to their diffs."""
    files = sorted((EDITS / (f"task_{task}" if task in programs.FOLDERS else task)).glob("*.diff"))
    return {file.stem: file.read_text(encoding="utf-8").partition("\n\n")[2] for file in files}


def apply(source, diff):
    """Return source with the changes of a diff, both str; each place must be there exactly once."""
    for place in filter(None, re.split(r"^@@.*\n", diff, flags=re.MULTILINE)):
        lines = [line or " " for line in place.splitlines()]  # An empty line is one that stays.
        old, new = ("".join(f"\n{line[1:]}" for line in lines if line[0] in kind) for kind in (" -", " +"))
        if source.count(f"{old}\n") != 1:
            raise ValueError(f"found {source.count(old)} times:{old}")
        source = source.replace(f"{old}\n", f"{new}\n")
    return source


def program(task, edit=None):
    """Return the source of a program, a str, with an edit applied, such as "A", "G 1" or "A+F"."""
    source = programs.script(task).read_text(encoding="utf-8")
    for part in edit.split("+") if edit else []:
        name, _, number = part.partition(" ")
        if name not in read(task):
            sys.exit(f"experiments: error: there is no edit {name} of {programs.SCRIPTS[task]} in {EDITS}")
        source = apply(source, read(task)[name].replace("NUMBER", number))
    return source


@functools.cache
def load(task, edit=None):
    """Return a program, edited or not, as a module."""
    module = types.ModuleType(f"{task}, {edit}")
    module.__file__ = str(programs.script(task))
    exec(compile(program(task, edit), f"<{module.__name__}>", "exec"), module.__dict__)
    return module


def folder(setup, seed):
    """Return the folder of a training run; delete it to train anew, such as after a change of the program."""
    return MODELS / str(setup.task) / (setup.edit or "as it is") / f"seed {seed} {setup.flags}".strip()


def train(setup, seed):
    """Train, as a user does, what is not there yet; what it prints is kept, and comes last."""
    path = folder(setup, seed)
    if (path / "output.txt").exists():
        return
    path.mkdir(parents=True, exist_ok=True)
    script = path / programs.script(setup.task).name
    script.write_text(program(setup.task, setup.edit), encoding="utf-8")
    words = [sys.executable, script, "--train", f"--seed={seed}", f"--savepath={path}", *setup.flags.split()]
    process = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
    if process.returncode:
        sys.exit(f"experiments: error: {path}: {(process.stderr.splitlines() or [process.returncode])[-1]}")
    (path / "output.txt").write_text(process.stdout, encoding="utf-8")


def train_all(rows):
    """Train what is missing of a list of (setup, seeds), two at a time."""
    missing = dict.fromkeys((setup, seed) for setup, seeds in rows for seed in seeds)
    missing = [pair for pair in missing if not (folder(*pair) / "output.txt").exists()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, _ in enumerate(pool.map(lambda pair: train(*pair), missing), start=1):
            print(f"\rtraining runs: {number} of {len(missing)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


@functools.cache
def model(setup, seed):
    """Return a trained model."""
    train(setup, seed)
    (checkpoint,) = folder(setup, seed).glob("*.npz")
    return programs.load_model(load(setup.task, setup.edit), checkpoint)


def models(setup, seeds):
    """Return the trained models of these seeds, a list."""
    return [model(setup, seed) for seed in seeds]


def groups(rows):
    """Return the trained models of rows, a dict from a label to (setup, seeds), by the label."""
    return {label: models(*row) for label, row in rows.items()}


def losses(setup, seed):
    """Return the training steps and losses, in nats, that a training run printed."""
    train(setup, seed)
    text = (folder(setup, seed) / "output.txt").read_text(encoding="utf-8")
    return [(int(step), float(loss)) for step, loss in re.findall(r"Iteration (\d+) - Loss (\S+)", text)]
