"""Lesson 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import itertools
import math

import numpy as np

from . import lesson_3_interventions as interventions
from . import measuring, trainings

TASK = 3
POSITIONS = "--pos_enc"
TEN = range(1, 11)


def run(edit=None, flags=POSITIONS):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


PLAIN, MARKED, AVERAGES, MARK = run(flags=""), run(), run("A+B"), run("A+B+D")
WAVES, EVEN_WAVES, MASK = run("C 1"), run("A+C 1"), run("E", "")
FAST = f"{POSITIONS} --enc_layers 0 --lr 0.01"
LOOKING = run(flags=FAST)
# Each training step is a call and a line of its own: so 1,999 training steps are the first of 2,000.
EACH_STEP = {steps: run(flags=f"{POSITIONS} --lr 0.01 --print_every 1 --steps {steps}") for steps in (1999, 2000)}
BEFORE = {MARKED: run(flags=f"{POSITIONS} --steps 1")}
# The tables: what a reader calls a row, and what is trained.
TABLES = {
    "With order and without": {"without `--pos_enc`": PLAIN, "`--pos_enc`": MARKED},
    "Equal weights from the start": {
        "A: equal weights in the encoder": run("A"),
        "B: equal weights in the decoder": run("B"),
        "A and B: equal weights in both": AVERAGES,
        "A, B and D: and one vector only": MARK,
        "D: one vector only": run("D"),
    },
    "Without an encoder layer": {
        "as it is": LOOKING,
        "B: equal weights in the decoder": run("B", FAST),
        "F: six times the weight for the first letter": run("F", FAST),
    },
    "Waves": {"C 1: waves": WAVES, "A and C 1: waves, equal weights in the encoder": EVEN_WAVES},
    "A mask": {"E: a causal mask": MASK, "E, `--enc_layers 2`": run("E", "--enc_layers 2")},
}
TWENTY = [MARKED, MARK, WAVES, EVEN_WAVES]  # What moves much, or differs little.
RUNS = [(one, TEN) for rows in TABLES.values() for one in rows.values()]
RUNS += [(one, TEN) for one in (*EACH_STEP.values(), *BEFORE.values())]
RUNS += [(one, range(11, 21)) for one in TWENTY]


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


def order_changes(model):
    """Return the largest change, over 1,000 sequences, when the letters come in another order.

    Of the encoder's weights and of the decoder's, both after the order is undone, and of the logits.
    """
    inputs = measuring.fresh(TASK, 1000).inputs
    order = np.random.default_rng(0).permutation(11)
    logits, weights, (encoder, *_) = model(inputs)
    other_logits, other_weights, (other_encoder, *_) = model(inputs[:, order])
    encoder = encoder.numpy()[:, order][:, :, order]
    pairs = ((encoder, other_encoder), (weights.numpy()[..., order], other_weights), (logits, other_logits))
    return [np.abs(one - np.array(other)).max() for one, other in pairs]


def scored(model):
    """Return the fraction of sequences right, the loss, and the mean weight on the signal."""
    data = measuring.fresh(TASK)
    logits, weights, _ = model(data.inputs)
    return *measuring.score(logits.numpy(), data.answers), weights.numpy()[:, 0, 0].mean()


def looks(model):
    """Return mean weights of the signal's row in the encoder, and the decoder's mean weight on the signal.

    On itself, on another letter like it, on one that differs, how many times the second is the third; the
    decoder's; and on a letter like it at the positions 1, 2, 5 and 10.
    """
    data = measuring.fresh(TASK)
    _, decoder, (encoder, *_) = model(data.inputs)
    weights = np.broadcast_to(encoder.numpy(), (len(data.letters), 11, 11))[:, 0]
    like = data.letters == data.letters[:, :1]
    different = weights[~like].mean()
    places = [weights[like[:, place], place].mean() for place in (1, 2, 5, 10)]
    like[:, 0] = False
    same, itself = weights[like].mean(), weights[:, 0].mean()
    return itself, same, different, same / different, decoder.numpy()[:, 0, 0].mean(), *places


def jumps(losses):
    """Return (first training step, length) of each jump of a loss; the length is None for an open one.

    It begins with a loss above 0.5 nats, once one has been below 0.05, and lasts until one is below 0.1.
    """
    found, calm, start = [], False, None
    for step, loss in losses:
        if start is None:
            calm = calm or loss < 0.05
            start = step if calm and loss > 0.5 else None
        elif loss < 0.1:
            found.append((start, step - start))
            start = None
    return found if start is None else [*found, (start, None)]


def report(trained):
    """Print the figures of the lesson and of the laboratory, with the models of a trainings.Trainings."""
    print("\nBound without order and without a mask: {:.4f} nats, {:.2%} right".format(*bound()))
    for title, rows in TABLES.items():
        groups = {
            name: trained.models(one, range(1, 21) if one == MARK else TEN) for name, one in rows.items()
        }
        head = ["right", "loss", "decoder's weight on the signal"]
        measuring.compare(title, head, groups, scored, "%", "{:.3f}", "{:.2f}", each=True)
    print_order(trained)
    print_looks(trained)
    print_jumps(trained)
    group = trained.models(MARKED, TEN)
    groups = {name: [(model, *each) for model in group] for name, each in interventions.CHANGES.items()}
    title, head = "Weights changed after the training", ["right", "last layer trained again"]
    measuring.compare(title, head, groups, interventions.right_and_read_again, "%", "%", each=True)


def print_order(trained):
    """Print what another order of the same letters changes, and what the positional vectors are."""
    rows = {"without `--pos_enc`": PLAIN, "`--pos_enc`": MARKED, "E: a mask, before the training": MASK}
    groups = {label: trained.models(one, TEN) for label, one in rows.items()}
    head = ["encoder weights", "decoder weights", "logits"]
    measuring.compare("Changed by another order of the letters", head, groups, order_changes, *["{:.2g}"] * 3)
    group = {"": groups["`--pos_enc`"]}
    head = ["length of the first", "of the others", "cosine of the first with the others", "of the others"]
    measuring.compare("Positional vectors", head, group, interventions.positions, *["{:.2f}"] * 4)
    head = ["0 and 5 exchanged: letter 5 is counted", "the first is", "1 to 10 all their mean: right"]
    measuring.compare("Other positional vectors", head, group, interventions.other_positions, *["%"] * 3)


def print_looks(trained):
    """Print the encoder's weights before and after the training, with learnt vectors and with waves."""
    groups = {}
    for label, one in {"learnt vectors": MARKED, "C 1: waves": WAVES}.items():
        groups[f"{label}, before"] = trained.models(BEFORE[one], TEN)
        groups[f"{label}, after"] = trained.models(one, TEN)
    head = ["on itself", "on each like it", "on each other", "like / other", "decoder on the signal"]
    head += [f"on a letter like it at position {place}" for place in (1, 2, 5, 10)]
    forms = [*["{:.3f}"] * 3, *["{:.2f}"] * 2, *["{:.3f}"] * 4]
    measuring.compare("The signal's row of the encoder, and the decoder", head, groups, looks, *forms)


def print_jumps(trained):
    """Print how long jumps of the loss are, and what one training step changes."""
    seeds = trained.chosen(TEN)
    found = {seed: jumps(trained.losses(EACH_STEP[2010], seed)) for seed in seeds}
    over = [length for each in found.values() for _, length in each if length] or [0]
    print(f"\n{len(over)} jumps in {sum(map(bool, found.values()))} trainings are over, after {min(over)} to")
    print(f"{max(over)} training steps, median {np.median(over):.0f}; {over.count(1)} after a single one")
    rows = [[f"seed {seed}: {found[seed]}"] for seed in seeds]
    rights = [scored(model)[0] for model in trained.models(MARKED, TEN)]
    last = [f"{loss:.3f}" for _, loss in trained.losses(MARKED, seeds[int(np.argmin(rights))])[-6:]]
    print(f"\nThe lowest of `--pos_enc` has {min(rights):.1%}; its last printed losses: {', '.join(last)}")
    for one in EACH_STEP.values():
        for row, seed, model in zip(rows, seeds, trained.models(one, TEN), strict=True):
            right, loss, _ = scored(model)
            row.append(f"{trained.losses(one, seed)[-1][1]:.3f}, {loss:.3f}, {right:.1%}")
    head = ["jumps (first training step, length)", *(f"{steps:,} training steps" for steps in EACH_STEP)]
    measuring.table("Last printed loss, loss on new sequences, right", head, rows)
