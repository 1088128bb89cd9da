"""The edits of the experiments: each fits its program and is measured; some are what they claim."""

import contextlib
import importlib
import json

import numpy as np
import program
import pytest
from experiments import edits, measuring, programs, trainings

LESSONS = importlib.import_module("experiments.__main__").LESSONS
SETUPS = [setup for lesson in LESSONS.values() for setup, _ in lesson.SETUPS]
EDITED = {(setup.task, setup.edit): setup for setup in SETUPS if setup.edit and setup.task in program.FOLDERS}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Return a trainings.ModelCache without models."""
    return trainings.ModelCache(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def edited(cache):
    """Return a function from a task and an edit to the edited main.py as a module."""
    return cache.module


def settings(setup):
    """Return the arguments of the AttentionModel that a setup trains."""
    words, own = setup.flags.split(), {}
    if setup.task == 2:
        own = {"self_att": "--self_att" in words}
    elif setup.task == 3:
        own = {"pos_enc": "--pos_enc" in words, "enc_layers": 0 if "--enc_layers" in words else 1}
    return {"max_len": 10, "vocab_size": 3, "hidden": 64} | own


@pytest.mark.parametrize("task", program.FOLDERS)
def test_each_edit_on_the_page_is_measured(task):
    parts = [part.split(" ")[0] for number, edit in EDITED if number == task for part in edit.split("+")]
    assert set(edits.read(task)) == set(parts), f"Each edit needs a row in experiments/lesson_{task}*.py."


@pytest.mark.parametrize(("task", "edit"), EDITED)
def test_an_edit_applies_and_the_edited_model_answers(task, edit, edited, tmp_path):
    """It is built with the flags of its trainings, called, and loaded; each weight has a name of its own."""
    module, arguments = edited(task, edit), settings(EDITED[task, edit])
    model, data = module.AttentionModel(**arguments), measuring.new_data(task, 2)
    for weight in model.weights:
        weight.assign(weight + 1)  # Not what a new model has.
    logits = model(data.inputs)[0].numpy()
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    assert len(arrays) == len(model.weights)  # Each has a name of its own.
    if model.non_trainable_weights:  # The page's models have none.
        np.savez(tmp_path / "model.npz", description=json.dumps({"settings": arguments}), **arrays)
        loaded = programs.load_model(module, tmp_path / "model.npz")
        np.testing.assert_allclose(loaded(data.inputs)[0], logits, rtol=1e-5)
    answers = module.Task(10, 3, None).answers(data.inputs)
    assert logits.shape == (*answers.shape, 11) and np.isfinite(logits).all()


def test_no_two_edits_train_the_same(cache):
    programs_of = {(setup.task, setup.edit) for setup in SETUPS}
    assert len({cache.program_folder(*edited) for edited in programs_of}) == len(programs_of)


def test_a_place_that_is_not_there_exactly_once_is_refused():
    diff = "@@ here\n a\n-b\n@@ there\n-c\n+d\n"
    assert edits.apply("\na\nb\n\nc\n", diff) == "\na\n\nd\n"
    for source in ("\na\nb\n", "\na\nb\nc\na\nb\n", "\na\nx\nb\nc\n"):
        with pytest.raises(ValueError, match="times"):
            edits.apply(source, diff)
    with pytest.raises(edits.EditError):
        edits.apply("\na\nc\n", " a\nb\n-c\n")


def test_an_edit_stands_on_its_page_once_and_has_one_diff(tmp_path, monkeypatch):
    page = tmp_path / "experiments_1.md"
    monkeypatch.setattr(programs, "BEYOND", tmp_path)
    diff = "```diff\n-old\n+new\n```\n"
    edit = "<details><summary>A: a name</summary>\n\n{}\n</details>\n"
    once = edit.format(diff)
    for text in (once, 2 * once, edit.format(""), edit.format(2 * diff)):
        page.write_text(f"# A page\n\n## The edits\n\n{text}\n## More\n", encoding="utf-8")
        with contextlib.nullcontext() if text == once else pytest.raises(edits.EditError, match="A"):
            assert edits.read(1) == {"A": "-old\n+new\n"}


def test_an_edit_that_is_not_there_or_has_no_place_for_a_number_is_refused():
    for edit in ("H 2", "G", "Z"):
        with pytest.raises(edits.EditError, match=edit):
            edits.program("transformer", edit)


# --- Edits against what they claim to be ----------------------------------------------------------------


@pytest.fixture
def arrays():
    """Return a random query, key and value of depth 64."""
    generator = np.random.default_rng(0)
    return [generator.normal(size=(3, length, 64)).astype(np.float32) for length in (4, 5, 5)]


def test_without_the_square_root_the_score_is_the_dot_product_of_keras(arrays, edited):
    query, key, value = arrays
    module = edited(1, "H")
    _, expected = module.tf.keras.layers.Attention()([query, value, key], return_attention_scores=True)
    _, weights = module.Attention()(query=query, key=key, value=value)
    np.testing.assert_allclose(weights, expected, atol=1e-5)


def test_the_additive_score_is_that_of_keras(arrays, edited):
    query, key, value = arrays
    module = edited(1, "J")
    keras, ours = module.tf.keras.layers.AdditiveAttention(), module.Attention()
    keras.build([query.shape, value.shape, key.shape])
    keras.scale.assign(np.random.default_rng(1).normal(size=64))
    _, expected = keras([query, value, key], return_attention_scores=True)
    ours(query=query, key=key, value=value)  # Creates the weights of the layers.
    for layer, kernel in ((ours.of_query, np.eye(64)), (ours.of_key, np.eye(64))):
        layer.kernel.assign(kernel)
    ours.score.kernel.assign(keras.scale[:, None])
    np.testing.assert_allclose(ours(query=query, key=key, value=value)[1], expected, atol=1e-5)


def test_a_sigmoid_makes_a_sum(arrays, edited):
    query, key, value = arrays
    output, weights = edited(1, "C").Attention()(query=query, key=key, value=value)
    expected = 1 / (1 + np.exp(-(query @ key.transpose(0, 2, 1)) / 8))
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    np.testing.assert_allclose(output, expected @ value + query, atol=1e-4)


def test_fixed_weights_prefer_the_own_letter_by_their_ratio(edited):
    module = edited(1, "B")
    weights = module.AttentionModel(10, 3, 64)(measuring.spell(1, " ABC").inputs)[1][0]
    np.testing.assert_allclose(weights, (1 + 99 * np.eye(4)[1:]) / 103, atol=1e-6)


def test_the_expected_model_attends_to_both_counts_and_the_other_one_not_to_itself(edited):
    inputs = measuring.spell(2, "AABC").inputs
    expected, learnt = (edited(2, edit).AttentionModel(10, 3, 64, True)(inputs)[2][0] for edit in "DE")
    np.testing.assert_allclose(expected, [*np.eye(4)[:3], (0.5, 0.5, 0, 0)])
    np.testing.assert_allclose(learnt[3, 3], 0, atol=1e-6)
    np.testing.assert_allclose(np.sum(learnt, axis=-1), 1, rtol=1e-5)
