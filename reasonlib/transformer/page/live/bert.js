// A small BERT (Devlin et al. 2019) in the reader's browser: the sums of reasonlib/transformer/models/bert.py,
// one for one, on the weights that were trained there.

const EPS = 1e-12; // of its layer norms

/** "Mary took the _." -> ["mary", "took", "the", "[MASK]", "."] */
function split(text) {
  const words = text.replaceAll("[MASK]", "_").match(/[.?!,_]|[^\s.?!,_]+/g) ?? [];
  return words.map((word) => (word === "_" ? "[MASK]" : word.toLowerCase()));
}

class Bert {
  constructor(weights, { tokens, heads, layers, longest }) {
    Object.assign(this, { weights, heads, layers, longest, vocabulary: new Vocabulary(tokens, { unknown: "[UNK]" }) });
  }

  /** [CLS] first [SEP] second [SEP], as words. */
  pack(first, second = "") {
    return ["[CLS]", ...split(first), "[SEP]", ...(split(second).length ? [...split(second), "[SEP]"] : [])];
  }

  /** The sum of word, segment and position of each token, normalised: what the first layer is given. */
  embed(first, second = "") {
    const words = this.pack(first, second), cut = split(first).length + 2; // tokens of segment 0
    const table = (name, rows) => this.weights.matrix(name).take(rows);
    const x = add(
      table("words.weight", words.map((word) => this.vocabulary.id(word))),
      table("segments.weight", words.map((_, at) => (at < cut ? 0 : 1))),
      table("positions.table", range(words.length)));
    return layerNorm(this.weights.part("norm"), x, EPS);
  }

  /** The states before and after each layer, and each layer's attention; a mask says what a token may see. */
  encode(x, mask = null) {
    return encode(this.weights.part("encoder"), x, this.layers, { heads: this.heads, eps: EPS, activation: gelu, mask });
  }

  /** Read a text, or two: where every head looks (L, H, T, T), what stands at hidden words, whether they go together. */
  look(first, second = "") {
    const words = this.pack(first, second), { output, attention } = this.encode(this.embed(first, second));
    const hidden = range(words.length).filter((at) => words[at] === "[MASK]");
    const summary = linear(this.weights.part("pool"), output.take([0])).map(Math.tanh);
    return {
      tokens: words.map((word) => this.vocabulary.tokens[this.vocabulary.id(word)]),
      weights: attention.map((layer) => layer.weights.map((head) => head.toArray())),
      guesses: hidden.map((place) => ({ place, logits: this.guess(output.take([place])) })),
      follows: split(second).length ? softmax(linear(this.weights.part("follows"), summary).row(0))[0] : null,
    };
  }

  /** Score every word at a hidden one. */
  guess(state) {
    const inner = layerNorm(this.weights.part("guess_norm"), linear(this.weights.part("guess"), state).map(gelu), EPS);
    const bias = this.weights.vector("guess_bias");
    return Array.from(matmul(inner, this.weights.matrix("words.weight")).row(0), (score, id) => score + bias[id]);
  }
}
