"""Every figure in the text of the course: computed anew by the formula, or looked up in the results."""

import re
import textwrap

import figures
import numpy as np
import program
import pytest
from experiments import formula, lesson_1, lesson_2, lesson_3, pictures, play, programs, results, transformer
from scipy import special


def one_hot(text, alphabet=" ABC"):
    """Return the vectors of the letters of a text, float (letters, letters of the alphabet)."""
    return np.eye(len(alphabet))[[alphabet.index(letter) for letter in text]]


def attend(query, vectors):
    """Return dot products, logits, weights and weighted mean; the vectors are keys and values in one."""
    products = np.array(vectors, dtype=float) @ query
    ((mean,), (weights,)) = formula.attend([query], vectors, vectors)
    return products, products / np.sqrt(len(query)), weights, mean


MAIN, EQUAL, FIXED = "`main.py`", "A: equal weights", "B: its own letter × 100"
ASKING = "`--self_att`"
LOOKS, LATER = list(transformer.LOOKS), ("four pairs, 7,500", "eight pairs, 10,000")
SECOND = LOOKS[2]


def test_counting():
    """Lookups, exp against a plain division, letters, shares by hand, by the page's model, and measured."""
    unit, calculations = np.eye(4), []
    for query in ((0, 6, 0, 0), (0, -2.8, 0, 0), (0, 2.8, 0, 0)):
        _, logits, weights, mean = attend(query, unit)
        exps = np.exp(logits)
        calculations.append([query, logits, exps, weights, mean])
    calculations += [[exps, weights, (np.e, exps.sum())], [(0, -2.8, 0, 0), (2.8,)]]
    calculations.append(softmaxes((2, 1, 0, -1), (16, 8, 0, -8)))
    calculations.append([(1.4, 2.4, 5.4, 2.4 / 5.4, np.exp(1.4))])
    shop = []
    for query in ((0, 2.8, 0, 0), (0, 0, 2.8, 0)):
        weights, mean = attend(query, one_hot("AB BC"))[2:]
        shop += [weights, mean, [weights @ one_hot("AB BC") @ (0, 3, 5, 1)]]
    calculations.append(shop)
    vectors = np.array([(1, 3, 5, 7), (2, 6, 10, 14)])
    normalized = [(vector - vector.mean()) / vector.std() for vector in vectors]
    assert normalized[0] == pytest.approx(normalized[1])
    blank, letter = (
        figures.measured("lesson_1", MAIN, head)[0] for head in ("a blank's", "another letter's")
    )
    calculations += [shares(), normalized, [(np.exp(1.4), 3 / (1 / blank + 2 / letter))]]
    calculations.append([[figures.measured("lesson_1", "measured", str(count))[0] for count in range(6)]])
    calculations.append([doubled()])
    figures.check(figures.paragraphs(1), *calculations, [figures.measured("lesson_1", MAIN, "right")[:1]])


def shares():
    """Return the shares of none to three 'A's among five letters, their exps, and the sums of all exps."""
    ratio, found = np.exp(1.4), []
    for count, sequence in enumerate(("BCBCB", "ABCBC", "AABCB", "AAABC")):
        weights = attend((0, 2.8, 0, 0), one_hot(sequence))[2]
        share = weights[[letter == "A" for letter in sequence]].sum()
        assert share == pytest.approx(count * ratio / (count * ratio + 5 - count))
        found.append([share, count * ratio, count * ratio + 5 - count])
    return [*np.transpose(found)]


def doubled():
    """Return the weight of two 'A's with the slider at 1 and 2, of two and three at 0, of four usually."""
    weights, usual = (
        play.weights("counting", one_hot(pictures.SHOWN[1]))["attention"][0],
        figures.measured("lesson_1", "measured", "4")[0],
    )
    return [weights[7:9].sum(), (weights[7:9] ** 2).sum() / (weights**2).sum(), 0.2, 0.3, usual]


@pytest.mark.parametrize(
    ("task", "name"), [(1, "counting"), (2, "difference_self_att"), (3, "signal_pos_enc")]
)
def test_printed_weights(task, name):
    """The lists of numbers in the printed sample of a lesson: weights of the page's model, or its norms."""
    inputs = one_hot(pictures.SHOWN[task], "ABC" if task == 3 else " ABC")
    arrays, _ = programs.read(play.FOLDER / "checkpoints" / f"{name}.npz")
    known = [row for each in play.weights(name, inputs).values() for row in each]
    known.append(np.linalg.norm(arrays.get("positional_encoding", [[[0]]])[0], axis=-1))
    rows = re.findall(r"^ +\[(\d\.\d+(?:, \d\.\d+)+)\]$", figures.text(task), re.MULTILINE)
    assert rows
    for row in rows:
        assert any(figures.is_shown_as(row.split(", "), numbers) for numbers in known), row


def test_counting_in_code(capsys):
    """The lines of Lesson 1 print what stands behind them."""
    page = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```\n(import tensorflow as tf\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(lines, {})
    said = [comment.split() for comment in re.findall(r"  # ([ .\d]+)$", lines, re.MULTILINE)]
    printed = [row.split() for row in re.findall(r"\[\[(.+)\]\]", capsys.readouterr().out)]
    assert len(said) == len(printed) == 3
    for one, other in zip(said, printed, strict=True):
        assert [float(number) for number in one] == pytest.approx(list(map(float, other)), abs=0.0005)


def test_dot_product_and_additive_attention_in_code(capsys):
    """What the answers of Lesson 1 compute is what Keras computes, on the page and on other arrays."""
    page = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    names, means = {}, []
    for block in re.findall(r"^ +```\n(.*?)^ +```$", page, re.MULTILINE | re.DOTALL):
        exec(textwrap.dedent(block), names)
        means.append([float(number) for number in re.findall(r"\d\.\d+", capsys.readouterr().out)[:4]])
    assert len(means) == 4
    by_formula = attend((0, 2.8, 0, 0), names["letters"])[3]
    assert means[0] == pytest.approx(by_formula, abs=1e-6)
    assert means[0] == pytest.approx(means[1], abs=1e-6) and means[2] == pytest.approx(means[3], abs=1e-6)

    generator = np.random.default_rng(0)
    query, key, value, of_query, of_key, vector = (
        generator.normal(size=size) for size in ((3, 4), (5, 4), (5, 6), (4, 7), (4, 7), 7)
    )
    dot, additive = names["tf"].keras.layers.Attention(), names["tf"].keras.layers.AdditiveAttention()
    projected = query @ of_query, value, key @ of_key
    additive.build([array[None].shape for array in projected])
    additive.scale.assign(vector)
    for layer, arrays, found in (
        (dot, (query / 2, value, key), names["attend"](query, key, value)),
        (additive, projected, names["attend_additively"](query, key, value, of_query, of_key, vector)),
    ):
        inputs = [array[None].astype(np.float32) for array in arrays]
        for ours, theirs in zip(found, layer(inputs, return_attention_scores=True), strict=True):
            assert ours == pytest.approx(theirs[0].numpy(), abs=1e-5)


WORDS = np.array([(1, 0, 1), (0, 1, 0), (1, 0, 0)])  # Anna, slept, she.
ASKS = np.array([(4, 0), (3, 0), (-4, 2)])
ANSWERS = np.array([(0, 0), (0, 1), (1, 0)])
GIVES = np.array([(0, 0, 0), (0, 1, 0), (0, 0, 1)])


def self_attention(words, asks=ASKS):
    """Return dot products, logits, weights, means and new vectors of Lesson 2's words, a list of arrays."""
    products = words @ asks @ (words @ ANSWERS).T
    means, weights = formula.attend(words @ asks, words @ ANSWERS, words @ GIVES)
    return [products, products / 2**0.5, weights, means, words + means]


def test_words():
    """Each word's query and what it finds; *she* with another row of W_Q; two names that both answer."""
    _, logits, weights, means, vectors = self_attention(WORDS)
    calculations = [[*WORDS, logits[row], weights[row], means[row], vectors[row]] for row in (1, 2)]
    other = np.array([(0, 4), *ASKS[1:]])
    of_she, of_two_names = self_attention(WORDS, other)[2][2], self_attention(WORDS[[0, 0, 1, 2]])[2][3]
    assert of_she.argmax() == 1
    plain, asking = (
        play.weights(name, one_hot(pictures.SHOWN[2])) for name in ("difference", "difference_self_att")
    )
    after = [
        figures.measured("lesson_2", f"{label}, 1,000 steps", "sequences right")[0]
        for label in ("plain", ASKING)
    ]
    guess, paths = (
        most_frequent(),
        figures.measured("lesson_2", "F: as it learns to", "differences right")[1:],
    )
    on_letters = [plain["attention"][3], asking["attention"][3]]
    measurements = [after], [(3.5,)], [(100 * guess, *paths)]
    calculations += [[of_she], [of_two_names], [asking["self_attention"][3]], on_letters, *measurements]
    figures.check(figures.paragraphs(2), *calculations)


def most_frequent():
    """Return how often the difference of two counts is 1."""
    cases = lesson_2.interventions.cases()
    return cases.chances @ (cases.answers[:, 3] == 1)


def test_words_in_code(capsys):
    """The lines of Lesson 2 have the grids of its text and print weights and new vectors by the formula."""
    page = program.script(2).with_name("README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```\n(import numpy as np\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(lines, names := {})
    grids = [names[name] for name in ("W_Q", "W_K", "W_V")]
    for name, *rows in zip(("woman", "action", "Anna"), *grids, strict=True):
        (shown,) = re.findall(rf"^{name}((?: +[-−]?\d+){{7}})$", page, re.MULTILINE)
        assert [int(number.replace("−", "-")) for number in shown.split()] == [*np.concatenate(rows)]
    printed = re.findall(r"[-. \d]+(?=\])", capsys.readouterr().out)
    printed = np.split(np.array([line.split() for line in printed], dtype=float), 2)
    assert all((grid == other).all() for grid, other in zip(grids, (ASKS, ANSWERS, GIVES), strict=True))
    _, _, weights, _, vectors = self_attention(names["words"])
    for shown, expected in zip(printed, (weights, vectors), strict=True):
        np.testing.assert_allclose(shown, expected, atol=0.00501)


def test_signal():
    unit, query, ratio = np.eye(4), (0, 0, 2.8, 0), np.exp(1.4)
    letters, places = dict(zip("AB", unit, strict=False)), unit[2:]
    plain, marked, first = [query], [query], [query, (ratio, ratio + 2)]
    for sequence in ("AB", "BA"):
        vectors = [letters[letter] for letter in sequence]
        plain += attend(query, vectors)
        assert plain[-1] == pytest.approx((0.5, 0.5, 0, 0))
        marked += attend(query, [vector + place for vector, place in zip(vectors, places, strict=True)])
    for sequence in ("BBA", "ABB"):
        vectors = np.array([letters[letter] for letter in sequence])
        vectors[0] += places[0]
        first += attend(query, vectors)
    hands = [(np.sin(place), np.cos(place)) for place in range(3)] + [(np.cos(1),)]
    text = np.array(list(pictures.SHOWN[3]))
    weights = play.weights("signal_pos_enc", one_hot(text, "ABC"))
    of_first, (of_decoder,) = weights["encoder_layer_1/attention"][0], weights["attention"]
    shares = [of_first[text == letter].sum() for letter in "ABC"]
    most = figures.measured("lesson_3", "`--pos_enc`, twenty runs", "right")[:1]
    bound = lesson_3.bound()[1]
    traced = [(of_first.min(), of_first.max()), shares, (of_decoder.max(),)]
    calculations = [plain, marked, first, hands, traced, [(100 * bound,)], [most], [(100 * 21 / 27,)]]
    # The medians of one picture are not in the results.
    figures.check([each for each in figures.paragraphs(3) if "images/layers.png" not in each], *calculations)
    page = " ".join(figures.paragraphs(3))
    assert f"{round(bound * 3**11):,}" in page and f"{3**11:,}" in page and f"{3**10:,}" in page


def softmaxes(*logits):
    """Return the softmax of each list."""
    return [special.softmax(row) for row in logits]


def test_transformer():
    """The pets, the heads, the first step of the plan, masks, the temperature."""
    unit = np.eye(4)
    pairs = unit[[0, 1]] + unit[[2, 3]]
    pets = [part for query in ((0, 4), (4, 0)) for part in attend(query, pairs[:, :2])[1:]]
    unit = np.eye(2)
    ((both,), (weights,)) = formula.attend([(4, 4)], unit, unit)
    means, swapped = (formula.attend([(4, 0), (0, 4)], unit, each)[0] for each in (unit, unit[::-1]))
    heads = [both, weights, *means, *swapped, means, swapped]
    temperatures = softmaxes(*(np.array([2, 1, 0]) / temperature for temperature in (1, 0.5, 2)))
    place = attend((0, 0, 4, 0), np.eye(4))[1:]  # The word at position 3 asks for position 2.
    masked = [(1.4, np.exp(1.4))], softmaxes((1.4, 0, 1.4), (0, 1.4, -np.inf))
    one, other = [(0.5, 0.5, 0)], softmaxes((0, 0, 1.4))  # A A B with a mask.
    states, queries = [(1, 0, 0), (0.5, 1, 0), (0.25, 0.5, 1)], [(0, 0, 4)]
    recurrent = [formula.attend(queries, states, states)[1]]
    known = transformer.program().vocabulary(4)
    weights = play.weights("transformer", [known.index(word) for word in pictures.TEXT.split()])
    of_pets = max(
        (head[pictures.PETS, pictures.PETS - 1] for head in weights["block_1/attention"]), key=np.sum
    )
    of_question = [(weights["block_2/attention"][:, pictures.QUESTION, pictures.RIGHT].max(),)]
    printed = re.findall(r"\((\d\.\d{3})\)$", figures.text(3, "transformer.md"), re.MULTILINE)
    mainly = weights["block_2/attention"][:, pictures.QUESTION].max(axis=1)
    assert figures.is_shown_as(printed, [*of_pets, *sorted(mainly)[::-1]])
    without = figures.measured("lesson_3_transformer", "I: no positions", "right")[:1]
    unmasked = figures.measured("lesson_3_transformer", "J: no mask", "reads up to the question")[:1]
    calculations = [pets, heads, temperatures, place, [*masked[0], *masked[1]], [*masked[0], *one, *other]]
    calculations += [recurrent, [of_pets, *of_question], [(100 * transformer.guesser(4),)]]
    calculations += [[(1.4, transformer.lowest_loss(4))], [without, unmasked]]
    figures.check(figures.paragraphs(3, "transformer.md"), *calculations)


def median(number, label, head="right"):
    """Return the median in a cell of the results of a lesson."""
    return figures.measured(f"lesson_{number}", label, head)[0]


def vote():
    """Return what is right in the three models of the vote, and what two fixed weights have of the whole."""
    return [median(1, label, "2,000 steps") for label in (MAIN, EQUAL, FIXED)], (400 / 406, 500 / 505)


def test_last_chapter():
    """The medians of the results, and bounds that figures keep."""
    (counting, flat, fixed), of_the_whole = vote()
    slow = median(1, FIXED, "8,000 steps")
    relu = median(1, "A+F: equal weights, a ReLU in place of layer norm")
    untaught, taught = (
        median(1, label, "I: separate keys and values")
        for label in ("without help", "K: equal weights at first")
    )
    calculations = [[(counting, flat, fixed)], [of_the_whole, (slow,)], [(counting, flat, relu)]]
    calculations += [[(100 * lesson_1.most_in_one_order(),)], [(40, taught)]]
    assert untaught < 40

    difference = "sequences right"
    plain, asking, itself = (
        median(2, f"{label}, 1,000 steps", difference) for label in ("plain", ASKING, "A")
    )
    longer, normed = (
        median(2, label, difference) for label in ("plain, 4,000 steps", "C: a second layer norm")
    )
    paths = [median(2, label, "differences right") for label in ("F: as it learns to", "F+B, 4,000 steps")]
    calculations += [[(longer,)], [(plain, asking, itself)], [(normed,)], [(100 * most_frequent(), 90)]]
    assert min(paths) > 90

    bound, twin = 100 * lesson_3.bound()[1], median(3, "B: equal weights in the decoder")
    alone, equal = median(3, "learnt weights"), median(3, "B: equal weights from the start")
    ruled = median(3, "F: six times the weight for the first letter, from the start")
    jumped = figures.measured("lesson_3_layers", "six", "right")[1]
    calculations += [[(1 / 11,)], [(twin,)], [(jumped,)], [(alone, equal)], [(bound,)], [(ruled,)]]

    four, eight = "four pairs, 1,500 steps", "eight pairs, 2,000 steps"
    one, other = (
        figures.measured("lesson_3_transformer", f"logits of layer {layer} × 0", "right") for layer in (1, 2)
    )
    slowly, late = (figures.measured("lesson_3_transformer", SECOND, f"{head} steps") for head in LATER)
    calculations += [[(99, 40)], [(30, 60)], [[100 * transformer.guesser(pairs) for pairs in (4, 8)]]]
    assert late[2] < 40 and 25 < one[1] < 30 and 55 < one[2] < 60
    rows = {
        (row, head): figures.measured("lesson_3_transformer", row, head)
        for row in LOOKS
        for head in (four, eight)
    }
    runs = sorted(results.runs("lesson_3_transformer", eight, LOOKS[0]))
    assert runs[2] > 99
    others = [[each for row in LOOKS[2:] for each in rows[row, head]] for head in (four, eight)]
    ends = [(min(each), max(each)) for each in others]
    ends += [runs[:2], rows[LOOKS[1], eight][1:], (100, 100 * transformer.guesser(8))]
    calculations.append(ends)

    changed = (
        median(3, "decoder: equal weights", "median and range"),
        median(3, "the same models, tested with equal weights"),
    )
    positions = median(3, "`--pos_enc`, twenty runs")
    calculations += [[(counting, 0, flat, relu)], [(asking, 0, longer)], [(positions, changed[0], twin)]]
    calculations += [[(alone, changed[1], equal, bound)], [(100, one[0], rows[LOOKS[1], four][0])]]
    calculations.append([(100, other[0], rows[SECOND, four][0], slowly[0])])
    assert median(2, "all weights equal", difference) == 0
    figures.check(figures.paragraphs(3, "did_it_need_attention.md"), *calculations)


def test_in_class():
    """What the plan for a class says of beans, of the slider, of the vote."""
    beans = [*shares(), (0, 2.8, 0, 0), (1.4,)]
    (_, _, fixed), of_the_whole = vote()
    relu = median(1, "A+F: equal weights, a ReLU in place of layer norm")
    answer = [vote()[0], of_the_whole, (0.3, 0.4), (relu, median(1, FIXED, "8,000 steps"))]
    figures.check(figures.paragraphs(1, "in_class.md"), beans, [doubled(), *beans], answer)


def test_a_mask_for_attend():
    """The line that an exercise of the transformer page adds to what an exercise of Lesson 1 has written."""
    source = program.script(1).with_name("README.md").read_text(encoding="utf-8")
    (attend_,) = re.findall(r"( +def attend\(.*?return weights @ value, weights\n)", source, re.DOTALL)
    page = " ".join(figures.text(3, "transformer.md").split())
    line, first, second = (
        re.search(rf"`({start}.*?)`", page)[1]
        for start in (r"logits = np\.where\(np\.tri", r"x = np", r"attend\(1\.4")
    )
    lines = textwrap.dedent(attend_).splitlines()
    place = next(number for number, each in enumerate(lines) if "logits =" in each)
    names = {"np": np}
    exec("\n".join([*lines[: place + 1], f"    {line}", *lines[place + 1 :], first]), names)
    _, weights = eval(second, names)
    expected = special.softmax(
        np.where(np.tri(3), 1.4 * np.eye(2)[[0, 1, 0]] @ np.eye(2)[:, [0, 1, 0]], -np.inf), axis=1
    )
    np.testing.assert_allclose(weights, expected)


def test_parameters():
    arrays, _ = programs.read(play.FOLDER / "checkpoints" / "transformer.npz")
    total = sum(array.size for array in arrays.values())
    assert f"{total:,}" in figures.text(3, "transformer.md")
