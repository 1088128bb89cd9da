"""What the pages say of the programs: flags, code, what a reader pastes, and what is printed then."""

import ast
import pathlib
import re
import shutil
import sys
import textwrap

import formula
import numpy as np
import program
import pytest
from experiments import play

PAGES = {task: program.script(task).with_name("README.md") for task in program.FOLDERS}
PAGES["transformer"] = program.script("transformer").with_suffix(".md")  # Of each program.
EVERY_PAGE = [page for part in ("", "[123]_*/**/", "tests/") for page in program.ROOT.glob(f"{part}*.md")]
SAMPLES = {  # The page's model of each printed sample, and what it is given.
    1: ("counting", " BC CBBAA "),
    2: ("difference_self_att", "BBBA ACABB"),
    3: ("signal_pos_enc", "BBABCCABCAB"),
    "transformer": ("transformer", "Anna dog Ben cat Cleo owl Dan hen Ben"),
}


def blocks(page, kind, indent=9):
    """Return a page's blocks of code of a kind, such as "python", as they are pasted, a list of str.

    Those that are indented by more spaces than this are left out.
    """
    fence = r"^( *)```(\w*)\n(.*?)^\1```$"
    found = re.findall(fence, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for space, name, block in found if name == kind and len(space) <= indent]


def defaults(task):
    """Return a dict from a program's flags to their defaults, as a table writes them; None, if in words."""
    known = {"--help": None}
    for name, value in vars(program.load(task).parser.parse_args([])).items():
        in_words = value is None or isinstance(value, pathlib.Path)
        known[f"--{name}"] = None if in_words else "off" if value is False else str(value)
    return known


@pytest.mark.parametrize("task", program.FOLDERS)
def test_flags_and_defaults_are_those_of_the_program(task):
    """Task 1's table has a row for each flag, those of the others for each that is not as in Task 1."""
    page, known, usual = PAGES[task].read_text(encoding="utf-8"), defaults(task), defaults(1)
    (table,) = re.findall(r"^\| flag \| default \|.*\n\|[ -|]*\n((?:\|.*\n)+)", page, re.MULTILINE)
    rows = dict(re.findall(r"^\| `(--\w+)` \| `?(.+?)`? \|", table, re.MULTILINE))
    assert len(rows) == len(table.splitlines()) and set(rows) <= set(known)
    for flag, default in known.items():
        if flag in rows:
            assert default in (None, rows[flag]), flag
        elif flag != "--help":
            as_usual = task != 1 and flag in usual and default == usual[flag]
            assert as_usual, f"{flag}: add a row for it to the table of flags on the task's page"


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_command_takes_the_flags_it_shows(page):
    own = [task for task in program.FOLDERS if page == PAGES[task]] or program.FOLDERS
    command = r"(main|equal|transformer)\.py((?: --\w+(?:[ =](?:\"[^\"]*\"|[\w./-]+))?)+)"
    for name, words in re.findall(command, page.read_text(encoding="utf-8")):
        tasks = ["transformer"] if name == "transformer" else own
        known = {flag for task in tasks for flag in defaults(task)}
        assert set(re.findall(r"(?<= )--\w+", words)) <= known, words


@pytest.mark.parametrize("task", PAGES)
def test_code_in_a_page_is_code_of_its_program(task):
    """But not what a reader pastes into a Python of theirs, as in exercises, which are indented."""
    source = " ".join(program.source(task).split())
    quoted = [block for block in blocks(PAGES[task], "python", 0) if not re.search("import|r.load", block)]
    assert quoted and all(" ".join(block.split()) in source for block in quoted)


def put_model(task, folder):
    """Put the page's model of a task into a folder, as its program names it; return its flags."""
    name, _ = SAMPLES[task]
    flags = play.MODELS[name].flags
    checkpoint = "transformer.npz" if task == "transformer" else f"checkpoint{flags.replace('--', '_')}.npz"
    shutil.copy(play.FOLDER / "checkpoints" / f"{name}.npz", folder / checkpoint)
    return flags.split()


@pytest.mark.parametrize("task", SAMPLES)
def test_a_printed_sample_is_what_the_program_prints(task, tmp_path):
    """Another processor may round differently, and the accuracy is that of other sequences."""
    words = ("--test", "--input", SAMPLES[task][1], "--savepath", tmp_path, *put_model(task, tmp_path))
    printed = program.output_of(task, *words).strip()
    (sample,) = (block for block in blocks(PAGES[task], "") if re.match(r"(?s)(Input|Text): \n.*Acc", block))
    for one, other, tolerance in zip(printed.split("Accuracy"), sample.split("Accuracy"), (0.002, 0.8)):
        program.same(one.rstrip(), other.rstrip(), tolerance)


def pasted(task):
    """Return what the blocks define that a page's reader pastes, a dict."""
    names = {}
    for block in blocks(PAGES[task], ""):
        if names or block.startswith("import"):
            try:
                ast.parse(block)
            except SyntaxError:
                continue  # Something to be typed into a terminal, or printed.
            exec(block, names)
    return names


def test_attention_in_numpy_is_that_of_keras(capsys):
    names = pasted(1)
    printed = re.findall(r"0\.\d{3}", capsys.readouterr().out)
    assert ", ".join(printed[:4]) in PAGES[1].read_text(encoding="utf-8")
    layers, query, letters = program.load(1).tf.keras.layers, names["query"], names["letters"]
    mean, _ = names["attend"](query, letters, letters)
    expected = layers.Attention()([query[None] / 2, letters[None], letters[None]])
    np.testing.assert_allclose(mean, expected[0], atol=1e-6)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Return a function that makes a folder with a task's program and the page's model, and goes there."""

    def make(task):
        (tmp_path / "models").mkdir()
        put_model(task, tmp_path / "models")
        shutil.copy(program.script(task), tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "main", raising=False)
        return pasted(task)

    return make


def test_the_pasted_scores_and_answers_are_those_of_the_page(own_folder, capsys):
    """The scores give the printed weights, and what is handed over gives the table."""
    own_folder(2)
    scores, page = capsys.readouterr().out, PAGES[2].read_text(encoding="utf-8")
    found = np.array(re.findall(r"-?\d+\.\d", scores), float).reshape(4, 4)
    (sample,) = re.findall(r"Output step 3:\n\[(.*)\]", page)
    np.testing.assert_allclose(formula.softmax(found[3]), np.fromstring(sample, sep=","), atol=0.02)
    answers = re.findall(r"\] (\d)$", scores, re.MULTILINE)
    handed_over = "none|that letter's count|the difference step's own|both"
    table = re.findall(rf"^\| (?:{handed_over}) \| \W*(\d)\W* \| \W*(\d)", page, re.MULTILINE)
    assert answers == [*np.ravel(table, order="F")], scores


def test_with_the_mark_at_step_5_the_letter_there_is_counted(own_folder, capsys):
    names = own_folder(3)
    texts = ["".join(each[:, 0]) for each in names["main"].Task().prettify(names["inputs"])]
    right = [text.count(text[5]) - 1 for text in texts]
    share = np.mean(names["answers"] == right)
    assert share > 0.99 and float(capsys.readouterr().out) == pytest.approx(share)
