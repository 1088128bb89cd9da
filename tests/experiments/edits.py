"""The edits of the programs, read from the experiments.md in which they stand, and applied.

Those of main.py stand under "## The edits", those of another program under "## The edits of transformer.py".
Each has a fold, `<details><summary>A: its name</summary>`, with one block of diff: lines with "-" go, with
"+" come, with a space stay, and "@@" starts another place. An edit with a number to choose has the word
NUMBER in its place; "B 4.0" is the edit B with 4.0 there, "A+E" the edit A and then E.
"""

import functools
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {1: "1_counting-letters", 2: "2_difference", 3: "3_signal"}
PROGRAMS = {task: f"{folder}/main.py" for task, folder in FOLDERS.items()}
PROGRAMS["transformer"] = "3_signal/transformer.py"

FOLD = re.compile(r"^<details><summary>([^:<]+): .*?</summary>\n(.*?)^</details>$", re.MULTILINE | re.DOTALL)
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script(task):
    """Return the path of a program, a pathlib.Path; task is one of PROGRAMS."""
    return ROOT / PROGRAMS[task]


def read(task):
    """Return the edits of a program in its experiments.md, a dict from their letter or name to their diff."""
    path = script(task)
    page = path.with_name("experiments.md").read_text(encoding="utf-8")
    heading = "The edits" if path.name == "main.py" else f"The edits of {path.name}"
    _, _, section = page.partition(f"\n## {heading}\n")
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    diffs = {}
    for name, inside in FOLD.findall(section):
        blocks = DIFF.findall(inside)
        if name in diffs or len(blocks) != 1:
            raise ValueError(f"Task {task}, edit {name}: it stands there twice, or not with one diff")
        diffs[name] = blocks[0]
    return diffs


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
    """Return the source of a program, a str, with an edit applied, such as "A", "B 4.0" or "A+E"."""
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
    """Return the program at this path as a module; what it imports from beside it is found there."""
    specification = importlib.util.spec_from_file_location(f"{path.stem} of {path.parent.name}", path)
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(path.parent))
    sys.modules.pop("main", None)  # That of another folder.
    try:
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
