"""Measure everything that the READMEs claim: train the models, print the tables, draw the figures.

    python tests/lessons.py            everything, about ten minutes on two cores
    python tests/lessons.py --lesson 2 only what the README of Task 2 shows

Each number is a mean over models trained with different seeds, and behind it stand the least and the most.
The figures go to the images/ folders beside the READMEs.
"""

import argparse
import contextlib
import functools
import io
import itertools
import math
import shutil
import tempfile

import matplotlib
import numpy as np
import program

SEEDS = range(1, 6)
FOLDER = tempfile.TemporaryDirectory(prefix="lessons-")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # of Okabe and Ito (2008), for colour-blind eyes


# --- Models and data --------------------------------------------------------------------------------------


@functools.cache
def trained(variant, seed, *flags):
    """Train a variant as the command line does; return its model and its losses, (steps, loss) pairs."""
    task, own_flags = program.VARIANTS[variant]
    module = program.load(task)
    words = ["--train", "--seed", seed, "--savepath", FOLDER.name, *own_flags, *flags]
    arguments = module.parse_arguments([str(word) for word in words])
    with contextlib.redirect_stdout(io.StringIO()) as output:
        module.train(arguments)
    lines = [line.split() for line in output.getvalue().splitlines() if line.startswith("Iteration")]
    model, _ = module.load_model(arguments)
    return model, [(int(line[1]), float(line[4])) for line in lines]


def batch(task, samples=10000, seed=1000, **sizes):
    """Return new letters, int (samples, length), their one-hot inputs and the right answers."""
    module = program.load(task)
    source = module.Task(generator=np.random.default_rng(seed), **sizes)
    letters = source.sample(samples)
    return letters, module.one_hot(letters, len(source.letters)), source.solve(letters)


def encode(task, text):
    """Return the one-hot inputs (1, length, letters) of a str, for a model with three letters."""
    letters = program.load(task).Task().letters
    return program.load(task).one_hot(np.array([[letters.index(letter) for letter in text]]), len(letters))


def predict(task, model, text):
    """Return what a model predicts for a str, a list of int."""
    return np.argmax(model(encode(task, text))[0], axis=-1)[0].tolist()


def right(logits, answers):
    """Return the fraction of sequences whose every output step is right."""
    return (np.argmax(logits, axis=-1) == answers).all(axis=-1).mean()


def spread(values, form="{:.2f}"):
    """Return the mean of the values and, in brackets, the least and the most."""
    values = list(values)
    texts = [form.format(value) for value in (np.mean(values), min(values), max(values))]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def percent(values):
    """Return the mean, the least and the most of fractions as percentages."""
    return spread([100 * value for value in values], "{:.1f}").replace(" (", "% (")


def table(title, head, rows):
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def save(figure, task, name):
    """Write a figure to the images of a task."""
    path = program.script(task).parent / "images" / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    program.load(1).pyplot.close(figure)
    print(f"\nFigure: {path.relative_to(program.ROOT)}")


def axes(title, across, down, size=(7, 4)):
    """Return a new figure and its axes."""
    figure, plane = program.load(1).pyplot.subplots(figsize=size, layout="constrained")
    plane.set(title=title, xlabel=across, ylabel=down)
    plane.xaxis.get_major_locator().set_params(integer=True)
    plane.grid(alpha=0.3)
    return figure, plane


def draw_curves(plane, curves, label, colour):
    """Draw the mean and the range of loss curves, float (seeds, points, 2) of steps and losses."""
    steps, losses = curves[0, :, 0], curves[..., 1]
    plane.semilogy(steps, losses.mean(axis=0), color=colour, label=label)
    plane.fill_between(steps, losses.min(axis=0), losses.max(axis=0), color=colour, alpha=0.2)


# --- What the tests check too -----------------------------------------------------------------------------


def exact_positions(model):
    """Return how often a letter that occurs gets its largest weights exactly at its positions (Task 1)."""
    letters, inputs, _ = batch(1)
    weights = np.round(model(inputs)[1].numpy().astype(float), 3)
    largest = weights == weights.max(axis=-1, keepdims=True)
    there = letters[:, None, :] == np.arange(1, 4)[:, None]
    return (largest == there).all(axis=-1)[there.any(axis=-1)].mean()


def weights_by_letter(model):
    """Return the mean weight of the difference step on one blank, 'A', 'B' and 'C' (Task 2)."""
    letters, inputs, _ = batch(2)
    weights = model(inputs)[1].numpy()[:, 3]
    return [weights[letters == letter].mean() for letter in range(4)]


def larger_smaller_itself(model):
    """Return the mean self-attention of step 3 to the larger count, the smaller and itself (Task 2).

    Also how often the larger count gets more than the smaller, among sequences whose counts differ.
    """
    _, inputs, answers = batch(2)
    weights = model(inputs)[2].numpy()[:, 3]
    swap = answers[:, 0] < answers[:, 1]
    larger = np.where(swap, weights[:, 1], weights[:, 0])
    smaller = np.where(swap, weights[:, 0], weights[:, 1])
    differ = answers[:, 3] > 0
    means = [weight[differ].mean() for weight in (larger, smaller, weights[:, 3])]
    return *means, (larger > smaller)[differ].mean()


def intervene(model, inputs, change):
    """Return the predictions of step 3 after a change of its self-attention weights (Task 2).

    Args:
        model: an AttentionModel with self_att.
        inputs: float32 (batch, length, 4).
        change: a function from the weights of step 3, (batch, 4), to other weights of that shape.
    """
    key = model.key_layer(inputs)
    decoding, _ = model.attention(query=model.query, key=key, value=key)
    weights = model.self_attention(query=decoding, key=decoding, value=decoding)[1].numpy()[:, 3]
    value = decoding.numpy()
    mixture = np.einsum("bk,bkd->bd", change(weights), value) + value[:, 3]
    logits = model.logits_layer(model.self_attention.layer_norm(mixture[:, None]))
    return np.argmax(logits, axis=-1)[:, 0]


def swapped(weights):
    """Exchange the weights on steps 0 and 1."""
    return weights[:, [1, 0, 2, 3]]


def without_itself(weights):
    """Take away the weight of step 3 on itself and give it to the others in proportion."""
    others = weights * [1, 1, 1, 0]
    return others / others.sum(axis=-1, keepdims=True)


def without_smaller(weights):
    """Take away the smaller of the weights on steps 0 and 1 and give it to the others in proportion."""
    rest = weights.copy()
    rest[np.arange(len(rest)), rest[:, :2].argmin(axis=-1)] = 0
    return rest / rest.sum(axis=-1, keepdims=True)


def sum_in_step_3(model):
    """Return R² of the best linear prediction of A + B, and of |A − B|, from step 3 before self-attention."""
    _, inputs, answers = batch(2)
    key = model.key_layer(inputs)
    decoding, _ = model.attention(query=model.query, key=key, value=key)
    targets = (answers[:, 0] + answers[:, 1], answers[:, 3])
    return [linear_fit(decoding.numpy()[:, 3], target) for target in targets]


def bound(max_len=10, vocab_size=3):
    """Return the least expected loss in nats, and the most sequences right, of a model without positions.

    Such a model is a function of the multiset of the letters. Given the counts, the signal is each of the
    max_len + 1 letters with the same probability, so the answer is count - 1 with probability
    count / (max_len + 1) for each letter that occurs.
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


def loss_on_new_data(model, samples=50000):
    """Return the cross-entropy in nats and the fraction right on new sequences (Task 3)."""
    _, inputs, answers = batch(3, samples)
    logits = model(inputs)[0].numpy()[:, 0].astype(float)
    logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return -logits[np.arange(samples), answers[:, 0]].mean(), (logits.argmax(axis=-1) == answers[:, 0]).mean()


def weight_on_signal(model):
    """Return the mean weight of the output step on the signal, and on any other step (Task 3)."""
    _, inputs, _ = batch(3)
    weights = model(inputs)[1].numpy()[:, 0]
    return weights[:, 0].mean(), weights[:, 1:].mean()


def encoder_from_signal(model):
    """Return the mean weight that the signal's row of the last encoder layer gives (Task 3).

    To itself, to another letter like it, and to a letter that differs.
    """
    letters, inputs, _ = batch(3)
    weights = model(inputs)[2][-1].numpy()[:, 0]
    same = letters == letters[:, :1]
    same[:, 0] = False
    different = letters != letters[:, :1]
    return weights[:, 0].mean(), weights[same].mean(), weights[different].mean()


def linear_fit(features, target):
    """Return R² of the best linear prediction, fitted on one half of the data and tested on the other."""
    features = np.column_stack([features, np.ones(len(features))]).astype(float)
    half = len(target) // 2
    weights = np.linalg.lstsq(features[:half], target[:half], rcond=1e-3)[0]
    error = target[half:] - features[half:] @ weights
    return 1 - error.var() / target[half:].var()


def count_in_encoding(model):
    """Return R² of a linear fit of the count of step 5's letter to the encoding of step 5 (Task 3).

    The fit is one for each letter; the result is the least of the three.
    """
    letters, inputs, _ = batch(3, 20000)
    encoding = model.embedding(inputs)
    if model.positional_encoding is not None:
        encoding += model.positional_encoding
    for encoder_layer in model.encoder:
        encoding, _ = encoder_layer(encoding)
    count = (letters == letters[:, 5:6]).sum(axis=-1)
    groups = [letters[:, 5] == letter for letter in range(3)]
    return min(linear_fit(encoding.numpy()[group, 5], count[group]) for group in groups)


def accuracy_at(model, length):
    """Return the fraction of new sequences of this length that are right (Task 1)."""
    module = program.load(1)
    return module.accuracy(model, module.Task(generator=np.random.default_rng(length)), length)[0]


def mass_by_count(model, length=10):
    """Return the mean total weight of output step 0 on 'A', for each count of 'A' from 0 (Task 1)."""
    letters, inputs, answers = batch(1, 40000, max_len=length)
    weights = model(inputs)[1].numpy()[:, 0]
    mass = (weights * (letters == 1)).sum(axis=-1)
    return [mass[answers[:, 0] == count].mean() for count in np.unique(answers[:, 0])]


def preference(model):
    """Return how many times the weight of a letter is that of a letter not looked for (Task 1, mean)."""
    letters, inputs, _ = batch(1)
    weights = model(inputs)[1].numpy()
    looked_for = letters[:, None] == np.arange(1, 4)[:, None]
    both = looked_for.any(axis=-1) & ~looked_for.all(axis=-1)
    own = np.where(looked_for, weights, 0).sum(axis=-1) / np.maximum(looked_for.sum(axis=-1), 1)
    other = np.where(looked_for, 0, weights).sum(axis=-1) / np.maximum((~looked_for).sum(axis=-1), 1)
    return np.exp(np.log(own[both] / other[both]).mean())


def saturation(hidden, scaled, samples=2000, keys=10):
    """Return the mean entropy of attention weights, in nats, and the mean size of their gradient.

    Query and keys are drawn from the normal distribution. The size is the Frobenius norm of the derivative
    of the weights by the logits, diag(weights) - weights weightsᵀ.
    """
    generator = np.random.default_rng(0)
    query = generator.normal(size=(samples, 1, hidden))
    key = generator.normal(size=(samples, keys, hidden))
    logits = (query * key).sum(axis=-1) / (math.sqrt(hidden) if scaled else 1)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1)
    gradient = weights[:, :, None] * (np.eye(keys) - weights[:, None])
    return entropy.mean(), np.sqrt((gradient**2).sum(axis=(1, 2))).mean()


# --- The lessons ------------------------------------------------------------------------------------------


def draw_run(variant, name, *flags):
    """Let main.py test and draw a model, print its output, and keep the figures as images."""
    task, _ = program.VARIANTS[variant]
    trained.cache_clear()
    trained(variant, 1)
    paths = ["--savepath", FOLDER.name, "--plotpath", f"{FOLDER.name}/plots"]
    print(f"\n### Sample output: python3 main.py --test --plot {' '.join(flags)} ({variant})\n")
    program.load(task).main(["--test", "--plot", *flags, *paths])
    for image in (program.ROOT / FOLDER.name / "plots").iterdir():
        target = program.script(task).parent / "images" / f"{image.stem}{name}.png"
        shutil.move(image, target)
        print(f"Figure: {target.relative_to(program.ROOT)}")


def results():
    """Print the table of results of the five variants."""
    rows = []
    for variant, (task, _) in program.VARIANTS.items():
        models = [trained(variant, seed) for seed in SEEDS]
        _, inputs, answers = batch(task)
        losses = spread((losses[-1][1] for _, losses in models), "{:.3f}")
        rows.append([variant, losses, percent(right(model(inputs)[0], answers) for model, _ in models)])
    table("Results: the loss of the last batch, sequences right", ["variant", "loss", "right"], rows)


def lesson_1():
    """Counting letters: saturation, the counting curve, lengths, steps."""
    rows = []
    for hidden in (16, 64, 256, 1024):
        cells = [saturation(hidden, scaled) for scaled in (False, True)]
        rows.append([hidden, *(f"{number:.2f}" for cell in cells for number in cell)])
    head = ["hidden", "entropy, q·k", "gradient, q·k", "entropy, q·k/√d", "gradient, q·k/√d"]
    table(f"Saturation; even weights have the entropy ln 10 = {math.log(10):.2f}", head, rows)

    models = [trained("1", seed)[0] for seed in SEEDS]
    print(f"\nLargest weights exactly at the letter: {percent(map(exact_positions, models))}")
    ratios = [preference(model) for model in models]
    print(f"Weight of a letter that is looked for, as a multiple of another's: {spread(ratios)}")
    masses = [mass_by_count(model)[:9] for model in models]
    ratio = np.mean(ratios)
    counts = np.arange(9)
    formula = counts * ratio / (counts * ratio + 10 - counts)
    rows = [[n, spread(mass[n] for mass in masses), f"{formula[n]:.2f}"] for n in counts]
    table(f"Total weight on 'A' (n r / (n r + 10 − n), r = {ratio:.2f})", ["n", "measured", "formula"], rows)
    figure, plane = axes("How a weight counts", "How often 'A' occurs, n", "Total weight of step 0 on 'A'")
    for length, colour in zip((10, 20, 100), COLOURS, strict=False):
        n = np.arange(length + 1)
        curve = n * ratio / (n * ratio + length - n)
        plane.plot(n[:21], curve[:21], color=colour, label=f"{length} letters")
    plane.plot(counts, np.mean(masses, axis=0), "o", color=COLOURS[0], label="measured, 10 letters")
    plane.legend()
    save(figure, 1, "counting_curve")

    lengths = range(1, 31)
    accuracies = np.array([[accuracy_at(model, length) for length in lengths] for model in models])
    predicted = []
    for length in lengths:
        _, _, answers = batch(1, 10000, max_len=length)
        predicted.append((np.rint(answers * 10 / length) == answers).all(axis=-1).mean())
    rows = [[n, percent(accuracies[:, n - 1]), f"{100 * predicted[n - 1]:.1f}%"] for n in lengths]
    table("Sequences right by --sample_len", ["length", "measured", "n · 10 / length rounds to n"], rows)
    figure, plane = axes("A model trained at length 10, tested at others", "--sample_len", "Sequences right")
    plane.plot(lengths, predicted, color=COLOURS[1], label="predicted: n · 10 / length rounds to n")
    plane.plot(lengths, accuracies.mean(axis=0), "o", color=COLOURS[0], label="measured")
    plane.fill_between(lengths, accuracies.min(axis=0), accuracies.max(axis=0), color=COLOURS[0], alpha=0.2)
    plane.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
    plane.legend()
    save(figure, 1, "lengths")

    rows = []
    _, inputs, answers = batch(1)
    for steps in (500, 1000, 2000, 5000, 10000):
        values = [right(trained("1", seed, "--steps", steps)[0](inputs)[0], answers) for seed in range(1, 4)]
        rows.append([f"`--steps {steps}`", percent(values)])
    table("Sequences right by steps, 3 seeds", ["", "right"], rows)
    rows = []
    for max_len in (10, 20, 50, 100):
        _, inputs, answers = batch(1, 2000, max_len=max_len)
        values = [right(trained("1", s, "--max_len", max_len)[0](inputs)[0], answers) for s in range(1, 4)]
        rows.append([f"`--max_len {max_len}`", percent(values)])
    table("Sequences right by length trained at, 3 seeds", ["", "right"], rows)
    rows = []
    for hidden in (2, 4, 8, 16):
        _, inputs, answers = batch(1)
        values = [right(trained("1", s, "--hidden", hidden)[0](inputs)[0], answers) for s in range(1, 4)]
        rows.append([f"`--hidden {hidden}`", percent(values)])
    table("Sequences right by hidden, 3 seeds", ["", "right"], rows)
    for text in ("AAAAAAAAAA", "AAAA", "AABB"):
        print(f"\n--input {text}: {[predict(1, model, text) for model in models]}")
    draw_run("1", "", "--seed", "1")


def lesson_2():
    """Difference: with and without self-attention, and what step 3 attends to."""
    variants = ("2", "2 --self_att")
    curves = {variant: np.array([trained(variant, seed)[1] for seed in SEEDS]) for variant in variants}
    steps = (200, 400, 600, 800, 1000)
    rows = []
    for step in steps:
        rows.append([step, *(spread(curves[variant][:, step // 50 - 1, 1]) for variant in variants)])
    table("Loss at equal steps", ["step", *variants], rows)
    figure, plane = axes("Self-attention learns faster", "Training step", "Loss (nats per output step)")
    for variant, colour in zip(variants, COLOURS, strict=False):
        draw_curves(plane, curves[variant], f"Task {variant}", colour)
    plane.legend()
    save(figure, 2, "losses")

    plain = [trained("2", seed)[0] for seed in SEEDS]
    models = [trained("2 --self_att", seed)[0] for seed in SEEDS]
    _, inputs, answers = batch(2)
    rows = []
    for variant, group in zip(variants, (plain, models), strict=True):
        correct = [np.argmax(model(inputs)[0], axis=-1) == answers for model in group]
        parts = ([0, 1, 2], 3)  # the counts, the difference
        rows.append([variant, *(percent(one[:, part].mean() for one in correct) for part in parts)])
        by_letter = np.array([weights_by_letter(model) for model in group])
        rows[-1] += [spread(by_letter[:, letter], "{:.3f}") for letter in (1, 2, 3, 0)]
    head = ["variant", "counts right", "difference right", "on an 'A'", "on a 'B'", "on a 'C'", "on a blank"]
    table("Encoder-decoder attention of the difference step", head, rows)

    found = np.array([larger_smaller_itself(model) for model in models])
    names = ("larger count", "smaller count", "itself", "larger count wins")
    rows = [[name, spread(column, "{:.3f}")] for name, column in zip(names, found.T, strict=True)]
    table("Self-attention of step 3, counts that differ", ["", "weight"], rows)
    means = np.array([model(inputs)[2].numpy()[:, 3].mean(axis=0) for model in models])
    rows = [[step, spread(means[:, step], "{:.3f}")] for step in range(4)]
    table("Self-attention of step 3, averaged over all inputs", ["step", "weight"], rows)

    figure, plane = axes("What the difference step attends to", "A − B", "Self-attention weight of step 3")
    difference = answers[:, 0] - answers[:, 1]
    points = np.arange(-6, 7)
    labels = ("step 0, count of A", "step 1, count of B", None, "step 3, itself")
    for step, colour in zip((0, 1, 3), COLOURS, strict=False):
        lines = np.array(
            [[model(inputs)[2].numpy()[difference == d, 3, step].mean() for d in points] for model in models]
        )
        plane.plot(points, lines.mean(axis=0), marker="o", color=colour, label=labels[step])
        plane.fill_between(points, lines.min(axis=0), lines.max(axis=0), color=colour, alpha=0.2)
    plane.legend()
    save(figure, 2, "step_3")

    scores = np.array([sum_in_step_3(model) for model in models])
    print(
        f"\nR² of a linear fit to step 3 before self-attention: A + B {spread(scores[:, 0], '{:.3f}')}, "
        f"|A − B| {spread(scores[:, 1], '{:.3f}')}"
    )
    rows = []
    changes = (
        ("none", lambda weights: weights),
        ("steps 0 and 1 exchanged", swapped),
        ("none on the smaller count", without_smaller),
        ("none on itself", without_itself),
    )
    large = answers[:, 3] >= 2
    for name, change in changes:
        predictions = [intervene(model, inputs, change) for model in models]
        rows.append([name, percent((one == answers[:, 3]).mean() for one in predictions)])
        rows[-1].append(percent((one[large] == answers[large, 3]).mean() for one in predictions))
        rows[-1].append(spread(one[large].mean() for one in predictions))
    head = ["change", "difference right", "right where it is 2 or more", "mean prediction there"]
    table(f"Interventions; the mean of the true difference is {answers[large, 3].mean():.2f}", head, rows)
    rows = []
    for steps in (1000, 4000):
        groups = [[trained(v, s, "--steps", steps)[0] for s in range(1, 4)] for v in variants]
        cells = [percent(right(model(inputs)[0], answers) for model in group) for group in groups]
        rows.append([f"`--steps {steps}`", *cells])
    table("Sequences right by steps, 3 seeds", ["", *variants], rows)
    for text in ("AABBCC    ", "AAAAAAAACC"):
        print(f"\n--input {text!r}: {[predict(2, model, text) for model in models]}")
        row = np.array([model(encode(2, text))[2].numpy()[0, 3] for model in models])
        print("weights of step 3:", *(spread(row[:, step]) for step in range(4)), sep="  ")
    draw_run("2", "", "--seed", "1", "--input", "ABB CBACBC")
    draw_run("2 --self_att", "_self", "--seed", "1", "--input", "ABB CBACBC")


def lesson_3():
    """Signal: the bound without positions, the signal's weight with them, encoder layers."""
    least, most = bound()
    print(f"\nBound without positions: {least:.4f} nats, {100 * most:.2f}% right")
    rows = []
    for steps, seeds in ((2000, SEEDS), (10000, range(1, 4))):
        values = np.array([loss_on_new_data(trained("3", s, "--steps", steps)[0]) for s in seeds])
        rows.append([f"`--steps {steps}`", spread(values[:, 0], "{:.3f}"), percent(values[:, 1])])
    table("Without positions, on 50,000 new sequences", ["", "loss", "right"], rows)
    positions = [trained("3 --pos_enc", seed) for seed in SEEDS]
    blind = [trained("3", seed) for seed in SEEDS]
    figure, plane = axes("Positions make the difference", "Training step", "Loss (nats)")
    for label, group, colour in zip(("--pos_enc", "without"), (positions, blind), COLOURS, strict=False):
        draw_curves(plane, np.array([losses for _, losses in group]), label, colour)
    plane.axhline(least, color="black", linestyle="--", label=f"bound without positions, {least:.4f}")
    plane.legend()
    save(figure, 3, "losses")

    rows = []
    for name, group in (("without", blind), ("--pos_enc", positions)):
        found = np.array([weight_on_signal(model) for model, _ in group])
        rows.append([name, *(spread(column, "{:.3f}") for column in found.T)])
    table("Encoder-decoder attention", ["", "on the signal", "on any other step"], rows)
    norms = np.array([np.linalg.norm(model.positional_encoding[0], axis=-1) for model, _ in positions])
    print(f"\nNorms: step 0 {spread(norms[:, 0])}, other steps {spread(norms[:, 1:].ravel())}")
    rows = []
    for name, group in (("without", blind), ("--pos_enc", positions)):
        found = np.array([encoder_from_signal(model) for model, _ in group])
        rows.append([name, *(spread(column, "{:.3f}") for column in found.T)])
    head = ["", "itself", "each letter like it", "each other letter"]
    table("Encoder self-attention, row of the signal", head, rows)
    for name, group in (("without", blind), ("--pos_enc", positions)):
        scores = spread((count_in_encoding(model) for model, _ in group), "{:.3f}")
        print(f"\nR² of a linear fit of a letter's count to its encoding, {name}: {scores}")
    _, inputs, answers = batch(3)
    rows = []
    for layers in (0, 1, 2, 6):
        flags = () if layers == 1 else ("--enc_layers", layers)
        runs = [trained("3 --pos_enc", seed, *flags) for seed in range(1, 4)]
        rows.append([f"`--enc_layers {layers}`", spread((losses[-1][1] for _, losses in runs), "{:.3f}")])
        rows[-1].append(percent(right(model(inputs)[0], answers) for model, _ in runs))
        rows[-1].append(spread(weight_on_signal(model)[0] for model, _ in runs))
    table("Encoder layers, 3 seeds", ["", "loss", "right", "weight on the signal"], rows)
    for text in ("BBABCCABCAB", "ABABCCABCAB", "BBABC"):
        for name, group in (("without", blind), ("--pos_enc", positions)):
            print(f"\n--input {text}, {name}: {[predict(3, model, text)[0] for model, _ in group]}")
    draw_run("3", "", "--seed", "1", "--input", "BBABCCABCAB")
    draw_run("3 --pos_enc", "_pos", "--seed", "1", "--input", "BBABCCABCAB")


def main():
    """Print the tables and draw the figures of one lesson, or of all and the table of results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    lessons = {1: lesson_1, 2: lesson_2, 3: lesson_3}
    parser.add_argument("--lesson", type=int, choices=lessons, help="only this one (all)")
    chosen = parser.parse_args().lesson
    if chosen is None:
        results()
    for number in [chosen] if chosen else lessons:
        print(f"\n## Lesson {number}")
        lessons[number]()


if __name__ == "__main__":
    main()
