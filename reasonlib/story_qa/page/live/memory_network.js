// An end-to-end memory network (Sukhbaatar et al. 2015) in the reader's browser: the sums of
// reasonlib/story_qa/models/memory_network.py, one for one, on the weights that were trained there.
//
// S sentences in memory, J words in a sentence, V words in the vocabulary, D width, K hops.

class MemoryNetwork {
  constructor(weights, { sizes, tying, encoding, tokens }) {
    Object.assign(this, sizes, { weights, tying, encoding, tokens, vocabulary: new Vocabulary(tokens) });
    this.columns = range(this.hops, (hop) => `hop ${hop + 1}`);
  }

  /** One of several tables that are stored as one tensor. */
  table(name, number, rows) {
    const { data } = this.weights.tensor(name), size = rows * this.width;
    return new Matrix(rows, this.width, data.subarray(number * size, (number + 1) * size));
  }

  /** "Where is Mary?" -> ["where", "is", "mary"] */
  words(text) {
    return tidy(text).toLowerCase().match(/[a-z0-9']+/g) ?? [];
  }

  /** The words a text has that the network does not. */
  unknown(text) {
    return this.words(text).filter((word) => !this.vocabulary.has(word));
  }

  /** A sentence as one vector: the sum over its words of l_j times the word's row (section 4.1). */
  embed(table, sentence) {
    const ids = this.words(sentence).map((word) => this.vocabulary.id(word)), vector = new Float32Array(this.width);
    const words = this.table("words", table, this.tokens.length);
    ids.forEach((id, at) => {
      const word = words.row(id), j = (at + 1) / ids.length; // how far into the sentence, up to 1
      for (let k = 0; k < this.width; k++) {
        const share = this.encoding === "bag" ? 1 : 1 - j - ((k + 1) / this.width) * (1 - 2 * j); // l_j
        vector[k] += share * word[k];
      }
    });
    return vector;
  }

  /** Memories: each sentence, and how long ago it was said; the latest has age 0. */
  remember(table, sentences) {
    const memory = Matrix.of(sentences.map((sentence) => this.embed(table, sentence)));
    if (!this.temporal) return memory;
    return add(memory, this.table("ages", table, this.slots).take(range(sentences.length)));
  }

  /** Read the story K times, each time asking with what was read before. */
  answer(story, question) {
    const memory = story.slice(-this.slots).reverse(), looks = [];
    let state = Matrix.of([this.embed(this.tying.query, question)]); // u
    for (let hop = 0; hop < this.hops; hop++) {
      const keys = this.remember(this.tying.keys[hop], memory), values = this.remember(this.tying.values[hop], memory);
      const weights = softmax(matmul(state, keys).row(0)); // p
      const mapped = this.mapped ? matmul(state, this.weights.matrix("between.weight")) : state; // H u
      state = add(mapped, Matrix.of([embeddingSum(values, range(memory.length), weights)])); // u + o
      state = new Matrix(1, this.width, state.data.map((value, k) => (k < this.linear ? value : Math.max(value, 0))));
      looks.push([...new Array(story.length - memory.length).fill(0), ...weights.reverse()]);
    }
    const logits = Array.from(matmul(state, this.table("words", this.tying.answer, this.tokens.length)).row(0)); // W u
    return { logits, probabilities: softmax(logits), weights: looks };
  }
}

live("stories", (figure) => asking(figure, new MemoryNetwork(figure.weights("network"), figure.data.network)));
