"""The models of the page to play with: checkpoints of seed 1, as base64, one on each line of play.html."""

import base64
import json
import re

from . import lesson_1, lesson_2, lesson_3, programs, trainings

PAGE = programs.script(1).with_name("play.html")
PLACE = re.compile(r'(?<=<script type="application/json" id="checkpoints">\n).*?(?=\n</script>)', re.DOTALL)
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
    files = {name: cache.checkpoint(setup, 1) for name, setup in MODELS.items()}
    coded = {name: base64.b64encode(file.read_bytes()).decode() for name, file in files.items()}
    page, places = PLACE.subn(json.dumps(coded, indent=0), PAGE.read_text(encoding="utf-8"))
    if places != 1:
        raise ValueError(f"{PAGE} has {places} places for the models, not one")
    PAGE.write_text(page, encoding="utf-8")
