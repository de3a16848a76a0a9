// Two sentences, the answers of all heads, and a table of which task helps which.

const signed = (points, digits = 1) => {
  const size = Math.abs(points).toFixed(digits);
  return Number(size) === 0 ? size : `${points > 0 ? "+" : "−"}${size}`;
};

/** Which task helps which: a row for the second task of training, a column for the task that is measured. */
function helpMatrix({ tasks, names, gains, note }) {
  const most = Math.max(0.01, ...gains.flat().filter((gain) => gain !== null).map(({ mean }) => Math.abs(mean)));
  const said = announcer();
  const tell = (row, column, { mean, low, high }) => {
    const clear = low > 0 ? "it helps" : high < 0 ? "it hurts" : "the runs do not tell";
    const between = low === null ? "one run" : `95 % interval ${signed(low)} to ${signed(high)}`;
    said.replaceChildren(`Training with ${names[tasks[row]]} changes ${names[tasks[column]]} by ${signed(mean)} points (${between}): ${clear}.`);
  };
  const cells = tasks.map((task, row) => make("tr", {}, make("th", { scope: "row" }, names[task]), gains[row].map((gain, column) => {
    if (gain === null) return make("td", { class: "rr-matrix-none" }, "·");
    const sure = gain.low > 0 || gain.high < 0;
    return make("td", {}, make("button", {
      type: "button", class: `rr-matrix-cell ${gain.mean < 0 ? "rr-matrix-loss" : "rr-matrix-gain"}${sure ? " rr-matrix-sure" : ""}`,
      style: `--share:${Math.abs(gain.mean) / most}`, onclick: () => tell(row, column, gain),
      "aria-label": `${names[task]} for ${names[tasks[column]]}: ${signed(gain.mean)} points`,
    }, make("span", { class: "rr-matrix-tenths" }, signed(gain.mean)), make("span", { class: "rr-matrix-whole" }, signed(gain.mean, 0))));
  })));
  const head = make("tr", {}, make("th", {}, "trained with"), tasks.map((task) => make("th", { scope: "col" }, names[task])));
  return make("div", { class: "rr-matrix" }, make("div", { class: "rr-live-title" }, "Which task helps which?"),
    make("div", { class: "rr-live-scroll", tabindex: 0, role: "group", "aria-label": "Gain of each task from each other" }, make("table", { class: "rr-live-table" }, make("thead", {}, head), make("tbody", {}, cells))),
    said, make("p", { class: "rr-live-note" }, note));
}

live("scoring", ({ root, stage, data, weights, find }) => {
  const model = weights("model");
  let result = null;
  const said = announcer(), remarks = make("ul", { class: "rr-live-notes" });
  const heads = make("div", { class: "rr-scoring-heads" });

  /** One head: what it asks, its answer, and a bar for each class. */
  function card(task, answers) {
    const { name, asks, labels, kind } = data.tasks[task];
    const rows = answers.map(({ scores, of }) => {
      if (kind === "similarity") return [`${fixed(clamp(scores[0], 0, 5), 1)} of 5`, clamp(scores[0], 0, 5) / 5, of];
      if (kind === "ranking") return [`${fixed(scores[0], 2)} of 1`, scores[0], of];
      const best = argmax(scores);
      return [labels[best], scores[best], of];
    });
    return make("div", { class: "rr-scoring-head", "data-task": task },
      make("div", { class: "rr-live-title" }, name, make("span", { class: "rr-live-note" }, ` ${asks}`)),
      rows.map(([answer, share, of]) => make("div", { class: "rr-scoring-answer" },
        make("span", {}, of ? make("span", { class: "rr-live-note" }, `${of}: `) : null, make("strong", {}, answer)),
        make("span", { class: "rr-live-bar", style: `--share:${share}` }),
        make("span", { class: "rr-scoring-share" }, kind === "similarity" || kind === "ranking" ? "" : percent(share)))));
  }

  function answer() {
    const texts = [first.value, second.value];
    const { result: now, ms } = timed(() => scorePair(model, data, ...texts));
    result = now;
    find("took").textContent = took(ms);
    heads.replaceChildren(...Object.entries(result.answers).map(([task, answers]) => card(task, answers)));
    said.replaceChildren(`${Object.keys(result.answers).length} heads read one encoder.`);
    remark(remarks, [
      result.unknown.length && `Not in the small model's vocabulary: ${listed(few(result.unknown))}.`,
      result.cut && `The model reads at most ${data.longest} tokens; the end of the longer sentence is left out.`,
      result.empty && "Write two sentences: most heads compare them.",
    ]);
  }

  function write(one, other) {
    first.value = one;
    second.value = other;
    answer();
  }

  function open(number) {
    write(...data.pairs[Number(number)].texts);
  }

  const pick = menu("Try a pair", Object.fromEntries(data.pairs.map((pair, at) => [at, pair.name])), 0, open);
  const first = field("First sentence", { changed: answer }), second = field("Second sentence", { changed: answer });
  const words = make("details", {}, make("summary", {}, "Words that the model knows"), make("p", { class: "rr-live-note" }, data.known.join(", ")));
  stage.append(pick.element, make("div", { class: "rr-live-row" }, first.element, second.element), heads, remarks, words, said);
  said.classList.add("rr-live-hidden");
  if (data.matrix) stage.append(helpMatrix(data.matrix));
  root.scoring = { write, open, result: () => result }; // for tests and for the browser's console
  open(0);
});
