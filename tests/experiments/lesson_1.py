"""Lesson 1, Counting Letters: how an average counts, and what a model needs for it."""

import itertools
import math

import numpy as np

from . import measuring, trainings

TASK = 1
TEN = range(1, 11)


def run(edit=None, flags=""):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


# The rows of the tables: what a reader calls it, what is trained, and the seeds.
MAIN, SUM = "`main.py`", "C: a sum"
LINEUP = {"equal weights": "A", "learnt weights": None, "fixed weights, × 100": "B 100.0"}
FIXED = LINEUP | {"fixed weights, as they are learnt": "B 3.8+O"}
APART = {MAIN: (run(), TEN)}
APART |= {f"{edit}: {what}": (run(edit), TEN) for edit, what in {
    "A": "all weights equal", "B 100.0": "fixed weights", "B 3.8+O": "fixed as they are learnt", "C": "a sum",
    "L": "a sum, layer norm", "D": "no residual", "E": "no layer norm", "A+E": "equal weights, no layer norm",
    "A+F": "a ReLU", "A+E+G": "own dense layers", "A+N": "the query times the mixture",
    "H": "no √depth", "I": "separate keys and values", "J": "additive score",
    "H+K": "equal weights at first", "I+K": "equal weights at first", "J+K": "equal weights at first",
    "H+M": "bounded logits", "I+M": "bounded logits", "J+M": "bounded logits",
}.items()}  # fmt: skip
TWENTY = {"H: seeds 1 to 10": (run("H"), TEN), "H: seeds 11 to 20": (run("H"), range(11, 21))}
LONG = {label: (run(edit, "--steps 8000"), TEN) for label, edit in FIXED.items()}
RUNS = [*APART.values(), *TWENTY.values(), *LONG.values()]
LENGTHS = range(1, 21)
SHOWN = " BC CBBAA "  # The sequence that the lesson shows.


def report(trained):
    """Print the figures of the lesson and of its laboratory, with the models of a trainings.Trainings."""
    print_heatmaps(trained)
    print_counting(trained)
    print_changed_weights(trained)
    print_lineup(trained)
    print_lengths(trained)
    print_limits(trained)
    print_rows(trained)
    print_saturation()


def weights_of(model):
    """Return the weights of each output step on " ABC", float (3, 4); their ratios are those on any text."""
    weights = model(measuring.spell(TASK, " ABC").inputs)[1].numpy()[0].astype(float)
    return np.broadcast_to(weights, (3, 4))


def preferences(model):
    """Return how many times a blank's and two letters' weight the own letter has, float (output steps, 3)."""
    weights = weights_of(model)
    others = [[0, *({1, 2, 3} - {step + 1})] for step in range(3)]
    return np.array([weights[step, step + 1] / weights[step, kinds] for step, kinds in enumerate(others)])


def ratios(model):
    """Return the preferences over a blank and over another letter, geometric means over the output steps."""
    logarithms = np.log(preferences(model))
    return np.exp(logarithms[:, 0].mean()), np.exp(logarithms[:, 1:].mean())


def print_heatmaps(trained):
    """Print how weights compare before and after the training, and what the models answer to some texts."""
    rows, groups = [], {"before": trained.models(*START), "after": trained.models(*APART[MAIN])}
    for when, group in groups.items():
        found = np.array([preferences(model) for model in group])
        largest = sum(weights_of(one).argmax(axis=1) == [1, 2, 3] for one in group).sum()
        less = (found[:, :, :1] < found[:, :, 1:]).all(axis=(1, 2)).sum()
        cells = [measuring.spread(column) for column in (found[..., 0].ravel(), found[..., 1:].ravel())]
        right = measuring.columns([scored(model) for model in group], "%", "{:.3f}")
        rows.append([when, *cells, f"{largest} of {3 * len(group)}", f"{less} of {len(group)}", *right])
    head = ["", "× a blank's", "× another letter's", "on the own letter", "blank less", "right", "loss"]
    measuring.table("The own letter's weight, each output step by itself", head, rows)


def mass_by_count(model):
    """Return the mean total weight of output step 0 on 'A', for each count of 'A' among ten from 0 to 10."""
    rest, found = np.random.default_rng(0).choice([0, 2, 3], (4000, 10)), []
    for count in range(11):
        letters = np.where(np.arange(10) < count, 1, rest)
        weights = model(measuring.solved(TASK, letters).inputs)[1].numpy()[:, 0]
        found.append((weights * (letters == 1)).sum(axis=-1).mean())
    return found


def mass_formula(counts, blank, letter, length=10):
    """Return the total weight on a letter that occurs counts times, int (counts,), averaged over the rest.

    Each of the other elements is a blank or one of two other letters with the same probability; a blank has
    the weight 1 / blank of the letter that is looked for, another letter 1 / letter.
    """
    found = []
    for count in counts:
        rest = length - count
        blanks = np.arange(rest + 1)
        chances = [math.comb(rest, int(n)) * (1 / 3) ** n * (2 / 3) ** (rest - n) for n in blanks]
        others = blanks / blank + (rest - blanks) / letter
        found.append((count / (count + others) * chances).sum() if count else 0.0)
    return np.array(found)


def print_counting(trained):
    """Print the total weight on 'A' for each count: measured, by the formula, and where weights are fixed."""
    group = trained.models(*APART[MAIN])
    blank, letter = np.exp(np.log([ratios(model) for model in group]).mean(axis=0))
    masses = np.array([mass_by_count(model) for model in group])
    formulas = [mass_formula(np.arange(11), *pair) for pair in ((blank, letter), (1, 1), (100, 100))]
    rows = [[n, measuring.spread(masses[:, n]), *(f"{one[n]:.2f}" for one in formulas)] for n in range(11)]
    title = f"Total weight on 'A', with {blank:.2f} times a blank's and {letter:.2f} times another letter's"
    measuring.table(title, ["n", "measured", "formula", "equal", "× 100"], rows)
    apart = abs(masses.mean(axis=0) - formulas[0]).max()
    print(f"\nThe formula differs from the mean by {apart:.3f} at most")


def lineup(trained):
    """Return the mean weights on SHOWN, a dict from equal, learnt and fixed weights to float (3, length)."""
    inputs, groups = measuring.spell(TASK, SHOWN).inputs, {}
    for label, edit in LINEUP.items():
        groups[label] = np.mean([one(inputs)[1].numpy()[0] for one in trained.models(run(edit), TEN)], axis=0)
    return groups


def by_count(model):
    """Return the fraction of sequences right, and of answers where the count is 0, 1, … 7."""
    data = measuring.fresh(TASK)
    right = measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers
    return [right.all(axis=-1).mean(), *(right[data.answers == number].mean() for number in range(8))]


def print_lineup(trained):
    """Print three heatmaps of one sequence, and how many answers are right by the count that is there."""
    for label, weights in lineup(trained).items():
        print(f"\n{label}, {SHOWN!r}:\n{np.array2string(weights, precision=2, suppress_small=True)}")
    rows = LINEUP | {"fixed weights, × 4": "B 4.0"}
    groups = {label: trained.models(run(edit), TEN) for label, edit in rows.items()}
    measuring.compare("Line-up: right", ["sequences", *range(8)], groups, by_count, *["%"] * 9)


CHANGES = {
    "as they are": lambda weights: weights,
    "all made equal": lambda weights: np.full_like(weights, 1 / weights.shape[-1]),
    "sharper: logits × 1.5": lambda weights: weights**1.5 / (weights**1.5).sum(axis=-1, keepdims=True),
}


def decoded(model, inputs, change):
    """Return what the last dense layer gets when a function changes the weights, float (samples, 3, 64)."""
    value, weights = model.key_layer(inputs).numpy(), change(model(inputs)[1].numpy())
    return model.attention.layer_norm(weights @ value + model.query).numpy()


def look_or_reader(model, change):
    """Return the sequences right with a changed look, with a new last layer, and as it is at length 5."""
    data, own, short = (measuring.fresh(TASK, **sizes) for sizes in ({}, {"seed": 2000}, {"max_len": 5}))
    features, given, few = (decoded(model, one.inputs, change) for one in (data, own, short))
    again = measuring.read_again(given.reshape(-1, given.shape[-1]), own.answers.ravel())
    told = again(features.reshape(-1, given.shape[-1])).reshape(data.answers.shape)
    at_once, at_five = (model.logits_layer(one).numpy().argmax(axis=-1) for one in (features, few))
    pairs = (at_once, data), (told, data), (at_five, short)
    return [(one == goal.answers).all(axis=-1).mean() for one, goal in pairs]


def moved_weight(model):
    """Give output step 0 the total weight on 'A' that it usually has for another count, from 1 to 6.

    Return the share of answers that become it, that come within one of it, that stay; and, as a control, the
    share right with what is usual for the own count.
    """
    data = measuring.fresh(TASK)
    value, weights = model.key_layer(data.inputs).numpy(), model(data.inputs)[1].numpy()[:, 0]
    own, count = data.letters == 1, data.answers[:, 0]
    total = (weights * own).sum(axis=-1)
    usual = np.array([total[count == number].mean() for number in range(7)])
    other = np.random.default_rng(0).integers(1, 7, len(count))
    told = {}
    for name, wanted in (("other", other), ("own", np.minimum(count, 6))):
        on_own, on_rest = weights / np.maximum(total, 1e-9)[:, None], weights / (1 - total)[:, None]
        moved = np.where(own, on_own * usual[wanted][:, None], on_rest * (1 - usual[wanted])[:, None])
        decoding = model.attention.layer_norm(moved[:, None] @ value + model.query.numpy()[:, :1])
        told[name] = model.logits_layer(decoding).numpy()[:, 0].argmax(axis=-1)
    cases = (count >= 1) & (count <= 6)
    right = (told["own"] == count)[cases].mean()
    cases &= other != count
    apart = abs(told["other"] - other)[cases]
    return (apart == 0).mean(), (apart <= 1).mean(), (told["other"] == count)[cases].mean(), right


def print_changed_weights(trained):
    """Print what other weights do in a trained model, and with its last layer trained again."""
    group = trained.models(*APART[MAIN])
    found = {name: [look_or_reader(model, change) for model in group] for name, change in CHANGES.items()}
    found["before"] = [look_or_reader(model, CHANGES["as they are"]) for model in trained.models(*START)]
    head = ["right", "with a new last layer", "at length 5, as it is"]
    measuring.compare("Changed weights", head, found, list, *["%"] * 3)
    title = "The total weight on 'A' set to what is usual for another count"
    head = ["the other count comes out", "within one of it", "the answer stays", "control: its own count's"]
    measuring.compare(title, head, {"": group}, moved_weight, *["%"] * 4)


def predicted_at(length, halves="even"):
    """Return the chance that 10 · n / length rounds to n for each of the three counts n, exactly.

    Halves are rounded to the "even" count or "up".
    """
    seen = np.arange(length + 1) * 10 / length
    fits = (np.rint(seen) if halves == "even" else np.floor(seen + 0.5)) == np.arange(length + 1)
    chance = 0
    for a, b, c in itertools.product(np.flatnonzero(fits).tolist(), repeat=3):
        if a + b + c <= length:
            ways = math.comb(length, a) * math.comb(length - a, b) * math.comb(length - a - b, c)
            chance += ways / 4**length
    return chance


def curves_by_length(trained, row, lengths=LENGTHS):
    """Return the sequences right at lengths, float (seeds, lengths), for models trained at length 10."""
    found = []
    for model, length in itertools.product(trained.models(*row), lengths):
        data = measuring.fresh(TASK, 4000, seed=length, max_len=length)
        right = measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers
        found.append(right.all(axis=-1).mean())
    return np.reshape(found, (-1, len(lengths)))


def print_lengths(trained):
    """Print what models that were trained at length 10 say at other lengths."""
    labels, rows, lengths = (MAIN, SUM, "A+E+G: own dense layers"), [], (1, 5, 7, 8, 9, 10, 11, 12, 13, 20)
    curves = [curves_by_length(trained, APART[label], lengths) for label in labels]
    for index, length in enumerate(lengths):
        predicted = [f"{predicted_at(length, halves):.1%}" for halves in ("even", "up")]
        rows.append([length, *predicted, *(measuring.percent(curve[:, index]) for curve in curves)])
    head = ["length", "10 · n / length rounds to n, halves to even", "halves up", *labels]
    measuring.table("Sequences right, trained at length 10", head, rows)


def told_at(model, step, shares):
    """Return what an output step answers, int (samples,), to shares of " ABC", float (samples, 4)."""
    weights = shares * weights_of(model)[step]
    value = model.key_layer(np.eye(4, dtype=np.float32)).numpy()
    mixture = weights / weights.sum(axis=-1, keepdims=True) @ value + model.query.numpy()[0, step]
    decoding = model.attention.layer_norm(mixture[:, None].astype(np.float32))
    return model.logits_layer(decoding).numpy()[:, 0].argmax(axis=-1)


def limits(model, step):
    """Return ten times the share at which the answer of an output step passes from n - 1 to n, for n from 1.

    The share of its letter rises slowly; the rest are blanks and the other letters in equal parts. Float
    (6,); in the middle between two counts it would be 0.5, 1.5 and so on.
    """
    own = np.linspace(0, 1, 2001)
    shares = np.repeat((1 - own)[:, None] / 3, 4, axis=1)
    shares[:, step + 1] = own
    told = told_at(model, step, shares)
    return np.array([10 * own[np.argmax(told >= n)] for n in range(1, 7)])


def print_limits(trained):
    """Print where answers change while a share rises, and what that says of single sequences."""
    group = trained.models(*APART[MAIN])
    found = [np.array([limits(model, step) for step in range(3)]) for model in group]
    columns = np.concatenate(found).T
    rows = [[f"{n} becomes {n + 1}", measuring.spread(column)] for n, column in enumerate(columns)]
    measuring.table("Ten times the share at which an answer changes, of 30 output steps", ["", "at"], rows)
    cells = []
    for length in (9, 10, 11):
        data = measuring.fresh(TASK, 4000, seed=length, max_len=length)
        seen, each = 10 * data.answers / length, []
        rounds = (np.rint(seen) == data.answers).all(axis=-1)
        for model, edges in zip(group, found, strict=True):
            right = measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers
            by_limits = [np.searchsorted(edges[step], seen[:, step], side="right") for step in range(3)]
            own, right = (np.transpose(by_limits) == data.answers).all(axis=-1), right.all(axis=-1)
            each.append([right.mean(), (right == rounds).mean(), (right & rounds).mean() / rounds.mean(),
                         (right & ~rounds).mean(), (right == own).mean()])  # fmt: skip
        cells.append([length, f"{rounds.mean():.1%}", *measuring.columns(each, *["%"] * 5)])
    head = ["length", "rounding says right", "right", "rounding agrees", "right where rounding says so"]
    head += ["right against rounding", "limits agree"]
    measuring.table("Sequence by sequence", head, cells)


def scored(model):
    """Return the fraction of sequences right and the loss in nats."""
    data = measuring.fresh(TASK)
    return measuring.score(measuring.outputs(model, data.inputs), data.answers)


def print_rows(trained):
    """Print a table of all trainings, and each of them."""
    groups = {label: trained.models(*row) for label, row in APART.items()}
    measuring.compare("Take it apart", ["right", "loss"], groups, scored, "%", "{:.3f}", each=True)


def largest(depth, divisor):
    """Return the mean largest weight of 2,000 random queries with ten random keys each."""
    generator = np.random.default_rng(0)
    query, key = generator.normal(size=(2000, 1, depth)), generator.normal(size=(2000, 10, depth))
    logits = (query * key).sum(axis=-1) / divisor
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (weights.max(axis=-1) / weights.sum(axis=-1)).mean()


def print_saturation():
    """Print the largest of ten weights of random queries and keys, without and with the division."""
    rows = [[depth, *(f"{largest(depth, divisor):.2f}" for divisor in (1, depth**0.5))]
            for depth in (4, 16, 64, 256, 1024)]  # fmt: skip
    measuring.table("Largest of ten weights, random vectors", ["depth", "q·k", "q·k / √depth"], rows)
