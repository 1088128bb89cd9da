// What the attentions of a model are called, in which order they are shown, and which of their cells is shown first

import { largest } from "./arrays.js";
import { visible } from "./models.js";
import { dice } from "./measuring.js";

export function titleOf(id) {
  const layer = id.match(/\d+/);
  if (layer) {
    const what = id.startsWith("encoder") ? `Encoder layer ${layer[0]}: letters` : `Layer ${layer[0]}: words`;
    return `${what} attend to ${what.split(": ")[1]}`;
  }
  return id === "attention" ? "Attention: answers attend to letters"
    : "Self-attention: answers attend to answers";
}

export function orderOf(seen) { // Where answers attend to letters comes first.
  const names = Object.keys(seen);
  return [...names.filter((name) => name === "attention"), ...names.filter((name) => name !== "attention")];
}

export function axesOf(model, tokens, id) { // Return the names of the rows and columns of an attention.
  const read = tokens.map(visible);
  const outputs = model.outputs(tokens);
  if (id === "attention") {
    return { rows: outputs, columns: read };
  }
  return id === "self_attention" ? { rows: outputs, columns: outputs } : { rows: read, columns: read };
}

export function firstCell(model, seen) { // The heaviest cell of the row that the task's page speaks of.
  const id = Object.keys(seen).pop();
  const heads = seen[id].heads;
  const row = model.task === "Difference" || model.task === "Transformer" ? heads[0].weights.length - 1 : 0;
  const head = largest(heads.map((one) => Math.max(...one.weights[row])));
  return { id, head, row, column: largest(heads[head].weights[row]) };
}

const HEADS = new WeakMap(); // From a transformer to what the next function has found.

// Return which head of a transformer's last layer gives the right pet the most weight, and which one of its first
// layer gives each pet's owner the most: { finds, owns }.
export function headsOf(model) {
  if (HEADS.has(model)) {
    return HEADS.get(model);
  }
  const roll = dice(4);
  const names = model.layerNames;
  const count = model.settings.heads;
  const finds = Array(count).fill(0);
  const owns = Array(count).fill(0);
  for (let text = 0; text < 20; text++) {
    const tokens = model.sample(roll);
    const { seen } = model.run(tokens);
    const last = tokens.length - 1;
    const right = tokens.indexOf(tokens[last]) + 1;
    for (let head = 0; head < count; head++) {
      finds[head] += seen[names[names.length - 1]].heads[head].weights[last][right];
      for (let pet = 1; pet < last; pet += 2) {
        owns[head] += seen[names[0]].heads[head].weights[pet][pet - 1];
      }
    }
  }
  HEADS.set(model, { finds: largest(finds), owns: largest(owns) });
  return HEADS.get(model);
}

export function questionCell(model, tokens) { // Where the last word of a text looks, in the head that finds its pet.
  const id = model.layerNames[model.layerNames.length - 1];
  const head = headsOf(model).finds;
  const row = tokens.length - 1;
  return { id, head, row, column: largest(model.run(tokens).seen[id].heads[head].weights[row]) };
}

export function ownersIn(text) { // Return the names of a text of names with their pets, each once.
  return text.slice(0, -1).filter((word, place) => place % 2 === 0 && text.indexOf(word) === place);
}
