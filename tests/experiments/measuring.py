"""Data that no training has seen, scores of models on them, and ranges over trainings as Markdown."""

import functools
import types
import warnings

import numpy as np
from scipy import special

from . import edits


def task_of(task, generator=None, max_len=10, vocab_size=3):
    """Return a Task of the program of a task, an int."""
    return edits.load(edits.script(task)).Task(max_len, vocab_size, generator)


@functools.cache
def fresh(task, samples=10000, seed=1000, **sizes):
    """Return sequences that no training has seen, for models with these sizes (max_len, vocab_size).

    Returns:
        .letters: int (samples, length).
        .inputs: the same, one-hot float32 (samples, length, letters).
        .answers: int (samples, outputs).
    """
    source = task_of(task, np.random.default_rng(seed), **sizes)
    inputs, answers = source.next_batch(samples)
    return types.SimpleNamespace(letters=inputs.argmax(axis=-1), inputs=inputs, answers=answers)


def solved(task, letters, **sizes):
    """Return given letters, int (samples, length), as `fresh` does."""
    given = types.SimpleNamespace(integers=lambda *_, size, dtype: np.broadcast_to(letters, size))
    source = task_of(task, given, **sizes)
    inputs, answers = source.next_batch(len(letters), length=letters.shape[1])
    return types.SimpleNamespace(letters=letters, inputs=inputs, answers=answers)


def spell(task, text):
    """Return a str as `fresh` does, for a model with three letters."""
    letters = task_of(task).letters
    return solved(task, np.array([[letters.index(letter) for letter in text]]))


def outputs(model, inputs):
    """Return the logits of a model, float (samples, outputs, counts), for inputs in parts that fit memory."""
    parts = np.array_split(inputs, max(1, inputs.shape[1] * len(inputs) // 200000))
    return np.concatenate([model(part)[0].numpy() for part in parts])


def score(logits, answers):
    """Return the fraction of sequences right and the cross-entropy in nats per output step.

    Args:
        logits: float (samples, outputs, counts).
        answers: int (samples, outputs).
    """
    right = (logits.argmax(axis=-1) == answers).all(axis=-1).mean()
    logarithms = special.log_softmax(logits.astype(float), axis=-1)
    return right, -np.take_along_axis(logarithms, answers[..., None], axis=-1).mean()


def spread(values, form="{:.2f}"):
    """Return the median of the values and, in brackets, the least and the most."""
    values = list(values)
    texts = [form.format(value) for value in (np.median(values), min(values), max(values))]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def percent(values):
    """Return the median, the least and the most of fractions as percentages."""
    return spread([100 * value for value in values], "{:.1f}").replace(" (", "% (")


def columns(rows, *forms):
    """Return a cell for each column of numbers, (seeds, columns), in these forms; "%" stands for percent."""
    pairs = zip(np.array(rows, dtype=float).T, forms, strict=True)
    return [percent(column) if form == "%" else spread(column, form) for column, form in pairs]


def table(title, head, rows):
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def compare(title, head, groups, measure, *forms, each=False):
    """Print a table with a row for each group, and in its columns the ranges of what is measured of it.

    Args:
        groups: dict from a label to a list of models, or of whatever is measured.
        measure: function from one of them to numbers; each has a word in `head`, a form as in `columns`.
        each: bool, whether each of the first numbers stands below the table.
    """
    rows, below = [], []
    for label, group in groups.items():
        found = [measure(one) for one in group]
        first = np.sort([100 * one[0] for one in found])
        rows.append([label, *columns(found, *forms)])
        below += [f"{label}: {' '.join(map('{:.1f}'.format, first))}"] if each else []
    table(title, ["", *head], rows)
    print("", *below, sep="\n", flush=True)


def compare_cases(title, head, group, measure, *forms):
    """Print a table as `compare` does, with a row for each name in the dict that is measured."""
    found = [measure(model) for model in group]
    compare(title, head, {name: [one[name] for one in found] for name in found[0]}, list, *forms)


def read_again(features, answers):
    """Return the best last dense layer for features, float (samples, numbers), and answers, int (samples,).

    It comes as a function from features to answers. The features get the same spread in all directions first,
    which such a layer can undo: so small differences are learnt as fast as large ones. Rounding is left out.
    """
    from sklearn import decomposition, linear_model, pipeline  # Here, as this takes a second.

    spread_alike = decomposition.PCA(1 - 1e-7, svd_solver="full", whiten=True)
    layer = linear_model.LogisticRegression(C=100, max_iter=300, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # That 300 rounds could be more.
        return pipeline.make_pipeline(spread_alike, layer).fit(features.astype(float), answers).predict


def untrained(trained, run, seeds):
    """Return the networks that the runs of these seeds start from, a list, by a trainings.Trainings."""
    module, networks = trained.module(run.task, run.edit), []
    for seed in trained.chosen(seeds):
        module.tf.keras.utils.set_random_seed(seed)
        networks.append(module.AttentionModel(**edits.settings(module, *run.flags.split())))
    return networks
