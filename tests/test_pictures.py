"""What a picture draws is what the formula, or the model, gives: NumPy and SciPy compute it anew."""

import re
import types

import drawings
import matplotlib.colors as colors
import matplotlib.pyplot as pyplot
import numpy as np
import pytest
from experiments import (
    by_formula,
    diagrams,
    drawing,
    lesson_1,
    lesson_3,
    measuring,
    pictures,
    play,
    programs,
    results,
    transformer,
)
from scipy import special

UNIT = np.eye(4)


@pytest.fixture(autouse=True)
def closed():
    """Close the figures of a test."""
    yield
    pyplot.close("all")


def texts(figure):
    """Return all texts of a figure, with ASCII signs, a list of str."""
    return [text.get_text().replace("−", "-") for axes in figure.axes for text in axes.texts]


def numbers(figure):
    """Return the numbers that stand by themselves in a figure, sorted."""
    plain = [text.replace(",", "").removeprefix("= ") for text in texts(figure)]
    return sorted(float(text) for text in plain if re.fullmatch(r"-?\d*\.?\d+", text))


def bars(axes):
    """Return the heights of all bars of a plane, each of which has its height as a number."""
    heights = np.array([patch.get_height() for patch in axes.patches])
    said = [float(text.get_text().replace(",", "").replace("−", "-")) for text in axes.texts]
    assert said == pytest.approx(heights, abs=0.00501, rel=0.004)
    return heights


def lines_of_weight(figure):
    """Return the orange lines of a page: where each begins and ends, float (lines, 2, 2), and its width."""
    drawn = [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None)]
    drawn = [line for line in drawn if colors.same_color(line.arrow_patch.get_edgecolor(), drawing.WEIGHT)]
    ends = np.array([(line.xyann, line.xy) for line in drawn])
    return ends, [line.arrow_patch.get_linewidth() for line in drawn]


def face(axes, text):
    """Return the colour of the cell on which a text stands."""
    place = axes.transData.transform(text.get_position())
    (cell,) = (one for one in axes.patches if one.get_window_extent().contains(*place))
    return cell.get_facecolor()


def under(text):
    """Return the colour of the last cell or box that is below a text, else white."""
    place = text.axes.transData.transform(text.get_position())
    below = [one for one in text.axes.patches if one.get_window_extent().contains(*place)]
    return below[-1].get_facecolor()[:3] if below else "white"


def named_in_colour(texts, lines):
    """Return whether each text has the hue of its line; it may be darker, to be read."""
    hues = [[colors.rgb_to_hsv(colors.to_rgb(one.get_color()))[0] for one in each] for each in (texts, lines)]
    return hues[0] == pytest.approx(hues[1], abs=0.05)


def places(figure, row):
    """Return the texts of a row of a page, 0 at the top, from the left to the right, and where they are."""
    found = [(*text.get_position(), text.get_text()) for text in figure.axes[0].texts if text.get_text()]
    height = sorted({down for _, down, _ in found})[row]
    across, words = zip(
        *sorted((across, text) for across, down, text in found if down == height), strict=True
    )
    return words, np.array(across)


def lines(figure):
    """Return the numbers of a figure as one reads them, a list for each line."""
    found = {}
    for text in figure.axes[0].texts:
        said = text.get_text().replace("−", "-")
        if re.fullmatch(r"-?\d*\.?\d+", said):
            across, down = text.get_position()
            found.setdefault(round(down, 3), []).append((across, float(said)))
    return [[number for _, number in sorted(found[down])] for down in sorted(found)]


def check(picture, *expected):
    """Compare a picture with the lines of numbers that it should have; return its figure."""
    figure = picture()
    for line, other in zip(lines(figure), expected, strict=True):
        assert line == pytest.approx(list(other), abs=0.00501)
    rectangles = [patch for patch in figure.axes[0].patches if type(patch) is pyplot.Rectangle]
    scales = []  # All bars of a picture have one, by the numbers at their ends.
    for patch in rectangles:
        end = patch.get_x() + patch.get_width() + 0.15, patch.get_y() + patch.get_height() / 2
        (text,) = (one for one in figure.axes[0].texts if one.get_position() == pytest.approx(end))
        scales.append(patch.get_width() / float(text.get_text()))
    for text in figure.axes[0].texts:  # Each number in a cell can be read.
        shades = [drawings.luminance(colors.to_rgb(one)) + 0.05 for one in (text.get_color(), under(text))]
        assert max(shades) / min(shades) > 2.5 or not re.search(r"\d$", text.get_text())
    assert scales == pytest.approx(scales[:1] * len(scales), rel=0.1)
    return figure


def lookup(query, keys, values, exps=False):
    """Return a line for each key (key, product, logit, exp if asked for, weight, value), weights, mean."""
    products, logits = keys @ query, keys @ query / len(query) ** 0.5
    weights = special.softmax(logits)
    columns = [keys, products[:, None], logits[:, None], weights[:, None], values]
    if exps:
        columns.insert(3, np.exp(logits)[:, None])
    return [*np.hstack(columns)], weights, weights @ values


def test_each_picture_of_a_page_is_drawn_and_no_other():
    """Those of the page to play with are filmed."""
    groups = by_formula.PICTURES, diagrams.PICTURES, pictures.OF_ONE_MODEL, pictures.OF_MANY
    names = {f"{each.__name__}.png" for group in groups for drawn in group.values() for each in drawn}
    names |= {f"{picture}.png" for *_, picture in pictures.HEATMAPS} | {"ask.png", "ask.gif"}
    pages = [*programs.ROOT.glob("*.md"), *programs.ROOT.glob("[123]_*/*.md")]
    shown = [re.findall(r"images/(\w+\.\w+)", page.read_text(encoding="utf-8")) for page in pages]
    assert {path.name for path in programs.ROOT.glob("[123]_*/images/*")} == names == set(sum(shown, []))


def test_names_and_pets():
    rows, weights, mean = lookup(2.8 * UNIT[1], UNIT, UNIT, exps=True)
    figure = check(by_formula.names_and_pets, 2.8 * UNIT[1], *rows, mean)
    assert by_formula.PETS[mean.argmax()] == "cat"
    totals = [re.fullmatch(r"\D+ (\d+\.\d+)", text) for text in texts(figure)]  # Of the column of exp.
    assert [float(total[1]) for total in totals if total] == [
        pytest.approx(sum(np.array(rows)[:, 6]), abs=0.005)
    ]
    widths = [patch.get_width() for patch in figure.axes[0].patches if type(patch) is pyplot.Rectangle]
    assert np.divide(widths, sum(widths)) == pytest.approx(weights)


def test_dot_products_and_softmax():
    """Four arrows, of which two cross at right angles and one is twice another; two roads to weights."""
    figure = by_formula.two_arrows()
    arrows = [[text for text in axes.texts if hasattr(text, "xy")] for axes in figure.axes[1:]]
    drawn = [[np.array(arrow.xy) for arrow in pair] for pair in arrows]
    assert len({tuple(query) for _, query in drawn}) == 1  # One query, four keys.
    for pair in arrows:
        shades = [arrow.arrow_patch.get_edgecolor() for arrow in pair]
        assert all(map(colors.same_color, shades, (drawing.KEY, drawing.QUERY)))
    products = [key @ query for key, query in drawn]
    assert numbers(figure) == sorted(products)
    assert products[1] == 0 and products[2] < 0 and products[3] == 2 * products[0] > 0
    heights = [bars(axes) for axes in by_formula.softmax().axes[1:]]
    for logits, exps, weights in (heights[:3], heights[3:]):
        assert exps == pytest.approx(np.exp(logits)) and weights == pytest.approx(special.softmax(logits))
    assert heights[3] * 8 == pytest.approx(heights[0])


def check_fan(figure, query, weights):
    """Check that orange lines go from all three words below to a query above, as thick as the weights."""
    (_, across), (ends, widths) = places(figure, -1), lines_of_weight(figure)
    assert ends[..., 0] == pytest.approx(np.array([(word, across[query]) for word in across]), abs=0.5)
    assert (np.argsort(widths) == np.argsort(weights)).all()


def test_she_finds_anna():
    vectors = np.array([(1, 0, 1), (0, 1, 0), (1, 0, 0)])
    to_query = np.array([(4, 0), (3, 0), (-4, 2)])
    query, key, value = vectors @ to_query, vectors[:, [2, 1]], vectors * (0, 1, 1)
    rows = [(vectors[2, row], *to_query[row], vectors[0, row], *to_query[row]) for row in range(3)]
    axes = check(by_formula.grid_times_vector, *rows, query[[2, 0]].ravel()).axes[0]
    below = next(text for text in axes.texts if text.get_text() == "−4")
    assert colors.same_color(face(axes, below), "white")  # Below 0, a cell is an outline.
    rows, weights, mean = lookup(query[2], key, value)
    assert weights.argmax() == 0 and weights[0] > 0.8
    check(by_formula.she, query[2], *rows, mean, vectors[2], vectors[2] + mean)
    every = special.softmax(query @ key.T / 2**0.5, axis=1)
    figure = check(by_formula.words, (vectors + every @ value).ravel(), weights, vectors.ravel())
    check_fan(figure, 2, weights)


def test_examples_of_the_lessons():
    expected = []
    for marked in (0, 1):
        orders = [UNIT[order] + marked * UNIT[2:] for order in ([0, 1], [1, 0])]
        both = [lookup(2.8 * UNIT[2], keys, keys) for keys in orders]
        rows = [[np.delete(row, [4, *range(7, 11)]) for row in rows] for rows, _, _ in both]
        expected += [np.tile(2.8 * UNIT[2], 2), *np.hstack(rows), np.hstack([mean for *_, mean in both])]
    check(by_formula.by_hand, *expected)
    pairs, query = UNIT[:2] + UNIT[2:], 4 * UNIT[1, :2]
    rows, _, mean = lookup(query, pairs[:, :2], pairs[:, 2:])
    rows = [(*pair, *row[:5]) for pair, row in zip(pairs, rows, strict=True)]
    values = np.hstack([pairs, pairs[:, 2:]])
    check(by_formula.transformer_by_hand, (*UNIT[1], *query), *rows, *values, mean)
    expected, means, unit = [], [], np.eye(2)
    for query in ((4, 4), (4, 0), (0, 4)):
        rows, _, mean = lookup(np.array(query), unit, unit)
        above, below = np.delete(rows, [2, 3], axis=1)
        expected += [query, above, mean, below]
        means.append(mean)
    check(by_formula.heads_by_hand, *expected[:8], np.ravel(means[1:]), *expected[8:])


def test_mask():
    logits = 1.4 * np.equal.outer(list("ABA"), list("ABA"))
    hidden = np.triu(np.ones((3, 3), dtype=bool), 1)
    weights = special.softmax(np.where(hidden, -np.inf, logits), axis=1)
    rows = [(*logits[row], *logits[row, : row + 1], *weights[row]) for row in range(3)]
    figure = check(diagrams.mask, *rows)
    assert texts(figure).count("-∞") == hidden.sum()
    names = [text for text in figure.axes[0].texts if text.get_text() in ("A", "B")]
    names.sort(key=lambda text: text.get_position()[1])  # Nine above columns, then nine before rows.
    assert [colors.same_color(name.get_color(), drawing.KEY) for name in names] == [True] * 9 + [False] * 9


def test_clock_hands():
    """Each hand shows a sine to the right and a cosine upward, by the paper's formula for 16 numbers."""
    lines = [line.get_xydata() for line in diagrams.clock_hands().axes[0].lines]
    hands = np.array([line[1] - line[0] for line in lines if len(line) == 2]).reshape(3, 8, 2)
    for pair, position in np.ndindex(3, 8):
        angle = position / 10000 ** (2 * pair / 16)
        across, down = hands[pair, position] / np.linalg.norm(hands[pair, position])
        assert (across, -down) == pytest.approx((np.sin(angle), np.cos(angle)))


def test_a_recurrent_decoder_attends_to_all_states_of_the_encoder():
    states = np.array([(1, 0, 0), (0.5, 1, 0), (0.25, 0.5, 1)])
    queries = np.array([(4, -4, 0), (0, 0, 4), (0, 4, -4)])
    weights = special.softmax(queries @ states.T / 3**0.5, axis=1)
    figure = check(diagrams.recurrent, *map(np.ravel, (queries, weights @ states, weights[1], states)))
    check_fan(figure, 1, weights[1])


def test_what_is_left_of_a_word():
    """And the question's thick line goes to the pet's word, which is the fourth."""
    figure = diagrams.memory()
    assert numbers(figure) == pytest.approx([0.0625, 0.125, 0.25, 0.5], abs=0.00501)
    (words, across), (ends, widths) = places(figure, 1), lines_of_weight(figure)
    assert words[6] == "Ben" and words[3] == "cat"
    assert ends[np.argmax(widths), :, 0] == pytest.approx(across[[6, 3]])


def test_a_norm_stands_beside_the_rail_or_on_it():
    """Before its part, or after the sum of part and rail: each lower place on the page comes earlier."""
    found = {}
    for text in diagrams.block().axes[0].texts:
        found.setdefault(text.get_text(), []).append(text.get_position())
    norms, sums = (np.array(sorted(found[name])).reshape(2, 2, 2) for name in ("norm", "+"))
    parts = np.array(sorted(found["attention"] + found["dense,\nReLU, dense"])).reshape(2, 2, 2)
    assert (norms[0, :, 0] == parts[0, :, 0]).all() and (norms[1, :, 0] == sums[1, :, 0]).all()
    assert (norms[0, :, 1] > parts[0, :, 1]).all() and (norms[1, :, 1] < sums[1, :, 1]).all()


def test_regions():
    """Each word lights up the regions by their weights, most of all one that shows its thing."""
    scene, things = diagrams.scene(), list(diagrams.THINGS)
    _, plain, *planes = diagrams.regions().axes
    assert np.ptp(plain.images[0].get_alpha()) == 0
    for plane, word in zip(planes, ("cat", "tree", "sun"), strict=True):
        there = scene == things.index(word)
        share = np.array([[there[80 * row : 80 * row + 80, 80 * column : 80 * column + 80].mean()
                           for column in range(10)] for row in range(6)])  # fmt: skip
        weights = special.softmax(8 * share / len(things) ** 0.5)
        light = plane.images[0].get_alpha()[40::80, 40::80]
        assert light.argmax() == share.argmax()
        assert (light - 0.12) / 0.88 * weights.max() == pytest.approx(weights)


def test_one_model_in_pictures():
    """The weights and means of the models in the page to play with."""
    inputs = measuring.spell(2, pictures.SHOWN[2]).inputs[0]
    planes = pictures.difference_row().axes[1:]
    for plane, name in zip(planes, ("difference", "difference_self_att"), strict=True):
        weights = play.weights(name, inputs)["attention"][3]
        assert bars(plane) == pytest.approx(weights) and weights.sum() == pytest.approx(1)
    text = np.array(list(pictures.SHOWN[3]))
    weights = play.weights("signal_pos_enc", measuring.spell(3, pictures.SHOWN[3]).inputs[0])
    first, shares, picked = (bars(plane) for plane in pictures.trace().axes[1:])
    assert first == pytest.approx(weights["encoder_layer_1/attention"][0])
    assert picked == pytest.approx(weights["attention"][0])
    assert shares == pytest.approx([first[text == letter].sum() for letter in "ABC"])


def test_what_the_transformer_looks_at(monkeypatch):
    """In the best heads, pets look at their names in layer 1, and the question at its pet in layer 2."""
    known, words = transformer.program().vocabulary(4), pictures.TEXT.split()
    read = [known.index(word) for word in words]
    weights = play.weights("transformer", read)
    names = max((head[[1, 3, 5, 7], [0, 2, 4, 6]] for head in weights["block_1/attention"]), key=np.sum)
    found = weights["block_2/attention"][:, 8, 3].max()
    text = types.SimpleNamespace(words=np.array([read]), first=8, asked=np.array([1]))
    monkeypatch.setattr(transformer, "texts_of", lambda *_: text)
    (model,) = set(of_the_page("transformer").models())
    assert transformer.where_heads_attend(model) == pytest.approx((np.mean(names), found), abs=1e-5)
    expected = sorted([*names, found])
    for picture in (pictures.transformer_flow, pictures.transformer_heads):
        assert numbers(picture()) == pytest.approx(expected, abs=0.00501)
    figure = pictures.transformer_flow()
    _, (_, *across) = places(figure, -1)  # Of the words, not of their title.
    looks = [
        (0, 1),
        (2, 3),
        (4, 5),
        (6, 7),
        (3, 8),
    ]  # Each goes from a name to its pet, the last to who asks.
    assert lines_of_weight(figure)[0][..., 0] == pytest.approx(np.array(across)[looks])
    axes = pictures.transformer_heads().axes[0]
    for text in axes.texts:  # Each number is on the colour of its weight.
        if re.fullmatch(r"\.\d\d", text.get_text()):
            assert face(axes, text) == pytest.approx(pictures.BRIGHT(float(text.get_text())), abs=0.02)


def test_each_training_run_is_a_dot():
    """The medians and the ranges of the dots are those of the tables above the numbers that are drawn."""
    rows = results.tables(results.path("lesson_3_transformer").read_text(encoding="utf-8"))
    cells = {(label, head): cell for label, head, cell in rows}
    page, *planes = pictures.choosing().axes
    for plane, head in zip(planes, ("four pairs, 1,500 steps", "eight pairs, 2,000 steps"), strict=True):
        dots = [line.get_xdata() for line in plane.lines if line.get_marker() == "o"]
        (guessed,) = (line.get_xdata()[0] for line in plane.lines if line.get_linestyle() == "--")
        assert guessed == 100 * transformer.guesser(4 if "four" in head else 8)
        for row, name in enumerate(pictures.RUNS):  # Which stands at the height of its dots.
            (text,) = (one for one in page.texts if one.get_text() == name)
            height = page.transData.transform(text.get_position())[1]
            assert height == pytest.approx(plane.transData.transform((0, row))[1], abs=20)
        drawn = [measuring.percent(np.array(rights) / 100) for rights in dots]
        assert drawn == [cells[label, head] for label in pictures.RUNS.values()]


def of_the_page(name):
    """Return a trainings.ModelCache that gives one model of the page to play with, three times."""
    task = play.MODELS[name].task
    model = programs.load_model(programs.load(task), play.FOLDER / "checkpoints" / f"{name}.npz")
    return types.SimpleNamespace(models=lambda *_: [model, model, model])


def curves(picture, cache):
    """Return what the lines of a chart show, a list of arrays."""
    return [np.array(line.get_ydata()) for line in picture(cache).axes[1].lines]


def test_many_models_in_pictures(monkeypatch):
    """The median of weights, and the line of the formula close to what models do."""
    counting, signal = of_the_page("counting"), of_the_page("signal_pos_enc")
    weights = play.weights("counting", measuring.spell(1, pictures.SHOWN[1]).inputs[0])["attention"]
    three = [*counting.models()[:2], *of_the_page("counting_equal").models()[:1]]  # The median is the first.
    assert numbers(pictures.lineup(types.SimpleNamespace(models=lambda *_: three))) == pytest.approx(
        sorted(np.ravel(3 * [weights])), abs=0.00501
    )
    equal, formula, *measured = curves(pictures.counting_curve, counting)
    assert equal == pytest.approx(np.arange(11) / 10) and len(measured) == 3
    assert measured[0] == pytest.approx(formula, abs=0.01)
    plain, one_layer = of_the_page("signal"), lesson_3.setup()  # In the place of six.
    cache = types.SimpleNamespace(models=lambda each, _: (signal if each == one_layer else plain).models())
    for plane, name in zip(pictures.layers(cache).axes[1:], ("signal_pos_enc", "signal"), strict=True):
        (weights,) = play.weights(name, measuring.spell(3, pictures.SHOWN[3]).inputs[0])["attention"]
        assert bars(plane) == pytest.approx(weights, abs=1e-5)

    asking = of_the_page("difference_self_att")
    of_a, of_b, of_c, itself = drawn = curves(pictures.step_3, asking)
    axes = pyplot.gcf().axes[1]
    named = {text.get_text(): text for text in axes.texts}
    for step, name in enumerate(("the count of A", "the count of B")):  # Each at its own peak.
        assert max(drawn, key=lambda one: one[round(named[name].get_position()[0]) + 6]) is drawn[step]
        assert named_in_colour([named[name]], [axes.lines[step]])
    assert of_a + of_b + of_c + itself == pytest.approx(np.ones(13), abs=1e-5)
    assert (of_a[7:] > 0.5).all() and (of_b[:6] > 0.5).all() and (of_c < 0.1).all()

    monkeypatch.setattr(lesson_1, "right_by_length", lambda models: np.array([models * lengths / 100]))
    lengths, setups = np.array(lesson_1.TESTED_LENGTHS), [lesson_1.setup(), lesson_1.setup("C")]
    cache = types.SimpleNamespace(models=lambda setup, _: 1 + setups.index(setup))
    average, total, predicted = curves(pictures.lengths, cache)
    axes = pyplot.gcf().axes[1]
    assert named_in_colour(axes.texts[::2], axes.lines[:2])
    assert average == pytest.approx(lengths) and total == pytest.approx(2 * lengths)
    assert predicted[9] == predicted.max() == 100 and predicted[19] < 1


def test_losses_in_pictures():
    """The median of many runs, or one run each, and the lowest loss that is possible."""

    def losses(setup, seed):
        return [(step, (10 if setup == lesson_3.PLAIN else 20) + seed**2) for step in range(50, 2001, 50)]

    cache = types.SimpleNamespace(losses=losses)
    drawn = [line[0] for line in curves(pictures.losses, cache)]
    axes = pyplot.gcf().axes[1]
    assert named_in_colour(axes.texts[:2], axes.lines[:2])
    assert drawn == [40.5, 50.5, pytest.approx(0.8038, abs=0.0001)]
    drawn = [line[0] for line in curves(pictures.transformer_losses, cache)]
    assert drawn == [21, 24, 29, 36, 45, 56, transformer.lowest_loss(4)]
