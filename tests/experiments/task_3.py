"""Task 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import functools
import itertools
import math

import formula
import numpy as np

from . import edits, measuring

TASK = 3
TEN, TWENTY, FORTY = range(1, 11), range(1, 21), range(1, 41)
scores = functools.partial(measuring.scores, TASK)
compare_scores = functools.partial(measuring.compare_scores, TASK)


def setup(edit=None, flags="--pos_enc"):
    """Return an edits.Setup of this task."""
    return edits.Setup(TASK, edit, flags)


PLAIN, POSITIONS, ONE_STEP = setup(flags=""), setup(), setup(flags="--pos_enc --steps 1")
BARE = "--pos_enc --enc_layers 0 --lr 0.01"
LOOKING = setup(flags=BARE)
# The tables of what is right: what the page calls a row, what is trained, and the seeds.
TABLES = {
    "With order and without": {
        "without `--pos_enc`": (PLAIN, TEN),
        "`--pos_enc`, twenty runs": (POSITIONS, TWENTY),
    },
    "Equal weights from the start": {
        "as it is, twenty runs": (POSITIONS, TWENTY),
        "A: equal weights in the encoder": (setup("A"), TEN),
        "B: equal weights in the decoder": (setup("B"), TEN),
        "A and B: equal weights in both": (setup("A+B"), TEN),
    },
    f"Without an encoder layer, `{BARE}`": {
        "learnt weights": (LOOKING, TEN),
        "B: equal weights from the start": (setup("B", BARE), TEN),
        "F: six times the weight for the first letter, from the start": (setup("F", BARE), TEN),
    },
}
LAYERS = {
    "one": setup(),
    "three": setup(flags="--pos_enc --enc_layers 3"),
    "six": setup(flags="--pos_enc --enc_layers 6"),
}
SETUPS = [row for rows in TABLES.values() for row in rows.values()] + [
    (each, TEN) for each in LAYERS.values()
]
SETUPS += [(ONE_STEP, TEN), (PLAIN, TWENTY), (POSITIONS, FORTY)]
FACTORS = {  # What the logits of an attention are multiplied by.
    "nothing": {},
    "decoder: equal weights": {"attention": 0},
    "encoder: equal weights": {"encoder_layer_1/attention": 0},
}


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


def positions(model):
    """Return the length of the first positional vector, the mean length of the others, and what is right.

    The last is measured with the mean of the vectors of positions 1 to 10 in place of each of them.
    """
    data, reference = measuring.new_data(TASK), formula.of(model)
    vectors = reference.arrays["positional_encoding"]
    lengths = np.linalg.norm(vectors[0], axis=-1)
    vectors[:, 1:] = vectors[:, 1:].mean(axis=1, keepdims=True)
    return (
        lengths[0],
        lengths[1:].mean(),
        (reference.lesson(data.inputs).argmax(axis=-1) == data.answers).mean(),
    )


def signal_row(model):
    """Return mean weights of the signal's row in the encoder, and the decoder's mean weight on the signal.

    On another letter like it, on another letter, the ratio of these two, the decoder's.
    """
    data = measuring.new_data(TASK)
    _, decoder, (encoder, *_) = model(data.inputs)
    weights = encoder.numpy()[:, 0]
    like = data.letters == data.letters[:, :1]
    different = weights[~like].mean()
    like[:, 0] = False
    same = weights[like].mean()
    return same, different, same / different, decoder.numpy()[:, 0, 0].mean()


def right_with(model, factors):
    """Return the fraction of sequences right if factors, by names of attentions, multiply the logits."""
    data = measuring.new_data(TASK)
    chances = formula.of(model, factors).lesson(data.inputs)
    return (chances.argmax(axis=-1) == data.answers).mean()


def look(model):
    """Return what is right, where the decoder looks, and what is right once its weights are made equal.

    The fraction of sequences right; the decoder's mean weight on the signal; the fraction of sequences in
    which another letter has more weight than the signal; the fraction right with equal decoder weights.
    """
    weights = np.reshape(model(measuring.new_data(TASK).inputs)[1], (-1, 11))
    elsewhere = (weights[:, 1:].max(axis=1) > weights[:, 0]).mean()
    return scores(model)[0], weights[:, 0].mean(), elsewhere, right_with(model, {"attention": 0})


def report():
    """Print the figures of the task."""
    least, most = bound()
    row = ["the bound", f"{most:.2%}", f"{least:.4f}"]
    measuring.table("The bound without order and without a mask", ["", "right", "loss"], [row])
    beside = {"Task 3": edits.models(PLAIN, TWENTY), "Task 3 `--pos_enc`": edits.models(POSITIONS, FORTY)}
    measuring.beside_the_original(TASK, beside)
    for title, rows in TABLES.items():
        compare_scores(title, {label: edits.models(*row) for label, row in rows.items()}, each=True)
    models = edits.models(POSITIONS, TWENTY)
    first, others, right = zip(*map(positions, models), strict=True)
    rows = [
        ["length of the first vector", measuring.summary(first)],
        ["mean length of the other ten", measuring.summary(others)],
        ["one vector for positions 1 to 10: right", measuring.percent(right)],
    ]
    measuring.table("Positional vectors", ["`--pos_enc`, twenty runs", ""], rows)
    groups = {"after one training step": edits.models(ONE_STEP, TEN), "after 2,000, twenty runs": models}
    head = ["", "a letter like it", "another letter", "like it / another", "decoder on the signal"]
    measuring.compare("The signal's row", head, groups, signal_row, *["{:.3f}"] * 2, *["{:.2f}"] * 2)
    rows = []
    for label, factors in FACTORS.items():
        rights = [100 * right_with(model, factors) for model in models]
        rows.append([label, f"{min(rights):.1f} to {max(rights):.1f}%", measuring.summary(rights, "{:.1f}")])
    head = ["changed, twenty runs", "right, lowest to highest", "median and range"]
    measuring.table("Changed after the training", head, rows)
    rights = [right_with(model, {"attention": 0}) for model in edits.models(LOOKING, TEN)]
    rows = [
        ["the same models, tested with equal weights", measuring.percent(rights)],
        ["the bound for equal weights", f"{most:.2%}"],
    ]
    measuring.table(f"Without an encoder layer, changed, `{BARE}`", ["", "right"], rows)


def report_layers():
    """Print what one, three and six encoder layers do."""
    found = {label: [look(model) for model in edits.models(each, TEN)] for label, each in LAYERS.items()}
    head = ["encoder layers", "right", "weight on the signal", "another letter has more", "made equal"]
    measuring.compare("More layers", head, found, list, "%", "{:.2f}", "%", "%", each=True)
    for label, runs in found.items():
        for place, each in ((2, "another letter has more"), (3, "made equal")):
            print(f"- {label}, {each}: {' '.join(f'{100 * run[place]:.1f}' for run in runs)}")


REPORTS = {"task_3": report, "task_3_layers": report_layers}
