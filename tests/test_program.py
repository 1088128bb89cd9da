"""What training, testing and plotting print and draw, for every variant and other sizes."""

import json
import os
import re

import figures
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
    """Check that a --test has printed, and drawn if it has, what the model in a folder gives by the formula.

    Return the sequence, and how many percent of new ones are right.
    """
    arrays, description = program.contents(savepath)
    settings, reference = description["settings"], formula.Model(arrays)
    vocab_size, alphabet = settings["vocab_size"], program.alphabet(task, settings["vocab_size"])

    def answers(sequences):
        places = [[alphabet.index(letter) for letter in letters] for letters in sequences]
        return reference.lesson(np.eye(len(alphabet))[places]).argmax(axis=-1)

    letters = "".join(re.findall(r"\['(.)'\]", output))
    length, percent = len(letters), [float(found) for found in re.findall(r"([\d.]+)%", output)]
    others = np.random.default_rng(0).choice(list(alphabet), (min(4000, 10**5 // length), length))
    right = answers(others) == [program.solve(task, "".join(other), vocab_size) for other in others]
    counted = [100 * right.all(axis=-1).mean(), 100 * right.mean()]
    assert percent == pytest.approx(counted, abs=3), f"{percent} are printed as percent right, not {counted}"

    reference.weights.clear()
    prediction, truth = answers([letters]), np.array([program.solve(task, letters, vocab_size)])
    weights = [heads[0][0] for heads in reference.weights.values()]
    if task == 3:
        weights.insert(0, weights.pop())  # The decoder's comes first.
    rows = [json.loads(line) for line in output.splitlines() if re.match(r"\[\d+\.", line)]
    expected = f"\nInput: \n{np.array([list(letters)])[..., None]}\n\nPrediction: \n{prediction}"
    expected += f"\n\nTruth: \n{truth}\n\nEncoder-Decoder Attention: \n"
    for step, (row, by_formula) in enumerate(zip(rows, weights[0])):
        mainly = np.flatnonzero(np.equal(row, max(row)))  # Rounded, as they are printed.
        expected += f"Output step {step} attended mainly to Input steps: {mainly}\n"
        expected += f"{by_formula.round(3).tolist()}\n"
    if settings.get("self_att"):
        expected += "\nSelf-Attention: \n"
        for step, by_formula in enumerate(weights[1]):
            expected += f"Attention of Output step {step}:\n{by_formula.round(3).tolist()}\n"
    if settings.get("pos_enc"):
        norms = np.sqrt((arrays["positional_encoding"][0].astype(float) ** 2).sum(axis=-1)).round(3)
        expected += f"\nL2-Norm of Positional Encoding:\n{norms.tolist()}\n"
    expected += f"\nAccuracy on {10 * min(1000, 10**5 // length)} new samples of length {length}: "
    expected += "{}% of sequences, {}% of output steps\n".format(*percent)
    printed, _, plots = output.partition("Plot saved")
    program.same(printed, expected, 0.0011)

    if plots:
        names = ["count"] if task == 3 else [f"count of {letter}" for letter in alphabet[1:]]
        rows = [f"{step}: {name}" for step, name in enumerate(names + ["|A − B|"] * (task == 2))]
        columns = [f"{letter}\n{step}".replace(" ", "␣") for step, letter in enumerate(letters)]
        pictures = figures.drawn(output)
        maps = [axes for figure in pictures.values() for axes in figure.axes if axes.images]
        answer = f"Prediction: {prediction[0]}\nTruth: {truth[0]}"
        title, labels = f"Encoder-decoder attention\n{answer}", ("Attends to", "Output step")
        largest = [weights[0].max(), max((layer.max() for layer in weights[1:]), default=0)]
        for layer, (axes, by_formula) in enumerate(zip(maps, weights, strict=True)):
            assert axes.get_title() == title, f"{axes.get_title()!r} stands above {title!r}"
            assert (axes.get_xlabel(), axes.get_ylabel()) == labels, f"{title!r}: what attends to what?"
            top = min(1, max(2 / len(columns), largest[layer > 0]))  # Equal weights get the middle colour.
            numbers = len(columns) <= 25 and (task != 3 or layer == 0)
            figures.check_heatmap(axes, by_formula, rows, columns, top, numbers)
            if task == 2:  # Those who attend are those who are attended to.
                columns = ["\n".join(row.replace("count of ", "").split(": ")[::-1]) for row in rows]
                title = f"Self-attention\nInput: {letters.replace(' ', '␣')}\n{answer}"
            else:
                rows = [f"{step}: {letter}" for step, letter in enumerate(letters)]
                title, labels = f"Encoder layer {layer + 1}", ("Attends to input step", "Input step")
        for name in pictures:
            if name.startswith("positional"):
                (axes,) = pictures[name].axes
                assert [axes.get_xlabel(), axes.get_ylabel()] == ["Input step", "L2 norm"]
                places = [(bar.get_center()[0], bar.get_y(), bar.get_height()) for bar in axes.patches]
                right = [(step, 0, norm) for step, norm in enumerate(norms)]
                np.testing.assert_allclose(places, right, atol=0.001, err_msg="bars of positional encodings")
    return letters, percent[0]


@pytest.mark.parametrize("variant", QUALITY)
def test_a_training_is_as_good_as_the_original_and_its_model_is_loaded_again(variant, trained, tmp_path):
    """As --test prints the same in this process, the seed repeats it, too."""
    training, (ending, first, last, least, most) = trained(variant), QUALITY[variant]
    task, flags = program.VARIANTS[variant]
    text, _, tested = training.stdout.partition("\n\n")
    *_, complete, saved = text.splitlines()
    losses = program.losses(text)
    assert list(losses) == list(range(50, 1001 if task == 2 else 2001, 50))
    assert losses[50] == pytest.approx(first, abs=1e-3), "--seed 1 gives another loss than before"
    assert losses[max(losses)] < last, "the training ends with a larger loss than usual"
    assert complete == "Training complete!"
    assert saved == f"Model saved to {training.savepath}{os.sep}checkpoint{ending}.npz."
    assert program.files(training.savepath) == [f"checkpoint{ending}.npz"]

    paths = ("--savepath", training.savepath, "--plotpath", tmp_path / "new")
    again = program.output_of(task, "--plot", "--seed", 1, *flags, *paths)  # Means --test, too.
    assert again.partition("Plot")[0] == f"\n{tested.partition('Plot')[0]}"
    drawn = {f"loss{ending}.png", *program.files(tmp_path / "new")}
    assert set(program.files(training.plotpath)) == drawn
    letters, right = check_test(task, training.savepath, again)
    assert least <= right <= most, f"{right}% of sequences are right"
    seen = program.load(task).Task(generator=np.random.default_rng(1))  # What the training has begun with.
    training_has = "".join(seen.prettify(seen.next_batch(1)[0]).flat)
    assert letters != training_has and len(letters) == len(training_has), f"{letters!r} is trained on"


INPUTS = [  # What the sequence is then, a regular expression. Each means --test.
    ("2 --self_att", "--input ab_bc --plot", "AB BC"),
    ("1", "--input ␣b␣", " B "),
    ("1", "--sample_len 300 --plot", ".{300}"),
    ("3", "--signal c", "C.{10}"),
    ("3 --pos_enc", "--input bBABC --hidden 64", "BBABC"),
]


@pytest.mark.parametrize(("variant", "flags", "expected"), INPUTS)
def test_a_sequence_that_is_asked_for_is_tested(variant, flags, expected, trained, tmp_path):
    task, chosen = program.VARIANTS[variant]
    flags = [word.replace("_", " ") if word[0] != "-" else word for word in flags.split()]
    paths = ("--savepath", trained(variant).savepath, "--plotpath", tmp_path)
    letters, _ = check_test(task, paths[1], program.output_of(task, *chosen, *flags, *paths))
    assert re.fullmatch(expected, letters)


SIZES = [  # Flags of the model, and the ending of its file.
    (1, "--max_len 40 --vocab_size 1 --hidden 5", ""),
    (2, "--max_len 4 --vocab_size 26 --self_att", "_self_att"),
    (3, "--vocab_size 1 --enc_layers 0", "_0_layers"),
    (3, "--max_len 16 --hidden 6 --pos_enc --enc_layers 2", "_pos_enc_2_layers"),
]


@pytest.mark.parametrize(("task", "flags", "ending"), SIZES)
def test_other_sizes_train_test_and_plot_beside_other_variants(task, flags, ending, tmp_path):
    """A variant replaces no file of another one, and --test takes the sizes from its own."""
    name, others = f"checkpoint{ending}.npz", {"", "_self_att", "_pos_enc", "_2_layers"} - {ending}
    for other in others:
        (tmp_path / f"checkpoint{other}.npz").write_bytes(b"another model")
    paths = ("--savepath", tmp_path, "--plotpath", tmp_path / "new" / "plots")
    steps = ("--steps", 3, "--print_every", 2, *paths)
    output = program.output_of(task, "--train", *flags.split(), "--test", "--plot", *steps, compiled=False)
    for other in others:
        assert (tmp_path / f"checkpoint{other}.npz").read_bytes() == b"another model"
        (tmp_path / f"checkpoint{other}.npz").unlink()
    training, _, testing = output.partition("\n\n")
    losses, (_, description) = program.losses(training), program.contents(tmp_path)
    assert list(losses) == [2, 3] and description["step"] == 3
    figures.check_losses(figures.drawn(output)[f"loss{ending}"], output)
    others = [plot for plot in program.files(tmp_path / "new" / "plots") if ending not in f"_{plot}"]
    assert not others, f"{others} are also the names of another variant's pictures"
    letters, _ = check_test(task, tmp_path, f"\n{testing}")

    variant = re.sub(r"--(max_len|vocab_size|hidden) \d+", "", flags).split()
    again = program.output_of(task, *variant, "--input", letters, *paths)
    assert again.partition("Accuracy")[0] == f"\n{testing.partition('Accuracy')[0]}"
    given = {key: int(value) for key, value in re.findall(r"--(\w+) (\d+)", flags)}
    assert given.items() <= description["settings"].items() and (tmp_path / name).exists()


def test_each_flag_of_a_training_makes_a_difference(tmp_path):
    def losses(*flags):
        steps = ("--steps", 2, "--print_every", 1, "--savepath", tmp_path)
        return program.output_of(1, "--train", *steps, *flags, compiled=False).partition("\nTraining")[0]

    seeded = [(), ("--lr", 0.02), ("--batchsize", 50), ("--hidden", 32), ("--seed", 2)]
    different = [losses("--seed", 0, *flags) for flags in seeded] + [losses(), losses()]
    assert len(set(different)) == len(different) and losses("--seed", 0) == different[0]
