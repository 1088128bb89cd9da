// The models, as in the three main.py, for one sequence

import { add, dot, largest, matmul, mean, range, relu, softmax, transpose } from "./arrays.js";
import { refuse } from "./refusing.js";

const LETTERS = " ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const EPSILON = 1e-3; // What layer normalization adds to the variance: Keras's number.

export function visible(letters) {
  return letters.replace(/ /g, "␣");
}

export function named(sign) { // What somebody typed, so that it is seen: a blank, or the number of an invisible sign.
  if (sign === " ") {
    return "␣";
  }
  const invisible = /^[\p{C}\p{M}\p{Z}]$/u.test(sign);
  return invisible ? `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` : sign;
}

function countOf(tokens, letter) {
  return tokens.filter((token) => token === letter).length;
}

export class Model {
  constructor(settings, arrays) {
    this.settings = settings; // As in the checkpoint: max_len, vocab_size, hidden and so on.
    this.arrays = arrays; // From a name to { shape, rows }.
    this.trainedFactor = 1; // By what the scores were multiplied while the model was trained.
    this.mark = 0; // The step of the first position's vector.
  }

  get program() {
    return "main.py";
  }

  get known() {
    return [...visible(this.letters)].join(" ");
  }

  array(name, ...shape) {
    const wanted = shape.join(" × ");
    const found = this.arrays[name] ? this.arrays[name].shape.join(" × ") : "missing";
    refuse(found !== wanted, `the array ${name} is ${found}, and ${this.program} has it as ${wanted}`,
      this.program);
    return this.arrays[name].rows;
  }

  dense(name, inputs, size) {
    const kernel = this.array(`${name}/kernel`, inputs[0].length, size);
    return matmul(inputs, kernel, this.array(`${name}/bias`, size)[0]);
  }

  layerNorm(name, inputs) {
    const gamma = this.array(`${name}/gamma`, inputs[0].length)[0];
    const beta = this.array(`${name}/beta`, inputs[0].length)[0];
    return inputs.map((row) => {
      const { vector } = normalize(row);
      for (let index = 0; index < vector.length; index++) {
        vector[index] = vector[index] * gamma[index] + beta[index];
      }
      return vector;
    });
  }

  // Return the chance of each answer for each output step, and what each attention did.
  run(tokens, factors = {}, moves = []) {
    const pass = { factors, moves, seen: {} };
    return { chances: this.logits(pass, tokens).map(softmax), seen: pass.seen };
  }

  attention(pass, name, query, key, value) {
    const head = this.head(pass, name, query, key, value);
    const sums = add(head.context, query);
    const output = this.layerNorm(`${name}/layer_norm`, sums);
    pass.seen[name] = { factor: this.factor(pass, name), heads: [head], residual: query, sums, output };
    return output;
  }

  head(pass, name, query, key, value, allowed = () => true) {
    const scale = Math.sqrt(key[0].length);
    const scores = query.map((one) => key.map((other) => dot(one, other) / scale));
    const weights = this.weigh(pass, name, scores, allowed);
    const context = matmul(weights, value); // The weighted mean of the values.
    return { allowed, query, key, value, scores, weights, context };
  }

  factor({ factors }, name) {
    return name in factors ? factors[name] : this.trainedFactor;
  }

  weigh(pass, name, scores, allowed) {
    const factor = this.factor(pass, name);
    const weights = scores.map((row, step) => {
      const multiplied = row.map((score, column) => (allowed(step, column) ? factor * score : -Infinity));
      return softmax(multiplied);
    });
    for (const { id, row, from, to } of pass.moves) { // By hand, and in all heads of a layer, which share the work.
      if (id === name) {
        weights[row][to] += weights[row][from];
        weights[row][from] = 0;
      }
    }
    return weights;
  }

  oneHot(tokens) {
    return tokens.map((token) => Array.from(this.letters, (letter) => Number(letter === token)));
  }

  split(text) {
    return [...text.toUpperCase().replace(/␣/g, " ")];
  }

  join(tokens) {
    return visible(tokens.join(""));
  }

  answered(tokens) { // The output steps that the page shows.
    return range(this.outputs(tokens).length);
  }

  isRight(tokens, chances) {
    const answers = chances.map((row) => this.classes[largest(row)]);
    return String(answers) === String(this.answers(tokens));
  }

  describe(length) {
    return `random sequences of length ${length}`;
  }

  problem(tokens) { // Return what is wrong with letters, or "".
    const strange = tokens.find((token) => !this.letters.includes(token));
    if (strange) {
      return `${named(strange)} is none of this model's letters, ${this.known}.`;
    }
    return tokens.length ? "" : "Type at least one letter.";
  }

  sample(roll, length = this.length) {
    return range(length).map(() => this.letters[roll(this.letters.length)]);
  }
}

export function normalize(vector) { // Return the vector with mean 0 and variance 1, and what that took.
  const middle = mean(vector);
  const normalized = vector.slice();
  for (let index = 0; index < vector.length; index++) {
    normalized[index] -= middle;
  }
  const deviation = Math.sqrt(dot(normalized, normalized) / vector.length + EPSILON);
  for (let index = 0; index < vector.length; index++) {
    normalized[index] /= deviation;
  }
  return { deviation, vector: normalized };
}

export class CountingLetters extends Model {
  get letters() {
    return LETTERS.slice(0, this.settings.vocab_size + 1);
  }

  get length() {
    return this.settings.max_len;
  }

  get example() {
    return [..." BC CBBAA "];
  }

  get classes() { // What each chance is the chance of.
    return range(this.settings.max_len + 1);
  }

  outputs() {
    return [...this.letters.slice(1)].map((letter) => `count of ${letter}`);
  }

  answers(tokens) {
    return [...this.letters.slice(1)].map((letter) => countOf(tokens, letter));
  }

  logits(pass, tokens) {
    const hidden = this.settings.hidden;
    const query = this.array("query", 1, this.outputs().length, hidden);
    const key = this.dense("key_layer", this.oneHot(tokens), hidden);
    const value = key;
    let decoding = this.attention(pass, "attention", query, key, value);
    if (this.settings.self_att) { // In Task 2.
      decoding = this.attention(pass, "self_attention", decoding, decoding, decoding);
    }
    return this.dense("logits_layer", decoding, this.settings.max_len + 1);
  }
}

export const FIXED = 100; // How many times another element's weight the own letter gets.

export class FixedWeights extends CountingLetters { // Its scores are not learnt, but set by hand.
  logits(pass, tokens) {
    const hidden = this.settings.hidden;
    const query = this.array("query", 1, this.outputs().length, hidden);
    const value = this.dense("key_layer", this.oneHot(tokens), hidden);
    const own = transpose(this.oneHot(tokens)).slice(1);
    const scores = own.map((row) => row.map((isOwn) => Math.log(FIXED) * isOwn));
    const allowed = () => true;
    const weights = this.weigh(pass, "attention", scores, allowed);
    const context = matmul(weights, value);
    const sums = add(context, query);
    const output = this.layerNorm("layer_norm", sums);
    const heads = [{ allowed, value, scores, weights, context }];
    pass.seen.attention = { factor: this.factor(pass, "attention"), heads, residual: query, sums, output };
    return this.dense("logits_layer", output, this.settings.max_len + 1);
  }
}

export class Difference extends CountingLetters {
  get example() {
    return [..."ABB CBACBC"];
  }

  outputs() {
    return [...super.outputs(), "|A − B|"];
  }

  answers(tokens) {
    const counts = super.answers(tokens);
    return [...counts, Math.abs(counts[0] - counts[1])];
  }
}

export class Signal extends Model {
  get letters() {
    return LETTERS.slice(1, this.settings.vocab_size + 1);
  }

  get length() {
    return this.settings.max_len + 1;
  }

  get example() {
    return [..."BBABCCABCAB"];
  }

  get classes() {
    return range(this.settings.max_len + 1);
  }

  marked(step) { // Return the same model, but the first position's vector has changed places with another one.
    if (!step) {
      return this;
    }
    const { shape, rows: [...rows] } = this.arrays.positional_encoding;
    [rows[0], rows[step]] = [rows[step], rows[0]];
    const arrays = { ...this.arrays, positional_encoding: { shape, rows } };
    return Object.assign(Object.create(this), { arrays, mark: step });
  }

  outputs(tokens) {
    return [`count of ${tokens[this.mark]}`];
  }

  answers(tokens) {
    return [countOf(tokens, tokens[this.mark]) - 1]; // The letter that is counted does not count itself.
  }

  describe(length) {
    return super.describe(length) + (this.mark ? `, their signal at step ${this.mark}` : "");
  }

  problem(tokens) {
    if (tokens.length > this.length) {
      return `At most ${this.length} letters fit.`;
    }
    return super.problem(tokens);
  }

  logits(pass, tokens) {
    const hidden = this.settings.hidden;
    let encoding = this.dense("embedding", this.oneHot(tokens), hidden);
    if (this.settings.pos_enc) {
      encoding = add(encoding, this.array("positional_encoding", 1, this.length, hidden));
    }
    for (let layer = 1; layer <= this.settings.enc_layers; layer++) {
      const name = `encoder_layer_${layer}`;
      encoding = this.attention(pass, `${name}/attention`, encoding, encoding, encoding);
      const expanded = relu(this.dense(`${name}/expand`, encoding, 2 * hidden));
      const contracted = this.dense(`${name}/contract`, expanded, hidden);
      encoding = this.layerNorm(`${name}/layer_norm`, add(contracted, encoding));
    }
    const query = this.array("query", 1, 1, hidden);
    const decoding = this.attention(pass, "attention", query, encoding, encoding);
    return this.dense("logits_layer", decoding, this.settings.max_len + 1);
  }
}
