"use strict";

// What the page consists of

const VIRIDIS = ["440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b",
  "fde725"];

function $(id) {
  return document.getElementById(id);
}

function make(tag, properties, ...inside) { // Return a new element; a text inside is never read as HTML.
  const element = document.createElement(tag);
  for (const name of Object.keys(properties)) {
    if (name in element) {
      element[name] = properties[name];
    } else {
      element.setAttribute(name, properties[name]);
    }
  }
  element.append(...inside);
  return element;
}

function colourAt(place) { // Return [red, green, blue] at a place from 0 to 1 of the scale of colours.
  const position = Math.min(Math.max(place, 0), 1) * (VIRIDIS.length - 1);
  const lower = VIRIDIS[Math.floor(position)];
  const upper = VIRIDIS[Math.ceil(position)];
  return [0, 2, 4].map((start) => {
    const from = parseInt(lower.slice(start, start + 2), 16);
    const to = parseInt(upper.slice(start, start + 2), 16);
    return Math.round(from + (to - from) * (position % 1));
  });
}

// One scale for all weights of the page: the same colour is the same weight everywhere. A root tells small weights
// apart. With this one, numbers turn from white to black at .13, not among the bright cells of ten letters.
function placeOnScale(weight) {
  return weight ** 0.4;
}

function paintWeight(cell, weight) { // Give a cell its colour, and its number the better one of black and white.
  const colour = colourAt(placeOnScale(weight));
  const linear = colour.map((part) => (part <= 10 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = dot(linear, [0.2126, 0.7152, 0.0722]); // As WCAG has it; 0.179 is as far from both.
  cell.style.backgroundColor = `rgb(${colour})`;
  cell.style.color = luminance > 0.179 ? "#000" : "#fff";
}

function drawScale() { // Return what tells which colour is which weight.
  const stops = range(21).map((index) => `rgb(${colourAt(index / 20)})`);
  const colours = make("div", { className: "colours" });
  colours.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
  const ends = [0, 0.05, 0.2, 0.5, 1].map((weight) => {
    const mark = make("small", {}, weight % 1 ? share(weight) : String(weight));
    mark.style.left = `${100 * placeOnScale(weight)}%`;
    return mark;
  });
  return [colours, make("p", { className: "ends", "aria-hidden": "true" }, ...ends)];
}

function offer(list, names, asked) { // Buttons, a name on each; the one with the focus stays.
  while (list.children.length > names.length) {
    list.lastChild.remove();
  }
  names.forEach((name, place) => {
    const button = list.children[place] || list.appendChild(make("button", {}));
    button.textContent = name;
    button.dataset.ask = name;
    button.setAttribute("aria-pressed", name === asked);
  });
}

function share(number) {
  return number.toFixed(2).replace(/^0/, "");
}

function short(number) {
  return String(Number(number.toPrecision(4))).replace("-", "−");
}

function percent(chance) {
  return `${Math.round(100 * chance)}%`;
}

function signs(tokens) { // As the pages print them.
  return tokens.map((token) => (token === " " ? "␣" : token));
}

function announce(text) { // To who does not see the page.
  $("announced").textContent = text;
}

function turn(id, on) { // Not by `disabled`, which would take the focus from whoever is on the button.
  $(id).setAttribute("aria-disabled", !on);
}

function onPress(id, then) {
  $(id).onclick = () => {
    if ($(id).getAttribute("aria-disabled") !== "true") {
      then();
    }
  };
}

function say(text) {
  $("message").textContent = text;
}

function tell(right, model, length) {
  return `Right for ${right.toLocaleString("en")} of 1,000 ${model.describe(length)}.`;
}

function onTyping(id, model, then) { // Read a field, and write as the page does, so that Ctrl+Z still works.
  const field = $(id);
  const write = (text) => document.execCommand("insertText", false, text); // The one way that can be undone.
  field.addEventListener("beforeinput", (event) => {
    const text = event.data === null || event.data === undefined ? "" : model().tidy(event.data);
    if (text !== "" && text !== event.data && event.cancelable && !event.isComposing) {
      event.preventDefault();
      write(text);
    }
  });
  const read = (event) => { // What came another way is tidied now, but not while one undoes,
    const place = field.selectionStart;
    const text = model().tidy(field.value);
    const undone = /^history/.test(event.inputType || "");
    if (field.value !== text && !undone && !event.isComposing) { // nor while a phone's keyboard completes a word.
      field.value = text;
      field.setSelectionRange(place, place);
    }
    then(model().split(text));
  };
  field.oninput = read;
  field.addEventListener("compositionend", read);
}

// Draw a small heatmap, and at the end of each row its answer: "hidden", "shown", or "judged" as right or wrong.
function drawVoted(table, model, tokens, answers) {
  const seen = model.run(tokens);
  const weights = seen.seen.attention.heads[0].weights;
  const rows = model.outputs(tokens).map((name, row) => {
    const cells = weights[row].map((weight) => {
      const cell = make("td", { className: "cell" }, share(weight));
      cell.dataset.weight = weight;
      paintWeight(cell, weight);
      return cell;
    });
    const answer = model.classes[largest(seen.chances[row])];
    const last = make("td", { className: "answer" }, answers === "hidden" ? "?" : make("b", {}, answer));
    if (answers !== "hidden") {
      last.dataset.answer = answer;
    }
    if (answers === "judged") {
      const right = model.answers(tokens)[row];
      const judged = verdict(answer, right);
      if (judged.className === "right") { // The sign is enough: there is little room.
        judged.replaceChildren("✓", make("span", { className: "hidden" }, " right"));
      } else {
        judged.replaceChildren("✗", make("span", { className: "instead" }, " ", make("span", { className: "hidden" },
          "should be "), `${right}`));
      }
      last.append(" ", judged);
    }
    const first = make("th", { scope: "row", "aria-label": name }, `${model.letters[row + 1]}`);
    return make("tr", {}, first, ...cells, last);
  });
  const head = signs(tokens).map((sign) => make("th", { scope: "col" }, sign));
  const line = make("tr", {}, make("th", {}), ...head, make("th", { scope: "col", className: "answer" }, "answer"));
  table.replaceChildren(line, ...rows);
}

function verdict(answer, right) {
  const good = answer === right;
  return make("span", { className: good ? "right" : "wrong" }, good ? "✓ right" : `✗ should be ${right}`);
}

function sizeOf(vector) { // Return how far from 0 its numbers go, as what one divides by: 1 if all are 0.
  return vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0) || 1;
}

function draw(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name of Object.keys(attributes)) {
    element.setAttribute(name, attributes[name]);
  }
  element.textContent = text;
  return element;
}
