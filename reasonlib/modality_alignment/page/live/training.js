// Two small maps trained in the page, as in reasonlib.modality_alignment.page.clouds: linear, tanh, linear, standardised.
// Points are rows of two numbers; a gradient is of what is maximised.

const inner2 = (a, b) => a[0] * b[0] + a[1] * b[1];
const columnMeans = (rows) => [0, 1].map((axis) => sum(rows.map((row) => row[axis])) / rows.length);
const less = (rows, [x, y]) => rows.map(([a, b]) => [a - x, b - y]);

/** The products of columns, A^T B: two rows of two numbers. */
const crossProducts = (first, second) =>
  [0, 1].map((i) => [0, 1].map((j) => first.reduce((total, row, at) => total + row[i] * second[at][j], 0)));
const squares = (matrix) => sum(matrix.flat().map((value) => value * value));
const timesMatrix = ([a, b], matrix) => [0, 1].map((j) => a * matrix[0][j] + b * matrix[1][j]);
const transposed = (matrix) => [0, 1].map((i) => [matrix[0][i], matrix[1][i]]);

/** Linear CKA of two clouds, and its gradient for each. */
function alignment(first, second) {
  const x = less(first, columnMeans(first)), y = less(second, columnMeans(second));
  const cross = crossProducts(x, y), xx = crossProducts(x, x), yy = crossProducts(y, y);
  const root = Math.sqrt(squares(xx) * squares(yy)), value = squares(cross) / root;
  const slope = (own, other, turned, products) => own.map((row, at) => {
    const up = timesMatrix(other[at], turned), down = timesMatrix(row, products);
    return [0, 1].map((axis) => (2 * up[axis]) / root - (2 * value * down[axis]) / squares(products));
  });
  return { value, slopes: [slope(x, y, transposed(cross), xx), slope(y, x, cross, yy)] };
}

/** The mean cosine similarity of pairs, and its gradient for each cloud. */
function similarity(first, second) {
  const slopes = [[], []];
  let total = 0;
  first.forEach((u, at) => {
    const v = second[at], a = Math.hypot(...u), b = Math.hypot(...v), cosine = inner2(u, v) / (a * b);
    total += cosine;
    slopes[0].push([0, 1].map((axis) => (v[axis] / b - (cosine * u[axis]) / a) / a / first.length));
    slopes[1].push([0, 1].map((axis) => (u[axis] / a - (cosine * v[axis]) / b) / b / first.length));
  });
  return { value: total / first.length, slopes };
}

/** Cosine similarity, CKA, and the share of words whose nearest frame, by cosine, is their own. */
function scoreClouds(words, frames) {
  const unit = (rows) => rows.map((row) => row.map((value) => value / Math.hypot(...row)));
  const w = unit(words), f = unit(frames);
  const own = w.filter((word, at) => argmax(f.map((frame) => inner2(word, frame))) === at).length;
  return { cosine: similarity(words, frames).value, cka: alignment(words, frames).value, retrieval: own / words.length };
}

/** What the map of the frames reads: mixed by the gap, then turned and bent. */
const bendPoints = (words, partners, gap) => words.map((word, at) => {
  const [x, y] = [0, 1].map((axis) => Math.sqrt(1 - gap) * word[axis] + Math.sqrt(gap) * partners[at][axis]);
  return [-0.5 * x - 0.9 * y + 0.5 * Math.sin(2 * x), 0.9 * x - 0.5 * y + 0.4 * y * y - 0.4];
});

/** Both maps, and Adam that makes the goal larger. */
class Alignment {
  constructor({ initial, trained, lr, warmUp }, clouds, normalise) {
    Object.assign(this, { trained, lr, warmUp, clouds, normalise, step: 0 });
    this.weights = Object.fromEntries(Object.entries(initial).map(([name, rows]) => [name, rows.map((row) => [...row])]));
    this.moments = Object.fromEntries(Object.entries(initial).map(([name, rows]) => [name, rows.map((row) => row.map(() => [0, 0]))]));
  }

  /** Map one cloud, and keep what the way back needs. */
  forward(name) {
    const first = this.weights[`${name}1`], second = this.weights[`${name}2`], units = first[0].length;
    const hidden = this.clouds[name].map(([x, y]) => range(units, (unit) => Math.tanh(x * first[0][unit] + y * first[1][unit] + first[2][unit])));
    const raw = hidden.map((row) => [0, 1].map((axis) => row.reduce((total, value, unit) => total + value * second[unit][axis], second[units][axis])));
    if (!this.normalise) return { hidden, output: raw, scale: [1, 1] };
    const seen = raw.slice(0, this.trained), centre = columnMeans(seen);
    const scale = columnMeans(less(seen, centre).map((row) => row.map((value) => value * value))).map((variance) => Math.sqrt(variance + 1e-5));
    return { hidden, output: less(raw, centre).map((row) => row.map((value, axis) => value / scale[axis])), scale };
  }

  /** The gradient of the weights of one map, from that of its outputs on the training pairs. */
  backward(name, { hidden, output, scale }, slopes) {
    const second = this.weights[`${name}2`], units = hidden[0].length, count = this.trained;
    let outer = slopes;
    if (this.normalise) {
      const mean = columnMeans(slopes), turn = columnMeans(slopes.map((row, at) => row.map((value, axis) => value * output[at][axis])));
      outer = slopes.map((row, at) => row.map((value, axis) => (value - mean[axis] - output[at][axis] * turn[axis]) / scale[axis]));
    }
    const into = { [`${name}1`]: range(3, () => new Array(units).fill(0)), [`${name}2`]: range(units + 1, () => [0, 0]) };
    for (let at = 0; at < count; at += 1) {
      const [x, y] = this.clouds[name][at];
      for (let unit = 0; unit <= units; unit += 1) {
        const value = unit < units ? hidden[at][unit] : 1;
        for (const axis of [0, 1]) into[`${name}2`][unit][axis] += value * outer[at][axis];
        if (unit === units) continue;
        const inner = (1 - value * value) * inner2(outer[at], second[unit]);
        [x, y, 1].forEach((input, row) => { into[`${name}1`][row][unit] += inner * input; });
      }
    }
    return into;
  }

  /** Where all points are now, those held out last. */
  positions() {
    return { words: this.forward("words").output, frames: this.forward("frames").output };
  }

  /** One update of all weights. */
  update(goal, weight) {
    const passes = [this.forward("words"), this.forward("frames")];
    const [words, frames] = passes.map(({ output }) => output.slice(0, this.trained));
    const parts = [];
    const early = this.step < this.warmUp;
    if (goal === "cosine" || (goal === "both" && !early)) parts.push([1, similarity(words, frames)]);
    if (goal !== "cosine") parts.push([goal === "both" && !early ? weight : 1, alignment(words, frames)]);
    const gradient = Object.assign({}, ...["words", "frames"].map((name, which) => this.backward(name, passes[which],
      range(this.trained, (at) => [0, 1].map((axis) => sum(parts.map(([share, { slopes }]) => share * slopes[which][at][axis])))))));
    this.step += 1;
    for (const [name, rows] of Object.entries(gradient)) {
      rows.forEach((row, i) => row.forEach((slope, j) => {
        const moment = this.moments[name][i][j];
        moment[0] = 0.9 * moment[0] + 0.1 * slope;
        moment[1] = 0.999 * moment[1] + 0.001 * slope * slope;
        const mean = moment[0] / (1 - 0.9 ** this.step), spread = Math.sqrt(moment[1] / (1 - 0.999 ** this.step));
        this.weights[name][i][j] += (this.lr * mean) / (spread + 1e-8);
      }));
    }
  }
}
