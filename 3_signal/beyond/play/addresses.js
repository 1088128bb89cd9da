// What is shown of a model, in an address: model=counting&letters=AB&attention=2&move=attention,1,3,5
// `attention=2` is a slider; a move is an attention, a row, and from where to where in it its weight goes; `mark=5` has
// exchanged the positional vectors of the steps 0 and 5.

import { has } from "./refusing.js";
import { usual } from "./measuring.js";
import { library } from "./library.js";

export function wordsOf(hash) { // Return the words of an address, also of one that was encoded once too often.
  let text = hash.replace(/^#/, "");
  try {
    text = text.includes("=") ? text : decodeURIComponent(text);
  } catch (error) {
    return new URLSearchParams();
  }
  return new URLSearchParams(text.replace(/%2B/gi, "+")); // A blank; "+" is no letter.
}

export function readable(parts) { // Return URLSearchParams as a text.
  return String(parts).replace(/%2F/g, "/").replace(/%2C/g, ",");
}

function isCell(seen, id, head, row, ...columns) {
  const found = has(seen, id) && has(seen[id].heads, head) ? seen[id].heads[head] : null;
  return found !== null && has(found.weights, row) && columns.every((column) =>
    has(found.weights[row], column) && found.allowed(Number(row), Number(column)));
}

// Return the move that a text is, { id, row, from, to }, or null where there is none such. Older addresses have a head
// before the row, or in Ask nothing but `from-to`, in the row that is given.
export function readMove(text, seen, { id: asking, row: last } = {}) {
  const [id, ...numbers] = text.replace(/^(\d+)-(\d+)$/, `${asking},${last},$1,$2`).split(",");
  const [row, from, to] = numbers.slice(-3);
  const fits = [3, 4].includes(numbers.length) && from !== to && isCell(seen, id, 0, row, from, to);
  return fits ? { id, row: Number(row), from: Number(from), to: Number(to) } : null;
}

export function writeMove({ id, row, from, to }) {
  return [id, row, from, to].join(",");
}

// Return what the words say of a model of the library: { name, model, tokens, factors, moves, cell, wrong }. What
// does not fit is replaced by what is usual, and `wrong` says so.
export function readShown(words, name) {
  let { model } = library[name];
  const asked = words.has("letters") ? model.split(words.get("letters")) : usual(model);
  const problem = model.problem(asked);
  const tokens = problem ? usual(model) : asked;
  const wrong = problem ? [problem] : [];
  const { seen } = model.run(tokens);
  const factors = {};
  const moves = [];
  let cell = null;
  for (const [key, text] of words) {
    const [id, ...numbers] = text.split(",");
    const [head, row, column] = numbers.map(Number);
    if (key === "cell" && numbers.length === 3 && isCell(seen, id, ...numbers)) {
      cell = { id, head, row, column };
    } else if (key === "move" && readMove(text, seen)) {
      moves.push(readMove(text, seen));
    } else if (key === "mark" && model.settings.pos_enc && has(tokens, text)) {
      model = library[name].model.marked(Number(text));
    } else if (has(seen, key) && text.trim() !== "" && Number(text) >= 0 && Number(text) <= 3) {
      factors[key] = Number(text);
    } else if (!["letters", "model", "row"].includes(key) && text !== name) {
      wrong.push(`this model has no ${key}=${text}.`);
    }
  }
  return { name, model, tokens, factors, moves, cell,
    wrong: wrong.length ? `The address cannot be followed: ${wrong[0]}` : "" };
}

export function writeShown(view, { name, model, tokens, factors, moves = [], cell = null }) { // Return an address.
  const letters = model.join(tokens).replace(/␣/g, " ");
  const parts = new URLSearchParams({ [view]: name, letters, ...(model.mark ? { mark: model.mark } : {}), ...factors });
  for (const move of moves) {
    parts.append("move", writeMove(move));
  }
  if (cell) {
    parts.append("cell", [cell.id, cell.head, cell.row, cell.column]);
  }
  return readable(parts);
}
