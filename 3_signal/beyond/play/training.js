"use strict";

// Training Task 1: the model forward, its gradients backward, a step of Adam
// Loops, not map, in what is done six hundred thousand times.

const STEPS = 2000;
const BATCH = 100;
const RATE = 0.01;

function glorot(rows, columns, random) { // As Keras draws the first weights of a dense layer.
  const limit = Math.sqrt(6 / (rows + columns));
  return range(rows).map(() => range(columns).map(() => limit * (2 * random() - 1)));
}

function filled(rows, columns, number) {
  return range(rows).map(() => Array(columns).fill(number));
}

function addScaled(target, scale, vector) { // target += scale · vector
  for (let index = 0; index < target.length; index++) {
    target[index] += scale * vector[index];
  }
}

class Training {
  constructor(factor, seed) { // The factor multiplies the logits: 1 to learn weights, 0 for equal ones.
    const settings = { max_len: 10, vocab_size: 3, hidden: 64 };
    const roll = dice(seed);
    const random = () => roll(2 ** 24) / 2 ** 24;
    this.factor = factor;
    this.roll = roll;
    this.step = 0;
    this.weights = {
      query: filled(3, 64, 0),
      "key_layer/kernel": glorot(4, 64, random),
      "key_layer/bias": filled(1, 64, 0),
      "attention/layer_norm/gamma": filled(1, 64, 1),
      "attention/layer_norm/beta": filled(1, 64, 0),
      "logits_layer/kernel": glorot(64, 11, random),
      "logits_layer/bias": filled(1, 11, 0),
    };
    this.means = this.zeros(); // Adam's running means of the gradients,
    this.squares = this.zeros(); // and of their squares.
    const arrays = {};
    for (const name of Object.keys(this.weights)) {
      const rows = this.weights[name];
      arrays[name] = { shape: rows.length === 1 ? [rows[0].length] : [rows.length, rows[0].length], rows };
    }
    arrays.query.shape = [1, 3, 64];
    this.model = new CountingLetters(settings, arrays); // It holds the very same arrays, so it learns, too.
    this.model.task = "Counting Letters";
    this.model.trainedAt = factor;
  }

  zeros() {
    const copy = {};
    for (const name of Object.keys(this.weights)) {
      copy[name] = this.weights[name].map((row) => row.map(() => 0));
    }
    return copy;
  }

  draw() { // Equal letters have equal keys and weights, so all that matters is how often each one occurs.
    const counts = [0, 0, 0, 0]; // Of ␣, A, B, C.
    for (let place = 0; place < 10; place++) {
      counts[this.roll(4)] += 1;
    }
    return counts;
  }

  prepare() { // What is the same for all sequences: the key of each letter, and the logits of each row.
    const bias = this.weights["key_layer/bias"][0];
    this.keys = this.weights["key_layer/kernel"].map((row) => addVectors(row, bias)); // (4, 64)
    const products = matmul(this.weights.query, transpose(this.keys)); // (3, 4)
    this.logits = products.map((row) => row.map((product) => (this.factor * product) / Math.sqrt(64)));
    this.columns = transpose(this.weights["logits_layer/kernel"]); // (11, 64)
  }

  forward(counts, step) { // Return what one output step makes of one sequence.
    const weights = Array(4).fill(0); // Of all 'A's together, and so on.
    for (let letter = 0; letter < 4; letter++) {
      weights[letter] = counts[letter] * Math.exp(this.logits[step][letter]);
    }
    const total = sum(weights);
    const sums = this.weights.query[step].slice();
    for (let letter = 0; letter < 4; letter++) {
      weights[letter] /= total;
      addScaled(sums, weights[letter], this.keys[letter]);
    }
    const normalized = normalize(sums);
    const gamma = this.weights["attention/layer_norm/gamma"][0];
    const output = this.weights["attention/layer_norm/beta"][0].slice();
    for (let index = 0; index < 64; index++) {
      output[index] += normalized.vector[index] * gamma[index];
    }
    const logits = this.weights["logits_layer/bias"][0].slice();
    for (let count = 0; count < 11; count++) {
      logits[count] += dot(output, this.columns[count]);
    }
    return { weights, normalized, output, chances: softmax(logits) };
  }

  gradients(batch) { // Return the loss of a batch, and its gradient with respect to each array.
    this.prepare();
    const found = this.zeros();
    const kernels = filled(11, 64, 0); // Of the last layer, transposed.
    const keys = filled(4, 64, 0);
    const logits = filled(3, 4, 0);
    const share = 1 / (batch.length * 3); // The loss is a mean over all output steps.
    let loss = 0;
    for (const counts of batch) {
      for (let step = 0; step < 3; step++) {
        const seen = this.forward(counts, step);
        const answer = counts[step + 1];
        loss -= share * Math.log(seen.chances[answer]);
        // The last dense layer: the gradient of a cross-entropy is the chances less the right answer.
        const output = Array(64).fill(0);
        for (let count = 0; count < 11; count++) {
          const error = share * (seen.chances[count] - (count === answer ? 1 : 0));
          found["logits_layer/bias"][0][count] += error;
          addScaled(kernels[count], error, seen.output);
          addScaled(output, error, this.columns[count]);
        }
        const sums = this.backThroughLayerNorm(output, seen.normalized, found);
        // The residual connection gives the same gradient to the query and to the weighted mean.
        addScaled(found.query[step], 1, sums);
        const byWeight = Array(4).fill(0);
        for (let letter = 0; letter < 4; letter++) {
          addScaled(keys[letter], seen.weights[letter], sums); // As a value.
          byWeight[letter] = dot(sums, this.keys[letter]);
        }
        const middle = dot(seen.weights, byWeight);
        for (let letter = 0; letter < 4; letter++) { // Through the softmax.
          logits[step][letter] += seen.weights[letter] * (byWeight[letter] - middle);
        }
      }
    }
    for (let step = 0; step < 3; step++) { // Through query · key / √64.
      for (let letter = 0; letter < 4; letter++) {
        const product = (this.factor * logits[step][letter]) / Math.sqrt(64);
        addScaled(found.query[step], product, this.keys[letter]);
        addScaled(keys[letter], product, this.weights.query[step]);
      }
    }
    found["key_layer/kernel"] = keys; // The inputs are one-hot: each letter's key is a row, plus the bias.
    for (const key of keys) {
      addScaled(found["key_layer/bias"][0], 1, key);
    }
    found["logits_layer/kernel"] = transpose(kernels);
    return { loss, gradients: found };
  }

  backThroughLayerNorm(output, normalized, found) { // Return the gradient with respect to its input.
    const gamma = this.weights["attention/layer_norm/gamma"][0];
    const vector = normalized.vector;
    const byGamma = found["attention/layer_norm/gamma"][0];
    const scaled = Array(64).fill(0);
    for (let index = 0; index < 64; index++) {
      byGamma[index] += output[index] * vector[index];
      scaled[index] = output[index] * gamma[index];
    }
    addScaled(found["attention/layer_norm/beta"][0], 1, output);
    // The mean and the deviation were made of all the numbers, so both pass it on.
    const middle = mean(scaled);
    const along = dot(scaled, vector) / 64;
    for (let index = 0; index < 64; index++) {
      scaled[index] = (scaled[index] - middle - along * vector[index]) / normalized.deviation;
    }
    return scaled;
  }

  adam(gradients) { // Kingma and Ba (2015), with Keras's numbers.
    this.step += 1;
    const rate = (RATE * Math.sqrt(1 - 0.999 ** this.step)) / (1 - 0.9 ** this.step);
    for (const name of Object.keys(this.weights)) {
      for (let row = 0; row < this.weights[name].length; row++) {
        const weights = this.weights[name][row];
        const means = this.means[name][row];
        const squares = this.squares[name][row];
        const gradient = gradients[name][row];
        for (let index = 0; index < weights.length; index++) {
          means[index] += (1 - 0.9) * (gradient[index] - means[index]);
          squares[index] += (1 - 0.999) * (gradient[index] ** 2 - squares[index]);
          weights[index] -= (rate * means[index]) / (Math.sqrt(squares[index]) + 1e-7);
        }
      }
    }
  }

  right() { // Return how many of 1,000 sequences are right.
    const roll = this.roll;
    this.roll = dice(1); // The same sequences each time, and none of the training's.
    this.prepare();
    let right = 0;
    for (let drawn = 0; drawn < 1000; drawn++) {
      const counts = this.draw();
      const answers = range(3).map((step) => largest(this.forward(counts, step).chances));
      right += String(answers) === String(counts.slice(1)) ? 1 : 0;
    }
    this.roll = roll;
    return right;
  }

  *run(report) {
    while (this.step < STEPS) {
      const batch = range(BATCH).map(() => this.draw());
      const result = this.gradients(batch);
      this.adam(result.gradients);
      if (this.step % 50 === 0 || this.step === 1) {
        report(this.step, result.loss);
      }
      yield;
    }
  }
}
