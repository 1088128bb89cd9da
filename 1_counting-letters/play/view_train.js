"use strict";

const CHART = { left: 55, right: 510, top: 10, bottom: 255, highest: 3, lowest: 0.03 };

function across(at) {
  return CHART.left + ((CHART.right - CHART.left) * at) / STEPS;
}

function down(loss) {
  const place = Math.log(CHART.highest / loss) / Math.log(CHART.highest / CHART.lowest);
  return CHART.top + (CHART.bottom - CHART.top) * Math.min(Math.max(place, 0), 1);
}

function blindLoss() { // The loss of a model that knows how often each count occurs, but reads no letters.
  let chance = 0.75 ** 10; // Of no 'A' in ten letters; then of one, two and so on.
  let total = 0;
  for (let count = 0; count <= 10; count++) {
    total -= chance * Math.log(chance);
    chance *= (10 - count) / (count + 1) / 3;
  }
  return total;
}

function chooseKind(kind) {
  const choice = document.querySelector(`[name=kind][value=${kind === "equal" ? "equal" : "learnt"}]`);
  choice.checked = true;
  return choice;
}

const COMPARISON = "What does it show? If the model with equal weights counts, the task does not need " +
  "learnt weights. If it had failed, that alone would prove nothing: it might only train badly. No two " +
  "runs get the same score, so train a few of each before you say which kind is better.";

const Train = {
  id: "train",
  title: "Train one",
  place: "train",
  training: null, // The current run.
  stop: () => {}, // Stops it.
  curves: [], // Of all runs: { kind, points }, the last one is the current one.
  runs: 0,

  start() {
    turn("start", true);
    turn("stop", false);
    onPress("start", Train.startTraining);
    onPress("stop", () => Train.stop());
    Train.draw();
    Train.drawForming(new Training(1, 1).model);
  },

  open(words) {
    if (words.get("train")) {
      chooseKind(words.get("train"));
    }
  },

  address() {
    return "train";
  },

  choose(kind) { // From anywhere.
    Shell.go(Train);
    chooseKind(kind).focus();
  },

  draw() { // The losses.
    const parts = [];
    for (const loss of [3, 1, 0.3, 0.1, 0.03]) {
      parts.push(draw("line", { x1: CHART.left, x2: CHART.right, y1: down(loss), y2: down(loss),
        opacity: 0.4 }));
      parts.push(draw("text", { x: CHART.left - 6, y: down(loss) + 4, "text-anchor": "end" }, loss));
    }
    for (const at of [0, 500, 1000, 1500, 2000]) {
      parts.push(draw("text", { x: across(at), y: CHART.bottom + 17, "text-anchor": "middle" }, at));
    }
    parts.push(draw("text", { x: across(1000), y: CHART.bottom + 36, "text-anchor": "middle" },
      "training step"));
    parts.push(draw("text", { x: CHART.left + 6, y: CHART.bottom - 8 }, "loss, nats per output step"));
    const blind = down(blindLoss());
    parts.push(draw("line", { x1: CHART.left, x2: CHART.right, y1: blind, y2: blind }));
    const told = `${short(Number(blindLoss().toFixed(2)))}: the best without reading the letters`;
    parts.push(draw("text", { x: CHART.right, y: blind - 5, "text-anchor": "end" }, told));
    Train.curves.forEach((curve, index) => {
      const points = curve.points.map(([at, loss]) => `${across(at).toFixed(1)},${down(loss).toFixed(1)}`);
      const className = `${index === Train.curves.length - 1 ? "now" : "before"} ${curve.kind}`;
      parts.push(draw("polyline", { points: points.join(" "), class: className }));
    });
    $("losses").replaceChildren(...parts);
    const last = Train.curves.length ? Train.curves[Train.curves.length - 1].points.slice(-1)[0] : null;
    $("losses").setAttribute("aria-label",
      last ? `Loss ${short(last[1])} at step ${last[0]}` : "Loss: nothing yet");
  },

  drawForming(model) {
    const table = make("table", { "aria-label": "Attention weights and answers of the model in training" });
    drawVoted(table, model, model.usual, "judged");
    $("forming").replaceChildren(table);
  },

  startTraining() {
    const kind = document.querySelector("[name=kind]:checked").value;
    Train.runs += 1;
    Train.training = new Training(kind === "equal" ? 0 : 1, anySeed());
    const current = Train.training;
    const began = performance.now();
    const points = [];
    Train.curves = [...Train.curves, { kind, points }].slice(-6);
    turn("start", false);
    turn("stop", true);
    let drawn = 0;
    announce("Training. The score comes at the end; Stop ends it earlier.");
    function report(at, loss) {
      points.push([at, loss]);
      if (at !== STEPS && performance.now() - drawn < 100) {
        return;
      }
      drawn = performance.now();
      $("progress").textContent = `Step ${at.toLocaleString("en")} of 2,000, loss ${loss.toFixed(3)}, ` +
        `right for ${current.right().toLocaleString("en")} of 1,000.`;
      Train.draw();
      Train.drawForming(current.model);
    }
    const stop = inSlices(current.run(report), 20, () => Train.finishTraining(kind, began));
    Train.stop = () => {
      stop();
      Train.finishTraining(kind, began);
    };
  },

  finishTraining(kind, began) {
    const seconds = (performance.now() - began) / 1000;
    const title = kind === "equal" ? "equal weights" : "learnt weights";
    const name = `trained_${Train.runs}`;
    const right = Train.training.right();
    turn("start", true);
    turn("stop", false);
    $("start").textContent = "Train another one";
    Train.training.model.step = Train.training.step;
    addModel(name, {
      title: `trained here: run ${Train.runs}, ${title}, ${Train.training.step} steps`,
      command: "Trained in this page; it is gone when you close it.",
      hint: kind === "equal" ? HINTS.counting_equal : HINTS.counting,
      model: Train.training.model,
    });
    const model = Train.training.model;
    const open = make("button", { onclick: () => Models.openModel(name, model.usual) }, `Open run ${Train.runs}`);
    const cells = [Train.runs, title, model.step, `${seconds.toFixed(1)} s`, `${right} of 1,000`, open];
    if (!$("runs").rows.length) {
      const names = ["run", "weights", "steps", "time", "right", ""];
      $("runs").append(make("tr", {}, ...names.map((text) => make("th", { scope: "col" }, text))));
    }
    const row = make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));
    row.dataset.right = right;
    row.dataset.kind = kind;
    $("runs").append(row);
    Train.drawForming(Train.training.model);
    const text = `Run ${Train.runs}, ${title}: right for ${right} of 1,000 after ${model.step} steps.`;
    $("progress").textContent = text;
    announce(text);
    const hasKind = (wanted) => $("runs").querySelector(`[data-kind=${wanted}]`) !== null;
    if (hasKind("learnt") && hasKind("equal")) { // Before that there is nothing to compare.
      $("compare").textContent = COMPARISON;
    }
  },
};
