// Moving weight by hand: it is taken at one place of a row, carried to another one, and put down or left

// Return moves and one more, { id, row, from, to }. Weight that was moved before goes on from where it was.
export function moved(moves, move) {
  const last = moves[moves.length - 1];
  const again = last && sameRow(last, move) && last.to === move.from;
  const before = again ? moves.slice(0, -1) : moves;
  const from = again ? last.from : move.from;
  return from === move.to ? before : [...before, { ...move, from }];
}

export function sameRow(one, other) {
  return one.id === other.id && one.row === other.row;
}

export class Hand {
  // What a view tells it: `takes(event)`, the place under a pointer whose weight can be taken, or null; `over(event)`,
  // the place above which a pointer is, or null. What it tells the view: `carried(from, to, event)`, `put(from, to)`,
  // `returned(from)`.
  constructor(stage, view) {
    this.view = view;
    this.from = null; // Where weight was taken; null if the hand is empty.
    this.to = null;
    this.pointer = null; // Which pointer carries it, if one does.
    stage.addEventListener("pointerdown", (event) => {
      const from = this.from === null && event.isPrimary && !event.button ? view.takes(event) : null;
      if (from !== null) { // Two fingers want to zoom.
        this.take(from);
        this.pointer = event.pointerId;
      }
    });
    const whenHolding = (then) => (event) => this.pointer === event.pointerId && then(event);
    window.addEventListener("pointermove", whenHolding((event) => this.carry(view.over(event), event)));
    window.addEventListener("pointerup", whenHolding(() => this.put()));
    window.addEventListener("pointercancel", whenHolding(() => this.leave())); // The finger scrolls.
    window.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.from !== null) {
        event.stopPropagation();
        this.leave();
      }
    }, true);
  }

  take(from) {
    this.from = this.to = from;
  }

  carry(to, event) {
    this.to = to;
    this.view.carried(this.from, to, event);
  }

  put() {
    const { from, to } = this;
    this.empty();
    this.view.put(from, to);
  }

  leave() {
    const { from } = this;
    this.empty();
    this.view.returned(from);
  }

  empty() {
    this.from = this.to = this.pointer = null;
  }
}
