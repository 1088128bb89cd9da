"""The page to play with: addresses, letters and words, files, a phone, a page in another page."""

import base64
import io
import json
import re
import zipfile

import numpy as np
import program
from browser import PAGE
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

TOO_WIDE = """
    const parts = document.querySelectorAll("html, .box");
    return [...parts].map((part) => part.scrollWidth - part.clientWidth);
"""


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
    for name, shown in (("vote", "vote"), ("train", "train"), ("train=equal", "train"), ("", "ask")):
        page.visit(f"#{name}")
        assert page.seen()["shown"] == [shown]
    for view, shown in (("Train", "train"), ("Models", "playing"), ("Vote", "vote")):
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
    for keys, words in (
        ("X", "X is none of this model's letters, ␣ A B C"),
        (Keys.HOME + "?", "? is none"),
        (Keys.HOME + "\u00a0", "U+00A0 is none"),
    ):
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
    for text, words in (("A" * 12, "At most 11"), ("A B", "␣ is none of this model's letters, A B C")):
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
    assert page.seen()["message"] == "" and "after Anna" in page.seen()["verdicts"][-1]
    page.find("random").click()
    assert len(page.seen()["letters"].split()) == 9 and "nobody" not in page.seen()["verdicts"][-1]


def rewritten(path, compress=False, **changes):
    """Return the bytes of a checkpoint with other arrays; None takes one out."""
    with np.load(path) as archive:
        arrays = {name: array for name, array in {**archive, **changes}.items() if array is not None}
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **arrays)
    return file.getvalue()


def described(path, settings=None, **changes):
    """Return the bytes of a checkpoint that tells other things of itself, or has other settings."""
    _, description = program.read(path)
    description = {**description, "settings": {**description["settings"], **(settings or {})}, **changes}
    return rewritten(path, description=json.dumps(description))


def test_a_file_that_does_not_fit_is_one_line_and_the_model_stays(trained, tmp_path, page):
    saved, transformer = (program.checkpoint(trained(name).savepath) for name in ("1", "transformer"))
    whole = saved.read_bytes()
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
        described(saved, task="<b>Chess"): ("<b>Chess",),
        described(saved, {"heads": 2}): (edited, "heads=2"),
        described(saved, {"vocab_size": 3.5}): (edited, "vocab_size=3.5"),
        described(transformer, {"heads": 0}): ("an edited transformer.py", "heads=0"),
        described(transformer, {"heads": 3}): ("an edited transformer.py", "3 heads"),
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
    page.screen(360, 740)
    for option in page.all("#model option"):
        if option.get_attribute("value") != "transformer":
            option.click()
            assert max(page.driver.execute_script(TOO_WIDE)) <= 0, option.text
    for view in ("#ask", "#row", "#train", "#vote"):
        page.visit(view)
        assert max(page.driver.execute_script(TOO_WIDE)) <= 0, view
    pictures = [page.find(f"lineup_{model}").rect for model in range(3)]  # To be compared, before one votes.
    assert len({picture["y"] for picture in pictures}) == 1
    assert pictures[0]["y"] + pictures[0]["height"] < 740
    assert page.driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_without_scripts_one_line_says_what_is_needed(page):
    page.command("Emulation.setScriptExecutionDisabled", value=True)
    page.visit()
    body = page.driver.find_element(By.TAG_NAME, "body").text
    assert body.startswith("This page needs a browser") and "JavaScript" in body and len(body) < 300


def test_inside_another_page_it_stays_itself(page):
    """A frame with srcdoc, as notebooks and editors show pages, has no address of its own."""
    page.driver.get("about:blank")
    page.driver.execute_script(
        "document.body.innerHTML = '<iframe style=\"width: 1200px; height: 800px\"></iframe>';"
        "document.querySelector('iframe').srcdoc = arguments[0];",
        PAGE.read_text(encoding="utf-8"),
    )
    page.driver.switch_to.frame(page.wait(lambda: page.all("iframe"))[0])
    page.wait(lambda: page.seen()["shown"] == ["ask"])
    for view, shown in (
        ("Models", "playing"),
        ("Train", "train"),
        ("Vote", "vote"),
        ("Models", "playing"),
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
    page.find("vote_0").click()
    page.wait(lambda: page.find("shown").text)
    copy = tmp_path / "copy.html"
    html = page.driver.execute_script("return document.documentElement.outerHTML")
    copy.write_text(f"<!DOCTYPE html>{html}", encoding="utf-8")
    page.driver.get(copy.as_uri() + "#vote")
    assert page.seen()["shown"] == ["vote"] and page.find("shown").text == ""
    assert page.is_on("vote_0") and not page.find("needs").is_displayed()
    page.driver.get(copy.as_uri() + "#model=counting")
    assert [option.text for option in page.all("#model option")] == options
    assert page.seen()["answers"] == ["2", "3", "2"]
