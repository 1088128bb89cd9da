"""What a user does with the page to play with: votes, slides, moves weight, opens files, sends links."""

import base64
import io
import json
import re
import zipfile

import numpy as np
import program
import pytest
from browser import PAGE
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

NARROW = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
TOO_WIDE = """
    const parts = document.querySelectorAll("html, .box");
    return [...parts].map((part) => part.scrollWidth - part.clientWidth);
"""
PLACES = """
    const parts = document.querySelectorAll("input[type=range], #stage table, #cell, #answers");
    return [...parts].map((part) => part.getBoundingClientRect().top + scrollY);
"""
ALLOWED = "most new sequences right|how often they are right|learnt from examples"
END_OF_THE_COLOURS = "253, 231, 37"
GIVEAWAYS = r"equal|learnt|fixed|trained|right for|\d{3} of|should be|✓|✗|seed"


def contrasts(page):
    """Return the contrast of the number in each cell of the heatmaps, a ratio as in WCAG 2."""

    def luminance(colour):
        channels = np.array([float(number) / 255 for number in re.findall(r"[\d.]+", colour)[:3]])
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ (0.2126, 0.7152, 0.0722) + 0.05

    pairs = [
        [luminance(cell.value_of_css_property(name)) for name in ("color", "background-color")]
        for cell in page.all("#stage td.cell")
    ]
    return [max(pair) / min(pair) for pair in pairs]


def lineup(page):
    """Return the weights and the answers of the three models of the vote."""
    cells = [
        [float(cell.get_attribute("data-weight")) for cell in page.all(f"#lineup_{model} td.cell")]
        for model in range(3)
    ]
    answers = [
        [cell.get_attribute("data-answer") for cell in page.all(f"#lineup_{model} td.answer")]
        for model in range(3)
    ]
    return cells, answers


def test_the_vote_gives_nothing_away_before_show(page):
    """It is the first thing that one sees. Other letters, votes that stay; then names and scores."""
    page.visit()
    assert page.seen()["shown"] == ["vote"]
    cells, answers = lineup(page)
    assert answers == [["2", "3", "2"]] * 3 and len(cells[0]) == 30
    assert np.ptp(cells[0]) == 0 and 0.2 < max(cells[1]) < 0.3 and max(cells[2]) > 0.45
    page.type("aaaa bbbbb", "vote_letters")
    assert page.find("vote_letters").get_attribute("value") == "AAAA␣BBBBB"
    cells, answers = lineup(page)
    assert np.ptp(cells[0]) == 0 and answers[1][:2] == ["4", "5"]
    page.find("votes_0").send_keys(Keys.BACKSPACE, "17")
    for _ in range(2):
        page.button("Vote for Model 3").click()
    visible = page.driver.find_element(By.TAG_NAME, "body").text
    assert not re.search(GIVEAWAYS, re.sub(ALLOWED, "", visible)), visible
    page.driver.refresh()
    assert [page.find(f"votes_{model}").get_attribute("value") for model in range(3)] == ["17", "0", "2"]
    page.type("aaaa bbbbb", "vote_letters")
    page.button("Show").click()
    page.wait(lambda: "What does that tell you?" in page.find("shown").text)
    scores = [
        int(re.search(r"for (\d+) of 1,000", page.find(f"reveal_{model}").text)[1]) for model in range(3)
    ]
    assert scores[0] > 850 and scores[1] > 900 and scores[2] < 850
    assert "equal weights" in page.find("reveal_0").text and "✓ right" in page.find("lineup_1").text
    assert "should be" in page.find("lineup_2").text  # Four and five are hard to tell apart for it.
    page.button("Open Model 3").click()
    seen = page.seen()
    assert seen["shown"] == ["playing"] and seen["letters"] == "AAAA␣BBBBB"
    assert "model=counting_fixed" in page.driver.current_url
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["vote"])
    page.button("New vote").click()
    assert page.find("votes_0").get_attribute("value") == "0" and not page.find("shown").text


def test_weight_is_moved_by_hand(page):
    """From 'A' to 'A' nothing changes, from 'A' to 'B' the answer falls; a row keeps its sum."""
    page.accuracy()  # By now the ruler is measured.
    usual = page.seen()
    page.cell("attention", 0, 7).click()
    page.button("Move this .22 by hand").click()
    page.cell("attention", 0, 8).click()
    moved = page.seen()
    row = moved["weights"]["attention"][0][0]
    assert (
        row[7] == 0
        and row[8] == pytest.approx(2 * usual["weights"]["attention"][0][0][8])
        and sum(row) == pytest.approx(1)
    )
    np.testing.assert_allclose(moved["chances"], usual["chances"], atol=1e-9)
    page.button("Put all weight back").click()
    assert page.seen()["weights"] == usual["weights"]
    pointer = webdriver.ActionChains(page.driver)
    pointer.drag_and_drop(page.cell("attention", 0, 7), page.cell("attention", 0, 1)).perform()
    dragged = page.seen()
    row = dragged["weights"]["attention"][0]
    assert (
        row[0][7] == 0 and sum(row[0]) == pytest.approx(1) and row[1:] == usual["weights"]["attention"][0][1:]
    )
    assert int(dragged["answers"][0]) < 2 and dragged["answers"][1:] == ["3", "2"]
    page.turn({"attention": 2})
    assert page.seen()["weights"]["attention"][0][0][7] == 0
    page.find("random").click()
    page.find("usual").click()
    page.turn({"attention": 1})
    assert page.seen() == usual
    pointer.drag_and_drop(page.cell("attention", 0, 7), page.cell("attention", 1, 1)).perform()
    assert page.seen() == usual
    page.cell("attention", 0, 8).click()
    keys = (Keys.ENTER, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ENTER)
    for key in keys:
        page.driver.switch_to.active_element.send_keys(key)
    row = page.seen()["weights"]["attention"][0][0]
    assert row[8] == 0 and row[6] > 0.25 and page.seen()["answers"][0] == "1"
    page.driver.switch_to.active_element.send_keys(
        Keys.ENTER, Keys.ESCAPE, Keys.ARROW_LEFT, Keys.ENTER, Keys.ENTER
    )
    assert page.seen()["weights"]["attention"][0][0] == row
    for key in (
        Keys.ENTER,
        Keys.ARROW_DOWN,
        Keys.ARROW_LEFT,
        Keys.ENTER,
    ):  # Another row: its sum would not stay.
        page.driver.switch_to.active_element.send_keys(key)
    assert page.seen()["weights"]["attention"][0][0] == row


def test_the_keyboard_reaches_each_heatmap_and_never_loses_its_place(page):
    """One stop of the Tab key in each heatmap; buttons that are used up or redrawn keep the focus near."""

    def active():
        return page.driver.switch_to.active_element

    page.visit("#model=transformer")
    stops = "return [...document.querySelectorAll('#stage table')].map((table) => \
        table.querySelectorAll('td[tabindex=\"0\"]').length)"
    assert page.driver.execute_script(stops) == [1] * 8
    page.find("letters").send_keys(Keys.TAB)
    tables = []
    while len(tables) < 8:
        if active().tag_name == "td":
            tables.append(active().find_element(By.XPATH, "ancestor::table").get_attribute("id"))
            assert "chosen" in active().get_attribute("class").split()
        webdriver.ActionChains(page.driver).send_keys(Keys.TAB).perform()
        assert active().tag_name != "body"
    assert len(set(tables)) == 8
    page.visit("#model=counting")
    page.cell("attention", 0, 9).send_keys(Keys.ENTER)
    page.type("ABC")
    page.turn({"attention": 3})  # The weight that was taken went with its letters.
    assert page.accuracy() < 100 and "Now choose" not in page.find("cell").text
    page.cell("attention", 0, 0).send_keys(Keys.ENTER)
    page.button("Leave it").send_keys(Keys.ENTER)
    assert active() == page.cell("attention", 0, 0) and "stays" in page.find("announced").text
    page.visit()
    page.find("show").send_keys(Keys.ENTER)
    assert active() == page.find("show") and not page.is_on("show")
    page.wait(lambda: page.find("announced").text.count("of 1,000") == 3)
    page.button("Open Model 1").send_keys(Keys.ENTER)
    assert active() == page.find("model")


def test_the_slider_says_what_it_shows_and_where_it_stops(page):
    """The score follows, colours keep their end, the control is a click away, and nothing jumps."""
    page.find("usual").click()
    before, places = page.accuracy(), page.driver.execute_script(PLACES)
    colours = [cell.value_of_css_property("background-color") for cell in page.all("#stage td.cell")]
    assert not any(END_OF_THE_COLOURS in colour for colour in colours)  # There is room for brighter ones.
    colour = page.cell("attention", 0, 7).value_of_css_property("background-color")
    page.turn({"attention": 2})
    assert "old" in page.find("accuracy").get_attribute("class").split()
    assert page.accuracy() < 100 < 900 < before
    assert page.cell("attention", 0, 7).value_of_css_property("background-color") != colour
    page.turn({"attention": 3})
    assert min(contrasts(page)) >= 4.5
    brightest = max(page.all("#stage td.cell"), key=lambda cell: float(cell.get_attribute("data-weight")))
    assert END_OF_THE_COLOURS in brightest.value_of_css_property("background-color")
    text = page.find("attention shows").text
    assert "this model depends on" in text and "They do not show that the task needs" in text
    moved = np.array(page.driver.execute_script(PLACES)) - places
    assert abs(moved).max() < 2, moved
    page.button("Train one with equal weights").click()
    assert page.seen()["shown"] == ["train"]
    assert page.driver.find_element(By.CSS_SELECTOR, "[value=equal]").is_selected()
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["playing"])
    slider = page.find("attention")
    left = webdriver.ActionChains(page.driver).click_and_hold(slider)  # In the middle: 1.5.
    left.move_by_offset(int(slider.size["width"] * 0.155), 2).release().perform()  # A little before 2.
    assert slider.get_attribute("value") == "2"
    slider.send_keys(Keys.ARROW_LEFT)
    assert slider.get_attribute("value") == "1.95"
    page.button("Back to × 1").click()
    assert slider.get_attribute("value") == "1" and "met nothing but × 1" in page.find("attention shows").text


def test_accuracy_is_that_of_main(trained, page):
    (path,) = trained("2").savepath.glob(
        "*.npz"
    )  # Here the right sequences are fewer than the right output steps.
    page.open(path)
    printed = program.parse(program.output_of(2, "--test", "--savepath", path.parent, "--seed", 1))
    assert abs(page.accuracy() - 10 * printed["sequences"]) < 50  # Four standard deviations.
    page.type("ab bc")
    right = page.accuracy()
    assert "of length 5" in page.find("accuracy").text
    lengths = ("--test", "--savepath", path.parent, "--sample_len", 5)
    assert abs(right - 10 * program.parse(program.output_of(2, *lengths))["sequences"]) < 50
    cleared = """
        const menu = document.getElementById("model");
        menu.value = "counting";
        menu.dispatchEvent(new Event("change"));
        return document.getElementById("accuracy").textContent;
    """
    assert page.driver.execute_script(cleared) == ""  # What was measured is of another model.


def test_addresses_and_the_way_back(page):
    """A link of the class plan opens what it says; sliding and typing is no history; views are."""
    page.visit("#model=difference_self_att&letters=ab+c&self_attention=0")
    assert page.seen()["letters"] == "AB␣C" and page.find("self_attention").get_attribute("value") == "0"
    np.testing.assert_allclose(page.seen()["weights"]["self_attention"], 0.25)
    page.find("attention").send_keys(Keys.HOME)
    page.find("attention").send_keys(Keys.END)
    page.type("bb")
    page.wait(lambda: "letters=BB&self_attention=0&attention=3" in page.driver.current_url)
    link, sharp = page.driver.current_url.partition("#")[2], page.seen()
    page.driver.back()
    page.wait(lambda: page.driver.current_url == "about:blank")  # The page from which one came.
    page.visit(f"#{link}")
    assert page.seen() == sharp
    for name, shown in (("vote", "vote"), ("train", "train"), ("train=equal", "train"), ("", "vote")):
        page.visit(f"#{name}")
        assert page.seen()["shown"] == [shown]
    for view, shown in (("Train one", "train"), ("A model", "playing"), ("Vote", "vote")):
        page.driver.find_element(By.LINK_TEXT, view).click()
        assert page.seen()["shown"] == [shown]
    page.driver.back()
    page.wait(lambda: page.seen()["shown"] == ["playing"])
    for strange in (
        "#model=nobody",
        "#model=counting&head=1",
        "#model=counting&attention=7",
        "#model=signal&attention=x",
    ):
        page.visit(strange)
        assert "does not have" in page.seen()["message"] and page.seen()["weights"]["attention"]


def test_letters_words_and_models(page):
    """Random and usual ones; those that do not fit are refused in one line, and what was shown stays."""
    drawn = set()
    for _ in range(5):
        page.find("random").click()
        drawn.add(page.seen()["letters"])
    assert len(drawn) == 5 and all(re.fullmatch("[␣ABC]{10}", letters) for letters in drawn)
    page.type("AB")
    before = page.seen()
    for keys, words in (("X", "X is none of this model's letters, ␣ A B C"), (Keys.HOME + "?", "? is none")):
        page.find("letters").send_keys(keys)
        after = page.seen()
        assert words in after["message"] and after["weights"] == before["weights"]
    page.type("")
    assert "at least one letter" in page.seen()["message"]
    page.type("B")
    assert page.seen()["message"] == "" and page.seen()["weights"]["attention"] == [[[1], [1], [1]]]
    page.choose("signal")
    chosen = page.driver.find_element(By.CSS_SELECTOR, "td.chosen")
    weights = page.seen()["weights"]["attention"][0][0]
    assert float(chosen.get_attribute("data-weight")) == max(weights) and len(weights) == 11
    for text, words in (("A" * 12, "At most 11"), ("A B", "none of this model's letters, A B C")):
        page.type(text)
        assert words in page.seen()["message"]
    page.choose("transformer")
    page.type("anna DOG ben cat ")
    assert page.seen()["letters"] == "anna DOG ben cat " and "nobody can know" in page.seen()["verdicts"][-1]
    page.find("letters").send_keys("ann")
    assert page.seen()["message"] == "" and page.seen()["letters"].endswith("ann")  # It is still being typed.
    page.find("letters").send_keys("x ")
    assert "annx is none of the words" in page.seen()["message"]
    page.find("letters").send_keys(Keys.BACKSPACE, Keys.BACKSPACE, "a")
    assert page.seen()["message"] == "" and "after Anna (4)" in page.seen()["verdicts"][-1]
    page.find("random").click()
    assert len(page.seen()["letters"].split()) == 9 and "nobody" not in page.seen()["verdicts"][-1]


def rewritten(path, compress=False, **changes):
    """Return the bytes of a checkpoint with other arrays; None takes one out."""
    with np.load(path) as archive:
        arrays = {name: array for name, array in {**archive, **changes}.items() if array is not None}
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **arrays)
    return file.getvalue()


def test_a_file_that_does_not_fit_is_one_line_and_the_model_stays(trained, tmp_path, page):
    (saved,) = trained("1").savepath.glob("*.npz")
    whole = saved.read_bytes()
    with np.load(saved) as archive:
        description = json.loads(archive["description"].item())
    other = json.dumps(description | {"settings": description["settings"] | {"heads": 2}})
    archive = io.BytesIO()
    zipfile.ZipFile(archive, "w").writestr("letter.txt", "no model")
    edited = "a model of an edited main.py"
    cases = {
        b"": ("no ZIP archive",),
        b"A letter to nobody.": ("no ZIP archive",),
        whole[: len(whole) // 2]: ("no ZIP archive",),
        whole[:400] + bytes([whole[400] ^ 1]) + whole[401:]: ("damaged",),
        whole.replace(b"PK\x01\x02", b"PK\x01\x03", 1): ("damaged",),  # Where the list of files begins.
        rewritten(saved, compress=True): ("compressed",),
        archive.getvalue(): ("no checkpoint",),
        rewritten(saved, description=None): ("no checkpoint",),
        rewritten(saved, description=json.dumps(description | {"task": "<b>Chess"})): ("<b>Chess",),
        rewritten(saved, description=other): (edited, "heads=2"),
        rewritten(saved, value_layer=np.zeros((4, 64), np.float32)): (edited, "value_layer"),
        rewritten(saved, query=None): (edited, "query is missing"),
        rewritten(saved, query=np.zeros((1, 3, 32), np.float32)): (edited, "1 × 3 × 64"),
        rewritten(saved, query=np.full((1, 3, 64), np.nan, np.float32)): ("missing or infinite",),
        rewritten(saved, query=np.zeros((1, 3, 64))): ("float32",),
    }
    before, path = page.seen(), tmp_path / "model.npz"
    for content, words in cases.items():
        path.write_bytes(content)
        message = page.open(path)
        assert message.startswith("model.npz: ") and "\n" not in message
        assert all(word in message for word in words), message
        assert page.seen() == before | {"message": message}
        page.type("A")
        assert page.seen()["message"] == "" and page.seen()["weights"] != before["weights"]
        page.find("usual").click()


DROP = """
    const bytes = Uint8Array.from(atob(arguments[0]), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], "mine.npz"));
    document.querySelector("footer").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
"""


def test_a_file_is_dropped_and_its_address_asks_for_it_again(trained, page):
    (path,) = trained("1").savepath.glob("*.npz")
    page.visit()
    page.driver.execute_script(DROP, base64.b64encode(path.read_bytes()).decode())
    page.wait(lambda: page.seen()["shown"] == ["playing"])
    assert "mine.npz" in page.find("model").text and "own_1" in page.driver.current_url
    page.type("AAB")
    page.turn({"attention": 0.5})
    link, before = page.driver.current_url.partition("#")[2], page.seen()
    page.visit(f"#{link}")
    assert "Open that checkpoint.npz" in page.seen()["message"]
    page.find("checkpoint").send_keys(str(path))
    page.wait(lambda: page.seen()["weights"] == before["weights"])
    assert page.seen()["message"] == "" and page.seen()["letters"] == "AAB"


def test_a_phone_and_no_network(page):
    """360 pixels wide, no letter model needs scrolling sideways; and nothing is asked of any network."""
    text = PAGE.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//\w+\.\w|@import|\bsrc=", re.sub(r'"UEsD[^"]*"', "", text))
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", NARROW)
    for option in page.all("#model option"):
        if option.get_attribute("value") != "transformer":
            option.click()
            assert max(page.driver.execute_script(TOO_WIDE)) <= 0, option.text
    for view in ("#vote", "#train"):
        page.visit(view)
        assert max(page.driver.execute_script(TOO_WIDE)) <= 0, view
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_without_scripts_one_line_says_what_is_needed(page):
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.visit()
        body = page.driver.find_element(By.TAG_NAME, "body").text
        assert body.startswith("This page needs a browser") and "JavaScript" in body and len(body) < 300
    finally:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_inside_another_page_it_stays_itself(page):
    """A frame with srcdoc, as notebooks and editors show pages, has no address of its own."""
    page.driver.get("about:blank")
    page.driver.execute_script(
        "document.body.innerHTML = '<iframe style=\"width: 1200px; height: 800px\"></iframe>';"
        "document.querySelector('iframe').srcdoc = arguments[0];",
        PAGE.read_text(encoding="utf-8"),
    )
    page.driver.switch_to.frame(page.wait(lambda: page.all("iframe"))[0])
    page.wait(lambda: page.all("#lineup_0 td"))
    for view, shown in (
        ("A model", "playing"),
        ("Train one", "train"),
        ("Vote", "vote"),
        ("A model", "playing"),
    ):
        page.driver.find_element(By.LINK_TEXT, view).click()
        assert page.seen()["shown"] == [shown]
    page.turn({"attention": 2})
    assert page.seen()["answers"] == ["4", "5", "4"] and page.accuracy() < 100
    page.driver.switch_to.default_content()


def test_a_copy_that_a_browser_has_saved_is_the_page_again(page, tmp_path):
    """As Ctrl-S writes it: what was shown is in it."""
    options = [option.text for option in page.all("#model option")]
    page.visit("#vote")
    page.button("Show").click()
    page.wait(lambda: "What does that tell you?" in page.find("shown").text)
    copy = tmp_path / "copy.html"
    html = page.driver.execute_script("return document.documentElement.outerHTML")
    copy.write_text(f"<!DOCTYPE html>{html}", encoding="utf-8")
    page.driver.get(copy.as_uri())
    assert page.seen()["shown"] == ["vote"] and page.find("shown").text == ""
    assert page.is_on("show") and not page.find("needs").is_displayed()
    page.driver.get(copy.as_uri() + "#model=counting")
    assert [option.text for option in page.all("#model option")] == options
    assert page.seen()["answers"] == ["2", "3", "2"]
