"""The three programs, run as a user runs them."""

import re

import numpy as np
import program
import pytest
from program import in_process, messages

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
FIGURES = {
    "1": ["encoder_decoder_attention"],
    "2": ["encoder_decoder_attention"],
    "2 --self_att": ["encoder_decoder_attention", "self_attention"],
    "3": ["encoder_decoder_attention", "encoder_self_attention_1"],
    "3 --pos_enc": ["encoder_decoder_attention", "encoder_self_attention_1", "positional_encoding"],
}


@pytest.mark.parametrize("variant", program.VARIANTS)
def test_training_prints_what_the_contract_says(variant, trained):
    training = trained(variant)
    *losses, complete, saved, plot = training.stdout.splitlines()
    steps = 1000 if variant.startswith("2") else 2000
    for line, step in zip(losses, range(50, steps + 1, 50), strict=True):
        assert re.fullmatch(rf"Iteration {step} - Loss \d+\.\d+(e-\d+)?", line)
    assert complete == "Training complete!"
    assert saved == f"Model saved to {training.savepath / 'checkpoint.npz'}."
    assert plot == f"Plot saved to {training.plotpath / 'loss.png'}."
    assert (training.plotpath / "loss.png").read_bytes().startswith(PNG)
    assert [path.name for path in training.savepath.iterdir()] == ["checkpoint.npz"]
    assert not messages(training)


@pytest.mark.parametrize("variant", program.VARIANTS)
def test_testing_prints_and_draws_what_the_contract_says(variant, trained, tmp_path):
    task, _ = program.VARIANTS[variant]
    flags = ("--test", "--plot", "--seed", 3, "--savepath", trained(variant).savepath)
    testing = program.run(task, *flags, "--plotpath", tmp_path / "plots")
    assert testing.returncode == 0 and not messages(testing)
    found = program.parse(testing.stdout)
    outputs = {1: 3, 2: 4, 3: 1}[task]
    assert len(found["input"]) == (11 if task == 3 else 10)
    assert len(found["prediction"]) == len(found["attention"]) == outputs
    for weights, mainly in zip(found["attention"], found["mainly"], strict=True):
        assert len(weights) == len(found["input"])
        assert sum(weights) == pytest.approx(1, abs=0.006)
        assert mainly == [step for step, weight in enumerate(weights) if weight == max(weights)]
    if variant == "2 --self_att":
        assert np.shape(found["self_attention"]) == (4, 4)
        assert np.sum(found["self_attention"], axis=1) == pytest.approx(1, abs=0.003)
    else:
        assert found["self_attention"] is None
    if variant == "3 --pos_enc":
        assert len(found["norms"]) == 11
    else:
        assert found["norms"] is None
    assert found["plots"] == [str(tmp_path / "plots" / f"{name}.png") for name in FIGURES[variant]]
    for plot in (tmp_path / "plots").iterdir():
        assert plot.read_bytes().startswith(PNG)
    assert len(list((tmp_path / "plots").iterdir())) == len(FIGURES[variant])
    lowest, highest, loss = QUALITY[variant]
    assert lowest <= found["sequences"] <= highest
    assert found["steps"] >= found["sequences"]
    assert float(re.findall(r"Loss (\S+)", trained(variant).stdout)[-1]) < loss


def test_the_printed_accuracy_is_that_of_the_model(trained):
    module = program.load(1)
    model, settings = module.load_model(
        module.parse_arguments(["--test", "--savepath", str(trained("1").savepath)])
    )
    inputs, labels = module.Task(generator=np.random.default_rng(0)).next_batch(4000)
    right = np.argmax(model(inputs)[0], axis=-1) == labels.argmax(axis=-1)
    sequences, steps = module.accuracy(model, module.Task(), length=10)
    assert sequences == pytest.approx(right.all(axis=-1).mean(), abs=0.02)
    assert steps == pytest.approx(right.mean(), abs=0.01)


INPUTS = [
    ("1", ("--input", "AB BC"), "AB BC", None),
    ("1", ("--input", "ab bc"), "AB BC", None),
    ("1", ("--sample_len", 9), None, 9),
    ("1", ("--sample_len", 30), None, 30),
    ("2 --self_att", ("--input", "AB BC"), "AB BC", None),
    ("2 --self_att", ("--sample_len", 11), None, 11),
    ("2", ("--sample_len", 30), None, 30),
    ("3 --pos_enc", ("--input", "BBABC"), "BBABC", None),
    ("3 --pos_enc", ("--signal", "B"), None, 11),
]


@pytest.mark.parametrize(("variant", "flags", "letters", "length"), INPUTS)
def test_the_tested_sequence_is_the_one_that_is_asked_for(variant, flags, letters, length, trained):
    task, _ = program.VARIANTS[variant]
    found = program.parse(in_process(task, "--test", *flags, "--savepath", trained(variant).savepath))
    assert found["input"] == letters or len(found["input"]) == length
    assert len(found["attention"][0]) == len(found["input"])
    if "--signal" in flags:
        assert found["input"][0] == "B"
        assert found["prediction"] == program.solve(3, found["input"])


SIZES = [
    (1, ("--vocab_size", 26, "--max_len", 40, "--hidden", 32)),
    (2, ("--vocab_size", 26, "--max_len", 40, "--hidden", 32, "--self_att")),
    (3, ("--vocab_size", 26, "--max_len", 40, "--hidden", 32, "--pos_enc")),
    (1, ("--vocab_size", 1)),
    (3, ("--vocab_size", 1)),
    (3, ("--enc_layers", 0, "--pos_enc")),
    (3, ("--enc_layers", 6)),
]


@pytest.mark.parametrize(("task", "flags"), SIZES)
def test_other_sizes_train_test_and_plot(task, flags, tmp_path):
    paths = ("--savepath", tmp_path / "models", "--plotpath", tmp_path / "plots")
    steps = ("--steps", 4, "--print_every", 3, "--save_every", 5)
    output = in_process(task, "--train", "--test", "--plot", *steps, *flags, *paths)
    training, testing = output.split(f"Model saved to {tmp_path / 'models' / 'checkpoint.npz'}.\n")
    assert re.fullmatch(r"Iteration 3 - Loss \S+\nIteration 4 - Loss \S+\nTraining complete!\n", training)
    found = program.parse(testing)
    sizes = dict(zip(flags[::2], flags[1::2], strict=False))
    vocab_size = sizes.get("--vocab_size", 3)
    assert len(found["input"]) == sizes.get("--max_len", 10) + (task == 3)
    assert len(found["prediction"]) == {1: vocab_size, 2: vocab_size + 1, 3: 1}[task]
    names = {plot.name for plot in (tmp_path / "plots").iterdir()}
    layers = sizes.get("--enc_layers", 1) if task == 3 else 0
    assert {"loss.png", "encoder_decoder_attention.png"} <= names
    assert len([name for name in names if name.startswith("encoder_self_attention")]) == layers


@pytest.mark.parametrize("variant", ("1", "2 --self_att", "3 --pos_enc"))
def test_a_seed_repeats_a_run_and_another_seed_does_not(variant, tmp_path):
    task, flags = program.VARIANTS[variant]
    flags = ("--train", "--test", "--steps", 6, "--print_every", 2, "--savepath", tmp_path, *flags)
    first, again, other = (in_process(task, *flags, "--seed", seed) for seed in (1, 1, 2))
    assert first == again
    assert first.split("Training")[0] != other.split("Training")[0]
    assert first.split("Input")[1] != other.split("Input")[1]


@pytest.mark.parametrize("every", ((1, 1), (7, 3), (100, 100)))
def test_how_often_it_prints_and_saves_does_not_change_the_training(every, tmp_path):
    print_every, save_every = every
    flags = ("--train", "--steps", 20, "--seed", 1, "--savepath", tmp_path)
    usual = in_process(1, *flags).splitlines()
    other = in_process(1, *flags, "--print_every", print_every, "--save_every", save_every).splitlines()
    steps = [int(line.split()[1]) for line in other if line.startswith("Iteration")]
    assert steps == sorted({*range(print_every, 21, print_every), 20})
    assert usual[-3].split()[-1][:6] == other[-3].split()[-1][:6]


def test_the_test_does_not_reuse_the_data_of_the_training():
    """With one seed, the sample that is tested is not the first one that the model was trained with."""
    module = program.load(1)
    children = np.random.default_rng(1).spawn(1)[0], np.random.default_rng(1)
    first, second = (module.Task(generator=child).sample(100) for child in children)
    assert (first != second).any(axis=1).all()


def test_plot_alone_means_test_and_plot(trained, tmp_path):
    paths = ("--savepath", trained("1").savepath, "--plotpath", tmp_path / "plots")
    assert program.parse(in_process(1, "--plot", *paths))["plots"]


@pytest.mark.parametrize("framework", ("tk", None))
def test_windows_open_where_there_is_a_display(framework, trained, tmp_path, monkeypatch):
    """The framework of the canvas is what tells a display from none; here it is only claimed."""
    module = program.load(1)
    shown = []
    monkeypatch.setattr(module.pyplot, "show", lambda: shown.append(module.pyplot.get_fignums()))
    base = type(module.pyplot.figure().canvas)
    module.pyplot.close("all")
    monkeypatch.setattr(base, "required_interactive_framework", framework)
    paths = ("--savepath", trained("1").savepath, "--plotpath", tmp_path)
    assert program.parse(in_process(1, "--plot", *paths))["plots"]
    assert len(shown) == (framework is not None)
    assert not module.pyplot.get_fignums()


# --- Plots ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "earlier", "later", "gone"),
    (
        (2, ("--self_att",), (), {"self_attention.png"}),
        (3, ("--pos_enc",), ("--enc_layers", 0), {"positional_encoding.png", "encoder_self_attention_1.png"}),
        (1, (), (), set()),
    ),
)
def test_images_of_an_earlier_model_do_not_stay_behind(task, earlier, later, gone, tmp_path, monkeypatch):
    """And nothing else in the folder goes. The compilation, which takes most of the time, is left out."""
    monkeypatch.setattr(program.load(task).tf, "function", lambda function, **_: function)
    own = {"notes.txt", "my_attention.png", "encoder_self_attention_1.png.txt", "self_attention"}
    for name in own:
        (tmp_path / name).write_text("mine")
    flags = (
        "--train",
        "--test",
        "--plot",
        "--steps",
        1,
        "--savepath",
        tmp_path / "models",
        "--plotpath",
        tmp_path,
    )
    found = []
    for others in (earlier, later):
        in_process(task, *flags, *others)
        found.append({path.name for path in tmp_path.iterdir()} - {"models"})
    assert gone <= found[0] and found[1] == found[0] - gone
    assert own <= found[1] and all((tmp_path / name).read_text() == "mine" for name in own)


def test_many_figures_and_a_loss_of_zero_are_drawn_without_a_warning(tmp_path, capfd):
    """Here every warning is an error; matplotlib has one for more than 20 figures, and one for a log of 0."""
    module = program.load(3)
    names = [f"encoder_self_attention_{layer}" for layer in range(1, 26)]
    drawings = {name: (module.draw_heatmap, "A title", np.eye(2), "AB", "AB") for name in names}
    module.plot(drawings | {"loss": (module.draw_losses, [(1, 0.0), (2, 0.0)])}, tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted([*names, "loss"])
    assert not capfd.readouterr().err and not module.pyplot.get_fignums()


def test_a_training_that_reaches_a_loss_of_zero_is_drawn(tmp_path, capfd):
    flags = ("--vocab_size", 1, "--steps", 300, "--lr", 1, "--savepath", tmp_path, "--plotpath", tmp_path)
    assert "- Loss 0.0\n" in in_process(3, "--train", "--plot", *flags)
    assert (tmp_path / "loss.png").read_bytes().startswith(PNG)
    assert "arning" not in capfd.readouterr().err


def test_it_trains_without_xla(tmp_path, monkeypatch):
    """Where tf.function(jit_compile=True) cannot compile, the training goes on without."""
    module = program.load(1)
    function = module.tf.function

    def without_xla(callable_, jit_compile=None, **options):
        if not jit_compile:
            return function(callable_, **options)

        def refuse(*_):
            raise module.tf.errors.UnimplementedError(None, None, "there is no XLA here")

        return refuse

    flags = ("--train", "--steps", 60, "--seed", 1, "--savepath", tmp_path)
    with_xla = in_process(1, *flags)
    monkeypatch.setattr(module.tf, "function", without_xla)
    losses = [
        [float(line.split()[-1]) for line in output.splitlines()[:2]]
        for output in (with_xla, in_process(1, *flags))
    ]
    np.testing.assert_allclose(*losses, rtol=1e-3)


@pytest.mark.parametrize(("rows", "columns"), ((3, 10), (1, 1), (26, 40), (4, 300), (101, 101)))
def test_heatmaps_are_labelled_for_every_size(rows, columns):
    module = program.load(1)
    weights = np.random.default_rng(0).dirichlet(np.ones(columns), rows)
    names = [f"r{row}" for row in range(rows)], ["A "[column % 2] for column in range(columns)]
    figure = module.draw_heatmap("A title", weights, *names)
    figure.draw_without_rendering()
    axes, colour_bar = figure.axes
    assert axes.get_title() == "A title" and colour_bar.get_ylabel() == "Attention weight"
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
    module.pyplot.close(figure)
