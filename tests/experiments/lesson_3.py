"""Lesson 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import functools
import itertools
import math

import numpy as np

from . import lesson_3_interventions as interventions
from . import measuring, trainings

TASK = 3
TEN, TWENTY, FORTY = range(1, 11), range(1, 21), range(1, 41)
scores = functools.partial(measuring.scores, TASK)
compare_scores = functools.partial(measuring.compare_scores, TASK)


def setup(edit=None, flags="--pos_enc"):
    """Return a trainings.Setup of this lesson."""
    return trainings.Setup(TASK, edit, flags)


PLAIN, POSITIONS = setup(flags=""), setup()
ONE_STEP, LONGER = setup(flags="--pos_enc --steps 1"), setup(flags="--pos_enc --steps 2200")
BARE = "--pos_enc --enc_layers 0 --lr 0.01"
LOOKING = setup(flags=BARE)
# The tables of what is right: what a page calls a row, what is trained, and the seeds.
TABLES = {
    "With order and without": {
        "without `--pos_enc`": (PLAIN, TEN),
        "`--pos_enc`, twenty runs": (POSITIONS, TWENTY),
        "`--steps 2200`": (LONGER, TEN),
    },
    "Equal weights from the start": {
        "as it is, twenty runs": (POSITIONS, TWENTY),
        "A: equal weights in the encoder": (setup("A"), TEN),
        "B: equal weights in the decoder": (setup("B"), TEN),
        "A and B: equal weights in both": (setup("A+B"), TEN),
        "A, B and D: equal weights and one vector, twenty runs": (setup("A+B+D"), TWENTY),
    },
    f"Without an encoder layer, `{BARE}`": {
        "learnt weights": (LOOKING, TEN),
        "B: equal weights from the start": (setup("B", BARE), TEN),
        "F: six times the weight for the first letter, from the start": (setup("F", BARE), TEN),
    },
}
SETUPS = [row for rows in TABLES.values() for row in rows.values()]
SETUPS += [(ONE_STEP, TEN), (PLAIN, TWENTY), (POSITIONS, FORTY)]


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


def order_change(model):
    """Return the largest change of a logit, in 1,000 sequences, by another order of the letters; [float]."""
    inputs = measuring.new_data(TASK, 1000).inputs
    order = np.random.default_rng(0).permutation(11)
    return [np.abs(model(inputs)[0] - model(inputs[:, order])[0]).max()]


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


def report(cache):
    """Print the figures of the lesson and of the laboratory, with the models of a trainings.ModelCache."""
    least, most = bound()
    row = ["the bound", f"{most:.2%}", f"{least:.4f}"]
    measuring.table("The bound without order and without a mask", ["", "right", "loss"], [row])
    beside = {"Task 3": cache.models(PLAIN, TWENTY), "Task 3 `--pos_enc`": cache.models(POSITIONS, FORTY)}
    measuring.beside_the_original(TASK, beside)
    for title, rows in TABLES.items():
        compare_scores(title, {label: cache.models(*row) for label, row in rows.items()}, each=True)
    print_last_losses(cache)
    inputs = measuring.spell(TASK, "AAAAAAAAAAA").inputs
    answers = sorted(
        int(measuring.logits_of(model, inputs).argmax()) for model in cache.models(POSITIONS, TWENTY)
    )
    print(f"\nThe models with `--pos_enc` answer to AAAAAAAAAAA: {answers}")
    print_order(cache)
    print_weights(cache)
    print_interventions(cache)


def print_last_losses(cache):
    """Print with which loss the longer training runs with --pos_enc ended, and what is right then."""
    seeds = cache.chosen(TEN)
    losses = [cache.losses(LONGER, seed)[-1][1] for seed in seeds]
    rights = [scores(model)[0] for model in cache.models(LONGER, seeds)]
    triples = zip(seeds, losses, rights, strict=True)
    runs = [f"seed {seed}: {loss:.3f}, {right:.1%} right" for seed, loss, right in triples]
    print(f"\nThe last printed losses of `{LONGER.flags}`: {'; '.join(runs)}")


def print_order(cache):
    """Print what another order of the same letters changes, and what the positional vectors are."""
    groups = {"without `--pos_enc`": cache.models(PLAIN, TEN), "`--pos_enc`": cache.models(POSITIONS, TEN)}
    title = "Changed by another order of the letters"
    measuring.compare(title, ["", "logits"], groups, order_change, "{:.2g}")
    models = cache.models(POSITIONS, TWENTY)
    first, others = zip(*map(interventions.positions, models), strict=True)
    swapped, mean = zip(*map(interventions.other_positions, models), strict=True)
    rows = [
        ["length of the first vector", measuring.summary(first)],
        ["mean length of the other ten", measuring.summary(others)],
        [
            "vectors of positions 0 and 5 swapped: the model counts the letter at position 5",
            measuring.percent(swapped),
        ],
        ["one vector for positions 1 to 10: right", measuring.percent(mean)],
    ]
    measuring.table("Positional vectors", ["`--pos_enc`, twenty runs", ""], rows)


def print_weights(cache):
    """Print the encoder's weights before and after the training, and what is right under changed weights."""
    models = cache.models(POSITIONS, TWENTY)
    groups = {"after one training step": cache.models(ONE_STEP, TEN), "after 2,000, twenty runs": models}
    head = ["", "a letter like it", "another letter", "like it / another", "decoder on the signal"]
    measuring.compare("The signal's row", head, groups, signal_row, *["{:.3f}"] * 2, *["{:.2f}"] * 2)
    rows = []
    for label, factors in interventions.FACTORS.items():
        rights = [100 * interventions.right_with(model, factors) for model in models]
        rows.append([label, f"{min(rights):.1f} to {max(rights):.1f}%", measuring.summary(rights, "{:.1f}")])
    head = ["changed, twenty runs", "right, lowest to highest", "median and range"]
    measuring.table("Changed after the training", head, rows)
    rights = [interventions.right_with(model, {"attention": 0}) for model in cache.models(LOOKING, TEN)]
    rows = [
        ["the same models, tested with equal weights", measuring.percent(rights)],
        ["the bound for equal weights", f"{bound()[1]:.2%}"],
    ]
    measuring.table(f"Without an encoder layer, changed, `{BARE}`", ["", "right"], rows)


def print_interventions(cache):
    """Print what is answered if vectors hold what another sequence gives, also without `--pos_enc`."""
    head = ["taken from the other sequence", "gives the other count", "gives its own count"]
    trained, plain = cache.models(POSITIONS, TEN), cache.models(PLAIN, TEN)
    measuring.compare_cases("From another sequence", head, trained, interventions.patched, "%", "%")
    cases = [interventions.patched(model) for model in plain]
    rows = {"trained without `--pos_enc`": [case[interventions.FIRST_MEAN] for case in cases]}
    measuring.compare("The first letter's weighted mean", ["", *head[1:]], rows, list, "%", "%")
