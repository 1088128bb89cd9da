"""The models of the page to play with: checkpoints of seed 1, from which the page is built.

python -m experiments.play        (trains what is missing and puts all into the page)
"""

import runpy

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


def embed():
    """Put the models into the page in place of those that are there; train what is missing."""
    edits.train_all([(setup, [1]) for setup in MODELS.values()])
    for name, setup in MODELS.items():
        (checkpoint,) = edits.folder(setup, 1).glob("*.npz")
        (FOLDER / "checkpoints" / f"{name}.npz").write_bytes(checkpoint.read_bytes())
    runpy.run_path(str(FOLDER / "build.py"), run_name="__main__")


if __name__ == "__main__":
    embed()
