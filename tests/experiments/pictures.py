"""The pictures of the lessons that main.py does not draw, WIDTH pixels wide, into the images/ folders.

`draw(task, trained)` draws those of one lesson; by_hand.py has those of the examples computed by hand.
"""

import itertools

import matplotlib.animation
import matplotlib.pyplot as pyplot
import matplotlib.ticker
import numpy as np

from . import edits, lesson_1, lesson_2, lesson_3, measuring

WIDTH = 1680
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Of Okabe and Ito (2008).
STYLE = {"font.size": 15, "lines.linewidth": 2.5, "lines.markersize": 8, "legend.title_fontsize": 13}
SHOWN = {1: " BC CBBAA ", 2: "ABB CBACBC", 3: "BBABCCABCAB"}  # The sequences that the lessons show.
COUNTS = ["count of A", "count of B", "count of C"]
POSITIONS = {"without positions": lesson_3.PLAIN, "with --pos_enc": lesson_3.MARKED}
FORMING = [*range(25, 600, 25), *range(600, 2001, 350)]  # The training steps of the animation.


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


def draw_weights(plane, weights, rows, columns, highest, title):
    """Draw attention weights, float (rows, columns), with a number in each cell. Return the image."""
    image = plane.imshow(weights, vmin=0, vmax=highest, cmap="viridis", aspect="auto")
    plane.set_title(title, loc="left")
    plane.set_xticks(range(len(columns)), ["␣" if name == " " else name for name in columns])
    plane.set_yticks(range(len(rows)), rows)
    for (row, column), weight in np.ndenumerate(weights):
        colour = "black" if weight > highest / 2 else "white"
        plane.text(column, row, f"{weight:.2f}".removeprefix("0"), ha="center", va="center", color=colour)
    return image


def draw_shown(trained, run, output, rows, name, columns=None, across="Input (␣ is the blank)", down=""):
    """Draw the heatmap of the model of seed 1 for the sequence that the lesson shows.

    The weights are the output-th of what the model gives; of a list, the first. The names of the columns are
    the letters where they are not given.
    """
    inputs = measuring.spell(run.task, SHOWN[run.task]).inputs
    weights = trained.models(run, [1])[0](inputs)[output]
    weights = (weights[0] if isinstance(weights, list) else weights).numpy()[0]
    figure, plane = pyplot.subplots(figsize=(8, 1.5 + 0.6 * len(rows)), layout="constrained")
    title = "Attention weights of one training"
    figure.colorbar(draw_weights(plane, weights, rows, columns or SHOWN[run.task], weights.max(), title))
    plane.set(xlabel=across, ylabel=down)
    save(figure, run.task, name)


# --- The models, as diagrams ----------------------------------------------------------------------------

DATA, LEARNT, RULE = "#eeeeee", "#cfe3f1", "#fbe3d0"
COLOUR_NAMES = {LEARNT: "blue: has learnt weights", RULE: "orange: a fixed rule", DATA: "grey: data"}
DIAGRAMS = {
    # A name to its place, colour and text; then the arrows: from, to, what flows, and how much they bend.
    1: (
        {
            "letters": (0, 6, DATA, "␣  B  C  ␣  C  B  B  A  A  ␣"),
            "key_layer": (0, 5, LEARNT, "key_layer, dense:\na key for each letter"),
            "query": (-3.1, 4, LEARNT, "query, learnt:\nfor A, for B, for C"),
            "softmax": (0, 4, RULE, "softmax of\nquery · keyᵀ / √64"),
            "mixture": (0, 3, RULE, "weights · value"),
            "norm": (0, 2, LEARNT, "add the query,\nlayer normalization"),
            "logits": (0, 1, LEARNT, "logits_layer, dense"),
            "answer": (0, 0, DATA, "A: 2    B: 3    C: 2"),
        },
        [
            ("letters", "key_layer", "one-hot, 10 × 4", 0),
            ("key_layer", "softmax", "key, 10 × 64", 0),
            ("query", "softmax", "3 × 64", 0),
            ("softmax", "mixture", "weights, 3 × 10", 0),
            ("key_layer", "mixture", "value = key\n10 × 64", 1),
            ("mixture", "norm", "mixture, 3 × 64", 0),
            ("query", "norm", "3 × 64", -1),
            ("norm", "logits", "decoding, 3 × 64", 0),
            ("logits", "answer", "3 × 11 logits: the largest tells the count", 0),
        ],
    ),
    2: (
        {
            "letters": (0, 5, DATA, "A  B  B  ␣  C  B  A  C  B  C"),
            "key_layer": (0, 4, LEARNT, "key_layer, dense:\na key for each letter"),
            "query": (-3.1, 3, LEARNT, "query, learnt: for A,\nB, C and |A − B|"),
            "attention": (0, 3, LEARNT, "attention,\nas in Lesson 1"),
            "heat": (3.1, 3, DATA, "encoder-decoder\nheatmap"),
            "self": (0, 2, LEARNT, "with --self_att:\nself_attention"),
            "self heat": (3.1, 2, DATA, "self-attention\nheatmap"),
            "logits": (0, 1, LEARNT, "logits_layer, dense"),
            "answer": (0, 0, DATA, "A: 2    B: 4    C: 3    |A − B|: 2"),
        },
        [
            ("letters", "key_layer", "one-hot, 10 × 4", 0),
            ("key_layer", "attention", "key = value, 10 × 64", 0),
            ("query", "attention", "4 × 64", 0),
            ("attention", "heat", "4 × 10", 0),
            ("attention", "self", "query = key = value: the decoding, 4 × 64", 0),
            ("self", "self heat", "4 × 4", 0),
            ("self", "logits", "decoding, 4 × 64", 0),
            ("logits", "answer", "4 × 11 logits: the largest tells the number", 0),
        ],
    ),
    3: (
        {
            "letters": (0, 6, DATA, "B  B  A  B  C  C  A  B  C  A  B"),
            "embedding": (0, 5, LEARNT, "embedding, dense"),
            "positions": (-3.1, 4, LEARNT, "with --pos_enc: learnt\npositional_encoding"),
            "add": (0, 4, RULE, "add"),
            "encoder": (0, 3, LEARNT, "encoder layer:\nself-attention, then\ntwo dense layers"),
            "encoder heat": (3.1, 3, DATA, "heatmap of\nthe encoder"),
            "query": (-3.1, 2, LEARNT, "query, learnt:\none"),
            "attention": (0, 2, LEARNT, "attention,\nas in Lesson 1"),
            "heat": (3.1, 2, DATA, "encoder-decoder\nheatmap"),
            "logits": (0, 1, LEARNT, "logits_layer, dense"),
            "answer": (0, 0, DATA, "B: 4"),
        },
        [
            ("letters", "embedding", "one-hot, 11 × 3; the first is the signal", 0),
            ("embedding", "add", "11 × 64", 0),
            ("positions", "add", "11 × 64", 0),
            ("add", "encoder", "query = key = value, 11 × 64", 0),
            ("encoder", "encoder heat", "11 × 11", 0),
            ("encoder", "attention", "key = value, 11 × 64", 0),
            ("query", "attention", "1 × 64", 0),
            ("attention", "heat", "1 × 11", 0),
            ("attention", "logits", "decoding, 1 × 64", 0),
            ("logits", "answer", "1 × 11 logits: the largest tells the count", 0),
        ],
    ),
}


def draw_diagram(task):
    """Draw the way of the sequence that the lesson shows through the model of its task, with all shapes."""
    boxes, arrows = DIAGRAMS[task]
    highest = max(place[1] for place in boxes.values())
    figure, plane = pyplot.subplots(figsize=(10, 1.4 * (highest + 1)), layout="constrained")
    plane.set(xlim=(-4.5, 4.5), ylim=(-0.4, highest + 0.4))
    plane.axis("off")
    patches, spans = {}, {}
    for name, (across, up, colour, text) in boxes.items():
        box = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#666666"}
        label = plane.text(across, up, text, ha="center", va="center", bbox=box, zorder=3, fontsize=17)
        patches[name] = label.get_bbox_patch()
    figure.canvas.draw()  # Now the boxes have their sizes, and the arrows can end at them.
    for name, patch in patches.items():
        spans[name] = patch.get_window_extent().transformed(plane.transData.inverted()).intervalx
    for start, end, text, bend in arrows:
        tail, head = np.array(boxes[start][:2]), np.array(boxes[end][:2])
        style = {"patchA": patches[start], "patchB": patches[end], "shrinkA": 1, "shrinkB": 1}
        style |= {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.5}
        place, side = (tail + head) / 2 + (0.1, 0), "left"
        if bend == 1:  # Around the box between them, on its right.
            style["connectionstyle"] = "arc,angleA=0,angleB=0,armA=340,armB=340,rad=8"
            place += (1.8, 0)
        elif bend == -1:  # Down, then to the right.
            style["connectionstyle"] = "angle,angleA=-90,angleB=180,rad=8"
            place = np.array([tail[0] + 0.1, head[1] + 0.15])
        elif tail[1] == head[1]:  # Above the arrow, between the boxes.
            place = np.array([np.sort([*spans[start], *spans[end]])[1:3].mean(), head[1] + 0.15])
            side = "center"
        plane.annotate("", head, tail, arrowprops=style, zorder=1)
        plane.text(*place, text, fontsize=15, va="center", ha=side, style="italic", zorder=4)
    used = {colour for _, _, colour, _ in boxes.values()}
    legend = "\n".join(name for colour, name in COLOUR_NAMES.items() if colour in used)
    plane.text(-4.4, 0, legend, fontsize=15, va="center")
    save(figure, task, "diagram")


# --- Lesson 1 -------------------------------------------------------------------------------------------


def draw_forming(trained):
    """Draw the heatmap of Task 1 while it forms, as a figure and as an animation."""
    inputs = measuring.spell(1, SHOWN[1]).inputs
    found = {0: np.full((3, 10), 0.1)}  # The queries are zeros at the start: all keys are alike to them.
    runs = {step: lesson_1.run(flags=f"--steps {step}") for step in FORMING}
    trained.train([(run, [1]) for run in runs.values()])
    for step, run in runs.items():
        found[step] = trained.models(run, [1])[0](inputs)[1].numpy()[0]
    highest = max(weights.max() for weights in found.values())
    figure, planes = pyplot.subplots(4, 1, figsize=(8, 10), layout="constrained")
    for plane, step in zip(planes, (0, 200, 500, 2000), strict=True):
        image = draw_weights(plane, found[step], COUNTS, SHOWN[1], highest, f"Training step {step}")
    planes[-1].set_xlabel("Input (␣ is the blank)")
    figure.colorbar(image, ax=planes, label="Attention weight")
    save(figure, 1, "attention_forming")

    figure, plane = pyplot.subplots(figsize=(8, 3.2), layout="constrained")
    figure.colorbar(draw_weights(plane, found[0], COUNTS, SHOWN[1], highest, ""), label="Attention weight")

    def draw_frame(step):
        plane.clear()
        draw_weights(plane, found[step], COUNTS, SHOWN[1], highest, f"Training step {step}")

    path = edits.script(1).parent / "images" / "attention_forming.gif"
    frames = [*[0] * 15, *found, *[2000] * 30]  # At ten in a second.
    movie = matplotlib.animation.FuncAnimation(figure, draw_frame, frames)
    movie.save(path, matplotlib.animation.PillowWriter(10), dpi=160)
    pyplot.close(figure)


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
    rows = {"main.py: an average": (lesson_1.run(), lesson_1.TEN), "C: a sum": lesson_1.APART[lesson_1.SUM]}
    curves = {label: lesson_1.curves_by_length(trained, row) for label, row in rows.items()}
    for number, name in enumerate(("lengths", "lengths_sum"), start=1):
        title = "Trained at length 10, tested at others"
        figure, plane = new_axes(title, "--sample_len", "Sequences right")
        label = "predicted: 10 · n / length rounds to n"
        plane.plot(lesson_1.LENGTHS, predicted, color="black", ls=":", label=label)
        for (label, curve), colour in zip([*curves.items()][:number], COLOURS, strict=False):
            draw_range(plane, lesson_1.LENGTHS, curve, label, colour, marker="o")
        plane.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        add_legend(figure, len(lesson_1.TEN))
        save(figure, 1, name)


# --- Lesson 2 -------------------------------------------------------------------------------------------


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


# --- Lesson 3 -------------------------------------------------------------------------------------------


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


# --- All ------------------------------------------------------------------------------------------------


@pyplot.rc_context(STYLE)
def draw(task, trained):
    """Draw all pictures of a lesson, with the models of a trainings.Trainings."""
    draw_diagram(task)
    if task == 1:
        draw_shown(trained, lesson_1.run(), 1, COUNTS, "encoder_decoder_attention")
        draw_forming(trained)
        draw_counting_curve(trained)
        draw_lengths(trained)
    elif task == 2:
        steps, titles = ["A", "B", "C", "|A − B|"], ("Output step that is asked", "Output step that asks")
        draw_shown(trained, lesson_2.ASKING, 2, steps, "self_attention_self", steps, *titles)
        draw_step_3(trained)
    else:
        letters, titles = list(SHOWN[3]), ("Letter that is looked at", "Letter that looks")
        draw_shown(trained, lesson_3.MARKED, 2, letters, "encoder_self_attention_pos", letters, *titles)
        draw_orders(trained)
        draw_losses(trained)
