// N2N, GN2N and UN2N in the reader's browser: the sums of reasonlib/goal_dialogue/models/memory_network.py, one for
// one, on the weights that were trained there.
//
// S memory slots, C candidates, D width, K hops. The tables hold the words, then three rows for each restaurant.

class MemoryNetwork {
  constructor(weights, { tying, update, hops, slots }, { words, types, responses, calls }, world) {
    Object.assign(this, { weights, tying, update, hops, slots, types });
    const restaurants = world.names.flatMap((name) => [name, `${name}_phone`, `${name}_address`]);
    this.vocabulary = new Vocabulary([...words, ...restaurants]);
    this.candidates = [
      ...responses, ...calls,
      ...world.names.map((name) => `${OFFER} ${name}`),
      ...world.names.flatMap((name) => [`${GIVEN} ${name}_phone`, `${GIVEN} ${name}_address`]),
    ];
    this.tables = range(hops + 1, (number) => `encoder.tables.${number}`).map((name) => weights.matrix(name));
  }

  /** What kind of entity a word is, or undefined. */
  typeOf(word) {
    return this.types[word] ?? (word.startsWith("resto_") ? /_(phone|address)$/.exec(word)?.[1] : undefined);
  }

  embed(table, text, marks = []) {
    const words = [...text.split(" "), ...marks].filter((word) => this.vocabulary.has(word)); // others say nothing
    return embeddingSum(this.tables[table], words.map((word) => this.vocabulary.id(word)));
  }

  /** The candidates' vectors in each answer table, and the entities that each names; both are made once. */
  get answers() {
    this.made ??= {
      vectors: this.answerTables.map((table) => Matrix.of(this.candidates.map((text) => this.embed(table, text)))),
      entities: this.candidates.map((text) => text.split(" ").filter((word) => this.typeOf(word))),
    };
    return this.made;
  }

  get answerTables() {
    return this.tying === "layerwise" ? [3] : range(this.hops, (number) => number + 1);
  }

  /** Keys and values of each hop, the first state, and how much of each answer table counts. */
  tie(memory, question) {
    const { hops, tying } = this;
    if (tying === "layerwise") {
      return { query: this.embed(2, question), keys: range(hops, () => memory(0)), values: range(hops, () => memory(1)), shares: null };
    }
    const query = this.embed(0, question), fresh = range(hops, (number) => memory(number + 1)), keys = [memory(0)], values = [fresh[0]];
    const told = keys[0].rows ? recur("gru", this.weights.part("tying.story"), keys[0]).row(keys[0].rows - 1) : new Float32Array(query.length);
    const z = linear(this.weights.part("tying.gate"), Matrix.of([[...query, ...told]])).map(sigmoid).data;
    let shares = [z.map(() => 1)];
    const mix = (a, b) => new Matrix(a.rows, a.columns, a.data.map((value, at) => value * z[at % z.length] + b.data[at] * (1 - z[at % z.length])));
    for (const table of fresh.slice(1)) {
      keys.push(mix(keys.at(-1), values.at(-1)));
      values.push(mix(values.at(-1), table));
      shares = [...shares.map((share) => share.map((value, k) => value * z[k])), z.map((value) => 1 - value)];
    }
    return { query, keys, values, shares, gate: z };
  }

  /** From the state and what was read to the next state; a gate says how much of it is taken. */
  step(hop, state, output, z) {
    const part = this.weights.part(`steps.${this.update === "gate" ? hop : 0}`), row = Matrix.of([state]);
    if (this.update === "gate") {
      const gate = linear(part, row).map(sigmoid).data;
      return { state: state.map((value, k) => output[k] * gate[k] + value * (1 - gate[k])), gate };
    }
    const mapped = matmul(z ? Matrix.of([state.map((value, k) => (1 - z[k]) * value)]) : row, part.matrix("map")).data;
    return { state: mapped.map((value, k) => value + output[k]), gate: null };
  }

  /** What it says after these events to what the user just said, and which sentences each hop read. */
  answer(events, user) {
    const lines = linesOf(events).slice(-this.slots);
    const memory = (table) => Matrix.of(lines.map(({ text, speaker, turn }) => this.embed(table, text, [speaker === "user" ? "$u" : "$r", `#${turn}`])));
    const tied = this.tie(memory, user), weights = [], gates = tied.gate ? [tied.gate] : [];
    let state = tied.query;
    for (let hop = 0; hop < this.hops; hop++) {
      const read = softmax(Array.from({ length: lines.length }, (_, slot) => dot(state, tied.keys[hop].row(slot))));
      const output = lines.length ? embeddingSum(tied.values[hop], range(lines.length), read) : new Float32Array(state.length);
      const stepped = this.step(hop, state, output, tied.gate);
      state = stepped.state;
      if (stepped.gate) gates.push(stepped.gate);
      weights.push(read);
    }
    const logits = this.score(state, tied.shares, [...lines.map(({ text }) => text), user]);
    const shares = softmax(logits), best = topOf(shares, 3);
    return { text: this.candidates[best[0]], best: best.map((at) => [this.candidates[at], shares[at]]), lines, weights, gates, logits };
  }

  /** Score every candidate: its match with the state, and with the entities that the dialogue named. */
  score(state, shares, texts) {
    const { vectors, entities } = this.answers, mentioned = new Set(texts.flatMap((text) => text.split(" ")).filter((word) => this.typeOf(word)));
    const types = this.weights.matrix("match.types"), names = Object.fromEntries(TYPE_NAMES.map((name, row) => [name, dot(state, types.row(row))]));
    const asked = shares ? shares.map((share) => state.map((value, k) => value * share[k])) : [state];
    const match = (word) => (mentioned.has(word) ? names[this.typeOf(word)] : 0);
    return this.candidates.map((_, at) => vectors.reduce((total, table, number) => total + dotRow(asked[number], table, at), 0)
      + entities[at].reduce((total, word) => total + match(word), 0));
  }
}

/** The product of a vector and a row of a table. */
function dotRow(vector, { columns, data }, row) {
  let total = 0;
  for (let k = 0, at = row * columns; k < columns; k++, at++) total += vector[k] * data[at];
  return total;
}

const TYPE_NAMES = ["address", "cuisine", "location", "number", "phone", "price", "rating"]; // in the order of their rows
