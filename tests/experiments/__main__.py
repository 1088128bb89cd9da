"""Train the models behind the figures of the pages, measure them, and write the figures into results/.

    python -m tests.experiments
    python -m tests.experiments --task 1 --only A --seeds 1-2

Trained models are kept in models/, so a second call goes on where the first one stopped. Delete that folder
after a change of the programs. With --only, figures are printed and nothing is written.
"""

import argparse
import contextlib
import io
import sys

from . import edits, measuring, task_1, task_2, task_3, transformer

TASKS = {"1": task_1, "2": task_2, "3": task_3, "transformer": transformer}


def seeds(text):
    """Return the seeds from "21-30"."""
    first, last = map(int, text.split("-"))
    return range(first, last + 1)


def main():
    """Do it for one task, or for all."""
    parser = argparse.ArgumentParser("python -m tests.experiments", description=__doc__.split("\n")[0])
    parser.add_argument("--task", choices=TASKS, help="only this one (all)")
    parser.add_argument("--only", metavar="EDIT", help="only this edit of the task, such as A, G 1 or A+E")
    parser.add_argument("--flags", help='with --only: those of the training, as in --flags="--lr 0.01"')
    parser.add_argument("--seeds", type=seeds, default="1-10", help="with --only: these (%(default)s)")
    arguments = parser.parse_args()
    if arguments.only:
        if not arguments.task:
            parser.error("--only needs --task")
        report_edit(TASKS[arguments.task], arguments)
        return
    for task in [arguments.task] if arguments.task else TASKS:
        edits.train_all(TASKS[task].SETUPS)
        for name, report in TASKS[task].REPORTS.items():
            with contextlib.redirect_stdout(io.StringIO()) as text:
                report()
            print(f"\n## {name}\n{text.getvalue()}", flush=True)
            measuring.write(name, text.getvalue())


def report_edit(module, arguments):
    """Train one edit, as its row does or with these flags, and print what is right."""
    rows = [setup for setup, _ in module.SETUPS if setup.edit == arguments.only]
    setup = rows[0] if rows else module.setup(arguments.only)
    setup = setup if arguments.flags is None else setup._replace(flags=arguments.flags)
    edits.train_all([(setup, arguments.seeds)])
    label = f"{arguments.only} {setup.flags}".strip()
    title = f"Task {arguments.task}, seeds {arguments.seeds[0]} to {arguments.seeds[-1]}"
    module.compare_scores(title, {label: edits.models(setup, arguments.seeds)}, each=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
