"""The transformer as a program: what it refuses, saves and loads."""

import json
import shlex
import shutil
import signal
import sys

import last_page
import numpy as np
import program
import pytest

# --- What it refuses --------------------------------------------------------------------------------------

WRONG = [
    ("--steps 0", "--steps"),
    ("--lr nan", "--lr"),
    ("--pairs 9", "--pairs", "9"),
    ("--pairs 0", "--pairs", "0"),
    ("--hidden 30 --heads 4", "--hidden 30", "--heads 4"),
    ("--hidden 30", "--hidden 30", "--heads 4"),
    ("--heads 5", "--hidden 32", "--heads 5"),
    ("--input 'Anna dog Ben'", "--input", "again"),
    ("--input 'Anna dog Ben cat'", "--input", "again"),
    ("--input 'Anna dog Anna dog Ben'", "--input", "again"),
    ("--input 'Anna Ben dog cat Anna'", "--input", "pets"),
    ("--input 'dog Anna dog Anna'", "--input", "pets"),
    ("--input ''", "--input"),
    ("--input 'Anna dog Berta cat Anna'", "'Berta'", "Anna Ben"),
    ("--input 'Ian dog Ian'", "'Ian'", "Hana"),  # The ninth name; a model for four pairs knows eight.
    (f"--input '{'Anna dog ' * 8}Anna'", "--input", "16", "17"),
    ("--input Anna dog Anna", "dog Anna", "quotes"),
    ("--layer 2", "--layer", "see --help"),
]


@pytest.mark.parametrize(("flags", "words"), [(flags, words) for flags, *words in WRONG])
def test_a_wrong_flag_is_one_line(flags, words, tmp_path):
    flags = (
        "--train",
        *shlex.split(flags),
        "--savepath",
        tmp_path / "models",
        "--plotpath",
        tmp_path / "plots",
    )
    last_page.refused(program.in_process(last_page.SCRIPT, *flags), 2, *words)
    assert not list(tmp_path.iterdir())


def test_what_the_flags_alone_tell_does_not_wait_for_the_packages():
    python = (sys.executable, "-I", "-S")
    described = program.run(last_page.SCRIPT, "--help", python=python)
    assert described.returncode == 0 and not described.stderr and "--pairs" in described.stdout
    no_mode = program.run(last_page.SCRIPT, "--steps", 5, python=python)
    assert (no_mode.returncode, no_mode.stdout, no_mode.stderr) == (2, "", described.stdout)
    for words in (("--train", "--pairs", 9), ("--test", "--input", "Anna dog Ben")):
        last_page.refused(program.run(last_page.SCRIPT, *words, python=python), 2, words[1])


def test_it_finds_the_main_py_beside_it(tmp_path):
    """Also where Python leaves the folder of a script off its path."""
    completed = program.run(last_page.SCRIPT, "--test", "--savepath", tmp_path, env={"PYTHONSAFEPATH": "1"})
    last_page.refused(completed, 1, "there is no model yet")


def test_flags_that_contradict_the_model_are_refused(short):
    paths = ("--test", "--savepath", short.savepath)
    last_page.refused(
        program.in_process(last_page.SCRIPT, *paths, "--layers", 1), 2, "--layers is 2", short.savepath
    )
    last_page.refused(program.in_process(last_page.SCRIPT, *paths, "--input", "Ian dog Ian"), 2, "'Ian'")
    assert program.output_of(last_page.SCRIPT, *paths, "--layers", 2, "--input", "Anna dog Anna")


# --- What it saves ----------------------------------------------------------------------------------------


@pytest.fixture
def savepath(short, tmp_path):
    """Return a folder with a model that a test may spoil."""
    return shutil.copytree(short.savepath, tmp_path / "models")


@pytest.fixture
def edited(tmp_path):
    """Return a function that copies transformer.py, with an edit, and main.py, and returns the path."""

    def edit(old, new):
        source = last_page.SCRIPT.read_text(encoding="utf-8")
        assert source.count(old) == 1
        path = tmp_path / "edited" / "transformer.py"
        path.parent.mkdir()
        path.write_text(source.replace(old, new), encoding="utf-8")
        shutil.copy(last_page.SCRIPT.with_name("main.py"), path.parent)
        return path

    return edit


def test_without_a_model_it_says_how_to_train_one(tmp_path):
    completed = program.in_process(last_page.SCRIPT, "--test", "--pairs", 8, "--savepath", tmp_path)
    last_page.refused(completed, 1, tmp_path, f"train one with --train --pairs 8 --savepath {tmp_path}")


def test_a_damaged_and_a_foreign_file_are_refused(savepath, trained):
    path = savepath / "transformer.npz"
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(last_page.contents(savepath)[0]["positions"].tobytes())] ^= 255
    foreign = (trained("1").savepath / "checkpoint.npz").read_bytes()
    for content in (bytes(damaged), foreign, b"", damaged[:1000]):
        path.write_bytes(content)
        last_page.refused(
            program.in_process(last_page.SCRIPT, "--test", "--savepath", savepath), 1, path, "cannot be read"
        )


@pytest.mark.parametrize("edit", ("", "  # An edit."))
def test_an_edit_after_the_training_is_said_but_other_line_ends_are_not(edit, savepath, edited):
    path = edited("import json\n", f"import json{edit}\n")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    completed = program.in_process(path, "--test", "--savepath", savepath)
    said = [f"transformer.py: transformer.py has changed since {savepath / 'transformer.npz'} was trained"]
    assert completed.returncode == 0 and program.messages(completed) == (said if edit else [])


def test_an_edit_that_changes_the_weights_is_named_as_the_cause(savepath, edited):
    path = edited("Dense(2 * hidden", "Dense(3 * hidden")
    last_page.refused(
        program.in_process(path, "--test", "--savepath", savepath), 1, "does not fit", "undo an edit"
    )


def test_a_model_of_a_program_with_other_settings_is_refused(savepath):
    arrays, description = last_page.contents(savepath)
    settings = description["settings"]
    for other in (settings | {"sharpness": 2.0}, {"pairs": 4}):
        arrays["description"] = json.dumps(description | {"settings": other})
        np.savez(savepath / "transformer.npz", **arrays)
        completed = program.in_process(last_page.SCRIPT, "--test", "--savepath", savepath)
        last_page.refused(completed, 1, "does not fit", "undo an edit")


def test_an_edit_that_raises_shows_its_own_traceback(savepath, edited):
    path = edited("vectors @ self.W_Q)", "vectors @ self.W_QQ)")
    with pytest.raises(AttributeError, match="W_QQ"):
        program.in_process(path, "--test", "--savepath", savepath)


def test_a_loss_that_is_no_number_keeps_the_good_model(savepath):
    flags = ("--train", "--seed", 1, "--lr", "1e9", "--save_every", 50, "--savepath", savepath)
    last_page.refused(program.in_process(last_page.SCRIPT, *flags), 1, "not finite", "lower --lr")
    assert last_page.contents(savepath)[1]["step"] == 600


def test_a_folder_that_cannot_be_made_is_named(savepath):
    folder = savepath / "transformer.npz" / "models"
    completed = program.in_process(last_page.SCRIPT, "--train", "--savepath", folder)
    last_page.refused(completed, 1, folder, "--savepath")
    assert not completed.stdout


def test_ctrl_c_before_the_first_step_saves_nothing(tmp_path, transformer, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(transformer, "next_batch", interrupted)
    with pytest.raises(SystemExit) as stopped:
        transformer.main(["--train", "--savepath", str(tmp_path)])
    assert stopped.value.code == 130 and not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_ctrl_c_saves_what_it_has_reached_unless_an_earlier_model_is_there(savepath, tmp_path):
    for folder in (savepath, tmp_path / "new"):
        flags = (
            "--train",
            "--steps",
            100000,
            "--save_every",
            100000,
            "--print_every",
            10,
            "--savepath",
            folder,
        )
        process = program.start(last_page.SCRIPT, *flags)
        assert process.stdout.readline().startswith("Iteration 10 ")
        process.send_signal(signal.SIGINT)
        stopped = program.finish(process)
        (line,) = program.messages(stopped)
        assert stopped.returncode == 130 and line.startswith("transformer.py: stopped; ")
        if folder == savepath:
            assert "earlier model" in line and last_page.contents(folder)[1]["step"] == 600
        else:
            assert 10 <= last_page.contents(folder)[1]["step"] < 100000 and "transformer.npz" in line
