"""What is the same in several programs, word for word, and what each of them needs."""

import ast
import difflib
import itertools
import math
import re
import sys

import program
import pytest

OF_ALL = ["positive_int", "save_figure", "save", "shown", "fail", ""]  # The last is how a program ends.
OF_TASKS = [*OF_ALL, "Attention", "train", "draw_losses", "draw_heatmap"]
# What a program calls its model, its task and its files.
OWN = r"AttentionModel|Transformer|checkpoint|transformer|Counting Letters|Difference|Signal"


def parts(task):
    """Return the functions and classes of a program, a dict from name to text, and its flags."""
    source = program.source(task)
    nodes = [node for node in ast.parse(source).body if hasattr(node, "name")]
    found = {node.name: re.sub(OWN, "", ast.get_source_segment(source, node)) for node in nodes}
    found[""] = source[source.rindex("\nif __name__") :]
    found["load"] = found["load"].partition("    try:")[2]  # Before it, each names its own variants.
    return found, set(re.findall(r'add_argument\(\s*"--(\w+)"', source))


def excused(lines, flags):
    """Return whether each line uses one of these flags, or stands deeper, as below `if args.clip:`."""
    depth = math.inf
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if flags.intersection(re.findall(r"\bargs\.(\w+)", line)):
            depth = indent
        elif indent <= depth:
            return False
    return True


def drift(one, other, flags):
    """Return the lines in which two texts differ, but for those with these flags and what they replace."""
    lines, found = (one.splitlines(), other.splitlines()), []
    for kind, *ends in difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        more, fewer = sorted((lines[0][slice(*ends[:2])], lines[1][slice(*ends[2:])]), key=len, reverse=True)
        replaced = excused(more, flags) or len(more) == len(fewer) and excused(fewer, flags)
        if kind != "equal" and not replaced:
            found += [line.strip() for line in more + fewer]
    return found


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(program.SCRIPTS, 2)])
def test_what_two_programs_have_in_common_is_the_same(one, other):
    """Lines may differ that use a flag which only one of them has, as in `if args.clip:`."""
    (functions, flags), (others, other_flags) = parts(one), parts(other)
    for name in [*(OF_ALL if other == "transformer" else OF_TASKS), "load"]:
        different = drift(functions[name], others[name], flags ^ other_flags)
        if different:
            what = f"{name or 'the end'} of {program.SCRIPTS[one]} and {program.SCRIPTS[other]} differ"
            pytest.fail("\n    ".join([f"{what}: change both", *different]), pytrace=False)


@pytest.mark.parametrize("task", program.SCRIPTS)
def test_a_file_needs_nothing_but_the_three_packages_as_its_metadata_say(task):
    source = program.source(task)
    imported = re.findall(r"^\s*(?:import|from) ([^\s.]+)", source, re.MULTILINE)
    assert set(imported) - sys.stdlib_module_names == {"matplotlib", "numpy", "tensorflow"}
    (block,) = re.findall(r"^# /// script\n((?:# .+\n)+)# ///$", source, re.MULTILINE)
    lines = (program.ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    required = [line for line in lines if "#" not in line and ";" not in line]  # uv needs no such line.
    assert sorted(re.findall('"([a-z]+[^"]*)"', block)) == sorted(required)
    assert 'requires-python = ">=3.9,<3.15"' in block  # Without an upper end, uv takes the newest.
