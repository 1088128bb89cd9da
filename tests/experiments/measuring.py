"""Data that no training has seen, scores of models on them, and ranges over trainings as Markdown."""

import functools
import sys
import types

import numpy as np

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

    class Given:
        """A generator that draws these letters."""

        def integers(self, *_, size, dtype):
            return np.broadcast_to(letters, size).astype(dtype)

    source = task_of(task, Given(), **sizes)
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
    logits = logits.astype(float)
    highest = logits.max(axis=-1, keepdims=True)
    logarithms = logits - highest - np.log(np.exp(logits - highest).sum(axis=-1, keepdims=True))
    return right, -np.take_along_axis(logarithms, answers[..., None], axis=-1).mean()


def spread(values, form="{:.2f}"):
    """Return the mean of the values and, in brackets, the least and the most."""
    values = list(values)
    texts = [form.format(value) for value in (np.mean(values), min(values), max(values))]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def percent(values):
    """Return the mean, the least and the most of fractions as percentages."""
    return spread([100 * value for value in values], "{:.1f}").replace(" (", "% (")


def columns(rows, *forms):
    """Return a cell for each column of numbers, (seeds, columns), in these forms; "%" stands for percent."""
    pairs = zip(np.array(rows, dtype=float).T, forms, strict=True)
    return [percent(column) if form == "%" else spread(column, form) for column, form in pairs]


def table(title, head, rows):
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def shares(task, group, text):
    """Return what models answer to a str, as a str of answers and how many give them."""
    inputs = spell(task, text).inputs
    found = [str(model(inputs)[0].numpy().argmax(axis=-1)[0].tolist()) for model in group]
    counted = sorted(((found.count(one), one) for one in set(found)), reverse=True)
    return ", ".join(f"`{one}` {number} of {len(group)}" for number, one in counted)


def linear_fit(features, target):
    """Return R² of the best linear prediction, fitted on one half of the data and tested on the other."""
    features = np.column_stack([features, np.ones(len(features))]).astype(float)
    half = len(target) // 2
    weights = np.linalg.lstsq(features[:half], target[:half], rcond=1e-5)[0]
    error = target[half:] - features[half:] @ weights
    return 1 - (error**2).mean() / target[half:].var()
