"""The page to play with opens checkpoints of one's own, and refuses what is none."""

import io
import json
import zipfile

import browser
import numpy as np
import program

# Nothing can be read of it.
OPEN_FOLDER = "openFile({ name: 'a folder', arrayBuffer: () => Promise.reject(new Error()) })"


def rewritten(path, **changes):
    """Return the bytes of a checkpoint with other arrays; None takes one out."""
    with np.load(path) as archive:
        arrays = {name: array for name, array in {**archive, **changes}.items() if array is not None}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def described(path, settings=None, **changes):
    """Return the bytes of a checkpoint that tells other things of itself, or has other settings."""
    _, description = program.read(path)
    description = {**description, "settings": {**description["settings"], **(settings or {})}, **changes}
    return rewritten(path, description=json.dumps(description))


def test_a_file_that_does_not_fit_is_one_line_and_the_model_stays(tmp_path, page):
    """The line names the file, and of a model of an edited program what is strange about it."""
    page.visit("#model=counting")
    saved, transformer = browser.checkpoint("counting"), browser.checkpoint("transformer")
    whole, archive = saved.read_bytes(), io.BytesIO()
    zipfile.ZipFile(archive, "w").writestr("letter.txt", "no model")
    by_columns = np.zeros((64, 4), np.float32).T
    cases = {
        b"A letter to nobody.": "",
        whole[: len(whole) // 2]: "",
        whole[:400] + bytes([whole[400] ^ 1]) + whole[401:]: "",
        whole.replace(b"PK\x01\x02", b"PK\x01\x03", 1): "",  # Where the list of files begins.
        archive.getvalue(): "",
        rewritten(saved, description=None): "",
        described(saved, task="<b>Chess"): "<b>Chess",
        described(saved, {"heads": 2}): "heads=2",
        described(saved, {"vocab_size": 3.5}): "vocab_size=3.5",
        described(transformer, {"heads": 0}): "heads=0",
        described(transformer, {"heads": 3}): "heads",
        rewritten(saved, value_layer=np.zeros((4, 64), np.float32)): "value_layer",
        rewritten(saved, query=None): "query",
        rewritten(saved, query=np.zeros((1, 3, 32), np.float32)): "1 × 3 × 64",
        rewritten(saved, query=np.full((1, 3, 64), np.nan, np.float32)): "query",
        rewritten(saved, query=np.zeros((1, 3, 64))): "float32",
        rewritten(saved, **{"key_layer/kernel": by_columns}): "key_layer/kernel",
    }
    before, path = page.seen(), tmp_path / "model.npz"
    for content, named in cases.items():
        path.write_bytes(content)
        page.find("usual").click()
        assert page.seen() == before
        message = page.open(path)
        assert "model.npz" in message and "\n" not in message and named in message
        assert page.seen() == before | {"message": message}
    page.js(OPEN_FOLDER)
    page.wait(lambda: "folder" in page.seen()["message"])


def test_a_file_is_dropped_and_its_address_asks_for_it_again(trained, page):
    path = program.checkpoint(trained("1").savepath)
    page.visit()
    page.drop(path)
    page.wait(lambda: page.seen()["shown"] == ["playing"])
    assert "mine.npz" in page.find("model").text
    (option,) = page.all("#model [label=Yours] option")
    assert str(program.read(path)[1]["step"]) in option.text and "own_1" in page.link
    page.type("AAB")
    page.turn({"attention": 0.5})
    before = page.seen()
    page.visit(f"#{page.link}")
    assert page.seen()["message"]
    page.open(path)
    page.wait(lambda: page.seen() == before)
    page.js("window.scrollTo(0, 999)")  # There is the field for files.
    page.open(browser.checkpoint("difference"))
    assert len(page.seen()["answers"]) == 4 and "own_2" in page.link and page.js("return scrollY") == 0
    page.choose("own_1")
    page.type("AAB")
    page.turn({"attention": 0.5})
    assert page.seen() == before


def test_accuracy_is_that_of_main(trained, page):
    """Of Task 2, where the right sequences are fewer than the right output steps."""
    page.visit("#model=counting")
    path = program.checkpoint(trained("2").savepath)
    page.open(path)
    for length, text in ((10, ""), (5, "ab bc")):
        if text:
            page.type(text)
        right = page.accuracy()
        assert str(length) in page.find("accuracy").text
        flags = ("--test", "--savepath", path.parent, "--sample_len", length)
        printed = program.parse(program.output_of(2, *flags))
        assert abs(right - 10 * printed["sequences"]) < 50  # Four standard deviations.
