// A sentence, the sentences before it, and its translation, whose words change with the context.

live("translating", ({ root, stage, data, weights, find }) => {
  const model = weights("translator");
  let result = null, before = null, chosen = -1;
  const contextLines = () => context.value.split(/\n/).map((line) => line.trim()).filter(Boolean);

  const said = announcer(), remarks = make("ul", { class: "rr-live-notes" });
  const words = new TokenRow({ label: "Words of the translation", choose: look });
  const looked = make("div", { class: "rr-translating-context", "aria-label": "What the chosen word attends to" });
  const picks = make("div", { class: "rr-live-row rr-translating-picks" });

  function answer({ compare = true } = {}) {
    if (!sentence.value.trim()) {
      result = null;
      words.set([]);
      said.replaceChildren();
      looked.replaceChildren();
      return remark(remarks, ["Write a sentence first."]);
    }
    const { result: now, ms } = timed(() => translateInContext(model, data, sentence.value, contextLines()));
    before = compare ? result?.words ?? null : null;
    result = now;
    find("took").textContent = took(ms);
    words.set(result.words.map((text) => ({ text, title: data.glosses[text] ?? null })));
    const losses = result.words.map((_, at) => clamp(result.chances[at] - result.without[at], 0, 1));
    words.shade(losses, -1, (_, at) => data.glosses[result.words[at]] ?? "");
    const changed = before ? result.words.filter((word, at) => word !== before[at]) : [];
    [...words.element.children].forEach((token, at) => token.classList.toggle("rr-translating-changed", !!before && result.words[at] !== before[at]));
    said.replaceChildren(
      !result.words.length ? "The translator writes nothing."
        : changed.length ? `The new context changes ${listed(few(changed))}.`
          : before ? "The translation stays the same." : result.alone && result.alone.join(" ") !== result.words.join(" ")
            ? `Without the sentences before it would be: ${result.alone.join(" ")}` : "Shaded words need the sentences before.");
    remark(remarks, [
      result.unknown.length && `Not in the small translator's vocabulary: ${listed(few(result.unknown))}.`,
      [sentence.value, ...contextLines()].some((line) => splitWords(line).length > data.words) && `The figure reads the first ${data.words} words of a sentence only.`,
      contextLines().length > data.contexts && `The translator reads the last ${data.contexts} sentences only.`,
    ]);
    look(chosen >= 0 && chosen < result.words.length ? chosen : argmax(losses));
    for (const pick of picks.children) pick.setAttribute("aria-pressed", pick.dataset.context === contextLines().join("\n"));
  }

  /** Shade the words of the context by how far a word of the translation looks at them. */
  function look(at) {
    chosen = at;
    looked.replaceChildren();
    if (!result.words.length) return;
    words.press(at);
    [...words.element.children].forEach((token, number) => token.classList.toggle("rr-live-looking", number === at));
    const lines = contextLines().slice(-data.contexts), shares = result.looks[at];
    const most = Math.max(1e-9, ...shares.flat());
    looked.append(make("div", { class: "rr-live-title" }, lines.length
      ? `${quoted(result.words[at])} attends to these words; ${percent(result.chances[at])} sure, ${percent(result.without[at])} without context`
      : "There is no context to attend to."));
    lines.forEach((line, number) => looked.append(make("p", { class: "rr-translating-line" }, splitWords(line).slice(0, data.words).map((word, position) =>
      make("span", { class: "rr-live-heat", style: heat(shares[number][position] / most), title: shares[number][position].toFixed(3) }, shortened(word))))));
  }

  function open(number, first = 0) {
    const { source, contexts } = data.cases[Number(number)];
    sentence.value = source;
    picks.replaceChildren(...contexts.map((lines) => {
      const pick = button(lines.length ? lines.join(" ") : "(nothing before)", () => write(lines));
      pick.dataset.context = lines.join("\n");
      return pick;
    }));
    context.value = contexts[first].join("\n");
    result = null;
    chosen = -1;
    answer({ compare: false });
  }

  function write(lines, text = null) {
    if (text !== null) sentence.value = text;
    context.value = lines.join("\n");
    answer();
  }

  const pick = menu("Sentence to translate", Object.fromEntries(data.cases.map((one, at) => [at, `${one.source.replace(/ ([.?])$/, "$1")} (${one.kind})`])), data.start, (number) => open(number));
  const context = field("Sentences before, one a line", { lines: 3, changed: () => answer() });
  const sentence = field("Sentence", { changed: () => answer() });
  const own = make("details", {}, make("summary", {}, "Write your own"), make("div", { class: "rr-translating-own" }, context.element, sentence.element,
    make("details", {}, make("summary", {}, "Words that the translator knows"), make("p", { class: "rr-live-note" }, data.known.join(", ")))));
  stage.append(pick.element, make("div", {}, make("div", { class: "rr-live-title" }, "What comes before it?"), picks), words.element, said, looked, remarks, own);
  root.translating = { write, open, look, result: () => result }; // for tests and for the browser's console
  open(data.start, data.context);
});
