// Where things are in the stage of Ask, and the lines between its words

import { range } from "./arrays.js";
import { $, makeSvg, share } from "./page.js";

export const LEAST = 0.02; // A lighter line cannot be taken.
export const FAINT = 0.25; // A lighter line of the first layer is not drawn.

function curve(from, to, middle) { // A line that leaves a word and arrives at another one at right angles.
  return `M${from} C${middle[0]} ${middle[1]} ${to}`;
}

export function remInPixels() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize);
}

// Return where things are. Along the stage goes the text, whose last word asks. Above the text are the lines of the
// last layer, below it those of the first; in a tall stage, above is at the right and below at the left.
export function measureStage() {
  const tall = $("ask_stage").classList.contains("tall");
  const box = $("ask_stage").getBoundingClientRect();
  const words = [...$("ask_words").children].map((word) => word.getBoundingClientRect());
  const rem = remInPixels();
  const along = words.map((word) =>
    (tall ? (word.top + word.bottom) / 2 - box.top : (word.left + word.right) / 2 - box.left));
  const upper = tall ? Math.max(...words.map((word) => word.right)) - box.left : words[0].top - box.top;
  const lower = tall ? words[0].left - box.left : words[0].bottom - box.top;
  const above = (place, height) => (tall ? [upper + height, place] : [place, upper - height]);
  const below = (place, height) => (tall ? [lower - height, place] : [place, lower + height]);
  const last = words.length - 1;
  const asking = along[last];
  const room = (tall ? box.width - upper : upper) - 8; // How high a line may go; a curve reaches 3/4.
  const height = (place) =>
    (room / 0.75) * (0.3 + 0.7 * Math.min(1, Math.abs(place - asking) / Math.abs(asking - along[0])));
  const deepest = ((tall ? lower : box.height - lower) - 4) / 0.75;
  const depth = (one, other) => Math.min(deepest, 1.2 * rem + 0.28 * Math.abs(one - other));
  return { tall, box, rem, along, above, below, last, asking, height, depth };
}

// Return the lines of the last layer, from its weights; one may be held, { row, to, at, remaining }: near the
// pointer, or on its way to its word.
export function lastLines(stage, weights, held, flowing) {
  const { along, above, last, asking, height, rem } = stage;
  const loop = curve(above(asking - 5, 0), above(asking + 5, 0), // The word's line to itself.
    [above(asking - 3.4 * rem, 3.6 * rem), above(asking + 3.4 * rem, 3.6 * rem)]);
  const lines = along.map((place, word) => (word === last ? loop : curve(above(asking, 0), above(place, 0),
    [above(asking, height(place)), above(place, height(place))])));
  return [...lines.map((d) => makeSvg("path", { class: "hair", d })),
    ...weights.flatMap((weight, word) => lastLine(stage, word, weight, lines[word], held, flowing))];
}

function isHeld(hand, row, to) {
  return hand !== null && hand.row === row && hand.to === to && hand.remaining > 0;
}

function follow(home, { at, remaining }) { // Return where the end of a line is that is held.
  return home.map((number, axis) => number + remaining * (at[axis] - number));
}

function placeKnob(knob, at, weight) {
  knob.style.left = `${at[0]}px`;
  knob.style.top = `${at[1]}px`;
  knob.style.setProperty("--size", 0.55 + 0.6 * weight);
}

function lastLine(stage, word, weight, path, hand, flowing) { // To one word; it has a knob.
  const { tall, along, above, last, asking, height, rem } = stage;
  const home = above(along[word] + (word === last ? 5 : 0), 0.55 * rem);
  const held = isHeld(hand, last, word);
  const at = held ? follow(home, hand) : home;
  let d = path;
  if (held) { // It follows the pointer.
    const high = height(at[tall ? 1 : 0]);
    const bend = tall ? [at[0] + 0.5 * high, at[1]] : [at[0], at[1] - 0.5 * high];
    d = curve(above(asking, 0), at, [above(asking, high), bend]);
  }
  placeKnob($("ask_knobs").children[word], at, weight);
  const thickest = word === last ? 0.4 : 2; // A thick loop would be a blot.
  const parts = [];
  if (weight > 0.005) { // Paper would show the thinnest line, too.
    parts.push(makeSvg("path", { class: "arc", d, "stroke-width": Math.min(1.15 * weight, thickest) * rem }));
  }
  if (flowing && weight > 0.045 && word !== last) { // In a thick line, or like pearls on a thin one.
    const thick = weight > 0.3;
    parts.push(makeSvg("path", { class: thick ? "flow in" : "flow", d,
      "stroke-width": (thick ? 0.45 * weight : 0.35) * rem }));
  }
  $("ask_grabs").children[word].setAttribute("d", weight > LEAST ? d : "");
  if (weight > 0.045) {
    const aside = (word === last ? 0.6 : 0) * rem; // Of the loop.
    const [x, y] = tall ? above(along[word] - 0.6 * rem - aside, 1.6 * rem + aside)
      : above(Math.max(along[word] - rem - aside, 1.3 * rem), 1.9 * rem);
    parts.push(makeSvg("text", { x, y, "text-anchor": tall ? "start" : "end" }, share(weight)));
  }
  return parts;
}

// Return the lines of the first layer, which start at pets. The one from the pet `keyed` to its owner is blue, and has
// a knob.
export function firstLines(stage, weights, keyed, owner, hand) {
  const { tall, along, below, last, depth, rem } = stage;
  const pets = range(last).filter((word) => word % 2);
  const knob = $("ask_key");
  $("ask_key_grab").setAttribute("d", "");
  return pets.flatMap((word) => weights[word].map((weight, place) => {
    if (weight < FAINT || place === word) {
      return "";
    }
    const isKey = word === keyed && place === owner;
    const held = isKey && isHeld(hand, word, place);
    const low = depth(along[word], along[place]);
    const home = below(along[place], isKey ? 0.55 * rem : 0);
    const end = held ? follow(home, hand) : below(along[place], 0);
    const bend = below(end[tall ? 1 : 0], low);
    const d = curve(below(along[word], 0), end, [below(along[word], low), bend]);
    if (isKey && !knob.hidden) {
      placeKnob(knob, held ? end : home, 0.5 * weight);
      $("ask_key_grab").setAttribute("d", d);
    }
    return makeSvg("path", { class: isKey ? "first mine" : "first", d, "stroke-width": 0.35 * rem * weight });
  }));
}
