"""Train what the lessons ask for, measure it, and write the figures into results/.

    python -m tests.experiments
    python -m tests.experiments --lesson 1 --only A --seeds 1-2

All figures of the pages are in results/, each in a row with the label that the page uses; a file names the
machine that it comes from. With --seeds or --only, figures are printed and nothing is written. Trained models
are kept: a second call goes on where the first one stopped.
"""

import argparse
import contextlib
import io
import pathlib
import sys

from . import (
    edits,
    exercises,
    film,
    lesson_1,
    lesson_2,
    lesson_2_expected,
    lesson_3,
    lesson_3_layers,
    pictures,
    play,
    results,
    trainings,
    transformer,
)

MODELS = pathlib.Path(__file__).with_name("models")
LESSONS = {
    "1": lesson_1,
    "2": lesson_2,
    "2_expected": lesson_2_expected,
    "3": lesson_3,
    "3_layers": lesson_3_layers,
    "3_transformer": transformer,
}


def seeds(text):
    """Return the seeds from "21-30", a list of int."""
    first, last = map(int, text.split("-"))
    return list(range(first, last + 1))


def main(argv=None):
    """Do it for one lesson, or for all; argv is a list of flags."""
    parser = argparse.ArgumentParser("python -m tests.experiments", description=__doc__.split("\n")[0])
    parser.add_argument("--lesson", choices=LESSONS, help="only this one (all)")
    parser.add_argument(
        "--only", metavar="EDIT", help="only this edit of the lesson, such as A or G 1 or A+E"
    )
    parser.add_argument("--flags", help='with --only: those of the training, as in --flags="--lr 0.01"')
    parser.add_argument("--seeds", type=seeds, help="these in place of those of each row, as in 21-30")
    parser.add_argument("--pictures", action="store_true", help="also draw the pictures, fill play.html")
    arguments = parser.parse_args(argv)
    if arguments.only and not arguments.lesson:
        parser.error("--only needs --lesson")
    if arguments.pictures and (arguments.seeds or arguments.only):
        parser.error("the pictures are those of the pages: --pictures goes without --seeds and --only")
    names = [arguments.lesson] if arguments.lesson else list(LESSONS)
    cache = trainings.ModelCache(MODELS, arguments.seeds)
    try:
        if arguments.only:
            report_edit(LESSONS[arguments.lesson], arguments.only, arguments.flags, cache)
        else:
            report(names, cache, arguments)
    except (trainings.TrainingError, edits.EditError) as error:
        sys.exit(f"experiments: error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def report_edit(module, edit, flags, cache):
    """Train one edit, as its row does or with these flags, and print what is right."""
    rows = [(setup, seeds) for setup, seeds in module.SETUPS if setup.edit == edit]
    setup, seeds = rows[0] if rows else (module.setup(edit), module.TEN)
    setup = setup if flags is None else setup._replace(flags=flags)
    cache.train([(setup, seeds)])
    label = f"{edit} {setup.flags}".strip()
    module.compare_scores(f"Lesson {setup.task}", {label: cache.models(setup, seeds)}, each=True)


def report(names, cache, arguments):
    """Train, measure, write and draw for the lessons with these names."""
    cache.train([row for name in names for row in LESSONS[name].SETUPS])
    for name in names:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            LESSONS[name].report(cache)
            if name in ("1", "2", "3"):
                exercises.report(int(name), cache)
        print(f"\n## Lesson {name}\n{text.getvalue()}", flush=True)
        if not arguments.seeds:
            results.write(f"lesson_{name}", text.getvalue())
    if arguments.pictures:
        play.embed(cache)
        pictures.draw(names, cache)
        film.draw()


if __name__ == "__main__":
    main()
