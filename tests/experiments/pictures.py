"""Draw the pictures of the pages, each into the folder of its page.

    python -m experiments.pictures           (those that need no training)
    python -m experiments.pictures --all     (also those of many models; trains what is missing)

A picture of one model shows one of the page to play with. Pictures are 16 inches wide, which are 800 pixels
on a page, so their text is as large as that around them. Places are in inches from the upper left corner.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile

import formula
import matplotlib.colors
import matplotlib.offsetbox
import matplotlib.ticker
import numpy as np
from matplotlib import pyplot
from matplotlib.patches import Rectangle

from . import edits, measuring, play, programs, task_1, task_3, transformer

QUERY, KEY, WEIGHT, VALUE = "#E69F00", "#0072B2", "#D55E00", "#009E73"  # Of Okabe and Ito (2008).
PINK, SKY = "#CC79A7", "#56B4E9"  # Theirs, too; they mean nothing of their own.
ORANGES = matplotlib.colormaps["Oranges"]
INK, GREY, LINE, PALE = "#222222", "#616161", "#bdbdbd", "#f0f0f0"
TEN, SIDE = range(1, 11), 0.9  # The side of a cell.
COUNTS = "0: count of A", "1: count of B", "2: count of C"
DIFFERENCE, SIGNAL, TEXT = "BBBA ACABB", "BBABCCABCAB", "Anna dog Ben cat Cleo owl Dan hen Ben".split()
PETS, QUESTION, RIGHT = np.arange(1, 8, 2), 8, 3  # Places in TEXT; each pet's name stands before it.


def short(number):
    """Return a number as a page writes it: 1, 2.8, 4.06, 0.12, 0.50, −2."""
    if np.isinf(number):
        return "−∞"
    text = f"{number:.0f}" if number == round(number) else f"{number:.2f}"
    return (text.rstrip("0").rstrip(".") if abs(number) >= 1 and "." in text else text).replace("-", "−")


# --- What pages are drawn with ----------------------------------------------------------------------------


def new_page(height):
    """Return a page to draw on, as axes of 16 by height."""
    page = pyplot.figure(figsize=(16, height)).add_axes((0, 0, 1, 1), xlim=(0, 16), ylim=(height, 0))
    page.axis("off")
    return page


def write(page, across, down, text, colour=INK, side="center", **look):
    """Write a text around a place, or from it to the "left" or "right" end of the text."""
    colour = "#9A6700" if colour == QUERY else colour  # Yellow is darkened to be read.
    page.text(across, down, text, color=colour, ha=side, va="center", zorder=6, **look)


def write_parts(page, across, down, *parts):
    """Write texts beside each other, pairs of a text and its colour."""
    looks = [{"color": "#9A6700" if colour == QUERY else colour, "weight": "bold"} for _, colour in parts]
    areas = [matplotlib.offsetbox.TextArea(text, textprops=look) for (text, _), look in zip(parts, looks)]
    line = matplotlib.offsetbox.HPacker(children=areas, pad=0, sep=8)
    box = matplotlib.offsetbox.AnnotationBbox(line, (across, down), frameon=False, pad=0)
    box.zorder = 6
    page.add_artist(box)


def draw_cells(page, left, top, numbers, colour, names=(), rows=(), side=SIDE, full=1, digits=None):
    """Draw a vector or a matrix as cells with their numbers, the stronger in colour the nearer to `full`.

    Where there is nan, there is no cell. Without digits after the point, numbers are written as on a page.
    """
    for (row, column), number in np.ndenumerate(np.atleast_2d(np.asarray(numbers, dtype=float))):
        if np.isnan(number):
            continue
        text = short(number) if digits is None else f"{number:.{digits}f}".replace("-", "−")
        strength = 0 if np.isinf(number) else min(1, abs(number) / full) ** 0.7
        pale, strong = map(np.array, map(matplotlib.colors.to_rgb, (PALE, colour)))
        shade = pale + strength * (strong - pale)
        if colour == WEIGHT:  # On the scale of the programs' heatmaps.
            shade = np.array(ORANGES(number / full)[:3])
        face, edge = (shade, "white") if number >= 0 else ("white", shade)
        corner = left + column * side + 0.03, top + row * side + 0.03
        page.add_patch(Rectangle(corner, side - 0.06, side - 0.06, facecolor=face, edgecolor=edge, lw=3))
        dark = number >= 0 and (
            number > 0.77 * full if colour == WEIGHT else shade @ (0.299, 0.587, 0.114) < 0.6
        )
        look = {"weight": "bold" if strength else "normal", "size": 21 if len(text) > 3 else 25}
        middle = left + (column + 0.5) * side, top + (row + 0.5) * side
        write(page, *middle, text, "white" if dark else INK, **look)
    for column, name in enumerate(names):
        write(page, left + (column + 0.5) * side, top - 0.35, name, GREY, size=23)
    for row, name in enumerate(rows):
        write(page, left - 0.25, top + (row + 0.5) * side, name, side="right")


def draw_box(page, across, down, text, colour=LINE, wide=2.0, high=0.8, fill="white", **look):
    """Draw a box with a text around a place."""
    corner = across - wide / 2, down - high / 2
    page.add_patch(Rectangle(corner, wide, high, facecolor=fill, edgecolor=colour, linewidth=2.5, zorder=5))
    write(page, across, down, text, **look)


def draw_arrow(page, tail, head, colour=GREY, width=3, style="-|>", zorder=2):
    """Draw an arrow, or with the style "-" a line."""
    style += "" if style == "-" else f",head_length={0.3 + 0.06 * width},head_width={0.15 + 0.04 * width}"
    look = {"arrowstyle": style, "mutation_scale": 22, "linewidth": width, "color": colour}
    page.annotate("", head, tail, arrowprops=look | {"shrinkA": 0, "shrinkB": 0}, zorder=zorder)


def draw_attention(page, keys, queries, weights, shown, down, up, numbers=True):
    """Draw attention as lines from keys up to queries, as wide as the weights of the query that is shown."""
    for (query, key), weight in np.ndenumerate(weights):
        ends = np.array([(keys[key], down), (queries[query], up)])
        if query != shown:
            width = 2 if len(keys) * len(queries) < 50 else 0.7
            draw_arrow(page, *ends, "#dcdcdc", width * (weight > 0), "-")
            continue
        draw_arrow(page, *ends, WEIGHT, 1.5 * (weight > 0) + 20 * weight, "-", zorder=3)
        if numbers:
            draw_box(page, *((0.55, 0.45) @ ends), short(weight), WEIGHT, wide=1.1, high=0.7)


def draw_lookup(page, left, top, query, keys, values, label, rows, columns, bar, names=(), side=SIDE):
    """Draw a query, its keys row by row, what attention makes of them, their values, and the mean.

    Args:
        values: where they begin across and what they are, float (rows, numbers).
        columns: dict from "query · key", "÷ √depth", "score" or "exp" to its place across.
        bar: the place across where weights begin, and the length of a weight of 1.
        names: what stands above the numbers of the query, and above those of the values.

    Returns:
        The height at which the mean is.
    """
    (start, values), (where, one), keys = values, bar, np.array(keys, dtype=float)
    products = keys @ query
    scores = products / len(query) ** 0.5
    ((mean,), (weights,)) = formula.attend([query], keys, values)
    known = {"query · key": products, "score": scores, "exp": np.exp(scores)}
    asked, said = names or ((), ())
    draw_cells(page, left, top, query, QUERY, asked, [label], side, full=max(np.abs(query)))
    titles, separate = top + side + 0.7, start != left
    for title, across in columns.items():
        write(page, across, titles, title, GREY)
    write(page, where, titles, "weight", WEIGHT, "left", weight="bold")
    if separate:
        write(page, left + len(query) * side + 0.25, top + side / 2, "query", QUERY, "left", weight="bold")
        write(page, left + len(query) * side / 2, titles, "keys", KEY, weight="bold")
        write(page, start + len(mean) * side / 2, titles - 0.7, "values", VALUE, weight="bold")
    for row, name in enumerate(rows):
        down = top + side + 1.1 + row * (side + 0.1)
        draw_cells(page, left, down, keys[row], KEY, rows=[name], side=side, full=np.abs(keys).max())
        for title, across in columns.items():
            write(page, across, down + side / 2, short(known.get(title, scores)[row]))
        page.add_patch(Rectangle((where, down + side / 2 - 0.25), one * weights[row], 0.5, color=WEIGHT))
        after = where + one * weights[row] + 0.15
        write(page, after, down + side / 2, short(weights[row]), WEIGHT, "left", weight="bold")
        if separate:
            names, full = () if row else said, np.abs(values).max()
            draw_cells(page, start, down, values[row], VALUE, names, (), side, full)
    down += side + 0.2
    page.plot((start, start + len(mean) * side), (down - 0.07, down - 0.07), color=INK, linewidth=2.5)
    draw_cells(page, start, down, mean, VALUE, side=side, full=np.abs(values).max())
    return down + side / 2


# --- Examples computed by hand ------------------------------------------------------------------------------


def names_and_pets():
    """Draw the first example of Task 1: Ben is asked for, names are keys and pets are values."""
    page, names, pets = new_page(8.1), ("Anna", "Ben", "Cleo", "Dan"), ("dog", "cat", "owl", "hen")
    columns = {"query · key": 6.6, "÷ √4": 8.3, "exp": 9.5}
    what = 2.8 * np.eye(4)[1], np.eye(4), (12.3, np.eye(4)), "Ben?", names
    down = draw_lookup(page, 1.6, 0.8, *what, columns, (10.2, 1.5), (names, pets))
    write(page, 12.05, down, "mean: mostly cat", VALUE, "right", weight="bold")
    for number, place in enumerate(((6.6, 1.8), (8.3, 1.8), (10.3, 1.8), (8.3, down)), start=1):
        page.plot(*place, "o", color=INK, markersize=34)
        write(page, *place, number, "white", weight="bold")


def shares():
    """Draw what part of the whole weight the 'A's of five letters have, if none to three are there."""
    page, unit, left = new_page(5.4), 0.62, 2
    for row, (count, name) in enumerate(enumerate(("no 'A'", "one", "two", "three"))):
        across, top, weights = left, 0.3 + 1.25 * row, np.exp([1.4] * count + [0] * (5 - count))
        write(page, left - 0.3, top + 0.45, name, side="right")
        for place, weight in enumerate(weights):
            fill, text = (WEIGHT, "A") if place < count else (PALE, "")
            page.add_patch(
                Rectangle((across, top), weight * unit, 0.9, facecolor=fill, edgecolor="white", lw=4)
            )
            write(page, across + weight * unit / 2, top + 0.45, text, "white", weight="bold")
            across += weight * unit
        own = sum(weights[:count])
        share = f"{short(own)} / {short(sum(weights))} = {short(own / sum(weights))}" if count else "0"
        write(page, across + 0.3, top + 0.45, share, WEIGHT, "left", weight="bold")


def two_arrows():
    """Draw a query with four keys as arrows in a plane, and what their dot products are."""
    _, planes = pyplot.subplots(1, 4, figsize=(16, 6), layout="constrained")
    titles = "similar direction", "at right angles", "opposite", "twice as long"
    query, keys = (3, 1), ((2, 2), (-1, 3), (-3, -1), (4, 4))
    places = (1.4, 3.1), (1.3, 3), (-1.7, 1.2), (1.1, 3.4)  # Of the names of the keys.
    for plane, title, key, above in zip(planes, titles, keys, places):
        plane.set(xlim=(-3.3, 4.6), ylim=(-3.3, 4.6), xticks=range(-3, 5), yticks=range(-3, 5), aspect=1)
        plane.tick_params(length=0, labelbottom=False, labelleft=False)
        plane.spines[:].set_visible(False)
        plane.grid(color="#e4e4e4", linewidth=1.5)
        plane.axhline(0, color=LINE, linewidth=2)
        plane.axvline(0, color=LINE, linewidth=2)
        for vector, colour, place in ((key, KEY, above), (query, QUERY, (2.6, -1.1))):
            draw_arrow(plane, (0, 0), vector, colour, width=6)
            name = f"{'query' if vector == query else 'key'}\n({short(vector[0])}, {short(vector[1])})"
            write(plane, *place, name, colour, weight="bold", linespacing=1.1)
        plane.set_title(title, weight="bold", pad=12)
        first, second = (short(number) if number > 0 else f"({short(number)})" for number in key)
        plane.set_xlabel(f"3 · {first} + 1 · {second}\n= {short(np.dot(query, key))}", linespacing=1.5)


def softmax():
    """Draw what softmax makes of four dot products in 64 dimensions, as they are and divided by √64."""
    _, planes = pyplot.subplots(2, 3, figsize=(16, 9.4), layout="constrained")
    names = "query · key, as they are", "query · key ÷ √64"
    for row, scores, name in zip(planes, np.array([(16, 8, 0, -8), (2, 1, 0, -1)]), names):
        numbers = {name: scores, "exp": np.exp(scores), "weight": formula.softmax(scores)}
        for plane, (title, heights) in zip(row, numbers.items()):
            bars = plane.bar(range(4), heights, 0.75, color=WEIGHT if title == "weight" else LINE)
            texts = [f"{height:,.0f}" if height > 100 else short(height) for height in heights]
            plane.bar_label(bars, texts, padding=6)
            plane.set(xticks=(), yticks=())
            plane.margins(y=0.25)
            plane.spines[["top", "left", "right"]].set_visible(False)
            plane.spines["bottom"].set_position("zero")
            plane.set_title(title, weight="bold", color=WEIGHT if title == "weight" else INK, pad=18)


# The example of Task 2: a word is a woman, an action, Anna; it asks who, asks what; W_V passes on the rest.
WORDS = {"Anna": (1, 0, 1), "slept": (0, 1, 0), "she": (1, 0, 0)}
VECTORS = np.array(list(WORDS.values()))
FEATURES, ASKED = ("woman", "action", "Anna"), ("who?", "what?")
W_Q = np.array([(4, 0), (3, 0), (-4, 2)])
W_K = np.array([(0, 0), (0, 1), (1, 0)])
W_V = np.array([(0, 0, 0), (0, 1, 0), (0, 0, 1)])


def she():
    """Draw what *she* asks for, what the three words have to say, and what she is then."""
    page, left, side = new_page(11.6), 12, 1.25
    what = VECTORS[2] @ W_Q, VECTORS @ W_K, (left, VECTORS @ W_V), "she", list(WORDS)
    columns, names = {"query · key": 5.2, "÷ √2": 7.1}, (ASKED, FEATURES)
    down = draw_lookup(page, 1.6, 0.8, *what, columns, (8.2, 2.2), names, side)
    write(page, left - 0.25, down, "mean", VALUE, "right", weight="bold")
    ((mean,), _) = formula.attend([VECTORS[2] @ W_Q], VECTORS @ W_K, VECTORS @ W_V)
    lines = (1.35, "+ she, as she was", VECTORS[2]), (2.8, "she, now", VECTORS[2] + mean)
    for lower, name, numbers in lines:
        draw_cells(page, left, down + lower - side / 2, numbers, GREY, side=side)
        write(page, left - 0.25, down + lower, name, GREY, "right", weight="bold")
    page.plot((left, left + 3 * side), (down + 2.07, down + 2.07), color=INK, linewidth=2.5)


def words():
    """Draw three words, and what self-attention makes of each; the lines of *she* stand out."""
    means, weights = formula.attend(VECTORS @ W_Q, VECTORS @ W_K, VECTORS @ W_V)
    page, middles, side = new_page(9.8), (2.7, 8, 13.3), 1.25
    for word, middle, vector, mean in zip(WORDS, middles, VECTORS, means):
        write(page, middle, 0.5, f"{word}, now", weight="bold")
        draw_cells(page, middle - 1.5 * side, 0.9, vector + mean, GREY, side=side)
        draw_cells(page, middle - 1.5 * side, 7.5, vector, GREY, FEATURES, side=side)
        write(page, middle, 9.3, word, weight="bold")
    draw_attention(page, middles, middles, weights, 2, 6.6, 2.25)


def by_hand():
    """Draw the example of Task 3: `AB` and `BA` without and with the vectors of their positions."""
    unit, page = np.eye(4), new_page(13.1)
    for number, (text, marked) in enumerate((("AB", 0), ("BA", 0), ("AB", 1), ("BA", 1))):
        left, top = 8 * (number % 2), 6.6 * (number // 2)
        keys = unit[["AB".index(letter) for letter in text]] + marked * unit[2:]
        title = f"{text}, {'with' if marked else 'without'} positions"
        write(page, left + 4.2, top + 0.4, title, weight="bold")
        what = 2.8 * unit[2], keys, (left + 1.45, keys), "query", list(text), {"score": left + 5.6}
        names = ["A", "B", "1st", "2nd"], ()
        down = draw_lookup(page, left + 1.45, top + 1.5, *what, (left + 6.2, 0.75), names)
        write(page, left + 1.2, down, "mean", VALUE, "right", weight="bold")


def transformer_by_hand():
    """Draw the example of the transformer page: what W_Q, W_K and W_V make of a question and two pairs."""
    page, unit = new_page(6.2), np.eye(2)
    rows = "Anna's dog (1 0 1 0)", "Ben's cat (0 1 0 1)"
    what = 4 * unit[1], unit, (14, unit), "Ben? (0 1 0 0)", rows, {"query · key": 8.3, "÷ √2": 10.2}
    down = draw_lookup(page, 5, 0.8, *what, (11.2, 1.6), (("Anna", "Ben"), ("dog", "cat")))
    write(page, 13.75, down, "weighted mean", VALUE, "right", weight="bold")


def heads_by_hand():
    """Draw the transformer page's example of heads: one asks for both pets, then two ask for one each."""
    unit, page, means = np.eye(2), new_page(13.9), []
    for left, top, name, query in (
        (0, 0, "one head asks for both", (4, 4)),
        (0, 6.1, "head 1 asks for Anna's", (4, 0)),
        (8, 6.1, "head 2 asks for Ben's", (0, 4)),
    ):
        write(page, left + 0.3, top + 0.4, name, side="left", weight="bold")
        what = query, unit, (left + 6, unit), "", ("Anna", "Ben")
        draw_lookup(page, left + 1.4, top + 1, *what, {}, (left + 3.6, 1.2), ((), ("dog", "cat")))
        means += [*formula.attend([query], unit, unit)[0]]
    write(page, 8.3, 4.55, "Whose dog, whose cat?", side="left")
    write(page, 5.75, 13.15, "side by side", side="right")
    draw_cells(page, 6, 12.7, [*means[1], *means[2]], VALUE)


def mask():
    """Draw what a causal mask makes of the scores of three words: 1.4 where they are equal, else 0."""
    page, scores = new_page(4.7), 1.4 * np.array([(1, 0, 1), (0, 1, 0), (1, 0, 1)])
    masked = np.where(np.tri(3, dtype=bool), scores, -np.inf)
    weights = np.where(np.tri(3, dtype=bool), formula.softmax(masked), np.nan)
    grids = {"scores": scores, "no later words": masked, "weights": weights}
    for left, (title, numbers) in zip((1.2, 7, 12.8), grids.items()):
        colour = WEIGHT if title == "weights" else GREY
        write(page, left + 1.35, 0.4, title, colour, weight="bold")
        draw_cells(page, left, 1.6, numbers, colour, full=1.6 if colour == GREY else 1)
        for place, word in enumerate("ABA"):
            write(page, left + (place + 0.5) * SIDE, 1.25, word, KEY, weight="bold")
            write(page, left - 0.3, 1.6 + (place + 0.5) * SIDE, word, QUERY, weight="bold")
    draw_arrow(page, (4.9, 2.95), (5.7, 2.95))
    draw_arrow(page, (10.7, 2.95), (11.5, 2.95))
    write(page, 11.1, 2.5, "softmax", GREY, size=21)


def recurrent():
    """Draw a translation by a recurrent encoder and decoder with attention, as in Bahdanau et al. (2015).

    The states of the encoder are half of the one before and their word. The queries are our own choice.
    """
    states = np.array([(1, 0, 0), (0.5, 1, 0), (0.25, 0.5, 1)])
    queries = np.array([(4, -4, 0), (0, 0, 4), (0, 4, -4)])
    contexts, weights = formula.attend(queries, states, states)
    page, middles = new_page(11.1), (4.2, 8.7, 13.2)
    write(page, 0.2, 8.2, "encoder:\nkey", KEY, "left", weight="bold")
    write(page, 0.2, 9.35, "= value", VALUE, "left", weight="bold")
    write(page, 0.2, 2.45, "decoder:\nquery", QUERY, "left", weight="bold")
    write(page, 0.2, 3.4, "context", VALUE, "left", weight="bold")
    english, french = ("the", "white", "cat"), ("le", "chat", "blanc")
    for number, (middle, word, written) in enumerate(zip(middles, english, french)):
        draw_cells(page, middle - 1.35, 8, states[number], KEY)
        draw_cells(page, middle - 1.35, 8.9, states[number], VALUE)
        write(page, middle, 10.7, word)
        draw_arrow(page, (middle, 10.4), (middle, 9.9))
        draw_cells(page, middle - 1.35, 2, queries[number], QUERY, full=4)
        draw_cells(page, middle - 1.35, 2.9, contexts[number], VALUE)
        write(page, middle, 0.5, written)
        draw_arrow(page, (middle, 1.9), (middle, 0.85))
        for height in (2.9, 8.45) if number else ():
            draw_arrow(page, (middle - 3.05, height), (middle - 1.45, height))
    draw_attention(page, middles, middles, weights, 1, 7.9, 3.9)


def clock_hands():
    """Draw the first three pairs of 16 numbers of a positional encoding as hands: Vaswani et al., 3.5."""
    _, dials = pyplot.subplots(3, 8, figsize=(16, 6.9), layout="constrained")
    for (row, position), dial in np.ndenumerate(dials):
        angle = position * 10000.0 ** (-row / 8)
        dial.add_patch(pyplot.Circle((0, 0), 1, color=PALE))
        dial.plot((0, np.sin(angle) * 0.85), (0, np.cos(angle) * 0.85), color=INK, linewidth=7)
        dial.set(xlim=(-1, 1), ylim=(-1, 1), aspect=1, xticks=(), yticks=())
        dial.spines[:].set_visible(False)
        if not row:
            dial.set_title(position, weight="bold", pad=12)
        if not position:
            speed = short(10000.0 ** (row / 8))
            dial.set_ylabel(f"c = {speed}", rotation=0, ha="right", va="center", labelpad=20)
    dials[0, 0].text(-1.3, 1.3, "position", weight="bold", ha="right")


# --- The models ---------------------------------------------------------------------------------------------


def columns(number):
    """Return the middles of so many columns of a model, float (number,)."""
    return 3.9 + (np.arange(number) + 0.5) * 11.8 / number


def draw_model(*rows):
    """Draw a model from the logits down to the input, with an arrow upwards from each vector of a row.

    Each row is a tuple of what stands before it, texts with their colours, and its kind: a "layer" of these
    texts; "texts" or "vectors" in columns, these in the colours of what they are used as; "queries" that come
    from the side of what is below; or an "attention" with weights and the query that is shown.
    """
    page, pitch, count = new_page(1.1 * len(rows)), 1.1, 0
    for place in reversed(range(len(rows))):
        (names, kind, *content), down = rows[place], pitch * (place + 0.5)
        for line, (text, colour) in enumerate(names):
            look = {"weight": "normal" if colour == GREY else "bold", "size": 24}
            write(page, 0.2, down + 0.53 * (line - (len(names) - 1) / 2), text, colour, "left", **look)
        if kind == "attention":
            count, keys = content[0].shape
            beside = place and rows[place - 1][1] == "queries"
            lines = down + pitch - 0.35, down - pitch + (0.05 if beside else 0.35)
            draw_attention(page, columns(keys), columns(count), *content, *lines, numbers=False)
            continue
        if kind == "layer":
            draw_box(page, 9.8, down, "", GREY, wide=11.8, high=0.7)
            write_parts(page, 9.8, down, *content)
        else:
            count, wide = len(content[0]), min(2.7, 10 / len(content[0]))
        for across, text in zip(columns(count), content[0] if kind != "layer" else ()):
            if kind == "texts":
                write_parts(page, across, down, *text)
                continue
            if kind == "queries":
                page.plot(across, down - 0.1, "o", color=WEIGHT, markersize=13, zorder=6)
                draw_arrow(page, (across - 0.5, down - 0.1), (across - 0.12, down - 0.1), INK, width=2.5)
                across, wide = across - 1.25, 1.5
            middle = down - 0.1 * (kind == "queries")
            draw_box(page, across, middle, text, INK, wide, 0.65)
            part, high = wide / max(1, len(content[1])), 0.2 if text and kind == "vectors" else 0.65
            for number, colour in enumerate(content[1]):  # Below a text, so that it can be read.
                corner = across - wide / 2 + number * part, middle + 0.325 - high
                page.add_patch(Rectangle(corner, part, high, color=colour, alpha=0.5, lw=0, zorder=5))
        if place and rows[place - 1][1] != "attention":
            for across in columns(count):
                draw_arrow(page, (across, down - 0.36), (across, down - pitch + 0.36), width=2.5)


DENSE = (), "layer", ("dense", INK)
ENCODER = ("encoder layer,", INK), ("× --enc_layers", INK)
SUM = (), "layer", ("weighted mean of the values", VALUE), ("+", INK), ("query", QUERY), ("→ layer norm", INK)


def of_logits(answers):
    """Return the row of logits, of which in each column the largest stands out."""
    names = ("logits", INK), (f"{len(answers)} × 11", GREY)
    numbers = [[*((0, 1, 2, 3) if answer < 4 else (0, "…", answer)), "…", 10] for answer in answers]
    return names, "texts", [[(str(number), INK if number == answer else LINE) for number in column]
                            for column, answer in zip(numbers, answers)]  # fmt: skip


def of_counting(reference, text, names, shown, used_as):
    """Return the rows of a model of Task 1 or 2 from its hidden states down, with its weights for a text."""
    reference.lesson(measuring.spell(1, text).inputs[0])
    asked = [name.split()[-1] if "count" in name else name[3:] for name in names]
    letters = [[(letter, INK)] for letter in text.replace(" ", "␣")]
    return (
        ((("hidden states", INK), (f"{len(names)} × 64", GREY)), "vectors", names, used_as),
        SUM,
        ((("queries, learnt", QUERY), (f"{len(names)} × 64", GREY)), "queries", asked, [QUERY]),
        (
            (("weights", WEIGHT), (f"{len(names)} × 10", GREY)),
            "attention",
            reference.weights["attention"][0],
            shown,
        ),
        ((("keys", KEY), ("= values", VALUE)), "vectors", [""] * 10, [KEY, VALUE]),
        DENSE,
        ((("letters, one-hot", INK), ("10 × 4", GREY)), "texts", letters),
    )


def counting_model():
    """Draw the model of Task 1, with the weights of the page's."""
    counting = of_counting(of_page("counting"), task_1.SHOWN, COUNTS, 1, [])
    draw_model(of_logits((2, 3, 2)), DENSE, *counting)


def difference_model():
    """Draw the model of Task 2, with the weights of the page's."""
    reference, steps = of_page("difference_self_att"), (*COUNTS, "3: |A − B|")
    counting = of_counting(reference, DIFFERENCE, steps, 3, [QUERY, KEY, VALUE])
    name = ("with --self_att:", GREY), ("self-attention", WEIGHT)
    weights = reference.weights["self_attention"][0]
    draw_model(of_logits((3, 5, 1, 2)), DENSE, SUM, (name, "attention", weights, 3), *counting)


def signal_model():
    """Draw the model of Task 3, with the weights of the page's."""
    reference = of_page("signal_pos_enc")
    reference.lesson(measuring.spell(3, SIGNAL).inputs[0])
    ((own,), (last,)) = (reference.weights[name] for name in ("encoder_layer_1/attention", "attention"))
    draw_model(
        of_logits([4]),
        DENSE,
        SUM,
        ((("query, learnt", QUERY), ("1 × 64", GREY)), "queries", ["count"], [QUERY]),
        ((("weights", WEIGHT), ("1 × 11", GREY)), "attention", last, 0),
        ((("keys", KEY), ("= values", VALUE)), "vectors", [""] * 11, [KEY, VALUE]),
        (ENCODER, "layer", ("+ dense, ReLU, dense → layer norm", INK)),
        SUM,
        ((("self-attention", WEIGHT), ("11 × 11", GREY)), "attention", own, 0),
        ((("vectors", INK), ("11 × 64", GREY)), "vectors", [""] * 11, [QUERY, KEY, VALUE]),
        ((("with --pos_enc", INK),), "layer", ("+ positional encoding", INK)),
        DENSE,
        ((("letters, one-hot", INK), ("signal first", INK)), "texts", [[(letter, INK)] for letter in SIGNAL]),
    )


def transformer_model():
    """Draw the transformer; of its attention, what *cat* reads in block 1, and the question in block 2."""
    logits = ("after the last word:", GREY), ("Anna   Ben   …   dog", LINE), ("cat", INK), ("owl   …", LINE)
    blocks = []
    for number, query, weights in zip((2, 1), (QUESTION, 3), reversed(heads())):
        blocks += [((), "layer", ("norm → dense → ReLU → dense → +", INK))]
        name = (f"block {number}", INK), ("9 × 32", GREY)
        blocks += [(name, "layer", ("weighted means, joined → W_O → +", INK))]
        blocks += [((("attention,", WEIGHT), ("4 heads, masked", GREY)), "attention", weights, query)]
        blocks += [((), "layer", ("norm →", INK), ("queries,", QUERY), ("keys,", KEY), ("values", VALUE))]
    draw_model(
        ((("logits", INK), ("9 × 16", GREY)), "texts", [logits]),
        ((), "layer", ("norm → dense", INK)),
        *blocks,
        ((), "layer", ("embedding + position", INK)),
        ((("words", INK),), "texts", [[(word, INK)] for word in TEXT]),
    )


def block():
    """Draw a block as ours, with a free rail, beside one in the order of the paper's Figure 1."""
    page = new_page(10)
    for left, title in ((0.3, "here: norm beside the rail"), (8.6, "first transformer: norm on the rail")):
        rail, side, first = left + 1.3, left + 4.9, left == 0.3
        write(page, left, 0.45, title, side="left", weight="bold")
        write(page, left, 9.6, "a vector for each word", side="left")
        draw_arrow(page, (rail, 9.2), (rail, 0.9), LINE, 12)
        for bottom, part, colour in ((8.8, "attention", WEIGHT), (4.9, "dense, ReLU, dense", INK)):
            joined = bottom - (3 if first else 2.1)
            page.plot((rail, side, side), (bottom, bottom, joined), color=GREY, linewidth=3, zorder=2)
            draw_arrow(page, (side, joined), (rail + 0.42, joined))
            draw_box(page, side, bottom - (1.95 if first else 1.05), part, colour, wide=4.2, weight="bold")
            draw_box(page, rail, joined, "+", INK, wide=0.8)
            draw_box(page, *(side, bottom - 0.9) if first else (rail, joined - 0.95), "norm", INK)


# --- Trained models -----------------------------------------------------------------------------------------


def new_chart(title, across, up, **settings):
    """Return the axes of a chart, with its titles and a grid."""
    _, plane = pyplot.subplots(figsize=(16, 10), layout="constrained")
    plane.set(xlabel=across, ylabel=up, axisbelow=True, **settings)
    plane.set_title(title, loc="left", weight="bold", pad=20)
    plane.grid(color="#e4e4e4", linewidth=1.5)
    plane.spines[["top", "right"]].set_visible(False)
    return plane


def draw_band(plane, points, curves, colour, **look):
    """Draw the median of curves, float (curves, points), in a band from the least to the most."""
    plane.fill_between(points, *np.quantile(curves, (0, 1), axis=0), color=colour, alpha=0.25, linewidth=0)
    plane.plot(points, np.median(curves, axis=0), color=colour, linewidth=4, **look)


def draw_heatmap(plane, weights, columns, rows, numbers=True, **look):
    """Draw a heatmap as the programs do, with numbers as bright or dark as can be read."""
    plane.imshow(
        weights, "Oranges", vmin=0, **{"vmax": max(0.5, np.nanmax(weights)) if numbers else None} | look
    )
    plane.set_xticks(range(len(columns)), columns)
    plane.set_yticks(range(len(rows)), rows)
    plane.tick_params(length=0, labeltop=numbers, labelbottom=not numbers)
    for (row, column), weight in np.ndenumerate(weights) if numbers else ():
        colour = "white" if weight > 0.385 else INK
        plane.text(column, row, short(weight), color=colour, ha="center", va="center", size=21)


def of_page(name):
    """Return a model of the page to play with by its formula."""
    return formula.Model(programs.read(play.FOLDER / "checkpoints" / f"{name}.npz")[0])


def lineup():
    """Draw three heatmaps of one sequence without their names: flat, learnt, nearly perfect."""
    _, planes = pyplot.subplots(3, 1, figsize=(16, 15), layout="constrained")
    inputs = measuring.spell(1, task_1.SHOWN).inputs
    for number, (plane, setup) in enumerate(zip(planes, task_1.LINEUP), start=1):
        weights = np.median([model(inputs)[1][0].numpy() for model in edits.models(setup, TEN)], axis=0)
        draw_heatmap(plane, weights, task_1.SHOWN.replace(" ", "␣"), COUNTS)
        plane.set_title(f"Model {number}", loc="left", weight="bold")


def counting_curve():
    """Draw how output step 0 counts: its total weight on 'A' grows with their number, and it reads that."""
    models, points = edits.models(task_1.setup(), TEN), np.arange(11)
    chances = task_1.readout(models)
    _, (plane, read) = pyplot.subplots(1, 2, figsize=(16, 8.6), layout="constrained")
    plane.set(xticks=points, xlim=(-0.4, 10.4), ylim=(-0.03, 1.05), axisbelow=True)
    plane.set_title("The weight on the 'A's", weight="bold", color=WEIGHT, pad=20)
    plane.grid(color="#e4e4e4", linewidth=1.5)
    plane.plot(points, points * 3.1 / (points * 3.1 + 10 - points), color=WEIGHT, linewidth=4)
    for model in models:
        plane.plot(points, task_1.weight_by_count(model), "o", mfc="none", mec=INK, markersize=11)
    write(plane, 10, 0.13, "line: the formula, r = 3.1\ncircles: ten models", WEIGHT, "right", weight="bold")
    read.imshow(chances.T, origin="lower", cmap="Greys", vmin=0, vmax=1, aspect="auto")
    read.set(xticks=points, yticks=points)
    read.set_title("How probable each answer is", weight="bold", pad=20)
    read.set_ylabel("Answer; framed: the right one")
    read.set_xticks(points - 0.5, minor=True)
    read.set_yticks(points - 0.5, minor=True)
    read.grid(which="minor", color="#e4e4e4", linewidth=1.5)
    read.tick_params(which="minor", length=0)
    for (count, answer), chance in np.ndenumerate(chances):
        if chance >= 0.05:
            colour = "white" if chance > 0.6 else INK
            write(read, count, answer, short(chance), colour, size=16)
    for count in points:
        corner = count - 0.5, count - 0.5
        read.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=GREY, linewidth=2, zorder=5))
    for part in (plane, read):
        part.set_xlabel("How many of the ten letters are 'A's")
        part.spines[["top", "right"]].set_visible(False)


def last_rows():
    """Draw what the difference step attends to in the page's two models of Task 2, on one scale."""
    page, letters = new_page(4.4), measuring.spell(2, DIFFERENCE).inputs[0]
    for top, name, label in ((0.9, "difference", "without"), (2.9, "difference_self_att", "with")):
        reference = of_page(name)
        reference.lesson(letters)
        weights = reference.weights["attention"][0][3]
        draw_cells(
            page, 4.2, top, weights, WEIGHT, DIFFERENCE.replace(" ", "␣"), side=1.15, full=0.2, digits=2
        )
        write(page, 0.2, top + 0.57, f"{label} --self_att", side="left", weight="bold")


def scores():
    """Draw the scores of the page's model of Task 2 for its sequence."""
    reference = of_page("difference_self_att")
    letters = reference.embed(measuring.spell(2, DIFFERENCE).inputs[0])
    states = reference.attend("attention", reference.arrays["query"][0], letters)
    page, steps, left = new_page(6.2), ("A", "B", "C", "|A − B|"), 5.6
    draw_cells(page, left, 0.9, states @ states.T / 8, LINE, side=1.3, full=40, digits=1)
    write(page, left - 0.25, 0.5, "asks", QUERY, "right", weight="bold")
    write(page, left + 5.5, 0.5, "is asked", KEY, "left", weight="bold")
    for place, name in enumerate(steps):
        write(page, left + (place + 0.5) * 1.3, 0.5, name, KEY, weight="bold")
        write(page, left - 0.25, 0.9 + (place + 0.5) * 1.3, name, QUERY, "right", weight="bold")


def mark():
    """Draw where the query of the page's model looks with the mark on two steps, and what it says."""
    page, inputs, left, side, answers = new_page(6.9), measuring.spell(3, SIGNAL).inputs, 4.3, 1.05, []
    for step in range(11):
        reference, order = of_page("signal_pos_enc"), np.arange(11)
        order[[0, step]] = order[[step, 0]]
        reference.arrays["positional_encoding"] = reference.arrays["positional_encoding"][:, order]
        answers.append(reference.lesson(inputs).argmax(axis=-1)[0, 0])
        if step in (0, 5):
            ((weights,),) = reference.weights["attention"]
            top = 0.9 + 0.43 * step
            draw_cells(page, left, top, weights, WEIGHT, SIGNAL, side=side, full=weights.max(), digits=2)
            corner = left + step * side + 0.2, top - 0.65
            page.add_patch(Rectangle(corner, 0.65, 0.6, facecolor="none", edgecolor=INK, linewidth=3))
            write(page, 0.2, top + 0.1, f"the mark on step {step}:", side="left")
            write(page, 0.2, top + 0.75, f"it says {answers[-1]}", side="left", weight="bold")
    write(page, 0.2, 5.5, "the mark here:", side="left")
    write(page, 0.2, 6.15, "it says", side="left", weight="bold")
    for step, (letter, answer) in enumerate(zip(SIGNAL, answers)):
        across = left + (step + 0.5) * side
        page.add_patch(
            Rectangle((across - 0.325, 5.2), 0.65, 0.6, facecolor="none", edgecolor=INK, linewidth=3)
        )
        write(page, across, 5.5, letter, GREY, size=23)
        write(page, across, 6.25, answer, weight="bold")


def losses():
    """Draw the loss curves without and with positions, and the bound."""
    titles = "Positions make the difference (ten runs each)", "Training step", "Loss"
    plane = new_chart(*titles, yscale="log", xticks=range(0, 2001, 500), ylim=(0.003, 4))
    plane.set_yticks((0.01, 0.1, 1), ("0.01", "0.1", "1"))
    plane.xaxis.set_major_formatter("{x:,.0f}")
    plane.minorticks_off()
    for setup, colour in ((task_3.PLAIN, PINK), (task_3.POSITIONS, SKY)):
        curves = [np.transpose(edits.losses(setup, seed))[1] for seed in TEN]
        draw_band(plane, range(50, 2001, 50), curves, colour)
    plane.axhline(task_3.bound()[0], color=INK, linestyle="--", linewidth=3)
    write(plane, 1300, 1.8, "without positions", "#a8507f", weight="bold")
    write(plane, 900, 0.04, "with positions", "#2a7fae", "right", weight="bold")
    write(plane, 1100, 0.55, "the least possible without order", side="left")


def heads():
    """Return the weights of the transformer's two best heads on TEXT, two arrays of float (words, words).

    In layer 1 that in which pets find their names, in layer 2 that in which the question finds its pet.
    """
    known = programs.load("transformer").vocabulary(4)
    reference = of_page("transformer")
    reference.transformer({"layers": 2, "heads": 4}, [known.index(word) for word in TEXT])
    of_pets, of_question = map(np.array, reference.weights.values())  # (heads, words, words)
    best = of_pets[:, PETS, PETS - 1].mean(axis=1).argmax()
    return of_pets[best], of_question[of_question[:, QUESTION, RIGHT].argmax()]


def transformer_flow():
    """Draw what two heads bring from word to word: a column for each word, layer above layer."""
    (of_pets, of_question), page, levels = heads(), new_page(9.6), (8.7, 4.8, 0.9)
    for height, text in zip(levels, ("words", "after\nblock 1", "after\nblock 2")):
        write(page, 0.15, height, text, GREY, "left")
    places = 2.4 + 1.6 * np.arange(len(TEXT))
    for place, (word, across) in enumerate(zip(TEXT, places)):
        page.plot((across, across), levels[::2], color="#dcdcdc", linewidth=14, zorder=1)
        known = f"{word},\n{TEXT[place - 1]}'s" if place in PETS else word
        said = f"{word}:\n{TEXT[RIGHT]}" if place == QUESTION else known
        for height, text in zip(levels, (word, known, said)):
            high = 1.3 if "\n" in text else 0.8
            draw_box(page, across, height, text, VALUE if ":" in text else LINE, 1.4, high, linespacing=1.1)
    looks = [(of_pets, pet - 1, pet, levels[0]) for pet in PETS]
    for weights, tail, head, height in (*looks, (of_question, RIGHT, QUESTION, levels[1])):
        ends = np.array([(places[tail], height - 0.7), (places[head], height - 3.05)])
        draw_arrow(page, *ends, WEIGHT, 9 * weights[head, tail], zorder=3)
        draw_box(page, *ends.mean(axis=0), short(weights[head, tail]), WEIGHT, wide=1.1, high=0.65)


def transformer_heads():
    """Draw the two heads that find the answer: pets find their names, then the question finds its pet."""
    _, planes = pyplot.subplots(1, 2, figsize=(16, 9), layout="constrained")
    titles = "Layer 1: pets find their owners", "Layer 2: Ben finds cat"
    found = [(pet, pet - 1) for pet in PETS], [(QUESTION, RIGHT)]
    for plane, weights, title, cells in zip(planes, heads(), titles, found):
        plane.imshow(np.where(np.tri(9), weights, np.nan), "Greys", vmin=0, vmax=3)
        named = np.full((9, 9), np.nan)
        for cell in cells:
            named[cell] = weights[cell]
        draw_heatmap(plane, named, TEXT, TEXT, numbers=False, vmax=1)
        plane.tick_params(labeltop=True, labelbottom=False, axis="x", rotation=90)
        plane.set(xlabel="attends to", ylabel="word")
        plane.xaxis.set_label_position("top")
        plane.set_title(title, weight="bold", pad=20)
        plane.spines[:].set_visible(False)
        for row, column in cells:
            colour = "white" if weights[row, column] > 0.77 else INK
            plane.text(
                column, row, short(weights[row, column]), color=colour, ha="center", va="center", size=20
            )


def transformer_losses():
    """Draw the loss of some training runs, each the mean of 50 training steps, and the lowest possible."""
    titles, least = ("Six training runs", "Training step", "Loss"), transformer.lowest_loss(4)
    plane = new_chart(*titles, ylim=(0.8, 1.8), xlim=(0, 1550), xticks=range(0, 1501, 500))
    plane.xaxis.set_major_formatter("{x:,.0f}")
    for seed in range(1, 7):
        plane.plot(*np.transpose(edits.losses(transformer.AS_IT_IS, seed)), color=SKY, linewidth=3)
    plane.axhline(least, color=INK, linestyle="--", linewidth=3)
    write(plane, 30, 0.837, f"the lowest possible, {least:.3f}", side="left")


def choosing():
    """Draw what each training run of the transformer gets right, from results/: a dot for each."""
    figure, planes = pyplot.subplots(1, 2, figsize=(16, 10), sharey=True, layout="constrained")
    figure.suptitle("Which layer can choose? Each circle is a run", weight="bold", ha="left", x=0.01)
    figure.supxlabel("right; dashed: always guessing the most frequent pet", color=GREY)
    for plane, pairs, title in zip(planes, (4, 8), ("four pairs, 1,500 steps", "eight pairs, 2,000 steps")):
        plane.set(xlim=(-3, 103), ylim=(3.6, -0.6), axisbelow=True)
        plane.set_title(title, color=GREY, pad=14)
        plane.set_xticks((0, 50, 100), ("0", "50", "100%"))
        plane.set_yticks(range(4), ("both layers", "the second", "the first", "neither"))
        plane.spines[["top", "right"]].set_visible(False)
        plane.grid(axis="y", color="#e4e4e4", linewidth=1.5)
        plane.axvline(100 * transformer.guesser(pairs), color=INK, linestyle="--", linewidth=2.5)
        for row, label in enumerate(label for label in transformer.LOOKS if "--layers" not in label):
            rights, slots = measuring.runs("transformer", title, label), {}
            for place, right in enumerate(rights):  # Those that would hide each other stand above each other.
                taken = {slots[other] for other in range(place) if abs(rights[other] - right) < 2.5}
                slots[place] = min({*range(-10, 11)} - taken, key=abs)
            heights = [row + 0.047 * slots[place] for place in range(len(rights))]
            plane.plot(rights, heights, "o", color=WEIGHT if row < 2 else GREY, mfc="none", ms=9, mew=2)


def draw_of_programs():
    """Draw the front page's small heatmaps, and what the programs draw of the models of the page."""
    for task, name, shown, part, rows, pictures in (
        (1, "counting", "␣BC␣CBBAA␣", "attention", "ABC", "encoder_decoder_attention"),
        (2, "difference_self_att", "BBBA␣ACABB", "self_attention", ["A", "B", "C", "|A−B|"],
         "self_attention"),
        (3, "signal_pos_enc", SIGNAL, "attention", ["count"],
         "encoder_decoder_attention_pos_enc positional_encoding_pos_enc"),
    ):  # fmt: skip
        images, flags = programs.script(task).with_name("images"), play.MODELS[name].flags
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = play.FOLDER / "checkpoints" / f"{name}.npz"
            shutil.copy(checkpoint, f"{folder}/checkpoint{flags.replace('--', '_')}.npz")
            words = ["--test", "--plot", f"--input={shown}", "--savepath", folder, "--plotpath", folder]
            command = [sys.executable, programs.script(task), *words, *flags.split()]
            subprocess.run(command, check=True, capture_output=True)
            for picture in pictures.split():
                shutil.copy(f"{folder}/{picture}.png", images)
        reference = of_page(name)
        reference.lesson(measuring.spell(task, shown.replace("␣", " ")).inputs[0])
        (weights,) = reference.weights[part]
        figure, axes = pyplot.subplots(figsize=(3.4, 0.4 * len(rows) + 0.4), layout="constrained")
        names, aspect = (rows, "equal") if task == 2 else (shown, "auto")
        draw_heatmap(axes, weights, names, rows, numbers=False, aspect=aspect)
        figure.savefig(images / "small.png", dpi=160)
        pyplot.close(figure)


PICTURES = {
    1: (names_and_pets, shares, two_arrows, softmax, counting_model),
    2: (she, words, last_rows, difference_model, scores),
    3: (by_hand, clock_hands, mark, signal_model),
    "transformer": (transformer_by_hand, heads_by_hand, mask, block, recurrent, transformer_model)
    + (transformer_flow, transformer_heads, choosing),
}
OF_MANY = {1: (counting_curve,), 2: (), 3: (losses,), "transformer": (lineup, transformer_losses)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m experiments.pictures", description="Draw the pictures.")
    parser.add_argument("--all", action="store_true", help="also those of many models")
    every = parser.parse_args().all
    draw_of_programs()
    pyplot.rc("font", size=25)
    pyplot.rc("axes", titlesize=25)
    pyplot.rc("figure", titlesize=25, labelsize=25)
    pyplot.rc("figure.constrained_layout", w_pad=0.2, h_pad=0.2)
    for task in PICTURES:
        for picture in PICTURES[task] + every * OF_MANY[task]:
            picture()
            path = programs.script(task).with_name("images") / f"{picture.__name__}.png"
            pyplot.savefig(path, dpi=1680 / 16, pil_kwargs={"optimize": True})
            pyplot.close()
