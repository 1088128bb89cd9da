// One row of attention: one query, its keys and values

import { softmax, sum, transpose } from "./arrays.js";

// Return what a row computes, from its query (depth) to the weighted mean. Where scores are given, nothing is
// compared; where weights are, they are those that softmax gave, moved by hand.
export function computeRow({ query, keys, values, factor = 1, scores = null, weights = null }) {
  const products = scores ? null : keys.map((key) => key.map((number, index) => number * query[index]));
  const dots = products ? products.map(sum) : scores;
  const scaled = scores || dots.map((product) => product / Math.sqrt(query.length));
  const multiplied = scaled.map((score) => factor * score);
  const exponentials = multiplied.map(Math.exp);
  const computed = softmax(multiplied);
  const given = weights || computed;
  const parts = values.map((value, place) => value.map((number) => given[place] * number));
  return {
    products, dots, scaled, multiplied, exponentials, computed, parts, weights: given,
    total: sum(exponentials), mean: transpose(parts).map(sum),
  };
}
