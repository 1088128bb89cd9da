"""The site that `pages.py` renders: what became of the pages, where links lead, and how it fits a phone."""

import functools
import html
import http.server
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

import program
import pytest

ROOT = program.ROOT
SOURCES = [ROOT / "README.md", *ROOT.glob("[123]_*/**/*.md"), *ROOT.glob("tests/*.md")]
ADDRESS = "https://example.org/project"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder with the rendered site."""
    if not shutil.which("pandoc"):
        pytest.skip("no pandoc: apt-get install pandoc")
    folder = tmp_path_factory.mktemp("site") / "folder"
    command = [sys.executable, ROOT / "tests" / "pages.py", folder, "--code", ADDRESS]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """Return a dict from the path of each rendered page to its text."""
    paths = [path for path in site.rglob("*.html") if path.name != "play.html"]
    return {path: path.read_text(encoding="utf-8") for path in paths}


def test_every_page_becomes_one_with_its_title_its_folds_and_no_markdown_left(site, pages):
    """A README.md becomes index.html; a fold without an empty line in it would show its Markdown as it is."""
    expected = {}
    for source in SOURCES:
        name = {"README.md": "index.html"}.get(source.name, f"{source.stem}.html")
        expected[site / source.relative_to(ROOT).with_name(name)] = source.read_text(encoding="utf-8")
    assert set(pages) == set(expected), "pages that are missing, or too many"
    for path, source in expected.items():
        title = re.search("<title>(.*)</title>", pages[path])[1]
        assert f"# {html.unescape(title)}" == source.splitlines()[0].replace("`", ""), f"{path}: {title}"
        assert pages[path].count("<details>") == source.count("<details>"), f"{path} lacks a fold"
        words = re.sub(r"<[^>]+>", "", re.sub(r"(?s)<code.*?</code>", "", pages[path]))
        assert not re.findall(r"\*\*|\]\(|```|^#+ |\|-|\$", words, re.MULTILINE), f"{path} shows Markdown"


def test_every_link_leads_somewhere(site, pages):
    """To a file of the site and, after #, to a place on it. The foot of each page leads to the next one."""
    here, walked = site / "index.html", set()
    while here in pages and here not in walked:
        walked.add(here)
        here = (here.parent / re.search(r'<nav[^>]*Next[^>]*><a href="([^"]*)', pages[here])[1]).resolve()
    assert len(walked) == 6 and here.name == "play.html", f"Next leads from {walked} to {here}"
    for path, text in pages.items():
        followed = set()
        for link in re.findall(r'(?:href|src)="([^"]*)"', text):
            goal, place = urllib.parse.urldefrag(html.unescape(link))
            if not goal.startswith("https://"):
                file = (path.parent / goal).resolve() if goal else path
                assert file.is_file(), f"{path} leads to {goal}, which isn't there"
                there = file not in pages or not place or f' id="{place}"' in pages[file]
                assert there, f"{path} leads to {goal}#{place}, which isn't on that page"
                followed.add(file)
        assert site / "index.html" in followed and f'href="{ADDRESS}"' in text


def test_every_link_of_the_page_to_play_with_leads_somewhere_on_the_site(site, browser):
    """As a file it has none of these. What a site answers to a folder is its index.html."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        home = f"http://127.0.0.1:{server.server_port}/"
        browser.driver.get(f"{home}3_signal/beyond/play.html")
        links = {link.text: link.get_attribute("href") for link in browser.all("header a, footer a")}
        server.shutdown()
    assert len(links) == 11, f"one sees these links: {links}"
    for name, link in links.items():
        path = site / urllib.parse.urlparse(link).path[1:]
        goal = path / "index.html" if path.is_dir() else path
        is_there = link.startswith(home) and goal.suffix == ".html" and goal.is_file()
        assert is_there, f"on the site, {name!r} leads to {link}"


WIDTH = """
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    return document.documentElement.scrollWidth;
"""


def test_no_page_is_wider_than_a_phone(pages, browser):
    """With all folds open; tables, code and pictures keep inside or scroll by themselves."""
    browser.screen(390)
    widths = {}
    for path in pages:
        browser.driver.get(path.as_uri())
        browser.wait(lambda: browser.js("return matchMedia('(width: 390px)').matches"))  # Under load, later.
        widths[path] = browser.js(WIDTH)
    browser.command("Emulation.clearDeviceMetricsOverride")
    assert widths == dict.fromkeys(pages, 390), "pages, and how wide they are on a phone of 390 pixels"
