// What all views draw with

import { library } from "./library.js";

export function $(id) {
  return document.getElementById(id);
}

export function make(tag, properties, ...inside) { // Return a new element; a text inside is never read as HTML.
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

export function write(element, ...parts) { // Only where it differs: a screen reader has to take in all that is written.
  const fresh = element.cloneNode(false);
  fresh.append(...parts);
  if (!fresh.isEqualNode(element)) {
    element.replaceChildren(...fresh.childNodes);
  }
}

export function makeSvg(tag, attributes, text = "") { // Return a new element of an SVG picture.
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name of Object.keys(attributes)) {
    element.setAttribute(name, attributes[name]);
  }
  element.textContent = text;
  return element;
}

// --- Numbers and letters as the page writes them

export function share(number) { // A weight: .57
  return number.toFixed(2).replace(/^0/, "");
}

export function short(number, digits = 4) { // Any size: 8886 or 0.0123
  return String(Number(number.toPrecision(digits))).replace("-", "−");
}

export function twoPlaces(number) { // A score: −1.4
  return String(Number(number.toFixed(2))).replace("-", "−");
}

export function percent(chance) { // A chance: 98%
  return `${Math.round(100 * chance)}%`;
}

export function sizeOf(vector) { // Return how far from 0 its numbers go, as what one divides by: 1 if all are 0.
  return vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0) || 1;
}

export function verdict(answer, right) {
  const good = answer === right;
  return make("span", { className: good ? "right" : "wrong" }, good ? "✓ right" : `✗ should be ${right}`);
}

// --- What is said: to everybody, or to who does not see the page

export function say(text) {
  write($("message"), text);
}

let announcing = 0;

export function announce(text) {
  clearTimeout(announcing);
  $("announced").textContent = text;
}

export function announceSoon(text) { // When one rests.
  clearTimeout(announcing);
  announcing = setTimeout(announce, 300, text);
}

export function isPaper() { // While the page is printed; see shell.js.
  return document.documentElement.classList.contains("paper");
}

export function onResize(element, then) { // In the next frame, because what is drawn may change the size again.
  new ResizeObserver(() => requestAnimationFrame(then)).observe(element);
}

// --- Buttons, fields and menus

export function enable(button, on) { // Not by `disabled`, which would take the focus from whoever is on the button.
  button.setAttribute("aria-disabled", !on);
}

export function onPress(id, then) {
  $(id).onclick = () => {
    if ($(id).getAttribute("aria-disabled") !== "true") {
      then();
    }
  };
}

export function onSlide(slider, then) {
  let before = 0;
  slider.onpointerdown = () => {
    before = slider.value;
  };
  slider.onpointercancel = () => then(Number(before)); // The finger wanted to scroll, and only began here.
  slider.oninput = () => then(Number(slider.value));
}

export function offer(list, names, asked) { // Buttons, a name on each; the one with the focus stays.
  while (list.children.length > names.length) {
    list.lastChild.remove();
  }
  names.forEach((name, place) => {
    const button = list.children[place] || list.appendChild(make("button", {}));
    write(button, name);
    button.dataset.ask = name;
    button.setAttribute("aria-pressed", name === asked);
  });
}

export function drawMenu(id, chosen, ...first) { // All models of the library, in their groups.
  const groups = {};
  for (const [name, { group, title }] of Object.entries(library)) {
    groups[group] = groups[group] || make("optgroup", { label: group });
    groups[group].append(make("option", { value: name }, title));
  }
  write($(id), ...first, ...Object.values(groups));
  $(id).value = chosen;
}

// Read a field while one types; when one has finished, write it as the page does.
export function onTyping(id, model, then) {
  const field = $(id);
  field.oninput = () => then(model().split(field.value));
  field.onchange = () => {
    field.value = model().join(model().split(field.value));
  };
}
