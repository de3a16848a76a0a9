// An end-to-end memory network (Sukhbaatar et al. 2015) in the reader's browser: the sums of
// reasonlib/story_qa/models/memory_network.py, one for one, on the weights that were trained there.
//
// S sentences in memory, J words in a sentence, V words known, D width, K hops.
// A table has V rows of D numbers, one row after another in one flat array.

/** "Where is Mary?" -> ["where", "is", "mary"] */
const wordsOf = (sentence) => sentence.toLowerCase().match(/[a-z0-9']+/g) ?? [];

const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
const plus = (a, b) => a.map((value, k) => value + b[k]);

/** Scores to shares that sum to one. */
function softmax(scores) {
  const highest = Math.max(...scores);
  const raised = scores.map((score) => Math.exp(score - highest));
  const total = raised.reduce((sum, value) => sum + value, 0);
  return raised.map((value) => value / total);
}

/** Base64 text to the 16-bit floating-point numbers it stands for. */
function halfFloats(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const bits = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 2 }, (_, place) => {
    const half = bits.getUint16(2 * place, true);
    const sign = half >> 15 ? -1 : 1, exponent = (half >> 10) & 31, fraction = half & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}

class MemoryNetwork {
  /** What `live` wrote: sizes, words, and all weights as one row of numbers. */
  constructor({ sizes, tying, encoding, tokens, weights }) {
    Object.assign(this, sizes, { tying, encoding, tokens });
    this.known = new Map(tokens.map((word, id) => [word, id]));
    const numbers = halfFloats(weights);
    let taken = 0;
    const take = (count) => numbers.subarray(taken, (taken += count));
    const tables = Array.from({ length: tying.tables });
    this.words = tables.map(() => take(this.vocabulary * this.width)); // A, B, C and W
    this.ages = this.temporal ? tables.map(() => take(this.slots * this.width)) : null; // T_A and T_C
    this.between = this.mapped ? take(this.width * this.width) : null; // H
  }

  row(table, number) {
    return table.subarray(number * this.width, (number + 1) * this.width);
  }

  /** The words a text has that the network does not. */
  unknown(text) {
    return wordsOf(text).filter((word) => !this.known.has(word));
  }

  /** A sentence as one vector: the sum over its words of l_j times the word's row (section 4.1). */
  embed(table, sentence) {
    const ids = wordsOf(sentence).map((word) => this.known.get(word) ?? this.known.get("<unk>"));
    const vector = new Array(this.width).fill(0);
    ids.forEach((id, place) => {
      const word = this.row(this.words[table], id);
      const j = (place + 1) / ids.length; // how far into the sentence, up to 1
      for (let k = 0; k < this.width; k++) {
        const share = this.encoding === "bag" ? 1 : 1 - j - ((k + 1) / this.width) * (1 - 2 * j); // l_j
        vector[k] += share * word[k];
      }
    });
    return vector;
  }

  /** A memory: the sentence, and how long ago it was said. */
  remember(table, sentence, age) {
    const vector = this.embed(table, sentence);
    return this.ages ? plus(vector, this.row(this.ages[table], age)) : vector;
  }

  /** The state that goes into the next hop: H u, if there is an H. */
  carry(state) {
    return this.between ? state.map((_, k) => dot(state, this.row(this.between, k))) : state;
  }

  /** Read the story K times, each time asking with what was read before. */
  answer(story, question) {
    const memory = story.slice(-this.slots).reverse(); // the latest sentence has age 0
    const looks = [];
    let state = this.embed(this.tying.query, question); // u
    for (let hop = 0; hop < this.hops; hop++) {
      const keys = memory.map((sentence, age) => this.remember(this.tying.keys[hop], sentence, age)); // m
      const values = memory.map((sentence, age) => this.remember(this.tying.values[hop], sentence, age)); // c
      const weights = softmax(keys.map((key) => dot(state, key))); // p
      state = this.carry(state);
      values.forEach((value, slot) => {
        state = plus(state, value.map((number) => weights[slot] * number)); // u + o
      });
      state = state.map((value, k) => (k < this.linear ? value : Math.max(value, 0)));
      looks.push([...new Array(story.length - memory.length).fill(0), ...weights.reverse()]);
    }
    const table = this.words[this.tying.answer]; // W
    const logits = this.tokens.map((_, id) => dot(state, this.row(table, id)));
    return { logits, probabilities: softmax(logits), weights: looks };
  }
}
