"""What is the same in several programs, and what each of them needs."""

import ast
import re
import sys

import program
import pytest

every_program = pytest.mark.parametrize("task", program.SCRIPTS)
DEFINITION = ast.FunctionDef | ast.ClassDef
DIFFERENT = {"Task", "AttentionModel", "main"}  # The lesson, and which picture of the loss is whose.


def parts(task):
    """Return the functions and classes of a program, a dict from name to source, and its other statements.

    These begin where the flags end; nothing has comments.
    """
    nodes = ast.parse(program.source(task)).body
    definitions = {node.name: ast.unparse(node) for node in nodes if isinstance(node, DEFINITION)}
    others = [node for node in nodes if not isinstance(node, DEFINITION)]
    start = [isinstance(node, ast.If) for node in others].index(True)
    return definitions, [ast.unparse(node) for node in others[start:]]


def flags_of(task):
    """Return the flags of a program as its code names them."""
    return set(re.findall(r"^  --(\w+)", program.in_process(task, "--help").stdout, re.MULTILINE))


def test_what_knows_no_flag_of_its_task_is_the_same_in_the_three_lessons():
    """So what is tested in one file holds in all, as do what a host and a missing package meet."""
    lessons, others = zip(*map(parts, program.FOLDERS), strict=True)
    assert others[0] == others[1] == others[2] and len(others[0]) > 10
    flags = [flags_of(task) for task in program.FOLDERS]
    own = set.union(*flags) - set.intersection(*flags)
    names = set.intersection(*map(set, lessons)) - DIFFERENT
    assert len(names) > 10 and "Attention" in names
    for name in names:
        copies = {lesson[name] for lesson in lessons}
        assert len({copy for copy in copies if not own & set(re.findall(r"\w+", copy))}) < 2, name


def test_the_transformer_has_the_copies_that_it_needs():
    """Four functions for its flags, saving, loading, what is said of an edit: what is tested in a lesson."""
    (lesson, _), (definitions, _) = parts(3), parts("transformer")
    of_lesson = re.compile(rf"\b\w+\.(?=(?:{'|'.join(lesson)})\()")  # Before what main.py defines.
    copies = [copy.replace("Transformer(", "AttentionModel(") for copy in definitions.values()]
    copies = {of_lesson.sub("", copy).replace("transformer.py", "main.py") for copy in copies}
    assert len(copies & set(lesson.values())) == 6


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
