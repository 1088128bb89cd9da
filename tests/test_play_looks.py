"""How the page to play with looks: nothing that a reader would stumble over, in each view and each look."""

import browser
import drawings
import pytest
from matplotlib import colors

# Of parts, a colour, [red, green, blue] from 0 to 1.
PAINTED = """
    const colourOf = ([query, property]) => getComputedStyle(document.querySelector(query))[property];
    return arguments[0].map((part) => colourOf(part).match(/[\\d.]+/g).map((part) => part / 255));
"""
# The colour that a phone gives its bar above the page.
BAR = """
    const isMeant = ({ media }) => matchMedia(media).matches;
    return [...document.querySelectorAll("[name=theme-color]")].find(isMeant).content;
"""
# What a reader would stumble over in the view in sight: what is written too small, too pale, outside, or over
# something else; what one presses that is too small, covered, or has no name; bars and cells that cannot be
# told from what is below them, or are not printed; a state that does not show; lines that are flat, do not go
# from word to word, or go across one.
FAULTS = """
    const faults = [];
    const isWide = (part) => part.scrollWidth > part.clientWidth + 1 && !part.querySelector(".heads > div");
    const find = (is, what, part) => is && faults.push([what, part.outerHTML.slice(0, 99)].join(": "));
    const isSeen = (part) => part.checkVisibility({ opacityProperty: true, visibilityProperty: true })
        && !part.closest(".hidden");
    const all = document.querySelectorAll("html, header *, main > :not([hidden]) *, footer *");
    const numbers = (colour) => colour.match(/[\\d.]+/g).map((part, index) =>
        (index < 3 && !colour.startsWith("color(") ? part / 255 : Number(part)));
    const colourOf = (part) => numbers(getComputedStyle(part).backgroundColor);
    const below = (part) => (colourOf(part)[3] === 0 && part.parentElement ? below(part.parentElement)
        : colourOf(part));
    const linear = (part) => (part <= 0.04 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const luminance = (colour) => dot(colour.slice(0, 3).map(linear), [0.2126, 0.7152, 0.0722]);
    const isOver = (one, other, much) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2
        && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > much;
    const states = ["aria-pressed", "aria-current", "aria-disabled", "asking", "looked", "mine", "most",
        "lit", "chosen", "taken", "right", "wrong"];
    const lookOf = (part) => [...getComputedStyle(part)].map((name) => getComputedStyle(part)[name]).join();
    const words = [...document.querySelectorAll(".word")].map((word) => word.getBoundingClientRect());
    const written = [];
    for (const part of [...all].filter(isSeen)) {
        const style = getComputedStyle(part);
        const own = [...part.childNodes].filter((node) => node.nodeType === 3 && node.textContent.trim());
        if (own.length && parseFloat(style.fontSize)) {
            const range = document.createRange();
            range.setStartBefore(own[0]);
            range.setEndAfter(own[own.length - 1]);
            const { left, right } = range.getBoundingClientRect();
            written.push([part, [...range.getClientRects()]]);
            const ink = numbers(part.ownerSVGElement ? style.fill : style.color);
            const shades = [ink, below(part)].map(luminance);
            const contrast = (Math.max(...shades) + 0.05) / (Math.min(...shades) + 0.05);
            find(contrast < 4.5 && !part.closest("[aria-disabled=true]"), "pale", part);
            find(parseFloat(style.fontSize) < 9.5, "small", part);
            find((left < 0 || right > innerWidth + 1) && !part.closest(".box"), "outside", part);
        }
        if (part.matches("button, a, select, input, summary, .word")) {
            const { left, right, top, bottom, width, height } = part.getBoundingClientRect();
            const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
            find(!hit || !part.contains(hit) && !hit.contains(part), "covered", part);
            find(Math.min(width, height) < 18, "tiny", part);
            const name = part.matches("input, select") ? part.labels.length : part.textContent.trim();
            find(!name && !part.getAttribute("aria-label"), "nameless", part);
        }
        const field = part.matches("label[for]") && (part.querySelector("input") || part.nextElementSibling
            || part.parentElement.nextElementSibling);
        find(field && field !== part.control && !field.contains(part.control), "of another field", part);
        const named = part.getAttribute("aria-labelledby");
        find(named && !part.parentElement.contains(document.getElementById(named)), "of another part", part);
        find(part.matches("html, .box, .picture") && isWide(part), "wide", part);
        find(part.matches("[type=text]") && innerWidth >= 1280 && isWide(part), "cut", part);
        for (const state of states.filter((one) => part.matches(`.${one}, [${one}]:not([${one}=false])`))) {
            const look = lookOf(part), value = part.getAttribute(state);
            part.removeAttribute(state);
            part.classList.remove(state);
            if (state === "aria-pressed") {
                part.setAttribute(state, false);
            }
            find(look === lookOf(part), `as if not ${state}`, part);
            if (value === null) {
                part.classList.add(state);
            } else {
                part.setAttribute(state, value);
            }
        }
        if (part.matches("#ask_arcs path")) {
            const isAtWord = (length) => {
                const { x, y } = part.getPointAtLength(length).matrixTransform(part.getScreenCTM());
                return words.some((word) => isOver(word, new DOMRect(x - 3, y - 3, 6, 6), 2));
            };
            find(!isAtWord(0) || !isAtWord(part.getTotalLength()), "loose", part);
            const box = part.getBoundingClientRect();
            find(words.some((word) => isOver(word, box, 2)), "across", part);
            find(Math.min(box.width, box.height) < 12, "flat", part);
        }
        if (part.style.width || part.style.backgroundColor || part.style.backgroundImage) {
            find(part.getBoundingClientRect().height < 3, "flat", part);
            const isClear = String(below(part)) === String(below(part.parentElement));
            find(isClear && !part.style.backgroundImage, "unseen", part);
            find(matchMedia("print").matches && style.printColorAdjust !== "exact", "unprinted", part);
        }
    }
    const [column, ...columns] = [...document.querySelectorAll("#row_steps td.figure")];
    const isLike = (one) => one.checkVisibility() === column.checkVisibility();
    find(!columns.every(isLike), "without its neighbours", column);
    written.forEach(([part, boxes], index) => written.slice(index + 1).forEach(([other, others]) =>
        find(!part.contains(other) && boxes.some((one) => others.some((another) => isOver(one, another, 5))),
            `over ${other.textContent}`, part)));
    return faults;
"""
# Go to a view, and open what can be opened in it, but for what a phone would show above it.
OPEN = """
    location.hash = arguments[0];
    Shell.readAddress();
    for (const part of document.querySelectorAll("main > :not([hidden]) details")) {
        part.open = true;
    }
    const open = {
        ask: () => Ask.draw(),
        row: () => Row.steps.go(5),
        vote: () => Vote.reveal(),
        model: () => {
            if (!onPhone()) {
                Models.openSheet();
                Models.taken = Models.chosen;
                Models.explain({ ...Models.chosen, column: 1 });
            }
        },
        train: () => {},
    };
    open[Shell.view.id]();
"""
SETTLED = """
    return Shell.view !== Vote || !document.getElementById("moral").hidden;
"""
FILL, EDGE = "backgroundColor", "borderTopColor"
MEANINGS = {
    "ask": {
        "query": ((".word.asking", EDGE), (".word.asking small", "color")),
        "key": (("#ask_arcs .first.mine", "stroke"), (".word.found .key", "color")),
        "weight": ((".word.looked", EDGE), ("#ask_arcs .arc", "stroke"), ("#ask_arcs text", "fill")),
        "value": (("#ask_answer", "color"), ("#ask_chances i", FILL)),
    },
    "row": {
        "query": (("#row_steps .query .number:not(.zero)", FILL),),
        "key": (("#row_steps .key .number:not(.zero)", FILL),),
        "weight": (("#row_steps div.amount", FILL), ("#row_steps .segment", FILL)),
        "value": (("#row_steps .chip", EDGE),),
    },
    "row=signal&attention=0.5": {
        kind: ((f"#row_steps svg.{kind} path", "fill"),) for kind in ("query", "key", "value")
    },
    "model": {
        "query": (("#stage th.lit[scope=row]", FILL),),
        "key": (("#stage th.lit[scope=col]", FILL),),
        "value": (("#answers .right", "color"),),
        "wrong": (("#message", "color"),),
    },
}


# The width of the screen, the medium, and what a user has set.
LOOKS = {
    "light": (1280, "screen", {"prefers-color-scheme": "light"}),
    "dark": (360, "screen", {"prefers-color-scheme": "dark"}),
    "contrast": (1920, "screen", {"forced-colors": "active"}),
    "paper": (700, "print", {"prefers-color-scheme": "dark"}),
}
VIEWS = (
    "ask&attend=equal&move=7-1",
    "ask",
    "row",
    "row=signal&attention=0.5",
    "vote",
    "model",
    "model=signal_pos_enc",
    "model=transformer",
    "train",
)


@pytest.mark.parametrize("look", LOOKS)
def test_everything_can_be_read_and_a_colour_has_one_meaning(look, page):
    """With all that can be opened open: the lessons' colours, each by its hue. Paper is always light."""
    page.visit()
    width, media, features = LOOKS[look]
    page.screen(width, 3000, mobile=False)
    features = [{"name": name, "value": value} for name, value in features.items()]
    page.command("Emulation.setEmulatedMedia", media=media, features=[*features, browser.CALM])
    hues = {"query": 0.115, "key": 0.561, "weight": 0.074, "value": 0.454, "wrong": 0.96}
    for view in VIEWS:
        page.js(OPEN, view)
        assert page.js("return document.getAnimations().length") == 0  # For who wants stillness.
        page.wait(lambda: page.js(SETTLED))
        assert page.js(FAULTS) == [], view
        for meaning, parts in MEANINGS.get(view, {}).items() if look != "contrast" else ():
            for hue in colors.rgb_to_hsv(page.js(PAINTED, parts))[:, 0]:
                assert min(hues, key=lambda one, hue=hue: abs(hues[one] - hue)) == meaning, view
    (paper,) = page.js(PAINTED, [["body", FILL]])
    assert (drawings.luminance(paper) > 0.5) == (look != "dark")
    if look in ("light", "dark"):  # A phone's browser goes along.
        assert colors.to_hex(paper) == page.js(BAR)
    assert page.one("nav").is_displayed() == (look != "paper")


# What is said in the view in sight, outside of pictures.
SAID = """
    const isSeen = (part) => part.checkVisibility({ opacityProperty: true, visibilityProperty: true })
        && parseFloat(getComputedStyle(part).fontSize) && !part.closest("table, .heads");
    const parts = [...document.querySelectorAll("header *, main > :not([hidden]) *")].filter(isSeen);
    const texts = parts.flatMap((part) => [...part.childNodes].filter((node) => node.nodeType === 3));
    return texts.map((text) => text.data.trim()).filter((text) => text.includes(" "));
"""


def test_a_phone_says_all_that_a_wide_screen_says(page):
    page.visit()
    for view in ("ask", "row", "vote", "model=transformer", "train"):
        page.js(OPEN, view)
        page.wait(lambda: page.js(SETTLED))
        said = []
        for width in (1280, 360):
            page.screen(width, 3000, mobile=False)
            said.append(set(page.js(SAID)))
        assert said[0] - said[1] == set(), view
