"use strict";

// Arrays: a vector is an array of numbers, a matrix is an array of vectors, which are its rows

function sum(vector) {
  let total = 0;
  for (let index = 0; index < vector.length; index++) {
    total += vector[index];
  }
  return total;
}

function mean(vector) {
  return sum(vector) / vector.length;
}

function largest(vector) { // Return the place of the largest number.
  let place = 0;
  for (let index = 1; index < vector.length; index++) {
    if (vector[index] > vector[place]) {
      place = index;
    }
  }
  return place;
}

function range(length) {
  return Array.from({ length }, (_, index) => index);
}

function transpose(matrix) {
  return range(matrix[0].length).map((column) => matrix.map((row) => row[column]));
}

function addVectors(left, right) {
  return left.map((number, index) => number + right[index]);
}

function add(left, right) {
  return left.map((row, index) => addVectors(row, right[index]));
}

function dot(left, right) {
  let total = 0;
  for (let index = 0; index < left.length; index++) {
    total += left[index] * right[index];
  }
  return total;
}

function addScaled(target, scale, vector) { // target += scale · vector
  for (let index = 0; index < target.length; index++) {
    target[index] += scale * vector[index];
  }
}

function matmul(left, right, bias = right[0].map(() => 0)) { // Loops, not map: a training does this very often.
  return left.map((row) => {
    const sums = bias.slice();
    for (let index = 0; index < row.length; index++) {
      if (row[index] !== 0) { // Most of a one-hot vector is 0.
        addScaled(sums, row[index], right[index]);
      }
    }
    return sums;
  });
}

function softmax(numbers) {
  const chances = numbers.slice();
  const highest = numbers[largest(numbers)]; // It cancels in the division; without it, exp could overflow.
  for (let index = 0; index < numbers.length; index++) {
    chances[index] = Math.exp(numbers[index] - highest);
  }
  const total = sum(chances);
  for (let index = 0; index < numbers.length; index++) {
    chances[index] /= total;
  }
  return chances;
}

function relu(matrix) {
  return matrix.map((row) => row.map((number) => Math.max(0, number)));
}

// The models, as in the three main.py, for one sequence

const LETTERS = " ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const EPSILON = 1e-3; // What layer normalization adds to the variance: Keras's number.

function visible(letters) {
  return letters.replace(/ /g, "␣");
}

function named(sign) { // What somebody typed, so that it is seen: a blank, or the number of an invisible sign.
  if (sign === " ") {
    return "␣";
  }
  const invisible = /^[\p{C}\p{M}\p{Z}]$/u.test(sign);
  return invisible ? `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` : sign;
}

function countOf(tokens, letter) {
  return tokens.filter((token) => token === letter).length;
}

class Model {
  constructor(settings, arrays) {
    this.settings = settings; // As in the checkpoint: max_len, vocab_size, hidden and so on.
    this.arrays = arrays; // From a name to { shape, rows }.
    this.used = new Set(); // The names of the arrays that were used.
    this.trainedAt = 1; // By what the scores were multiplied while the model was trained.
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
    this.used.add(name);
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

  attention(name, query, key, value) {
    const head = this.head(name, 0, query, key, value);
    const sums = add(head.context, query);
    const output = this.layerNorm(`${name}/layer_norm`, sums);
    this.seen[name] = { factor: this.factor(name), heads: [head], residual: query, sums, output };
    return output;
  }

  head(name, number, query, key, value, allowed = () => true) {
    const scale = Math.sqrt(key[0].length);
    const scores = query.map((one) => key.map((other) => dot(one, other) / scale));
    const weights = this.weigh(name, number, scores, allowed);
    const context = matmul(weights, value); // The weighted mean of the values.
    return { allowed, query, key, value, scores, weights, context };
  }

  factor(name) {
    return name in this.factors ? this.factors[name] : this.trainedAt;
  }

  weigh(name, number, scores, allowed) {
    const factor = this.factor(name);
    const weights = scores.map((row, step) => {
      const turned = row.map((score, column) => (allowed(step, column) ? factor * score : -Infinity));
      return softmax(turned);
    });
    for (const move of this.moves) { // By hand.
      if (move.id === name && move.head === number) {
        const row = weights[move.row];
        row[move.to] += row[move.from];
        row[move.from] = 0;
      }
    }
    return weights;
  }

  // Return the chance of each answer for each output step, and what each attention did.
  run(tokens, factors = {}, moves = []) {
    this.factors = factors;
    this.moves = moves;
    this.seen = {};
    const logits = this.call(tokens);
    return { chances: logits.map(softmax), seen: this.seen };
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

  shown(tokens) { // The output steps that the page shows.
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

  draw(roll, length = this.length) {
    return range(length).map(() => this.letters[roll(this.letters.length)]);
  }
}

function normalize(vector) { // Return the vector with mean 0 and variance 1, and what that took.
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

class CountingLetters extends Model {
  get letters() {
    return LETTERS.slice(0, this.settings.vocab_size + 1);
  }

  get length() {
    return this.settings.max_len;
  }

  get usual() {
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

  call(tokens) {
    const hidden = this.settings.hidden;
    const query = this.array("query", 1, this.outputs().length, hidden);
    const key = this.dense("key_layer", this.oneHot(tokens), hidden);
    const value = key;
    let decoding = this.attention("attention", query, key, value);
    if (this.settings.self_att) { // In Task 2.
      decoding = this.attention("self_attention", decoding, decoding, decoding);
    }
    return this.dense("logits_layer", decoding, this.settings.max_len + 1);
  }
}

const FIXED = 100; // How many times another element's weight the own letter gets.

class FixedWeights extends CountingLetters { // Its scores are not learnt, but set by hand.
  call(tokens) {
    const hidden = this.settings.hidden;
    const query = this.array("query", 1, this.outputs().length, hidden);
    const value = this.dense("key_layer", this.oneHot(tokens), hidden);
    const own = transpose(this.oneHot(tokens)).slice(1);
    const scores = own.map((row) => row.map((isOwn) => Math.log(FIXED) * isOwn));
    const allowed = () => true;
    const weights = this.weigh("attention", 0, scores, allowed);
    const context = matmul(weights, value);
    const sums = add(context, query);
    const output = this.layerNorm("layer_norm", sums);
    const heads = [{ allowed, value, scores, weights, context }];
    this.seen.attention = { factor: this.factor("attention"), heads, residual: query, sums, output };
    return this.dense("logits_layer", output, this.settings.max_len + 1);
  }
}

class Difference extends CountingLetters {
  get usual() {
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

class Signal extends Model {
  get letters() {
    return LETTERS.slice(1, this.settings.vocab_size + 1);
  }

  get length() {
    return this.settings.max_len + 1;
  }

  get usual() {
    return [..."BBABCCABCAB"];
  }

  get classes() {
    return range(this.settings.max_len + 1);
  }

  outputs(tokens) {
    return [`count of ${tokens[0]}`];
  }

  answers(tokens) {
    return [countOf(tokens, tokens[0]) - 1]; // The first letter does not count itself.
  }

  problem(tokens) {
    if (tokens.length > this.length) {
      return `At most ${this.length} letters fit.`;
    }
    return super.problem(tokens);
  }

  call(tokens) {
    const hidden = this.settings.hidden;
    let encoding = this.dense("embedding", this.oneHot(tokens), hidden);
    if (this.settings.pos_enc) {
      encoding = add(encoding, this.array("positional_encoding", 1, this.length, hidden));
    }
    for (let layer = 1; layer <= this.settings.enc_layers; layer++) {
      const name = `encoder_layer_${layer}`;
      encoding = this.attention(`${name}/attention`, encoding, encoding, encoding);
      const expanded = relu(this.dense(`${name}/expand`, encoding, 2 * hidden));
      const contracted = this.dense(`${name}/contract`, expanded, hidden);
      encoding = this.layerNorm(`${name}/layer_norm`, add(contracted, encoding));
    }
    const query = this.array("query", 1, 1, hidden);
    const decoding = this.attention("attention", query, encoding, encoding);
    return this.dense("logits_layer", decoding, this.settings.max_len + 1);
  }
}

// The transformer, as in transformer.py, for one text

const NAMES = "Anna Ben Cleo Dan Eva Finn Gus Hana Ian Jill Kai Lena Max Nora Omar Pia".split(" ");
const PETS = "dog cat owl hen pig rat frog goat fish duck crab toad newt pony lamb mole".split(" ");

class Transformer extends Model {
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

  get usual() {
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

  shown(tokens) { // The questions and the end: that is where one wants to know what comes next.
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

  draw(roll) { // Different names, each with any pet, and then one of the names.
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

  selfAttention(name, vectors, before) {
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
      return this.head(name, number, part(queries), part(keys), part(values), noLater);
    });
    const contexts = vectors.map((_, row) => heads.map((head) => head.context[row]).flat()); // Side by side.
    const found = matmul(contexts, this.array(`${name}/W_O`, hidden, hidden));
    const sums = add(before, found);
    this.seen[name] = { factor: this.factor(name), heads, found, residual: before, sums };
    return sums;
  }

  call(tokens) {
    const hidden = this.settings.hidden;
    const words = this.classes;
    const embeddings = this.array("embedding/embeddings", words.length, hidden);
    const positions = this.array("positions", 1, 4 * this.settings.pairs - 1, hidden);
    let vectors = tokens.map((token, place) => addVectors(embeddings[words.indexOf(token)],
      positions[place]));
    for (let layer = 1; layer <= this.settings.layers; layer++) {
      const name = `block_${layer}`;
      vectors = this.selfAttention(`${name}/attention`, this.layerNorm(`${name}/norm_1`, vectors), vectors);
      const expanded = relu(this.dense(`${name}/expand`, this.layerNorm(`${name}/norm_2`, vectors),
        2 * hidden));
      vectors = add(vectors, this.dense(`${name}/contract`, expanded, hidden));
    }
    return this.dense("logits_layer", this.layerNorm("norm", vectors), words.length);
  }
}
