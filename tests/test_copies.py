"""What is the same in several programs, word for word, and what each of them needs."""

import ast
import re
import sys

import program
import pytest

OF_ALL = {"positive_int", "save_figure", "shown", "fail"}
OF_TASKS = OF_ALL | {"Attention", "train", "draw_losses", "draw_heatmap"}
# What a program calls its model, its task and its files.
OWN = r"AttentionModel|Transformer|checkpoint|transformer|Counting Letters|Difference|Signal"


def parts(task):
    """Return the functions and classes of a program, a dict from name to text, and what it ends with."""
    source = program.source(task)
    nodes = [node for node in ast.parse(source).body if hasattr(node, "name")]
    last = source[source.rindex("\nif __name__") :]
    return {"": last} | {node.name: ast.get_source_segment(source, node) for node in nodes}


def test_what_the_programs_have_in_common_is_the_same():
    one, *others = map(parts, program.SCRIPTS)
    for other in others:
        for name in ("", *(OF_TASKS if "Attention" in other and "Task" in other else OF_ALL)):
            assert one[name] == other[name], name
        assert re.sub(OWN, "", one["save"]) == re.sub(OWN, "", other["save"])
        reading = [re.sub(OWN, "", each["load"]).partition("    try:")[2] for each in (one, other)]
        assert reading[0] == reading[1]


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
