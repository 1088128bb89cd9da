"""Task 3, Signal: what no order costs, what repairs it, and what the attention is for."""

import functools
import itertools
import math

import formula
import numpy as np

from . import edits, measuring

TASK, MEASURES = 3, ["right"]
TEN, TWENTY, FORTY = range(1, 11), range(1, 21), range(1, 41)
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
LAYERS = {"One encoder layer": (POSITIONS, TEN), "Six": (SIX, TWENTY)}
SETUPS.append((SIX, TWENTY))
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
    first, others, right, alike = zip(*map(positions, edits.models(POSITIONS, seeds)), strict=True)
    rows = [["length of the first vector", measuring.summary(first)]]
    rows += [["mean length of the other ten", measuring.summary(others)]]
    rows += [["as it is: right", measuring.summary(right, "%")]]
    rows += [["one vector for positions 1 to 10: right", measuring.summary(alike, "%")]]
    measuring.table(f"Positional vectors, seeds {seeds[0]} to {seeds[-1]}", ["`--pos_enc`", ""], rows)


def report_mark():
    """Print what marks the signal."""
    models, head = edits.models(POSITIONS, TEN), ["positional vectors", "counts the letter of", "right"]
    cosines = measuring.summary([cosine(model) for model in models])
    print(f"\nThe cosine of the first positional vector with the mean of the others: {cosines}")
    for title, group, samples in (
        ("The mark is moved", models, 10000),
        ("The mark is moved, six encoder layers", learnt(SIX), 3000),
    ):
        rows = [with_mark_moved(model, samples) for model in group]
        rows = [[*names, measuring.summary([row[names] for row in rows], "%")] for names in rows[0]]
        measuring.table(title, head, rows)
    said = measuring.in_words(map(mark_by_mark, models))
    print(f"\nThe answers to {SHOWN}, with the mark on step 0, 1, … or 10: {said}")


def report_count():
    """Print how a model that knows the signal counts its letters."""
    models, head = edits.models(POSITIONS, TEN), ["", "one higher", "the same", "one lower"]
    title = "In the encoder, the signal's kind is given the share of"
    measuring.compare_cases(title, head, models, with_share_changed, *["%"] * 3, each=True)
    head, forms = ["scores in the encoder", "higher", "the same", "higher by"], ["%", "%", "{:.2f}"]
    measuring.compare_cases("Scores multiplied", head, models, multiplied, *forms, each=True)
    for factor in FACTORS:
        said = [with_factor(model, measuring.spell(TASK, SHOWN), factor) for model in models]
        print(f"\nScores × {factor}, the answers to {SHOWN}: {measuring.in_words(said)}")
    title, head = "A letter's weight on one like it, as a multiple of another's", ["rows", "times"]
    measuring.compare_cases(title, head, models, likeness, "{:.2f}")


def report_layers():
    """Print what more encoder layers change."""
    measuring.compare("All runs", ["", "right"], edits.groups(LAYERS), accuracy, "%", each=True)
    head = ["if the last query can't look at", "right"]
    for label, (setup, seeds) in LAYERS.items():
        models = learnt(setup, seeds)
        title = f"{label}, {len(models)} models that have learnt the task"
        measuring.compare_cases(title, head, models, blind, "%", each=True)
        weights = [
            model(measuring.new_data(TASK, 5000).inputs)[1].numpy()[:, 0, 0].mean() for model in models
        ]
        print(f"\nThe last query's weight on the signal: {measuring.summary(weights)}")


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


def right_with(model, factors=(), positions=None, signal=0, samples=10000):
    """Return what is right with factors at scores, by names of attentions, or with other positions.

    Right is how often the letter at the input step `signal` occurs at the other steps.
    """
    data, reference = measuring.new_data(TASK, samples), formula.of(model, factors)
    if positions is not None:
        reference.arrays["positional_encoding"] = positions
    answers = (data.letters == data.letters[:, signal, None]).sum(axis=1) - 1
    return (reference.lesson(data.inputs).argmax(axis=-1)[:, 0] == answers).mean()


def positions(model):
    """Return the length of the first positional vector, the mean length of the others, and what is right.

    And what is right with the mean of the vectors of positions 1 to 10 in place of each of them.
    """
    vectors = model.positional_encoding.numpy().astype(float)
    lengths = np.linalg.norm(vectors[0], axis=-1)
    vectors[:, 1:] = vectors[:, 1:].mean(axis=1, keepdims=True)
    return lengths[0], lengths[1:].mean(), *accuracy(model), right_with(model, positions=vectors)


def cosine(model):
    """Return the cosine of the first positional vector with the mean of the others."""
    first, *others = model.positional_encoding.numpy()[0].astype(float)
    mean = np.mean(others, axis=0)
    return first @ mean / np.linalg.norm(first) / np.linalg.norm(mean)


def learnt(setup, seeds=TEN):
    """Return the models that get more than nine in ten right, a list."""
    return [model for model in edits.models(setup, seeds) if accuracy(model)[0] > 0.9]


def with_mark_moved(model, samples):
    """Return a dict from what is done to positional vectors, and the step of the signal, to what is right."""
    vectors = model.positional_encoding.numpy().astype(float)

    def swapped(first, second, signal):
        order = [*range(11)]
        order[first], order[second] = second, first
        return right_with(model, positions=vectors[:, order], signal=signal, samples=samples)

    moved = [swapped(0, step, step) for step in range(1, 11)]
    without, bare = vectors.copy(), vectors.copy()
    without[:, 0] = vectors[:, 1:].mean(axis=1)
    bare[:, 1:] = 0
    return {
        ("as they are", "step 0"): swapped(0, 0, 0),
        ("0 and 5 swapped", "step 5"): moved[4],
        ("0 and 5 swapped", "step 0"): swapped(0, 5, 0),
        ("0 and 1 swapped, or 0 and 2, … or 0 and 10", "step 1, 2, … or 10, the worst"): min(moved),
        ("3 and 7 swapped, a control", "step 0"): swapped(3, 7, 0),
        ("no mark: the mean of the others in place of 0", "step 0"): right_with(
            model, positions=without, samples=samples
        ),
        ("zeros in place of 1 to 10", "step 0"): right_with(model, positions=bare, samples=samples),
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
    """A model with changed weights in the first encoder layer, or a last query that is blind to a step."""

    def __init__(self, model, change=None, dark=None):
        super().__init__(formula.of(model).arrays)
        self.change, self.seen = change, [step for step in range(11) if step != dark]

    def mix(self, name, query, key, value, mask=True):
        means = super().mix(name, query, key, value, mask)
        return self.change(self.weights[name][-1]) @ value if self.change and name == ENCODER else means

    def attend(self, name, query, key):
        return super().attend(name, query, key[:, self.seen] if name == "attention" else key)

    def answers(self, data):
        """Return the answers to data, int (samples,)."""
        return self.lesson(data.inputs).argmax(axis=-1)[:, 0]


def mark_by_mark(model):
    """Return the answers to SHOWN with the first positional vector and another swapped, a list of eleven."""
    vectors, reference, said = model.positional_encoding.numpy()[0], formula.of(model), []
    for step in range(11):
        swapped = vectors.copy()
        swapped[[0, step]] = vectors[[step, 0]]
        reference.arrays["positional_encoding"] = swapped[None]
        said.append(reference.lesson(measuring.spell(TASK, SHOWN).inputs).argmax(axis=-1)[0, 0])
    return said


def shares_of(weights, letters, kind):
    """Return the share that a kind of letter has in each row, float (samples, 11), and a function.

    That takes a number, and returns the share of so many letters more of this kind: the mean over sequences
    that have as many, in rows of the same sort of letter.
    """
    of_kind, own = letters == kind[:, None], letters == letters[:, :1]
    share = (weights * of_kind[:, None]).sum(axis=-1)
    sort = own + 2 * of_kind
    sort[:, 0] = 4  # The row of the signal.
    counts = np.broadcast_to(of_kind.sum(axis=1)[:, None], share.shape)
    sums, numbers = np.zeros((5, 13)), np.zeros((5, 13))
    np.add.at(sums, (sort, counts), share)
    np.add.at(numbers, (sort, counts), 1)
    means = sums / np.maximum(numbers, 1)
    return share, lambda more: means[sort, np.maximum(counts + more, 0)]


def with_share_changed(model):
    """Return a dict from a share and its rows to how often the answer is one higher, the same, one lower.

    What the kind gains, the other letters lose in proportion. Only answers of 1 to 5 that are right count.
    """
    data = measuring.new_data(TASK, 5000)
    letters, answers, every = data.letters, data.answers[:, 0], [*range(11)]
    weights = model(data.inputs)[2][0].numpy().astype(float)
    own, other, third = ((letters[:, 0] + shift) % 3 for shift in range(3))
    counted = (Changed(model).answers(data) == answers) & (answers >= 1) & (answers <= 5)
    both = (letters == other[:, None]).any(axis=1) & ((letters == third[:, None]).sum(axis=1) > 1)
    measured = {}
    for name, kind, more, rows, loses in (
        ("one letter more, in all rows", own, 1, every, None),
        ("one letter more, in the signal's row", own, 1, [0], None),
        ("one letter more, in the ten others", own, 1, every[1:], None),
        ("one letter fewer, in all rows", own, -1, every, None),
        ("as many letters, a control", own, 0, every, None),
        ("another kind one letter more, at the expense of the third, a control", other, 1, every, third),
    ):
        share, wanted = shares_of(weights, letters, kind)
        gains = letters == kind[:, None]
        gives = ~gains if loses is None else letters == loses[:, None]
        rest = (weights * gives[:, None]).sum(axis=-1)
        change = wanted(more) - share
        factors = np.ones_like(weights) + gains[:, None] * (change / np.maximum(share, 1e-9))[..., None]
        factors -= gives[:, None] * (change / np.maximum(rest, 1e-9))[..., None]
        changed = weights.copy()
        changed[:, rows] *= factors[:, rows]
        moved = Changed(model, lambda _, changed=changed: changed).answers(data) - answers
        moved = moved[counted if loses is None else counted & both]
        measured[name] = [(moved == by).mean() for by in (1, 0, -1)]
    return measured


def with_factor(model, data, factor):
    """Return the answers, int (samples,), if a factor multiplies the scores of the encoder."""
    return formula.of(model, {ENCODER: factor}).lesson(data.inputs).argmax(axis=-1)[:, 0]


def multiplied(model):
    """Return a dict from a factor to how often answers are higher, the same, and by how much, on average.

    Only answers of 1 to 5 that are right count.
    """
    data = measuring.new_data(TASK, 5000)
    answers, said = data.answers[:, 0], {factor: with_factor(model, data, factor) for factor in FACTORS}
    counted = (said[1] == answers) & (answers >= 1) & (answers <= 5)
    moved = {f"× {factor}": (each - answers)[counted] for factor, each in said.items()}
    return {name: [(by > 0).mean(), (by == 0).mean(), by.mean()] for name, by in moved.items()}


def likeness(model):
    """Return a dict from rows to how many times another letter's weight one like the row's has, in a list.

    The weight on the signal and that on the letter itself are left out.
    """
    data = measuring.new_data(TASK, 5000)
    _, decoder, (encoder, *_) = model(data.inputs)
    like, usable = data.letters[:, :, None] == data.letters[:, None], ~np.eye(11, dtype=bool)
    usable[:, 0] = False

    def times(weights, like, usable):
        return [weights[like & usable].mean() / weights[~like & usable].mean()]

    return {
        "the signal's, in the encoder": times(encoder.numpy()[:, 0], like[:, 0], usable[0]),
        "the ten others, in the encoder": times(encoder.numpy()[:, 1:], like[:, 1:], usable[1:]),
        "the last query's, on letters like the signal": times(decoder.numpy()[:, 0], like[:, 0], usable[0]),
    }


def blind(model):
    """Return a dict from a step that the last query can't look at to what is right, in a list."""
    data, steps = measuring.new_data(TASK, 5000), {"no step": None, "the signal": 0, "step 5, a control": 5}
    return {
        name: [(Changed(model, dark=dark).answers(data) == data.answers[:, 0]).mean()]
        for name, dark in steps.items()
    }
