// An attention of a model, as Models shows it: its heatmaps, one for each head, and the slider below them

import { axesOf, headsOf, titleOf } from "./attentions.js";
import { make, onSlide, short, write } from "./page.js";
import { drawScale, Heatmap } from "./heatmap.js";

const FACTORS = ["0: all equal", "1", "2", "3"]; // What stands below the slider.

export class AttentionCard {
  constructor(id, model, heads, setFactor) { // `setFactor(factor)` is called when the slider moves.
    Object.assign(this, { id, model });
    this.title = titleOf(id);
    const { trainedFactor } = model;
    this.slider = make("input", { type: "range", id, min: 0, max: 3, step: 0.1,
      "aria-label": `${this.title}: scores times` });
    onSlide(this.slider, setFactor);
    this.back = make("button", { id: `${id} back`, onclick: () => {
      setFactor(trainedFactor);
      this.slider.focus(); // The button is gone.
    } }, `Back to × ${trainedFactor}`);
    this.factor = make("output", { htmlFor: id, id: `${id} factor`, "aria-live": "off" });
    const marks = FACTORS.map((name, factor) => make("span", { style: `left: ${(100 * factor) / 3}%` },
      factor === trainedFactor ? `${factor}: as trained` : name));
    const many = heads.length > 1; // So many that the slider would be out of sight below them.
    this.pictures = make("div", { className: "heads" });
    const pictures = [this.pictures, make("div", { className: "scale" }, ...drawScale())];
    const slider = [make("p", { className: "beside" }, make("span", {}, "Scores × ", this.factor), this.back),
      this.slider, make("p", { className: "marks", "aria-hidden": "true" }, ...marks)];
    this.section = make("section", { className: "box", "aria-label": this.title }, make("h2", {}, this.title),
      ...(many ? [...slider, ...pictures] : [...pictures, ...slider]),
      make("details", { className: "shows" }, make("summary", {}, "What does the slider show?"), ...this.explain()));
  }

  explain() { // Say what a slider shows, and what it does not.
    const { trainedFactor, task } = this.model;
    const slider = trainedFactor === 0
      ? "This model was trained at × 0, so all its weights were equal from the first training step to the last."
      : "The slider multiplies the scores that softmax turns into weights. At × 0 all weights are equal; " +
        "above × 1 the largest ones grow. In its training the model has met nothing but × 1.";
    const train = task === "Counting Letters" && trainedFactor === 1;
    const way = train ? make("a", { href: "#train" }, "Train one with equal weights") : "The last chapter does so.";
    return [make("p", {}, slider), make("p", {}, "So wrong answers show that ", make("b", {}, "this model"),
      " depends on weights like those of its training. They don't show that the ", make("b", {}, "task"),
      " needs such weights. To find that out, one trains a model with equal weights. ", way)];
  }

  drawLetters({ model, tokens, seen }) { // What depends on the letters; weights come later.
    const { id } = this;
    const { heads } = seen[id];
    const axes = axesOf(model, tokens, id);
    this.maps = heads.map((_, head) => {
      const title = heads.length > 1 ? `${this.title}, head ${head + 1}` : this.title;
      const map = new Heatmap({ title, ...axes, place: { id, head } });
      map.table.id = `${id} ${head}`;
      map.table.setAttribute("role", "grid");
      [[map.stop]] = map.cells; // One for the Tab key in each heatmap; arrow keys go on from there.
      return map;
    });
    if (heads.length === 1) {
      this.pictures.replaceChildren(this.maps[0].table);
      return;
    }
    this.parts = this.maps.map((map, head) => make("div", {}, make("h3", {}, `Head ${head + 1}`), map.table));
    this.buttons = this.maps.map((_, head) => // A phone shows one at a time.
      make("button", { onclick: () => this.showHead(head) }, `${head + 1}`));
    this.pictures.replaceChildren(make("p", { className: "row which" }, make("span", { className: "quiet" }, "Head"),
      ...this.buttons), ...this.parts);
    const { finds, owns } = headsOf(model);
    this.showHead(id === model.layerNames[model.layerNames.length - 1] ? finds : owns);
  }

  showHead(head) {
    (this.parts || []).forEach((part, at) => {
      part.classList.toggle("current", at === head);
      this.buttons[at].setAttribute("aria-pressed", at === head);
    });
  }

  draw({ seen }) { // What changes with a slider or a weight moved by hand.
    const { factor, heads } = seen[this.id];
    this.maps.forEach((map, head) => {
      map.paint(heads[head].weights, heads[head].allowed);
      map.cells.flat().forEach((cell) => {
        const weight = cell.textContent || "later, so hidden";
        cell.setAttribute("aria-label", `${map.rows[cell.place.row]}, ${map.columns[cell.place.column]}: ${weight}`);
      });
    });
    this.slider.value = factor;
    this.slider.setAttribute("aria-valuetext", String(factor));
    write(this.factor, short(factor));
    this.back.style.visibility = factor === this.model.trainedFactor ? "hidden" : ""; // Its place is kept.
  }

  choose({ head, row, column }, chosen) {
    this.maps.forEach((map, number) => {
      const current = chosen && number === head;
      if (current) {
        map.stop = map.cells[row][column];
      }
      map.cells.flat().forEach((cell) => {
        cell.tabIndex = cell === map.stop ? 0 : -1;
        cell.classList.toggle("chosen", current && cell === map.stop);
      });
      map.names.forEach((name, at) => name.classList.toggle("lit", current && at === row)); // The query,
      map.heads.forEach((name, at) => name.classList.toggle("lit", current && at === column)); // and the key.
    });
    if (chosen) {
      this.showHead(head);
    }
  }
}
