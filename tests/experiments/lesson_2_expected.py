"""Lesson 2, the model that one expects: the difference step attends to both counts and not to itself."""

from . import lesson_2, measuring
from . import lesson_2_interventions as interventions

TASK, TEN = lesson_2.TASK, lesson_2.TEN
setup, compare_scores = lesson_2.setup, lesson_2.compare_scores
LEARNT, LONG = "learnt", "learnt, 4,000 training steps"
MODELS = {
    LEARNT: setup(),
    "D: half to A, half to B": setup("D"),
    "E: learnt, but not to itself": setup("E"),
    LONG: setup(flags="--self_att --steps 4000"),
}
SETUPS = [(each, TEN) for each in MODELS.values()]


def report(cache):
    """Print what they get right, and the weight on itself, with the models of a trainings.ModelCache."""
    groups = {label: cache.models(each, TEN) for label, each in MODELS.items()}
    head = ["the difference step's weights", *lesson_2.SCORES]
    measuring.compare("The model that one expects", head, groups, lesson_2.scores, *["%"] * 3, each=True)
    rows = {label: groups[label] for label in (LEARNT, LONG)}
    interventions.compare_on_counts("How long it was trained", rows)
