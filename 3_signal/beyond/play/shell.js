"use strict";

// The shell: which view is shown, its address, the links
//
// A view is one object:
//   id       its name in an address: #vote, or #model=counting&letters=AB
//   title    in the navigation
//   place    the id of its section in the page
//   first    the id of what has the focus after a link in another view
//   start()  once, before it is shown for the first time: what it listens to
//   open(words)  it is shown now; words are those of the address (URLSearchParams), or none after a click
//   address()  what stands after the # while it is shown
//   draw()   its state, as it is now
// and whatever else it consists of. It asks Shell.writeAddress() whenever its address changes.

const Shell = {
  views: [Ask, Row, Vote, Train, Models], // In the order of the navigation; the first is the one that opens.
  view: null, // Which is shown.
  started: new Set(), // Which have been shown.
  entering: false, // Whether one has just gone to another view.
  printing: false,

  start() {
    for (const id of ["model", "runs", "compare", "shown"]) {
      $(id).replaceChildren(); // A copy that a browser has saved holds what was shown.
    }
    readEmbedded();
    const links = Shell.views.map((view) => Shell.link(`#${view.id}`, view.title));
    document.querySelector("nav").replaceChildren(...links);
    for (const link of document.querySelectorAll(".next a")) {
      link.onclick = Shell.follow;
    }
    linkLessons();
    const textInField = (event) => // The browser moves it, as everywhere.
      event.target.type === "text" && !event.dataTransfer.types.includes("Files");
    document.addEventListener("dragover", (event) => {
      if (textInField(event)) {
        return;
      }
      event.preventDefault();
      document.body.classList.toggle("dropping", event.dataTransfer.types.includes("Files"));
    });
    document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    document.addEventListener("drop", (event) => {
      if (textInField(event)) {
        return;
      }
      event.preventDefault();
      document.body.classList.remove("dropping");
      if (event.dataTransfer.files.length) {
        openFile(event.dataTransfer.files[0]);
      }
    });
    window.addEventListener("beforeprint", () => Shell.fit("16px", "42rem")); // A sheet is narrower than a screen.
    window.addEventListener("afterprint", () => Shell.fit("", ""));
    window.addEventListener("popstate", Shell.readAddress);
    window.addEventListener("hashchange", Shell.readAddress);
    Shell.readAddress();
    $("needs").hidden = true;
  },

  fit(letter, width) { // Lines that were measured are drawn for this width.
    Shell.printing = width !== "";
    document.documentElement.style.fontSize = letter;
    document.querySelector("main").style.maxWidth = width;
    Shell.view.draw();
  },

  enter(view) { // Show a view, and no other.
    Shell.entering = Shell.view !== view;
    Shell.view = view;
    for (const one of Shell.views) {
      $(one.place).hidden = one !== view;
    }
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${view.id}`) {
        link.setAttribute("aria-current", "page");
      } else {
        link.removeAttribute("aria-current");
      }
    }
    if (!Shell.started.has(view)) {
      Shell.started.add(view);
      view.start();
    }
  },

  go(view) {
    say("");
    Shell.enter(view);
    view.open(new URLSearchParams());
    Shell.writeAddress();
    window.scrollTo(0, 0);
  },

  link(hash, text) {
    return make("a", { href: hash, onclick: Shell.follow }, text);
  },

  goOn(view) { // By what was pressed in another view, and is gone: the focus goes along.
    Shell.go(view);
    $(view.first).focus({ preventScroll: true });
  },

  follow(event) { // Not as the browser would: inside srcdoc that would leave the page.
    event.preventDefault();
    const link = event.currentTarget;
    const view = Shell.views.find((one) => link.hash === `#${one.id}`);
    if (link.closest("nav")) {
      Shell.go(view);
    } else {
      Shell.goOn(view);
    }
  },

  readAddress() {
    const words = new URLSearchParams(location.hash.slice(1));
    const nothing = location.hash === "" || location.hash === "#";
    const view = Shell.views.find((one) => words.has(one.id)) || (nothing ? Shell.views[0] : Models);
    say("");
    Shell.enter(view);
    Shell.entering = false; // It is there, in the address.
    view.open(words);
  },

  writeAddress() { // Going to another view is history. Sliding, typing and choosing are not.
    const push = Shell.entering;
    Shell.entering = false;
    const address = `#${Shell.view.address()}`;
    if (location.hash === address || location.protocol === "about:") {
      return; // Inside srcdoc there is no address of its own.
    }
    try {
      if (push) {
        history.pushState(null, "", address);
      } else {
        history.replaceState(null, "", address);
      }
    } catch (error) {
      return; // Some browsers refuse it to a file, or after a hundred changes.
    }
  },
};

// On the site of the project there are links. As a single file the page knows no address.
function linkLessons() {
  const online = location.protocol.startsWith("http");
  const link = (address, text) => (online ? make("a", { href: address }, text) : text);
  const places = [["../../1_counting-letters/", "Lesson 1"], ["../../2_difference/", "Lesson 2"],
    ["../", "Lesson 3"], ["transformer.html", "the transformer"],
    ["did_it_need_to_choose.html", "the last chapter"]];
  const line = ["This page belongs to ", link("../../", "attention-primer"),
    ", an introduction to attention with programs to run"];
  if (online) {
    places.forEach((place, index) => line.push(index ? ", " : ": ", link(...place)));
    $("onward").replaceChildren(link("../../1_counting-letters/", "Lesson 1 builds such models, line by line →"));
  }
  $("links").replaceChildren(...line, ".");
  $("home").replaceChildren(link("../../", "attention-primer"));
}

window.addEventListener("DOMContentLoaded", Shell.start);

// After an address that names a view, a browser lets the first Tab key begin inside that view, past the navigation.
let touched = false; // Whether anything on the page has been clicked or has had the focus.
for (const event of ["pointerdown", "focusin"]) {
  window.addEventListener(event, () => {
    touched = true;
  }, { once: true });
}
window.addEventListener("keydown", (event) => {
  if (event.key === "Tab" && !event.shiftKey && !touched) {
    event.preventDefault();
    document.querySelector("header a").focus();
  }
});
