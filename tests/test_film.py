"""The moving picture of the front page: it is filmed with the page as it is now."""

from experiments import film


def test_ben_has_the_cat_then_the_owl_then_a_guess(page, monkeypatch):
    """The answers that stand still: with the line at the cat, at the owl, and with equal weights."""

    def answer(film, scale=1):
        return page.find("ask_answer").get_attribute("data-answer")

    monkeypatch.setattr(film.Film, "picture", answer)
    page.visit("about:blank")
    filmed = film.Film(page.driver)
    assert film.play(filmed) == "cat"
    cat, owl, guess = (said for said, milliseconds in filmed.frames if milliseconds >= 1000)
    assert (cat, owl) == ("cat", "owl") and guess not in ("cat", "owl")
    assert 5 < sum(milliseconds for _, milliseconds in filmed.frames) / 1000 < 8
