"""Lesson 1, Counting Letters: how an average counts, and what a model needs for it."""

import math

import numpy as np

from . import lesson_1_interventions as interventions
from . import measuring, trainings

TASK = 1
TEN, TWENTY = range(1, 11), range(1, 21)
THIRTY = [*TWENTY, *range(31, 41)]  # 21 to 30 are left to repeat everything with seeds that no page has seen.


def run(edit=None, flags=""):
    """Return a trainings.Run of this lesson."""
    return trainings.Run(TASK, edit, flags)


def ten(*names):
    """Return rows for edits, a dict from the name to what is trained and its seeds."""
    return {name: (run(name), TEN) for name in names}


def picked(rows, *labels):
    """Return the rows with these labels."""
    return {label: rows[label] for label in labels}


# The rows of each table: what a reader calls it, what is trained, and the seeds.
MAIN, SUM = "`main.py`", "G: a sum, weights by a sigmoid, no layer norm"
APART = {
    MAIN: (run(), THIRTY),
    "A: all weights equal": (run("A"), TEN),
    "B: no √depth": (run("B"), THIRTY),
    "C: no residual": (run("C"), TEN),
    "D: no layer norm": (run("D"), THIRTY),
    "E: separate keys and values": (run("E"), THIRTY),
    "F: additive score": (run("F"), THIRTY),
    SUM: (run("G"), TEN),
    **{f"H: fixed weights, × {ratio}": (run(f"H {ratio}.0"), TEN) for ratio in (2, 16, 100)},
    "H: fixed weights, × 4": (run("H 4.0"), THIRTY),
    "A, D and V: equal weights, no norm, a dense layer for each output step": (run("A+D+V"), TEN),
}
SIZES = {
    "`--steps 500`": (run(flags="--steps 500"), TEN),
    "`--steps 10000`": (run(flags="--steps 10000"), TEN),
    "A, `--steps 10000`": (run("A", "--steps 10000"), TEN),
}
LONGER = {
    "`--max_len 20`": (run(flags="--max_len 20"), TEN),
    "`--max_len 50`": (run(flags="--max_len 50"), TEN),
}
SLOWER = {
    "`--lr 0.003`": (run(flags="--lr 0.003"), TEN),
    **{f"{edit}, `--lr 0.003`": (run(edit, "--lr 0.003"), TEN) for edit in "BEF"},
}
SCORES = {
    **ten("J", "B+J", "D+J", "E+J", "F+J", "M", "B+M", "E+M", "F+M", "N", "E+N", "F+N", "K", "E+K", "L"),
    **ten("AB 0.125", "N+AB 0.125", "B+AB 4.0", "E+AB 4.0", "F+AB 4.0"),
    **SLOWER,
}
NORM = {
    **ten("O", "P", "Q", "R", "S", "T", "P+U", "D+V", "D+W", "AA"),
    **ten("A+AA", "A+D", "A+O", "A+Q", "A+R", "A+S", "A+T", "A+P+U"),
    "A+P": (run("A+P"), THIRTY),
    "D, `--steps 10000`": (run("D", "--steps 10000"), TEN),
    "A+P, `--steps 10000`": (run("A+P", "--steps 10000"), TEN),
}
PLACES = {
    "H 4.0": (run("H 4.0"), THIRTY),
    **ten("X 2.0", "X 16.0", "H 2.0+Z", "H 4.0+Z", "H 16.0+Z"),
    "H 4.0+Y": (run("H 4.0+Y"), THIRTY),
    "H 4.0, `--steps 4000`": (run("H 4.0", "--steps 4000"), TEN),
    "H 4.0, `--steps 10000`": (run("H 4.0", "--steps 10000"), TEN),
}
SIGMOIDS = ten("I", "I+O", "I+P")
DEEP = {
    "`--hidden 256 --steps 500`": (run(flags="--hidden 256 --steps 500"), TEN),
    "B, `--hidden 256 --steps 500`": (run("B", "--hidden 256 --steps 500"), TEN),
}
RUNS = [row for rows in (APART, SIZES, ten("I")) for row in rows.values()]
MORE = [row for rows in (LONGER, SCORES, NORM, PLACES, SIGMOIDS, DEEP) for row in rows.values()]
LENGTHS = range(1, 21)
TEXTS = ("AABB", "AAAA", "AAAAAAAAAA", "          ")
SAME_SHARE = ("A BBBBCCCC", "AAAA    BC")  # Of the elements that are 'A' or blank, half are 'A'.


def report(trained, everything=False):
    """Print the figures of the lesson and the main table of the laboratory, or everything.

    Args:
        trained: a trainings.Trainings.
        everything: bool, also what needs the trainings of MORE.
    """
    print_heatmaps(trained)
    print_counting(trained)
    print_changed_weights(trained)
    print_lengths(trained)
    print_sizes(trained, SIZES)
    print_rows(trained, "Take it apart", APART)
    print_views(trained, picked(APART, MAIN, *(label for label in APART if label[0] in "BDEF")))
    print_saturation()
    if everything:
        print_sizes(trained, LONGER)
        print_rows(trained, "The score", SCORES)
        labels = ("J", "B+J", "D+J", "E+J", "F+J", "B+M", "E+M", "F+M", "E+N", "F+N", "E+K", "L")
        print_views(trained, picked(SCORES, *labels, *(label for label in SCORES if "AB" in label)))
        print_rows(trained, "Layer norm", NORM)
        print_same_share(trained)
        print_rows(trained, "A sigmoid for each weight", {SUM: APART[SUM], **SIGMOIDS})
        print_other_lengths(trained)
        print_summands(trained)
        print_places(trained)
        print_deep(trained)


# --- How a weight counts --------------------------------------------------------------------------------


def preferences(model):
    """Return how many times the weight of an output step's own letter is that of the others, float (3, 3).

    The columns are a blank and the other two letters.
    """
    weights = interventions.weights_of(model)
    others = [[0, *({1, 2, 3} - {step + 1})] for step in range(3)]
    return np.array([weights[step, step + 1] / weights[step, kinds] for step, kinds in enumerate(others)])


def ratios(model):
    """Return the preferences over a blank and over another letter, geometric means over the output steps."""
    logarithms = np.log(preferences(model))
    return np.exp(logarithms[:, 0].mean()), np.exp(logarithms[:, 1:].mean())


def largest_on_the_own_letter(model):
    """Return in how many of the output steps the own letter has the largest weight of the four kinds, int."""
    return int((interventions.weights_of(model).argmax(axis=1) == [1, 2, 3]).sum())


def mass_by_count(model, length=10):
    """Return the mean total weight of output step 0 on 'A', for each count of 'A' from 0 to 8."""
    data = measuring.fresh(TASK, 40000, max_len=length)
    weights = model(data.inputs)[1].numpy()[:, 0]
    mass = (weights * (data.letters == 1)).sum(axis=-1)
    return [mass[data.answers[:, 0] == count].mean() for count in range(9)]


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


def accuracy_at(model, length, samples=4000):
    """Return the fraction of new sequences of this length that are right."""
    data = measuring.fresh(TASK, samples, seed=length, max_len=length)
    return (measuring.outputs(model, data.inputs).argmax(axis=-1) == data.answers).all(axis=-1).mean()


def predicted_at(length, halves="even", samples=4000):
    """Return for which fraction of the same sequences 10 · n / length rounds to each count n.

    Halves are rounded to the "even" count or "up".
    """
    answers = measuring.fresh(TASK, samples, seed=length, max_len=length).answers
    seen = answers * 10 / length
    rounded = np.rint(seen) if halves == "even" else np.floor(seen + 0.5)
    return (rounded == answers).all(axis=-1).mean()


# --- What the lesson shows ------------------------------------------------------------------------------


def print_heatmaps(trained):
    """Print where the largest weights are, how large they are, and what the models answer to some texts."""
    group = trained.models(*APART[MAIN])
    largest = sum(largest_on_the_own_letter(model) for model in group)
    print(f"\nOutput steps whose largest weights are on their own letter: {largest} of {3 * len(group)}")
    found = np.array([preferences(model) for model in group])
    smaller = (found[:, :, :1] < found[:, :, 1:]).all(axis=(1, 2)).sum()
    rows = []
    for step in range(3):
        rows.append([f"output step {step}", *measuring.columns(found[:, step], *["{:.2f}"] * 3)])
    means = [ratios(model) for model in group]
    rows.append(["mean of the three", *measuring.columns(means, "{:.2f}", "{:.2f}"), ""])
    title = "The own letter's weight as a multiple"
    measuring.table(title, ["", "of a blank's", "of a letter's", "of the other letter's"], rows)
    print(f"\nModels that prefer their letter less to a blank than to any letter: {smaller} of {len(group)}")
    for text in TEXTS:
        print(f"\n`--input {text!r}`: {measuring.shares(TASK, group, text)}")


def print_counting(trained):
    """Print the total weight on 'A' for each count, as measured and by the formula."""
    group = trained.models(*APART[MAIN])
    blank, letter = np.exp(np.log([ratios(model) for model in group]).mean(axis=0))
    masses = np.array([mass_by_count(model) for model in group])
    formula = mass_formula(np.arange(9), blank, letter)
    rows = [[n, measuring.spread(masses[:, n]), f"{formula[n]:.2f}"] for n in range(9)]
    title = f"Total weight on 'A', with {blank:.2f} times a blank's and {letter:.2f} times another letter's"
    measuring.table(title, ["n", "measured", "formula"], rows)
    apart = abs(masses.mean(axis=0) - formula).max()
    print(f"\nThe formula differs from the mean by {apart:.3f} at most")


def print_changed_weights(trained):
    """Print what other weights do in a trained model."""
    group = trained.models(*APART[MAIN])
    found = [interventions.interventions_on_counting(model) for model in group]
    rows = [[name, *measuring.columns([one[name] for one in found], "%", "%")] for name in found[0]]
    head = ["weights", "right", "A ≠ B: the two answers exchanged"]
    measuring.table("Changed weights in a trained model", head, rows)
    cells = measuring.columns([interventions.moved_weight(model) for model in group], *["%"] * 4)
    head = ["the other count comes out", "within one of it", "the answer stays", "control: its own count's"]
    measuring.table("The total weight on 'A' set to what is usual for another count", head, [cells])
    cells = measuring.columns([interventions.rest_of_one_kind(model) for model in group], "%", "%")
    title = "The usual weight on 'A', the rest on one kind: counts 1 to 6 that come out"
    measuring.table(title, ["the rest on a blank", "on 'B'"], [cells])


def curves_by_length(trained, row):
    """Return the sequences right at LENGTHS, float (seeds, lengths), for models trained at length 10."""
    return np.array([[accuracy_at(model, length) for length in LENGTHS] for model in trained.models(*row)])


def print_lengths(trained):
    """Print what models that were trained at length 10 say at other lengths."""
    curves = [curves_by_length(trained, row) for row in ((run(), TEN), APART[SUM], SIGMOIDS["I"])]
    rows = []
    for index, length in enumerate(LENGTHS):
        cells = [measuring.percent(curve[:, index]) for curve in curves]
        predicted = [f"{predicted_at(length, halves):.1%}" for halves in ("even", "up")]
        rows.append([length, cells[0], *predicted, *cells[1:]])
    head = ["length", MAIN, "10 · n / length rounds to n, halves to even", "halves up"]
    head += ["G: a sum", "I: a sigmoid, with layer norm"]
    measuring.table("Sequences right, trained at length 10", head, rows)


def scores(trained, row, length=10):
    """Return the fraction of sequences right and the loss in nats of each model of a row."""
    data = measuring.fresh(TASK, max_len=length)
    models = trained.models(*row)
    return [measuring.score(measuring.outputs(model, data.inputs), data.answers) for model in models]


def print_sizes(trained, rows):
    """Print how well models do that were trained longer, or for longer sequences."""
    cells = []
    for label, (one, seeds) in rows.items():
        length = trained.module(TASK).parse_arguments(["--train", *one.flags.split()]).max_len or 10
        cells.append([label, *measuring.columns(scores(trained, (one, seeds), length), "%", "{:.4f}")])
    measuring.table("Other sizes", ["trained with", "right", "loss"], cells)


# --- The laboratory -------------------------------------------------------------------------------------


def print_rows(trained, title, rows):
    """Print a table of trainings: how many are right, the loss, how they weigh; then each training."""
    cells, each = [], []
    for label, row in rows.items():
        group, scored = trained.models(*row), scores(trained, row)
        seen = np.array([interventions.in_view(model) for model in group])
        looks = ["", ""]
        if seen.min() == 4:
            looks = measuring.columns([ratios(model) for model in group], "{:.2f}", "{:.2f}")
        view = " to ".join(map(str, sorted({seen.min(), seen.max()})))
        cells.append([label, len(group), *measuring.columns(scored, "%", "{:.3f}"), *looks, view])
        each.append(f"{label}: {' '.join(f'{100 * right:.1f}' for right, _ in sorted(scored))}")
    head = ["", "trainings", "right", "loss", "× a blank", "× another letter", "kinds in view"]
    measuring.table(title, head, cells)
    print("\nSequences right, in %, each training:\n")
    print("\n".join(each), flush=True)


def print_views(trained, rows):
    """Print how often output steps are right, by the number of kinds of elements that they have in view."""
    cells = []
    for label, row in rows.items():
        group = trained.models(*row)
        seen = np.concatenate([interventions.in_view(model) for model in group])
        right = np.concatenate([interventions.steps_right(model) for model in group])
        found = [label]
        for kinds in (4, 3, 2, 1):
            some = right[seen == kinds]
            found.append(f"{measuring.percent(some)}, {len(some)} output steps" if len(some) else "")
        cells.append(found)
    bounds = [interventions.best_with(kinds) for kinds in (4, 3, 2, 1)]
    cells.append(["at best, equal weights, by all shares", *(f"{one:.1%}" for one, _ in bounds)])
    cells.append(["at best, equal weights, by the own share", *(f"{one:.1%}" for _, one in bounds)])
    cells.append(["at best, another kind in view", "", "", "", f"{interventions.best_without_own():.1%}"])
    title = "Answers right, by the kinds of elements in view of an output step"
    measuring.table(title, ["", "four", "three", "two", "one"], cells)


def print_saturation():
    """Print how flat the softmax of random dot products is."""
    rows = []
    for hidden in (16, 64, 256, 1024):
        cells = [interventions.saturation(hidden, scaled) for scaled in (False, True)]
        rows.append([hidden, *(f"{number:.3f}" for cell in cells for number in cell)])
    head = ["entropy", "gradient by logits", "gradient by query"]
    head = ["hidden", *(f"{one}, q·k" for one in head), *(f"{one}, q·k/√d" for one in head)]
    measuring.table(f"Saturation; even weights have the entropy ln 10 = {math.log(10):.2f}", head, rows)


def print_same_share(trained):
    """Print what models say to two texts in which half of the elements that are 'A' or blank are 'A'."""
    for label, row in ((MAIN, APART[MAIN]), ("D", APART["D: no layer norm"]), ("D+W", NORM["D+W"])):
        group = trained.models(*row)
        for text in SAME_SHARE:
            inputs = measuring.spell(TASK, text).inputs
            told = [int(model(inputs)[0].numpy().argmax(axis=-1)[0, 0]) for model in group]
            counted = ", ".join(f"{one}: {told.count(one)}" for one in sorted(set(told)))
            print(f"\n{label}, `--input {text!r}`, the number of 'A' and how many models say it: {counted}")


def print_other_lengths(trained):
    """Print at which lengths other models are right that were trained at length 10."""
    rows = picked(APART, MAIN, "A: all weights equal", SUM) | SIGMOIDS | picked(NORM, "D+W", "D+V")
    lengths, cells = (5, 8, 12, 20), []
    for label, row in rows.items():
        found = [[accuracy_at(model, one) for one in lengths] for model in trained.models(*row)]
        cells.append([label, *measuring.columns(found, *["%"] * len(lengths))])
    measuring.table("Sequences right at other lengths", ["trained at length 10", *lengths], cells)


def print_summands(trained):
    """Print the lengths of what is mixed, and by how much its own letter outweighs the rest of it."""
    rows = picked(APART, MAIN, "A: all weights equal") | picked(SIZES, "A, `--steps 10000`")
    rows |= picked(SCORES, "J", "N", "E+K") | picked(PLACES, "X 2.0", "H 4.0")
    rows |= {label: row for label, row in APART.items() if label.startswith("H") and row[1] == TEN}
    cells = []
    for label, row in rows.items():
        group = trained.models(*row)
        weighed = measuring.columns([ratios(one) for one in group], "{:.2f}", "{:.2f}")
        cells.append([label, *weighed])
        cells[-1] += measuring.columns([interventions.summands(one) for one in group], *["{:.2f}"] * 5)
    head = ["", "weight × a blank's", "× another letter's", "length, own letter", "a blank", "another letter"]
    head += ["weight times length × a blank's", "× another letter's"]
    measuring.table("What is added up: value + query", head, cells)


def print_places(trained):
    """Print where trainings with fixed weights end, and how long their queries are."""
    rows, each = PLACES | {label: row for label, row in APART.items() if label.startswith("H")}, []
    cells = []
    for label, row in rows.items():
        lengths = [interventions.query_length(model) for model in trained.models(*row)]
        scored = scores(trained, row)
        cells.append([label, *measuring.columns(scored, "%", "{:.3f}"), measuring.spread(lengths)])
        pairs = sorted((length, 100 * right) for length, (right, _) in zip(lengths, scored, strict=True))
        each.append(f"{label}: {' '.join(f'{length:.2f}/{right:.1f}' for length, right in pairs)}")
    measuring.table("Fixed weights", ["", "right", "loss", "length of the queries"], cells)
    print("\nLength of the queries / sequences right, in %, each training:\n")
    print("\n".join(each), flush=True)


def print_deep(trained):
    """Print the loss of a batch early and later, at depth 256."""
    rows = []
    for label, (one, seeds) in DEEP.items():
        losses = [dict(trained.losses(one, seed)) for seed in trained.chosen(seeds)]
        rows.append([label, *(measuring.spread(loss[step] for loss in losses) for step in (200, 500))])
    measuring.table("Depth 256, the loss of a batch", ["", "training step 200", "500"], rows)
