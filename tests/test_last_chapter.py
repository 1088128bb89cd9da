"""The twins of the last chapter: its edits make the weights equal that they should, and nothing else."""

import re
import textwrap

import numpy as np
import program
import pytest
from experiments import edits, programs

PAGE = (program.ROOT / "3_signal" / "did_it_need_attention.md").read_text(encoding="utf-8")
PROGRAMS = 1, 2, 3, "transformer"  # In the order of the cases.


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Return the four edited programs as modules, a dict."""
    blocks = re.findall(r"^ *```diff\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    modules = {}
    for task, diff in zip(PROGRAMS, blocks, strict=True):
        script, folder = programs.script(task), tmp_path_factory.mktemp("twin")
        source = edits.apply(script.read_text(encoding="utf-8"), textwrap.dedent(diff))
        (folder / "main.py").write_text(
            script.with_name("main.py").read_text(encoding="utf-8"), encoding="utf-8"
        )
        (folder / "twin.py").write_text(source, encoding="utf-8")
        modules[task] = programs.load(folder / "twin.py")
    return modules


def model_of(module, **settings):
    """Return a model of a main.py, its query drawn at random, so that weights differ where they can."""
    model = module.AttentionModel(max_len=10, vocab_size=3, hidden=64, **settings)
    model.query.assign(np.random.default_rng(0).normal(size=model.query.shape))
    return model


def are_equal(weights):
    """Return whether each weight is that of all others in its row."""
    return np.allclose(weights, 1 / weights.shape[-1], atol=1e-6)


def test_a_twin_counts_with_equal_weights(twins):
    inputs, _ = twins[1].Task(10, 3, np.random.default_rng(0)).next_batch(5)
    assert are_equal(model_of(twins[1])(inputs)[1])


def test_a_twin_asks_all_output_steps_alike_and_reads_as_before(twins):
    inputs, _ = twins[2].Task(10, 3, np.random.default_rng(0)).next_batch(5)
    _, reads, asks = model_of(twins[2], self_att=True)(inputs)
    assert are_equal(asks) and not are_equal(reads)


def test_a_twin_looks_at_all_vectors_of_the_encoder_alike(twins):
    inputs, _ = twins[3].Task(10, 3, np.random.default_rng(0)).next_batch(5)
    _, decoder, (encoder,) = model_of(twins[3], pos_enc=True, enc_layers=1)(inputs)
    assert are_equal(decoder) and not are_equal(encoder)


def test_a_twin_has_equal_weights_in_one_layer(twins):
    module = twins["transformer"]
    words = module.next_batch(np.random.default_rng(0), 4, 2)[:, :-1]
    _, (first, second) = module.Transformer(4, 32, 2, 4)(words)
    equal = np.tri(15) / np.arange(1, 16)[:, None]
    assert np.allclose(first, equal, atol=1e-6) and not np.allclose(second, equal, atol=0.01)


def test_each_block_begins_in_a_lesson_and_runs_what_is_there():
    """A command names a program that exists or that was copied before, and flags that this program has."""
    there, known = {}, {}
    for task in PROGRAMS:
        script = programs.script(task)
        there[script.parent.name, script.name] = task
        known[task] = set(re.findall(r"--\w+", program.run(script, "--help").stdout))
    folder, commands = None, 0
    for line in re.findall(r"^ *(?:cd|cp|python3) .+$|^ *```$|`cp .+?`", PAGE, re.MULTILINE):
        words = line.strip().strip("`").split()
        if not words:
            in_block = False
        elif words[0] == "cd":
            folder, in_block = words[1].removeprefix("../"), True
            assert (program.ROOT / folder / "main.py").exists()
        elif words[0] == "cp":
            there[folder, words[2]] = there[folder, words[1]]
        else:
            assert in_block, line
            assert {word for word in words if word.startswith("--")} <= known[there[folder, words[1]]], line
            commands += 1
    assert commands > 10
