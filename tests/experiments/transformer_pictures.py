"""The pictures of the last page: the model, what its trained heads bring, and the loss with its cliffs."""

import matplotlib.patches
import matplotlib.pyplot as pyplot
import numpy as np

from . import by_hand, pictures, transformer

TEXT = "Anna dog Ben cat Cleo owl Dan hen Ben"
SHOWN_SEED, LOSS_SEEDS = 1, range(1, 7)
# The boxes of the diagram, from the words up, branch by branch: colour, text, number of parameters.
ATTENTION = [(pictures.LEARNT, "norm", 64), (pictures.LEARNT, "W_Q  W_K  W_V", 3072),
             (pictures.RULE, "4 heads:\nmask, softmax", 0), (pictures.LEARNT, "W_O", 1024)]  # fmt: skip
DENSE = [(pictures.LEARNT, "norm", 64), (pictures.LEARNT, "dense 64, ReLU", 2112),
         (pictures.LEARNT, "dense 32", 2080)]  # fmt: skip
BRANCHES = [[(pictures.LEARNT, "embedding", 512)], [(pictures.LEARNT, "positions", 480)],
            ATTENTION, DENSE, [(pictures.LEARNT, "block 2:\nthe same parts", 8416)],
            [(pictures.LEARNT, "norm", 64), (pictures.LEARNT, "dense 16", 528)]]  # fmt: skip
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


def draw_diagram():
    """Draw the model, from the words up: the residual stream, and branches whose results are added to it."""
    trunk, left, right, numbers, top = 1.2, 2.3, 5.7, 7.7, 12.8  # Inches.
    middle, figure = (left + right) / 2, pyplot.figure(figsize=(8, top))
    plane = figure.add_axes((0, 0, 1, 1), xlim=(0, 8), ylim=(0, top))
    plane.axis("off")
    words = {"ha": "center", "va": "center", "fontsize": 21}
    style = {"arrowstyle": "-|>", "mutation_scale": 22, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}

    def box(low, high, start, end, colour, text):
        form = {"boxstyle": "round,pad=0,rounding_size=0.12", "facecolor": colour, "edgecolor": "#666666"}
        plane.add_patch(matplotlib.patches.FancyBboxPatch((start, low), end - start, high - low, **form))
        plane.text((start + end) / 2, (low + high) / 2 - 0.02, text, **words)

    def arrow(tail, head):
        plane.annotate("", head, tail, arrowprops=style | {"color": "#444444"}, zorder=2)

    box(0.1, 0.68, 0.15, 7.85, pictures.DATA, TEXT)
    edge, leaving, coming = 0.68, [], []  # The upper edge of what is drawn; the heights of the arrows.
    for branch in BRANCHES:
        first = edge + 0.4
        for place, (colour, text, count) in enumerate(branch):
            low = edge + (0.24 if place else 0.4)
            if place or branch == BRANCHES[0]:
                arrow((middle, edge), (middle, low))
            edge = low + (0.9 if "\n" in text else 0.52)
            box(low, edge, left, right, colour, text)
            plane.text(numbers, (low + edge) / 2 - 0.02, f"{count:,}", **(words | {"ha": "right"}))
        leaving.append(first + 0.26)
        coming.append(edge - 0.26)
    for height in leaving[2:]:
        arrow((trunk, height), (left, height))
    for height in coming[:-1]:
        arrow((left, height), (trunk + 0.22 * (height > coming[0]), height))
    look = {"facecolor": pictures.RULE, "edgecolor": "#444444", "zorder": 3}
    for height in coming[1:-1]:
        plane.add_patch(pyplot.Circle((trunk, height), 0.22, **look))
        plane.text(trunk, height - 0.02, "+", **words, zorder=4)
    plane.plot((trunk, trunk), (coming[0], leaving[-1]), color=pictures.COLOURS[0], linewidth=7, zorder=1)
    low, high = leaving[2] - 0.43, coming[3] + 0.43
    plane.add_patch(pyplot.Rectangle((0.15, low), 7.7, high - low, color="#f6f6f6", zorder=0))
    for branch, text in ((2, "residual stream"), (3, "block 1")):
        plane.text(0.55, (leaving[branch] + coming[branch]) / 2, text, **words, rotation=90)
    arrow((middle, edge), (middle, edge + 0.4))
    box(edge + 0.4, edge + 0.98, left, right, pictures.DATA, "16 logits: cat")
    total = sum(count for branch in BRANCHES for *_, count in branch)
    title = f"parameters:\n{total:,}"
    plane.text(numbers, edge + 0.67, title, **(words | {"ha": "right", "fontsize": 18, "weight": "bold"}))
    pictures.save(figure, 3, "transformer_diagram")


def draw_heads(cache):
    """Draw all heads of one model: the two that find the answer large, with their looks, the others small."""
    words, weights = TEXT.split(), heads_of(cache)
    first, second = best_heads(weights)
    figure = pyplot.figure(figsize=(10, 9.7), layout="constrained")
    grid = figure.add_gridspec(3, 6, height_ratios=(2.3, 1, 1))
    shown = [(0, first), (1, second)]
    others = [place for place in np.ndindex(2, 4) if place not in shown]
    for number, (layer, head) in enumerate(shown + others):
        large = number < 2
        row, column = (0, 3 * number) if large else (1 + (number - 2) // 3, 2 * ((number - 2) % 3))
        axes = figure.add_subplot(grid[row, column : column + (3 if large else 2)])
        image = axes.imshow(weights[layer, head], vmin=0, vmax=1, cmap="viridis")
        axes.set_title(f"Layer {layer + 1}, head {head + 1}", fontsize=17)
        axes.set_xticks(range(len(words)) if large else [], words if large else [], rotation=90, fontsize=15)
        axes.set_yticks(range(len(words)) if large else [], words if large else [], fontsize=15)
        if number == 0:
            axes.set(xlabel="… attends to this word", ylabel="This word …")
            ringed = [(pet, pet - 1) for pet in PETS]
        elif number == 1:
            ringed = [(QUESTION, RIGHT)]
            arrow = {"arrowstyle": "-|>", "color": RING["edgecolor"], "linewidth": 3.5, "mutation_scale": 25}
            axes.annotate("", (RIGHT + 0.5, QUESTION), (QUESTION, QUESTION), arrowprops=arrow)
        for row, column in ringed if large else ():
            axes.add_patch(matplotlib.patches.Circle((column, row), 0.55, **RING))
            text = f"{weights[layer, head, row, column]:.2f}".removeprefix("0")
            axes.text(column, row, text, ha="center", va="center", fontsize=12)
    bar = figure.colorbar(image, ax=figure.axes, location="bottom", shrink=0.6, aspect=30)
    bar.set_label("Attention weight", fontsize=16)
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
    draw_diagram()
    draw_heads(cache)
    draw_losses(cache)
