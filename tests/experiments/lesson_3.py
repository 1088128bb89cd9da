"""Lesson 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import itertools
import math

import numpy as np

from . import edits, measuring, trainings
from . import lesson_3_interventions as interventions

TASK = 3
POSITIONS = "--pos_enc"
TEN = range(1, 11)


def run(edit=None, flags=POSITIONS):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


PLAIN, MARKED, AVERAGES = run(flags=""), run(), run("A+B")
# Each training step is a call and a line of its own: so 1,999 training steps are the first of 2,010.
EACH_STEP = run(flags=f"{POSITIONS} --lr 0.01 --print_every 1 --steps 2010")
# The rows of each table: what a reader calls it, and what is trained.
ORDER = {"without `--pos_enc`": PLAIN, "`--pos_enc`": MARKED}
APART = {
    "`--pos_enc`": MARKED,
    "A and B: all weights equal": AVERAGES,
    "A, B and D: and one vector only": run("A+B+D"),
}
WAVES = {
    "learnt vectors": MARKED,
    "C 1: waves": run("C 1"),
    "A and C 1: waves, equal weights in the encoder": run("A+C 1"),
}
MASKS = {"E: a causal mask, before the training": run("E", "--steps 1")}
MASKED = {
    "no mask": PLAIN,
    "E: a causal mask, `--enc_layers 2`": run("E", "--enc_layers 2"),
}
HALVES = {
    "A: all weights equal in the encoder": run("A"),
    "B: all weights equal in the decoder": run("B"),
    "D: a vector for the first position only": run("D"),
}
FAST = "--enc_layers 0 --lr 0.01"
BARE = {
    f"`{FAST}`": run(flags=f"{POSITIONS} {FAST}"),
    f"B, `{FAST}`": run("B", f"{POSITIONS} {FAST}"),
}
ROWS = ORDER | APART | WAVES | MASKS | MASKED | HALVES | BARE
RUNS = [(one, TEN) for one in dict.fromkeys([*ROWS.values(), EACH_STEP])]

# --- Without order ----------------------------------------------------------------------------------------


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


# --- What a model looks at --------------------------------------------------------------------------------


def before(trained, one, seed):
    """Return a model of a trainings.Run as it is before its training."""
    module = trained.module(TASK, one.edit)
    module.tf.keras.utils.set_random_seed(seed)
    return module.AttentionModel(**edits.settings(module, *one.flags.split()))


def scored(model):
    """Return the fraction of sequences right, the loss, and the mean weight on the signal."""
    data = measuring.fresh(TASK)
    logits, weights, _ = model(data.inputs)
    return *measuring.score(logits.numpy(), data.answers), weights.numpy()[:, 0, 0].mean()


def looks(model):
    """Return mean weights of the signal's row in the encoder, and the decoder's mean weight on the signal.

    On itself, on another letter like it, on one that differs, how many times the second is the third.
    """
    data = measuring.fresh(TASK)
    _, decoder, (encoder, *_) = model(data.inputs)
    weights = np.broadcast_to(encoder.numpy(), (len(data.letters), 11, 11))[:, 0]
    like = data.letters == data.letters[:, :1]
    different = ~like
    like[:, 0] = False
    like, different = weights[like].mean(), weights[different].mean()
    return weights[:, 0].mean(), like, different, like / different, decoder.numpy()[:, 0, 0].mean()


def by_distance(model):
    """Return the signal's mean weights, in the encoder, on letters like it at positions 1, 2, 5 and 10."""
    data = measuring.fresh(TASK)
    weights = np.broadcast_to(model(data.inputs)[2][0].numpy(), (len(data.letters), 11, 11))[:, 0]
    like = data.letters == data.letters[:, :1]
    return [weights[like[:, place], place].mean() for place in (1, 2, 5, 10)]


# --- The tables -------------------------------------------------------------------------------------------


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
    print_rows(trained, "With order and without", ORDER)
    print_rows(trained, "Take it apart", APART | HALVES)
    print_rows(trained, "Without an encoder layer", BARE)
    print_rows(trained, "Waves", WAVES)
    print_rows(trained, "A mask", MASKED)
    print_order(trained)
    print_looks(trained)
    print_jumps(trained)
    print_changes(trained)


def print_rows(trained, title, rows):
    """Print a table of trainings: how many are right, the loss, the decoder's look; then each training."""
    cells, each = [], []
    for label, one in rows.items():
        found = [scored(model) for model in trained.models(one, TEN)]
        middle = f"{100 * np.median([right for right, *_ in found]):.1f}%"
        cells.append([label, middle, *measuring.columns(found, "%", "{:.3f}", "{:.2f}")])
        each.append(f"{label}: {' '.join(f'{100 * right:.1f}' for right, *_ in sorted(found))}")
    head = ["", "right, median", "right", "loss", "decoder's weight on the signal"]
    measuring.table(title, head, cells)
    print("\nSequences right, in %, each training:\n")
    print("\n".join(each), flush=True)


def print_order(trained):
    """Print what another order of the same letters changes, and what the positional vectors are."""
    rows = []
    for label, one in (ORDER | MASKS).items():
        group = [before(trained, one, seed) for seed in trained.chosen(TEN)]
        group = group if one in MASKS.values() else trained.models(one, TEN)
        rows.append([label, *measuring.columns([order_changes(model) for model in group], *["{:.2g}"] * 3)])
    head = ["", "encoder weights", "decoder weights", "logits"]
    measuring.table("The largest change by another order of the same letters", head, rows)
    group = trained.models(MARKED, TEN)
    vectors = np.array([model.positional_encoding.numpy()[0] for model in group])
    lengths = np.linalg.norm(vectors, axis=-1)
    cosines = np.array([each @ each.T for each in vectors / lengths[..., None]])
    rest = cosines[:, 1:, 1:][:, ~np.eye(10, dtype=bool)]
    print(f"\nNorm of the first positional vector: {measuring.spread(lengths[:, 0])}")
    print(f"Of the others, mean over ten: {measuring.spread(lengths[:, 1:].mean(axis=1))}")
    print(f"Cosines of the first with the others, mean: {measuring.spread(cosines[:, 0, 1:].mean(axis=1))}")
    print(f"Of the others with each other, mean: {measuring.spread(rest.mean(axis=1))}")
    cells = [interventions.other_positions(model) for model in group]
    head = ["0 and 5 exchanged: letter 5 is counted", "the first is", "1 to 10 all their mean: right"]
    measuring.table("Other positional vectors", head, [measuring.columns(cells, *["%"] * 3)])


def print_looks(trained):
    """Print the encoder's weights before and after the training, with learnt vectors and with waves."""
    cells = []
    for label in ("learnt vectors", "C 1: waves"):
        one = WAVES[label]
        beginners = [before(trained, one, seed) for seed in trained.chosen(TEN)]
        for when, group in (("before", beginners), ("after", trained.models(one, TEN))):
            rows = [[*looks(model), *by_distance(model)] for model in group]
            row = measuring.columns(rows, *["{:.3f}"] * 3, *["{:.2f}"] * 2, *["{:.3f}"] * 4)
            cells.append([label, when, *row])
    head = ["", "", "on itself", "on each like it", "on each other", "like / other", "decoder on the signal"]
    head += [f"on a letter like it at position {place}" for place in (1, 2, 5, 10)]
    measuring.table("The signal's row of the encoder, and the decoder", head, cells)


def print_jumps(trained):
    """Print how long jumps of the loss are, and what one training step changes in one."""
    found = {seed: jumps(trained.losses(EACH_STEP, seed)) for seed in trained.chosen(TEN)}
    over = [length for each in found.values() for _, length in each if length] or [0]
    print(f"\n{len(over)} jumps in {sum(map(bool, found.values()))} trainings are over, after {min(over)} to")
    print(f"{max(over)} training steps, median {np.median(over):.0f}; {over.count(1)} after a single one")
    for (seed, each), model in zip(found.items(), trained.models(EACH_STEP, TEN), strict=True):
        print(f"seed {seed}, {scored(model)[0]:.1%} right, jumps (first training step, length): {each}")
    rights = [scored(model)[0] for model in trained.models(MARKED, TEN)]
    seed = trained.chosen(TEN)[int(np.argmin(rights))]
    alone = trainings.Trainings(trained.folder)
    rows = []
    for steps in (1999, 2000, 2010):
        one = run(flags=f"{POSITIONS} --print_every 1 --steps {steps}")
        (model,), losses = alone.models(one, [seed]), alone.losses(one, seed)
        right, loss, _ = scored(model)
        rows.append([f"{steps:,}", f"{losses[-1][1]:.3f}", f"{loss:.3f}", f"{right:.1%}"])
    head = ["training steps", "last printed loss", "loss on new sequences", "right"]
    measuring.table(f"The lowest of `--pos_enc`, {min(rights):.1%}, one update more or less", head, rows)


def print_changes(trained):
    """Print what changed weights do to trained models, before and after the last layer is trained again."""
    rows = []
    head = ["", "right as it is", "last layer trained again"]
    for label, change in interventions.CHANGES.items():
        found = [interventions.right_and_read_again(model, *change) for model in trained.models(MARKED, TEN)]
        rows.append([label, *measuring.columns(found, "%", "%")])
        print(f"\n{label}, medians: {np.round(100 * np.median(found, axis=0), 1).tolist()}")
    measuring.table("Weights changed after the training (all sequences)", head, rows)
