// The relational model in the reader's browser: the sums of reasonlib/visual_iq/models/relational.py, one for one.
//
// It never compares candidates. From two complete rows it reads the rule of each attribute of each component,
// says what the third panel of the third row should be, and how probable each candidate makes that.

class Relational extends Network {
  /** What the entities of a component share, panel by panel: a level of each attribute, and their number. */
  symbols(panels, levels) {
    const mixed = levels.length; // of types, sizes, colours and angles
    const filled = (panel) => panel.filter(([type]) => type > 0);
    const places = (panel) => panel.map(([type]) => Number(type > 0)).join();
    const before = (number) => (number >= 8 ? 7 : number % 3 ? number - 1 : null);
    return panels.map((panel, number) => {
      const shared = range(mixed).map((attribute) => {
        const found = filled(panel).map((entity) => entity[attribute]);
        if (new Set(found).size === 1) return found[0];
        if (!this.alike || before(number) === null) return levels[attribute];
        const other = panels[before(number)], seen = (one) => one.map((entity) => (entity[0] ? entity[attribute] : -1));
        const inOrder = (one) => seen(one).sort((a, b) => a - b).join();
        const copied = places(panel) === places(other) ? seen(panel).join() === seen(other).join() : inOrder(panel) === inOrder(other);
        return levels[attribute] + Number(copied); // mixed, or mixed as in the panel before
      });
      return [...shared, filled(panel).length];
    });
  }

  /** The code of a rule, from a complete row; their sum over rows has no order. */
  read(rule, row) {
    const read = this.rows ? [row.flatMap((one) => [...one])] : row.map((one, column) => plus(one, this.row(`${rule}.column`, column)));
    return plus(...this.mlp(`${rule}.reader`, read, 3));
  }

  /** What the two first rows make of the last row's third panel. */
  guess(rule, context) {
    const code = plus(this.read(rule, context.slice(0, 3)), this.read(rule, context.slice(3, 6)));
    return this.mlp(`${rule}.predictor`, [[...code, ...context[6], ...context[7]]], 3)[0];
  }

  /** Log-probability of each candidate's symbol, among all symbols of the attribute. */
  scores(attribute, symbols) {
    const from = this.offsets[attribute], count = this.counts[attribute], bias = this.tensors.get("symbol_bias");
    const row = (symbol) => this.row("symbols.weight", from + symbol);
    const guess = this.guess("shared", symbols.slice(0, 8).map(row));
    const shares = softmax(range(count).map((symbol) => dot(guess, row(symbol), 0, this.width) + bias[from + symbol]));
    return symbols.slice(8).map((symbol) => Math.log(shares[symbol]));
  }

  /** Log-probability of each candidate's set of filled places, each filled or empty by itself. */
  positions(panels, places) {
    const none = new Float64Array(this.width), bias = this.tensors.get("place_bias");
    const embed = (panel) => plus(none, ...panel.flatMap(([type], slot) => (type ? [this.row("places", places[slot])] : [])));
    const guess = this.guess("position", panels.slice(0, 8).map(embed));
    const logits = places.map((place) => dot(guess, this.row("places", place), 0, this.width) + bias[place]);
    const probability = (logit, full) => -Math.log1p(Math.exp(full ? -logit : logit));
    return panels.slice(8).map((panel) => panel.reduce((sum, [type], slot) => sum + probability(logits[slot], type > 0), 0));
  }

  /** Sixteen panels to eight log-probabilities, and what each attribute of each component adds to them. */
  answer(panels, { places, components }) {
    const parts = components.flatMap(({ name, slots: [from, to] }) => {
      const own = panels.map((panel) => panel.slice(from, to)), symbols = this.symbols(own, this.levels);
      const found = this.names.map((attribute, number) => ({ name: name + attribute, scores: this.scores(number, symbols.map((one) => one[number])) }));
      return to - from > 1 ? [...found, { name: `${name}position`, scores: this.positions(own, places.slice(from, to)) }] : found;
    });
    return { logits: range(8).map((candidate) => parts.reduce((sum, { scores }) => sum + scores[candidate], 0)), parts };
  }
}
