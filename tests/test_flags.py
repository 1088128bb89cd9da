"""The command line: a wrong flag of each kind is one line and status 2, before anything is done."""

import re
import shlex
import sys

import program
import pytest

# The tasks, the flags, and words of the answer, which always names the last flag and its value.
WRONG = [
    *(("123", f"--steps {value}", "") for value in ("0", "-1", "1.5", "ten", "''", "9" * 30)),
    *(("123", f"--lr {value}", "") for value in ("0", "-0.1", "nan", "inf", "ten")),
    *(("123", f"--{name} 0", "") for name in ("batchsize", "hidden", "max_len", "vocab_size")),
    *(("123", f"--{name} 0", "") for name in ("print_every", "save_every")),
    *(("123", f"--seed {value}", "") for value in ("-1", 2**32)),
    ("123", "--vocab_size 27", "26"),
    ("2", "--vocab_size 1", "2"),
    ("12", "--sample_len 0", ""),
    ("3", "--enc_layers -1", ""),
    ("12", "--input 'A BD'", "'D' (U+0044) is not one of ' ABC'"),
    ("12", "--vocab_size 2 --input ABC", "' AB'"),
    ("12", "--input 'A АÄ'", "(U+0410) is not one of ' ABC'"),  # Cyrillic.
    ("123", "--input ''", "empty"),
    ("12", "--input A B C", 'quotes around blanks, as in --input "AB BC"'),
    ("3", "--input A B C", "as in --input BBABC"),
    ("12", "--sample_len 3 --input ABC", "not allowed with"),
    ("3", "--input 'A B'", "' ' (U+0020) is not one of 'ABC'"),
    ("3", "--input AAAAAAAAAAAA", "takes at most 11 letters"),
    ("3", "--max_len 2 --input ABCA", "at most 3"),
    *(
        ("3", f"--signal {value}", f"takes one letter, not '{value.strip(chr(39))}'")
        for value in ("''", "AB")
    ),
    *(("3", f"--signal {value}", "is not one of 'ABC'") for value in ("d", "' '")),
    ("3", "--signal A --input ABC", "not allowed with"),
    ("123", "--plot=yes", "'yes'"),
    ("123", "--step 5", "unrecognized arguments: --step 5; see --help"),
    ("123", "extra", "unrecognized arguments: extra; see --help"),
    ("123", "--input AB --stpes 5", "unrecognized arguments: --stpes 5; see --help"),
    ("13", "--self_att", "unrecognized"),
    ("12", "--pos_enc", "unrecognized"),
]


@pytest.mark.parametrize(("tasks", "flags", "words"), WRONG)
def test_a_wrong_flag_is_refused_before_the_training(tasks, flags, words, tmp_path):
    words_of_flags = shlex.split(flags)
    named = [word.partition("=")[0] for word in words_of_flags if word.startswith("--")][-1:]
    for task in map(int, tasks):
        paths = (f"--savepath={tmp_path / 'models'}", "--plot", f"--plotpath={tmp_path / 'plots'}")
        completed = program.in_process(task, "--train", *paths, *words_of_flags)
        program.refused(completed, 2, *named, words)
        assert not completed.stdout and not list(tmp_path.iterdir())


JUST_RIGHT = [
    ("123", f"--seed {2**32 - 1} --vocab_size 26 --lr 1e-9 --hidden 1 --steps 1"),
    ("123", "--input xyz"),
    ("123", "--train --input aCb"),
    ("12", "--train --vocab_size 4 --input 'D D'"),
    ("13", "--vocab_size 1"),
    ("2", "--train --vocab_size 2"),
    ("3", "--train --max_len 2 --input ABC"),
    ("3", "--train --signal c --enc_layers 0"),
]


@pytest.mark.parametrize(("tasks", "flags"), JUST_RIGHT)
def test_what_is_just_possible_is_accepted(tasks, flags):
    for task in map(int, tasks):
        assert program.load(task).parse_arguments(["--test", *shlex.split(flags)]).test


@pytest.mark.parametrize("task", program.FOLDERS)
def test_what_the_flags_alone_tell_does_not_wait_for_the_packages(task):
    """There are none for a Python without site-packages, which can run nothing but this."""
    python = (sys.executable, "-I", "-S")
    described = program.run(task, "--help", python=python)
    assert described.returncode == 0 and not described.stderr
    first, second = (
        described.stdout.index(word) for word in (program.load(task).TASK, "Begin with --train --test")
    )
    assert first < second < described.stdout.index("--steps int")
    no_mode = program.run(task, "--steps", 5, python=python)
    assert (no_mode.returncode, no_mode.stdout, no_mode.stderr) == (2, "", described.stdout)
    for words in (("--train", "--steps", "none"), ("--train", "--input", "D"), ("--test", "--input", "Ä")):
        program.refused(program.run(task, *words, python=python), 2, words[1])


@pytest.mark.parametrize(
    ("variant", "flags", "words"),
    (
        ("1", "--max_len 11", "10"),
        ("1", "--sample_len 3 --vocab_size 4", "3"),
        ("1", "--input ABD", "' ABC'"),
        ("2", "--hidden 32", "leave it out"),
        ("2 --self_att", "--input ABD", "' ABC'"),
        ("3 --pos_enc", "--enc_layers 0", "1"),
        ("3 --pos_enc", "--input AAAAAAAAAAAA", "11"),
        ("3 --pos_enc", "--signal D", "'ABC'"),
    ),
)
def test_what_contradicts_the_saved_model_is_refused(variant, flags, words, trained):
    """And no advice leads to a command that would replace that model."""
    task, chosen = program.VARIANTS[variant]
    paths = ("--savepath", trained(variant).savepath)
    completed = program.in_process(task, "--test", *chosen, *flags.split(), *paths)
    program.refused(completed, 2, re.findall(r"--\w+", flags)[-1], words)
    assert not completed.stdout and "--train" not in completed.stderr


@pytest.mark.parametrize(
    ("variant", "flags"),
    (
        ("2 --self_att", "--self_att --max_len 10"),
        ("3 --pos_enc", "--pos_enc --enc_layers 1 --input ABCABCABCAB"),
    ),
)
def test_what_fits_the_saved_model_may_be_said_again(variant, flags, trained):
    flags = ("--test", *flags.split(), "--savepath", trained(variant).savepath)
    assert program.parse(program.output_of(int(variant[0]), *flags))


@pytest.mark.parametrize("task", (1, 2))
def test_a_blank_may_be_written_as_the_pages_print_it(task):
    parse = program.load(task).parse_arguments
    printed, typed = (parse(["--test", "--input", text]).input for text in ("␣bc␣CBBAA␣", " BC CBBAA "))
    assert printed == typed
