// A row as OneRow shows it, and what is said at each of its steps

import { largest, range } from "./arrays.js";
import { has } from "./refusing.js";
import { FIXED } from "./models.js";
import { computeRow } from "./row.js";
import { axesOf, ownersIn } from "./attentions.js";
import { share, short, twoPlaces } from "./page.js";
import { sameRow } from "./hand.js";

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
export function rowOfExample(text, strength) {
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
  const part = mean[pets.indexOf(pet)];
  const larger = part < 0.9 ? ` With a larger query, it would be nearly all ${pet}.` : "";
  source.told = sentences(
    `${asked}’s pet? Each row is a pet: its key says whose it is, its value which.`,
    `Compare: multiply query and key, place by place, and add up. Only ${asked}’s key has its 1 where the query ` +
      `has ${twoPlaces(strength)}.`,
    `Scale: divide by √${owners.length}, because there are ${owners.length} numbers.`,
    total, `${share(part)} of it is ${pet}.${larger}`);
  return source;
}

export function rowOfModel({ model, tokens, moves, seen, cell }) { // Return a row of a model as OneRow shows it.
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
