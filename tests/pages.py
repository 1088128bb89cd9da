"""Render the project as a site, by pandoc: the front page and every file that a page links to."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The pages of the course in their order, and what the head of each page calls them.
COURSE = {
    "README.md": "attention-primer",
    "1_counting-letters/README.md": "1 Counting",
    "2_difference/README.md": "2 Difference",
    "3_signal/README.md": "3 Signal",
    "3_signal/beyond/transformer.md": "Transformer",
    "3_signal/beyond/did_it_need_to_choose.md": "Last chapter",
    "3_signal/beyond/play.html": "Play",
}
PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{home}pages.css">
<nav aria-label="Course">
{course}
</nav>
<main>
{text}</main>
<nav aria-label="Next">{following}{code}</nav>
</html>
"""


def on_site(link):
    """Return a link of the project as one of the site, where a folder's README.md is its index.html."""
    return link.replace("README.md", "index.html").replace(".md", ".html")


def link_to(name, here, text, attributes=""):
    """Return a link, HTML, to a page of the project from another, both paths from the project's folder."""
    goal = on_site(os.path.relpath(name, pathlib.PurePath(here).parent).replace(os.sep, "/"))
    return f'<a href="{goal}"{attributes}>{text}</a>'


def course_of(here):
    """Return the links at the head of a page, HTML: to the pages of the course, with this one marked."""
    marks = {here: ' aria-current="page"'}
    return "\n".join(link_to(name, here, text, marks.get(name, "")) for name, text in COURSE.items())


def following(here):
    """Return the link at the foot of a page: to the next page of the course, or back to the lesson."""
    if here in COURSE:
        name = list(COURSE)[list(COURSE).index(here) + 1]
        return link_to(name, here, f"Next: {COURSE[name]} →")
    lesson = str(pathlib.PurePosixPath(here).with_name("README.md"))
    name = lesson if lesson in COURSE else "README.md"
    return link_to(name, here, f"← Back to {COURSE[name]}")


def main():
    """Render the site into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where the site goes; it starts at index.html")
    parser.add_argument("--code", metavar="URL", help="the address of the project, for a link to it")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "tests" / "pages.css", arguments.folder)
    code = f' <a href="{arguments.code}">Code</a>' if arguments.code else ""
    files = [ROOT / name for name in COURSE]
    for path in files:  # The list grows, as each page adds what it links to.
        name = path.relative_to(ROOT)
        goal = arguments.folder / on_site(str(name))
        goal.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copy(path, goal)
            continue
        command = ["pandoc", "--from=gfm+tex_math_dollars", "--to=html", "--mathml", "--wrap=none", str(path)]
        text = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
        for link in re.findall(r'(?:href|src|srcset)="(?!\w+:)([^"#]+)', text):
            linked = (path.parent / link).resolve()
            if linked not in files:
                files.append(linked)
        text = re.sub(r'href="(?!\w+:)[^"]+"', lambda found: on_site(found[0]), text)
        page = PAGE.format(
            title=re.sub("<[^>]+>", "", re.search("<h1.*?</h1>", text)[0]),
            home="../" * (len(name.parts) - 1),
            course=course_of(name.as_posix()),
            text=text,
            following=following(name.as_posix()),
            code=code,
        )
        goal.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
