// The copying network in the reader's browser: the sums of reasonlib/goal_dialogue/models/copying.py, and the mentions
// of data/encode_mentions.py, one for one, on the weights that were trained there.
//
// A name has no vector. It is known by its mentions: the words around each, how many turns ago, the names beside it.
// M mentions, W words in a window, E names, D width, K hops.

/** Add a vector to another. */
function plus(total, vector) {
  for (let k = 0; k < total.length; k++) total[k] += vector[k];
}

class CopyNetwork {
  constructor(weights, { words, templates, width, hops, slots, radius, rounds, max_age }) {
    Object.assign(this, { weights, templates, width, hops, slots, radius, rounds, max_age, windows: new Map() });
    this.vocabulary = new Vocabulary(["<pad>", "<unk>", "$user", "$system", "$fact", "$note", ...words]);
    this.gaps = templates.map((template) => template.filter((word) => word === null).length);
  }

  /** One of several tables that are stored as one tensor. */
  table(name, number) {
    const { shape: [, rows, columns], data } = this.weights.tensor(name);
    return new Matrix(rows, columns, data.subarray(number * rows * columns, (number + 1) * rows * columns));
  }

  /** A dialogue as lines of word numbers and as mentions of names, up to what the user just said. */
  read(events, user) {
    const names = new Map(), lines = [], mentions = [], { radius, vocabulary } = this;
    let turn = 0, spoken = { ids: [], names: [] };
    const line = (speaker, words) => {
      const ids = [`$${speaker}`, ...words].map((word) => vocabulary.id(word));
      const named = words.map((word, at) => ((speaker === "fact" && at !== 1) || !vocabulary.has(word)
        ? names.get(word) ?? names.set(word, names.size + 1).get(word) : 0));
      const own = [0, ...named], before = speaker === "fact" ? { ids: [], names: [] } : spoken, pad = new Array(radius).fill(0);
      const around = [...pad, ...before.ids, ...ids, ...pad], beside = [...pad, ...before.names, ...own, ...pad];
      for (let start = before.ids.length; start < before.ids.length + ids.length; start++) {
        const name = beside[start + radius];
        if (!name) continue;
        const near = beside.slice(start, start + 2 * radius + 1);
        near[radius] = 0;
        mentions.push({ window: around.slice(start, start + 2 * radius + 1), name, turn, near });
      }
      if (speaker !== "fact") spoken = { ids, names: own };
      return ids;
    };
    for (const event of events) {
      if (event.subject) line("fact", [event.subject, event.relation, event.value]);
      else lines.push(line("user", event.user.split(" ")), line("system", event.bot.split(" "))), turn++;
    }
    const question = line("user", user.split(" "));
    return { lines, question, mentions, names: [...names.keys()], turn };
  }

  /** Read what was said, hop by hop, starting from what the user just said. */
  listen({ lines, question }) {
    const memory = lines.slice(-this.slots).reverse(), slots = range(memory.length); // the latest first
    const embed = (number, text) => embeddingSum(this.table("sentence", number), text);
    const timed = (number) => add(Matrix.of(memory.map((text) => embed(number, text))), this.table("slot", number - 1).take(slots));
    let state = embed(0, question);
    if (!memory.length) return state;
    const keys = timed(1), values = timed(2);
    for (let hop = 0; hop < this.hops; hop++) {
      const weights = softmax(slots.map((slot) => dot(state, keys.row(slot)))), read = embeddingSum(values, slots, weights);
      state = state.map((value, k) => value + read[k]);
    }
    return state;
  }

  /** x W_o: a vector moved by the matrix of an offset in a window. */
  moved(vector, offset) {
    return embeddingSum(this.table("offset", offset), range(this.width), vector);
  }

  /** What the words of a window say; equal windows are read once. */
  around(window) {
    const key = window.join();
    if (!this.windows.has(key)) {
      const total = new Float32Array(this.width), words = this.weights.matrix("word");
      window.forEach((id, offset) => id && plus(total, this.moved(words.row(id), offset)));
      this.windows.set(key, total);
    }
    return this.windows.get(key);
  }

  /** Gather, round by round, what the mentions of each name say of it. */
  describe({ mentions, names, turn }) {
    const ages = this.weights.matrix("age");
    const content = mentions.map(({ window, turn: then }) => {
      const total = this.around(window).slice();
      plus(total, ages.row(Math.min(turn - then, this.max_age - 1)));
      return total;
    });
    let described = new Matrix(names.length + 1, this.width), spoken = [];
    for (let round = 0; round < this.rounds; round++) {
      spoken = mentions.map(({ near }, at) => {
        const total = content[at].slice();
        if (round) near.forEach((name, offset) => name && plus(total, this.moved(described.row(name), offset)));
        for (let k = 0; k < total.length; k++) total[k] = Math.max(total[k], 0);
        return total;
      });
      described = new Matrix(names.length + 1, this.width);
      spoken.forEach((vector, at) => plus(described.row(mentions[at].name), vector));
    }
    return { described, spoken };
  }

  /** The best template with the best name in each gap, and the mention that spoke most for it. */
  answer(events, user) {
    const read = this.read(events, user), state = this.listen(read), { described, spoken } = this.describe(read);
    const scores = matmul(Matrix.of([state]), this.weights.matrix("template")).row(0);
    const possible = this.gaps.map((gaps) => !gaps || read.names.length > 0);
    const template = argmax(scores.map((score, at) => (possible[at] ? score : -Infinity))), first = sum(this.gaps.slice(0, template));
    const asked = embeddingSum(this.weights.matrix("ask"), range(this.width), state); // s U
    const gaps = range(this.gaps[template], (gap) => {
      const looksFor = this.weights.matrix("gap").row(first + gap).map((value, k) => value + asked[k]);
      const shares = softmax(read.names.map((_, at) => dot(looksFor, described.row(at + 1)))), best = topOf(shares, 5);
      const own = range(read.mentions.length).filter((at) => read.mentions[at].name === best[0] + 1);
      const most = own.reduce((a, b) => (dot(looksFor, spoken[b]) > dot(looksFor, spoken[a]) ? b : a));
      return { names: best.map((at) => [read.names[at], shares[at]]), window: this.written(read.mentions[most].window) };
    });
    const fillers = gaps.map(({ names }) => names[0][0]);
    return { text: this.templates[template].map((word) => word ?? fillers.shift()).join(" "), template, gaps, scores: Array.from(scores) };
  }

  /** A window in words; names are written as a star. */
  written(window) {
    const words = window.map((id, at) => (at === this.radius || id === 1 ? "*" : id ? this.vocabulary.tokens[id] : ""));
    return words.filter(Boolean).join(" ");
  }
}
