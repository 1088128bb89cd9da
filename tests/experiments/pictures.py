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
TINTS = ("#8cbfde", "#f0a878", "#8fd0b9")  # Of the first three, for the letters A, B, C.
COUNTS, INPUT = ["count of A", "count of B", "count of C"], "Input step (␣ is the blank)"
TEN, OF_TEN, BAND = range(1, 11), "median of 10 training runs", "; band: least to most"
POSITIONS = {"without positions": lesson_3.PLAIN, "with --pos_enc": lesson_3.MARKED}
HIGHEST = 0.3  # The colours of all heatmaps end here: so a colour means the same weight in each.
FORMING = (0, 200, 500, 2000)  # Training steps.


def save(figure, task, name):
    """Write a figure to the images of a task."""
    path = edits.script(task).parent / "images" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=WIDTH / figure.get_figwidth(), metadata={"Software": None})
    pyplot.close(figure)


def short(number):
    """Return a number from 0 to 1 with two decimals, as the lessons write it."""
    return f"{number:.2f}".removeprefix("0")


def attention(trained, run, text, output=1, seeds=TEN):
    """Return attention weights on a text, the output-th of what models give, float (seeds, rows, columns)."""
    inputs = measuring.spell(run.task, text).inputs
    found = [np.array(model(inputs)[output]) for model in trained.models(run, seeds)]
    return np.stack([one.reshape(one.shape[-2:]) for one in found])


def new_axes(title, across, down):
    """Return a new figure and its axes."""
    figure, plane = pyplot.subplots(figsize=(8, 5.5), layout="constrained")
    plane.set(title=title, xlabel=across, ylabel=down)
    plane.xaxis.get_major_locator().set_params(integer=True)
    plane.grid(alpha=0.3)
    return figure, plane


def add_legend(figure, more="", columns=2):
    """Put the legend of a figure of ten training runs below it, where it hides no curve."""
    title = OF_TEN.capitalize() + more
    figure.legend(title=title, loc="outside lower center", ncols=columns, fontsize=13)


def draw_range(plane, across, curves, label, colour, **options):
    """Draw the median of curves, float (seeds, points), and a shaded band from the least to the most."""
    plane.plot(across, np.median(curves, axis=0), color=colour, label=label, **options)
    plane.fill_between(across, np.min(curves, axis=0), np.max(curves, axis=0), color=colour, alpha=0.2, lw=0)


def draw_heatmaps(task, name, maps, across, *, size, down="", label="Attention weight (one training run)"):
    """Draw heatmaps below each other, the median of seeds.

    Args:
        maps: list of (title, names of rows, of columns, weights: float (seeds, rows, columns)).
    """
    figure, planes = pyplot.subplots(len(maps), 1, figsize=size, layout="constrained", squeeze=False)
    for plane, (title, rows, columns, weights) in zip(planes[:, 0], maps, strict=True):
        weights = np.median(weights, axis=0)
        image = plane.imshow(weights, vmin=0, vmax=HIGHEST, aspect="auto")
        plane.set_title(title, loc="left")
        plane.set_xticks(range(len(columns)), ["␣" if name == " " else name for name in columns])
        plane.set_yticks(range(len(rows)), rows)
        for (row, column), weight in np.ndenumerate(weights):
            colour = "black" if weight > HIGHEST / 2 else "white"
            plane.text(column, row, short(weight), ha="center", va="center", color=colour)
    plane.set(xlabel=across, ylabel=down)
    figure.colorbar(image, ax=planes, label=label, extend="max")
    save(figure, task, name)


def draw_bars(plane, heights, names, title, colour=COLOURS[5]):
    """Draw bars with their heights as numbers above them."""
    plane.bar_label(plane.bar(range(len(names)), heights, color=colour), map(short, heights), fontsize=13)
    plane.set_title(title, loc="left", fontsize=15)
    plane.set_xticks(range(len(names)), names)
    plane.set(yticks=[], ylim=(0, 1.25 * max(heights)))
    plane.spines[["top", "left", "right"]].set_visible(False)


DATA, LEARNT, RULE, KNOWN, NEW = "#eeeeee", "#cfe3f1", "#fbe3d0", "#ffffff", "#f6d96b"
COLOUR_NAMES = {LEARNT: "blue: learnt numbers", RULE: "orange: a fixed rule"}
COLOUR_NAMES |= {KNOWN: "white: from a lesson", NEW: "yellow: new", DATA: "grey: data"}
DIAGRAMS = {
    # From top to bottom: colour, text, what flows on. Beside it: number from the top, left (-1) or right (1),
    # colour, text, what flows; to the right it flows out. Around: from, to, what flows. In a frame: from, to.
    (1, "diagram"): (
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
    (2, "diagram"): (
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
    (3, "diagram"): (
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
    (3, "block"): (
        [
            (DATA, "the   cat   sat   on   the", "5 words"),
            (KNOWN, "embedding and positions: Lesson 3", "5 × 512"),
            (
                NEW,
                "three matrices for each head: W_Q, W_K, W_V",
                "queries, keys, values: 5 × 64 for each of 8 heads",
            ),
            (KNOWN, "self-attention in each head: Lesson 2", "8 mixtures, 5 × 64"),
            (NEW, "the heads side by side, times W_O", "5 × 512"),
            (KNOWN, "residual, layer norm: Lesson 1", ""),
            (KNOWN, "cross-attention, residual, layer norm: Lesson 1", ""),
            (KNOWN, "two dense layers for each word: Lesson 3", ""),
            (KNOWN, "residual, layer norm: Lesson 1", "5 × 512, through N blocks"),
            (KNOWN, "dense layer, softmax: Lesson 1", "at each place, a probability for each word"),
            (DATA, "cat   sat   on   the   mat", ""),
        ],
        [(3, -1, NEW, "causal mask", "5 × 5"), (6, -1, DATA, "another text,\nto translate", "")],
        [(1, 5, ""), (6, 8, "")],
        (2, 8),
    ),
}


def draw_diagram(task, name="diagram"):
    """Draw the way of a sequence through a model, with all shapes."""
    chain, beside, around, *frames = DIAGRAMS[task, name]
    figure, plane = pyplot.subplots(figsize=(10, (1 if frames else 1.4) * len(chain)), layout="constrained")
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
    for start, end in frames:
        style = {"fill": False, "linestyle": "--", "edgecolor": "#666666", "linewidth": 1.5}
        plane.add_patch(pyplot.Rectangle((-4.4, -end - 0.45), 8.8, end - start + 0.9, **style))
        plane.text(4.3, -start + 0.1, "one block", ha="right", fontsize=17)
    used = {colour for _, _, colour, _, _ in beside} | {colour for colour, _, _ in chain}
    legend = "\n".join(name for colour, name in COLOUR_NAMES.items() if colour in used)
    plane.text(-4.4, 1 - len(chain), legend, fontsize=15, va="center")
    save(figure, task, name)


def draw_forming(trained):
    """Draw the heatmap of Task 1 while it forms: in one picture, and as four stills of a screen each."""
    maps = []
    for step in FORMING:  # The queries are zeros at the start, so all scores are equal.
        run = lesson_1.run(flags="" if step == FORMING[-1] else f"--steps {step}")
        weights = attention(trained, run, SHOWN[1], seeds=[1]) if step else np.full((1, 3, 10), 0.1)
        maps.append((f"Training step {step:,}", COUNTS, SHOWN[1], weights))
    draw_heatmaps(1, "attention_forming", maps, INPUT, size=(8, 10))
    with pyplot.rc_context({"font.size": 18, "axes.titlesize": 26}):
        for number, one in enumerate(maps, start=1):
            draw_heatmaps(1, f"forming_{number}", [one], INPUT, size=(11.2, 6.3))


def draw_lineup(trained):
    """Draw three heatmaps of one sequence without their names: flat, learnt, nearly perfect."""
    maps = []
    for number, edit in enumerate(lesson_1.LINEUP.values(), start=1):
        weights = attention(trained, lesson_1.run(edit), SHOWN[1])
        maps.append((f"Model {number}", COUNTS, SHOWN[1], weights))
    draw_heatmaps(1, "lineup", maps, INPUT, size=(8, 7.5), label=f"Attention weight ({OF_TEN})")


def draw_counting_curve(trained):
    """Draw how the total weight of output step 0 on 'A' grows with their number: formula and measured."""
    group = trained.models(lesson_1.run(), TEN)
    blank, letter = np.exp(np.median(np.log([lesson_1.ratios(model) for model in group]), axis=0))
    masses = np.array([lesson_1.mass_by_count(model) for model in group])
    across = "How often 'A' occurs in ten letters"
    figure, plane = new_axes("How a weight counts", across, "Total weight on 'A'")
    plane.plot(lesson_1.mass_formula(range(11), blank, letter), color=COLOURS[0], label="formula")
    plane.plot(np.median(masses, axis=0), "o", color=COLOURS[0], label="measured")
    plane.plot(np.arange(11) / 10, ls="--", color=COLOURS[1], label="equal weights: n / 10")
    add_legend(figure)
    save(figure, 1, "counting_curve")


def draw_lengths(trained):
    """Draw what models that were trained at length 10 say at other lengths: an average, then also a sum."""
    predicted = [lesson_1.predicted_at(length) for length in lesson_1.LENGTHS]
    rows = {"main.py: an average": lesson_1.APART[lesson_1.MAIN], "C: a sum": lesson_1.APART[lesson_1.SUM]}
    figure, plane = new_axes("Trained at length 10, tested at others", "--sample_len", "Sequences right")
    label = "predicted: 10 · n / length rounds to n"
    plane.plot(lesson_1.LENGTHS, predicted, color="black", ls=":", label=label)
    for (label, row), colour in zip(rows.items(), COLOURS, strict=False):
        curve = lesson_1.curves_by_length(trained, row)
        draw_range(plane, lesson_1.LENGTHS, curve, label, colour, marker="o")
    plane.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
    add_legend(figure, BAND)
    save(figure, 1, "lengths")


def draw_differences(trained):
    """Draw what output steps of Task 2 attend to: letters, without and with self-attention; each other."""
    text, steps, maps = SHOWN[2], [*COUNTS, "|A − B|"], []
    for title, run in {"without --self_att": lesson_2.PLAIN, "with --self_att": lesson_2.ASKING}.items():
        maps.append(
            (f"Encoder-decoder attention {title}", steps, text, attention(trained, run, text, seeds=[1]))
        )
    draw_heatmaps(2, "encoder_decoder_attention", maps, INPUT, size=(8, 6.8))
    weights = attention(trained, lesson_2.ASKING, text, 2, [1])
    maps = [("Self-attention", steps, ["A", "B", "C", "|A − B|"], weights)]
    across = "Output step that is attended to"
    draw_heatmaps(2, "self_attention_self", maps, across, down="Output step that attends", size=(8, 4))


def draw_step_3(trained):
    """Draw to which output steps the difference attends, over A − B."""
    points, group = range(-6, 7), trained.models(lesson_2.ASKING, TEN)
    curves = np.array([lesson_2.weights_over_difference(model, points) for model in group])
    figure, plane = new_axes("What the difference step attends to", "A − B", "Self-attention weight")
    labels = ("the count of A", "the count of B", "the count of C", "itself")
    for step, (label, colour) in enumerate(zip(labels, COLOURS, strict=False)):
        draw_range(plane, points, curves[..., step], label, colour, marker="o")
    add_legend(figure, BAND)
    save(figure, 2, "step_3")


def draw_orders(trained):
    """Draw the decoder's weights on two orders of the same letters, without and with positions."""
    maps = []
    for (label, run), text in itertools.product(POSITIONS.items(), (SHOWN[3], "CBABBCABCAB")):
        maps.append((f"{label}, signal '{text[0]}'", [], text, attention(trained, run, text)))
    across = "Letter that is attended to; the first is the signal"
    draw_heatmaps(3, "orders", maps, across, size=(8, 7), label=f"Attention weight ({OF_TEN})")


def draw_before_and_after(trained):
    """Draw what the first letter and the decoder's query attend to, after one training step and after all."""
    figure, planes = pyplot.subplots(2, 1, figsize=(8, 7), layout="constrained", sharey=True)
    titles = {2: "Encoder: what the first letter attends to", 1: "Decoder: what its query attends to"}
    runs = {"after one training step": lesson_3.run(flags="--pos_enc --steps 1")}
    runs |= {"after all 2,000": lesson_3.MARKED}
    for plane, (output, title) in zip(planes, titles.items(), strict=True):
        for side, (label, run) in enumerate(runs.items()):
            rows, places = attention(trained, run, SHOWN[3], output)[:, 0], np.arange(11) + 0.4 * side - 0.2
            middle = np.median(rows, axis=0)
            errors = {"yerr": (middle - rows.min(axis=0), rows.max(axis=0) - middle), "capsize": 3}
            label = label if plane is planes[0] else None
            plane.bar(places, middle, 0.36, color=COLOURS[5 - 5 * side], label=label, **errors)
        plane.set_title(title, loc="left")
        plane.set_xticks(range(11), SHOWN[3])
        plane.grid(axis="y", alpha=0.3)
        plane.set_ylabel("Attention weight")
    plane.set_xlabel("Letter that is attended to; the first is the signal")
    add_legend(figure, "; line: least to most")
    save(figure, 3, "before_and_after")


def draw_trace(trained):
    """Draw what becomes of the first letter's vector: mark, weights, what it holds, what is picked."""
    text, (model,) = SHOWN[3], trained.models(lesson_3.MARKED, [1])
    logits, decoder, (encoder,) = model(measuring.spell(3, text).inputs)
    first, picked, scores = encoder.numpy()[0, 0], decoder.numpy()[0, 0], np.exp(logits.numpy()[0, 0])
    hues = [TINTS["ABC".index(letter)] for letter in text]
    figure, planes = pyplot.subplots(5, 1, figsize=(8, 11), layout="constrained")
    lengths = np.linalg.norm(model.positional_encoding[0], axis=-1)
    draw_bars(planes[0], lengths, text, "1. Each place adds its mark to its letter: how long is the mark?")
    draw_bars(planes[1], first, text, "2. Encoder: the first letter's attention weights", hues)
    shares = [sum(first[place] for place in range(11) if text[place] == letter) for letter in "ABC"]
    parts = [f"{text[0]}, with the mark of\nthe first place"]
    parts += [f"{letter}: {short(share)}" for letter, share in zip("ABC", shares, strict=True)]
    ends = np.cumsum([0, 1, *shares])
    for start, end, part, hue in zip(ends, ends[1:], parts, (hues[0], *TINTS), strict=False):
        planes[2].barh(0, end - start, left=start, color=hue, edgecolor="#444444")
        planes[2].text((start + end) / 2, 0, part, ha="center", va="center")
    planes[2].set_title(
        "3. Added up: the letter itself (residual) and the mixture of all", loc="left", fontsize=15
    )
    planes[2].axis("off")
    draw_bars(
        planes[3], picked, text, "4. Two dense layers for each letter alone; then the decoder's weights", hues
    )
    draw_bars(
        planes[4], scores / scores.sum(), range(11), "5. Last dense layer: the probability of each count"
    )
    save(figure, 3, "trace")


def draw_losses(trained):
    """Draw the loss curves without and with positions, and the bound."""
    figure, plane = new_axes("Positions make the difference", "Training step", "Loss (nats per output step)")
    for (label, run), colour in zip(POSITIONS.items(), COLOURS, strict=False):
        curves = np.array([trained.losses(run, seed) for seed in TEN])
        draw_range(plane, curves[0, :, 0], curves[..., 1], label, colour)
    bound = lesson_3.bound()[0]
    plane.axhline(bound, color="black", linestyle="--", label=f"the bound without order: {bound:.4f}")
    plane.set_yscale("log")
    add_legend(figure, BAND)
    save(figure, 3, "losses")


@pyplot.rc_context(STYLE)
def draw(task, trained):
    """Draw all pictures of a lesson, with the models of a trainings.Trainings."""
    draw_diagram(task)
    if task == 1:
        weights = attention(trained, lesson_1.run(), SHOWN[1], seeds=[1])
        maps = [("Encoder-decoder attention", COUNTS, SHOWN[1], weights)]
        draw_heatmaps(1, "encoder_decoder_attention", maps, INPUT, size=(8, 3.3))
        draw_lineup(trained)
        draw_forming(trained)
        draw_counting_curve(trained)
        draw_lengths(trained)
    elif task == 2:
        draw_differences(trained)
        draw_step_3(trained)
    else:
        draw_diagram(3, "block")
        draw_before_and_after(trained)
        draw_trace(trained)
        draw_orders(trained)
        draw_losses(trained)
