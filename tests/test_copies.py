"""The three files: what is the same in each, and what they need."""

import ast
import re
import sys

import program
import pytest
from experiments import programs

every_task = pytest.mark.parametrize("task", program.FOLDERS)
every_program = pytest.mark.parametrize("task", programs.SCRIPTS)
COPIES = """Attention train print_accuracy draw_losses draw_heatmap save_figure save_model
    write_file load_model kinds remedy keras_in_float32 main""".split()


def definitions(task):
    """Return a dict from the name of each top-level function and class of a main.py to its source."""
    source = program.source(task)
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: ast.get_source_segment(source, node) for node in nodes}


@every_task
@pytest.mark.parametrize("name", COPIES)
def test_copies_are_the_same(name, task):
    """So what is tested in one file holds in all."""
    assert definitions(task)[name] == definitions(1)[name]


@every_task
def test_the_imports_and_the_folders_are_the_same(task):
    """What a host or a missing package meets is tested in one file, too."""
    source, first = program.source(task), program.source(1)
    for start, end in (("if __name__", "# --- The attention"), ('flag("--savepath"', 'flag("--max_len"')):
        assert source.split(start)[1].split(end)[0] == first.split(start)[1].split(end)[0]


@every_task
def test_a_file_imports_nothing_but_the_three_packages(task):
    tree = ast.parse(program.source(task))
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    modules += [name.name for node in imports for name in node.names]
    packages = {module.split(".")[0] for module in modules}
    assert packages - sys.stdlib_module_names == {"matplotlib", "numpy", "tensorflow"}


@every_program
def test_everything_public_has_a_docstring(task):
    tree = ast.parse(program.source(task))
    for node in [tree, *tree.body]:
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            assert ast.get_docstring(node), getattr(node, "name", "the file")


@every_program
def test_the_script_metadata_are_the_requirements(task):
    tomllib = pytest.importorskip("tomllib")
    (block,) = re.findall(r"^# /// script\n((?:# .+\n)+)# ///$", program.source(task), re.MULTILINE)
    metadata = tomllib.loads(re.sub("^# ", "", block, flags=re.MULTILINE))
    required = (program.ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(metadata["dependencies"]) == sorted(required)
    assert metadata["requires-python"] == ">=3.9"
