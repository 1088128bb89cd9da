"""The page to play with keeps one state: letters, chosen cell, address, and what a phone shows of them."""

import numpy as np
import pytest
import test_play_files
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

CHOSEN = "const { id, head, row, column } = Models.chosen; return [id, head, row, column]"


def letters(page):
    return page.find("letters").get_attribute("value")


def test_what_is_typed_can_be_undone(page):
    """The page writes a blank as ␣ and small letters as capitals, and Ctrl+Z takes them back."""
    usual = letters(page)
    page.find("letters").send_keys(Keys.END, "a b")
    assert letters(page) == usual + "A␣B"
    for _ in range(3):
        page.find("letters").send_keys(Keys.CONTROL, "z", Keys.NULL)
    assert letters(page) == usual and page.seen()["answers"] == ["2", "3", "2"]


def test_an_address_changes_all_there_is_while_the_field_has_the_focus(page):
    page.find("letters").send_keys(Keys.END, "A")
    page.driver.execute_script("location.hash = '#model=counting&letters=CC&attention=0'")
    page.wait(lambda: letters(page) == "CC")
    np.testing.assert_allclose(page.seen()["weights"]["attention"], 0.5)


def test_the_chosen_cell_stays_with_its_question(page):
    """Another name is asked for: the cell is the brightest one of the last row, as before."""
    page.visit("#model=transformer")
    layer, head, row, column = page.driver.execute_script(CHOSEN)
    assert (row, column) == (8, 5)
    for _ in "Ben":
        page.find("letters").send_keys(Keys.BACKSPACE)
    for letter in "Cleo":
        page.find("letters").send_keys(letter)
    assert page.driver.execute_script(CHOSEN) == [layer, head, 8, 7]


def test_another_model_begins_with_its_usual_letters(page):
    page.type("AAAAB")
    page.choose("difference")
    assert letters(page) == "ABB␣CBACBC"
    page.type("AAAAABBBCC")
    page.choose("counting")
    assert letters(page) == "AAAAABBBCC"


@pytest.mark.parametrize(("model", "sign", "name"), [("counting", "\xa0", "U+00A0"), ("signal", " ", "␣"),
                                                     ("transformer", "\u200b", "U+200B")])  # fmt: skip
def test_a_sign_that_nobody_sees_has_a_name(page, model, sign, name):
    page.choose(model)
    page.type(f"Ben{sign} dog " if model == "transformer" else f"A{sign}")
    assert page.seen()["message"].startswith((name, f"Ben{name}"))


def test_vectors_of_zeros_are_drawn(trained, tmp_path, page):
    """Every number of the model is 0: nothing may be divided by how far the numbers go."""
    (path,) = trained("2 --self_att").savepath.glob("*.npz")
    with np.load(path) as arrays:
        zeros = {name: np.zeros_like(arrays[name]) for name in arrays.files if name != "description"}
    (tmp_path / "zeros.npz").write_bytes(test_play_files.rewritten(path, **zeros))
    page.driver.set_window_size(1280, 900)
    assert page.open(tmp_path / "zeros.npz") == ""
    for name in ("attention", "self_attention"):
        page.cell(name, 1, 2).click()
        weights = page.seen()["weights"][name][0][1]
        np.testing.assert_allclose(weights, 1 / len(weights))
        for stage in ("compare", "scale", "softmax", "average"):
            page.find("cell_row").find_element(By.CSS_SELECTOR, f"[data-step={stage}]").click()
            assert "NaN" not in page.find("stage").get_attribute("innerHTML")
    assert np.isfinite(page.seen()["chances"]).all()


def test_a_page_from_right_to_left_keeps_its_heatmaps(page):
    """As a browser turns it that translates the page."""
    page.driver.execute_script("document.documentElement.dir = 'rtl'")
    assert page.cell("attention", 0, 1).rect["x"] > page.cell("attention", 0, 0).rect["x"]
    page.cell("attention", 0, 0).click()
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert page.driver.execute_script(CHOSEN) == ["attention", 0, 0, 1]
    page.find("attention").send_keys(Keys.ARROW_RIGHT)
    assert page.find("attention").get_attribute("value") == "1.1"


def test_on_a_phone_the_row_of_a_tapped_cell_is_seen_at_once(page):
    """It comes from below, the cell stays in sight above it, and it goes again."""
    page.screen(390)
    box = "const { top, bottom } = arguments[0].getBoundingClientRect(); return [top, bottom]"
    for model, name, row, column in (
        ("counting", "attention", 2, 2),
        ("transformer", "block_2/attention", 8, 3),
    ):
        page.visit(f"#model={model}")
        assert not page.find("cell").is_displayed()
        cell = page.cell(name, row, column)
        page.driver.execute_script(
            "arguments[0].scrollIntoView({ block: 'end' }); arguments[0].click()", cell
        )
        page.wait(lambda: page.driver.execute_script(box, page.find("cell"))[1] == 844, 5)
        sheet, place = (page.driver.execute_script(box, one) for one in (page.find("cell"), cell))
        assert 0 < place[0] < place[1] <= sheet[0] < 600
        page.find("cell_close").click()
        assert not page.find("cell").is_displayed()


def test_on_a_phone_one_sees_what_a_moved_weight_does(page):
    """Two taps and a press, from 'A' to 'B': then the sheet is gone, and the answers are in sight."""
    page.screen(390, 667)
    page.cell("attention", 0, 7).click()
    page.button("Move this").click()
    page.cell("attention", 0, 1).click()
    assert not page.find("cell").is_displayed() and page.seen()["answers"] == ["1", "3", "2"]
    place = "const { top, bottom } = arguments[0].getBoundingClientRect(); return [top, bottom]"
    top, bottom = page.driver.execute_script(place, page.find("answers"))
    assert 0 <= top < bottom <= 667
