"""What is the same in several programs, and what each of them needs."""

import ast
import re
import sys

import program
import pytest

every_program = pytest.mark.parametrize("task", program.SCRIPTS)
DEFINITION = ast.FunctionDef | ast.ClassDef
DIFFERENT = {"Task", "AttentionModel", "main"}  # The lesson, and which picture of the loss is whose.


def definitions(task):
    """Return a dict from the name of each function and class of a program to its source, without comments."""
    nodes = ast.parse(program.source(task)).body
    return {node.name: ast.unparse(node) for node in nodes if isinstance(node, DEFINITION)}


def flags_of(task):
    """Return the flags of a program as its code names them."""
    return set(re.findall(r"^  --(\w+)", program.in_process(task, "--help").stdout, re.MULTILINE))


def test_what_knows_no_flag_of_its_task_is_the_same_in_the_three_lessons():
    """So what is tested in one file holds in all."""
    lessons, flags = ([read(task) for task in program.FOLDERS] for read in (definitions, flags_of))
    own = set.union(*flags) - set.intersection(*flags)
    names = set.intersection(*map(set, lessons)) - DIFFERENT
    assert len(names) > 10 and "Attention" in names
    for name in names:
        copies = {lesson[name] for lesson in lessons}
        assert len({copy for copy in copies if not own & set(re.findall(r"\w+", copy))}) < 2, name


def test_what_stands_beside_functions_and_classes_is_the_same():
    """From the end of the flags: what a host or a missing package meets is tested in one file, too."""
    blocks = set()
    for task in program.FOLDERS:
        nodes = [node for node in ast.parse(program.source(task)).body if not isinstance(node, DEFINITION)]
        start = [isinstance(node, ast.If) for node in nodes].index(True)
        blocks.add(tuple(map(ast.unparse, nodes[start:])))
    (block,) = blocks
    assert len(block) > 10


def test_the_transformer_has_the_copies_that_it_needs_before_it_can_import():
    """Two types of flags, how a path is printed, saving, loading: up to the names of file and model."""
    lesson, copies = set(definitions(3).values()), 0
    for copy in definitions("transformer").values():
        copy = copy.replace("lesson_3.", "").replace("transformer.py", "main.py")
        copies += copy.replace("Transformer(", "AttentionModel(") in lesson
    assert copies >= 5


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
