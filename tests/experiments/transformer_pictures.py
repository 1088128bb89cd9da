"""The pictures of the last page: what trained heads attend to, and the loss with its cliffs."""

import matplotlib.patches
import matplotlib.pyplot as pyplot
import numpy as np

from . import pictures, transformer

TEXT = "Anna dog Ben cat Cleo owl Dan hen Ben"
SHOWN_SEED, LOSS_SEEDS = 1, range(1, 7)
RING = {"fill": False, "edgecolor": "#ff5050", "linewidth": 3.5}


def heads_of(cache):
    """Return the weights of the shown model on TEXT, float (layers, heads, words, words)."""
    known = transformer.program().vocabulary(4)
    (model,) = cache.models(transformer.AS_IT_IS, [SHOWN_SEED])
    _, weights = model(np.array([[known.index(word) for word in TEXT.split()]]))
    return np.array(weights)[:, 0]


def draw_heads(cache):
    """Draw all heads of one model, a column for each layer, and in them the two looks for one answer."""
    words, weights = TEXT.split(), heads_of(cache)
    pets, question = np.arange(1, 8, 2), len(words) - 1
    right = words.index(words[-1]) + 1
    figure, planes = pyplot.subplots(4, 2, figsize=(10, 19.4), layout="constrained")
    first = weights[0][:, pets, pets - 1].mean(axis=1).argmax()
    second = weights[1][:, question, right].argmax()
    for layer, head in np.ndindex(2, 4):
        axes = planes[head, layer]
        image = axes.imshow(weights[layer, head], vmin=0, vmax=1, cmap="viridis")
        axes.set_title(f"Layer {layer + 1}, head {head + 1}", fontsize=17)
        axes.set_xticks(range(len(words)), words, rotation=90, fontsize=15)
        axes.set_yticks(range(len(words)), words if layer == 0 else [], fontsize=15)
        if layer == 0 and head == first:
            for pet in pets:
                axes.add_patch(matplotlib.patches.Circle((pet - 1, pet), 0.55, **RING))
        if layer == 1 and head == second:
            axes.add_patch(matplotlib.patches.Circle((right, question), 0.55, **RING))
            arrow = {"arrowstyle": "-|>", "color": RING["edgecolor"], "linewidth": 3.5, "mutation_scale": 25}
            axes.annotate("", (right + 0.5, question), (question, question), arrowprops=arrow)
    planes[3, 0].set_xlabel("… attends to this word", fontsize=16)
    planes[0, 0].set_ylabel("This word …", fontsize=16)
    bar = figure.colorbar(image, ax=planes, location="bottom", shrink=0.6, aspect=30)
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
    """Draw both, with the models of a trainings.ModelCache."""
    draw_heads(cache)
    draw_losses(cache)
