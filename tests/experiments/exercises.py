"""Runs the commands in the answers of a lesson's exercises, as they stand there, with ten trainings each."""

import collections
import contextlib
import io
import re
import shlex

from . import edits, lesson_1, lesson_2, lesson_3, measuring

SEEDS = range(1, 11)
COMMAND = re.compile(r"`python3\s+main\.py\s+(--test\s[^`]+)`")
# What a reader trains for the exercises of a lesson, by the folder that --savepath names.
TRAINED = {
    1: {"models/": lesson_1.run(), "models/sure": lesson_1.run("B 100.0"), "models/sum": lesson_1.run("C")},
    2: {"models/plain": lesson_2.PLAIN, "models/self": lesson_2.ASKING, "models/even": lesson_2.run("B"),
        "models/plain4000": lesson_2.LONGER["plain, 4000"][0],
        "models/self4000": lesson_2.LONGER["`--self_att`, 4000"][0]},
    3: {"models/plain": lesson_3.PLAIN, "models/pos": lesson_3.MARKED,
        "models/start": lesson_3.BEFORE[lesson_3.MARKED]},
}  # fmt: skip


def commands(task):
    """Return the flags of the commands in the exercises of a lesson, a list of str."""
    page = edits.script(task).with_name("README.md").read_text(encoding="utf-8")
    exercises = page.partition("\n## Exercises\n")[2].partition("\n## ")[0]
    return [re.sub(r"\s*\n\s*", " ", command) for command in COMMAND.findall(exercises)]


def asked(task, words):
    """Return the trainings.Run whose models a command asks; words are its flags, a list of str."""
    folder = words[words.index("--savepath") + 1] if "--savepath" in words else "models/"
    return TRAINED[task][folder]


def report(task, trained):
    """Print what ten trainings, of a trainings.Trainings, answer to each command of a lesson's exercises."""
    for command in commands(task):
        words, texts = shlex.split(command), []
        whose = asked(task, words)
        for seed in trained.chosen(SEEDS):
            with contextlib.redirect_stdout(io.StringIO()) as output:
                paths = [f"--{name}={trained.savepath(whose, seed)}" for name in ("savepath", "plotpath")]
                trained.module(task, whose.edit).main([*words, "--seed", "1", *paths])
            texts.append(output.getvalue())
        print(f"\n### `python3 main.py {command}`\n")
        if "--input" in words:
            answers = collections.Counter(re.findall(r"Prediction: \n\[(.+)\]\n", "".join(texts)))
            counted = (f"`[{answer}]` {number} of {len(texts)}" for answer, number in answers.most_common())
            print(", ".join(counted))
        right = [float(share) / 100 for share in re.findall(r"([\d.]+)% of seq", "".join(texts))]
        print(f"sequences right at this length: {measuring.percent(right)}", flush=True)
