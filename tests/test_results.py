"""What a run prints and writes, and whether the pages say the same."""

import importlib
import re
import types
from unittest import mock

import one_run
import program
import pytest
from experiments import edits, film, pictures, play, results, trainings

experiments = importlib.import_module("experiments.__main__")

# --- The pages ---

MEASURED = """
| right | one | two |
| --- | --- | --- |
| `A` | 1.0% (0.5 to 2.0) | 3 (2 to 4) |
| B | 5.0% (4.0 to 6.0) | 7 (6 to 8) |
| C 1: equal | 2.0% (1.0 to 3.0) | 4 (3 to 5) |

It ends at 9.0 (8.0 to 9.5).
"""


@pytest.mark.parametrize(
    ("page", "number"),
    [
        (MEASURED, 0),
        ("| | two |\n| --- | --- |\n| B | 7 (6 to 8) |\n", 0),  # A page may show less.
        ("| | two |\n| --- | --- |\n| [`A`](#a) | 3 (2 to 4) |\n", 0),
        ("| | two |\n| --- | --- |\n| equal | 4 (3 to 5) |\n", 0),
        ("| | two |\n| --- | --- |\n| equal | 7 (6 to 8) |\n", 1),
        ("It is 9.0 (8.0\nto 9.5), or 5.0% (4.0 to 6.0).", 0),
        ("| | two |\n| --- | --- |\n| B | 7 (6 to 9) |\n", 1),  # A digit.
        ("| | two |\n| --- | --- |\n| B | 3 (2 to 4) |\n", 1),  # Another row's.
        ("| | one |\n| --- | --- |\n| B | 7 (6 to 8) |\n", 1),  # Another column's.
        ("| | three |\n| --- | --- |\n| B | 5.0% (4.0 to 6.0) |\n", 0),
        ("| | three |\n| --- | --- |\n| C | 7 (6 to 8) |\n", 1),  # No such row.
        ("| | two, the original |\n| --- | --- |\n| B | 0 (0 to 0) |\n", 0),
        ("It is 9.1 (8.0 to 9.5).", 1),
    ],
)
def test_a_page_is_compared_with_the_results(page, number):
    assert len(results.differences(page, MEASURED)) == number


def measured_for(page):
    """Return the results that a page shows figures of: of its lesson, or of all lessons and the speed."""
    own = page.parent.name[0] in "123" and page.name != "did_it_need_attention.md"
    pattern = f"lesson_{page.parent.name[0]}*.md" if own else "*.md"
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(results.FOLDER.glob(pattern)))


PAGES = [*program.ROOT.glob("*.md"), *program.ROOT.glob("[123]_*/*.md"), program.ROOT / "tests" / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_range_of_a_page_was_measured(page):
    """In the row of the same label, and, where the heads are the same, in the same column."""
    text = page.read_text(encoding="utf-8")
    assert results.differences(text, measured_for(page)) == []


# --- A run ---


@pytest.mark.parametrize(
    ("words", "setup", "seeds"),
    [
        ("1 --only A+F --flags=--steps=9", trainings.Setup(1, "A+F", "--steps=9"), range(1, 11)),
        ("2 --only F+B", trainings.Setup(2, "F+B", "--self_att"), range(1, 11)),
        ("2 --only C", trainings.Setup(2, "C", ""), range(1, 11)),
        ("3 --only B --flags=", trainings.Setup(3, "B", ""), range(1, 11)),
        ("3 --only A+B+D", trainings.Setup(3, "A+B+D", "--pos_enc"), range(1, 21)),
        ("3 --only D --seeds 21-22", trainings.Setup(3, "D", "--pos_enc"), (21, 22)),  # It has no row.
        ("3_layers --only A", trainings.Setup(3, "A", "--pos_enc"), range(1, 11)),
        ("3_transformer --only G_2", trainings.Setup("transformer", "G 2", ""), range(1, 6)),
    ],
)
def test_only_trains_and_prints_what_its_row_trains_unless_it_has_flags(words, setup, seeds):
    """And nothing is written."""
    lesson, *flags = (word.replace("_2", " 2") if word[0] == "G" else word for word in words.split())
    printed, written, asked = one_run.measure("--lesson", lesson, *flags)
    label = f"{setup.edit} {setup.flags}".strip()
    assert asked == {(setup, *seeds)} and not written
    assert f"\n| {label} | " in printed and f"\n- {label}: " in printed


def test_other_seeds_are_printed_and_nothing_is_written():
    printed, written, asked = one_run.measure("--lesson", "2_expected", "--seeds", "21-23")
    assert {tuple(seeds) for _, *seeds in asked} == {(21, 22, 23)} and len(printed) > 999 and not written


@pytest.mark.parametrize(
    "words", ["--only A", "--pictures --seeds 1-2", "--lesson 1 --only A --pictures", "--lesson 4"]
)
def test_flags_that_do_not_go_together_are_refused(words):
    with pytest.raises(SystemExit, match="2"):
        one_run.measure(*words.split())


def test_a_run_that_fails_ends_with_one_line(monkeypatch):
    for failed in (KeyboardInterrupt, trainings.TrainingError("no line"), edits.EditError("no line")):
        monkeypatch.setattr(one_run.OneRun, "train", mock.Mock(side_effect=failed))
        with pytest.raises(SystemExit, match="130|no line"):
            one_run.measure("--lesson", "1")


def test_a_full_run_writes_each_lesson_then_draws(monkeypatch):
    drawn, some = mock.Mock(), ["2_expected", "3_layers"]
    monkeypatch.setattr(experiments, "LESSONS", {name: experiments.LESSONS[name] for name in some})
    monkeypatch.setattr(play, "embed", drawn.embed)
    monkeypatch.setattr(pictures, "draw", drawn.draw)
    monkeypatch.setattr(film, "draw", drawn.film)
    _, written, _ = one_run.measure("--pictures")
    assert sorted(written) == [f"lesson_{name}.md" for name in some]
    assert [name for name, *_ in drawn.mock_calls] == ["embed", "draw", "film"]
    assert drawn.draw.call_args.args[0] == some


def test_the_results_name_the_machine(monkeypatch, tmp_path):
    assert re.match(r"\w[^,\[]*, \d+ cores; Python [\d.]+, tensorflow [\d.]+", results.machine())
    monkeypatch.setattr(results, "pathlib", types.SimpleNamespace(Path=lambda _: tmp_path / "none"))
    assert " cores; Python " in results.machine()  # Where there is no /proc, as on macOS.


BUILD = """
import pathlib

if __name__ == "__main__":
    for path in pathlib.Path(__file__).parent.glob("checkpoints/*"):
        path.rename(path.with_suffix(".built"))
"""


def test_the_page_gets_the_models_that_its_names_promise(tmp_path, monkeypatch):
    """Of seed 1, before it is built."""
    cache = trainings.ModelCache(tmp_path / "models")
    monkeypatch.setattr(trainings, "subprocess", None)  # None is trained.
    for setup in play.MODELS.values():
        folder = cache.savepath(setup, 1)
        folder.mkdir()
        (folder / "output.txt").touch()
        (folder / "model.npz").write_text(str(setup), encoding="utf-8")
    monkeypatch.setattr(play, "FOLDER", tmp_path)
    (tmp_path / "build.py").write_text(BUILD, encoding="utf-8")
    (tmp_path / "checkpoints").mkdir()
    play.embed(cache)
    built = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "checkpoints").iterdir()}
    assert built == {f"{name}.built": str(setup) for name, setup in play.MODELS.items()}
