// What Ask says of what one sees

import { largest } from "./arrays.js";
import { make, share } from "./page.js";

function strong(...words) {
  return make("strong", {}, ...words);
}

// Return it, as parts of a paragraph: of weight that was moved, of equal weights, or what one can do. `weights` are
// those of the last word, `earlier` is what there was before the last move; `right` is how many of 1,000 texts are
// right with equal weights, if that is known already.
export function whatHappens(ask, right) {
  const { tokens, last, moves, equal, weights, answer } = ask;
  if (moves.length) {
    const move = moves[moves.length - 1];
    return move.row === last ? ofTheQuestion(move, ask) : ofThePet(move, ask);
  }
  if (equal) {
    return [strong(`With equal weights it says ${answer}.`),
      right === undefined ? "" : ` It’s right in ${right} of 1,000 new texts.`];
  }
  const looked = largest(weights);
  const where = looked % 2 ? "to another pet" : "to a pet";
  return [strong("Now you choose. ", make("em", {}, `Drag the thick line from ${tokens[looked]} ${where}.`)),
    make("span", { className: "hidden" }, " Or go to it by the Tab key and use the arrow keys.")];
}

function ofTheQuestion({ row, from, to }, { tokens, moves, equal, weights, answer, earlier }) {
  const [target, source] = [to, from].map((place) => tokens[place] + (place === row ? " itself" : ""));
  const what = answer === earlier.answer ? `still says ${answer}` : `says ${answer}`;
  const [most, rest] = [weights[to], 1 - weights[to]].map(share);
  let told = `It looks at ${target}, and ${what}.`;
  if (weights[to] < 0.5) {
    told = `It takes ${most} from ${target}, ${rest} from the rest, and ${what}.`;
  } else if (target === answer && answer !== earlier.answer) {
    told = `It says ${target}, because you made it look there.`;
  }
  const others = moves.length === 1 ? "; nothing else has changed" : "";
  return [strong(told), ` All heads of the last layer take from ${target} what they took from ${source}` +
    `${equal ? "; the weights that you haven’t moved are equal" : others}.`];
}

function ofThePet({ row, from, to }, { tokens, last, weights, answer, earlier }) {
  const [now, then] = [weights[row], earlier.weights[row]].map(share);
  const took = now === then ? `still takes ${now} from ${tokens[row]}`
    : `took ${then} from ${tokens[row]}, and now ${now}`;
  const still = answer === earlier.answer ? "still " : "";
  return [strong(`${tokens[last]} ${took}. It ${still}says ${answer}.`),
    ` For ${tokens[row]}, all heads of the first layer take from ${tokens[to]} what they took from ${tokens[from]}.`];
}

// Return what one can do with the blue line, as parts of a paragraph: nothing where there is none, or where the pet, as
// the first, can look at no other name.
export function whatToDoNext({ tokens, last, keyed, owner }) {
  if (owner < 0) {
    return [];
  }
  const line = make("b", { className: "key" }, "blue line");
  const opening = `A pet doesn’t know by itself whose it is. In an earlier layer, ${tokens[keyed]} looks at ` +
    `${tokens[owner]}, by the `;
  return keyed === 1 ? [opening, line, ". No other name stands before it."]
    : [opening, line, `. Drag that to another name: what does ${tokens[last]} find then?`];
}
