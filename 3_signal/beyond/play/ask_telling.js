// What Ask says of what one sees

import { largest } from "./arrays.js";
import { make, share } from "./page.js";

// Return it, as parts of a paragraph: of weight that was moved, of equal weights, or what one can do. `weights` are
// those of the last word; `right` is how many of 1,000 texts are right with equal ones, if that is known already.
export function whatHappens({ tokens, moves, equal, weights, answer }, right) {
  const strong = (...words) => make("strong", {}, ...words);
  if (moves.length) {
    const { to } = moves[moves.length - 1];
    const target = tokens[to];
    if (weights[to] < 0.5) {
      const rest = share(1 - weights[to]);
      return [strong(`${target} gives ${share(weights[to])} and the rest ${rest}, so it says ${answer}.`)];
    }
    if (to % 2 === 0) {
      const why = to === tokens.length - 1 ? "It looks at itself" : `${target} is a name`;
      return [strong(`${why}, so there is no pet to find.`), ` It says ${answer} all the same.`];
    }
    return target === answer
      ? [strong(`It says ${target}, because you made it look there.`), " Nothing else has changed."]
      : [strong(`It looks at ${target}, and says ${answer}.`), " The other heads have a say, too."];
  }
  if (equal) {
    return [strong(`It has learnt to choose, so now it can only guess, and says ${answer}.`),
      right === undefined ? "" : ` It’s right in ${right} of 1,000 new texts.`];
  }
  const word = tokens[largest(weights)];
  const keys = " Or go to it by the Tab key and use the arrow keys.";
  return [strong("Now you choose. ", make("em", {}, `Drag the thick line from ${word} to another pet.`)),
    make("span", { className: "hidden" }, keys)];
}
