"""Check that every "median (least to most)" of the pages is in what the experiments have printed.

python -m tests.experiments > figures.md
python -m tests.experiments.ranges figures.md
"""

import pathlib
import re
import sys

from . import edits

NUMBER = r"[-−]?\d[\d.,]*(?:e-\d+)?%?"
RANGE = re.compile(rf"{NUMBER} \({NUMBER} to {NUMBER}\)")


def ranges(text):
    """Return the ranges in a text, a list of str without percent signs."""
    found = RANGE.findall(" ".join(text.split()))
    return [one.replace("%", "").replace("−", "-") for one in found]


def main():
    """Print how many there are on each page, and those that are missing; exit with 1 if any is."""
    printed = {one for path in sys.argv[1:] for one in ranges(pathlib.Path(path).read_text(encoding="utf-8"))}
    missing = []
    for page in sorted([*edits.ROOT.glob("*.md"), *edits.ROOT.glob("[123]_*/*.md")]):
        text, name = page.read_text(encoding="utf-8"), page.relative_to(edits.ROOT)
        if page.parent == edits.ROOT:  # Its last column is the original's own.
            text = re.sub(r"[^|\n]+\|$", "", text, flags=re.MULTILINE)
        found = ranges(text)
        print(f"{name}: {len(found)} ranges")
        missing += [f"{name}: {one} is not printed" for one in found if one not in printed]
    print(*missing or ["All are printed."], sep="\n")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
