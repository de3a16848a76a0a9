// One digit of a number, for numbers of many lengths: a map of how many questions the model gets right, filled field by field.

live("probing", ({ root, stage, data, weights, find }) => {
  const said = announcer(), list = make("div", {}), { places } = data, lengths = range(places.length - 1, (at) => at + 2), cells = new Map();
  let fields = new Map(), model = Object.keys(data.names)[0], draws = 0, stop = () => {};

  /** Put new questions to the model, a character of an answer at a time, for each digit (counted from the right) of numbers of each length. */
  function* probe(seed) {
    for (const [key, { digits, place }] of cells) {
      const random = new Random(1000 * seed + 20 * digits + place), results = [];
      while (results.length < data.each) {
        const number = range(digits, (at) => (at ? random.integer(10) : 1 + random.integer(9))).join("");
        const question = `What is the ${places[place - 1]} digit of ${number}?`, { text } = yield* answerSlowly(weights(model), question, data);
        results.push({ question, right: number[digits - place], text });
        yield;
      }
      fields.set(key, results);
      paint(key);
    }
  }

  function show(digits, place) {
    const results = fields.get(`${digits},${place}`);
    if (!results) return;
    list.replaceChildren(make("div", { class: "rr-live-title" }, `The ${places[place - 1]} of numbers with ${plural(digits, "digit")}`),
      make("ul", { class: "rr-probing-list" }, results.map(({ question, right, text }) =>
        make("li", {}, `${question} `, make("strong", {}, text || "(nothing)"), text === right ? " ✓" : ` ✗ (${right})`))));
  }

  /** Show what is known of one field. */
  function paint(key) {
    const { cell, digits, place } = cells.get(key), results = fields.get(key), right = results?.filter((one) => one.text === one.right).length;
    cell.disabled = !results;
    cell.classList.toggle("rr-live-heat", Boolean(results));
    cell.style = heat(results ? right / data.each : 0);
    cell.setAttribute("aria-label", `${plural(digits, "digit")}, ${places[place - 1]}: ${results ? `${right} of ${data.each} right` : "not asked yet"}`);
    cell.textContent = results ? String(right) : "·";
  }

  function start({ wait = true } = {}) {
    fields = new Map();
    for (const key of cells.keys()) paint(key);
    list.replaceChildren();
    said.replaceChildren("Asking …");
    let spent = 0;
    stop();
    stop = littleByLittle(probe((draws += 1)), (done, ms) => {
      spent += ms;
      if (!done) return;
      const all = [...fields.values()].flat(), right = all.filter((one) => one.text === one.right).length;
      said.replaceChildren(make("strong", {}, percent(right / all.length)), ` of ${all.length} new questions right. Choose a cell to read its questions.`);
      find("took").textContent = took(spent / all.length);
    }, { once: !wait });
  }

  function cellOf(digits, place) {
    const cell = make("button", { type: "button", class: "rr-probing-field", onclick: () => show(digits, place) }), key = `${digits},${place}`;
    cells.set(key, { cell, digits, place });
    paint(key);
    return cell;
  }

  const models = choices("Model", data.names, model, (chosen) => { model = chosen; start(); });
  const table = make("table", { class: "rr-live-table rr-probing-map" },
    make("caption", { class: "rr-live-title" }, `Right of ${data.each}. Rows: digits of the number (✓ frequent in training); columns: place asked for, 1 = units`),
    make("thead", {}, make("tr", {}, make("th", {}, ""), places.map((name, at) => make("th", { scope: "col", title: name }, String(at + 1))))),
    make("tbody", {}, lengths.map((digits) => make("tr", {}, make("th", { scope: "row" }, `${digits}${data.trained.includes(digits) ? " ✓" : ""}`),
      places.map((_, at) => make("td", {}, at < digits ? cellOf(digits, at + 1) : ""))))));
  stage.append(make("div", { class: "rr-live-row" }, button("Run", () => start(), { main: true }), models.element), said, make("div", { class: "rr-live-scroll", tabindex: 0, role: "group", "aria-label": "Share of right answers" }, table), list);
  root.probing = { start, show, fields: () => Object.fromEntries(fields) }; // for tests
});
