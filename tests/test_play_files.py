"""The page to play with opens what the programs save; it refuses what is none, and executes nothing."""

import io
import json
import re
import zipfile

import numpy as np
import program
from browser import CHECKPOINTS

SCRIPT = "<img src=x onerror='window.executed = true'>"


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
    page.type("AAB")
    saved, transformer = CHECKPOINTS["counting"], CHECKPOINTS["transformer"]
    whole, archive, compressed = saved.read_bytes(), io.BytesIO(), io.BytesIO()
    zipfile.ZipFile(archive, "w").writestr("letter.txt", "no model")
    np.savez_compressed(compressed, **np.load(saved))
    cases = {
        b"": "",
        b"A letter to nobody.": "",
        whole[: len(whole) // 2]: "",
        whole[:400] + bytes([whole[400] ^ 1]) + whole[401:]: "",
        whole.replace(b"PK\x01\x02", b"PK\x01\x03", 1): "",  # Where the list of files begins.
        archive.getvalue(): "",
        compressed.getvalue(): "compress",
        rewritten(saved, description=None): "",
        rewritten(saved, description=np.array({"task": "Signal"})): "",  # A pickle.
        described(saved, task=SCRIPT): SCRIPT,
        described(saved, {"heads": 2}): "heads=2",
        described(transformer, {"heads": 3}): "heads",
        rewritten(saved, value_layer=np.zeros((4, 64), np.float32)): "value_layer",
        rewritten(saved, query=None): "query",
        rewritten(saved, query=np.zeros((1, 3, 32), np.float32)): "1 × 3 × 64",
        rewritten(saved, query=np.full((1, 3, 64), np.nan, np.float32)): "query",
        rewritten(saved, query=np.zeros((1, 3, 64))): "float32",
    }
    before, path = page.seen(), tmp_path / "model.npz"
    for content, named in cases.items():
        path.write_bytes(content)
        page.type("AAB")
        assert page.seen() == before, "a file that was refused has changed what is shown"
        message = page.open(path)
        said = f"on {named or content[:20]}, it says {message!r}"
        assert re.fullmatch(f"model.npz: .*{re.escape(named)}.*", message), said
        assert page.seen() == before | {"message": message}
    assert page.js("return window.executed") is None, "what stood in a file was executed"


def test_what_a_training_saved_is_opened_and_its_address_asks_for_it_again(trained, page):
    """By drop and by choice; its address holds what one has done with it, and it stays on the computer."""
    path = program.checkpoint(trained("1").savepath)
    page.visit()
    page.drop(path)
    page.wait(lambda: page.seen()["shown"] == "model")
    (option,) = page.all("#models_menu [label=Yours] option")
    assert "mine.npz" in option.text and str(program.read(path)[1]["step"]) in option.text
    page.type("AAB")
    page.turn({"attention": 0.5})
    before = page.seen()
    assert "model=own_1" in page.link
    page.visit(f"#{page.link}")
    assert "drop it on the page again" in page.seen()["message"], "nothing asks for the file"
    page.open(path)
    page.wait(lambda: page.seen() == before)
