// A small BERT (Devlin et al. 2019) in the reader's browser: the sums of reasonlib/transformer/models/pretraining.py,
// one for one, on the weights that were trained there.
//
// T tokens, D width, H heads, C = D / H width of a head, V words known. A list of T vectors stands for (T, D).

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

/** "Mary took the _." -> ["mary", "took", "the", "[MASK]", "."] */
function split(text) {
  const words = text.replaceAll("[MASK]", "_").match(/[.?!,_]|[^\s.?!,_]+/g) ?? [];
  return words.map((word) => (word === "_" ? "[MASK]" : word.toLowerCase()));
}

const plus = (a, b) => a.map((value, k) => value + b[k]);

function dot(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}

/** Scores to shares that sum to one. */
function softmax(scores) {
  const highest = Math.max(...scores);
  const raised = scores.map((score) => Math.exp(score - highest));
  const total = raised.reduce((sum, value) => sum + value, 0);
  return raised.map((value) => value / total);
}

/** The error function to seven digits (Abramowitz and Stegun 1964, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
}

const gelu = (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));

class Encoder {
  /** What `live` wrote: sizes, words, what each tensor is called, and all weights as one row of numbers. */
  constructor({ sizes, tokens, tensors, weights }) {
    Object.assign(this, sizes, { tokens });
    this.known = new Map(tokens.map((word, id) => [word, id]));
    const numbers = halfFloats(weights);
    let taken = 0;
    this.tensors = new Map(tensors.map(([name, size]) => [name, numbers.subarray(taken, (taken += size))]));
  }

  row(table, number) {
    return this.tensors.get(table).subarray(number * this.width, (number + 1) * this.width);
  }

  /** W x + b */
  linear(name, x) {
    const weight = this.tensors.get(`${name}.weight`), bias = this.tensors.get(`${name}.bias`);
    const result = new Array(bias.length);
    for (let row = 0, at = 0; row < bias.length; row++) {
      let sum = bias[row];
      for (let k = 0; k < x.length; k++) sum += weight[at++] * x[k];
      result[row] = sum;
    }
    return result;
  }

  /** Layer norm: mean 0, variance 1, then a learnt scale and shift. */
  norm(name, x) {
    const weight = this.tensors.get(`${name}.weight`), bias = this.tensors.get(`${name}.bias`);
    const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    return x.map((value, k) => ((value - mean) / Math.sqrt(variance + 1e-12)) * weight[k] + bias[k]);
  }

  /** softmax(q k / sqrt C) v for every head, joined and projected; and the weights (H, T, T). */
  attend(name, x) {
    const [queries, keys, values] = ["query", "key", "value"].map((part) => x.map((one) => this.linear(`${name}.${part}`, one)));
    const width = this.width / this.heads; // C
    const weights = Array.from({ length: this.heads }, (_, head) => {
      const slice = (vector) => vector.slice(head * width, (head + 1) * width);
      const own = keys.map(slice);
      return queries.map(slice).map((query) => softmax(own.map((key) => dot(query, key) / Math.sqrt(width))));
    });
    const output = x.map((_, token) => {
      const mixed = new Array(this.width).fill(0);
      for (let k = 0; k < this.width; k++) {
        const shares = weights[Math.floor(k / width)][token];
        for (let other = 0; other < x.length; other++) mixed[k] += shares[other] * values[other][k];
      }
      return this.linear(`${name}.output`, mixed);
    });
    return { output, weights };
  }

  /** One layer: attend, then think; each is added to what it was given, and normalised (post-norm). */
  layer(name, x) {
    const { output, weights } = this.attend(`${name}.attention`, x);
    x = x.map((one, token) => this.norm(`${name}.attention_residual.norm`, plus(one, output[token])));
    x = x.map((one) => {
      const inner = this.linear(`${name}.feed_forward.wide`, one).map(gelu);
      return this.norm(`${name}.feed_forward_residual.norm`, plus(one, this.linear(`${name}.feed_forward.narrow`, inner)));
    });
    return { x, weights };
  }

  /** [CLS] first [SEP] second [SEP], as words; what it does not know is read as [UNK]. */
  pack(first, second) {
    return ["[CLS]", ...split(first), "[SEP]", ...(split(second).length ? [...split(second), "[SEP]"] : [])];
  }

  /** Read a text, or two: where every head looks, (L, H, T, T), what stands at hidden words, whether they go together. */
  look(first, second = "") {
    const read = this.pack(first, second), one = split(first).length + 2; // tokens of segment 0
    const ids = read.map((word) => this.known.get(word) ?? this.known.get("[UNK]"));
    let x = ids.map((id, place) => {
      const word = plus(Array.from(this.row("words.weight", id)), this.row("segments.weight", place < one ? 0 : 1));
      return this.norm("norm", plus(word, this.row("positions.table", place)));
    });
    const weights = [];
    for (let number = 0; number < this.layers; number++) {
      const layer = this.layer(`encoder.layers.${number}`, x);
      x = layer.x;
      weights.push(layer.weights);
    }
    const hidden = read.map((_, place) => place).filter((place) => read[place] === "[MASK]");
    const guesses = hidden.map((place) => ({ place, logits: this.guess(x[place]) }));
    const summary = this.linear("pool", x[0]).map(Math.tanh);
    const follows = second.trim() ? softmax(this.linear("follows", summary))[0] : null;
    return { tokens: ids.map((id) => this.tokens[id]), weights, guesses, follows };
  }

  /** Score every word at a hidden one. */
  guess(state) {
    const inner = this.norm("guess_norm", this.linear("guess", state).map(gelu));
    return Array.from(this.tensors.get("guess_bias"), (bias, id) => bias + dot(inner, this.row("words.weight", id)));
  }
}
