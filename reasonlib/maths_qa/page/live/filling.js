// Hide characters of a question and its answer; the pre-trained encoder fills them in.

live("filling", ({ root, stage, data, weights, find }) => {
  const model = weights("filler"), said = announcer(), guesses = make("div", {});
  const text = new TokenRow({ label: "Characters of the question and its answer; press one to hide it or show it", choose: toggle });
  text.element.classList.add("rr-filling-text");
  const random = new Random(1);
  let question = "", answer = "", hidden = [], filled = [], number = 0;

  function guess() {
    const { result: shares, ms } = timed(() => (hidden.length ? fillHidden(model, question, answer, hidden, data) : []));
    filled = shares.map((row) => argmax(row));
    find("took").textContent = hidden.length ? took(ms) : "";
    draw(shares);
  }

  function draw(shares) {
    const whole = question + answer;
    const tokens = [...whole].map((character, at) => {
      const place = hidden.indexOf(at), written = place < 0 ? character : filled[place] >= FIRST ? textOf(filled[place]) : "?";
      return { text: written === " " ? "\u00a0" : written, title: place < 0 ? null : `was ${quoted(character)}` };
    });
    text.set(tokens);
    [...text.element.children].forEach((token, at) => {
      const place = hidden.indexOf(at), right = place >= 0 && filled[place] >= FIRST && textOf(filled[place]) === whole[at];
      token.classList.toggle("rr-filling-right", place >= 0 && right);
      token.classList.toggle("rr-filling-wrong", place >= 0 && !right);
      if (place >= 0) token.lastChild.textContent = shares[place][filled[place]].toFixed(2);
      token.classList.toggle("rr-filling-first", at === question.length);
    });
    const right = hidden.filter((at, place) => filled[place] >= FIRST && textOf(filled[place]) === whole[at]).length;
    said.replaceChildren(hidden.length ? `${right} of ${plural(hidden.length, "hidden character")} filled in right.` : "Press a character to hide it.");
    const last = hidden.length - 1;
    guesses.replaceChildren(...(hidden.length ? [make("div", { class: "rr-live-title" }, `What could stand for ${quoted(whole[hidden[last]])}, hidden last`),
      bars("What could stand there", topOf(shares[last], 4).map((id) => [id >= FIRST ? (textOf(id) === " " ? "space" : textOf(id)) : "a mark", shares[last][id]]))] : []));
  }

  function toggle(at) {
    if (globalThis.event?.type === "keydown") return; // an arrow key moves; Enter and the space bar press
    hidden = hidden.includes(at) ? hidden.filter((other) => other !== at) : [...hidden, at];
    guess();
    text.press(at);
    text.element.children[at].focus();
  }

  function hide(which) {
    hidden = range((question + answer).length).filter((at) => which((question + answer)[at], at));
    guess();
  }

  function open(at, which = (character) => random.next() < 0.15) {
    [question, answer] = data.problems[at];
    hide(which);
  }

  const digits = (character) => character >= "0" && character <= "9";
  const buttons = make("div", { class: "rr-live-row rr-answering-buttons" },
    button("Another question", () => open((number = (number + 1) % data.problems.length)), { main: true }),
    button("Hide 15 %", () => hide(() => random.next() < 0.15)),
    button("Hide letters", () => hide((character, at) => /[a-z]/i.test(character) && at % 3 === 1)),
    button("Hide digits", () => hide((character) => digits(character) && random.next() < 0.5)),
    button("Hide the answer", () => hide((_, at) => at >= question.length)),
    button("Show all", () => hide(() => false)));
  stage.append(text.element, said, buttons, guesses);
  root.filling = { open, hide, state: () => ({ question, answer, hidden, filled }) }; // for tests
  open(0);
});
