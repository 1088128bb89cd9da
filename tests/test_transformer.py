"""The transformer: its texts, its attention, what it prints and draws, and what its page says of it."""

import code
import collections
import itertools
import math
import re
import sys
import textwrap
import types

import formula
import numpy as np
import program
import pytest
from experiments import edits

PAGE = program.script("transformer").with_suffix(".md").read_text(encoding="utf-8")
LOOK = r"(\w+) at word (\d+) \((\d\.\d{3})\)\n"
PET = rf"(\w+) at word (\d+): {LOOK}"
HEAD = rf"Layer (\d+), head (\d+), attended mainly to: {LOOK}"
QUESTION = rf"\nQuestion at word (\d+): (\w+)\nPrediction: (\w+)\nTruth: (\w+)\n((?:{HEAD})+)"
OUTPUT = re.compile(
    r"\nText: \n(?P<text>[A-Za-z ]+)\n"
    rf"(?:\nLayer 1, head (?P<head>\d+), what each pet attended mainly to:\n(?P<pets>(?:{PET})+))?"
    rf"(?P<questions>(?:{QUESTION})+)"
    r"\nAccuracy on 10000 new texts of \d pairs: (?P<right>\d+\.\d\d)% of first questions\n"
    rf"{program.PLOTS}"
)


@pytest.fixture(scope="module")
def module():
    """Return transformer.py as a module."""
    return program.load("transformer")


def answers(text):
    """Return what is right in a list of words, read one by one: the place of each question to its pet."""
    known, right = {}, {}
    for place, word in enumerate(text):
        if place % 2:
            known.setdefault(text[place - 1], word)
        elif word in known:
            right[place] = known[word]
    return right


def parse(output):
    """Return what --test has printed, which must be the whole output, of a model of one or two layers.

    A look is what has most of a head's weight, as it is printed: the word, its place, and the weight.

    Returns:
        .words: list of str; .right: the accuracy, in percent.
        .head: the head, from 1, whose looks come first, and .pets: list of (pet, its place, *look).
        .questions: list of (place, name, prediction, truth, list of (layer, head, *look)).
    """
    match = OUTPUT.fullmatch(output)
    assert match, output
    questions = re.findall(QUESTION, match["questions"])
    return types.SimpleNamespace(
        words=match["text"].split(),
        right=float(match["right"]),
        head=int(match["head"] or 0),
        pets=re.findall(PET, match["pets"] or ""),
        questions=[(*question[:4], re.findall(HEAD, question[4])) for question in questions],
    )


def percent_right(model, pairs):
    """Return how many percent of the first questions of 2,000 texts a model answers."""
    module, places = program.load("transformer"), 2 * pairs
    texts = module.next_batch(np.random.default_rng(7), pairs, 2000, introduced=pairs)
    right = [answers(text)[places] for text in texts.tolist()]
    logits, _ = model(texts[:, : places + 1])
    return 100 * np.mean(np.argmax(logits[:, -1], axis=-1) == right)


# --- The texts and the model ------------------------------------------------------------------------------


def about(mean):
    """Return what a number of random events equals if it is within five standard deviations of their mean."""
    return pytest.approx(mean, abs=5 * math.sqrt(mean))


@pytest.mark.parametrize("pairs", (1, 4, 8))
def test_each_text_introduces_pairs_and_asks_for_them(pairs, module):
    words = module.vocabulary(pairs)
    names, pets = words[: 2 * pairs], words[2 * pairs :]
    assert len(set(words)) == 4 * pairs
    texts = module.next_batch(np.random.default_rng(0), pairs, 3, 2000)
    assert texts.shape == (3, 2000, 4 * pairs) and texts.dtype == np.int32
    introduced, said, asked = collections.Counter(), collections.Counter(), collections.Counter()
    for text in texts.reshape(6000, -1):
        text = [words[number] for number in text]
        assert set(text[::2]) <= set(names) and set(text[1::2]) <= set(pets)
        right = answers(text)
        first = min(right) // 2  # How many pairs come before the first question, and after it no new name.
        assert len(set(text[::2])) == first and all(text[place + 1] == pet for place, pet in right.items())
        introduced[first] += 1
        said.update(text[1 : 2 * first : 2])
        asked[text[: 2 * first : 2].index(text[-2]), first] += 1
    assert introduced == dict.fromkeys(range(1, pairs + 1), about(6000 / pairs))
    assert said == dict.fromkeys(pets, about(sum(said.values()) / (2 * pairs)))
    for (_, first), count in asked.items():  # The last question asks for each of them equally often.
        assert count == about(introduced[first] / first)
    for text in module.next_batch(np.random.default_rng(0), pairs, 50, introduced=pairs):
        assert len(set(text[::2])) == len(set(text[: 2 * pairs : 2])) == pairs


@pytest.mark.parametrize(("hidden", "heads"), ((12, 3), (8, 1)))
def test_attention_is_that_of_keras(hidden, heads, module):
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


def test_the_model_is_the_formula(module):
    settings = {"pairs": 4, "hidden": 12, "layers": 3, "heads": 2}
    model, generator = module.Transformer(**settings), np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(generator.normal(size=weight.shape) / 2 + ("gamma" in weight.path))
    words, reference = module.next_batch(generator, 4, 3)[:, :-1], formula.of(model)
    chances = reference.transformer(settings, words)
    for length in (15, 4):  # One after the other, also by Keras's own way.
        for logits, weights in (model(words[:, :length]), model.predict(words[:, :length], verbose=0)):
            np.testing.assert_allclose(formula.softmax(logits), chances[:, :length], atol=1e-4)
            for one, heads in zip(weights, reference.weights.values(), strict=True):
                expected = np.stack(heads, axis=1)[:, :, :length, :length]
                np.testing.assert_allclose(one, expected, atol=1e-4)


# --- What it prints and draws -----------------------------------------------------------------------------


def check_look(word, place, weight, words, row):
    """Check that a word, with its place and weight as they are printed, has the largest weight of a row."""
    assert word == words[int(place)] and float(weight) == pytest.approx(row.max(), abs=0.0006)
    assert row[int(place)] == pytest.approx(row.max(), abs=1e-4)


def check_test(output, savepath, module):
    """Check that --test has printed and drawn what the model gives by the formula; return what is printed."""
    printed, (arrays, description) = parse(output), program.contents(savepath)
    words, settings, reference = printed.words, description["settings"], formula.Model(arrays)
    right, known = answers(words), module.vocabulary(settings["pairs"])
    assert {int(place): truth for place, _, _, truth, _ in printed.questions} == right
    read, pets = words[: max(right) + 1], range(1, min(right), 2)
    chances = reference.transformer(settings, [known.index(word) for word in read])
    layers = np.array(list(reference.weights.values()))  # (layers, heads, words, words)
    for place, name, prediction, _, looks in printed.questions:
        place = int(place)
        assert name == words[place] and prediction == known[chances[place].argmax()]
        heads, weights = [int(head) for _, head, *_ in looks], [weight for *_, weight in looks]
        assert sorted(heads) == list(range(1, settings["heads"] + 1))
        assert weights == sorted(weights, reverse=True)
        for layer, head, *look in looks:
            assert int(layer) == settings["layers"]
            check_look(*look, words, layers[-1, int(head) - 1, place])
    if settings["layers"] > 1:
        shown = [(pet, int(place)) for pet, place, *_ in printed.pets]
        assert shown == [(words[place], place) for place in pets]
        for _, place, *look in printed.pets:
            check_look(*look, words, layers[0, printed.head - 1, int(place)])
        on_owners = layers[0][:, pets, [place - 1 for place in pets]].mean(axis=-1)
        assert on_owners[printed.head - 1] == pytest.approx(on_owners.max(), abs=1e-4)

    figures = program.figures(output)
    names = [f"{place}: {word}" for place, word in enumerate(read)]
    for number, heads in enumerate(layers, start=1):
        *maps, _ = figures.pop(f"transformer_layer_{number}").axes
        for axes, weights in zip(maps, heads, strict=True):
            np.testing.assert_allclose(axes.images[0].get_array(), weights, atol=1e-4)
            assert axes.yaxis_inverted() and axes.images[0].get_clim() == (0, 1)
            assert [label.get_text() for label in axes.get_xticklabels()] == names
            assert [label.get_text() for label in axes.get_yticklabels()] == names
    assert set(figures) <= {"transformer_loss"}
    return printed


def test_a_short_training_learns_to_look_up_and_its_model_is_loaded_again(trained, module, tmp_path):
    training = trained("transformer")
    text, _, tested = training.stdout.partition("\n\n")
    saved = f"Model saved to {training.savepath / 'transformer.npz'}."
    assert text.splitlines()[-2:] == ["Training complete!", saved]
    losses = program.losses(text)
    assert list(losses) == list(range(50, 501, 50)) and float(losses[50]) == pytest.approx(2.3688, abs=1e-3)
    drawn = ["transformer_layer_1.png", "transformer_layer_2.png", "transformer_loss.png"]
    assert program.files(training.plotpath) == drawn

    paths = ("--savepath", training.savepath, "--plotpath", tmp_path)
    again = program.output_of("transformer", "--plot", "--seed", 1, *paths)
    assert again.partition("Plot")[0] == f"\n{tested.partition('Plot')[0]}"
    printed = check_test(again, training.savepath, module)
    assert len(printed.words) == 16 and len(set(printed.words[:8:2])) == 4
    expected = percent_right(program.load_model("transformer", training.savepath), 4)
    assert printed.right == pytest.approx(expected, abs=3) and printed.right > 61  # A guesser gets 41%.
    text = "ben CAT Dan owl Cleo owl Dan hen Ben cat Cleo owl Dan owl Ben"  # Once, Dan's pet is wrong.
    output = program.output_of("transformer", "--plot", "--input", text, *paths)
    assert " ".join(check_test(output, training.savepath, module).words).lower() == text.lower()


def test_other_sizes_train_test_and_plot(tmp_path, module):
    sizes = {"pairs": 8, "layers": 1, "heads": 3, "hidden": 6}
    flags = [word for name, size in sizes.items() for word in (f"--{name}", size)]
    flags += ["--steps", 2, "--print_every", 1, "--seed", 0]
    paths = ("--savepath", tmp_path / "models", "--plotpath", tmp_path / "plots")
    output = program.output_of("transformer", "--train", "--test", "--plot", *flags, *paths, compiled=False)
    curve = program.figures(output)["transformer_loss"].axes[0].lines[0].get_xydata()
    training, _, testing = output.partition("\n\n")
    assert curve.tolist() == [[step, float(loss)] for step, loss in program.losses(training).items()]
    printed = check_test(f"\n{testing}", tmp_path / "models", module)
    assert len(printed.words) == 32 and not printed.pets and len(curve) == 2
    again = program.output_of("transformer", "--test", "--seed", 0, *paths)  # The model has its sizes.
    assert testing.startswith(again[1:])


# --- What its page says -----------------------------------------------------------------------------------


def test_the_first_sample_of_the_page_is_as_it_is_printed():
    (sample,) = re.findall(r"^```\n(Text: \n.*?Accuracy .*?\n)```", PAGE, re.MULTILINE | re.DOTALL)
    printed = parse(f"\n{sample}")
    ((place, _, _, truth, looks),) = printed.questions
    assert truth == answers(printed.words)[int(place)] and len(looks) == 4
    assert [int(place) for _, place, *_ in printed.pets] == [1, 3, 5, 7]


def test_one_layer_can_look_up_with_weights_set_by_hand(module):
    """Head 0 finds which pair the question was in, the others fetch the pets, dense layers pick one."""
    pairs, depth = 4, 16
    names, positions = 2 * pairs, 4 * pairs  # What begins where: names at 0, pets, positions, ...
    asked = positions + 4 * pairs - 1  # ... which pair is asked for, and the pets that the heads fetch.
    pets, numbers = asked + pairs, (1 + pairs) * depth
    model = module.Transformer(pairs, numbers, 1, 1 + pairs)
    (block,) = model.blocks
    query, key, value, output = (np.zeros((numbers, numbers)) for _ in range(4))
    expand, contract = np.zeros((numbers, 2 * numbers)), np.zeros((2 * numbers, numbers))
    unit = np.eye(numbers)
    query[range(names), range(names)] = key[range(names), range(names)] = 8
    for pair in range(pairs):
        value[positions + 2 * pair, pair] = output[pair, asked + pair] = 1
        start = depth * (1 + pair)  # Of this head's numbers.
        query[positions:asked, start] = key[positions + 2 * pair + 1, start] = 8
        for pet in range(names):
            unit_of_both = names * pair + pet  # This pair is asked for, and it has this pet.
            value[names + pet, start + pet] = output[start + pet, pets + unit_of_both] = 1
            expand[[asked + pair, pets + unit_of_both], unit_of_both] = 1
            contract[unit_of_both, names + pet] = 50
    model.embedding.embeddings.assign(unit[:positions])
    model.positions.assign(unit[None, positions:asked])
    block.attention.set_weights([query, key, value, output])
    block.expand.set_weights([expand, np.full(2 * numbers, -5)])
    block.contract.kernel.assign(contract)
    model.logits_layer.kernel.assign(unit[:, :positions])
    assert percent_right(model, pairs) == 100


def test_two_layers_can_look_up_with_equal_weights_in_both():
    """Set by hand, too: dense layers say which word is in which pair, and an equal mean keeps it all."""
    pairs, numbers, names, positions, places = 4, 128, 8, 16, 31  # Of words in pairs: 31 + 4 * word + pair.
    module = edits.load("transformer", "G 1+G 2")
    model = module.Transformer(pairs, numbers, 2, 1)
    unit, value = np.eye(numbers), np.zeros((numbers, numbers))
    says, said, finds, found = (np.zeros(shape) for shape in 2 * ((numbers, 256), (256, numbers)))
    for index, (word, pair) in enumerate(itertools.product(range(16), range(pairs))):
        says[[word, positions + 2 * pair + (word >= names)], index] = 1
        said[index, places + index] = 0.25
        value[places + index, places + index] = 1.4
    for index, (name, pair, pet) in enumerate(itertools.product(range(8), range(pairs), range(8, 16))):
        finds[[name, places + 4 * name + pair, places + 4 * pet + pair], index] = 1
        found[index, pet] = 50
    model.embedding.embeddings.assign(unit[:positions])
    model.positions.assign(unit[None, positions:places])
    first, second = model.blocks
    first.attention.W_V.assign(0 * value)
    first.expand.set_weights([says, np.full(256, -11.5)])
    first.contract.kernel.assign(said)
    second.attention.W_V.assign(value)
    second.attention.W_O.assign(unit)
    second.expand.set_weights([finds, np.full(256, -8)])
    second.contract.kernel.assign(found)
    model.logits_layer.kernel.assign(unit[:, :positions])
    words = module.next_batch(np.random.default_rng(0), pairs, 2)[:, :9]
    for weights in model(words)[1]:
        np.testing.assert_allclose(weights[:, 0], 2 * [np.tri(9) / np.arange(1, 10)[:, None]], atol=1e-6)
    assert percent_right(model, pairs) == 100


def test_what_a_reader_pastes(trained, module, monkeypatch, capsys):
    """The lines of *The file, part by part*, of *Look inside* and of an exercise; one model knows little."""
    monkeypatch.setitem(sys.modules, "transformer", module)
    names = {}
    console = code.InteractiveConsole(names)  # As one pastes it.

    def run(pattern):
        (lines,) = re.findall(pattern, PAGE, re.DOTALL)
        for line in textwrap.dedent(lines).splitlines():
            console.push(line.replace("models/", f"{trained('transformer').savepath}/"))
        seen = capsys.readouterr()
        assert "Error" not in seen.err, seen.err
        return seen.out

    said = run(r"```python\n(import numpy.*?)```")
    assert said.startswith("(1, 9, 32) (1, 4, 9, 9) (1, 9, 32)\n")
    printed = np.array(re.findall(r"[\d.]+", said.partition("\n")[2]), dtype=float).reshape(4, 4)
    assert (printed[np.tri(4) == 0] == 0).all() and printed.sum(axis=1) == pytest.approx([1] * 4, abs=0.02)

    said, model = run(r"```python\n( *model, _ = .*?)```"), names["model"]
    vectors = model.embedding(names["words"]) + model.positions[:, :9]
    _, weights = model.blocks[0].attention(model.blocks[0].norm_1(vectors))
    of_pets = [np.mean([weights[0, head, pet, pet - 1] for pet in (1, 3, 5, 7)]) for head in range(4)]
    assert of_pets[names["head"]] == max(of_pets)
    np.testing.assert_allclose(names["weights"], weights[0, names["head"]], atol=1e-6)
    shown = [float(number) for number in re.findall(r"[\d.]+", said)]
    assert shown[0] == names["head"] + 1 and np.mean(shown[1:5]) == pytest.approx(max(of_pets), abs=0.01)
    assert shown[5:] == list(names["weights"][3].round(2))

    words = run(r"```python\n( +words = .*?)```").split()
    assert len(words) == 16 and words[:4] == "Anna dog Ben cat".split()
    assert set(words) <= set(module.vocabulary(4))
