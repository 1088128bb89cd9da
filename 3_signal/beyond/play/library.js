// The models of the page, and those that are trained or opened in it

import { FixedWeights } from "./models.js";
import { readCheckpoint } from "./reader.js";

export const library = {}; // From a name to { group, title, command or origin, hint, model }.

// Of each model what the menu says it does, the command that trained it, and what to try; `trainedFactor` and `Kind`
// where they are not those that its file tells.
const BUILT_IN = {
  "Task 1": {
    counting: {
      title: "counts letters",
      command: "1_counting-letters: python3 main.py --train --seed 1",
      hint: "What does it answer with the slider at 2?",
    },
    counting_equal: {
      title: "counts letters, trained with equal weights",
      command: "1_counting-letters, edit A: --train --seed 1",
      hint: "Its weights were equal throughout its training. Move the slider to 1: do all cells still look alike?",
      trainedFactor: 0,
    },
    counting_fixed: {
      title: "counts letters, weights fixed by hand",
      command: "1_counting-letters, edit B with 100.0: --train --seed 1",
      hint: "Each row gives its own letter a hundred times the weight of another. Why does it confuse four with five?",
      Kind: FixedWeights,
    },
  },
  "Task 2": {
    difference: {
      title: "counts, and the difference of two counts",
      command: "2_difference: python3 main.py --train --seed 1",
      hint: "Move the slider to 0. What is left of the counts, and of |A − B|?",
    },
    difference_self_att: {
      title: "counts and the difference, with self-attention",
      command: "2_difference: python3 main.py --train --self_att --seed 1",
      hint: "Move one slider to 0, then the other. What changes?",
    },
  },
  "Task 3": {
    signal: {
      title: "counts the first letter, without positions",
      command: "3_signal: python3 main.py --train --seed 1",
      hint: "The first letter is the signal: how often does it come again? Swap it with another. Does the answer follow?",
    },
    signal_pos_enc: {
      title: "counts the first letter, with positions",
      command: "3_signal: python3 main.py --train --pos_enc --seed 1",
      hint: "The first letter is the signal: how often does it come again? Give its position’s vector to another letter. " +
        "Which one does it count now?",
    },
    signal_no_encoder: {
      title: "counts the first letter, positions, one attention",
      command: "3_signal: python3 main.py --train --pos_enc --enc_layers 0 --lr 0.01 --seed 1",
      hint: "This model has a single attention. Move the slider to 0: what is left?",
    },
  },
  "The transformer": {
    transformer: {
      title: "a transformer, which looks up whose pet it is",
      command: "3_signal/beyond: python3 transformer.py --train --seed 1",
      hint: "These are all heads of both layers. End the text with Cleo: which cells of its row have the most weight now?",
    },
  },
};

export function readBuiltIn(coded) { // Of each model what the menu says; the model itself only when it is first shown.
  for (const [group, models] of Object.entries(BUILT_IN)) {
    for (const [name, entry] of Object.entries(models)) {
      let model = null;
      library[name] = { group, ...entry, get model() {
        if (!model) {
          const bytes = Uint8Array.from(atob(coded[name]), (letter) => letter.charCodeAt(0));
          model = readCheckpoint(bytes.buffer, entry.Kind);
          model.trainedFactor = entry.trainedFactor === undefined ? 1 : entry.trainedFactor;
        }
        return model;
      } };
    }
  }
}

export function addModel(kind, entry) { // Return the name that it has got: own_1, trained_2.
  const count = Object.keys(library).filter((name) => name.startsWith(`${kind}_`)).length;
  const name = `${kind}_${count + 1}`;
  library[name] = { group: "Yours", ...entry };
  return name;
}

export async function addFile(file) { // Return the name of its model; what is wrong with the file is thrown.
  const model = readCheckpoint(await file.arrayBuffer());
  return addModel("own", {
    title: `${file.name}: ${model.task}, step ${model.step}`,
    origin: "This one comes from your file, which stays on your computer.",
    hint: "If you edited the model in your main.py, this page cannot know that: it computes what the original would. " +
      "If yours was trained with equal weights, move the slider to 0.",
    model,
  });
}
