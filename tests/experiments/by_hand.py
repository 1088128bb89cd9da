"""The pictures that need no training: the examples computed by hand, as rows of boxes."""

import matplotlib.colors
import matplotlib.pyplot as pyplot
import numpy as np

from . import formula, pictures

WORDS = {"fontsize": 27, "va": "center", "ha": "center"}
LEFT, GREY = WORDS | {"ha": "left"}, WORDS | {"color": "#555555"}
ARROW = {"arrowstyle": "-|>", "mutation_scale": 30, "linewidth": 2.5, "color": "#444444"}


def blank(width, height, lowest=0.0):
    """Return a figure of these proportions and its axes, of which nothing is drawn."""
    figure, axes = pyplot.subplots(figsize=(16, 16 * height / width))
    axes.set(xlim=(0, width), ylim=(lowest, lowest + height), aspect="equal")
    axes.axis("off")
    figure.subplots_adjust(0, 0, 1, 1)
    return figure, axes


def draw_vector(axes, left, top, numbers, colour, name="", names=(), size=27):
    """Draw a vector as a row of boxes, the darker the larger the number; `name` stands before it."""
    shades = matplotlib.colors.LinearSegmentedColormap.from_list("shades", ["white", colour])
    for place, number in enumerate(numbers):
        strength = min(1, abs(number) / 3) ** 0.5 * 0.75
        box = pyplot.Rectangle((left + place, top - 1), 1, 1, facecolor=shades(strength), edgecolor="#444444")
        axes.add_patch(box)
        axes.text(left + place + 0.5, top - 0.5, pictures.short(number), **WORDS | {"fontsize": size})
    for place, label in enumerate(names):
        axes.text(left + place + 0.5, top + 0.35, label, **GREY)
    if name:
        axes.text(left - 0.25, top - 0.5, name, **(WORDS | {"ha": "right"}))


def draw_rows(axes, top, query, query_name, rows, symbols, columns):
    """Draw a query and, row by row, its keys and what a softmax makes of them.

    Args:
        top: float, the upper edge.
        query: float (depth,).
        rows: list of (name, float (depth,)), what each key is called, and the key.
        symbols: list of str (depth,), what each number of a vector stands for.
        columns: list of str, what stands before the weight: of "query · key", "÷ √depth", "logit" and "exp".
    """
    depth, vectors = len(query), np.array([vector for _, vector in rows], dtype=float)
    products, logits = vectors @ query, vectors @ query / np.sqrt(depth)
    ((mean,), (weights,)) = formula.attend([query], vectors, vectors)
    known = {"query · key": products, f"÷ √{depth}": logits, "logit": logits, "exp": np.exp(logits)}
    places = 5.2 + len(mean) + 2.1 * np.arange(len(columns) + 1)
    bottom = top - 2.4 - 1.15 * len(rows)
    draw_vector(axes, 3.6, top - 0.7, query, pictures.COLOURS[4], query_name, symbols)
    for place, title in zip(places, (*columns, "weight"), strict=True):
        axes.text(place, top - 1.2, title, **GREY)
    for number, (name, vector) in enumerate(rows):
        line = top - 2.1 - 1.15 * number
        draw_vector(axes, 3.6, line, vector, pictures.COLOURS[0], name)
        for place, title in zip(places, columns, strict=False):
            axes.text(place, line - 0.5, pictures.short(known[title][number]), **WORDS)
        start, width = places[-1] - 0.6, 2 * weights[number]
        bar = pyplot.Rectangle((start, line - 0.9), width, 0.8, color=pictures.COLOURS[1], alpha=0.55)
        axes.add_patch(bar)
        axes.text(start + width + 0.15, line - 0.5, pictures.short(weights[number]), **LEFT)
    draw_vector(axes, 3.6, bottom, mean, pictures.COLOURS[2], "weighted\nmean")
    if "exp" in columns:
        axes.text(places[-2], bottom + 0.05, f"together {known['exp'].sum():.3f}", **GREY)
    axes.text(3.8 + len(mean), bottom - 0.5, "= weights · values", **(GREY | LEFT))


def draw_example(task, size, query, name, rows, symbols, columns):
    """Draw the example of a lesson into a picture of this size, in boxes; the rest is as in draw_rows."""
    figure, axes = blank(*size)
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


def draw_looking_up():
    """Draw the example of the last page: what W_Q, W_K and W_V make of a question and of two pairs."""
    unit = np.eye(4)  # Anna, Ben, dog, cat
    rows = [("Anna's dog", unit[0] + unit[2]), ("Ben's cat", unit[1] + unit[3])]
    query = 4 * unit[1, :2]
    key, value = (np.array([vector[part] for _, vector in rows]) for part in (slice(2), slice(2, 4)))
    ((mean,), (weights,)) = formula.attend([query], key, value)
    figure, axes = blank(19, 11.7, lowest=0.9)
    vectors, made, products, logits, last = 3.6, 9.3, 13, 15.3, 16.5  # Where the columns begin.

    def draw_matrix(line, name, vector, result, colours, label):
        """Draw a vector, what a matrix makes of it, and between them the matrix, an arrow."""
        draw_vector(axes, vectors, line, vector, colours[0], label)
        axes.annotate("", (made - 0.1, line - 0.5), (vectors + 4.1, line - 0.5), arrowprops=ARROW)
        axes.text((made + vectors + 4) / 2, line - 0.05, name, **WORDS)
        draw_vector(axes, made, line, result, colours[1])

    def draw_names(top, left, names):
        for place, label in enumerate(names):
            axes.text(left + place + 0.5, top, label, **(GREY | {"fontsize": 20}))

    blue, orange, green, yellow = (pictures.COLOURS[place] for place in (0, 1, 2, 4))
    draw_names(12.2, vectors, ["Anna", "Ben", "dog", "cat"])
    draw_names(12.2, made, ["Anna", "Ben"])
    draw_matrix(11.8, "W_Q", unit[1], query, ("#999999", yellow), "question:\nBen")
    axes.text(made + 2.3, 11.3, "query", **(GREY | LEFT))
    draw_names(9.65, made, ["Anna", "Ben"])
    titles = ((made + 1, "key"), (products, "query · key"), (logits, "÷ √2"), (last + 1, "weight"))
    for place, title in titles:
        axes.text(place, 10.25, title, **GREY)
    for number, (name, vector) in enumerate(rows):
        line, weight = 9.4 - 1.2 * number, weights[number]
        draw_matrix(line, "W_K", vector, key[number], ("#999999", blue), name)
        product = key[number] @ query
        for place, amount in ((products, product), (logits, product / 2**0.5)):
            axes.text(place, line - 0.5, pictures.short(amount), **WORDS)
        axes.add_patch(pyplot.Rectangle((last, line - 0.9), 1.3 * weight, 0.8, color=orange, alpha=0.55))
        axes.text(last + 1.3 * weight + 0.15, line - 0.5, pictures.short(weight), **LEFT)
    axes.text(made + 1, 6.45, "value", **GREY)
    draw_names(5.85, made, ["dog", "cat"])
    axes.text(products, 6.2, "× weight", **GREY)
    draw_names(6.2, last, ["dog", "cat"])
    for number, (name, vector) in enumerate(rows):
        line = 5.6 - 1.2 * number
        draw_matrix(line, "W_V", vector, value[number], ("#999999", green), name)
        axes.text(products, line - 0.5, f"× {pictures.short(weights[number])}", **WORDS)
        draw_vector(axes, last, line, weights[number] * value[number], green)
    draw_vector(axes, last, 2.2, mean, green, "weighted mean of the values")
    axes.plot((last - 0.3, last + 2.3), (2.8, 2.8), color="#444444", linewidth=2.5)
    axes.text(last - 0.6, 2.8, "+", **WORDS)
    pictures.save(figure, 3, "transformer_by_hand")


def draw_words():
    """Draw the first example of Lesson 2: three words, and what self-attention makes of each."""
    words, low, high = ("Anna", "slept", "she"), 2.2, 8.2
    vectors = np.array([(2, 0, 1), (0, 2, 0), (2, 0, 0)])
    means, weights = formula.attend(vectors, vectors, vectors)
    figure, axes = blank(18, 10.3)
    middles = 6 * np.arange(3) + 3
    for word, middle, vector, mean in zip(words, middles, vectors, means, strict=True):
        draw_vector(axes, middle - 1.5, low, vector, "#999999")
        axes.text(middle, 0.6, word, **WORDS)
        draw_vector(axes, middle - 1.5, high + 1, mean, pictures.COLOURS[2])
        axes.text(middle, high + 1.6, f"new vector of {word}", **GREY)
    for (query, key), weight in np.ndenumerate(weights):
        asks = words[query] == "she"
        ends = np.array([(middles[key], low + 0.1), (middles[query], high - 0.1)])
        colour = pictures.COLOURS[1] if asks else "#d5d5d5"
        axes.plot(*ends.T, color=colour, linewidth=1 + 22 * weight, zorder=asks, solid_capstyle="butt")
        box = {"facecolor": "white", "edgecolor": colour, "boxstyle": "round,pad=0.2"}
        look = WORDS | ({} if asks else {"fontsize": 20, "color": "#777777"})
        spot = (0.7, 0.3) @ ends if asks else (0.84, 0.16) @ ends
        axes.text(*spot, pictures.short(weight), **look, bbox=box)
    pictures.save(figure, 2, "words")


def draw_two_heads():
    """Draw the last page's example of heads: one that asks for both pets, and two that ask for one each."""
    unit, means = np.eye(2), []
    yellow, blue, orange, green = (pictures.COLOURS[place] for place in (4, 0, 1, 2))
    figure, axes = blank(21.4, 15.2)
    cases = (
        ("one head asks for both", (4, 4)),
        ("head 1 asks for Anna's", (4, 0)),
        ("head 2 asks for Ben's", (0, 4)),
    )
    for number, (name, query) in enumerate(cases):
        top = 14.9 - 5.1 * number
        ((mean,), (weights,)) = formula.attend([query], unit, unit)
        means.append(mean)
        draw_vector(axes, 2.4, top, query, yellow)
        axes.text(4.8, top - 0.5, name, **LEFT)
        for place, title in ((3.4, "key"), (5.9, "weight"), (9.5, "value"), (13.3, "mean")):
            axes.text(place, top - 1.5, title, **GREY)
        for place, (owner, pet) in enumerate((("Anna", "dog"), ("Ben", "cat"))):
            line = top - 2 - 1.1 * place
            draw_vector(axes, 2.4, line, unit[place], blue, owner)
            bar = pyplot.Rectangle((4.8, line - 0.9), 2 * weights[place], 0.8, color=orange, alpha=0.55)
            axes.add_patch(bar)
            axes.text(4.95 + 2 * weights[place], line - 0.5, pictures.short(weights[place]), **LEFT)
            axes.text(8.2, line - 0.5, "·", **WORDS)
            draw_vector(axes, 8.5, line, unit[place], green)
            axes.text(10.65, line - 0.5, pet, **(GREY | LEFT))
        axes.annotate("", (12.1, top - 3.05), (11.5, top - 3.05), arrowprops=ARROW | {"mutation_scale": 20})
        draw_vector(axes, 12.3, top - 2.55, mean, green)
    axes.text(14.6, 14.9 - 3.05, "Whose dog, whose cat?", **LEFT)
    for number, height in enumerate((6.75, 1.65)):
        axes.annotate("", (16.6, 4.6 - 0.3 * number), (14.5, height), arrowprops=ARROW)
        draw_vector(axes, 16.8 + 2.1 * number, 4.9, means[number + 1], green)
        axes.text(17.8 + 2.1 * number, 3.4, ("Anna's", "Ben's")[number], **GREY)
    axes.text(18.85, 5.5, "join", **GREY)
    pictures.save(figure, 3, "heads_by_hand")


@pyplot.rc_context({"font.size": 18})
def draw():
    """Draw all of them."""
    letters = [(f"'{letter}'", np.eye(4)["␣ABC".index(letter)]) for letter in "AB␣BC"]
    columns = ["query · key", "÷ √4", "exp"]
    draw_example(1, (18, 10.2), (0, 2.8, 0, 0), "query for 'A'", letters, "␣ABC", columns)
    states = [("A", (3, 0, 4)), ("B", (0, 3, 3)), ("difference", (1, -1, 0))]
    symbols, columns = ["A?", "B?", "count"], ["query · key", "÷ √3"]
    draw_example(2, (15, 7.9), (1, -1, 0), "difference asks", states, symbols, columns)
    draw_signal()
    draw_looking_up()
    draw_two_heads()
