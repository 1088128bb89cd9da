"""What ten models answer to the commands in the answers of a lesson's exercises, as they stand there."""

import collections
import re
import shlex

from . import lesson_1, lesson_2, lesson_3, measuring, programs

SEEDS = range(1, 11)
COMMAND = re.compile(r"`python3\s+main\.py\s+(--test\b[^`]*)`")
# What a reader has trained, by the flag of the variant.
TRAINED = {
    1: {"": lesson_1.setup()},
    2: {"": lesson_2.PLAIN, "--self_att": lesson_2.ASKING},
    3: {"": lesson_3.PLAIN, "--pos_enc": lesson_3.POSITIONS},
}


def commands(task):
    """Return the flags of the commands in the answers of a lesson, which stand in its text, a list of str."""
    page = programs.script(task).with_name("README.md").read_text(encoding="utf-8")
    return [re.sub(r"\s*\n\s*", " ", command) for command in COMMAND.findall(page)]


def asked(task, command):
    """Return the trainings.Setup whose models a command tests, and the --input that it gives them, a str."""
    words = shlex.split(command)
    variant = "".join(word for word in words if word in TRAINED[task])
    return TRAINED[task][variant], words[words.index("--input") + 1]


def report(task, cache):
    """Print what ten models, of a trainings.ModelCache, answer to each command of a lesson's exercises."""
    rows = []
    for command in commands(task):
        setup, text = asked(task, command)
        inputs, models = measuring.spell(task, text).inputs, cache.models(setup, SEEDS)
        said = [str(measuring.logits_of(model, inputs).argmax(axis=-1)) for model in models]
        counted = collections.Counter(said).most_common()
        answers = ", ".join(f"`{answer}` {number} of {len(said)}" for answer, number in counted)
        rows.append([f"`python3 main.py {command}`", answers])
    measuring.table("The exercises", ["", "answers"], rows)
