"use strict";

// The models of the page, and those that are trained or opened in it

const library = {}; // From a name to { title, command, hint, model }.
// What is in the menu: the name of each model, what it does, and the command that trained it.
const GROUPS = {
  "Lesson 1": {
    counting: ["counts letters", "1_counting-letters: python3 main.py --train --seed 1"],
    counting_equal: ["counts letters, trained with equal weights",
      "1_counting-letters, edit A: --train --seed 1"],
    counting_fixed: ["counts letters, weights fixed by hand",
      "1_counting-letters, edit B with 100.0: --train --seed 1"],
  },
  "Lesson 2": {
    difference: ["counts, and difference of two counts", "2_difference: python3 main.py --train --seed 1"],
    difference_self_att: ["counts and difference, with self-attention",
      "2_difference: python3 main.py --train --self_att --seed 1"],
  },
  "Lesson 3": {
    signal: ["counts the first letter, without positions", "3_signal: python3 main.py --train --seed 1"],
    signal_pos_enc: ["counts the first letter, with positions",
      "3_signal: python3 main.py --train --pos_enc --seed 1"],
    signal_no_encoder: ["counts the first letter, positions, one attention",
      "3_signal: python3 main.py --train --pos_enc --enc_layers 0 --lr 0.01 --seed 1"],
  },
  "The transformer": {
    transformer: ["a transformer: looks up whose pet it is, in words",
      "3_signal: python3 transformer.py --train --seed 1"],
  },
};
const HINTS = {
  counting: "Move the slider to 2. What does it answer now?",
  counting_equal: "Its weights were equal in all its training, and it counts. Slide to 1: its heatmap is as bright " +
    "as a learnt one.",
  counting_fixed: "Each row gives its own letter a hundred times another's weight. Why does it confuse four with " +
    "five?",
  difference: "Set the slider to 0. What is left of the counts, and of |A − B|?",
  difference_self_att: "Set one slider to 0, then the other. What changes?",
  signal: "The first letter is the signal: how often does it come again? Swap it with another letter. Does " +
    "the answer follow?",
  signal_pos_enc: "The first letter is the signal: how often does it come again? Swap it with another " +
    "letter. Does the answer follow?",
  signal_no_encoder: "This model has a single attention. Slide to 0: what is left?",
  transformer: "Every head of both layers. End the text with Cleo: which cells are bright now?",
  own: "If you edited the model in your main.py, this page cannot know: it computes what the original " +
    "would. Was yours trained with equal weights? Then set the slider to 0.",
};
const KINDS = { counting_fixed: FixedWeights };

function addModel(name, entry, group = "Yours") {
  library[name] = entry;
  let found = [...$("model").children].find((one) => one.label === group);
  if (!found) {
    found = make("optgroup", { label: group });
    $("model").append(found);
  }
  found.append(make("option", { value: name }, entry.title));
}

function readEmbedded() { // Of each model what the menu says; itself only when it is first shown.
  const coded = JSON.parse($("checkpoints").textContent);
  const read = (name) => {
    const bytes = Uint8Array.from(atob(coded[name]), (letter) => letter.charCodeAt(0));
    const model = readCheckpoint(bytes.buffer, KINDS[name]);
    model.trainedAt = name === "counting_equal" ? 0 : 1;
    return model;
  };
  for (const group of Object.keys(GROUPS)) {
    for (const name of Object.keys(GROUPS[group])) {
      const [title, command] = GROUPS[group][name];
      let model = null;
      const entry = { title, command, hint: HINTS[name], get model() {
        model = model || read(name);
        return model;
      } };
      addModel(name, entry, group);
    }
  }
}

let opened = 0; // How many files.

async function openFile(file) {
  $("checkpoint").value = ""; // So that a file of the same name can be opened again.
  let model;
  try {
    model = readCheckpoint(await file.arrayBuffer());
  } catch (error) {
    say(`${file.name}: ${error.reason || "it is damaged, or no checkpoint"}.`);
    return;
  }
  opened += 1;
  const name = `own_${opened}`;
  const title = `${file.name}: ${model.task}, step ${model.step}`;
  addModel(name, { title, command: "Your file stays on your computer.", hint: HINTS.own, model });
  if (Shell.view === Ask && model.task === "Transformer") {
    Ask.use(name);
    return;
  }
  const asked = Models.waiting;
  Models.openModel(name, usual(model));
  window.scrollTo(0, 0); // The field is below it.
  if (asked) { // The address told what to show of it.
    Models.showAsked(name, asked);
  }
}
