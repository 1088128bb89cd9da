"""The pictures that need no training: examples by hand as rows of boxes, waves as stripes and dials."""

import matplotlib.colors
import matplotlib.pyplot as pyplot
import numpy as np

from . import formula, pictures

WORDS = {"fontsize": 27, "va": "center", "ha": "center"}
LEFT, GREY = WORDS | {"ha": "left"}, WORDS | {"color": "#555555"}


def draw_vector(axes, left, top, numbers, colour, name="", names=()):
    """Draw a vector as a row of boxes, the darker the larger the number; `name` stands before it."""
    shades = matplotlib.colors.LinearSegmentedColormap.from_list("shades", ["white", colour])
    for place, number in enumerate(numbers):
        strength = min(1, abs(number) / 3) ** 0.5 * 0.75
        box = pyplot.Rectangle((left + place, top - 1), 1, 1, facecolor=shades(strength), edgecolor="#444444")
        axes.add_patch(box)
        axes.text(left + place + 0.5, top - 0.5, pictures.short(number), **WORDS)
    for place, label in enumerate(names):
        axes.text(left + place + 0.5, top + 0.35, label, **GREY)
    if name:
        axes.text(left - 0.25, top - 0.5, name, **(WORDS | {"ha": "right"}))


def draw_rows(axes, top, query, query_name, rows, symbols, columns, values=None):
    """Draw a query and, row by row, its keys and what a softmax makes of them; return the weighted mean.

    Args:
        top: float, the upper edge.
        query: float (depth,).
        rows: list of (name, float (depth,)), what each key is called, and the key.
        symbols: list of str (depth,), what each number of a vector stands for.
        columns: list of str, what stands before the weight: of "query · key", "÷ √depth", "logit" and "exp".
        values: float (keys, numbers), if they are not the keys.
    """
    depth, vectors = len(query), np.array([vector for _, vector in rows], dtype=float)
    products, logits = vectors @ query, vectors @ query / np.sqrt(depth)
    ((mean,), (weights,)) = formula.attend([query], vectors, vectors if values is None else values)
    known = {"query · key": products, f"÷ √{depth}": logits, "logit": logits, "exp": np.exp(logits)}
    left = 3.6 if values is None else 4.1 + depth  # Of the values.
    places = left + 1.6 + len(mean) + 2.1 * np.arange(len(columns) + 1)
    bottom = top - 2.4 - 1.15 * len(rows)
    draw_vector(axes, 3.6, top - 0.7, query, pictures.COLOURS[4], query_name, symbols)
    for place, title in zip(places, (*columns, "weight"), strict=True):
        axes.text(place, top - 1.2, title, **GREY)
    for number, (name, vector) in enumerate(rows):
        line = top - 2.1 - 1.15 * number
        draw_vector(axes, 3.6, line, vector, pictures.COLOURS[0], name)
        if values is not None:
            draw_vector(axes, left, line, values[number], pictures.COLOURS[2], "", ["value"][number:])
        for place, title in zip(places, columns, strict=False):
            axes.text(place, line - 0.5, pictures.short(known[title][number]), **WORDS)
        start, width = places[-1] - 0.6, 2 * weights[number]
        bar = pyplot.Rectangle((start, line - 0.9), width, 0.8, color=pictures.COLOURS[1], alpha=0.55)
        axes.add_patch(bar)
        axes.text(start + width + 0.15, line - 0.5, pictures.short(weights[number]), **LEFT)
    draw_vector(axes, left, bottom, mean, pictures.COLOURS[2], "weighted mean")
    if "exp" in columns:
        axes.text(places[-2], bottom + 0.05, f"together {known['exp'].sum():.3f}", **GREY)
    axes.text(left + len(mean) + 0.2, bottom - 0.5, "= weights · values", **(GREY | LEFT))
    return mean


def draw_example(task, size, query, name, rows, symbols, columns):
    """Draw the example of a lesson into a picture of this size, in boxes; the rest is as in draw_rows."""
    figure, axes = pyplot.subplots(figsize=(16, 16 * size[1] / size[0]))
    axes.set(xlim=(0, size[0]), ylim=(0, size[1]), aspect="equal")
    axes.axis("off")
    figure.subplots_adjust(0, 0, 1, 1)
    draw_rows(axes, size[1] - 0.3, query, name, rows, symbols, columns)
    axes.text(1.1, size[1] - 2.4 - 0.575 * len(rows), "keys and values", rotation=90, **GREY)
    pictures.save(figure, task, "by_hand")


def draw_signal():
    """Draw the example of Lesson 3: `AB` and `BA` with the vectors of their positions and without."""
    letters = {"A": np.eye(4)[0], "B": np.eye(4)[1]}
    places = [np.eye(4)[2], np.eye(4)[3]]
    figure, planes = pyplot.subplots(2, 2, figsize=(22, 14))
    for down, marked in enumerate((False, True)):
        for across, text in enumerate(("AB", "BA")):
            axes = planes[down, across]
            axes.set(xlim=(0.4, 13.2), ylim=(0, 8.2), aspect="equal")
            axes.axis("off")
            rows = [(f"'{letter}'{' + place' * marked}", letters[letter] + place * marked)
                    for letter, place in zip(text, places, strict=True)]  # fmt: skip
            title = f"{text}, {'with' if marked else 'without'} positions"
            axes.text(6.8, 7.7, title, **(WORDS | {"fontsize": 30}), weight="bold")
            draw_rows(axes, 6.9, (0, 0, 2.8, 0), "query", rows, ["A", "B", "1st", "2nd"], ["logit"])
    figure.subplots_adjust(0, 0, 1, 1, wspace=0, hspace=0)
    pictures.save(figure, 3, "by_hand")


def draw_product(axes, left, middle, factors, titles, colours, names=("", "", "")):
    """Draw a matrix times another as boxes around the height `middle`, under titles; return the product."""
    product = np.matmul(*factors)
    for matrix, title, colour, sign in zip((*factors, product), titles.split(), colours, "×= ", strict=True):
        top, width = middle + len(matrix) / 2, len(matrix[0])
        for place, numbers in enumerate(matrix):
            draw_vector(axes, left, top - place, numbers, pictures.COLOURS[colour], names[place])
        axes.text(left + width / 2, top + 0.45, title, **GREY)
        axes.text(left + width + 0.5, middle, sign, **WORDS)
        left, names = left + width + 1, [""] * 4
    return product


def draw_heads():
    """Draw the two heads of the last page: the same keys and values, a W_Q for each, and W_O subtracts."""
    vectors, names = np.array([(3, 0, 3, 0), (0, 3, 1, 0), (1, -1, 0, 1)]), ["A", "B", "difference"]
    unit, means = np.eye(4), []
    figure, planes = pyplot.subplot_mosaic("vv;ab;oo", figsize=(24, 21), height_ratios=(6.4, 13.4, 3.4))
    for name, axes in planes.items():
        axes.axis("off")
        axes.set(xlim=(0, 26.4), ylim=(0, 6.4 if name == "v" else 3.4))
    planes["v"].text(13.2, 5.9, "Each number multiplies its row of the matrix. Add up the rows.", **GREY)
    keys = draw_product(planes["v"], 4, 2.6, (vectors, unit[:, :2]), "vectors W_K keys", (5, 3, 0), names)
    values = draw_product(planes["v"], 16.5, 2.6, (vectors, unit[:, 2:3]), "vectors W_V values", (5, 3, 2))
    rows = list(zip(names, keys, strict=True))
    for number, axes in enumerate((planes["a"], planes["b"])):
        axes.set(xlim=(0.7, 13.9), ylim=(-0.4, 13))
        axes.text(7.2, 12.5, f"head {number + 1}", **WORDS, weight="bold")
        factors = vectors[2:], np.outer(unit[3], 2 * unit[number, :2])
        (query,) = draw_product(axes, 3.6, 9.4, factors, "vector W_Q query", (5, 3, 4), names[2:])
        means += [*draw_rows(axes, 6.9, query, "query", rows, ["A?", "B?"], ["logit"], values)]
    draw_product(planes["o"], 9.6, 1.4, ([means], [[1], [-1]]), "means W_O result", (2, 3, 0))
    figure.subplots_adjust(0, 0, 1, 1, wspace=0, hspace=0)
    pictures.save(figure, 3, "heads")


def draw_waves(length=20, depth=32, step=3):
    """Draw the waves of section 3.5 of Vaswani et al. (2017), and two pairs of their numbers as dials."""
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, depth, 2) / depth)
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, depth)
    polar = {tuple("abcdef"): {"projection": "polar", "theta_offset": np.pi / 2, "theta_direction": -1}}
    options = {"figsize": (14, 7), "width_ratios": (1.3, 1, 1, 1), "per_subplot_kw": polar}
    figure, planes = pyplot.subplot_mosaic("wabc;wdef", layout="constrained", **options)
    planes["w"].imshow(waves, cmap="cividis", aspect="auto")
    across = "Number within the vector\n(yellow 1, grey 0, dark blue −1)"
    planes["w"].set(xlabel=across, ylabel="Position", yticks=range(0, length, 2))
    for name, first, row in (("fast pair", 0, "abc"), ("slow pair", 8, "def")):
        arrow = {"xytext": (1.5 * first + 1, -1.8), "arrowprops": {"arrowstyle": "->"}}
        planes["w"].annotate(name, (first + 0.5, -0.5), **arrow)
        for plane, position in zip(map(planes.get, row), (0, 2, 4), strict=True):
            ends = angles[[position, position + step], first // 2]
            between = plane.fill_between(np.linspace(*ends, 50), 0.5, color=pictures.COLOURS[4], alpha=0.5)
            hands = [plane.plot([angle, angle], [0, 1], linewidth=6, color=colour)[0]
                     for angle, colour in zip(ends, pictures.COLOURS, strict=False)]  # fmt: skip
            plane.set(xticks=[], yticks=[])
            plane.set_title(f"{name}:\npositions {position}, {position + step}", fontsize=18)
    names = ("position p", f"position p + {step}", "the angle between: the same for every p")
    figure.legend((*hands, between), names, loc="outside lower right", ncols=3)
    pictures.save(figure, 3, "waves")


@pyplot.rc_context({"font.size": 18})
def draw():
    """Draw all of them."""
    letters = [(f"'{letter}'", np.eye(4)["␣ABC".index(letter)]) for letter in "AB␣BC"]
    columns = ["query · key", "÷ √4", "exp"]
    draw_example(1, (18, 10.2), (0, 2.8, 0, 0), "query for 'A'", letters, "␣ABC", columns)
    decodings = [("A", (3, 0, 3)), ("B", (0, 3, 1)), ("difference", (1, -1, 0))]
    symbols, columns = ["A?", "B?", "count"], ["query · key", "÷ √3"]
    draw_example(2, (15, 7.9), (1, -1, 0), "difference asks", decodings, symbols, columns)
    draw_signal()
    draw_heads()
    draw_waves()
