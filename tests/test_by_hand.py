"""Every figure in the text of the course: computed anew by the formula, or looked up in the results."""

import re
import shutil
import textwrap

import figures
import numpy as np
import program
import pytest
import worked_examples as examples
from experiments import lesson_1, lesson_2, lesson_3, pictures, play, programs, results, transformer
from scipy import special
from worked_examples import attend, one_hot

UNIT, BEN, RATIO = examples.UNIT, examples.BEN, np.exp(1.4)
MAIN, EQUAL, FIXED = "`main.py`", "A: equal weights", "B: its own letter × 100"
RELU = "A+F: equal weights, a ReLU in place of layer norm"
PLAIN, ASKING = "plain, 1,000 steps", "`--self_att`, 1,000 steps"
FIRST, SECOND = "G 1: equal weights in the first layer", "G 2: equal weights in the second layer"


def median(name, label, head="right"):
    """Return the median in a cell of the results of a lesson."""
    return figures.measured(f"lesson_{name}", label, head)[0]


def difference(label):
    """Return the median of sequences right in Lesson 2."""
    return median(2, label, "sequences right")


# --- Lesson 1 -------------------------------------------------------------------------------------------


def shares():
    """Return the shares of none to three 'A's among five letters, their exps, and the sums of all exps."""
    own = RATIO * np.arange(4)
    together = own + 5 - np.arange(4)
    return [own / together, own, together]


def doubled():
    """Return the weight of two 'A's with the slider at 1 and 2, of two and three at 0, of four usually."""
    weights = play.weights("counting", one_hot(pictures.SHOWN[1]))["attention"][0]
    of_two = [(weights[7:9] ** power).sum() / (weights**power).sum() for power in (1, 2)]
    return [*of_two, 0.2, 0.3, median(1, "measured", "4")]


def test_lesson_1():
    """Lookups, exp against a plain division, letters, shares by hand, by the page's model, and measured."""
    opposite, letters, prices = attend((0, -2.8, 0, 0), UNIT), one_hot("AB BC"), [[3], [5], [0], [5], [1]]
    of_a, of_b = (attend(2.8 * query, letters, prices) for query in UNIT[1:3])
    vector = np.array((1, 3, 5, 7))
    of_blank, of_letter = (median(1, MAIN, head) for head in ("a blank's", "another letter's"))
    figures.check(
        figures.paragraphs(1),
        BEN,
        attend((0, 6, 0, 0), UNIT),
        opposite,
        [opposite.query, BEN.query],
        [BEN.exps, BEN.weights, np.e, BEN.exps.sum()],
        [1.4, 2.4, 5.4, 2.4 / 5.4, RATIO],
        [of_a.weights, of_a.mean, of_b.weights, of_b.mean],
        attend(BEN.query, letters),
        shares(),
        [(vector - vector.mean()) / vector.std()],
        [RATIO, 3 / (1 / of_blank + 2 / of_letter)],
        doubled(),
        [median(1, MAIN)],
    )


def code(page, start):
    """Return the block of a page that starts with this, of lines to paste into `python3`."""
    return re.search(rf"^```(?:python)?\n({start}.*?)^```", page, re.MULTILINE | re.DOTALL)[1]


def test_counting_in_code():
    """The lines of Lesson 1 compute what stands behind them."""
    exec(lines := code(figures.text(1), "import tensorflow as tf"), names := {})
    said = re.findall(r"^(\w+) = .*  # ([ .\d]+)$", lines, re.MULTILINE)
    assert len(said) == 3
    for name, numbers in said:
        np.testing.assert_allclose(names[name][0], [float(number) for number in numbers.split()], atol=0.0005)


def test_dot_product_and_additive_attention_in_code(capsys):
    """What the answers of Lesson 1 compute is what Keras computes, on the page and for other arrays."""
    names, means = {}, []
    np.random.seed(0)  # Now and then, other matrices have a weight that is printed as 1e-05.
    for block in re.findall(r"^ +```\n(.*?)^ +```$", figures.text(1), re.MULTILINE | re.DOTALL):
        exec(textwrap.dedent(block), names)
        means.append([float(number) for number in re.findall(r"\d\.\d+", capsys.readouterr().out)[:4]])
    np.testing.assert_allclose(means[::2], means[1::2], atol=1e-6)
    np.testing.assert_allclose(means[0], attend(BEN.query, names["letters"]).mean, atol=1e-6)

    queries, values = (np.random.default_rng(0).normal(size=size) for size in ((3, 4), (5, 6)))
    keys, keras = names["letters"], names["tf"].keras
    dot = keras.layers.Attention()([queries[None] / 2, values[None], keys[None]])
    np.testing.assert_allclose(names["attend"](queries, keys, values)[0], dot[0], atol=1e-5)
    of_queries, of_keys = queries @ names["W"], keys @ names["U"]
    additive = names["layer"]([of_queries[None], values[None], of_keys[None]])
    found, _ = names["attend_additively"](queries, keys, values, names["W"], names["U"], names["v"])
    np.testing.assert_allclose(found, additive[0], atol=1e-5)


def test_in_class():
    """What the plan for a class says of beans, of the slider, of the vote."""
    beans = [*shares(), BEN.query, 1.4]
    answer = [*vote(), 0.3, 0.4, median(1, RELU), median(1, FIXED, "8,000 steps")]
    figures.check(figures.paragraphs("transformer", "in_class.md"), beans, [*doubled(), *beans], answer)


# --- Lessons 2 and 3 ------------------------------------------------------------------------------------


def most_frequent():
    """Return how often the difference of two counts is 1, in percent."""
    cases = lesson_2.interventions.cases()
    return 100 * cases.chances @ (cases.answers[:, 3] == 1)


def test_lesson_2():
    """Each word's query and what it finds; *she* with another row of W_Q; two names that both answer."""
    she = examples.SHE
    figures.check(
        figures.paragraphs(2),
        she,
        [*examples.SLEPT, examples.NEW_WORDS[1]],
        [attend((0, 4), she.keys).weights],
        [attend(she.query, she.keys[[0, 0, 1, 2]]).weights],
        [difference(PLAIN), difference(ASKING)],
        [(4 + 3) / 2],
        [most_frequent(), *figures.measured("lesson_2", "F: as it learns to", "differences right")],
    )


def test_words_in_code():
    """The lines of Lesson 2 have the grids of its text and compute weights and new vectors by the formula."""
    exec(code(figures.text(2), "import numpy as np"), names := {})
    grids = np.hstack([examples.W_Q, examples.W_K, examples.W_V])
    for name, row in zip(("woman", "action", "Anna"), grids, strict=True):
        (shown,) = re.findall(rf"^{name}((?: +-?\d+){{7}})$", figures.text(2), re.MULTILINE)
        assert [int(number) for number in shown.split()] == [*row]
    assert (grids == np.hstack([names[name] for name in ("W_Q", "W_K", "W_V")])).all()
    weights = [word.weights for word in (examples.ANNA, examples.SLEPT, examples.SHE)]
    np.testing.assert_allclose(names["weights"], weights)
    np.testing.assert_allclose(names["words"] + names["weights"] @ names["value"], examples.NEW_WORDS)


def test_lesson_3():
    """Two letters without and with positions, three with a first one, hands of clocks, the bound."""
    bound, first = lesson_3.bound()[1], [UNIT[2], 0 * UNIT[0], 0 * UNIT[0]]
    with_first = [attend(2.8 * UNIT[2], UNIT[letters] + first) for letters in ([1, 1, 0], [0, 1, 1])]
    hands = [(np.sin(place), np.cos(place)) for place in range(3)]
    figures.check(
        figures.paragraphs(3),
        [examples.WITHOUT[0].query],
        sum(examples.WITHOUT, ()),
        sum(examples.WITH, ()),
        [*sum(with_first, ()), RATIO, RATIO + 2],
        [*hands, np.cos(1)],
        [100 * bound],
        [median(3, "`--pos_enc`, twenty runs")],
        [100 * 21 / 27],
    )
    page = " ".join(figures.paragraphs(3))
    assert all(f"{number:,}" in page for number in (round(bound * 3**11), 3**11, 3**10))


# --- The other pages ----------------------------------------------------------------------------------


def test_transformer():
    """The pets, the first step of the plan, heads, the mask, the temperature."""
    annas, bens = examples.ANNAS, examples.BENS
    swapped = [attend(each.query, each.keys, each.values[::-1]).mean for each in (annas, bens)]
    temperatures = [special.softmax(np.array([2, 1, 0]) / temperature) for temperature in (1, 0.5, 2)]
    without = median("3_transformer", "I: no positions")
    unmasked = median("3_transformer", "J: no mask", "reads up to the question")
    figures.check(
        figures.paragraphs("transformer", "transformer.md"),
        [*annas, *bens],
        attend(4 * UNIT[2], UNIT),  # The word at position 3 asks for position 2.
        [*examples.BOTH, [annas.mean, bens.mean], annas.mean, bens.mean, swapped, *swapped],
        [1.4],
        [100 * transformer.guesser(4)],
        temperatures,
        [1.4, RATIO, *examples.mask("AAB")[2]],
        [without, unmasked],
    )
    arrays, _ = programs.read(play.FOLDER / "checkpoints" / "transformer.npz")
    parameters = sum(array.size for array in arrays.values())
    assert figures.text("transformer", "transformer.md").count(f"{parameters:,}") == 2


def test_front_page():
    """But for versions and sizes, and for what a reader's own run prints."""
    facts = r"(?:Python|TensorFlow) [\d.]+(?: to [\d.]+)?|[\d.]+ GB"
    page = [re.sub(facts, "", paragraph) for paragraph in figures.paragraphs(1, "../README.md")]
    figures.check(page, [transformer.lowest_loss(4)], [100 * lesson_3.bound()[1]])


def test_a_mask_for_attend():
    """The line that an exercise of the transformer page adds to what an exercise of Lesson 1 has written."""
    attend_ = re.search(r" +def attend\(.*?return .*?\n", figures.text(1), re.DOTALL)[0]
    page = " ".join(figures.text("transformer", "transformer.md").split())
    line, first, second = (
        re.search(rf"`({start}.*?)`", page)[1]
        for start in (r"logits = np\.where\(np\.tri", r"x = np", r"attend\(1\.4")
    )
    lines = re.sub(r"( +)logits = .*\n", rf"\g<0>\g<1>{line}\n", attend_)
    exec(textwrap.dedent(lines) + first, names := {"np": np})
    np.testing.assert_allclose(eval(second, names)[1], examples.mask("ABA")[2])


def vote():
    """Return what is right in the three models of the vote, and what two fixed weights have of the whole."""
    return [*(median(1, label, "2,000 steps") for label in (MAIN, EQUAL, FIXED)), (400 / 406, 500 / 505)]


def test_last_chapter():
    """The medians of the results, and bounds that figures keep."""
    counting, flat, fixed, of_the_whole = vote()
    relu, keys = median(1, RELU), "I: separate keys and values"
    asking, longer = difference(ASKING), difference("plain, 4,000 steps")
    bound, positions = 100 * lesson_3.bound()[1], median(3, "`--pos_enc`, twenty runs")
    alone, equal = median(3, "learnt weights"), median(3, "B: equal weights from the start")
    twin = median(3, "B: equal weights in the decoder")
    one, other = (
        figures.measured("lesson_3_transformer", f"logits of layer {layer} × 0", "right") for layer in (1, 2)
    )
    four, slowly = "four pairs, 1,500 steps", median("3_transformer", SECOND, "four pairs, 7,500 steps")
    figures.check(
        figures.paragraphs("transformer", "did_it_need_to_choose.md"),
        [counting, flat, fixed],
        [of_the_whole, median(1, FIXED, "8,000 steps")],
        [40, median(1, "K: equal weights at first", keys)],
        [counting, flat, relu],
        [100 * lesson_1.most_in_one_order()],
        [longer],
        [difference(PLAIN), asking, difference("A, 1,000 steps")],
        [difference("C: a second layer norm")],
        [most_frequent(), 90],
        [1 / 11],
        [twin],
        [figures.measured("lesson_3_layers", "six", "right")[1]],
        [alone, equal],
        [bound],
        [median(3, "F: six times the weight for the first letter, from the start")],
        [99, 40],
        [30, 60],
        [100 * transformer.guesser(4), 100 * transformer.guesser(8)],
        [counting, 0, flat, relu],
        [asking, difference("all weights equal"), longer],
        [positions, median(3, "decoder: equal weights", "median and range"), twin],
        [alone, median(3, "the same models, tested with equal weights"), equal, bound],
        [100, one[0], median("3_transformer", FIRST, four)],
        [100, other[0], median("3_transformer", SECOND, four), slowly],
    )
    assert median(1, "without help", keys) < 40
    for label in ("F: as it learns to", "F+B, 4,000 steps"):
        assert median(2, label, "differences right") > 90
    assert sorted(results.runs("lesson_3_transformer", "eight pairs, 2,000 steps", "as it is"))[2] > 99
    assert figures.measured("lesson_3_transformer", SECOND, "eight pairs, 10,000 steps")[2] < 40
    assert 25 < one[1] < 30 and 55 < one[2] < 60


# --- What the programs print ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "name", "text"),
    [
        ("README.md", "counting", " BC CBBAA "),
        ("README.md", "difference_self_att", "BAAC BABAC"),
        ("README.md", "signal_pos_enc", "BBABCCABCAB"),
        ("transformer.md", "transformer", pictures.TEXT),
    ],
)
def test_printed_sample(page, name, text, tmp_path):
    """Each number is what the page's model prints today; an accuracy is that of other sequences."""
    task, _, flags = play.MODELS[name]
    file = "transformer" if task == "transformer" else f"checkpoint{flags.replace('--', '_')}"
    shutil.copy(play.FOLDER / "checkpoints" / f"{name}.npz", tmp_path / f"{file}.npz")
    words = ("--test", "--seed", 1, "--input", text, "--savepath", tmp_path, *flags.split())
    output = program.in_process(task, *words).stdout
    source = program.script(task).with_name(page).read_text(encoding="utf-8")
    sample = re.search(r"^    (?:Text|Prediction): .*?(?=^\S)", source, re.MULTILINE | re.DOTALL)[0]
    printed = [numbers_in(line) for line in output.splitlines()]
    for line in filter(numbers_in, sample.splitlines()):
        within = 0.09 if "%" in line else 0.0005
        assert any(numbers_in(line) == pytest.approx(other, abs=within) for other in printed), line


def numbers_in(line):
    """Return the numbers in a line, a list of float."""
    return [float(number) for number in re.findall(r"\d+\.?\d*", line)]
