"""The models of the page to play with: checkpoints of seed 1, from which the page is built."""

import runpy

from . import lesson_1, lesson_2, lesson_3, programs, trainings

FOLDER = programs.script(1).with_name("play")
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


def embed(cache):
    """Put the models into the page in place of those that are there; train what is missing."""
    cache.train([(setup, [1]) for setup in MODELS.values()])
    for name, setup in MODELS.items():
        checkpoint = cache.checkpoint(setup, 1).read_bytes()
        (FOLDER / "checkpoints" / f"{name}.npz").write_bytes(checkpoint)
    runpy.run_path(str(FOLDER / "build.py"), run_name="__main__")
