"""The pictures of the last page: the model, what its trained heads bring, and the loss with its cliffs."""

import matplotlib.patches
import matplotlib.pyplot as pyplot
import numpy as np
from scipy import special

from . import by_hand, pictures, transformer

TEXT = "Anna dog Ben cat Cleo owl Dan hen Ben"
SHOWN_SEED, LOSS_SEEDS = 1, range(1, 7)
RING = {"fill": False, "edgecolor": "#ff5050", "linewidth": 3.5}


def heads_of(cache):
    """Return the weights of the shown model on TEXT, float (layers, heads, words, words)."""
    known = transformer.program().vocabulary(4)
    (model,) = cache.models(transformer.AS_IT_IS, [SHOWN_SEED])
    _, weights = model(np.array([[known.index(word) for word in TEXT.split()]]))
    return np.array(weights)[:, 0]


PETS, QUESTION = np.arange(1, 8, 2), 8  # Places in TEXT; each pet's name stands before it.
RIGHT = TEXT.split().index(TEXT.split()[QUESTION]) + 1


def best_heads(weights):
    """Return the heads in which pets find their names, first layer, and the question its pet, second."""
    first = weights[0][:, PETS, PETS - 1].mean(axis=1).argmax()
    return first, weights[1][:, QUESTION, RIGHT].argmax()


def draw_flow(cache):
    """Draw what two heads of one model bring from word to word: a column for each word, layer above layer."""
    words, weights = TEXT.split(), heads_of(cache)
    first, second = best_heads(weights)
    levels = (0.9, 5, 9.1)
    figure, axes = by_hand.blank(20.6, 10.2)
    for height, text in zip(levels, ("words", "after\nblock 1", "after\nblock 2"), strict=True):
        axes.text(0.2, height, text, **by_hand.GREY | {"ha": "left", "fontsize": 24})
    for column, word in enumerate(words):
        across, is_pet = 3.4 + 2 * column, column in PETS
        axes.plot((across, across), levels[::2], color="#d5d5d5", linewidth=14, zorder=0)
        known = f"{word},\n{words[column - 1]}'s" if is_pet else word
        said = f"{word}:\nsays {words[RIGHT]}" if column == QUESTION else known
        for height, text in zip(levels, (word, known, said), strict=True):
            box = {"boxstyle": "round,pad=0.25", "facecolor": "white" if is_pet else "#e5e5e5"}
            axes.text(across, height, text, **by_hand.WORDS | {"fontsize": 24}, bbox=box)
    looks = [(pet - 1, pet, levels[0], weights[0][first, pet, pet - 1]) for pet in PETS]
    looks.append((RIGHT, QUESTION, levels[1], weights[1][second, QUESTION, RIGHT]))
    for tail, head, height, weight in looks:
        ends = np.array([(3.4 + 2 * tail, height + 0.7), (3.4 + 2 * head, height + 3.3)])
        style = by_hand.ARROW | {"linewidth": 9 * weight, "color": pictures.COLOURS[1], "mutation_scale": 45}
        axes.annotate("", ends[1], ends[0], arrowprops=style | {"shrinkA": 0, "shrinkB": 0})
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": pictures.COLOURS[1]}
        axes.text(*ends.mean(axis=0), pictures.short(weight), **by_hand.WORDS | {"fontsize": 22}, bbox=box)
    pictures.save(figure, 3, "transformer_flow")


def draw_arrays(cache):
    """Draw the arrays of one model on TEXT, from the words up: the residual stream, and what is added."""
    (model,) = cache.models(transformer.AS_IT_IS, [SHOWN_SEED])
    known, words = transformer.program().vocabulary(4), TEXT.split()
    places = np.array([[known.index(word) for word in words]])
    begun = model.embedding(places) + model.positions[:, : len(words)]
    block, last = model.blocks
    normal = block.norm_1(begun)
    attended = begun + block.attention(normal)[0]
    after_first = block(begun)[0]
    after_second = last(after_first)[0]
    chances = special.softmax(model.logits_layer(model.norm(after_second)).numpy()[0, -1])
    weights = heads_of(cache)
    first, second = best_heads(weights)
    parts = [getattr(block.attention, name) for name in ("W_Q", "W_K", "W_V")]
    query, key, value = (block.attention.split(normal @ part).numpy()[0, first] for part in parts)
    masked = np.where(np.tri(len(words), dtype=bool), weights, np.nan)
    blue, orange, green, yellow = (pictures.COLOURS[number] for number in (0, 1, 2, 4))
    _, page = pictures.sheet(16, 20.2)
    left, wide = 0.7, 4.0  # Of the stream.

    def draw_stream(state, low, title):
        return pictures.put(page, state.numpy()[0].T, (left, low), (wide, 2.2), title, "#888888")

    def draw_weights(layer, head, low, title):
        plane = pictures.put(page, masked[layer, head], (7.3, low), (3, 3), title, orange, vmin=0, vmax=1)
        for axis in (plane.xaxis, plane.yaxis):
            axis.set_ticks(range(len(words)), words, fontsize=13)
        plane.tick_params(axis="x", rotation=90, length=0)
        plane.tick_params(axis="y", length=0)

    plane = draw_stream(begun, 1.5, "vectors, 32 numbers each")
    plane.set_xticks(range(len(words)), words, fontsize=18, rotation=90)
    for start, array, title, colour in (
        (6.2, query, "queries", yellow),
        (9.4, key, "keys", blue),
        (12.6, value, "values", green),
    ):
        pictures.put(page, array.T, (start, 1.5), (2.7, 1.4), title, colour)
    draw_weights(0, first, 4.9, "attention weights")
    pictures.put(page, (weights[0, first] @ value).T, (12.6, 5.7), (2.7, 1.4), "weighted means", green)
    draw_stream(attended, 8.2, "vectors after the attention")
    draw_stream(after_first, 11.6, "after block 1")
    draw_weights(1, second, 12.1, "block 2, head 2")
    draw_stream(after_second, 16.6, "after block 2")
    plane = pictures.place(page, 7.3, 17.4, 8, 1.7, "probability of each word after the last Ben")
    plane.bar(range(16), chances, color=pictures.COLOURS[5])
    plane.set_xticks(range(16), known, fontsize=17, rotation=90)
    point = pictures.point
    point(page, (4.8, 2.2), (6.1, 2.2), "norm, W_Q,\nW_K, W_V", (5.5, 2.8), fontsize=16)
    for across in (10.75, 13.95):  # To the keys and the values.
        point(page, (4.8, 1.1), (across, 1.45), bend="angle,angleA=0,angleB=90,rad=8")
    point(page, (7.5, 3.45), (8, 4.2))
    point(page, (10.7, 3.45), (9.6, 4.2), "head 2 of 4", (11.6, 4))
    point(page, (14, 3.45), (14, 5.5))
    point(page, (10.5, 6.4), (12.4, 6.4), "weights · values", (11.5, 6.8), fontsize=16)
    point(
        page,
        (14, 7.75),
        (4.8, 9.3),
        "all four heads: join, W_O, add",
        (11, 9.7),
        "angle,angleA=90,angleB=0,rad=8",
    )
    point(page, (2.7, 4.6), (2.7, 8), "add", (3.1, 6.4))
    point(page, (2.7, 11), (2.7, 11.5), "norm, two dense layers, add", (3, 11.1), ha="left")
    point(page, (4.8, 12.7), (6.6, 13.3))
    point(
        page,
        (2.7, 14.4),
        (2.7, 16.5),
        "add; then norm,\ntwo dense layers,\nadd",
        (0.4, 15.4),
        ha="left",
        fontsize=16,
    )
    point(page, (6.6, 14.6), (4.8, 17), "weights · values,\njoin, W_O", (7.2, 16.2), fontsize=16)
    point(page, (4.8, 18.2), (7.2, 18.2), "norm,\ndense", (6, 18.8))
    page.text(
        0.7,
        0.2,
        "Red: above 0. Blue: below 0. White: masked.",
        **(pictures.WORDS | {"ha": "left", "fontsize": 18}),
    )
    pictures.save(page.figure, 3, "transformer_diagram")


def draw_heads(cache):
    """Draw two heads of one model, side by side, with rings around the weights that find the answer."""
    words, weights = TEXT.split(), heads_of(cache)
    figure, planes = pyplot.subplots(1, 2, figsize=(10, 6), layout="constrained")
    found = [[(pet, pet - 1) for pet in PETS], [(QUESTION, RIGHT)]]
    titles = (
        "Layer 1: each pet attends\nto the word before it",
        "Layer 2: the question\nattends to the right pet",
    )
    for layer, (plane, head, title) in enumerate(zip(planes, best_heads(weights), titles, strict=True)):
        image = plane.imshow(np.where(np.tri(len(words)), weights[layer, head], np.nan), vmin=0, vmax=1)
        plane.set_title(title, fontsize=17)
        plane.set_xticks(range(len(words)), words, rotation=90, fontsize=15)
        plane.set_yticks(range(len(words)), words, fontsize=15)
        for row, column in found[layer]:
            plane.add_patch(matplotlib.patches.Circle((column, row), 0.55, **RING))
            text = f"{weights[layer, head, row, column]:.2f}".removeprefix("0")
            plane.text(column, row, text, ha="center", va="center", fontsize=12)
    planes[0].set_xlabel("… attends to this word", fontsize=15)
    planes[0].set_ylabel("This word …", fontsize=15)
    bar = figure.colorbar(image, ax=planes, location="bottom", shrink=0.6, aspect=30)
    bar.set_label("Attention weight", fontsize=15)
    pictures.save(figure, 3, "transformer_heads")


def draw_losses(cache):
    """Draw the loss of some training runs, each the mean of 50 training steps, and the lowest possible."""
    figure, axes = pyplot.subplots(figsize=(8, 5.5), layout="constrained")
    for seed in LOSS_SEEDS:
        axes.plot(*np.transpose(cache.losses(transformer.AS_IT_IS, seed)), linewidth=2)
    lowest = transformer.lowest_loss(4)
    axes.axhline(lowest, color="black", linestyle="--", label=f"the lowest possible, {lowest:.3f}")
    axes.set(xlabel="Training step", ylabel="Cross-entropy (nats per word)", ylim=(0.8, 1.8))
    axes.legend(loc="upper right")
    axes.grid(alpha=0.3)
    pictures.save(figure, 3, "transformer_losses")


@pyplot.rc_context(pictures.STYLE)
def draw(_, cache):
    """Draw them all, with the models of a trainings.ModelCache."""
    draw_flow(cache)
    draw_arrays(cache)
    draw_heads(cache)
    draw_losses(cache)
