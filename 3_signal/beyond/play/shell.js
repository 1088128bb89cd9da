// The shell: which view is shown, its address, the links
//
// A view is one object:
//   id       its name in an address: #vote, or #model=counting&letters=AB
//   title    in the navigation
//   start(shell)  once, when the page starts: what it listens to
//   open(words)  it is shown now; `words` are those of the address, URLSearchParams
//   address()  what stands after the # while it is shown
//   draw()   its state, as it is now
// and whatever else it consists of. Its section in the page has the id `view_` and its name. The shell that it is given
// knows which `view` is shown; the view asks shell.writeAddress() whenever its address changes, leads to another view
// by shell.goTo(address), and lets shell.missing(name) say why a model is not there.

import { addFile, library, readBuiltIn } from "./library.js";
import { $, make, say } from "./page.js";
import { wordsOf } from "./addresses.js";
import { Ask } from "./view_ask.js";
import { Row } from "./view_row.js";
import { Vote } from "./view_vote.js";
import { Models } from "./view_models.js";
import { Train } from "./view_train.js";

const Shell = {
  views: [Ask, Row, Vote, Train, Models], // In the order of the navigation; the first is the one that opens.
  view: null, // Which is shown.
  words: null, // Of the address, as it was read.
  waiting: null, // The words of an address whose model is in a file that is not opened yet.

  start() {
    // A copy that a browser has saved holds what was shown; the template holds the page as it was written.
    document.querySelector("main").replaceChildren($("views").content.cloneNode(true));
    readBuiltIn(JSON.parse($("checkpoints").textContent));
    document.querySelector("nav").replaceChildren(...Shell.views.map((view) =>
      make("a", { href: `#${view.id}` }, view.title)));
    linkPages();
    for (const view of Shell.views) {
      view.start(Shell);
    }
    const holdsFiles = (event) => event.dataTransfer.types.includes("Files");
    for (const type of ["dragover", "dragleave", "drop"]) {
      document.addEventListener(type, (event) => {
        document.body.classList.toggle("dropping", type === "dragover" && holdsFiles(event));
        if (holdsFiles(event) && type !== "dragleave") {
          event.preventDefault();
        }
      });
    }
    document.addEventListener("drop", ({ dataTransfer: { files } }) => files.length && Shell.openFile(files[0]));
    window.addEventListener("hashchange", () => Shell.readAddress());
    for (const [type, onPaper] of [["beforeprint", true], ["afterprint", false]]) {
      window.addEventListener(type, () => {
        document.documentElement.classList.toggle("paper", onPaper);
        Shell.view.draw();
      });
    }
    window.addEventListener("pageshow", () => Shell.view.draw()); // After a way back, a browser fills in fields.
    Shell.readAddress();
    $("needs").hidden = true;
  },

  readAddress() {
    const words = wordsOf(location.hash);
    const [first = ""] = words.keys();
    const view = Shell.views.find((one) => one.id === first.toLowerCase()) || Shell.views[0];
    const wanders = Shell.view !== null && Shell.view !== view;
    if (first !== view.id) { // Capitals do not matter.
      words.append(view.id, words.get(first) || "");
    }
    say("");
    Object.assign(Shell, { view, words });
    for (const one of Shell.views) {
      $(`view_${one.id}`).hidden = one !== view;
    }
    for (const [index, link] of [...document.querySelectorAll("nav a")].entries()) {
      if (Shell.views[index] === view) {
        link.setAttribute("aria-current", "page");
      } else {
        link.removeAttribute("aria-current");
      }
    }
    document.title = `${view.title}: attention-primer, to play with`;
    view.open(words);
    if (first && first.toLowerCase() !== view.id) {
      say(`This page has nothing called ${first}.`);
    }
    Shell.writeAddress();
    const section = $(`view_${view.id}`);
    if (wanders && !section.contains(document.activeElement)) { // It is read aloud, and the Tab key goes on from there.
      section.querySelector("h1").focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
  },

  writeAddress() { // Going to another view is history. Sliding, typing and choosing are not.
    const address = `#${Shell.view.address()}`;
    const link = document.querySelectorAll("nav a")[Shell.views.indexOf(Shell.view)];
    link.href = address; // It leads back to what was shown.
    if (location.hash !== address) {
      try {
        history.replaceState(null, "", address);
      } catch (error) {
        return; // Some browsers refuse it to a file, or after a hundred changes.
      }
    }
  },

  goTo(address) {
    location.hash = address;
  },

  missing(name) { // Say why a model that an address names is not there.
    if (name.startsWith("own_")) {
      Shell.waiting = Shell.words;
      say("This address shows a model of your own. Its file stays on your computer, so drop it on the page again.");
    } else if (name.startsWith("trained_")) {
      say("This address shows a model that was trained in the page and is gone. Train another one under Train.");
    } else {
      say(`The address names a model, ${name}, that this page does not have.`);
    }
  },

  async openFile(file) {
    let name;
    try {
      name = await addFile(file);
    } catch (error) {
      say(`${file.name}: ${error.reason || "it is damaged, or no checkpoint"}.`);
      return;
    }
    const words = Shell.waiting || new URLSearchParams();
    const { task } = library[name].model;
    const fallback = Shell.view === Ask && task === "Transformer" ? "ask" : "model";
    const [id = fallback] = words.keys();
    words.set(id, name);
    Shell.waiting = null;
    Shell.goTo(words);
  },
};

// On the site of the project there are links. As a single file the page knows no address.
function linkPages() {
  const online = location.protocol.startsWith("http");
  const link = (address, text) => (online ? make("a", { href: address }, text) : text);
  const places = [["../../1_counting-letters/", "Task 1"], ["../../2_difference/", "Task 2"], ["../", "Task 3"],
    ["transformer.html", "the transformer"], ["did_it_need_to_choose.html", "the last chapter"]];
  const pages = online ? places.flatMap(([address, text], index) => [index ? ", " : ": ", link(address, text)]) : [];
  $("links").replaceChildren("This page belongs to ", link("../../", "attention-primer"),
    ", an introduction to attention with programs to run", ...pages,
    ". It’s on GitHub, as is greentfrapp’s original.");
  $("home").replaceChildren(link("../../", "attention-primer"));
}

window.addEventListener("DOMContentLoaded", Shell.start);
