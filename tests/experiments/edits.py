"""The edits of the programs, read from the experiments_1.md to _3.md in which they stand, and applied.

Those of main.py stand under "## The edits", those of another program under "## The edits of transformer.py".
Each has a fold, `<details><summary>A: its name</summary>`, with one block of diff: lines with "-" go, with
"+" come, with a space stay, and "@@" starts another place. An edit with a number to choose has the word
NUMBER in its place; "G 1" is the edit G with 1 there, "A+E" the edit A and then E.
"""

import re

from . import programs

FOLD = re.compile(r"^<details><summary>([^:<]+): .*?</summary>\n(.*?)^</details>$", re.MULTILINE | re.DOTALL)
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class EditError(ValueError):
    """An edit that is not there, or does not fit; the text begins with one line that says so."""


def read(task):
    """Return the edits of a program on its page, a dict from their letter or name to their diff."""
    path = programs.script(task)
    lesson = 3 if task == "transformer" else task
    page = (programs.BEYOND / f"experiments_{lesson}.md").read_text(encoding="utf-8")
    heading = "The edits" if path.name == "main.py" else f"The edits of {path.name}"
    _, _, section = page.partition(f"\n## {heading}\n")
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    diffs = {}
    for name, inside in FOLD.findall(section):
        blocks = DIFF.findall(inside)
        if name in diffs or len(blocks) != 1:
            raise EditError(f"Task {task}, edit {name}: it stands there twice, or not with one diff")
        diffs[name] = blocks[0]
    return diffs


def apply(source, diff):
    """Return source with the changes of a diff, both str.

    Raises EditError unless the old lines of each place occur exactly once.
    """
    for place in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        if not place:
            continue  # Before the first @@.
        lines = [line or " " for line in place.splitlines()]  # An empty line is one that stays.
        if not all(line.startswith((" ", "-", "+")) for line in lines):
            raise EditError(f"a line neither stays, goes nor comes:\n{place}")
        old = "".join(f"\n{line[1:]}" for line in lines if line[0] in " -") + "\n"
        new = "".join(f"\n{line[1:]}" for line in lines if line[0] in " +") + "\n"
        if source.count(old) != 1:
            raise EditError(f"found {source.count(old)} times:{old}")
        source = source.replace(old, new)
    return source


def program(task, edit=None):
    """Return the source of a program, a str, with an edit applied, such as "A", "G 1" or "A+E"."""
    source = programs.script(task).read_text(encoding="utf-8")
    for part in edit.split("+") if edit else []:
        name, _, number = part.partition(" ")
        diff = read(task).get(name)
        if diff is None:
            raise EditError(f"there is no edit {name} of {programs.SCRIPTS[task]} in its page of experiments")
        if ("NUMBER" in diff) != bool(number):
            raise EditError(f"edit {part} of Task {task}: a number is missing, or there is no place for it")
        try:
            source = apply(source, diff.replace("NUMBER", number))
        except EditError as error:
            raise EditError(f"edit {part} of {programs.SCRIPTS[task]}: {error}") from error
    return source
