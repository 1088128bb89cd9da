"""Join the sources of the page to play with into one file that opens by itself, ../play.html.

Each stylesheet that page.html names takes the place of its tag. The script that it names is a module; it and
all that it imports, each after what it needs, become one classic script, because browsers import nothing
from a file. The checkpoints, as base64, become the text of the element with the id `checkpoints`.
"""

import base64
import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.with_name("play.html")
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(.*)";\n', re.MULTILINE)
NAME = re.compile(r"^(?:export )?(?:async )?(?:class|const|function\*?|let) ([\w$]+)", re.MULTILINE)


def source(name):
    """Return the text of a file; words.js is made of the names and pets of transformer.py."""
    if name != "words.js":
        return (FOLDER / name).read_text(encoding="utf-8")
    program = FOLDER.with_name("transformer.py").read_text(encoding="utf-8")
    words = re.findall(r'^((?:NAMES|PETS) = ".*")\.split\(\)$', program, re.MULTILINE)
    return "".join(f'export const {one}.split(" ");\n' for one in words)


def join(start):
    """Return the classic script of a module and of all that it imports."""
    scripts, homes = {}, {}

    def add(module, *importing):
        if module in importing:
            raise SystemExit(f"These import each other in a circle: {' '.join([*importing, module])}")
        if module in scripts:
            return
        text = source(module)
        for needed in IMPORT.findall(text):
            add(needed, *importing, module)
        for name in NAME.findall(text):
            if homes.setdefault(name, module) != module:
                raise SystemExit(f"{module} and {homes[name]} both have {name}")
        scripts[module] = re.sub("^export ", "", IMPORT.sub("", text), flags=re.MULTILINE)

    add(start)
    return '"use strict";\n\n' + "\n".join(scripts.values())


def build():
    """Return the page, a str of HTML."""
    page = source("page.html")
    style = '<link rel="stylesheet" href="(.*)">'
    page = re.sub(style, lambda found: f"<style>\n{source(found[1])}</style>", page)
    script = '<script type="module" src="(.*)">'
    page = re.sub(script, lambda found: f"<script>\n{join(found[1])}", page)
    files = {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("checkpoints/*.npz"))}
    coded = {name: base64.b64encode(content).decode() for name, content in files.items()}
    return page.replace('id="checkpoints">', f'id="checkpoints">\n{json.dumps(coded, indent=0)}\n')


if __name__ == "__main__":
    PAGE.write_bytes(build().encode())
