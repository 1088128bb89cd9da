"""The moving picture of the front page: it is filmed with the page as it is now."""

from experiments import film


def test_ben_has_the_cat_then_the_owl_then_a_guess(page, monkeypatch):
    """The still, and what stands for a second: the line at the cat, at the owl, equal weights."""
    saved = {}

    class Answer(str):
        """What is read in the place of a picture: its scale and its answer."""

        def save(self, path, **_):
            saved[path.name] = self

    def picture(self, scale=1):
        return Answer(f"{scale} {page.find('ask_answer').get_attribute('data-answer')}")

    monkeypatch.setattr(film.Film, "picture", picture)
    monkeypatch.setattr(film.Film, "save", lambda self, path: saved.update({path.name: self.frames}))
    monkeypatch.setattr(film.webdriver, "Chrome", lambda *_: page.driver)
    monkeypatch.setattr(page.driver, "quit", lambda: None)
    page.visit("about:blank")
    film.draw()
    cat, owl, guess = (said for said, milliseconds in saved["ask.gif"] if milliseconds >= 1000)
    assert (saved["ask.png"], cat, owl) == ("2 cat", "1 cat", "1 owl") and guess not in ("1 cat", "1 owl")
    assert 5 < sum(milliseconds for _, milliseconds in saved["ask.gif"]) / 1000 < 8
