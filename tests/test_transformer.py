"""The transformer of the last page: its texts and its attention, what it prints, draws, saves and refuses."""

import code
import collections
import itertools
import json
import math
import re
import shlex
import shutil
import signal
import sys
import textwrap
import types

import numpy as np
import program
import pytest
from experiments import edits, trainings
from experiments import transformer as measured
from scipy import special

SCRIPT = program.ROOT / "3_signal" / "transformer.py"
QUESTION = re.compile(
    r"\nQuestion at word (?P<place>\d+): (?P<name>\w+)\n"
    r"Prediction: (?P<prediction>\w+)\nTruth: (?P<truth>\w+)\n"
    r"(?P<layers>(?:Layer \d+, its heads attended mainly to: .+\n)+)"
)
OUTPUT = re.compile(
    rf"\nText: \n(?P<text>[A-Za-z ]+)\n(?P<questions>(?:{re.sub('[?]P<[a-z]+>', '', QUESTION.pattern)})+)"
    r"\nAccuracy on 10000 new texts of (?P<pairs>\d) pairs: (?P<accuracy>\d+\.\d\d)% of first questions\n"
    r"(?P<plots>(?:Plot saved to .+\.png\.\n)*)"
)


@pytest.fixture(scope="module")
def transformer():
    """Return transformer.py as a module."""
    return program.load(SCRIPT)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Return a short training: .savepath and .stdout."""
    savepath = tmp_path_factory.mktemp("transformer")
    flags = ("--train", "--plot", "--seed", 11, "--steps", 600)
    return types.SimpleNamespace(
        savepath=savepath,
        stdout=program.output_of(SCRIPT, *flags, "--savepath", savepath, "--plotpath", savepath / "plots"),
    )


def refused(completed, status, *words):
    """Check that a run ended with this status and one line of its own, with these words in it."""
    (line,) = program.messages(completed)
    assert completed.returncode == status and line.startswith("transformer.py: error: ")
    assert all(str(word) in line for word in words), line


# --- The texts --------------------------------------------------------------------------------------------


def answers(words):
    """Return what is right: the place of each name that is not new, to the word after its first place."""
    names = range(0, len(words), 2)
    return {place: words[words.index(words[place]) + 1] for place in names if words[place] in words[:place]}


@pytest.mark.parametrize("pairs", (1, 2, 4, 8))
def test_each_text_introduces_pairs_and_asks_for_them(pairs, transformer):
    words = transformer.vocabulary(pairs)
    names, pets = words[: 2 * pairs], words[2 * pairs :]
    assert len(set(words)) == 4 * pairs
    texts = transformer.next_batch(np.random.default_rng(0), pairs, 3, 2000)
    assert texts.shape == (3, 2000, 4 * pairs) and texts.dtype == np.int32
    numbers, said, asked = collections.Counter(), collections.Counter(), collections.Counter()
    for text in texts.reshape(6000, -1):
        text = [words[number] for number in text]
        assert set(text[::2]) <= set(names) and set(text[1::2]) <= set(pets)
        introduced = len(set(text[::2]))
        first = next((place for place in range(2 * pairs) if text[2 * place] in text[: 2 * place : 2]), pairs)
        numbers[first] += 1
        assert introduced == first  # After a question comes no new name.
        right = answers(text)
        assert transformer.answers(text) == right
        assert all(text[place + 1] == pet for place, pet in right.items())
        said.update(text[1 : 2 * first : 2])
        asked[text[: 2 * first : 2].index(text[-2]), first] += 1
    assert set(numbers) == set(range(1, pairs + 1))
    for count in numbers.values():
        assert count == pytest.approx(6000 / pairs, abs=5 * math.sqrt(6000 / pairs))
    mean = sum(said.values()) / (2 * pairs)
    assert all(said[pet] == pytest.approx(mean, abs=5 * math.sqrt(mean)) for pet in pets)
    for (_, introduced), count in asked.items():  # The last question asks for each of them equally often.
        mean = numbers[introduced] / introduced
        assert count == pytest.approx(mean, abs=5 * math.sqrt(mean))
    for text in transformer.next_batch(np.random.default_rng(0), pairs, 50, introduced=pairs):
        assert len(set(text[::2])) == len(set(text[: 2 * pairs : 2])) == pairs


def test_the_last_word_of_a_half_pair_is_a_question_or_has_no_answer(transformer):
    text = "Anna dog Ben cat Anna owl Ben".split()
    assert transformer.answers(text) == answers(text) == {4: "dog", 6: "cat"}


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


def normalize(vectors, layer):
    """Return layer normalization, with the epsilon of Keras, from its gamma and beta."""
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-3)
    return centred / scale * layer["gamma"] + layer["beta"]


def forward(arrays, words, heads=4):
    """Return logits (words, vocabulary) and weights (layers, heads, words, words) from a file's arrays."""

    def part(name):
        return {
            key.removeprefix(f"{name}/"): arrays[key].astype(float) for key in arrays if f"{name}/" in key
        }

    vectors = arrays["embedding/embeddings"][words] + arrays["positions"][0, : len(words)]
    all_weights = []
    for block in sorted({key.split("/")[0] for key in arrays if key.startswith("block_")}):
        normalized = normalize(vectors, part(f"{block}/norm_1"))
        matrices = part(f"{block}/attention")
        query, key, value = (
            np.array(np.split(normalized @ matrices[f"W_{letter}"], heads, axis=-1)) for letter in "QKV"
        )
        logits = query @ key.transpose(0, 2, 1) / np.sqrt(key.shape[-1])
        logits[:, ~np.tri(len(words), dtype=bool)] = -np.inf
        weights = special.softmax(logits, axis=-1)
        all_weights.append(weights)
        vectors = vectors + np.concatenate(weights @ value, axis=-1) @ matrices["W_O"]
        normalized = normalize(vectors, part(f"{block}/norm_2"))
        expand, contract = part(f"{block}/expand"), part(f"{block}/contract")
        hidden = np.maximum(0, normalized @ expand["kernel"] + expand["bias"])
        vectors = vectors + hidden @ contract["kernel"] + contract["bias"]
    last = part("logits_layer")
    return normalize(vectors, arrays_of_norm(arrays)) @ last["kernel"] + last["bias"], np.array(all_weights)


def arrays_of_norm(arrays):
    """Return the gamma and beta of the last normalization."""
    return {name: arrays[f"norm/{name}"].astype(float) for name in ("gamma", "beta")}


def contents(savepath):
    """Return the arrays in a folder's transformer.npz, a dict, and its description, read by NumPy alone."""
    with np.load(savepath / "transformer.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    return arrays, json.loads(arrays.pop("description").item())


def load(transformer, savepath):
    """Return the model that --test finds in a folder."""
    return transformer.load_model(transformer.parse_arguments(["--test", "--savepath", str(savepath)]))[0]


def test_no_word_starts_as_a_position_does(transformer):
    """One initializer for both would give them the same numbers."""
    transformer.tf.keras.utils.set_random_seed(1)
    model = transformer.Transformer(pairs=4, hidden=32, layers=2, heads=4)
    words, positions = model.embedding.embeddings.numpy(), model.positions.numpy()[0]
    cosines = words @ positions.T / np.outer(*(np.linalg.norm(each, axis=1) for each in (words, positions)))
    assert np.abs(cosines).max() < 0.8 and words.std() == pytest.approx(0.3, abs=0.05)
    assert positions.std() == pytest.approx(0.3, abs=0.05)


def test_the_model_is_the_formula_and_sees_no_later_word(short, transformer):
    model, (arrays, description) = load(transformer, short.savepath), contents(short.savepath)
    assert {array.dtype for array in arrays.values()} == {np.dtype("float32")}
    assert description["settings"] == {"pairs": 4, "hidden": 32, "layers": 2, "heads": 4}
    assert description["step"] == 600 and sum(array.size for array in arrays.values()) == 18416
    words = transformer.next_batch(np.random.default_rng(5), 4, 3)[:, :-1]
    logits, weights = model(words)
    for index, text in enumerate(words):
        expected_logits, expected_weights = forward(arrays, text)
        np.testing.assert_allclose(logits[index], expected_logits, atol=1e-3)
        np.testing.assert_allclose(np.array(weights)[:, index], expected_weights, atol=1e-4)
    for last in (1, 7, 14):
        changed = words.copy()
        changed[:, last:] = (changed[:, last:] + 3) % 16
        others, _ = model(changed)
        np.testing.assert_allclose(others[:, :last], logits[:, :last], atol=1e-5)
        assert (np.abs(others[:, last] - logits[:, last]).max(axis=-1) > 0.1).all()
        shorter, _ = model(words[:, : last + 1])
        np.testing.assert_allclose(shorter, logits[:, : last + 1], atol=1e-5)


# --- What it prints and draws -----------------------------------------------------------------------------


def test_the_guesser_by_all_tables_of_pets():
    tables = itertools.product(range(8), repeat=4)
    assert measured.guesser(4) == np.mean([max(map(table.count, table)) / 4 for table in tables])
    assert f"{measured.guesser(4):.2%} {measured.guesser(8):.1%}" == "41.21% 25.8%"


def parse(output):
    """Return what --test has printed, which must be the whole output."""
    match = OUTPUT.fullmatch(output)
    assert match, output
    questions = [found.groupdict() for found in QUESTION.finditer(match["questions"])]
    for question in questions:
        question["layers"] = [
            [(name, int(place), float(weight)) for name, place, weight in
             re.findall(r"(\w+) at word (\d+) \((\d\.\d{3})\)", line)]
            for line in question["layers"].splitlines()
        ]  # fmt: skip
    plots = re.findall(r"Plot saved to (.+)\.\n", match["plots"])
    return match["text"].split(), questions, float(match["accuracy"]), plots


def test_a_short_training_beats_the_guesser(short, transformer):
    lines = short.stdout.splitlines()
    losses = [re.fullmatch(r"Iteration (\d+) - Loss (\d\.\d+)", line).groups() for line in lines[:-3]]
    assert [int(step) for step, _ in losses] == list(range(50, 601, 50))
    assert lines[-3:-1] == ["Training complete!", f"Model saved to {short.savepath / 'transformer.npz'}."]
    assert re.fullmatch(r"Plot saved to .+transformer_loss\.png\.", lines[-1])
    losses = [float(loss) for _, loss in losses]
    assert measured.lowest_loss(4) < losses[-1] < losses[0]
    _, _, accuracy, _ = parse(program.output_of(SCRIPT, "--test", "--seed", 1, "--savepath", short.savepath))
    assert accuracy > 100 * measured.guesser(4) + 20


@pytest.mark.parametrize("text", (None, "Anna dog Ben cat aNNA", "ben CAT Dan owl Cleo owl Dan owl Ben cat"))
def test_what_a_test_shows_is_what_the_model_gives(text, short, tmp_path, monkeypatch, transformer):
    figures = {}
    save = transformer.lesson_3.save_figure
    monkeypatch.setattr(
        transformer.lesson_3,
        "save_figure",
        lambda figure, path: (figures.update({path.stem: figure}), save(figure, path)),
    )
    flags = ("--test", "--plot", "--seed", 3, "--savepath", short.savepath, "--plotpath", tmp_path)
    output = program.output_of(SCRIPT, *flags, *(() if text is None else ("--input", text)))
    words, questions, _, plots = parse(output)
    assert text is None and len(words) == 16 or " ".join(words).lower() == text.lower()
    assert text is not None or len(set(words[:8:2])) == 4
    assert plots == [str(tmp_path / f"transformer_layer_{layer}.png") for layer in (1, 2)]
    assert {int(question["place"]): question["truth"] for question in questions} == answers(words)

    known = transformer.vocabulary(4)
    read = words[: int(questions[-1]["place"]) + 1]
    logits, weights = forward(contents(short.savepath)[0], [known.index(word) for word in read])
    for question in questions:
        place = int(question["place"])
        assert question["name"] == words[place] and question["prediction"] == known[logits[place].argmax()]
        for layer, heads in enumerate(question["layers"]):
            assert len(heads) == 4
            for head, (name, key, weight) in enumerate(heads):
                row = weights[layer, head, place]
                assert name == words[key] and weight == pytest.approx(row.max(), abs=0.0006)
                assert row[key] == pytest.approx(row.max(), abs=1e-4)
    for layer in (1, 2):
        *maps, _ = figures[f"transformer_layer_{layer}"].axes  # The last one is the bar of colours.
        assert len(maps) == 4
        for head, axes in enumerate(maps):
            np.testing.assert_allclose(axes.images[0].get_array(), weights[layer - 1, head], atol=1e-4)
            assert axes.get_title() == f"Layer {layer}, head {head + 1}"
            assert [label.get_text() for label in axes.get_xticklabels()] == read
            assert [label.get_text() for label in axes.get_yticklabels()] == read


def test_the_accuracy_is_that_of_the_first_questions(short, transformer, monkeypatch):
    """Counted by plain Python over the very texts that the test draws."""
    drawn = []
    next_batch = transformer.next_batch
    monkeypatch.setattr(
        transformer,
        "next_batch",
        lambda *args, **words: drawn.append(next_batch(*args, **words)) or drawn[-1],
    )
    output = program.output_of(SCRIPT, "--test", "--seed", 3, "--savepath", short.savepath)
    model, right = load(transformer, short.savepath), 0
    texts = np.concatenate(drawn[1:])
    assert texts.shape == (10000, 16) and len({tuple(text) for text in texts[:, 8:].tolist()}) > 5000
    for part in np.split(texts, 10):
        predicted = model(part[:, :-1])[0].numpy()[:, 8].argmax(axis=-1)
        for text, prediction in zip(part.tolist(), predicted):
            assert min(answers(text)) == 8
            right += prediction == answers(text)[8]
    assert f"{right / 10000:.2%} of first" in output


def test_the_loss_is_drawn_as_it_is(transformer, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(transformer.lesson_3, "save_figure", lambda figure, path: figures.append(figure))
    transformer.draw_losses([(50, 2.0), (100, 1.5)], tmp_path / "loss.png")
    (curve,) = figures[0].axes[0].lines
    assert curve.get_xydata().tolist() == [[50, 2], [100, 1.5]]
    transformer.pyplot.close("all")


def test_a_hosts_floatx_and_style_change_nothing(short, transformer, tmp_path):
    keras = transformer.tf.keras.config
    keras.set_floatx("float16")
    try:
        flags = ("--train", "--seed", 11, "--steps", 50, "--savepath", tmp_path)
        output = program.output_of(SCRIPT, *flags)
        assert keras.floatx() == "float16"
    finally:
        keras.set_floatx("float32")
    assert output.splitlines()[0] == short.stdout.splitlines()[0]


# --- What the page says -----------------------------------------------------------------------------------


def test_code_and_commands_of_the_page_are_those_of_the_program(transformer):
    page = SCRIPT.with_suffix(".md").read_text(encoding="utf-8")
    source = " ".join(SCRIPT.read_text(encoding="utf-8").split())
    blocks = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "import" not in block]
    assert len(blocks) >= 4 and all(" ".join(block.split()) in source for block in blocks)
    commands = re.findall(r"^ *python3 transformer\.py (.+)$", page, re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        assert transformer.parse_arguments(shlex.split(command))


def test_the_first_sample_of_the_page_is_as_it_is_printed():
    page = SCRIPT.with_suffix(".md").read_text(encoding="utf-8")
    (sample,) = re.findall(r"\n\n((?:    .*\n|\n)+?    Accuracy .*\n)", page)
    words, (question,), accuracy, _ = parse(
        "\n" + re.sub("^    ", "", sample.lstrip("\n"), flags=re.MULTILINE)
    )
    assert question["truth"] == answers(words)[8] and [len(heads) for heads in question["layers"]] == [4, 4]


def test_one_layer_can_look_up_with_weights_set_by_hand(transformer):
    """Head 0 finds which pair the question was in, the others fetch the four pets, dense layers pick one."""
    numbers, pairs, names, positions, asked, pets = 80, 4, 8, 16, 31, 35  # The last four: where these begin.
    model = transformer.Transformer(pairs, numbers, 1, 1 + pairs)
    (block,) = model.blocks
    query, key, value, output = (np.zeros((numbers, numbers)) for _ in range(4))
    expand, contract, unit = np.zeros((numbers, 160)), np.zeros((160, numbers)), np.eye(numbers)
    query[range(names), range(names)] = key[range(names), range(names)] = 8
    for pair in range(pairs):
        value[positions + 2 * pair, pair] = output[pair, asked + pair] = 1
        start = 16 * (1 + pair)  # Of this head's numbers.
        query[positions:asked, start] = key[positions + 2 * pair + 1, start] = 8
        for pet in range(8):
            unit_of_both = 8 * pair + pet  # This pair is asked for, and it has this pet.
            value[names + pet, start + pet] = output[start + pet, pets + unit_of_both] = 1
            expand[[asked + pair, pets + unit_of_both], unit_of_both] = 1
            contract[unit_of_both, names + pet] = 50
    model.embedding.embeddings.assign(unit[:positions])
    model.positions.assign(unit[None, positions:asked])
    for weight, array in zip(block.attention.weights, (query, key, value, output), strict=True):
        weight.assign(array)
    block.expand.set_weights([expand, np.full(160, -5)])
    block.contract.kernel.assign(contract)
    model.logits_layer.kernel.assign(unit[:, :positions])
    assert measured.right(model) == 1


def test_it_goes_on_writing(short, transformer, monkeypatch, capsys):
    """The code in the answer of an exercise, with a model that has learnt little."""
    page = program.script(3).with_name("transformer.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n( +import numpy as np\n +import transformer.*?)```", page, re.DOTALL)
    lines = textwrap.dedent(lines).replace('["--test"]', f'["--test", "--savepath={short.savepath}"]')
    monkeypatch.setitem(sys.modules, "transformer", transformer)
    console = code.InteractiveConsole()  # As one pastes it.
    for line in lines.splitlines():
        console.push(line)
    words = capsys.readouterr().out.split()
    assert len(words) == 16 and words[:4] == "Anna dog Ben cat".split()
    assert set(words) <= set(transformer.vocabulary(4))


# --- What is measured -----------------------------------------------------------------------------------


def test_each_edit_of_the_page_is_measured_and_changes_what_the_model_gives(tmp_path, transformer):
    setups = {setup for setup, _ in measured.SETUPS}
    used = {part.split()[0] for setup in setups if setup.edit for part in setup.edit.split("+")}
    assert set(edits.read("transformer")) == used
    cache, outputs = trainings.ModelCache(tmp_path), {}
    words = transformer.next_batch(np.random.default_rng(0), 4, 2)[:, :-1]
    for edit in {setup.edit for setup in setups}:
        transformer.tf.keras.utils.set_random_seed(1)
        model = cache.module("transformer", edit).Transformer(4, 32, 2, 4)
        logits, weights = model(words)
        outputs[edit] = logits.numpy()
        equal = (1 / np.arange(1, 16)[:, None] * np.tri(15)).astype(np.float32)
        if edit == "G 1":  # What is measured with other weights is the model, with these.
            vectors = measured.after_means(model, words, np.tile(equal, (2, 1, 1)))
            np.testing.assert_allclose(vectors, measured.after_first_layer(model, words), atol=1e-5)
        for layer in (1, 2):
            same = np.allclose(weights[layer - 1], equal, atol=1e-6)
            assert same == (f"G {layer}" in (edit or ""))
        mask = np.tri(15, dtype=bool)
        assert (weights[1].numpy()[:, :, ~mask] > 0).any() == (edit == "J")
    for one, other in itertools.combinations(outputs.values(), 2):
        assert np.isfinite(one).all() and np.abs(one - other).max() > 0.01


def test_what_is_changed_after_the_training(short, transformer):
    """Scaled logits by the formula, and vectors taken from the text in which two names are swapped."""
    model, (arrays, _) = load(transformer, short.savepath), contents(short.savepath)
    right = measured.right(model)
    before = model.get_weights()
    assert measured.right_if_scaled(model)["logits of layer 2 × 0"][0] < right - 0.2
    assert all((one == other).all() for one, other in zip(before, model.get_weights()))
    text = measured.texts_of(model, 1).words[0, :9]
    with measured.scaled(model, 0, 2):
        logits, _ = forward(arrays | {"block_1/attention/W_Q": 2 * arrays["block_1/attention/W_Q"]}, text)
        np.testing.assert_allclose(model(text[None])[0][0], logits, atol=1e-3)
    cases = measured.swapped(model)
    nothing, everything = cases["nothing"], cases["two names in the text"]
    assert nothing[1] > right - 0.05 and nothing == pytest.approx(everything[::-1], abs=0.05)
    texts = measured.texts_of(model)
    assert (texts.words[:, 9] == texts.words[np.arange(10000), 2 * texts.asked + 1]).all()


# --- What it refuses --------------------------------------------------------------------------------------

WRONG = [
    ("--steps 0", "--steps"),
    ("--lr nan", "--lr"),
    ("--pairs 9", "--pairs", "9"),
    ("--pairs 0", "--pairs", "0"),
    ("--hidden 30 --heads 4", "--hidden 30", "--heads 4"),
    ("--hidden 30", "--hidden 30", "--heads 4"),
    ("--heads 5", "--hidden 32", "--heads 5"),
    ("--input 'Anna dog Ben'", "--input", "again"),
    ("--input 'Anna dog Ben cat'", "--input", "again"),
    ("--input 'Anna dog Anna dog Ben'", "--input", "again"),
    ("--input 'Anna Ben dog cat Anna'", "--input", "pets"),
    ("--input 'dog Anna dog Anna'", "--input", "pets"),
    ("--input ''", "--input"),
    ("--input 'Anna dog Berta cat Anna'", "'Berta'", "Anna Ben"),
    ("--input 'Ian dog Ian'", "'Ian'", "Hana"),  # The ninth name; a model for four pairs knows eight.
    (f"--input '{'Anna dog ' * 8}Anna'", "--input", "16", "17"),
    ("--input Anna dog Anna", "dog Anna", "quotes"),
    ("--layer 2", "--layer", "see --help"),
]


@pytest.mark.parametrize(("flags", "words"), [(flags, words) for flags, *words in WRONG])
def test_a_wrong_flag_is_one_line(flags, words, tmp_path):
    flags = (
        "--train",
        *shlex.split(flags),
        "--savepath",
        tmp_path / "models",
        "--plotpath",
        tmp_path / "plots",
    )
    refused(program.in_process(SCRIPT, *flags), 2, *words)
    assert not list(tmp_path.iterdir())


def test_what_the_flags_alone_tell_does_not_wait_for_the_packages():
    python = (sys.executable, "-I", "-S")
    described = program.run(SCRIPT, "--help", python=python)
    assert described.returncode == 0 and not described.stderr and "--pairs" in described.stdout
    no_mode = program.run(SCRIPT, "--steps", 5, python=python)
    assert (no_mode.returncode, no_mode.stdout, no_mode.stderr) == (2, "", described.stdout)
    for words in (("--train", "--pairs", 9), ("--test", "--input", "Anna dog Ben")):
        refused(program.run(SCRIPT, *words, python=python), 2, words[1])


def test_flags_that_contradict_the_model_are_refused(short):
    paths = ("--test", "--savepath", short.savepath)
    refused(program.in_process(SCRIPT, *paths, "--layers", 1), 2, "--layers is 2", short.savepath)
    refused(program.in_process(SCRIPT, *paths, "--input", "Ian dog Ian"), 2, "'Ian'")
    assert program.output_of(SCRIPT, *paths, "--layers", 2, "--input", "Anna dog Anna")


# --- What it saves ----------------------------------------------------------------------------------------


@pytest.fixture
def savepath(short, tmp_path):
    """Return a folder with a model that a test may spoil."""
    return shutil.copytree(short.savepath, tmp_path / "models")


@pytest.fixture
def edited(tmp_path):
    """Return a function that copies transformer.py, with an edit, and main.py, and returns the path."""

    def edit(old, new):
        source = SCRIPT.read_text(encoding="utf-8")
        assert source.count(old) == 1
        path = tmp_path / "edited" / "transformer.py"
        path.parent.mkdir()
        path.write_text(source.replace(old, new), encoding="utf-8")
        shutil.copy(SCRIPT.with_name("main.py"), path.parent)
        return path

    return edit


def test_without_a_model_it_says_how_to_train_one(tmp_path):
    completed = program.in_process(SCRIPT, "--test", "--pairs", 8, "--savepath", tmp_path)
    refused(completed, 1, tmp_path, f"train one with --train --pairs 8 --savepath {tmp_path}")


def test_a_damaged_and_a_foreign_file_are_refused(savepath, trained):
    path = savepath / "transformer.npz"
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(contents(savepath)[0]["positions"].tobytes())] ^= 255
    foreign = (trained("1").savepath / "checkpoint.npz").read_bytes()
    for content in (bytes(damaged), foreign, b"", damaged[:1000]):
        path.write_bytes(content)
        refused(program.in_process(SCRIPT, "--test", "--savepath", savepath), 1, path, "cannot be read")


@pytest.mark.parametrize("edit", ("", "  # An edit."))
def test_an_edit_after_the_training_is_said_but_other_line_ends_are_not(edit, savepath, edited):
    path = edited("import json\n", f"import json{edit}\n")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    completed = program.in_process(path, "--test", "--savepath", savepath)
    said = [f"transformer.py: transformer.py has changed since {savepath / 'transformer.npz'} was trained"]
    assert completed.returncode == 0 and program.messages(completed) == (said if edit else [])


def test_an_edit_that_changes_the_weights_is_named_as_the_cause(savepath, edited):
    path = edited("Dense(2 * hidden", "Dense(3 * hidden")
    refused(program.in_process(path, "--test", "--savepath", savepath), 1, "does not fit", "undo an edit")


def test_a_model_of_a_program_with_other_settings_is_refused(savepath):
    arrays, description = contents(savepath)
    settings = description["settings"]
    for other in (settings | {"sharpness": 2.0}, {"pairs": 4}):
        arrays["description"] = json.dumps(description | {"settings": other})
        np.savez(savepath / "transformer.npz", **arrays)
        completed = program.in_process(SCRIPT, "--test", "--savepath", savepath)
        refused(completed, 1, "does not fit", "undo an edit")


def test_an_edit_that_raises_shows_its_own_traceback(savepath, edited):
    path = edited("vectors @ self.W_Q)", "vectors @ self.W_QQ)")
    with pytest.raises(AttributeError, match="W_QQ"):
        program.in_process(path, "--test", "--savepath", savepath)


def test_a_loss_that_is_no_number_keeps_the_good_model(savepath):
    flags = ("--train", "--seed", 1, "--lr", "1e9", "--save_every", 50, "--savepath", savepath)
    refused(program.in_process(SCRIPT, *flags), 1, "not finite", "lower --lr")
    assert contents(savepath)[1]["step"] == 600


def test_a_folder_that_cannot_be_made_is_named(savepath):
    folder = savepath / "transformer.npz" / "models"
    completed = program.in_process(SCRIPT, "--train", "--savepath", folder)
    refused(completed, 1, folder, "--savepath")
    assert not completed.stdout


def test_ctrl_c_before_the_first_step_saves_nothing(tmp_path, transformer, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(transformer, "next_batch", interrupted)
    with pytest.raises(SystemExit) as stopped:
        transformer.main(["--train", "--savepath", str(tmp_path)])
    assert stopped.value.code == 130 and not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_ctrl_c_saves_what_it_has_reached_unless_an_earlier_model_is_there(savepath, tmp_path):
    for folder in (savepath, tmp_path / "new"):
        flags = (
            "--train",
            "--steps",
            100000,
            "--save_every",
            100000,
            "--print_every",
            10,
            "--savepath",
            folder,
        )
        process = program.start(SCRIPT, *flags)
        assert process.stdout.readline().startswith("Iteration 10 ")
        process.send_signal(signal.SIGINT)
        stopped = program.finish(process)
        (line,) = program.messages(stopped)
        assert stopped.returncode == 130 and line.startswith("transformer.py: stopped; ")
        if folder == savepath:
            assert "earlier model" in line and contents(folder)[1]["step"] == 600
        else:
            assert 10 <= contents(folder)[1]["step"] < 100000 and "transformer.npz" in line
