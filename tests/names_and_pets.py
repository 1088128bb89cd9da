"""The transformer of names and pets: its program, a short training of it, and what it prints."""

import re
import types

import program
import pytest

SCRIPT = program.script("transformer")
LOOK = r"(\w+) at word (\d+) \((\d\.\d{3})\)\n"
PETS = re.compile(
    rf"\nLayer (\d+), head (\d+), what each pet attended mainly to:\n((?:\w+ at word \d+: {LOOK})+)"
)
QUESTION = re.compile(
    r"\nQuestion at word (?P<place>\d+): (?P<name>\w+)\n"
    r"Prediction: (?P<prediction>\w+)\nTruth: (?P<truth>\w+)\n"
    rf"(?P<heads>(?:Layer \d+, head \d+, attended mainly to: {LOOK})+)"
)
PARTS = [re.sub(r"[?]P<[a-z]+>", "", part.pattern) for part in (PETS, QUESTION)]
OUTPUT = re.compile(
    rf"\nText: \n(?P<text>[A-Za-z ]+)\n(?P<looks>(?:{PARTS[0]})*(?:{PARTS[1]})+)"
    r"\nAccuracy on 10000 new texts of (?P<pairs>\d) pairs: (?P<accuracy>\d+\.\d\d)% of first questions\n"
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
    """Return what --test has printed, which must be the whole output.

    Returns:
        .words: list of str.
        .pets: list of (layer, head, place of a pet, word, its place, weight), layers and heads from 1.
        .questions: list of dict; each ["heads"] is a list of (head, word, its place, weight).
        .accuracy: float, in percent.
        .plots: list of str.
    """
    match = OUTPUT.fullmatch(output)
    assert match, output
    pets = []
    for layer, head, lines, *_ in PETS.findall(match["looks"]):
        for pet, place, *look in re.findall(rf"(\w+) at word (\d+): {LOOK}", lines):
            assert match["text"].split()[int(place)] == pet
            pets.append((int(layer), int(head), int(place), *numbers(*look)))
    questions = [found.groupdict() for found in QUESTION.finditer(match["looks"])]
    for question in questions:
        heads = re.findall(rf"head (\d+), attended mainly to: {LOOK}", question["heads"])
        question["heads"] = [(int(head), *numbers(*look)) for head, *look in heads]
    return types.SimpleNamespace(
        words=match["text"].split(),
        pets=pets,
        questions=questions,
        accuracy=float(match["accuracy"]),
        plots=program.plots(match["plots"]),
    )


def numbers(word, place, weight):
    """Return a word with its place, an int, and its weight, a float, from what is printed."""
    return word, int(place), float(weight)
