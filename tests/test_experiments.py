"""The edits of the three experiments.md, the trainings of the package, and what it computes without any."""

import importlib
import itertools
import re
import shlex
import shutil
import sys

import numpy as np
import program
import pytest
from experiments import edits, exercises, measuring, trainings

LESSONS = {task: importlib.import_module(f"experiments.lesson_{task}") for task in edits.FOLDERS}
RUNS = [run for lesson in LESSONS.values() for run, _ in lesson.RUNS]
EDITED = {(run.task, run.edit): run for run in RUNS if run.edit}


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """Return a function from a task and an edit to the edited main.py as a module."""
    return trainings.Trainings(tmp_path_factory.mktemp("programs")).module


# --- The edits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", LESSONS)
def test_each_edit_on_the_page_is_measured(task):
    parts = [part.split(" ")[0] for number, edit in EDITED if number == task for part in edit.split("+")]
    assert set(edits.read(task)) == set(parts)


@pytest.mark.parametrize(("task", "edit"), EDITED)
def test_an_edit_applies_and_the_edited_model_answers(task, edit, edited):
    """It is built with the flags of its trainings and called; the training belongs to the experiments."""
    module = edited(task, edit)
    model = module.AttentionModel(**edits.settings(module, *EDITED[task, edit].flags.split()))
    data = measuring.fresh(task, 2)
    logits = model(data.inputs)[0]
    answers = module.Task(10, 3, None).answers(data.inputs)
    assert logits.shape == (*answers.shape, 11) and np.isfinite(logits).all()


def test_a_place_that_is_not_there_exactly_once_is_refused():
    diff = "@@ here\n a\n-b\n@@ there\n-c\n+d\n"
    assert edits.apply("\na\nb\n\nc\n", diff) == "\na\n\nd\n"
    for source in ("\na\nb\n", "\na\nb\nc\na\nb\n", "\na\nx\nb\nc\n"):
        with pytest.raises(ValueError, match="times"):
            edits.apply(source, diff)


def test_a_number_goes_where_there_is_a_place_for_it():
    for edit in ("A 2", "B"):
        with pytest.raises(ValueError, match="number"):
            edits.program(1, edit)


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
    module = edited(1, "B 16.0")
    weights = module.AttentionModel(**module.DEFAULTS)(measuring.spell(1, " ABC").inputs)[1][0]
    np.testing.assert_allclose(weights, (1 + 15 * np.eye(4)[1:]) / 19, atol=1e-6)


def test_a_single_head_without_matrices_is_our_attention(arrays, edited):
    query, key, value = arrays
    heads = edited(3, "G 1").Attention()
    heads(query=query, key=key, value=value)
    for one in heads.heads.weights:
        one.assign(np.eye(64).reshape(one.shape) if one.path.endswith("kernel") else 0 * one)
    ours = edited(3, None).Attention()(query=query, key=key, value=value)
    for one, other in zip(heads(query=query, key=key, value=value), ours, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_causal_mask_hides_what_comes_later(arrays, edited):
    _, key, value = arrays
    attention = edited(3, "E").Attention()
    weights = attention(query=key, key=key, value=value)[1].numpy()
    assert (np.triu(weights, 1) == 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert (attention(query=key[:, :1], key=key, value=value)[1].numpy() > 0).all()


def test_a_language_model_writes_by_the_lines_of_the_laboratory(edited, monkeypatch, tmp_path, capsys):
    module = edited(3, "G 8+H True")
    inputs, answers = module.Task(10, 3, np.random.default_rng(0)).next_batch(2000)
    letters = inputs.argmax(axis=-1)
    by_rule = (letters[:, :-2] + letters[:, 1:-1] - letters[:, 2:]) % 3 == 0
    assert by_rule.mean(axis=0) == pytest.approx(np.full(9, 0.8 + 0.2 / 3), abs=0.04)
    assert (answers[:, :-1] == letters[:, 1:]).all()
    assert (answers[:, -1] == (letters[:, -2] + letters[:, -1]) % 3).all()
    monkeypatch.setitem(sys.modules, "main", module)
    monkeypatch.chdir(tmp_path)
    module.main(["--train", "--pos_enc", "--steps", "100", "--seed", "1"])
    page = edits.script(3).with_name("experiments.md").read_text(encoding="utf-8")
    exec(re.findall(r"```python\n(.*?)\n```", page, re.DOTALL)[-1], {})
    texts = [line.split() for line in capsys.readouterr().out.splitlines()[-9:]]
    model, places = module.load_model(module.parse_arguments(["--test"]))[0], np.zeros((9, 12), int)
    places[:, :2] = list(itertools.product(range(3), repeat=2))
    for place in range(2, 12):  # The mask hides the zeros behind it.
        places[:, place] = model(np.eye(3)[places[:, :11]])[0].numpy().argmax(axis=-1)[:, place - 1]
    assert texts == np.array(list("ABC"))[places].tolist()


def test_sinusoids_are_those_of_the_formula(edited):
    module = edited(3, "C")
    encoding = module.AttentionModel(**module.DEFAULTS | {"pos_enc": True}).positional_encoding.numpy()[0]
    for position, dimension in itertools.product(range(11), range(64)):
        angle = position / 10000 ** (dimension // 2 * 2 / 64)
        expected = (np.cos if dimension % 2 else np.sin)(angle)
        assert encoding[position, dimension] == pytest.approx(expected, abs=1e-5)


# --- What is computed without a training ----------------------------------------------------------------


@pytest.mark.parametrize("task", program.FOLDERS)
def test_given_sequences_get_their_answers(task):
    text = "ABBBACCA"
    data = measuring.spell(task, text)
    assert data.answers.tolist() == [program.solve(task, text)]
    assert data.inputs.argmax(axis=-1).tolist() == data.letters.tolist()
    both = measuring.solved(task, np.vstack([data.letters, data.letters[:, ::-1]]))
    assert both.inputs.argmax(axis=-1).tolist() == both.letters.tolist()


def test_a_score_is_the_accuracy_and_the_loss_of_keras():
    import tensorflow as tf

    generator = np.random.default_rng(0)
    logits, answers = generator.normal(size=(50, 3, 11)), generator.integers(11, size=(50, 3))
    answers[:20] = logits[:20].argmax(axis=-1)
    right, loss = measuring.score(logits, answers)
    keras = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    assert right == pytest.approx(0.4) and loss == pytest.approx(float(keras(answers, logits)), abs=1e-5)


def test_self_attention_weights_are_those_of_the_model():
    decoding = np.random.default_rng(0).normal(size=(5, 4, 64)).astype(np.float32)
    attention = program.load(2).AttentionModel(**program.load(2).DEFAULTS | {"self_att": True}).self_attention
    weights = attention(query=decoding, key=decoding, value=decoding)[1]
    found = LESSONS[2].interventions.all_weights(decoding)
    np.testing.assert_allclose(found, weights, atol=1e-5)


def test_the_bounds_of_a_language_model():
    """All letters so far are worth their last two, which can be computed; the bag is worth less."""
    everything, bag = map(LESSONS[3].interventions.most_next_letters, (False, True))
    assert everything == pytest.approx((1 / 3 + 9 * (0.8 + 0.2 / 3) + 1) / 11) and 1 / 3 < bag < everything


def test_the_bound_is_that_of_all_sequences():
    """The formula with multinomial probabilities, against counting through all 177,147 sequences."""
    letters = np.array(list(itertools.product(range(3), repeat=11)))
    answers = (letters[:, 1:] == letters[:, :1]).sum(axis=1)
    bags = (letters[..., None] == np.arange(3)).sum(axis=1) @ (144, 12, 1)
    table = np.zeros((bags.max() + 1, 11))
    np.add.at(table, (bags, answers), 1)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    entropies = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    least, most = LESSONS[3].bound()
    assert least == pytest.approx((table.sum(axis=1) * entropies).sum() / len(letters), abs=1e-9)
    assert most == pytest.approx(table.max(axis=1).sum() / len(letters), abs=1e-9)
    assert (round(least, 4), round(most, 4)) == (0.8038, 0.5901)


def test_a_new_last_layer_reads_small_differences_as_well_as_large_ones():
    """What tells the answer surely is three hundred times smaller than what tells it often."""
    generator = np.random.default_rng(0)
    answers = generator.integers(3, size=2000)
    large, small = (np.eye(3)[answers] + spread * generator.normal(size=(2000, 3)) for spread in (1, 0.2))
    features = np.hstack([large, 0.003 * small])
    read = measuring.read_again(features[:1000], answers[:1000])
    assert (read(features[1000:]) == answers[1000:]).mean() > 0.99


@pytest.mark.parametrize("task", LESSONS)
def test_each_command_of_an_exercise_asks_models_that_are_trained(task, edited):
    commands = [shlex.split(command) for command in exercises.commands(task)]
    page = program.script(task).with_name("README.md").read_text(encoding="utf-8")
    asked = page.partition("\n## Exercises\n")[2].partition("\n## ")[0]
    assert len(commands) == len(re.findall(r"python3\s+main\.py\s+--test", asked)) >= 3
    for words in commands:
        run = exercises.asked(task, words)
        assert run in RUNS and edited(task, run.edit).parse_arguments(words).test


def test_an_exercise_leaves_nothing_where_it_runs(tmp_path, monkeypatch, capsys):
    run, here = trainings.Run(1, None, "--steps 2"), tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setitem(exercises.TRAINED[1], "models/", run)
    monkeypatch.setattr(exercises, "commands", lambda task: ["--test --plot --input AB --plotpath plots"])
    trained = trainings.Trainings(tmp_path / "cache", [1])
    trained.train([(run, [1])])
    exercises.report(1, trained)
    assert "1 of 1" in capsys.readouterr().out and list(here.iterdir()) == []
    assert (trained.savepath(run, 1) / "encoder_decoder_attention.png").exists()


# --- The trainings --------------------------------------------------------------------------------------


TRAINS_THE_SAME = {
    "a docstring": ('    """Return', '    """Give back'),
    "a comment": ("# One batch for", "# A batch for"),
    "a flag that trains nothing": ('flag("--seed"', 'flag("--dpi", type=int)\nflag("--seed"'),
    "a help text": ('help="training steps', 'help="how many steps'),
    "a colour": ('"white"', '"red"'),
    "a message": ("is not finite; lower --lr", "is not finite"),
    "the test": ("attended mainly", "attended mostly"),
    "the loading": ("allow_pickle=False", "allow_pickle=True"),
    "the checks": ("not in (None, value)", "!= value"),
    "the saving": ("np.savez(", "np.savez_compressed("),
    "a folder": ('HERE / "models"', 'HERE / "trained"'),
}
TRAINS_OTHERWISE = {
    "the softmax": ("tf.nn.softmax(", "tf.nn.sigmoid("),
    "the learning rate": ("default=1e-", "default=2e-"),
    "the steps": ('"--steps", type=int, default=', '"--steps", type=int, default=1'),
    "the batch": ("default=100,", "default=50,"),
    "a size": ('"hidden": 64', '"hidden": 32'),
    "the letters": ("ABC", "ACB"),
    "the answers": ("axis=-2)", "axis=-1)"),
    "the optimizer": ("Adam(", "SGD("),
    "the training": ("optimizer.apply(gradients,", "optimizer.apply(2 * gradients,"),
}


@pytest.mark.parametrize("name", TRAINS_THE_SAME | TRAINS_OTHERWISE)
def test_what_trains_decides_whether_a_model_is_trained_anew(name):
    source = program.source(1)
    changed = source.replace(*(TRAINS_THE_SAME | TRAINS_OTHERWISE)[name])
    assert changed != source
    assert (trainings.identity(changed) == trainings.identity(source)) == (name in TRAINS_THE_SAME)


def test_no_two_edits_train_the_same():
    programs = {(run.task, run.edit) for run in RUNS}
    assert len({trainings.identity(edits.program(*edited)) for edited in programs}) == len(programs)


def test_what_is_trained_is_kept_and_a_failure_is_one_line(tmp_path, monkeypatch):
    run = trainings.Run(1, "A", "--steps 2 --print_every 1")
    trained = trainings.Trainings(tmp_path)
    with pytest.raises(trainings.TrainingError, match="^Task 1, edit A, .*--lr: must be .*$"):
        trained.train([(run, [1]), (run._replace(flags="--lr 0"), [1])])
    monkeypatch.setattr(trainings.subprocess, "run", None)  # None is needed.
    weights = trained.models(run, [1])[0](measuring.spell(1, "AAB").inputs)[1]
    np.testing.assert_allclose(weights, 1 / 3, atol=1e-6)
    assert [step for step, _ in trained.losses(run, 1)] == [1, 2]
    trainings.Trainings(tmp_path).train([(run, [1])])


def test_todays_text_loads_what_an_earlier_one_has_trained(tmp_path, monkeypatch, capsys):
    run, changed = trainings.Run(1, "A", "--steps 2"), tmp_path / "1_counting-letters" / "main.py"
    trainings.Trainings(tmp_path / "cache").train([(run, [1])])
    changed.parent.mkdir()
    text = program.source(1).replace("has changed since", "is another one than")
    changed.write_text(text, encoding="utf-8")
    shutil.copy(edits.script(1).with_name("experiments.md"), changed.parent)
    monkeypatch.setattr(edits, "ROOT", tmp_path)
    trained = trainings.Trainings(tmp_path / "cache")
    monkeypatch.setattr(trainings.subprocess, "run", None)
    weights = trained.models(run, [1])[0](np.eye(4, dtype=np.float32)[None])[1]
    np.testing.assert_allclose(weights, 1 / 4, atol=1e-6)
    assert "is another one than" in capsys.readouterr().err
