// Two models are trained in front of one's eyes: one may learn where to attend, the other may not

import { anySeed, inSlices } from "./measuring.js";
import { STEPS, Training } from "./training.js";
import { addModel, library } from "./library.js";
import { $, announce, enable, make, makeSvg, onPress, say, short, write } from "./page.js";
import { countingMap, drawScale, paintCounting } from "./heatmap.js";
import { writeShown } from "./addresses.js";

const LOSSES = [3, 1, 0.3, 0.1, 0.03]; // The chart, whose scale is logarithmic, goes from the first to the last.

function down(loss) { // Return where in the chart, in percent.
  const place = Math.log(LOSSES[0] / loss) / Math.log(LOSSES[0] / LOSSES[LOSSES.length - 1]);
  return 100 * Math.min(Math.max(place, 0), 1);
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

const KINDS_OF_TRAINING = { // What multiplies the scores, and what is said of it.
  learnt: { factor: 1, title: "It may learn where to attend", short: "learnt weights" },
  equal: { factor: 0, title: "All weights are equal", short: "equal weights" },
};
const MEASURED_EVERY = 500; // Milliseconds: measuring takes time that the training could have.
const DRAWN_EVERY = 100;

const UNLIKE_ASK = "Trained with equal weights, this model counts. The one in Ask has learnt to choose, so when its " +
  "weights are made equal, it is usually wrong.";
const COMPARISON = "If the model with equal weights counts, the task does not need others. Had it failed, that alone " +
  "would prove nothing, because it might only train badly. Runs differ, so train a few before you say which kind is " +
  "better.";

export const Train = {
  id: "train",
  title: "Train",
  shell: null, // What the shell does for a view: see shell.js.
  guess: "", // Whether the one with equal weights "will" count, or "won’t".
  pair: [], // The current pair: { kind, training, points, right, at }; points are [step, loss]; right, at a step.
  curves: [], // Of all runs, the newest last: { kind, points }.
  runs: 0,
  maps: {}, // A Heatmap for each kind.
  began: 0, // When the current pair began, in milliseconds.
  drawnAt: 0, // When it was drawn, and measured, the last time.
  measuredAt: 0,
  stop: () => {},

  start(shell) {
    Train.shell = shell;
    enable($("start"), true);
    enable($("stop"), false);
    onPress("start", Train.startTraining);
    for (const button of document.querySelectorAll("[data-guess]")) {
      button.onclick = () => {
        Train.guess = button.dataset.guess;
        Train.startTraining();
        $("stop").focus({ preventScroll: true }); // The button that was pressed is gone.
      };
    }
    onPress("stop", () => Train.stop());
    $("pair").replaceChildren(...Object.entries(KINDS_OF_TRAINING).map(([kind, { title, factor }]) => {
      const { model } = new Training(factor, 1);
      Train.maps[kind] = countingMap(title, model, model.example);
      paintCounting(Train.maps[kind], model, model.example, "hidden");
      return make("section", { className: "box" }, make("h2", {}, title),
        make("div", { className: "picture" }, Train.maps[kind].table),
        make("p", { id: `right_${kind}` }, "not trained yet"));
    }));
    $("scale").replaceChildren(...drawScale());
    const label = (className, style, text) => make("small", { className, style }, text);
    $("chart").append(...LOSSES.map((loss) => label("loss", `top: ${down(loss)}%`, loss)),
      ...[0, 1000, STEPS].map((at) => label("at", `left: ${(100 * at) / STEPS}%`, at ? at : "step 0")),
      label("blind", `top: ${down(blindLoss())}%`, "best blind guess"));
    Train.drawLosses();
  },

  open() {},

  address() {
    return "train";
  },

  draw() {
    for (const { kind, training, right, at } of Train.pair) {
      paintCounting(Train.maps[kind], training.model, training.model.example, "judged");
      write($(`right_${kind}`), make("b", {}, right), " of 1,000 right ",
        make("small", {}, `after ${at.toLocaleString("en")} steps`));
    }
    Train.drawLosses();
  },

  drawLosses() {
    const lines = [...LOSSES, blindLoss()].map((loss) =>
      makeSvg("line", { x1: 0, x2: 100, y1: down(loss), y2: down(loss) }));
    const curves = Train.curves.map(({ kind, points }, index) => {
      const places = points.map(([at, loss]) => `${(100 * at / STEPS).toFixed(1)},${down(loss).toFixed(1)}`);
      return makeSvg("polyline", { points: places.join(" "),
        class: `${index >= Train.curves.length - 2 ? "now" : "before"} ${kind}` });
    });
    write($("losses"), ...lines, ...curves);
    const now = Train.curves.slice(-2).filter((curve) => curve.points.length);
    const told = now.map(({ kind, points }) => `${KINDS_OF_TRAINING[kind].short}: loss ` +
      `${short(points[points.length - 1][1])} at step ${points[points.length - 1][0]}`);
    $("losses").setAttribute("aria-label", told.join("; ") || "Loss: nothing yet");
  },

  startTraining() {
    say(""); // What was wrong before.
    Train.began = performance.now();
    Train.pair = Object.keys(KINDS_OF_TRAINING).map((kind) => {
      const training = new Training(KINDS_OF_TRAINING[kind].factor, anySeed());
      return { kind, training, points: [], right: training.right(), at: 0 };
    });
    Train.curves = [...Train.curves, ...Train.pair].slice(-8);
    $("guess").hidden = true; // One knows by then.
    $("start").hidden = $("stop").hidden = false;
    enable($("start"), false);
    enable($("stop"), true);
    announce("Training. How many are right comes at the end, and Stop ends it earlier.");
    const stop = inSlices(Train.trainPair(), 20, Train.finishTraining);
    Train.stop = () => {
      stop();
      Train.finishTraining();
    };
  },

  *trainPair() { // A step of the one, a step of the other.
    const steps = Train.pair.map(({ training, points }) => training.run((at, loss) => points.push([at, loss])));
    while (Train.pair[0].training.step < STEPS) {
      for (const one of steps) {
        one.next();
        yield;
      }
      const now = performance.now();
      if (now - Train.drawnAt > DRAWN_EVERY) {
        if (now - Train.measuredAt > MEASURED_EVERY) {
          Train.measure();
        }
        Train.draw();
        write($("progress"), `Step ${Train.pair[0].training.step.toLocaleString("en")} of 2,000`);
        Train.drawnAt = performance.now();
      }
    }
  },

  measure() {
    for (const one of Train.pair) {
      one.right = one.training.right();
      one.at = one.training.step;
    }
    Train.measuredAt = performance.now();
  },

  finishTraining() {
    const seconds = (performance.now() - Train.began) / 1000;
    Train.measure();
    Train.draw();
    enable($("start"), true);
    enable($("stop"), false);
    const { right, at } = Train.pair.find((one) => one.kind === "equal");
    const counts = right > 500;
    const guessed = Train.guess && at === STEPS ? `You guessed it ${Train.guess}. ` +
      `It ${counts ? "does" : "doesn’t"}: ${right.toLocaleString("en")} of 1,000 right. ` : "";
    Train.guess = "";
    write($("progress"), make("b", {}, guessed), `(${seconds.toFixed(1)} s)`);
    if (!$("runs").rows.length) {
      const names = ["run", "weights", "steps", "right", "model"];
      $("runs").append(make("tr", {}, ...names.map((text) => make("th", { scope: "col" }, text))));
    }
    Train.pair.forEach(Train.keep);
    if (Train.shell.view === Train) {
      announce(Train.pair.map((one) =>
        `${KINDS_OF_TRAINING[one.kind].short}: right for ${one.right} of 1,000`).join("; "));
    }
    write($("compare"), make("p", {}, counts ? UNLIKE_ASK : ""),
      make("details", {}, make("summary", {}, "What does it show?"), make("p", {}, COMPARISON)));
  },

  keep({ kind, training, right }) { // In the menu of models, and in the table.
    const { model } = training;
    const { short: what } = KINDS_OF_TRAINING[kind];
    Train.runs += 1;
    model.step = training.step;
    const name = addModel("trained", {
      title: `trained here: run ${Train.runs}, ${what}, ${model.step} steps`,
      origin: "This one was trained in this page, and is gone when you close it.",
      hint: library[kind === "equal" ? "counting_equal" : "counting"].hint,
      model,
    });
    const address = writeShown("model", { name, model, tokens: model.example, factors: {} });
    const link = make("a", { href: `#${address}` }, `Open run ${Train.runs}`);
    const cells = [Train.runs, what, model.step, `${right} of 1,000`, link];
    $("runs").append(make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
  },
};
