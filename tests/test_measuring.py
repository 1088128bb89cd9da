"""What the experiments compute: against the formula, counting, and what the results say of all models."""

import importlib
import itertools
import re

import numpy as np
import one_run
import program
import pytest
from experiments import play, programs, results, transformer
from scipy import special

experiments = importlib.import_module("experiments.__main__")
LESSONS = {task: importlib.import_module(f"experiments.lesson_{task}") for task in program.FOLDERS}


def of_the_page(name):
    """Return a model of the page to play with."""
    module = program.load(play.MODELS[name].task)
    return programs.load_model(module, play.FOLDER / "checkpoints" / f"{name}.npz")


# --- The record of two models ---------------------------------------------------------------------------


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-\d+)?")


def check_recorded(today, name):
    """Check that what one_run.py measures today is what the record says.

    Whoever changes what is measured, or a model of the page, runs one_run.py and looks at what has changed.
    """
    recorded = one_run.record(name).read_text(encoding="utf-8")
    assert NUMBER.sub("0", today) == NUMBER.sub("0", recorded)
    for number, other in zip(NUMBER.findall(today), NUMBER.findall(recorded), strict=True):
        digits = len(other.partition(".")[2])
        of_rounding = "e" in other  # Where the order of letters changes nothing else.
        within = float(other) if of_rounding else 0.1**digits * 1.1 * (digits > 0)
        assert float(number) == pytest.approx(float(other), abs=within), (number, other)


def test_pictures_of_many_models_show_what_they_did():
    check_recorded(one_run.draw(), "pictures")


def outline(text):
    """Return labels and heads of all tables, and the other lines, up to the numbers of training runs."""
    others = [line for line in text.splitlines()[4:] if line and line[0] != "|"]
    others = [NUMBER.sub("0", re.split(r": (?:\[?\d|seed)", line)[0]) for line in others]
    return [row[:2] for row in results.tables(text)], others


@pytest.mark.parametrize("lesson", experiments.LESSONS)
def test_what_is_measured_of_two_models_is_what_was_and_what_the_results_say_of_all(lesson):
    """The results have the same titles, labels and heads; what is asked is what is trained before."""
    printed, written, asked = one_run.measure("--lesson", lesson)
    check_recorded(printed, lesson)
    ((name, text),) = written.items()
    assert results.machine() in text and text.endswith(printed.partition("\n\n")[2][:-1])
    of_all = results.path(f"lesson_{lesson}")
    assert name == of_all.name and outline(text) == outline(of_all.read_text(encoding="utf-8"))
    trained = {(setup, seed) for setup, seeds in experiments.LESSONS[lesson].SETUPS for seed in seeds}
    assert {(setup, seed) for setup, *seeds in asked for seed in seeds} == trained


# --- Lesson 1 -------------------------------------------------------------------------------------------


def test_the_most_frequent_answer_is_named_first():
    assert LESSONS[1].in_words([(1, 2), (3, 4), (3, 4)]) == "3 4 in 2 runs, 1 2 in 1 run"


def test_what_is_said_of_all_sequences_is_what_is_counted():
    """Which are right if counts are scaled, which have their counts in increasing order."""
    letters = np.array(list(itertools.product(range(4), repeat=6)))
    counts = (letters[..., None] == np.arange(1, 4)).sum(axis=1)
    right = (np.rint(counts * 10 / 6) == counts).all(axis=1).mean()
    assert LESSONS[1].predicted_at(6) == pytest.approx(right) and LESSONS[1].predicted_at(10) == 1
    assert LESSONS[1].most_in_one_order(6) == (np.diff(counts) >= 0).all(axis=1).mean()


# --- Lesson 2 -------------------------------------------------------------------------------------------


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
    table = np.array([np.bincount(answers[bags == bag], minlength=11) for bag in np.unique(bags)])
    sizes = table.sum(axis=1)
    least = np.average(special.entr(table / sizes[:, None]).sum(axis=1), weights=sizes)
    most = table.max(axis=1).sum() / len(letters)
    assert LESSONS[3].bound() == pytest.approx((least, most), abs=1e-9)
