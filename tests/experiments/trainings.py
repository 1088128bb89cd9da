"""Trains edited programs, each training a process of its own, two at a time, and keeps the models."""

import ast
import collections
import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys

import tqdm

from . import edits

AT_A_TIME = 2

Run = collections.namedtuple("Run", "task edit flags")
Run.__doc__ = """What is trained: a task (int), an edit (str) or None, flags (a str such as "--lr 0.003")."""


class TrainingError(Exception):
    """A training that failed; the text is one line."""


def identity(source):
    """Return a hash of a program, a str, that comments, docstrings and the layout do not change."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            node.body[0].value.value = ""
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]


class Trainings:
    """Trained models in a folder: what is there is taken, what is missing is trained.

    Args:
        folder: pathlib.Path or str; it keeps programs and models.
        seeds: what replaces the seeds of every run, or None.
    """

    def __init__(self, folder, seeds=None):
        self.folder = pathlib.Path(folder).resolve()
        self.seeds = seeds
        self.paths = {}  # (task, edit) to the path of that main.py.
        self.loaded = {}  # (run, seed) to the model.

    def chosen(self, seeds):
        """Return these seeds as a list, or those that replace them."""
        return list(self.seeds or seeds)

    def path(self, task, edit=None):
        """Return the path of a task's main.py, edited or not, in the folder."""
        if (task, edit) not in self.paths:
            source = edits.program(task, edit)
            path = self.folder / f"{task}-{identity(source)}" / "main.py"
            if not path.exists():  # One that differs in comments stays: it has trained the models beside it.
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(source, encoding="utf-8")
            self.paths[task, edit] = path
        return self.paths[task, edit]

    def module(self, task, edit=None):
        """Return a task's main.py, edited or not, as a module."""
        return edits.load(self.path(task, edit))

    def savepath(self, run, seed):
        """Return the folder of a training's model."""
        return self.path(run.task, run.edit).parent / f"{''.join(run.flags.split())}--seed{seed}"

    def train_one(self, run, seed):
        """Train, as a user does, what is not there yet; what it prints is kept as the last file."""
        savepath = self.savepath(run, seed)
        if (savepath / "output.txt").exists():
            return
        words = [sys.executable, self.path(run.task, run.edit), "--train", "--seed", seed, *run.flags.split()]
        words = [*map(str, words), "--savepath", str(savepath)]
        done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
        if done.returncode:
            what = f"Task {run.task}, edit {run.edit}, flags {run.flags!r}, seed {seed}"
            raise TrainingError(f"{what}: {(done.stderr.splitlines() or [done.returncode])[-1]}")
        (savepath / "output.txt").write_text(done.stdout, encoding="utf-8")

    def train(self, runs_and_seeds):
        """Train what is missing of a list of (run, seeds), and show on standard error how far that is.

        Raises TrainingError as soon as one fails; a second call goes on where this one stopped.
        """
        pairs = dict.fromkeys((run, seed) for run, seeds in runs_and_seeds for seed in self.chosen(seeds))
        for run, _ in pairs:
            self.path(run.task, run.edit)  # Not in the threads: two at once break ast.parse of Python 3.11.
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            futures = [pool.submit(self.train_one, *pair) for pair in pairs]
            finished = concurrent.futures.as_completed(futures)
            try:
                for future in tqdm.tqdm(finished, "trainings", len(futures), dynamic_ncols=True):
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def models(self, run, seeds):
        """Return the trained models of these seeds, a list."""
        module = self.module(run.task, run.edit)
        for seed in self.chosen(seeds):
            if (run, seed) not in self.loaded:
                self.train_one(run, seed)
                words = ["--test", "--savepath", str(self.savepath(run, seed))]
                self.loaded[run, seed] = module.load_model(module.parse_arguments(words))[0]
        return [self.loaded[run, seed] for seed in self.chosen(seeds)]

    def losses(self, run, seed):
        """Return the list of (training step, loss in nats) that a training printed; no seed is replaced."""
        self.train_one(run, seed)
        text = (self.savepath(run, seed) / "output.txt").read_text(encoding="utf-8")
        lines = re.findall(r"Iteration (\d+) - Loss (\S+)", text)
        return [(int(step), float(loss)) for step, loss in lines]
