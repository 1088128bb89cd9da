"""What a reader of the task pages types or pastes: it runs, and it prints what the page says."""

import ast
import re
import shutil
import textwrap

import numpy as np
import program
import pytest
from experiments import play

FENCE = r"^( *)```(\w*)\n(.*?)^\1```$"
SAMPLES = {  # The page's model of each printed sample, and the sequence that it is given.
    1: ("counting", " BC CBBAA "),
    2: ("difference_self_att", "BBBA ACABB"),
    3: ("signal_pos_enc", "BBABCCABCAB"),
}


def page(task):
    """Return the text of a task's page."""
    return program.script(task).with_name("README.md").read_text(encoding="utf-8")


def numbers(text):
    """Return the numbers in a text, a list of float, and the text without them."""
    number = r"\d+\.\d+|\d+"
    return [float(found) for found in re.findall(number, text)], re.sub(number, "", text)


@pytest.mark.parametrize("task", SAMPLES)
def test_a_printed_sample_is_what_the_program_prints(task, tmp_path):
    """Another processor may round differently, and the accuracy is that of other sequences."""
    name, letters = SAMPLES[task]
    flags = play.MODELS[name].flags
    checkpoint = f"checkpoint{flags.replace('--', '_')}.npz"
    shutil.copy(play.FOLDER / "checkpoints" / f"{name}.npz", tmp_path / checkpoint)
    words = ("--test", "--input", letters, "--savepath", tmp_path, *flags.split())
    printed = program.output_of(task, *words).strip().splitlines()
    (sample,) = re.findall(r"^```\n(Input: \n.*?)```", page(task), re.MULTILINE | re.DOTALL)
    for line, shown in zip(printed, sample.splitlines(), strict=True):
        (found, text), (expected, other) = numbers(line), numbers(shown)
        assert text == other
        assert found == pytest.approx(expected, abs=0.8 if "Accuracy" in line else 0.002)


def pasted(task):
    """Return what the blocks define that a page's reader pastes, each ready to paste, a dict."""
    names = {}
    for _, kind, block in re.findall(FENCE, page(task), re.MULTILINE | re.DOTALL):
        block = textwrap.dedent(block)
        if not kind and (names or block.startswith("import")):
            try:
                ast.parse(block)
            except SyntaxError:
                continue  # Something to be typed into a terminal, or printed.
            exec(block, names)
    return names


def test_attention_in_numpy_is_that_of_keras(capsys):
    names = pasted(1)
    printed = re.findall(r"0\.\d{3}", capsys.readouterr().out)
    assert " ".join(printed[:4]).replace(" ", ", ") in page(1)
    layers, query, letters = program.load(1).tf.keras.layers, names["query"], names["letters"]
    mean, _ = names["attend"](query, letters, letters)
    expected = layers.Attention()([query[None] / 2, letters[None], letters[None]])
    np.testing.assert_allclose(mean, expected[0], atol=1e-6)
    first, second = names["W"], names["U"]
    mean, _ = names["attend_additively"](query, letters, letters, first, second, np.ones(8))
    expected = layers.AdditiveAttention(use_scale=False)(
        [(query @ first)[None], letters[None], (letters @ second)[None]]
    )
    np.testing.assert_allclose(mean, expected[0], atol=1e-6)


def test_she_finds_anna(capsys):
    names = pasted(2)
    assert names["weights"].round(2)[2].tolist() == [0.89, 0.05, 0.05]
    assert "[[0.1" in capsys.readouterr().out
