"""Each view of the page to play with does what it is for: by mouse, by finger, by keyboard, by address."""

import math
import re
import time

import browser
import numpy as np
import pytest
from browser import CHECKPOINTS, LOOK, Asked, check_weights, thousandths
from selenium import webdriver
from selenium.webdriver.common.keys import Keys


def spoken(page):
    """Return what a screen reader has been told."""
    return page.find("announced").get_property("textContent")


LINK = re.compile(r"play\.html#([^)\"\s]+)")
PAGES = [path for path in browser.program.ROOT.rglob("*.md") if ".venv" not in path.parts]
LINKS = sorted({link for path in PAGES for link in LINK.findall(path.read_text("utf-8"))})


def test_every_link_from_the_pages_opens_what_it_says(page):
    assert len(LINKS) > 8
    for link in LINKS:
        page.visit(f"#{link}")
        seen, words = page.seen(), dict(part.partition("=")[::2] for part in link.split("&"))
        opened = f"{link} opens {page.link}, and says: {seen['message']!r}"
        assert seen["message"] == "" and seen["shown"] == next(iter(words)), opened
        if "model" in words:
            assert page.value("models_menu") == words["model"], opened
            assert seen["letters"] == words["letters"].replace("+", "␣"), opened
            assert page.value("mark") == words.get("mark", "0"), opened
            for slider in seen["weights"]:
                assert page.text(f"[id='{slider} factor']") == words.get(slider, "1"), opened
        assert words.get("vote") != "class" or page.find("votes_0").is_displayed(), opened


def test_an_address_keeps_what_is_shown_and_the_way_back(page):
    """Sliding, typing and moving weight is no history; views are, and the focus goes along."""
    page.visit("#model=difference_self_att&letters=ab+c&self_attention=0")
    assert page.value("letters") == "AB␣C" and page.value("self_attention") == "0"
    check_weights(page.seen()["weights"]["self_attention"], np.full((1, 4, 4), 0.25), "× 0")
    page.turn({"attention": 3})
    page.type("bb")
    page.wait(lambda: "letters=BB&self_attention=0&attention=3" in page.link)
    page.drag(page.cell("attention", 0, 0), page.cell("attention", 0, 1))
    left = page.seen()
    for view, name in {"ask": "Ask", "row": "One row", "vote": "Vote", "train": "Train"}.items():
        page.go(view)
        assert page.active == page.one(f"#view_{view} h1") and page.js("return scrollY") == 0, view
        lit = page.one("nav [aria-current]")
        assert lit.text == name, f"in {name}, {lit.text} is lit in the navigation"
        line = lit.value_of_css_property("box-shadow")
        assert line != "none", f"in {view}, one doesn't see in the navigation where one is"
        page.driver.back()
        page.wait(lambda: page.seen() == left)
    page.driver.refresh()
    assert page.seen() == left


def test_an_address_is_read_or_one_line_says_what_it_lacks(page):
    for address in ("Model=counting_fixed&letters=aab", "model%3Dcounting_fixed%26letters%3DAAB"):
        page.visit(f"#{address}")
        assert (page.value("models_menu"), page.value("letters")) == ("counting_fixed", "AAB")
    page.visit("#model=counting&letters=%2BBC%2B")
    assert page.value("letters") == "␣BC␣" and page.seen()["message"] == ""
    models = "nobody counting&head=1 counting&attention=7 counting&attention= own_1 trained_1".split()
    for words in (*(f"model={name}" for name in models), "row=counting&letters=XYZ", "nothing", "ask=own_1"):
        page.visit(f"#{words}")
        assert page.seen()["message"] and page.link != words, f"no word on what is wrong with {words}"
    page.visit("#ask&letters=Anna+dog+Ben")  # Whose pet nobody knows.
    assert page.seen()["message"] and len(page.all("#ask_words > *")) == 9
    page.go("vote")
    assert page.seen()["message"] == ""


def click(page, step):
    """Press a button of One row."""
    page.one(f"#row_steps [data-step={step}]").click()


PRINTED = f"""{LOOK}
    const right = (part) => part.getBoundingClientRect().right;
    const edge = () => Math.max(...all(document, "main *").filter(isSeen).map(right));
    const lines = () => (() => {{ {browser.ASKED} }})().lines.map((line) => line.slice(0, 2));
    addEventListener("beforeprint", () => {{ window.printed = [edge(), lines()]; }});
    const {{ backgroundColor, color }} = styleOf(document.body);
    return [edge(), lines(), backgroundColor, color];
"""


@pytest.mark.parametrize("view", "ask row vote train model=counting model=transformer".split())
def test_on_paper_nothing_is_cut_and_nothing_is_dark(view, page):
    """A4 less its margins has 718 pixels. What scripts lay out, they do anew before a window is printed."""
    page.visit(f"#{view}")
    _, lines, *light = page.js(PRINTED)
    page.command("Page.printToPDF")
    width, printed = page.js("return window.printed")
    if view in ("ask", "row"):
        assert width <= 718, f"{view} is laid out {width:.0f} pixels wide for a paper of 718"
        assert printed == lines, f"on paper, the lines run from and to these words: {printed}, not {lines}"
    page.media({"name": "prefers-color-scheme", "value": "dark"}, kind="print")
    page.screen(718)
    width, _, *colours = page.js(PRINTED)
    assert width <= 718, f"{view} is printed {width:.0f} pixels wide on a paper of 718"
    assert colours == ["rgb(255, 255, 255)", light[1]], f"the dark theme is printed: {colours}"


PLACES = f"""{LOOK}
    const at = (part) => [...part.getClientRects()].flatMap(({{ x, y, width, height }}) =>
        [x + scrollX, y + scrollY, width, height]);
    const [cells, bar, marks] = ["td.cell", ".colours", ".ends small"].map((query) =>
        all(document.querySelector(arguments[0]), query + ":not(td:empty)").filter(isSeen));
    return [cells, bar, marks].map((parts) => parts.map((part) => [Number(part.textContent), ...at(part)]));
"""


def check_colours(page, box, scale=None):
    """Check that cells have the colours that the scale beside them, or another one, has; return that."""
    cells, bars, marks = page.js(PLACES, box)
    picture = page.picture()
    if marks:
        _, x, y, width, height = bars[0]
        ends = [0, *((left + wide / 2 - x) / width for _, left, _, wide, _ in marks[1:-1]), 1]
        colours = picture[int(y + height / 2), int(x) + 2 : int(x + width) - 2]
        scale = colours, np.interp(np.linspace(0, 1, len(colours)), ends, [mark[0] for mark in marks])
    for weight, x, y, *_ in cells:
        colour = picture[int(y) + 5, int(x) + 5]
        gaps = abs(scale[0] - colour).sum(axis=1)
        told = scale[1][gaps.argmin()]
        said = f"{box}: {weight} has the colour {colour}, which on the scale of colours is about {told:.2f}"
        assert gaps.min() < 20 and abs(told - weight) < 0.03 + weight / 5, said
    return scale


@pytest.mark.parametrize("look", ["light", "dark"])
def test_a_cell_has_the_colour_that_the_scale_has_at_its_weight(look, page):
    """The darker, the more, as it says above the pictures of Vote, which have the scale of the others."""
    page.media(browser.CALM, {"name": "prefers-color-scheme", "value": look})
    page.visit("#model=counting&attention=2.5")
    scale = check_colours(page, "#first")
    assert (np.diff(scale[0].sum(axis=1)) <= 3).all(), "the scale of colours gets lighter somewhere"
    for view, box in (("model=transformer", "#first"), ("model=transformer", "#others"), ("vote", "#models")):
        page.visit(f"#{view}")
        check_colours(page, box, scale)


def test_ask_looks_a_pet_up_and_says_what_it_is_made_to_look_at(page):
    """By click, mouse, keys and address: the page against the formula, with the weight moved."""
    page.visit()
    asked = Asked(page)
    for name, pet in {"Cleo": "owl", "Anna": "dog", "Dan": "hen", "Ben": "cat"}.items():
        page.one(f'#ask_names [data-ask="{name}"]').click()
        assert asked.says() == pet and asked.seen()["words"][-1] == name
        assert {name, pet} <= {*re.findall(r"\w+", spoken(page))}
    drag = webdriver.ActionChains(page.driver, duration=0).click_and_hold(asked.arc(5))
    drag.move_to_element(asked.word(6)).move_to_element(asked.word(7)).perform()
    assert asked.says((5, 7)) == "owl", "it says so before one lets go"
    page.press(Keys.ESCAPE)
    assert asked.says() == "cat", "after Escape, as if the drag had not begun"
    drag.release().perform()
    page.drag(asked.arc(5), asked.word(7))
    assert asked.says((5, 7)) == "owl", "the line was dragged to owl"
    page.press(Keys.SHIFT + Keys.ARROW_UP)
    asked.says((5, 6))  # Word by word.
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert asked.says((5, 3)) == "dog", "two arrow keys, from pet to pet"
    page.press(Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert asked.says() == "cat"
    asked.word(1).click()
    assert asked.says((5, 1)) == "hen", "hen was clicked"
    asked.arc(1).send_keys(Keys.ESCAPE)
    assert asked.says() == "cat" and page.active == asked.arc(5)
    page.one("[data-attend=equal]").click()
    assert asked.says(factor=0) != "cat"
    right = page.wait(lambda: re.search(r"(\d+) of 1,000", spoken(page)))
    assert int(right[1]) < 450, f"right in {right[1]} with equal weights; who only guesses, in 412"
    page.find("ask_other").click()
    other = asked.seen()["words"]
    assert other[::2] == "Dan Anna Ben Cleo Ben".split() and len({*other[1::2]}) == 4
    asked.arc(5).send_keys(Keys.END)
    asked.arc(3).send_keys(Keys.ARROW_UP)
    asked.says((5, 7), (3, 1), factor=0)
    assert "equal" in page.find("ask_told").text
    page.visit(f"#{page.link}")
    asked.says((5, 7), (3, 1), factor=0)
    page.one("[data-attend=learnt]").click()
    assert asked.says() == other[other.index(other[-1]) + 1]


def test_ask_lets_a_pet_look_at_another_name(page):
    """By mouse and keys, at names before it; the first pet has no other, and what is said is computed."""
    page.visit()
    asked, first = Asked(page), "block_1/attention"
    page.drag(page.find("ask_key"), asked.word(6))  # A later name; the nearest one is its own.
    assert asked.says() == "cat"
    assert asked.seen()["owned"] == [[5, 4]], "the blue line goes from cat to Ben"
    page.drag(page.find("ask_key"), asked.word(2))
    said = asked.says((first, 5, 4, 2))
    assert asked.seen()["owned"] == [[5, 2]], "the blue line goes where it was dragged, to Anna"
    assert said != "cat" and {said, "cat", "Anna"} <= {*re.findall(r"\w+", spoken(page))}
    page.visit(f"#{page.link}")
    assert asked.says((first, 5, 4, 2)) == said
    page.find("ask_key").send_keys(Keys.ARROW_LEFT)
    asked.says((first, 5, 4, 0))
    page.press(Keys.END)
    assert asked.says() == "cat"
    page.one('#ask_names [data-ask="Dan"]').click()
    assert asked.says() == "hen" and not page.find("ask_key").is_displayed()


def test_ask_on_a_phone_by_finger(page):
    """Words below each other, all that one takes hold of on the first screen, which does not scroll."""
    page.screen(390)
    page.visit("#ask")
    asked = Asked(page)
    for part in ("#ask_words", "[data-answer]", "#ask_names"):
        assert page.one(part).rect["y"] + page.one(part).rect["height"] < 844, f"{part} is below the screen"
    page.swipe(asked.arc(5), (0, -40), page.way(asked.arc(5), asked.word(1)))
    assert asked.says((5, 1)) == "hen" and page.js("return scrollY") == 0, "the finger drags, or it scrolls"
    page.one("[data-attend=learnt]").click()
    page.js("scrollTo(0, 0)")
    page.swipe(page.find("ask_key"), (0, -40), page.way(page.find("ask_key"), asked.word(2)))
    asked.says(("block_1/attention", 5, 4, 2))


def test_ask_shows_any_transformer(page, tmp_path):
    """A file of another size, dropped onto the view; the whole model opens with the same text."""
    path = tmp_path / "mine.npz"
    browser.save_random(path, "transformer", {"pairs": 2, "hidden": 24, "layers": 3, "heads": 3})
    page.visit("#ask")
    page.drop(path)
    page.wait(lambda: len(page.all("#ask_words > *")) == 5)
    assert "mine.npz" in page.find("ask_whose").text and page.link == "ask=own_1"
    asked = Asked(page, path)
    asked.says()
    text = asked.seen()["words"]
    page.find("ask_own").click()
    page.wait(lambda: page.seen()["shown"] == "model")
    assert "model=own_1" in page.link and page.seen()["letters"].split() == text


ROW = f"""{LOOK}
    const box = document.querySelector(arguments[0]);
    const lines = all(box, "tr").filter((line) => line.querySelector(".track"));
    const part = (query) => all(box, query).map((one) =>
        (one.offsetHeight > 4 ? one.offsetWidth / one.parentNode.offsetWidth : 0));
    const seen = (query) => all(box, query).map(textOf);
    const figures = (line) => all(line, ".figure").filter(isSeen).map((cell) => numberOf(textOf(cell)));
    const strip = all(box, ".result svg").map((svg) => {{
        svg.scrollIntoView({{ block: "center" }});
        const {{ x, y, width, height }} = svg.getBoundingClientRect();
        const numbers = svg.ariaLabel.split(": ").pop().split(" ").map(numberOf);
        const shade = (index, down) => Number(document.elementFromPoint(
            x + width * (index + 0.5) / numbers.length, y + down * height).getAttribute("opacity"));
        return [numbers, numbers.map((_, index) => shade(index, 0.25) - shade(index, 0.75))];
    }});
    return {{
        figures: lines.map(figures), weights: seen("span.amount").map(numberOf), bars: part("div.amount"),
        shares: part(".segment"), pets: seen(".chip"), mean: seen(".result .number"),
        total: seen(".total .exp")[0], strip: strip[0], told: seen(".told")[0],
    }};
"""


def check_row(page, scores, scale, factor=1, box="#row_steps"):
    """Check what one sees beside each key: q · k, scaled, turned by a slider, exp, the weight, its bars."""
    row, exp = page.js(ROW, box), np.exp(factor * scores)
    turned = [factor * scores] if factor != 1 else []
    figures = [scale * scores, scores, *turned, exp] if box == "#row_steps" else np.empty((0, len(scores)))
    np.testing.assert_allclose(np.transpose(row["figures"]), figures, rtol=5e-3, atol=5.1e-3, err_msg=box)
    if box == "#row_steps":
        told = float(row["total"].replace("sum ", ""))
        assert told == pytest.approx(exp.sum(), rel=5e-3), f"the sum of exp is {exp.sum()}, one reads {told}"
    for kind in ("weights", "bars", "shares"):
        browser.same(row[kind], exp / exp.sum(), f"{kind} that one sees", 0.011)
    if row["strip"]:
        numbers, shades = map(np.array, row["strip"])
        wrong = f"above 0 is in the upper half, stronger is farther from 0: {numbers} is drawn as {shades}"
        assert np.corrcoef(numbers, np.sign(shades) * shades**2)[0, 1] > 0.98, wrong
    return exp / exp.sum()


BOXES = f"""{LOOK}
    const box = (kind) => document.querySelector(`#row_steps .${{kind}} .number:not(.zero)`);
    return ["query", "key"].map((kind) => rgb(styleOf(box(kind)).backgroundColor));
"""
TOLD = ["Ben’s pet?", "Compare", "Scale", "Softmax, first", "Softmax, second", "Average"]


def test_row_shows_an_example_step_by_step(page):
    """Four names as keys, four pets as values; one goes on, back, plays, pauses, and asks for another."""
    page.media()  # With less motion, it is finished at once.
    page.visit("#row")
    for name, step in (("", 0), ("next", 1), ("next", 2), ("back", 1), ("softmax", 4)):
        if name:
            click(page, name)
        page.still()
        row = page.js(ROW, "#row_steps")
        assert row["told"].startswith(TOLD[step]), f"after {name}, one reads: {row['told']}"
        columns = [len(line) for line in row["figures"]]
        assert columns == [min(step, 3)] * 4, f"figures beside the keys after {name}: {row['figures']}"
    query, key = page.js(BOXES)
    assert query[0] > query[2] and key[2] > key[0], f"the query is yellow, keys are blue, not {query}, {key}"
    click(page, "compare")
    click(page, "play")
    page.wait(lambda: page.text("#row_steps .told").startswith("Scale"))
    assert page.text("[data-step=play]") == "Pause", "the name of the button, while it plays"
    click(page, "play")
    time.sleep(3)  # Longer than a step takes.
    assert page.text("#row_steps .told").startswith("Scale"), "paused at Scale, it has gone on"
    click(page, "play")
    page.wait(lambda: page.text("#row_steps .told").startswith("Average"))
    for owner, strength in enumerate((2.8, 6, 0, 8)):
        page.all("#row_names button")[owner].click()
        page.turn({"row_strength": strength})
        page.still()
        weights, row = check_row(page, strength * np.eye(4)[owner] / 2, 2), page.js(ROW, "#row_steps")
        numbers, pets = zip(*(one.split() for one in row["mean"]), strict=True)
        browser.same(np.array(numbers, float), weights, f"the mean, {row['mean']}")
        assert row["pets"] == [*pets] == ["dog", "cat", "owl", "hen"], f"values {row['pets']}, mean {pets}"
        assert page.text("#row_strong") == str(strength), "the size of the query"


def test_row_shows_what_was_asked_by_hand_and_in_the_transformer(page):
    page.visit("#ask&letters=Cleo+hen+Anna+owl+Dan+hen+Ben+cat+Anna")
    page.find("ask_step").send_keys(Keys.ENTER)
    page.wait(lambda: page.js(ROW, "#row_steps")["pets"] == ["hen", "owl", "hen", "cat"])
    row = page.js(ROW, "#row_steps")
    assert int(np.argmax(row["weights"])) == 1
    assert row["mean"] == [".28 hen", ".57 owl", ".14 cat"], "two hens are one value"
    page.one("#row_other a").click()
    page.wait(lambda: "row=transformer&letters=Cleo" in page.link)
    weights = page.js(ROW, "#row_steps")["weights"]
    assert int(np.argmax(weights)) == 3 and weights[3] > 0.9


@pytest.mark.parametrize("factor", [1, 0, 1.5])
def test_row_of_a_model_is_the_formula(page, factor):
    """From the query and the keys of 64 numbers to their mean; by address, by the menu, and back."""
    reference = browser.Reference(CHECKPOINTS["counting"])
    keys, queries = reference.embed(np.eye(4))[[1, 3, 0, 2, 1]], reference.arrays["query"][0]
    page.visit(f"#row=counting&letters=AC+BA&cell=attention,0,1,3&attention={factor}")
    for row in (1, 2):
        page.choose(f'["attention",0,{row}]', "row_which")
        weights = check_row(page, keys @ queries[row] / 8, 8, factor)
        numbers, _ = page.js(ROW, "#row_steps")["strip"]
        np.testing.assert_allclose(numbers, weights @ keys, rtol=1e-3, atol=1e-4)
        assert f"cell=attention,0,{row}," in page.link
    page.find("row_all").click()
    page.wait(lambda: page.seen()["shown"] == "model")
    assert page.value("letters") == "AC␣BA" and page.value("attention") == str(factor)
    page.go("row")
    page.choose("difference_self_att", "row_model")
    assert "cell=self_attention,0,3," in page.link


def answers(page):
    """Return the three answers of each of the three models, with verdicts; "?" where they are hidden."""
    return [[cell.text for cell in page.all(f"#lineup_{model} td.answer")] for model in range(3)]


def are_judged(page, text):
    """Check each answer's verdict."""
    for model in answers(page):
        for letter, verdict in zip("ABC", model, strict=True):
            said, *instead = re.findall(r"\d+", verdict)
            right = str(text.count(letter))
            judged = (["✓"], []) if said == right else (["✗"], [right])
            assert (re.findall("[✓✗]", verdict), instead) == judged, f"{right} {letter}: {verdict}"


def check_right(page):
    """Check how many of 1,000 sequences each model gets right, as soon as all are told."""
    page.wait(lambda: page.find("moral").is_displayed())
    equal, learnt, fixed = (thousandths(page.text(f"#reveal_{model} p")) for model in range(3))
    assert equal > 850 and learnt > 900 and fixed < 850, f"one reads {equal}, {learnt}, {fixed} of 1,000"
    heard = spoken(page)
    assert {str(equal), str(learnt), str(fixed)} <= {*re.findall(r"\d+", heard)} and "heatmap" in heard, heard


def test_vote_alone(page):
    """One sees no answer before; then answers, how many are right, and the model that was chosen."""
    hidden = [["?"] * 3] * 3
    page.visit("#vote")
    page.type("aaaa bbbbb", "vote_letters")
    assert page.value("vote_letters") == "AAAA␣BBBBB" and answers(page) == hidden, "answers before the vote"
    for row, name in enumerate(("counting_equal", "counting", "counting_fixed")):
        _, weights = browser.Reference(CHECKPOINTS[name])("AAAA BBBBB", {"attention": int(row > 0)})
        shown = [float(cell.text) for cell in page.all(f"#lineup_{row} td.cell")]
        check_weights([np.reshape(shown, (3, 10))], weights["attention"], f"Model {row + 1}")
    page.find("vote_2").send_keys(Keys.ENTER)
    are_judged(page, "AAAA BBBBB")
    check_right(page)
    mine = [page.find(f"vote_{model}").is_displayed() for model in range(3)]
    assert mine == [False, False, True], f"which is lit as one's vote, and Model 3 is: {mine}"
    page.type("abx", "vote_letters")
    assert "X" in page.seen()["message"]
    page.find("vote_usual").click()
    are_judged(page, " BC CBBAA ")
    page.one("#reveal_2 a").click()
    page.wait(lambda: page.seen()["shown"] == "model")
    assert "model=counting_fixed" in page.link
    page.go("vote")
    page.find("again").click()
    assert answers(page) == hidden and not page.find("moral").is_displayed()


def test_vote_in_class(page):
    """Boxes that outlive a reload, answers from the start, a button that shows; a new vote asks first."""
    page.visit("#vote=class")
    page.type("aaaa bbbbb", "vote_letters")
    assert answers(page)[1][:2] == ["4", "5"]
    for _ in range(2):
        page.find("vote_2").click()
    page.find("votes_0").send_keys(Keys.BACKSPACE, "17")
    page.driver.refresh()
    assert [page.value(f"votes_{model}") for model in range(3)] == ["17", "0", "2"]
    assert not page.find("moral").is_displayed() and "✓" not in str(answers(page))
    page.find("show").click()
    check_right(page)
    page.find("again").click()
    page.find("again_no").click()
    assert page.value("votes_0") == "17" and page.find("moral").is_displayed()
    page.find("again").click()
    page.find("again_yes").click()
    assert page.value("votes_0") == "0" and not page.find("moral").is_displayed()


def weights(page, row=0):
    """Return a row of the weights of the attention in sight."""
    return page.seen()["weights"]["attention"][0][row]


def test_models_reads_letters_and_words(page):
    """Those that do not fit are refused in one line, and what was shown stays."""
    page.visit("#model=counting")
    page.type("a b")
    assert page.value("letters") == "A␣B"
    shown = page.seen()["weights"]
    page.find("letters").send_keys("X")
    assert "X" in page.seen()["message"] and page.seen()["weights"] == shown
    wrong = [("counting", "", ""), ("signal", 12 * "A", "11"), ("signal", "A B", "␣")]
    wrong += [("transformer", "Anna annx", "annx"), ("transformer", 8 * "Ben cat ", "15")]
    for model, text, named in wrong:
        page.choose(model)
        page.type(text)
        message = page.seen()["message"]
        assert message and named in message, f"no word on what is wrong with {text!r}, but {message!r}"
    page.find("letters").send_keys(Keys.CONTROL, "a", Keys.NULL, "anna DOG ben cat ann")
    assert page.seen()["message"] == "", "a name is refused while one types it"
    page.choose("counting")
    page.find("random").click()
    random = page.value("letters")
    page.find("random").click()
    assert re.fullmatch("[ABC␣]{10}", random) and page.value("letters") != random
    page.find("usual").click()
    assert page.value("letters") == "␣BC␣CBBAA␣" and page.seen()["answers"] == ["2", "3", "2"]


def test_models_moves_weight_by_mouse_and_by_keys(page):
    """A row keeps its sum; from 'A' to 'A' nothing changes, from 'A' to 'B' the answer falls."""
    page.visit("#model=counting")
    reference = browser.Reference(CHECKPOINTS["counting"])

    def agrees(*moves):
        reference.moves = [("attention", *move) for move in moves]
        chances, expected = reference(" BC CBBAA ")
        seen = page.seen()
        check_weights(seen["weights"]["attention"], expected["attention"], "what was moved")
        browser.same(seen["chances"], chances.max(axis=-1), "how sure it says it is")
        return seen["answers"]

    usual, cell = agrees(), page.cell
    page.drag(cell("attention", 0, 7), cell("attention", 0, 8))
    assert agrees((0, 7, 8)) == usual
    page.find("put_back").click()
    page.drag(cell("attention", 0, 7), cell("attention", 0, 1))
    assert agrees((0, 7, 1)) == ["1", *usual[1:]]
    page.drag(cell("attention", 1, 2), cell("attention", 0, 1))  # To another row, whose sum would change.
    agrees((0, 7, 1))
    cell("attention", 0, 8).click()
    page.press(Keys.ENTER, *[Keys.ARROW_LEFT] * 2, Keys.SPACE)
    agrees((0, 7, 1), (0, 8, 6))
    page.press(Keys.ENTER, Keys.ESCAPE, Keys.ARROW_LEFT, Keys.ENTER, Keys.ENTER)
    agrees((0, 7, 1), (0, 8, 6))
    page.find("put_back").send_keys(Keys.ENTER)
    assert agrees() == usual and page.active.tag_name == "td"
    page.choose("transformer")
    words = page.seen()
    page.drag(cell("block_1/attention", 3, 1), cell("block_1/attention", 3, 6))
    assert page.seen() == words, "weight was moved to a later word, which can't have any"
    page.drag(cell("block_1/attention", 3, 1), cell("block_1/attention", 3, 0))
    reference = browser.Reference(CHECKPOINTS["transformer"])
    reference.moves = [("block_1/attention", 3, 1, 0)]
    _, expected = reference(words["letters"].split())
    for name, heads in page.seen()["weights"].items():  # All heads of the layer.
        check_weights(heads, expected[name], name)


def test_models_on_a_phone_by_finger(page):
    """Along a row it moves weight, up and down it scrolls; a tap shows the row, on a sheet."""
    page.visit("#model=counting")
    page.screen(390)
    cell = page.cell("attention", 0, 7)
    usual = page.seen()
    page.swipe(cell, (-20, 0), page.way(cell, page.cell("attention", 0, 1)))
    page.wait(lambda: weights(page)[7] == 0)
    assert weights(page)[1] > usual["weights"]["attention"][0][0][1], "no weight came along"
    page.find("put_back").click()
    top = "window.scrollTo(0, 0); arguments[0].scrollIntoView({ block: 'center' }); return scrollY"
    before = page.js(top, cell)
    page.swipe(cell, (0, -40), (0, -80), (0, -150))
    page.wait(lambda: page.js("return scrollY") > before + 20)
    assert page.seen() == usual, "what should scroll has moved weight"
    page.js(top, cell)
    cell.click()
    sheet = page.find("cell")
    page.wait(lambda: abs(page.js("return arguments[0].getBoundingClientRect().bottom", sheet) - 844) < 1)
    page.one("#cell_move button").click()
    page.cell("attention", 0, 1).click()
    assert not sheet.is_displayed() and page.seen()["answers"] == ["1", "3", "2"]


POSITIONS = """
    const parts = document.querySelectorAll("#stage input, #first table, #answers");
    return [...parts].map((part) => part.getBoundingClientRect().top + scrollY);
"""


def test_models_has_a_slider_by_mouse_and_by_keys(page):
    """The number of right answers follows, and nothing jumps under the hand, nor where a cell is chosen."""
    page.visit("#model=counting")
    before, places = page.accuracy(), page.js(POSITIONS)
    slider = page.find("attention")
    (two,) = (mark for mark in page.all("#first .marks span") if mark.text == "2")
    drag = webdriver.ActionChains(page.driver, duration=0).click_and_hold(slider)  # In the middle: 1.5.
    to = two.rect["x"] + two.rect["width"] / 2 - slider.rect["x"] - slider.rect["width"] / 2
    drag.move_by_offset(int(to), 2).release().perform()
    assert page.value("attention") == "2", "dragged to the 2 below the slider"
    assert page.accuracy() < 100 < 900 < before, f"right at × 2: {page.accuracy()}, at × 1: {before}"
    slider.send_keys(Keys.ARROW_LEFT)
    assert page.value("attention") == page.find("attention factor").text == "1.9"
    page.cell("attention", 0, 1).click()
    assert abs(np.array(page.js(POSITIONS)) - places).max() < 2, "something jumped under the hand"
    back = page.find("attention back")
    assert back.text == "Back to × 1", f"the way back is called {back.text}"
    back.click()
    assert page.value("attention") == "1" and page.active == slider and page.accuracy() == before


def test_models_explains_a_cell(page):
    """Its row as One row shows it, which opens large; by arrow keys the next one, and Escape closes it."""
    reference = browser.Reference(CHECKPOINTS["counting"])
    keys, queries = reference.embed(np.eye(4))[[1, 3, 2, 2, 0, 1]], reference.arrays["query"][0]
    page.visit("#model=counting")
    page.type("ACBB A")
    page.cell("attention", 0, 0).click()
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    found = check_row(page, queries[1] @ keys.T / 8, 8, box="#cell")
    share = f"{found[1]:.2f}".removeprefix("0")  # As the page writes it.
    title = page.text("#cell_title")
    assert title == f"count of B gives C (letter 2) the weight {share}", f"the chosen cell is called: {title}"
    assert page.active.get_attribute("aria-label") == f"count of B, C: {share}"
    np.testing.assert_allclose(page.js(ROW, "#cell")["strip"][0], found @ keys, rtol=1e-3, atol=1e-4)
    page.find("cell_large").click()
    page.wait(lambda: page.seen()["shown"] == "row")
    assert page.link.endswith("cell=attention,0,1,1")
    page.find("row_all").click()
    page.wait(lambda: page.active == page.cell("attention", 1, 1))
    page.press(Keys.ESCAPE)
    assert not page.find("cell").is_displayed()


CURVES = f"""{LOOK}
    const across = (part, way) => {{
        const {{ x, y, width, height }} = part.getBoundingClientRect();
        return way === "x" ? x + width / 2 : y + height / 2;
    }};
    const labels = (query, way) => all(document, query).map((label) =>
        [across(label, way), Number(textOf(label).replace("step ", ""))]);
    const card = styleOf(document.getElementById("losses").closest("figure")).backgroundColor;
    const stands = (line) => isSeen(line) && apart(styleOf(line).stroke, card) > 99;
    const curves = all(document, "#losses polyline").filter(stands).map((line) => {{
        const points = [...line.points].map((point) => point.matrixTransform(line.getScreenCTM()));
        const dashed = styleOf(line).strokeDasharray !== "none";
        return [dashed ? "equal" : "learnt", points.map(({{ x, y }}) => [x, y])];
    }});
    const blind = document.querySelector("#chart .blind").getBoundingClientRect().top;
    return [labels("#chart .loss", "y"), labels("#chart .at", "x"), Object.fromEntries(curves), blind];
"""


def check_curves(page):
    """Check where the curves of the loss end, by their axes: solid is learnt, dashed is equal."""
    losses, steps, curves, blind = page.js(CURVES)
    chances = [math.comb(10, count) * 0.25**count * 0.75 ** (10 - count) for count in range(11)]
    guess = -np.dot(chances, np.log(chances))
    at = np.exp(np.interp(blind, *np.transpose([(place, np.log(label)) for place, label in losses])))
    assert at == pytest.approx(guess, rel=0.15), f"the best blind guess, {guess:.2f}, stands at {at:.2f}"
    told = dict(re.findall(r"(\w+) weights: loss ([\d.]+) at step 2000", page.find("losses").accessible_name))
    assert set(curves) == {"learnt", "equal"}, f"one sees the curves of {set(curves)} weights"
    for kind, points in curves.items():
        (x, y), first = points[-1], points[0][1]
        loss = np.exp(np.interp(y, *np.transpose([(place, np.log(label)) for place, label in losses])))
        step = np.interp(x, *np.transpose(steps))
        drawn = f"the curve of {kind} weights ends at a loss of {loss:.3f}, and the loss is {told[kind]}"
        assert loss == pytest.approx(float(told[kind]), rel=0.05) and y > first + 50, drawn
        assert step == pytest.approx(2000, abs=20), f"the curve of {kind} weights ends at step {step:.0f}"


def test_train_trains_both_kinds(page):
    """Learnt weights find their letters, equal ones stay equal and count; both become models."""
    page.visit("#train")
    assert page.js("return [STEPS, BATCH, RATE]") == [2000, 100, 0.01]  # As main.py, so that one can compare.
    page.js("Train.drawnAt = Infinity")  # Drawn at the end alone, it takes three quarters of the time.
    page.one("[data-guess]").click()
    page.wait(lambda: page.one("#stop[aria-disabled=true]").is_displayed())
    right = {}
    for kind, least in (("learnt", 900), ("equal", 850)):
        (row,) = (row for row in page.all("#runs tr") if f"{kind} weights" in row.text)
        right[kind] = thousandths(row.text)
        assert right[kind] >= least, f"{kind}: {row.text}"
        told = page.text(f"#right_{kind}")
        assert thousandths(told) == right[kind], f"{kind}, in the table {right[kind]}, above it: {told}"
    guessed = page.text("#progress")
    assert "You guessed it will. It does" in guessed and thousandths(guessed) == right["equal"], guessed
    check_curves(page)
    row.find_element("css selector", "a").click()
    page.wait(lambda: page.seen()["shown"] == "model")
    assert weights(page) == [0.1] * 10, "weights of a model that was trained with equal ones"
    assert page.value("attention") == "0" and page.accuracy() == right["equal"]
    page.choose("trained_1")
    for row, letter in enumerate("ABC"):
        own = np.array(list("␣BC␣CBBAA␣")) == letter
        found = np.array(weights(page, row))
        assert found[own].min() > found[~own].max(), f"{letter} doesn't attend to itself: {found}"


def test_train_stops_and_keeps_what_there_is(page):
    page.visit("#train")
    page.all("#guess button")[1].send_keys(Keys.ENTER)
    assert page.active == page.find("stop")
    page.wait(lambda: re.search(r"\d\d+ of", page.find("progress").text))
    page.press(Keys.ENTER)
    page.wait(lambda: len(page.all("#runs tr")) == 3)
    step = page.js("return Train.pair[1].training.step")
    told = page.all("#runs tr")[-1].text
    assert 0 < step < 2000 and str(step) in told, f"stopped at step {step}, and one reads {told}"
