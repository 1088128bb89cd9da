"""A lesson can be read in one evening: its size, its order, its exercises."""

import re

import program
import pytest

lessons = pytest.mark.parametrize("task", program.FOLDERS)
SECTIONS = [
    "The task",
    "By hand",
    "In code",
    "Run it",
    "The model",
    "Why it works",
    "Must it look there?",
    "Exercises",
    "What to remember",
]


def text(*path):
    """Return the text of a page of the project."""
    return program.ROOT.joinpath(*path).read_text(encoding="utf-8")


def lesson(task):
    """Return the text of a lesson."""
    return text(program.FOLDERS[task], "README.md")


def prose(page):
    """Return the lines of a page that are read: no code, no table, no picture, nothing folded."""
    page = re.sub(r"<details>.*?</details>|```.*?```", "", page, flags=re.DOTALL)
    return [line for line in page.splitlines() if not line.startswith(("    ", "|", "<img"))]


@lessons
def test_it_has_its_sections_in_their_order(task):
    assert re.findall(r"^## (.+)$", lesson(task), re.MULTILINE) == SECTIONS


@lessons
def test_it_is_short(task):
    lines = prose(lesson(task))
    assert len(lines) <= 150 and max(map(len, lines)) <= 120
    words = re.sub(r"\]\([^)]*\)", "]", "\n".join(lines))
    assert len(words.split()) <= 1200
    paragraphs = re.split(r"\n\s*\n|\n(?=\d\. |- )", words)
    assert max(len(paragraph.split()) for paragraph in paragraphs) <= 100


@lessons
def test_it_has_exercises_with_folded_answers_and_five_sentences(task):
    exercises, remember = re.findall(
        r"## Exercises\n(.*)## What to remember\n(.*?)\nNext:", lesson(task), re.DOTALL
    )[0]
    numbers = re.findall(r"^(\d)\. \*\*", exercises, re.MULTILINE)
    assert len(numbers) >= 4 and exercises.count("<details><summary>Answer") == len(numbers)
    assert re.findall(r"^(\d)\. .+\.$", remember, re.MULTILINE) == list("12345")


@lessons
def test_every_step_is_an_output_an_input_or_a_training_step(task):
    page = " ".join(lesson(task).split())
    kinds = r"(?<!output )(?<!input )(?<!training )(?<!difference )(?<!--)"
    assert not re.findall(rf"(?i)\b.{{20}}{kinds}\bsteps?\b", page)


@pytest.mark.parametrize(
    ("path", "most"),
    (
        (("README.md",), 130),
        (("3_signal", "transformer.md"), 100),
        (("tests", "README.md"), 80),
    ),
)
def test_other_pages_are_short_too(path, most):
    assert len(text(*path).splitlines()) <= most
