"""The transformer: its attention, what it prints and draws."""

import re

import figures
import formula
import numpy as np
import program
import pytest


@pytest.mark.parametrize(("hidden", "heads"), ((12, 3), (8, 1)))
def test_attention_is_that_of_keras(hidden, heads):
    module = program.load("transformer")
    vectors = np.random.default_rng(0).normal(size=(2, 7, hidden)).astype(np.float32)
    attention = module.Attention(heads)
    output, weights = attention(vectors)
    depth = hidden // heads
    keras_attention = module.tf.keras.layers.MultiHeadAttention(heads, depth, use_bias=False)
    keras_attention.build(vectors.shape, vectors.shape)
    names = [weight.path.split("/")[-2] for weight in keras_attention.weights]
    assert names == ["query", "key", "value", "attention_output"]
    order = [getattr(attention, name).numpy() for name in ("W_Q", "W_K", "W_V", "W_O")]
    shapes = [weight.shape for weight in keras_attention.weights]
    keras_attention.set_weights([array.reshape(shape) for array, shape in zip(order, shapes)])
    expected = keras_attention(vectors, vectors, use_causal_mask=True, return_attention_scores=True)
    np.testing.assert_allclose(output, expected[0], atol=1e-5)
    np.testing.assert_allclose(weights, expected[1], atol=1e-6)


def check_test(output, savepath):
    """Check that --test has printed and drawn what the model gives by the formula; return its words."""
    arrays, description = program.contents(savepath)
    settings, reference = description["settings"], formula.Model(arrays)
    pairs, known = settings["pairs"], program.load("transformer").vocabulary(settings["pairs"])
    words = re.search("Text: \n(.*)", output)[1].split()
    right = program.pets_of(words)
    first, read = min(right), words[: max(right) + 1]
    chances = reference.transformer(settings, [known.index(word) for word in read])
    layers = np.array(list(reference.weights.values()))  # (layers, heads, words, words)

    def look(row):
        return f"{words[row.argmax()]} at word {row.argmax()} ({row.max():.3f})\n"

    expected = f"\nText: \n{' '.join(words)}\n"
    for number, heads in enumerate(layers[:-1], start=1):
        head = np.argmax([sum(weights[pet, pet - 1] for pet in range(1, first, 2)) for weights in heads])
        expected += f"\nLayer {number}, head {head + 1}, what each pet attended mainly to:\n"
        for pet in range(1, first, 2):
            expected += f"{words[pet]} at word {pet}: {look(heads[head, pet])}"
    for place, truth in right.items():
        expected += f"\nQuestion at word {place}: {words[place]}\n"
        expected += f"Prediction: {known[chances[place].argmax()]}\nTruth: {truth}\n"
        for head in np.argsort(-layers[-1][:, place].max(axis=-1)):  # The most certain first.
            row = layers[-1][head, place]
            expected += f"Layer {len(layers)}, head {head + 1}, attended mainly to: {look(row)}"
    percent = re.search(r"([\d.]+)%", output)[1]
    expected += f"\nAccuracy on 10000 new texts of {pairs} pairs: {percent}% of first questions\n"
    program.same(output.partition("Plot saved")[0], expected, 0.0011)
    answered = program.percent_right(program.load_model("transformer", savepath), pairs)
    assert float(percent) == pytest.approx(answered, abs=4)

    pictures = figures.drawn(output)
    names = [f"{place}: {word}" for place, word in enumerate(read)]
    for number, heads in enumerate(layers, start=1):
        figure = pictures[f"transformer_layer_{number}"]
        head = re.search(rf"Layer {number}, head (\d+)", expected)[1]
        rows = f"row of the question, {names[first]}," if number == len(layers) else "rows of the pets"
        title = f"Layer {number}: look at the {rows} in head {head}"
        assert figure.get_suptitle() == title, f"{figure.get_suptitle()!r} stands above what is {title!r}"
        assert [figure.get_supylabel(), figure.get_supxlabel()] == ["Word", "Attends to word"]
        *maps, _ = figure.axes
        for head, (axes, weights) in enumerate(zip(maps, heads, strict=True), start=1):
            assert axes.get_title() == f"Head {head}", f"head {head} is called {axes.get_title()!r}"
            earlier = np.where(np.tri(len(read)), weights, np.nan)
            figures.check_heatmap(axes, earlier, names, names, 1)
    return words, float(percent)


def test_a_short_training_learns_to_look_up_and_its_model_is_loaded_again(trained, tmp_path):
    training = trained("transformer")
    text, _, tested = training.stdout.partition("\n\n")
    saved = f"Model saved to {training.savepath / 'transformer.npz'}."
    assert text.splitlines()[-2:] == ["Training complete!", saved]
    losses = program.losses(text)
    assert list(losses) == list(range(50, 501, 50)) and losses[50] == pytest.approx(2.3688, abs=1e-3)
    drawn = ["transformer_layer_1.png", "transformer_layer_2.png", "transformer_loss.png"]
    assert program.files(training.plotpath) == drawn

    paths = ("--savepath", training.savepath, "--plotpath", tmp_path)
    again = program.output_of("transformer", "--plot", "--seed", 1, *paths)
    assert again.partition("Plot")[0] == f"\n{tested.partition('Plot')[0]}"
    words, percent = check_test(again, training.savepath)
    assert len(words) == 16 and len(set(words[:8:2])) == 4 and percent > 61  # A guesser gets 41%.
    text = "ben CAT Dan owl Cleo owl Dan hen Ben cat Cleo owl Dan owl Ben"  # Once, Dan's pet is wrong.
    output = program.output_of("transformer", "--plot", "--input", text, *paths)
    assert " ".join(check_test(output, training.savepath)[0]).lower() == text.lower()


def test_other_sizes_train_test_and_plot(tmp_path):
    flags = "--pairs 8 --layers 1 --heads 3 --hidden 6 --steps 2 --print_every 1 --seed 0".split()
    paths = ("--savepath", tmp_path / "models", "--plotpath", tmp_path / "plots")
    output = program.output_of("transformer", "--train", "--test", "--plot", *flags, *paths, compiled=False)
    figures.check_losses(figures.drawn(output)["transformer_loss"], output)
    training, _, testing = output.partition("\n\n")
    words, _ = check_test(f"\n{testing}", tmp_path / "models")
    assert len(words) == 32 and len(program.losses(training)) == 2
    again = program.output_of("transformer", "--test", "--seed", 0, *paths)  # The model has its sizes.
    assert testing.startswith(again[1:])
