"""The examples that lessons compute by hand, as pictures. NumPy computes every number from the formula."""

import numpy as np

from . import formula
from .drawing import (
    GREY,
    INK,
    KEY,
    LINE,
    QUERY,
    SIDE,
    SIZE,
    VALUE,
    WEIGHT,
    draw_arrow,
    draw_bar,
    draw_cells,
    new_page,
    new_plane,
    save,
    short,
    write,
)

NAMES, PETS = ("Anna", "Ben", "Cleo", "Dan"), ("dog", "cat", "owl", "hen")


def names_and_pets():
    """Return the first example of Lesson 1: Ben is asked for, names are keys and pets are values."""
    query, key, value = 2.8 * np.eye(4)[1], np.eye(4), np.eye(4)
    products, logits = key @ query, key @ query / 2
    ((mean,), (weights,)) = formula.attend([query], key, value)
    page = new_page(8.5)
    keys, columns, bars, values = 1.6, (6.3, 7.85, 9.2), 10.1, 12.3
    draw_cells(page, keys, 0.85, query, QUERY, NAMES, ["Ben?"], full=2.8)
    write(page, 5.5, 1.3, "query", QUERY, to="right", weight="bold")
    write(page, keys + 2 * SIDE, 2.45, "keys", KEY, weight="bold")
    for across, text in zip(columns, ("query · key", "÷ √4", "exp"), strict=True):
        write(page, across, 2.45, text, GREY)
    write(page, bars, 2.45, "weight", WEIGHT, to="right", weight="bold")
    write(page, values + 2 * SIDE, 1.75, "values", VALUE, weight="bold")
    for column, pet in enumerate(PETS):
        write(page, values + (column + 0.5) * SIDE, 2.45, pet, GREY, SIZE - 2)
    for row in range(4):
        top = 2.85 + 1.05 * row
        draw_cells(page, keys, top, key[row], KEY, rows=[NAMES[row]])
        numbers = products[row], logits[row], np.exp(logits[row])
        for across, number in zip(columns, numbers, strict=True):
            write(page, across, top + SIDE / 2, short(number))
        draw_bar(page, bars, top + SIDE / 2, 1.9 * weights[row], short(weights[row]))
        draw_cells(page, values, top, value[row], VALUE, full=0.6 / weights[row])
    write(page, columns[2], 7.2, f"sum {short(np.exp(logits).sum())}", GREY)
    page.plot((values, values + 4 * SIDE), (7.13, 7.13), color=INK, linewidth=2.5)
    draw_cells(page, values, 7.3, mean, VALUE, full=0.6)
    write(page, values - 0.25, 7.8, "mean: mostly cat", VALUE, to="left", weight="bold")
    return page.figure


def two_arrows():
    """Return a query with four keys as arrows in a plane, and what their dot products are."""
    query = np.array((3, 1))
    cases = {
        "similar direction": (2, 2),
        "across": (-1, 3),
        "against": (-2, -2),
        "twice as long": (4, 4),
    }
    page = new_page(6.1)
    for number, (title, key) in enumerate(cases.items()):
        plane = new_plane(page, 4 * number + 0.1, 0.9, 3.8, 3.8, xlim=(-2.4, 4.4), ylim=(-2.4, 4.4))
        plane.set(xticks=range(-2, 5), yticks=range(-2, 5), axisbelow=True)
        plane.tick_params(length=0, labelbottom=False, labelleft=False)
        plane.grid(color="#e4e4e4", linewidth=1.5)
        plane.spines[:].set_visible(False)
        plane.axhline(0, color=LINE, linewidth=2)
        plane.axvline(0, color=LINE, linewidth=2)
        for vector, colour in ((key, KEY), (query, QUERY)):
            draw_arrow(plane, (0, 0), vector, colour, width=6)
            if not number:
                name, down = ("query", 1.7) if colour == QUERY else ("key", -0.6)
                write(plane, vector[0] - 0.2, vector[1] - down, name, colour, weight="bold")
        write(page, 4 * number + 2, 0.5, title, weight="bold")
        terms = " + ".join(f"{one} · {other}" for one, other in zip(query, map(short, key), strict=True))
        write(page, 4 * number + 2, 5.05, terms.replace("−2", "(−2)").replace("−1", "(−1)"), GREY)
        write(page, 4 * number + 2, 5.65, f"= {short(query @ key)}", size=SIZE + 7, weight="bold")
    return page.figure


def softmax():
    """Return what softmax makes of four dot products in 64 dimensions, as they are and divided by √64.

    Query and keys have ±1 in 64 places; the keys agree with the query in 40, 36, 32 and 28 of them.
    """
    query = np.ones(64)
    keys = [np.where(np.arange(64) < agree, 1, -1) for agree in (40, 36, 32, 28)]
    products = keys @ query
    page = new_page(9.4)
    for across, title in ((8.2, "exp"), (13.5, "weight")):
        write(page, across, 0.7, title, WEIGHT if title == "weight" else INK, SIZE, weight="bold")
    for top, factor, name in ((0.7, 1, "query · key, as they are"), (5.2, 1 / 8, "query · key ÷ √64")):
        logits = factor * products
        _, (weights,) = formula.attend([query], keys, keys, 8 * factor)
        write(page, 0.5, top, name, to="right", weight="bold")
        for left, heights, colour in (
            (0.7, logits, LINE),
            (6, np.exp(logits), LINE),
            (11.3, weights, WEIGHT),
        ):
            plane = new_plane(page, left, top + 0.5, 4.4, 3.5, xlim=(-0.6, 3.6), xticks=[], yticks=[])
            plane.bar(range(4), heights, 0.72, color=colour)
            plane.spines[:].set_visible(False)
            plane.axhline(0, color=INK, linewidth=2)
            most = max(heights)
            plane.set_ylim(-0.75 * most if min(heights) < 0 else -0.02 * most, 1.2 * most)
            for place, height in enumerate(heights):
                text = f"{height:,.0f}" if height > 100 else short(height)
                away = 0.14 if min(heights) < 0 else 0.09
                write(plane, place, height + (away if height >= 0 else -away) * most, text)
        for across in (5.5, 10.8):
            draw_arrow(page, (across - 0.2, top + 2.3), (across + 0.3, top + 2.3))
    return page.figure


PICTURES = {(1, "names_and_pets"): names_and_pets, (1, "two_arrows"): two_arrows, (1, "softmax"): softmax}


def draw():
    """Draw them all."""
    for (task, name), picture in PICTURES.items():
        save(picture(), task, name)


if __name__ == "__main__":
    draw()
