"""What training, testing and plotting print and write, for every variant and other sizes."""

import re

import numpy as np
import program
import pytest

PNG = b"\x89PNG\r\n\x1a\n"
# The least and the most sequences right in percent, and the most loss: the ranges of many trainings (forty of
# the last, the least of which has 97.4%), widened by about their width.
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


def check_images(folder, *names):
    """Check that a folder holds these images and nothing else."""
    assert program.files(folder) == sorted(f"{name}.png" for name in names)
    assert all(path.read_bytes().startswith(PNG) for path in folder.iterdir())


# --- The five variants ------------------------------------------------------------------------------------


@every_variant
def test_training_prints_what_the_contract_says(variant, trained):
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
def test_testing_prints_and_draws_what_the_contract_says(variant, trained, tmp_path):
    task, _ = program.VARIANTS[variant]
    savepath = trained(variant).savepath  # Alone, --plot means --test --plot.
    found = program.parse(program.output_of(task, "--plot", "--savepath", savepath, "--plotpath", tmp_path))
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
    assert found["plots"] == [str(tmp_path / f"{name}.png") for name in PLOTS[variant]]
    check_images(tmp_path, *PLOTS[variant])
    model, _ = program.load_model(task, savepath)
    inputs, answers = program.load(task).Task(generator=np.random.default_rng(0)).next_batch(10000)
    right = np.argmax(model(inputs)[0], axis=-1) == answers
    assert found["sequences"] == pytest.approx(100 * right.all(axis=-1).mean(), abs=4)
    assert found["steps"] == pytest.approx(100 * right.mean(), abs=4)
    lowest, highest, _ = QUALITY[variant]
    assert lowest <= found["sequences"] <= highest and found["samples"] == 10000


INPUTS = [
    ("1", ("--input", "ab bc"), "AB BC", 5),
    ("1", ("--sample_len", 30), None, 30),
    ("1", ("--sample_len", 3000), None, 3000),
    ("2 --self_att", ("--input", "AB BC"), "AB BC", 5),
    ("2", ("--sample_len", 9), None, 9),
    ("3 --pos_enc", ("--input", "bBABC"), "BBABC", 5),
    ("3", ("--signal", "b"), None, 11),
]


@pytest.mark.parametrize(("variant", "flags", "letters", "length"), INPUTS)
def test_the_tested_sequence_is_the_one_that_is_asked_for(variant, flags, letters, length, trained):
    task, _ = program.VARIANTS[variant]
    found = program.parse(program.output_of(task, "--test", *flags, "--savepath", trained(variant).savepath))
    assert letters in (None, found["input"])
    assert len(found["attention"][0]) == len(found["input"]) == found["length"] == length
    assert found["samples"] == min(10000, 10**6 // length)  # A million letters take a second or two.
    assert "--signal" not in flags or found["input"][0] == "B"


# --- Other flags ------------------------------------------------------------------------------------------

SIZES = [
    (1, ("--vocab_size", 1), 10, 1, ["encoder_decoder_attention"]),
    (2, ("--vocab_size", 26, "--max_len", 40, "--hidden", 8, "--self_att"), 40, 27, PLOTS["2 --self_att"]),
    (3, ("--vocab_size", 1, "--enc_layers", 0), 11, 1, ["encoder_decoder_attention"]),
    (3, ("--enc_layers", 2, "--pos_enc"), 11, 1, [*PLOTS["3 --pos_enc"], "encoder_self_attention_2"]),
]


@pytest.mark.parametrize(("task", "flags", "length", "outputs", "plots"), SIZES)
def test_other_sizes_train_test_and_plot(task, flags, length, outputs, plots, tmp_path):
    paths = ("--savepath", tmp_path / "models", "--plotpath", tmp_path / "plots")
    steps = ("--steps", 4, "--print_every", 3, "--save_every", 5)
    output = program.output_of(task, "--train", "--test", "--plot", *steps, *flags, *paths)
    training, testing = output.split("Input: ")
    losses = r"Iteration 3 - Loss \S+\nIteration 4 - Loss \S+\n"
    saved = rf"Model saved to {re.escape(str(tmp_path / 'models' / 'checkpoint.npz'))}\.\n"
    assert re.fullmatch(rf"{losses}Training complete!\n{saved}Plot saved to .+loss\.png\.\n", training)
    found = program.parse(f"Input: {testing}")
    assert (len(found["input"]), len(found["prediction"])) == (length, outputs)
    check_images(tmp_path / "plots", "loss", *plots)


def test_how_often_it_prints_does_not_change_the_training(trained, tmp_path):
    """Up to rounding. The last seven training steps are a call of their own."""
    flags = ("--steps", 57, "--print_every", 25, "--seed", 7, "--savepath", tmp_path)
    lines = program.output_of(1, "--train", *flags).splitlines()[:3]
    assert [int(line.split()[1]) for line in lines] == [25, 50, 57]
    assert program.contents(tmp_path)[1]["step"] == 57
    usual = trained("1").stdout.splitlines()[0]
    assert float(lines[1].split()[-1]) == pytest.approx(float(usual.split()[-1]), rel=1e-3)


def test_the_test_does_not_reuse_the_data_of_the_training(trained):
    """With one seed, the sequence that is tested is none of the first that a model was trained with."""
    flags = ("--test", "--seed", 1, "--savepath", trained("1").savepath)
    task = program.load(1).Task(generator=np.random.default_rng(1))
    first = task.prettify(task.next_batch(100)[0])[..., 0]
    assert program.parse(program.output_of(1, *flags))["input"] not in map("".join, first)


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


@pytest.mark.parametrize(("rows", "columns"), ((3, 10), (1, 1), (26, 40), (4, 300)))
def test_heatmaps_are_labelled_for_every_size(rows, columns, display, tmp_path):
    weights = np.random.default_rng(0).dirichlet(np.ones(columns), rows)
    names = [f"r{row}" for row in range(rows)], ["A "[column % 2] for column in range(columns)]
    display.draw_heatmap("A title", weights, *names, tmp_path / "heatmap.png")
    figure = display.pyplot.gcf()
    figure.draw_without_rendering()  # Not in the resolution of the file.
    axes, colour_bar = figure.axes
    assert (axes.get_title(), colour_bar.get_ylabel()) == ("A title", "Attention weight")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Input step", "Output step")
    for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        assert label.get_text() == f"{'A␣'[int(tick) % 2]}\n{int(tick)}"
    for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True):
        assert label.get_text() == f"r{int(tick)}\n{int(tick)}"
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in zip(boxes, boxes[1:], strict=False))
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(upper.y0 > lower.y1 for upper, lower in zip(boxes, boxes[1:], strict=False))
    assert len(axes.texts) in ((rows * columns,) if columns == 10 else (0, rows * columns))
    for text in axes.texts:
        column, row = text.get_position()
        assert text.get_text() == f"{weights[row, column]:.2f}"


def test_a_loss_of_zero_is_drawn_without_a_warning(tmp_path):
    """Here every warning is an error, and matplotlib has one for a logarithm of 0."""
    program.load(1).draw_losses([(1, 0.5), (2, 0.0)], tmp_path / "loss.png")
    check_images(tmp_path, "loss")
