"""What is the same in several programs, word for word, and what each of them needs."""

import ast
import re
import sys

import program
import pytest

every_program = pytest.mark.parametrize("task", program.SCRIPTS)
OF_ALL = {"positive_int", "save_figure", "shown", "fail"}
OF_TASKS = OF_ALL | {"Attention", "train", "draw_losses", "draw_heatmap"}


def parts(task):
    """Return the functions and classes of a program, a dict from name to text."""
    source = program.source(task)
    nodes = [node for node in ast.parse(source).body if hasattr(node, "name")]
    return {node.name: ast.get_source_segment(source, node) for node in nodes}


def test_what_the_programs_have_in_common_is_the_same():
    one, two, three, transformer = map(parts, program.SCRIPTS)
    for name in OF_TASKS:
        assert one[name] == two[name] == three[name], name
    for name in OF_ALL:
        assert one[name] == transformer[name], name
    for name, text in (("save", one["save"]), ("load", one["load"].replace("AttentionModel", "Transformer"))):
        others = [re.sub(r'"task": "[\w ]+"', "", each) for each in (text, transformer[name])]
        assert others[0].replace("checkpoint", "") == others[1].replace("transformer", ""), name
    for other in (two, three):
        assert one["save"].replace("Counting Letters", "") == re.sub("Difference|Signal", "", other["save"])
        assert one["load"].partition("    try:")[2] == other["load"].partition("    try:")[2]


@every_program
def test_a_file_imports_nothing_but_the_three_packages(task):
    tree = ast.parse(program.source(task))
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    modules += [name.name for node in imports for name in node.names]
    packages = {module.split(".")[0] for module in modules}
    assert packages - sys.stdlib_module_names == {"matplotlib", "numpy", "tensorflow"}


@every_program
def test_the_script_metadata_are_the_requirements(task):
    tomllib = pytest.importorskip("tomllib")
    (block,) = re.findall(r"^# /// script\n((?:# .+\n)+)# ///$", program.source(task), re.MULTILINE)
    metadata = tomllib.loads(re.sub("^# ", "", block, flags=re.MULTILINE))
    lines = (program.ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    required = [line for line in lines if "#" not in line and ";" not in line]  # uv needs no such line.
    assert sorted(metadata["dependencies"]) == sorted(required)
    assert metadata["requires-python"] == ">=3.9,<3.15"  # Without an upper end, uv takes the newest.
