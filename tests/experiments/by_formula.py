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
    draw_box,
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


# The example of Lesson 2: a word is a woman, an action, Anna; it asks who, asks what; W_V passes on the rest.
WORDS = {"Anna": (1, 0, 1), "slept": (0, 1, 0), "she": (1, 0, 0)}
FEATURES, ASKED = ("woman", "action", "Anna"), ("who?", "what?")
W_Q = np.array([(4, 0), (3, 0), (-4, 2)])
W_K = np.array([(0, 0), (0, 1), (1, 0)])
W_V = np.array([(0, 0, 0), (0, 1, 0), (0, 0, 1)])


def grid_times_vector():
    """Return how W_Q makes the queries of two words: a 1 picks a row, and two of them add two rows."""
    page, side = new_page(7.1), 1.2
    for left, word in ((1.7, "she"), (9.0, "Anna")):
        vector, grid = np.array(WORDS[word]), left + 2
        write(page, left + side / 2, 0.6, word, weight="bold")
        write(page, grid + side, 0.6, "W_Q", weight="bold")
        for column, name in enumerate(ASKED):
            write(page, grid + (column + 0.5) * side, 1.2, name, GREY, SIZE - 2)
        for row, number in enumerate(vector):
            down = 1.6 + row * side
            draw_cells(page, left, down, [number], GREY, rows=[FEATURES[row]], side=side)
            write(page, left + 1.6, down + side / 2, "×")
            draw_cells(page, grid, down, W_Q[row], QUERY, side=side, full=4 if number else 60)
        page.plot((grid, grid + 2 * side), (5.4, 5.4), color=INK, linewidth=2.5)
        write(page, grid - 0.4, 5.4, "+")
        draw_cells(page, grid, 5.6, vector @ W_Q, QUERY, side=side, full=4)
        write(page, grid - 0.25, 6.2, "query", QUERY, to="left", weight="bold")
        asked = ASKED[(vector @ W_Q).argmax()]
        write(page, grid + 2 * side + 0.3, 6.2, f"asks: {asked}", to="right")
    return page.figure


def she():
    """Return what *she* asks for, what the three words have to say, and what she is then."""
    vectors = np.array(list(WORDS.values()))
    query, key, value = vectors[2] @ W_Q, vectors @ W_K, vectors @ W_V
    ((mean,), (weights,)) = formula.attend([query], key, value)
    page = new_page(11.7)
    keys, columns, bars, values = 1.6, (5.1, 6.9), 8.1, 11.9
    draw_cells(page, keys, 0.85, query, QUERY, ASKED, ["she"], 1.2, 4)
    write(page, keys + 2.7, 1.45, "query", QUERY, to="right", weight="bold")
    write(page, keys + 1.2, 2.75, "keys", KEY, weight="bold")
    for across, text in zip(columns, ("query · key", "÷ √2"), strict=True):
        write(page, across, 2.75, text, GREY)
    write(page, bars, 2.75, "weight", WEIGHT, to="right", weight="bold")
    write(page, values + 1.95, 2.1, "values", VALUE, weight="bold")
    for column, name in enumerate(FEATURES):
        write(page, values + 1.3 * (column + 0.5), 2.75, name, GREY, SIZE - 2)
    for row, word in enumerate(WORDS):
        top = 3.1 + 1.33 * row
        draw_cells(page, keys, top, key[row], KEY, rows=[word], side=1.2)
        for across, number in zip(columns, (key[row] @ query, key[row] @ query / 2**0.5), strict=True):
            write(page, across, top + 0.6, short(number))
        draw_bar(page, bars, top + 0.6, 2.2 * weights[row], short(weights[row]))
        draw_cells(page, values, top, value[row], VALUE, side=1.3, full=0.9 / weights[row])
    for line in (7.1, 10.05):
        page.plot((values, values + 3.9), (line, line), color=INK, linewidth=2.5)
    below = (
        (7.25, "mean", mean, VALUE),
        (8.6, "+ she, as she was", vectors[2], GREY),
        (10.2, "she, now", vectors[2] + mean, GREY),
    )
    for top, name, numbers, colour in below:
        draw_cells(page, values, top, numbers, colour, side=1.3)
        write(page, values - 0.3, top + 0.65, name, colour, to="left", weight="bold")
    return page.figure


def words():
    """Return three words, and what self-attention makes of each; the lines of *she* stand out."""
    vectors = np.array(list(WORDS.values()))
    means, weights = formula.attend(vectors @ W_Q, vectors @ W_K, vectors @ W_V)
    page, middles, side = new_page(10), (2.7, 8, 13.3), 1.3
    for word, middle, vector, mean in zip(WORDS, middles, vectors, means, strict=True):
        write(page, middle, 0.5, f"{word}, now", weight="bold")
        draw_cells(page, middle - 1.5 * side, 1, vector + mean, GREY, side=side)
        draw_cells(page, middle - 1.5 * side, 7.3, vector, GREY, side=side)
        for column, name in enumerate(FEATURES):
            write(page, middle + (column - 1) * side, 8.9, name, GREY, SIZE - 2)
        write(page, middle, 9.6, word, weight="bold")
    for (query, key), weight in np.ndenumerate(weights):
        asks = query == 2
        ends = np.array([(middles[key] + 0.5 * (query - 1), 7.2), (middles[query] + 0.5 * (key - 1), 2.4)])
        look = {"colour": WEIGHT, "zorder": 3} if asks else {"colour": "#d9d9d9"}
        draw_arrow(page, *ends, width=1.5 + 22 * weight, points=False, **look)
        if asks:
            draw_box(page, *((0.55, 0.45) @ ends), short(weight), WEIGHT, wide=1.1, high=0.7)
    return page.figure


PICTURES = {
    (1, "names_and_pets"): names_and_pets,
    (1, "two_arrows"): two_arrows,
    (1, "softmax"): softmax,
    (2, "grid_times_vector"): grid_times_vector,
    (2, "she"): she,
    (2, "words"): words,
}


def draw():
    """Draw them all."""
    for (task, name), picture in PICTURES.items():
        save(picture(), task, name)


if __name__ == "__main__":
    draw()
