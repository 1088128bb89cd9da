"use strict";

const STEPS_OF_A_ROW = [ // What the buttons say, and the step at which what they say is done.
  ["compare", 1], ["scale", 2], ["softmax", 4], ["average", 5],
];
const LAST_STEP = 5;
const READABLE = 4; // Up to so many numbers are boxes that one can read; more are a strip of colour.
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

function brief(number) {
  return String(Number(number.toPrecision(3))).replace("-", "−");
}

function twoPlaces(number) {
  return String(Number(number.toFixed(2))).replace("-", "−");
}

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
  const svg = draw("svg", { viewBox: `0 0 ${vector.length} 2`, preserveAspectRatio: "none", role: "img",
    class: `numbers ${kind}`, "aria-label": `${name}: ${vector.map(short).join(" ")}` });
  svg.append(...places.map((of, shade) => draw("path", { d: of.join(""), opacity: (shade + 1) / shades })));
  return svg;
}

function drawVector(vector, end, kind, name, below) { // As boxes, with what is to stand below, or as a strip.
  if (vector.length > READABLE) {
    return colourStrip(vector, end, kind, name);
  }
  const boxes = vector.map((number, index) => {
    const box = make("span", { className: number === 0 ? "number zero" : "number" }, twoPlaces(number));
    return make("span", { className: "place" }, box, ...(below ? [make("small", {}, below[index])] : []));
  });
  return make("span", { className: `numbers boxes ${kind}` }, ...boxes);
}

function flyFrom(start, element, turn) { // Let an element begin where another one is; start is its rectangle.
  const end = element.getBoundingClientRect();
  const across = start.width / (end.width || 1);
  const first = `translate(${start.left - end.left}px, ${start.top - end.top}px) scale(${across}, 0.7)`;
  element.animate([{ transform: first }, { transform: "none" }],
    { duration: 700, delay: 50 * turn, easing: "ease-in-out", fill: "backwards" });
}

// One query against its keys, in five steps: compared, scaled, exp, shared, averaged.
class OneRow {
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
      room: make("div", { className: "room" }),
      table: make("table", {}), bottom: make("div", { className: "bottom" }),
      matter: make("div", { className: "matter" }) });
    const controls = make("div", { className: "stages" }, make("span", {}, ...this.stages),
      make("span", {}, back, next, play));
    container.classList.add("one_row");
    container.replaceChildren(controls, this.room, this.table, this.bottom, this.matter);
    if (window.ResizeObserver) {
      new ResizeObserver(() => this.fit()).observe(container);
    }
  }

  fit() {
    const letter = parseFloat(getComputedStyle(document.documentElement).fontSize);
    this.container.classList.toggle("compact", this.container.clientWidth < 50 * letter);
  }

  // Show a row: what computeRow takes; `asks`, the query's name; `names` of the keys; where values are one-hot,
  // `gives`, the name of each, and `pets`, all names; `chosen`, the key of which one sees the products; `told`, a sentence a step.
  show(source, step = this.step) {
    const before = this.source;
    this.source = { factor: 1, ...source };
    this.row = computeRow(this.source);
    this.room.replaceChildren(this.told, ...this.source.told.map((text) => make("p", { ariaHidden: "true" }, text)));
    const drawn = (one) => JSON.stringify([one.asks, one.names, one.gives, one.query && one.query.length, one.keys,
      one.values, one.factor === 1]);
    if (!before || drawn(before) !== drawn(this.source)) {
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
    const columns = [["dot", query ? "query · key" : "logit"]];
    if (query) {
      columns.push(["scaled", `÷ √${query.length}`]);
    }
    if (factor !== 1) {
      columns.push(["turned", ""]);
    }
    columns.push(["exp", "exp"]);
    const heads = columns.map(([name, title]) => make("th", { scope: "col", className: name }, title));
    this.asked = make("td", {});
    this.heading = make("th", { scope: "col", className: "length" });
    this.turned = heads[columns.findIndex(([name]) => name === "turned")];
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
      line.style.setProperty("--turn", place / Math.max(4, names.length));
      return { line, key, figures, length, number, weight, value };
    });
    this.total = make("td", { className: "figure exp" });
    const left = [make("th", {}), make("td", {}), ...columns.slice(1).map(([name]) => make("td", { className:
      name === "exp" ? "scaled" : name }))];
    const totals = make("tr", { className: "total", "aria-hidden": "true" }, ...left, this.total, make("td", {}),
      make("td", {}));
    this.segments = names.map((name, place) => make("span", { className: "segment" },
      make("span", {}, gives ? gives[place] : name)));
    this.mean = make("div", { className: "result" });
    this.columns = columns;
    this.end = end;
    this.table.replaceChildren(make("tbody", {}, first, ...this.lines.map((one) => one.line), totals));
    this.table.setAttribute("aria-label", `The row of ${asks}: keys, logits, weights, values`);
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
    this.asked.replaceChildren(drawVector(query, sizeOf(query), "query", `query of ${asks}`),
      make("small", {}, "query ↑ ", make("b", { className: "key" }, "keys ↓")));
    const ends = [sizeOf(keys.flat()), sizeOf(products.flat())];
    this.lines.forEach(({ key }, place) => {
      const below = products[place].map((product, index) => (index ? "+ " : "") + twoPlaces(product));
      key.replaceChildren(drawVector(keys[place], ends[0], "key", `key: ${names[place]}`, below));
      if (query.length > READABLE) {
        key.append(colourStrip(products[place], ends[1], "product", "query times key"));
      }
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
      one.number.textContent = text;
      one.figures.forEach((cell, index) => {
        cell.textContent = this.figure(this.columns[index][0], place);
      });
      one.weight.dataset.weight = row.weights[place];
      one.value.style.setProperty("--fade", step < 5 ? 1 : 0.15 + (0.85 * row.weights[place]) / most);
      this.segments[place].style.width = `${100 * row.weights[place]}%`;
      this.segments[place].classList.toggle("slim", row.weights[place] < 0.07);
    });
    this.total.textContent = `sum ${brief(row.total)}`;
    if (this.turned) {
      this.turned.textContent = `× ${short(source.factor)}`;
    }
    const scaled = `${source.query ? `÷ √${source.query.length}` : "logit"}` +
      (this.turned ? ` × ${short(source.factor)}` : "");
    this.heading.textContent = ["", this.columns[0][1], scaled, "exp"][step] || "weight";
    this.drawMean();
    this.drawMatter();
    if (this.told.textContent !== source.told[step]) { // It is read aloud.
      this.told.textContent = source.told[step];
    }
    const at = STEPS_OF_A_ROW.findIndex(([, last]) => step <= last);
    this.stages.forEach((stage, index) => stage.setAttribute("aria-pressed", step > 0 && index === at));
    this.back.setAttribute("aria-disabled", step === 0);
    this.next.setAttribute("aria-disabled", step === LAST_STEP);
    this.player.textContent = this.timer ? "Pause" : "Play";
  }

  figure(name, place) {
    const { dots, scaled, turned, exponentials } = this.row;
    return name === "exp" ? brief(exponentials[place]) : twoPlaces({ dot: dots, scaled, turned }[name][place]);
  }

  barsAt(step) { // Return how long each bar is, what stands at its end, and what lengths the scale has room for.
    const { dots, turned, exponentials, weights } = this.row;
    const bars = (lengths, texts, scale) => Object.assign(lengths.map((length, place) => ({ length,
      text: texts[place] })), { scale });
    if (step === 0) {
      return bars(dots.map(() => 0), dots.map(() => ""), [1]);
    }
    if (step < 3) { // Both on one scale: one sees them shrink.
      const lengths = step === 1 ? dots : turned;
      return bars(lengths, lengths.map(twoPlaces), [...dots, ...turned]);
    }
    if (step === 3) { // On the scale of the largest, which may be too large a number for the computer.
      const highest = Math.max(...turned);
      return bars(turned.map((logit) => Math.exp(logit - highest)), exponentials.map(brief), [1]);
    }
    return bars(weights, weights.map(share), [1]);
  }

  drawMean() {
    const { pets, asks } = this.source;
    const { mean } = this.row;
    if (!pets) {
      this.mean.replaceChildren(drawVector(mean, this.end, "value", `weighted mean for ${asks}`));
      return;
    }
    const boxes = pets.map((name, place) => {
      const box = make("span", { className: "number" }, `${share(mean[place])} ${name}`);
      box.style.setProperty("--fade", 0.1 + (0.9 * mean[place]) / Math.max(...mean));
      return box;
    });
    this.mean.replaceChildren(make("span", { className: "numbers boxes mean" }, ...boxes));
  }

  drawMatter() { // Of many products, those that matter most for the chosen key.
    const { query, keys, names, chosen } = this.source;
    this.lines.forEach((one, place) => one.line.classList.toggle("looked_at", place === chosen));
    if (!query || query.length <= READABLE || chosen === undefined) {
      this.matter.replaceChildren();
      return;
    }
    const products = this.row.products[chosen];
    const places = mostImportant(products, 4);
    const rest = this.row.dots[chosen] - sum(places.map((place) => products[place]));
    const line = (name, product, ...factors) => make("tr", {}, make("th", { scope: "row" }, name),
      ...(factors.length ? factors : [make("td", { colSpan: 4 })]), make("td", {}, twoPlaces(product)));
    const lines = places.map((place) => line(`number ${place + 1}`, products[place],
      make("td", { className: "query" }, twoPlaces(query[place])), make("td", {}, "×"),
      make("td", { className: "key" }, twoPlaces(keys[chosen][place])), make("td", {}, "=")));
    const title = `The products that matter most between this query and the key of ${names[chosen]}`;
    this.matter.replaceChildren(make("p", {}, title),
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

function sentences(opening, comparing, scaling, total, result, byHand = "") { // One for each step of a row.
  return [
    opening,
    comparing,
    scaling,
    "Softmax, first half: exp makes every number positive, and large ones stand out.",
    `Softmax, second half: divide by their sum, ${brief(total)}. These are the attention weights${byHand}.`,
    `Average: each value counts as much as its weight. ${result}`,
  ];
}

const LESSON = "Anna dog Ben cat Cleo owl Dan hen Ben".split(" "); // The example of Lesson 1.

// Return a row as OneRow shows it, of a text of names with their pets that ends with the name that is asked for.
// The names are keys, the pets are values, all of them one-hot, and so is the query, but for its strength.
function rowOfExample(text, strength) {
  const oneHot = (words) => (word) => words.map((other) => Number(other === word));
  const owners = ownersIn(text);
  const gives = owners.map((owner) => text[text.indexOf(owner) + 1]);
  const pets = [...new Set(gives)];
  const [asked] = text.slice(-1);
  const source = { asks: `${asked}?`, query: oneHot(owners)(asked).map((number) => strength * number),
    keys: owners.map(oneHot(owners)), values: gives.map(oneHot(pets)), names: owners.map((owner) => `${owner}’s`),
    gives, pets };
  const { total, mean } = computeRow(source);
  const pet = gives[owners.indexOf(asked)];
  const [most, second = 0] = [...mean].sort((one, other) => other - one);
  const found = most === mean[pets.indexOf(pet)] && most > 2 * second;
  const larger = strength < 4 ? ` A larger query: nearly all ${pet}.` : "";
  source.told = sentences(
    `${asked}’s pet? Each row is a pet: its key says whose it is, its value which.`,
    `Compare: multiply query and key, place by place, and add up. Only ${asked}’s key has its 1 where the query ` +
      `has ${twoPlaces(strength)}.`,
    `Scale: divide by √${owners.length}, since there are ${owners.length} numbers.`,
    total, found ? `Mostly ${pet}!${larger}` : "Nobody could say whose pet was asked for.");
  return source;
}

function ownersIn(text) { // Return the names of a text, each once.
  return text.slice(0, -1).filter((word, place) => place % 2 === 0 && text.indexOf(word) === place);
}

function axesOf(model, tokens, id) { // Return the names of the rows and columns of an attention.
  const read = signs(tokens);
  const outputs = model.outputs(tokens);
  if (id === "attention") {
    return { rows: outputs, columns: read };
  }
  return id === "self_attention" ? { rows: outputs, columns: outputs } : { rows: read, columns: read };
}

// Return a row of a model as OneRow shows it. `shown` is { model, tokens, moves, seen, chances }, as Models is;
// `place` is the cell: { id, head, row, column }.
function rowOfModel(shown, place) {
  const { rows, columns } = axesOf(shown.model, shown.tokens, place.id);
  const seen = shown.seen[place.id];
  const head = seen.heads[place.head];
  const open = range(columns.length).filter((column) => head.allowed(place.row, column));
  const inSight = (all) => open.map((column) => all[column]);
  const asks = rows[place.row];
  const names = inSight(columns);
  const compared = has(head, "key");
  const source = { asks, names, factor: seen.factor, values: inSight(head.value),
    query: compared ? head.query[place.row] : null, keys: compared ? inSight(head.key) : null,
    logits: compared ? null : inSight(head.logits[place.row]), weights: inSight(head.weights[place.row]),
    chosen: Math.max(open.indexOf(place.column), 0) };
  const { dots, total } = computeRow(source);
  const numbers = source.values[0].length;
  const size = numbers === 1 ? "1 number" : `${numbers} numbers`;
  const later = open.length < columns.length ? " What comes later is hidden from it." : "";
  const largestOne = `${names[largest(dots)]}, with ${twoPlaces(Math.max(...dots))}`;
  source.told = sentences(
    compared ? `${asks} asks. Its query has ${size}, and so has each key. In a strip, what is above 0 stands in ` +
      `the upper half, what is below 0 in the lower one; the stronger, the farther from 0.${later}` :
      `${asks} has no query: its weights are fixed.${later}`,
    compared ? "Compare: multiply query and key, number by number, and add up the products. The best match: " +
      `${largestOne}.` : `Nothing is compared. We fixed these logits: ln ${FIXED} for its own letter, 0 for others.`,
    (compared ? `Scale: divide by √${numbers}, since there are ${size}.` : "Nothing to scale.") +
      (seen.factor === 1 ? "" : ` Then the slider: × ${short(seen.factor)}.`),
    total, "This weighted mean is what the row takes.",
    shown.moves.some((move) => sameRow(move, place)) ? ", with what you moved by hand" : "");
  return source;
}

const Row = {
  id: "row",
  title: "One row",
  place: "row",
  steps: null, // The OneRow.
  text: LESSON, // In the example: names with their pets, and who is asked for;
  strength: 2.8, // how strongly.
  shown: null, // Of a model: { name, model, tokens, factors, moves, cell, seen, chances }; null in the example.

  start() {
    Row.steps = new OneRow($("row_steps"));
    Row.steps.back.parentNode.before($("row_size"));
    $("row_names").onclick = ({ target }) => {
      if (has(target.dataset, "ask")) {
        Row.text = [...Row.text.slice(0, -1), target.dataset.ask];
        Row.draw();
        Shell.writeAddress();
      }
    };
    $("row_strength").oninput = () => {
      Row.strength = Number($("row_strength").value);
      Row.draw();
    };
    $("row_model").onchange = () => Row.choose($("row_model").value);
    $("row_which").onchange = () => {
      const [id, head, row] = JSON.parse($("row_which").value);
      const weights = Row.shown.seen[id].heads[head].weights[row];
      Row.shown.cell = { id, head, row, column: largest(weights) };
      Row.draw();
      Shell.writeAddress();
    };
    $("row_back").onclick = () => Models.openAt(Row.shown);
  },

  open(words) {
    if (words.has("row")) {
      Row.openAddress(words);
    }
    Row.steps.step = calm.matches ? LAST_STEP : 0;
    Row.draw();
  },

  openAddress(words) {
    const name = words.get("row");
    Row.shown = null;
    if (!has(library, name)) {
      const text = words.has("letters") ? words.get("letters").split(" ") : [...LESSON];
      if (name) {
        text[text.length - 1] = name;
      }
      const fits = text.length % 2 === 1 && text.every((word) => word !== "" && word.length < 12) &&
        ownersIn(text).includes(text[text.length - 1]);
      Row.text = fits ? text : LESSON;
      if (!fits) {
        say("The address holds no text, and names no model, that this page can show.");
      }
      return;
    }
    const model = library[name].model;
    const asked = words.has("letters") ? model.split(words.get("letters")) : usual(model);
    const tokens = model.problem(asked) ? usual(model) : asked;
    const factors = {};
    for (const id of Object.keys(model.run(tokens).seen)) {
      if (words.has(id)) {
        factors[id] = Math.min(Math.max(Number(words.get(id)) || 0, 0), 3);
      }
    }
    const { seen } = model.run(tokens, factors);
    const [id, head, row, column] = (words.get("cell") || "").split(",");
    const cell = { id, head: Number(head), row: Number(row), column: Number(column) };
    const there = has(seen, id) && (((seen[id].heads[cell.head] || {}).weights || [])[cell.row] || []);
    Row.take({ name, tokens, factors, moves: [], cell: there && cell.column in there ? cell : firstCell(model, seen) });
  },

  textAddress() { // Shorter where the pets are those of Lesson 1.
    const [pairs, usualPairs] = [Row.text, LESSON].map((text) => String(text.slice(0, -1)));
    const asked = String(Row.text) === String(LESSON) ? "row" : `row=${Row.text.slice(-1)}`;
    return pairs === usualPairs ? asked : `row&${new URLSearchParams({ letters: Row.text.join(" ") })}`;
  },

  address() {
    if (!Row.shown) {
      return Row.textAddress();
    }
    const { name, model, tokens, factors, cell } = Row.shown;
    const letters = model.join(tokens).replace(/␣/g, " ");
    const at = [cell.id, cell.head, cell.row, cell.column].join(",");
    return String(new URLSearchParams({ row: name, letters, cell: at, ...factors })).replace(/%2F/g, "/")
      .replace(/%2C/g, ",");
  },

  choose(name) { // A model, or "" for the example.
    if (name) {
      const model = library[name].model;
      const tokens = usual(model);
      Row.take({ name, tokens, factors: {}, moves: [], cell: firstCell(model, model.run(tokens).seen) });
    } else {
      Row.shown = null;
    }
    Row.steps.step = calm.matches ? LAST_STEP : 0;
    Row.draw();
    Shell.writeAddress();
  },

  take({ name, tokens, factors, moves, cell }) {
    const { model } = library[name];
    Row.shown = { name, model, tokens, factors, moves, cell, ...model.run(tokens, factors, moves) };
  },

  openCell(shown) { // From anywhere: { name, tokens, factors, moves, cell }; from Ask null, for what was asked there.
    if (shown) {
      Row.take(shown);
    } else {
      Row.shown = null;
    }
    Shell.go(Row);
    Row.steps.next.focus({ preventScroll: true });
  },

  draw() {
    const { shown, steps } = Row;
    $("row_example").hidden = $("row_size").hidden = shown !== null;
    $("row_of_model").hidden = shown === null;
    Row.drawModels();
    if (!shown) {
      offer($("row_names"), ownersIn(Row.text), Row.text[Row.text.length - 1]);
      $("row_strength").value = Row.strength;
      $("row_strong").textContent = twoPlaces(Row.strength);
      steps.show(rowOfExample(Row.text, Row.strength));
      return;
    }
    $("row_text").textContent = shown.model.join(shown.tokens);
    Row.drawWhich();
    steps.show(rowOfModel(shown, shown.cell));
  },

  drawModels() { // The menu of models is that of the other view, and one more.
    const groups = [...$("model").children].map((group) => group.cloneNode(true));
    $("row_model").replaceChildren(make("option", { value: "" }, "Whose pet? By hand"), ...groups);
    $("row_model").value = Row.shown ? Row.shown.name : "";
  },

  drawWhich() { // The menu of rows.
    const { model, tokens, seen, cell } = Row.shown;
    const groups = orderOf(seen).map((id) => {
      const { rows } = axesOf(model, tokens, id);
      const options = seen[id].heads.flatMap((_, head) => rows.map((name, row) => {
        const part = seen[id].heads.length > 1 ? `head ${head + 1}, ` : "";
        const place = id === "attention" || id === "self_attention" ? "" : ` (${row + 1})`;
        return make("option", { value: JSON.stringify([id, head, row]) }, part + name + place);
      }));
      return make("optgroup", { label: titleOf(id) }, ...options);
    });
    $("row_which").replaceChildren(...groups);
    $("row_which").value = JSON.stringify([cell.id, cell.head, cell.row]);
  },
};
