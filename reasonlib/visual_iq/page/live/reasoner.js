// The source's reasoner in the reader's browser: the sums of reasonlib/visual_iq/models/reasoner.py, one for one, on
// the weights that were trained there.
//
// V streams (type, size, colour, angle, position), S places on a panel, T panels and separators, D width.

class Reasoner {
  constructor(weights, sizes) {
    Object.assign(this, sizes, { weights });
  }

  row(table, number) {
    return new Matrix(1, this.width, this.weights.matrix(table).row(number));
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
    const { weights, width } = this, panel = weights.part("panel");
    const x = add(panel.matrix("tokens.weight").take(tokens), panel.matrix("places.weight").take(places));
    const { output } = encode(panel.part("encoder"), x, this.entityLayers, { heads: this.entityHeads });
    return new Matrix(1, width, embeddingSum(output, range(output.rows)));
  }

  /** Add where each panel stands; put a separator between rows (figure 3.6). */
  segments(panels) {
    const placed = panels.map((panel, number) => {
      const cell = Math.min(number, 8), candidate = number < 8 ? 0 : 1, name = (kind) => `segments.${kind}`;
      return add(panel, this.row(name("row"), Math.floor(cell / 3)), this.row(name("item"), cell % 3), this.row(name("kind"), candidate));
    });
    const between = this.separators ? [this.row("segments.separator", 0)] : [];
    const all = this.context ? [...placed.slice(0, 3), ...between, ...placed.slice(3, 6), ...between, ...placed.slice(6)] : placed.slice(8);
    return Matrix.of(all.map((panel) => panel.data));
  }

  /** Sixteen panels to eight numbers, the larger the better, and where each stream looked at each layer. */
  answer(panels, { places }) {
    const read = new Map(); // panels share most of their streams: each different one is read once
    const embedded = panels.map((panel) => this.tokens(panel, places).map((tokens) => {
      const key = tokens.join();
      if (!read.has(key)) read.set(key, this.embed(tokens, places));
      return read.get(key);
    }));
    const streams = range(5).map((stream) => encode(
      this.weights.part("encoder"), this.segments(embedded.map((panel) => panel[stream])), this.panelLayers, { heads: this.panelHeads })); // eq. 3.3
    const features = Matrix.of(range(8).map((candidate) => streams.flatMap(({ output }) => [...output.row(output.rows - 8 + candidate)]))); // eq. 3.4
    const contrasted = this.contrast ? this.without(features) : features;
    const logits = Array.from(mlp(this.weights.part("output"), contrasted, 2).data);
    const attention = streams.map((stream) => stream.attention.map((layer) => layer.weights.map((head) => head.toArray())));
    return { logits, attention }; // attention[stream][layer][head][token][token]
  }

  /** What each candidate has that all of them together have not (eq. 3.5). */
  without(features) {
    const total = new Matrix(1, features.columns, embeddingSum(features, range(8)));
    const common = mlp(this.weights.part("contrast.aggregate"), total, 2).data;
    return new Matrix(8, features.columns, features.data.map((number, at) => number - common[at % common.length]));
  }
}
