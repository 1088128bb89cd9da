"""The edits of the pages apply to the programs, and the edited models answer."""

import re
import textwrap

import numpy as np
import program
import pytest
from experiments import edits, last_chapter, measuring, programs, task_1, task_2, task_3, transformer

CHAPTER = (program.BEYOND / "did_it_need_to_choose.md").read_text(encoding="utf-8")
JOINED = {(setup.task, setup.edit) for module in (task_1, task_2, task_3, transformer, last_chapter)
          for setup, _ in module.SETUPS if "+" in (setup.edit or "")}  # fmt: skip
NUMBERS = {(1, "B"): ["B 100"], ("transformer", "G"): ["G 1", "G 2"]}  # Those in which one chooses a number.
EDITS = [(task, edit) for task in program.SCRIPTS for letter in edits.read(task)
         for edit in NUMBERS.get((task, letter), [letter])]  # fmt: skip
EDITS += sorted(JOINED, key=str)
OWN = {1: {}, 2: {"self_att": True}, 3: {"pos_enc": True, "enc_layers": 1}}


@pytest.mark.parametrize(("task", "edit"), EDITS)
def test_an_edit_applies_and_the_edited_model_answers(task, edit):
    try:
        module = edits.load(task, edit)
    except ValueError as error:
        pytest.fail(f"edit {edit} no longer fits {program.SCRIPTS[task]}: {error}", pytrace=False)
    if task == "transformer":
        logits, _ = module.Transformer(4, 32, 2, 4)(module.next_batch(np.random.default_rng(0), 4, 2)[:, :-1])
        assert logits.shape == (2, 15, 16)
    else:
        data = measuring.new_data(task, 2)
        logits = module.AttentionModel(max_len=10, vocab_size=3, hidden=64, **OWN[task])(data.inputs)[0]
        assert logits.shape == (*data.answers.shape, 11)
    assert np.isfinite(logits).all()


def test_the_page_of_experiments_links_to_each_edit():
    page = (program.BEYOND / "experiments.md").read_text(encoding="utf-8")
    names = [f"edits/{file.parent.name}/{file.name}" for file in edits.EDITS.glob("*/*.diff")]
    missing = [name for name in names if name not in page]
    assert not missing, f"add a link to each of {missing} at the end of 3_signal/beyond/experiments.md"


def test_the_twins_of_the_last_chapter_have_equal_weights_where_they_should(tmp_path):
    """The counting also where its queries are random; the transformer in its first layer only."""
    blocks = re.findall(r"^ *```diff\n(.*?)^ *```", CHAPTER, re.MULTILINE | re.DOTALL)
    twins = []
    for task, diff in zip((1, "transformer"), blocks, strict=True):
        path = tmp_path / f"{task}.py"
        path.write_text(edits.apply(program.source(task), textwrap.dedent(diff)), encoding="utf-8")
        twins.append(programs.load(path))
    counting, transformer = twins
    model = counting.AttentionModel(max_len=10, vocab_size=3, hidden=64)
    model.query.assign(np.random.default_rng(0).normal(size=model.query.shape))
    assert np.allclose(model(counting.Task().next_batch(5)[0])[1], 0.1, atol=1e-6)
    words = transformer.next_batch(np.random.default_rng(0), 4, 2)[:, :-1]
    _, (first, second) = transformer.Transformer(4, 32, 2, 4)(words)
    equal = np.tri(15) / np.arange(1, 16)[:, None]
    assert np.allclose(first, equal, atol=1e-6) and not np.allclose(second, equal, atol=0.01)
