"""Task 2, Difference: what self-attention adds, which model does without it, and where it is needed."""

import functools
import itertools
import math

import formula
import numpy as np

from . import edits, measuring

TASK, MEASURES = 2, ["sequences right", "counts right", "differences right"]
TEN, TWENTY, THIRTY = range(1, 11), range(1, 21), range(1, 31)
setup = functools.partial(edits.Setup, TASK, flags="--self_att")

PLAIN, ASKING = setup(flags=""), setup()
BOUGHT = {  # The rows of the tables: what the page calls them, what is trained, and the seeds.
    "plain, 1,000 steps": (PLAIN, TEN),
    "A: only to itself, 1,000 steps": (setup("A"), TEN),
    "`--self_att`, 1,000 steps": (ASKING, TEN),
    "plain, 4,000 steps": (setup(flags="--steps 4000"), TEN),
}
NEEDED = {
    "F+A: only to itself": (setup("F+A"), TEN),
    "F: as it learns to": (setup("F"), TEN),
    "F+B, 4,000 steps": (setup("F+B", flags="--self_att --steps 4000"), TEN),
}
WEIGHTS = {
    "learnt": (ASKING, TEN),
    "E: learnt, but not to itself": (setup("E"), TEN),
    "B: equal for all output steps": (setup("B"), TEN),
}
BESIDE = {"Task 2": (PLAIN, TWENTY), "Task 2 `--self_att`": (ASKING, TWENTY)}
SETUPS = [row for rows in (BOUGHT, NEEDED, WEIGHTS, BESIDE) for row in rows.values()]
SETUPS.append((ASKING, THIRTY))
HANDED = "A BB  CCC ", {"One more A": "AABB  CCC ", "One more B": "A BBB CCC "}  # As on the page of the task.


def report():
    """Print the figures of the task."""
    head, groups = ["", "this project: right"], edits.groups(BESIDE)
    data = measuring.new_data(TASK)
    measuring.compare(
        "Beside the original", head, groups, lambda model: [measuring.right(model, data)], "%", each=True
    )
    print(f"\nA difference of 1, the best guess without any letter: {2 * math.comb(20, 11) / 2**20:.1%}")
    head, groups = ["the difference step has read nothing", *MEASURES], edits.groups(NEEDED)
    measuring.compare("When attending to others is needed", head, groups, accuracy, *["%"] * 3, each=True)


def report_asking():
    """Print what self-attention buys."""
    head = ["", "sequences right", "a count wrong", "ties wrong", "other differences wrong"]
    groups = edits.groups(BOUGHT)
    measuring.compare("What self-attention buys", head, groups, errors, *["%"] * 4, each=True)


def report_states():
    """Print which states the difference step asks for, and what it reads in them."""
    asking = edits.models(ASKING, TEN)
    head = ["state", "length", "score with itself", "highest with another", "is highest with itself"]
    measuring.compare_cases("States and scores", head, asking, fits, *["{:.1f}"] * 3, "%")
    head = ["A ≠ B: frozen at their means", "the larger count gets more weight than the smaller"]
    measuring.compare_cases("Whose state prefers the larger count", head, asking, prefers, "%")
    head = ["one more of", "whose states are handed over", "the answer changes by", "by one, as it should"]
    rows = [patched(model) for model in asking]
    rows = [[*names, *(measuring.summary([row[names][kind] for row in rows], form)
                       for kind, form in enumerate(("{:+.2f}", "%")))] for names in rows[0]]  # fmt: skip
    measuring.table("Activation patching", head, rows)
    said = [handed_over(model) for model in edits.models(ASKING, THIRTY)]
    print("\nHanded over: nothing, that letter's count, the difference step, both")
    for name in said[0]:
        print(f"\n{name}, in thirty models: {measuring.in_words(each[name] for each in said)}")


def report_weights():
    """Print what models with other weights get right, and to what the learnt ones attend."""
    title, head = "Other weights from the start", ["the difference step's weights", *MEASURES]
    groups = edits.groups(WEIGHTS)
    measuring.compare(title, head, groups, accuracy, *["%"] * 3, each=True)
    head = ["A ≠ B: weight", "on the larger count", "on the smaller", "on 'C'", "on itself"]
    head += ["the larger one gets more"]
    rows = {"learnt": groups["learnt"]}
    measuring.compare("The difference step's weights", head, rows, on_counts, *["{:.2f}"] * 4, "%")


REPORTS = {"task_2": report, "task_2_asking": report_asking, "task_2_weights": report_weights}
REPORTS["task_2_states"] = report_states

# The hidden states of a sequence are a vector for each output step: the counts of 'A', 'B', 'C', then step 3.


@functools.cache
def cases():
    """Return all sequences of ten letters as `measuring.data_of` does, but each set of letters only once.

    Attention does not see order, so 286 cases stand for all; .chances, float (286,), says for how many.
    """
    letters = np.array(list(itertools.combinations_with_replacement(range(4), 10)))
    data = measuring.given_letters(TASK, letters)
    numbers = (letters[..., None] == np.arange(4)).sum(axis=1)
    orders = [math.factorial(10) / math.prod(map(math.factorial, row)) for row in numbers.tolist()]
    data.chances = np.array(orders) / 4**10
    return data


def share_right(answers):
    """Return what is right of sequences, of counts, of differences, three fractions."""
    right = answers == cases().answers
    return cases().chances @ np.column_stack([right.all(axis=1), right[:, :3].mean(axis=1), right[:, 3]])


def accuracy(model):
    """Return what a model gets right, as `share_right` does."""
    return share_right(model(cases().inputs)[0].numpy().argmax(axis=-1))


def errors(model):
    """Return the share of sequences that are right, and of those with a wrong count; then two numbers more.

    The share of ties that are wrong, and that of other differences.
    """
    answers, chances = cases().answers, cases().chances
    wrong = model(cases().inputs)[0].numpy().argmax(axis=-1) != answers
    ties, a_count = answers[:, 3] == 0, wrong[:, :3].any(axis=1)
    right, counts = 1 - chances @ wrong.any(axis=1), chances @ a_count
    shares = [np.average(wrong[kind, 3], weights=chances[kind]) for kind in (ties, ~ties)]
    return right, counts, *shares


def first_states(model):
    """Return the hidden states of all cases before self-attention, float64 (286, 4, hidden)."""
    reference = formula.of(model)
    return reference.attend("attention", reference.arrays["query"][0], reference.embed(cases().inputs))


def all_weights(states):
    """Return how the output steps attend to each other, float (batch, 4, 4)."""
    return formula.attend(states, states, states)[1]


def on_counts(model):
    """Return to what output step 3 attends where A ≠ B: five numbers.

    The mean weights on the larger count, the smaller, 'C', itself; how often the larger one gets more.
    """
    answers, differ = cases().answers, cases().answers[:, 3] > 0
    larger, chances = (answers[differ, 0] < answers[differ, 1]).astype(int), cases().chances[differ]
    weights = all_weights(first_states(model))[differ, 3]
    most, least = (weights[np.arange(len(weights)), step] for step in (larger, 1 - larger))
    return chances @ np.column_stack([most, least, weights[:, 2:], most > least]) / chances.sum()


def answers_with(model, states, weights):
    """Return a model's answers, int (batch, 4), for these states before self-attention and its weights."""
    reference = formula.of(model)
    decoding = reference.normalize("self_attention/layer_norm", weights @ states + states)
    return reference.dense("logits_layer", decoding).argmax(axis=-1)


def fits(model):
    """Return a dict from each output step to the length of its state, and how well that fits, all means.

    Its score with itself, its highest with another, and how often the first of these is higher.
    """
    states, chances, measured = first_states(model), cases().chances, {}
    scores = states @ states.swapaxes(1, 2) / states.shape[-1] ** 0.5
    lengths = np.linalg.norm(states, axis=-1)
    for step, name in enumerate(("count of A", "count of B", "count of C", "the difference")):
        own, others = scores[:, step, step], np.delete(scores[:, step], step, axis=1).max(axis=1)
        measured[name] = chances @ np.column_stack([lengths[:, step], own, others, own > others])
    return measured


def prefers(model):
    """Freeze states at their means; return a dict from whose to how often step 3 prefers the larger count."""
    states, answers, differ = first_states(model), cases().answers, cases().answers[:, 3] > 0
    means = np.tensordot(cases().chances, states, 1)
    larger, rows, measured = (answers[:, 0] < answers[:, 1]).astype(int), np.arange(len(states)), {}
    for name, asking, asked in (
        ("nobody's", states[:, 3], states),
        ("those of the counts", states[:, 3], means[None]),
        ("the difference step's own", means[None, 3], states),
    ):
        products = (asking[:, None] * asked).sum(axis=-1)  # Scores, not yet divided.
        more = products[rows, larger] > products[rows, 1 - larger]
        measured[name] = [np.average(more[differ], weights=cases().chances[differ])]
    return measured


def patched(model):
    """Hand over states from a case with one more of the larger letter, or of the smaller.

    The first case is answered right, and the counts of 'A' and 'B' differ in both and are at most 5 in the
    first. The weights are computed anew. Returns a dict from which letter and whose states to how far the
    difference step's answer moves on average, and how often it moves by one, as it should.
    """
    states, answers, every = first_states(model), cases().answers, np.arange(286)
    place = {tuple(counts): case for case, counts in enumerate(answers[:, :3].tolist())}
    larger, measured = (answers[:, 0] < answers[:, 1]).astype(int), {}

    def say(states):
        return answers_with(model, states, all_weights(states))[:, 3]

    said = say(states)
    usable = (said == answers[:, 3]) & (answers[:, 3] > 0) & (answers[:, :2] <= 5).all(axis=1)
    for more, letter, by in (("the larger", larger, 1), ("the smaller", 1 - larger, -1)):
        counts = answers[:, :3].copy()
        counts[every, letter] += 1
        second = np.array([place.get(tuple(row), -1) for row in counts.tolist()])  # -1: an eleventh letter.
        first = np.flatnonzero(usable & (second >= 0) & (counts[:, 0] != counts[:, 1]))
        second, big = second[first], larger[first]
        for whose, steps in {
            "all": (0, 1, 2, 3),
            "its own": (3,),
            "the larger count's": (big,),
            "the smaller count's": (1 - big,),
            "its own and the larger count's": (3, big),
        }.items():
            changed, rows = states[first], np.arange(len(first))
            for step in steps:
                changed[rows, step] = states[second][rows, step]
            moved = say(changed) - said[first]
            pair = [moved, moved == by]
            measured[more, whose] = np.average(pair, axis=1, weights=cases().chances[first])
    return measured


def handed_over(model):
    """Return a dict from the second text of HANDED to the differences for its states, int (4,).

    Handed over to the first text are nothing, the state of the count with one more, the difference step's,
    and both.
    """
    text, more = HANDED
    reference, said = formula.of(model), {}

    def states(text):
        letters = reference.embed(measuring.spell(TASK, text).inputs)
        return reference.attend("attention", reference.arrays["query"][0], letters)

    for step, (name, changed) in enumerate(more.items()):
        mixed = np.repeat(states(text), 4, axis=0)
        mixed[[1, 3], step] = states(changed)[0, step]
        mixed[[2, 3], 3] = states(changed)[0, 3]
        said[name] = answers_with(model, mixed, all_weights(mixed))[:, 3]
    return said
