// Sums of numbers with many lengths, put to the model: a map of how many it gets right, filled field by field.

live("probing", ({ root, stage, data, weights, find }) => {
  const model = weights("solver"), said = announcer(), list = make("div", {});
  const lengths = range(data.most, (at) => at + 1), table = make("table", { class: "rr-live-table rr-probing-map" });
  let fields = new Map(), sign = "+", run = 0, draws = 0;

  /** A whole number of so many digits. */
  const numberOf = (random, digits) => (digits === 1 ? 1 + random.integer(9) : 10 ** (digits - 1) + random.integer(9 * 10 ** (digits - 1)));

  /** Put new sums of two lengths to the model. */
  function probe(first, second, seed) {
    const random = new Random(1000 * seed + 10 * first + second);
    return range(data.each, () => {
      const a = numberOf(random, first), b = numberOf(random, second), right = String(sign === "+" ? a + b : a - b);
      const question = `What is ${a} ${sign} ${b}?`, { text } = answerGreedily(model, question, data);
      return { question, right, text };
    });
  }

  function show(first, second) {
    const results = fields.get(`${first},${second}`);
    if (!results) return;
    list.replaceChildren(make("div", { class: "rr-live-title" }, `${plural(first, "digit")} ${sign} ${plural(second, "digit")}`),
      make("ul", { class: "rr-probing-list" }, results.map(({ question, right, text }) => make("li", {}, `${question} `,
        text === right ? `${text} ✓` : [marked(text, right), ` ✗ (${right})`]))));
  }

  /** An answer with the characters marked that differ, counted from the end. */
  const marked = (text, right) => [...text].map((character, at) => (right[right.length - text.length + at] === character ? character
    : make("mark", { class: "rr-probing-wrong" }, character)));

  function paint() {
    const head = make("tr", {}, make("th", {}, ""), lengths.map((second) => make("th", { scope: "col" }, String(second))));
    table.replaceChildren(make("caption", { class: "rr-live-title" }, `Right of ${data.each}; rows: digits of the first number, columns: of the second`), make("thead", {}, head),
      make("tbody", {}, lengths.map((first) => make("tr", {}, make("th", { scope: "row" }, String(first)), lengths.map((second) => {
        const results = fields.get(`${first},${second}`), right = results?.filter((one) => one.text === one.right).length;
        return make("td", {}, make("button", { type: "button", class: `rr-probing-field${results ? " rr-live-heat" : ""}`, style: heat(results ? right / data.each : 0), disabled: !results,
          "aria-label": `${plural(first, "digit")} ${sign} ${plural(second, "digit")}: ${results ? `${right} of ${data.each} right` : "not asked yet"}`, onclick: () => show(first, second) }, results ? String(right) : "·"));
      })))));
  }

  function start({ wait = true } = {}) {
    const mine = (run += 1), left = lengths.flatMap((first) => lengths.map((second) => [first, second])), seed = (draws += 1);
    fields = new Map();
    let spent = 0;
    const step = () => {
      if (mine !== run) return;
      const next = left.shift();
      if (!next) {
        const all = [...fields.values()].flat(), right = all.filter((one) => one.text === one.right).length;
        said.replaceChildren(make("strong", {}, percent(right / all.length)), ` of ${all.length} new sums right. Choose a field to read them.`);
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

  const signs = choices("Operation", { "+": "add", "-": "subtract" }, sign, (chosen) => { sign = chosen; start(); });
  stage.append(make("div", { class: "rr-live-row" }, button("Run", () => start(), { main: true }), signs.element), said, make("div", { class: "rr-live-scroll" }, table), list);
  root.probing = { start, show, fields: () => Object.fromEntries(fields) }; // for tests
  paint();
});
