"""What training, testing and plotting print and draw, for every variant and other sizes."""

import os
import re

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


def check_test(task, savepath, output):
    """Check that --test has printed, and drawn if it has, what the model in a folder gives by the formula.

    Return what is printed, a dict.
    """
    printed, (arrays, description) = program.parse(output), program.contents(savepath)
    settings, reference = description["settings"], formula.Model(arrays)
    alphabet = program.alphabet(task, settings["vocab_size"])

    def answers(letters):
        places = [[alphabet.index(letter) for letter in sequence] for sequence in letters]
        return reference.lesson(np.eye(len(alphabet))[places]).argmax(axis=-1)

    letters = np.random.default_rng(0).choice(list(alphabet), (min(4000, 10**5 // printed["length"]), printed["length"]))
    truths = [program.solve(task, "".join(sequence), settings["vocab_size"]) for sequence in letters]
    right = answers(letters) == truths
    assert printed["sequences"] == pytest.approx(100 * right.all(axis=-1).mean(), abs=3)
    assert printed["steps"] == pytest.approx(100 * right.mean(), abs=3)
    assert printed["length"] == len(printed["input"])

    reference.weights.clear()
    assert printed["prediction"] == answers([printed["input"]])[0].tolist()
    assert printed["truth"] == program.solve(task, printed["input"], settings["vocab_size"])
    weights = {name: np.squeeze(heads, axis=(0, 1)) for name, heads in reference.weights.items()}
    for name in ("attention", "self_attention"):
        np.testing.assert_allclose(printed[name], weights.get(name, []), atol=6e-4, rtol=0)
    for row, mainly in zip(printed["attention"], printed["mainly"], strict=True):
        assert mainly == [step for step, weight in enumerate(row) if weight == max(row)]
    norms = []
    if settings.get("pos_enc"):
        norms = np.sqrt((arrays["positional_encoding"][0] ** 2).sum(axis=-1)).tolist()
    assert printed["norms"] == pytest.approx(norms, abs=6e-4)
    if program.plots(output):
        check_pictures(program.figures(output), task, printed, weights, norms)
    return printed


def check_pictures(figures, task, printed, weights, norms):
    """Check that the figures of a test, a dict, are all that there is to draw and show what is printed."""
    figures = {re.sub("(_self_att)?(_pos_enc)?(_._layers)?$", "", name): figures[name] for name in figures}
    figures.pop("loss", None)
    letters = [f"{letter}\n{step}".replace(" ", "␣") for step, letter in enumerate(printed["input"])]
    counts = [f"count of {letter}" for letter in program.alphabet(1, len(printed["truth"]) - (task == 2))[1:]]
    rows = ["count"] if task == 3 else counts + ["|A − B|"] * (task == 2)
    rows = [f"{step}: {name}" for step, name in enumerate(rows)]
    figure = figures.pop("encoder_decoder_attention")
    check_heatmap(figure.axes[0], weights.pop("attention"), rows, letters)
    title = " ".join(figure.axes[0].get_title().split())
    for name in ("prediction", "truth"):
        assert re.search(rf"{name}\W+{' '.join(map(str, printed[name]))}\b", title, re.IGNORECASE)
    if "self_attention" in weights:
        across = [f"{row[3:].removeprefix('count of ')}\n{step}" for step, row in enumerate(rows)]
        check_heatmap(figures.pop("self_attention").axes[0], weights.pop("self_attention"), rows, across)
    if weights:  # Those of encoder layers are left.
        *maps, _ = figures.pop("encoder_self_attention").axes
        rows = [f"{step}: {letter}" for step, letter in enumerate(printed["input"])]
        for axes, layer in zip(maps, weights.values(), strict=True):
            check_heatmap(axes, layer, rows, letters)
    if norms:
        bars = figures.pop("positional_encoding").axes[0].patches
        assert [bar.get_height() for bar in bars] == pytest.approx(norms, abs=1e-6)
    assert not figures


def check_heatmap(axes, weights, rows, columns):
    """Check that axes show weights, and the names of rows and columns where they belong."""
    np.testing.assert_allclose(axes.images[0].get_array(), weights, atol=1e-5)
    assert axes.yaxis_inverted() and not axes.xaxis_inverted()  # The first row is above, as it is printed.
    for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
        ticks = [tick.get_text() for tick in axis.get_ticklabels()]
        assert ticks == [names[int(step)] for step in axis.get_ticklocs()]
        assert len(ticks) == len(names) or len(names) > 30
    for text in axes.texts:
        assert float(text.get_text()) == pytest.approx(weights[text.get_position()[::-1]], abs=0.00501)


@pytest.mark.parametrize("variant", QUALITY)
def test_a_training_is_as_good_as_the_original_and_its_model_is_loaded_again(variant, trained, tmp_path):
    """As --test prints the same in this process, the seed repeats it, too."""
    training, (ending, first, last, least, most) = trained(variant), QUALITY[variant]
    task, flags = program.VARIANTS[variant]
    text, _, tested = training.stdout.partition("\n\n")
    losses, lines = program.losses(text), text.splitlines()
    assert list(losses) == list(range(50, 1001 if task == 2 else 2001, 50)) and len(lines) == len(losses) + 2
    assert float(losses[50]) == pytest.approx(first, abs=1e-3) and float([*losses.values()][-1]) < last
    saved = f"Model saved to {training.savepath}{os.sep}checkpoint{ending}.npz."
    assert lines[-2:] == ["Training complete!", saved]
    assert program.files(training.savepath) == [f"checkpoint{ending}.npz"]

    paths = ("--savepath", training.savepath, "--plotpath", tmp_path / "new")
    again = program.output_of(task, "--plot", "--seed", 1, *flags, *paths)  # Means --test, too.
    assert again.partition("Plot")[0] == f"\n{tested.partition('Plot')[0]}"
    drawn = {f"loss{ending}.png", *program.files(tmp_path / "new")}
    assert set(program.files(training.plotpath)) == drawn
    printed = check_test(task, training.savepath, again)
    assert least <= printed["sequences"] <= most and printed["samples"] == 10000
    assert len(printed["input"]) == 10 + (task == 3)
    program.load(task).tf.keras.utils.set_random_seed(1)
    start, _ = program.load(task).Task(generator=np.random.default_rng(1)).next_batch(50, 100)
    assert printed["input"] != "".join(program.alphabet(task)[place] for place in start[0, 0].argmax(axis=-1))


INPUTS = [  # What the sequence is then, a regular expression. Each means --test.
    ("2 --self_att", "--input ab_bc", "AB BC"),
    ("1", "--input ␣b␣", " B "),
    ("1", "--sample_len 300 --plot", ".{300}"),
    ("3", "--signal c", "C.{10}"),
    ("3 --pos_enc", "--input bBABC --hidden 64", "BBABC"),
]


@pytest.mark.parametrize(("variant", "flags", "letters"), INPUTS)
def test_a_sequence_that_is_asked_for_is_tested(variant, flags, letters, trained, tmp_path):
    task, chosen = program.VARIANTS[variant]
    flags = [word.replace("_", " ") if word[0] != "-" else word for word in flags.split()]
    paths = ("--savepath", trained(variant).savepath, "--plotpath", tmp_path)
    printed = check_test(task, paths[1], program.output_of(task, *chosen, *flags, *paths))
    assert re.fullmatch(letters, printed["input"])
    assert printed["samples"] == 10 * min(1000, 10**5 // printed["length"])  # A million letters take seconds.


SIZES = [  # Flags of the model, and the ending of its file.
    (1, "--max_len 40 --vocab_size 1 --hidden 5", ""),
    (2, "--max_len 4 --vocab_size 7 --self_att", "_self_att"),
    (3, "--vocab_size 1 --enc_layers 0", "_0_layers"),
    (3, "--max_len 12 --hidden 6 --pos_enc --enc_layers 2", "_pos_enc_2_layers"),
]


@pytest.mark.parametrize(("task", "flags", "ending"), SIZES)
def test_other_sizes_train_test_and_plot_beside_other_variants(task, flags, ending, tmp_path):
    """A variant replaces no file of another one, and --test takes the sizes from its own."""
    savepath, name = tmp_path / "new" / "my models", f"checkpoint{ending}.npz"
    savepath.mkdir(parents=True)
    others = {f"checkpoint{other}.npz" for *_, other in [*SIZES, (3, "", "_pos_enc")]} - {name}
    for other in others:
        (savepath / other).write_bytes(b"another model")
    paths = ("--savepath", savepath, "--plotpath", tmp_path / "plots")
    steps = ("--steps", 3, "--print_every", 2, *paths)
    output = program.output_of(task, "--train", *flags.split(), "--test", "--plot", *steps, compiled=False)
    for other in others:
        assert (savepath / other).read_bytes() == b"another model"
        (savepath / other).unlink()
    training, _, testing = output.partition("\n\n")
    losses = program.losses(training)
    assert list(losses) == [2, 3] and program.contents(savepath)[1]["step"] == 3
    curve = program.figures(output)[f"loss{ending}"].axes[0].lines[0].get_xydata()
    assert curve.tolist() == [[step, float(loss)] for step, loss in losses.items()]
    printed = check_test(task, savepath, f"\n{testing}")

    variant = re.sub(r"--(max_len|vocab_size|hidden) \d+", "", flags).split()
    again = program.output_of(task, *variant, "--input", printed["input"], *paths)
    assert again.partition("Accuracy")[0] == f"\n{testing.partition('Accuracy')[0]}"
    settings = program.contents(savepath)[1]["settings"]
    given = dict(re.findall(r"--(\w+) (\d+)", flags))
    assert {key: settings[key] for key in given} == {key: int(value) for key, value in given.items()}
    assert program.files(savepath) == [name] and len(printed["input"]) == settings["max_len"] + (task == 3)


def test_each_flag_of_a_training_makes_a_difference(tmp_path):
    def losses(*flags):
        steps = ("--steps", 2, "--print_every", 1, "--savepath", tmp_path)
        return program.output_of(1, "--train", *steps, *flags, compiled=False).partition("\nTraining")[0]

    seeded = [(), ("--lr", 0.02), ("--batchsize", 50), ("--hidden", 32), ("--seed", 2)]
    different = [losses("--seed", 0, *flags) for flags in seeded] + [losses(), losses()]
    assert len(set(different)) == len(different) and losses("--seed", 0) == different[0]
