"""The transformer: its texts and its attention, what it prints and draws."""

import collections
import itertools
import math
import pathlib
import re

import drawings
import formula
import names_and_pets
import numpy as np
import program
import pytest
from experiments import transformer as measured

# --- The texts --------------------------------------------------------------------------------------------


def about(mean):
    """Return what a number of random events equals if it is within five standard deviations of their mean."""
    return pytest.approx(mean, abs=5 * math.sqrt(mean))


@pytest.mark.parametrize("pairs", (1, 2, 4, 8))
def test_each_text_introduces_pairs_and_asks_for_them(pairs, transformer):
    words = transformer.vocabulary(pairs)
    names, pets = words[: 2 * pairs], words[2 * pairs :]
    assert len(set(words)) == 4 * pairs
    texts = transformer.next_batch(np.random.default_rng(0), pairs, 3, 2000)
    assert texts.shape == (3, 2000, 4 * pairs) and texts.dtype == np.int32
    introduced, said, asked = collections.Counter(), collections.Counter(), collections.Counter()
    for text in texts.reshape(6000, -1):
        text = [words[number] for number in text]
        assert set(text[::2]) <= set(names) and set(text[1::2]) <= set(pets)
        right = names_and_pets.answers(text)
        first = min(right) // 2  # How many pairs come before the first question, and after it no new name.
        assert len(set(text[::2])) == first and all(text[place + 1] == pet for place, pet in right.items())
        introduced[first] += 1
        said.update(text[1 : 2 * first : 2])
        asked[text[: 2 * first : 2].index(text[-2]), first] += 1
    assert introduced == dict.fromkeys(range(1, pairs + 1), about(6000 / pairs))
    assert said == dict.fromkeys(pets, about(sum(said.values()) / (2 * pairs)))
    for (_, first), count in asked.items():  # The last question asks for each of them equally often.
        assert count == about(introduced[first] / first)
    for text in transformer.next_batch(np.random.default_rng(0), pairs, 50, introduced=pairs):
        assert len(set(text[::2])) == len(set(text[: 2 * pairs : 2])) == pairs


@pytest.mark.parametrize("pairs", (1, 2, 3, 4))
def test_the_lowest_loss_is_that_of_all_texts_counted(pairs):
    """Texts by turns, the same names in other letters being one text: 0 is the first name, 1 the second."""
    probabilities = collections.Counter()  # Of what is said so far, a tuple of turns.
    for introduced in range(1, pairs + 1):
        questions = list(itertools.product(range(introduced), repeat=2 * pairs - introduced))
        for turns in questions:
            text = (*range(introduced), *turns)
            for end in range(len(text) + 1):
                probabilities[text[:end]] += 1 / pairs / len(questions)
    nats = 0
    for text, probability in probabilities.items():
        if len(text) > 1:  # Before the first name there is nothing to go on from.
            so_far = max(text[:-1]) + 1
            new = text[-1] == so_far
            fraction = probability / probabilities[text[:-1]] / (2 * pairs - so_far if new else 1)
            nats -= probability * math.log(fraction)
        if text and text[-1] not in text[:-1]:
            nats += probability * math.log(2 * pairs)  # The new name's pet.
    assert measured.lowest_loss(pairs) == pytest.approx(nats / (4 * pairs - 1))


# --- The model --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hidden", "heads"), ((12, 3), (8, 1), (32, 4)))
def test_attention_is_that_of_keras(hidden, heads, transformer):
    vectors = np.random.default_rng(0).normal(size=(2, 7, hidden)).astype(np.float32)
    attention = transformer.Attention(heads)
    output, weights = attention(vectors)
    depth = hidden // heads
    keras_attention = transformer.tf.keras.layers.MultiHeadAttention(heads, depth, use_bias=False)
    keras_attention.build(vectors.shape, vectors.shape)
    matrices = {name: getattr(attention, name).numpy() for name in ("W_Q", "W_K", "W_V", "W_O")}
    order = [matrices[f"W_{letter}"].reshape(hidden, heads, depth) for letter in "QKV"]
    names = [weight.path.split("/")[-2] for weight in keras_attention.weights]
    assert names == ["query", "key", "value", "attention_output"]
    keras_attention.set_weights([*order, matrices["W_O"].reshape(heads, depth, hidden)])
    expected = keras_attention(vectors, vectors, use_causal_mask=True, return_attention_scores=True)
    np.testing.assert_allclose(output, expected[0], atol=1e-5)
    np.testing.assert_allclose(weights, expected[1], atol=1e-6)


def test_no_word_starts_as_a_position_does(transformer):
    """One initializer for both would give them the same numbers."""
    transformer.tf.keras.utils.set_random_seed(1)
    model = transformer.Transformer(pairs=4, hidden=32, layers=2, heads=4)
    words, positions = model.embedding.embeddings.numpy(), model.positions.numpy()[0]
    cosines = words @ positions.T / np.outer(*(np.linalg.norm(each, axis=1) for each in (words, positions)))
    assert np.abs(cosines).max() < 0.8 and words.std() == pytest.approx(0.3, abs=0.05)
    assert positions.std() == pytest.approx(0.3, abs=0.05)


def test_the_model_is_the_formula(short, transformer):
    arrays, description = program.contents(short.savepath)
    model, settings = program.load_model("transformer", short.savepath), description["settings"]
    assert {array.dtype for array in arrays.values()} == {np.dtype("float32")}
    assert settings == {"pairs": 4, "hidden": 32, "layers": 2, "heads": 4}
    assert description["step"] == 700 and sum(array.size for array in arrays.values()) == 18416
    words = transformer.next_batch(np.random.default_rng(5), 4, 3)[:, :-1]
    reference = formula.Model(arrays)
    chances = reference.transformer(settings, words)
    for length in (15, 4):  # One after the other, also by Keras's own way.
        for logits, weights in (model(words[:, :length]), model.predict(words[:, :length], verbose=0)):
            np.testing.assert_allclose(formula.softmax(logits), chances[:, :length], atol=1e-4)
            for one, heads in zip(weights, reference.weights.values(), strict=True):
                expected = np.stack(heads, axis=1)[:, :, :length, :length]
                np.testing.assert_allclose(one, expected, atol=1e-4)


# --- What it prints and draws -----------------------------------------------------------------------------


def test_the_guesser_by_all_tables_of_pets():
    tables = itertools.product(range(8), repeat=4)
    assert measured.guesser(4) == np.mean([max(map(table.count, table)) / 4 for table in tables])
    assert f"{measured.guesser(4):.2%} {measured.guesser(8):.1%}" == "41.21% 25.8%"


def test_a_short_training(short):
    lines, losses = short.stdout.splitlines(), program.losses(short.stdout)
    assert list(losses) == list(range(50, 701, 50)) and len(lines) == 17
    assert lines[-3:-1] == ["Training complete!", f"Model saved to {short.savepath / 'transformer.npz'}."]
    assert [pathlib.Path(path).name for path in program.plots(lines[-1])] == ["transformer_loss.png"]
    assert measured.lowest_loss(4) < float(losses[700]) < float(losses[50])


TEXTS = [  # In the second one, Anna's pet is said wrong at first; the third is as long as a text can be.
    None,
    "Anna dog Ben cat aNNA owl Ben cat Anna",
    "ben CAT Dan owl Cleo owl Dan owl Ben cat Cleo owl Dan owl Ben cat",
]


def check_look(word, place, weight, words, row):
    """Check that a word, with its place and weight as they are printed, has the largest weight of a row."""
    assert word == words[int(place)] and float(weight) == pytest.approx(row.max(), abs=0.0006)
    assert row[int(place)] == pytest.approx(row.max(), abs=1e-4)


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_test_shows_is_what_the_model_gives(text, short, tmp_path, drawn, transformer):
    flags = ("--test", "--plot", "--seed", 3, "--savepath", short.savepath, "--plotpath", tmp_path / "new")
    output, figures = drawn("transformer", *flags, *(("--input", text) if text else ()))
    printed = names_and_pets.parse(output)
    words, questions = printed.words, printed.questions
    if text:
        assert " ".join(words).lower() == text.lower()
    else:
        assert len(words) == 16 and len(set(words[:8:2])) == 4
    right = names_and_pets.answers(words)
    assert {int(place): truth for place, _, _, truth, _ in questions} == right

    known, read, pets = transformer.vocabulary(4), words[: max(right) + 1], range(1, min(right), 2)
    arrays, description = program.contents(short.savepath)
    reference = formula.Model(arrays)
    chances = reference.transformer(description["settings"], [known.index(word) for word in read])
    first, second = np.array(list(reference.weights.values()))  # (heads, words, words)
    for place, name, prediction, _, looks in questions:
        place = int(place)
        assert name == words[place] and prediction == known[chances[place].argmax()]
        assert sorted(head for _, head, *_ in looks) == ["1", "2", "3", "4"]
        weights = [weight for *_, weight in looks]
        assert weights == sorted(weights, reverse=True)
        for layer, head, *look in looks:
            assert layer == "2"
            check_look(*look, words, second[int(head) - 1, place])
    assert [(pet, int(place)) for pet, place, *_ in printed.pets] == [(words[place], place) for place in pets]
    for _, place, *look in printed.pets:
        check_look(*look, words, first[printed.head - 1, int(place)])
    on_owners = first[:, pets, [place - 1 for place in pets]].mean(axis=-1)
    assert on_owners[printed.head - 1] == pytest.approx(on_owners.max(), abs=1e-4)

    assert list(figures) == ["transformer_layer_1", "transformer_layer_2"]
    names = [f"{place}: {word}" for place, word in enumerate(read)]
    for layer, (figure, heads) in enumerate(zip(figures.values(), (first, second), strict=True), start=1):
        *maps, colour_bar = figure.axes  # One bar of colours for all, from no weight to all of it.
        assert {axes.images[0].get_clim() for axes in maps} == {colour_bar.get_ylim()} == {(0, 1)}
        assert str(layer) in figure.get_suptitle() and figure.get_supylabel() and figure.get_supxlabel()
        for head, (axes, weights) in enumerate(zip(maps, heads, strict=True), start=1):
            np.testing.assert_allclose(axes.images[0].get_array(), weights, atol=1e-4)
            assert re.findall(r"\d", axes.get_title()) == [str(head)] and axes.yaxis_inverted()
            assert [label.get_text() for label in axes.get_xticklabels()] == names
            assert [label.get_text() for label in axes.get_yticklabels()] == names


def test_the_accuracy_is_that_of_the_first_questions(short, transformer, monkeypatch):
    """Counted by plain Python over the very texts that the test draws; a short training beats the guesser."""
    drawn, next_batch = [], transformer.next_batch

    def kept(*arguments, **words):
        drawn.append(next_batch(*arguments, **words))
        return drawn[-1]

    monkeypatch.setattr(transformer, "next_batch", kept)
    output = program.output_of("transformer", "--test", "--seed", 3, "--savepath", short.savepath)
    texts = np.concatenate(drawn[1:])  # The first one is shown.
    assert texts.shape == (10000, 16) and len({tuple(text) for text in texts[:, 8:].tolist()}) > 5000
    answers = [names_and_pets.answers(text) for text in texts.tolist()]
    assert all(min(right) == 8 for right in answers)
    logits, _ = program.load_model("transformer", short.savepath)(texts[:, :-1])
    share = np.mean(np.argmax(logits[:, 8], axis=-1) == [right[8] for right in answers])
    assert f"{share:.2%} of first" in output and share > measured.guesser(4) + 0.2


def test_other_sizes_train_test_and_plot(drawn, tmp_path, transformer):
    """A loss is the mean over the last training steps; these leave the weights as the seed makes them."""
    sizes = {"pairs": 8, "layers": 1, "heads": 3, "hidden": 6}
    flags = [word for name, size in sizes.items() for word in (f"--{name}", size)]
    flags += ["--steps", 3, "--print_every", 2, "--seed", 0, "--lr", 1e-9]
    paths = ("--savepath", tmp_path / "models", "--plotpath", tmp_path / "plots")
    output, figures = drawn("transformer", "--train", "--test", "--plot", *flags, *paths, compiled=False)
    assert list(figures) == ["transformer_layer_1", "transformer_loss"]
    training, _, testing = output.partition("\n\n")
    printed = names_and_pets.parse(f"\n{testing}")
    assert len(printed.words) == 32 and not printed.pets and list(program.losses(training)) == [2, 3]
    drawings.check_losses(figures["transformer_loss"], training)
    again = program.output_of("transformer", "--test", "--seed", 0, *paths[:2])  # The model has its sizes.
    assert testing.startswith(again[1:])
    transformer.tf.keras.utils.set_random_seed(0)
    model = transformer.Transformer(**sizes)
    generator = np.random.default_rng(0)
    for mean, steps in zip(program.losses(training).values(), (2, 1), strict=True):
        texts = np.concatenate(transformer.next_batch(generator, 8, steps, 100))
        chances = formula.of(model).transformer(sizes, texts[:, :-1])
        nats = -np.log(np.take_along_axis(chances, texts[:, 1:, None], axis=-1)).mean()
        assert float(mean) == pytest.approx(nats, rel=1e-4)
