// Random sequences, and measuring in slices, so that the page never stands still

import { sum } from "./arrays.js";

export function dice(seed) { // Return a function that rolls a whole number from 0 to below sides.
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // The generator of Numerical Recipes, 7.1.
    return Math.floor((state / 2 ** 32) * sides);
  };
}

export function anySeed() {
  return Math.floor(Math.random() * 2 ** 32);
}

export function usual(model) { // Return the sequence of the task's page where it fits, else a random one.
  const fits = model.example.length === model.length && model.problem(model.example) === "";
  return fits ? model.example : model.sample(dice(3), Math.min(model.length, 100));
}

export function ownWeight(tokens, own, weights) { // Return how much of the weight a letter gets.
  return sum(weights.filter((_, index) => tokens[index] === own));
}

export function* measureRight(model, length, factors) { // Return how many of 1,000 random sequences are right.
  const roll = dice(1);
  let right = 0;
  for (let number = 0; number < 1000; number++) {
    const tokens = model.sample(roll, length);
    right += model.isRight(tokens, model.run(tokens, factors).chances) ? 1 : 0;
    yield;
  }
  return right;
}

export function inSlices(task, milliseconds, done) { // Work on a generator; return a function that stops it.
  let stopped = false;
  function slice() { // A tab in the background is seldom given a turn, so there a turn is long.
    const end = performance.now() + (document.hidden ? 900 : milliseconds);
    while (!stopped && performance.now() < end) {
      const step = task.next();
      if (step.done) {
        done(step.value);
        return;
      }
    }
    if (!stopped) {
      setTimeout(slice, 0);
    }
  }
  setTimeout(slice, 0);
  return () => {
    stopped = true;
  };
}
