"""The models of the page to play with: checkpoints of seed 1, from which the page is built."""

import runpy

import numpy as np

from . import formula, lesson_1, lesson_2, lesson_3, programs, trainings

FOLDER = programs.BEYOND / "play"
MODELS = {  # The page has a title and a task for each of these names.
    "counting": lesson_1.setup(),
    "counting_equal": lesson_1.setup("A"),
    "counting_fixed": lesson_1.setup("B"),
    "difference": lesson_2.PLAIN,
    "difference_self_att": lesson_2.ASKING,
    "signal": lesson_3.PLAIN,
    "signal_pos_enc": lesson_3.POSITIONS,
    "signal_no_encoder": lesson_3.LOOKING,
    "transformer": trainings.Setup("transformer", None, ""),
}


def weights(name, inputs):
    """Return the attention weights of a model, one of MODELS, by the formula.

    Args:
        inputs: one-hot letters, float (length, letters), or for the transformer the places of words, int.

    Returns:
        A dict from the name of an attention to its weights, float64 (queries, keys), of a transformer
        (heads, queries, keys).
    """
    arrays, description = programs.read(FOLDER / "checkpoints" / f"{name}.npz")
    model = formula.Model(arrays)
    if name == "transformer":
        model.transformer(description["settings"], inputs)
        return {name: np.array(heads) for name, heads in model.weights.items()}
    model.lesson(inputs)
    return {name: one for name, (one,) in model.weights.items()}


def embed(cache):
    """Put the models into the page in place of those that are there; train what is missing."""
    cache.train([(setup, [1]) for setup in MODELS.values()])
    for name, setup in MODELS.items():
        checkpoint = cache.checkpoint(setup, 1).read_bytes()
        (FOLDER / "checkpoints" / f"{name}.npz").write_bytes(checkpoint)
    runpy.run_path(str(FOLDER / "build.py"), run_name="__main__")
