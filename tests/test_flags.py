"""The command line: a wrong flag of each kind is one line and status 2, before anything is done."""

import re
import shlex
import sys

import program
import pytest

TASKS = {"1": 1, "2": 2, "3": 3, "T": "transformer"}
WRONG = {  # Of which tasks. The answer names the last of the flags.
    "123T": ["--steps 0", "--steps 1.5", "--lr 0", "--lr nan", "--batchsize 0", "--print_every 0", "--step 5",
             "--save_every -1", "--seed -1", "--plot=yes", '--input ""'],
    "123": ["--max_len 0", "--vocab_size 27"],
    "13T": ["--self_att"],
    "12T": ["--pos_enc"],
    "12": ["--sample_len 0", '--input "A BD"', "--input Aß"],
    "2": ["--vocab_size 1"],
    "3": ["--enc_layers -1", '--input "A B"', "--max_len 2 --input ABCA", "--signal D",
          "--signal A --input AB"],
    "T": ["--pairs 9", "--hidden 30", '--input "Anna dog Ben"', '--input "dog Anna dog Anna"',
          '--input "Anna Ben dog cat Anna"', '--input "Ian dog Ian"', '--input "' + 9 * "Anna dog " + '"'],
}  # fmt: skip
SAVED = {
    "1": ["--max_len 11"],
    "3": ["--input AAAAAAAAAAAA", "--signal D"],
    "T": ["--layers 1", '--input "Ian dog Ian"'],
}


def each(wrong):
    """Return the mark of a test that is run for each task and each line of wrong flags."""
    lines = [(TASKS[task], line) for tasks, lines in wrong.items() for line in lines for task in tasks]
    return pytest.mark.parametrize(("task", "line"), lines)


@each(WRONG)
def test_a_wrong_flag_is_refused_before_the_training(task, line, tmp_path):
    paths = (f"--savepath={tmp_path / 'models'}", "--plot", f"--plotpath={tmp_path / 'plots'}")
    completed = program.in_process(task, "--train", *paths, *shlex.split(line))
    program.refused(completed, 2, re.findall(r"--\w+", line)[-1])
    assert not completed.stdout and not list(tmp_path.iterdir())


@each(SAVED)
def test_what_contradicts_the_saved_model_is_refused(task, line, small):
    completed = program.in_process(task, "--test", *shlex.split(line), "--savepath", small(task))
    program.refused(completed, 2, re.findall(r"--\w+", line)[-1])
    assert not completed.stdout


@pytest.mark.parametrize("task", program.SCRIPTS)
def test_what_the_flags_alone_tell_does_not_wait_for_the_packages(task):
    """There are none for a Python without site-packages, which can run nothing but this."""
    python = (sys.executable, "-I", "-S")
    described = program.run(task, "--help", python=python)
    assert described.returncode == 0 and not described.stderr
    assert re.search(r"--steps \S+\s+training steps \(default: \d+\)", described.stdout), described.stdout
    no_mode = program.run(task, "--steps", 5, python=python)
    assert (no_mode.returncode, no_mode.stdout, no_mode.stderr) == (2, "", described.stdout)
    program.refused(program.run(task, "--test", "--input", "Ä", python=python), 2, "--input")


# A model that is not there: files that are, and what the answer names.
MISSING = [
    ("1 --test --seed 4294967295 --vocab_size 26 --hidden 1 --input xyZ", [], ["--train"]),
    ("2 --test --self_att", ["checkpoint"], ["--train", "leave out --self_att"]),
    ("2 --test", ["checkpoint_self_att"], ["--train", "add --self_att"]),
    ("3 --test", ["checkpoint_pos_enc"], ["--train", "--test --pos_enc"]),
    ("3 --test --pos_enc", ["checkpoint", "checkpoint_2_layers"], ["--train", "or --test --enc_layers 2"]),
    ("T --test --pairs 8 --heads 1 --input 'PIA mole Pia'", [], ["--train"]),
]


@pytest.mark.parametrize(("asked", "there", "named"), MISSING)
def test_who_tests_without_a_model_reads_how_to_get_it(asked, there, named, tmp_path):
    for name in there:
        (tmp_path / f"{name}.npz").touch()
    task, *words = shlex.split(asked)
    completed = program.in_process(TASKS[task], *words, "--savepath", tmp_path)
    program.refused(completed, 1, tmp_path, *named)
    assert not completed.stdout
