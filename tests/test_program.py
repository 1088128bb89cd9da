"""What training, testing and plotting print and draw, for every variant and other sizes."""

import os
import pathlib
import re
import shutil

import drawings
import formula
import numpy as np
import program
import pytest

# What a variant adds to the names of its files. The loss at training step 50 with --seed 1, which another
# processor or TensorFlow rounds differently, but by less than 0.001; the most loss at the end, and the least
# and the most sequences right in percent: the ranges of many trainings, widened by about their width. (A few
# of the last end in a jump of their loss, not here.)
QUALITY = {
    "1": ("", 1.6598, 0.2, 91, 99.9),
    "2": ("", 1.6542, 0.44, 69, 95),
    "2 --self_att": ("_self_att", 1.6591, 0.29, 88, 99.9),
    "3": ("", 1.7147, 1.31, 42, 59.5),
    "3 --pos_enc": ("_pos_enc", 1.7223, 0.16, 95, 100),
}


def check_test(task, savepath, output, figures):
    """Check that --test has printed and drawn what the model in a folder gives for the input that is printed.

    Return what is printed, a dict.
    """
    printed, (arrays, description) = program.parse(output), program.contents(savepath)
    settings, reference = description["settings"], formula.Model(arrays)
    alphabet = program.alphabet(task, settings["vocab_size"])
    indices = [alphabet.index(letter) for letter in printed["input"]]
    chances = reference.lesson(np.eye(len(alphabet))[indices])
    assert printed["prediction"] == np.argmax(chances, axis=-1).tolist()
    assert printed["truth"] == program.solve(task, printed["input"], settings["vocab_size"])
    weights = {name: heads[0] for name, heads in reference.weights.items()}

    ending = program.checkpoint(savepath).stem.removeprefix("checkpoint")
    names = ["count"] if task == 3 else [f"count of {letter}" for letter in alphabet[1:]]
    rows = [f"{step}: {name}" for step, name in enumerate(names + ["|A − B|"] * (task == 2))]
    letters = printed["input"].replace(" ", "␣")
    columns = [f"{letter}\n{step}" for step, letter in enumerate(letters)]
    drawings.check_heatmap(figures[f"encoder_decoder_attention{ending}"], weights["attention"], rows, columns)
    expected = [f"encoder_decoder_attention{ending}"]
    if settings.get("self_att"):
        across = [f"{name}\n{step}" for step, name in enumerate([*alphabet[1:], "|A − B|"])]
        drawings.check_heatmap(figures["self_attention"], weights["self_attention"], rows, across)
        expected.append("self_attention")
    for figure in map(figures.get, expected):
        title = " ".join(figure.axes[0].get_title().split())
        for name in ("prediction", "truth"):
            numbers = " ".join(map(str, printed[name]))
            assert re.search(rf"{name}\W+{numbers}\b", title, re.IGNORECASE)
    if settings.get("enc_layers"):
        expected.append(f"encoder_self_attention{ending}")
        *maps, _ = figures[expected[-1]].axes
        for layer, axes in enumerate(maps, start=1):
            shown = axes.images[0].get_array()
            np.testing.assert_allclose(shown, weights[f"encoder_layer_{layer}/attention"], atol=1e-5)
            assert axes.get_xticklabels()[0].get_text() == f"{letters[0]}\n0"
            assert axes.get_yticklabels()[0].get_text() == f"0: {letters[0]}"
        assert len(maps) == settings["enc_layers"]
    for name in ("attention", "self_attention"):
        np.testing.assert_allclose(printed[name], weights.get(name, []), atol=6e-4, rtol=0)
    for row, mainly in zip(printed["attention"], printed["mainly"], strict=True):
        assert mainly == [step for step, weight in enumerate(row) if weight == max(row)]

    norms = []
    if settings.get("pos_enc"):
        norms = np.sqrt((arrays["positional_encoding"][0] ** 2).sum(axis=-1)).tolist()
        expected.append(f"positional_encoding{ending}")
        bars = figures[expected[-1]].axes[0].patches
        assert [bar.get_height() for bar in bars] == pytest.approx(norms, abs=1e-6)
    assert printed["norms"] == pytest.approx(norms, abs=6e-4)
    assert list(figures) == expected
    return printed


# --- The five variants ------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", QUALITY)
def test_training_prints_what_it_promises(variant, trained):
    training, (ending, first, last, *_) = trained(variant), QUALITY[variant]
    *_, complete, saved, plot = training.stdout.splitlines()
    losses = program.losses(training.stdout)
    assert list(losses) == list(range(50, 1001 if variant.startswith("2") else 2001, 50))
    assert len(training.stdout.splitlines()) == len(losses) + 3
    assert float(losses[50]) == pytest.approx(first, abs=1e-3) and float([*losses.values()][-1]) < last
    assert complete == "Training complete!"
    assert saved == f"Model saved to {training.savepath}{os.sep}checkpoint{ending}.npz."
    assert plot == f"Plot saved to {training.plotpath}{os.sep}loss{ending}.png."
    assert program.files(training.savepath) == [f"checkpoint{ending}.npz"]
    assert program.files(training.plotpath) == [f"loss{ending}.png"]


INPUTS = [  # What the sequence is then, a regular expression.
    *((variant, "", ".{11}" if variant.startswith("3") else ".{10}") for variant in program.VARIANTS),
    ("2 --self_att", "--input ab_bc", "AB BC"),
    ("1", "--input A", "A"),
    ("1", "--sample_len 40", ".{40}"),
    ("3", "--signal c", "C.{10}"),
    ("3 --pos_enc", "--input bBABC", "BBABC"),
    ("3 --pos_enc", "--input BBABCCABCAC", "BBABCCABCAC"),
]


@pytest.mark.parametrize(("variant", "flags", "letters"), INPUTS)
def test_what_a_test_shows_is_what_the_model_gives(variant, flags, letters, trained, drawn, tmp_path):
    """For the sequence that is asked for, and the accuracy is that at its length."""
    task, chosen = program.VARIANTS[variant]
    savepath = trained(variant).savepath
    flags = [word.replace("_", " ") if word[0] != "-" else word for word in flags.split()]
    paths = ("--savepath", savepath, "--plotpath", tmp_path / "new")
    output, figures = drawn(task, "--plot", "--seed", 3, *chosen, *flags, *paths)
    printed = check_test(task, savepath, output, figures)
    length = printed["length"]
    assert re.fullmatch(letters, printed["input"]) and len(printed["input"]) == length
    assert printed["samples"] == 10 * min(1000, 10**5 // length)  # A million letters take a second or two.
    model = program.load_model(task, savepath)
    source = program.load(task).Task(10, 3, np.random.default_rng(3))
    inputs, answers = source.next_batch(min(5000, 10**5 // length), length=length)
    right = np.argmax(model(inputs)[0], axis=-1) == answers
    assert printed["sequences"] == pytest.approx(100 * right.all(axis=-1).mean(), abs=3)
    assert printed["steps"] == pytest.approx(100 * right.mean(), abs=3)
    if not flags:
        assert "".join(source.prettify(inputs[0]).ravel()) != printed["input"]  # A training begins with that.
        *_, least, most = QUALITY[variant]
        assert least <= printed["sequences"] <= most


def test_a_very_long_sequence_is_tested_and_drawn(trained, tmp_path):
    paths = ("--savepath", trained("1").savepath, "--plotpath", tmp_path)
    output = program.output_of(1, "--test", "--plot", "--sample_len", 3000, *paths)
    assert "length 3000: " in output and program.files(tmp_path) == ["encoder_decoder_attention.png"]


# --- Other flags ------------------------------------------------------------------------------------------

SIZES = [  # Variants that are there, flags of the model, the ending of its file, lengths of input and output.
    (1, (), "--max_len 40 --vocab_size 1", "", 40, 1),
    (2, ("2",), "--max_len 4 --vocab_size 7 --hidden 8 --self_att", "_self_att", 4, 8),
    (3, ("3", "3 --pos_enc"), "--vocab_size 1 --enc_layers 0", "_0_layers", 11, 1),
    (3, ("3", "3 --pos_enc"), "--max_len 12 --pos_enc --enc_layers 2", "_pos_enc_2_layers", 13, 1),
]


@pytest.mark.parametrize(("task", "others", "flags", "ending", "length", "outputs"), SIZES)
def test_other_sizes_train_test_and_plot_beside_other_variants(
    task, others, flags, ending, length, outputs, drawn, trained, tmp_path
):
    """A variant replaces no file of another one, and --test takes the sizes from its own."""
    savepath = tmp_path / "new" / "my models"
    savepath.mkdir(parents=True)
    copies = (shutil.copy(program.checkpoint(trained(other).savepath), savepath) for other in others)
    there = [pathlib.Path(copy) for copy in copies]
    before = [path.read_bytes() for path in there]
    paths = ("--savepath", savepath, "--plotpath", tmp_path / "plots")
    steps = ("--steps", 3, "--print_every", 2, *paths)
    test = ("--sample_len", length) if task == 1 else ("--test",)  # What shows a test's sequence tests.
    output, figures = drawn(task, "--train", *flags.split(), *test, "--plot", *steps, compiled=False)
    assert [path.read_bytes() for path in there] == before
    for path in there:
        path.unlink()
    assert program.files(savepath) == [f"checkpoint{ending}.npz"]
    training, _, testing = output.partition("\n\n")
    assert list(program.losses(training)) == [2, 3]
    drawings.check_losses(figures.pop(f"loss{ending}"), training)
    printed = check_test(task, savepath, f"\n{testing}", figures)
    assert (len(printed["input"]), len(printed["prediction"])) == (length, outputs)
    variant = re.sub(r"--(max_len|vocab_size|hidden) \d+", "", flags).split()
    again = program.output_of(task, "--test", *variant, "--input", printed["input"], *paths[:2])
    assert program.parse(again)["attention"] == printed["attention"]  # The model has its sizes.


def test_a_seed_repeats_a_training_and_each_flag_makes_a_difference(tmp_path):
    def losses(*flags):
        steps = ("--steps", 2, "--print_every", 1, "--savepath", tmp_path)
        output = program.output_of(1, "--train", *steps, *flags, compiled=False)
        return tuple(program.losses(output).values())

    usual = losses("--seed", 0)
    assert losses("--seed", 0) == usual
    (last,) = losses("--seed", 0, "--print_every", 2)  # Up to rounding, as it is without.
    assert float(last) == pytest.approx(float(usual[1]), rel=1e-3)
    others = {losses("--seed", 0, *flags) for flags in (("--lr", 0.02), ("--batchsize", 50))}
    assert len({usual, *others, losses("--seed", 2), losses(), losses()}) == 6
