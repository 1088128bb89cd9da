"use strict";

const LINEUP = ["counting_equal", "counting", "counting_fixed"];
const UNVEILED = {
  counting_equal: "Each row takes the same from every letter, from the first training step on.",
  counting: "It learnt its weights, together with everything else.",
  counting_fixed: "We fixed its weights: a row takes a hundred times as much from its own letter as from " +
    "another. Only the rest was learnt.",
};
const Vote = {
  id: "vote",
  title: "Vote",
  place: "vote",
  first: "vote_0",
  votes: [0, 0, 0], // In class: for each of the three models.
  inClass: false, // Whether votes are counted, and answers are shown before.
  mine: null, // Whoever is alone: for which model.
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
    Vote.readVotes();
    Vote.tokens = usual(counting);
    Vote.drawLineup();
    onTyping("vote_letters", () => counting, Vote.showVote);
    $("vote_random").onclick = () => setLetters(counting.draw(dice(anySeed())));
    $("vote_usual").onclick = () => setLetters(usual(counting));
    $("in_class").onchange = () => Vote.switchTo($("in_class").checked);
    onPress("show", Vote.reveal);
    onPress("again", () => {
      if (Vote.inClass && Vote.sum()) {
        Vote.ask(true);
      } else {
        Vote.newVote();
        $($("again").hidden ? "vote_0" : "again").focus();
      }
    });
    $("again_yes").onclick = () => {
      Vote.newVote();
      $("again").focus();
    };
    $("again_no").onclick = () => {
      Vote.ask(false);
      $("again").focus();
    };
    setLetters(Vote.tokens);
  },

  open(words) {
    if (words.get("vote") === "class" && !Vote.inClass) {
      Vote.switchTo(true);
    }
  },

  address() {
    return Vote.inClass ? "vote=class" : "vote";
  },

  switchTo(inClass) {
    Vote.inClass = inClass;
    Vote.mine = null;
    Vote.revealed = false;
    Vote.keepVotes();
    Vote.stop();
    Vote.drawLineup();
    Vote.showVote(Vote.tokens);
    Shell.writeAddress();
  },

  sum() {
    return sum(Vote.votes);
  },

  ask(asked) { // Before the votes of a class are gone.
    $("sure").hidden = !asked;
    if (asked) {
      $("again_no").focus();
    }
  },

  // So that they outlive a reload. Some browsers refuse it; then the page just remembers.
  keepVotes() {
    try {
      sessionStorage.setItem("votes", JSON.stringify(Vote.votes));
      sessionStorage.setItem("in class", JSON.stringify(Vote.inClass));
    } catch (error) {
      return;
    }
  },

  readVotes() {
    try {
      const kept = JSON.parse(sessionStorage.getItem("votes"));
      Vote.votes = kept.map((count) => Math.max(0, Math.floor(Number(count)) || 0)).slice(0, 3);
      Vote.inClass = JSON.parse(sessionStorage.getItem("in class")) === true;
    } catch (error) {
      Vote.votes = [0, 0, 0];
    }
  },

  drawLineup() { // What does not depend on the letters.
    $("in_class").checked = Vote.inClass;
    $("show").hidden = !Vote.inClass;
    $("again").hidden = !Vote.inClass && !Vote.revealed;
    turn("show", true);
    Vote.ask(false);
    Vote.conclude(false);
    $("shown").replaceChildren();
    $("models").replaceChildren(...LINEUP.map((name, index) => {
      const title = `Model ${index + 1}`;
      const table = make("table", { id: `lineup_${index}`, "aria-label": `${title}: attention weights and answers` });
      const button = make("button", { id: `vote_${index}`, className: Vote.inClass ? "" : "main" }, `Vote for ${title}`);
      const line = make("p", { className: "row" }, button);
      if (Vote.inClass) {
        line.append(...Vote.drawBox(title, index, button));
      } else {
        button.onclick = () => Vote.choose(index);
      }
      return make("div", { className: "box" }, make("h3", {}, title), make("div", { className: "picture" }, table),
        line, make("div", { className: "reveal", id: `reveal_${index}` }));
    }));
  },

  drawBox(title, index, button) { // The box of the votes for a model, which the button counts up.
    const field = make("input", { type: "number", min: 0, max: 999, id: `votes_${index}`, value: Vote.votes[index] });
    field.setAttribute("aria-label", `Votes for ${title}`);
    field.oninput = () => {
      Vote.votes[index] = Math.max(0, Math.floor(Number(field.value)) || 0);
      Vote.keepVotes();
    };
    button.onclick = () => {
      Vote.votes[index] += 1;
      field.value = Vote.votes[index];
      Vote.keepVotes();
      announce(`${title}, votes: ${Vote.votes[index]}`);
    };
    return [field, make("small", {}, "votes")];
  },

  choose(index) {
    if (!Vote.revealed) {
      Vote.mine = index;
      Vote.reveal();
    }
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
    $("vote_length").textContent = tokens.length === model.length ? "" :
      `Length: ${tokens.length}. The models have only met ${model.length}.`;
    Vote.tokens = tokens;
    Vote.draw();
    if (Shell.view !== Vote || !(Vote.inClass || Vote.revealed)) { // It is only just being opened, or hides them.
      return;
    }
    const told = LINEUP.map((name, index) => {
      const cells = [...$(`lineup_${index}`).querySelectorAll("[data-answer]")];
      return `Model ${index + 1} answers ${cells.map((cell) => cell.dataset.answer).join(", ")}`;
    });
    Vote.telling = setTimeout(() => announce(told.join("; ")), 300); // When one rests.
  },

  draw() {
    const answers = Vote.revealed ? "judged" : Vote.inClass ? "shown" : "hidden";
    LINEUP.forEach((name, index) => {
      drawVoted($(`lineup_${index}`), library[name].model, Vote.tokens, answers);
    });
  },

  *measureLineup() { // The one that was voted for comes first.
    const order = range(LINEUP.length).sort((one, other) => (other === Vote.mine) - (one === Vote.mine));
    for (const index of order) {
      const model = library[LINEUP[index]].model;
      const right = yield* measureRight(model, model.length, {});
      const open = make("button", { onclick: () => Models.openModel(LINEUP[index], Vote.tokens) },
        `Open Model ${index + 1}`);
      const whose = `${index === Vote.mine ? "You chose " : ""}Model ${index + 1}: `;
      const score = make("p", {}, make("span", { className: "whose" }, whose), make("b", {}, right), " of 1,000 right.");
      score.dataset.right = right;
      $(`reveal_${index}`).prepend(score);
      $(`reveal_${index}`).append(open);
    }
  },

  reveal() {
    Vote.revealed = true;
    Vote.ask(false);
    Vote.showVote(Vote.tokens);
    LINEUP.forEach((name, index) => {
      $(`reveal_${index}`).replaceChildren(make("p", {}, UNVEILED[name]));
      if (!Vote.inClass) {
        const mine = index === Vote.mine;
        $(`vote_${index}`).textContent = "Your vote";
        $(`vote_${index}`).style.visibility = mine ? "" : "hidden"; // Its place is kept.
        turn(`vote_${index}`, false);
      }
    });
    turn("show", false);
    $("again").hidden = false;
    Vote.stop();
    Vote.stop = inSlices(Vote.measureLineup(), 12, () => {
      const told = [...document.querySelectorAll(".reveal [data-right]")].map((score) => score.textContent);
      clearTimeout(Vote.telling); // On a fast machine that would come later, and the scores would not be heard.
      announce(told.join(" "));
      Vote.explain();
    });
  },

  conclude(done) { // The moral takes the place of the question.
    $("vote_asks").hidden = done;
    $("moral").hidden = !done;
  },

  explain() {
    Vote.conclude(true);
    $("shown").replaceChildren(
      make("details", {}, make("summary", {}, "Why does Model 1 count so well, and Model 3 so badly?"),
        make("p", {}, "A plain average of all letters holds their shares, and three tenths of 'A' means three 'A's " +
          "in ten letters. (That is also why A gets the same answer as AAAAAAAAAA. Try it.)"),
        make("p", {}, "Model 3: of ten letters, four 'A's get .985 of its weight together, and five get .990. " +
          "Perhaps so small a difference takes longer to learn."),
        make("p", {}, "Each of these is one training run of 2,000 steps; other runs get other numbers.")));
  },

  newVote() {
    Vote.revealed = false;
    Vote.mine = null;
    Vote.votes = [0, 0, 0];
    Vote.keepVotes();
    Vote.stop();
    Vote.drawLineup();
    Vote.showVote(Vote.tokens);
  },
};
