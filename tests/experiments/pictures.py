"""The pictures of trained models. `draw` draws them, and by_formula.py's and diagrams.py's, into images/.

One model is that of the page to play with, so a picture shows what a reader finds there, and nothing is
trained. What ten training runs have in common is drawn from those of the experiments.

    python -m tests.experiments.pictures           (draws all that need no training)
    python -m tests.experiments.pictures --all     (also those of many models; trains what is missing)
"""

import argparse
import shutil
import subprocess
import sys
import tempfile

import matplotlib
import matplotlib.pyplot as pyplot
import matplotlib.ticker
import numpy as np

from . import by_formula, diagrams, edits, measuring, play, programs, task_1, task_2, task_3, transformer
from .drawing import GREY, INK, LINE, MORE, SIZE, VALUE, WEIGHT, new_chart, new_page, save, short

TEN, BRIGHT = range(1, 11), matplotlib.colormaps["viridis"]  # Heatmaps are those of the programs.
SHOWN = {1: task_1.SHOWN, 2: "BAAC BABAC", 3: "BBABCCABCAB"}  # The sequences that the pages show.
COUNTS = ("0: count of A", "1: count of B", "2: count of C")
TEXT = "Anna dog Ben cat Cleo owl Dan hen Ben"
PETS, QUESTION, RIGHT = np.arange(1, 8, 2), 8, 3  # Places in TEXT; each pet's name stands before it.


def draw_band(plane, points, curves, colour, **look):
    """Draw the median of curves, float (curves, points), in a band from the least to the most."""
    plane.fill_between(points, *np.quantile(curves, (0, 1), axis=0), color=colour, alpha=0.25, linewidth=0)
    plane.plot(points, np.median(curves, axis=0), color=colour, linewidth=4, **look)


# --- Task 1 -------------------------------------------------------------------------------------------


def lineup():
    """Return three heatmaps of one sequence without their names: flat, learnt, nearly perfect."""
    page, inputs = new_page(13.3), measuring.spell(1, SHOWN[1]).inputs
    names = SHOWN[1].replace(" ", "␣")
    for number, setup in enumerate(task_1.LINEUP.values()):
        weights = np.median([model(inputs)[1][0].numpy() for model in edits.models(setup, TEN)], axis=0)
        top = 0.5 + 4.4 * number
        page.write(0.3, top, f"Model {number + 1}", to="right", weight="bold")
        page.draw_cells(4.6, top + 0.65, weights, BRIGHT, names, COUNTS, 1.1, full=0.5, size=SIZE - 1)
    return page.figure


def counting_curve():
    """Return how the total weight of output step 0 on 'A' grows with their number: formula and measured."""
    models, points = edits.models(task_1.setup(), TEN), np.arange(11)
    ratios = np.log([task_1.ratios(model) for model in models])
    formula = task_1.weight_formula(points, *np.exp(np.median(ratios, axis=0)))
    titles = "How a weight counts", "How many of the ten letters are 'A's", "Total weight on the 'A's"
    plane = new_chart(*titles, xticks=points, xlim=(-0.3, 10.3), ylim=(-0.03, 1.05))
    plane.plot(points, points / 10, "--", color=GREY, linewidth=3)
    plane.plot(points, formula, color=WEIGHT, linewidth=4)
    for model in models:
        measured = task_1.weight_by_count(model)
        plane.plot(points, measured, "o", color="none", markeredgecolor=INK, markersize=13)
    plane.write(6.2, 0.5, "equal weights", GREY, to="right")
    plane.write(3.2, 0.76, "the formula (line),\nten models (circles)", WEIGHT, to="left", weight="bold")
    return plane.figure


def step_3():
    """Return to which output steps the difference attends, over A − B."""
    points = np.arange(-6, 7)
    models = edits.models(task_2.ASKING, TEN)
    weights = np.array([task_2.weights_over_difference(model, points) for model in models])
    titles = "What the difference step attends to (ten models)", "A − B", "Self-attention weight"
    plane = new_chart(*titles, xticks=points[::2], ylim=(-0.03, 1))
    plane.set_xticks(points[::2], [short(point) for point in points[::2]])
    looks = (MORE[1], "o"), (MORE[0], "s"), (LINE, "v"), (INK, "D")
    for step, (colour, marker) in enumerate(looks):
        draw_band(plane, points, weights[..., step], colour, marker=marker, markersize=12)
    plane.write(4.4, 0.94, "the count of A", "#2a7fae", weight="bold")
    plane.write(-4.4, 0.94, "the count of B", "#a8507f", weight="bold")
    plane.write(-4, 0.26, "itself", weight="bold")
    plane.write(4.1, 0.065, "the count of C", GREY, weight="bold")
    return plane.figure


# --- Task 3 -------------------------------------------------------------------------------------------


def trace():
    """Return what becomes of the first letter's vector: its weights, what it gets, the decoder's weights."""
    text = SHOWN[3]
    weights = play.weights("signal_pos_enc", measuring.spell(3, text).inputs[0])
    first, (of_decoder,) = weights["encoder_layer_1/attention"][0], weights["attention"]
    shares = [first[[other == letter for other in text]].sum() for letter in "ABC"]
    page = new_page(12)
    for top, title, heights, names, colour in (
        (0.5, "1. The first letter attends to all", first, text, WEIGHT),
        (4.5, "2. So it gets a mean of the letters", shares, "ABC", VALUE),
        (8.5, "3. The decoder attends to the first letter", of_decoder, text, WEIGHT),
    ):
        page.write(0.5, top, title, to="right", weight="bold")
        wide = 15 if len(names) == 11 else 15 * 3.8 / 11.2
        page.new_plane(0.5, top + 0.4, wide, 2.4).draw_heights(heights, names, colour)
    return page.figure


def losses():
    """Return the loss curves without and with positions, and the bound."""
    titles = "Positions make the difference (ten runs each)", "Training step", "Loss"
    plane = new_chart(*titles, yscale="log", xticks=range(0, 2001, 500), ylim=(0.003, 4))
    plane.yaxis.set_major_locator(matplotlib.ticker.FixedLocator([0.01, 0.1, 1]))
    plane.yaxis.set_major_formatter("{x:g}")
    plane.xaxis.set_major_formatter("{x:,.0f}")
    plane.minorticks_off()
    for setup, colour in ((task_3.PLAIN, MORE[0]), (task_3.POSITIONS, MORE[1])):
        curves = [np.transpose(edits.losses(setup, seed))[1] for seed in TEN]
        draw_band(plane, range(50, 2001, 50), curves, colour)
    plane.axhline(task_3.bound()[0], color=INK, linestyle="--", linewidth=3)
    plane.write(1300, 1.8, "without positions", "#a8507f", weight="bold")
    plane.write(900, 0.04, "with positions", "#2a7fae", to="left", weight="bold")
    plane.write(1100, 0.55, "the least possible without order", to="right")
    return plane.figure


# --- The transformer page -------------------------------------------------------------------------------


def heads():
    """Return the weights of the transformer's two best heads on TEXT, two arrays of float (words, words).

    In layer 1 that in which pets find their names, in layer 2 that in which the question finds its pet.
    """
    known = programs.load("transformer").vocabulary(4)
    weights = play.weights("transformer", [known.index(word) for word in TEXT.split()])
    of_pets, of_question = weights["block_1/attention"], weights["block_2/attention"]
    best = of_pets[:, PETS, PETS - 1].mean(axis=1).argmax()
    return of_pets[best], of_question[of_question[:, QUESTION, RIGHT].argmax()]


def transformer_flow():
    """Return what two heads bring from word to word: a column for each word, layer above layer."""
    words, (of_pets, of_question) = TEXT.split(), heads()
    page, levels = new_page(9.6), (8.7, 4.8, 0.9)
    for height, text in zip(levels, ("words", "after\nblock 1", "after\nblock 2"), strict=True):
        page.write(0.15, height, text, GREY, to="right")
    places = 2.4 + 1.6 * np.arange(len(words))
    for column, (word, across) in enumerate(zip(words, places, strict=True)):
        is_pet = column in PETS
        page.plot((across, across), levels[::2], color="#dcdcdc", linewidth=14, zorder=1)
        known = f"{word},\n{words[column - 1]}'s" if is_pet else word
        said = f"{word}:\n{words[RIGHT]}" if column == QUESTION else known
        for height, text in zip(levels, (word, known, said), strict=True):
            edge = VALUE if text == said and column == QUESTION else LINE
            box = {"wide": 1.5, "high": 1.3 if "\n" in text else 0.8, "linespacing": 1.1}
            page.draw_box(across, height, text, edge, **box, size=SIZE - 1)
    looks = [(of_pets, pet - 1, pet, levels[0]) for pet in PETS]
    for weights, tail, head, height in (*looks, (of_question, RIGHT, QUESTION, levels[1])):
        ends = np.array([(places[tail], height - 0.7), (places[head], height - 3.15)])
        page.draw_arrow(*ends, WEIGHT, 9 * weights[head, tail], zorder=3)
        page.draw_box(*ends.mean(axis=0), short(weights[head, tail]), WEIGHT, wide=1, high=0.65)
    return page.figure


def transformer_heads():
    """Return the two heads that find the answer: pets find their names, then the question finds its pet."""
    words, (of_pets, of_question) = TEXT.split(), heads()
    page, side = new_page(9.2), 0.72
    for left, weights, title, found in (
        (1.3, of_pets, "Layer 1: pets find their names", [(pet, pet - 1) for pet in PETS]),
        (9.4, of_question, "Layer 2: Ben finds cat", [(QUESTION, RIGHT)]),
    ):
        page.write(left - 1.1, 0.5, title, to="right", weight="bold")
        for (row, column), weight in np.ndenumerate(weights):
            if column <= row:
                page.draw_cells(left + side * column, 2.5 + side * row, [weight], BRIGHT, side=side, size=0)
        for row, column in found:
            middle = left + side * (column + 0.5), 2.5 + side * (row + 0.5)
            page.write(*middle, f"{weights[row, column]:.2f}", size=SIZE - 7)
        for place, word in enumerate(words):
            page.write(left - 0.15, 2.5 + side * (place + 0.5), word, to="left", size=SIZE - 1)
            page.write(left + side * (place + 0.5), 1.75, word, size=SIZE - 1, rotation=90)
    return page.figure


def transformer_losses():
    """Return the loss of some training runs, each the mean of 50 training steps, and the lowest possible."""
    titles = "Six training runs", "Training step", "Loss"
    plane = new_chart(*titles, ylim=(0.8, 1.8), xlim=(0, 1550), xticks=range(0, 1501, 500))
    plane.xaxis.set_major_formatter("{x:,.0f}")
    for seed in range(1, 7):
        plane.plot(*np.transpose(edits.losses(transformer.AS_IT_IS, seed)), color=MORE[1], linewidth=3)
    plane.axhline(transformer.lowest_loss(4), color=INK, linestyle="--", linewidth=3)
    plane.write(30, 0.837, f"the lowest possible, {transformer.lowest_loss(4):.3f}", to="right")
    return plane.figure


# What chooses, and what the results call it.
CHOOSING = "both layers", "the second", "the first", "(one layer)", "neither"
RUNS = dict(zip(CHOOSING, transformer.LOOKS, strict=True))


def choosing():
    """Return what each training run of the transformer gets right, from results/: a dot for each."""
    page = new_page(9.4)
    page.write(0.3, 0.5, "Which layer can choose? Each dot is a training run", to="right", weight="bold")
    for left, pairs, title in (
        (3.1, 4, "four pairs, 1,500 steps"),
        (9.8, 8, "eight pairs, 2,000 steps"),
    ):
        plane = page.new_plane(left, 2.4, 5.8, 4.8, xlim=(-3, 103), ylim=(4.6, -0.6), yticks=[])
        page.write(left, 1.7, title, GREY, to="right")
        plane.set_xticks((0, 50, 100), ("0", "50", "100%"))
        plane.set_xlabel("right", size=SIZE, labelpad=8)
        plane.axvline(100 * transformer.guesser(pairs), color=INK, linestyle="--", linewidth=2.5)
        for row, (name, label) in enumerate(RUNS.items()):
            rights = measuring.runs("transformer", title, label)
            colour = WEIGHT if row < 2 else GREY
            apart = row + np.resize((0, 0.18, -0.18), len(rights))  # Else equal ones hide each other.
            plane.plot(rights, apart, "o", color=colour, markersize=15, alpha=0.5, mew=0)
            plane.axhline(row, color="#e4e4e4", linewidth=1.5, zorder=0)
            if pairs == 4:
                page.write(2.8, 2.4 + 4.8 * (row + 0.6) / 5.2, name, to="left")
    page.write(0.3, 8.9, "dashed: always guessing the most frequent pet", GREY, to="right")
    return page.figure


# Pictures by their task, without training: `choosing` shows many models, but their results are there.
OF_ONE_MODEL = {
    3: (trace,),
    "transformer": (transformer_flow, transformer_heads, choosing),
}
# What the programs draw of a model of the page to play with: its name, the input, the pictures.
HEATMAPS = (
    ("counting", "--input=␣BC␣CBBAA␣", "encoder_decoder_attention"),
    ("difference", "--input=BBBA␣ACABB", "encoder_decoder_attention"),
    ("difference_self_att", "--input=BBBA␣ACABB", "encoder_decoder_attention_self_att self_attention"),
    (
        "signal_pos_enc",
        "--input=BBABCCABCAB",
        "encoder_decoder_attention_pos_enc positional_encoding_pos_enc",
    ),
)
OF_MANY = {1: (counting_curve,), 2: (step_3,), 3: (losses,), "transformer": (lineup, transformer_losses)}


def draw_small_heatmaps():
    """Draw the heatmaps of the front page's table."""
    for task, name, shown, part, rows in (
        (1, "counting", "␣BC␣CBBAA␣", "attention", "ABC"),
        (2, "difference_self_att", "BBBA␣ACABB", "self_attention", ["A", "B", "C", "|A−B|"]),
        (3, "signal_pos_enc", "BBABCCABCAB", "attention", ["count"]),
    ):
        weights = play.weights(name, measuring.spell(task, shown.replace("␣", " ")).inputs[0])[part]
        columns = rows if task == 2 else shown
        figure, axes = pyplot.subplots(figsize=(3.4, 0.4 * len(rows) + 0.4), layout="constrained")
        axes.imshow(weights, vmin=0, aspect="auto" if task != 2 else "equal")
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0)
        figure.savefig(programs.script(task).parent / "images" / "small.png", dpi=160)
        pyplot.close(figure)


def draw_heatmaps():
    """Draw what the programs draw when they test the models of the page with the shown sequences."""
    for name, shown, names in HEATMAPS:
        task, _, flags = play.MODELS[name]
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = f"checkpoint{flags.replace('--', '_')}.npz"
            shutil.copy(play.FOLDER / "checkpoints" / f"{name}.npz", f"{folder}/{checkpoint}")
            words = ["--test", "--plot", shown, "--savepath", folder, "--plotpath", folder]
            command = [sys.executable, programs.script(task), *words, *flags.split()]
            subprocess.run(command, check=True, capture_output=True)
            for picture in names.split():
                shutil.copy(f"{folder}/{picture}.png", programs.script(task).parent / "images")


def draw(every=False):
    """Draw all pictures that need no training, or every picture."""
    for pictures in (by_formula.PICTURES, diagrams.PICTURES, OF_ONE_MODEL, *[OF_MANY] * every):
        for task, of_task in pictures.items():
            for picture in of_task:
                save(picture(), task, picture.__name__)
    draw_heatmaps()
    draw_small_heatmaps()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        "python -m tests.experiments.pictures", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--all", action="store_true", help="also those of many models")
    draw(parser.parse_args().all)
