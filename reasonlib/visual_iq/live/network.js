// The hierarchical reasoner in the reader's browser: the sums of reasonlib/visual_iq/reasoner.py, one for one,
// on the weights that were trained there.
//
// P 16 panels, C 8 candidates, V 5 streams (type, size, colour, angle, position), S slots, D width,
// T tokens of the panel encoder, H heads. A vector is an array of D numbers; x is a list of vectors.

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

const range = (count) => Array.from({ length: count }, (_, place) => place);
const dot = (a, b, from, to) => { let sum = 0; for (let k = from; k < to; k++) sum += a[k] * b[k]; return sum; };
const relu = (vector) => vector.map((number) => Math.max(number, 0));
const sigmoid = (number) => 1 / (1 + Math.exp(-number));

/** The sum of vectors. */
function plus(first, ...others) {
  const sum = Float64Array.from(first);
  for (const one of others) for (let k = 0; k < sum.length; k++) sum[k] += one[k];
  return sum;
}

/** Scores to shares that sum to one. */
function softmax(scores) {
  const highest = Math.max(...scores);
  const raised = scores.map((score) => Math.exp(score - highest));
  const total = raised.reduce((sum, value) => sum + value, 0);
  return raised.map((value) => value / total);
}

class Reasoner {
  /** What `live` wrote: sizes, the name and length of each tensor, and all weights as one row of numbers. */
  constructor({ sizes, tensors, weights }) {
    Object.assign(this, sizes);
    const numbers = halfFloats(weights);
    let taken = 0;
    this.tensors = new Map(tensors.map(([name, count]) => [name, numbers.subarray(taken, (taken += count))]));
  }

  row(table, number) {
    return this.tensors.get(table).subarray(number * this.width, (number + 1) * this.width);
  }

  /** W x + b */
  linear(name, vector) {
    const weight = this.tensors.get(`${name}.weight`), bias = this.tensors.get(`${name}.bias`);
    const result = new Float64Array(bias.length), width = vector.length;
    for (let row = 0, at = 0; row < bias.length; row++) {
      let sum = bias[row];
      for (let k = 0; k < width; k++) sum += weight[at++] * vector[k];
      result[row] = sum;
    }
    return result;
  }

  /** Mean 0 and variance 1, then stretched and moved. */
  norm(name, vector) {
    const scale = this.tensors.get(`${name}.weight`), shift = this.tensors.get(`${name}.bias`);
    const mean = vector.reduce((sum, number) => sum + number, 0) / vector.length;
    const variance = vector.reduce((sum, number) => sum + (number - mean) ** 2, 0) / vector.length;
    const spread = Math.sqrt(variance + 1e-5);
    return vector.map((number, k) => ((number - mean) / spread) * scale[k] + shift[k]);
  }

  /** Every token looks at all tokens, with H heads side by side. The weights of each head are kept. */
  attend(name, x, heads) {
    const [queries, keys, values] = ["query", "key", "value"].map((part) => x.map((one) => this.linear(`${name}.${part}`, one)));
    const size = this.width / heads; // of a head
    const joined = x.map(() => new Float64Array(this.width));
    const weights = range(heads).map((head) => {
      const from = head * size, to = from + size;
      return queries.map((query, token) => {
        const shares = softmax(keys.map((key) => dot(query, key, from, to) / Math.sqrt(size)));
        shares.forEach((share, other) => {
          for (let k = from; k < to; k++) joined[token][k] += share * values[other][k];
        });
        return shares;
      });
    });
    return { output: joined.map((one) => this.linear(`${name}.output`, one)), weights };
  }

  /** A stack of layers: attention, then each token by itself; each sum is normalised. */
  encode(name, x, layers, heads) {
    const attention = [];
    for (let layer = 0; layer < layers; layer++) {
      const at = `${name}.layers.${layer}`;
      const { output, weights } = this.attend(`${at}.attention`, x, heads);
      x = x.map((one, token) => this.norm(`${at}.attention_residual.norm`, plus(one, output[token])));
      x = x.map((one) => {
        const thought = this.linear(`${at}.feed_forward.narrow`, relu(this.linear(`${at}.feed_forward.wide`, one)));
        return this.norm(`${at}.feed_forward_residual.norm`, plus(one, thought));
      });
      attention.push(weights);
    }
    return { output: x, attention };
  }

  /** A panel as V streams of S tokens; token 0 of each stream is "empty" (tokens.py). */
  tokens(panel, places) {
    const read = [
      ([type]) => type,
      ([, size]) => size + 1,
      ([, , colour]) => colour + 1,
      ([, , , angle]) => angle + 1,
      (_, slot) => places[slot] + 1,
    ];
    return read.map((of, stream) => panel.map((entity, slot) => this.offsets[stream] + (entity[0] ? of(entity, slot) : 0)));
  }

  /** One stream of a panel as one vector: entities look at each other, and are summed (eq. 3.1, 3.2). */
  embed(tokens, places) {
    const x = tokens.map((token, slot) => plus(this.row("panel.tokens.weight", token), this.row("panel.places.weight", places[slot])));
    return plus(...this.encode("panel.encoder", x, this.entityLayers, this.entityHeads).output);
  }

  /** Add where each panel stands; put a separator between rows (figure 3.6). */
  segments(panels) {
    const placed = panels.map((panel, number) => {
      const cell = Math.min(number, 8), candidate = number < 8 ? 0 : 1;
      return plus(panel, this.row("segments.row", Math.floor(cell / 3)), this.row("segments.item", cell % 3), this.row("segments.kind", candidate));
    });
    if (!this.context) return placed.slice(8);
    const between = this.separators ? [this.row("segments.separator", 0)] : [];
    return [...placed.slice(0, 3), ...between, ...placed.slice(3, 6), ...between, ...placed.slice(6)];
  }

  /** Sixteen panels to eight numbers, the larger the better, and where each stream looked at each layer. */
  answer(panels, places) {
    const known = new Map(); // panels share most of their streams: each different one is read once
    const embedded = panels.map((panel) => this.tokens(panel, places).map((tokens) => {
      const key = tokens.join();
      if (!known.has(key)) known.set(key, this.embed(tokens, places));
      return known.get(key);
    }));
    const attention = [];
    const streams = range(5).map((stream) => {
      const x = this.segments(embedded.map((panel) => panel[stream]));
      const encoded = this.encode("encoder", x, this.panelLayers, this.panelHeads); // eq. 3.3
      attention.push(encoded.attention);
      return encoded.output.slice(-8);
    });
    const features = range(8).map((candidate) => streams.flatMap((stream) => [...stream[candidate]])); // eq. 3.4
    const contrasted = this.contrast ? this.without(features) : features;
    const logits = contrasted.map((one) => this.linear("output.2", relu(this.linear("output.0", one)))[0]);
    return { logits, attention }; // attention[stream][layer][head][token][token]
  }

  /** What each candidate has that all of them together have not (eq. 3.5). */
  without(features) {
    const common = this.linear("contrast.aggregate.2", relu(this.linear("contrast.aggregate.0", plus(...features))));
    return features.map((one) => one.map((number, k) => number - common[k]));
  }
}
