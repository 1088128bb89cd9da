"""What a picture draws is what the formula, or the model, gives, and what is said of it."""

import functools
import itertools
import re
import shutil

import drawings
import figures
import matplotlib.pyplot as pyplot
import numpy as np
import program
import pytest
import worked_examples as examples
from experiments import (
    by_formula,
    diagrams,
    drawing,
    measuring,
    pictures,
    play,
    programs,
    results,
    transformer,
)
from PIL import Image
from scipy import special

WITHOUT_TRAINING = {
    picture.__name__: picture
    for group in (by_formula.PICTURES, diagrams.PICTURES, pictures.OF_ONE_MODEL)
    for of_task in group.values()
    for picture in of_task
}
MEANINGS = {"query": drawing.QUERY, "key": drawing.KEY, "weight": drawing.WEIGHT, "value": drawing.VALUE}


IMAGES = {path.stem: path for path in programs.ROOT.glob("[123]_*/images/*")}


@functools.cache
def all_drawn():
    """Return what is drawn without training, a dict: the task and the figure of each picture."""
    drawn = {}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(pictures, "save", lambda figure, task, name: drawn.update({name: (task, figure)}))
        monkeypatch.setattr(pictures, "draw_heatmaps", lambda: None)
        pictures.draw()
    return drawn


def draw(name):
    """Return the figure of a picture that needs no training."""
    return all_drawn()[name][1]


# --- Every picture --------------------------------------------------------------------------------------


def test_each_picture_of_a_page_is_drawn_and_no_other():
    """Those of the page to play with are filmed."""
    of_many = [picture.__name__ for group in pictures.OF_MANY.values() for picture in group]
    names = {*all_drawn(), *of_many, "ask", *(picture for *_, picture in pictures.HEATMAPS)}
    shown = [re.findall(r"images/(\w+)\.", page.read_text(encoding="utf-8")) for page in figures.PAGES]
    assert {*IMAGES} == names == set(sum(shown, []))


@pytest.mark.parametrize("name", WITHOUT_TRAINING)
def test_a_picture_is_that_of_the_page_and_can_be_read(name):
    """Numbers stand out from their cells, a word has the colour of its meaning, and bars have one scale.

    Whoever changes a picture runs `python -m tests.experiments.pictures`, looks at it and commits it.
    """
    assert IMAGES[name].parent.parent == programs.script(all_drawn()[name][0]).parent
    drawings.check_committed(draw(name), IMAGES[name])
    page, scales = draw(name).axes[0], []
    numbers = [text for text in page.texts if drawings.number(text) is not None]
    for text in numbers:
        assert drawings.contrast(text.get_color(), drawings.colour_below(text)) > 2.5
    for text in page.texts:
        meaning = MEANINGS.get(re.match(r"\w*", text.get_text())[0].removesuffix("s"))
        if meaning and text.get_color() not in (drawing.INK, drawing.GREY):
            assert drawings.is_like(text.get_color(), meaning)
    for bar in (patch for patch in page.patches if type(patch) is pyplot.Rectangle):
        end = bar.get_x() + bar.get_width() + 0.15, bar.get_y() + bar.get_height() / 2
        at_its_end = [text for text in numbers if text.get_position() == pytest.approx(end)]
        scales += [bar.get_width() / drawings.number(text) for text in at_its_end]
    assert scales == pytest.approx(scales[:1] * len(scales), rel=0.1)


ASKING = play.weights("difference_self_att", examples.one_hot(pictures.SHOWN[2]))
# Of what is drawn from many models, or by a program: numbers that are measured or computed elsewhere.
KNOWN = {
    "counting_curve": [figures.measured("lesson_1", "measured", str(count))[0] for count in range(6)],
    "self_attention": ASKING["self_attention"],
    "transformer_losses": (1.4, transformer.lowest_loss(4)),
}


@pytest.mark.parametrize(("name", "said"), figures.said_of_pictures())
def test_what_is_said_of_a_picture_is_in_it(name, said):
    """But for `layers`: its medians of ten models are not in the results."""
    if name == "layers":
        return
    if name in KNOWN:
        assert figures.fits(said, [KNOWN[name]])
        return
    lines = drawings.numbers(draw(name))
    for plane in draw(name).axes[1:]:
        lines.append([drawings.number(text) for text in plane.texts])
        lines += [line.get_xdata() for line in plane.lines if line.get_linestyle() != "-"]
    vectors = [
        line[start:end] for line in lines for start, end in itertools.combinations(range(len(line) + 1), 2)
    ]
    assert figures.fits(said, [np.concatenate(lines), *vectors])


def test_a_heatmap_of_a_page_is_what_its_program_draws_today(tmp_path, monkeypatch):
    for task in (1, 2):
        script = tmp_path / programs.SCRIPTS[task]
        (script.parent / "images").mkdir(parents=True)
        shutil.copy(programs.script(task), script)
    monkeypatch.setattr(programs, "ROOT", tmp_path)
    monkeypatch.setattr(pictures.subprocess, "run", lambda command, **_: program.in_process(*command[1:]))
    pictures.draw_heatmaps()
    drawn = {path.stem: path for path in tmp_path.glob("*/images/*")}
    assert {*drawn} == {name for _, name in pictures.HEATMAPS}
    for name, path in drawn.items():
        assert path.relative_to(tmp_path) == IMAGES[name].relative_to(program.ROOT)
        image, committed = pyplot.imread(path), pyplot.imread(IMAGES[name])
        assert image.shape == committed.shape
        if Image.open(path).text["Software"] == Image.open(IMAGES[name]).text["Software"]:
            np.testing.assert_allclose(image, committed, atol=0.1)


def test_a_picture_is_saved_beside_the_page_of_its_task(tmp_path, monkeypatch):
    figure = pyplot.figure(figsize=(16, 1))
    figure.text(0.1, 0.5, "a text")
    monkeypatch.setattr(programs, "ROOT", tmp_path)
    path = programs.script(2).parent / "images" / "a name.png"
    path.parent.mkdir(parents=True)
    drawing.save(figure, 2, "a name")
    drawings.check_committed(figure, path)


# --- Numbers and lines ----------------------------------------------------------------------------------


def lookup(attention, *columns):
    """Return the lines of a picture of an attention: the query, what is beside each key, the mean."""
    return [attention.query, *examples.beside(attention, *columns), attention.mean]


def side_by_side(*attentions):
    """Return the lines of two attentions whose values are their keys, one beside the other."""
    each = [lookup(attention, "keys", "logits", "weights") for attention in attentions]
    return [np.hstack(parts) for parts in zip(*each, strict=True)]


def head(attention):
    """Return the lines of a head, whose mean stands between its two keys."""
    above, below = examples.beside(attention, "keys", "weights", "values")
    return [attention.query, above, attention.mean, below]


STEPS = ["keys", "products", "logits", "exps", "weights", "values"]
WITHOUT_EXP = [step for step in STEPS if step != "exps"]
BEN, SHE, BENS, DECODER = examples.BEN, examples.SHE, examples.BENS, examples.DECODER
OF_PETS, OF_QUESTION = pictures.heads()
OF_NAMES, OF_CAT = OF_PETS[[1, 3, 5, 7], [0, 2, 4, 6]], OF_QUESTION[8, 3]
NUMBERS = {  # Of a picture, line by line.
    "names_and_pets": [*lookup(BEN, *STEPS)[:-1], [BEN.exps.sum()], BEN.mean],
    "grid_times_vector": [
        *np.column_stack([examples.WORDS[2], examples.W_Q, examples.WORDS[0], examples.W_Q]),
        [*SHE.query, *examples.ANNA.query],
    ],
    "she": [*lookup(SHE, *WITHOUT_EXP), examples.WORDS[2], examples.NEW_WORDS[2]],
    "words": [examples.NEW_WORDS.ravel(), SHE.weights, examples.WORDS.ravel()],
    "by_hand": [*side_by_side(*examples.WITHOUT), *side_by_side(*examples.WITH)],
    "transformer_by_hand": [
        [*examples.UNIT[1], *BENS.query],
        *np.hstack([examples.PAIRS, examples.beside(BENS, *WITHOUT_EXP[:-1])]),
        *np.hstack([examples.PAIRS, BENS.values]),
        BENS.mean,
    ],
    "heads_by_hand": [
        *head(examples.BOTH),
        *head(examples.ANNAS),
        [*examples.ANNAS.mean, *BENS.mean],
        *head(BENS),
    ],
    "mask": [*np.hstack(examples.mask("ABA"))],
    "recurrent": [
        np.hstack([each.query for each in DECODER]),
        np.hstack([each.mean for each in DECODER]),
        DECODER[1].weights,
        DECODER[1].keys.ravel(),
    ],
    "memory": [[0.5, 0.25, 0.125, 0.0625]],
    "transformer_flow": [[OF_CAT], OF_NAMES],
    "transformer_heads": [*OF_NAMES[:, None], [OF_CAT]],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    for line, expected in zip(drawings.numbers(draw(name)), NUMBERS[name], strict=True):
        assert line == pytest.approx([*expected], abs=0.00501)


def test_dot_products_and_softmax():
    """Four arrows, of which two cross at right angles and one is twice another; two roads to weights."""
    _, *planes = draw("two_arrows").axes
    keys, queries = (
        np.array([drawings.arrows(plane, colour)[0, 1] for plane in planes])
        for colour in (drawing.KEY, drawing.QUERY)
    )
    products = (keys * queries).sum(axis=1)
    assert drawings.numbers(draw("two_arrows")) == [products.tolist()]
    assert products[1] == 0 and products[2] < 0 and products[3] == 2 * products[0] > 0
    heights = [drawings.bars(plane) for plane in draw("softmax").axes[1:]]
    for logits, exps, weights in (heights[:3], heights[3:]):
        assert exps == pytest.approx(np.exp(logits)) and weights == pytest.approx(special.softmax(logits))
    assert heights[3] * 8 == pytest.approx(heights[0])


def test_clock_hands():
    """Each hand shows a sine to the right and a cosine upward, by the paper's formula for 16 numbers."""
    lines = [line.get_xydata() for line in draw("clock_hands").axes[0].lines]
    hands = np.array([line[1] - line[0] for line in lines if len(line) == 2]).reshape(3, 8, 2)
    for pair, position in np.ndindex(3, 8):
        angle = position / 10000 ** (2 * pair / 16)
        across, down = hands[pair, position] / np.linalg.norm(hands[pair, position])
        assert (across, -down) == pytest.approx((np.sin(angle), np.cos(angle)))


# --- Of trained models ----------------------------------------------------------------------------------


def test_each_training_run_is_a_dot():
    """The medians and the ranges of the dots are those of the tables above the numbers that are drawn."""
    rows = results.tables(results.path("lesson_3_transformer").read_text(encoding="utf-8"))
    cells = {(label, head): cell for label, head, cell in rows}
    page, *planes = draw("choosing").axes
    for plane, head in zip(planes, ("four pairs, 1,500 steps", "eight pairs, 2,000 steps"), strict=True):
        dots = [line.get_xdata() for line in plane.lines if line.get_marker() == "o"]
        (guessed,) = (line.get_xdata()[0] for line in plane.lines if line.get_linestyle() == "--")
        assert guessed == 100 * transformer.guesser(4 if "four" in head else 8)
        drawn = [measuring.percent(np.array(rights) / 100) for rights in dots]
        assert drawn == [cells[label, head] for label in pictures.RUNS.values()]
