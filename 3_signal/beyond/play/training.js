// Training Task 1: the model's own forward pass, its gradients backward, a step of Adam

import { addScaled, dot, mean, range, sum, transpose } from "./arrays.js";
import { CountingLetters, normalize } from "./models.js";
import { dice, measureRight, ownWeight } from "./measuring.js";
import { SETTINGS } from "./reader.js";

export const STEPS = 2000;
const BATCH = 100;
const RATE = 0.01;

function glorot(rows, columns, random) { // As Keras draws the first weights of a dense layer.
  const limit = Math.sqrt(6 / (rows + columns));
  return range(rows).map(() => range(columns).map(() => limit * (2 * random() - 1)));
}

function filled(rows, columns, number) {
  return range(rows).map(() => Array(columns).fill(number));
}

export class Training {
  constructor(factor, seed) { // The factor multiplies the scores: 1 to learn weights, 0 for equal ones.
    const settings = { ...SETTINGS["Counting Letters"] };
    const { max_len: length, vocab_size: letters, hidden } = settings;
    this.roll = dice(seed);
    const random = () => this.roll(2 ** 24) / 2 ** 24;
    this.step = 0;
    this.weights = {
      query: filled(letters, hidden, 0),
      "key_layer/kernel": glorot(letters + 1, hidden, random),
      "key_layer/bias": filled(1, hidden, 0),
      "attention/layer_norm/gamma": filled(1, hidden, 1),
      "attention/layer_norm/beta": filled(1, hidden, 0),
      "logits_layer/kernel": glorot(hidden, length + 1, random),
      "logits_layer/bias": filled(1, length + 1, 0),
    };
    this.means = this.zeros(); // Adam's running means of the gradients,
    this.squares = this.zeros(); // and of their squares.
    const arrays = {};
    for (const [name, rows] of Object.entries(this.weights)) {
      arrays[name] = { shape: rows.length === 1 ? [rows[0].length] : [rows.length, rows[0].length], rows };
    }
    arrays.query.shape = [1, letters, hidden];
    this.model = new CountingLetters(settings, arrays); // It holds the very same arrays, so it learns, too.
    this.model.task = "Counting Letters";
    this.model.trainedFactor = factor;
  }

  zeros() {
    return Object.fromEntries(Object.entries(this.weights).map(([name, rows]) =>
      [name, filled(rows.length, rows[0].length, 0)]));
  }

  gradients(batch) { // Return the loss of a batch of texts, and its gradient with respect to each array.
    const { model, weights } = this;
    const letters = [...model.letters];
    const found = this.zeros();
    const part = {
      share: 1 / (batch.length * weights.query.length), // The loss is a mean over all output steps.
      letters,
      keys: model.dense("key_layer", model.oneHot(letters), model.settings.hidden), // Of each letter, also its value.
      columns: transpose(weights["logits_layer/kernel"]),
      kernels: transpose(found["logits_layer/kernel"]),
      scores: weights.query.map(() => letters.map(() => 0)), // Gradients, of each output step and letter.
    };
    const times = new Map(); // Without positions, texts of the same letters are the same text: each is computed once.
    for (const tokens of batch) {
      const text = [...tokens].sort().join("");
      times.set(text, (times.get(text) || 0) + 1);
    }
    const loss = sum([...times].map(([text, count]) => this.backward([...text], part.share * count, part, found)));
    const scale = model.trainedFactor / Math.sqrt(model.settings.hidden);
    part.scores.forEach((row, step) => row.forEach((gradient, letter) => { // Through query · key / √hidden.
      addScaled(found.query[step], scale * gradient, part.keys[letter]);
      addScaled(found["key_layer/kernel"][letter], scale * gradient, weights.query[step]);
    }));
    for (const key of found["key_layer/kernel"]) { // One-hot inputs: a letter's key is its row, plus the bias.
      addScaled(found["key_layer/bias"][0], 1, key);
    }
    found["logits_layer/kernel"] = transpose(part.kernels);
    return { loss, gradients: found };
  }

  // Add a text's gradients, and return its loss.
  backward(tokens, share, { letters, keys, columns, kernels, scores }, found) {
    const { chances, seen: { attention } } = this.model.run(tokens);
    const answers = this.model.answers(tokens);
    let loss = 0;
    chances.forEach((row, step) => {
      loss -= share * Math.log(row[answers[step]]);
      // The last dense layer: the gradient of a cross-entropy is the chances less the right answer.
      const output = attention.output[step].map(() => 0);
      for (let count = 0; count < row.length; count++) {
        const error = share * (row[count] - (count === answers[step] ? 1 : 0));
        found["logits_layer/bias"][0][count] += error;
        addScaled(kernels[count], error, attention.output[step]);
        addScaled(output, error, columns[count]);
      }
      const sums = this.backThroughLayerNorm(output, normalize(attention.sums[step]), found);
      // The residual connection gives the same gradient to the query and to the weighted mean.
      addScaled(found.query[step], 1, sums);
      const weights = letters.map((letter) => ownWeight(tokens, letter, attention.heads[0].weights[step]));
      const byWeight = keys.map((key) => dot(sums, key));
      const middle = dot(weights, byWeight);
      weights.forEach((weight, letter) => {
        addScaled(found["key_layer/kernel"][letter], weight, sums); // As a value.
        scores[step][letter] += weight * (byWeight[letter] - middle); // Through the softmax.
      });
    });
    return loss;
  }

  backThroughLayerNorm(output, { vector, deviation }, found) { // Return the gradient with respect to its input.
    const gamma = this.weights["attention/layer_norm/gamma"][0];
    const byGamma = found["attention/layer_norm/gamma"][0];
    const scaled = output.slice();
    for (let index = 0; index < output.length; index++) {
      byGamma[index] += output[index] * vector[index];
      scaled[index] *= gamma[index];
    }
    addScaled(found["attention/layer_norm/beta"][0], 1, output);
    // The mean and the deviation were made of all the numbers, so both pass it on.
    const middle = mean(scaled);
    const along = dot(scaled, vector) / vector.length;
    for (let index = 0; index < scaled.length; index++) {
      scaled[index] = (scaled[index] - middle - along * vector[index]) / deviation;
    }
    return scaled;
  }

  adam(gradients) { // Kingma and Ba (2015), with Keras's numbers.
    this.step += 1;
    const rate = (RATE * Math.sqrt(1 - 0.999 ** this.step)) / (1 - 0.9 ** this.step);
    for (const name of Object.keys(this.weights)) {
      this.weights[name].forEach((weights, row) => {
        const [means, squares, gradient] = [this.means, this.squares, gradients].map((of) => of[name][row]);
        for (let index = 0; index < weights.length; index++) {
          means[index] += (1 - 0.9) * (gradient[index] - means[index]);
          squares[index] += (1 - 0.999) * (gradient[index] ** 2 - squares[index]);
          weights[index] -= (rate * means[index]) / (Math.sqrt(squares[index]) + 1e-7);
        }
      });
    }
  }

  right() { // Return how many of 1,000 random sequences are right.
    const measuring = measureRight(this.model, this.model.length, {});
    let step = measuring.next();
    while (!step.done) {
      step = measuring.next();
    }
    return step.value;
  }

  *run(report) {
    while (this.step < STEPS) {
      const batch = range(BATCH).map(() => this.model.sample(this.roll));
      const { loss, gradients } = this.gradients(batch);
      this.adam(gradients);
      if (this.step % 50 === 0 || this.step === 1) {
        report(this.step, loss);
      }
      yield;
    }
  }
}
