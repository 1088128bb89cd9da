"""The twins of the last chapter: its edits make the weights equal that they should, and nothing else."""

import re
import textwrap

import numpy as np
import program
import pytest
from experiments import edits, programs

PAGE = (program.BEYOND / "did_it_need_to_choose.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Return the edited programs of the counting and of the transformer as modules, a dict."""
    blocks = re.findall(r"^ *```diff\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    modules = {}
    for task, diff in zip((1, "transformer"), blocks, strict=True):
        path = tmp_path_factory.mktemp("twin") / "twin.py"
        path.write_text(edits.apply(program.source(task), textwrap.dedent(diff)), encoding="utf-8")
        modules[task] = programs.load(path)
    return modules


def test_a_counting_twin_has_equal_weights(twins):
    """Also where its queries are random, so that weights could differ."""
    model = twins[1].AttentionModel(max_len=10, vocab_size=3, hidden=64)
    model.query.assign(np.random.default_rng(0).normal(size=model.query.shape))
    inputs, _ = twins[1].Task().next_batch(5)
    assert np.allclose(model(inputs)[1], 0.1, atol=1e-6)


def test_a_transformer_twin_has_equal_weights_in_its_first_layer_only(twins):
    module = twins["transformer"]
    words = module.next_batch(np.random.default_rng(0), 4, 2)[:, :-1]
    _, (first, second) = module.Transformer(4, 32, 2, 4)(words)
    equal = np.tri(15) / np.arange(1, 16)[:, None]
    assert np.allclose(first, equal, atol=1e-6) and not np.allclose(second, equal, atol=0.01)
