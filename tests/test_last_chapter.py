"""The twins of the last chapter: its edits make the weights equal that they should, and nothing else."""

import re
import shutil
import textwrap

import numpy as np
import program
import pytest
from experiments import edits, programs

PAGE = (program.BEYOND / "did_it_need_to_choose.md").read_text(encoding="utf-8")
PROGRAMS = 1, 2, 3, "transformer"  # In the order of the cases.


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Return the four edited programs as modules, a dict."""
    blocks = re.findall(r"^ *```diff\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    modules = {}
    for task, diff in zip(PROGRAMS, blocks, strict=True):
        script, folder = programs.script(task), tmp_path_factory.mktemp("twin")
        source = edits.apply(script.read_text(encoding="utf-8"), textwrap.dedent(diff))
        shutil.copy(programs.script(3), folder.with_name("main.py"))  # The transformer looks for it there.
        (folder / "twin.py").write_text(source, encoding="utf-8")
        modules[task] = programs.load(folder / "twin.py")
    return modules


def are_equal(weights):
    """Return whether each weight is that of all others in its row."""
    return np.allclose(weights, 1 / weights.shape[-1], atol=1e-6)


def test_a_twin_has_equal_weights_where_it_should_and_nowhere_else(twins):
    """The counting, the self-attention, the decoder; the queries are random, so that weights can differ."""
    weights = []
    for task, flags in ((1, {}), (2, {"self_att": True}), (3, {"pos_enc": True, "enc_layers": 1})):
        model = twins[task].AttentionModel(max_len=10, vocab_size=3, hidden=64, **flags)
        model.query.assign(np.random.default_rng(0).normal(size=model.query.shape))
        inputs, _ = twins[task].Task(10, 3, np.random.default_rng(0)).next_batch(5)
        weights.append(model(inputs)[1:])
    (counting,), (reads, asks), (decoder, (encoder,)) = weights
    assert are_equal(counting) and are_equal(asks) and are_equal(decoder)
    assert not are_equal(reads) and not are_equal(encoder)


def test_a_transformer_twin_has_equal_weights_in_its_first_layer(twins):
    module = twins["transformer"]
    words = module.next_batch(np.random.default_rng(0), 4, 2)[:, :-1]
    _, (first, second) = module.Transformer(4, 32, 2, 4)(words)
    equal = np.tri(15) / np.arange(1, 16)[:, None]
    assert np.allclose(first, equal, atol=1e-6) and not np.allclose(second, equal, atol=0.01)


def test_each_block_begins_in_a_lesson_and_runs_what_is_there():
    """A command names a program that exists or that was copied before, and flags that this program has."""
    scripts = {programs.SCRIPTS[task]: task for task in PROGRAMS}
    there = {tuple(script.rsplit("/", 1)): task for script, task in scripts.items()}
    folder, commands = None, 0
    for line in re.findall(r"^ *(?:cd|cp|python3) .+$|^ *```$|`cp .+?`", PAGE, re.MULTILINE):
        command, *words = line.strip(" `").split() or ["block"]
        if command == "block":
            in_block = False
        elif command == "cd":
            folder, in_block = words[0], True
        elif command == "cp":
            there[folder, words[1]] = there[folder, words[0]]
        else:
            assert in_block, line
            known = re.findall(r"--\w+", program.in_process(there[folder, words[0]], "--help").stdout)
            assert {word for word in words if word.startswith("--")} <= {*known}, line
            commands += 1
    assert commands > 10
