"""The examples that the pages compute by hand, as pictures. NumPy computes every number from the formula."""

import formula
import numpy as np

from .drawing import GREY, INK, KEY, LINE, QUERY, SIDE, SIZE, VALUE, WEIGHT, new_page, short

NAMES, PETS = ("Anna", "Ben", "Cleo", "Dan"), ("dog", "cat", "owl", "hen")


def draw_lookup(
    page,
    corner,
    query,
    keys,
    values,
    label,
    rows,
    columns,
    bar,
    asked,
    said=(),
    side=SIDE,
    head=1.1,
    between=0.12,
):
    """Draw a query, then its keys, row by row, what attention makes of them, their values, and the mean.

    Args:
        page: drawing.Page.
        corner: (float, float), where the first cell of the query begins.
        query: float (depth,).
        keys: float (rows, depth).
        values: where they begin across, and float (rows, numbers); or None if the keys are the values.
        label: str before the query.
        rows: list of str before the keys.
        columns: dict of a place across from what stands there: "query · key", "÷ √depth", "logit" or "exp".
        bar: (float, float), the place across where weights begin, and the length of a weight of 1.
        asked, said: lists of str above the numbers of the query and of the values.
        side: float, of a cell.
        head, between: floats, the room above the keys and above each further row.

    Returns:
        mean: float (numbers,).
        down: float, where the cells of the mean begin.
    """
    (left, top), (where, one) = corner, bar
    keys, depth = np.array(keys, dtype=float), len(query)
    start, values = (left, keys) if values is None else values
    products = keys @ query
    logits = products / np.sqrt(depth)
    ((mean,), (weights,)) = formula.attend([query], keys, values)
    known = {"query · key": products, f"÷ √{depth}": logits, "logit": logits, "exp": np.exp(logits)}
    page.draw_cells(left, top, query, QUERY, asked, [label], side, max(np.abs(query)))
    titles = top + side + head - 0.4
    for title, across in columns.items():
        page.write(across, titles, title, GREY)
    page.write(where, titles, "weight", WEIGHT, to="right", weight="bold")
    if start != left:
        page.write(left + depth * side + 0.25, top + side / 2, "query", QUERY, to="right", weight="bold")
        page.write(left + depth * side / 2, titles, "keys", KEY, weight="bold")
        across = start + len(mean) * side / 2
        page.write(across, titles - 0.7 * bool(said), "values", VALUE, weight="bold")
    page.write_names(start, titles, said, side)
    for row, name in enumerate(rows):
        down = top + side + head + row * (side + between)
        page.draw_cells(left, down, keys[row], KEY, rows=[name], side=side, full=np.abs(keys).max())
        for title, across in columns.items():
            page.write(across, down + side / 2, short(known[title][row]))
        page.draw_weight(where, down + side / 2, weights[row], one)
        if start != left:
            page.draw_cells(start, down, values[row], VALUE, side=side, full=max(weights) / weights[row])
    down += side + 0.15
    page.plot((start, start + len(mean) * side), (down, down), color=INK, linewidth=2.5)
    if "exp" in columns:
        page.write(columns["exp"], down + 0.1, f"sum {short(np.exp(logits).sum())}", GREY)
    page.draw_cells(start, down + 0.15, mean, VALUE, side=side, full=np.abs(mean).max())
    return mean, down + 0.15


def names_and_pets():
    """Return the first example of Task 1: Ben is asked for, names are keys and pets are values."""
    page, columns = new_page(8.5), {"query · key": 6.3, "÷ √4": 7.85, "exp": 9.2}
    query, bar = 2.8 * np.eye(4)[1], (10.1, 1.9)
    what = query, np.eye(4), (12.3, np.eye(4)), "Ben?", NAMES
    mean, down = draw_lookup(page, (1.6, 0.85), *what, columns, bar, NAMES, PETS, between=0.15)
    page.write(12.05, down + 0.5, f"mean: mostly {PETS[mean.argmax()]}", VALUE, to="left", weight="bold")
    return page.figure


def two_arrows():
    """Return a query with four keys as arrows in a plane, and what their dot products are."""
    query = np.array((3, 1))
    titles = "similar direction", "at right angles", "opposite", "twice as long"
    page = new_page(6.1)
    for number, (title, key) in enumerate(zip(titles, ((2, 2), (-1, 3), (-3, -1), (4, 4)), strict=True)):
        plane = page.new_plane(4 * number + 0.1, 0.9, 3.8, 3.8, xlim=(-3.3, 4.3), ylim=(-3.3, 4.3))
        plane.set(xticks=range(-3, 5), yticks=range(-3, 5), axisbelow=True)
        plane.tick_params(length=0, labelbottom=False, labelleft=False)
        plane.grid(color="#e4e4e4", linewidth=1.5)
        plane.spines[:].set_visible(False)
        plane.axhline(0, color=LINE, linewidth=2)
        plane.axvline(0, color=LINE, linewidth=2)
        for vector, colour in ((key, KEY), (query, QUERY)):
            plane.draw_arrow((0, 0), vector, colour, width=6)
            if not number:
                name, up = ("query", -1.7) if colour == QUERY else ("key", 0.6)
                plane.write(vector[0] - 0.2, vector[1] + up, name, colour, weight="bold")
        page.write(4 * number + 2, 0.5, title, weight="bold")
        terms = " + ".join(f"{one} · {other}" for one, other in zip(query, map(short, key), strict=True))
        page.write(4 * number + 2, 5.05, terms.replace("−3", "(−3)").replace("−1", "(−1)"), GREY)
        page.write(4 * number + 2, 5.65, f"= {short(query @ key)}", size=SIZE + 7, weight="bold")
    return page.figure


def softmax():
    """Return what softmax makes of four dot products in 64 dimensions, as they are and divided by √64.

    Query and keys have ±1 in 64 places; the keys agree with the query in 40, 36, 32 and 28 of them.
    """
    query = np.ones(64)
    keys = [np.where(np.arange(64) < agree, 1, -1) for agree in (40, 36, 32, 28)]
    products = keys @ query
    page = new_page(9.4)
    page.write(8.2, 0.7, "exp", weight="bold")
    page.write(13.5, 0.7, "weight", WEIGHT, weight="bold")
    for top, factor, name in ((0.7, 1, "query · key, as they are"), (5.2, 1 / 8, "query · key ÷ √64")):
        logits = factor * products
        _, (weights,) = formula.attend([query], keys, keys, 8 * factor)
        page.write(0.5, top, name, to="right", weight="bold")
        for left, heights, colour in (
            (0.7, logits, LINE),
            (6, np.exp(logits), LINE),
            (11.3, weights, WEIGHT),
        ):
            plane = page.new_plane(left, top + 0.5, 4.4, 3.5, xlim=(-0.6, 3.6), xticks=[], yticks=[])
            plane.bar(range(4), heights, 0.72, color=colour)
            plane.spines[:].set_visible(False)
            plane.axhline(0, color=INK, linewidth=2)
            most = max(heights)
            plane.set_ylim(-0.75 * most if min(heights) < 0 else -0.02 * most, 1.2 * most)
            for place, height in enumerate(heights):
                text = f"{height:,.0f}" if height > 100 else short(height)
                away = 0.14 if min(heights) < 0 else 0.09
                plane.write(place, height + (away if height >= 0 else -away) * most, text)
        for across in (5.5, 10.8):
            page.draw_arrow((across - 0.2, top + 2.3), (across + 0.3, top + 2.3))
    return page.figure


# The example of Task 2: a word is a woman, an action, Anna; it asks who, asks what; W_V passes on the rest.
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
        page.write(left + side / 2, 0.6, word, weight="bold")
        page.write(grid + side, 0.6, "W_Q", weight="bold")
        page.write_names(grid, 1.2, ASKED, side)
        for row, number in enumerate(vector):
            down = 1.6 + row * side
            page.draw_cells(left, down, [number], GREY, rows=[FEATURES[row]], side=side)
            page.write(left + 1.6, down + side / 2, "×")
            page.draw_cells(grid, down, W_Q[row], QUERY, side=side, full=4 if number else 60)
        page.plot((grid, grid + 2 * side), (5.4, 5.4), color=INK, linewidth=2.5)
        page.write(grid - 0.4, 5.4, "+")
        page.draw_cells(grid, 5.6, vector @ W_Q, QUERY, side=side, full=4)
        page.write(grid - 0.25, 6.2, "query", QUERY, to="left", weight="bold")
        asked = ASKED[(vector @ W_Q).argmax()]
        page.write(grid + 2 * side + 0.3, 6.2, f"asks: {asked}", to="right")
    return page.figure


def she():
    """Return what *she* asks for, what the three words have to say, and what she is then."""
    vectors, page, side = np.array(list(WORDS.values())), new_page(12.2), 1.25
    what = vectors[2] @ W_Q, vectors @ W_K, (12, vectors @ W_V), "she", list(WORDS)
    columns, bar = {"query · key": 5.2, "÷ √2": 7}, (8.2, 2.2)
    mean, down = draw_lookup(page, (1.6, 0.85), *what, columns, bar, ASKED, FEATURES, side=side)
    page.write(11.75, down + side / 2, "mean", VALUE, to="left", weight="bold")
    for lower, name, numbers in (
        (1.35, "+ she, as she was", vectors[2]),
        (2.9, "she, now", vectors[2] + mean),
    ):
        page.draw_cells(12, down + lower, numbers, GREY, side=side)
        page.write(11.75, down + lower + side / 2, name, GREY, to="left", weight="bold")
    page.plot((12, 12 + 3 * side), (down + 2.75, down + 2.75), color=INK, linewidth=2.5)
    return page.figure


def words():
    """Return three words, and what self-attention makes of each; the lines of *she* stand out."""
    vectors = np.array(list(WORDS.values()))
    means, weights = formula.attend(vectors @ W_Q, vectors @ W_K, vectors @ W_V)
    page, middles, side = new_page(10), (2.7, 8, 13.3), 1.3
    for word, middle, vector, mean in zip(WORDS, middles, vectors, means, strict=True):
        page.write(middle, 0.5, f"{word}, now", weight="bold")
        for top, numbers in ((1, vector + mean), (7.3, vector)):
            page.draw_box(middle, top + side / 2, "", fill="none", wide=3 * side + 0.3, high=side + 0.3)
            page.draw_cells(middle - 1.5 * side, top, numbers, GREY, side=side)
        page.write_names(middle - 1.5 * side, 9.05, FEATURES, side)
        page.write(middle, 9.7, word, weight="bold")
    for (query, key), weight in np.ndenumerate(weights):
        asks = query == 2
        ends = np.array([(middles[key], 7.08), (middles[query], 2.52)])  # In the middle of a word's box.
        look = {"colour": WEIGHT, "zorder": 3} if asks else {"colour": "#d9d9d9"}
        page.draw_arrow(*ends, width=1.5 + 22 * weight, points=False, **look)
        if asks:
            page.draw_box(*((0.55, 0.45) @ ends), short(weight), WEIGHT, wide=1.1, high=0.7)
    return page.figure


def by_hand():
    """Return the example of Task 3: `AB` and `BA` without and with the vectors of their positions."""
    unit, page = np.eye(4), new_page(13.2)
    for number, (text, marked) in enumerate((("AB", 0), ("BA", 0), ("AB", 1), ("BA", 1))):
        left, top = 8 * (number % 2), 6.6 * (number // 2)
        keys = [unit["AB".index(letter)] + marked * unit[2 + row] for row, letter in enumerate(text)]
        title = f"{text}, {'with' if marked else 'without'} positions"
        page.write(left + 4.2, top + 0.5, title, weight="bold")
        what = 2.8 * unit[2], keys, None, "query", list(text)
        columns, bar, asked = {"logit": left + 5.4}, (left + 6.05, 0.8), ["A", "B", "1st", "2nd"]
        corner = left + 1.4, top + 1.7
        _, down = draw_lookup(page, corner, *what, columns, bar, asked, side=0.85, head=0.9)
        page.write(left + 1.15, down + 0.42, "mean", VALUE, to="left", weight="bold")
    return page.figure


def transformer_by_hand():
    """Return the example of the transformer page: what W_Q, W_K and W_V make of a question and two pairs."""
    unit = np.eye(4)  # Anna, Ben, dog, cat
    pairs = {"Anna's dog": unit[0] + unit[2], "Ben's cat": unit[1] + unit[3]}
    query = 4 * unit[1, :2]
    key, value = np.split(np.array(list(pairs.values())), 2, axis=1)
    ((mean,), (weights,)) = formula.attend([query], key, value)
    page, made = new_page(9.7), 8.1
    features = ("Anna", "Ben", "dog", "cat")

    def draw_matrix(down, label, vector, matrix, made_of_it, colour):
        page.draw_cells(2.5, down, vector, GREY, rows=[label])
        page.draw_arrow((6.3, down + 0.45), (made - 0.15, down + 0.45))
        page.write((6.3 + made - 0.15) / 2, down + 0.1, matrix)
        page.draw_cells(made, down, made_of_it, colour, full=np.abs(made_of_it).max())

    draw_matrix(0.85, "Ben?", unit[1], "W_Q", query, QUERY)
    page.write(made + 2, 1.3, "query", QUERY, to="right", weight="bold")
    page.write_names(2.5, 0.5, features)
    page.write_names(made, 0.5, features[:2])
    page.write(made + 0.9, 2.6, "keys", KEY, weight="bold")
    page.write(11.2, 2.6, "query · key", GREY)
    page.write(13, 2.6, "÷ √2", GREY)
    page.write(13.9, 2.6, "weight", WEIGHT, to="right", weight="bold")
    page.write(made + 0.9, 5.4, "values", VALUE, weight="bold")
    page.write_names(made, 6, features[2:])
    for row, (name, vector) in enumerate(pairs.items()):
        down = 3 + 1.02 * row
        draw_matrix(down, name, vector, "W_K", key[row], KEY)
        page.write(11.2, down + 0.45, short(key[row] @ query))
        page.write(13, down + 0.45, short(key[row] @ query / 2**0.5))
        page.draw_weight(13.9, down + 0.45, weights[row], 0.9)
        draw_matrix(6.35 + 1.02 * row, name, vector, "W_V", value[row], VALUE)
    page.plot((made, made + 2 * SIDE), (8.45, 8.45), color=INK, linewidth=2.5)
    page.draw_cells(made, 8.6, mean, VALUE)
    page.write(made - 0.25, 9.05, "weighted mean", VALUE, to="left", weight="bold")
    return page.figure


def heads_by_hand():
    """Return the transformer page's example of heads: one asks for both pets, then two ask for one each."""
    unit, page, means = np.eye(2), new_page(13.3), []
    names = "one head asks for both", "head 1 asks for Anna's", "head 2 asks for Ben's"
    for number, (name, query) in enumerate(zip(names, ((4, 4), (4, 0), (0, 4)), strict=True)):
        top = 0.6 + 4.45 * number
        ((mean,), (weights,)) = formula.attend([query], unit, unit)
        means.append(mean)
        page.draw_cells(1.4, top, query, QUERY, full=4)
        page.write(3.45, top + 0.45, name, QUERY, to="right", weight="bold")
        for place, (owner, pet) in enumerate((("Anna", "dog"), ("Ben", "cat"))):
            down = top + 1.15 + 1.0 * place
            page.draw_cells(1.4, down, unit[place], KEY, rows=[owner])
            page.draw_weight(3.6, down + 0.45, weights[place], 1.5)
            page.draw_cells(6.2, down, unit[place], VALUE, full=max(weights) / weights[place])
            page.write(8.2, down + 0.45, pet, to="right")
        page.draw_arrow((9.1, top + 2.1), (9.7, top + 2.1))
        page.draw_cells(9.9, top + 1.65, mean, VALUE)
    page.write(12, 2.7, "Whose dog,\nwhose cat?", to="right", linespacing=1.2)
    for number, height in enumerate((7.15, 11.6)):
        page.draw_arrow((11.8, height), (12.7 + 1.6 * number, 8.8 + 1.1 * number))
        page.draw_cells(12 + 1.9 * number, 8.9, means[number + 1], VALUE)
        page.write(12.9 + 2.2 * number, 10.2, ("Anna's", "Ben's")[number], GREY)
    return page.figure


PICTURES = {
    1: (names_and_pets, two_arrows, softmax),
    2: (grid_times_vector, she, words),
    3: (by_hand,),
    "transformer": (transformer_by_hand, heads_by_hand),
}
