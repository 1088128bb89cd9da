"""A run trains what is missing, keeps it, and resumes where it stopped."""

import itertools
import re

import numpy as np
import program
import pytest
from experiments import play, programs, trainings

# --- What trains ---

PROGRAM = '''
"""It trains."""
flag("--lr", default=0.01, help="learning rate (0.01)")
flag("--savepath", default="models", help="folder (models)")
LETTERS = " ABC"

def train(args):
    """Train a model."""
    optimizer = Adam(args.lr)  # As in the paper.
    with tf.GradientTape() as tape:
        loss = loss_of(tf.nn.softmax(numbers(LETTERS, size=64)))
    optimizer.apply(tape.gradient(loss))
    print(f"Loss: {loss}")
    save(args)

def numbers(letters, size):
    return letters.sum(axis=-2) * size

def save(args):
    np.savez(args.savepath)
'''
TRAINS_THE_SAME = {  # What stands in the program, and what comes there.
    "It trains.": "It learns.",
    "Train a model": "Train it",
    "As in the paper": "As usual",
    'flag("--savepath"': 'flag("--dpi")\nflag("--savepath"',
    "Loss: ": "The loss is ",
    "np.savez(": "np.savez_compressed(",
    '"models"': '"trained"',
}
TRAINS_OTHERWISE = {
    "softmax(": "sigmoid(",
    "default=0.01": "default=0.02",
    "=64": "=32",
    " ABC": " ACB",
    "axis=-2": "axis=-1",
    "apply(": "apply(2 * ",
    "Adam(": "SGD(",
}


def test_what_trains_decides_whether_a_model_is_trained_anew():
    usual = trainings.identity(PROGRAM)
    for old, new in (TRAINS_THE_SAME | TRAINS_OTHERWISE).items():
        assert PROGRAM.count(old) == 1
        assert (trainings.identity(PROGRAM.replace(old, new)) == usual) == (old in TRAINS_THE_SAME), old


# --- Training runs --------------------------------------------------------------------------------------

SETUP, OTHER = trainings.Setup(1, None, ""), trainings.Setup(1, None, "--steps 8000")
# A program that writes down how it runs. It fails with the seed 3.
TRAINS = """
import pathlib
import sys

flags = sys.argv[1:]
with open(pathlib.Path(__file__).with_name("ran.txt"), "a") as ran:
    print(*flags, file=ran)
pathlib.Path(flags[flags.index("--savepath") + 1]).mkdir(exist_ok=True)
if flags[flags.index("--seed") + 1] == "3":
    sys.exit("A warning.\\nThis seed fails.")
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return a trainings.ModelCache of that program, and without models."""
    monkeypatch.setattr(programs, "ROOT", tmp_path)
    programs.script(1).parent.mkdir()
    programs.script(1).write_text(TRAINS, encoding="utf-8")
    return trainings.ModelCache(tmp_path / "models")


def ran(cache):
    """Return the flags of each training run, but for the folder, a list of str."""
    text = (cache.program_folder(1) / "ran.txt").read_text(encoding="utf-8")
    return sorted(re.sub(r" --savepath \S+", "", text).splitlines())


def test_a_run_trains_what_is_missing_once(cache):
    """Another run begins with what one that was cut off has written, and with today's text."""
    cache.train([(SETUP, [1]), (SETUP, [1, 2]), (OTHER, [1])])
    assert ran(cache) == ["--train --seed 1", "--train --seed 1 --steps 8000", "--train --seed 2"]
    (cache.savepath(SETUP, 2) / "output.txt").unlink()
    today = TRAINS + "TODAY = True\n"
    programs.script(1).write_text(today, encoding="utf-8")
    cache = trainings.ModelCache(cache.folder, [2, 4])
    cache.train([(SETUP, [1]), (OTHER, [1])])
    assert ran(cache)[2:] == ["--train --seed 2"] * 2 + [
        "--train --seed 2 --steps 8000",
        "--train --seed 4",
        "--train --seed 4 --steps 8000",
    ]
    assert (cache.program_folder(1) / "main.py").read_text(encoding="utf-8") == today


def test_a_failure_is_one_line_and_nothing_is_trained_long_after_it(cache):
    for _ in range(2):  # Nor is it kept.
        with pytest.raises(trainings.TrainingError, match=r"^Task 1, .*seed 3: This seed fails\.$"):
            cache.train([(SETUP, range(3, 200))])
    assert ran(cache).count("--train --seed 3") == 2 and len(ran(cache)) < 100


def test_each_setup_and_seed_has_a_model_and_losses_of_its_own(trained, tmp_path):
    """A model is loaded into its edit. Seeds replace those of a setup where all are asked for, not one."""
    cache, runs = trainings.ModelCache(tmp_path, [21, 22]), {}
    arrays = dict(np.load(play.FOLDER / "checkpoints" / "counting.npz"))
    printed = re.findall("Iteration.*\n", trained("1").stdout)
    for setup, seed in itertools.product((SETUP, OTHER, trainings.Setup(1, "A", "")), (21, 22)):
        runs[setup, seed] = len(runs) + 1
        arrays["query"] = np.full_like(arrays["query"], runs[setup, seed])
        folder = cache.savepath(setup, seed)
        folder.mkdir()
        np.savez(folder / "model.npz", **arrays)
        (folder / "output.txt").write_text("".join(printed[: runs[setup, seed]]), encoding="utf-8")
    for (setup, seed), number in runs.items():
        models = cache.models(setup, [1, 2, 3])
        queries = [model.query.numpy().mean() for model in models]
        assert queries == [runs[setup, 21], runs[setup, 22]]
        weights = models[0](np.eye(4, dtype=np.float32)[None])[1]
        assert np.allclose(weights, 1 / 4) == (setup.edit == "A")
        losses = program.losses("".join(printed[:number]))
        assert cache.losses(setup, seed) == [(step, float(loss)) for step, loss in losses.items()]
