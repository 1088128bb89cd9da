"""What the pages say of the transformer: models set by hand look things up, and what one pastes runs."""

import code
import itertools
import re
import shutil
import sys
import textwrap

import formula
import numpy as np
import program
import pytest
from experiments import edits, play, transformer

PAGE = program.script("transformer").with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("pairs", "depth"), [(4, 16), (8, 24)])
def test_one_layer_can_look_up_with_weights_set_by_hand(pairs, depth):
    """Head 0 finds which pair the question was in, the others fetch the pets, dense layers pick one."""
    names, positions = 2 * pairs, 4 * pairs  # What begins where: names at 0, pets, positions, ...
    asked = positions + 4 * pairs - 1  # ... which pair is asked for, and the pets that the heads fetch.
    pets, numbers = asked + pairs, (1 + pairs) * depth
    model = program.load("transformer").Transformer(pairs, numbers, 1, 1 + pairs)
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
    assert program.percent_right(model, pairs) == 100


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
    assert program.percent_right(model, pairs) == 100


def test_what_a_reader_pastes(tmp_path, monkeypatch, capsys):
    """The lines of *The file, part by part*, of *Move it* and of an exercise, with the page's model."""
    (tmp_path / "models").mkdir()
    shutil.copy(play.FOLDER / "checkpoints" / "transformer.npz", tmp_path / "models")
    monkeypatch.setitem(sys.modules, "transformer", program.load("transformer"))
    names = {}
    console = code.InteractiveConsole(names)  # As one pastes it.

    def run(pattern):
        (lines,) = re.findall(pattern, PAGE, re.DOTALL)
        for line in textwrap.dedent(lines).splitlines():
            console.push(line.replace("models/", f"{tmp_path}/models/"))
        seen = capsys.readouterr()
        assert "Error" not in seen.err, seen.err
        return seen.out

    said = run(r"```python\n(import numpy.*?)```")
    assert said.startswith("(1, 9, 32) (1, 4, 9, 9) (1, 9, 32)\n")
    printed = np.array(re.findall(r"[\d.]+", said.partition("\n")[2]), dtype=float).reshape(4, 4)
    assert (printed[np.tri(4) == 0] == 0).all() and printed.sum(axis=1) == pytest.approx([1] * 4, abs=0.02)

    assert run(r"```python\n( *model, _ = .*?)```") == "owl\n"

    def to_owl(weights):
        weights[:, 8, 5] += weights[:, 8, 3]
        weights[:, 8, 3] = 0

    moved = transformer.Moved(names["model"], "block_2/attention", range(4), to_owl)
    chances = moved.transformer({"layers": 2, "heads": 4}, names["words"])[0, 8]
    logits = names["model"].logits_layer(names["model"].norm(names["vectors"]))[0, 8]
    np.testing.assert_allclose(formula.softmax(np.asarray(logits, float)), chances, atol=1e-5)

    words = run(r"```python\n( +words = .*?)```").split()
    assert len(words) == 16 and words[:4] == "Anna dog Ben cat".split()
    assert set(words) <= set(program.load("transformer").vocabulary(4))
