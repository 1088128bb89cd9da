// The chosen cell, as Models explains it: how its weight comes about

import { visible } from "./models.js";
import { axesOf } from "./attentions.js";
import { $, make, share, write } from "./page.js";
import { writeShown } from "./addresses.js";
import { OneRow } from "./one_row.js";
import { rowOfModel } from "./row_telling.js";

export function onPhone() { // There it is a sheet above the page.
  return getComputedStyle($("cell")).position === "fixed";
}

export const CellCard = {
  models: null, // The view that it is a part of.
  row: null, // The OneRow.

  start(models, shell) {
    CellCard.models = models;
    CellCard.row = new OneRow($("cell_row"));
    $("cell_close").onclick = () => {
      CellCard.close();
      CellCard.models.focusCell();
    };
    $("cell_large").onclick = () => shell.goTo(writeShown("row", CellCard.models.shown));
  },

  get isOpen() {
    return $("cell").classList.contains("open");
  },

  open() {
    $("cell").classList.add("open");
    CellCard.draw();
    if (onPhone()) { // It comes from below, and its cell stays in sight above it.
      const bottom = CellCard.models.cellAt(CellCard.models.shown.cell).parentNode.getBoundingClientRect().bottom;
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
    const { model, tokens, seen, cell } = CellCard.models.shown;
    const weight = share(seen[cell.id].heads[cell.head].weights[cell.row][cell.column]);
    const axes = axesOf(model, tokens, cell.id);
    const what = model.task === "Transformer" ? "word" : "letter";
    const nameOf = (names, at) => (names.length === tokens.length && names[at] === tokens.map(visible)[at]
      ? `${names[at]} (${what} ${at + 1})` : names[at]);
    write($("cell_title"), `${nameOf(axes.rows, cell.row)} gives ${nameOf(axes.columns, cell.column)} the ` +
      `weight ${weight}`);
    if (CellCard.models.hand.from) {
      write($("cell_move"),
        make("span", {}, "Now choose another cell of the same row: click it, or go there and press Enter."),
        make("button", { onclick: () => CellCard.models.hand.leave() }, "Leave it"));
    } else {
      write($("cell_move"),
        make("button", { onclick: () => CellCard.models.takeChosen() }, `Move this ${weight} by hand`),
        make("small", {}, "or drag the cell along its row" +
          (seen[cell.id].heads.length > 1 ? ", and all heads of this layer move what they have there" : "")));
    }
    CellCard.row.show(rowOfModel(CellCard.models.shown));
  },
};
