"""What the READMEs say of the programs is true of the programs."""

import ast
import pathlib
import re

import lessons
import program
import pytest

PAGES = [program.ROOT / "README.md", *(program.script(task).parent / "README.md" for task in program.FOLDERS)]


def text(page):
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def described(action):
    """Return the default of a flag as a README writes it."""
    if isinstance(action.default, pathlib.Path):
        return f"`{action.default.name}/` beside `main.py`"
    if action.default is None:
        return {"seed": "none", "sample_len": "`max_len`"}.get(action.dest, "random")
    return "off" if action.default is False else f"{action.default:g}"


def flags(task):
    """Return a dict from the flags of a task to their defaults, from its parser."""
    actions = program.load(task).parser._actions
    return {action.option_strings[0]: described(action) for action in actions if action.dest != "help"}


def rows(page):
    """Return a dict from the flags in the table of a README to their defaults."""
    lines = re.findall(r"^\| (`--[^|]+) \| ([^|]+) \|", text(page), re.MULTILINE)
    return {flag: default for names, default in lines for flag in re.findall(r"--\w+", names)}


@pytest.mark.parametrize("task", program.FOLDERS)
def test_flags_and_defaults_are_those_of_the_parser(task):
    table = rows(program.script(task).parent / "README.md")
    assert {flag: table[flag] for flag in flags(task)} == flags(task)
    assert not set(table) - set(flags(task))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_every_command_takes_the_flags_it_shows(page):
    tasks = program.FOLDERS if page == PAGES[0] else [int(page.parent.name[0])]
    known = {flag for task in tasks for flag in flags(task)}
    commands = re.findall(r"main\.py((?: --\w+(?: (?:\"[^\"]*\"|[\w.-]+))?)+)", text(page))
    assert commands
    for command in commands:
        assert set(re.findall(r"--\w+", command)) <= known, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_links_lead_somewhere(page):
    links = re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)|src="([^"]+)"', text(page))
    for link in filter(None, (link for pair in links for link in pair)):
        assert link.startswith("https://") or (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.parent.name)
def test_links_to_lines_show_what_they_name(page):
    links = re.findall(r"\[`(\w+)`\]\(([^)#]*main\.py)#L(\d+)-L(\d+)\)", text(page))
    assert links
    for name, path, first, last in links:
        tree = ast.parse((page.parent / path).read_text(encoding="utf-8"))
        (node,) = (node for node in tree.body if getattr(node, "name", None) == name)
        assert (node.lineno, node.end_lineno) == (int(first), int(last)), name


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.parent.name)
def test_code_in_a_lesson_is_code_of_its_program(page):
    source = " ".join((page.parent / "main.py").read_text(encoding="utf-8").split())
    blocks = re.findall(r"```python\n(.*?)```", text(page), re.DOTALL)
    assert blocks
    for block in blocks:
        assert " ".join(block.split()) in source


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.parent.name)
def test_an_edit_in_a_lesson_is_the_one_that_is_measured(page):
    measured = {diff for task, diff in lessons.EDITS.values() if task == int(page.parent.name[0])}
    (block,) = re.findall(r"```diff\n(.*?)```", text(page), re.DOTALL)
    nothing, *edits = re.split(r"^# .*\n", block, flags=re.MULTILINE)
    assert nothing == "" and edits
    for edit in edits:
        assert edit.rstrip("\n") + "\n" in measured


@pytest.mark.parametrize(("page", "most"), list(zip(PAGES, (130, 320, 320, 320), strict=True)))
def test_a_page_can_be_read_in_one_go(page, most):
    assert len(text(page).splitlines()) <= most


def test_the_commands_of_the_front_page_are_those_that_are_tested():
    """The third command is what CI runs; the first differs from it in what it installs and starts."""
    first, second, third = re.findall(r"^(?:python3|py) -m venv .*$", text(PAGES[0]), re.MULTILINE)
    assert first.endswith("main.py --train --test --plot")
    assert second == first.replace("python3 -m", "py -m").replace(".venv/bin/", ".venv\\Scripts\\").replace(
        "1_counting-letters/", "1_counting-letters\\"
    )
    assert third.endswith("-m pytest tests")
    assert third in text(program.ROOT / "tests" / "README.md")
