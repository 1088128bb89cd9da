"""The edits of main.py, read from the experiments.md in which they stand, and applied.

Each has a fold under "## The edits", `<details><summary>A: its name</summary>`, with one block of diff: lines
with "-" go, with "+" come, with a space stay, and "@@" starts another place. An edit with a number to choose
has the word NUMBER in its place; "B 4.0" is the edit B with 4.0 there, "A+E" the edit A and then E.
"""

import functools
import importlib.util
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {1: "1_counting-letters", 2: "2_difference", 3: "3_signal"}

FOLD = re.compile(r"^<details><summary>([^:<]+): .*?</summary>\n(.*?)^</details>$", re.MULTILINE | re.DOTALL)
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script(task):
    """Return the path of a task's main.py, a pathlib.Path."""
    return ROOT / FOLDERS[task] / "main.py"


def read(task):
    """Return the edits of a task's experiments.md, a dict from their letter or name to their diff, a str."""
    page = script(task).with_name("experiments.md").read_text(encoding="utf-8")
    _, _, section = page.partition("\n## The edits\n")
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    found = {}
    for name, inside in FOLD.findall(section):
        diffs = DIFF.findall(inside)
        if name in found or len(diffs) != 1:
            raise ValueError(f"Task {task}, edit {name}: it stands there twice, or not with one diff")
        found[name] = diffs[0]
    return found


def apply(source, diff):
    """Return source with the changes of a diff, both str.

    Raises ValueError unless the old lines of each place occur exactly once.
    """
    for place in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        if not place:
            continue  # Before the first @@.
        lines = [line or " " for line in place.splitlines()]  # An empty line is one that stays.
        if not all(line.startswith((" ", "-", "+")) for line in lines):
            raise ValueError(f"a line neither stays, goes nor comes:\n{place}")
        old = "".join(f"\n{line[1:]}" for line in lines if line[0] in " -") + "\n"
        new = "".join(f"\n{line[1:]}" for line in lines if line[0] in " +") + "\n"
        if source.count(old) != 1:
            raise ValueError(f"found {source.count(old)} times:{old}")
        source = source.replace(old, new)
    return source


def program(task, edit=None):
    """Return the source of a task's main.py, a str, with an edit applied, such as "A", "B 4.0" or "A+E"."""
    source = script(task).read_text(encoding="utf-8")
    for part in edit.split("+") if edit else []:
        name, _, number = part.partition(" ")
        diff = read(task)[name]
        if ("NUMBER" in diff) != bool(number):
            raise ValueError(f"Task {task}, edit {part}: a number is missing, or there is no place for it")
        source = apply(source, diff.replace("NUMBER", number))
    return source


def settings(module, *flags):
    """Return the settings of a model that a program, a module, trains with these flags, a dict."""
    arguments = vars(module.parse_arguments(["--train", *flags]))
    given = {name: arguments[name] for name in module.DEFAULTS if arguments[name] is not None}
    return module.DEFAULTS | given


@functools.cache
def load(path):
    """Return the program at this path as a module."""
    specification = importlib.util.spec_from_file_location(f"main_{path.parent.name}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
