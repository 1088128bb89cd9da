"""What is measured of a model, and the bound that every model without positions has, by counting."""

import importlib
import itertools

import numpy as np
import program
import pytest
from experiments import play, programs
from scipy import special

LESSONS = {task: importlib.import_module(f"experiments.lesson_{task}") for task in program.FOLDERS}


def of_the_page(name):
    """Return a model of the page to play with."""
    module = program.load(play.MODELS[name].task)
    return programs.load_model(module, play.FOLDER / "checkpoints" / f"{name}.npz")


def test_an_output_step_that_has_read_nothing_has_its_query():
    interventions, model = LESSONS[2].interventions, of_the_page("difference_self_att")
    states, blind = interventions.first_states(model), interventions.blind_states(model)
    assert (blind[:, :3] == states[:, :3]).all() and (blind[:, 3] == model.query[0, 3]).numpy().all()


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
