"""What the experiments compute, with models that nobody has trained, against the models and counting."""

import functools
import importlib
import itertools
import re

import numpy as np
import program
import pytest
from experiments import formula, lesson_3_layers, measuring, play, programs, results, transformer
from scipy import stats

LESSONS = {task: importlib.import_module(f"experiments.lesson_{task}") for task in program.FOLDERS}


def random_model(task, **settings):
    """Return a model whose query and positions are random, so that its weights differ."""
    module, generator = program.load(task), np.random.default_rng(0)
    model = module.AttentionModel(**{"max_len": 10, "vocab_size": 3, "hidden": 64}, **settings)
    for weight in model.weights:
        if weight.path in ("model/query", "model/positional_encoding"):
            weight.assign(generator.normal(size=weight.shape))
    return model


def of_the_page(name):
    """Return a model of the page to play with."""
    module = program.load(play.MODELS[name].task)
    return programs.load_model(module, play.FOLDER / "checkpoints" / f"{name}.npz")


# --- Data and scores ------------------------------------------------------------------------------------


def test_a_table_has_medians_and_ranges_and_the_first_numbers_below(capsys):
    groups = {"A": [(0.5, 3), (0.25, 1), (1, 2)], "B": [(0, 1), (0, 1), (0, 4)]}
    measuring.compare("Title", ["", "right", "loss"], groups, list, "%", "{:.2f}", each=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "### Title" and lines[3] == "|  | right | loss |"
    assert lines[5] == "| A | 50.0% (25.0 to 100.0) | 2.00 (1.00 to 3.00) |"
    assert lines[6] == "| B | 0.0% (0.0 to 0.0) | 1.00 (1.00 to 4.00) |"
    assert lines[8:] == ["- A: 25.0 50.0 100.0", "- B: 0.0 0.0 0.0"]


@pytest.mark.parametrize("task", LESSONS)
def test_a_label_names_the_edits_that_are_trained(task):
    tables = [table for table in vars(LESSONS[task]).values() if isinstance(table, dict)]
    tables += [table for rows in tables for table in rows.values() if isinstance(table, dict)]
    pairs = [pair for table in tables for pair in table.items() if isinstance(pair[1], tuple)]
    named = [(label.split(":")[0], setup.edit) for label, setup in pairs if hasattr(setup, "edit")]
    assert named
    for letters, edit in named:
        if re.match(r"[A-Z](\W|$)", letters):
            assert re.findall(r"\b[A-Z]\b", letters) == re.findall(r"[A-Z]", edit or ""), letters


def test_a_label_says_of_how_many_training_runs():
    rows = [row for rows in LESSONS[3].TABLES.values() for row in rows.items()]
    for label, setup in rows:
        assert len(LESSONS[3].seeds_of(setup)) == (20 if "twenty" in label else 10), label


@pytest.mark.parametrize("task", program.FOLDERS)
def test_given_letters_get_their_answers(task):
    text = "ABBBACCA"
    data = measuring.spell(task, text)
    assert data.answers.tolist() == [program.solve(task, text)]
    assert "".join(program.load(task).Task().prettify(data.inputs).ravel()) == text


def test_a_score_is_the_accuracy_and_the_loss_of_keras():
    import tensorflow as tf

    generator = np.random.default_rng(0)
    logits, answers = generator.normal(size=(50, 3, 11)), generator.integers(11, size=(50, 3))
    answers[:20] = logits[:20].argmax(axis=-1)
    right, loss = measuring.score(logits, answers)
    keras = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    assert right == pytest.approx(0.4) and loss == pytest.approx(float(keras(answers, logits)), abs=1e-5)


def ranges(name, title):
    """Return a table of the results, a dict from a label to (least, most, unit) of each column."""
    _, _, section = results.path(name).read_text(encoding="utf-8").partition(f"\n### {title}\n")
    rows = {}
    for label, _, cell in results.tables(section.partition("\n### ")[0]):
        _, *ends = re.findall(r"-?[\d.]+", cell)
        column = [*map(float, ends), 10.0 ** -len(ends[0].partition(".")[2])]
        rows.setdefault(label, []).append([number / (100 if "%" in cell else 1) for number in column])
    return rows


def test_what_is_measured_of_a_model_of_the_page_is_about_what_the_results_say(monkeypatch):
    """It is one training run of many: outside their range at most as far as this is wide."""
    names = "counting", "difference", "difference_self_att", "signal_pos_enc", "transformer"
    counting, plain, asking, signal, reads = map(of_the_page, names)
    lengths = LESSONS[1].right_by_length([counting], (5, 9, 10, 11, 20))[0]
    monkeypatch.setattr(measuring, "new_data", functools.partial(measuring.new_data, samples=2000))
    inside, of_signal = LESSONS[2].interventions, LESSONS[3].interventions.patched(signal)
    states = {"plain": inside.first_states(plain), "`--self_att`": inside.first_states(asking)}
    found = {
        ("lesson_1", "Right, trained at length 10"): {"`main.py`": lengths},
        ("lesson_1", "One vector or one deviation for all"): {
            "`main.py`": LESSONS[1].interventions.same_for_all(counting)
        },
        ("lesson_2", "Right"): {"`--self_att`, 1,000 steps": LESSONS[2].scores(asking)},
        ("lesson_2", "On letters"): {
            "plain": inside.preference(plain),
            "`--self_att`": inside.preference(asking),
        },
        ("lesson_2", "The difference step's weights on output steps"): {
            label: inside.on_counts(those) for label, those in states.items()
        },
        ("lesson_2", "The weights of all output steps are changed"): inside.with_other_weights(asking),
        ("lesson_2", "Flipped"): inside.flipped(asking),
        ("lesson_2", "Activation patching"): inside.patched(asking),
        ("lesson_3", "From another sequence"): of_signal,
        ("lesson_3", "The signal's row"): {"after 2,000, twenty runs": LESSONS[3].signal_row(signal)},
        ("lesson_3_layers", "More layers"): {"one": lesson_3_layers.look(signal)},
        ("lesson_3_transformer", "Where heads attend"): {"as it is": transformer.where_heads_attend(reads)},
        ("lesson_3_transformer", "Changed after the training"): transformer.right_if_equal(reads),
    }
    for table, rows in found.items():
        measured = ranges(*table)
        for label, numbers in rows.items():
            for number, (least, most, unit) in zip(numbers, measured[label], strict=True):
                far = max(most - least, unit)
                assert least - far <= number <= most + far, (table, label, number)


# --- Lesson 1 -------------------------------------------------------------------------------------------


def test_the_parts_of_lesson_1_are_those_of_its_model():
    """What is divided gives the answers again, and a factor of 2 squares the weights, but for their sum."""
    lesson, model, data = LESSONS[1].interventions, random_model(1), measuring.new_data(1, 50)
    logits, weights = model(data.inputs)
    rest, deviation = lesson.apart(model, data)
    vectors = (rest / deviation).astype(np.float32)  # A new layer norm changes no more.
    np.testing.assert_allclose(model.logits_layer(vectors), logits, atol=1e-4)
    squares = weights.numpy() ** 2
    expected = squares / squares.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(lesson.with_factor(model, data, 2)[1], expected, atol=1e-5)
    one_vector, one_deviation = lesson.same_for_all(of_the_page("counting"))
    assert one_vector > 0.8 and one_deviation < 0.1  # As in the laboratory.


def test_the_counting_curve_is_its_formula_where_the_ratio_is_known():
    """A key along each letter, and a query that gives the own letter four times the weight of any other."""
    lesson, model = LESSONS[1], random_model(1)
    of_blank, *others = lesson.interventions.preferences(model).T
    means = stats.gmean(of_blank), stats.gmean(np.ravel(others))
    assert lesson.interventions.ratios(model) == pytest.approx(means, rel=1e-5)
    model.key_layer.set_weights([np.eye(4, 64), np.zeros(64)])
    model.query.assign(8 * np.log(4) * np.eye(4, 64)[None, 1:])
    np.testing.assert_allclose(lesson.interventions.preferences(model), np.full((3, 3), 4), rtol=1e-4)
    expected = lesson.weight_formula(np.arange(11), 4, 4)
    for step in range(3):
        np.testing.assert_allclose(lesson.interventions.weight_by_count(model, step), expected, atol=1e-5)
    assert expected[3] == pytest.approx(12 / 19)
    assert lesson.weight_formula([3], 2, 4) == pytest.approx(
        np.mean([3 / (3 + sum(rest)) for rest in itertools.product((1 / 2, 1 / 4, 1 / 4), repeat=7)])
    )


def test_the_prediction_for_another_length_counts_all_sequences():
    letters = np.array(list(itertools.product(range(4), repeat=7)))
    counts = (letters[..., None] == np.arange(1, 4)).sum(axis=1)
    right = (np.rint(counts * 10 / 7) == counts).all(axis=1).mean()
    assert LESSONS[1].predicted_at(7) == pytest.approx(right) and LESSONS[1].predicted_at(10) == 1


def test_three_counts_in_increasing_order_by_all_sequences():
    letters = np.array(list(itertools.product(range(4), repeat=6)))
    counts = (letters[..., None] == np.arange(1, 4)).sum(axis=1)
    assert LESSONS[1].most_in_one_order(6) == (np.diff(counts) >= 0).all(axis=1).mean()
    assert f"{LESSONS[1].most_in_one_order():.2%}" == "26.63%"


# --- Lesson 2 -------------------------------------------------------------------------------------------


def test_the_cases_of_lesson_2_stand_for_all_sequences():
    cases = LESSONS[2].interventions.cases()
    assert cases.chances.sum() == pytest.approx(1) and len(cases.chances) == 286
    differences = [cases.chances[cases.answers[:, 3] == number].sum() for number in range(11)]
    sampled = measuring.new_data(2, 200000, seed=3).answers[:, 3]
    np.testing.assert_allclose(differences, np.bincount(sampled, minlength=11) / 200000, atol=0.005)


def test_the_parts_of_lesson_2_are_those_of_its_model():
    interventions, model = LESSONS[2].interventions, of_the_page("difference_self_att")
    logits, _, weights = model(interventions.cases().inputs)
    states = interventions.first_states(model)
    np.testing.assert_allclose(interventions.all_weights(states), weights, atol=1e-5)
    predicted = interventions.predicted_difference(model, states, weights.numpy()[:, 3])
    assert predicted.tolist() == logits.numpy()[:, 3].argmax(axis=-1).tolist()
    right = (logits.numpy().argmax(axis=-1) == interventions.cases().answers).all(axis=-1)
    assert LESSONS[2].scores(model)[0] == pytest.approx(interventions.cases().chances @ right)
    ahead = interventions.cases().answers[:, :2] @ (1, -1) == 2
    expected = np.average(weights.numpy()[ahead, 3], 0, interventions.cases().chances[ahead])
    np.testing.assert_allclose(LESSONS[2].weights_over_difference(model, [2]), [expected], atol=1e-5)


def test_a_pair_for_patching_differs_in_one_count():
    interventions = LESSONS[2].interventions
    answers = interventions.cases().answers
    larger = (answers[:, 0] < answers[:, 1]).astype(int)
    first, second, weights = interventions.patch_pairs(answers[:, 3] > 0, larger)
    before, after, step = answers[first], answers[second], larger[first]
    rows = np.arange(len(first))
    assert (before[rows, step] != after[rows, step]).all() and (before[:, 2] == after[:, 2]).all()
    assert (before[rows, 1 - step] == after[rows, 1 - step]).all() and (larger[second] == step).all()
    each, chances = np.unique(first), interventions.cases().chances
    counted = np.bincount(first, weights)[each]  # Each case counts as often as it is likely.
    np.testing.assert_allclose(counted, chances[each])


def test_a_flip_goes_to_the_other_side_and_its_control_as_far(monkeypatch):
    interventions, model, given = LESSONS[2].interventions, random_model(2, self_att=True), []
    predicted = interventions.predicted_difference
    monkeypatch.setattr(
        interventions,
        "predicted_difference",
        lambda model, states, weights: (given.append(states), predicted(model, states, weights))[1],
    )
    interventions.flipped(model)
    differ = interventions.unequal()[0]
    flip, control = (states - interventions.first_states(model)[differ] for states in given)
    assert not flip[:, :3].any() and not control[:, :3].any()
    lengths = [np.linalg.norm(moved[:, 3], axis=1) for moved in (flip, control)]
    np.testing.assert_allclose(*lengths, rtol=1e-3)
    counts = interventions.cases().answers[differ]
    slopes = flip[:, 3] / (counts[:, 0] - counts[:, 1])[:, None]
    np.testing.assert_allclose(slopes, np.broadcast_to(slopes[0], slopes.shape), atol=1e-4)
    signed, total = counts[:, 0] - counts[:, 1], counts[:, :2].sum(axis=1)
    root = interventions.unequal()[2] ** 0.5
    regressors = root[:, None] * np.stack([signed, total, np.ones(len(total))], axis=-1)
    before, after = (
        np.linalg.lstsq(regressors, root[:, None] * states[:, 3], rcond=None)[0][0]
        for states in (given[0] - flip, given[0])
    )
    np.testing.assert_allclose(after, -before, atol=1e-3)
    cosines = (flip[:, 3] * control[:, 3]).sum(axis=1) / lengths[0] / lengths[1]
    assert abs(cosines).max() < 0.7


# --- Lesson 3 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pos_enc", (False, True))
def test_order_changes_a_model_with_positions_and_no_other(pos_enc):
    (logits,) = LESSONS[3].order_change(random_model(3, pos_enc=pos_enc, enc_layers=1))
    assert logits > 0.1 if pos_enc else logits < 1e-4


def test_nothing_taken_changes_nothing_and_the_same_count_is_the_own(monkeypatch):
    """A factor of 0 makes the weights of the attention equal that is named."""
    monkeypatch.setattr(measuring, "new_data", functools.partial(measuring.new_data, samples=500))
    interventions, model = LESSONS[3].interventions, of_the_page("signal_pos_enc")
    data = measuring.new_data(3)
    right = measuring.logits_of(model, data.inputs).argmax(axis=-1) == data.answers
    for changed, factors in interventions.FACTORS.items():
        reference = formula.of(model, factors)
        reference.lesson(data.inputs)
        for name, where in (("encoder_layer_1/attention", "encoder"), ("attention", "decoder")):
            assert np.allclose(reference.weights[name], 1 / 11) == (where in changed)
    assert interventions.right_with(model, {}) == right.mean()
    weights, like = model(data.inputs)[2][0].numpy()[:, 0, 1:], data.letters[:, 1:] == data.letters[:, :1]
    expected = weights[like].mean(), weights[~like].mean()
    assert LESSONS[3].signal_row(model)[:2] == pytest.approx(expected, abs=1e-5)
    measured, vectors = interventions.patched(model), model.positional_encoding.numpy()
    others = measuring.new_data(3, seed=3000).inputs.copy()
    others[:, 0] = data.inputs[:, 0]
    differ = measuring.data_of(3, others).answers != data.answers
    assert measured["nothing"][1] == pytest.approx(right[differ].mean())
    assert len(set(measured[f"{interventions.FIRST_MEAN}, of one with the same count"])) == 1
    assert min(interventions.other_positions(model)) > 0.95  # As on the page.
    assert (model.positional_encoding.numpy() == vectors).all()


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
