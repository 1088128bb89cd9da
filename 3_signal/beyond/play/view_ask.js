// The first view: a name is asked for, and one sees what the last word attends to, and which name its pet looked at in
// the first layer. A drag moves weight in all heads of a layer.

import { largest, range } from "./arrays.js";
import { has } from "./refusing.js";
import { anySeed, dice, inSlices, measureRight, usual } from "./measuring.js";
import { headsOf, ownersIn } from "./attentions.js";
import { library } from "./library.js";
import { $, announce, isPaper, make, makeSvg, offer, onResize, percent, say, share, verdict, write } from "./page.js";
import { Hand, moved } from "./hand.js";
import { readable, readMove, writeMove, writeShown } from "./addresses.js";
import { FAINT, firstLines, lastLines, LEAST, measureStage, remInPixels } from "./ask_geometry.js";
import { whatHappens, whatToDoNext } from "./ask_telling.js";

const EASE = 350; // Milliseconds that a change takes.

export const Ask = {
  id: "ask",
  title: "Ask",
  shell: null, // What the shell does for a view: see shell.js.
  name: "", // In the library.
  model: null,
  tokens: [], // Names with their pets, and the name that is asked for.
  equal: false, // Whether the last layer attends to all words equally,
  factors: {}, // which multiplies its scores by 0.
  moves: [], // What was moved by hand, as Hand has it.
  chances: [], // What comes out after each word,
  seen: {}, // and what each attention did.
  earlier: null, // The answer and the weights before the last move.
  onStage: null, // The weights as they are drawn now, on their way to what they are.
  animation: 0,
  hand: null,
  line: null, // The line that was taken, { id, row },
  before: [], // and the moves before.
  at: null, // Where the pointer is that carries a line: [right, down] in the stage.
  dropped: null, // The line that was let go, on its way to its word: { row, to, at, remaining }: from 1 to 0.
  right: {}, // Of each model, how many of 1,000 new texts are right with equal weights.
  stop: () => {}, // Stops that measurement.

  start(shell) {
    Ask.shell = shell;
    $("ask_other").onclick = Ask.otherPets;
    for (const button of document.querySelectorAll("#view_ask [data-attend]")) {
      button.onclick = () => Ask.change({ equal: button.dataset.attend === "equal", moves: [] });
    }
    $("view_ask").addEventListener("click", (event) => {
      const asked = event.target.closest("[data-ask]");
      const word = event.target.closest(".word");
      if (asked) {
        Ask.change({ tokens: [...Ask.tokens.slice(0, -1), asked.dataset.ask], moves: [] });
      } else if (word && [...$("ask_words").children].indexOf(word) % 2 === 1) { // A pet.
        Ask.lookAt([...$("ask_words").children].indexOf(word));
      }
    });
    const stage = $("ask_stage");
    Ask.hand = new Hand(stage, Ask);
    stage.addEventListener("touchmove", (event) => {
      if (Ask.hand.pointer !== null) { // The finger would scroll.
        event.preventDefault();
      }
    }, { passive: false });
    stage.addEventListener("keydown", Ask.press);
    onResize(stage.parentNode, () => Ask.draw());
  },

  open(words) {
    const name = words.get("ask") || "transformer";
    const isThere = has(library, name) && library[name].model.task === "Transformer";
    Ask.name = isThere ? name : "transformer";
    Ask.model = library[Ask.name].model;
    const asked = words.has("letters") ? Ask.model.split(words.get("letters")) : usual(Ask.model);
    const fits = Ask.model.problem(asked) === "" && asked.length > 2 &&
      Ask.model.answers(asked)[asked.length - 1] !== null;
    Ask.tokens = fits ? asked : usual(Ask.model);
    const { seen } = Ask.model.run(Ask.tokens);
    const moves = words.getAll("move").map((move) => readMove(move, seen, Ask.question));
    const follows = fits && moves.every(Ask.isMine);
    Ask.change({ equal: words.get("attend") === "equal", moves: follows ? moves : [] });
    if (!isThere) {
      Ask.shell.missing(name);
    } else if (!follows) {
      say("The address cannot be followed: this model cannot be asked that.");
    }
  },

  isMine(move) { // Whether it is one of the lines that one can move here.
    const { question, last } = Ask;
    const [first] = Ask.model.layerNames;
    return move !== null && (move.row === last ? move.id === question.id
      : move.id === first && first !== question.id && move.row % 2 === 1);
  },

  address() {
    const parts = new URLSearchParams();
    if (String(Ask.tokens) !== String(usual(Ask.model))) {
      parts.append("letters", Ask.tokens.join(" "));
    }
    if (Ask.equal) {
      parts.append("attend", "equal");
    }
    for (const move of Ask.moves) {
      parts.append("move", writeMove(move));
    }
    const view = Ask.name === "transformer" ? "ask" : `ask=${Ask.name}`;
    return String(parts) ? `${view}&${readable(parts)}` : view;
  },

  get question() { // The orange lines: of the last word, in the last layer.
    return { id: Ask.model.layerNames.slice(-1)[0], row: Ask.last };
  },

  get ownership() { // The blue line: of a pet, in the first layer.
    return { id: Ask.model.layerNames[0], row: Ask.keyed };
  },

  get last() { // The place of the word that asks.
    return Ask.tokens.length - 1;
  },

  get weights() {
    return Ask.read(Ask).weights;
  },

  get answer() {
    return Ask.read(Ask).answer;
  },

  read({ chances, seen }) { // Return what a run says, and the weights in the head that finds the pet.
    return { answer: Ask.model.classes[largest(chances[Ask.last])],
      weights: seen[Ask.question.id].heads[headsOf(Ask.model).finds].weights[Ask.last] };
  },

  change(changes) {
    say(""); // What was wrong before.
    Object.assign(Ask, changes);
    Ask.factors = Ask.equal ? { [Ask.question.id]: 0 } : {};
    Object.assign(Ask, Ask.model.run(Ask.tokens, Ask.factors, Ask.moves));
    Ask.earlier = Ask.read(Ask.model.run(Ask.tokens, Ask.factors, Ask.moves.slice(0, -1)));
    Ask.draw();
    if (Ask.hand.from === null) {
      Ask.shell.writeAddress();
      Ask.announce();
      Ask.measure();
    }
  },

  announce() {
    announce(`${Ask.tokens[Ask.last]}: ${Ask.answer}, ${percent(Math.max(...Ask.chances[Ask.last]))}. ` +
      $("ask_told").textContent);
  },

  otherPets() { // Other pets for the same names, no pet twice.
    const pets = Ask.model.classes.slice(Ask.model.classes.length / 2);
    const roll = dice(anySeed());
    const tokens = Ask.tokens.map((token, place) =>
      (place % 2 ? pets.splice(roll(pets.length), 1)[0] : token));
    Ask.change({ tokens, moves: [] });
  },

  measure() {
    Ask.stop();
    if (Ask.equal && !has(Ask.right, Ask.name)) {
      const { name, model, question } = Ask;
      Ask.stop = inSlices(measureRight(model, model.length, { [question.id]: 0 }), 8, (right) => {
        Ask.right[name] = right;
        Ask.tell();
        if (Ask.shell.view === Ask) {
          Ask.announce();
        }
      });
    }
  },

  // --- Drawing

  draw() {
    if (Ask.shell.view !== Ask) {
      return;
    }
    Ask.drawWords();
    Ask.drawChances();
    Ask.tell();
    Ask.ease();
  },

  drawWords() {
    const stage = $("ask_stage");
    const asking = Ask.tokens[Ask.last];
    const looked = largest(Ask.weights);
    const owner = Ask.owner;
    const room = stage.parentNode.clientWidth; // A stage that is tall stays narrow in a wide window.
    const tall = room < (3.3 * Ask.tokens.length + 8.1) * remInPixels() || isPaper();
    stage.classList.toggle("tall", tall);
    if (tall !== ($("ask_told").previousElementSibling === stage)) { // Where it is read at once.
      (tall ? stage : $("ask_why").firstElementChild).after($("ask_told"));
    }
    if ($("ask_words").children.length !== Ask.tokens.length) {
      Ask.makeWords();
    }
    [...$("ask_words").children].forEach((word, place) => {
      write(word.firstChild, Ask.tokens[place]);
      if (place % 2 === 0 && place < Ask.last) {
        word.dataset.ask = Ask.tokens[place];
      }
      word.classList.toggle("looked", place === looked && Ask.weights[looked] > 0.3);
      word.classList.toggle("found", place === Ask.keyed && owner >= 0);
      if (place % 2) { // A pet.
        write(word.querySelector(".key"), owner >= 0 ? `key: ${Ask.tokens[owner]}’s` : "");
        write(word.querySelector(".value"), `value: ${Ask.tokens[place]}`);
      }
      word.classList.toggle("target", Ask.hand.from !== null && place === Ask.hand.to);
      word.classList.toggle("owner", Ask.line !== null && Ask.line.row !== Ask.last);
    });
    [...$("ask_knobs").children].forEach((knob, place) => {
      const weight = Ask.weights[place];
      knob.hidden = weight <= LEAST;
      knob.classList.toggle("most", place === looked && weight > 0.3);
      knob.setAttribute("aria-label", `${asking} attends to ${Ask.tokens[place]}`);
      knob.setAttribute("aria-valuetext", `${Ask.tokens[place]}, weight ${share(weight)}`);
    });
    const knob = $("ask_key");
    knob.hidden = owner < 0 || Ask.placesFor(Ask.ownership).length < 2;
    knob.setAttribute("aria-label", `In an earlier layer, ${Ask.tokens[Ask.keyed]} looks at ${Ask.tokens[owner]}`);
    knob.setAttribute("aria-valuemax", Ask.keyed);
    knob.setAttribute("aria-valuenow", owner + 1);
    const owned = Math.max(...Ask.firstWeights()[Ask.keyed]);
    knob.setAttribute("aria-valuetext", `${Ask.tokens[owner]}, weight ${share(owned)}`);
    offer($("ask_names"), ownersIn(Ask.tokens), asking);
    $("ask_step").href = `#row&${new URLSearchParams({ letters: Ask.tokens.join(" ") })}`;
    $("ask_own").href = `#${writeShown("model", Ask)}`;
    $("ask_whose").hidden = Ask.name === "transformer";
    write($("ask_whose").querySelector("b"), library[Ask.name].title);
    write($("ask_title"), asking);
    const right = Ask.model.answers(Ask.tokens)[Ask.last];
    const wrong = Ask.answer !== right;
    const looks = !wrong && Ask.moves.length === 0 && looked === Ask.tokens.indexOf(asking) + 1;
    $("ask_looks").style.visibility = looks ? "visible" : "hidden"; // Its place stays.
    write($("ask_answer"), Ask.answer);
    $("ask_answer").dataset.answer = Ask.answer;
    $("ask_answer").classList.toggle("wrong", wrong);
    write($("ask_verdict"),
      wrong && Ask.moves.length === 0 ? verdict(Ask.answer, right) : ""); // By one's hand it may be wrong.
    write($("ask_sure"), percent(Math.max(...Ask.chances[Ask.last])));
    for (const button of document.querySelectorAll("#view_ask [data-attend]")) {
      const isEqual = button.dataset.attend === "equal";
      button.setAttribute("aria-pressed", isEqual === Ask.equal && Ask.moves.length === 0);
      button.classList.toggle("back", !isEqual && Ask.moves.length > 0); // It is lit, as the way back.
    }
  },

  makeWords() { // For a text of this length.
    $("ask_words").replaceChildren(...Ask.tokens.map((_, place) => {
      const word = make("span", {});
      if (place === Ask.last) {
        return make("span", { className: "word asking" }, word, make("small", {}, "query"));
      }
      const labels = [make("small", { className: "key" }), make("small", { className: "value" })];
      return place % 2 ? make("span", { className: "word" }, word, ...labels)
        : make("button", { className: "word", tabIndex: -1 }, word); // The buttons below do the same.
    }));
    $("ask_knobs").replaceChildren(...Ask.tokens.map((token, place) => {
      const knob = make("div", { className: "knob", role: "slider", tabIndex: 0 },
        make("small", { className: "drag" }, "drag me"), make("small", { className: "keys" }, "use ← →"));
      knob.dataset.arc = place;
      knob.title = "Drag it, or use the arrow keys: from pet to pet, with Shift from word to word";
      knob.setAttribute("aria-valuemin", 1);
      knob.setAttribute("aria-valuemax", Ask.tokens.length);
      knob.setAttribute("aria-valuenow", place + 1);
      return knob;
    }));
    // One for each line: who touches one holds it until they let go, so it is never made anew.
    $("ask_grabs").replaceChildren(...Ask.tokens.map((token, place) =>
      makeSvg("path", { class: "grab", "data-place": place })), makeSvg("path", { class: "grab", id: "ask_key_grab" }));
  },

  drawChances() { // Of each pet of the text, and of the likeliest other word.
    const chances = Ask.chances[Ask.last];
    const classes = Ask.model.classes;
    const pets = Ask.tokens.filter((token, place) => place % 2 === 1);
    const rows = [...new Set(pets)];
    const others = chances.map((chance, index) => (rows.includes(classes[index]) ? 0 : chance));
    rows.push(classes[largest(others)]);
    const list = $("ask_chances");
    while (list.children.length > rows.length) {
      list.lastChild.remove();
    }
    rows.forEach((word, index) => {
      if (!list.children[index]) {
        list.append(make("li", {}, make("span", {}), make("div", {}, make("i", {})), make("small", {})));
      }
      const [name, track, number] = list.children[index].children;
      const chance = chances[classes.indexOf(word)];
      write(name, word);
      write(number, percent(chance));
      track.firstChild.style.width = `${(100 * chance).toFixed(2)}%`;
      list.children[index].classList.toggle("most", word === Ask.answer);
      const rare = index === rows.length - 1 && chance < 0.01;
      list.children[index].style.visibility = rare ? "hidden" : "visible"; // Its place stays.
    });
    write($("ask_strange"), Math.max(...others) >= 0.01 ? `${rows[rows.length - 1]} is none of these pets.` : "");
  },

  tell() {
    write($("ask_told"), ...whatHappens(Ask, Ask.right[Ask.name]));
    write($("ask_owner"), ...whatToDoNext(Ask));
  },

  ease() { // Let what is drawn go to what is, in small steps.
    const goal = { last: Ask.weights, first: Ask.firstWeights() };
    const nothing = { last: goal.last.map(() => 0), first: goal.first }; // So that the lines grow at first.
    const fits = Ask.onStage && Ask.onStage.last.length === goal.last.length;
    const from = fits ? Ask.onStage : nothing;
    cancelAnimationFrame(Ask.animation);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || Ask.hand.from !== null || isPaper()) {
      Ask.dropped = null;
      Ask.onStage = goal;
      Ask.drawArcs();
      return;
    }
    const began = performance.now();
    const between = (left, right, part) =>
      left.map((number, index) => number + part * (right[index] - number));
    const frame = (now) => {
      const time = Math.min(1, Math.max(0, (now - began) / EASE));
      const part = 1 - (1 - time) ** 3;
      Ask.onStage = {
        last: between(from.last, goal.last, part),
        first: goal.first.map((row, place) => between(from.first[place], row, part)),
      };
      if (Ask.dropped) {
        Ask.dropped.remaining = 1 - part;
      }
      Ask.drawArcs(time === 1);
      if (time < 1) {
        Ask.animation = requestAnimationFrame(frame);
      } else {
        Ask.dropped = null; // It is there: no later change brings it back.
      }
    };
    Ask.animation = requestAnimationFrame(frame);
  },

  firstWeights() { // Of each word, in the first layer's head that finds owners; none if it is the last layer.
    const names = Ask.model.layerNames;
    const rows = Ask.seen[names[0]].heads[headsOf(Ask.model).owns].weights;
    return rows.map((row) => row.map((weight) => (names.length > 1 ? weight : 0)));
  },

  drawArcs(flowing = false) { // Flowing: the values go to the word that asks.
    if (Ask.shell.view !== Ask) { // One has gone elsewhere while it moved.
      return;
    }
    const { first, last } = Ask.onStage;
    const stage = measureStage();
    const held = Ask.at ? { row: Ask.line.row, to: Ask.hand.to, at: Ask.at, remaining: 1 } : Ask.dropped;
    $("ask_arcs").replaceChildren(...firstLines(stage, first, Ask.keyed, Ask.owner, held),
      ...lastLines(stage, last, held, flowing));
  },

  // The place of the pet whose line was moved last, else of the one that the last word looks at, else of the one that
  // it should find.
  get keyed() {
    const [last] = Ask.moves.slice(-1);
    if (last && last.row !== Ask.last) {
      return last.row;
    }
    const looked = largest(Ask.weights);
    return looked % 2 && Ask.weights[looked] > 0.3 ? looked : Ask.tokens.indexOf(Ask.tokens[Ask.last]) + 1;
  },

  get owner() { // The place of the name that this pet looks at in the first layer, or −1.
    const weights = Ask.firstWeights()[Ask.keyed];
    const place = largest(weights);
    return place % 2 === 0 && weights[place] > FAINT ? place : -1;
  },

  // --- Moving weight: with a pointer, or with the arrow keys on a knob

  // Return where a line may go: the last word's to any word, or from pet to pet; a pet's to the names before it,
  // because later ones are hidden from it.
  placesFor({ row }, byPets = false) {
    const parity = row === Ask.last ? 1 : 0;
    return range(row === Ask.last ? Ask.tokens.length : row)
      .filter((place) => place % 2 === parity || (row === Ask.last && !byPets));
  },

  take(line) {
    Object.assign(Ask, { line, before: Ask.moves });
    $("view_ask").classList.add("touched");
  },

  lookAt(place) { // Let the heaviest line go to a word.
    if (Ask.equal) {
      Ask.change({ equal: false, moves: [] });
    }
    Ask.take(Ask.question);
    Ask.put(largest(Ask.weights), place);
  },

  takes(event) {
    const held = event.target.closest(".knob, .grab");
    if (!held) {
      return null;
    }
    event.preventDefault();
    $("ask_stage").classList.add("by_hand");
    const isKey = held === $("ask_key") || held === $("ask_key_grab");
    const place = isKey ? Ask.owner : Number(has(held.dataset, "arc") ? held.dataset.arc : held.dataset.place);
    (isKey ? $("ask_key") : $("ask_knobs").children[place]).focus({ preventScroll: true });
    Ask.take(isKey ? Ask.ownership : Ask.question);
    return place;
  },

  over({ clientX, clientY }) { // The nearest word to which the line may go.
    const { tall, along, box } = measureStage();
    Ask.at = [clientX - box.left, clientY - box.top];
    const places = Ask.placesFor(Ask.line);
    return places[largest(places.map((place) => -Math.abs(along[place] - Ask.at[tall ? 1 : 0])))];
  },

  carried(from, to) { // It says at once what it would say.
    Ask.change({ moves: moved(Ask.before, { ...Ask.line, from, to }) });
  },

  put(from, to) {
    Ask.dropped = Ask.at && { row: Ask.line.row, to, at: Ask.at, remaining: 1 };
    Ask.at = null;
    Ask.carried(from, to);
    if (Ask.line.row === Ask.last) {
      const place = Ask.weights[to] > LEAST ? to : largest(Ask.weights);
      $("ask_knobs").children[place].focus({ preventScroll: true });
    }
  },

  returned() {
    Ask.at = null;
    Ask.change({ moves: Ask.before });
  },

  press(event) {
    $("ask_stage").classList.remove("by_hand");
    const knob = event.target.closest(".knob");
    if (!knob || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -99, End: 99 };
    const isKey = knob === $("ask_key");
    if (event.key === "Escape") {
      Ask.change({ moves: [] });
      (isKey ? knob : $("ask_knobs").children[largest(Ask.weights)]).focus();
    } else if (has(steps, event.key)) {
      event.preventDefault();
      const step = steps[event.key];
      const from = isKey ? Ask.owner : Number(knob.dataset.arc);
      Ask.take(isKey ? Ask.ownership : Ask.question);
      const ahead = Ask.placesFor(Ask.line, !event.shiftKey).filter((place) => (place - from) * step > 0);
      const next = step > 0 ? ahead : ahead.reverse();
      if (next.length) {
        Ask.put(from, next[Math.min(Math.abs(step), next.length) - 1]);
      }
    }
  },
};
