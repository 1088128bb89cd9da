"""Train what the lessons ask for, print their tables and draw their pictures.

    python -m tests.experiments --lesson 1 --cache FOLDER
    python -m tests.experiments --pictures

Everything that stands as "median (least to most)" in an experiments.md is in what this prints. Models that
are trained are kept: after a failure, a second call goes on where the first one stopped.
"""

import argparse
import pathlib
import sys

from . import by_hand, exercises, lesson_1, lesson_2, lesson_3, pictures, play, trainings

MODELS = pathlib.Path(__file__).with_name("models")
LESSONS = {1: lesson_1, 2: lesson_2, 3: lesson_3}


def seeds(text):
    """Return the seeds from "21-30", a list of int."""
    first, last = map(int, text.split("-"))
    return list(range(first, last + 1))


def main():
    """Do it for one lesson, or for all."""
    parser = argparse.ArgumentParser("python -m tests.experiments", description=__doc__.split("\n")[0])
    parser.add_argument("--lesson", type=int, choices=LESSONS, help="only this one (all)")
    parser.add_argument("--cache", default=MODELS, help="a folder that keeps the models (models/)")
    parser.add_argument("--seeds", type=seeds, help="these in place of those of each training, as in 21-30")
    parser.add_argument("--train", action="store_true", help="only train what is missing; print nothing")
    parser.add_argument("--pictures", action="store_true", help="also draw the pictures, fill play.html")
    arguments = parser.parse_args()
    if arguments.seeds and arguments.pictures:
        parser.error("the pictures are those of the seeds of the pages: --pictures goes without --seeds")
    numbers = [arguments.lesson] if arguments.lesson else list(LESSONS)
    try:
        report(numbers, trainings.Trainings(arguments.cache, arguments.seeds), arguments)
    except trainings.TrainingError as error:
        sys.exit(f"experiments: error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def report(numbers, trained, arguments):
    """Train, print and draw for the lessons with these numbers."""
    runs = [run for number in numbers for run in LESSONS[number].RUNS]
    trained.train(runs)
    if arguments.train:
        return
    for number in numbers:
        print(f"\n## Lesson {number}", flush=True)
        LESSONS[number].report(trained)
        exercises.report(number, trained)
        if arguments.pictures:
            pictures.draw(number, trained)
    if arguments.pictures:
        by_hand.draw()
        play.embed(trained)


if __name__ == "__main__":
    main()
