"""What the pages say of the programs is true of the programs."""

import functools
import pathlib
import re

import program
import pytest

FRONT = program.ROOT / "README.md"
LESSONS = [program.script(task).parent / "README.md" for task in program.FOLDERS]
PAGES = [FRONT, *sorted(program.ROOT.glob("[123]_*/**/*.md")), program.ROOT / "tests" / "README.md"]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
CODE = {page: page.with_name("main.py") for page in LESSONS}  # A page that quotes a program, and that one.
CODE[program.script("transformer").with_suffix(".md")] = program.script("transformer")
every_lesson = pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.parent.name)


def text(page):
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


@functools.cache
def flags(task):
    """Return a dict from the flags of a task to their defaults; a table says in words what has none."""
    defaults = vars(program.load(task).parser.parse_args([]))
    in_words = (type(None), pathlib.Path)
    return {
        f"--{name}": None if isinstance(default, in_words) else "off" if default is False else str(default)
        for name, default in defaults.items()
    }


@every_lesson
def test_flags_and_defaults_are_those_of_the_program(page):
    """Task 1's table has a row for each flag, those of the others for each that is not as in Task 1."""
    (table,) = re.findall(r"^\| flag \| default \|.*\n((?:\|.*\n)+)", text(page), re.MULTILINE)
    rows = re.findall(r"^\| `(--\w+)` \| (.+?) \|", table, re.MULTILINE)
    known = flags(int(page.parent.name[0]))
    assert all(known[flag] in (None, default.replace("`", "")) for flag, default in rows)
    assert {flag: known[flag] for flag in {*known} - {flag for flag, _ in rows}}.items() <= flags(1).items()
    assert page != LESSONS[0] or len(rows) == len(known)
    assert len(rows) == len(table.splitlines()) - 1  # Below the head there is a line of dashes.


@every_page
def test_every_command_takes_the_flags_it_shows(page):
    of_lesson = [task for task in program.FOLDERS if page.parent == program.script(task).parent]
    tasks = of_lesson or program.FOLDERS
    known = {"--help"} | {flag for task in tasks for flag in flags(task)}
    command = r"(main|equal|transformer)\.py((?: --\w+(?:[ =](?:\"[^\"]*\"|[\w./-]+))?)+)"
    commands = re.findall(command, text(page))
    assert commands or page not in (FRONT, *CODE)
    for name, words in commands:
        own = flags("transformer") if name == "transformer" else known
        assert set(re.findall(r"(?<= )--\w+", words)) <= set(own), words


@pytest.mark.parametrize("page", CODE, ids=lambda page: page.parent.name)
def test_code_in_a_page_is_code_of_its_program(page):
    """But not what a reader pastes into a Python of theirs."""
    source = " ".join(text(CODE[page]).split())
    blocks = re.findall(r"^```python\n(.*?)^```", text(page), re.DOTALL | re.MULTILINE)
    blocks = [block for block in blocks if "import" not in block and "transformer.load" not in block]
    assert blocks and all(" ".join(block.split()) in source for block in blocks)


def test_the_test_command_of_the_front_page_is_what_ci_runs():
    (block,) = (block for block in re.findall(r"```\n(.*?)```", text(FRONT), re.DOTALL) if "pytest" in block)
    ci = text(program.ROOT / ".ci" / "run")
    for line in block.splitlines():
        assert f"{line.removesuffix(' &&')}\n" in ci
