"""Render the project as a site, by pandoc: the front page and every file that a page links to."""

import argparse
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{home}pages.css">
<nav><a href="{home}index.html">attention-primer</a>{code}</nav>
<main>
{text}</main>
</html>
"""


def on_site(link):
    """Return a link of the project as one of the site, where a folder's README.md is its index.html."""
    return link.replace("README.md", "index.html").replace(".md", ".html")


def main():
    """Render the site into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where the site goes; it starts at index.html")
    parser.add_argument("--code", metavar="URL", help="the address of the project, for a link to it")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "tests" / "pages.css", arguments.folder)
    code = f' <a href="{arguments.code}">Code</a>' if arguments.code else ""
    files = [ROOT / "README.md"]
    for path in files:  # The list grows, as each page adds what it links to.
        name = path.relative_to(ROOT)
        goal = arguments.folder / on_site(str(name))
        goal.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copy(path, goal)
            continue
        command = ["pandoc", "--from=gfm", "--to=html", "--wrap=none", str(path)]
        text = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
        for link in re.findall(r'(?:href|src|srcset)="(?!\w+:)([^"#]+)', text):
            linked = (path.parent / link).resolve()
            if linked not in files:
                files.append(linked)
        text = re.sub(r'href="(?!\w+:)[^"]+"', lambda found: on_site(found[0]), text)
        title = re.sub("<[^>]+>", "", re.search("<h1.*?</h1>", text)[0])
        page = PAGE.format(title=title, home="../" * (len(name.parts) - 1), code=code, text=text)
        goal.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
