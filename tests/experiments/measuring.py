"""Data that no training run has seen, scores of models on them, tables of medians and ranges, results/."""

import functools
import importlib.metadata
import os
import pathlib
import platform
import re
import types

import numpy as np
from scipy import special

from . import programs

ALPHABETS = {1: " ABC", 2: " ABC", 3: "ABC"}
RESULTS = pathlib.Path(__file__).with_name("results")


def data_of(task, inputs):
    """Return inputs, one-hot float32 (samples, length, letters), with what they are and what is right.

    Returns:
        .letters: int (samples, length).
        .inputs: as given.
        .answers: int (samples, outputs).
    """
    answers = programs.load(task).Task().answers(inputs)
    return types.SimpleNamespace(letters=inputs.argmax(axis=-1), inputs=inputs, answers=answers)


@functools.cache
def new_data(task, samples=10000, seed=1000, max_len=10):
    """Return random data as `data_of` does."""
    inputs, _ = programs.load(task).Task(max_len, 3, np.random.default_rng(seed)).next_batch(samples)
    return data_of(task, inputs)


def given_letters(task, letters):
    """Return given letters, int (samples, length), as `data_of` does."""
    return data_of(task, np.eye(len(ALPHABETS[task]), dtype=np.float32)[np.array(letters)])


def spell(task, text):
    """Return a text, a str, as `data_of` does."""
    return given_letters(task, [[ALPHABETS[task].index(letter) for letter in text]])


def logits_of(model, inputs):
    """Return the logits of a model, float (samples, outputs, counts)."""
    return model(inputs)[0].numpy()


def score(logits, answers):
    """Return the fraction of sequences right and the cross-entropy in nats per output step.

    Args:
        logits: float (samples, outputs, counts).
        answers: int (samples, outputs).
    """
    right = (logits.argmax(axis=-1) == answers).all(axis=-1).mean()
    logarithms = special.log_softmax(logits.astype(float), axis=-1)
    return right, -np.take_along_axis(logarithms, answers[..., None], axis=-1).mean()


def scores(task, model):
    """Return the fraction of 10,000 new sequences that a model gets right, and its loss in nats."""
    data = new_data(task)
    return score(logits_of(model, data.inputs), data.answers)


def summary(values, form="{:.2f}"):
    """Return the median of the values and, in brackets, the least and the most."""
    values = list(values)
    texts = [form.format(value) for value in (np.median(values), min(values), max(values))]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def percent(fractions):
    """Return the median, the least and the most of fractions as percentages."""
    return summary([100 * fraction for fraction in fractions], "{:.1f}").replace(" (", "% (")


def table(title, head, rows):
    """Print a Markdown table; the first cell of a row is the label by which a page finds it."""
    print(f"\n### {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def compare(title, head, groups, measure, *forms, each=False):
    """Print a table with a row for each group, and in its columns the ranges of what is measured of it.

    Args:
        head: list of str, above the labels and above each number that is measured.
        groups: dict from a label to a list of models, or of whatever is measured.
        measure: function from one of these to numbers.
        forms: str.format of each number; "%" stands for `percent`.
        each: bool, whether the first number of each training run stands below the table.
    """
    rows, below = [], []
    for label, group in groups.items():
        columns = np.array([measure(member) for member in group], dtype=float).T
        pairs = zip(columns, forms, strict=True)
        cells = [percent(numbers) if form == "%" else summary(numbers, form) for numbers, form in pairs]
        rows.append([label, *cells])
        below += [f"- {label}: {' '.join(f'{100 * number:.1f}' for number in np.sort(columns[0]))}"]
    table(title, head, rows)
    if each:
        print("", *below, sep="\n", flush=True)


def compare_cases(title, head, group, measure, *forms):
    """Print a table as `compare` does, with a row for each name in the dict that is measured."""
    measured = [measure(member) for member in group]
    compare(title, head, {name: [cases[name] for cases in measured] for name in measured[0]}, list, *forms)


def compare_scores(task, title, groups, each=False):
    """Print what is right and the loss for groups of models of a task, as `compare` does."""
    compare(title, ["", "right", "loss"], groups, lambda model: scores(task, model), "%", "{:.3f}", each=each)


def beside_the_original(task, groups):
    """Print what models of a task get right, a dict from a label to a list: what the front page compares."""
    head = ["", "this project: right"]
    compare("Beside the original", head, groups, lambda model: scores(task, model)[:1], "%", each=True)


# --- The results ----------------------------------------------------------------------------------------


def machine():
    """Return the processor and the versions, on which every figure depends, as a line of text."""
    information = pathlib.Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", information.read_text()) if information.exists() else []
    versions = [
        f"{package} {importlib.metadata.version(package)}" for package in ("tensorflow", "keras", "numpy")
    ]
    processor = f"{(names or [platform.processor()])[0]}, {os.cpu_count()} cores"
    return f"{processor}; Python {platform.python_version()}, {', '.join(versions)}"


def write(name, text):
    """Write results, tables as Markdown, into the file with this name."""
    text = f"# What was measured: {name}\n\n{machine()}\n{text}"
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


def runs(name, title, label):
    """Return the numbers of single training runs below a table of results, a list of float."""
    _, _, section = (RESULTS / f"{name}.md").read_text(encoding="utf-8").partition(f"\n### {title}\n")
    (line,) = re.findall(rf"^- {re.escape(label)}: (.+)$", section.partition("\n### ")[0], re.MULTILINE)
    return [float(number) for number in line.split()]
