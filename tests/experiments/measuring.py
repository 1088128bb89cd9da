"""Data that no training run has seen, tables of medians and ranges, and the results/ that they go into."""

import collections
import functools
import importlib.metadata
import os
import pathlib
import platform
import re
import types

import numpy as np

from . import programs

ALPHABETS = {1: " ABC", 2: " ABC", 3: "ABC"}
RESULTS = pathlib.Path(__file__).with_name("results")


def data_of(task, inputs):
    """Return one-hot inputs (samples, length, letters) with their .letters, int, and their right .answers."""
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


def right(model, data):
    """Return the fraction of sequences that a model gets right."""
    return (model(data.inputs)[0].numpy().argmax(axis=-1) == data.answers).all(axis=-1).mean()


def summary(values, form="{:.2f}"):
    """Return the median of the values and, in brackets, the least and the most; "%" is for fractions."""
    if form == "%":
        return summary([100 * value for value in values], "{:.1f}").replace(" (", "% (")
    texts = [form.format(value) for value in (np.median(values), min(values), max(values))]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def table(title, head, rows):
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def compare(title, head, groups, measure, *forms, each=False):
    """Print a table with a row for each group, and in its columns the ranges of what is measured of it.

    Args:
        head: list of str, above the labels and above each number that is measured.
        groups: dict from a label to a list of models, or of whatever is measured.
        measure: function from one of these to numbers.
        forms: the form of each number in `summary`.
        each: bool, whether the first number of each training run stands below the table.
    """
    columns = {label: np.array([measure(member) for member in group]).T for label, group in groups.items()}
    table(title, head, [[label, *map(summary, numbers, forms)] for label, numbers in columns.items()])
    if each:
        print()
        for label, (first, *_) in columns.items():
            print(f"- {label}: {' '.join(f'{100 * number:.1f}' for number in np.sort(first))}", flush=True)


def compare_cases(title, head, group, measure, *forms, each=False):
    """Print a table as `compare` does, with a row for each name in the dict that is measured."""
    measured = [measure(member) for member in group]
    groups = {name: [cases[name] for cases in measured] for name in measured[0]}
    compare(title, head, groups, list, *forms, each=each)


def in_words(answers):
    """Return how often each answer is given, by the runs in a list of arrays: "4 5 4", "1 1 0 in 2 runs"."""
    counts = collections.Counter(" ".join(map(str, answer)) for answer in answers)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{answer} in {runs} run{'s' * (runs > 1)}" for answer, runs in counts.most_common())


def write(name, text):
    """Write tables into the results with this name, with the machine and versions that they depend on."""
    information = pathlib.Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", information.read_text()) if information.exists() else []
    versions = [f"{each} {importlib.metadata.version(each)}" for each in ("tensorflow", "keras", "numpy")]
    machine = f"{(names or [platform.processor()])[0]}, {os.cpu_count()} cores"
    machine = f"{machine}; Python {platform.python_version()}, {', '.join(versions)}"
    (RESULTS / f"{name}.md").write_text(f"# What was measured: {name}\n\n{machine}\n{text}", encoding="utf-8")


def runs(name, title, label):
    """Return the numbers of single training runs below a table of results, a list of float."""
    _, _, section = (RESULTS / f"{name}.md").read_text(encoding="utf-8").partition(f"\n### {title}\n")
    (line,) = re.findall(rf"^- {re.escape(label)}: (.+)$", section.partition("\n### ")[0], re.MULTILINE)
    return [float(number) for number in line.split()]
