"use strict";

// One query and its keys, by hand or of a model

const EXAMPLE = "Anna dog Ben cat Cleo owl Dan hen Ben".split(" ");
const STRENGTH = 2.8; // Of the example's query.

function sentences(opening, comparing, scaling, total, result, byHand = "") { // One for each step of a row.
  return [
    opening,
    comparing,
    scaling,
    "Softmax, first half: exp makes every number positive, and large ones stand out.",
    `Softmax, second half: divide by their sum, ${short(total, 3)}. These are the attention weights${byHand}.`,
    `Average: each value counts as much as its weight. ${result}`,
  ];
}

// Return a row as OneRow shows it, of a text of names with their pets that ends with the name that is asked for.
// The names are keys, the pets are values, all of them one-hot, and so is the query, but for its strength.
function rowOfExample(text, strength) {
  const oneHot = (words) => (word) => words.map((other) => Number(other === word));
  const owners = ownersIn(text);
  const gives = owners.map((owner) => text[text.indexOf(owner) + 1]);
  const pets = [...new Set(gives)];
  const [asked] = text.slice(-1);
  const source = { asks: `${asked}?`, query: oneHot(owners)(asked).map((number) => strength * number),
    keys: owners.map(oneHot(owners)), values: gives.map(oneHot(pets)), names: owners.map((owner) => `${owner}’s`),
    gives, pets };
  const { total, mean } = computeRow(source);
  const pet = gives[owners.indexOf(asked)];
  const [most, second = 0] = [...mean].sort((one, other) => other - one);
  const found = most === mean[pets.indexOf(pet)] && most > 2 * second;
  const larger = strength < 4 ? ` With a larger query, it would be nearly all ${pet}.` : "";
  source.told = sentences(
    `${asked}’s pet? Each row is a pet: its key says whose it is, its value which.`,
    `Compare: multiply query and key, place by place, and add up. Only ${asked}’s key has its 1 where the query ` +
      `has ${twoPlaces(strength)}.`,
    `Scale: divide by √${owners.length}, because there are ${owners.length} numbers.`,
    total, found ? `It’s mostly ${pet}.${larger}` : "Nobody could say whose pet was asked for.");
  return source;
}

function rowOfModel({ model, tokens, moves, seen, cell }) { // Return a row of a model as OneRow shows it.
  const { rows, columns } = axesOf(model, tokens, cell.id);
  const { factor, heads } = seen[cell.id];
  const head = heads[cell.head];
  const open = range(columns.length).filter((column) => head.allowed(cell.row, column));
  const inSight = (all) => open.map((column) => all[column]);
  const asks = rows[cell.row];
  const names = inSight(columns);
  const compared = has(head, "key");
  const source = { asks, names, factor, values: inSight(head.value),
    query: compared ? head.query[cell.row] : null, keys: compared ? inSight(head.key) : null,
    scores: compared ? null : inSight(head.scores[cell.row]), weights: inSight(head.weights[cell.row]),
    chosen: Math.max(open.indexOf(cell.column), 0) };
  const { dots, total } = computeRow(source);
  const numbers = source.values[0].length;
  const size = numbers === 1 ? "1 number" : `${numbers} numbers`;
  const later = open.length < columns.length ? " What comes later is hidden from it." : "";
  const largestOne = `${names[largest(dots)]}, with ${twoPlaces(Math.max(...dots))}`;
  source.told = sentences(
    compared ? `${asks} asks. Its query has ${size}, and so has each key. In a strip, what is above 0 stands in ` +
      `the upper half, what is below 0 in the lower one; the stronger the colour, the farther from 0.${later}` :
      `${asks} has no query: its weights are fixed.${later}`,
    compared ? "Compare: multiply query and key, number by number, and add up the products. The best match: " +
      `${largestOne}.` : `Nothing is compared. We fixed these scores: ln ${FIXED} for its own letter, 0 for others.`,
    (compared ? `Scale: divide by √${numbers}, because there are ${size}.` : "Nothing to scale.") +
      (factor === 1 ? "" : ` Then comes the slider: × ${short(factor)}.`),
    total, "This weighted mean is what the row takes.",
    moves.some((move) => sameRow(move, cell)) ? ", with what you moved by hand" : "");
  return source;
}

const Row = {
  id: "row",
  title: "One row",
  steps: null, // The OneRow.
  text: EXAMPLE, // In the example: names with their pets, and who is asked for;
  strength: STRENGTH, // how strongly.
  shown: null, // Of a model, as in Models; null in the example.

  start() {
    Row.steps = new OneRow($("row_steps"));
    Row.steps.back.parentNode.before($("row_size"));
    $("row_names").onclick = ({ target }) => {
      const asked = target.closest("[data-ask]"); // Where a browser translates, there are elements in a button.
      if (asked) {
        Row.change({ text: [...Row.text.slice(0, -1), asked.dataset.ask] });
      }
    };
    $("row_strength").oninput = () => Row.change({ strength: Number($("row_strength").value) });
    $("row_model").onchange = () => {
      Row.take(new URLSearchParams({ row: $("row_model").value }));
      Row.begin();
      Shell.writeAddress();
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
      Shell.missing(name);
    } else if (!fits) {
      say("The address holds no text, and names no model, that this page can show.");
    }
  },

  change(changes) {
    Object.assign(Row, changes);
    Row.draw();
    Shell.writeAddress();
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
      $("row_strong").textContent = twoPlaces(strength);
      steps.show(rowOfExample(text, strength));
      return;
    }
    $("row_text").textContent = shown.model.join(shown.tokens);
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
    $("row_other").replaceChildren(`${told} `, make("a", { href: `#${address}` }, `${link} →`));
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
    $("row_which").replaceChildren(...groups);
    $("row_which").value = JSON.stringify([cell.id, cell.head, cell.row]);
  },
};
