// A chat with a trained system, and what it read before each response.

live("chat", ({ root, stage, data, weights, find }) => {
  const world = new World(data.world), systems = new Map();
  const system = (name) => {
    if (!systems.has(name)) systems.set(name, new MemoryNetwork(weights(name), data.networks[name], data, world));
    return systems.get(name);
  };
  const first = Object.keys(data.networks)[0];
  const state = { name: first, talk: null, lines: [], typed: [], chosen: -1, example: 0 };

  /** Begin again with the system that is picked; say what was said before, if it is the same dialogue. */
  function begin(again = []) {
    state.talk = new Conversation(system(state.name), world);
    state.typed = [];
    for (const line of again) say(line, false);
    state.chosen = state.talk.said.length - 1;
    offer();
    draw();
  }

  function say(text, last = true) {
    const line = heard(text, system(state.name).vocabulary);
    if (!line.text && !state.talk.waiting.length) {
      hint.textContent = "Say something first.";
      return;
    }
    const { result, ms } = timed(() => state.talk.say(line.text));
    state.typed.push({ text, words: line.words, turns: result.length });
    find("took").textContent = took(ms);
    if (!last) return;
    state.chosen = state.talk.said.length - 1;
    offer();
    draw();
    log.lastElementChild?.scrollIntoView({ block: "nearest" });
  }

  /** Put the next line of the example into the field. */
  function offer() {
    const lines = data.examples[state.example]?.lines ?? [];
    const said = state.typed.map(({ text }) => text);
    const follows = said.every((text, at) => text === lines[at]);
    field1.value = follows ? lines[said.length] ?? "" : "";
    const waits = state.talk.waiting.length > 0;
    go.textContent = waits && !field1.value ? "Go on" : "Say it";
    const call = state.talk.said.at(-1)?.text.startsWith("api_call");
    hint.textContent = waits ? "The query found restaurants. Change your mind now, or say nothing and press “Go on” to hear an offer."
      : call ? "The query found nothing. Ask for something else." : "";
  }

  function draw() {
    const parts = [];
    let at = 0;
    for (const { words, turns } of state.typed) {
      parts.push(userBubble(words));
      for (const one of state.talk.said.slice(at, at + turns)) {
        const number = at++;
        parts.push(botBubble(one, number === state.chosen, () => {
          state.chosen = number;
          draw();
        }), factsFound(one.found));
      }
    }
    log.replaceChildren(...parts.filter(Boolean));
    drawReading();
  }

  /** Which sentences each hop read before the chosen response. */
  function drawReading() {
    const one = state.talk.said[state.chosen];
    reading.hidden = !one;
    if (!one) return;
    const { lines, weights: hops, gates, best } = one, least = 0.05;
    const kept = range(lines.length).filter((row) => hops.some((hop) => hop[row] >= least));
    asked.replaceChildren("Before it said ", make("strong", {}, one.text), one.user === SILENCE ? ", the user was silent." : ", the user said ",
      one.user === SILENCE ? "" : make("strong", {}, one.user), one.user === SILENCE ? "" : ".");
    const mean = (gate) => (sum(gate) / gate.length).toFixed(2);
    const note = (hop) => (gates.length === hops.length ? make("small", {}, `gate ${mean(gates[hop])}`) : null);
    head.replaceChildren(make("tr", {}, make("th", { scope: "col" }, "Sentence in memory"), hops.map((_, hop) => make("th", { scope: "col" }, `Hop ${hop + 1}`, note(hop)))));
    rows.replaceChildren(...kept.map((row) => make("tr", {}, make("th", { scope: "row" }, make("span", { class: "rr-chat-who" }, `${lines[row].speaker} `), lines[row].text),
      hops.map((hop) => make("td", { class: "rr-live-heat", style: heat(hop[row]) }, hop[row].toFixed(2))))));
    const left = lines.length - kept.length;
    rest.textContent = [
      !lines.length && "The memory is empty: this is the first turn.",
      left > 0 && `${plural(left, "sentence")} with less than 5 % at every hop ${left === 1 ? "is" : "are"} left out.`,
      gates.length === 1 && `The gate that mixes the tables is ${mean(gates[0])} on average.`,
    ].filter(Boolean).join(" ");
    list.replaceChildren(bars("Likeliest responses", best));
  }

  const titles = Object.fromEntries(data.examples.map(({ title }, number) => [number, title]));
  const example = menu("Example", { ...titles, own: "Your own dialogue" }, "0", (key) => {
    state.example = Number(key);
    begin(data.examples[key]?.lines.slice(0, data.played) ?? []);
    if (key === "own") field1.input.focus();
  });
  const pick = choices("Network", Object.fromEntries(Object.entries(data.networks).map(([name, { title }]) => [name, title])), first, (name) => {
    state.name = name;
    begin(state.typed.map(({ text }) => text));
  });
  const field1 = field("You say", { placeholder: "may i have a table in paris", entered: () => say(field1.value.trim()) });
  field1.input.addEventListener("input", () => { go.textContent = state.talk.waiting.length && !field1.value ? "Go on" : "Say it"; });
  const go = button("Say it", () => say(field1.value.trim()), { main: true });
  const log = make("div", { class: "rr-chat-log", role: "log", "aria-label": "Conversation" });
  const hint = make("p", { class: "rr-live-key" }), asked = make("p", { class: "rr-chat-asked" });
  const head = make("thead"), rows = make("tbody"), rest = make("p", { class: "rr-live-key" }), list = make("div");
  const reading = make("div", { class: "rr-chat-reading" }, make("p", { class: "rr-live-title" }, "What it read: choose a response"), asked,
    make("div", { class: "rr-live-scroll", tabindex: 0, role: "group", "aria-label": "Attention of each hop" }, make("table", { class: "rr-live-table" }, head, rows)),
    rest, make("p", { class: "rr-live-title" }, "Likeliest responses"), list);
  stage.append(
    make("div", { class: "rr-live-row" }, example.element, Object.keys(data.networks).length > 1 ? pick.element : null),
    make("div", { class: "rr-live-sides" },
      make("div", { class: "rr-chat-talk" }, log, make("div", { class: "rr-live-row" }, field1.element, go, button("Begin again", () => begin())), hint),
      reading));
  root.chat = { state, say, begin, system, world, Conversation };
  begin(data.examples[0].lines.slice(0, data.played));
});
