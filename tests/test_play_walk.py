"""What one sees of the page to play with depends on its address, not on what was done before."""

import pytest

# What one sees, part by part, with what no address says as it is at first: where a row plays, how strong the
# query of its example is, which cell is chosen, what is only known after a while, what one has touched, and
# how far one has scrolled.
SHOWN = """
    document.activeElement.blur();
    window.scrollTo(0, 0);
    if (Shell.view === Row) {
        const unfinished = document.querySelector("#row_steps [data-step=average][aria-pressed=false]");
        if (unfinished) {
            unfinished.click();
        }
        if ($("row_strength").value !== "2.8") {
            $("row_strength").value = 2.8;
            $("row_strength").dispatchEvent(new Event("input"));
        }
    } else if (Shell.view === Models) {
        Models.explain(firstCell(Models.model, Models.seen));
        $("accuracy").textContent = "";
    } else if (Shell.view === Ask) {
        Ask.stop();
        Ask.score = null;
        Ask.tell();
    }
    const isSeen = (part) => part.checkVisibility({ visibilityProperty: true })
        && !part.closest("#announced, #accuracy, #ruled");
    const textOf = (node) => (node.nodeType === 3 ? node.data.trim() : "");
    return [...document.querySelectorAll("header *, main > :not([hidden]) *")].filter(isSeen).map((part) => {
        const { x, y, width, height } = part.getBoundingClientRect();
        const style = getComputedStyle(part);
        const looks = [style.backgroundColor, style.color, style.opacity];
        const classes = [...part.classList].filter((name) => !["touched", "by_hand"].includes(name)).sort();
        const attributes = [...part.attributes].filter(({ name }) => !["class", "style"].includes(name))
            .map(({ name, value }) => `${name}=${value}`).sort();
        return [part.tagName, ...[...part.childNodes].map(textOf), ...classes, ...attributes, part.value,
            part.checked, ...[x, y, width, height].map(Math.round), ...looks].join(" ");
    });
"""
# Press, type, slide and choose this and that in the view in sight, and look into others; return what is seen
# otherwise when its address is opened again.
WALK = f"""
    const [seed, steps] = arguments, roll = dice(seed), {{ view }} = Shell, shown = () => {{ {SHOWN} }};
    const pick = (list) => list[roll(list.length)];
    Math.random = () => roll(2 ** 20) / 2 ** 20;
    const isFree = (one) => one.checkVisibility({{ visibilityProperty: true }})
        && !one.matches("#cell *, .which *, [type=file], [aria-disabled=true]");
    const set = (one, value, event) => {{
        one.value = value;
        one.dispatchEvent(new Event(event));
    }};
    const keys = ["ArrowLeft", "ArrowRight", "Home", "End"];
    const deeds = Object.entries({{
        "button:not([role]), .word": (one) => one.click(),
        "[role=slider]": (one) => one.dispatchEvent(
            new KeyboardEvent("keydown", {{ key: pick(keys), shiftKey: roll(2) === 1, bubbles: true,
                cancelable: true }})) && faults.push("The page scrolls."),
        "[type=range]": (one) => set(one, one.max * roll(7) / 6, "input"),
        "[type=text]": (one) => set(one, Models.model.join(Models.model.draw(roll)), "input"),
        select: (one) => set(one, pick([...one.options]).value, "change"),
    }});
    const done = [], faults = [];
    for (let step = 0; step < steps; step++) {{
        const [ones, act] = pick(deeds.map(([query, act]) =>
            [[...document.querySelectorAll(`main > :not([hidden]) :is(${{query}})`)].filter(isFree), act])
            .filter(([ones]) => ones.length));
        const one = pick(ones);
        done.push(one.id || one.textContent);
        one.focus();
        act(one);
        if (step % 4 === 1) {{
            Shell.go(pick(Shell.views));
        }}
        if (Shell.view !== view) {{
            Shell.go(view);
        }}
        if (step % 4 === 3) {{
            const before = shown();
            Shell.readAddress();
            const others = shown().filter((part) => !before.includes(part));
            faults.push(...others.map((part) => `${{done.join(", ")}}: ${{part}}`));
        }}
    }}
    return faults;
"""
VISITED = """
    for (const address of arguments[0]) {
        location.replace(`#${address}`);
        Shell.readAddress();
    }
    for (const event of ["beforeprint", "afterprint"]) {
        window.dispatchEvent(new Event(event));
    }
"""
ELSEWHERE = (  # Some of them say what is not there.
    "ask&attend=equal&move=5-3&move=99-x",
    "model=transformer",
    "model=signal&letters=?&attention=0",
    "row=Anna&letters=Anna",
    "row=counting&cell=attention,9,9,9&attention=x",
    "row=Anna",
)


@pytest.mark.parametrize("view", ["ask", "row", "model"])
def test_what_one_sees_depends_on_the_address_alone(view, page):
    """Not on what was done before, in this view, in others, in a window of another width, and on paper."""
    page.screen(1280, 900, mobile=False)
    page.visit(f"#{view}")
    first = page.js(SHOWN)
    for seed, width in enumerate((390, 1280)):
        assert page.js(WALK, seed, 8) == []
        page.screen(width, 900, mobile=False)
        shown = page.js(SHOWN)
        page.visit(f"#{page.link}")
        assert shown == page.js(SHOWN)
    page.js(VISITED, [*ELSEWHERE, view])
    assert page.js(SHOWN) == first
