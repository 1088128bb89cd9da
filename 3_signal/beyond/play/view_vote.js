// Three models that count, their names hidden: which one counts best?

import { range, sum } from "./arrays.js";
import { anySeed, dice, inSlices, measureRight, usual } from "./measuring.js";
import { library } from "./library.js";
import { $, announce, announceSoon, enable, make, onPress, onTyping, say, write } from "./page.js";
import { countingMap, paintCounting } from "./heatmap.js";
import { writeShown } from "./addresses.js";

const LINEUP = ["counting_equal", "counting", "counting_fixed"];
const UNVEILED = {
  counting_equal: "Each row takes the same from every letter, from the first training step on.",
  counting: "It learnt its weights, together with everything else.",
  counting_fixed: "We fixed its weights, so that a row takes a hundred times as much from its own letter as from " +
    "another. Only the rest was learnt.",
};

export const Vote = {
  id: "vote",
  title: "Vote",
  shell: null, // What the shell does for a view: see shell.js.
  votes: [0, 0, 0], // In class: for each of the three models.
  inClass: false, // Whether votes are counted, and answers are shown before.
  mine: null, // Whoever is alone: for which model.
  tokens: [],
  maps: [], // A Heatmap for each model.
  revealed: false, // Whether names and results are shown.
  stop: () => {}, // Stops what is being measured.

  start(shell) {
    Vote.shell = shell;
    const counting = library.counting.model;
    const setLetters = (tokens) => {
      $("vote_letters").value = counting.join(tokens);
      Vote.showLetters(tokens);
    };
    try { // Votes outlive a reload. Some browsers refuse it; then the page just remembers.
      Vote.votes = JSON.parse(sessionStorage.getItem("votes")).map((count) => Number(count) || 0).slice(0, 3);
    } catch (error) {
      Vote.votes = [0, 0, 0];
    }
    Vote.tokens = usual(counting);
    onTyping("vote_letters", () => counting, Vote.showLetters);
    $("vote_random").onclick = () => setLetters(counting.sample(dice(anySeed())));
    $("vote_usual").onclick = () => setLetters(usual(counting));
    $("in_class").onchange = () => Vote.shell.goTo($("in_class").checked ? "vote=class" : "vote");
    onPress("show", Vote.reveal);
    $("again").onclick = () => {
      if (Vote.inClass && sum(Vote.votes)) {
        $("sure").hidden = false; // Before the votes of a class are gone.
        $("again_no").focus();
      } else {
        Vote.begin();
        $("vote_0").focus();
      }
    };
    $("again_yes").onclick = () => {
      Vote.begin();
      $("again").focus();
    };
    $("again_no").onclick = () => {
      $("sure").hidden = true;
      $("again").focus();
    };
    $("vote_letters").value = counting.join(Vote.tokens);
    Vote.drawLineup();
  },

  open(words) {
    const inClass = words.get("vote").toLowerCase() === "class";
    if (inClass !== Vote.inClass) {
      Vote.inClass = inClass;
      Vote.hide();
    }
  },

  address() {
    return Vote.inClass ? "vote=class" : "vote";
  },

  begin() { // A new vote.
    Vote.votes = [0, 0, 0];
    Vote.keepVotes();
    Vote.hide();
  },

  hide() {
    Vote.mine = null;
    Vote.revealed = false;
    Vote.stop();
    Vote.drawLineup();
  },

  keepVotes() {
    try {
      sessionStorage.setItem("votes", JSON.stringify(Vote.votes));
    } catch (error) {
      return;
    }
  },

  drawLineup() { // What does not depend on the letters.
    $("in_class").checked = Vote.inClass;
    $("show").hidden = !Vote.inClass;
    $("again").hidden = !Vote.inClass;
    $("sure").hidden = $("moral").hidden = true;
    enable($("show"), true);
    $("models").replaceChildren(...LINEUP.map((name, index) => {
      const button = make("button", { id: `vote_${index}`, className: Vote.inClass ? "" : "main",
        onclick: () => Vote.choose(index) }, `Vote for Model ${index + 1}`);
      return make("div", { className: "box" }, make("h2", {}, `Model ${index + 1}`),
        make("div", { className: "picture", id: `lineup_${index}` }),
        make("p", { className: "row" }, button, ...(Vote.inClass ? Vote.drawBox(index) : [])),
        make("div", { className: "reveal", id: `reveal_${index}` }));
    }));
    Vote.drawMaps();
  },

  drawBox(index) { // The box of the votes for a model, which the button counts up.
    const field = make("input", { type: "number", min: 0, max: 999, id: `votes_${index}`, value: Vote.votes[index],
      "aria-label": `Votes for Model ${index + 1}` });
    field.oninput = () => {
      Vote.votes[index] = Math.max(0, Math.floor(Number(field.value)) || 0);
      Vote.keepVotes();
    };
    return [field, make("small", {}, "votes")];
  },

  choose(index) {
    if (Vote.inClass) {
      Vote.votes[index] += 1;
      $(`votes_${index}`).value = Vote.votes[index];
      Vote.keepVotes();
      announce(`Model ${index + 1}, votes: ${Vote.votes[index]}`);
    } else if (!Vote.revealed) {
      Vote.mine = index;
      Vote.reveal();
    }
  },

  showLetters(tokens) {
    const { model } = library[LINEUP[0]];
    const wrong = model.problem(tokens);
    say(wrong);
    $("models").classList.toggle("old", wrong !== "");
    if (wrong) {
      return;
    }
    write($("vote_length"), tokens.length === model.length ? ""
      : `Length: ${tokens.length}. The models have only met ${model.length}.`);
    Vote.tokens = tokens;
    Vote.drawMaps();
    if (Vote.shell.view === Vote && (Vote.inClass || Vote.revealed)) {
      announceSoon(Vote.maps.map((map, index) => `Model ${index + 1} answers ` +
        `${map.answers.map((cell) => cell.firstChild.textContent).join(", ")}`).join("; "));
    }
  },

  drawMaps() { // What depends on the letters.
    Vote.maps = LINEUP.map((name, index) => {
      const map = countingMap(`Model ${index + 1}`, library[name].model, Vote.tokens);
      $(`lineup_${index}`).replaceChildren(map.table);
      return map;
    });
    Vote.draw();
  },

  draw() {
    const answers = Vote.revealed ? "judged" : Vote.inClass ? "said" : "hidden";
    Vote.maps.forEach((map, index) => paintCounting(map, library[LINEUP[index]].model, Vote.tokens, answers));
  },

  reveal() {
    Vote.revealed = true;
    $("sure").hidden = true;
    LINEUP.forEach((name, index) => {
      $(`reveal_${index}`).replaceChildren(make("p", {}, UNVEILED[name]));
      if (!Vote.inClass) {
        $(`vote_${index}`).textContent = "Your vote";
        $(`vote_${index}`).style.visibility = index === Vote.mine ? "" : "hidden"; // Its place is kept.
        enable($(`vote_${index}`), false);
      }
    });
    enable($("show"), false);
    $("again").hidden = false;
    Vote.draw();
    Vote.stop();
    Vote.stop = inSlices(Vote.measure(), 12, (results) => {
      $("moral").hidden = false;
      announce(`${results.join(" ")} ${$("moral_told").textContent}`);
    });
  },

  *measure() { // The one that was voted for comes first.
    const order = range(LINEUP.length).sort((one, other) => (other === Vote.mine) - (one === Vote.mine));
    const results = [];
    for (const index of order) {
      const { model } = library[LINEUP[index]];
      const right = yield* measureRight(model, model.length, {});
      const whose = `${index === Vote.mine ? "You chose " : ""}Model ${index + 1}: `;
      const result = make("p", {}, make("span", { className: "whose" }, whose), make("b", {}, right),
        " of 1,000 right.");
      $(`reveal_${index}`).prepend(result);
      $(`reveal_${index}`).append(make("a", { className: "button",
        href: `#${writeShown("model", { name: LINEUP[index], model, tokens: Vote.tokens, factors: {} })}` },
      `Open Model ${index + 1}`));
      results.push(result.textContent);
    }
    return results;
  },
};
