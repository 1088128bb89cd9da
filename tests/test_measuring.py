"""What the experiments compute: against the formula, counting, and what the results say of all models."""

import importlib
import itertools
import re
import types

import drawings
import numpy as np
import one_run
import program
import pytest
from experiments import (
    lesson_2_expected,
    measuring,
    play,
    programs,
    results,
    transformer,
)
from scipy import stats

experiments = importlib.import_module("experiments.__main__")
LESSONS = {task: importlib.import_module(f"experiments.lesson_{task}") for task in program.FOLDERS}


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
    assert LESSONS[1].in_words([(1, 2), (3, 4), (3, 4)]) == "3 4 in 2 runs, 1 2 in 1 run"


def test_a_label_says_what_is_trained():
    """Its edits, whether it takes 4,000 training steps, and in Lesson 3 how many training runs there are."""
    lesson_1, lesson_2, lesson_3 = LESSONS.values()
    tables = [lesson_1.LINEUP, lesson_1.PARTS, lesson_1.LENGTHS, lesson_2.ALL, lesson_2_expected.MODELS]
    rows = [row for table in tables for row in table.items()]
    with_seeds = [row for table in lesson_3.TABLES.values() for row in table.items()]
    for label, (_, seeds) in with_seeds:
        assert len(seeds) == (20 if "twenty" in label else 10), label
    with_seeds += [row for table in transformer.TABLES.values() for row in table.items()]
    for label, setup in [*rows, *((label, setup) for label, (setup, _) in with_seeds)]:
        named = re.findall(r"\b[A-Z](?: \d)?(?=\W|$)", label.split(":")[0])
        assert named == (setup.edit.split("+") if setup.edit else []), label
        assert ("4,000" in label) <= ("--steps 4000" in setup.flags), label
        assert all(flags in setup.flags for flags in re.findall(r"(?<!without )`(--.*?)`", label)), label


# Labels, heads and titles of what is measured of models that the page does not have.
ELSEWHERE = re.compile(
    r"^(?!A: equal weights$|A, tested|A row|B: its|A −)[A-Z](\+[A-Z]| \d)?\b|^three|^six|4,000|8,000"
    r"|without help|one training step|--steps|--heads|--layers|^(four|eight) pairs, (?!1,500)|, F$|^Shares"
)


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-\d+)?")
LISTED = re.compile(r"^- (.*): (.*)$", re.MULTILINE)  # What is right, run by run.


def measured(text):
    """Return a dict from (title, label, head) to median, least, most and the unit of the last digit.

    They are None for a model that the page does not have. And a list of what else is said: sentences, other
    cells, and of whom each run is listed.
    """
    sentences = [line for line in text.splitlines() if line and line[0] not in "|-#"]
    found, said = {}, sentences.copy()
    said += [label for label, _ in LISTED.findall(text)]
    ranges = [line.rpartition(": ") for line in sentences if results.RANGE.search(line)]
    cells = [((before,), cell) for before, _, cell in ranges]
    for section in text.split("\n### ")[1:]:
        title, _, rest = section.partition("\n")
        cells += [((title, label, head), cell) for label, head, cell in results.tables(rest)]
    for place, cell in cells:
        if not results.RANGE.fullmatch(cell):
            said.append(f"{place[1]}: {cell}")
        elif any(map(ELSEWHERE.search, place)):
            found[place] = None
        else:
            numbers = re.findall(r"-?\d[\d.]*(?:e-\d+)?", cell)
            unit = 10.0 ** -len(numbers[0].partition("e")[0].partition(".")[2])
            found[place] = *map(float, numbers), unit
    return found, said


def without_digits(line):
    """Return a line with a 0 for each digit, up to what is said of more than one training run."""
    return re.sub(r"\d", "0", re.split(r"; |: [\d ]+ in \d+ run| \d+ of |\]|\d[\d.]*%? to ", line)[0])


def recorded_as(name):
    """Return what one_run.py measures today; check that it is what the record says.

    Whoever changes what is measured, or a model of the page, runs one_run.py and looks at what has changed.
    """
    of_two, asked = one_run.measure(name)
    recorded = one_run.record(name).read_text(encoding="utf-8")
    assert NUMBER.sub("0", of_two) == NUMBER.sub("0", recorded)
    for number, other in zip(NUMBER.findall(of_two), NUMBER.findall(recorded), strict=True):
        digits = len(other.partition(".")[2])
        of_rounding = "e" in other  # Where the order of letters changes nothing else.
        within = float(other) if of_rounding else 0.1**digits * 1.1 * (digits > 0)
        assert float(number) == pytest.approx(float(other), abs=within), (number, other)
    return of_two, asked


def test_pictures_of_many_models_show_what_they_did(monkeypatch):
    """And outside of their charts, they are those of the pages."""
    describe = one_run.describe

    def compare(figure, task, name):
        if name != "lineup":  # All of it is what models do.
            image = program.script(task).parent / "images" / f"{name}.png"
            drawings.check_committed(figure, image, but_for=figure.axes[1:])
        describe(figure, task, name)

    monkeypatch.setattr(one_run, "describe", compare)
    recorded_as("pictures")


@pytest.mark.parametrize("lesson", experiments.LESSONS)
def test_what_is_measured_of_two_models_is_what_was_and_about_what_the_results_say(lesson):
    """The model of the page is outside the range of all training runs at most as far as this is wide."""
    of_two, asked = recorded_as(lesson)
    of_all = results.path(f"lesson_{lesson}").read_text(encoding="utf-8")
    (found, said), (known, told) = measured(of_two), measured(of_all)
    assert found.keys() == known.keys()
    for place, (_, least, most, unit) in ((place, cell) for place, cell in known.items() if cell):
        far = max(most - least, unit)
        assert any(least - far <= end <= most + far for end in found[place][1:3]), (place, found[place])
    assert len(said) == len(told) - 1  # But for the machine.
    told = tuple(without_digits(line) for line in told)
    assert [line for line in said if not any(one.startswith(without_digits(line)) for one in told)] == []
    setups = experiments.LESSONS[lesson].SETUPS
    assert {len(runs.split()) for _, runs in LISTED.findall(of_all)} == {len(seeds) for _, seeds in setups}
    assert {(setup, tuple(seeds)) for setup, seeds in setups} <= asked


# --- Lesson 1 -------------------------------------------------------------------------------------------


def test_the_counting_curve_is_its_formula_where_the_ratio_is_known():
    """A key along each letter, and a query that gives the own letter four times the weight of any other."""
    lesson, model = LESSONS[1], program.load(1).AttentionModel(max_len=10, vocab_size=3, hidden=64)
    model.query.assign(np.random.default_rng(0).normal(size=model.query.shape))  # So its weights differ.
    weights = model(measuring.spell(1, " ABC").inputs)[1].numpy()[0]
    of_blank = [weights[step, step + 1] / weights[step, 0] for step in range(3)]
    of_others = [weights[step, step + 1] / weights[step, 1 + other] for step in range(3)
                 for other in {0, 1, 2} - {step}]  # fmt: skip
    means = stats.gmean(of_blank), stats.gmean(of_others)
    assert lesson.interventions.ratios(model) == pytest.approx(means, rel=1e-5)
    model.key_layer.set_weights([np.eye(4, 64), np.zeros(64)])
    model.query.assign(8 * np.log(4) * np.eye(4, 64)[None, 1:])
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
    said = types.SimpleNamespace(numpy=lambda: np.eye(11)[(cases.answers + (0, 0, 0, 1)) % 11])
    assert LESSONS[2].scores(lambda inputs: [said]) == pytest.approx((0, 1, 0))


def test_an_output_step_that_has_read_nothing_has_its_query():
    interventions, model = LESSONS[2].interventions, of_the_page("difference_self_att")
    states, blind = interventions.first_states(model), interventions.blind_states(model)
    assert (blind[:, :3] == states[:, :3]).all() and (blind[:, 3] == model.query[0, 3]).numpy().all()


# --- Lesson 3 -------------------------------------------------------------------------------------------


def test_many_texts_are_read_in_parts():
    model, words = of_the_page("transformer"), np.random.default_rng(0).integers(16, size=(2001, 3))
    logits, weights = transformer.outputs(model, words)
    last_logits, last_weights = model(words[-1:])
    np.testing.assert_allclose(logits[-1:], last_logits, atol=1e-4)
    np.testing.assert_allclose(weights[:, -1:], last_weights, atol=1e-5)


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
