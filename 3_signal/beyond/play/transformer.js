// The transformer, as in transformer.py, for one text

import { NAMES, PETS } from "./words.js";
import { add, addVectors, largest, matmul, range, relu } from "./arrays.js";
import { refuse } from "./refusing.js";
import { Model, named } from "./models.js";

export class Transformer extends Model {
  get program() {
    return "transformer.py";
  }

  get classes() { // The words that it knows: any of them may come next.
    const number = 2 * this.settings.pairs;
    return [...NAMES.slice(0, number), ...PETS.slice(0, number)];
  }

  get length() { // A text with all its pairs and the first question.
    return 2 * this.settings.pairs + 1;
  }

  get example() {
    return "Dan hen Anna dog Ben cat Cleo owl Ben".split(" "); // With equal weights it guesses, and wrongly.
  }

  get known() {
    return this.classes.join(" ");
  }

  get layerNames() { // The names of its attentions, from the first layer to the last.
    return range(this.settings.layers).map((layer) => `block_${layer + 1}/attention`);
  }

  outputs(tokens) {
    return tokens.map((token) => `after ${token}`);
  }

  // Return the pet that is right after each question, a name that comes again; elsewhere null.
  answers(tokens) {
    return tokens.map((token, place) => {
      const first = tokens.indexOf(token);
      const asked = place % 2 === 0 && first % 2 === 0 && first < place;
      return asked ? tokens[first + 1] : null;
    });
  }

  answered(tokens) { // The questions and the end: that is where one wants to know what comes next.
    const answers = this.answers(tokens);
    return range(tokens.length).filter((place) => answers[place] !== null || place === tokens.length - 1);
  }

  split(text) {
    const words = text.split(/\s+/).filter((word) => word !== "");
    const tokens = words.map((word) => this.classes.find((one) => one.toLowerCase() === word.toLowerCase()) ||
      word);
    const last = tokens.length ? tokens[tokens.length - 1] : "";
    const begun = this.classes.some((one) => one.toLowerCase().startsWith(last.toLowerCase()));
    if (tokens.length > 1 && !this.classes.includes(last) && begun && /\w$/.test(text)) {
      tokens.pop(); // It is still being typed.
    }
    return tokens;
  }

  join(tokens) {
    return tokens.join(" ");
  }

  problem(tokens) {
    const longest = 4 * this.settings.pairs - 1;
    const strange = tokens.find((token) => !this.classes.includes(token));
    if (strange) {
      return `${[...strange].map(named).join("")} is none of the words that this model knows.`;
    }
    if (tokens.length > longest) {
      return `At most ${longest} words fit.`;
    }
    return tokens.length ? "" : "Type at least one word.";
  }

  sample(roll) { // Different names, each with any pet, and then one of the names.
    const names = this.classes.slice(0, 2 * this.settings.pairs);
    const pets = this.classes.slice(2 * this.settings.pairs);
    const text = [];
    for (let pair = 0; pair < this.settings.pairs; pair++) {
      text.push(names.splice(roll(names.length), 1)[0], pets[roll(pets.length)]);
    }
    return [...text, text[2 * roll(this.settings.pairs)]];
  }

  isRight(tokens, chances) { // Only the question at the end counts.
    const last = tokens.length - 1;
    return this.classes[largest(chances[last])] === this.answers(tokens)[last];
  }

  describe() {
    const pairs = this.settings.pairs === 1 ? "1 pair" : `${this.settings.pairs} pairs`;
    return `new texts of ${pairs}, at their first question`;
  }

  selfAttention(pass, name, vectors, before) {
    const hidden = this.settings.hidden;
    const depth = hidden / this.settings.heads;
    refuse(depth % 1 !== 0, `${hidden} numbers cannot be divided among ${this.settings.heads} heads`, this.program);
    const queries = matmul(vectors, this.array(`${name}/W_Q`, hidden, hidden));
    const keys = matmul(vectors, this.array(`${name}/W_K`, hidden, hidden));
    const values = matmul(vectors, this.array(`${name}/W_V`, hidden, hidden));
    // The mask: a word attends to itself and to those before it.
    const noLater = (row, column) => column <= row;
    const heads = range(this.settings.heads).map((number) => {
      const part = (matrix) => matrix.map((row) => row.slice(number * depth, (number + 1) * depth));
      return this.head(pass, name, part(queries), part(keys), part(values), noLater);
    });
    const contexts = vectors.map((_, row) => heads.map((head) => head.context[row]).flat()); // Side by side.
    const found = matmul(contexts, this.array(`${name}/W_O`, hidden, hidden));
    const sums = add(before, found);
    pass.seen[name] = { factor: this.factor(pass, name), heads, found, residual: before, sums };
    return sums;
  }

  logits(pass, tokens) {
    const hidden = this.settings.hidden;
    const words = this.classes;
    const embeddings = this.array("embedding/embeddings", words.length, hidden);
    const positions = this.array("positions", 1, 4 * this.settings.pairs - 1, hidden);
    let vectors = tokens.map((token, place) => addVectors(embeddings[words.indexOf(token)],
      positions[place]));
    for (let layer = 1; layer <= this.settings.layers; layer++) {
      const name = `block_${layer}`;
      vectors = this.selfAttention(pass, `${name}/attention`, this.layerNorm(`${name}/norm_1`, vectors), vectors);
      const expanded = relu(this.dense(`${name}/expand`, this.layerNorm(`${name}/norm_2`, vectors),
        2 * hidden));
      vectors = add(vectors, this.dense(`${name}/contract`, expanded, hidden));
    }
    return this.dense("logits_layer", this.layerNorm("norm", vectors), words.length);
  }
}
