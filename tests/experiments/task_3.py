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
SIX = setup(flags="--pos_enc --enc_layers 6")
LAYERS = {"one encoder layer": (POSITIONS, TEN), "six": (SIX, TEN)}
SETUPS += [(POSITIONS, FRESH), (SIX, TEN)]
SHOWN = "BBABCCABCAB"  # The sequence that the page of the task shows.
ENCODER = "encoder_layer_1/attention"
FACTORS = 1, 2, 3  # Of its scores.


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
    first, others, cosine, right, alike = zip(*map(positions, edits.models(POSITIONS, seeds)), strict=True)
    rows = [["length of the first vector", measuring.summary(first)]]
    rows += [["mean length of the other ten", measuring.summary(others)]]
    rows += [["its cosine with their mean", measuring.summary(cosine)]]
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
    said = [mark_by_mark(model) for model in edits.models(POSITIONS, TEN)]
    print(f"\nThe answers to {SHOWN}, with the mark on step 0, 1, … and 10: {measuring.in_words(said)}")


def report_count():
    """Print how a model that knows the signal counts its letters."""
    models, head = edits.models(POSITIONS, TEN), ["", "higher by one", "unchanged", "lower by one"]
    measuring.compare_cases("The share is changed", head, models, share_changed, *["%"] * 3, each=True)
    head = ["scores in the encoder", "the answer is higher", "the same", "higher by"]
    measuring.compare_cases("Scores multiplied", head, models, multiplied, *["%"] * 2, "{:.2f}", each=True)
    for factor in FACTORS:
        said = [
            formula.of(model, {ENCODER: factor}).lesson(shown().inputs).argmax(axis=-1)[0] for model in models
        ]
        print(f"\nScores × {factor}, the answers to {SHOWN}: {measuring.in_words(said)}")
    head = ["equal weights in the encoder", "right"]
    measuring.compare_cases("Rows made equal", head, models, rows_equal, "%", each=True)
    head = ["", "weight"]
    measuring.compare_cases(
        "A like letter's weight, as a multiple of another's", head, models, likeness, "{:.2f}"
    )
    head = ["a linear reading of", "right"]
    measuring.compare_cases("The count of a letter's own kind", head, models, readings, "%", each=True)


def report_layers():
    """Print what more encoder layers change."""
    head, forms = (
        ["", "right", "weight on the signal", "right, blind to it", "right, blind to step 5"],
        ["%", "{:.2f}", "%", "%"],
    )
    groups = edits.groups(LAYERS)
    measuring.compare("Blind to the signal", head, groups, blind, *forms, each=True)


REPORTS = {"task_3": report, "task_3_mark": report_mark, "task_3_count": report_count}
REPORTS["task_3_layers"] = report_layers


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
    """Return the length of the first positional vector, the mean length of the others, and three numbers.

    The cosine of the first with the others' mean, what is right, and what is right with that mean in place
    of each of the others.
    """
    vectors = model.positional_encoding.numpy().astype(float)
    lengths = np.linalg.norm(vectors[0], axis=-1)
    vectors[:, 1:] = vectors[:, 1:].mean(axis=1, keepdims=True)
    cosine = vectors[0, 0] @ vectors[0, 1] / np.prod(np.linalg.norm(vectors[0, :2], axis=-1))
    return lengths[0], lengths[1:].mean(), cosine, *accuracy(model), right_with(model, positions=vectors)


def with_mark_moved(model):
    """Return a dict from what is done to positional vectors, and the step of the signal, to what is right."""
    vectors = model.positional_encoding.numpy().astype(float)

    def exchanged(first, second, signal):
        order = [*range(11)]
        order[first], order[second] = second, first
        return right_with(model, positions=vectors[:, order], signal=signal)

    moved = [exchanged(0, step, step) for step in range(1, 11)]
    without, bare = vectors.copy(), vectors.copy()
    without[:, 0] = vectors[:, 1:].mean(axis=1)
    bare[:, 1:] = 0
    return {
        ("as they are", "step 0"): exchanged(0, 0, 0),
        ("0 and 5 exchanged", "step 5"): moved[4],
        ("0 and 5 exchanged", "step 0"): exchanged(0, 5, 0),
        ("0 and 1 exchanged, or 0 and 2, … or 0 and 10", "step 1, 2, … or 10, the worst"): min(moved),
        ("3 and 7 exchanged, a control", "step 0"): exchanged(3, 7, 0),
        ("no mark: the mean of the others in place of 0", "step 0"): right_with(model, positions=without),
        ("zeros in place of 1 to 10", "step 0"): right_with(model, positions=bare),
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


class Changed(formula.Model):
    """A model with the first encoder layer's weights changed, whose last query sees only the steps `seen`."""

    def __init__(self, model, change=lambda weights: weights, seen=range(11)):
        super().__init__(formula.of(model).arrays)
        self.change, self.seen = change, seen

    def mix(self, name, query, key, value, mask=True):
        means, weights = super().mix(name, query, key, value, mask), self.weights[name]
        if name != ENCODER:
            return means
        weights[-1] = self.change(weights[-1])
        return weights[-1] @ value

    def attend(self, name, query, key):
        if name == "attention":
            self.encoding = key
            key = key[:, list(self.seen)]
        return super().attend(name, query, key)

    def answers(self, data):
        return self.lesson(data.inputs).argmax(axis=-1)[:, 0]


def mark_by_mark(model):
    """Return the answers to SHOWN with the first vector exchanged with each in turn, int (11,)."""
    vectors, said = model.positional_encoding.numpy(), []
    for step in range(11):
        reference, order = formula.of(model), [*range(11)]
        order[0], order[step] = step, 0
        reference.arrays["positional_encoding"] = vectors[:, order]
        said.append(reference.lesson(shown().inputs).argmax(axis=-1)[0, 0])
    return np.array(said)


def shown():
    """Return SHOWN as `measuring.data_of` does."""
    return measuring.spell(TASK, SHOWN)


def expected_shares(weights, kinds, kind):
    """Return the share that a kind of letter has in each row, float (samples, 11), and a function.

    That one takes a number and returns the share of so many more letters of this kind: the mean over the
    sequences that have them, in rows of letters that are as the row's.
    """
    of_kind = kinds == kind[:, None]
    share = (weights * of_kind[:, None]).sum(axis=-1)
    counts = np.broadcast_to(of_kind.sum(axis=1)[:, None], share.shape)
    which = (kinds == kinds[:, :1]) + 2 * of_kind  # What a row's letter is.
    which[:, 0] = 4  # The signal.
    sums = np.zeros((2, 5, 13))
    np.add.at(sums[0], (which, counts), 1)
    np.add.at(sums[1], (which, counts), share)
    means = sums[1] / np.maximum(sums[0], 1)
    return share, lambda more: means[which, np.maximum(counts + more, 0)]


def share_changed(model):
    """Return a dict from what is done to the shares of the signal's kind in the encoder to three fractions.

    How often the answer is one higher, the same, one lower. Only answers of 1 to 5 that are right count.
    """
    data = measuring.new_data(TASK, 5000)
    own, signal = data.letters == data.letters[:, :1], data.letters[:, 0]
    answers, usual = data.answers[:, 0], Changed(model).answers(data)
    counted, measured = (usual == answers) & (answers >= 1) & (answers <= 5), {}
    weights = model(data.inputs)[2][0].numpy().astype(float)
    other, third = (signal + 1) % 3, (signal + 2) % 3
    is_other, is_third = data.letters == other[:, None], data.letters == third[:, None]

    def own_share(rows, more):
        share, wanted = expected_shares(weights, data.letters, signal)

        def change(weights):
            weights = weights.copy()
            up = wanted(more) / share
            down = (1 - wanted(more)) / np.maximum(1 - share, 1e-9)
            factors = np.where(own[:, None], up[..., None], down[..., None])
            weights[:, rows] *= factors[:, rows]
            return weights

        return change

    def other_share(weights):
        share, wanted = expected_shares(weights, data.letters, other)
        rest = (weights * is_third[:, None]).sum(axis=-1)
        up, down = wanted(1) / np.maximum(share, 1e-9), (rest + share - wanted(1)) / np.maximum(rest, 1e-9)
        factors = np.where(is_other[:, None], up[..., None], np.where(is_third[:, None], down[..., None], 1))
        return weights * factors

    every, usable = [*range(11)], is_other.any(axis=1) & (is_third.sum(axis=1) > 1)
    for name, change, which in (
        ("one letter more, all rows", own_share(every, 1), True),
        ("one letter more, only the signal's row", own_share([0], 1), True),
        ("one letter more, only the ten others", own_share(every[1:], 1), True),
        ("one letter fewer, all rows", own_share(every, -1), True),
        ("control: as many letters, all rows", own_share(every, 0), True),
        ("control: one letter more of another kind, all rows", other_share, usable),
    ):
        moved = (Changed(model, change).answers(data) - answers)[counted & which]
        measured[name] = [(moved == by).mean() for by in (1, 0, -1)]
    return measured


def multiplied(model):
    """Return a dict from a factor at the encoder's scores to how the right answers of 1 to 5 change."""
    data, measured = measuring.new_data(TASK, 5000), {}
    answers = data.answers[:, 0]
    for factor in FACTORS:
        said = formula.of(model, {ENCODER: factor}).lesson(data.inputs).argmax(axis=-1)[:, 0]
        if factor == 1:
            counted = (said == answers) & (answers >= 1) & (answers <= 5)
        moved = (said - answers)[counted]
        measured[f"× {factor}"] = [(moved > 0).mean(), (moved == 0).mean(), moved.mean()]
    return measured


def rows_equal(model):
    """Return a dict from where the encoder's weights are made equal to what is right, in a list."""
    data, measured = measuring.new_data(TASK, 5000), {}

    def equal(rows):
        def change(weights):
            weights = weights.copy()
            weights[:, rows] = 1 / 11
            return weights

        return change

    for name, rows in (
        ("nowhere", []),
        ("the signal's row", [0]),
        ("the ten other rows", [*range(1, 11)]),
        ("all rows", [*range(11)]),
    ):
        measured[name] = [(Changed(model, equal(rows)).answers(data) == data.answers[:, 0]).mean()]
    return measured


def likeness(model):
    """Return a dict from rows to how many times another letter's weight a like letter has, in a list."""
    data = measuring.new_data(TASK, 5000)
    _, decoder, (encoder, *_) = model(data.inputs)
    encoder, decoder = encoder.numpy(), decoder.numpy()[:, 0, 1:]
    alike = data.letters[:, :, None] == data.letters[:, None]
    apart = ~np.eye(11, dtype=bool)
    apart[:, 0] = False  # The signal as a key is left out: it has the mark.
    rows = np.arange(11)[:, None] > 0
    measured = {}
    for name, which in (("the signal's row", apart & ~rows), ("the ten other rows", apart & rows)):
        like, unlike = alike & which, ~alike & which
        measured[f"encoder, {name}"] = [encoder[like].mean() / encoder[unlike].mean()]
    own = alike[:, 0, 1:]
    measured["the last query, on letters of the signal's kind"] = [decoder[own].mean() / decoder[~own].mean()]
    return measured


def readings(model):
    """Return a dict from a place to how often least squares find the count of its letter from its vector."""
    data, measured = measuring.new_data(TASK, 5000), {}
    reference = Changed(model)
    reference.lesson(data.inputs)
    for name, vectors in (
        ("embeddings", reference.embed(data.inputs)),
        ("the encoder's vectors", reference.encoding),
    ):
        for step in (0, 3):
            known = np.column_stack([vectors[:, step], np.ones(len(vectors))])
            counts = (data.letters == data.letters[:, step, None]).sum(axis=1) - 1
            solution = np.linalg.lstsq(known[:4000], counts[:4000], rcond=None)[0]
            measured[f"{name}, step {step}"] = [((known[4000:] @ solution).round() == counts[4000:]).mean()]
    return measured


def blind(model):
    """Return what is right, the last query's weight on the signal, and what is right if it can't look there.

    And, as a control, if it can't look at step 5.
    """
    data = measuring.new_data(TASK, 5000)
    right = [
        (
            Changed(model, seen=[step for step in range(11) if step != dark]).answers(data)
            == data.answers[:, 0]
        ).mean()
        for dark in (0, 5)
    ]
    return *accuracy(model), model(data.inputs)[1].numpy()[:, 0, 0].mean(), *right
