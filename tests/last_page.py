"""The transformer of the last page: its program, a short training of it, and its formula in NumPy."""

import json
import re
import types

import numpy as np
import program
import pytest
from scipy import special

SCRIPT = program.ROOT / "3_signal" / "transformer.py"
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
    r"(?P<plots>(?:Plot saved to .+\.png\.\n)*)"
)


@pytest.fixture(scope="session")
def transformer():
    """Return transformer.py as a module."""
    return program.load(SCRIPT)


@pytest.fixture(scope="session")
def short(tmp_path_factory):
    """Return a short training: .savepath and .stdout."""
    savepath = tmp_path_factory.mktemp("transformer")
    flags = ("--train", "--plot", "--seed", 11, "--steps", 600)
    return types.SimpleNamespace(
        savepath=savepath,
        stdout=program.output_of(SCRIPT, *flags, "--savepath", savepath, "--plotpath", savepath / "plots"),
    )


def refused(completed, status, *words):
    """Check that a run ended with this status and one line of its own, with these words in it."""
    (line,) = program.messages(completed)
    assert completed.returncode == status and line.startswith("transformer.py: error: ")
    assert all(str(word) in line for word in words), line


def answers(words):
    """Return what is right: the place of each name that is not new, to the word after its first place."""
    names = range(0, len(words), 2)
    return {place: words[words.index(words[place]) + 1] for place in names if words[place] in words[:place]}


def normalize(vectors, layer):
    """Return layer normalization, with the epsilon of Keras, from its gamma and beta."""
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-3)
    return centred / scale * layer["gamma"] + layer["beta"]


def forward(arrays, words, heads=4):
    """Return logits (words, vocabulary) and weights (layers, heads, words, words) from a file's arrays."""

    def part(name):
        return {
            key.removeprefix(f"{name}/"): arrays[key].astype(float) for key in arrays if f"{name}/" in key
        }

    vectors = arrays["embedding/embeddings"][words] + arrays["positions"][0, : len(words)]
    all_weights = []
    for block in sorted({key.split("/")[0] for key in arrays if key.startswith("block_")}):
        normalized = normalize(vectors, part(f"{block}/norm_1"))
        matrices = part(f"{block}/attention")
        query, key, value = (
            np.array(np.split(normalized @ matrices[f"W_{letter}"], heads, axis=-1)) for letter in "QKV"
        )
        logits = query @ key.transpose(0, 2, 1) / np.sqrt(key.shape[-1])
        logits[:, ~np.tri(len(words), dtype=bool)] = -np.inf
        weights = special.softmax(logits, axis=-1)
        all_weights.append(weights)
        vectors = vectors + np.concatenate(weights @ value, axis=-1) @ matrices["W_O"]
        normalized = normalize(vectors, part(f"{block}/norm_2"))
        expand, contract = part(f"{block}/expand"), part(f"{block}/contract")
        hidden = np.maximum(0, normalized @ expand["kernel"] + expand["bias"])
        vectors = vectors + hidden @ contract["kernel"] + contract["bias"]
    last = part("logits_layer")
    return normalize(vectors, arrays_of_norm(arrays)) @ last["kernel"] + last["bias"], np.array(all_weights)


def arrays_of_norm(arrays):
    """Return the gamma and beta of the last normalization."""
    return {name: arrays[f"norm/{name}"].astype(float) for name in ("gamma", "beta")}


def contents(savepath):
    """Return the arrays in a folder's transformer.npz, a dict, and its description, read by NumPy alone."""
    with np.load(savepath / "transformer.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    return arrays, json.loads(arrays.pop("description").item())


def load(transformer, savepath):
    """Return the model that --test finds in a folder."""
    return transformer.load_model(savepath / "transformer.npz")[0]


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
    plots = re.findall(r"Plot saved to (.+)\.\n", match["plots"])
    return types.SimpleNamespace(
        words=match["text"].split(),
        pets=pets,
        questions=questions,
        accuracy=float(match["accuracy"]),
        plots=plots,
    )


def numbers(word, place, weight):
    """Return a word with its place, an int, and its weight, a float, from what is printed."""
    return word, int(place), float(weight)
