"""Lesson 1, Counting Letters: how an average counts, and what a model needs for it."""

import collections
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
MAIN, SUM, SUM_NORM, OWN_LAYERS = "`main.py`", "C: a sum", "L: a sum, layer norm", "A+E+G: own layers"
LINEUP = {"equal weights": "A", "learnt weights": None, "fixed weights, × 100": "B 100.0"}
FIXED = LINEUP | {"fixed weights, as they are learnt": "B 3.8+N"}
LONG = {f"{label}, 8,000 steps": (run(edit, "--steps 8000"), TEN) for label, edit in FIXED.items()}
APART = {f"{edit}: {what}": (run(edit), TEN) for edit, what in {
    "A": "equal weights", "B 100.0": "fixed weights", "B 3.8+N": "fixed as they are learnt", "C": "a sum",
    "L": "a sum, layer norm", "D": "no residual", "E": "no layer norm", "A+E": "no layer norm",
    "A+F": "a ReLU", "A+M": "the query times the mixture", "A+E+G": "own layers", "H": "no √depth",
    "I": "separate keys and values", "J": "additive score", "H+K": "equal weights at first",
    "I+K": "equal weights at first", "J+K": "equal weights at first",
}.items()}  # fmt: skip
APART |= {MAIN: (run(), TEN), "H: ten further runs": (run("H"), range(11, 21))}
RUNS = [*APART.values(), *LONG.values()]
LENGTHS = range(1, 21)
SHOWN = " BC CBBAA "  # The sequence that the lesson shows.
FACTORS = (0, 0.5, 1, 1.5, 2, 2.5, 3)  # What the logits are multiplied by.
ALIKE = ("AAAAAAAAAA", "AAAA", "ACACACACAC")  # Without a 'B'.


def report(trained):
    """Print the figures of the lesson and of its laboratory, with the models of a trainings.Trainings."""
    for part in (print_heatmaps, print_counting, print_factors, print_parts, print_lineup, print_new_layers):
        part(trained)
    print_lengths(trained)
    groups = {label: trained.models(*row) for label, row in APART.items()}
    measuring.compare("Take it apart", ["right", "loss"], groups, scored, "%", "{:.3f}", each=True)
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


def untrained(trained, queries=None):
    """Return models as the training runs begin, a list: their queries are zeros.

    Or as long as learnt ones, in "random" directions or each along its letter's "key".
    """
    models = measuring.untrained(trained, run(), TEN)
    for seed, learnt, model in zip(trained.chosen(TEN), trained.models(*APART[MAIN]), models, strict=True):
        keys = model.key_layer(np.eye(4, dtype=np.float32)).numpy()
        random = np.random.default_rng(seed).normal(size=(3, keys.shape[-1]))
        ways = {None: random, "random": random, "key": keys[1:] - keys.mean(axis=0)}[queries]
        lengths = np.linalg.norm(learnt.query, axis=-1) / np.linalg.norm(ways, axis=-1)
        model.query.assign(lengths[..., None] * ways * (queries is not None))
    return models


def print_heatmaps(trained):
    """Print how weights compare after the training, and what is right before it and after."""
    group = trained.models(*APART[MAIN])
    found = np.array([preferences(model) for model in group])
    rows = [[f"{label}'s", measuring.spread(one.ravel()), f"{(one > 1).sum()} of {one.size}"]
            for label, one in (("a blank", found[..., 0]), ("another letter", found[..., 1:]))]  # fmt: skip
    measuring.table("The own letter's weight, times", ["", "times", "above 1"], rows)
    groups = {"before": untrained(trained), "after": group}
    measuring.compare("Before and after", ["right", "loss"], groups, scored, "%", "{:.3f}")


def mass_by_count(model, step=0):
    """Return the mean total weight of an output step on its letter, for each count among ten from 0 to 10."""
    own, found = step + 1, []
    rest = np.random.default_rng(0).choice([kind for kind in range(4) if kind != own], (4000, 10))
    for count in range(11):
        letters = np.where(np.arange(10) < count, own, rest)
        weights = model(measuring.solved(TASK, letters).inputs)[1].numpy()[:, step]
        found.append((weights * (letters == own)).sum(axis=-1).mean())
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


def norm_of(model):
    """Return the layer norm of a model, which an edit may have moved."""
    return getattr(model, "attention", model).layer_norm


def answer(model, decoding):
    """Return the counts that a model reads from what its last dense layer gets."""
    return model.logits_layer(decoding).numpy().argmax(axis=-1)


def decoded(model, data, factor=1):
    """Return what the last dense layer gets if a factor multiplies the logits, and the weights then."""
    weights = model(data.inputs)[1].numpy() ** factor
    weights /= weights.sum(axis=-1, keepdims=True)
    return norm_of(model)(weights @ model.key_layer(data.inputs) + model.query).numpy(), weights


def followed(told, wanted, counts):
    """Return how often the wanted count is told, or comes within one, or the own; and both, if equal."""
    same, apart = counts == wanted, abs(told - wanted)
    cases = (apart == 0)[~same], (apart <= 1)[~same], (told == counts)[~same], (apart == 0)[same]
    return [one.mean() for one in cases]


def moved_weight(model):
    """Give output step 0 the total weight on 'A' that it usually has for another count, from 1 to 5."""
    data = measuring.fresh(TASK)
    cases = (data.answers[:, 0] >= 1) & (data.answers[:, 0] <= 5)
    letters, counts = data.letters[cases], data.answers[cases, 0]
    value, weights = model.key_layer(data.inputs).numpy()[cases], model(data.inputs)[1].numpy()[cases, 0]
    wanted = np.random.default_rng(0).integers(1, 6, len(counts))
    total, goal = (weights * (letters == 1)).sum(axis=-1), np.array(mass_by_count(model))[wanted]
    change = np.where(letters == 1, (goal / total)[:, None], ((1 - goal) / (1 - total))[:, None])
    mixture = ((weights * change)[:, None] @ value)[:, 0]
    decoding = model.attention.layer_norm(mixture.astype(np.float32) + model.query[0, 0])
    return followed(answer(model, decoding), wanted, counts)


def by_factor(model):
    """Return what a model answers with each factor, and the total weight on the own letter.

    A third array tells for which count that total is usual without a factor, or nearest to it. All are
    (factors, samples, 3).
    """
    data, told, totals = measuring.fresh(TASK), [], []
    own = data.letters[:, None] == np.arange(1, 4)[:, None]
    for factor in FACTORS:
        decoding, weights = decoded(model, data, factor)
        told.append(answer(model, decoding))
        totals.append((weights * own).sum(axis=-1))
    usual = np.array([mass_by_count(model, step) for step in range(3)])
    return np.array(told), np.array(totals), abs(np.array(totals)[..., None] - usual).argmin(axis=-1)


def print_factors(trained):
    """Print what factors at the logits do, and how far the counting curve predicts it."""
    group, shown = trained.models(*APART[MAIN]), measuring.spell(TASK, SHOWN)
    for factor in FACTORS:
        pairs = [(model, *decoded(model, shown, factor)) for model in group]
        texts = collections.Counter(str(answer(model, decoding)[0]) for model, decoding, _ in pairs)
        totals = measuring.spread(weights[0, 0, shown.letters[0] == 1].sum() for *_, weights in pairs)
        print(f"{SHOWN!r}, × {factor}: {dict(texts)}, on 'A' {totals}")
    answers, found = measuring.fresh(TASK).answers, [by_factor(model) for model in group]
    for index, what, form in ((0, "answer", "{:.0f}"), (1, "total weight", "{:.2f}")):
        rows = {n: [np.median(one[index][:, answers == n], axis=1) for one in found] for n in range(7)}
        measuring.compare(f"The median {what}, by the count", FACTORS, rows, list, *[form] * len(FACTORS))
    rows = {}
    for index, factor in enumerate(FACTORS):
        rows[factor] = [[(told[index] == answers).all(axis=-1).mean(), (abs(told - usual)[index] == 0).mean(),
                         (usual[index] > 5).mean()] for told, _, usual in found]  # fmt: skip
    measuring.compare("By the factor", ["right", "as the curve says", "it says > 5"], rows, list, *["%"] * 3)
    rows = {n: [[(abs(told - usual)[usual == n] <= off).mean() for off in (0, 1)] for told, _, usual in found]
            for n in range(11)}  # fmt: skip
    measuring.compare("By what the curve says", ["that is the answer", "within one"], rows, list, *["%"] * 2)
    print("The highest answers:", *(told.max() for told, *_ in found))
    head = ["it comes out", "within one", "the own count", "control"]
    measuring.compare("What is usual for another count", head, {"": group}, moved_weight, *["%"] * 4)


def parts(model, data):
    """Return mixture + query less its mean, (…, 64), and the length that layer norm divides it by, (…, 1)."""
    sums = (model(data.inputs)[1] @ model.key_layer(data.inputs) + model.query).numpy()
    rest = sums - sums.mean(axis=-1, keepdims=True)
    return rest, np.sqrt((rest**2).mean(axis=-1, keepdims=True) + norm_of(model).epsilon)


def one_for_all(model):
    """Return the sequences right if all get the same vector to be divided, and if all get the same length."""
    data, norm, told = measuring.fresh(TASK), norm_of(model), []
    rest, length = parts(model, data)
    for one, by in ((rest.mean(axis=(0, 1)), length), (rest, length.mean())):
        told.append(answer(model, norm.gamma * one / by + norm.beta))
    return [(one == data.answers).all(axis=-1).mean() for one in told]


def exchanged(model):
    """Divide each sequence by the length of another one, in which the letter occurs 0 to 5 times, too."""
    data, norm, generator = measuring.fresh(TASK), norm_of(model), np.random.default_rng(0)
    (rest, length), found = parts(model, data), []
    for step, counts in enumerate(data.answers.T):
        cases, with_count = np.flatnonzero(counts <= 5), [np.flatnonzero(counts == n) for n in range(6)]
        wanted = generator.integers(6, size=len(cases))
        others = [generator.choice(with_count[number]) for number in wanted]
        told = answer(model, norm.gamma * rest[cases, step] / length[others, step] + norm.beta)
        found.append([told, wanted, counts[cases]])
    return followed(*np.concatenate(found, axis=1))


def print_parts(trained):
    """Print what layer norm divides by, how answers follow it, and what is said where letters are alike."""
    groups = {label: trained.models(run(edit), TEN) for label, edit in FIXED.items()}
    groups |= {label: trained.models(*row) for label, row in LONG.items()}
    data, rows = measuring.fresh(TASK), {}
    for label, models in groups.items():
        lengths = [parts(model, data)[1][..., 0] for model in models]
        rows[label] = [[length[data.answers == n].mean() for n in range(7)] for length in lengths]
        for row, model in zip(rows[label], models, strict=True):
            print(f"{label}: {row[1] - row[0]:+.3f} from 0 to 1, {by_count(model)[0]:.1%} right")
    measuring.compare("The mean length, by the count", range(7), rows, list, *["{:.2f}"] * 7)
    measuring.compare("Right", ["one vector for all", "one length for all"], groups, one_for_all, "%", "%")
    head = ["the length's count", "within one", "the own count", "control"]
    measuring.compare("With another sequence's length", head, groups, exchanged, *["%"] * 4)
    for text in ALIKE:
        data = measuring.spell(TASK, text)
        sizes = np.array([parts(model, data)[1][0, :, 0] for model in groups["learnt weights"]])
        print(f"\n{text!r}: lengths {', '.join(measuring.spread(size) for size in sizes.T)}")
        for label, row in APART.items():
            told = (str(model(data.inputs)[0].numpy().argmax(axis=-1)[0]) for model in trained.models(*row))
            print(f"{label}: {dict(collections.Counter(told))}")


def by_count(model, length=10):
    """Return the fraction of sequences right, and of answers where the count is 0, 1, … 7."""
    data = measuring.fresh(TASK, max_len=length)
    right = measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers
    return [right.all(axis=-1).mean(), *(right[data.answers == number].mean() for number in range(8))]


def print_lineup(trained):
    """Print how many answers are right, by the count that is there."""
    groups = {label: trained.models(run(edit), TEN) for label, edit in FIXED.items()}
    groups |= {label: trained.models(*row) for label, row in LONG.items()}
    measuring.compare("Line-up: right", ["sequences", *range(8)], groups, by_count, *["%"] * 9, each=True)


def read_anew(features, given):
    """Return the sequences right with a new last layer for all output steps, and with a new one for each."""
    data, own, fit = measuring.fresh(TASK), measuring.fresh(TASK, 4000, seed=2000), measuring.read_again
    each = [fit(given[:, step], own.answers[:, step])(features[:, step]) for step in range(3)]
    one = fit(np.concatenate(given), own.answers.ravel())(np.concatenate(features))
    told = one.reshape(data.answers.shape), np.transpose(each)
    return [(one == data.answers).all(axis=-1).mean() for one in told]


def print_new_layers(trained):
    """Print what new last layers read from trained and untrained models, and from shares alone."""
    data, own = measuring.fresh(TASK), measuring.fresh(TASK, 4000, seed=2000)
    groups = {f"logits × {factor}": (trained.models(*APART[MAIN]), factor) for factor in (1, 0, 1.5)}
    groups |= {label: (trained.models(run(edit), TEN), 1) for label, edit in FIXED.items() if edit}
    groups |= {f"untrained, queries {way}": (untrained(trained, way), 1) for way in (None, "random", "key")}
    rows = {label: [read_anew(*(decoded(model, one, factor)[0] for one in (data, own))) for model in models]
            for label, (models, factor) in groups.items()}  # fmt: skip
    measuring.compare("New last layers", ["one", "one for each output step"], rows, list, "%", "%")
    shares = [np.repeat(one.inputs.mean(axis=1)[:, None], 3, axis=1) for one in (data, own)]
    steps = [np.concatenate([one, np.broadcast_to(np.eye(3), (len(one), 3, 3))], axis=-1) for one in shares]
    for label, pair in {"shares": shares, "shares and the output step": steps}.items():
        print(label, *(f"{right:.1%}" for right in read_anew(*pair)), sep=" | ", flush=True)


def predicted_at(length):
    """Return the chance that 10 · n / length rounds to n for each of the three counts n, exactly."""
    fits = np.rint(np.arange(length + 1) * 10 / length) == np.arange(length + 1)
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
    labels, rows, lengths = (MAIN, SUM, SUM_NORM, OWN_LAYERS), [], (1, 5, 7, 8, 9, 10, 11, 12, 13, 20)
    curves = [curves_by_length(trained, APART[label], lengths) for label in labels]
    for index, length in enumerate(lengths):
        measured = (measuring.percent(curve[:, index]) for curve in curves)
        rows.append([length, f"{predicted_at(length):.1%}", *measured])
    head = ["length", "10 · n / length rounds to n", *labels]
    measuring.table("Sequences right, trained at length 10", head, rows)
    rows = {length: [by_count(model, length) for model in trained.models(*APART[MAIN])] for length in (9, 11)}
    measuring.compare("By the count", ["sequences", *range(8)], rows, list, *["%"] * 9)


def scored(model):
    """Return the fraction of sequences right and the loss in nats."""
    data = measuring.fresh(TASK)
    return measuring.score(measuring.outputs(model, data.inputs), data.answers)


def print_saturation():
    """Print the mean largest of ten weights of random queries and keys, without and with the division."""
    rows = []
    for depth in (4, 16, 64, 256, 1024):
        generator = np.random.default_rng(0)
        lengths = np.sqrt(generator.chisquare(depth, (1_000_000, 1)))  # Of the queries.
        logits = lengths * generator.normal(size=(1_000_000, 10))
        weights = [np.exp(one - one.max(axis=-1, keepdims=True)) for one in (logits, logits / depth**0.5)]
        rows.append([depth, *(f"{(1 / one.sum(axis=-1)).mean():.2f}" for one in weights)])
    measuring.table("Largest of ten weights, random vectors", ["depth", "q·k", "q·k / √depth"], rows)
