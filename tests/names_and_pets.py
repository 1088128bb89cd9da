"""The transformer of names and pets: its program, a short training of it, and what it prints."""

import re
import types

import program
import pytest

LOOK = r"(\w+) at word (\d+) \((\d\.\d{3})\)\n"
PET = rf"(\w+) at word (\d+): {LOOK}"
HEAD = rf"Layer (\d+), head (\d+), attended mainly to: {LOOK}"
QUESTION = rf"\nQuestion at word (\d+): (\w+)\nPrediction: (\w+)\nTruth: (\w+)\n((?:{HEAD})+)"
OUTPUT = re.compile(
    r"\nText: \n(?P<text>[A-Za-z ]+)\n"
    rf"(?:\nLayer 1, head (?P<head>\d+), what each pet attended mainly to:\n(?P<pets>(?:{PET})+))?"
    rf"(?P<questions>(?:{QUESTION})+)"
    r"\nAccuracy on 10000 new texts of \d pairs: \d+\.\d\d% of first questions\n"
    rf"{program.PLOTS}"
)


@pytest.fixture(scope="session")
def transformer():
    """Return transformer.py as a module."""
    return program.load("transformer")


@pytest.fixture(scope="session")
def short(trained):
    """Return a short training: .savepath and .stdout."""
    return trained("transformer")


def answers(text):
    """Return what is right in a list of str, read word by word: the place of each question to its pet."""
    known, right = {}, {}
    for place, word in enumerate(text):
        if place % 2:
            known.setdefault(text[place - 1], word)
        elif word in known:
            right[place] = known[word]
    return right


def parse(output):
    """Return what --test has printed, which must be the whole output, of a model of one or two layers.

    A look is what has most of a head's weight, as it is printed: the word, its place, and the weight.

    Returns:
        .words: list of str.
        .head: the head, from 1, whose looks come first, and .pets: list of (pet, its place, *look).
        .questions: list of (place, name, prediction, truth, list of (layer, head, *look)).
    """
    match = OUTPUT.fullmatch(output)
    assert match, output
    questions = re.findall(QUESTION, match["questions"])
    return types.SimpleNamespace(
        words=match["text"].split(),
        head=int(match["head"] or 0),
        pets=re.findall(PET, match["pets"] or ""),
        questions=[(*question[:4], re.findall(HEAD, question[4])) for question in questions],
    )
