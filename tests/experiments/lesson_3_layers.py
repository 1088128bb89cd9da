"""Lesson 3 with more encoder layers: where the decoder looks, and whether it must."""

import numpy as np

from . import lesson_3, measuring
from . import lesson_3_interventions as interventions

TASK, TEN = lesson_3.TASK, lesson_3.TEN
setup, compare_scores = lesson_3.setup, lesson_3.compare_scores
LAYERS = {
    "one": setup(),
    "three": setup(flags="--pos_enc --enc_layers 3"),
    "six": setup(flags="--pos_enc --enc_layers 6"),
}
SETUPS = [(each, TEN) for each in LAYERS.values()]


def look(model):
    """Return what is right, where the decoder looks, and what is right once its weights are made equal.

    The fraction of sequences right; the decoder's mean weight on the signal; the fraction of sequences in
    which another letter has more weight than the signal; the fraction right with equal decoder weights.
    """
    data = measuring.new_data(TASK)
    _, decoder, _ = model(data.inputs)
    weights = np.reshape(decoder, (-1, 11))
    right, _ = lesson_3.scores(model)
    elsewhere = (weights[:, 1:].max(axis=1) > weights[:, 0]).mean()
    return right, weights[:, 0].mean(), elsewhere, interventions.right_with(model, {"attention": 0})


def report(cache):
    """Print what one, three and six layers do, with the models of a trainings.ModelCache."""
    found = {label: [look(model) for model in cache.models(each, TEN)] for label, each in LAYERS.items()}
    head = ["encoder layers", "right", "weight on the signal", "another letter has more", "made equal"]
    measuring.compare("More layers", head, found, list, "%", "{:.2f}", "%", "%", each=True)
    for label, runs in found.items():
        for place, each in ((2, "another letter has more"), (3, "made equal")):
            print(f"- {label}, {each}: {' '.join(f'{100 * run[place]:.1f}' for run in runs)}")
