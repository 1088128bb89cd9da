"""Signals and pipes: an early end is silent, a late one saves, and nothing is left as it was not before."""

import contextlib
import io
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import numpy as np
import program
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

BOTH = (signal.SIGINT, signal.SIGTERM)
LONG = ("--train", "--steps", 10**6, "--save_every", 10**6)


def killed_by(completed, number):
    """Check that a run ended with the status of a signal."""
    assert completed.returncode in (-number, 128 + number), completed


def wait_for_start(process):
    """Wait until main.py has begun: Python sets a handler of SIGINT, and main.py takes it away."""
    status = pathlib.Path(f"/proc/{process.pid}/status")
    if not status.exists():
        time.sleep(0.3)
        return
    seen, deadline = False, time.monotonic() + 20
    while time.monotonic() < deadline:
        caught = int(re.search(r"SigCgt:\s+(\w+)", status.read_text())[1], 16) >> signal.SIGINT - 1 & 1
        if seen and not caught:
            return
        seen = seen or bool(caught)
        time.sleep(0.001)
    process.kill()
    raise TimeoutError("main.py does not begin")


@pytest.mark.parametrize("number", BOTH)
@pytest.mark.parametrize("delay", (0, 0.02, 0.1, 0.5, 1.2))
def test_a_signal_during_the_imports_ends_silently(number, delay, savepath):
    before = (savepath / "checkpoint.npz").read_bytes()
    process = program.start(*LONG, "--savepath", savepath)
    wait_for_start(process)
    time.sleep(delay)
    process.send_signal(number)
    completed = program.finish(process)
    killed_by(completed, number)
    assert not completed.stdout and not program.messages(completed)
    assert (savepath / "checkpoint.npz").read_bytes() == before


def test_a_signal_during_a_long_compilation_ends_at_once(tmp_path):
    flags = (*LONG, "--enc_layers", 100, "--hidden", 256, "--savepath", tmp_path)
    process = program.start(*flags, task=3)
    wait_for_start(process)
    time.sleep(8)  # The imports are over, and the compilation takes longer.
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    completed = program.finish(process)
    assert time.monotonic() - sent < 5
    killed_by(completed, signal.SIGINT)
    assert not completed.stdout and not program.messages(completed)
    assert not list(tmp_path.iterdir())


def check_stopped(completed, number, savepath):
    """Check that a training ended by a signal has saved its last step and says so on standard error."""
    killed_by(completed, number)
    (line,) = program.messages(completed)
    step = int(re.fullmatch(r"main\.py: stopped; step (\d+) is saved in (.+)", line)[1])
    assert line.endswith(f" {savepath / 'checkpoint.npz'}")
    arrays, description = program.contents(savepath)
    assert description["step"] == step
    assert program.same(program.loaded(savepath)[0], arrays)
    return step


@pytest.mark.parametrize("number", BOTH)
def test_a_signal_saves_the_last_finished_step(number, savepath):
    process = program.start(*LONG, "--print_every", 10, "--savepath", savepath)
    for _ in range(5):
        line = process.stdout.readline()
    process.send_signal(number)
    completed = program.finish(process)
    step = check_stopped(completed, number, savepath)
    assert step >= int(line.split()[1]) and step % 10 == 0
    assert "Training complete" not in completed.stdout


def finish_unread(process, *signals):
    """Close the standard output of a process, send it these signals, and wait as `program.finish` does."""
    process.stdout.readline()
    process.stdout.close()
    for number in signals:
        process.send_signal(number)
    with process.stderr:
        stderr = process.stderr.read()
    return subprocess.CompletedProcess(process.args, process.wait(60), "", stderr)


def test_under_a_pipe_that_dies_too_what_was_saved_is_still_said(savepath):
    """As with `| tee`, which Ctrl-C ends as well."""
    process = program.start(*LONG, "--print_every", 2000, "--savepath", savepath)
    completed = finish_unread(process, signal.SIGINT)
    check_stopped(completed, signal.SIGINT, savepath)


@pytest.mark.parametrize("flags", (("--train", "--steps", 5000, "--print_every", 1), ("--test",)))
def test_a_reader_that_reads_no_more_ends_it_quietly(flags, savepath):
    """As with `| head -1`. A training saves what it has."""
    completed = finish_unread(program.start(*flags, "--savepath", savepath))
    killed_by(completed, signal.SIGPIPE)
    assert not program.messages(completed)
    assert (program.contents(savepath)[1]["step"] < 2000) == ("--train" in flags)


# --- From Python ------------------------------------------------------------------------------------------


class Signalling(io.StringIO):
    """A standard output that sends this process a signal after some loss line, as a user might."""

    number, line, spoil = signal.SIGINT, "Iteration 2 ", staticmethod(lambda: None)

    def write(self, text):
        if text.startswith(self.line):
            self.spoil()
            signal.raise_signal(self.number)
        return super().write(text)


def train(savepath, *flags, output=None):
    """Train with main(argv) in this process, printing each loss to this output."""
    flags = ("--train", "--steps", 10, "--print_every", 1, "--savepath", savepath, *flags)
    with contextlib.redirect_stdout(output or io.StringIO()):
        program.load(1).main([str(flag) for flag in flags])


@pytest.fixture
def signalling():
    """Return a standard output that sends a signal."""
    return Signalling()


def test_a_signal_is_handed_on_to_the_handler_that_was_there(signalling, tmp_path, capfd):
    called = []

    def handler(number, frame):
        called.append((number, program.contents(tmp_path)[1]["step"]))
        raise LookupError

    signalling.number = signal.SIGTERM
    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(LookupError):
            train(tmp_path, output=signalling)
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert called == [(signal.SIGTERM, 2)]
    assert f"main.py: stopped; step 2 is saved in {tmp_path}" in capfd.readouterr().err


def test_ctrl_c_is_a_keyboard_interrupt_and_the_model_is_saved(signalling, tmp_path):
    handlers = [signal.getsignal(number) for number in BOTH]
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, output=signalling)
    assert program.contents(tmp_path)[1]["step"] == 2
    assert "Iteration 3" not in signalling.getvalue() and "complete" not in signalling.getvalue()
    assert handlers == [signal.getsignal(number) for number in BOTH]


def test_the_second_signal_has_its_default_action():
    """That is, it ends the program at once; here it is only looked at."""
    with pytest.raises(KeyboardInterrupt), program.load(1).noted_signals() as noted:
        assert all(callable(signal.getsignal(number)) for number in BOTH)
        signal.raise_signal(signal.SIGINT)
        assert noted == [signal.SIGINT]
        assert [signal.getsignal(number) for number in BOTH] == [signal.SIG_DFL] * 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_weights_that_are_not_finite_replace_nothing_on_the_way_of_a_signal(
    signalling, savepath, capfd, monkeypatch
):
    before, module, models = (savepath / "checkpoint.npz").read_bytes(), program.load(1), []

    class Remembered(module.AttentionModel):
        def __init__(self, **settings):
            super().__init__(**settings)
            models.append(self)

    monkeypatch.setattr(module, "AttentionModel", Remembered)
    signalling.spoil = lambda: models[0].weights[-1].assign([np.inf] * 11)
    with pytest.raises(SystemExit) as stopped:
        train(savepath, output=signalling)
    completed = subprocess.CompletedProcess((), stopped.value.code, *capfd.readouterr())
    program.refused(completed, 1, "a weight is not a number any more after step 2", "try --lr 0.001")
    assert (savepath / "checkpoint.npz").read_bytes() == before


def test_main_works_from_a_thread(tmp_path):
    thread = threading.Thread(target=train, args=(tmp_path,))
    thread.start()
    thread.join(120)
    arrays, description = program.contents(tmp_path)
    assert description["step"] == 10 and all(np.isfinite(array).all() for array in arrays.values())
