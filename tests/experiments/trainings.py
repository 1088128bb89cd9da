"""Trains edited programs, each training a process of its own, two at a time, and keeps the models.

A folder for each program that trains something else holds its text of today, which also loads and measures
the models, and a folder for each training.
"""

import ast
import collections
import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys

import tqdm

from . import edits, programs

AT_A_TIME = 2

Setup = collections.namedtuple("Setup", "task edit flags")
Setup.__doc__ = (
    """What is trained: one of programs.SCRIPTS, an edit (str) or None, flags such as "--lr 0.003"."""
)


class TrainingError(Exception):
    """A training that failed; the text is one line."""


class WithoutAsides(ast.NodeTransformer):
    """Takes out of a syntax tree what trains nothing: docstrings, and lines such as `print(loss)`.

    A function that is called by its bare name, and gives nothing back, says something or saves it.
    """

    def visit_Expr(self, node):
        called = isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        return ast.Pass() if called or isinstance(node.value, ast.Constant) else node


def identity(source):
    """Return a hash of what trains a model in a program, a str: all others train the same.

    That is the function with the GradientTape, all that it names, and the defaults of the flags.
    """
    defined, training = {}, {}
    for node in WithoutAsides().visit(ast.parse(source)).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            defined[node.name] = node
        elif isinstance(node, ast.Assign):
            assigned = ast.walk(ast.List(node.targets))
            defined |= {name.id: node for name in assigned if isinstance(name, ast.Name)}
    names = [name for name, node in defined.items() if "GradientTape" in ast.unparse(node)]
    while names:
        name = names.pop()
        if name in defined and name not in training:
            training[name] = ast.unparse(defined[name])
            names += [node.id for node in ast.walk(defined[name]) if isinstance(node, ast.Name)]
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args):
        flag = ast.unparse(call.args[0])
        for word in call.keywords:
            if flag.startswith("'--") and "path" not in flag and word.arg == "default":
                training[flag] = ast.unparse(word.value)
    return hashlib.sha256(str(sorted(training.items())).encode()).hexdigest()[:16]


class ModelCache:
    """A folder of trained models: what is there is taken, what is missing is trained.

    Args:
        folder: pathlib.Path or str; it keeps programs and models.
        seeds: what replaces the seeds of every setup, or None.
    """

    def __init__(self, folder, seeds=None):
        self.folder = pathlib.Path(folder).resolve()
        self.seeds = seeds
        self.folders = {}  # (task, edit) to the folder of that program.
        self.loaded = {}  # (setup, seed) to the model.

    def chosen(self, seeds):
        """Return these seeds as a list, or those that replace them."""
        return list(self.seeds or seeds)

    def program_folder(self, task, edit=None):
        """Return the folder of a program, edited or not, and of its models; the program is put there."""
        if (task, edit) not in self.folders:
            script, source = programs.script(task), edits.program(task, edit)
            folder = self.folder / f"{task}-{identity(source)}"
            folder.mkdir(parents=True, exist_ok=True)
            if task == "transformer":  # It looks for main.py in the folder above.
                main = script.parent.with_name("main.py").read_text(encoding="utf-8")
                folder.with_name("main.py").write_text(main, encoding="utf-8")
            (folder / script.name).write_text(source, encoding="utf-8")
            self.folders[task, edit] = folder
        return self.folders[task, edit]

    def module(self, task, edit=None):
        """Return a program as it is today, edited or not, as a module."""
        return programs.load(self.program_folder(task, edit) / programs.script(task).name)

    def savepath(self, setup, seed):
        """Return the folder of a training run's model."""
        return self.program_folder(setup.task, setup.edit) / f"{''.join(setup.flags.split())}--seed{seed}"

    def checkpoint(self, setup, seed):
        """Return the path of a trained model's file."""
        (path,) = self.savepath(setup, seed).glob("*.npz")
        return path

    def train_one(self, setup, seed):
        """Train, as a user does, what is not there yet; what it prints is kept as the last file."""
        savepath = self.savepath(setup, seed)
        if (savepath / "output.txt").exists():
            return
        script = savepath.parent / programs.script(setup.task).name
        flags = ["--train", "--seed", str(seed), "--savepath", str(savepath), *setup.flags.split()]
        words = [sys.executable, str(script), *flags]
        process = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
        if process.returncode:
            message = (process.stderr.splitlines() or [process.returncode])[-1]
            name = f"Task {setup.task}, edit {setup.edit}, flags {setup.flags!r}, seed {seed}"
            raise TrainingError(f"{name}: {message}")
        (savepath / "unfinished").write_text(process.stdout, encoding="utf-8")
        (savepath / "unfinished").replace(savepath / "output.txt")

    def train(self, setups_and_seeds):
        """Train what is missing of a list of (setup, seeds), and show on standard error how far that is.

        Raises TrainingError as soon as a training run fails; a second call goes on where this one stopped.
        """
        pairs = dict.fromkeys(
            (setup, seed) for setup, seeds in setups_and_seeds for seed in self.chosen(seeds)
        )
        for setup, _ in pairs:  # Not in the threads: two at once break ast.parse of Python 3.11.
            self.program_folder(setup.task, setup.edit)
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            futures = [pool.submit(self.train_one, *pair) for pair in pairs]
            finished = concurrent.futures.as_completed(futures)
            try:
                for future in tqdm.tqdm(finished, "training runs", len(futures), dynamic_ncols=True):
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def models(self, setup, seeds):
        """Return the trained models of these seeds, a list."""
        module = self.module(setup.task, setup.edit)
        for seed in self.chosen(seeds):
            if (setup, seed) not in self.loaded:
                self.train_one(setup, seed)
                self.loaded[setup, seed] = programs.load_model(module, self.checkpoint(setup, seed))
        return [self.loaded[setup, seed] for seed in self.chosen(seeds)]

    def losses(self, setup, seed):
        """Return the training steps and losses, in nats, that a training run printed; no seed is replaced."""
        self.train_one(setup, seed)
        text = (self.savepath(setup, seed) / "output.txt").read_text(encoding="utf-8")
        lines = re.findall(r"Iteration (\d+) - Loss (\S+)", text)
        return [(int(step), float(loss)) for step, loss in lines]
