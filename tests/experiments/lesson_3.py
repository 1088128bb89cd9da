"""Lesson 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import itertools
import math

import numpy as np

from . import edits, measuring, trainings
from . import lesson_3_interventions as interventions

TASK = 3
POSITIONS = "--pos_enc"
TEN, TWENTY = range(1, 11), range(1, 21)
THIRTY = [*TWENTY, *range(31, 41)]  # 21 to 30 are left to repeat everything with seeds that no page has seen.


def run(edit=None, flags=POSITIONS):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


PLAIN, MARKED, AVERAGES = run(flags=""), run(), run("A+B")
# The rows of each table: what a reader calls it, what is trained, and the seeds.
ORDER = {"without `--pos_enc`": (PLAIN, TWENTY), "`--pos_enc`": (MARKED, THIRTY)}
APART = {
    "`--pos_enc`": (MARKED, THIRTY),
    "A: all weights equal in the encoder": (run("A"), TEN),
    "B: all weights equal in the decoder": (run("B"), TEN),
    "A and B: no attention, only averages": (AVERAGES, THIRTY),
    "D: a vector for the first position only": (run("D"), TEN),
    "A, B and D": (run("A+B+D"), TEN),
}
LAYERS = {
    "`--enc_layers 0`": (run(flags=f"{POSITIONS} --enc_layers 0"), TEN),
    "`--enc_layers 0 --lr 0.01`": (run(flags=f"{POSITIONS} --enc_layers 0 --lr 0.01"), TEN),
    "B, `--enc_layers 0 --lr 0.01`": (run("B", f"{POSITIONS} --enc_layers 0 --lr 0.01"), TEN),
}
SINUSOIDS = {
    "C 1: sinusoids": (run("C 1"), TWENTY),
    "C 6: sinusoids divided by six": (run("C 6"), TWENTY),
}
MORE_ROWS = {
    "`--lr 0.01`": (run(flags=f"{POSITIONS} --lr 0.01"), TEN),
    "`--enc_layers 2`": (run(flags=f"{POSITIONS} --enc_layers 2"), TEN),
    "`--enc_layers 0 --steps 20000`": (run(flags=f"{POSITIONS} --enc_layers 0 --steps 20000"), TEN),
    "without `--pos_enc`, `--enc_layers 0 --lr 0.01`": (run(flags="--enc_layers 0 --lr 0.01"), TEN),
    "C 1, `--steps 5000`": (run("C 1", f"{POSITIONS} --steps 5000"), TEN),
    "C 1 and D: only the first sinusoid vector": (run("C 1+D"), TEN),
    "C 6 and D: the same, divided by six": (run("C 6+D"), TEN),
}
PARTS = {
    "H: the letters do not meet": (run("H"), TEN),
    "I: no residual around the attention": (run("I"), TEN),
    "J: no layer norm after the attention": (run("J"), TEN),
    "K: no feed-forward pair": (run("K"), TEN),
    "L: a feed-forward pair without its ReLU": (run("L"), TEN),
    "M: no residual around the feed-forward pair": (run("M"), TEN),
    "N: no layer norm after the feed-forward pair": (run("N"), TEN),
    "K, `--lr 0.01`": (run("K", f"{POSITIONS} --lr 0.01"), TEN),
    "A, B and K, `--lr 0.01`": (run("A+B+K", f"{POSITIONS} --lr 0.01"), TEN),
}
MASKS = {
    "E: a causal mask": (run("E", ""), TEN),
    "E, `--lr 0.01`": (run("E", "--lr 0.01"), TEN),
    "E, `--enc_layers 2`": (run("E", "--enc_layers 2"), TEN),
    "F: a mask for the first letter only": (run("F", ""), TEN),
    "G: a causal mask for all but the first letter": (run("G", ""), TEN),
}
RUNS = [row for rows in (ORDER, APART, LAYERS, SINUSOIDS) for row in rows.values()]
MORE = [row for rows in (MORE_ROWS, PARTS, MASKS) for row in rows.values()]
TEXTS = ("BBABCCABCAB", "BABBCCABCAB", "ABBBCCABCAB", "CBABBCABCAB", "ABABCCABCAB", "BBABC")

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
    data = measuring.fresh(TASK, 1000)
    order = np.random.default_rng(0).permutation(11)
    logits, weights, (encoder, *_) = model(data.inputs)
    other_logits, other_weights, (other_encoder, *_) = model(data.inputs[:, order])
    encoder = encoder.numpy()[:, order][:, :, order]
    pairs = ((encoder, other_encoder), (weights.numpy()[..., order], other_weights), (logits, other_logits))
    return [np.abs(one - np.array(other)).max() for one, other in pairs]


# --- What a model looks at ------------------------------------------------------------------------------


def scored(model):
    """Return the fraction of sequences right, the loss, and the mean weight on a signal and elsewhere.

    Six floats: right, loss, the weight on the signal where that is A, B and C, and on any other step.
    """
    data = measuring.fresh(TASK)
    logits, weights, _ = model(data.inputs)
    weights = weights.numpy()[:, 0]
    by_letter = [weights[data.letters[:, 0] == letter, 0].mean() for letter in range(3)]
    return *measuring.score(logits.numpy(), data.answers), *by_letter, weights[:, 1:].mean()


def right_by_signal(model):
    """Return the fraction of sequences right where A, B and C is the signal."""
    data = measuring.fresh(TASK)
    right = measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers
    return [right[data.letters[:, 0] == letter].mean() for letter in range(3)]


def encoder_from_signal(model):
    """Return the mean weight that the signal's row of the first encoder layer gives.

    To itself, to another letter like it, and to a letter that differs.
    """
    data = measuring.fresh(TASK)
    weights = np.broadcast_to(model(data.inputs)[2][0].numpy(), (len(data.letters), 11, 11))[:, 0]
    same = data.letters == data.letters[:, :1]
    same[:, 0] = False
    different = data.letters != data.letters[:, :1]
    return weights[:, 0].mean(), weights[same].mean(), weights[different].mean()


def norms(model):
    """Return the norms of the positional vectors, float (11,)."""
    return np.linalg.norm(model.positional_encoding.numpy()[0], axis=-1)


def cosines(model):
    """Return the cosines between the positional vectors, float (11, 11)."""
    vectors = model.positional_encoding.numpy()[0]
    vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors @ vectors.T


# --- The tables -----------------------------------------------------------------------------------------


def first_below(losses, most):
    """Return the first training step with a printed loss below most, None if there is none."""
    return next((step for step, loss in losses if loss < most), None)


def jumps(losses):
    """Return how long each jump of a loss lasts, in training steps, None for one that is there at the end.

    It begins with a printed loss above 0.2 nats after one below 0.05, and lasts until one is below 0.1.
    """
    found, calm, start = [], False, None
    for step, loss in losses:
        if start is None:
            calm = calm or loss < 0.05
            start = step if calm and loss > 0.2 else None
        elif loss < 0.1:
            found.append(step - start)
            start = None
    return found if start is None else [*found, None]


def print_rows(trained, title, rows):
    """Print a table of trainings: how many are right, the loss, where they look; then each training."""
    cells, each = [], []
    for label, (one, seeds) in rows.items():
        found = [scored(model) for model in trained.models(one, seeds)]
        losses = [trained.losses(one, seed) for seed in trained.chosen(seeds)]
        right, loss, *weights = measuring.columns(found, "%", "{:.3f}", *["{:.2f}"] * 4)
        steps = [step for step in (first_below(printed, 0.5) for printed in losses) if step]
        reached = [measuring.spread(steps, "{:.0f}")] if steps else []
        reached += [f"{len(steps)} of {len(found)}"] if len(steps) < len(found) else []
        cells.append([label, len(found), right, loss, ", ".join(reached), *weights])
        marks = ["*" if None in jumps(printed) else "" for printed in losses]
        shown = sorted((row[0], mark) for row, mark in zip(found, marks, strict=True))
        each.append(f"{label}: {' '.join(f'{100 * fraction:.1f}{mark}' for fraction, mark in shown)}")
    head = ["", "trainings", "right", "loss", "first loss below 0.5 at training step"]
    measuring.table(title, [*head, "weight on the signal A", "B", "C", "on any other step"], cells)
    print("\nSequences right, in %, each training (* ends in a jump of its loss):\n")
    print("\n".join(each), flush=True)


def report(trained, everything=False):
    """Print the figures of the lesson and the main tables of the laboratory, or everything.

    Args:
        trained: a trainings.Trainings.
        everything: bool, also what needs the trainings of MORE, and what changes the inside of models.
    """
    print("\nBound without order and without a mask: {:.4f} nats, {:.2%} right".format(*bound()))
    print_rows(trained, "With order and without", ORDER)
    print_order(trained)
    print_rows(trained, "Take it apart, with `--pos_enc`", APART)
    print_dim_letters(trained, APART["`--pos_enc`"])
    print_rows(trained, "No encoder layer, with `--pos_enc`", LAYERS)
    print_rows(trained, "Sinusoids, with `--pos_enc`", SINUSOIDS)
    if everything:
        print_rows(trained, "More, with `--pos_enc` where it is not said otherwise", MORE_ROWS)
        print_dim_letters(trained, MORE_ROWS["`--lr 0.01`"])
        print_jumps(trained)
        print_rows(trained, "The parts of an encoder layer, with `--pos_enc`", PARTS)
        print_rows(trained, "Masks, without `--pos_enc`", MASKS)
        print_masks(trained)
        print_interventions(trained)


def print_order(trained):
    """Print what another order of the same letters changes, and what the positional vectors are."""
    both = {"`--pos_enc`": trained.models(MARKED, THIRTY), "without": trained.models(PLAIN, TWENTY)}
    rows = []
    for label, group in both.items():
        changes = measuring.columns([order_changes(model) for model in group], *["{:.2g}"] * 3)
        rows.append([label, *changes])
    head = ["", "encoder weights", "decoder weights", "logits"]
    measuring.table("The largest change by another order of the same letters", head, rows)
    for text in TEXTS:
        answer = measuring.spell(TASK, text).answers[0, 0]
        for label, group in both.items():
            print(f"\n`--input {text}`, right is {answer}, {label}: {measuring.shares(TASK, group, text)}")
    lengths = np.array([norms(model) for model in both["`--pos_enc`"]])
    found = np.array([cosines(model) for model in both["`--pos_enc`"]])
    rest = found[:, 1:, 1:][:, ~np.eye(10, dtype=bool)]
    print(f"\nNorm of the first positional vector: {measuring.spread(lengths[:, 0])}")
    print(f"Of the others, mean over ten: {measuring.spread(lengths[:, 1:].mean(axis=1))}")
    print(f"Cosines of the first with the others, mean: {measuring.spread(found[:, 0, 1:].mean(axis=1))}")
    print(f"Of the others with each other, mean: {measuring.spread(rest.mean(axis=1))}", flush=True)


def print_dim_letters(trained, row):
    """Print how often the letters that get the least weight as a signal are answered rightly."""
    group = trained.models(*row)
    pairs = [zip(scored(model)[2:5], right_by_signal(model), strict=True) for model in group]
    pairs = sorted(itertools.chain(*pairs))
    below = sum(weight < 1 / 11 for weight, _ in pairs)
    print(
        f"\nFlags {row[0].flags}: of the {len(pairs)} letters of {len(group)} models, {below} get less than"
    )
    print("1/11 of the weight as a signal; those with the least, and how many of their sequences are right:")
    print(", ".join(f"{weight:.2f} {100 * right:.1f}%" for weight, right in pairs[: max(5, below)]))


def print_jumps(trained):
    """Print how many jumps of the loss there are, how long they last, and what comes after the last one."""
    for label in ("`--lr 0.01`", "`--enc_layers 2`"):
        one, seeds = MORE_ROWS[label]
        found = {seed: jumps(trained.losses(one, seed)) for seed in trained.chosen(seeds)}
        over = [length for lengths in found.values() for length in lengths if length]
        print(f"\n{label}: {len(over)} jumps in {sum(map(bool, found.values()))} of {len(found)} trainings")
        print(f"are over after {min(over, default=0)} to {max(over, default=0)} training steps")
        longer = one._replace(flags=f"{one.flags} --steps 2100")
        for seed in (seed for seed, lengths in found.items() if None in lengths):
            (model,) = trainings.Trainings(trained.folder).models(longer, [seed])
            print(f"One training ends in a jump; 100 training steps later, {scored(model)[0]:.1%} are right")


def print_masks(trained):
    """Print what masked models do with equal letters at the beginning, and what they know of positions."""
    rows = []
    for label, row in {**MASKS, **ORDER}.items():
        cells = [interventions.right_by_run(model) for model in trained.models(*row)]
        rows.append([label, *measuring.columns(cells, *["%"] * 3)])
    measuring.table(
        "Right, by the number of equal letters at the beginning", ["", "1", "2", "3 or more"], rows
    )
    rows = []
    for label, (one, seeds) in {**MASKS, "without a mask": (PLAIN, TEN)}.items():
        after = [interventions.position_in_encoding(model) for model in trained.models(one, seeds)]
        module = trained.module(TASK, one.edit)
        settings = edits.settings(module, *one.flags.split())
        before = [interventions.untrained(module, settings, seed) for seed in trained.chosen(seeds)]
        before = [interventions.position_in_encoding(model) for model in before]
        rows.append([label, measuring.spread(before), measuring.spread(after)])
    head = ["", "before the training", "after it"]
    measuring.table("R² of a linear fit of the position to a letter's encoding", head, rows)
    found = [interventions.other_views(model) for model in trained.models(*MASKS["E, `--enc_layers 2`"])]
    rows = [[name, *measuring.columns([one[name] for one in found], "%", "%")] for name in found[0]]
    head = ["E, `--enc_layers 2`", "still right", "letter 5's kind is counted"]
    measuring.table("What single letters see, after the training", head, rows)


def print_interventions(trained):
    """Print what happens to the answers when weights or encodings in a trained model are changed."""
    marked, averages = trained.models(MARKED, THIRTY), trained.models(AVERAGES, THIRTY)
    cells = [encoder_from_signal(model) for model in marked]
    head = ["on itself", "on each letter like it", "on each other letter"]
    cells = [measuring.columns(cells, *["{:.3f}"] * 3)]
    measuring.table("The signal's row in the encoder", head, cells)
    cells = [interventions.used_by_the_encoder(model) for model in marked]
    head = ["equal encoder weights, all rows", "the signal's row", "the other rows"]
    head += ["vectors 0 and 5 exchanged: letter 5 is counted", "the first is counted"]
    measuring.table("What a trained encoder uses", head, [measuring.columns(cells, *["%"] * 5)])
    found = [interventions.changed_weights(model) for model in marked]
    rows = [[name, *measuring.columns([one[name] for one in found], "%", "{:.2f}")] for name in found[0]]
    head = ["", "still right", "mean error"]
    measuring.table("The decoder's weights changed (of sequences that were right)", head, rows)
    rows = []
    for others, anew in itertools.product((False, True), repeat=2):
        cells = [interventions.patch_signal(model, others, anew) for model in marked]
        labels = [("the signal", "the ten others")[others], ("kept", "anew")[anew]]
        rows.append([*labels, *measuring.columns(cells, "%", "%", "{:.2f}")])
    for others in (False, True):
        cells = [interventions.patch_signal(model, others, equal=True) for model in averages]
        labels = [("the signal", "the ten others")[others], "equal (A and B)"]
        rows.append([*labels, *measuring.columns(cells, "%", "%", "{:.2f}")])
    head = ["replaced", "weights", "own answer", "donor's answer", "moves, for each unit between the two"]
    measuring.table("Encodings of another input with the same signal, after the encoder", head, rows)
    rows = []
    groups = {"`--pos_enc`": marked, "A and B": averages, "without": trained.models(PLAIN, TEN)}
    for label, group in groups.items():
        cells = [interventions.held_by_encodings(model) for model in group[:10]]
        rows.append([label, *measuring.columns(cells, *["{:.3f}"] * 4, "%")])
    head = ["", "the answer from the signal's encoding", "from letter 5's, if it is like the signal"]
    head += ["if it is another letter", "letter 5's own count from it", "the signal's letter from letter 5's"]
    measuring.table("R² of linear fits; the signal's letter, known (ten models)", head, rows)
