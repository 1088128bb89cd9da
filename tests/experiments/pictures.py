"""The pictures of the lessons, WIDTH pixels wide, into the images/ folders.

`draw(task, cache)` draws those of one lesson; by_hand.py has those of the examples computed by hand.
"""

import matplotlib.pyplot as pyplot
import numpy as np
from scipy import special

from . import lesson_1, lesson_2, lesson_3, measuring, programs

WIDTH = 1680
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Of Okabe and Ito (2008).
STYLE = {"font.size": 15, "lines.linewidth": 2.5, "lines.markersize": 8, "legend.title_fontsize": 13}
SHOWN = {1: lesson_1.SHOWN, 2: "BAAC BABAC", 3: "BBABCCABCAB"}  # The sequences that the lessons show.
TINTS = {"A": "#8cbfde", "B": "#f0a878", "C": "#8fd0b9"}  # Of the first three.
COUNTS = ["count of A", "count of B", "count of C"]
INPUT, ATTENDED = "Input step (␣ is the blank)", "Letter that is attended to; the first is the signal"
TEN, OF_TEN = range(1, 11), "median of 10 training runs"
POSITIONS = {"without positions": lesson_3.PLAIN, "with --pos_enc": lesson_3.POSITIONS}
LEFT = {"loc": "left", "fontsize": 15}
ENDS = {1: [0.5], 2: [0.3, 1]}  # The colours of heatmaps end at the first that no weight is above.


def save(figure, task, name):
    """Write a figure to the images of a task."""
    path = programs.script(task).parent / "images" / f"{name}.png"
    figure.savefig(path, dpi=WIDTH / figure.get_figwidth(), metadata={"Software": None})
    pyplot.close(figure)


def short(number):
    """Return a number as a lesson writes it: 1, 2.8, .12, .50, 4.055."""
    form = {number == round(number): "{:.0f}", number in (1.4, 2.8): "{:.1f}", 4 < number < 4.1: "{:.3f}"}
    return form.get(True, "{:.2f}").format(number).replace("0.", ".", 1).replace("-", "−")


def attention(cache, setup, text, output=1, seeds=TEN):
    """Return attention weights on a text, the output-th of what models give, float (seeds, rows, columns)."""
    inputs = measuring.spell(setup.task, text).inputs
    weights = [np.array(model(inputs)[output]) for model in cache.models(setup, seeds)]
    return np.stack([matrix.reshape(matrix.shape[-2:]) for matrix in weights])


def add_legend(figure, more="; band: least to most"):
    """Put the legend of a figure of ten training runs below it, where it hides nothing."""
    handles_and_labels = figure.axes[0].get_legend_handles_labels()
    title = f"{OF_TEN.capitalize()}{more}"
    figure.legend(*handles_and_labels, title=title, loc="outside lower center", ncols=2, fontsize=13)


def draw_curves(task, name, titles, points, curves, lines=(), **settings):
    """Draw the medians of curves, each in a band from the least to the most, and further lines.

    Dicts from a label: curves to float (seeds, points), lines to float (points,). Titles: above, across, up.
    """
    figure, plane = pyplot.subplots(figsize=(8, 5.5), layout="constrained")
    marker = "o" if len(points) < 30 else ""
    for (label, curve), colour in zip(curves.items(), COLOURS, strict=False):
        plane.plot(points, np.median(curve, axis=0), color=colour, label=label, marker=marker)
        plane.fill_between(points, *np.quantile(curve, (0, 1), axis=0), color=colour, alpha=0.2, lw=0)
    for (label, line), style in zip(dict(lines).items(), ("--", ":"), strict=False):
        plane.plot(points, line, style, color="black", label=label)
    plane.xaxis.get_major_locator().set_params(integer=True)
    plane.grid(alpha=0.3)
    plane.set(**dict(zip(("title", "xlabel", "ylabel"), titles, strict=True)), **settings)
    add_legend(figure)
    save(figure, task, name)


def draw_heatmaps(task, name, maps, rows, size, columns=None, across=INPUT, down=""):
    """Draw the medians of maps, a dict from a title to a text and float (seeds, rows, columns), as heatmaps.

    Rows and columns are lists of their names; without any, those of the columns are the letters of the text.
    """
    figure, planes = pyplot.subplots(len(maps), 1, figsize=size, layout="constrained", squeeze=False)
    most = max(np.median(weights, axis=0).max() for _, weights in maps.values())
    end = next(end for end in ENDS[task] if end >= round(most, 2))
    for plane, (title, (text, weights)) in zip(planes[:, 0], maps.items(), strict=True):
        image = plane.imshow(np.median(weights, axis=0), vmin=0, vmax=end, aspect="auto")
        plane.set_title(title, loc="left")
        plane.set_xticks(range(weights.shape[2]), columns or text.replace(" ", "␣"))
        plane.set_yticks(range(len(rows)), rows)
        for (row, column), weight in np.ndenumerate(image.get_array()):
            colour = "black" if weight > end / 2 else "white"
            plane.text(column, row, short(weight), ha="center", va="center", color=colour)
    plane.set(xlabel=across, ylabel=down)
    label = f"Attention weight ({OF_TEN if len(weights) > 1 else 'one training run'})"
    figure.colorbar(image, ax=planes, label=label)
    save(figure, task, name)


def draw_bars(plane, heights, names, title, colour=COLOURS[5]):
    """Draw bars with their heights as numbers above them."""
    plane.bar_label(plane.bar(range(len(names)), heights, color=colour), map(short, heights), fontsize=13)
    plane.set_title(title, **LEFT)
    plane.set_xticks(range(len(names)), names)
    plane.set(yticks=[], ylim=(0, 1.25 * max(heights)))
    plane.spines[["top", "left", "right"]].set_visible(False)


DATA, LEARNT, RULE = "#eeeeee", "#cfe3f1", "#fbe3d0"
COLOUR_NAMES = {LEARNT: "blue: learnt numbers", RULE: "orange: a fixed rule", DATA: "grey: data"}
# From top to bottom: colour, text, what flows on. Beside it: number from the top, left (-1) or right (1),
# colour, text, what flows; to the right it flows out.
CHAIN = [
    (DATA, "B  B  A  B  C  C  A  B  C  A  B", "one-hot, 11 × 3; the first is the signal"),
    (LEARNT, "embedding, dense", "11 × 64"),
    (RULE, "add", "query = key = value, 11 × 64"),
    (LEARNT, "encoder layer:\nself-attention, then\ndense, ReLU, dense", "key = value, 11 × 64"),
    (LEARNT, "attention,\nas in Lesson 1", "decoding, 1 × 64"),
    (LEARNT, "logits_layer, dense", "1 × 11 logits: the largest gives the count"),
    (DATA, "B: 4", ""),
]
BESIDE = [
    (2, -1, LEARNT, "with --pos_enc:\npositional_encoding,\nlearnt", "11 × 64"),
    (3, 1, DATA, "heatmap of\nthe encoder", "11 × 11"),
    (4, -1, LEARNT, "query, learnt:\none", "1 × 64"),
    (4, 1, DATA, "encoder-decoder\nheatmap", "1 × 11"),
]


def draw_diagram():
    """Draw the way of a sequence through the model of Task 3, with all shapes."""
    figure, plane = pyplot.subplots(figsize=(10, 1.4 * len(CHAIN)), layout="constrained")
    plane.set(xlim=(-4.5, 4.5), ylim=(0.6 - len(CHAIN), 0.4))
    plane.axis("off")

    def box(across, down, colour, text):
        style = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#666666"}
        place = {"ha": "center", "va": "center", "zorder": 3}
        return plane.text(across, -down, text, bbox=style, fontsize=17, **place)

    def arrow(tail, head, text, place, side="left"):
        style = {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.5}
        style |= {"patchA": tail.get_bbox_patch(), "patchB": head.get_bbox_patch(), "shrinkB": 1}
        plane.annotate("", head.get_position(), tail.get_position(), arrowprops=style, zorder=1)
        plane.text(*place, text, fontsize=15, va="center", ha=side, style="italic", zorder=4)

    boxes = [box(0, down, colour, text) for down, (colour, text, _) in enumerate(CHAIN)]
    for down, (_, _, text) in enumerate(CHAIN[:-1]):
        arrow(boxes[down], boxes[down + 1], text, (0.1, -down - 0.5))
    for down, side, colour, text, flows in BESIDE:
        ends = box(3.3 * side, down, colour, text), boxes[down]
        arrow(*ends[::-side], flows, (1.65 * side, 0.15 - down), side="center")
    plane.text(-4.4, 1 - len(CHAIN), "\n".join(COLOUR_NAMES.values()), fontsize=15, va="center")
    save(figure, 3, "diagram")


WORDS = {"fontsize": 21, "ha": "center", "va": "center"}
STRIPS = {"cmap": "coolwarm", "vmin": -1.2, "vmax": 1.2}  # Red above 0, blue below.


def sheet(width, height):
    """Return a figure of this size in inches and axes for words and arrows on all of it."""
    figure = pyplot.figure(figsize=(width, height))
    page = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
    page.axis("off")
    return figure, page


def place(page, left, low, wide, high, title="", frame=None):
    """Return axes at a place of a sheet, in inches, with a title above and a coloured frame."""
    width, height = page.get_xlim()[1], page.get_ylim()[1]
    plane = page.figure.add_axes((left / width, low / height, wide / width, high / height))
    plane.set(xticks=[], yticks=[])
    if frame:
        plane.spines[:].set(color=frame, linewidth=4)
    page.text(left + wide / 2, low + high + 0.35, title, **WORDS)
    return plane


def put(page, numbers, corner, size, title, frame, **look):
    """Draw an array as coloured cells at a place of a sheet and return its axes."""
    plane = place(page, *corner, *size, title, frame)
    plane.imshow(numbers, aspect="auto", **(look or STRIPS))
    return plane


def point(page, tail, head, text="", where=(0, 0), bend="arc3", **style):
    """Draw an arrow on a sheet, and a text in italics where it says."""
    look = {"arrowstyle": "-|>", "mutation_scale": 28, "linewidth": 2.5, "color": "#444444"}
    page.annotate("", head, tail, arrowprops=look | {"connectionstyle": bend})
    page.text(*where, text, **(WORDS | {"style": "italic", "fontsize": 18} | style))


def draw_arrays(cache):
    """Draw the arrays of one model of Task 1 on the shown sequence, as one multiplies them by hand."""
    text, (model,) = SHOWN[1], cache.models(lesson_1.setup(), [1])
    inputs = measuring.spell(1, text).inputs
    key = model.key_layer(inputs)
    hidden, weights = (array.numpy()[0] for array in model.attention(model.query, key, key))
    key, query = key.numpy()[0], model.query.numpy()[0]
    chances = special.softmax(model(inputs)[0].numpy()[0], axis=-1)
    blue, orange, green, yellow = (COLOURS[number] for number in (0, 1, 2, 4))
    _, page = sheet(16, 14.2)
    middle, left, right, strip = 5.5, 0.6, 11.6, (3.8, 1.5)  # Where columns begin, and the outer ones' size.
    title = "letters, one-hot: a column for each, 4 numbers"
    plane = put(page, inputs[0].T, (middle, 11.4), (5, 1.9), title, "#888888", cmap="Greys", vmax=1.6)
    plane.set_xticks(range(10), text.replace(" ", "␣"), fontsize=20)
    plane.set_yticks(range(4), "␣ABC", fontsize=20)
    title = "keys, which are the values, too: 64 numbers each"
    put(page, key.T, (middle, 7.2), (5, 2.6), title, blue)
    put(page, query, (left, 4.6), strip, "queries, learnt: 3 × 64", yellow)
    plane = put(page, weights, (middle, 4.6), (5, 1.5), "", orange, vmin=0, vmax=0.5)
    for (row, column), weight in np.ndenumerate(weights):
        plane.text(column, row, short(weight), ha="center", va="center", color="white", fontsize=15)
    put(page, weights @ key, (right, 4.6), strip, "weighted means: 3 × 64", green)
    put(page, hidden, (right, 1.3), strip, "hidden states: 3 × 64", "#888888")
    for row in range(3):
        for start in (left, middle, right):
            page.text(start - 0.25, 5.85 - 0.5 * row, "ABC"[row], **WORDS)
        page.text(middle - 0.25, 2.52 - 0.5 * row, "ABC"[row], **WORDS)
        plane = place(page, middle, 2.3 - 0.5 * row, 5, 0.45)
        plane.bar(range(11), chances[row], color=COLOURS[5])
        plane.set(ylim=(0, 1.05))
    for count in range(11):
        page.text(middle + 5 * (count + 0.95) / 11.9, 1.05, count, **(WORDS | {"fontsize": 17}))
    point(page, (8, 11), (8, 10.35), "key_layer", (9, 10.75))
    point(page, (8, 7), (8, 6.2), "query · key / √64, softmax", (7.8, 6.6), ha="right")
    point(page, (4.5, 5.35), (5.1, 5.35))
    point(page, (10.7, 8.5), (13.5, 6.75), "values", (13.2, 8.85), "angle,angleA=0,angleB=90,rad=8")
    point(page, (10.6, 5.35), (11.2, 5.35), "weights · values", (9.4, 4.25))
    point(page, (13.5, 4.4), (13.5, 3.5), "add the query,\nlayer normalization", (13.3, 3.9), ha="right")
    point(page, (11.4, 2.05), (10.7, 2.05), "logits_layer, softmax", (11.7, 0.95))
    page.text(8, 3.05, "probability of each count: 3 × 11", **WORDS)
    page.text(left, 0.35, "Red: above 0. Blue: below 0.", **(WORDS | {"ha": "left", "fontsize": 18}))
    save(page.figure, 1, "diagram")


def draw_forming(cache):
    """Draw the heatmap of Task 1 while it forms, and when it has."""
    maps = {"Training step 0": (SHOWN[1], np.full((1, 3, 10), 0.1))}  # The queries begin as zeros.
    for step, flags in ((200, "--steps 200"), (500, "--steps 500"), (2000, "")):
        weights = attention(cache, lesson_1.setup(flags=flags), SHOWN[1], seeds=[1])
        maps[f"Training step {step:,}"] = (SHOWN[1], weights)
    draw_heatmaps(1, "attention_forming", maps, COUNTS, (8, 10))
    last = {"Encoder-decoder attention": (SHOWN[1], weights)}
    draw_heatmaps(1, "encoder_decoder_attention", last, COUNTS, (8, 4))


def draw_lineup(cache):
    """Draw three heatmaps of one sequence without their names: flat, learnt, nearly perfect."""
    three = lesson_1.LINEUP.values()
    maps = {f"Model {number}": (SHOWN[1], attention(cache, setup, SHOWN[1]))
            for number, setup in enumerate(three, start=1)}  # fmt: skip
    draw_heatmaps(1, "lineup", maps, COUNTS, (8, 7.5))


def draw_counting_curve(cache):
    """Draw how the total weight of output step 0 on 'A' grows with their number: formula and measured."""
    models, points = cache.models(lesson_1.setup(), TEN), np.arange(11)
    curves = {"measured": [lesson_1.interventions.weight_by_count(model) for model in models]}
    blank, letter = np.exp(
        np.median(np.log([lesson_1.interventions.ratios(model) for model in models]), axis=0)
    )
    lines = {"formula": lesson_1.weight_formula(points, blank, letter), "equal weights: n / 10": points / 10}
    titles = ("How a weight counts", "How often 'A' occurs in ten letters", "Total weight on 'A'")
    draw_curves(1, "counting_curve", titles, points, curves, lines, xticks=points, yticks=points / 10)


def draw_lengths(cache):
    """Draw what models that were trained at length 10 say at other lengths: an average, then also a sum."""
    setups = {"main.py: an average": lesson_1.setup(), "C: a sum": lesson_1.setup("C")}
    models = {label: cache.models(setup, TEN) for label, setup in setups.items()}
    curves = {label: 100 * lesson_1.right_by_length(group) for label, group in models.items()}
    predicted = [100 * lesson_1.predicted_at(length) for length in lesson_1.TESTED_LENGTHS]
    lines = {"predicted: 10 · n / length rounds to n": predicted}
    titles = ("Trained at length 10, tested at others", "--sample_len", "Sequences right (%)")
    draw_curves(1, "lengths", titles, lesson_1.TESTED_LENGTHS, curves, lines)


def draw_differences(cache):
    """Draw what output steps of Task 2 attend to: letters, without and with self-attention; each other."""
    text, rows, maps = SHOWN[2], [*COUNTS, "|A − B|"], {}
    for title, setup in (("without --self_att", lesson_2.PLAIN), ("with --self_att", lesson_2.ASKING)):
        maps[f"Encoder-decoder attention {title}"] = (text, attention(cache, setup, text, seeds=[1]))
    draw_heatmaps(2, "encoder_decoder_attention", maps, rows, (8, 6.8))
    maps = {"Self-attention": (text, attention(cache, lesson_2.ASKING, text, 2, [1]))}
    titles = ("Output step that is attended to", "Output step that attends")
    draw_heatmaps(2, "self_attention_self", maps, rows, (8, 4), ["A", "B", "C", "|A − B|"], *titles)


def draw_step_3(cache):
    """Draw to which output steps the difference attends, over A − B."""
    points, models = range(-6, 7), cache.models(lesson_2.ASKING, TEN)
    weights = np.array([lesson_2.weights_over_difference(model, points) for model in models])
    labels = ("the count of A", "the count of B", "the count of C", "itself")
    titles = ("What the difference step attends to", "A − B", "Self-attention weight")
    draw_curves(2, "step_3", titles, points, dict(zip(labels, np.moveaxis(weights, 2, 0), strict=True)))


def draw_before_and_after(cache):
    """Draw what the first letter and the decoder's query attend to, after one training step and after all."""
    figure, planes = pyplot.subplots(2, 1, figsize=(8, 7), layout="constrained", sharey=True)
    setups = {"after one training step": lesson_3.ONE_STEP, "after all 2,000": lesson_3.POSITIONS}
    titles = ("Encoder: what the first letter attends to", "Decoder: what its query attends to")
    for plane, title, output in zip(planes, titles, (2, 1), strict=True):
        for side, (label, setup) in enumerate(setups.items()):
            weights = attention(cache, setup, SHOWN[3], output)[:, 0]
            least, middle, most = np.quantile(weights, (0, 0.5, 1), axis=0)
            style = {"color": COLOURS[5 - 5 * side], "capsize": 3, "yerr": (middle - least, most - middle)}
            plane.bar(np.arange(11) + 0.4 * side - 0.2, middle, 0.36, label=label, **style)
        plane.set_title(title, loc="left")
        plane.set(xticks=range(11), xticklabels=SHOWN[3], ylabel="Attention weight")
        plane.grid(axis="y", alpha=0.3)
    plane.set_xlabel(ATTENDED)
    add_legend(figure, "; line: least to most")
    save(figure, 3, "before_and_after")


def draw_trace(cache):
    """Draw what becomes of the first letter's vector: position, weights, what it holds, what is picked."""
    text, (model,) = SHOWN[3], cache.models(lesson_3.POSITIONS, [1])
    logits, decoder, (encoder,) = model(measuring.spell(3, text).inputs)
    lengths, first = np.linalg.norm(model.positional_encoding[0], axis=-1), encoder.numpy()[0, 0]
    chances = special.softmax(logits.numpy()[0, 0])
    hues, figure = [TINTS[letter] for letter in text], pyplot.figure(figsize=(8, 9.5), layout="constrained")
    planes = figure.subplots(5, 1)
    draw_bars(planes[0], lengths, text, "1. How long a vector each position adds to its letter")
    draw_bars(planes[1], first, text, "2. Encoder: the first letter's attention weights", hues)
    picked, title = decoder[0, 0].numpy(), "4. After two dense layers: the decoder's weights"
    draw_bars(planes[3], picked, text, title, hues)
    draw_bars(planes[4], chances, range(11), "5. Last dense layer: the probability of each count")
    shares = {letter: first[[other == letter for other in text]].sum() for letter in TINTS}
    parts = [(1, text[0], f"{text[0]}, with the vector of\nthe first position")]
    parts += [(share, letter, f"{letter}: {short(share)}") for letter, share in shares.items()]
    for place, (share, letter, words) in enumerate(parts):
        start = sum(before for before, *_ in parts[:place])
        planes[2].barh(0, share, left=start, color=TINTS[letter], edgecolor="#444444")
        planes[2].text(start + share / 2, 0, words, ha="center", va="center")
    planes[2].set_title("3. What the first letter now holds (not to scale): itself, and the mean", **LEFT)
    planes[2].set_xlim(0, 2)
    planes[2].axis("off")
    save(figure, 3, "trace")


def draw_losses(cache):
    """Draw the loss curves without and with positions, and the bound."""
    curves, bound = {}, lesson_3.bound()[0]
    for label, setup in POSITIONS.items():
        curves[label] = np.array([cache.losses(setup, seed) for seed in TEN])[..., 1]
    lines = {f"the bound without order: {bound:.4f}": np.full(40, bound)}
    titles = ("Positions make the difference", "Training step", "Loss (nats per output step)")
    draw_curves(3, "losses", titles, range(50, 2001, 50), curves, lines, yscale="log")


@pyplot.rc_context(STYLE)
def draw(task, cache):
    """Draw all pictures of a lesson, with the models of a trainings.ModelCache."""
    for draw_picture in {
        1: (draw_arrays, draw_lineup, draw_forming, draw_counting_curve, draw_lengths),
        2: (draw_differences, draw_step_3),
        3: (draw_before_and_after, draw_trace, draw_losses),
    }[task]:
        draw_picture(cache)
    if task == 3:
        draw_diagram()
