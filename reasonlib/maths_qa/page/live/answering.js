// A question, and the answers of two models, written character by character: one was pre-trained, the other was not.

live("answering", ({ root, stage, data, weights, find }) => {
  const columns = Object.entries(data.names).map(([name, title]) => new Column(name, title));
  const remarks = make("ul", { class: "rr-live-notes" });
  const asked = new TokenRow({ label: "Characters of the question", choose: () => {} });
  asked.element.classList.add("rr-answering-question");
  const still = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
  let question = "", expected = null, timer = null, drawn = 0;

  function Column(name, title) {
    const said = announcer(), right = make("span", { class: "rr-answering-mark" });
    const row = new TokenRow({ label: `Answer, ${title}`, choose: (at) => look(this, at) });
    const element = make("div", { class: "rr-answering-column" }, make("div", { class: "rr-live-title" }, title, " ", right), row.element, said);
    Object.assign(this, { name, title, model: weights(name), row, said, right, element, result: null, count: 0 });
  }

  /** Shade the question by how far a character of an answer looks at each of its characters. */
  function look(column, at) {
    const { text, chances, attention } = column.result, most = Math.max(1e-9, ...attention[at]);
    asked.shade(attention[at].map((share) => share / most), -1, () => "");
    for (const other of columns) other.row.press(other === column ? at : -1);
    for (const other of columns) [...other.row.element.children].forEach((token, number) => token.classList.toggle("rr-live-looking", other === column && number === at));
    const wanted = at < text.length ? quoted(text[at]) : "the end";
    column.said.replaceChildren(`${wanted}: ${percent(chances[at])} sure`);
  }

  /** The characters of an answer, up to `shown`; the end of the answer is a mark of its own. */
  function write(column, shown) {
    const { text, chances } = column.result, all = [...text, "end"].slice(0, Math.min(shown, chances.length));
    column.row.set(all.map((character) => ({ text: character === " " ? "\u00a0" : character, title: character === "end" ? "the model ends its answer" : null })));
  }

  function reveal(step = 1) {
    const last = Math.max(...columns.map((column) => column.result.chances.length));
    for (const column of columns) write(column, step);
    if (step < last) {
      timer = setTimeout(() => reveal(step + 1), 90);
      return;
    }
    for (const column of columns) {
      const { text, chances } = column.result, sure = chances.reduce((product, share) => product * share, 1);
      const good = expected !== null && text === expected;
      column.right.textContent = expected === null ? "" : good ? "✓ right" : "✗ wrong";
      column.right.classList.toggle("rr-answering-good", good);
      column.said.replaceChildren(make("strong", {}, text || "(nothing)"), ` ${percent(sure)} sure`);
    }
    const first = columns[0];
    look(first, 0);
    first.said.replaceChildren(make("strong", {}, first.result.text || "(nothing)"), ` ${percent(first.result.chances.reduce((product, share) => product * share, 1))} sure`);
  }

  function ask(text, right = null, { animate = true } = {}) {
    clearTimeout(timer);
    question = tidyQuestion(text);
    expected = right;
    const strange = [...new Set([...question].filter((character) => !isPrintable(character)))];
    const refused = !question || strange.length > 0 || question.length > data.longestQuestion;
    remark(remarks, [
      !question && "Write a question first.",
      strange.length && `The models know the characters of a keyboard only, not ${listed(few(strange))}.`,
      question.length > data.longestQuestion && `A question has ${data.longestQuestion} characters at most; this one has ${question.length}.`,
      right === null && !refused && !data.forms.includes(question.replace(/\d+/g, "0")) && "The models saw no question of this form in training, so the answer is a guess.",
    ]);
    if (refused) { // no old answer under a new question
      for (const row of [asked, ...columns.map((column) => column.row)]) row.set([]);
      for (const part of [solution, ...columns.flatMap((column) => [column.right, column.said])]) part.replaceChildren();
      return;
    }
    asked.set([...question].map((character) => ({ text: character === " " ? "\u00a0" : character })));
    const { ms } = timed(() => columns.forEach((column) => { column.result = answerGreedily(column.model, question, data); }));
    find("took").textContent = took(ms / columns.length);
    for (const column of columns) column.right.textContent = "";
    solution.replaceChildren(...(right === null ? [] : ["Right answer: ", make("strong", {}, right), ". "]));
    reveal(animate && !still ? 1 : Infinity);
    if (right !== null) {
      drawn += 1;
      for (const column of columns) column.count += column.result.text === right;
      solution.append(`So far right: ${columns.map((column) => `${column.title.toLowerCase()} ${column.count} of ${drawn}`).join(", ")}.`);
    }
  }

  function open(module, { animate = true } = {}) {
    const list = data.problems[module], at = (next[module] = ((next[module] ?? -1) + 1) % list.length);
    const [text, right] = list[at];
    input.value = text;
    ask(text, right, { animate });
  }

  const next = {}, solution = make("p", { class: "rr-answering-solution" });
  const input = field("Question", { entered: () => ask(input.value) });
  const kinds = menu("Kind of question", data.titles, Object.keys(data.titles)[0], (module) => open(module));
  const buttons = make("div", { class: "rr-live-row rr-answering-buttons" }, button("Another question", () => open(kinds.value), { main: true }), button("Ask what I typed", () => ask(input.value)));
  kinds.element.hidden = Object.keys(data.titles).length < 2;
  stage.append(make("div", { class: "rr-live-row" }, kinds.element, buttons), input.element, remarks,
    make("div", { class: "rr-live-sides" }, columns.map((column) => column.element)),
    make("div", {}, make("div", { class: "rr-live-title" }, "Where the chosen character looked"), asked.element), solution);
  root.answering = { ask, open, results: () => Object.fromEntries(columns.map((column) => [column.name, column.result])) }; // for tests
  open(kinds.value, { animate: false });
});
