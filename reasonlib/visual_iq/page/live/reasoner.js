// The hierarchical reasoner in the reader's browser: the sums of reasonlib/visual_iq/models/reasoner.py, one for one,
// on the weights that were trained there.
//
// P 16 panels, C 8 candidates, V 5 streams (type, size, colour, angle, position), S slots, D width,
// T tokens of the panel encoder, H heads. A vector is a row of D numbers; x is a list of vectors.

class Reasoner extends Network {
  /** Mean 0 and variance 1, then stretched and moved. */
  norm(name, x) {
    const scale = this.tensors.get(`${name}.weight`), shift = this.tensors.get(`${name}.bias`);
    return x.map((vector) => {
      const result = new Float64Array(vector.length);
      let mean = 0, variance = 0;
      for (let k = 0; k < vector.length; k++) mean += vector[k] / vector.length;
      for (let k = 0; k < vector.length; k++) variance += (vector[k] - mean) ** 2 / vector.length;
      const spread = Math.sqrt(variance + 1e-5);
      for (let k = 0; k < vector.length; k++) result[k] = ((vector[k] - mean) / spread) * scale[k] + shift[k];
      return result;
    });
  }

  /** Every token looks at all tokens, with H heads side by side. The weights of each head are kept. */
  attend(name, x, heads) {
    const [queries, keys, values] = ["query", "key", "value"].map((part) => this.linear(`${name}.${part}`, x));
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
    return { output: this.linear(`${name}.output`, joined), weights };
  }

  /** A stack of layers: attention, then each token by itself; each sum is normalised. */
  encode(name, x, layers, heads) {
    const attention = [];
    for (let layer = 0; layer < layers; layer++) {
      const at = `${name}.layers.${layer}`;
      const { output, weights } = this.attend(`${at}.attention`, x, heads);
      x = this.norm(`${at}.attention_residual.norm`, x.map((one, token) => plus(one, output[token])));
      const wide = this.linear(`${at}.feed_forward.wide`, x).map(relu);
      const narrow = this.linear(`${at}.feed_forward.narrow`, wide);
      x = this.norm(`${at}.feed_forward_residual.norm`, x.map((one, token) => plus(one, narrow[token])));
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
  answer(panels, { places }) {
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
    const logits = this.mlp("output", contrasted, 2).map(([logit]) => logit);
    return { logits, attention }; // attention[stream][layer][head][token][token]
  }

  /** What each candidate has that all of them together have not (eq. 3.5). */
  without(features) {
    const [common] = this.mlp("contrast.aggregate", [plus(...features)], 2);
    return features.map((one) => one.map((number, k) => number - common[k]));
  }
}
