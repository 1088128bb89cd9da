// What is shown of a model, in an address: model=counting&letters=AB&attention=2&move=attention,0,1,3,5
// `attention=2` is a slider; a move is an attention, a head, a row, and from where to where in it its weight goes.

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

// Return what the words say of a model of the library: { name, model, tokens, factors, moves, cell, wrong }. What
// does not fit is replaced by what is usual, and `wrong` says so.
export function readShown(words, name) {
  const { model } = library[name];
  const asked = words.has("letters") ? model.split(words.get("letters")) : usual(model);
  const problem = model.problem(asked);
  const tokens = problem ? usual(model) : asked;
  const wrong = problem ? [problem] : [];
  const { seen } = model.run(tokens);
  const isCell = (id, head, row, ...columns) => {
    const found = has(seen, id) && has(seen[id].heads, head) ? seen[id].heads[head] : null;
    return found !== null && has(found.weights, row) && columns.every((column) =>
      has(found.weights[row], column) && found.allowed(Number(row), Number(column)));
  };
  const factors = {};
  const moves = [];
  let cell = null;
  for (const [key, text] of words) {
    const [id, ...numbers] = text.split(",");
    const [head, row, column, to] = numbers.map(Number);
    if (key === "cell" && numbers.length === 3 && isCell(id, ...numbers)) {
      cell = { id, head, row, column };
    } else if (key === "move" && numbers.length === 4 && isCell(id, ...numbers)) {
      moves.push({ id, head, row, from: column, to });
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
  const parts = new URLSearchParams({ [view]: name, letters, ...factors });
  for (const { id, head, row, from, to } of moves) {
    parts.append("move", [id, head, row, from, to]);
  }
  if (cell) {
    parts.append("cell", [cell.id, cell.head, cell.row, cell.column]);
  }
  return String(parts).replace(/%2F/g, "/").replace(/%2C/g, ",");
}
