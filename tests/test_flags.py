"""The command line: a wrong flag of each kind is one line and status 2, before anything is done."""

import sys

import program
import pytest

ALL = (1, 2, 3)
WRONG = [
    *(
        (ALL, ("--steps", value), "'{}' is no int from 1 to")
        for value in ("0", "-1", "1.5", "ten", "", "9" * 30)
    ),
    *((ALL, ("--lr", value), "'{}' is no float from") for value in ("0", "-0.1", "nan", "inf", "ten")),
    *(
        (ALL, (name, "0"), "'0' is no int")
        for name in ("--batchsize", "--hidden", "--max_len", "--vocab_size")
    ),
    *((ALL, (name, "0"), "'0' is no int") for name in ("--print_every", "--save_every")),
    *((ALL, ("--seed", value), "'{}' is no int from 0") for value in ("-1", str(2**32))),
    (ALL, ("--vocab_size", "27"), "'27' is no int"),
    ((2,), ("--vocab_size", "1"), "'1' is no int"),
    ((1, 2), ("--sample_len", "0"), "'0' is no int from 1"),
    ((3,), ("--enc_layers", "101"), "'101' is no int from 0 to 100"),
    (ALL, ("--input", ""), "''"),
    ((1, 2), ("--input", "A BD"), "'A BD' is no sequence of ' ABC'"),
    ((1, 2), ("--vocab_size", "2", "--input", "ABC"), "' AB'"),
    ((3,), ("--input", "A B"), "'A B' is no sequence of 'ABC'"),
    ((3,), ("--input", "A" * 12), "1 to 11 letters"),
    ((3,), ("--max_len", "2", "--input", "ABCA"), "1 to 3 letters"),
    *(((3,), ("--signal", value), "'{}' is not one letter of 'ABC'") for value in ("", "AB", "D", " ")),
    ((1, 2), ("--input", "ABC", "--sample_len", "3"), "--sample_len: not allowed with argument --input"),
    ((3,), ("--input", "ABC", "--signal", "A"), "--signal: not allowed with argument --input"),
    (ALL, ("--steps",), "expected one argument"),
    (ALL, ("--plot=yes",), "ignored explicit argument 'yes'"),
    (ALL, ("--step", "5"), "unrecognized arguments: --step 5"),
    (ALL, ("extra",), "unrecognized arguments: extra"),
    ((1, 3), ("--self_att",), "unrecognized arguments"),
    ((1, 2), ("--pos_enc",), "unrecognized arguments"),
]


@pytest.mark.parametrize(("tasks", "flags", "words"), WRONG)
def test_a_wrong_flag_is_refused_before_the_training(tasks, flags, words, tmp_path):
    for task in tasks:
        paths = (f"--savepath={tmp_path / 'models'}", "--plot", f"--plotpath={tmp_path / 'plots'}")
        completed = program.in_process(task, "--train", *paths, *flags)
        program.refused(completed, 2, words.format(flags[-1]))
        assert not completed.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize("task", program.FOLDERS)
def test_what_the_flags_alone_tell_does_not_wait_for_the_packages(task):
    """There are none for a Python without site-packages, which can run nothing but this."""
    python = (sys.executable, "-I", "-S")
    described = program.run(task, "--help", python=python)
    assert described.returncode == 0 and not described.stderr
    assert "--train" in described.stdout and program.load(task).TASK in described.stdout
    no_mode = program.run(task, "--steps", 5, python=python)
    assert (no_mode.returncode, no_mode.stdout, no_mode.stderr) == (2, described.stdout, "")
    program.refused(program.run(task, "--train", "--steps", "none", python=python), 2, "--steps", "'none'")
    program.refused(program.run(task, "--test", "--input", "ABÄ", python=python), 2, "--input", "'ABÄ'")


@pytest.mark.parametrize(
    ("variant", "flags", "words"),
    (
        ("1", ("--max_len", 11), ("--max_len", "was trained with 10, not 11")),
        ("1", ("--sample_len", 3, "--vocab_size", 4), ("--vocab_size", "was trained with 3, not 4")),
        ("1", ("--input", "ABD"), ("--input", "'ABD'", "' ABC'")),
        ("2", ("--self_att",), ("--self_att", "was trained with False, not True")),
        ("3 --pos_enc", ("--enc_layers", 0), ("--enc_layers", "was trained with 1, not 0")),
        ("3 --pos_enc", ("--input", "A" * 12), ("--input", "1 to 11 letters")),
        ("3 --pos_enc", ("--signal", "D"), ("--signal", "'D'", "'ABC'")),
    ),
)
def test_what_contradicts_the_saved_model_is_refused(variant, flags, words, trained):
    """And no advice leads to a command that would replace that model."""
    task, _ = program.VARIANTS[variant]
    completed = program.in_process(task, "--test", *flags, "--savepath", trained(variant).savepath)
    program.refused(completed, 2, *words)
    assert not completed.stdout and "--train" not in completed.stderr
    assert ("was trained with" not in words[1]) or "checkpoint.npz" in completed.stderr


def test_what_fits_the_saved_model_may_be_said_again(trained):
    flags = ("--test", "--self_att", "--max_len", 10, "--savepath", trained("2 --self_att").savepath)
    assert program.parse(program.output_of(2, *flags))["self_attention"]
