"""Every mistake gets one clear line, and nothing that was saved is lost."""

import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import hypothesis
import numpy as np
import program
import pytest
from hypothesis import strategies
from program import messages

DATA = "ckpt-2000.data-00000-of-00001"
INDEX = "ckpt-2000.index"


def refused(completed, status, *words):
    """Check that a run ended with this status and one line of its own, with these words in it."""
    *usage, line = messages(completed)
    assert completed.returncode == status
    assert re.fullmatch(r"main\.py: error: .+", line)
    assert "Traceback" not in completed.stderr
    assert not usage or (status == 2 and usage[0].startswith("usage: "))
    for word in words:
        assert str(word) in line, line


@pytest.fixture
def refuses(capfd):
    """Return a function that runs main(argv) in this process and checks it as `refused` does."""

    def check(task, *flags, status, words):
        with pytest.raises(SystemExit) as stopped:
            program.load(task).main([str(flag) for flag in flags])
        captured = capfd.readouterr()
        refused(subprocess.CompletedProcess(flags, stopped.value.code, *captured), status, *words)

    return check


def still_loads(savepath, task=1):
    """Check that --test works with the model in this folder."""
    module = program.load(task)
    model, _ = module.load_model(module.parse_arguments(["--test", "--savepath", str(savepath)]))
    assert all(np.isfinite(weight).all() for weight in model.weights)


# --- Input ------------------------------------------------------------------------------------------------

WHOLE = ("--steps", "--batchsize", "--hidden", "--max_len", "--vocab_size", "--print_every", "--save_every")
NOT_WHOLE = ("0", "-1", "1.5", "1e3", "nan", "inf", "", " ", "ten", "9" * 30, "0x10")
ALL = (1, 2, 3)
WRONG = [
    *((ALL, name, value) for name in WHOLE for value in NOT_WHOLE),
    *((ALL, "--seed", value) for value in ("-1", "1.5", "", "nan", str(2**32))),
    *((ALL, "--lr", value) for value in ("0", "-0.1", "nan", "inf", "-inf", "1e400", "1e-400", "", "fast")),
    (ALL, "--vocab_size", "27"),
    *((ALL, path, value) for path in ("--savepath", "--plotpath") for value in ("", " ")),
    *(((1, 2), "--sample_len", value) for value in ("0", "-3", "2.5", "", "nan", "100000000")),
    ((2,), "--vocab_size", "1"),
    *(((3,), "--signal", value) for value in ("", "AB", "1", " ", "Ä", "ß")),
    *(((3,), "--enc_layers", value) for value in ("-1", "0.5", "1000", "")),
    *((ALL, "--input", value) for value in ("", "A1", "A,B", "Ä", "ABC\n")),
    ((3,), "--input", "A B"),
]


@pytest.mark.parametrize(("tasks", "flag", "value"), WRONG)
def test_a_flag_refuses_what_makes_no_sense(tasks, flag, value, refuses):
    for task in tasks:
        for mode in ("--train", "--test"):
            refuses(task, mode, f"{flag}={value}", status=2, words=(f"argument {flag}: ", repr(value)))


@pytest.mark.parametrize(
    ("task", "flags", "words"),
    (
        (1, ("--input", "ABD"), ("--input", "'ABD'", "' ABC'")),
        (1, ("--vocab_size", 2, "--input", "ABC"), ("--input", "' AB'")),
        (1, ("--input", "ABC", "--sample_len", 4), ("--sample_len", "4")),
        (3, ("--signal", "D"), ("--signal", "'D'", "'ABC'")),
        (3, ("--input", "ABD"), ("--input", "'ABD'", "'ABC'")),
        (3, ("--input", "A" * 12), ("--input", "11")),
        (3, ("--max_len", 2, "--input", "ABCA"), ("--input", "3")),
        (3, ("--input", "ABC", "--signal", "B"), ("--signal", "'B'", "--input")),
    ),
)
def test_a_sample_that_does_not_fit_is_refused_before_the_training(task, flags, words, refuses, tmp_path):
    flags = ("--train", "--test", *flags, "--savepath", tmp_path / "models")
    refuses(task, *flags, status=2, words=words)
    assert not (tmp_path / "models").exists()


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
        ("3 --pos_enc", ("--input", "A" * 12), ("--input", "11")),
        ("3 --pos_enc", ("--signal", "D"), ("--signal", "'D'", "'ABC'")),
    ),
)
def test_what_contradicts_the_saved_model_is_refused(variant, flags, words, trained, refuses):
    task, _ = program.VARIANTS[variant]
    savepath = trained(variant).savepath
    refuses(task, "--test", *flags, "--savepath", savepath, status=2, words=words)
    still_loads(savepath, task)


def test_what_fits_the_saved_model_may_be_said_again(trained):
    module = program.load(2)
    savepath = str(trained("2 --self_att").savepath)
    for flags in (["--self_att", "--max_len", "10"], []):
        _, settings = module.load_model(module.parse_arguments(["--test", "--savepath", savepath, *flags]))
        assert settings == {"max_len": 10, "vocab_size": 3, "hidden": 64, "self_att": True}


@pytest.mark.parametrize("task", program.FOLDERS)
def test_no_command_line_ends_in_a_traceback(task, tmp_path_factory, monkeypatch):
    module = program.load(task)
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))  # Generated paths are folders that get created.
    names = [name for action in module.parser._actions for name in action.option_strings]
    paths = [str(tmp_path_factory.mktemp("folder")), "/dev/null", "/dev/null/below", "x" * 300]
    values = strategies.one_of(
        strategies.sampled_from([*NOT_WHOLE, *paths, "1", "10", "A", "AB BC", "--", "1e-2", "-"]),
        strategies.text(strategies.characters(exclude_characters="\0"), max_size=8),
        strategies.integers().map(str),
        strategies.floats().map(str),
    )
    words = strategies.one_of(
        strategies.sampled_from([*names, "--self_att", "--pos_enc", "--sample_len", "--signal", "--tr"]),
        values,
        strategies.builds("{}={}".format, strategies.sampled_from(names), values),
    )

    @hypothesis.given(strategies.lists(words, max_size=8))
    @hypothesis.settings(deadline=None, max_examples=1000, database=None)
    def check(argv):
        defaults = ["--savepath", paths[0], "--plotpath", paths[0]]
        try:
            arguments = module.parse_arguments([*defaults, *argv])
        except SystemExit as stopped:
            assert stopped.code in (0, 1, 2)
        else:
            assert arguments.train or arguments.test

    check()


# --- Files ------------------------------------------------------------------------------------------------


def truncate(path):
    """Keep the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    """Keep nothing of a file."""
    path.write_bytes(b"")


def garble(path):
    """Replace a file by as many random bytes."""
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def flip(path):
    """Change one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def replace_by_folder(path):
    """Put a folder where the file was."""
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("name", ("checkpoint", INDEX, DATA))
@pytest.mark.parametrize("spoil", (truncate, empty, garble, flip, os.remove, replace_by_folder))
def test_a_broken_checkpoint_is_named(name, spoil, savepath, refuses):
    spoil(savepath / name)
    # Without its index, TensorFlow does not see the checkpoint that the record names.
    named = "ckpt-2000" if name == DATA or name == INDEX and spoil is not os.remove else "checkpoint"
    refuses(1, "--test", "--savepath", savepath, status=1, words=(savepath / named, "--train"))


def test_a_broken_checkpoint_can_be_trained_over(savepath, refuses):
    truncate(savepath / DATA)
    program.load(1).main(["--train", "--steps", "3", "--savepath", str(savepath)])
    still_loads(savepath)
    garble(savepath / "checkpoint")
    flags = ("--train", "--steps", 3, "--savepath", savepath)
    refuses(1, *flags, status=1, words=(savepath / "checkpoint", "delete"))


def test_where_nothing_was_trained_it_says_so(tmp_path):
    completed = program.run(1, "--test", "--savepath", tmp_path / "models")
    refused(completed, 1, tmp_path / "models", "there is no model yet", "--train")
    assert not (tmp_path / "models").exists()


def test_a_file_in_place_of_the_folder_is_named(tmp_path, refuses):
    models = tmp_path / "models"
    models.write_text("mine")
    refuses(1, "--test", "--savepath", models, status=1, words=(models, "Not a directory"))
    refuses(1, "--train", "--savepath", models, status=1, words=(models, "File exists"))
    assert models.read_text() == "mine"


def test_the_model_of_another_task_is_refused(trained, refuses):
    savepath = trained("2").savepath
    refuses(1, "--test", "--savepath", savepath, status=1, words=(savepath / "ckpt-1000", "Counting Letters"))


@pytest.mark.parametrize("description", (None, "no JSON", json.dumps({"task": "Counting Letters"})))
def test_the_checkpoint_of_another_program_is_refused(description, tmp_path, refuses):
    tensorflow = program.load(1).tf
    values = {"weights": [tensorflow.Variable(1.0)]}
    if description:
        values["description"] = tensorflow.Variable(description)
    checkpoint = tensorflow.train.Checkpoint(**values)
    tensorflow.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=1).save(5)
    refuses(1, "--test", "--savepath", tmp_path, status=1, words=(tmp_path / "ckpt-5", "--train"))


def test_weights_that_do_not_fit_their_settings_are_refused(tmp_path, refuses):
    module = program.load(1)
    settings = {"max_len": 10, "vocab_size": 3, "hidden": 64}
    module.make_manager(module.AttentionModel(hidden=32), settings, tmp_path).save(1)
    refuses(1, "--test", "--savepath", tmp_path, status=1, words=(tmp_path / "ckpt-1",))


@pytest.mark.parametrize("flag", ("--savepath", "--plotpath"))
def test_a_folder_that_cannot_be_written_is_refused_before_the_training(flag, savepath):
    parent = savepath / "checkpoint"
    other = () if flag == "--savepath" else ("--savepath", savepath)
    completed = program.run(1, "--train", "--plot", flag, parent / "below", *other)
    refused(completed, 1 if flag == "--savepath" else 2, flag, parent / "below", "Not a directory")
    assert not completed.stdout
    still_loads(savepath)


def test_a_read_only_folder_is_refused(tmp_path):
    """An unprivileged user meets a folder that belongs to somebody else."""
    if os.geteuid() == 0:
        completed = program.run(1, "--train", "--savepath", "/proc/models")
        refused(completed, 1, "--savepath", "/proc/models", "No such file or directory")
    else:
        tmp_path.chmod(0o500)
        completed = program.run(1, "--train", "--savepath", tmp_path / "models")
        refused(completed, 1, "--savepath", tmp_path / "models", "Permission denied")


@pytest.fixture
def small_disk(tmp_path):
    """Return a function that mounts a tmpfs of so many bytes and returns its folder."""
    mounted = []

    def mount(size):
        folder = tmp_path / f"disk{size}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("mounting a tmpfs is not permitted here")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_disk_that_is_full_at_the_start(small_disk):
    folder = small_disk(65536)
    with (folder / "filler").open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    completed = program.run(1, "--train", "--savepath", folder)
    refused(completed, 1, "--savepath", folder, "No space left on device")
    assert not completed.stdout


def test_a_disk_that_fills_up_in_the_middle(small_disk, savepath):
    folder = small_disk(131072)
    shutil.copytree(savepath, folder / "models")
    with (folder / "filler").open("wb", buffering=0) as file:
        file.write(bytes(131072 - 36864 - sum(path.stat().st_size for path in savepath.iterdir())))
    flags = ("--train", "--steps", 60, "--save_every", 30, "--hidden", 256, "--savepath", folder / "models")
    completed = program.run(1, *flags)
    refused(completed, 1, "--savepath", folder / "models", "No space left on device")
    still_loads(folder / "models")


def test_a_limit_on_the_size_of_files(savepath):
    """Where mounting is not possible, RLIMIT_FSIZE makes the same write fail."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    flags = ("--train", "--steps", 60, "--hidden", 256, "--savepath", savepath)
    completed = program.run(1, *flags, preexec_fn=limit)
    refused(completed, 1, "--savepath", savepath, "File too large")
    still_loads(savepath)


def test_an_image_that_cannot_be_written_leaves_the_old_one(tmp_path, refuses, monkeypatch):
    (tmp_path / "loss.png").write_text("old")
    (tmp_path / "loss.part").mkdir()
    flags = ("--train", "--steps", 1, "--plot", "--savepath", tmp_path, "--plotpath", tmp_path)
    refuses(1, *flags, status=1, words=(tmp_path / "loss.png", "directory"))
    assert (tmp_path / "loss.png").read_text() == "old"


# --- Signals ----------------------------------------------------------------------------------------------


def start(*flags, task=1, **options):
    """Start a training and return its subprocess.Popen."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen(program.command(task, "--train", *flags), **options)


def finish(process):
    """Wait for a process and return its subprocess.CompletedProcess."""
    stdout, stderr = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
def test_a_signal_saves_the_last_finished_step(number, savepath):
    process = start("--steps", 10**6, "--save_every", 10**6, "--print_every", 10, "--savepath", savepath)
    for _ in range(5):
        line = process.stdout.readline()
    process.send_signal(number)
    completed = finish(process)
    assert completed.returncode == 128 + number
    assert messages(completed) == [f"main.py: stopped by {number.name}"]
    step = int(re.findall(r"ckpt-(\d+)\.$", completed.stdout.strip())[0])
    assert step >= int(line.split()[1]) and step % 10 == 0
    assert (savepath / f"ckpt-{step}.index").exists()
    still_loads(savepath)


@pytest.mark.parametrize("delay", (0.3, 1.0, 1.8))
def test_a_signal_before_the_first_step_ends_quietly(delay, savepath):
    process = start("--steps", 10**6, "--savepath", savepath)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    completed = finish(process)
    assert completed.returncode == 130
    assert messages(completed) == ["main.py: stopped by SIGINT"]
    still_loads(savepath)


def test_a_closed_pipe_ends_quietly(trained):
    commands = (("--train", "--steps", 500, "--print_every", 1), ("--test",))
    for flags in commands:
        words = [*program.command(1, *flags), "--savepath", str(trained("1").savepath)]
        if "--train" in flags:
            words[-1] += "-piped"
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as left:
            left.stdout.readline()
            left.stdout.close()
            completed = subprocess.CompletedProcess(words, None, "", left.stderr.read())
        assert not messages(completed)


def kills(savepath, count, seed):
    """Kill trainings at random instants; return how many kills fell into a save.

    Each has to leave a model that loads, if there was one before or if a checkpoint had been completed.
    """
    generator = random.Random(seed)
    in_save = 0
    for _ in range(count):
        process = start("--steps", 10**6, "--save_every", 1, "--print_every", 1, "--savepath", savepath)
        for _ in range(2):
            process.stdout.readline()
        time.sleep(generator.uniform(0, 0.3))
        process.kill()
        process.communicate()
        newest = re.search(r'"ckpt-(\d+)"', (savepath / "checkpoint").read_text())
        indices = {int(path.stem[5:]) for path in savepath.glob("ckpt-*.index")}
        unfinished = [*savepath.glob("*temp*"), *savepath.glob("*.tmp*")]
        files = {int(path.name[5:].split(".")[0]) for path in savepath.glob("ckpt-*.*")}
        in_save += bool(unfinished or files != {int(newest[1])} or files != indices)
        still_loads(savepath)
        for path in savepath.iterdir():  # What an unfinished save leaves would be counted again.
            if path.name != "checkpoint" and not path.name.startswith(f"ckpt-{newest[1]}."):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    return in_save


def test_a_kill_at_any_instant_leaves_the_last_complete_checkpoint(savepath):
    kills(savepath, count=4, seed=1)


@pytest.mark.slow
def test_a_hundred_kills(savepath):
    in_save = kills(savepath, count=100, seed=2)
    print(f"{in_save} of 100 kills fell into a save")
    assert in_save > 0


def test_a_kill_before_the_first_checkpoint(tmp_path):
    process = start("--steps", 10**6, "--save_every", 10**6, "--savepath", tmp_path / "models")
    process.stdout.readline()
    process.kill()
    process.communicate()
    completed = program.run(1, "--test", "--savepath", tmp_path / "models")
    refused(completed, 1, tmp_path / "models", "there is no model yet")


def test_an_old_model_of_the_same_step_stays_until_the_new_one_is_complete(tmp_path, monkeypatch):
    """At every call that changes a file, the folder holds a model that loads: the old one or the new one."""
    module = program.load(1)
    settings = {"max_len": 10, "vocab_size": 3, "hidden": 64}
    old, new = module.AttentionModel(**settings), module.AttentionModel(**settings)
    module.save_model(module.make_manager(old, settings, tmp_path), 5)
    manager = module.make_manager(new, settings, tmp_path)
    seen = []

    def look():
        arguments = module.parse_arguments(["--test", "--savepath", str(tmp_path)])
        model, _ = module.load_model(arguments)
        for name, candidate in (("old", old), ("new", new)):
            pairs = zip(model.weights, candidate.weights, strict=True)
            if all((one == other).numpy().all() for one, other in pairs):
                seen.append(name)

    write = manager.checkpoint._write

    def write_and_look(*arguments, **options):
        look()
        result = write(*arguments, **options)
        look()
        return result

    monkeypatch.setattr(manager.checkpoint, "_write", write_and_look)
    assert pathlib.Path(module.save_model(manager, 5)).name == "ckpt-5"
    look()
    assert seen[0] == "old" and len(seen) == 5 and seen == sorted(seen, reverse=True)


def test_a_full_disk_under_the_output(trained):
    with pathlib.Path("/dev/full").open("w") as full:
        flags = ("--test", "--savepath", trained("1").savepath)
        completed = program.run(1, *flags, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    refused(completed, 1, "standard output", "No space left on device")


# --- Loads ------------------------------------------------------------------------------------------------


def test_a_loss_that_is_not_a_number_keeps_the_last_good_checkpoint(savepath, refuses):
    flags = ("--train", "--lr", "1e30", "--save_every", 1, "--savepath", savepath)
    refuses(1, *flags, status=1, words=("not a number", "--lr"))
    still_loads(savepath)
    assert (savepath / INDEX).exists()


def test_what_does_not_fit_into_memory_is_refused(savepath):
    completed = program.run(1, "--train", "--batchsize", 10**5, "--hidden", 10**4, "--savepath", savepath)
    refused(completed, 1, "memory", "--batchsize", "--max_len", "--hidden")
    still_loads(savepath)


@pytest.mark.parametrize("sizes", ((100, 10), (10000, 10), (100, 10000), (100000, 60)))
def test_the_data_of_one_call_is_bounded(sizes, tmp_path, monkeypatch):
    """However many steps are asked for, their letters stay within LARGEST numbers."""
    module = program.load(1)
    flags = ["--train", f"--savepath={tmp_path}", f"--batchsize={sizes[0]}", f"--max_len={sizes[1]}"]
    flags += [f"--{name}={10**9}" for name in ("steps", "print_every", "save_every")]
    monkeypatch.setattr(module.tf, "function", lambda function, **_: lambda *_: None)  # Compile nothing.
    _, buffer = module.compile_training(None, None, module.Task(sizes[1]), module.parse_arguments(flags))
    assert buffer.shape[1:] == sizes
    assert buffer.size <= module.LARGEST


def test_memory_does_not_grow_with_the_steps(tmp_path):
    """The resident memory after 3,000 steps is that after 1,000, up to a tenth."""
    process = start("--steps", 10**6, "--print_every", 500, "--save_every", 1000, "--savepath", tmp_path)
    resident = []
    for _ in range(6):
        process.stdout.readline()
        status = pathlib.Path(f"/proc/{process.pid}/status")
        if not status.exists():
            pytest.skip("there is no /proc here")
        resident.append(int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1]))
    process.kill()
    process.communicate()
    assert resident[-1] < 1.1 * resident[1]
