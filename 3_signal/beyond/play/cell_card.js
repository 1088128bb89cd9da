"use strict";

// The chosen cell, as Models explains it: how its weight comes about, and what becomes of the mean

function onPhone() { // There it is a sheet above the page.
  return getComputedStyle($("cell")).position === "fixed";
}

const CellCard = {
  row: null, // A OneRow.

  start() {
    CellCard.row = new OneRow($("cell_row"));
    $("cell_close").onclick = () => {
      CellCard.close();
      Models.focusCell();
    };
    $("cell_large").onclick = () => Shell.goTo(writeShown("row", Models.shown));
  },

  get isOpen() {
    return $("cell").classList.contains("open");
  },

  open() {
    $("cell").classList.add("open");
    CellCard.draw();
    if (onPhone()) { // It comes from below, and its cell stays in sight above it.
      const bottom = Models.cellAt(Models.shown.cell).parentNode.getBoundingClientRect().bottom;
      const top = window.innerHeight - $("cell").offsetHeight; // It may still be rising.
      window.scrollBy(0, Math.max(0, bottom + 8 - top));
    }
  },

  close() {
    $("cell").classList.remove("open");
  },

  draw() {
    if (!CellCard.isOpen) {
      return;
    }
    const { model, tokens, seen, cell } = Models.shown;
    const weight = share(seen[cell.id].heads[cell.head].weights[cell.row][cell.column]);
    const axes = axesOf(model, tokens, cell.id);
    const what = model.task === "Transformer" ? "word" : "letter";
    const nameOf = (names, at) => (names.length === tokens.length && names[at] === signs(tokens)[at]
      ? `${names[at]} (${what} ${at + 1})` : names[at]);
    $("cell_title").textContent = `${nameOf(axes.rows, cell.row)} gives ${nameOf(axes.columns, cell.column)} the ` +
      `weight ${weight}`;
    if (Models.hand.from) {
      $("cell_move").replaceChildren(make("span", {}, "Now choose another cell of the same row: click it, or go there " +
        "and press Enter."), make("button", { onclick: () => Models.hand.leave() }, "Leave it"));
    } else {
      $("cell_move").replaceChildren(make("button", { onclick: () => Models.takeChosen() }, `Move this ${weight} by hand`),
        make("small", {}, "or drag the cell along its row"));
    }
    CellCard.row.show(rowOfModel(Models.shown));
    $("cell_rest").replaceChildren(CellCard.explainMean(), CellCard.explainChances());
  },

  explainMean() { // From the weighted mean to what the row passes on.
    const { seen, cell: { id, head, row } } = Models.shown;
    const { found, sums, heads, output } = seen[id];
    const added = found ? found[row] : heads[head].context[row];
    const end = sizeOf([...added, ...sums[row]]);
    const line = (text, vector, to = end) => make("div", {}, make("p", {}, text), colourStrip(vector, to, "product", text));
    return make("div", {}, ...(found
      ? [line("The means of all heads, times W_O", added),
        line("plus the vector that was there before (residual connection)", sums[row])]
      : [line("The weighted mean", added), line("plus the query of this row (residual connection)", sums[row]),
        line("with mean 0 and variance 1, then scaled (layer norm)", output[row], sizeOf(output[row]))]));
  },

  explainChances() { // What comes out for the output step that this row belongs to.
    const { model, tokens, seen, chances, cell } = Models.shown;
    const outputs = model.outputs(tokens);
    const step = Math.min(cell.row, outputs.length - 1);
    const isFinal = cell.id === Object.keys(seen).pop() && model.task !== "Transformer";
    const how = isFinal ? "The last dense layer turns these numbers into a logit for each answer, and softmax into chances"
      : "The next layers work on with these numbers. In the end there is a chance for each answer";
    const list = make("ol", { className: "chances" }, ...mostImportant(chances[step], 6).map((index) => {
      const bar = make("span", { className: "chance", style: `width: ${(60 * chances[step][index]).toFixed(2)}%` });
      return make("li", {}, make("span", {}, String(model.classes[index])),
        make("span", {}, bar, ` ${percent(chances[step][index])}`));
    }));
    return make("div", {}, make("p", {}, `${how}: ${outputs[step]}`), list);
  },
};
