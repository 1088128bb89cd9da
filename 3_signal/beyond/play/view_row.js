// One query and its keys, by hand or of a model

import { largest } from "./arrays.js";
import { has } from "./refusing.js";
import { axesOf, firstCell, orderOf, ownersIn, questionCell, titleOf } from "./attentions.js";
import { library } from "./library.js";
import { $, drawMenu, make, offer, onSlide, say, twoPlaces, write } from "./page.js";
import { readShown, writeShown } from "./addresses.js";
import { calm, LAST_STEP, OneRow } from "./one_row.js";
import { rowOfExample, rowOfModel } from "./row_telling.js";

const EXAMPLE = "Anna dog Ben cat Cleo owl Dan hen Ben".split(" ");
const STRENGTH = 2.8; // Of the example's query.

export const Row = {
  id: "row",
  title: "One row",
  shell: null, // What the shell does for a view: see shell.js.
  steps: null, // The OneRow.
  text: EXAMPLE, // In the example: names with their pets, and who is asked for;
  strength: STRENGTH, // how strongly.
  shown: null, // Of a model, as in Models; null in the example.

  start(shell) {
    Row.shell = shell;
    Row.steps = new OneRow($("row_steps"));
    Row.steps.back.parentNode.before($("row_size"));
    $("row_names").onclick = ({ target }) => {
      const asked = target.closest("[data-ask]"); // Where a browser translates, there are elements in a button.
      if (asked) {
        Row.change({ text: [...Row.text.slice(0, -1), asked.dataset.ask] });
      }
    };
    onSlide($("row_strength"), (strength) => Row.change({ strength }));
    $("row_model").onchange = () => {
      Row.take(new URLSearchParams({ row: $("row_model").value }));
      Row.begin();
      Row.shell.writeAddress();
    };
    $("row_which").onchange = () => {
      const [id, head, row] = JSON.parse($("row_which").value);
      const weights = Row.shown.seen[id].heads[head].weights[row];
      Row.change({ shown: { ...Row.shown, cell: { id, head, row, column: largest(weights) } } });
    };
  },

  open(words) {
    Row.take(words);
    Row.begin();
  },

  begin() {
    Row.steps.step = calm.matches ? LAST_STEP : 0;
    Row.draw();
  },

  take(words) { // What an address says.
    say("");
    const name = words.get("row");
    if (has(library, name)) {
      const asked = readShown(words, name);
      const ran = asked.model.run(asked.tokens, asked.factors, asked.moves);
      Row.shown = { ...asked, ...ran, cell: asked.cell || firstCell(asked.model, ran.seen) };
      say(asked.wrong);
      return;
    }
    const text = words.has("letters") ? words.get("letters").split(" ") : [...EXAMPLE];
    text[text.length - 1] = ownersIn(text).find((owner) => owner.toLowerCase() === name.toLowerCase()) ||
      (name || text[text.length - 1]);
    const fits = text.length % 2 === 1 && text.every((word) => word !== "" && word.length < 12) &&
      ownersIn(text).includes(text[text.length - 1]);
    const strength = Number(words.get("strength") || STRENGTH);
    Row.shown = null;
    Row.text = fits ? text : EXAMPLE;
    Row.strength = strength >= 0 && strength <= 8 ? strength : STRENGTH;
    if (!fits && /_\d+$/.test(name)) {
      Row.shell.missing(name);
    } else if (!fits) {
      say("The address holds no text, and names no model, that this page can show.");
    }
  },

  change(changes) {
    say(""); // What was wrong before.
    Object.assign(Row, changes);
    Row.draw();
    Row.shell.writeAddress();
  },

  address() {
    if (Row.shown) {
      return writeShown("row", Row.shown);
    }
    const [pairs, usualPairs] = [Row.text, EXAMPLE].map((text) => String(text.slice(0, -1)));
    const parts = new URLSearchParams();
    if (pairs !== usualPairs) {
      parts.append("letters", Row.text.join(" "));
    }
    if (Row.strength !== STRENGTH) {
      parts.append("strength", Row.strength);
    }
    const asked = pairs !== usualPairs || String(Row.text) === String(EXAMPLE) ? "row" : `row=${Row.text.slice(-1)}`;
    return String(parts) ? `${asked}&${parts}` : asked;
  },

  draw() {
    const { shown, steps, text, strength } = Row;
    $("row_example").hidden = $("row_size").hidden = shown !== null;
    $("row_of_model").hidden = shown === null;
    drawMenu("row_model", shown ? shown.name : "", make("option", { value: "" }, "Whose pet? By hand"));
    Row.drawOther();
    if (!shown) {
      offer($("row_names"), ownersIn(text), text[text.length - 1]);
      $("row_strength").value = strength;
      write($("row_strong"), twoPlaces(strength));
      steps.show(rowOfExample(text, strength));
      return;
    }
    write($("row_text"), shown.model.join(shown.tokens));
    $("row_all").href = `#${writeShown("model", shown)}`;
    Row.drawWhich();
    steps.show(rowOfModel(shown));
  },

  drawOther() { // From a question to the transformer to the same question by hand, and back.
    const { model } = library.transformer;
    const { shown } = Row;
    const tokens = shown ? shown.tokens : Row.text;
    const known = model.problem(tokens) === "" && model.answers(tokens)[tokens.length - 1] !== null;
    $("row_other").hidden = !known || (shown !== null && shown.model.task !== "Transformer");
    if ($("row_other").hidden) {
      return;
    }
    const [told, link, address] = shown
      ? ["These numbers are the transformer’s own, which it has learnt.",
        "First the same by hand, with keys of a single 1",
        `row&${new URLSearchParams({ letters: tokens.join(" ") })}`]
      : ["These keys are made by hand, to show the arithmetic.", "Now the same in the transformer",
        writeShown("row", { name: "transformer", model, tokens, factors: {}, cell: questionCell(model, tokens) })];
    write($("row_other"), `${told} `, make("a", { href: `#${address}` }, `${link} →`));
  },

  drawWhich() { // The menu of rows.
    const { model, tokens, seen, cell } = Row.shown;
    const groups = orderOf(seen).map((id) => {
      const { rows } = axesOf(model, tokens, id);
      const options = seen[id].heads.flatMap((_, head) => rows.map((name, row) => {
        const part = seen[id].heads.length > 1 ? `head ${head + 1}, ` : "";
        const place = id === "attention" || id === "self_attention" ? "" : ` (${row + 1})`;
        return make("option", { value: JSON.stringify([id, head, row]) }, part + name + place);
      }));
      return make("optgroup", { label: titleOf(id) }, ...options);
    });
    write($("row_which"), ...groups);
    $("row_which").value = JSON.stringify([cell.id, cell.head, cell.row]);
  },
};
