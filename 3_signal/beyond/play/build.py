"""Join the sources of the page to play with into one file that opens by itself, ../play.html.

Each stylesheet and script that page.html names takes the place of its tag; the checkpoints, as base64, become
the text of the element with the id `checkpoints`.
"""

import base64
import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.with_name("play.html")


def build():
    """Return the page, a str of HTML."""

    def source(found):
        return (FOLDER / found[1]).read_text(encoding="utf-8")

    page = (FOLDER / "page.html").read_text(encoding="utf-8")
    style = '<link rel="stylesheet" href="(.*)">'
    page = re.sub(style, lambda found: f"<style>\n{source(found)}</style>", page)
    page = re.sub('<script src="(.*)">', lambda found: f"<script>\n{source(found)}", page)
    files = {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("checkpoints/*.npz"))}
    coded = {name: base64.b64encode(content).decode() for name, content in files.items()}
    return page.replace('id="checkpoints">', f'id="checkpoints">\n{json.dumps(coded, indent=0)}\n')


if __name__ == "__main__":
    PAGE.write_bytes(build().encode())
