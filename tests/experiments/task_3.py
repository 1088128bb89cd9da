"""Task 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import functools
import itertools
import math

import formula
import numpy as np

from . import edits, measuring

TASK, MEASURES = 3, ["right"]
TEN, TWENTY, FORTY, FRESH = range(1, 11), range(1, 21), range(1, 41), range(601, 621)
BARE = "--pos_enc --enc_layers 0 --lr 0.01"
setup = functools.partial(edits.Setup, TASK, flags="--pos_enc")

PLAIN, POSITIONS, ONE_STEP = setup(flags=""), setup(), setup(flags="--pos_enc --steps 1")
LOOKING = setup(flags=BARE)
BESIDE = {"Task 3": (PLAIN, TWENTY), "Task 3 `--pos_enc`": (POSITIONS, FORTY)}
NO_ENCODER = {  # What the page calls a row, what is trained, and the seeds.
    "learnt weights": (LOOKING, TEN),
    "B: equal weights from the start": (setup("B", flags=BARE), TEN),
    "F: six times the weight for the first letter, from the start": (setup("F", flags=BARE), TEN),
}
STEPS = {"after one training step": (ONE_STEP, TEN), "after 2,000, twenty runs": (POSITIONS, TWENTY)}
SETUPS = [row for rows in (BESIDE, NO_ENCODER, STEPS) for row in rows.values()]
SETUPS.append((POSITIONS, FRESH))


def report():
    """Print the figures of the task."""
    least, most = bound()
    row = ["the bound", f"{most:.2%}", f"{least:.4f}"]
    measuring.table("The bound without order and without a mask", ["", "right", "loss"], [row])
    head, groups = ["", "this project: right"], edits.groups(BESIDE)
    measuring.compare("Beside the original", head, groups, accuracy, "%", each=True)
    title, groups = f"Without an encoder layer, `{BARE}`", edits.groups(NO_ENCODER)
    measuring.compare(title, ["", "right"], groups, accuracy, "%", each=True)
    print_positions(TWENTY)
    head = ["", "like it / another", "decoder on the signal"]
    measuring.compare("The signal's row", head, edits.groups(STEPS), signal_row, *["{:.2f}"] * 2)
    equal = [right_with(model, {"attention": 0}) for model in edits.models(LOOKING, TEN)]
    rows = [["the same models, tested with equal weights", measuring.summary(equal, "%")]]
    rows += [["the bound for equal weights", f"{most:.2%}"]]
    measuring.table(f"Without an encoder layer, changed, `{BARE}`", ["", "right"], rows)


def print_positions(seeds):
    """Print how long the positional vectors of the models of some seeds are, and what these get right."""
    first, others, right, alike = zip(*map(positions, edits.models(POSITIONS, seeds)), strict=True)
    rows = [["length of the first vector", measuring.summary(first)]]
    rows += [["mean length of the other ten", measuring.summary(others)]]
    rows += [["as it is: right", measuring.summary(right, "%")]]
    rows += [["one vector for positions 1 to 10: right", measuring.summary(alike, "%")]]
    measuring.table(f"Positional vectors, seeds {seeds[0]} to {seeds[-1]}", ["`--pos_enc`", ""], rows)


def report_mark():
    """Print the positional vectors of fresh models, and what follows the first of them."""
    print_positions(FRESH)
    head = ["positional vectors", "counts the letter of", "right"]
    rows = [with_mark_moved(model) for model in edits.models(POSITIONS, TEN)]
    rows = [[*names, measuring.summary([row[names] for row in rows], "%")] for names in rows[0]]
    measuring.table("The mark is moved", head, rows)


REPORTS = {"task_3": report, "task_3_mark": report_mark}


def bound(max_len=10, vocab_size=3):
    """Return the least expected loss in nats, and the most sequences right, of a model that sees no order.

    Such a model is a function of the multiset of the letters. Given the counts, the signal is each of the
    max_len + 1 letters with the same probability, so the answer is count - 1 with probability
    count / (max_len + 1) for each letter that occurs; equal answers are added up.
    """
    length = max_len + 1
    loss = accuracy = 0.0
    for counts in itertools.product(range(length + 1), repeat=vocab_size):
        if sum(counts) == length:
            ways = math.factorial(length) // math.prod(math.factorial(count) for count in counts)
            answers = {}
            for count in filter(None, counts):
                answers[count - 1] = answers.get(count - 1, 0) + count / length
            probability = ways / vocab_size**length
            loss -= probability * sum(share * math.log(share) for share in answers.values())
            accuracy += probability * max(answers.values())
    return loss, accuracy


def accuracy(model):
    """Return the fraction of sequences that a model gets right, in a list."""
    return [measuring.right(model, measuring.new_data(TASK))]


def right_with(model, factors=(), positions=None, signal=0):
    """Return what is right with factors at scores, by names of attentions, or with other positions.

    Right is how often the letter at the input step `signal` occurs at the other steps.
    """
    data, reference = measuring.new_data(TASK), formula.of(model, factors)
    if positions is not None:
        reference.arrays["positional_encoding"] = positions
    answers = (data.letters == data.letters[:, signal, None]).sum(axis=1) - 1
    return (reference.lesson(data.inputs).argmax(axis=-1)[:, 0] == answers).mean()


def positions(model):
    """Return the length of the first positional vector, the mean length of the others, and what is right.

    And what is right with the mean of the vectors of positions 1 to 10 in place of each of them.
    """
    vectors = model.positional_encoding.numpy().astype(float)
    lengths = np.linalg.norm(vectors[0], axis=-1)
    vectors[:, 1:] = vectors[:, 1:].mean(axis=1, keepdims=True)
    return lengths[0], lengths[1:].mean(), *accuracy(model), right_with(model, positions=vectors)


def with_mark_moved(model):
    """Return a dict from what is done to positional vectors, and the step of the signal, to what is right."""
    vectors = model.positional_encoding.numpy().astype(float)

    def exchanged(first, second, signal):
        order = [*range(11)]
        order[first], order[second] = second, first
        return right_with(model, positions=vectors[:, order], signal=signal)

    moved = [exchanged(0, step, step) for step in range(1, 11)]
    without = vectors.copy()
    without[:, 0] = vectors[:, 1:].mean(axis=1)
    return {
        ("as they are", "step 0"): exchanged(0, 0, 0),
        ("0 and 5 exchanged", "step 5"): moved[4],
        ("0 and 5 exchanged", "step 0"): exchanged(0, 5, 0),
        ("0 and 1 exchanged, or 0 and 2, … or 0 and 10", "step 1, 2, … or 10, the worst"): min(moved),
        ("3 and 7 exchanged, a control", "step 0"): exchanged(3, 7, 0),
        ("no mark: the mean of the others in place of 0", "step 0"): right_with(model, positions=without),
    }


def signal_row(model):
    """Return how many times another letter's weight in the signal's row a letter like it has, in the encoder.

    And the decoder's mean weight on the signal.
    """
    data = measuring.new_data(TASK)
    _, decoder, (encoder, *_) = model(data.inputs)
    weights, like = encoder.numpy()[:, 0], data.letters == data.letters[:, :1]
    different = weights[~like].mean()
    like[:, 0] = False
    return weights[like].mean() / different, decoder.numpy()[:, 0, 0].mean()
