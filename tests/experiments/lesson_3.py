"""Lesson 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import itertools
import math

import numpy as np

from . import edits, measuring, trainings
from . import lesson_3_interventions as interventions

TASK = 3
TRACED = ("BBABCCABCAB", "BCBACCABCAA")
POSITIONS = "--pos_enc"


def run(edit=None, flags=POSITIONS):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


PLAIN, MARKED, AVERAGES, MARK = run(flags=""), run(), run("A+B"), run("A+B+D")
WAVES, EVEN_WAVES, MASK, LONGER = (
    run("C 1"),
    run("A+C 1"),
    run("E", ""),
    run(flags=f"{POSITIONS} --steps 2200"),
)
BEFORE = {MARKED: run(flags=f"{POSITIONS} --steps 1")}
FAST = f"{POSITIONS} --enc_layers 0 --lr 0.01"
# The tables: what a reader calls a row, and what is trained.
TABLES = {
    "With order and without": {"without `--pos_enc`": PLAIN, "`--pos_enc`": MARKED, "`--steps 2200`": LONGER},
    "Equal weights from the start": {
        "A: equal weights in the encoder": run("A"),
        "B: equal weights in the decoder": run("B"),
        "A and B: equal weights in both": AVERAGES,
        "A, B and D: and one vector only": MARK,
        "D: one vector only": run("D"),
    },
    "Without an encoder layer": {
        f"`{FAST}`": run(flags=FAST),
        "B: equal weights in the decoder": run("B", FAST),
        "F: six times the weight for the first letter": run("F", FAST),
    },
    "Waves": {"C 1: waves": WAVES, "A and C 1: waves, equal weights in the encoder": EVEN_WAVES},
    "A mask": {"E: a causal mask": MASK, "E, `--enc_layers 2`": run("E", "--enc_layers 2")},
}
TEN, TWENTY = range(1, 11), range(1, 21)
# What moves much from run to run, and what differs little from another row.
SEEDS = dict.fromkeys((MARKED, MARK, WAVES, EVEN_WAVES), TWENTY)
TRAINED = [one for rows in TABLES.values() for one in rows.values()]
RUNS = [(one, SEEDS.get(one, TEN)) for one in (*TRAINED, *BEFORE.values())]


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

    Of the logits, of the decoder's weights and, with an encoder layer, of its weights; these two after the order
    is undone.
    """
    inputs = measuring.fresh(TASK, 1000).inputs
    order = np.random.default_rng(0).permutation(11)
    logits, weights, encoder = model(inputs)
    other_logits, other_weights, other_encoder = model(inputs[:, order])
    pairs = [(logits, other_logits), (weights.numpy()[..., order], other_weights)]
    if encoder:
        pairs.append((encoder[0].numpy()[:, order][:, :, order], other_encoder[0]))
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


def untrained(trained, one, marks=None):
    """Return the networks that the runs of the seeds 1 to 10 start from, with marks of these models, if any."""
    module, networks = trained.module(TASK, one.edit), []
    for number, seed in enumerate(trained.chosen(TEN)):
        module.tf.keras.utils.set_random_seed(seed)
        networks.append(module.AttentionModel(**edits.settings(module, *one.flags.split())))
        if marks:
            networks[-1].positional_encoding.assign(marks[number].positional_encoding)
    return networks


def report(trained):
    """Print the figures of the lesson and of the laboratory, with the models of a trainings.Trainings."""
    print("\nBound without order and without a mask: {:.4f} nats, {:.2%} right".format(*bound()))
    for title, rows in TABLES.items():
        groups = {name: trained.models(one, SEEDS.get(one, TEN)) for name, one in rows.items()}
        head = ["right", "loss", "decoder's weight on the signal"]
        measuring.compare(title, head, groups, scored, "%", "{:.3f}", "{:.2f}", each=True)
    marked = trained.models(MARKED, TWENTY)
    lowest = trained.chosen(TWENTY)[int(np.argmin([scored(model)[0] for model in marked]))]
    print(f"\nThe last losses of the lowest of `--pos_enc`: {trained.losses(MARKED, lowest)[-6:]}")
    for text in ("BBABC", "AAAAAAAAAAA"):
        inputs = measuring.spell(TASK, text).inputs
        told = [int(measuring.outputs(model, inputs).argmax()) for model in marked]
        print(f"\n{len(marked)} runs of `--pos_enc` answer to {text}: {sorted(told)}")
    print_order(trained)
    print_weights(trained)
    print_counting(trained)


def print_order(trained):
    """Print what another order of the same letters changes, and what the positional vectors are."""
    groups = {label: trained.models(one, TEN) for label, one in TABLES["Without an encoder layer"].items()}
    groups |= {"without `--pos_enc`": trained.models(PLAIN, TEN), "`--pos_enc`": trained.models(MARKED, TEN)}
    groups["E: a mask, never trained"] = untrained(trained, MASK)
    head = ["logits", "decoder weights", "encoder weights"]
    title = "Changed by another order of the letters"
    measuring.compare(title, head, groups, order_changes, *["{:.2g}"] * 3)
    group = {"": trained.models(MARKED, TWENTY)}
    head = ["length of the first", "of the others", "cosine of the first with the others", "of the others"]
    measuring.compare("Positional vectors", head, group, interventions.positions, *["{:.2f}"] * 4)
    head = ["0 and 5 exchanged: letter 5 is counted", "the first is", "1 to 10 all their mean: right"]
    measuring.compare("Other positional vectors", head, group, interventions.other_positions, *["%"] * 3)


def print_weights(trained):
    """Print the encoder's weights before and after the training, and what is right under changed weights."""
    marked, label = trained.models(MARKED, TWENTY), "without an encoder layer; decoder: equal weights"
    groups = {
        "one training step": trained.models(BEFORE[MARKED], TEN),
        "learnt vectors": marked,
        "waves, never trained": untrained(trained, WAVES),
        "waves": trained.models(WAVES, TWENTY),
    }
    head = ["on itself", "on each like it", "on each other", "like / other", "decoder on the signal"]
    head += [f"on a letter like it at position {place}" for place in (1, 2, 5, 10)]
    forms = [*["{:.3f}"] * 3, *["{:.2f}"] * 2, *["{:.3f}"] * 4]
    measuring.compare("The signal's row of the encoder, and the decoder", head, groups, looks, *forms)
    groups = {name: [(model, *each) for model in marked] for name, each in interventions.CHANGES.items()}
    change = interventions.CHANGES["decoder: equal weights"]
    groups[label] = [(model, *change) for model in trained.models(run(flags=FAST), TEN)]
    measuring.compare("Changed after the training", ["right"], groups, interventions.right, "%", each=True)


def print_counting(trained):
    """Print what a new last layer reads, and what is answered if vectors hold what another sequence gives."""
    marked, plain = trained.models(MARKED, TEN), trained.models(PLAIN, TEN)
    groups = {
        "trained": marked,
        "plain, trained": plain,
        "never trained": untrained(trained, PLAIN),
        "never trained, with the trained marks": untrained(trained, MARKED, marked),
    }
    head, group = ["the other count", "this count"], [*groups.values()][-1]
    title = "Read by a new last layer from"
    measuring.compare(
        title, interventions.READ, groups, interventions.readings, *["%"] * len(interventions.READ)
    )
    for products in (False, True):
        right = interventions.read(lambda inputs: interventions.shares(inputs, products))
        print(f"Signal and shares, {'with' if products else 'without'} products: {right:.1%}")
    interventions.trace(marked[0], *TRACED)
    groups = {
        "trained": (marked, False),
        "plain": (plain, False),
        "again": (marked, True),
        "never": (group, True),
    }
    for label, (group, again) in groups.items():
        measuring.compare_cases(f"Exchanged: {label}", head, [(one, again) for one in group],
                                interventions.exchanges, "%", "%")  # fmt: skip
