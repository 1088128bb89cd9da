"""Train what the lessons ask for, print their tables and draw their pictures.

    python -m tests.experiments --lesson 1 --all --cache FOLDER
    python -m tests.experiments --pictures

Everything that stands as "mean (least to most)" in an experiments.md is in what this prints.
"""

import argparse
import importlib
import pathlib
import sys
import tempfile

from . import trainings


def seeds(text):
    """Return the seeds from "21-30", a list of int."""
    first, last = map(int, text.split("-"))
    return list(range(first, last + 1))


def main():
    """Do it for one lesson, or for all."""
    parser = argparse.ArgumentParser("python -m tests.experiments", description=__doc__.split("\n")[0])
    parser.add_argument("--lesson", type=int, choices=(1, 2, 3), help="only this one (all)")
    parser.add_argument("--all", action="store_true", help="also what is not in the main tables")
    parser.add_argument("--cache", type=pathlib.Path, help="a folder that keeps the models (a temporary one)")
    parser.add_argument("--seeds", type=seeds, help="these in place of those of each training, as in 21-30")
    parser.add_argument("--pictures", action="store_true", help="also draw the pictures of the pages")
    arguments = parser.parse_args()
    if arguments.seeds and arguments.pictures:
        parser.error("the pictures are those of the seeds of the pages: --pictures goes without --seeds")
    numbers = [arguments.lesson] if arguments.lesson else [1, 2, 3]
    with tempfile.TemporaryDirectory(prefix="experiments-") as temporary:
        try:
            report(numbers, trainings.Trainings(arguments.cache or temporary, arguments.seeds), arguments)
        except trainings.TrainingError as error:
            sys.exit(f"experiments: error: {error}")
        except KeyboardInterrupt:
            sys.exit(130)


def report(numbers, trained, arguments):
    """Train, print and draw for the lessons with these numbers."""
    lessons = {number: importlib.import_module(f".lesson_{number}", __package__) for number in numbers}
    runs = [run for lesson in lessons.values() for run in lesson.RUNS]
    if arguments.all:
        runs += [run for lesson in lessons.values() for run in lesson.MORE]
    trained.train(runs)
    for number, lesson in lessons.items():
        print(f"\n## Lesson {number}", flush=True)
        lesson.report(trained, everything=arguments.all)
    if arguments.pictures:
        by_hand, pictures = (
            importlib.import_module(f".{name}", __package__) for name in ("by_hand", "pictures")
        )
        by_hand.draw()
        for number in numbers:
            pictures.draw(number, trained)


if __name__ == "__main__":
    main()
