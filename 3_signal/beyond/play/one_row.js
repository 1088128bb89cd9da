// One row of attention, step by step: compared, scaled, multiplied into weights, averaged

import { range, sum } from "./arrays.js";
import { computeRow } from "./row.js";
import { make, makeSvg, onResize, share, short, sizeOf, twoPlaces, write } from "./page.js";

const STEPS_OF_A_ROW = [ // What the buttons say, and the step at which what they say is done.
  ["compare", 1], ["scale", 2], ["softmax", 4], ["average", 5],
];
export const LAST_STEP = 5;
const READABLE = 4; // Up to so many numbers are boxes that one can read; more are a strip of colour.
export const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

// Return a vector as a strip, a place for each number: above 0 in the upper half, below 0 in the lower half, and
// the stronger its colour, the farther from 0.
function colourStrip(vector, end, kind, name) {
  const shades = 12; // One path for each, not one for each number.
  const places = range(shades).map(() => []);
  vector.forEach((number, index) => {
    const shade = Math.ceil(shades * Math.sqrt(Math.abs(number) / end)) - 1;
    if (shade >= 0) {
      places[Math.min(shade, shades - 1)].push(`M${index} ${number > 0 ? 0 : 1}h1v1h-1z`);
    }
  });
  const svg = makeSvg("svg", { viewBox: `0 0 ${vector.length} 2`, preserveAspectRatio: "none", role: "img",
    class: `numbers ${kind}`, "aria-label": `${name}: ${vector.map((number) => short(number)).join(" ")}` });
  svg.append(...places.map((of, shade) => makeSvg("path", { d: of.join(""), opacity: (shade + 1) / shades })));
  return svg;
}

function drawVector(vector, end, kind, name, below) { // As boxes, with what is to stand below, or as a strip.
  if (vector.length > READABLE) {
    return colourStrip(vector, end, kind, name);
  }
  const boxes = vector.map((number, index) => {
    const box = make("span", { className: number === 0 ? "number zero" : "number" }, twoPlaces(number));
    const plus = index ? [make("span", { className: "plus" }, "+ ")] : [];
    return make("span", { className: "place" }, box, ...(below ? [make("small", {}, ...plus, below[index])] : []));
  });
  return make("span", { className: `numbers boxes ${kind}` }, ...boxes);
}

function flyFrom(start, element, order) { // Let an element begin where another one is; start is its rectangle.
  const end = element.getBoundingClientRect();
  const across = start.width / (end.width || 1);
  const first = `translate(${start.left - end.left}px, ${start.top - end.top}px) scale(${across}, 0.7)`;
  element.animate([{ transform: first }, { transform: "none" }],
    { duration: 700, delay: 50 * order, easing: "ease-in-out", fill: "backwards" });
}

// One query against its keys, in five steps: compared, scaled, exp, shared, averaged.
export class OneRow {
  constructor(container) {
    this.container = container;
    this.source = null; // What is shown: see show.
    this.row = null; // What is computed of it.
    this.step = LAST_STEP;
    this.timer = 0; // While it plays.
    this.stages = STEPS_OF_A_ROW.map(([title, step], index) => {
      const stage = make("button", { className: "stage", onclick: () => this.leap(step) }, `${index + 1} ${title}`);
      stage.dataset.step = title;
      return stage;
    });
    const [back, next, play] = [["back", "◀ Back"], ["next", "Step ▶"], ["play", "Play"]].map(([name, text]) => {
      const button = make("button", {}, text);
      button.dataset.step = name;
      return button;
    });
    back.onclick = () => this.leap(this.step - 1);
    next.onclick = () => this.leap(this.step + 1);
    play.onclick = () => (this.timer ? this.pause() : this.play());
    Object.assign(this, { back, next, player: play, told: make("p", { className: "told", role: "status" }),
      longest: make("div", { className: "longest" }),
      table: make("table", {}), bottom: make("div", { className: "bottom" }),
      matter: make("div", { className: "matter" }) });
    const controls = make("div", { className: "stages" }, make("span", {}, ...this.stages),
      make("span", {}, back, next, play));
    container.classList.add("one_row");
    const room = make("div", { className: "room" }, this.told, this.longest);
    container.replaceChildren(controls, room, this.table, this.bottom, this.matter);
    onResize(container, () => this.fit());
  }

  fit() {
    const letter = parseFloat(getComputedStyle(document.documentElement).fontSize);
    this.container.classList.toggle("compact", this.container.clientWidth < 50 * letter);
  }

  // Show a row: what computeRow takes; `asks`, the query's name; `names` of the keys; where values are one-hot,
  // `gives`, the name of each, and `pets`, all names; `chosen`, the key of which one sees the products; `told`, a
  // sentence for each step.
  show(source, step = this.step) {
    const before = this.source;
    this.source = { factor: 1, ...source };
    this.row = computeRow(this.source);
    write(this.longest, ...this.source.told.map((text) => make("p", {}, text)));
    const fixed = (one) => JSON.stringify([one.asks, one.names, one.gives, one.query && one.query.length, one.keys,
      one.values, one.factor === 1]);
    if (!before || fixed(before) !== fixed(this.source)) {
      this.drawTable();
    }
    this.drawQuery();
    this.step = step;
    this.draw();
  }

  leap(step) {
    this.pause();
    this.go(step);
  }

  go(step) {
    const before = this.step;
    this.step = Math.min(Math.max(step, 0), LAST_STEP);
    this.draw();
    if (!calm.matches && this.step === before + 1) {
      this.fly();
    }
  }

  play() {
    if (this.step === LAST_STEP) {
      this.go(0);
    }
    const onward = () => {
      this.go(this.step + 1);
      if (this.step === LAST_STEP) {
        this.pause();
      } else {
        this.timer = setTimeout(onward, this.step === 1 ? 3600 : 2600);
      }
    };
    this.timer = setTimeout(onward, 600);
    this.draw();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.draw();
  }

  drawTable() { // What depends neither on the step nor on the query.
    const { asks, query, keys, values, names, gives, factor } = this.source;
    const columns = [["dot", query ? "query · key" : "score"]];
    if (query) {
      columns.push(["scaled", `÷ √${query.length}`]);
    }
    if (factor !== 1) {
      columns.push(["multiplied", ""]);
    }
    columns.push(["exp", "exp"]);
    const heads = columns.map(([name, title]) => make("th", { scope: "col", className: name }, title));
    this.asked = make("td", {});
    this.heading = make("th", { scope: "col", className: "length" });
    this.multiplied = heads[columns.findIndex(([name]) => name === "multiplied")];
    const nameOf = (name) => make("th", { scope: "row" }, name.length < 9 ? name.replace(/ /g, "\u00a0") : name);
    const first = make("tr", { className: "query" }, nameOf(asks), this.asked, ...heads, this.heading,
      make("th", { scope: "col", className: "value" }, "value"));
    const end = sizeOf(values.flat());
    this.lines = names.map((name, place) => {
      const key = make("td", { className: "key" });
      const length = make("div", { className: "amount" });
      const number = make("span", { className: "amount" });
      const weight = make("td", { className: "length" }, make("div", { className: "track" }, length, number));
      const given = gives ? make("span", { className: "chip" }, gives[place])
        : drawVector(values[place], end, "value", `value of ${name}`);
      const value = make("td", { className: "value" }, given);
      const figures = columns.map(([kind]) => make("td", { className: `figure ${kind}` }));
      const line = make("tr", { className: gives ? "owned" : "", onclick: () => this.choose(place) }, nameOf(name),
        key, ...figures, weight, value);
      line.style.setProperty("--order", place / Math.max(4, names.length));
      return { line, key, figures, length, number, weight, value };
    });
    this.total = make("td", { className: "figure exp" });
    const before = [make("th", {}), make("td", {}), ...columns.slice(1).map(([name]) => make("td", { className:
      name === "exp" ? "scaled" : name }))];
    const totals = make("tr", { className: "total", "aria-hidden": "true" }, ...before, this.total, make("td", {}),
      make("td", {}));
    this.segments = names.map((name, place) => make("span", { className: "segment" },
      make("span", {}, gives ? gives[place] : name)));
    this.mean = make("div", { className: "result" });
    this.columns = columns;
    this.end = end;
    this.table.replaceChildren(make("tbody", {}, first, ...this.lines.map((one) => one.line), totals));
    this.table.setAttribute("aria-label", `The row of ${asks}: keys, scores, weights, values`);
    this.bottom.replaceChildren(
      make("div", { className: "all" }, make("p", {}, "all weights, together 1"),
        make("div", { className: "whole" }, ...this.segments)),
      make("div", { className: "mean" }, make("p", {}, "weighted mean of the values"),
        make("div", { className: "hollow" }, this.mean)));
  }

  drawQuery() { // The query, and its products with the keys.
    const { asks, query, keys, names } = this.source;
    if (!query) {
      return;
    }
    const { products } = this.row;
    write(this.asked, drawVector(query, sizeOf(query), "query", `query of ${asks}`),
      make("small", {}, "query ↑ ", make("b", { className: "key" }, "keys ↓")));
    const ends = [sizeOf(keys.flat()), sizeOf(products.flat())];
    this.lines.forEach(({ key }, place) => {
      const below = products[place].map(twoPlaces);
      write(key, drawVector(keys[place], ends[0], "key", `key: ${names[place]}`, below),
        ...(query.length > READABLE ? [colourStrip(products[place], ends[1], "product", "query times key")] : []));
    });
  }

  choose(place) {
    this.source.chosen = place;
    this.drawMatter();
  }

  draw() { // What depends on the step.
    const { step, row, source } = this;
    this.fit();
    this.container.dataset.at = step;
    const bars = this.barsAt(step);
    const [low, high] = [Math.min(0, ...bars.scale), Math.max(0, ...bars.scale)];
    const percentOf = (length) => `${(100 * length) / (high - low || 1)}%`;
    const most = Math.max(...row.weights);
    this.lines.forEach((one, place) => {
      const { length, text } = bars[place];
      one.length.style.left = percentOf(Math.min(length, 0) - low);
      one.length.style.width = percentOf(Math.abs(length));
      one.number.style.left = percentOf(Math.max(length, 0) - low);
      write(one.number, text);
      one.figures.forEach((cell, index) => {
        write(cell, this.figure(this.columns[index][0], place));
      });
      one.value.style.setProperty("--fade", step < 5 ? 1 : 0.15 + (0.85 * row.weights[place]) / most);
      this.segments[place].style.width = `${100 * row.weights[place]}%`;
      this.segments[place].classList.toggle("slim", row.weights[place] < 0.07);
    });
    write(this.total, `sum ${short(row.total, 3)}`);
    if (this.multiplied) {
      write(this.multiplied, `× ${short(source.factor)}`);
    }
    const scaled = `${source.query ? `÷ √${source.query.length}` : "score"}` +
      (this.multiplied ? ` × ${short(source.factor)}` : "");
    write(this.heading, ["", this.columns[0][1], scaled, "exp"][step] || "weight");
    this.drawMean();
    this.drawMatter();
    write(this.told, source.told[step]); // It is read aloud.
    const at = STEPS_OF_A_ROW.findIndex(([, last]) => step <= last);
    this.stages.forEach((stage, index) => stage.setAttribute("aria-pressed", step > 0 && index === at));
    this.back.setAttribute("aria-disabled", step === 0);
    this.next.setAttribute("aria-disabled", step === LAST_STEP);
    write(this.player, this.timer ? "Pause" : "Play");
  }

  figure(name, place) {
    const { dots, scaled, multiplied, exponentials } = this.row;
    return name === "exp" ? short(exponentials[place], 3) : twoPlaces({ dot: dots, scaled, multiplied }[name][place]);
  }

  barsAt(step) { // Return how long each bar is, what stands at its end, and what lengths the scale has room for.
    const { dots, multiplied, exponentials, weights } = this.row;
    const bars = (lengths, texts, scale) => Object.assign(lengths.map((length, place) => ({ length,
      text: texts[place] })), { scale });
    if (step === 0) {
      return bars(dots.map(() => 0), dots.map(() => ""), [1]);
    }
    if (step < 3) { // Both on one scale: one sees them shrink.
      const lengths = step === 1 ? dots : multiplied;
      return bars(lengths, lengths.map(twoPlaces), [...dots, ...multiplied]);
    }
    if (step === 3) { // On the scale of the largest, which may be too large a number for the computer.
      const highest = Math.max(...multiplied);
      const texts = exponentials.map((number) => short(number, 3));
      return bars(multiplied.map((score) => Math.exp(score - highest)), texts, [1]);
    }
    return bars(weights, weights.map(share), [1]);
  }

  drawMean() {
    const { pets, asks } = this.source;
    const { mean } = this.row;
    if (!pets) {
      write(this.mean, drawVector(mean, this.end, "value", `weighted mean for ${asks}`));
      return;
    }
    const boxes = pets.map((name, place) => {
      const box = make("span", { className: "number" }, `${share(mean[place])} ${name}`);
      box.style.setProperty("--fade", 0.1 + (0.9 * mean[place]) / Math.max(...mean));
      return box;
    });
    write(this.mean, make("span", { className: "numbers boxes mean" }, ...boxes));
  }

  drawMatter() { // Of many products, those that matter most for the chosen key.
    const { query, keys, names, chosen } = this.source;
    this.lines.forEach((one, place) => one.line.classList.toggle("looked_at", place === chosen));
    if (!query || query.length <= READABLE || chosen === undefined) {
      write(this.matter);
      return;
    }
    const products = this.row.products[chosen];
    const farthest = (one, other) => Math.abs(products[other]) - Math.abs(products[one]); // From 0.
    const places = range(products.length).sort(farthest).slice(0, 4);
    const rest = this.row.dots[chosen] - sum(places.map((place) => products[place]));
    const line = (name, product, ...factors) => make("tr", {}, make("th", { scope: "row" }, name),
      ...(factors.length ? factors : [make("td", { colSpan: 4 })]), make("td", {}, twoPlaces(product)));
    const lines = places.map((place) => line(`number ${place + 1}`, products[place],
      make("td", { className: "query" }, twoPlaces(query[place])), make("td", {}, "×"),
      make("td", { className: "key" }, twoPlaces(keys[chosen][place])), make("td", {}, "=")));
    const title = `The products that matter most between this query and the key of ${names[chosen]}`;
    write(this.matter, make("p", {}, title),
      make("table", {}, ...lines, line(`the other ${products.length - places.length}`, rest),
        line("query · key", this.row.dots[chosen])));
  }

  fly() { // The weights go into one bar, the values into one mean.
    if (this.step === 4) {
      const starts = this.lines.map((one) => one.length.getBoundingClientRect());
      this.segments.forEach((segment, place) => flyFrom(starts[place], segment, place));
    }
    if (this.step === 5) {
      const end = this.mean.firstChild.getBoundingClientRect();
      this.lines.forEach(({ value }, place) => {
        const copy = value.firstChild.cloneNode(true);
        copy.classList.add("flying");
        copy.setAttribute("aria-hidden", "true");
        value.append(copy);
        const start = copy.getBoundingClientRect();
        const there = `translate(${end.left - start.left}px, ${end.top - start.top}px)`;
        const opacity = 0.2 + 0.8 * this.row.weights[place];
        const flight = copy.animate([{ opacity, transform: "none" }, { opacity, transform: there, offset: 0.8 },
          { opacity: 0, transform: there }], { duration: 900, delay: 60 * place, easing: "ease-in-out" });
        flight.onfinish = () => copy.remove();
      });
    }
  }
}
