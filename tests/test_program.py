"""What training, testing and plotting print and write, for every variant and other sizes."""

import re

import numpy as np
import program
import pytest

PNG = b"\x89PNG\r\n\x1a\n"
# The least and the most sequences right in percent, and the most loss: the ranges of many trainings, widened
# by about their width. (A few of the last end in a jump of their loss, but not the one trained here.)
QUALITY = {
    "1": (91, 99.9, 0.2),
    "2": (69, 95, 0.44),
    "2 --self_att": (88, 99.9, 0.29),
    "3": (42, 59.5, 1.31),
    "3 --pos_enc": (95, 100, 0.16),
}
PLOTS = {
    "1": ["encoder_decoder_attention"],
    "2": ["encoder_decoder_attention"],
    "2 --self_att": ["encoder_decoder_attention", "self_attention"],
    "3": ["encoder_decoder_attention", "encoder_self_attention_1"],
    "3 --pos_enc": ["encoder_decoder_attention", "encoder_self_attention_1", "positional_encoding"],
}
every_variant = pytest.mark.parametrize("variant", program.VARIANTS)


@pytest.fixture
def drawn(monkeypatch):
    """Return a function that runs main(argv) and returns what it prints, and the figures that it saves."""

    def run(task, *flags):
        module, figures = program.load(task), {}
        usual = module.save_figure

        def keep(figure, path):
            figures[path.stem] = figure
            usual(figure, path)

        monkeypatch.setattr(module, "save_figure", keep)
        return program.output_of(task, *flags), figures

    return run


def encoder_weights(letters, savepath):
    """Return what each encoder layer of a model of Task 3 has, by the name of its picture."""
    inputs = np.eye(3, dtype=np.float32)[[["ABC".index(letter) for letter in letters]]]
    layers = program.load_model(3, savepath)[0](inputs)[2]
    return {f"encoder_self_attention_{layer}": each[0] for layer, each in enumerate(layers, start=1)}


def check_images(folder, *names):
    """Check that a folder holds these images and nothing else."""
    assert program.files(folder) == sorted(f"{name}.png" for name in names)
    assert all(path.read_bytes().startswith(PNG) for path in folder.iterdir())


# --- The five variants ------------------------------------------------------------------------------------


@every_variant
def test_training_prints_what_it_promises(variant, trained):
    training = trained(variant)
    *losses, complete, saved, plot = training.stdout.splitlines()
    steps = 1000 if variant.startswith("2") else 2000
    for line, step in zip(losses, range(50, steps + 1, 50), strict=True):
        assert re.fullmatch(rf"Iteration {step} - Loss \d+\.\d+(e-\d+)?", line)
    assert float(losses[-1].split()[-1]) < QUALITY[variant][2]
    assert complete == "Training complete!"
    assert saved == f"Model saved to {training.savepath / 'checkpoint.npz'}."
    assert plot == f"Plot saved to {training.plotpath / 'loss.png'}."
    assert program.files(training.savepath) == ["checkpoint.npz"]
    check_images(training.plotpath, "loss")


@every_variant
def test_testing_prints_what_it_promises(variant, trained):
    task, _ = program.VARIANTS[variant]
    found = program.parse(program.output_of(task, "--test", "--savepath", trained(variant).savepath))
    outputs = {1: 3, 2: 4, 3: 1}[task]
    assert len(found["input"]) == found["length"] == (11 if task == 3 else 10)
    assert len(found["prediction"]) == len(found["attention"]) == outputs
    for weights, mainly in zip(found["attention"], found["mainly"], strict=True):
        assert len(weights) == len(found["input"])
        assert sum(weights) == pytest.approx(1, abs=0.006)
        assert mainly == [step for step, weight in enumerate(weights) if weight == max(weights)]
    assert [len(row) for row in found["self_attention"]] == [4] * 4 * (variant == "2 --self_att")
    assert all(sum(row) == pytest.approx(1, abs=0.003) for row in found["self_attention"])
    assert [len(row) for row in found["norms"]] == [11] * (variant == "3 --pos_enc")
    lowest, highest, _ = QUALITY[variant]
    assert lowest <= found["sequences"] <= highest and found["samples"] == 10000


INPUTS = [
    *((variant, "", None, 11 if variant[0] == "3" else 10) for variant in program.VARIANTS),
    ("1", "--input ab_bc", "AB BC", 5),
    ("1", "--sample_len 30", None, 30),
    ("1", "--sample_len 3000", None, 3000),
    ("2 --self_att", "--input AB_BC", "AB BC", 5),
    ("2", "--sample_len 5", None, 5),
    ("3 --pos_enc", "--input bBABC", "BBABC", 5),
    ("3", "--signal b", None, 11),
]


@pytest.mark.parametrize(("variant", "flags", "letters", "length"), INPUTS)
def test_the_tested_sequence_is_the_one_that_is_asked_for(variant, flags, letters, length, trained):
    """And the accuracy is that at its length: for shorter sequences nearly none in Task 1."""
    task, _ = program.VARIANTS[variant]
    savepath = trained(variant).savepath
    flags = [word.replace("_", " ") if word[0] != "-" else word for word in flags.split()]
    found = program.parse(program.output_of(task, "--test", *flags, "--savepath", savepath))
    assert letters in (None, found["input"]) and ("--signal" not in flags or found["input"][0] == "B")
    assert len(found["attention"][0]) == len(found["input"]) == found["length"] == length
    assert found["samples"] == 10 * min(1000, 10**5 // length)  # A million letters take a second or two.
    model, _ = program.load_model(task, savepath)
    source = program.load(task).Task(10, 3, np.random.default_rng(0))
    inputs, answers = source.next_batch(min(10000, 10**5 // length), length=length)
    right = np.argmax(model(inputs)[0], axis=-1) == answers
    assert found["sequences"] == pytest.approx(100 * right.all(axis=-1).mean(), abs=5)
    assert found["steps"] == pytest.approx(100 * right.mean(), abs=5)
    assert task == 3 or length == 10 or found["sequences"] < 5


@every_variant
def test_a_seed_repeats_the_test_whose_data_are_not_those_of_the_training(variant, trained, monkeypatch):
    task, _ = program.VARIANTS[variant]
    flags = ("--test", "--savepath", trained(variant).savepath, "--seed")
    module, batches = program.load(task), []
    usual = module.Task.next_batch

    def next_batch(*words, **options):
        batches.append(usual(*words, **options))
        return batches[-1]

    monkeypatch.setattr(module.Task, "next_batch", next_batch)
    once, again, other = (program.output_of(task, *flags, seed) for seed in (1, 1, 2))
    assert once == again and program.parse(once)["input"] != program.parse(other)["input"]
    source = module.Task(10, 3, np.random.default_rng(1))
    sample, first, *_ = ("".join(source.prettify(inputs).ravel()) for inputs, _ in batches)
    training = "".join(source.prettify(source.next_batch(2000)[0]).ravel())
    assert len(first) >= 10000 and first[:100] not in training and not training.startswith(sample)


# --- Other flags ------------------------------------------------------------------------------------------

SIZES = [
    (1, ("--vocab_size", 1), 10, 1, ["encoder_decoder_attention"]),
    (2, ("--vocab_size", 26, "--max_len", 4, "--hidden", 8, "--self_att"), 4, 27, PLOTS["2 --self_att"]),
    (3, ("--vocab_size", 1, "--enc_layers", 0), 11, 1, ["encoder_decoder_attention"]),
    (3, ("--enc_layers", 2, "--pos_enc"), 11, 1, [*PLOTS["3 --pos_enc"], "encoder_self_attention_2"]),
]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]} {' '.join(map(str, size[1]))}")
def test_other_sizes_train_test_and_plot(size, drawn, tmp_path):
    task, flags, length, outputs, plots = size
    paths = ("--savepath", tmp_path / "models", "--plotpath", tmp_path / "plots")
    steps = ("--steps", 2, "--print_every", 1, "--seed", 0)
    output, figures = drawn(task, "--train", "--test", "--plot", *steps, *flags, *paths)
    training, testing = output.split("Input: ")
    losses = r"Iteration 1 - Loss \S+\nIteration 2 - Loss \S+\n"
    saved = rf"Model saved to {re.escape(str(tmp_path / 'models' / 'checkpoint.npz'))}\.\n"
    assert re.fullmatch(rf"{losses}Training complete!\n{saved}Plot saved to .+loss\.png\.\n", training)
    found = program.parse(f"Input: {testing}")
    assert (len(found["input"]), len(found["prediction"])) == (length, outputs)
    check_images(tmp_path / "plots", "loss", *plots)
    if plots[-1].endswith("_2"):
        for name, weights in encoder_weights(found["input"], tmp_path / "models").items():
            np.testing.assert_allclose(figures[name].axes[0].images[0].get_array(), weights, atol=1e-4)


@every_variant
def test_a_seed_repeats_a_training_and_each_flag_makes_a_difference(variant, trained, tmp_path):
    task, own = program.VARIANTS[variant]

    def line(*flags):
        flags = ("--train", "--seed", 7, "--steps", 50, *own, *flags, "--savepath", tmp_path)
        return program.output_of(task, *flags).splitlines()[0]

    usual = trained(variant).stdout.splitlines()[0]
    assert line() == usual and line("--lr", 0.02) != usual and line("--batchsize", 50) != usual


def test_how_often_it_prints_does_not_change_the_training(trained, tmp_path):
    """Up to rounding. The last seven training steps are a call of their own."""
    flags = ("--steps", 57, "--print_every", 25, "--seed", 7, "--savepath", tmp_path)
    lines = program.output_of(1, "--train", *flags).splitlines()[:3]
    assert [int(line.split()[1]) for line in lines] == [25, 50, 57]
    assert program.contents(tmp_path)[1]["step"] == 57
    usual = trained("1").stdout.splitlines()[0]
    assert float(lines[1].split()[-1]) == pytest.approx(float(usual.split()[-1]), rel=1e-3)


def test_a_checkpoint_is_that_of_its_step(tmp_path, monkeypatch):
    """What is saved on the way is what a training that ends there saves."""
    module, saved = program.load(1), []
    usual = module.save_model

    def watch(model, settings, step, savepath):
        saved.append((step, [weight.numpy() for weight in model.weights]))
        return usual(model, settings, step, savepath)

    flags = ("--train", "--seed", 7, "--save_every", 10, "--savepath", tmp_path)
    program.output_of(1, *flags, "--steps", 10)
    short, description = program.contents(tmp_path)
    monkeypatch.setattr(module, "save_model", watch)
    program.output_of(1, *flags, "--steps", 20)
    assert description["step"] == 10 and [step for step, _ in saved] == [10, 20]
    assert all(any(np.array_equal(one, other) for other in saved[0][1]) for one in short.values())


# --- Pictures ---------------------------------------------------------------------------------------------


@pytest.fixture
def display(monkeypatch):
    """Return main.py of Task 1 where there seems to be a display: figures stay until windows show them."""
    module = program.load(1)
    canvas = type(module.pyplot.figure().canvas)
    monkeypatch.setattr(canvas, "required_interactive_framework", "tk")
    module.pyplot.close("all")
    yield module
    module.pyplot.close("all")


def test_windows_open_where_there_is_a_display(display, trained, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(display.pyplot, "show", lambda: shown.append(len(display.pyplot.get_fignums())))
    flags = ("--plot", "--savepath", trained("1").savepath, "--plotpath", tmp_path)
    assert program.parse(program.output_of(1, *flags))["plots"]
    assert shown == [1]


def boxes_overlap(labels):
    """Return whether neighbours of these labels of an axis overlap."""
    boxes = [label.get_window_extent() for label in labels]
    return any(one.overlaps(other) for one, other in zip(boxes, boxes[1:], strict=False))


@every_variant
def test_heatmaps_show_the_weights_and_the_names_of_rows_and_columns(variant, trained, tmp_path, drawn):
    """What the figures hold is what was printed or, for the encoder, what the model gives."""
    task, _ = program.VARIANTS[variant]
    savepath = trained(variant).savepath
    output, figures = drawn(task, "--plot", "--savepath", savepath, "--plotpath", tmp_path)
    found = program.parse(output)
    assert found["plots"] == [str(tmp_path / f"{name}.png") for name in PLOTS[variant]]
    check_images(tmp_path, *PLOTS[variant])
    letters = [f"{letter}\n{step}" for step, letter in enumerate(found["input"].replace(" ", "␣"))]
    outputs = {1: "ABC", 2: ["A", "B", "C", "|A−B|"], 3: ["count"]}[task]
    outputs = [f"{name}\n{step}" for step, name in enumerate(outputs)]
    expected = {
        "encoder_decoder_attention": (found["attention"], "Output step", outputs, "Input step", letters)
    }
    if found["self_attention"]:
        expected["self_attention"] = (found["self_attention"], "Output step", outputs, "Output step", outputs)
    if task == 3:
        for name, weights in encoder_weights(found["input"], savepath).items():
            expected[name] = (weights, "Input step", letters, "Input step", letters)
    for name, (weights, down, rows, across, columns) in expected.items():
        axes, colour_bar = figures[name].axes
        (image,) = axes.images
        np.testing.assert_allclose(image.get_array(), weights, atol=6e-4)
        assert (axes.get_ylabel(), axes.get_xlabel()) == (down, across)
        assert [label.get_text() for label in axes.get_yticklabels()] == rows
        assert [label.get_text() for label in axes.get_xticklabels()] == columns
        assert colour_bar.get_ylabel() == "Attention weight" and axes.get_title()
        for text in axes.texts:
            column, row = text.get_position()
            assert text.get_text() == f"{image.get_array()[row, column]:.2f}"
        assert len(axes.texts) == image.get_array().size
        assert not boxes_overlap(axes.get_xticklabels()) and not boxes_overlap(axes.get_yticklabels())
    if found["norms"]:
        bars = [bar.get_height() for bar in figures["positional_encoding"].axes[0].patches]
        np.testing.assert_allclose(bars, found["norms"][0], atol=6e-4)


@pytest.mark.parametrize("length", (1, 40, 300))
@pytest.mark.parametrize("task", program.FOLDERS)
def test_a_flat_heatmap_of_any_length_looks_flat(task, length, display, tmp_path):
    """Not as bright as what the model looks at."""
    names = ["AB"[step % 2] for step in range(length)]
    axes = ("ABC", names) if task == 1 else (("Output step", "ABC"), ("Input step", names))
    weights = np.full((3, length), 1 / length)
    program.load(task).draw_heatmap("Flat", weights, *axes, tmp_path / "flat.png")
    figure = display.pyplot.gcf()
    figure.draw_without_rendering()  # Not in the resolution of the file.
    (image,) = figure.axes[0].images
    assert image.norm(1 / length) == pytest.approx(0.5) and image.norm.vmin == 0
    assert not boxes_overlap(figure.axes[0].get_xticklabels())


def test_the_loss_curve_shows_the_losses_that_are_printed(display, tmp_path, monkeypatch):
    monkeypatch.setattr(display.pyplot, "show", lambda: None)
    paths = ("--savepath", tmp_path, "--plotpath", tmp_path)
    output = program.output_of(1, "--train", "--plot", "--steps", 4, "--print_every", 2, *paths)
    printed = re.findall(r"Iteration (\d+) - Loss (\S+)", output)
    (axes,) = display.pyplot.gcf().axes
    assert axes.lines[0].get_xydata().tolist() == [[float(step), float(loss)] for step, loss in printed]
    assert axes.get_xlabel() == "Training step" and "nats" in axes.get_ylabel()
    assert axes.get_yscale() == "log" and display.TASK in axes.get_title()
