"""Runs the commands in the answers of a lesson's exercises, as they stand there, with ten models each."""

import collections
import contextlib
import io
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


def setup_of(task, words):
    """Return the trainings.Setup whose models a command tests; words are its flags, a list of str."""
    return TRAINED[task]["".join(word for word in words if word in TRAINED[task])]


def report(task, cache):
    """Print what ten models, of a trainings.ModelCache, answer to each command of a lesson's exercises."""
    rows = []
    for command in commands(task):
        words, outputs = shlex.split(command), []
        setup = setup_of(task, words)
        for seed in cache.chosen(SEEDS):
            with contextlib.redirect_stdout(io.StringIO()) as output:
                paths = [f"--{name}={cache.savepath(setup, seed)}" for name in ("savepath", "plotpath")]
                cache.module(task, setup.edit).main([*words, "--seed", "1", *paths])
            outputs.append(output.getvalue())
        predictions = re.findall(r"Prediction: \n\[(.+)\]\n", "".join(outputs)) if "--input" in words else []
        counted = collections.Counter(predictions).most_common()
        answers = ", ".join(f"`[{answer}]` {number} of {len(outputs)}" for answer, number in counted)
        right = [float(share) / 100 for share in re.findall(r"([\d.]+)% of seq", "".join(outputs))]
        rows.append([f"`python3 main.py {command}`", answers, measuring.percent(right)])
    measuring.table("The exercises", ["", "answers", "right at this length"], rows)
