// One digit of a number, for numbers of many lengths: a map of how many questions the model gets right, filled field by field.

live("probing", ({ root, stage, data, weights, find }) => {
  const said = announcer(), list = make("div", {}), places = data.places;
  const lengths = range(places.length - 1, (at) => at + 2), table = make("table", { class: "rr-live-table rr-probing-map" });
  let fields = new Map(), model = Object.keys(data.names)[0], run = 0, draws = 0;

  /** Put new questions for the digit at a place, counted from the right, to the model. */
  function probe(digits, place, seed) {
    const random = new Random(1000 * seed + 20 * digits + place);
    return range(data.each, () => {
      const number = range(digits, (at) => (at ? random.integer(10) : 1 + random.integer(9))).join("");
      const question = `What is the ${places[place - 1]} digit of ${number}?`, { text } = answerGreedily(weights(model), question, data);
      return { question, right: number[digits - place], text };
    });
  }

  function show(digits, place) {
    const results = fields.get(`${digits},${place}`);
    if (!results) return;
    list.replaceChildren(make("div", { class: "rr-live-title" }, `The ${places[place - 1]} of numbers with ${plural(digits, "digit")}`),
      make("ul", { class: "rr-probing-list" }, results.map(({ question, right, text }) =>
        make("li", {}, `${question} `, make("strong", {}, text || "(nothing)"), text === right ? " ✓" : ` ✗ (${right})`))));
  }

  function paint() {
    const head = make("tr", {}, make("th", {}, ""), places.map((name, at) => make("th", { scope: "col", title: name }, String(at + 1))));
    const field = (digits, place) => {
      const results = fields.get(`${digits},${place}`), right = results?.filter((one) => one.text === one.right).length;
      return make("button", { type: "button", class: `rr-probing-field${results ? " rr-live-heat" : ""}`, style: heat(results ? right / data.each : 0), disabled: !results,
        "aria-label": `${plural(digits, "digit")}, ${places[place - 1]}: ${results ? `${right} of ${data.each} right` : "not asked yet"}`, onclick: () => show(digits, place) }, results ? String(right) : "·");
    };
    table.replaceChildren(make("caption", { class: "rr-live-title" }, `Right of ${data.each}. Rows: digits of the number (✓ frequent in training); columns: place asked for, 1 = units`), make("thead", {}, head),
      make("tbody", {}, lengths.map((digits) => make("tr", {}, make("th", { scope: "row" }, `${digits}${data.trained.includes(digits) ? " ✓" : ""}`),
        places.map((_, at) => make("td", {}, at < digits ? field(digits, at + 1) : ""))))));
  }

  function start({ wait = true } = {}) {
    const mine = (run += 1), left = lengths.flatMap((digits) => range(digits, (at) => [digits, at + 1])), seed = (draws += 1);
    fields = new Map();
    list.replaceChildren();
    let spent = 0;
    const step = () => {
      if (mine !== run) return;
      const next = left.shift();
      if (!next) {
        const all = [...fields.values()].flat(), right = all.filter((one) => one.text === one.right).length;
        said.replaceChildren(make("strong", {}, percent(right / all.length)), ` of ${all.length} new questions right. Choose a field to read them.`);
        find("took").textContent = took(spent / all.length);
        return;
      }
      const { result, ms } = timed(() => probe(...next, seed));
      spent += ms;
      fields.set(next.join(","), result);
      paint();
      if (wait) setTimeout(step, 0);
      else step();
    };
    said.replaceChildren("Asking …");
    step();
  }

  const models = choices("Model", data.names, model, (chosen) => { model = chosen; start(); });
  stage.append(make("div", { class: "rr-live-row" }, button("Run", () => start(), { main: true }), models.element), said, make("div", { class: "rr-live-scroll", tabindex: 0, role: "group", "aria-label": "Share of right answers" }, table), list);
  root.probing = { start, show, fields: () => Object.fromEntries(fields) }; // for tests
  paint();
});
