"""The models of the page to play with: checkpoints of seed 1, from which the page is built.

python -m experiments.play        (trains what is missing and puts all into the page)
"""

import runpy

import formula
import numpy as np

from . import edits, programs, task_1, task_2, task_3, transformer

FOLDER = programs.BEYOND / "play"
MODELS = {  # The page has a title and a task for each of these names.
    "counting": task_1.setup(),
    "counting_equal": task_1.setup("A"),
    "counting_fixed": task_1.setup("B 100"),
    "difference": task_2.PLAIN,
    "difference_self_att": task_2.ASKING,
    "signal": task_3.PLAIN,
    "signal_pos_enc": task_3.POSITIONS,
    "signal_no_encoder": task_3.LOOKING,
    "transformer": transformer.AS_IT_IS,
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


def embed():
    """Put the models into the page in place of those that are there; train what is missing."""
    edits.train_all([(setup, [1]) for setup in MODELS.values()])
    for name, setup in MODELS.items():
        (checkpoint,) = edits.folder(setup, 1).glob("*.npz")
        (FOLDER / "checkpoints" / f"{name}.npz").write_bytes(checkpoint.read_bytes())
    runpy.run_path(str(FOLDER / "build.py"), run_name="__main__")


if __name__ == "__main__":
    embed()
