"""Every edit on the page of experiments applies to its program, and the edited model answers."""

import numpy as np
import program
import pytest
from experiments import edits, measuring, task_1, task_2, task_3, transformer

JOINED = {(setup.task, setup.edit) for module in (task_1, task_2, task_3, transformer)
          for setup, _ in module.SETUPS if "+" in (setup.edit or "")}  # fmt: skip
EDITS = [(task, letter) for task in program.FOLDERS for letter in edits.read(task)]
EDITS += [("transformer", each) for each in ("G 1", "G 2")]
OWN = {1: {}, 2: {"self_att": True}, 3: {"pos_enc": True, "enc_layers": 1}}


@pytest.mark.parametrize(("task", "edit"), [*EDITS, *sorted(JOINED, key=str)])
def test_an_edit_applies_and_the_edited_model_answers(task, edit):
    module = edits.load(task, edit)
    if task == "transformer":
        logits, _ = module.Transformer(4, 32, 2, 4)(module.next_batch(np.random.default_rng(0), 4, 2)[:, :-1])
        assert logits.shape == (2, 15, 16)
    else:
        data = measuring.new_data(task, 2)
        logits = module.AttentionModel(max_len=10, vocab_size=3, hidden=64, **OWN[task])(data.inputs)[0]
        assert logits.shape == (*data.answers.shape, 11)
    assert np.isfinite(logits).all()


def test_no_edit_of_the_transformer_is_left_out():
    assert {edit[0] for task, edit in EDITS if task == "transformer"} == set(edits.read("transformer"))
