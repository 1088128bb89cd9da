"""Flags: what is refused, in one line and before anything is done, and what is said to be ignored."""

import pathlib
import re
import subprocess
import sys

import hypothesis
import program
import pytest
from hypothesis import strategies

WHOLE = ("--steps", "--batchsize", "--hidden", "--max_len", "--vocab_size", "--print_every", "--save_every")
NOT_WHOLE = ("0", "-1", "1.5", "1e3", "nan", "inf", "", " ", "ten", "9" * 30, "0x10", "1_0", "１", "٣", "--")
ALL = (1, 2, 3)
FOREIGN = ("Ä", "ß", "ı", "ſ", "Ａ", "--")
WRONG = [
    *((ALL, name, value) for name in WHOLE for value in NOT_WHOLE),
    *((ALL, "--seed", value) for value in ("-1", "1.5", "", "nan", "1_0", "--", str(2**32))),
    *((ALL, "--lr", value) for value in ("0", "-0.1", "nan", "inf", "1e400", "1e-400", "", "1_0", "０.1")),
    (ALL, "--vocab_size", "27"),
    *((ALL, path, value) for path in ("--savepath", "--plotpath") for value in ("", " ", "--", "a\0b")),
    *(((1, 2), "--sample_len", value) for value in ("0", "-3", "2.5", "", "nan", "100000000", "1_0", "--")),
    ((2,), "--vocab_size", "1"),
    *(((3,), "--signal", value) for value in ("", "AB", "1", " ", *FOREIGN)),
    *(((3,), "--enc_layers", value) for value in ("-1", "0.5", "1000", "", "1_0", "１")),
    *((ALL, "--input", value) for value in ("", "A1", "A,B", "ABC\n", *FOREIGN)),
    ((3,), "--input", "A B"),
]


@pytest.mark.parametrize(("tasks", "flag", "value"), WRONG)
def test_a_flag_refuses_what_makes_no_sense(tasks, flag, value, refuses):
    shown = repr("" if value == "--" else value).replace("\\", "")  # An escape may itself be escaped.
    for task in tasks:
        for mode in ("--train", "--test"):
            completed = refuses(task, mode, f"{flag}={value}", status=2, words=(f"argument {flag}: ",))
            assert shown in completed.stderr.replace("\\", "")
            assert not completed.stdout


@pytest.mark.parametrize("mode", ("--train", "--test", "--plot"))
def test_a_mode_takes_no_value(mode, refuses):
    for task in ALL:
        for value in ("", "1", "--"):
            refuses(task, f"{mode}={value}", status=2, words=(mode,))


@pytest.mark.parametrize(
    ("task", "flags", "words"),
    (
        (1, ("--input", "ABD"), ("--input", "'ABD'", "' ABC'")),
        (1, ("--vocab_size", 2, "--input", "ABC"), ("--input", "' AB'")),
        (1, ("--input", "ABC", "--sample_len", 4), ("--sample_len", "4", "--input")),
        (2, ("--input", "ABC", "--sample_len", 2), ("--sample_len", "2", "--input")),
        (3, ("--signal", "D"), ("--signal", "'D'", "'ABC'")),
        (3, ("--input", "ABD"), ("--input", "'ABD'", "'ABC'")),
        (3, ("--input", "A" * 12), ("--input", "11")),
        (3, ("--max_len", 2, "--input", "ABCA"), ("--input", "3")),
        (3, ("--input", "ABC", "--signal", "B"), ("--signal", "'B'", "--input")),
    ),
)
@pytest.mark.parametrize("modes", (("--train",), ("--train", "--test")), ids="".join)
def test_a_sample_that_contradicts_is_refused_before_the_training(
    task, flags, words, modes, refuses, tmp_path
):
    paths = ("--savepath", tmp_path / "models", "--plot", "--plotpath", tmp_path / "plots")
    completed = refuses(task, *modes, *flags, *paths, status=2, words=words)
    assert not completed.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("task", "flags"),
    (
        (1, ("--self_att",)),
        (1, ("--signal", "A")),
        (2, ("--pos_enc",)),
        (2, ("--signal", "A")),
        (3, ("--self_att",)),
        (3, ("--sample_len", 5)),
        (2, ("--self",)),
        (3, ("--pos",)),
        (1, ("--step", 5)),
        (1, ("extra",)),
    ),
)
def test_flags_of_another_task_and_abbreviations_are_refused(task, flags, refuses):
    refuses(task, "--train", *flags, status=2, words=("unrecognized arguments", flags[0]))


@pytest.mark.parametrize(
    ("variant", "flags", "words"),
    (
        ("2", ("--self_att",), ("--self_att", "True", "False", "--train --self_att")),
        ("3", ("--pos_enc",), ("--pos_enc", "True", "False", "--train --pos_enc")),
        ("3 --pos_enc", ("--enc_layers", 0), ("--enc_layers", "0", "1", "--train --enc_layers 0")),
        ("1", ("--max_len", 11), ("--max_len", "11", "10", "--train --max_len 11")),
        ("1", ("--hidden", 32), ("--hidden", "32", "64", "--train --hidden 32")),
        ("1", ("--vocab_size", 4), ("--vocab_size", "4", "3")),
        ("1", ("--input", "ABD"), ("--input", "'ABD'", "' ABC'")),
        ("1", ("--input", "ABC", "--sample_len", 4), ("--sample_len", "4", "--input")),
        ("3 --pos_enc", ("--input", "A" * 12), ("--input", "11")),
        ("3 --pos_enc", ("--signal", "D"), ("--signal", "'D'", "'ABC'")),
    ),
)
def test_what_contradicts_the_saved_model_is_refused(variant, flags, words, trained, refuses):
    """Where a new training helps, the advice repeats the flags and the folder that were given."""
    task, _ = program.VARIANTS[variant]
    savepath = trained(variant).savepath
    advice = [] if flags[0] in ("--input", "--signal") else [f"--savepath {savepath}"]
    refuses(task, "--test", *flags, "--savepath", savepath, status=2, words=[*words, *advice])
    program.loaded(savepath, task)


def test_what_fits_the_saved_model_may_be_said_again(trained):
    module = program.load(2)
    savepath = str(trained("2 --self_att").savepath)
    for flags in (["--self_att", "--max_len", "10"], []):
        _, settings = module.load_model(module.parse_arguments(["--test", "--savepath", savepath, *flags]))
        assert settings == {"max_len": 10, "vocab_size": 3, "hidden": 64, "self_att": True}


@pytest.mark.parametrize(
    ("variant", "flags", "ignored"),
    (
        ("1", ("--test", "--steps", 5, "--lr=0.1", "--batchsize", 2), ("steps", "lr", "batchsize")),
        ("2", ("--test", "--print_every", 1, "--save_every=2"), ("print_every", "save_every")),
        ("1", ("--test", "--plotpath", "nowhere"), ("plotpath",)),
        ("1", ("--train", "--steps", 1, "--sample_len", 3, "--input", "ABC"), ("sample_len", "input")),
        ("3", ("--train", "--steps", 1, "--signal", "A"), ("signal",)),
        ("1", ("--test", "--seed", 1, "--sample_len", 3), ()),
    ),
)
def test_flags_without_a_meaning_are_said_to_be_ignored(variant, flags, ignored, trained, tmp_path, capfd):
    task, _ = program.VARIANTS[variant]
    savepath = tmp_path if "--train" in flags else trained(variant).savepath
    program.load(task).main([*map(str, flags), "--savepath", str(savepath)])
    captured = capfd.readouterr()
    lines = program.messages(subprocess.CompletedProcess(flags, 0, *captured))
    assert sorted(re.findall(r"main\.py: --(\w+) .+ is ignored", "\n".join(lines))) == sorted(ignored)
    assert len(lines) == len(ignored) and "ignored" not in captured.out


def check_command_line(module, argv, capfd):
    """Check that a command line is either taken, with flags in range, or refused in one line."""
    try:
        arguments = module.parse_arguments(argv)
    except SystemExit as stopped:
        captured = capfd.readouterr()
        if captured.out:
            assert captured.out.startswith("usage: main.py") and not captured.err
            assert stopped.code in (0, 2)
        else:
            program.refused(subprocess.CompletedProcess(argv, stopped.code, *captured), 2)
    else:
        assert arguments.train or arguments.test
        for name, (least, most) in module.SETTINGS.items():
            assert least <= getattr(arguments, name) <= most
        assert 1e-38 <= arguments.lr <= 1e38 and min(arguments.steps, arguments.batchsize) >= 1
        assert isinstance(arguments.savepath, pathlib.Path) and "\0" not in str(arguments.savepath)
        assert arguments.input is None or re.fullmatch("[A-Za-z ]+", arguments.input)


@pytest.mark.parametrize("task", program.FOLDERS)
def test_every_command_line_is_taken_or_refused_in_one_line(task, examples, capfd, monkeypatch):
    module = program.load(task)
    monkeypatch.setattr(sys, "argv", ["main.py"])
    names = [name for action in module.parser._actions for name in action.option_strings]
    known = [*NOT_WHOLE, *FOREIGN, "/dev/null", "x" * 300, "1", "10", "A", "AB BC", "1e-2", "-", "~", "a\0b"]
    values = strategies.one_of(
        strategies.sampled_from([*known, "\udcff", "\x1b[31m", "\n"]),
        strategies.text(max_size=8),
        strategies.integers().map(str),
        strategies.integers(1, 30).map(str),
        strategies.floats().map(str),
    )
    pairs = strategies.builds("{}={}".format, strategies.sampled_from(names), values)
    modes = strategies.sampled_from(["--train", "--test", "--plot"])
    others = strategies.sampled_from([*names, "--self_att", "--pos_enc", "--sample_len", "--signal", "--tr"])

    @hypothesis.given(strategies.lists(strategies.one_of(modes, pairs, others, values), max_size=8))
    @hypothesis.settings(deadline=None, max_examples=examples, database=None)
    def check(argv):
        check_command_line(module, argv, capfd)

    check()


test_every_command_line_is_taken_or_refused_in_one_line.examples = (1000, 10000)


@pytest.mark.parametrize("task", program.FOLDERS)
def test_help_and_wrong_flags_answer_without_tensorflow(task, tmp_path):
    for package in ("tensorflow", "numpy", "matplotlib"):
        (tmp_path / f"{package}.py").write_text("raise SystemExit('a package was imported')")
    environment = {"PYTHONPATH": str(tmp_path)}
    described = program.run(task, "--help", env=environment)
    assert described.returncode == 0 and not described.stderr
    assert described.stdout.startswith("usage: main.py")
    no_mode = program.run(task, env=environment)
    assert no_mode.returncode == 2 and no_mode.stdout == described.stdout and not no_mode.stderr
    wrong = program.run(task, "--train", "--steps", "none", env=environment)
    program.refused(wrong, 2, "argument --steps", "'none'")
    assert not wrong.stdout
    imported = program.run(task, "--test", env=environment)
    assert "a package was imported" in imported.stderr


@pytest.mark.parametrize("flags", (("--help",), ()))
def test_help_that_cannot_be_written_is_said(flags):
    if not pathlib.Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with pathlib.Path("/dev/full").open("w") as full:
        completed = program.run(1, *flags, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    program.refused(completed, 1, "standard output")
