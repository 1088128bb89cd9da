// Heatmaps: a row is a query, a column is a key, a cell is an attention weight

import { largest, range } from "./arrays.js";
import { visible } from "./models.js";
import { make, share, write } from "./page.js";

// Matplotlib's "Oranges", from no weight to all of it: orange is weight, here as in the lines.
const ORANGES = ["fff5eb", "fee6ce", "fdd0a2", "fdae6b", "fd8d3c", "f16913", "d94801", "a63603", "7f2704"];
const WHITE_FROM = 0.77; // On darker colours, one reads white better than black.

function colourAt(place) { // Return [red, green, blue] at a place from 0 to 1 of the scale of colours.
  const position = Math.min(Math.max(place, 0), 1) * (ORANGES.length - 1);
  const lower = ORANGES[Math.floor(position)];
  const upper = ORANGES[Math.ceil(position)];
  return [0, 2, 4].map((start) => {
    const from = parseInt(lower.slice(start, start + 2), 16);
    const to = parseInt(upper.slice(start, start + 2), 16);
    return Math.round(from + (to - from) * (position % 1));
  });
}

// One scale for all weights of the page: the same colour is the same weight everywhere. The root tells small weights
// apart; with this one, equal weights of ten letters are light, and a letter's third of a row is not yet dark.
function placeOnScale(weight) {
  return Math.sqrt(weight);
}

export function drawScale() { // Return what tells which colour is which weight.
  const stops = range(21).map((index) => `rgb(${colourAt(index / 20)})`);
  const colours = make("div", { className: "colours" });
  colours.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
  const ends = [0, 0.05, 0.2, 0.5, 1].map((weight) => {
    const mark = make("small", {}, weight % 1 ? share(weight) : String(weight));
    mark.style.left = `${100 * placeOnScale(weight)}%`;
    return mark;
  });
  return [colours, make("p", { className: "ends", "aria-hidden": "true" }, ...ends)];
}

export class Heatmap {
  // `rows` and `columns` are their names; `letters`, what stands before each row where the name is too long;
  // `place`, what the cells have in common; with `answers`, each row ends in an answer.
  constructor({ title, rows, columns, letters = rows, place = {}, answers = false }) {
    Object.assign(this, { rows, columns });
    this.cells = rows.map((_, row) => columns.map((__, column) => {
      const cell = make("td", { className: "cell" });
      cell.place = { ...place, row, column };
      return cell;
    }));
    this.answers = rows.map(() => make("td", { className: "answer" }));
    const spoken = (sign) => (sign === "␣" ? { "aria-label": "blank" } : {});
    this.heads = columns.map((name) => make("th", { scope: "col", ...spoken(name) }, make("span", {}, name)));
    this.names = letters.map((letter, row) => make("th", { scope: "row", "aria-label": rows[row] }, letter));
    const last = answers ? [make("th", { scope: "col", className: "answer" }, "answer")] : [];
    const lines = rows.map((_, row) =>
      make("tr", {}, this.names[row], ...this.cells[row], ...(answers ? [this.answers[row]] : [])));
    this.table = make("table", {}, make("tr", {}, make("td", {}), ...this.heads, ...last), ...lines);
    this.table.setAttribute("aria-label", `${title}: attention weights, each row adds up to 1`);
  }

  paint(weights, allowed = () => true) { // Give each cell its number, its colour, and black or white to write with.
    weights.forEach((row, number) => row.forEach((weight, column) => {
      const cell = this.cells[number][column];
      if (allowed(number, column)) { // The others stay empty, and hatched.
        const place = placeOnScale(weight);
        write(cell, share(weight));
        cell.style.backgroundColor = `rgb(${colourAt(place)})`;
        cell.style.color = place > WHITE_FROM ? "#fff" : "#000";
      }
    }));
  }
}

// A small heatmap of a model that counts letters. At the end of each row stands the answer: "hidden", "said", or
// "judged" as right or wrong.
export function countingMap(title, model, tokens) {
  return new Heatmap({ title, rows: model.outputs(tokens), columns: tokens.map(visible),
    letters: [...model.letters].slice(1), answers: true });
}

export function paintCounting(map, model, tokens, answers) {
  const { chances, seen } = model.run(tokens);
  map.paint(seen.attention.heads[0].weights);
  const right = model.answers(tokens);
  map.answers.forEach((cell, row) => {
    const answer = model.classes[largest(chances[row])];
    if (answers === "hidden") {
      write(cell, "?");
      return;
    }
    const parts = [make("b", {}, answer)];
    if (answers === "judged") { // The sign is enough: there is little room.
      const good = answer === right[row];
      const instead = good ? [] : [make("span", { className: "instead" }, ` ${right[row]}`)];
      parts.push(" ", make("span", { className: good ? "right" : "wrong" }, good ? "✓" : "✗",
        make("span", { className: "hidden" }, good ? " right" : " should be "), ...instead));
    }
    write(cell, ...parts);
  });
}
