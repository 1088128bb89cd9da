"""Pictures of how things are built: the mask, a block, positions, memories, regions of an image."""

import matplotlib.colors
import matplotlib.patches
import numpy as np

from . import formula
from .drawing import GREY, INK, KEY, LINE, MORE, PALE, QUERY, SIZE, VALUE, WEIGHT, new_page, short


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
    for left, title in ((0.3, "here: norm beside the rail"), (8.6, "Figure 1: norm on the rail")):
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


def memory():
    """Return a state of fixed size that is written over, and attention, which goes back to every word.

    The state is half of the one before and half of the word, so one can say how much of a word is left.
    """
    words = "Anna dog Ben cat Cleo owl Ben".split()
    vectors = np.random.default_rng(3).normal(size=(len(set(words)), 6))
    vectors = vectors[[sorted(set(words)).index(word) for word in words]]
    states, parts = [np.zeros(6)], [0.0]
    for word, vector in zip(words, vectors, strict=True):
        states.append((states[-1] + vector) / 2)
        parts.append((parts[-1] + (word == "cat")) / 2)
    colours = matplotlib.colors.LinearSegmentedColormap.from_list("signed", [*MORE[:1], "#f7f7f7", *MORE[1:]])
    page, side, places = new_page(12.5), 0.4, 1.3 + 2.05 * np.arange(len(words))

    def draw_column(across, top, numbers):
        for row, number in enumerate(numbers):
            corner = (across - 0.4, top + side * row)
            colour = colours(0.5 + number / 3)
            cell = matplotlib.patches.Rectangle(corner, 0.8, side, facecolor=colour, edgecolor="white")
            page.add_patch(cell)
        frame = {"fill": False, "edgecolor": GREY, "linewidth": 2}
        page.add_patch(matplotlib.patches.Rectangle((across - 0.4, top), 0.8, side * len(numbers), **frame))

    page.write(0.3, 0.45, "A state of fixed size: each word writes over it", to="right", weight="bold")
    page.write(0.3, 6.2, "Attention: every word keeps its own vector", to="right", weight="bold")
    for number, (word, across) in enumerate(zip(words, places, strict=True)):
        page.write(across, 1.2, word)
        page.draw_arrow((across, 1.45), (across, 1.85))
        draw_column(across, 1.9, states[number + 1])
        if number:
            page.draw_arrow((across - 1.55, 3.1), (across - 0.5, 3.1))
        if part := parts[number + 1]:
            page.add_patch(matplotlib.patches.Rectangle((across - 0.4, 4.5), 1.6 * part, 0.35, color=VALUE))
            page.write(across, 5.15, short(part), VALUE, weight="bold")
        draw_column(across, 8.1, vectors[number])
        page.write(across, 10.85, word, weight="bold" if word == "cat" else "normal")
    page.write(places[3] - 0.7, 4.68, "share of cat:", VALUE, to="left", weight="bold")
    for across in places[:-1]:
        width, colour, zorder = (14, WEIGHT, 3) if across == places[3] else (2.5, LINE, 2)
        page.draw_arrow((places[-1], 8), (across, 8), colour, width, 0.2, False, zorder)
    for pet in (1, 3, 5):
        look = {"colour": WEIGHT, "width": 7} if pet == 3 else {"colour": LINE}
        page.draw_arrow((places[pet - 1], 11.2), (places[pet], 11.2), bend=0.35, points=False, **look)
    page.write(places[3], 12.1, "before that, each pet has looked at its owner", GREY)
    page.write(14.4, 3.1, "?", GREY, SIZE + 14, "right", weight="bold")
    page.write(14.2, 9.3, "cat", VALUE, SIZE + 8, "right", weight="bold")
    return page.figure


THINGS = {  # What the image below shows, and in which colour.
    "sky": "#d9ecf7",
    "grass": "#a8cf8e",
    "sun": "#f7c948",
    "tree": "#4f9d69",
    "trunk": "#8a6a4f",
    "cat": "#5b5b66",
}


def scene():
    """Return an image of a cat under a tree, int (480, 800): places in THINGS."""
    down, across = np.mgrid[0:120:0.25, 0:200:0.25]

    def disc(x, y, wide, high):
        return ((across - x) / wide) ** 2 + ((down - y) / high) ** 2 < 1

    image = np.zeros(down.shape, dtype=int)
    image[down > 92] = 1
    image[disc(40, 30, 17, 17)] = 2
    image[disc(150, 38, 34, 32)] = 3
    image[(abs(across - 150) < 5) & (down > 62) & (down < 100)] = 4
    tail = disc(103, 84, 17, 17) & ~disc(103, 84, 12, 12) & (across > 100) & (down < 92)
    ears = [(down > 47) & (down < 64) & (abs(across - x) < (down - 47) / 2) for x in (54, 69)]
    image[disc(82, 88, 25, 15) | disc(61, 69, 14, 13) | tail | ears[0] | ears[1]] = 5
    return image


def regions():
    """Return the attention of three words over the regions of an image.

    A region's key is the share of it that each thing covers. The query of a word is 8 in its thing's place.
    """
    image, size = scene(), 80
    colours = np.array([matplotlib.colors.to_rgb(colour) for colour in THINGS.values()])
    parts = (image[..., None] == np.arange(len(THINGS))).reshape(6, size, 10, size, -1)
    keys = parts.mean(axis=(1, 3)).reshape(-1, len(THINGS))
    page = new_page(12.2)
    for number, word in enumerate(("", "cat", "tree", "sun")):
        left, top = (0.3, 8.2)[number % 2], (0.9, 7)[number // 2]
        plane = page.new_plane(left, top, 7.5, 4.5, xticks=[], yticks=[])
        light = np.ones((6, 10))
        if word:
            _, (weights,) = formula.attend([8 * np.eye(len(THINGS))[list(THINGS).index(word)]], keys, keys)
            light = 0.12 + 0.88 * weights.reshape(light.shape) / weights.max()
        plane.imshow(colours[image], alpha=np.kron(light, np.ones((size, size))), aspect="auto")
        plane.hlines(np.arange(0, 481, size) - 0.5, -0.5, 799.5, color="white", linewidth=2)
        plane.vlines(np.arange(0, 801, size) - 0.5, -0.5, 479.5, color="white", linewidth=2)
        plane.spines[:].set_visible(False)
        title, colour = (f"query: {word}", QUERY) if word else (f"an image in {len(keys)} regions", INK)
        page.write(left, top - 0.4, title, colour, to="right", weight="bold")
    return page.figure


PICTURES = {1: (regions,), 3: (clock_hands,), "transformer": (memory, mask, block, recurrent)}
