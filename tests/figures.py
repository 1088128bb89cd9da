"""Figures in the text of a page, compared with calculations however its sentences are worded."""

import re

import numpy as np
import program
from experiments import results
from scipy import sparse
from scipy.sparse import csgraph

# A number with a fraction, a percentage, and what stands before "and" or "to" and a percentage.
FIGURE = r"(?<![\w.,-])(?:-?\d*\.\d+|\d+(?=%|(?: and| to) \d+%))(?!\d)"


def text(task, name="README.md"):
    """Return a page with ASCII signs."""
    return program.script(task).with_name(name).read_text(encoding="utf-8").replace("−", "-")


def paragraphs(task, name="README.md"):
    """Return the paragraphs of a page, and rows of tables without ranges, a list of str with ASCII signs.

    Code, printed samples and the goals of links are left out.
    """
    page = text(task, name)
    page = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^ *\|.+\|$", page, flags=re.MULTILINE)
    page = re.sub(r"^ *\|.+\|$", "", page, flags=re.MULTILINE)
    page += "".join(f"\n\n{row}" for row in rows if "%" in row and not results.RANGE.search(row))
    page = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", page))
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n", page) if not each.startswith("    ")]


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


def is_part(shown, numbers):
    """Return whether each text in a list shows a number of its own, in any order."""
    numbers = list(numbers)
    for one in shown:
        found = [number for number in numbers if is_shown_as([one], [number])]
        if not found:
            return False
        numbers.remove(found[0])
    return True


def fits(paragraph, arrays):
    """Return whether the figures of a paragraph are numbers of these arrays, as `check` says."""
    arrays = [np.ravel(array) for array in arrays]
    figures = dict.fromkeys(re.findall(FIGURE, paragraph))
    vectors = [re.split(",? ", each) for each in re.findall(r"\((-?[\d.]+(?:,? -?[\d.]+)+)\)", paragraph)]
    lists = re.findall(r"(?<![\d.-])\.\d+(?:(?:,|,? and)? \.\d+)+(?!\d)", paragraph)
    quotients = re.findall(r"([\d.]+) / ([\d.]+) = (\.\d+)", paragraph)
    return (
        all(is_shown_as([last], [float(one) / float(other)]) for one, other, last in quotients)
        and all(any(is_part([one], array) for array in arrays) for one in figures)
        and all(any(is_part(re.findall(r"\.\d+", each), array) for array in arrays) for each in lists)
        and all(any(is_shown_as(each, array) for array in arrays) for each in vectors if "." in "".join(each))
    )


def check(page, *calculations):
    """Compare the numbers in paragraphs with those of calculations, however the sentences are worded.

    A calculation is a list of arrays. All figures of a paragraph must be numbers of one calculation, each
    list such as ".57 and .14" must be part of one of its arrays, and each vector with a fraction in it, such
    as (.14 .57), must be one of them. Each calculation has a paragraph of its own, at least.
    """
    page = [paragraph for paragraph in page if re.search(FIGURE, paragraph)]
    fitting = [[fits(paragraph, arrays) for arrays in calculations] for paragraph in page]
    for paragraph, fit in zip(page, fitting, strict=True):
        assert any(fit), paragraph
    own = csgraph.maximum_bipartite_matching(sparse.csr_array(fitting), perm_type="row")
    for arrays, paragraph in zip(calculations, own, strict=True):
        assert paragraph >= 0, f"no paragraph of its own shows this: {arrays}"
