"""The last chapter: models of all tasks that choose, and twins of them that can't."""

import numpy as np

from . import edits, measuring, programs, task_1, task_2, task_3

TEN = range(701, 711)
COUNTING = {
    "`main.py`": (task_1.setup(), TEN),
    "A: equal weights": (task_1.setup("A"), TEN),
    "F: a ReLU in place of layer norm": (task_1.setup("F"), TEN),
    "A+F: equal weights, a ReLU": (task_1.setup("A+F"), TEN),
    "B: its own letter × 3.74": (task_1.setup("B 3.74"), TEN),
    "B: its own letter × 100": (task_1.setup("B 100"), TEN),
}
ASKING, SIGNAL = task_2.ASKING, task_3.POSITIONS
BOTH_EQUAL = {
    "as it is": (SIGNAL, range(1, 11)),
    "A+B: equal weights in the encoder and the decoder": (task_3.setup("A+B"), TEN),
}
SETUPS = [(ASKING, TEN), *COUNTING.values(), *BOTH_EQUAL.values()]


def unedited(setup, edit, seed):
    """Return a trained model as the program without its edit, or with another, builds it."""
    (checkpoint,) = edits.folder(setup, seed).glob("*.npz")
    return programs.load_model(edits.load(setup.task, edit), checkpoint)


def difference_step_equal(model):
    """Make the weights of the difference step alone equal; return a dict from the change to what is right."""
    states = task_2.first_states(model)
    weights = task_2.all_weights(states)
    changed = np.concatenate([weights[:, :3], np.full_like(weights[:, 3:], 0.25)], axis=1)
    answers = [task_2.answers_with(model, states, each) for each in (weights, changed)]
    names = "nothing", "the difference step's weights equal"
    return dict(zip(names, map(task_2.share_right, answers)))


def signal_equal(model):
    """Make weights of the signal's model equal; return a dict from where to what is right, in a list."""
    encoder, decoder = {"encoder_layer_1/attention": 0}, {"attention": 0}
    cases = {"nothing": {}, "encoder": encoder, "decoder": decoder, "both": encoder | decoder}
    return {name: [task_3.right_with(model, factors)] for name, factors in cases.items()}


def report():
    """Print the figures of the last chapter."""
    head = ["", "right"]
    measuring.compare("Counting", head, edits.groups(COUNTING), task_1.accuracy, "%", each=True)
    bright = {
        "`main.py`": edits.models(task_1.setup(), TEN),
        "A, tested without A": [unedited(task_1.setup("A"), None, seed) for seed in TEN],
        "F": edits.models(task_1.setup("F"), TEN),
        "A+F, tested without A": [unedited(task_1.setup("A+F"), "F", seed) for seed in TEN],
    }
    measuring.compare(
        "A row's weight on its own letter, as a multiple of another letter's",
        ["", "times", "right"],
        bright,
        lambda model: [task_1.ratios(model)[1], *task_1.accuracy(model)],
        *["{:.2f}", "%"],
    )
    models = edits.models(ASKING, TEN)
    title, forms = "Difference, changed after the training", ["%"] * 3
    head = ["", *task_2.MEASURES]
    measuring.compare_cases(title, head, models, difference_step_equal, *forms, each=True)
    head = ["", "right"]
    measuring.compare("Signal", head, edits.groups(BOTH_EQUAL), task_3.accuracy, "%", each=True)
    title, head = "Signal, weights made equal after the training", ["made equal", "right"]
    measuring.compare_cases(title, head, edits.models(*BOTH_EQUAL["as it is"]), signal_equal, "%")


REPORTS = {"last_chapter": report}
