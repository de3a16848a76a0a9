// Taggers in the reader's browser: the sums of reasonlib/goal_dialogue/models/tagger.py, one for one, on the weights
// that were trained there. One reads the letters of a word, the other the words around it too.

class Tagger {
  constructor(weights, { characters, tags }) {
    Object.assign(this, { weights, tags, numbers: new Map([...characters].map((letter, at) => [letter, at + 2])) });
    this.context = weights.has("sentence.weight_ih_l0");
  }

  embed(word) {
    return this.weights.matrix("reader.letters.weight").take([...word].map((letter) => this.numbers.get(letter) ?? 1));
  }

  /** The letters of a word from both ends: the last forward state and the last backward state. */
  read(word) {
    const part = this.weights.part("reader.lstm"), letters = this.embed(word);
    const states = [recur("lstm", part, letters).row(letters.rows - 1), recur("lstm", part, letters, { reverse: true }).row(0)];
    return Float32Array.from(states.flatMap((state) => [...state]), Math.tanh);
  }

  /** Scores of every tag for every word. */
  scores(words) {
    let x = Matrix.of(words.map((word) => this.read(word)));
    if (this.context) {
      const part = this.weights.part("sentence"), [there, back] = [false, true].map((reverse) => recur("lstm", part, x, { reverse }));
      x = Matrix.of(range(words.length, (at) => [...there.row(at), ...back.row(at)]));
    }
    return linear(this.weights.part("tags"), x);
  }

  /** Probabilities of the tags; padding is none. */
  tag(words) {
    const scores = this.scores(words);
    return range(words.length, (at) => softmax(scores.row(at).slice(1)));
  }

  /** What a word would be tagged as if it ended after one letter, two letters, ... */
  growing(word) {
    const part = this.weights.part("reader.lstm"), letters = this.embed(word);
    const [there, back] = [false, true].map((reverse) => recurrentCell(part, { reverse }));
    const [forward, backward] = [there, back].map((cell) => inputGates(cell, letters));
    let state = emptyState("lstm", there);
    const words = Matrix.of(forward.map((given, last) => {
      state = lstmCell(there, given, state);
      let other = emptyState("lstm", back); // the way back begins anew at each last letter
      for (let at = last; at >= 0; at--) other = lstmCell(back, backward[at], other);
      return [...state.h, ...other.h].map(Math.tanh);
    }));
    const scores = linear(this.weights.part("tags"), words);
    return range(words.rows, (row) => softmax(scores.row(row).slice(1)));
  }
}

const MOST_LETTERS = 40; // of a word, in the table of its letters

live("letters", ({ root, stage, data, weights, find }) => {
  const taggers = { letters: new Tagger(weights("letters"), data), context: new Tagger(weights("context"), data) };
  const names = data.tags.slice(1), state = { words: [], chosen: 0, tags: null };

  function read({ keep = false } = {}) {
    state.words = wordsIn(text.value).slice(0, data.longest);
    body.hidden = !state.words.length;
    hint.textContent = state.words.length ? "" : "Write a sentence first.";
    if (!state.words.length) return;
    const { result, ms } = timed(() => ({ letters: taggers.letters.tag(state.words), context: taggers.context.tag(state.words) }));
    state.tags = result;
    find("took").textContent = took(ms, "Tagged");
    if (!keep || state.chosen >= state.words.length) state.chosen = interesting();
    draw();
  }

  /** The longest word whose letters have a type, or on which the taggers differ, or of all. */
  function interesting() {
    const best = (name, at) => argmax(state.tags[name][at]), all = range(state.words.length);
    const groups = [all.filter((at) => best("letters", at)), all.filter((at) => best("context", at)), all];
    return groups.find((group) => group.length).reduce((a, b) => (state.words[b].length > state.words[a].length ? b : a));
  }

  function draw() {
    const chip = (shares) => {
      const best = argmax(shares);
      return make("span", { class: `rr-letters-tag${best ? " rr-letters-type" : ""}` }, names[best], make("small", {}, ` ${shares[best].toFixed(2)}`));
    };
    rows.replaceChildren(...state.words.map((word, at) => {
      const differs = argmax(state.tags.letters[at]) !== argmax(state.tags.context[at]);
      return make("tr", { class: differs ? "rr-letters-differs" : null },
        make("th", { scope: "row" }, make("button", { type: "button", class: "rr-letters-word", "aria-pressed": at === state.chosen, onclick: () => {
          state.chosen = at;
          draw();
        } }, shortened(word))),
        make("td", {}, chip(state.tags.letters[at])), make("td", {}, chip(state.tags.context[at])));
    }));
    const word = state.words[state.chosen], letters = [...word].slice(0, MOST_LETTERS), grown = taggers.letters.growing(letters.join(""));
    const shown = ranked(names.map((_, tag) => Math.max(...grown.map((shares) => shares[tag])))).slice(0, 4);
    title.replaceChildren("How the letters of ", make("strong", {}, shortened(word)), " are read: the tag if the word ended there");
    head.replaceChildren(make("tr", {}, make("td"), letters.map((letter) => make("th", { scope: "col" }, letter))));
    grid.replaceChildren(...shown.map((tag) => make("tr", {}, make("th", { scope: "row" }, names[tag]),
      grown.map((shares) => make("td", { class: "rr-live-heat", style: heat(shares[tag]), title: shares[tag].toFixed(2) },
        make("span", { class: "rr-live-hidden" }, shares[tag].toFixed(2)))))));
    const [own, near] = ["letters", "context"].map((name) => state.tags[name][state.chosen]);
    const says = (shares) => (argmax(shares) ? `a ${names[argmax(shares)]}` : "no type");
    said.textContent = `${quoted(word)}: its letters alone say ${says(own)} (${percent(Math.max(...own))}), with the words around it ${says(near)} (${percent(Math.max(...near))}).`;
  }

  const example = menu("Example", { ...Object.fromEntries(data.sentences.map((sentence, at) => [at, sentence])), own: "Your own" }, "0", (key) => {
    if (data.sentences[key]) text.value = data.sentences[key];
    else text.input.focus();
    read();
  });
  const text = field("Sentence, with names you invent", { value: data.sentences[0], changed: () => {
    example.value = "own";
    read({ keep: true });
  } });
  const rows = make("tbody"), head = make("thead"), grid = make("tbody"), said = announcer();
  const title = make("p", { class: "rr-letters-title" }), hint = make("p", { class: "rr-live-key" });
  const column = (words) => make("th", { scope: "col" }, words);
  const body = make("div", { class: "rr-live-stage" },
    make("table", { class: "rr-live-table rr-letters-table" },
      make("thead", {}, make("tr", {}, column("Word"), column("Letters alone"), column("With its sentence"))), rows),
    said, make("div", {}, title, make("div", { class: "rr-live-scroll", tabindex: 0, role: "group", "aria-label": "Tags, letter by letter" },
      make("table", { class: "rr-live-table rr-letters-grid" }, head, grid))));
  stage.append(make("div", { class: "rr-live-row" }, example.element, text.element), hint, body);
  root.letters = { state, taggers }; // for tests and for the browser's console
  read();
});
