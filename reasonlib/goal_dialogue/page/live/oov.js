// Two networks hear the same names that nobody has heard: one copies them, the other must choose among its candidates.

live("oov", ({ root, stage, data, weights, find }) => {
  const world = new World(data.world);
  const copying = new CopyNetwork(weights("copying"), data.copying);
  const n2n = new MemoryNetwork(weights("n2n"), data.network, data, world);
  const state = { talks: [], typed: [], chosen: null };
  const TITLES = ["Copying network", "N2N"];

  /** The knowledge base of this figure invents three restaurants for a query about names that it does not have. */
  const invented = Object.create(world, {
    find: {
      value(call) {
        const found = world.find(call), [, cuisine, location, number, price] = call.split(" ");
        const own = world.cuisines.includes(cuisine) && world.locations.includes(location);
        if (found.length || own) return found;
        return [4, 7, 2].flatMap((rating) => {
          const subject = `resto_${location}_${price}_${cuisine}_${rating}stars`;
          const values = { R_phone: `${subject}_phone`, R_cuisine: cuisine, R_address: `${subject}_address`, R_location: location,
            R_number: number, R_price: price, R_rating: String(rating) };
          return Object.entries(values).map(([relation, value]) => ({ subject, relation, value }));
        });
      },
    },
  });

  const bare = (text) => wordsIn(text).join("_");
  const line = (number) => data.lines[number]?.replaceAll("{city}", bare(city.value) || "rome").replaceAll("{food}", bare(food.value) || "italian");

  function begin(count = data.played) {
    state.talks = [new Conversation(copying, invented), new Conversation(n2n, world)];
    state.typed = [];
    for (let at = 0; at < count; at++) say(line(at), false);
    state.chosen = choice();
    offer();
    draw();
  }

  /** The last response of the copying network that has a gap. */
  function choice() {
    return state.talks[0].said.findLastIndex((one) => one.gaps.length);
  }

  function say(text, last = true) {
    const spoken = heard(text ?? "", n2n.vocabulary), silent = !spoken.text;
    if (silent && !state.talks[0].waiting.length) {
      hint.textContent = "Say something first.";
      return;
    }
    const names = new Set(spoken.words.filter(({ word }) => !copying.vocabulary.has(word)).map(({ word }) => word));
    const { result: turns, ms } = timed(() => state.talks.map((talk) => {
      if (silent && !talk.waiting.length) return 0; // this one waits for nothing
      return talk.say(spoken.text).length;
    }));
    state.typed.push({ text: text ?? "", words: spoken.words.map((one) => ({ ...one, spelled: one.word })), names, turns });
    find("took").textContent = took(ms);
    if (!last) return;
    state.chosen = choice();
    offer();
    draw();
  }

  function offer() {
    const said = state.typed.map(({ text }) => text), follows = said.every((text, at) => text === line(at));
    typed.value = follows ? line(said.length) ?? "" : "";
    go.textContent = state.talks[0].waiting.length && !typed.value ? "Go on" : "Say it";
    hint.textContent = state.talks[0].waiting.length ? "The query found restaurants. Change your mind, or say nothing and press “Go on” to hear an offer." : "";
  }

  /** What a response lacks that the reader asked for. */
  function lacking(text) {
    if (!text.startsWith("api_call")) return "";
    const wanted = [bare(city.value), bare(food.value)].filter((name) => name && state.typed.some(({ words }) => words.some(({ word }) => word === name)));
    const missing = wanted.filter((name) => !text.split(" ").includes(name));
    return missing.length ? `you asked for ${listed(missing)}` : "";
  }

  function draw() {
    const at = [0, 0];
    rows.replaceChildren(...state.typed.flatMap(({ words, turns }) => [
      make("div", { class: "rr-oov-user" }, userBubble(words)),
      ...state.talks.map((talk, which) => make("div", { class: "rr-oov-said" }, talk.said.slice(at[which], (at[which] += turns[which])).map((one) => {
        const number = talk.said.indexOf(one), shown = { ...one, remark: lacking(one.text) || (one.found.length ? "" : one.remark) };
        if (which === 0 && one.gaps.length) {
          return [botBubble(shown, number === state.chosen, () => { state.chosen = number; draw(); }), factsFound(one.found)];
        }
        return [make("p", { class: "rr-chat-bot" }, one.text.startsWith("api_call") ? [make("span", { class: "rr-chat-call" }, "query"), ` ${one.text.slice(9)}`] : one.text,
          shown.remark ? make("span", { class: "rr-chat-remark" }, shown.remark) : null), factsFound(one.found)];
      }))),
    ]));
    toTheEnd(rows);
    const one = state.talks[0].said[state.chosen];
    why.hidden = !one;
    if (!one) return;
    title.replaceChildren("How the copying network filled ", make("strong", {}, data.copying.templates[one.template].map((word) => (word === "api_call" ? "query" : word ?? "_")).join(" ")));
    body.replaceChildren(...one.gaps.map(({ names, window }, gap) => make("tr", {},
      make("th", { scope: "row" }, String(gap + 1)),
      make("td", {}, names.slice(0, 3).map(([name, share]) => make("span", { class: "rr-oov-name rr-live-heat", style: heat(share) }, `${name} ${share.toFixed(2)}`))),
      make("td", {}, window))));
  }

  const city = field("An invented city", { value: data.city, changed: () => begin() });
  const food = field("An invented cuisine", { value: data.food, changed: () => begin() });
  const typed = field("You say", { entered: () => say(typed.value.trim()) });
  typed.input.addEventListener("input", () => { go.textContent = state.talks[0].waiting.length && !typed.value ? "Go on" : "Say it"; });
  const go = button("Say it", () => say(typed.value.trim()), { main: true }), hint = make("p", { class: "rr-live-key" });
  const rows = make("div", { class: "rr-oov-log", role: "log", tabindex: 0, "aria-label": "Conversation with both networks" });
  const title = make("p", { class: "rr-chat-asked" }), body = make("tbody");
  const column = (words) => make("th", { scope: "col" }, words);
  const why = make("div", { class: "rr-oov-why" }, title, make("div", { class: "rr-live-scroll", tabindex: 0, role: "group", "aria-label": "Names in each gap" },
    make("table", { class: "rr-live-table" }, make("thead", {}, make("tr", {}, column("_"), column("Names, probability"), column("Mention that contributed most to the first"))), body)));
  stage.append(
    make("div", { class: "rr-live-row" }, city.element, food.element),
    make("div", {}, make("div", { class: "rr-oov-heads" }, TITLES.map((name) => make("strong", {}, name))), rows),
    make("div", { class: "rr-live-row" }, typed.element, go, button("Begin again", () => begin(0))), hint, why);
  root.oov = { state, say, begin, copying, n2n, world: invented };
  begin();
});
