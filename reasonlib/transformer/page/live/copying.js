// Models that copy a word, each without a part: what they write, letter by letter, and where they attend.

const START = 1, END = 2;

/** A small encoder-decoder of reasonlib.transformer.models.translator, whole or without one part. */
class Copier {
  constructor(weights, missing, { tokens, heads, layers }) {
    Object.assign(this, { weights, missing, tokens, heads, layers, table: weights.matrix("embedding.weight") });
  }

  /** Embeddings times the root of the width, and positions from `start` unless the model has none. */
  embed(ids, start = 0) {
    const width = this.table.columns, x = this.table.take(ids).map((value) => value * Math.sqrt(width));
    return this.missing === "positions" ? x : add(x, sinusoidalPositions(ids.length, width, start));
  }

  /** Write an answer greedily: tokens with their probabilities, and the attention of each to the input. */
  write(word, longest) {
    const ids = Array.from(word, (letter) => this.tokens.indexOf(letter)), written = [], { heads, layers } = this;
    const memory = encode(this.weights.part("encoder"), this.embed(ids), layers, { heads }).output;
    const options = { heads, memoryMask: this.missing === "memory-attention" ? () => false : null };
    if (this.missing === "causal-mask") options.mask = null; // later tokens do not exist yet: nothing is hidden
    for (let at = 0, id = START, past = null; at < longest && id !== END; at++) {
      const decoded = decode(this.weights.part("decoder"), this.embed([id], at), memory, layers, options, past);
      const shares = softmax(matmul(decoded.output, this.table).row(0)), seen = decoded.memoryAttention.at(-1).weights;
      past = decoded.past;
      id = argmax(Array.from(shares));
      written.push({ token: this.tokens[id], share: shares[id], attention: range(ids.length, (key) => sum(seen.map((head) => head.row(0)[key])) / heads) });
    }
    return written;
  }
}

live("copying", ({ root, stage, data, weights, find }) => {
  const copiers = data.models.map(({ missing }) => new Copier(weights(missing || "whole"), missing, data));
  const state = { word: data.word, chosen: 0, answers: [] };

  /** Let every model write the word again. */
  function answer() {
    const typed = tidy(input.value).toLowerCase().replace(/\s+/g, ""), known = Array.from(typed).filter((letter) => data.tokens.includes(letter));
    const strange = [...new Set(Array.from(typed).filter((letter) => !data.tokens.includes(letter)))];
    state.word = known.slice(0, data.longest).join("");
    remark(remarks, [
      !typed && "Write a word first.",
      strange.length && `The models know the letters a to p. Left out: ${few(strange, String, 20).join(" ")}.`,
      known.length > data.longest && `Only the first ${data.longest} letters are used.`,
      state.word && (state.word.length < 4 || state.word.length > 8) && "In training all words had four to eight letters.",
    ]);
    body.hidden = !state.word;
    if (!state.word) return;
    const { result, ms } = timed(() => copiers.map((copier) => copier.write(state.word, data.longest + 1)));
    state.answers = result;
    find("took").textContent = took(ms);
    show();
  }

  function show() {
    rows.forEach(({ answer: cell, mark }, number) => {
      const written = state.answers[number].filter(({ token }) => token !== "<end>").map(({ token }) => token);
      cell.replaceChildren(...(written.length ? written.map((token, at) => make("span", {
        class: token === state.word[at] ? null : "rr-copying-wrong",
      }, token)) : [make("em", {}, "nothing")]));
      const right = written.join("") === state.word;
      mark.textContent = right ? "✓ right" : "✗ wrong";
    });
    press(state.chosen);
    const answer = state.answers[state.chosen], name = data.models[state.chosen].name;
    head.replaceChildren(make("th", { scope: "col" }, "writes"), make("th", { scope: "col" }, "probability"),
      ...Array.from(state.word, (letter) => make("th", { scope: "col" }, letter)));
    map.replaceChildren(...answer.map(({ token, share, attention }) => make("tr", {},
      make("th", { scope: "row" }, token === "<end>" ? "(end)" : token), make("td", {}, share.toFixed(2)),
      attention.map((weight) => make("td", { class: "rr-live-heat", style: heat(weight) }, weight < 0.005 ? "" : weight.toFixed(2))))));
    title.textContent = `Model ${name}: which letters of the input (columns) each written letter (rows) attends to`;
  }

  function check() {
    const right = rows.filter(({ guess }, number) => guess.value === data.models[number].missing).length;
    const lacking = data.models.map(({ name, missing }) => `${name} lacks ${data.parts[missing]}`);
    said.textContent = right === rows.length ? `All ${right} are right: ${listed(lacking)}.`
      : `${right} of ${rows.length} right. Try short and long words, and words with a letter twice.`;
  }

  const input = field("Word to copy", { value: data.word, note: "(letters a to p)", changed: answer });
  const picks = make("div", { class: "rr-live-row" }, data.models.map(({ name }, at) => make("button", {
    type: "button", class: "rr-live-button", onclick: () => choose(at),
  }, `Model ${name}`)));
  const choose = (at) => {
    state.chosen = at;
    show();
  };
  const press = roving(picks, "Model to look into", choose);
  const options = { "?": "choose", ...Object.fromEntries(Object.entries(data.parts)) };
  const rows = data.models.map(({ name }) => {
    const guess = menu(`What model ${name} lacks`, options, "?", () => { said.textContent = ""; });
    return { name, guess, answer: make("td", { class: "rr-copying-answer" }), mark: make("td") };
  });
  const table = make("table", { class: "rr-live-table rr-copying-table" },
    make("thead", {}, make("tr", {}, ["Model", "writes", "", "lacks"].map((words) => make("th", { scope: "col" }, words)))),
    make("tbody", {}, rows.map(({ name, guess, answer: cell, mark }) => make("tr", {}, make("th", { scope: "row" }, name), cell, mark, make("td", {}, guess.element)))));
  const head = make("tr"), map = make("tbody"), title = make("p", { class: "rr-live-title" });
  const said = announcer(), remarks = make("ul", { class: "rr-live-notes" });
  const body = make("div", { class: "rr-live-stage" }, table, make("div", { class: "rr-live-row" }, button("Check my answers", check, { main: true })), said,
    picks, title, make("div", { class: "rr-copying-scroll", tabindex: "0", role: "region", "aria-label": "Attention to the input" },
      make("table", { class: "rr-live-table rr-copying-map" }, make("thead", {}, head), map)));
  stage.append(make("div", { class: "rr-live-row" }, input.element), remarks, body);
  root.copying = { copiers, state, answer }; // for tests and for the browser's console
  answer();
});
