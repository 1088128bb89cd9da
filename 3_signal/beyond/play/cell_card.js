"use strict";

// The chosen cell, as Models explains it: how its weight comes about

function onPhone() { // There it is a sheet above the page.
  return getComputedStyle($("cell")).position === "fixed";
}

const CellCard = {
  row: null, // The OneRow.

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
      $("cell_move").replaceChildren(
        make("span", {}, "Now choose another cell of the same row: click it, or go there and press Enter."),
        make("button", { onclick: () => Models.hand.leave() }, "Leave it"));
    } else {
      $("cell_move").replaceChildren(
        make("button", { onclick: () => Models.takeChosen() }, `Move this ${weight} by hand`),
        make("small", {}, "or drag the cell along its row"));
    }
    CellCard.row.show(rowOfModel(Models.shown));
  },
};
