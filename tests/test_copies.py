"""What is the same in several programs, word for word, and what each of them needs."""

import ast
import itertools
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


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(program.SCRIPTS, 2)])
def test_what_two_programs_have_in_common_is_the_same(one, other):
    """A function may differ if it uses a flag that only one of them has."""
    (functions, flags), (others, other_flags) = parts(one), parts(other)
    for name in [*(OF_ALL if other == "transformer" else OF_TASKS), "load"]:
        used = set(re.findall(r"args\.(\w+)", functions[name] + others[name]))
        if functions[name] != others[name] and not used & (flags ^ other_flags):
            files = f"{program.SCRIPTS[one]} and {program.SCRIPTS[other]}"
            what = f"{name}()" if name else "the last lines"
            pytest.fail(f"{what} of {files} differ: make the same change in both", pytrace=False)


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
