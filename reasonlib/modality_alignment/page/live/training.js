// Two small maps trained in the page, as in reasonlib.modality_alignment.page.clouds: linear, tanh, linear, standardised.
// Points are rows of two numbers; a gradient is of what is maximised.

const inner2 = (a, b) => a[0] * b[0] + a[1] * b[1];
const size2 = (point) => Math.sqrt(inner2(point, point));
const times2 = (point, by) => [by * point[0], by * point[1]];
const less = (rows, mean) => rows.map((row) => [row[0] - mean[0], row[1] - mean[1]]);

function columnMeans(rows) {
  let x = 0, y = 0;
  for (const row of rows) {
    x += row[0];
    y += row[1];
  }
  return [x / rows.length, y / rows.length];
}

/** The products of columns, A^T B: two rows of two numbers. */
function crossProducts(first, second) {
  let a = 0, b = 0, c = 0, d = 0;
  for (let at = 0; at < first.length; at += 1) {
    const one = first[at], other = second[at];
    a += one[0] * other[0];
    b += one[0] * other[1];
    c += one[1] * other[0];
    d += one[1] * other[1];
  }
  return [[a, b], [c, d]];
}

const squares = ([one, other]) => inner2(one, one) + inner2(other, other);
const transposed = ([[a, b], [c, d]]) => [[a, c], [b, d]];

/** Linear CKA of two clouds, and what its gradient is made of. */
function compareClouds(first, second) {
  const x = less(first, columnMeans(first)), y = less(second, columnMeans(second));
  const cross = crossProducts(x, y), xx = crossProducts(x, x), yy = crossProducts(y, y);
  const root = Math.sqrt(squares(xx) * squares(yy));
  return { x, y, cross, xx, yy, root, value: squares(cross) / root };
}

/** The gradient of linear CKA for each of two clouds. */
function alignment(first, second) {
  const { x, y, cross, xx, yy, root, value } = compareClouds(first, second);
  const slope = (own, other, turn, products) => {
    const up = 2 / root, down = (2 * value) / squares(products);
    return own.map((row, at) => [0, 1].map((axis) => up * (other[at][0] * turn[0][axis] + other[at][1] * turn[1][axis])
      - down * (row[0] * products[0][axis] + row[1] * products[1][axis])));
  };
  return [slope(x, y, transposed(cross), xx), slope(y, x, cross, yy)];
}

/** The gradient of the mean cosine similarity of pairs for each cloud. */
function similarity(first, second) {
  const slopes = [[], []], count = first.length;
  for (let at = 0; at < count; at += 1) {
    const a = size2(first[at]), b = size2(second[at]), u = times2(first[at], 1 / a), v = times2(second[at], 1 / b), cosine = inner2(u, v);
    slopes[0].push([(v[0] - cosine * u[0]) / a / count, (v[1] - cosine * u[1]) / a / count]);
    slopes[1].push([(u[0] - cosine * v[0]) / b / count, (u[1] - cosine * v[1]) / b / count]);
  }
  return slopes;
}

/** Cosine similarity, CKA, and the share of words whose nearest frame, by cosine, is their own. */
function scoreClouds(words, frames) {
  const unit = (rows) => rows.map((row) => times2(row, 1 / size2(row)));
  const w = unit(words), f = unit(frames);
  let cosine = 0, own = 0;
  w.forEach((word, at) => {
    let nearest = 0, closest = -Infinity;
    for (let other = 0; other < f.length; other += 1) {
      const near = inner2(word, f[other]);
      if (near > closest) [nearest, closest] = [other, near];
    }
    cosine += inner2(word, f[at]);
    own += nearest === at;
  });
  return { cosine: cosine / w.length, cka: compareClouds(words, frames).value, retrieval: own / w.length };
}

/** What the map of the frames reads: mixed by the gap, then turned and bent. */
const bendPoints = (words, partners, gap) => words.map((word, at) => {
  const [x, y] = [0, 1].map((axis) => Math.sqrt(1 - gap) * word[axis] + Math.sqrt(gap) * partners[at][axis]);
  return [-0.5 * x - 0.9 * y + 0.5 * Math.sin(2 * x), 0.9 * x - 0.5 * y + 0.4 * y * y - 0.4];
});

/** Both maps, and Adam that makes the goal larger. */
class Alignment {
  constructor({ initial, trained, lr, warmUp }, clouds, normalise) {
    Object.assign(this, { trained, lr, warmUp, clouds, normalise, step: 0, passes: null });
    this.weights = Object.fromEntries(Object.entries(initial).map(([name, rows]) => [name, rows.map((row) => [...row])]));
    this.moments = Object.fromEntries(Object.entries(initial).map(([name, rows]) => [name, rows.map((row) => row.map(() => [0, 0]))]));
  }

  /** Map one cloud, and keep what the way back needs. */
  forward(name) {
    const [a, b, c] = this.weights[`${name}1`], second = this.weights[`${name}2`], units = a.length, hidden = [], raw = [];
    for (const [x, y] of this.clouds[name]) {
      const row = new Array(units), point = [...second[units]];
      for (let unit = 0; unit < units; unit += 1) {
        const value = (row[unit] = Math.tanh(x * a[unit] + y * b[unit] + c[unit]));
        point[0] += value * second[unit][0];
        point[1] += value * second[unit][1];
      }
      hidden.push(row);
      raw.push(point);
    }
    if (!this.normalise) return { hidden, output: raw, scale: [1, 1] };
    const seen = raw.slice(0, this.trained), centre = columnMeans(seen);
    const scale = columnMeans(less(seen, centre).map(([x, y]) => [x * x, y * y])).map((variance) => Math.sqrt(variance + 1e-5));
    return { hidden, output: raw.map((point) => [(point[0] - centre[0]) / scale[0], (point[1] - centre[1]) / scale[1]]), scale };
  }

  /** The gradient of the weights of one map, from that of its outputs on the training pairs. */
  backward(name, { hidden, output, scale }, slopes) {
    const second = this.weights[`${name}2`], units = second.length - 1, count = this.trained, points = this.clouds[name];
    let outer = slopes;
    if (this.normalise) {
      const mean = columnMeans(slopes), turn = columnMeans(slopes.map((row, at) => [row[0] * output[at][0], row[1] * output[at][1]]));
      outer = slopes.map((row, at) => [0, 1].map((axis) => (row[axis] - mean[axis] - output[at][axis] * turn[axis]) / scale[axis]));
    }
    const [a, b, c] = range(3, () => new Array(units).fill(0)), last = range(units + 1, () => [0, 0]);
    for (let at = 0; at < count; at += 1) {
      const [x, y] = points[at], [dx, dy] = outer[at], row = hidden[at];
      for (let unit = 0; unit < units; unit += 1) {
        const value = row[unit], inner = (1 - value * value) * (dx * second[unit][0] + dy * second[unit][1]);
        last[unit][0] += value * dx;
        last[unit][1] += value * dy;
        a[unit] += inner * x;
        b[unit] += inner * y;
        c[unit] += inner;
      }
      last[units][0] += dx;
      last[units][1] += dy;
    }
    return { [`${name}1`]: [a, b, c], [`${name}2`]: last };
  }

  /** Both clouds mapped with the weights as they are, computed once between two updates. */
  mapped() {
    return (this.passes ??= { words: this.forward("words"), frames: this.forward("frames") });
  }

  /** Where all points are now, those held out last. */
  positions() {
    const { words, frames } = this.mapped();
    return { words: words.output, frames: frames.output };
  }

  /** One update of all weights. */
  update(goal, weight) {
    const passes = this.mapped(), [words, frames] = [passes.words, passes.frames].map(({ output }) => output.slice(0, this.trained));
    const early = this.step < this.warmUp, parts = [];
    if (goal === "cosine" || (goal === "both" && !early)) parts.push([1, similarity(words, frames)]);
    if (goal !== "cosine") parts.push([goal === "both" && !early ? weight : 1, alignment(words, frames)]);
    this.step += 1;
    const first = 1 - 0.9 ** this.step, second = 1 - 0.999 ** this.step;
    ["words", "frames"].forEach((name, which) => {
      const slopes = range(this.trained, (at) => [0, 1].map((axis) => parts.reduce((total, [share, each]) => total + share * each[which][at][axis], 0)));
      for (const [part, rows] of Object.entries(this.backward(name, passes[name], slopes))) {
        const weights = this.weights[part], moments = this.moments[part];
        for (let i = 0; i < rows.length; i += 1) {
          for (let j = 0; j < rows[i].length; j += 1) {
            const slope = rows[i][j], moment = moments[i][j];
            moment[0] = 0.9 * moment[0] + 0.1 * slope;
            moment[1] = 0.999 * moment[1] + 0.001 * slope * slope;
            weights[i][j] += (this.lr * moment[0]) / first / (Math.sqrt(moment[1] / second) + 1e-8);
          }
        }
      }
    });
    this.passes = null;
  }
}
