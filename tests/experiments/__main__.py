"""Train the models behind the figures of the pages, measure them, and write the figures into results/.

    python -m experiments
    python -m experiments --task 1 --only A --seeds 1-2

Trained models are kept in models/, so a second call goes on where the first one stopped. Delete that folder
after a change of the programs. With --only, figures are printed and nothing is written.
"""

import argparse
import contextlib
import io
import sys

from . import edits, last_chapter, measuring, task_1, task_2, task_3, transformer

TASKS = {"1": task_1, "2": task_2, "3": task_3, "transformer": transformer, "last_chapter": last_chapter}


def seeds(text):
    """Return the seeds from "21-30"."""
    first, last = map(int, text.split("-"))
    return range(first, last + 1)


def main():
    """Do it for one task, or for all."""
    parser = argparse.ArgumentParser("python -m experiments", description=__doc__.split("\n")[0])
    parser.add_argument("--task", choices=TASKS, help="only this one (all)")
    parser.add_argument("--only", metavar="EDIT", help="only this edit of the task, such as A, G 1 or A+F")
    parser.add_argument("--seeds", type=seeds, default="1-10", help="with --only: these (%(default)s)")
    arguments = parser.parse_args()
    if arguments.only:
        if arguments.task in (None, "last_chapter"):
            parser.error("--only needs the --task of its program")
        module = TASKS[arguments.task]
        rows = [setup for setup, _ in module.SETUPS if setup.edit == arguments.only]
        row = {arguments.only: ((rows or [module.setup(arguments.only)])[0], arguments.seeds)}
        edits.train_all(row.values())
        title, forms = f"Task {arguments.task}", ["%"] * len(module.MEASURES)
        measuring.compare(
            title, ["", *module.MEASURES], edits.groups(row), module.accuracy, *forms, each=True
        )
        return
    for task in [arguments.task] if arguments.task else TASKS:
        edits.train_all(TASKS[task].SETUPS)
        for name, report in TASKS[task].REPORTS.items():
            with contextlib.redirect_stdout(io.StringIO()) as text:
                report()
            print(f"\n## {name}\n{text.getvalue()}", flush=True)
            measuring.write(name, text.getvalue())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
