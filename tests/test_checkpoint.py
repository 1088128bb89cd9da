"""The checkpoint: what is in it, where it may lie, and that no model is lost and none is made up."""

import contextlib
import io
import json
import os
import pathlib
import pickle
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

import hypothesis
import numpy as np
import program
import pytest
from hypothesis import strategies

SETTINGS = {"max_len": 10, "vocab_size": 3, "hidden": 64}
LAYER_NORM = ("layer_norm/beta", "layer_norm/gamma")
NAMES = {
    "1": ["query", "key_layer/bias", "key_layer/kernel", *(f"attention/{name}" for name in LAYER_NORM)],
    "3 --pos_enc": [
        *("query", "positional_encoding", "embedding/bias", "embedding/kernel"),
        *(f"attention/{name}" for name in LAYER_NORM),
        *(f"encoder_layer_1/attention/{name}" for name in LAYER_NORM),
        *(
            f"encoder_layer_1/{layer}/{kind}"
            for layer in ("expand", "contract")
            for kind in ("bias", "kernel")
        ),
        *(f"encoder_layer_1/{name}" for name in LAYER_NORM),
    ],
}


@contextlib.contextmanager
def within(seconds):
    """Fail if what is done in this context takes longer, as where it waits for a pipe for ever."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("there is no setitimer here")

    def late(number, frame):
        raise TimeoutError(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def train(savepath, *flags, steps=1):
    """Train Task 1 for a moment and return what is printed."""
    return program.in_process(1, "--train", "--steps", steps, "--savepath", savepath, *flags)


# --- What is in it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", NAMES)
def test_numpy_alone_can_look_inside(variant, trained):
    task, flags = program.VARIANTS[variant]
    arrays, description = program.contents(trained(variant).savepath)
    assert sorted(arrays) == sorted([*NAMES[variant], "logits_layer/bias", "logits_layer/kernel"])
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays.values())
    own = {"pos_enc": True, "enc_layers": 1} if task == 3 else {}
    assert description["settings"] == SETTINGS | own
    assert description["step"] == 2000 and description["task"] == program.load(task).TASK
    assert sorted(description) == ["settings", "step", "task"]


def test_what_is_loaded_is_what_was_saved(trained):
    for variant, (task, _) in program.VARIANTS.items():
        arrays, description = program.contents(trained(variant).savepath)
        weights, settings = program.loaded(trained(variant).savepath, task)
        assert program.same(weights, arrays) and settings == description["settings"]


@pytest.mark.parametrize("steps", (7, 20))
def test_the_step_is_that_of_the_last_save(steps, tmp_path):
    train(tmp_path, "--save_every", 3, "--print_every", 50, steps=steps)
    assert program.contents(tmp_path)[1]["step"] == steps
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_it_is_flushed_to_the_disk_before_it_takes_the_place_of_the_old_one(savepath, monkeypatch):
    module = program.load(1)
    calls = []

    def watch(owner, name):
        usual = getattr(owner, name)

        def watched(*arguments):
            program.loaded(savepath)  # At each of these instants there is a complete model.
            calls.append(name)
            result = usual(*arguments)
            program.loaded(savepath)
            return result

        monkeypatch.setattr(owner, name, watched)

    for owner, name in ((os, "fsync"), (pathlib.Path, "replace")):
        watch(owner, name)
    module.save_model(module.AttentionModel(**SETTINGS), SETTINGS, 3, savepath)
    assert calls == ["fsync", "replace"]
    assert program.contents(savepath)[1]["step"] == 3


# --- Where it may lie -------------------------------------------------------------------------------------

PATTERNS = (
    "run[1]",
    "run?",
    "run*",
    "[run",
    "run]",
    "[!r]un",
    "r[a-z]n1",
    "run{1}",
    "run\\1",
    "%s run1",
    "-run",
)


@pytest.mark.parametrize("name", PATTERNS)
def test_a_path_is_taken_literally(name, savepath, tmp_path):
    if os.name == "nt" and set(name) & set("?*\\"):
        pytest.skip("no file may have this name here")
    shutil.copytree(savepath, tmp_path / "run1")
    (tmp_path / "run1" / "notes.txt").write_text("mine")
    train(tmp_path / name, f"--savepath={tmp_path / name}")
    assert program.contents(tmp_path / name)[1]["step"] == 1
    assert program.same(*(program.loaded(tmp_path / folder)[0] for folder in ("models", "run1")))
    assert sorted(path.name for path in (tmp_path / "run1").iterdir()) == ["checkpoint.npz", "notes.txt"]
    assert program.parse(program.in_process(1, "--test", "--savepath", tmp_path / name))


def test_the_folder_of_the_program_may_have_any_name(tmp_path):
    if os.name == "nt":
        pytest.skip("no folder may have such a name here")
    folder = tmp_path / "a [1]*?\\ñ"
    folder.mkdir()
    shutil.copy(program.script(1), folder)
    words = [sys.executable, "main.py", "--train", "--test", "--plot", "--steps", "1"]
    completed = subprocess.run(words, cwd=folder, capture_output=True, encoding="utf-8", timeout=120)
    assert completed.returncode == 0 and not program.messages(completed)
    assert "Model saved to models/checkpoint.npz.\nInput: \n" in completed.stdout
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert found == ["main.py", "models/checkpoint.npz", *(f"plots/{name}.png" for name in PLOTS)]


PLOTS = ("encoder_decoder_attention", "loss")


def test_paths_are_shown_from_where_the_user_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train("here/models").endswith("Model saved to here/models/checkpoint.npz.\n")
    assert (tmp_path / "here" / "models" / "checkpoint.npz").is_file()
    arguments = program.load(1).parse_arguments(["--test"])
    assert arguments.savepath == program.script(1).parent / "models"
    assert arguments.plotpath == program.script(1).parent / "plots"


def test_a_tilde_is_the_home_of_the_user(tmp_path, monkeypatch):
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    train("~/models")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.npz")] == ["models/checkpoint.npz"]
    assert program.parse(program.in_process(1, "--test", "--savepath=~/models"))


# --- What is no model -------------------------------------------------------------------------------------


def test_where_nothing_was_trained_it_says_so_and_leaves_nothing(tmp_path, refuses):
    flags = ("--hidden", 32, "--savepath", tmp_path / "models")
    advice = f"python3 main.py --train --hidden 32 --savepath {tmp_path / 'models'}"
    refuses(1, "--test", *flags, status=1, words=("there is no model yet", tmp_path / "models", advice))
    refuses(3, "--test", status=1, words=("there is no model yet", "with: python3 main.py --train"))
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_the_earlier_format_is_no_model_yet_and_is_left_alone(tmp_path, refuses):
    tensorflow = program.load(1).tf
    checkpoint = tensorflow.train.Checkpoint(weights=[tensorflow.Variable(1.0)])
    tensorflow.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=1).save(5)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    refuses(1, "--test", "--savepath", tmp_path, status=1, words=("there is no model yet", "--train"))
    train(tmp_path)
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(after) - set(before) == {"checkpoint.npz"} and before.items() <= after.items()


def test_the_model_of_another_task_is_refused(trained, refuses):
    words = (trained("2").savepath / "checkpoint.npz", "Counting Letters", "another task", "--train")
    refuses(1, "--test", "--savepath", trained("2").savepath, status=1, words=words)


def make_pipe(path):
    """Make a named pipe, which a reader waits for."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes here")
    os.mkfifo(path)


def make_huge(path):
    """Make a file of a terabyte without content."""
    with path.open("wb") as file:
        try:
            file.truncate(2**40)
        except OSError as error:
            pytest.skip(f"no such file here: {error}")


def make_device(path):
    """Make a link to a file that never ends."""
    if not pathlib.Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero here")
    path.symlink_to("/dev/zero")


def make_socket(path):
    """Make a socket."""
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("there are no such sockets here")
    if len(os.fsencode(path)) > 100:
        pytest.skip("this path is too long for a socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("make", "words"),
    (
        (make_pipe, ("it is not a file",)),
        (make_device, ("it is not a file",)),
        (make_socket, ("it is not a file",)),
        (pathlib.Path.mkdir, ("it is not a file",)),
        (make_huge, ("no complete model",)),
        (pathlib.Path.touch, ("no complete model",)),
        (lambda path: path.symlink_to(path.name), ("symbolic links",)),
        (lambda path: path.symlink_to("nowhere"), ("there is no model yet",)),
    ),
)
def test_what_is_not_a_file_is_refused_at_once(make, words, tmp_path, refuses):
    make(tmp_path / "checkpoint.npz")
    with within(20):
        refuses(1, "--test", "--savepath", tmp_path, status=1, words=(tmp_path, *words))
        if make is make_pipe:
            train(tmp_path)
            program.loaded(tmp_path)


@contextlib.contextmanager
def as_somebody():
    """Be an ordinary user for a while, as far as files are concerned."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions are others here")
    own = os.geteuid()
    program.load(1)  # What it imports may lie where an ordinary user cannot read.
    with contextlib.ExitStack() as stack:
        if own == 0:
            stack.callback(os.seteuid, own)
            os.seteuid(65534)
        yield


@pytest.fixture
def public():
    """Return a folder that everybody can reach."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)
        yield pathlib.Path(folder)


def test_a_file_that_cannot_be_read_is_called_so(trained, public, refuses):
    """The advice is not to train again: that would replace a good model."""
    path = public / "checkpoint.npz"
    shutil.copy(trained("1").savepath / "checkpoint.npz", path)
    path.chmod(0)
    with as_somebody():
        completed = refuses(1, "--test", "--savepath", public, status=1, words=(path, "Permission denied"))
    assert "--train" not in completed.stderr
    path.chmod(0o600)
    program.loaded(public)


@pytest.mark.parametrize(("mode", "flag"), (("--train", "--savepath"), ("--test", "--plotpath")))
def test_a_folder_of_somebody_else_is_refused_before_anything_is_done(mode, flag, public, refuses):
    public.chmod(0o555)
    with as_somebody():
        flags = (mode, "--plot", "--savepath", public, flag, public / "below")
        completed = refuses(1, *flags, status=1, words=(public / "below", "Permission denied"))
    assert not completed.stdout


# --- Damage -----------------------------------------------------------------------------------------------


def verdict(savepath, expected, capfd):
    """Check that a checkpoint is refused in one line or is exactly the expected one; return whether it is."""
    capfd.readouterr()
    try:
        with within(60):
            weights, settings = program.loaded(savepath)
    except SystemExit as stopped:
        completed = subprocess.CompletedProcess((), stopped.code, *capfd.readouterr())
        program.refused(completed, 1, savepath / "checkpoint.npz")
        return False
    assert program.same(weights, expected[0]) and settings == expected[1]["settings"]
    return True


fractions = strategies.floats(0, 1, exclude_max=True)
places = strategies.one_of(
    fractions, fractions.map(lambda place: place / 20), fractions.map(lambda place: 1 - place / 7)
)
DAMAGES = strategies.lists(
    strategies.one_of(
        strategies.tuples(strategies.just("flip"), places, strategies.integers(0, 7)),
        strategies.tuples(strategies.just("set"), places, strategies.binary(min_size=1, max_size=8)),
        strategies.tuples(strategies.just("insert"), places, strategies.binary(min_size=1, max_size=8)),
        strategies.tuples(strategies.just("remove"), places, strategies.integers(1, 600)),
        strategies.tuples(strategies.just("cut"), places, strategies.none()),
        strategies.tuples(strategies.just("random"), places, strategies.integers(0, 9)),
    ),
    min_size=1,
    max_size=3,
)


def damage(content, kind, place, how):
    """Return a file's content with a damage of this kind at this place, a fraction of its length."""
    start = min(int(place * len(content)), max(len(content) - 1, 0))
    before, after = content[:start], content[start:]
    if kind == "flip":
        return before + bytes(byte ^ 1 << how for byte in after[:1]) + after[1:]
    if kind == "set":
        return before + how + after[len(how) :]
    if kind == "insert":
        return before + how + after
    if kind == "random":
        return before + random.Random(how).randbytes(len(after))
    return before + (after[how:] if kind == "remove" else b"")


def test_a_damaged_file_is_refused_or_still_the_model(examples, savepath, capfd):
    path = savepath / "checkpoint.npz"
    good, expected = path.read_bytes(), program.contents(savepath)
    verdicts = []

    @hypothesis.given(DAMAGES)
    @hypothesis.settings(deadline=None, max_examples=examples, database=None)
    def check(damages):
        content = good
        for step in damages:
            content = damage(content, *step)
        path.write_bytes(content)
        verdicts.append(verdict(savepath, expected, capfd))

    check()
    assert verdicts.count(False) > examples / 2
    path.write_bytes(good)
    assert verdict(savepath, expected, capfd)


test_a_damaged_file_is_refused_or_still_the_model.examples = (200, 1000)


def test_a_changed_byte_in_any_header_is_refused_or_leaves_the_model(savepath, capfd):
    """Each byte of the first member's headers and of the directory at the end is set to another value."""
    path = savepath / "checkpoint.npz"
    good, expected = path.read_bytes(), program.contents(savepath)
    directory = good.index(b"PK\1\2")
    for place in (*range(180), *range(directory, directory + 70), *range(len(good) - 22, len(good))):
        value = (8, 14, 40, 255)[place % 4]
        path.write_bytes(good[:place] + bytes([value]) + good[place + 1 :])
        verdict(savepath, expected, capfd)


def test_a_broken_checkpoint_can_be_trained_over(savepath):
    path = savepath / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:1000])
    train(savepath)
    assert program.contents(savepath)[1]["step"] == 1


# --- Hostile archives -------------------------------------------------------------------------------------


class Trap:
    """An object that leaves a trace where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def write(path, arrays, description, **settings):
    """Write an archive whose description is this one, with these settings changed."""
    if settings:
        description = description | {"settings": description["settings"] | settings}
    if not isinstance(description, str | bytes | np.ndarray | type(None)):
        description = json.dumps(description)
    extra = {} if description is None else {"description": np.array(description)}
    np.savez(path, **extra, **arrays)


VALUES = [
    "10",
    10.0,
    10.5,
    True,
    False,
    None,
    [],
    [10],
    {},
    {"max_len": 10},
    -1,
    0,
    10**5,
    10**30,
    -(10**400),
    1e308,
]
VALUES += [float("nan"), float("inf"), "", "\n\x1b[31m", "x" * 10000]
DESCRIPTIONS = {
    "no JSON": "{",
    "empty": "",
    "a list": "[]",
    "a number": "1",
    "null": "null",
    "deep": "[" * 100000 + "]" * 100000,
    "deep settings": '{"task": "Counting Letters", "settings": ' + '{"a":' * 50000 + "1" + "}" * 50001,
    "many digits": '{"task": "Counting Letters", "settings": ' + "9" * 100000 + "}",
    "no settings": json.dumps({"task": "Counting Letters"}),
    "settings that are a list": json.dumps({"task": "Counting Letters", "settings": list(SETTINGS)}),
    "settings that are a text": json.dumps({"task": "Counting Letters", "settings": "hidden"}),
    "a setting too many": json.dumps({"task": "Counting Letters", "settings": SETTINGS | {"self_att": True}}),
    "a setting too few": json.dumps({"task": "Counting Letters", "settings": {"max_len": 10, "hidden": 64}}),
    "another task": json.dumps({"task": "Signal", "settings": SETTINGS}),
    "no task": json.dumps({"settings": SETTINGS}),
    "bytes": b"\xff\xfe",
    "numbers": np.zeros(3),
    "two texts": np.array(["{}", "{}"]),
    "a time": np.array("2020-01-01", dtype="datetime64"),
    "missing": None,
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_description_that_is_none_is_refused(name, savepath, capfd):
    arrays, expected = program.contents(savepath)
    write(savepath / "checkpoint.npz", arrays, DESCRIPTIONS[name])
    assert not verdict(savepath, (arrays, expected), capfd)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_no_flag_could_have_is_refused(setting, savepath, capfd):
    expected = program.contents(savepath)
    for value in VALUES:
        write(savepath / "checkpoint.npz", *expected, **{setting: value})
        assert not verdict(savepath, expected, capfd)


@pytest.mark.parametrize(
    ("task", "settings"),
    (
        (1, {"hidden": 10**4, "max_len": 10**4}),
        (2, {"hidden": 10**4, "max_len": 10**4}),
        (3, {"hidden": 10**4, "max_len": 10**4}),
        (3, {"hidden": 10**4, "enc_layers": 100}),
        (3, {"hidden": 5000, "enc_layers": 30}),
    ),
)
def test_settings_in_range_do_not_make_a_small_file_a_huge_model(task, settings, trained, tmp_path, refuses):
    resource = pytest.importorskip("resource")
    arrays, description = program.contents(trained({1: "1", 2: "2", 3: "3 --pos_enc"}[task]).savepath)
    arrays = {name: array[:1] for name, array in arrays.items()}
    write(tmp_path / "checkpoint.npz", arrays, description, **settings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with within(20):
        refuses(task, "--test", "--savepath", tmp_path, status=1, words=("no complete model", "--train"))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000 * (1024 if sys.platform == "darwin" else 1)  # Kibibytes; on macOS, bytes.


WEIGHTS = {
    "not a number": lambda array: np.full_like(array, np.nan),
    "one infinity": lambda array: np.where(np.arange(array.size).reshape(array.shape), array, np.inf),
    "float64": lambda array: array.astype(np.float64),
    "float16": lambda array: array.astype(np.float16),
    "int32": lambda array: array.astype(np.int32),
    "complex": lambda array: array.astype(np.complex64),
    "text": lambda array: array.astype(str),
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder()),
    "records": lambda array: array.view([("x", np.float32)]),
    "flat": lambda array: array.ravel(),
    "one more axis": lambda array: array[None],
    "one row less": lambda array: array[:-1],
    "nothing": lambda array: array[:0],
    "a number": lambda array: array.max(),
    "objects": lambda array: array.astype(object),
}


@pytest.mark.parametrize("change", WEIGHTS)
def test_weights_that_are_not_those_of_the_settings_are_refused(change, savepath, capfd):
    arrays, description = program.contents(savepath)
    for name in ("query", "logits_layer/kernel"):
        changed = arrays | {name: np.asarray(WEIGHTS[change](arrays[name]))}
        if arrays[name].shape == changed[name].shape and arrays[name].dtype == changed[name].dtype:
            assert not np.array_equal(arrays[name], changed[name])
        write(savepath / "checkpoint.npz", changed, description)
        assert not verdict(savepath, (arrays, description), capfd)


@pytest.mark.parametrize("names", (("query",), ("query", "key_layer/bias"), ()))
@pytest.mark.parametrize("surplus", (("other",), ("query2", "model/query"), ()))
def test_missing_and_surplus_weights_are_refused(names, surplus, savepath, capfd):
    expected = program.contents(savepath)
    arrays = {name: array for name, array in expected[0].items() if name not in names}
    arrays |= dict.fromkeys(surplus, np.zeros(3, np.float32))
    write(savepath / "checkpoint.npz", arrays, expected[1])
    assert verdict(savepath, expected, capfd) == (not names and not surplus)


def test_nothing_is_unpickled(savepath, tmp_path, capfd):
    expected, trace = program.contents(savepath), tmp_path / "trace"
    path = savepath / "checkpoint.npz"
    trap = np.array([Trap(trace)], dtype=object)
    for arrays, description in (
        (expected[0] | {"query": trap}, expected[1]),
        (expected[0], trap),
        (expected[0] | {"other": trap}, expected[1]),
    ):
        write(path, arrays, description)
        assert not verdict(savepath, expected, capfd)
    with path.open("wb") as file:
        np.save(file, trap)
    assert not verdict(savepath, expected, capfd)
    path.write_bytes(pickle.dumps(Trap(trace)))
    assert not verdict(savepath, expected, capfd)
    assert not trace.exists()


def member(array, shape=None):
    """Return an array in NumPy's format, with a header that claims this shape."""
    file = io.BytesIO()
    np.save(file, array)
    content = file.getvalue()
    if shape is None:
        return content
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return content[:8] + struct.pack("<H", len(header)) + header + content[128:]


def rewrite(path, change, compression=zipfile.ZIP_STORED):
    """Write an archive anew, each member's name and content as a generator makes them of the old ones."""
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in change(members):
            archive.writestr(name, content)


def mark(flags=None, method=None):
    """Return a function that marks each member of an archive as encrypted, or as compressed in some way."""

    def change(path):
        content = bytearray(path.read_bytes())
        for start, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            for found in re.finditer(re.escape(start), bytes(content)):
                place = found.start() + offset
                content[place] |= flags or 0
                content[place + 2] = method or 0
        path.write_bytes(content)

    return change


def twice(members):
    """Yield each member twice, with another content at first."""
    for name, content in members:
        yield name, content[:-4] + b"\0\0\0\0"
        yield name, content


def change_query(content):
    """Return a function for `rewrite` that replaces the content of the query."""
    return lambda members: ((name, content if name == "query.npy" else old) for name, old in members)


def bomb(path):
    """Make a small file that unpacks to four gigabytes of zeros."""
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members:
            if name != "query.npy":
                archive.writestr(name, content)
        with archive.open("query.npy", "w", force_zip64=True) as file:
            file.write(member(np.zeros(0, np.float32), (2**28,)))
            for _ in range(2**8):
                file.write(bytes(2**20))
    content = path.read_bytes()
    assert len(content) < 2**22


QUERY = np.zeros((1, 3, 64), np.float32)
ARCHIVES = {
    "encrypted": mark(flags=1),
    **{f"method {method}": mark(method=method) for method in (8, 9, 12, 14, 77, 93)},
    "duplicates": lambda path: rewrite(path, twice),
    "no members": lambda path: rewrite(path, lambda members: ()),
    "other members": lambda path: rewrite(path, lambda members: [*members, ("notes.txt", b"mine")]),
    "members that are no arrays": lambda path: rewrite(path, lambda members: ((n, b"A") for n, _ in members)),
    "an array that claims to be huge": lambda path: rewrite(path, change_query(member(QUERY, (2**40,)))),
    "an array that claims to be larger": lambda path: rewrite(path, change_query(member(QUERY, (1, 3, 65)))),
    "a negative shape": lambda path: rewrite(path, change_query(member(QUERY, (1, -3, 64)))),
    "a header that does not end": lambda path: rewrite(path, change_query(member(QUERY).replace(b"}", b" "))),
    "a header that is no dict": lambda path: rewrite(path, change_query(member(QUERY).replace(b"{", b"["))),
    "an array alone": lambda path: path.write_bytes(member(QUERY)),
    "a text": lambda path: path.write_text("mine"),
    "a bomb": bomb,
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ARCHIVES)
def test_a_hostile_archive_is_refused(name, savepath, capfd):
    expected = program.contents(savepath)
    ARCHIVES[name](savepath / "checkpoint.npz")
    assert not verdict(savepath, expected, capfd)


leaves = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(),
    strategies.integers(1, 12),
    strategies.floats(),
    strategies.text(max_size=5),
    strategies.sampled_from(VALUES),
)
trees = strategies.recursive(
    leaves,
    lambda below: (
        strategies.lists(below, max_size=3) | strategies.dictionaries(strategies.text(max_size=3), below)
    ),
    max_leaves=6,
)
changes = strategies.dictionaries(strategies.sampled_from([*SETTINGS, "self_att"]), trees, max_size=3)
weight_changes = strategies.dictionaries(
    strategies.sampled_from([*NAMES["1"], "logits_layer/bias", "logits_layer/kernel", "other"]),
    strategies.sampled_from(sorted(WEIGHTS)),
    max_size=2,
)


def test_random_archives_are_refused_or_the_model(examples, savepath, capfd):
    arrays, description = program.contents(savepath)
    verdicts = []

    @hypothesis.given(strategies.one_of(changes, trees), strategies.booleans(), weight_changes)
    @hypothesis.settings(deadline=None, max_examples=examples, database=None)
    def check(settings, merge, changed):
        if merge and isinstance(settings, dict):
            settings = SETTINGS | settings
        others = {name: np.asarray(WEIGHTS[how](arrays.get(name, QUERY))) for name, how in changed.items()}
        write(savepath / "checkpoint.npz", arrays | others, {**description, "settings": settings})
        verdicts.append(verdict(savepath, (arrays, description), capfd))

    check()
    assert verdicts.count(False) > examples / 2


test_random_archives_are_refused_or_the_model.examples = (100, 500)


# --- Several programs at once -----------------------------------------------------------------------------


def test_testing_while_training_replaces_the_model(savepath):
    flags = ("--train", "--steps", 10**6, "--save_every", 1, "--print_every", 10**6)
    process = program.start(*flags, "--savepath", savepath, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while program.contents(savepath)[1]["step"] == 2000 and time.monotonic() < deadline:
            time.sleep(0.05)
        steps = set()
        for _ in range(50):
            program.loaded(savepath)
            steps.add(program.contents(savepath)[1]["step"])
        program.parse(program.in_process(1, "--test", "--savepath", savepath))
    finally:
        process.kill()
        process.communicate()
    assert len(steps) > 10  # It was replaced all the while.


def test_two_trainings_into_one_folder_end_with_one_complete_model(tmp_path):
    flags = ("--train", "--steps", 200, "--save_every", 1, "--print_every", 50, "--savepath", tmp_path)
    for completed in [program.finish(process) for process in [program.start(*flags) for _ in range(2)]]:
        assert completed.returncode == 0 and not program.messages(completed)
        assert completed.stdout.endswith("checkpoint.npz.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]
    assert program.contents(tmp_path)[1]["step"] == 200
    program.loaded(tmp_path)


def test_what_another_program_sweeps_away_is_written_again(tmp_path, monkeypatch):
    """A training that starts removes the unfinished file of one that runs, which then writes it anew."""
    module = program.load(1)
    fsync, swept = os.fsync, []

    def sweep_once(number):
        fsync(number)
        if not swept:
            swept.extend(tmp_path.glob("*.part"))
            for path in swept:
                path.unlink()

    monkeypatch.setattr(os, "fsync", sweep_once)
    module.save_model(module.AttentionModel(**SETTINGS), SETTINGS, 1, tmp_path)
    assert len(swept) == 1
    program.loaded(tmp_path)


# --- Kills ------------------------------------------------------------------------------------------------

HARNESS = '''
"""Kill main.py's save_model, as it runs in forked copies of this process, at random instants."""
import importlib.util, json, os, pathlib, random, signal, sys, time, types

class Weight:
    def __init__(self, path, shape):
        self.path, self.shape = "model/" + path, shape

    def numpy(self):
        return np.full(self.shape, self.step, np.float32)

class Layer: pass
layers = types.SimpleNamespace(Layer=Layer)
sys.modules["tensorflow"] = types.SimpleNamespace(keras=types.SimpleNamespace(layers=layers, Model=Layer))
sys.modules["matplotlib.pyplot"] = sys.modules["matplotlib"] = types.ModuleType("matplotlib")
sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]
specification = importlib.util.spec_from_file_location("main", sys.argv[1])
main = importlib.util.module_from_spec(specification)
specification.loader.exec_module(main)
np, folder, generator = main.np, pathlib.Path(sys.argv[2]), random.Random(int(sys.argv[4]))
weights = [Weight(name, shape) for name, shape in json.loads(sys.argv[5]).items()]
settings, path = {"max_len": 10, "vocab_size": 3, "hidden": 64}, folder / "checkpoint.npz"

def save(step):
    for weight in weights:
        weight.step = step
    main.save_model(types.SimpleNamespace(weights=weights), settings, step, folder)

save(0)
in_save, newest = 0, 0
for count in range(int(sys.argv[3])):
    child = os.fork()
    if not child:
        for step in range(newest + 1, 10**6):
            save(step)
    time.sleep(generator.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    parts = [name for name in os.listdir(folder) if name != path.name]
    assert len(parts) <= 1, parts
    in_save += len(parts)
    with np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    step = json.loads(arrays.pop("description").item())["step"]
    assert step >= newest and len(arrays) == len(weights)
    assert all((array == step).all() for array in arrays.values())
    newest = step
    if count % 10 == 0:
        main.write_file(path)
        assert os.listdir(folder) == [path.name]
    else:
        for name in parts:
            os.unlink(folder / name)
print(in_save, newest)
'''


def test_a_kill_at_any_instant_of_a_save_leaves_a_complete_model(examples, tmp_path):
    """Also at most one surplus file, which the next training removes."""
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    model = program.load(1).AttentionModel(**SETTINGS)
    shapes = {name: tuple(weight.shape) for name, weight in program.load(1).named_weights(model).items()}
    words = [str(program.script(1)), str(tmp_path), str(examples), "1", json.dumps(shapes)]
    completed = subprocess.run(
        [sys.executable, "-c", HARNESS, *words], capture_output=True, text=True, timeout=1800
    )
    assert completed.returncode == 0, completed.stderr
    in_save, saves = map(int, completed.stdout.split())
    assert in_save >= 0.3 * examples and saves > 0
    weights, _ = program.loaded(tmp_path)
    assert all((array == saves).all() for array in weights.values())  # The harness saves its step.


test_a_kill_at_any_instant_of_a_save_leaves_a_complete_model.examples = (200, 1000)


def test_a_killed_training_leaves_the_last_complete_checkpoint(examples, savepath):
    generator = random.Random(1)
    flags = ("--train", "--steps", 10**6, "--save_every", 1, "--print_every", 1, "--savepath", savepath)
    for _ in range(examples):
        process = program.start(*flags)
        for _ in range(2):
            process.stdout.readline()
        time.sleep(generator.uniform(0, 0.3))
        process.kill()
        process.communicate()
        surplus = [path.name for path in savepath.iterdir() if path.name != "checkpoint.npz"]
        assert len(surplus) <= 1
        weights, _ = program.loaded(savepath)
        assert program.same(weights, program.contents(savepath)[0])
    train(savepath)
    assert [path.name for path in savepath.iterdir()] == ["checkpoint.npz"]


test_a_killed_training_leaves_the_last_complete_checkpoint.examples = (2, 50)


def test_what_killed_programs_left_is_removed_and_nothing_else(savepath):
    others = ("checkpoint.npz.txt", "notes.part", "main.py.part", "checkpoint", "ckpt-5.index")
    for name in (*others, "main.py.12.part", "main.py.99999.part"):
        (savepath / name).write_text("left")
    train(savepath)
    assert sorted(path.name for path in savepath.iterdir()) == sorted((*others, "checkpoint.npz"))


def test_a_kill_before_the_first_checkpoint(tmp_path, refuses):
    flags = ("--train", "--steps", 10**6, "--save_every", 10**6, "--savepath", tmp_path / "models")
    process = program.start(*flags)
    process.stdout.readline()
    process.kill()
    process.communicate()
    refuses(1, "--test", "--savepath", tmp_path / "models", status=1, words=("there is no model yet",))
    assert not list((tmp_path / "models").iterdir())
