"""Pictures of how things are built: the models, the mask, a block, positions, a translation."""

import formula
import matplotlib.colors
import matplotlib.patches
import numpy as np

from .drawing import GREY, INK, KEY, LINE, PALE, QUERY, SIZE, VALUE, WEIGHT, new_page, shade, short


def mask():
    """Return what a causal mask makes of the logits of three words: 1.4 where they are equal, else 0."""
    words, logits = "ABA", 1.4 * np.array([(1, 0, 1), (0, 1, 0), (1, 0, 1)])
    masked = np.where(np.tri(3, dtype=bool), logits, -np.inf)
    page, side = new_page(6.1), 1.2
    for left, title, numbers, colour, full in (
        (1, "logits", logits, GREY, 1.6),
        (6.6, "no later words", masked, GREY, 1.6),
        (12.2, "softmax: weights", formula.softmax(masked), WEIGHT, 1),
    ):
        page.write(left + 1.5 * side, 0.5, title, INK if colour == GREY else WEIGHT, weight="bold")
        page.draw_cells(left, 2, numbers, colour, side=side, full=full)
        for place, word in enumerate(words):
            page.write(left + (place + 0.5) * side, 1.6, word, KEY, weight="bold")
            page.write(left - 0.35, 2 + (place + 0.5) * side, word, QUERY, weight="bold")
    for across in (5.3, 10.9):
        page.draw_arrow((across - 0.4, 3.8), (across + 0.4, 3.8))
    return page.figure


def block():
    """Return a block as ours, with a free rail, beside one in the order of the paper's Figure 1."""
    page = new_page(10.6)
    for left, title in ((0.3, "here: norm beside the rail"), (8.6, "first transformer: norm on the rail")):
        norm_first = title.startswith("here")
        rail, side = left + 1.5, left + 5
        page.write(left, 0.45, title, weight="bold", to="right")
        page.plot((rail, rail), (1.6, 9.7), color=LINE, linewidth=16, solid_capstyle="butt", zorder=1)
        page.draw_arrow((rail, 1.7), (rail, 0.9), LINE, 16)
        page.write(left, 10.15, "a vector for each word", to="right")
        for bottom, part, colour in ((9.4, "attention", WEIGHT), (5.3, "dense,\nReLU, dense", INK)):
            joined = bottom - (3.35 if norm_first else 2.35)
            look = {"color": GREY, "linewidth": 3, "solid_capstyle": "projecting", "zorder": 2}
            page.plot((rail, side, side), (bottom, bottom, joined), **look)
            page.draw_arrow((side, joined), (rail + 0.42, joined))
            look, weight = {"wide": 3.4, "linespacing": 1.1}, "bold" if part == "attention" else "normal"
            height = bottom - (2.05 if norm_first else 1.2)
            page.draw_box(side, height, part, colour, high=1.4, weight=weight, **look)
            page.draw_box(rail, joined, "+", INK, wide=0.8, high=0.8, size=SIZE + 6)
            if norm_first:
                page.draw_box(side, bottom - 0.75, "norm", INK, high=0.8, **look)
            else:
                page.draw_box(rail, joined - 1, "norm", INK, wide=2.2, high=0.8)
    return page.figure


def clock_hands():
    """Return the first three pairs of 16 numbers of a positional encoding as hands: Vaswani et al., 3.5."""
    speeds, page = 10000.0 ** (-np.arange(0, 6, 2) / 16), new_page(7.5)
    page.write(0.2, 0.5, "position", to="right", weight="bold")
    for row, numbers in enumerate(("numbers\n1 and 2", "numbers\n3 and 4", "numbers\n5 and 6")):
        down = 2 + 2.15 * row
        page.write(0.2, down, numbers, to="right")
        for position in range(8):
            across = 3.65 + 1.62 * position
            if not row:
                page.write(across, 0.5, position, weight="bold")
            dial = np.linspace(0, 2 * np.pi, 100)
            page.fill(across + 0.75 * np.sin(dial), down + 0.75 * np.cos(dial), color=PALE)
            angle = position * speeds[row]
            tip = across + 0.62 * np.sin(angle), down - 0.62 * np.cos(angle)
            page.plot(*zip((across, down), tip, strict=True), color=INK, linewidth=7, solid_capstyle="round")
            page.plot(across, down, "o", color=INK, markersize=13)
    return page.figure


def recurrent():
    """Return a translation by a recurrent encoder and decoder with attention, as in Bahdanau et al. (2015).

    The states of the encoder are half of the one before and their word. The queries are our own choice.
    """
    words, written = ("the", "white", "cat"), ("le", "chat", "blanc")
    states, state = [], np.zeros(3)
    for word in np.eye(3):
        state = 0.5 * state + word
        states.append(state)
    queries = np.array([(4, -4, 0), (0, 0, 4), (0, 4, -4)])
    contexts, weights = formula.attend(queries, states, states)
    page, side, middles = new_page(10.4), 0.95, (4.2, 8.7, 13.2)
    page.write(0.2, 8.5, "encoder:\nkeys\nand values", KEY, to="right", weight="bold")
    page.write(0.2, 2.55, "decoder:\nquery", QUERY, to="right", weight="bold")
    page.write(0.2, 3.7, "context", VALUE, to="right", weight="bold")
    for number, middle in enumerate(middles):
        left = middle - 1.5 * side
        page.draw_cells(left, 8, states[number], KEY, side=side)
        page.write(middle, 9.95, words[number])
        page.draw_arrow((middle, 9.6), (middle, 9.05))
        page.draw_cells(left, 2.1, queries[number], QUERY, side=side, full=4)
        page.draw_cells(left, 2.1 + side, contexts[number], VALUE, side=side)
        page.write(middle, 0.5, written[number])
        page.draw_arrow((middle, 2), (middle, 0.9))
        if number:
            before = middles[number - 1] + 1.5 * side
            page.draw_arrow((before + 0.1, 2.1 + side), (left - 0.1, 2.1 + side))
            page.draw_arrow((before + 0.1, 8 + side / 2), (left - 0.1, 8 + side / 2))
    for (query, key), weight in np.ndenumerate(weights):
        ends = (middles[key] + 0.4 * (query - 1), 7.9), (middles[query] + 0.4 * (key - 1), 4.1)
        look = {"colour": WEIGHT, "zorder": 3} if query == 1 else {"colour": "#d9d9d9"}
        page.draw_arrow(*ends, width=1.5 + 18 * weight, points=False, **look)
        if query == 1:
            page.draw_box(*np.mean(ends, axis=0), short(weight), WEIGHT, wide=1.1, high=0.7)
    return page.figure


# --- The models, from the input at the bottom to the logits at the top ----------------------------------

LEFT, RIGHT, MIDDLE = 3.9, 15.7, 9.8  # Where a model stands across; before it, what its parts are called.
COUNTS = "count of A", "count of B", "count of C"


def columns(number):
    """Return the middles of so many columns of a model, float (number,)."""
    return LEFT + (np.arange(number) + 0.5) * (RIGHT - LEFT) / number


def draw_roles(page, down):
    """Write that vectors are query, key and value of each other."""
    for across, text, colour in ((0.2, "query,", QUERY), (1.4, "key,", KEY), (2.2, "value", VALUE)):
        page.write(across, down, text, colour, SIZE - 2, "right", weight="bold")


def draw_name(page, down, *parts):
    """Write what a row of a model is called, above each other its names, and their colours, and its shape."""
    for line, (text, colour) in enumerate(parts):
        height = down + 0.55 * (line - (len(parts) - 1) / 2)
        weight = "normal" if colour == GREY else "bold"
        page.write(0.2, height, text, colour, SIZE - 1, "right", weight=weight)


def draw_layer(page, down, text, steps=(MIDDLE,), dashed=False):
    """Draw a layer through which each column goes by itself, and an arrow to it from below for each."""
    page.draw_box(MIDDLE, down, text, GREY, wide=RIGHT - LEFT, high=0.7)
    if dashed:
        page.patches[-1].set_linestyle((0, (4, 3)))
    draw_arrows(page, down + 0.7, steps)


def draw_arrows(page, down, steps, long=0.35):
    """Draw an arrow upwards for each column."""
    for across in steps:
        page.draw_arrow((across, down), (across, down - long), width=2.5)


def draw_frame(page, top, bottom, dashed=False):
    """Draw a frame around a part of a model."""
    style = {"boxstyle": "round,pad=0,rounding_size=0.2", "linewidth": 2.5, "edgecolor": GREY, "zorder": 0}
    style |= {"linestyle": (0, (4, 3)) if dashed else "-", "facecolor": "#f7f7f7"}
    corner, wide = (LEFT - 0.2, top), RIGHT - LEFT + 0.4
    page.add_patch(matplotlib.patches.FancyBboxPatch(corner, wide, bottom - top, **style))


def draw_vectors(page, down, steps, colours, wide, names=()):
    """Draw a vector for each column, in the colours of all that it is used as."""
    part = wide / len(colours)
    for number, across in enumerate(steps):
        for place, colour in enumerate(colours):
            corner, fill = (
                (across - wide / 2 + place * part, down - 0.3),
                shade(colour, 0.45 if names else 0.8),
            )
            page.add_patch(matplotlib.patches.Rectangle(corner, part, 0.6, color=fill, linewidth=0, zorder=5))
        frame = {"fill": False, "edgecolor": INK, "linewidth": 2, "zorder": 5}
        page.add_patch(matplotlib.patches.Rectangle((across - wide / 2, down - 0.3), wide, 0.6, **frame))
        if names:
            page.write(across, down, names[number], zorder=6)


def draw_attention(page, down, up, keys, queries, shown, matches):
    """Draw attention as lines from keys up to queries; those of one query are as wide as its weights.

    Args:
        down, up: floats, where lines begin and end.
        keys, queries: float, the places across.
        shown: int, a query.
        matches: float (keys,), its logits.
    """
    weights = formula.softmax(np.array([matches], dtype=float))[0]
    thin = {"colour": "#dcdcdc", "width": 2.5 if len(keys) * len(queries) < 50 else 1}
    for number, query in enumerate(queries):
        for key, weight in zip(keys, weights, strict=True):
            thick = {"colour": WEIGHT, "zorder": 3, "width": 1.5 + 22 * weight}
            page.draw_arrow((key, down), (query, up), points=False, **thick if number == shown else thin)


def draw_sums(page, down, steps, wide=2.7, then=""):
    """Draw in each column what attention gives: the mean of the values, to which the query is added."""
    for across in steps:
        page.draw_box(across, down, "", GREY, wide=wide, high=0.7)
        look, across = {"size": SIZE - 2, "weight": "bold", "zorder": 6}, across - 0.09 * len(then)
        page.write(across - 0.25, down, "mean", VALUE, to="left", **look)
        page.write(across - 0.05, down, "+", **look)
        page.write(across + 0.15, down, "query", QUERY, to="right", **look)
        page.write(across + 1.22, down, then, to="right", zorder=6)


def draw_logits(page, down, steps, answers):
    """Draw in each column the scores of the numbers 0 to 10, of which the largest stands out."""
    for across, answer in zip(steps, answers, strict=True):
        numbers = *range(max(4, answer + 1)), "…", 10
        for place, number in enumerate(numbers):
            middle, found = across + 0.44 * (place - (len(numbers) - 1) / 2), number == answer
            look = {"color": INK if found else PALE, "linewidth": 0}
            page.add_patch(matplotlib.patches.Rectangle((middle - 0.2, down - 0.3), 0.4, 0.6, **look))
            colour, weight = ("white", "bold") if found else (GREY, "normal")
            page.write(middle, down, number, colour, SIZE - 2, weight=weight)


def draw_counting(page, down, names, shown, asks, used_as=(LINE,)):
    """Draw a model of Task 1 up to its hidden states, which stand at this height."""
    letters, steps, inputs = " ABC", columns(len(names)), columns(5)
    draw_vectors(page, down, steps, used_as, 2.6, names)
    draw_name(page, down, ("hidden states", INK), (f"decoding, {len(names)} × 64", GREY))
    draw_arrows(page, down + 0.65, steps)
    draw_layer(page, down + 1, "layer norm", steps)
    draw_sums(page, down + 2.05, steps)
    draw_arrows(page, down + 2.75, steps)
    draw_vectors(page, down + 3.05, steps, [QUERY], 2.6, names)
    draw_name(page, down + 3.05, ("queries, learnt", QUERY), (f"{len(names)} × 64", GREY))
    draw_attention(page, down + 5.05, down + 3.35, inputs, steps, shown, [asks == each for each in "AB BC"])
    draw_name(page, down + 4.2, ("weights", WEIGHT), (f"{len(names)} × 5", GREY))
    draw_vectors(page, down + 5.35, inputs, [KEY, VALUE], 1.2)
    draw_name(page, down + 5.35, ("keys", KEY), ("5 × 64", GREY))
    page.write(1.2, down + 5.075, "= values", VALUE, SIZE - 1, "right", weight="bold")
    draw_arrows(page, down + 6, inputs)
    draw_layer(page, down + 6.35, "dense", inputs)
    for across, letter in zip(inputs, "AB BC", strict=True):
        one_hot = [letter == each for each in letters]
        page.draw_cells(across - 0.6, down + 7.05, one_hot, GREY, side=0.3, size=0)
        page.write(across, down + 7.7, letter.replace(" ", "␣"), weight="bold")
    draw_name(page, down + 7.4, ("letters, one-hot", INK), ("5 × 4", GREY))


def counting_model():
    """Return the model of Task 1."""
    page, steps = new_page(10.8), columns(3)
    draw_logits(page, 0.6, steps, (1, 2, 1))
    draw_name(page, 0.6, ("logits", INK), ("3 × 11", GREY))
    draw_arrows(page, 1.25, steps)
    draw_layer(page, 1.6, "dense", steps)
    draw_counting(page, 2.65, COUNTS, 1, "B")
    return page.figure


def difference_model():
    """Return the model of Task 2; the weights of the difference are nearly those of step_3 at A − B = −1."""
    page, steps, names = new_page(14), columns(4), (*COUNTS, "|A − B|")
    draw_logits(page, 0.55, steps, (1, 2, 1, 1))
    draw_name(page, 0.55, ("logits", INK), ("4 × 11", GREY))
    draw_arrows(page, 1.2, steps)
    draw_layer(page, 1.55, "dense", steps)
    draw_frame(page, 2.1, 5.85, dashed=True)
    name = ("self-attention", WEIGHT), ("only with", INK), ("--self_att", INK), ("weights 4 × 4", GREY)
    draw_name(page, 3.8, *name)
    draw_layer(page, 2.65, "layer norm", steps)
    draw_sums(page, 3.7, steps)
    draw_attention(page, 5.55, 4.05, steps, steps, 3, np.log((0.07, 0.6, 0.03, 0.3)))
    draw_roles(page, 6.65)
    draw_counting(page, 5.85, names, 3, "", (QUERY, KEY, VALUE))
    return page.figure


def signal_model():
    """Return the model of Task 3."""
    text, page, places = "BBABCCABCAB", new_page(14), columns(11)
    draw_logits(page, 0.5, [MIDDLE], [4])
    draw_name(page, 0.5, ("logits", INK), ("1 × 11", GREY))
    draw_arrows(page, 1.15, [MIDDLE])
    draw_layer(page, 1.5, "dense")
    draw_sums(page, 2.5, [MIDDLE], RIGHT - LEFT, ", layer norm")
    draw_arrows(page, 3.15, [MIDDLE])
    draw_vectors(page, 3.45, [MIDDLE], [QUERY], 4, ["count of the signal"])
    draw_name(page, 3.45, ("query, learnt", QUERY), ("1 × 64", GREY))
    draw_attention(page, 4.85, 3.75, places, [MIDDLE], 0, [2 * (place == 0) for place in range(11)])
    draw_vectors(page, 5.15, places, (KEY, VALUE), 0.75)
    draw_name(page, 5.15, ("keys", KEY), ("11 × 64", GREY))
    page.write(1.2, 4.875, "= values", VALUE, SIZE - 1, "right", weight="bold")
    draw_arrows(page, 5.8, places)
    draw_frame(page, 5.65, 9.9)
    draw_name(page, 7.2, ("encoder layer", INK), ("× --enc_layers", INK))
    draw_layer(page, 6.2, "add, layer norm", places)
    draw_layer(page, 7.2, "dense, ReLU, dense", places)
    draw_sums(page, 8.2, [MIDDLE], RIGHT - LEFT, ", layer norm")
    draw_attention(page, 9.6, 8.55, places, places, 0, [1.4 * (letter == text[0]) for letter in text])
    draw_vectors(page, 9.9, places, (QUERY, KEY, VALUE), 0.75)
    draw_name(page, 9, ("self-attention", WEIGHT), ("weights 11 × 11", GREY))
    draw_roles(page, 9.9)
    draw_arrows(page, 10.55, places)
    draw_layer(page, 10.9, "+ positional encoding, only with --pos_enc", places, dashed=True)
    draw_layer(page, 11.9, "dense", places)
    page.draw_box(places[0], 12.9, "", INK, wide=0.8, high=0.65)
    for across, letter in zip(places, text, strict=True):
        page.write(across, 12.9, letter, weight="bold", zorder=6)
    page.write(places[0], 13.55, "signal")
    draw_name(page, 12.9, ("letters, one-hot", INK), ("11 × 3", GREY))
    return page.figure


def transformer_model():
    """Return the transformer, with the vectors of all words on one rail, as in `block`."""
    words, page, rail, side = "Anna dog Ben cat Cleo owl Dan hen Ben".split(), new_page(13.2), 4.9, 11.8
    places = columns(len(words))
    for place, word in enumerate(("Anna", "Ben", "…", "dog", "cat", "owl", "…")):
        middle, found = 8.3 + 1.15 * place, word == "cat"
        look = {"color": INK if found else PALE, "linewidth": 0}
        page.add_patch(matplotlib.patches.Rectangle((middle - 0.55, 0.3), 1.1, 0.6, **look))
        page.write(middle, 0.6, word, "white" if found else GREY, weight="bold" if found else "normal")
    page.write(7.55, 0.6, "after the last word:", GREY, to="left")
    draw_name(page, 0.6, ("logits", INK), ("9 × 16", GREY))
    draw_arrows(page, 1.25, places[-1:])
    draw_layer(page, 1.6, "dense", places)
    draw_layer(page, 2.6, "norm", ())
    page.plot((rail, rail), (3.5, 11.25), color=LINE, linewidth=16, solid_capstyle="butt", zorder=1)
    page.draw_arrow((rail, 3.8), (rail, 2.95), LINE, 16)
    for number, bottom in enumerate((10.9, 7.1), start=1):
        draw_frame(page, bottom - 3.55, bottom)
        draw_name(page, bottom - 1.75, (f"block {number}", INK), ("9 × 32", GREY))
        for down, part in ((bottom - 0.6, "attention"), (bottom - 2.25, "dense, ReLU, dense")):
            found = part == "attention"
            line = {"color": GREY, "linewidth": 3, "solid_capstyle": "projecting", "zorder": 2}
            page.plot((rail, side, side), (down, down, down - 0.8), **line)
            page.draw_arrow((side, down - 0.8), (rail + 0.37, down - 0.8))
            page.draw_box(rail, down - 0.8, "+", INK, wide=0.7, high=0.7, size=SIZE + 4)
            page.draw_box(6.9, down, "norm", INK, wide=1.7, high=0.8)
            page.draw_box(side, down, "" if found else part, WEIGHT if found else INK, wide=7, high=0.8)
            if found:
                page.write(10.75, down, part, to="left", weight="bold", zorder=6)
                page.write(10.75, down, ", 4 heads, causal mask", to="right", zorder=6)
    draw_layer(page, 11.6, "embedding + position", places)
    for place, (across, word) in enumerate(zip(places, words, strict=True)):
        page.write(across, 12.65, word, weight="bold" if place == len(words) - 1 else "normal")
    draw_name(page, 12.65, ("words", INK))
    return page.figure


PICTURES = {
    1: (counting_model,),
    2: (difference_model,),
    3: (clock_hands, signal_model),
    "transformer": (mask, block, recurrent, transformer_model),
}
