"""What the three files share is written out in each, word for word the same."""

import ast
import re

import program
import pytest

SHARED = [
    "Attention",
    "accuracy",
    "between",
    "compile_steps",
    "draw_heatmap",
    "draw_losses",
    "fail",
    "load_model",
    "main",
    "named_weights",
    "noted_signals",
    "parse_arguments",
    "plot",
    "printable",
    "run",
    "save_model",
    "shown",
    "train",
    "write_file",
]


def definitions(task):
    """Return a dict from the name of each top-level function and class of a main.py to its source."""
    source = program.script(task).read_text(encoding="utf-8")
    kinds = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in ast.parse(source).body if isinstance(node, kinds)]
    return {node.name: ast.get_source_segment(source, node) for node in nodes}


@pytest.mark.parametrize("name", SHARED)
def test_copies_are_the_same(name):
    first, second, third = (definitions(task)[name] for task in program.FOLDERS)
    assert first == second == third


def test_everything_that_can_be_shared_is_named():
    """A definition whose copies are the same in all three files is in the list above, and no other is."""
    first, second, third = (definitions(task) for task in program.FOLDERS)
    same = [name for name in first if first[name] == second.get(name) == third.get(name)]
    assert sorted(same) == sorted(SHARED)


def test_a_file_imports_nothing_but_the_three_packages():
    for task in program.FOLDERS:
        tree = ast.parse(program.script(task).read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
        packages = {name.name.split(".")[0] for node in imports for name in node.names}
        outside = packages - program.sys.stdlib_module_names
        assert outside == {"matplotlib", "numpy", "tensorflow"}
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def test_everything_public_has_a_docstring():
    for task in program.FOLDERS:
        tree = ast.parse(program.script(task).read_text(encoding="utf-8"))
        assert ast.get_docstring(tree)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert ast.get_docstring(node), node.name


@pytest.mark.parametrize("task", program.FOLDERS)
def test_the_script_metadata_are_the_requirements(task):
    tomllib = pytest.importorskip("tomllib")
    source = program.script(task).read_text(encoding="utf-8")
    (block,) = re.findall(r"^# /// script\n((?:# .+\n)+)# ///$", source, re.MULTILINE)
    metadata = tomllib.loads(re.sub("^# ", "", block, flags=re.MULTILINE))
    lines = (program.ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    required = [line for line in lines if line and not line.startswith(("#", "--"))]
    assert sorted(metadata["dependencies"]) == sorted(required)
    assert metadata["requires-python"] == ">=3.10"


def test_the_data_come_early():
    """Whoever opens the first lesson is soon at what it is about."""
    lines = program.script(1).read_text(encoding="utf-8").splitlines()
    assert lines.index("class Task:") + 1 < 125
