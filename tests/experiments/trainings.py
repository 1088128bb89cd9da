"""Trains edited programs, two at a time, each training in a process of its own, and keeps the models."""

import ast
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading

import tqdm

from . import edits

WORKERS = 2
TRAININGS_PER_WORKER = 20  # Then another process takes its place.

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
        folder: pathlib.Path or str; it keeps programs, models and what is compiled.
        seeds: what replaces the seeds of every run, or None.
    """

    def __init__(self, folder, seeds=None):
        self.folder = pathlib.Path(folder).resolve()
        self.seeds = seeds
        self.programs = {}  # (task, edit) to the path of that main.py.
        self.trained = {}  # (run, seed) to a Future of the folder with the model.
        self.loaded = {}  # (run, seed) to the model.
        self.queue = queue.Queue()
        self.threads = []
        self.failed = False

    def chosen(self, seeds):
        """Return these seeds as a list, or those that replace them."""
        return list(self.seeds or seeds)

    def path(self, task, edit=None):
        """Return the path of a task's main.py, edited or not, in the folder."""
        if (task, edit) not in self.programs:
            source = edits.program(task, edit)
            path = self.folder / f"{task}-{identity(source)}" / "main.py"
            if not path.exists():  # One that differs in comments stays: it has trained the models beside it.
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_suffix(f".{os.getpid()}")
                part.write_text(source, encoding="utf-8")
                part.replace(path)
            self.programs[task, edit] = path
        return self.programs[task, edit]

    def module(self, task, edit=None):
        """Return a task's main.py, edited or not, as a module."""
        return edits.load(self.path(task, edit))

    def trained_in(self, run, seed):
        """Return a Future of the folder of a training; let a worker train what is not there yet."""
        if (run, seed) not in self.trained:
            path = self.path(run.task, run.edit)
            folder = path.parent / f"{''.join(run.flags.split())}--seed{seed}"
            self.trained[run, seed] = concurrent.futures.Future()
            if (folder / "output.txt").exists():
                self.trained[run, seed].set_result(folder)
            else:
                self.queue.put((run, seed, folder))
                if len(self.threads) < WORKERS:
                    self.threads.append(threading.Thread(target=self.work, daemon=True))
                    self.threads[-1].start()
        return self.trained[run, seed]

    def start(self, run, seeds):
        """Let workers train what is not there yet, and do not wait. Return a Future for each seed."""
        return [self.trained_in(run, seed) for seed in self.chosen(seeds)]

    def train(self, runs_and_seeds):
        """Train what is missing of a list of (run, seeds), and show on standard error how far that is.

        Raises TrainingError as soon as one fails; a second call goes on where this one stopped.
        """
        futures = {future for run, seeds in runs_and_seeds for future in self.start(run, seeds)}
        finished = concurrent.futures.as_completed(futures)
        for future in tqdm.tqdm(finished, "trainings", len(futures), dynamic_ncols=True):
            future.result()

    def models(self, run, seeds):
        """Return the trained models of these seeds, a list."""
        self.start(run, seeds)
        module = self.module(run.task, run.edit)
        for seed in self.chosen(seeds):
            if (run, seed) not in self.loaded:
                words = ["--test", "--savepath", str(self.trained_in(run, seed).result())]
                self.loaded[run, seed] = module.load_model(module.parse_arguments(words))[0]
        return [self.loaded[run, seed] for seed in self.chosen(seeds)]

    def losses(self, run, seed):
        """Return the list of (training step, loss in nats) that a training printed; no seed is replaced."""
        text = (self.trained_in(run, seed).result() / "output.txt").read_text(encoding="utf-8")
        lines = re.findall(r"Iteration (\d+) - Loss (\S+)", text)
        return [(int(step), float(loss)) for step, loss in lines]

    def work(self):
        """Let one worker after the other train what the queue holds; after a failure nothing more."""
        while True:
            with self.new_worker() as worker:  # At its end, the worker's input is closed, which ends it.
                for _ in range(TRAININGS_PER_WORKER):
                    run, seed, folder = self.queue.get()
                    if self.failed:
                        return
                    words = ["--train", "--seed", str(seed), "--savepath", str(folder), *run.flags.split()]
                    problem = ask(worker, [str(folder.parent), words])
                    if problem:
                        self.failed = True
                        what = f"Task {run.task}, edit {run.edit}, flags {run.flags!r}, seed {seed}"
                        error = TrainingError(f"{what}: {problem} (see {self.folder / 'worker.log'})")
                        self.trained[run, seed].set_exception(error)
                        return
                    self.trained[run, seed].set_result(folder)

    def new_worker(self):
        """Start a process that trains, and return its subprocess.Popen."""
        compiled = self.folder / "compiled"
        compiled.mkdir(exist_ok=True)
        environment = {**os.environ, "TF_XLA_FLAGS": f'--tf_xla_persistent_cache_directory="{compiled}"'}
        words = [sys.executable, pathlib.Path(__file__).with_name("worker.py"), edits.script(1).parent]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with open(self.folder / "worker.log", "ab") as log:
            return subprocess.Popen(words, env=environment, stderr=log, **pipes)


def ask(worker, job):
    """Let a worker train. Return what went wrong, a str, empty if nothing did."""
    try:
        print(json.dumps(job), file=worker.stdin, flush=True)
        return json.loads(worker.stdout.readline())
    except (OSError, ValueError):  # It has gone.
        return f"the process that trains has ended with {worker.wait()}"
