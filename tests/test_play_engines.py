"""The page to play with in Firefox and WebKit, Safari's engine: each view opens and does what it is for."""

import contextlib
import json
import os
import shutil
import socket
import subprocess

import browser
import program
import pytest
from selenium import common, webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import ui
from selenium.webdriver.webkitgtk.service import Service

VIEWS = "ask row row=transformer row=signal_no_encoder vote model model=transformer train".split()
LISTENER = """<script>
    const note = (text) => { document.documentElement.dataset.thrown += `${text}; `; };
    document.documentElement.dataset.thrown = "";
    addEventListener("error", (event) => note(event.message));
    addEventListener("unhandledrejection", (event) => note(event.reason));
</script>"""
SEEN = """
    const { dataset, scrollWidth } = document.documentElement;
    return [dataset.thrown, innerWidth, scrollWidth > innerWidth];
"""


class Marionette:
    """What Selenium speaks to in place of a driver: Firefox itself. Each message has its length before it."""

    COMMANDS = {
        "actions": "WebDriver:PerformActions",
        "clickElement": "WebDriver:ElementClick",
        "findElement": "WebDriver:FindElement",
        "findElements": "WebDriver:FindElements",
        "get": "WebDriver:Navigate",
        "newSession": "WebDriver:NewSession",
        "quit": "Marionette:Quit",
        "switchToFrame": "WebDriver:SwitchToFrame",
        "w3cExecuteScript": "WebDriver:ExecuteScript",
        "w3cExecuteScriptAsync": "WebDriver:ExecuteAsyncScript",
    }

    def __init__(self, port):
        with socket.create_connection(("127.0.0.1", port), timeout=program.DEADLINE) as connection:
            self.wire = connection.makefile("rwb")
        self.read()

    def read(self):
        length = b"".join(iter(lambda: self.wire.read(1), b":"))
        return json.loads(self.wire.read(int(length)))

    def execute(self, command, parameters):
        message = json.dumps([0, 1, self.COMMANDS[command], parameters])
        self.wire.write(f"{len(message)}:{message}".encode())
        self.wire.flush()
        _, _, error, result = self.read()
        if error:
            raise common.WebDriverException(error["message"])
        return result if "value" in result else {"value": result}

    def close(self):
        self.wire.close()


@contextlib.contextmanager
def running(*command, **rest):
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **{"stdout": subprocess.DEVNULL, **rest})
    with process:
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def firefox(folder):
    name = shutil.which("firefox") or shutil.which("firefox-esr")
    if name is None:
        pytest.skip("this test of play.html needs Firefox: on Debian, `apt-get install firefox-esr`")
    (folder / "user.js").write_text('user_pref("marionette.port", 0);')  # Any that is free,
    port = folder / "MarionetteActivePort"  # and this is where it says which.
    with running(name, "--headless", "--marionette", "--no-remote", "--profile", folder):
        try:
            ui.WebDriverWait(None, program.DEADLINE).until(lambda _: port.exists() and port.read_text())
        except common.TimeoutException:
            pytest.skip(f"this test of play.html needs a Firefox that opens {folder}; as a snap it cannot")
        yield webdriver.Remote(Marionette(int(port.read_text())), options=webdriver.FirefoxOptions())


@contextlib.contextmanager
def webkit(folder):
    path = shutil.which("WebKitWebDriver")
    if path is None or shutil.which("Xvfb") is None:
        what = "WebKit's driver and Xvfb: on Debian, `apt-get install webkit2gtk-driver xvfb`"
        pytest.skip(f"this test of play.html needs {what}")
    with running("Xvfb", "-displayfd", "1", "-nolisten", "tcp", stdout=subprocess.PIPE) as screen:
        display = {"DISPLAY": f":{int(screen.stdout.readline())}", "GDK_BACKEND": "x11"}
        service = Service(path, env={**os.environ, **display})
        service.start()
        try:
            yield webdriver.Remote(service.service_url, options=webdriver.WebKitGTKOptions())
        finally:
            service.stop()


@pytest.mark.filterwarnings("ignore:setting remote_server_addr:DeprecationWarning")  # Selenium's own.
@pytest.mark.parametrize("engine", [firefox, webkit])
def test_the_page_works_in(engine, tmp_path, monkeypatch):
    copy, frame = tmp_path / "play.html", tmp_path / "phone.html"
    copy.write_text(browser.PAGE.read_text("utf-8").replace("<title>", f"{LISTENER}<title>", 1), "utf-8")
    monkeypatch.setattr(browser, "PAGE", copy)
    with engine(tmp_path) as driver, driver:  # The latter quits.
        page = browser.Page(driver)
        for view in VIEWS:
            frame.write_text(f'<iframe width="390" height="844" src="play.html#{view}"></iframe>')
            driver.get(frame.as_uri())
            driver.switch_to.frame(0)
            thrown, width, is_wide = page.js(SEEN)
            assert (thrown, width, is_wide) == ("", 390, False), f"{view} throws, or is too wide"
            assert page.js("return document.activeElement.localName") == "body", f"{view} takes the focus"

        page.visit("#ask&letters=Anna+cat+Ben+dog+Cleo+owl+Dan+hen+Ben")
        asked = browser.Asked(page)
        assert asked.says() == "dog", "Ben’s pet"
        page.one("#ask_names [data-ask=Cleo]").click()
        assert asked.says() == "owl", "Cleo’s pet"
        page.drag(asked.arc(5), asked.word(7))
        assert asked.says((5, 7)) == "hen", "the line was dragged to hen"
        webdriver.ActionChains(driver).send_keys(Keys.ARROW_LEFT).perform()  # From pet to pet.
        assert asked.says() == "owl", "the line was moved back by the arrow key"
        page.drag(page.find("ask_key"), asked.word(0))  # The owl's own line, from Cleo to Anna.
        asked.says(("block_1/attention", 5, 4, 0))
        told = page.text("#ask_told")
        assert "Anna" in told and page.js(SEEN)[0] == "", f"{told}; thrown: {page.js(SEEN)[0]}"

        page.visit("#vote")
        page.find("vote_1").click()
        right = page.wait(lambda: page.text("#moral_told") and page.text("#reveal_1 p"))
        assert browser.thousandths(right) > 900 and page.js(SEEN)[0] == "", f"{right}; {page.js(SEEN)[0]}"

        chances, weights = browser.Reference(browser.CHECKPOINTS["counting"])("AAB")
        page.visit("#model=counting&letters=AAB")
        seen = page.seen()
        assert seen["answers"] == [str(answer) for answer in chances.argmax(axis=1)], "answers to AAB"
        browser.check_weights(seen["weights"]["attention"], weights["attention"], "Task 1")
        assert page.js(SEEN)[0] == "", f"Models throws {page.js(SEEN)[0]}"
