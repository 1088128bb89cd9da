"use strict";

function titleOf(id) {
  const layer = id.match(/\d+/);
  if (layer) {
    const what = id.startsWith("encoder") ? `Encoder layer ${layer[0]}: letters` : `Layer ${layer[0]}: words`;
    return `${what} attend to ${what.split(": ")[1]}`;
  }
  return id === "attention" ? "Attention: answers attend to letters"
    : "Self-attention: answers attend to answers";
}

function orderOf(seen) { // The attention that the answers come from is shown first.
  const names = Object.keys(seen);
  const others = names.filter((name) => name !== "attention");
  return has(seen, "attention") ? ["attention", ...others] : names.reverse();
}

function firstCell(model, seen) { // The brightest cell of the row that the lesson speaks of.
  const id = has(seen, "self_attention") ? "self_attention" : orderOf(seen)[0];
  const heads = seen[id].heads;
  const row = model.task === "Difference" || model.task === "Transformer" ? heads[0].weights.length - 1 : 0;
  const head = largest(heads.map((one) => Math.max(...one.weights[row])));
  return { id, head, row, column: largest(heads[head].weights[row]) };
}

// Return where a cell goes when the letters change: its row stays the last one, and its column the brightest one,
// where they were.
function followed(place, before, after) {
  const [old, heads] = [before, after].map((seen) => seen[place.id].heads[place.head].weights);
  const row = place.row === old.length - 1 ? heads.length - 1 : Math.min(place.row, heads.length - 1);
  const brightest = place.column === largest(old[place.row]);
  return { ...place, row, column: brightest ? largest(heads[row]) : Math.min(place.column, heads[row].length - 1) };
}

function ordinal(number) {
  const ending = { 1: "st", 2: "nd", 3: "rd" }[number % 10] || "th";
  return `${number}${[11, 12, 13].includes(number % 100) ? "th" : ending}`;
}

function sameRow(one, other) {
  return one.id === other.id && one.head === other.head && one.row === other.row;
}

function placeOf(event) {
  const cell = event.target.closest ? event.target.closest("td.cell") : null;
  return cell && cell.place ? cell.place : null;
}

function onPhone() { // There the chosen cell is explained on a sheet above the page.
  return getComputedStyle($("cell")).position === "fixed";
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const Models = {
  id: "model",
  title: "Models",
  place: "playing",
  first: "model",
  name: "", // In the library: what is shown,
  model: null,
  tokens: [], // its letters or words,
  factors: {}, // what multiplies the logits of each attention, where a slider was moved,
  moves: [], // and the weight that was moved by hand.
  chances: [], // What comes out for each output step,
  seen: {}, // and what each attention did.
  chosen: { id: "attention", head: 0, row: 0, column: 0 }, // The cell that is explained.
  taken: null, // The cell whose weight is about to be moved.
  dragged: null, // The cell on which a pointer went down.
  target: null, // The cell above which it is now.
  typing: false, // Whether the letters are just being typed: then the field stays as it is.
  row: null, // The OneRow of the chosen cell.
  waiting: null, // Letters and sliders of an address whose model is not here yet.
  stopMeasuring: () => {},
  timer: 0,

  start() {
    $("model").onchange = () => {
      const name = $("model").value;
      const model = library[name].model;
      const fits = Models.tokens.length === model.length && model.problem(Models.tokens) === "";
      Models.openModel(name, fits ? Models.tokens : usual(model)); // Letters that fit stay.
    };
    const setLetters = (tokens) => Models.change({ tokens, moves: [] });
    onTyping("letters", () => Models.model, (tokens) => {
      Models.typing = true;
      setLetters(tokens);
      Models.typing = false;
    });
    $("random").onclick = () => {
      setLetters(Models.model.draw(dice(anySeed()), Math.min(Models.model.length, 100)));
    };
    $("usual").onclick = () => setLetters(usual(Models.model));
    $("put_back").onclick = () => {
      Models.change({ moves: [] });
      Models.cellAt(Models.chosen).focus();
    };
    $("checkpoint").onchange = () => openFile($("checkpoint").files[0]);
    Models.row = new OneRow($("cell_row"));
    $("cell_close").onclick = () => {
      Models.closeSheet();
      Models.cellAt(Models.chosen).focus({ preventScroll: true }); // The button is gone.
    };
    $("cell_large").onclick = () => Row.openCell({ ...Models, cell: Models.chosen });
    const stage = $("stage");
    stage.addEventListener("mouseover", (event) => Models.light(placeOf(event) || Models.chosen));
    stage.addEventListener("mouseleave", () => Models.light(Models.chosen));
    stage.addEventListener("pointerdown", Models.startDrag);
    stage.addEventListener("pointermove", Models.moveDrag);
    stage.addEventListener("pointerup", Models.endDrag);
    stage.addEventListener("click", Models.clickCell);
    stage.addEventListener("keydown", Models.pressCell);
    stage.addEventListener("focusin", (event) => { // The Tab key has come to another heatmap.
      const place = placeOf(event);
      if (place && event.target.matches(":focus-visible") && event.target !== Models.cellAt(Models.chosen)) {
        Models.explain(place);
      }
    });
    window.addEventListener("pointercancel", () => {
      Models.dragged = null;
      Models.mark(null);
    });
  },

  open(words) { // Show what an address says; without a word on a model, what was shown.
    if (!words.has("model")) {
      if (!Models.model) {
        Models.show("counting", usual(library.counting.model), {}, []);
      }
      return;
    }
    const name = words.get("model") || "counting";
    const asked = { letters: words.get("letters"), factors: {} };
    for (const [id, factor] of words) {
      if (id !== "model" && id !== "letters") {
        asked.factors[id] = factor;
      }
    }
    if (has(library, name)) {
      Models.showAsked(name, asked);
      return;
    }
    Models.show("counting", usual(library.counting.model), {}, []);
    if (name.startsWith("own_")) {
      Models.waiting = asked;
      say("This address shows somebody's own file. Open that checkpoint.npz here, and the page shows what " +
        "was meant.");
    } else if (name.startsWith("trained_")) {
      say("This address shows a model that was trained in the page, and is gone. Train one again under " +
        "“Train”.");
    } else {
      say("The address names a model that this page does not have.");
    }
  },

  showAsked(name, asked) { // Show of a model what an address says.
    const model = library[name].model;
    const tokens = asked.letters === null ? usual(model) : model.split(asked.letters);
    Models.show(name, usual(model), {}, []);
    const factors = {};
    let fits = true;
    for (const id of Object.keys(asked.factors)) {
      const factor = Number(asked.factors[id]);
      if (has(Models.seen, id) && factor >= 0 && factor <= 3) {
        factors[id] = factor;
      } else {
        fits = false;
      }
    }
    Models.show(name, tokens, factors, []);
    if (!fits) {
      say("The address names a slider that this model does not have.");
    }
  },

  address() {
    const letters = Models.model.join(Models.tokens).replace(/␣/g, " ");
    const parts = new URLSearchParams({ model: Models.name, letters, ...Models.factors });
    return String(parts).replace(/%2F/g, "/");
  },

  openModel(name, tokens) { // From anywhere.
    const elsewhere = Shell.view !== Models;
    Models.waiting = null;
    Shell.enter(Models);
    Models.show(name, tokens, {}, []);
    if (elsewhere) {
      $("model").focus(); // The button that was pressed is gone.
      window.scrollTo(0, 0);
    }
  },

  openAt({ name, tokens, factors, moves, cell }) { // A cell, from the view of its row.
    Models.openModel(name, tokens);
    Models.change({ factors, moves });
    Models.explain(cell);
    Models.cellAt(cell).focus();
  },

  show(name, tokens, factors, moves) { // Where the letters do not fit, what was shown stays.
    const model = library[name].model;
    const wrong = model.problem(tokens);
    say(wrong);
    $("stage").classList.toggle("old", wrong !== "");
    if (wrong) {
      return;
    }
    const sameModel = Models.name === name;
    const same = sameModel && String(Models.tokens) === String(tokens);
    const before = Models.seen;
    Object.assign(Models, { name, model, tokens, factors, moves, ...model.run(tokens, factors, moves) });
    if (!same) {
      Models.taken = null; // It was a cell of other letters.
    }
    if (!sameModel) {
      Models.drawModel();
      $("accuracy").textContent = "";
    }
    if (!same) {
      orderOf(Models.seen).forEach(Models.drawHeatmaps);
    }
    if (!sameModel) {
      Models.chosen = firstCell(model, Models.seen);
      Models.closeSheet();
    } else if (!same) {
      Models.chosen = followed(Models.chosen, before, Models.seen);
    }
    Models.draw();
    Shell.writeAddress();
    $("accuracy").className = "quiet old";
    Models.stopMeasuring();
    clearTimeout(Models.timer);
    Models.timer = setTimeout(() => { // When one rests.
      const measuring = Models.measureShown(model, tokens.length, factors, moves);
      Models.stopMeasuring = inSlices(measuring, 8, () => {});
    }, 300);
  },

  change(changes) { // Show what is shown, but for some changes.
    const now = { tokens: Models.tokens, factors: Models.factors, moves: Models.moves, ...changes };
    Models.show(Models.name, now.tokens, now.factors, now.moves);
  },

  draw() { // Draw what changes with a slider or a weight moved by hand.
    if (!Models.typing) {
      $("letters").value = Models.model.join(Models.tokens);
    }
    orderOf(Models.seen).forEach(Models.colourHeatmaps);
    Models.drawAnswers();
    Models.explain(Models.chosen);
    $("put_back").hidden = !Models.moves.length;
  },

  *measureShown(model, length, factors, moves) { // The score first; then the ruler, which goes on where it was.
    const right = yield* measureRight(model, length, factors);
    $("accuracy").dataset.right = right;
    $("accuracy").textContent = tell(right, model, length) + (moves.length ? " (Without the weight that you moved.)"
      : "");
    $("accuracy").className = "quiet";
    const answers = [...$("answers").children].map((item) => item.dataset.told);
    announce(`${answers.join("; ")}. ${$("accuracy").textContent}`);
    if (model.task === "Counting Letters" && !model.ruler) {
      model.measuring = model.measuring || measureRuler(model);
      model.ruler = yield* model.measuring;
      Models.drawAnswers();
    }
  },

  drawModel() { // Draw what depends on the model alone.
    const entry = library[Models.name];
    const model = Models.model;
    const order = orderOf(Models.seen);
    $("model").value = Models.name;
    $("try").textContent = entry.hint;
    $("command").textContent = entry.command;
    $("kind").textContent = model.task === "Transformer" ? "Words, of" : "Letters, of";
    $("usual").textContent = model.task === "Transformer" ? "Usual words" : "Usual letters";
    $("known").textContent = model.known;
    $("ruled").hidden = model.task !== "Counting Letters";
    $("letters").setAttribute("autocapitalize", model.task === "Transformer" ? "none" : "characters");
    $("controls").classList.toggle("words", model.task === "Transformer");
    const sections = order.map(Models.drawAttention);
    $("first").replaceChildren(sections[0]);
    $("others").replaceChildren(...sections.slice(1));
    $("stage").classList.toggle("alone", order.length === 1);
    $("stage").classList.toggle("many", Models.seen[order[0]].heads.length > 1);
  },

  drawAttention(id) {
    const trainedAt = Models.model.trainedAt;
    const slider = make("input", { type: "range", id, min: 0, max: 3, step: 0.1, value: trainedAt });
    slider.setAttribute("list", "marks");
    slider.setAttribute("aria-label", `${titleOf(id)}: logits times`);
    const turnTo = (factor) => Models.change({ factors: { ...Models.factors, [id]: factor } });
    let before = trainedAt;
    slider.onpointerdown = () => {
      before = Models.seen[id].factor;
    };
    slider.onpointercancel = () => turnTo(before); // The finger wanted to scroll, and only began here.
    slider.oninput = () => turnTo(Number(slider.value));
    const turnBack = () => {
      turnTo(trainedAt);
      slider.focus(); // The button is gone.
    };
    const back = make("button", { id: `${id} back`, onclick: turnBack }, `Back to × ${trainedAt}`);
    const names = ["0: all equal", "1", "2", "3"];
    names[trainedAt] = `${trainedAt}: as trained`;
    const marks = names.map((name, factor) => make("span", { style: `left: ${(100 * factor) / 3}%` }, name));
    const factor = make("output", { htmlFor: id, id: `${id} factor`, "aria-live": "off" });
    const label = make("span", {}, "Logits × ", factor);
    const section = make("section", { className: "box" }, make("h2", {}, titleOf(id)));
    const pictures = [make("div", { className: "heads", id: `${id} heads` }),
      make("div", { className: "scale" }, ...drawScale())];
    const turning = [make("p", { className: "beside" }, label, back), slider,
      make("p", { className: "marks", "aria-hidden": "true" }, ...marks)];
    const why = make("details", { className: "shows" }, make("summary", {}, "What does that show?"),
      make("div", { id: `${id} shows` }, ...Models.explainSlider()));
    const many = Models.seen[id].heads.length > 1; // So many that the slider would be out of sight below them.
    section.append(...(many ? [...turning, ...pictures] : [...pictures, ...turning]), why);
    section.setAttribute("aria-label", titleOf(id));
    section.dataset.attention = id;
    return section;
  },

  drawHeatmaps(id) { // Draw what depends on the letters; colours and numbers come later.
    const axes = axesOf(Models.model, Models.tokens, id);
    const heads = Models.seen[id].heads;
    const order = Models.orderOfHeads(id);
    const tables = order.map((head) => {
      const rows = axes.rows.map((name, row) => {
        const cells = axes.columns.map((_, column) => {
          const cell = make("td", { className: "cell", tabIndex: -1 });
          cell.place = { id, head, row, column };
          return cell;
        });
        return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
      });
      const above = axes.columns.map((name) => make("th", { scope: "col" }, name));
      const line = make("tr", {}, make("th", {}), ...above);
      const table = make("table", { id: `${id} ${head}` }, line, ...rows);
      const title = `Head ${head + 1}`;
      const whole = heads.length > 1 ? `${titleOf(id)}, ${title}` : titleOf(id);
      table.setAttribute("role", "grid");
      table.setAttribute("aria-label", `${whole}: attention weights, each row adds up to 1`);
      if (heads.length === 1) {
        return table;
      }
      const part = make("div", {}, make("h3", {}, title), table);
      part.dataset.head = head;
      return part;
    });
    if (heads.length > 1) { // A phone shows one at a time.
      const buttons = order.map((head) => {
        const button = make("button", { onclick: () => Models.showHead(id, head) }, `${head + 1}`);
        button.dataset.head = head;
        return button;
      });
      tables.unshift(make("p", { className: "row which" }, make("span", { className: "quiet" }, "Head"), ...buttons));
    }
    $(`${id} heads`).replaceChildren(...tables);
    Models.showHead(id, order[0]);
  },

  showHead(id, head) {
    const shown = $(`${id} heads`);
    for (const one of shown.querySelectorAll("[data-head]")) {
      const current = Number(one.dataset.head) === head;
      one.classList.toggle("current", current);
      if (one.tagName === "BUTTON") {
        one.setAttribute("aria-pressed", current);
      }
    }
  },

  orderOfHeads(id) { // First the one that Ask draws.
    const model = Models.model;
    const numbers = range(Models.seen[id].heads.length);
    if (model.task !== "Transformer") {
      return numbers;
    }
    model.drawn = model.drawn || headsOf(model);
    const first = id === model.layerNames.slice(-1)[0] ? model.drawn.finds : model.drawn.owns;
    return [first, ...numbers.filter((number) => number !== first)];
  },

  cellAt(place) {
    const table = $(`${place.id} ${place.head}`);
    const row = table ? table.rows[place.row + 1] : null;
    return row ? row.cells[place.column + 1] || null : null;
  },

  colourHeatmaps(id) {
    const seen = Models.seen[id];
    const shownAs = short(seen.factor);
    seen.heads.forEach((head, number) => {
      head.weights.forEach((weights, row) => {
        weights.forEach((weight, column) => {
          const cell = Models.cellAt({ id, head: number, row, column });
          cell.dataset.weight = weight;
          if (head.allowed(row, column)) {
            cell.textContent = share(weight);
            paintWeight(cell, weight);
          }
        });
      });
    });
    $(id).value = seen.factor;
    $(id).setAttribute("aria-valuetext", `${seen.factor}`);
    $(`${id} factor`).textContent = shownAs;
    $(`${id} back`).style.visibility = seen.factor === Models.model.trainedAt ? "hidden" : ""; // Its place is kept.
  },

  explainSlider() { // Say what a slider shows, and what it does not.
    const { trainedAt, task } = Models.model;
    const train = task === "Counting Letters" && trainedAt === 1;
    const slider = trainedAt === 0
      ? "This model was trained at × 0: all its weights were equal from the first training step to the last."
      : "The slider multiplies the logits, the scores that softmax turns into weights. At × 0 all weights are equal; " +
        "above × 1 the largest ones grow. In its training the model has met nothing but × 1.";
    const shows = make("p", {}, "So wrong answers show that ", make("b", {}, "this model"), " depends on weights like " +
      "those of its training. They do not show that the ", make("b", {}, "task"), " needs such weights. To find that " +
      `out, one trains a model with equal weights${train ? ": " : ", as in the last chapter."}`);
    if (train) {
      shows.append(make("button", { onclick: () => Shell.goOn(Train) }, "Train one with equal weights"));
    }
    return [make("p", {}, slider), shows];
  },

  drawAnswers() {
    const model = Models.model;
    const tokens = Models.tokens;
    const right = model.answers(tokens);
    const outputs = model.outputs(tokens);
    $("rulers").replaceChildren(...(model.ruler || []).map(Models.drawRuler));
    $("answers").replaceChildren(...model.shown(tokens).map((step) => {
      const name = outputs[step];
      const chances = Models.chances[step];
      const answer = model.classes[largest(chances)];
      const judged = right[step] === null ? make("span", { className: "quiet" }, "nobody can know") :
        verdict(answer, right[step]);
      const item = make("li", {});
      item.dataset.answer = answer;
      item.dataset.chances = chances.join(" ");
      item.dataset.told = `${name}: ${answer}, ${judged.textContent.replace(/[✓✗] /, "")}`;
      item.append(make("p", { className: "beside" }, make("span", {}, `${name}: `, make("b", {}, answer),
        ` (${percent(Math.max(...chances))})`), judged));
      return item;
    }));
  },

  drawRuler(ruler, step) { // Where a row's weight is, among those that are usual for each count.
    const own = Models.model.letters[step + 1];
    const weight = ownWeight(Models.tokens, own, Models.seen.attention.heads[0].weights[step]);
    const reading = largest(ruler.map((usualWeight) => -Math.abs(usualWeight - weight)));
    const text = make("p", { className: "quiet" }, `${own}: weight ${share(weight)}, usual for ${reading}`);
    const pointer = make("span", { className: "pointer", style: `left: ${100 * weight}%` }, "▼");
    const ends = [-1, -1]; // Where the last number stands in each of two lines: there is to be room for the next.
    const counts = ruler.map((usualWeight, count) => {
      const room = usualWeight - ends[count % 2] > 0.05;
      ends[count % 2] = room ? usualWeight : ends[count % 2];
      return make("span", { className: "count", style: `left: ${100 * usualWeight}%` }, room ? count : "");
    });
    return make("div", {}, text, make("div", { className: "axis", "aria-hidden": "true" }, pointer, ...counts));
  },

  explain(place) { // Choose a cell: its row is shown, and what comes of it.
    Models.chosen = place;
    const { id, head, row, column } = place;
    Models.showHead(id, head);
    const seen = Models.seen[id];
    const weight = seen.heads[head].weights[row][column];
    const axes = axesOf(Models.model, Models.tokens, id);
    const what = Models.model.task === "Transformer" ? "word" : "letter";
    const nameOf = (names, at) => (names.length === Models.tokens.length && names[at] === signs(Models.tokens)[at]
      ? `${names[at]} (the ${ordinal(at + 1)} ${what})` : names[at]);
    $("cell_title").textContent = `${nameOf(axes.rows, row)} gives ${nameOf(axes.columns, column)} the weight ` +
      share(weight);
    Models.drawMoving(weight);
    if ($("cell").classList.contains("open")) {
      Models.row.show(rowOfModel(Models, place));
      $("cell_rest").replaceChildren(Models.explainMean(seen), Models.explainChances());
    }
    for (const cell of document.querySelectorAll(".chosen, .taken")) {
      cell.classList.remove("chosen", "taken");
    }
    for (const cell of document.querySelectorAll("#stage td[tabindex='0']")) {
      cell.tabIndex = -1;
    }
    Models.cellAt(place).classList.add("chosen");
    Models.light(place);
    // One stop for the Tab key in each heatmap; the arrow keys go on from there.
    for (const cell of document.querySelectorAll("#stage tr:nth-child(2) td.cell:nth-child(2)")) {
      (Models.cellAt({ ...place, id: cell.place.id, head: cell.place.head }) || cell).tabIndex = 0;
    }
    if (Models.taken) {
      Models.cellAt(Models.taken).classList.add("taken");
    }
  },

  light(place) { // Light the query and the key of a cell: the names of its row and its column.
    for (const name of document.querySelectorAll("#stage .lit")) {
      name.classList.remove("lit");
    }
    const cell = Models.cellAt(place);
    if (cell) {
      cell.parentNode.cells[0].classList.add("lit");
      cell.closest("table").rows[0].cells[place.column + 1].classList.add("lit");
    }
  },

  openSheet() { // Show how the weight of the chosen cell comes about.
    if (!$("cell").classList.contains("open")) {
      $("cell").classList.add("open");
      Models.explain(Models.chosen);
    }
    if (onPhone()) { // There it comes from below, and its cell stays in sight above it.
      const bottom = Models.cellAt(Models.chosen).parentNode.getBoundingClientRect().bottom;
      const top = window.innerHeight - $("cell").offsetHeight; // It may still be rising.
      window.scrollBy(0, Math.max(0, bottom + 8 - top));
    }
  },

  closeSheet() {
    $("cell").classList.remove("open");
  },

  explainMean(seen) { // From the weighted mean to what the row passes on.
    const { row, head } = Models.chosen;
    const sums = seen.sums[row];
    const found = seen.found ? seen.found[row] : seen.heads[head].context[row];
    const end = sizeOf([...found, ...sums]);
    const line = (text, vector, to) => make("div", {}, make("p", {}, text), colourStrip(vector, to, "product", text));
    const parts = seen.found
      ? [line("The means of all heads, times W_O", found, end),
        line("plus the vector that was there before (residual connection)", sums, end)]
      : [line("The weighted mean", found, end), line("plus the query of this row (residual connection)", sums, end),
        line(`less its mean, ÷ ${short(normalize(sums).deviation)}, its standard deviation; scaled (layer norm)`,
          seen.output[row], sizeOf(seen.output[row]))];
    return make("div", {}, ...parts);
  },

  explainChances() { // What comes out for the output step that this row belongs to.
    const { model } = Models;
    const outputs = model.outputs(Models.tokens);
    const row = Math.min(Models.chosen.row, outputs.length - 1);
    const chances = Models.chances[row];
    const final = Object.keys(Models.seen).slice(-1)[0];
    const how = Models.chosen.id === final && model.task !== "Transformer"
      ? "The last dense layer turns these numbers into a logit for each answer, and softmax into chances"
      : "The next layers work on with these numbers. In the end there is a chance for each answer";
    const order = range(chances.length);
    const few = chances.length <= 12; // Else the largest ones, and the rest together.
    const shown = few ? order : mostImportant(chances, 8);
    const bars = shown.map((index) => [model.classes[index], chances[index]]);
    if (!few) {
      bars.push([`${chances.length - shown.length} others`, 1 - sum(shown.map((index) => chances[index]))]);
    }
    const list = make("ol", { className: "chances" }, ...bars.map(([name, chance]) => {
      const bar = make("span", { className: "chance" });
      bar.style.width = `${(60 * chance).toFixed(2)}%`;
      return make("li", {}, make("span", {}, String(name)), make("span", {}, bar, ` ${percent(chance)}`));
    }));
    list.setAttribute("aria-label", `Chance of each ${outputs[row]}`);
    return make("div", {}, make("p", {}, `${how}: ${outputs[row]}`), list);
  },

  drawMoving(cellWeight) {
    const line = $("cell_move");
    const weight = share(cellWeight);
    if (Models.taken) {
      line.replaceChildren(make("span", {}, "Now choose another cell of the same row: click it, or go there and " +
        "press Enter."), make("button", { onclick: Models.leave }, "Leave it"));
    } else {
      const keys = "Or drag the cell along its row. Keys: arrows go to a cell, Enter takes its weight, Enter in " +
        "another cell of the row puts it there, Escape leaves it.";
      line.replaceChildren(make("button", { onclick: () => Models.take(Models.chosen), title: keys },
        `Move this ${weight} by hand`), make("small", {}, "or drag the cell along its row"));
    }
  },

  take(place) {
    const allowed = Models.seen[place.id].heads[place.head].allowed(place.row, place.column);
    Models.taken = allowed ? place : null;
    Models.openSheet();
    Models.explain(Models.chosen);
    Models.cellAt(place).focus();
    announce(allowed ? "Weight taken. Go to another cell of this row and press Enter." :
      "This word comes later: there is no weight to take.");
  },

  leave() {
    Models.taken = null;
    Models.explain(Models.chosen);
    Models.cellAt(Models.chosen).focus();
    announce("The weight stays where it was.");
  },

  put(from, place) { // Give all of a cell's weight to another one of its row.
    Models.taken = null;
    Models.chosen = place;
    const allowed = Models.seen[place.id].heads[place.head].allowed(place.row, place.column);
    if (!sameRow(from, place) || from.column === place.column || !allowed) {
      Models.explain(place);
      announce("The weight stays where it was.");
      return;
    }
    const move = { id: from.id, head: from.head, row: from.row, from: from.column, to: place.column };
    if (onPhone()) { // One wants to see what the model answers now.
      Models.closeSheet();
      $("said").scrollIntoView({ block: "nearest" });
    }
    Models.change({ moves: [...Models.moves, move] });
    announce(`Moved. ${[...$("answers").children].map((item) => item.dataset.told).join("; ")}`);
  },

  mark(cell) {
    if (Models.target) {
      Models.target.classList.remove("target");
    }
    Models.target = cell;
    if (Models.target) {
      Models.target.classList.add("target");
    }
  },

  startDrag(event) {
    Models.dragged = event.isPrimary ? placeOf(event) : null; // Two fingers want to zoom.
    if (Models.dragged && event.target.hasPointerCapture(event.pointerId)) {
      event.target.releasePointerCapture(event.pointerId); // Else a finger stays with the cell it began on.
    }
  },

  moveDrag(event) {
    const place = placeOf(event);
    const from = Models.dragged;
    const onto = from && place && sameRow(from, place) && place.column !== from.column;
    Models.mark(onto ? event.target.closest("td.cell") : null);
  },

  endDrag(event) {
    const place = placeOf(event);
    const from = Models.dragged;
    Models.dragged = null;
    Models.mark(null);
    if (from && place && sameRow(from, place) && from.column !== place.column) {
      Models.cellAt(place).focus();
      Models.put(from, place);
    }
  },

  clickCell(event) {
    const place = placeOf(event);
    if (!place) {
      return;
    }
    if (Models.taken) {
      Models.put(Models.taken, place);
    } else {
      Models.explain(place);
      Models.openSheet();
    }
  },

  pressCell(event) {
    const place = placeOf(event);
    if (!place || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    if (has(ARROWS, event.key)) {
      event.preventDefault();
      const [down, right] = ARROWS[event.key];
      const next = { ...place, row: place.row + down, column: place.column + right };
      if (next.row >= 0 && next.column >= 0 && Models.cellAt(next)) {
        Models.explain(next);
        Models.cellAt(next).focus();
        if (!onPhone()) {
          Models.openSheet();
        }
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (Models.taken) {
        Models.put(Models.taken, place);
      } else {
        Models.take(place);
      }
    } else if (event.key === "Escape" && Models.taken) {
      Models.leave();
    } else if (event.key === "Escape") {
      Models.closeSheet();
    }
  },
};
