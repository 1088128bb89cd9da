"""The command line: a wrong flag of each kind is one line and status 2, before anything is done."""

import re
import shlex
import sys

import program
import pytest

TASKS = {"1": 1, "2": 2, "3": 3, "T": "transformer"}
# The tasks and the flags. The answer names the last of the flags.
WRONG = """
    123T --steps 0
    123T --steps 1.5
    123T --lr 0
    123T --lr nan
    123T --batchsize 0
    123T --print_every 0
    123T --save_every -1
    123  --max_len 0
    123  --vocab_size 27
    2    --vocab_size 1
    123T --seed -1
    12   --sample_len 0
    3    --enc_layers -1
    12   --input "A BD"
    12   --input Aß
    123T --input ""
    3    --input "A B"
    3    --max_len 2 --input ABCA
    3    --signal D
    3    --signal A --input ABC
    123T --plot=yes
    123T --step 5
    13T  --self_att
    12T  --pos_enc
    T    --pairs 9
    T    --hidden 30
    T    --input "Anna dog Ben"
    T    --input "dog Anna dog Anna"
    T    --input "Anna Ben dog cat Anna"
    T    --input "Ian dog Ian"
    T    --input "Anna dog Anna dog Anna dog Anna dog Anna dog Anna dog Anna dog Anna dog Anna"
"""


def split(line):
    """Return the tasks, the words and the last flag of a line."""
    tasks, *words = shlex.split(line)
    return tasks, words, re.findall(r"--\w+", line)[-1]


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_a_wrong_flag_is_refused_before_the_training(line, tmp_path):
    tasks, words, flag = split(line)
    for task in tasks:
        paths = (f"--savepath={tmp_path / 'models'}", "--plot", f"--plotpath={tmp_path / 'plots'}")
        completed = program.in_process(TASKS[task], "--train", *paths, *words)
        program.refused(completed, 2, flag)
        assert not completed.stdout and not list(tmp_path.iterdir())


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


SAVED = """
    1 --max_len 11
    3 --input AAAAAAAAAAAA
    3 --signal D
    T --layers 1
    T --input "Ian dog Ian"
"""


@pytest.mark.parametrize("line", SAVED.strip().splitlines())
def test_what_contradicts_the_saved_model_is_refused(line, small):
    task, words, flag = split(line)
    completed = program.in_process(TASKS[task], "--test", *words, "--savepath", small(TASKS[task]))
    program.refused(completed, 2, flag)
    assert not completed.stdout


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
