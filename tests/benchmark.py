"""Measure how fast the programs are and print the tables as Markdown.

    python tests/benchmark.py          about eight minutes on two cores, on Linux or macOS
    python tests/benchmark.py --other "the original" PYTHON FOLDER
                                       also another program with these tasks and flags in FOLDER, run by a
                                       PYTHON that has what it needs; may be given more than once
    python tests/benchmark.py --before FOLDER
                                       also another version of this project

Everything that is compared is measured in one run, alternating, several times; the tables give the median
and, in brackets, the least and the most.
"""

import argparse
import gc
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import program

SAVEPATH = tempfile.TemporaryDirectory(prefix="benchmark-")
MEBIBYTE = 1024  # in the unit of ru_maxrss, KiB
STEPS = {1: 2000, 2: 1000, 3: 2000}  # The defaults, for programs that have others.


def measured(values, form="{:.2f}"):
    """Return the median of the values and, in brackets, the least and the most."""
    low, middle, high = (form.format(value) for value in (min(values), np.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def table(title, head, rows):
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def process(words):
    """Run a process; return its seconds and the peak of its memory in MiB."""
    start = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return time.perf_counter() - start, usage.ru_maxrss / MEBIBYTE


def whole_processes(others, before, repetitions=4):
    """Table 1: the seconds and the memory of whole processes, and their ratio to importing TensorFlow.

    Args:
        others: list of (name, a Python, a folder), all str: other programs with these tasks and flags.
        before: str, the folder of another version of this project, or None.
        repetitions: int, how often each process runs.
    """
    commands = {"`import tensorflow`": [sys.executable, "-c", "import tensorflow"]}
    for variant, (task, flags) in program.VARIANTS.items():
        savepath = ("--savepath", pathlib.Path(SAVEPATH.name) / variant.replace(" ", ""))
        commands[f"Task {variant}, `--train`"] = program.command(task, "--train", *flags, *savepath)
        commands[f"Task {variant}, `--test`"] = program.command(task, "--test", *savepath)
        if before:
            script = pathlib.Path(before) / program.FOLDERS[task] / "main.py"
            words = [sys.executable, str(script), "--savepath", f"{savepath[1]}-before"]
            commands[f"Task {variant}, `--train`, before"] = [*words, "--train", *flags]
            commands[f"Task {variant}, `--test`, before"] = [*words, "--test"]
        for name, python, folder in others:
            script = pathlib.Path(folder) / program.FOLDERS[task] / "main.py"
            if script.exists():
                words = [python, str(script), "--train", *flags, f"--steps={STEPS[task]}"]
                commands[f"Task {variant}, `--train`, {name}"] = [*words, f"--savepath={savepath[1]}-other"]
    commands["Task 1, `--help`"] = program.command(1, "--help")
    commands["Task 1, `--steps 0`, refused"] = program.command(1, "--train", "--steps", 0)
    runs = {name: [] for name in commands}
    for _ in range(repetitions):
        for name, words in commands.items():
            runs[name].append(process(words))
    seconds = {name: [run[0] for run in values] for name, values in runs.items()}
    memory = {name: [run[1] for run in values] for name, values in runs.items()}
    floor, least = (np.median(values["`import tensorflow`"]) for values in (seconds, memory))
    rows = []
    for name in commands:
        ratios = [f"{np.median(seconds[name]) / floor:.2f}", f"{np.median(memory[name]) / least:.2f}"]
        rows.append([name, measured(seconds[name]), ratios[0], f"{np.median(memory[name]):.0f}", ratios[1]])
    table("Whole processes", ["", "seconds", "/ floor", "peak MiB", "/ floor"], rows)


class CompiledError(Exception):
    """What `train` has compiled: the function that runs steps, the most it runs, and the task."""


class Ours:
    """The steps of main.py's own training, data generation included, printing and saving not."""

    def __init__(self, module, arguments):
        self.batchsize = arguments.batchsize
        compile_steps = module.compile_steps

        def stop_there(train_step, task, arguments):
            raise CompiledError(*compile_steps(train_step, task, arguments), task)

        module.compile_steps = stop_there
        try:
            module.train(arguments)
        except CompiledError as compiled:
            self.run_steps, self.most, self.task = compiled.args
        module.compile_steps = compile_steps

    def data(self, steps):
        """Make the data of so many steps, and nothing else."""
        self.task.solve(self.task.sample(steps, self.batchsize))

    def __call__(self, steps):
        for start in range(0, steps, self.most):
            letters = self.task.sample(min(self.most, steps - start), self.batchsize)
            self.run_steps(letters, self.task.solve(letters))


def settings(module, arguments):
    """Return what a model is built from, a dict."""
    return {name: getattr(arguments, name) for name in module.SETTINGS}


class PerStep:
    """The same model with one tf.function call per step."""

    def __init__(self, module, arguments, batches, jit_compile):
        tensorflow = module.tf
        model = module.AttentionModel(**settings(module, arguments))
        optimizer = tensorflow.keras.optimizers.Adam(arguments.lr)
        optimizer.build(model.trainable_variables)
        loss_function = tensorflow.keras.losses.CategoricalCrossentropy(from_logits=True)

        @tensorflow.function(jit_compile=jit_compile)
        def step(inputs, labels):
            with tensorflow.GradientTape() as tape:
                loss = loss_function(labels, model(inputs)[0])
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss

        self.step = step
        self.batches = [tuple(map(tensorflow.constant, batch)) for batch in batches]

    def __call__(self, steps):
        for number in range(steps):
            loss = self.step(*self.batches[number % len(self.batches)])
        float(loss)


class Fit:
    """The same model under Keras fit."""

    def __init__(self, module, arguments, batches, jit_compile, steps_per_execution):
        tensorflow = module.tf

        class OnlyLogits(tensorflow.keras.Model):
            def __init__(self):
                super().__init__()
                self.inner = module.AttentionModel(**settings(module, arguments))

            def call(self, inputs):
                return self.inner(inputs)[0]

        self.model = OnlyLogits()
        self.model.compile(
            optimizer=tensorflow.keras.optimizers.Adam(arguments.lr),
            loss=tensorflow.keras.losses.CategoricalCrossentropy(from_logits=True),
            steps_per_execution=steps_per_execution,
            jit_compile=jit_compile,
        )
        arrays = [np.stack(part) for part in zip(*batches, strict=True)]
        data = tensorflow.data.Dataset.from_tensor_slices(tuple(arrays))
        options = tensorflow.data.Options()
        options.autotune.enabled = False  # At the end of each fit, its thread would be waited for.
        self.data = data.cache().repeat().prefetch(8).with_options(options)

    def __call__(self, steps):
        self.model.fit(self.data, steps_per_epoch=steps, verbose=0)


def microseconds(run, steps):
    """Return the microseconds of one step."""
    start = time.perf_counter()
    run(steps)
    return (time.perf_counter() - start) / steps * 1e6


def parsed(task, *flags):
    """Return the module and the flags of a training."""
    module = program.load(task)
    words = ["--train", "--savepath", SAVEPATH.name, *map(str, flags)]
    return module, module.parse_arguments(words)


GROWTH = """
import sys, time
sys.path.insert(0, {tests!r})
import benchmark, resource
module, arguments = benchmark.parsed({task}, *{flags!r})
run = benchmark.Ours(module, arguments)
run(2)
steps = 2
while True:
    start = time.perf_counter()
    run(steps)
    seconds = time.perf_counter() - start
    if seconds > 0.7:
        break
    steps = max(steps + 1, int(steps * min(10, 1 / seconds)))
matrix = module.tf.random.normal((2000, 2000))
module.tf.matmul(matrix, matrix).numpy()
start = time.perf_counter()
for _ in range(3):
    module.tf.matmul(matrix, matrix).numpy()
peak = 3 * 2 * 2000**3 / (time.perf_counter() - start)
print(seconds / steps * 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, peak)
"""


def operations(task, batchsize, hidden, max_len):
    """Return the floating-point operations in the matrix products of a training step, backward included."""
    letters, answers, length = 4, 3, max_len
    if task == 3:
        letters, answers, length = 3, 1, max_len + 1
    forward = 2 * length * letters * hidden + 4 * answers * length * hidden
    forward += 2 * answers * hidden * (max_len + 1)
    if task == 3:
        forward += 4 * length**2 * hidden + 8 * length * hidden**2
    return 3 * batchsize * forward


def growth():
    """Table 2: microseconds a step and memory over the sizes, and the distance to the hardware."""
    rows = []
    sizes = [("batchsize", size) for size in (10, 100, 1000, 10000)]
    sizes += [("hidden", size) for size in (16, 64, 256, 1024)]
    sizes += [("max_len", size) for size in (10, 100, 1000)]
    for task, flags in ((1, []), (3, ["--pos_enc"])):
        for name, size in sizes:
            code = GROWTH.format(
                tests=str(pathlib.Path(__file__).parent), task=task, flags=[*flags, f"--{name}", str(size)]
            )
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            if done.returncode:
                rows.append([task, f"`--{name} {size}`", "does not fit into memory", "", "", ""])
                continue
            micro, memory, peak = map(float, done.stdout.split())
            flop = operations(task, **{"batchsize": 100, "hidden": 64, "max_len": 10, name: size})
            rows.append([task, f"`--{name} {size}`", f"{micro:,.0f}", f"{memory:,.0f}", f"{flop / 1e6:,.1f}"])
            rows[-1].append(f"{flop / micro * 1e6 / peak:.0%}")
    head = ["Task", "", "µs a step", "peak MiB", "Mflop a step", "of a large matrix product's speed"]
    table("How it grows", head, rows)


def one_step(repetitions=7):
    """Table 3: a step in the steady state, ours and three others', and the share of the data in ours."""
    rows = []
    for variant, (task, flags) in program.VARIANTS.items():
        module, arguments = parsed(task, *flags)
        batches = [module.Task().next_batch(arguments.batchsize) for _ in range(50)]
        runs = {"ours": Ours(module, arguments)}
        for jit_compile in (False, True):
            xla = "XLA" if jit_compile else "no XLA"
            runs[f"per step, {xla}"] = PerStep(module, arguments, batches, jit_compile)
            for steps in (1, 50):
                runs[f"fit, {steps} steps, {xla}"] = Fit(module, arguments, batches, jit_compile, steps)
        times = {name: [] for name in runs}
        for run in runs.values():
            run(100)
        for _ in range(repetitions):
            for name, run in runs.items():
                times[name].append(microseconds(run, 200))
        data = [microseconds(runs["ours"].data, 50) for _ in range(repetitions)]
        median = {name: np.median(values) for name, values in times.items()}
        best = min((name for name in runs if name != "ours"), key=median.get)
        fit = min((name for name in runs if name.startswith("fit")), key=median.get)
        row = [variant, *(measured(times[name], "{:.0f}") for name in ("ours", fit))]
        row += [measured(times[f"per step, {xla}"], "{:.0f}") for xla in ("no XLA", "XLA")]
        row += [f"{median['ours'] / median[best]:.2f}", f"{np.median(data) / median['ours']:.0%}"]
        rows.append([*row, f"{fit}; best: {best}"])
        gc.collect()
    head = ["Task", "ours", "best Keras `fit`", "a call per step", "the same, XLA", "ours / best", "data"]
    table("A training step, in microseconds", [*head, "which"], rows)


def main():
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    other = {"nargs": 3, "action": "append", "default": [], "metavar": ("NAME", "PYTHON", "FOLDER")}
    parser.add_argument("--other", help="also measure another program", **other)
    parser.add_argument("--before", metavar="FOLDER", help="also measure another version of this project")
    arguments = parser.parse_args()
    start = time.perf_counter()
    whole_processes(arguments.other, arguments.before)
    growth()  # Before this process grows: Linux counts a parent's peak memory in its children's.
    one_step()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEBIBYTE
    print(f"\n{time.perf_counter() - start:.0f} seconds; the benchmark itself peaked at {peak:.0f} MiB.")


if __name__ == "__main__":
    main()
