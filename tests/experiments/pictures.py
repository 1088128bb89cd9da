"""The pictures of the lessons, WIDTH pixels wide, into the images/ folders.

`draw(task, trained)` draws those of one lesson; by_hand.py has those of the examples computed by hand.
"""

import itertools

import matplotlib.pyplot as pyplot
import matplotlib.ticker
import numpy as np

from . import edits, lesson_1, lesson_2, lesson_3, measuring

WIDTH = 1680
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Of Okabe and Ito (2008).
STYLE = {"font.size": 15, "lines.linewidth": 2.5, "lines.markersize": 8, "legend.title_fontsize": 13}
SHOWN = {1: lesson_1.SHOWN, 2: "ABB CBACBC", 3: "BBABCCABCAB"}  # The sequences that the lessons show.
COUNTS = ["count of A", "count of B", "count of C"]
POSITIONS = {"without positions": lesson_3.PLAIN, "with --pos_enc": lesson_3.MARKED}
FORMING = (200, 500, 2000)  # Training steps.


def save(figure, task, name):
    """Write a figure to the images of a task."""
    path = edits.script(task).parent / "images" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=WIDTH / figure.get_figwidth(), metadata={"Software": None})
    pyplot.close(figure)


def new_axes(title, across, down):
    """Return a new figure and its axes."""
    figure, plane = pyplot.subplots(figsize=(8, 5.5), layout="constrained")
    plane.set(title=title, xlabel=across, ylabel=down)
    plane.xaxis.get_major_locator().set_params(integer=True)
    plane.grid(alpha=0.3)
    return figure, plane


def add_legend(figure, number, *, band=True, middle="Mean"):
    """Put the legend of a figure, of a number of trainings, below it, where it hides no curve."""
    title = f"{middle} of {number} trainings" + ("; band: least to most" if band else "")
    figure.legend(title=title, loc="outside lower center", ncols=2, fontsize=13)


def draw_range(plane, across, curves, label, colour, middle=np.mean, **options):
    """Draw the middle of curves, float (seeds, points), and a shaded band from the least to the most."""
    plane.plot(across, middle(curves, axis=0), color=colour, label=label, **options)
    plane.fill_between(across, np.min(curves, axis=0), np.max(curves, axis=0), color=colour, alpha=0.2, lw=0)


def draw_weights(plane, weights, rows, columns, highest, title, *, numbers=True):
    """Draw attention weights, float (rows, columns), also as a number in each cell. Return the image."""
    image = plane.imshow(weights, vmin=0, vmax=highest, cmap="viridis", aspect="auto")
    plane.set_title(title, loc="left")
    plane.set_xticks(range(len(columns)), ["␣" if name == " " else name for name in columns])
    plane.set_yticks(range(len(rows)), rows)
    for (row, column), weight in np.ndenumerate(weights) if numbers else ():
        colour = "black" if weight > highest / 2 else "white"
        plane.text(column, row, f"{weight:.2f}".removeprefix("0"), ha="center", va="center", color=colour)
    return image


def draw_shown(trained, run, output, rows, name, columns=None, across="Input (␣ is the blank)", down=""):
    """Draw the heatmap of the model of seed 1 for the sequence that the lesson shows.

    The weights are the output-th of what the model gives. The names of the columns are the letters where they
    are not given.
    """
    inputs = measuring.spell(run.task, SHOWN[run.task]).inputs
    weights = trained.models(run, [1])[0](inputs)[output].numpy()[0]
    figure, plane = pyplot.subplots(figsize=(8, 1.5 + 0.6 * len(rows)), layout="constrained")
    title = "Attention weights of one training"
    figure.colorbar(draw_weights(plane, weights, rows, columns or SHOWN[run.task], weights.max(), title))
    plane.set(xlabel=across, ylabel=down)
    save(figure, run.task, name)


DATA, LEARNT, RULE = "#eeeeee", "#cfe3f1", "#fbe3d0"
COLOUR_NAMES = {LEARNT: "blue: has learnt weights", RULE: "orange: a fixed rule", DATA: "grey: data"}
DIAGRAMS = {
    # From top to bottom: colour, text, what flows on. Beside it: number from the top, left (-1) or right (1),
    # colour, text, what flows; to the right it flows out. Around: from, to, what flows.
    1: (
        [
            (DATA, "␣  B  C  ␣  C  B  B  A  A  ␣", "one-hot, 10 × 4"),
            (LEARNT, "key_layer, dense:\na key for each letter", "key, 10 × 64"),
            (RULE, "softmax of\nquery · keyᵀ / √64", "weights, 3 × 10"),
            (RULE, "weights · value", "mixture, 3 × 64"),
            (LEARNT, "add the query,\nlayer normalization", "decoding, 3 × 64"),
            (LEARNT, "logits_layer, dense", "3 × 11 logits: the largest tells the count"),
            (DATA, "A: 2    B: 3    C: 2", ""),
        ],
        [
            (2, -1, LEARNT, "query, learnt:\nfor A, for B, for C", "3 × 64"),
            (4, -1, LEARNT, "the same query", "3 × 64"),
        ],
        [(1, 3, "value = key\n10 × 64")],
    ),
    2: (
        [
            (DATA, "A  B  B  ␣  C  B  A  C  B  C", "one-hot, 10 × 4"),
            (LEARNT, "key_layer, dense:\na key for each letter", "key = value, 10 × 64"),
            (LEARNT, "attention,\nas in Lesson 1", "query = key = value: the decoding, 4 × 64"),
            (LEARNT, "with --self_att:\nself_attention", "decoding, 4 × 64"),
            (LEARNT, "logits_layer, dense", "4 × 11 logits: the largest tells the number"),
            (DATA, "A: 2    B: 4    C: 3    |A − B|: 2", ""),
        ],
        [
            (2, -1, LEARNT, "query, learnt:\nA, B, C, |A − B|", "4 × 64"),
            (2, 1, DATA, "encoder-decoder\nheatmap", "4 × 10"),
            (3, 1, DATA, "self-attention\nheatmap", "4 × 4"),
        ],
        [],
    ),
    3: (
        [
            (DATA, "B  B  A  B  C  C  A  B  C  A  B", "one-hot, 11 × 3; the first is the signal"),
            (LEARNT, "embedding, dense", "11 × 64"),
            (RULE, "add", "query = key = value, 11 × 64"),
            (LEARNT, "encoder layer:\nself-attention, then\ntwo dense layers", "key = value, 11 × 64"),
            (LEARNT, "attention,\nas in Lesson 1", "decoding, 1 × 64"),
            (LEARNT, "logits_layer, dense", "1 × 11 logits: the largest tells the count"),
            (DATA, "B: 4", ""),
        ],
        [
            (2, -1, LEARNT, "with --pos_enc:\npositional_encoding,\nlearnt", "11 × 64"),
            (3, 1, DATA, "heatmap of\nthe encoder", "11 × 11"),
            (4, -1, LEARNT, "query, learnt:\none", "1 × 64"),
            (4, 1, DATA, "encoder-decoder\nheatmap", "1 × 11"),
        ],
        [],
    ),
}


def draw_diagram(task):
    """Draw the way of the sequence that the lesson shows through the model of its task, with all shapes."""
    chain, beside, around = DIAGRAMS[task]
    figure, plane = pyplot.subplots(figsize=(10, 1.4 * len(chain)), layout="constrained")
    plane.set(xlim=(-4.5, 4.5), ylim=(0.6 - len(chain), 0.4))
    plane.axis("off")

    def box(across, down, colour, text):
        style = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#666666"}
        words = {"ha": "center", "va": "center", "fontsize": 17, "zorder": 3}
        return plane.text(across, -down, text, bbox=style, **words)

    def arrow(tail, head, text, place, bend="arc3", side="left"):
        style = {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.5, "connectionstyle": bend}
        style |= {
            "patchA": tail.get_bbox_patch(),
            "patchB": head.get_bbox_patch(),
            "shrinkA": 1,
            "shrinkB": 1,
        }
        plane.annotate("", head.get_position(), tail.get_position(), arrowprops=style, zorder=1)
        plane.text(*place, text, fontsize=15, va="center", ha=side, style="italic", zorder=4)

    boxes = [box(0, down, colour, text) for down, (colour, text, _) in enumerate(chain)]
    for down, (_, _, text) in enumerate(chain[:-1]):
        arrow(boxes[down], boxes[down + 1], text, (0.1, -down - 0.5))
    for down, side, colour, text, flows in beside:
        ends = box(3.3 * side, down, colour, text), boxes[down]
        arrow(*ends[::-side], flows, (1.65 * side, 0.15 - down), side="center")
    for start, end, text in around:
        bend = "arc,angleA=0,angleB=0,armA=340,armB=340,rad=8"
        arrow(boxes[start], boxes[end], text, (1.9, -(start + end) / 2), bend)
    used = {colour for _, _, colour, _, _ in beside} | {colour for colour, _, _ in chain}
    legend = "\n".join(name for colour, name in COLOUR_NAMES.items() if colour in used)
    plane.text(-4.4, 1 - len(chain), legend, fontsize=15, va="center")
    save(figure, task, "diagram")


def draw_forming(trained):
    """Draw the heatmap of Task 1 while it forms."""
    figure, planes = pyplot.subplots(4, 1, figsize=(8, 10), layout="constrained")
    weights, inputs = np.full((3, 10), 0.1), measuring.spell(1, SHOWN[1]).inputs
    for plane, step in zip(planes, (0, *FORMING), strict=True):
        if step:  # The queries are zeros at the start: all keys are alike to them.
            weights = trained.models(lesson_1.run(flags=f"--steps {step}"), [1])[0](inputs)[1].numpy()[0]
        image = draw_weights(plane, weights, COUNTS, SHOWN[1], 0.25, f"Training step {step}")
    planes[-1].set_xlabel("Input (␣ is the blank)")
    figure.colorbar(image, ax=planes, label="Attention weight")
    save(figure, 1, "attention_forming")


def draw_lineup(trained):
    """Draw three heatmaps of one sequence without their names: flat, learnt, nearly perfect."""
    figure, planes = pyplot.subplots(3, 1, figsize=(8, 7.5), layout="constrained")
    for number, (plane, weights) in enumerate(zip(planes, lesson_1.lineup(trained).values(), strict=True)):
        image = draw_weights(plane, weights, COUNTS, SHOWN[1], 0.5, f"Model {number + 1}")
    planes[-1].set_xlabel("Input (␣ is the blank)")
    figure.colorbar(image, ax=planes, label="Attention weight (mean of 10 trainings)")
    save(figure, 1, "lineup")


def draw_counting_curve(trained):
    """Draw how the total weight of output step 0 on 'A' grows with their number: formula and measured."""
    group = trained.models(*lesson_1.APART[lesson_1.MAIN])
    blank, letter = np.exp(np.log([lesson_1.ratios(model) for model in group]).mean(axis=0))
    masses = np.array([lesson_1.mass_by_count(model) for model in group])
    across = "How often 'A' occurs in ten letters"
    figure, plane = new_axes("How a weight counts", across, "Total weight on 'A'")
    plane.plot(lesson_1.mass_formula(range(11), blank, letter), color=COLOURS[0], label="formula")
    plane.plot(masses.mean(axis=0), "o", color=COLOURS[0], label="measured")
    plane.plot(np.arange(11) / 10, ls="--", color=COLOURS[1], label="equal weights: n / 10")
    add_legend(figure, len(group), band=False)
    save(figure, 1, "counting_curve")


def draw_lengths(trained):
    """Draw what models that were trained at length 10 say at other lengths: an average, then also a sum."""
    predicted = [lesson_1.predicted_at(length) for length in lesson_1.LENGTHS]
    rows = {"main.py: an average": lesson_1.APART[lesson_1.MAIN], "C: a sum": lesson_1.APART[lesson_1.SUM]}
    curves = {label: lesson_1.curves_by_length(trained, row) for label, row in rows.items()}
    figure, plane = new_axes("Trained at length 10, tested at others", "--sample_len", "Sequences right")
    label = "predicted: 10 · n / length rounds to n"
    plane.plot(lesson_1.LENGTHS, predicted, color="black", ls=":", label=label)
    for (label, curve), colour in zip(curves.items(), COLOURS, strict=False):
        draw_range(plane, lesson_1.LENGTHS, curve, label, colour, marker="o")
    plane.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
    add_legend(figure, len(lesson_1.TEN))
    save(figure, 1, "lengths")


def draw_step_3(trained):
    """Draw to which output steps the difference attends, over A − B."""
    points, group = range(-6, 7), trained.models(*lesson_2.APART["`--self_att`"])
    curves = np.array([lesson_2.weights_over_difference(model, points) for model in group])
    figure, plane = new_axes("What the difference step attends to", "A − B", "Self-attention weight")
    labels = ("the count of A", "the count of B", "the count of C", "itself")
    for step, (label, colour) in enumerate(zip(labels, COLOURS, strict=False)):
        draw_range(plane, points, curves[..., step], label, colour, marker="o")
    add_legend(figure, len(group))
    save(figure, 2, "step_3")


def draw_orders(trained):
    """Draw the decoder's weights on two orders of the same letters, without and with positions."""
    found = []
    for (label, run), text in itertools.product(POSITIONS.items(), ("BBABCCABCAB", "CBABBCABCAB")):
        inputs, group = measuring.spell(3, text).inputs, trained.models(run, lesson_3.TEN)
        found.append((label, text, np.mean([model(inputs)[1].numpy()[0] for model in group], axis=0)))
    highest = max(weights.max() for _, _, weights in found)
    figure, planes = pyplot.subplots(len(found), 1, figsize=(8, 7), layout="constrained")
    for plane, (label, text, weights) in zip(planes, found, strict=True):
        image = draw_weights(plane, weights, [""], text, highest, f"{label}, signal '{text[0]}'")
    planes[-1].set_xlabel("The same letters in two orders; the first letter is the signal")
    figure.colorbar(image, ax=planes, label=f"Weight (mean of {len(group)} trainings)")
    save(figure, 3, "orders")


def draw_before_and_after(trained):
    """Draw how the encoder's letters look at each other, after one training step and after all."""
    inputs, letters = measuring.spell(3, SHOWN[3]).inputs, list(SHOWN[3])
    figure, planes = pyplot.subplots(1, 2, figsize=(10, 5.2), layout="constrained")
    runs = {"After one training step": lesson_3.BEFORE[lesson_3.MARKED], "After all 2,000": lesson_3.MARKED}
    for plane, (title, run) in zip(planes, runs.items(), strict=True):
        weights = trained.models(run, [1])[0](inputs)[2][0].numpy()[0]
        image = draw_weights(plane, weights, letters, letters, 0.13, title, numbers=False)
        plane.set(xlabel="Letter that is looked at", ylabel="Letter that looks")
    figure.colorbar(image, ax=planes, label="Attention weight", shrink=0.85)
    save(figure, 3, "before_and_after")


def draw_losses(trained):
    """Draw the loss curves without and with positions, and the bound."""
    figure, plane = new_axes("Positions make the difference", "Training step", "Loss (nats per output step)")
    for (label, run), colour in zip(POSITIONS.items(), COLOURS, strict=False):
        curves = np.array([trained.losses(run, seed) for seed in lesson_3.TEN])
        draw_range(plane, curves[0, :, 0], curves[..., 1], label, colour, np.median)
    bound = lesson_3.bound()[0]
    plane.axhline(bound, color="black", linestyle="--", label=f"the bound without order: {bound:.4f}")
    plane.set_yscale("log")
    add_legend(figure, len(lesson_3.TEN), middle="Median")
    save(figure, 3, "losses")


@pyplot.rc_context(STYLE)
def draw(task, trained):
    """Draw all pictures of a lesson, with the models of a trainings.Trainings."""
    draw_diagram(task)
    if task == 1:
        draw_shown(trained, lesson_1.run(), 1, COUNTS, "encoder_decoder_attention")
        draw_lineup(trained)
        draw_forming(trained)
        draw_counting_curve(trained)
        draw_lengths(trained)
    elif task == 2:
        steps, titles = ["A", "B", "C", "|A − B|"], ("Output step that is asked", "Output step that asks")
        draw_shown(trained, lesson_2.ASKING, 2, steps, "self_attention_self", steps, *titles)
        draw_step_3(trained)
    else:
        draw_before_and_after(trained)
        draw_orders(trained)
        draw_losses(trained)
