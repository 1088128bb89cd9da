"use strict";

const LINEUP = ["counting_equal", "counting", "counting_fixed"];
const UNVEILED = {
  counting_equal: "It was trained with equal weights: each row takes the same from every letter, always.",
  counting: "It learnt its weights, together with everything else.",
  counting_fixed: "We fixed its weights: a row takes a hundred times as much from its own letter as from " +
    "another. Only the rest was learnt.",
};
const Vote = {
  id: "vote",
  title: "Vote",
  place: "vote",
  votes: [0, 0, 0], // For each of the three models.
  tokens: [],
  revealed: false, // Whether names and scores are shown.
  stop: () => {}, // Stops what is being measured.
  telling: 0, // The timer of what is announced when one rests.

  start() {
    const counting = library.counting.model;
    const setLetters = (tokens) => {
      $("vote_letters").value = counting.join(tokens);
      Vote.showVote(tokens);
    };
    turn("show", true);
    Vote.readVotes();
    Vote.drawLineup();
    onTyping("vote_letters", () => counting, Vote.showVote);
    $("vote_random").onclick = () => setLetters(counting.draw(dice(anySeed())));
    $("vote_usual").onclick = () => setLetters(usual(counting));
    onPress("show", Vote.reveal);
    $("again").onclick = Vote.newVote;
    setLetters(usual(counting));
  },

  open() {},

  address() {
    return "vote";
  },

  // So that they outlive a reload. Some browsers refuse it; then the page just remembers.
  keepVotes() {
    try {
      sessionStorage.setItem("votes", JSON.stringify(Vote.votes));
    } catch (error) {
      return;
    }
  },

  readVotes() {
    try {
      const kept = JSON.parse(sessionStorage.getItem("votes"));
      Vote.votes = kept.map((count) => Math.max(0, Math.floor(Number(count)) || 0)).slice(0, 3);
    } catch (error) {
      Vote.votes = [0, 0, 0];
    }
  },

  drawLineup() {
    $("models").replaceChildren(...LINEUP.map((name, index) => {
      const title = `Model ${index + 1}`;
      const field = make("input", { type: "number", min: 0, max: 999, id: `votes_${index}`,
        value: Vote.votes[index] });
      field.setAttribute("aria-label", `Votes for ${title}`);
      field.oninput = () => {
        Vote.votes[index] = Math.max(0, Math.floor(Number(field.value)) || 0);
        Vote.keepVotes();
      };
      const button = make("button", { onclick: () => {
        Vote.votes[index] += 1;
        field.value = Vote.votes[index];
        Vote.keepVotes();
        announce(`${title}, votes: ${Vote.votes[index]}`);
      } }, `Vote for ${title}`);
      const table = make("table", { id: `lineup_${index}`,
        "aria-label": `${title}: attention weights and answers` });
      const heading = make("h3", {}, title, make("span", { className: "name" }));
      const reveal = make("div", { className: "reveal", id: `reveal_${index}` });
      const side = make("div", {}, make("p", { className: "row" }, button, field, make("small", {}, "votes")),
        reveal);
      return make("div", { className: "box" }, make("div", {}, heading, table), side);
    }));
  },

  showVote(tokens) {
    const model = library[LINEUP[0]].model;
    const wrong = model.problem(tokens);
    say(wrong);
    clearTimeout(Vote.telling);
    $("models").classList.toggle("old", wrong !== "");
    if (wrong) {
      $("vote_length").textContent = wrong;
      return;
    }
    const other = tokens.length === model.length ? "" : `, and the models have only met ${model.length}`;
    $("vote_length").textContent = `${tokens.length} letters${other}.`;
    Vote.tokens = tokens;
    Vote.draw();
    if (Shell.view !== Vote) { // The page is only just being opened.
      return;
    }
    const told = LINEUP.map((name, index) => {
      const cells = [...$(`lineup_${index}`).querySelectorAll("[data-answer]")];
      return `Model ${index + 1} answers ${cells.map((cell) => cell.dataset.answer).join(", ")}`;
    });
    Vote.telling = setTimeout(() => announce(told.join("; ")), 300); // When one rests.
  },

  draw() {
    const three = LINEUP.map((name) => library[name].model);
    three.forEach((each, index) => drawVoted($(`lineup_${index}`), each, Vote.tokens, Vote.revealed));
  },

  *measureLineup() {
    for (const index of range(LINEUP.length)) {
      const model = library[LINEUP[index]].model;
      const right = yield* measureRight(model, model.length, {});
      const open = make("button", { onclick: () => Models.openModel(LINEUP[index], Vote.tokens) },
        `Open Model ${index + 1}`);
      const score = make("p", {}, make("b", {}, tell(right, model, model.length)), " ", open);
      $(`reveal_${index}`).append(score);
    }
  },

  reveal() {
    Vote.revealed = true;
    Vote.showVote(Vote.tokens);
    LINEUP.forEach((name, index) => {
      $(`reveal_${index}`).replaceChildren(make("p", {}, UNVEILED[name]));
    });
    turn("show", false);
    Vote.stop();
    Vote.stop = inSlices(Vote.measureLineup(), 12, () => {
      const scores = [...document.querySelectorAll(".reveal b")];
      announce(scores.map((score, index) => `Model ${index + 1}: ${score.textContent}`).join(" "));
      $("shown").replaceChildren(
        make("h3", {}, "What does that tell you?"),
        make("p", {}, "Model 1 takes the same from every letter. It could never prefer the letters that a " +
          "row counts. Yet it counts nearly as well as Model 2, which learnt to. So a model need not attend " +
          "more to its letters in order to count them: even a plain average of all letters holds their " +
          "shares, and three tenths of 'A' means three 'A's in ten letters. (That is also why A gets the " +
          "same answer as AAAAAAAAAA. Try it.)"),
        make("p", {}, "Model 3, with the clearest picture, counts worst after the same training. Of ten " +
          "letters, four 'A's get .985 of its weight together, and five get .990. Perhaps so small a " +
          "difference takes longer to learn."),
        make("p", {}, "A heatmap shows where a model looks. It does not show that the model must look there, " +
          "nor that a clearer picture belongs to a better model."),
        make("p", { className: "quiet" }, "Each of these is one training run of 2,000 steps; other runs get " +
          "other numbers. Train some yourself under ", Shell.link("#train", "Train one"), "."),
      );
    });
  },

  newVote() {
    Vote.revealed = false;
    Vote.votes = [0, 0, 0];
    Vote.keepVotes();
    Vote.stop();
    turn("show", true);
    $("shown").replaceChildren();
    Vote.drawLineup();
    Vote.showVote(Vote.tokens);
  },
};
