"""What was measured, one Markdown file for each lesson in results/, and how the pages look it up."""

import collections
import importlib.metadata
import os
import pathlib
import platform
import re

FOLDER = pathlib.Path(__file__).with_name("results")
PACKAGES = "tensorflow", "keras", "numpy"
NUMBER = r"[-−]?\d[\d.,]*(?:e-\d+)?%?"
RANGE = re.compile(rf"{NUMBER} \({NUMBER} to {NUMBER}\)")


def machine():
    """Return the processor and the versions, on which every figure depends, as a line of text."""
    information = pathlib.Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", information.read_text()) if information.exists() else []
    versions = [f"{package} {importlib.metadata.version(package)}" for package in PACKAGES]
    processor = f"{(names or [platform.processor()])[0]}, {os.cpu_count()} cores"
    return f"{processor}; Python {platform.python_version()}, {', '.join(versions)}"


def path(name):
    """Return the path of the results of a lesson, such as "lesson_1", or of "speed"."""
    return FOLDER / f"{name}.md"


def write(name, text):
    """Write the results of a lesson, its tables as Markdown."""
    FOLDER.mkdir(exist_ok=True)
    path(name).write_text(f"# What was measured: {name}\n\n{machine()}\n{text}", encoding="utf-8")


def tables(text):
    """Return the rows of all Markdown tables in a text, a list of (label, head above it, cell)."""
    rows = []
    for block in re.findall(r"(?:^ *\|.+\|\n)+", text + "\n", re.MULTILINE):
        head, *lines = ([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
                        for line in re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", block).splitlines())  # fmt: skip
        for cells in lines[1:]:
            label = "" if RANGE.search(cells[0]) else cells[0]
            start = 0 if RANGE.search(cells[0]) else 1
            rows += [(label, *pair) for pair in zip(head[start:], cells[start:], strict=True)]
    return rows


def runs(name, title, label):
    """Return the numbers of single training runs below a table of a lesson's results, a list of float."""
    _, _, section = path(name).read_text(encoding="utf-8").partition(f"\n### {title}\n")
    (line,) = re.findall(rf"^- {re.escape(label)}: (.+)$", section.partition("\n### ")[0], re.MULTILINE)
    return [float(number) for number in line.split()]


def ranges(text):
    """Return the ranges in a text, a list of str."""
    return RANGE.findall(" ".join(text.split()))


def differences(page, measured):
    """Return what a page, a str, says otherwise than the results, a str; a list of lines.

    A cell of a table must be that of the results' row with the same label, under the same head. If that row
    has no such head, its ranges must be in the row; where there is no such row, it must have none. Ranges in
    the text must be somewhere in the results. A column of another program's own figures is not looked up.
    Of a label with a colon, such as "G 1: equal weights", a page may say only what comes before or after it.
    """
    page, measured = (text.replace("−", "-") for text in (page, measured))
    rows, different = collections.defaultdict(list), []
    for label, head, cell in tables(measured):
        for name in {label, *label.split(": ")}:
            rows[name].append((head, cell))
    for label, head, cell in tables(page):
        same = [other for above, other in rows[label] if above == head]
        in_row = ranges(" ".join(other for _, other in rows[label]))
        wrong = cell not in same if same else not set(ranges(cell)) <= set(in_row)
        if wrong and "original" not in head:
            different.append(f"{label} | {head} | {cell}; measured: {', '.join(same or in_row)}")
    text = re.sub(r"^ *\|.+\|$", "", page, flags=re.MULTILINE)
    different += [f"{found} is not measured" for found in ranges(text) if found not in ranges(measured)]
    return different
