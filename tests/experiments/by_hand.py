"""The pictures that need no training: examples by hand as rows of boxes, waves as stripes and dials."""

import matplotlib.colors
import matplotlib.pyplot as pyplot
import numpy as np

from . import pictures

WORDS = {"fontsize": 27, "va": "center", "ha": "center"}


def attend(query, vectors):
    """Return dot products, logits, weights and mixture of one query, by equation 1 of Vaswani et al. (2017).

    Args:
        query: float (depth,).
        vectors: float (keys, depth), keys and values in one.
    """
    products = vectors @ query
    logits = products / np.sqrt(len(query))
    weights = np.exp(logits) / np.exp(logits).sum()
    return products, logits, weights, weights @ vectors


def short(number):
    """Return a number as a lesson writes it: 1, 2.8, .12, .50."""
    if number == round(number):
        return f"{number:.0f}".replace("-", "−")
    form = "{:.1f}" if number in (1.4, 2.8) else "{:.2f}"
    return form.format(number).replace("0.", ".", 1).replace("-", "−")


def draw_vector(axes, left, top, numbers, colour, name="", names=()):
    """Draw a vector as a row of boxes, the darker the larger the number; `name` stands before it."""
    shades = matplotlib.colors.LinearSegmentedColormap.from_list("shades", ["white", colour])
    for place, number in enumerate(numbers):
        strength = min(1, abs(number) / 3) ** 0.5 * 0.75
        box = pyplot.Rectangle((left + place, top - 1), 1, 1, facecolor=shades(strength), edgecolor="#444444")
        axes.add_patch(box)
        axes.text(left + place + 0.5, top - 0.5, short(number), **WORDS)
    for place, label in enumerate(names):
        axes.text(left + place + 0.5, top + 0.35, label, color="#555555", **WORDS)
    if name:
        axes.text(left - 0.25, top - 0.5, name, **(WORDS | {"ha": "right"}))


def new_plane(width, height):
    """Return a figure and axes without a frame, a unit of which is one box."""
    figure, axes = pyplot.subplots(figsize=(16, 16 * height / width))
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axes.axis("off")
    figure.subplots_adjust(0, 0, 1, 1)
    return figure, axes


def draw_rows(axes, top, query, query_name, rows, symbols, *, products_too=True):
    """Draw a query and, row by row, its keys with dot product, logit and weight, and then the mixture.

    Args:
        top: float, the upper edge.
        query: float (depth,).
        rows: list of (name, float (depth,)), what each key is called, and the key.
        symbols: list of str (depth,), what each number of a vector stands for.
        products_too: bool, whether the dot products have a column beside that of the logits.
    """
    depth, vectors = len(query), np.array([vector for _, vector in rows], dtype=float)
    products, logits, weights, mixture = attend(np.array(query, dtype=float), vectors)
    told = {"query · key": products, f"÷ √{depth}": logits} if products_too else {"logit": logits}
    columns = 3.6 + depth + 1.6 + 2 * np.arange(len(told) + 1)
    draw_vector(axes, 3.6, top - 0.7, query, pictures.COLOURS[4], query_name, symbols)
    for column, title in zip(columns, (*told, "weight"), strict=True):
        axes.text(column, top - 1.2, title, color="#555555", **WORDS)
    for number, (name, vector) in enumerate(rows):
        line = top - 2.1 - 1.15 * number
        draw_vector(axes, 3.6, line, vector, pictures.COLOURS[0], name)
        for column, values in zip(columns, told.values(), strict=False):
            axes.text(column, line - 0.5, short(values[number]), **WORDS)
        left, width = columns[-1] - 0.6, 2 * weights[number]
        bar = pyplot.Rectangle((left, line - 0.9), width, 0.8, color=pictures.COLOURS[1], alpha=0.55)
        axes.add_patch(bar)
        axes.text(left + width + 0.15, line - 0.5, short(weights[number]), **(WORDS | {"ha": "left"}))
    line = top - 2.4 - 1.15 * len(rows)
    draw_vector(axes, 3.6, line, mixture, pictures.COLOURS[2], "mixture")
    axes.text(3.8 + depth, line - 0.5, "= weights · values", color="#555555", **(WORDS | {"ha": "left"}))


def draw_counting():
    """Draw the example of Lesson 1: the query of A and the five letters of `AB BC`."""
    symbols = ["␣", "A", "B", "C"]
    rows = [(f"'{letter}'", np.eye(4)[symbols.index(letter)]) for letter in "AB␣BC"]
    figure, axes = new_plane(15, 10.2)
    draw_rows(axes, 9.9, (0, 2.8, 0, 0), "query of A", rows, symbols)
    pictures.save(figure, 1, "by_hand")


def draw_difference():
    """Draw the example of Lesson 2: three decodings, and what the difference step makes of them."""
    rows = [("A", (3, 0, 3)), ("B", (0, 3, 1)), ("difference", (1, -1, 0))]
    figure, axes = new_plane(14, 7.9)
    draw_rows(axes, 7.6, (1, -1, 0), "difference asks", rows, ["A?", "B?", "count"])
    pictures.save(figure, 2, "by_hand")


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
            rows = [
                (f"'{letter}'" + (" + place" if marked else ""), letters[letter] + place * marked)
                for letter, place in zip(text, places, strict=True)
            ]
            title = f"{text}, {'with' if marked else 'without'} positions"
            axes.text(6.8, 7.7, title, **(WORDS | {"fontsize": 30}), weight="bold")
            draw_rows(axes, 6.9, (0, 0, 2.8, 0), "query", rows, ["A", "B", "1st", "2nd"], products_too=False)
    figure.subplots_adjust(0, 0, 1, 1, wspace=0, hspace=0)
    pictures.save(figure, 3, "by_hand")


def draw_sinusoids(length=40, depth=64):
    """Draw sinusoidal positional encodings, section 3.5 of Vaswani et al. (2017), as stripes."""
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, depth, 2) / depth)
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, depth)
    figure, axes = pyplot.subplots(figsize=(12, 6), layout="constrained")
    image = axes.imshow(waves, cmap="cividis", aspect="auto")
    axes.set_xlabel("Number within the vector", fontsize=18)
    axes.set_ylabel("Position", fontsize=18)
    axes.tick_params(labelsize=16)
    figure.colorbar(image).ax.tick_params(labelsize=16)
    pictures.save(figure, 3, "sinusoids")


def draw_dials(step=3):
    """Draw two pairs of numbers of sinusoids as the hands of dials, at three positions and a step further."""
    polar = {"projection": "polar", "theta_offset": np.pi / 2, "theta_direction": -1}
    figure, planes = pyplot.subplots(2, 3, figsize=(12, 8.8), subplot_kw=polar, layout="constrained")
    for row, name, speed in zip(planes, ("Fast pair", "Slow pair"), (1, 0.1), strict=True):
        for axes, position in zip(row, (0, 2, 4), strict=True):
            first, second = speed * position, speed * (position + step)
            axes.fill_between(np.linspace(first, second, 50), 0.5, color=pictures.COLOURS[4], alpha=0.4)
            axes.plot([first, first], [0, 1], color=pictures.COLOURS[0], linewidth=6)
            axes.plot([second, second], [0, 1], color=pictures.COLOURS[1], linewidth=6)
            axes.set(xticks=[], yticks=[])
            axes.set_title(f"{name}: positions {position}, {position + step}", fontsize=20)
    pictures.save(figure, 3, "dials")


def draw():
    """Draw all of them."""
    draw_counting()
    draw_difference()
    draw_signal()
    draw_sinusoids()
    draw_dials()
