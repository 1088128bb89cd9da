"""Lesson 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import itertools
import math

import numpy as np

from . import lesson_3_interventions as interventions
from . import measuring, trainings

TASK = 3


def run(edit=None, flags="--pos_enc"):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


PLAIN, MARKED, AVERAGES, MARK = run(flags=""), run(), run("A+B"), run("A+B+D")
BEFORE, LONGER = {MARKED: run(flags="--pos_enc --steps 1")}, run(flags="--pos_enc --steps 2200")
FAST, SLOW = "--pos_enc --enc_layers 0 --lr 0.01", "--pos_enc --enc_layers 0 --steps 4000"
WAVES, MASK, LOOKING = run("C"), run("E", ""), run(flags=FAST)
LANGUAGE = {
    "G 8 and H True: a mask": run("G 8+H True"),
    "G 8 and H False: no mask": run("G 8+H False"),
    "A, G 8 and H True: a mask, equal weights": run("A+G 8+H True"),
    "the same, `--enc_layers 2`": run("A+G 8+H True", "--pos_enc --enc_layers 2"),
}
HEADS = {"as it is": None} | {f"G {heads}": f"G {heads}" for heads in (1, 2, 4)}
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
        f"`{FAST}`": LOOKING,
        "B: equal weights in the decoder": run("B", FAST),
        "F: six times the weight for the first letter": run("F", FAST),
    },
    "Waves": {"C: waves": WAVES},
    f"Heads, `{SLOW}`": {name: run(edit, SLOW) for name, edit in HEADS.items()},
    f"Heads, `{SLOW} --lr 0.003`": {name: run(edit, f"{SLOW} --lr 0.003") for name, edit in HEADS.items()},
    "A mask": {"E: a causal mask": MASK, "E, `--enc_layers 2`": run("E", "--enc_layers 2")},
}
TEN, TWENTY = range(1, 11), range(1, 21)
SEEDS = dict.fromkeys((MARKED, MARK, WAVES), TWENTY)
TRAINED = [one for rows in TABLES.values() for one in rows.values()]
RUNS = [(one, SEEDS.get(one, TEN)) for one in (*TRAINED, *BEFORE.values(), *LANGUAGE.values())]


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
    """Return how much another order of the letters changes the logits, and the weights of the decoder.

    The largest change over 1,000 sequences; for the weights the order is undone.
    """
    inputs = measuring.fresh(TASK, 1000).inputs
    order = np.random.default_rng(0).permutation(11)
    (logits, weights, _), (other_logits, other_weights, _) = model(inputs), model(inputs[:, order])
    pairs = (logits, other_logits), (weights.numpy()[..., order], other_weights)
    return [np.abs(one - np.array(other)).max() for one, other in pairs]


def scored(model):
    """Return the fraction of sequences right, the loss, and the mean weight on the signal."""
    data = measuring.fresh(TASK)
    logits, weights, _ = model(data.inputs)
    return *measuring.score(logits.numpy(), data.answers), weights.numpy()[:, 0, 0].mean()


def looks(model):
    """Return mean weights of the signal's row in the encoder, and the decoder's mean weight on the signal.

    On itself, on another letter like it, on one that differs, the ratio of these two, the decoder's.
    """
    data = measuring.fresh(TASK)
    _, decoder, (encoder, *_) = model(data.inputs)
    weights = np.broadcast_to(encoder.numpy(), (len(data.letters), 11, 11))[:, 0]
    like = data.letters == data.letters[:, :1]
    different = weights[~like].mean()
    like[:, 0] = False
    same, itself = weights[like].mean(), weights[:, 0].mean()
    return itself, same, different, same / different, decoder.numpy()[:, 0, 0].mean()


def report(trained):
    """Print the figures of the lesson and of the laboratory, with the models of a trainings.Trainings."""
    print("\nBound without order and without a mask: {:.4f} nats, {:.2%} right".format(*bound()))
    for title, rows in TABLES.items():
        groups = {name: trained.models(one, SEEDS.get(one, TEN)) for name, one in rows.items()}
        head = ["right", "loss", "decoder's weight on the signal"]
        measuring.compare(title, head, groups, scored, "%", "{:.3f}", "{:.2f}", each=True)
    marked = trained.models(MARKED, TWENTY)
    for one in (MARKED, LONGER):
        last = [f"{trained.losses(one, seed)[-1][1]:.3f}" for seed in trained.chosen(SEEDS.get(one, TEN))]
        print(f"\nThe last printed losses of `{one.flags}`:", *last)
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
    groups["E: a mask, never trained"] = measuring.untrained(trained, MASK, TEN)
    title, head = "Changed by another order of the letters", ["logits", "decoder weights"]
    measuring.compare(title, head, groups, order_changes, *["{:.2g}"] * 2)
    group = {"": trained.models(MARKED, TWENTY)}
    head = ["length of the first", "of the others", "cosine of the first with the others", "of the others"]
    measuring.compare("Positional vectors", head, group, interventions.positions, *["{:.2f}"] * 4)
    head = ["0 and 5 exchanged: letter 5 is counted", "1 to 10 all their mean: right"]
    measuring.compare("Other positional vectors", head, group, interventions.other_positions, "%", "%")


def print_weights(trained):
    """Print the encoder's weights before and after the training, and what is right under changed weights."""
    marked = trained.models(MARKED, TWENTY)
    groups = {"one training step": trained.models(BEFORE[MARKED], TEN), "all": marked}
    head = ["on itself", "on each like it", "on each other", "like / other", "decoder on the signal"]
    measuring.compare("The signal's row", head, groups, looks, *["{:.3f}"] * 3, *["{:.2f}"] * 2)
    groups = {name: [(model, *each) for model in marked] for name, each in interventions.CHANGES.items()}
    groups["decoder, no encoder layer: equal weights"] = [(one, 1, 0) for one in trained.models(LOOKING, TEN)]
    measuring.compare("Changed after the training", ["right"], groups, interventions.right, "%", each=True)
    most, bag = map(interventions.most_next_letters, (False, True))
    print(f"\nThe most next letters right: {most:.2%}; from the own letter and the bag so far: {bag:.2%}")
    texts = trained.module(TASK, "G 8+H True").Task(10, 3, np.random.default_rng(1000)).next_batch(10000)
    groups = {name: [(one, *texts) for one in trained.models(run, TEN)] for name, run in LANGUAGE.items()}
    head = ["next letters right", "the rule in random texts", "texts written right", "weight on the last two"]
    measuring.compare("A language model", head, groups, interventions.language, "%", "%", "{:.0f}", "{:.2f}")


def print_counting(trained):
    """Print what a new last layer reads, and what is answered if vectors hold what another sequence gives."""
    marked, plain = trained.models(MARKED, TEN), trained.models(PLAIN, TEN)
    raw, marked_raw = (measuring.untrained(trained, one, TEN) for one in (PLAIN, MARKED))
    for network, model in zip(marked_raw, marked, strict=True):
        network.positional_encoding.assign(model.positional_encoding)
    first, before, fifth, last, *letters = interventions.READ
    rows = [("trained", marked, what) for what in (first, before, fifth)]
    rows += [("plain, trained", plain, first), ("never trained", raw, first), ("never trained", raw, fifth)]
    rows += [("never trained, the trained marks", marked_raw, what) for what in (first, last)]
    rows += [("no network", [None], what) for what in letters]
    groups = {f"{name}: {what}": [(one, what) for one in group] for name, group, what in rows}
    measuring.compare("Read by a new last layer", ["right"], groups, interventions.read, "%")
    rows = {"trained": (marked, False), "plain": (plain, False), "trained, new last layer": (marked, True)}
    rows["never trained, the trained marks, new last layer"] = marked_raw, True
    for name, (group, again) in rows.items():
        title, head = f"Exchanged: {name}", ["the other count", "this one"]
        cases = [(model, again) for model in group]
        measuring.compare_cases(title, head, cases, interventions.exchanges, "%", "%")
