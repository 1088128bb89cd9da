"""Check that every "mean (least to most)" of the pages is in what the experiments have printed.

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
        found = ranges(page.read_text(encoding="utf-8"))
        print(f"{page.relative_to(edits.ROOT)}: {len(found)} ranges")
        missing += [
            f"{page.relative_to(edits.ROOT)}: {one} is not printed" for one in found if one not in printed
        ]
    print(*missing, sep="\n")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
