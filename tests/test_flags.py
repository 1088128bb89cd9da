"""The command line: a wrong flag of each kind is one line and status 2, before anything is done."""

import re
import shlex
import sys

import program
import pytest

TASKS = {"1": 1, "2": 2, "3": 3, "T": "transformer"}
# The tasks and the flags. The answer names the last of the flags.
WRONG = [
    *(("123T", f"--steps {value}") for value in ("0", "-1", "1.5", "ten", "''")),
    *(("123T", f"--lr {value}") for value in ("0", "-0.1", "nan", "inf", "ten")),
    *(("123T", f"--{name} 0") for name in ("batchsize", "hidden", "print_every", "save_every")),
    *(("123", f"--{name} 0") for name in ("max_len", "vocab_size")),
    *(("123T", f"--seed {value}") for value in ("-1", 2**32)),
    ("123", "--vocab_size 27"),
    ("2", "--vocab_size 1"),
    ("12", "--sample_len 0"),
    ("3", "--enc_layers -1"),
    *(("12", f"--input {text}") for text in ("'A BD'", "'A АÄ'", "Aß")),  # Cyrillic.
    ("12", "--vocab_size 2 --input ABC"),
    ("123T", "--input ''"),
    ("12", "--sample_len 3 --input ABC"),
    ("3", "--input 'A B'"),
    ("3", "--input AAAAAAAAAAAA"),
    ("3", "--max_len 2 --input ABCA"),
    *(("3", f"--signal {value}") for value in ("''", "AB", "d", "' '")),
    ("3", "--signal A --input ABC"),
    ("123T", "--plot=yes"),
    ("123T", "--step 5"),
    ("123T", "--seed 1 --stpes 5"),
    ("13T", "--self_att"),
    ("12T", "--pos_enc"),
    *(("T", f"--{name} 0") for name in ("pairs", "layers", "heads")),
    ("T", "--pairs 9"),
    ("T", "--hidden 32 --heads 5"),
    ("T", "--hidden 30"),
    *(("T", f"--input {text}") for text in ("'Anna dog Ben'", "'Anna dog Ben cat'", "'dog Anna dog Anna'")),
    *(
        ("T", f"--input 'Anna {text}'")
        for text in ("dog Anna dog Ben", "Ben dog cat Anna", "dog Berta cat Anna")
    ),
    ("T", "--input 'Ian dog Ian'"),  # The ninth name; a model for four pairs knows eight.
    ("T", f"--input '{'Anna dog ' * 8}Anna'"),  # 17 words.
]


@pytest.mark.parametrize(("tasks", "flags"), WRONG)
def test_a_wrong_flag_is_refused_before_the_training(tasks, flags, tmp_path):
    words = shlex.split(flags)
    named = [word.partition("=")[0] for word in words if word.startswith("--")][-1]
    for task in tasks:
        paths = (f"--savepath={tmp_path / 'models'}", "--plot", f"--plotpath={tmp_path / 'plots'}")
        completed = program.in_process(TASKS[task], "--train", *paths, *words)
        program.refused(completed, 2, named)
        assert not completed.stdout and not list(tmp_path.iterdir())


# What is just possible: where there is no model, it is refused for that and not before.
JUST_RIGHT = [
    ("123", f"--seed {2**32 - 1} --vocab_size 26 --lr 1e-9 --hidden 1 --steps 1"),
    ("123", "--input xyz"),
    ("123", "--vocab_size 3 --input aCb"),
    ("12", "--vocab_size 4 --input 'D D'"),
    ("13", "--vocab_size 1"),
    ("2", "--vocab_size 2"),
    ("3", "--max_len 2 --input ABC"),
    ("3", "--signal c --enc_layers 0"),
    ("T", "--pairs 8 --heads 1 --hidden 1 --layers 1 --input 'PIA mole Pia'"),
]


@pytest.mark.parametrize(("tasks", "flags"), JUST_RIGHT)
def test_what_is_just_possible_is_accepted(tasks, flags, tmp_path):
    for task in tasks:
        words = ("--test", *shlex.split(flags), "--savepath", tmp_path)
        program.refused(program.in_process(TASKS[task], *words), 1, tmp_path)


@pytest.mark.parametrize("task", program.SCRIPTS)
def test_what_the_flags_alone_tell_does_not_wait_for_the_packages(task):
    """There are none for a Python without site-packages, which can run nothing but this."""
    python = (sys.executable, "-I", "-S")
    described = program.run(task, "--help", python=python)
    assert described.returncode == 0 and not described.stderr
    no_mode = program.run(task, "--steps", 5, python=python)
    assert (no_mode.returncode, no_mode.stdout, no_mode.stderr) == (2, "", described.stdout)
    for words in (("--train", "--steps", "none"), ("--test", "--input", "Ä")):
        program.refused(program.run(task, *words, python=python), 2, words[1])


@pytest.mark.parametrize(
    ("variant", "flags"),
    (
        ("1", "--max_len 11"),
        ("1", "--input ABD"),
        ("2", "--hidden 32"),
        ("3 --pos_enc", "--input AAAAAAAAAAAA"),
        ("3 --pos_enc", "--signal D"),
        ("transformer", "--layers 1"),
        ("transformer", "--input 'Ian dog Ian'"),
    ),
)
def test_what_contradicts_the_saved_model_is_refused(variant, flags, trained):
    task, chosen = program.TRAININGS[variant]
    paths = ("--savepath", trained(variant).savepath)
    completed = program.in_process(task, "--test", *chosen, *shlex.split(flags), *paths)
    program.refused(completed, 2, re.findall(r"--\w+", flags)[-1])
    assert not completed.stdout


# What says what is to be tested means that it is: two commands that print the same. The second
# repeats what fits the saved model. A blank may be written as the pages print it.
THE_SAME = [
    ("1", "--input ␣bc␣CBBAA␣", "--test --input ' BC CBBAA '"),
    ("1", "--sample_len 5", "--test --sample_len 5 --max_len 10"),
    ("2 --self_att", "--input ␣bc␣CBBAA␣", "--test --input ' BC CBBAA ' --vocab_size 3"),
    ("3 --pos_enc", "--signal b", "--test --signal B --enc_layers 1"),
    ("3 --pos_enc", "--input ABCABCABCAB", "--test --input abcabcabcab --hidden 64"),
    ("transformer", "--input 'Anna dog ANNA'", "--test --input 'anna Dog Anna' --layers 2"),
]


@pytest.mark.parametrize(("variant", "flags", "more"), THE_SAME)
def test_two_commands_that_mean_the_same(variant, flags, more, trained):
    task, chosen = program.TRAININGS[variant]
    paths = ("--seed", 1, *chosen, "--savepath", trained(variant).savepath)
    one, same = (program.output_of(task, *shlex.split(words), *paths) for words in (flags, more))
    assert one == same and "Accuracy" in one
    if "--input" not in flags:
        assert program.output_of(task, *shlex.split(flags), *paths, "--seed", 2) != one
