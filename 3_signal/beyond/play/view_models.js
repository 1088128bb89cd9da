// Any model with any text: heatmaps, sliders, answers; weight is moved along a row

import { largest } from "./arrays.js";
import { has } from "./refusing.js";
import { anySeed, dice, inSlices, measureRight, usual } from "./measuring.js";
import { firstCell, orderOf } from "./attentions.js";
import { library } from "./library.js";
import { $, announce, drawMenu, make, onTyping, percent, say, verdict, write } from "./page.js";
import { Hand, moved, sameRow } from "./hand.js";
import { readShown, writeShown } from "./addresses.js";
import { AttentionCard } from "./attention_card.js";
import { CellCard, onPhone } from "./cell_card.js";

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export const Models = {
  id: "model",
  title: "Models",
  shell: null, // What the shell does for a view: see shell.js.
  shown: null, // { name, model, tokens, factors, moves, cell, chances, seen }: the model, with its mark where that was
  // moved; factors multiply the scores of each attention where a slider was moved; the cell is the chosen one.
  cards: {}, // An AttentionCard for each attention.
  hand: null,
  target: null, // The cell above which weight is carried.
  types: false, // Whether the letters are being typed: then their field is one's own.
  stopMeasuring: () => {},
  timer: 0,

  start(shell) {
    Models.shell = shell;
    $("models_menu").onchange = () => {
      const { model } = library[$("models_menu").value];
      const { tokens } = Models.shown; // Letters that fit stay.
      const fits = tokens.length === model.length && model.problem(tokens) === "";
      Models.show({ name: $("models_menu").value, model, tokens: fits ? tokens : usual(model) });
    };
    $("mark").onchange = () => {
      const { name } = Models.shown;
      Models.change({ model: library[name].model.marked(Number($("mark").value)), moves: [] });
    };
    onTyping("letters", () => Models.shown.model, (tokens) => {
      Models.types = true;
      Models.change({ tokens, moves: [] });
      Models.types = false;
    });
    $("random").onclick = () => {
      const { model } = Models.shown;
      Models.change({ tokens: model.sample(dice(anySeed()), Math.min(model.length, 100)), moves: [] });
    };
    $("usual").onclick = () => Models.change({ tokens: usual(Models.shown.model), moves: [] });
    $("put_back").onclick = () => {
      Models.change({ moves: [] });
      Models.focusCell();
    };
    $("checkpoint").onchange = () => {
      Models.shell.openFile($("checkpoint").files[0]);
      $("checkpoint").value = ""; // So that a file of the same name can be opened again.
    };
    CellCard.start(Models, shell);
    Models.hand = new Hand($("stage"), Models);
    $("stage").addEventListener("click", Models.clickCell);
    $("stage").addEventListener("keydown", Models.pressCell);
    $("stage").addEventListener("focusin", ({ target }) => { // The Tab key has come to another heatmap.
      if (target.place && target.matches(":focus-visible") && target !== Models.cellAt(Models.shown.cell)) {
        Models.point(target);
      }
    });
  },

  open(words) { // Show what an address says; without a word on a model, what was shown.
    const name = words.get("model");
    drawMenu("models_menu", Models.shown ? Models.shown.name : "counting"); // There may be new ones.
    if (name && has(library, name)) {
      const asked = readShown(words, name);
      Models.show(asked);
      say(asked.wrong);
      if (asked.cell) {
        CellCard.open();
        Models.focusCell();
      }
      return;
    }
    const { model } = library.counting;
    Models.show(Models.shown || { name: "counting", model, tokens: usual(model) });
    if (name) {
      Models.shell.missing(name);
    }
  },

  address() {
    return writeShown("model", { ...Models.shown, cell: null });
  },

  show({ name, model, tokens, factors = {}, moves = [], cell = null }) {
    say(""); // What was wrong before.
    const before = Models.shown;
    const { chances, seen } = model.run(tokens, factors, moves);
    Models.shown = { name, model, tokens, factors, moves, cell: cell || firstCell(model, seen), chances, seen };
    const sameModel = before !== null && before.name === name;
    const same = sameModel && String(before.tokens) === String(tokens) && before.model.mark === model.mark;
    if (!sameModel) {
      Models.drawModel();
    }
    if (!same) {
      Models.hand.empty(); // It held weight of other letters.
      Object.values(Models.cards).forEach((card) => card.drawLetters(Models.shown));
    }
    Models.draw();
    Models.shell.writeAddress();
    Models.measure();
  },

  change(changes) { // Show what is shown, but for some changes. Where letters do not fit, what was shown stays.
    const now = { ...Models.shown, ...changes };
    if (now.model.mark >= now.tokens.length) { // No letter is there any more.
      now.model = library[now.name].model;
    }
    const wrong = now.model.problem(now.tokens);
    say(wrong);
    $("stage").classList.toggle("old", wrong !== "");
    if (!wrong) {
      const same = String(now.tokens) === String(Models.shown.tokens);
      Models.show({ ...now, cell: same ? now.cell : null });
    }
  },

  drawModel() { // What depends on the model alone.
    const { name, model, seen } = Models.shown;
    const isText = model.task === "Transformer";
    const order = orderOf(seen);
    drawMenu("models_menu", name);
    $("try").textContent = library[name].hint;
    const { command, origin } = library[name];
    $("origin").replaceChildren(...(origin ? [origin] : ["This one was trained by ", make("code", {}, command)]));
    $("kind").textContent = isText ? "Words, of" : "Letters, of";
    $("known").textContent = model.known;
    $("controls").classList.toggle("words", isText);
    $("accuracy").textContent = "";
    $("stage").classList.remove("old");
    Models.cards = Object.fromEntries(order.map((id) => [id, new AttentionCard(id, model, seen[id].heads,
      (factor) => Models.change({ factors: { ...Models.shown.factors, [id]: factor } }))]));
    const [first, ...others] = Object.values(Models.cards).map((card) => card.section);
    $("first").replaceChildren(first);
    $("others").replaceChildren(...others);
    $("stage").classList.toggle("many", seen[order[0]].heads.length > 1);
    CellCard.close();
  },

  draw() {
    const { model, tokens, moves } = Models.shown;
    if (!Models.types) {
      $("letters").value = model.join(tokens);
    }
    $("positions").hidden = !model.settings.pos_enc;
    write($("mark"), ...tokens.map((token, step) => make("option", { value: step }, `step ${step}: ${token}`)));
    $("mark").value = model.mark;
    Object.values(Models.cards).forEach((card) => card.draw(Models.shown));
    Models.drawAnswers();
    $("put_back").hidden = !moves.length;
    Models.choose(Models.shown.cell);
  },

  drawAnswers() {
    const { model, tokens, chances } = Models.shown;
    const right = model.answers(tokens);
    const outputs = model.outputs(tokens);
    write($("answers"), ...model.answered(tokens).map((step) => {
      const answer = model.classes[largest(chances[step])];
      const judged = right[step] === null ? make("span", { className: "quiet" }, "nobody can know")
        : verdict(answer, right[step]);
      const sure = ` (${percent(Math.max(...chances[step]))})`;
      const said = make("span", {}, `${outputs[step]}: `, make("b", {}, answer), sure);
      const item = make("li", { className: "beside" }, said, judged);
      item.dataset.answer = answer;
      item.dataset.told = `${outputs[step]}: ${answer}, ${judged.textContent.replace(/[✓✗] /, "")}`;
      return item;
    }));
  },

  get told() {
    return [...$("answers").children].map((item) => item.dataset.told).join("; ");
  },

  measure() { // How many of 1,000 are right, when one rests.
    const { model, tokens, factors, moves } = Models.shown;
    $("accuracy").className = "quiet old";
    Models.stopMeasuring();
    clearTimeout(Models.timer);
    Models.timer = setTimeout(() => {
      Models.stopMeasuring = inSlices(measureRight(model, tokens.length, factors), 8, (right) => {
        $("accuracy").textContent = `Right for ${right.toLocaleString("en")} of 1,000 ` +
          model.describe(tokens.length) + (moves.length ? ". This is without the weight that you moved." : ".");
        $("accuracy").className = "quiet";
        if (Models.shell.view === Models) {
          announce(`${Models.told}. ${$("accuracy").textContent}`);
        }
      });
    }, 300);
  },

  // --- The chosen cell, and weight that is moved

  cellAt({ id, head, row, column }) {
    const map = Models.cards[id].maps[head];
    return (map.cells[row] || [])[column] || null;
  },

  allowed({ id, head, row, column }) { // Whether it has a weight: what comes later has none.
    return Models.shown.seen[id].heads[head].allowed(row, column);
  },

  focusCell() {
    Models.cellAt(Models.shown.cell).focus({ preventScroll: true });
  },

  choose(place) {
    Models.shown.cell = place;
    for (const [id, card] of Object.entries(Models.cards)) {
      card.choose(place, id === place.id);
    }
    const { from, pointer } = Models.hand;
    for (const cell of $("stage").querySelectorAll(".taken")) {
      cell.classList.remove("taken");
    }
    if (from && pointer === null) {
      Models.cellAt(from).classList.add("taken");
    }
    CellCard.draw();
  },

  point(cell) { // Choose a cell, and keep it in its place while the card goes beside another layer.
    const { top } = cell.getBoundingClientRect();
    Models.choose(cell.place);
    window.scrollBy(0, cell.getBoundingClientRect().top - top);
  },

  takes({ target }) {
    const cell = target.closest("td.cell");
    return cell && Models.allowed(cell.place) ? cell.place : null;
  },

  over({ clientX, clientY }) {
    const part = document.elementFromPoint(clientX, clientY);
    const cell = part && part.closest("#stage td.cell");
    return cell ? cell.place : null;
  },

  fits(from, to) {
    return to !== null && sameRow(from, to) && from.column !== to.column && Models.allowed(to);
  },

  carried(from, to) {
    Models.mark(Models.fits(from, to) ? Models.cellAt(to) : null);
  },

  mark(cell) {
    if (Models.target) {
      Models.target.classList.remove("target");
    }
    Models.target = cell;
    if (cell) {
      cell.classList.add("target");
    }
  },

  put(from, to) { // Give all of a cell's weight to another one of its row.
    Models.mark(null);
    if (!Models.fits(from, to)) {
      Models.choose(Models.shown.cell);
      return;
    }
    if (onPhone()) { // One wants to see what the model answers now.
      CellCard.close();
      $("said").scrollIntoView({ block: "nearest" });
    }
    const { id, row } = from;
    const move = { id, row, from: from.column, to: to.column };
    Models.change({ moves: moved(Models.shown.moves, move), cell: to });
    Models.focusCell();
    announce(`Moved${Models.shown.seen[id].heads.length > 1 ? " in all heads" : ""}. ${Models.told}`);
  },

  returned() {
    Models.mark(null);
    Models.choose(Models.shown.cell);
    Models.focusCell();
    announce("The weight stays where it was.");
  },

  takeChosen() { // By the keyboard, or by the button.
    const place = Models.shown.cell;
    if (Models.allowed(place)) {
      Models.hand.take(place);
    }
    CellCard.open();
    Models.choose(place);
    Models.focusCell();
    announce(Models.hand.from ? "Weight taken. Go to another cell of this row and press Enter."
      : "This word comes later, so there is no weight to take.");
  },

  putAt(place) {
    Models.hand.carry(place);
    Models.hand.put();
  },

  clickCell({ target }) {
    const cell = target.closest("td.cell");
    if (cell && Models.hand.from) {
      Models.putAt(cell.place);
    } else if (cell) {
      Models.point(cell);
      CellCard.open();
    }
  },

  pressCell(event) {
    const { place } = event.target;
    if (!place || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    if (has(ARROWS, event.key)) {
      event.preventDefault();
      const [down, right] = ARROWS[event.key];
      const next = { ...place, row: place.row + down, column: place.column + right };
      if (Models.cellAt(next)) {
        Models.choose(next);
        Models.cellAt(next).focus();
        if (!onPhone() && !CellCard.isOpen) {
          CellCard.open();
        }
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (Models.hand.from) {
        Models.putAt(place);
      } else {
        Models.takeChosen();
      }
    } else if (event.key === "Escape") {
      CellCard.close();
    }
  },
};
