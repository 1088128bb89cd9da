"use strict";

// Random sequences, and measuring in slices, so that the page never stands still

function dice(seed) { // Return a function that rolls a whole number from 0 to below sides.
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // The generator of Numerical Recipes, 7.1.
    return Math.floor((state / 2 ** 32) * sides);
  };
}

function anySeed() {
  return Math.floor(Math.random() * 2 ** 32);
}

function usual(model) { // Return the sequence of the task's page where it fits, else a random one.
  const fits = model.usual.length === model.length && model.problem(model.usual) === "";
  return fits ? model.usual : model.draw(dice(3), Math.min(model.length, 100));
}

function ownWeight(tokens, own, weights) {
  return sum(weights.filter((_, index) => tokens[index] === own));
}

function* measureRuler(model) { // Return each output step's mean weight on its own letter, for each count.
  const roll = dice(2);
  const samples = 100;
  const ruler = model.outputs().map(() => model.classes.map(() => 0));
  for (const step of range(ruler.length)) {
    const own = model.letters[step + 1];
    const others = model.letters.replace(own, "");
    for (const count of model.classes) {
      for (let drawn = 0; drawn < samples; drawn++) {
        const rest = range(model.length - count).map(() => others[roll(others.length)]);
        const tokens = [...Array(count).fill(own), ...rest];
        const weights = model.run(tokens).seen.attention.heads[0].weights[step];
        ruler[step][count] += ownWeight(tokens, own, weights) / samples;
        yield;
      }
    }
  }
  return ruler;
}

function* measureRight(model, length, factors) { // Return how many of 1,000 random sequences are right.
  const roll = dice(1);
  let right = 0;
  for (let drawn = 0; drawn < 1000; drawn++) {
    const tokens = model.draw(roll, length);
    right += model.isRight(tokens, model.run(tokens, factors).chances) ? 1 : 0;
    yield;
  }
  return right;
}

function inSlices(task, milliseconds, done) { // Work on a generator; return a function that stops it.
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
