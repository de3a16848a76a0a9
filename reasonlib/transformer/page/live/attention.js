// Attention, step by step: one token asks; its scores, the softmax of them, and the mixture of values they make.

const LAYERS = new WeakMap(); // of a model: the text it read last, and what goes into each layer, with a mask and without

/** What goes into a layer. Each layer is computed once for a text, and none that nobody looks at. */
function statesBefore(bert, text, masked, layer) {
  let last = LAYERS.get(bert);
  if (last?.text !== text) LAYERS.set(bert, last = { text, true: [bert.embed(text)], false: [bert.embed(text)] });
  const states = last[masked], options = { heads: bert.heads, eps: EPS, activation: gelu, mask: masked ? causal() : null };
  while (states.length <= layer) states.push(encoderLayer(bert.weights.part(`encoder.layers.${states.length - 1}`), states.at(-1), options).output);
  return states[layer];
}

/** One layer's attention for a sentence; a mask hides later tokens in this layer and in those before it. */
function attentionOf(bert, text, { layer, masked, scaled }) {
  const mask = masked ? causal() : null, before = statesBefore(bert, text, masked, layer);
  const part = bert.weights.part(`encoder.layers.${layer}.attention`), width = before.columns / bert.heads;
  const { keys, values } = project(part, before), query = linear(part.part("query"), before);
  return { ...attend(query, keys, values, bert.heads, { mask, scale: scaled ? Math.sqrt(width) : 1 }), values, width };
}

live("attention", ({ root, stage, data, weights, find }) => {
  const bert = new Bert(weights("encoder"), data.sizes), heads = bert.heads;
  const state = { layer: data.first.layer, head: data.first.head, query: 0, masked: false, scaled: true, words: [], seen: null };

  function read({ keep = false } = {}) {
    state.words = bert.pack(text.value);
    const count = state.words.length, empty = count < 3, long = count > data.longest;
    remark(remarks, [
      empty && "Write a sentence first.",
      long && `The figure shows at most ${data.longest} tokens, and this text has ${count}.`,
      ...unknown(),
    ]);
    body.hidden = empty || long;
    if (body.hidden) return;
    const hidden = state.words.indexOf("[MASK]");
    if (!keep || state.query >= count) state.query = hidden > 0 ? hidden : Math.min(data.first.query, count - 2);
    if (state.words.join(" ") !== state.drawn) row.set(state.words.map((word) => ({ text: word, unknown: !bert.vocabulary.has(word) })), { keep: true });
    state.drawn = state.words.join(" ");
    update();
  }

  function unknown() {
    const strange = [...new Set(state.words.filter((word) => !bert.vocabulary.has(word)))];
    return strange.length ? [`The model has never seen ${few(strange).join(", ")} and reads [UNK] there.`] : [];
  }

  /** Compute again, and draw. */
  function update() {
    const { result, ms } = timed(() => attentionOf(bert, text.value, state));
    state.seen = result;
    find("took").textContent = took(ms, "Computed");
    show();
  }

  const bare = () => make("canvas", { class: "rr-attention-strip", width: 6 * data.width, height: 1, "aria-hidden": "true" });

  /** A row of the table, to be filled. */
  function line() {
    const parts = { word: make("th", { scope: "row" }), score: make("span"), bar: make("i"), share: make("td", { class: "rr-live-heat" }), value: bare() };
    parts.heads = range(heads, () => make("td", { class: "rr-attention-head rr-live-heat" }));
    parts.row = make("tr", {}, parts.word, make("td", { class: "rr-attention-score" }, parts.score, parts.bar), parts.share, make("td", { class: "rr-attention-value" }, parts.value), parts.heads);
    return parts;
  }

  function show() {
    const { scores, weights: shares, values, joined, width } = state.seen, { head, query, words } = state;
    const from = head * width, slice = (matrix, at) => matrix.row(at).subarray(from, from + width);
    let largest = 0;
    for (let at = 0; at < words.length; at++) for (const value of slice(values, at)) largest = Math.max(largest, Math.abs(value));
    const own = shares[head].row(query), hidden = (at) => state.masked && at > query;
    const most = Math.max(1e-9, ...Array.from(scores[head].row(query), (score, at) => (hidden(at) ? 0 : Math.abs(score))));
    while (lines.length > words.length) lines.pop().row.remove();
    while (lines.length < words.length) table.append(lines[lines.push(line()) - 1].row);
    words.forEach((word, at) => {
      const score = scores[head].row(query)[at], share = own[at], parts = lines[at];
      if (hidden(at) !== parts.hidden) parts.row.className = (parts.hidden = hidden(at)) ? "rr-attention-hidden" : "";
      told(parts.word, shortened(word, 16));
      told(parts.score, hidden(at) ? "−∞" : fixed(score, 1));
      styled(parts.bar, signed(hidden(at) ? 0 : score / most));
      told(parts.share, share.toFixed(2));
      styled(parts.share, `--share:${share.toFixed(2)}`);
      strip(parts.value, slice(values, at), largest, 0.12 + 0.88 * share);
      parts.heads.forEach((cell, other) => {
        const part = shares[other].row(query)[at].toFixed(2);
        if (cell.part !== part) {
          styled(cell, `--share:${part}`);
          cell.title = cell.ariaLabel = `head ${other + 1}: ${part}`;
          cell.part = part;
        }
        cell.classList.toggle("rr-attention-chosen", other === head);
      });
    });
    told(formula, state.scaled ? `query · key / √${data.width}` : "query · key");
    strip(mixture.firstChild, slice(joined, query), largest, 1);
    row.press(query);
    row.shade(own, query);
    if (state.pressed !== head) for (const [at, pick] of picks.entries()) pick.setAttribute("aria-pressed", at === head);
    state.pressed = head;
    const best = topOf(own, 2).filter((at, index) => !index || own[at] >= 0.05); // the best is named even where all weights are small
    const parts = best.map((at, index) => `${percent(own[at])} ${index ? "" : "of its mixture "}from ${quoted(words[at])} (token ${at + 1})`);
    said.textContent = `Layer ${state.layer + 1}, head ${head + 1}: ${quoted(words[query])}, token ${query + 1}, takes ${listed(parts)}.`;
  }

  /** A bar from the middle to the right, or to the left where a score is below zero. */
  const signed = (part) => `left:${(50 + Math.min(part, 0) * 50).toFixed(1)}%;width:${(Math.abs(part) * 50).toFixed(1)}%`;

  /** Draw a vector as a row of cells: blue above zero, orange below. */
  function strip(canvas, vector, largest, strength) {
    const image = new ImageData(6 * vector.length, 1), pixels = new Uint32Array(image.data.buffer);
    vector.forEach((value, at) => { // five pixels, and a gap; a colour is written as its bytes lie: alpha, blue, green, red
      const alpha = 255 * strength * ((Math.abs(value) / largest) * 0.9 + 0.04);
      pixels.fill((alpha << 24) | (value > 0 ? 0xb27200 : 0x005ed5), 6 * at, 6 * at + 5);
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  const text = field("Sentence", { value: data.texts[0].text, note: "(_ hides a word)", changed: () => {
    example.value = "own";
    read({ keep: true });
  } });
  const titles = Object.fromEntries(data.texts.map(({ title }, number) => [number, title]));
  const example = menu("Example", { ...titles, own: "Your own" }, "0", (key) => {
    if (data.texts[key]) text.value = data.texts[key].text;
    else text.input.focus();
    read();
  });
  const layer = choices("Layer", Object.fromEntries(range(bert.layers, (number) => [number, number + 1])), String(state.layer), (key) => {
    state.layer = Number(key);
    update();
  });
  const mask = tick("Hide later tokens (causal mask)", false, (on) => {
    state.masked = on;
    update();
  });
  const scale = tick(`Divide scores by √${data.width}`, true, (on) => {
    state.scaled = on;
    update();
  });
  const row = new TokenRow({ label: "Query: the token that asks", choose: (at) => {
    state.query = at;
    show();
  } });
  const picks = range(heads, (number) => make("button", { type: "button", class: "rr-attention-pick", "aria-label": `head ${number + 1}`, onclick: () => {
    state.head = number;
    show();
  } }, String(number + 1)));
  const table = make("tbody"), mixture = make("td", {}, bare()), lines = [], formula = make("small"), said = announcer(), remarks = make("ul", { class: "rr-live-notes" });
  const head = (...words) => make("th", { scope: "col" }, words);
  const grid = make("table", { class: "rr-live-table rr-attention-table" },
    make("thead", {}, make("tr", {},
      head("Key"), head("1 Score", formula), head("2 Weight", make("small", {}, "softmax")),
      head("3 Value", make("small", {}, "weight × value")),
      make("th", { colspan: heads, scope: "colgroup" }, "Heads", make("small", { class: "rr-attention-heads" }, picks)))),
    table,
    make("tfoot", {}, make("tr", {}, make("th", { scope: "row", colspan: 3 }, "4 Mixture of the values"), mixture, make("td", { colspan: heads }))));
  const body = make("div", { class: "rr-live-stage" },
    make("div", {}, make("p", { class: "rr-live-title" }, "Query: choose the token that asks"), row.element), said, grid,
    make("div", { class: "rr-live-row" }, layer.element, mask.element, scale.element));
  stage.append(make("div", { class: "rr-live-row" }, example.element, text.element), remarks, body);
  root.attention = { bert, state, update }; // for the browser's console
  read();
});
