// The relational model in the reader's browser: the sums of reasonlib/visual_iq/models/relational.py, one for one.
//
// It never compares candidates. From two complete rows it reads the rule of each attribute of each component,
// says what the third panel of the third row should be, and how probable each candidate makes that.

class Relational {
  constructor(weights, sizes) {
    Object.assign(this, sizes, { weights });
  }

  /** What the entities of a component share, panel by panel: a level of each attribute, and their number. */
  symbols(panels, levels) {
    const filled = (panel) => panel.filter(([type]) => type > 0);
    const places = (panel) => panel.map(([type]) => Number(type > 0)).join();
    const before = (number) => (number >= 8 ? 7 : number % 3 ? number - 1 : null);
    return panels.map((panel, number) => {
      const shared = levels.map((mixed, attribute) => {
        const values = filled(panel).map((entity) => entity[attribute]);
        if (new Set(values).size === 1) return values[0];
        if (!this.alike || before(number) === null) return mixed;
        const other = panels[before(number)], seen = (panel) => panel.map((entity) => (entity[0] ? entity[attribute] : -1));
        const inOrder = (panel) => seen(panel).sort((a, b) => a - b).join();
        const copied = places(panel) === places(other) ? seen(panel).join() === seen(other).join() : inOrder(panel) === inOrder(other);
        return mixed + Number(copied); // mixed, or mixed as in the panel before
      });
      return [...shared, filled(panel).length];
    });
  }

  /** The code of a rule, from a complete row; their sum over rows has no order. */
  read(rule, row) {
    const joined = new Matrix(1, row.data.length, row.data);
    const read = this.rows ? joined : add(row, this.weights.matrix(`${rule}.column`));
    const code = mlp(this.weights.part(`${rule}.reader`), read, 3);
    return embeddingSum(code, range(code.rows));
  }

  /** What the two first rows make of the last row's third panel. */
  guess(rule, context) {
    const rows = [[0, 1, 2], [3, 4, 5]].map((row) => this.read(rule, context.take(row)));
    const given = [...rows[0].map((number, k) => number + rows[1][k]), ...context.row(6), ...context.row(7)];
    return mlp(this.weights.part(`${rule}.predictor`), Matrix.of([given]), 3).data;
  }

  /** Log-probability of each candidate's symbol, among all symbols of the attribute. */
  scores(attribute, symbols) {
    const from = this.offsets[attribute], table = this.weights.matrix("symbols.weight"), bias = this.weights.vector("symbol_bias");
    const guess = this.guess("shared", table.take(symbols.slice(0, 8).map((symbol) => from + symbol)));
    const shares = softmax(range(this.counts[attribute], (symbol) => dot(guess, table.row(from + symbol)) + bias[from + symbol]));
    return symbols.slice(8).map((symbol) => Math.log(shares[symbol]));
  }

  /** Log-probability of each candidate's set of filled places, each filled or empty by itself. */
  positions(panels, places) {
    const table = this.weights.matrix("places"), bias = this.weights.vector("place_bias");
    const embed = (panel) => embeddingSum(table, places.filter((_, slot) => panel[slot][0]));
    const guess = this.guess("position", Matrix.of(panels.slice(0, 8).map(embed)));
    const logits = places.map((place) => dot(guess, table.row(place)) + bias[place]);
    const probability = (logit, full) => -Math.log1p(Math.exp(full ? -logit : logit));
    return panels.slice(8).map((panel) => panel.reduce((sum, [type], slot) => sum + probability(logits[slot], type > 0), 0));
  }

  /** Sixteen panels to eight log-probabilities, and what each attribute of each component adds to them. */
  answer(panels, { places, components }) {
    const parts = components.flatMap(({ name, slots: [from, to] }) => {
      const own = panels.map((panel) => panel.slice(from, to)), symbols = this.symbols(own, this.levels);
      const each = this.names.map((attribute, number) => ({ name: name + attribute, scores: this.scores(number, symbols.map((one) => one[number])) }));
      return to - from > 1 ? [...each, { name: `${name}position`, scores: this.positions(own, places.slice(from, to)) }] : each;
    });
    return { logits: range(8, (candidate) => parts.reduce((sum, { scores }) => sum + scores[candidate], 0)), parts };
  }
}
