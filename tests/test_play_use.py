"""What a user does with the page to play with: slides, types, opens files, sends links, on a phone, too."""

import io
import json
import re
import zipfile

import numpy as np
import program
from browser import PAGE
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui

TYPE_ON = """
    const [now, before] = [performance.now.bind(performance), location.hash];
    performance.now = () => {  // The page calls it when it has changed the address and is not yet told so.
        if (location.hash !== before) {
            performance.now = now;
            letters.value = "AB";
            letters.dispatchEvent(new Event("input"));
        }
        return now();
    };
"""
TOO_WIDE = """
    return [...document.querySelectorAll("html, section")].map((one) => one.scrollWidth - one.clientWidth);
"""


def test_accuracy_follows_the_slider_and_is_that_of_main(trained, page):
    savepath = trained("2").savepath  # Here the sequences that are right are fewer than the output steps.
    page.open(savepath / "checkpoint.npz")
    printed = program.parse(program.output_of(2, "--test", "--savepath", savepath, "--seed", 1))
    assert abs(page.accuracy()[0] - 10 * printed["sequences"]) < 50  # Four standard deviations.
    page.turn({"attention": 2})
    assert "old" in page.find("accuracy").get_attribute("class").split()
    assert page.accuracy()[0] < 200
    page.type("ab bc")
    assert page.accuracy()[1] == 5


def test_the_slider_by_keyboard_the_way_back_and_the_address(page):
    usual, slider = page.seen()["weights"], page.find("attention")
    slider.send_keys(Keys.HOME)
    np.testing.assert_allclose(page.seen()["weights"]["attention"], 0.1)
    page.wait(lambda: "attention=0" in page.driver.current_url)
    slider.send_keys(Keys.ARROW_RIGHT)
    assert slider.get_attribute("value") == "0.05"
    slider.send_keys(Keys.END)
    page.wait(lambda: "attention=3" in page.driver.current_url)
    sharp, link = page.seen(), page.driver.current_url.partition("#")[2]
    page.driver.back()
    page.driver.back()
    page.wait(lambda: page.seen()["weights"] == usual)
    slider.send_keys(Keys.PAGE_UP)
    page.driver.find_element(By.XPATH, "//button[contains(., 'Back to × 1')]").click()
    assert page.seen()["weights"] == usual
    page.accuracy()  # So the address is written.
    page.driver.execute_script(TYPE_ON)
    page.type("A")
    page.wait(lambda: "letters=AB" in page.driver.current_url)
    assert page.seen()["letters"] == "AB"
    page.visit(f"#{link}")  # Somebody got it by mail.
    assert page.seen() == sharp
    page.visit("#model=difference_self_att&letters=ab+c&self_attention=0")
    assert page.seen()["letters"] == "AB␣C"
    np.testing.assert_allclose(page.seen()["weights"]["self_attention"], 0.25)
    for strange in ("#model=nobody", "#attention=7", "#model=counting&head=1", "#attention=much"):
        page.visit(strange)
        assert "does not have" in page.seen()["message"] and page.seen()["weights"]["attention"]


def test_random_letters_and_letters_that_do_not_fit(page):
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
    assert page.seen()["message"] == "" and page.seen()["weights"]["attention"] == [[1], [1], [1]]
    ui.Select(page.find("model")).select_by_value("signal")
    for text, words in (("A" * 12, "At most 11"), ("A B", "none of this model's letters, A B C")):
        page.type(text)
        assert words in page.seen()["message"]


def rewritten(savepath, compress=False, **changes):
    """Return the bytes of a checkpoint with other arrays; None takes one out."""
    arrays, description = program.contents(savepath)
    arrays["description"] = json.dumps(description)
    arrays = {name: array for name, array in (arrays | changes).items() if array is not None}
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **arrays)
    return file.getvalue()


def test_a_file_that_does_not_fit_is_one_line_and_the_model_stays(trained, tmp_path, page):
    savepath = trained("1").savepath
    whole = (savepath / "checkpoint.npz").read_bytes()
    _, description = program.contents(savepath)
    other = json.dumps(description | {"settings": description["settings"] | {"heads": 2}})
    archive = io.BytesIO()
    zipfile.ZipFile(archive, "w").writestr("letter.txt", "no model")
    cases = {
        b"": "no ZIP archive",
        b"A letter to nobody.": "no ZIP archive",
        whole[: len(whole) // 2]: "no ZIP archive",
        whole[:400] + bytes([whole[400] ^ 1]) + whole[401:]: "damaged",
        whole.replace(b"PK\x01\x02", b"PK\x01\x03", 1): "damaged",  # Where the list of files begins.
        rewritten(savepath, compress=True): "compressed",
        archive.getvalue(): "no checkpoint",
        rewritten(savepath, description=None): "no checkpoint",
        rewritten(savepath, description=json.dumps(description | {"task": "<b>Chess"})): "<b>Chess",
        rewritten(savepath, description=other): "heads=2",
        rewritten(savepath, value_layer=np.zeros((4, 64), np.float32)): "value_layer",
        rewritten(savepath, query=None): "query is missing",
        rewritten(savepath, query=np.zeros((1, 3, 32), np.float32)): "1 × 3 × 64",
        rewritten(savepath, query=np.full((1, 3, 64), np.nan, np.float32)): "missing or infinite",
        rewritten(savepath, query=np.zeros((1, 3, 64))): "float32",
    }
    before, path = page.seen(), tmp_path / "model.npz"
    for content, words in cases.items():
        path.write_bytes(content)
        message = page.open(path)
        assert message.startswith("model.npz: ") and words in message and "\n" not in message
        assert page.seen() == before | {"message": message}
        page.type("A")
        assert page.seen()["message"] == "" and page.seen()["weights"] != before["weights"]
        page.type("␣BC␣CBBAA␣")


def test_a_phone_and_no_network(page):
    """360 pixels wide, no model needs scrolling sideways; and nothing is asked of any network."""
    text = PAGE.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//\w+\.\w|@import|\bsrc=", re.sub(r'"UEsD[^"]*"', "", text))
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    for option in page.find("model").find_elements(By.TAG_NAME, "option"):
        option.click()
        assert max(page.driver.execute_script(TOO_WIDE)) <= 0, option.text
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.driver.execute_script("return performance.getEntriesByType('resource').length") == 0
