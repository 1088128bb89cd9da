"""Figures in the text of a page, compared with calculations however its sentences are worded."""

import re

import numpy as np
import program
from experiments import results
from scipy import sparse
from scipy.sparse import csgraph

# A number with a fraction, a percentage, and what stands before "and" or "to" and a percentage.
FIGURE = r"(?<![\w.,-])(?:-?\d*\.\d+|\d+(?=%|(?: and| to) \d+%))(?!\d)"


PAGES = [*program.ROOT.glob("*.md"), *program.ROOT.glob("[123]_*/**/*.md")]


def text(task, name="README.md"):
    """Return a page with ASCII signs."""
    return (program.script(task).parent / name).read_text(encoding="utf-8").replace("−", "-")


def paragraphs(task, name="README.md"):
    """Return the paragraphs of a page, and rows of tables without ranges, a list of str with ASCII signs.

    Code, printed samples, the goals of links and what is said of pictures are left out.
    """
    page = re.sub(r"<img .*?>", "", text(task, name))
    page = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^ *\|.+\|$", page, flags=re.MULTILINE)
    page = re.sub(r"^ *\|.+\|$", "", page, flags=re.MULTILINE)
    page += "".join(f"\n\n{row}" for row in rows if "%" in row and not results.RANGE.search(row))
    page = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", page))
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n", page) if not each.startswith("    ")]


def said_of_pictures():
    """Return what pages say of their pictures with figures in it, a list of (name of a picture, str)."""
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    found = re.findall(r'<img src="\S+/(\w+)\.\w+" alt="(.+?)"', pages.replace("−", "-"))
    return [(name, said) for name, said in found if re.search(FIGURE, said)]


def measured(name, label, head):
    """Return the median, the least and the most in a cell of the results of a lesson."""
    rows = results.tables(results.path(name).read_text(encoding="utf-8"))
    (cell, *_) = [cell for row, above, cell in rows if (row, above) == (label, head)]
    return [float(number) for number in re.findall(r"\d+\.?\d*", cell)]


def is_shown_as(shown, numbers):
    """Return whether each number, rounded, is the text that shows it."""
    if len(shown) != len(numbers):
        return False
    precision = [0.5001 * 10 ** -len(one.partition(".")[2]) for one in shown]
    return all(abs(float(one) - other) <= within for one, other, within in zip(shown, numbers, precision))


def are_in(shown, numbers):
    """Return whether each text shows one of these numbers."""
    return all(any(is_shown_as([one], [number]) for number in numbers) for one in shown)


def fits(paragraph, arrays):
    """Return whether the figures of a paragraph are numbers of these arrays, as `check` says."""
    arrays = [np.ravel(array) for array in arrays]
    lists = re.findall(r"(?<![\d.-])\.\d+(?:(?:,|,? and)? \.\d+)+(?!\d)", paragraph)
    shown = [[one] for one in re.findall(FIGURE, paragraph)] + [re.findall(r"\.\d+", each) for each in lists]
    vectors = [re.split(",? ", each) for each in re.findall(r"\((-?[\d.]+(?:,? -?[\d.]+)+)\)", paragraph)]
    return all(any(are_in(each, array) for array in arrays) for each in shown) and all(
        any(is_shown_as(each, array) for array in arrays) for each in vectors if "." in "".join(each)
    )


def check(page, *calculations):
    """Compare the numbers in paragraphs with those of calculations, however the sentences are worded.

    A calculation is a list of arrays. All figures of a paragraph must be numbers of one calculation, those
    of a list such as ".57 and .14" of one of its arrays, and each vector with a fraction in it, such as
    (.14 .57), must be such an array. Each calculation has a paragraph of its own, at least.
    """
    page = [paragraph for paragraph in page if re.search(FIGURE, paragraph)]
    fitting = [[fits(paragraph, arrays) for arrays in calculations] for paragraph in page]
    for paragraph, fit in zip(page, fitting, strict=True):
        assert any(fit), paragraph
    own = csgraph.maximum_bipartite_matching(sparse.csr_array(fitting), perm_type="row")
    for arrays, paragraph in zip(calculations, own, strict=True):
        assert paragraph >= 0, f"no paragraph of its own shows this: {arrays}"
