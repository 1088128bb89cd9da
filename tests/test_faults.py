"""Disks, memory and loads: every fault gets one clear line, and nothing that was saved is lost."""

import os
import pathlib
import re
import shutil
import subprocess

import program
import pytest
from program import refused

# --- Files ------------------------------------------------------------------------------------------------


def test_a_file_in_place_of_the_folder_is_named(tmp_path, refuses):
    models = tmp_path / "models"
    models.write_text("mine")
    refuses(1, "--test", "--savepath", models, status=1, words=(models, "Not a directory"))
    refuses(1, "--train", "--savepath", models, status=1, words=(models, "File exists"))
    assert models.read_text() == "mine"


@pytest.mark.parametrize("flag", ("--savepath", "--plotpath"))
def test_a_folder_that_cannot_be_written_is_refused_before_the_training(flag, savepath, tmp_path, refuses):
    """With the same words and the same status for both folders."""
    below = savepath / "checkpoint.npz" / "below"
    paths = {"--savepath": tmp_path / "other", "--plotpath": tmp_path / "plots"} | {flag: below}
    flags = [word for pair in paths.items() for word in pair]
    completed = refuses(1, "--train", "--plot", *flags, status=1, words=(below, "Not a directory"))
    assert not completed.stdout
    program.loaded(savepath)


def test_a_folder_in_which_no_file_can_be_is_refused(refuses):
    if not pathlib.Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    refuses(1, "--train", "--savepath", "/proc", status=1, words=("/proc", "No such file or directory"))
    refuses(1, "--train", "--savepath", "/proc/models", status=1, words=("/proc/models",))


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


def test_a_disk_that_is_full_at_the_start(small_disk, refuses):
    folder = small_disk(65536)
    with (folder / "filler").open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    refuses(1, "--train", "--savepath", folder, status=1, words=(folder, "No space left on device"))
    assert not (folder / "checkpoint.npz").exists()


def test_a_disk_that_fills_up_in_the_middle(small_disk, savepath, refuses):
    folder = small_disk(131072)
    shutil.copytree(savepath, folder / "models")
    with (folder / "filler").open("wb", buffering=0) as file:
        file.write(bytes(131072 - 36864))
    flags = ("--train", "--steps", 4, "--save_every", 2, "--hidden", 256, "--savepath", folder / "models")
    refuses(1, *flags, status=1, words=(folder / "models", "No space left on device"))
    assert [path.name for path in (folder / "models").iterdir()] == ["checkpoint.npz"]
    program.loaded(folder / "models")


def test_a_limit_on_the_size_of_files(savepath, refuses):
    """Where mounting is not possible, RLIMIT_FSIZE makes the same write fail."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        flags = ("--train", "--steps", 1, "--hidden", 256, "--savepath", savepath)
        refuses(1, *flags, status=1, words=(savepath, "File too large"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in savepath.iterdir()] == ["checkpoint.npz"]
    program.loaded(savepath)


def test_an_image_that_cannot_be_written_leaves_the_old_one(tmp_path, refuses):
    (tmp_path / "loss.png").write_text("old")
    (tmp_path / f"main.py.{os.getpid()}.part").mkdir()
    flags = ("--train", "--steps", 1, "--plot", "--savepath", tmp_path / "models", "--plotpath", tmp_path)
    refuses(1, *flags, status=1, words=(tmp_path / "loss.png", "directory"))
    assert (tmp_path / "loss.png").read_text() == "old"


# --- Loads ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", (("--lr", "1e30"), ("--lr", "1e38", "--save_every", 3, "--print_every", 2)))
def test_a_loss_that_is_not_a_number_keeps_the_model(flags, savepath, refuses):
    """The advice is a rate with which a training works, not a tenth of one that is far too large."""
    before = (savepath / "checkpoint.npz").read_bytes()
    words = ("the loss is not a number any more after step", "try --lr 0.01")
    completed = refuses(1, "--train", *flags, "--savepath", savepath, status=1, words=words)
    assert completed.stderr.endswith("try --lr 0.01\n")
    assert (savepath / "checkpoint.npz").read_bytes() == before


@pytest.mark.parametrize("value", (float("nan"), float("inf")))
def test_weights_that_are_not_finite_never_replace_a_model(value, savepath):
    module = program.load(1)
    before = (savepath / "checkpoint.npz").read_bytes()
    model = module.AttentionModel()
    model.weights[-1].assign([value] * 11)
    with pytest.raises(FloatingPointError, match="a weight is not a number any more after step 3"):
        module.save_model(model, program.contents(savepath)[1]["settings"], 3, savepath)
    assert (savepath / "checkpoint.npz").read_bytes() == before


def test_what_does_not_fit_into_memory_is_refused(savepath):
    completed = program.run(1, "--train", "--batchsize", 10**5, "--hidden", 10**4, "--savepath", savepath)
    refused(completed, 1, "memory", "--batchsize", "--max_len", "--hidden")
    program.loaded(savepath)


@pytest.mark.parametrize("sizes", ((100, 10), (10000, 10), (100, 10000), (100000, 60)))
def test_the_data_of_one_call_is_bounded(sizes, monkeypatch):
    """However many steps are asked for, a call has one of them or at most 10**7 numbers in its encodings."""
    module = program.load(1)
    flags = ["--train", f"--batchsize={sizes[0]}", f"--max_len={sizes[1]}"]
    flags += [f"--{name}={10**9}" for name in ("steps", "print_every", "save_every")]
    monkeypatch.setattr(module.tf, "function", lambda function, **_: lambda *_: 0.0)  # Compile nothing.
    arguments = module.parse_arguments(flags)
    _, most = module.compile_steps(None, module.Task(sizes[1]), arguments)
    assert most == 1 or most * sizes[0] * sizes[1] * arguments.hidden <= 10**7


def test_memory_does_not_grow_with_the_steps(tmp_path):
    """The resident memory after 3,000 steps is that after 1,000, up to a tenth."""
    if not pathlib.Path("/proc/self/status").exists():
        pytest.skip("there is no /proc here")
    flags = ("--train", "--steps", 10**6, "--print_every", 500, "--save_every", 1000)
    process = program.start(*flags, "--savepath", tmp_path)
    resident = []
    for _ in range(6):
        process.stdout.readline()
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        resident.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]))
    process.kill()
    process.communicate()
    assert resident[-1] < 1.1 * resident[1]
