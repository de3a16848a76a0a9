// Weights and layers: the sums of reasonlib.nn, one for one, on the weights that were trained there.
//
// T tokens, D width, H heads, C = D / H width of a head. A Matrix holds its rows one after another.
// A layer reads its weights from a part of the model, by the names of its state_dict: linear(model.part("pool"), x).

class Matrix {
  constructor(rows, columns, data = new Float32Array(rows * columns)) {
    Object.assign(this, { rows, columns, data });
  }

  static of(vectors) {
    const matrix = new Matrix(vectors.length, vectors[0]?.length ?? 0);
    vectors.forEach((vector, row) => matrix.row(row).set(vector));
    return matrix;
  }

  row(row) {
    return this.data.subarray(row * this.columns, (row + 1) * this.columns);
  }

  /** Some of the rows, in this order; a row may be taken twice. */
  take(rows) {
    return Matrix.of(rows.map((row) => this.row(row)));
  }

  map(each) {
    const { data } = this, result = new Float32Array(data.length);
    for (let at = 0; at < data.length; at++) result[at] = each(data[at], at); // several times as fast as data.map
    return new Matrix(this.rows, this.columns, result);
  }

  transposed(result = new Matrix(this.columns, this.rows)) {
    const { rows, columns, data } = this;
    for (let row = 0, at = 0; row < rows; row++) for (let k = 0; k < columns; k++) result.data[k * rows + row] = data[at++];
    return result;
  }

  /** Rows of this matrix, then those of another. */
  then(other) {
    const data = new Float32Array(this.data.length + other.data.length);
    data.set(this.data);
    data.set(other.data, this.data.length);
    return new Matrix(this.rows + other.rows, this.columns, data);
  }

  toArray() {
    return range(this.rows, (row) => Array.from(this.row(row)));
  }
}

// Weights ----------------------------------------------------------------------------------------------------

/** Two bytes a number (IEEE 754 half precision, little-endian) to numbers. */
function halfFloats(bytes) {
  const numbers = new Float32Array(bytes.length >> 1), bits = new Uint32Array(numbers.buffer);
  for (let at = 0; at < numbers.length; at++) {
    const half = bytes[2 * at] | (bytes[2 * at + 1] << 8), sign = (half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest >= 0x400) bits[at] = sign | ((rest + 0x1c000) << 13);
    else numbers[at] = (sign ? -1 : 1) * rest * 2 ** -24; // subnormal, or zero
  }
  return numbers;
}

/** So many bits a number, the lowest first; each row has a factor of its own, in half precision, before all numbers. */
function wholeNumbers(bytes, rows, count, bits) {
  const factors = halfFloats(bytes.subarray(0, 2 * rows)), width = count / rows, mask = 2 ** bits - 1, middle = 2 ** (bits - 1);
  const numbers = new Float32Array(count);
  let from = 2 * rows, kept = 0, left = 0;
  for (let row = 0, at = 0; row < rows; row++) {
    const factor = factors[row];
    for (const end = at + width; at < end; at++) {
      if (left < bits) {
        kept |= bytes[from++] << left;
        left += 8;
      }
      numbers[at] = ((kept & mask) - middle) * factor;
      kept >>= bits;
      left -= bits;
    }
  }
  return numbers;
}

/** What pack_weights wrote: tensors by the names of a state_dict. */
class Weights {
  constructor({ tensors, bytes }, prefix = "") {
    this.prefix = prefix;
    this.tensors = new Map();
    if (bytes === undefined) return;
    const text = atob(bytes), all = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place++) all[place] = text.charCodeAt(place);
    let at = 0;
    for (const [name, shape, bits] of tensors) {
      const count = shape.reduce((product, size) => product * size, 1);
      const length = bits === 16 ? 2 * count : 2 * shape[0] + Math.ceil((count * bits) / 8);
      const own = all.subarray(at, (at += length));
      this.tensors.set(name, { shape, data: bits === 16 ? halfFloats(own) : wholeNumbers(own, shape[0], count, bits) });
    }
  }

  /** Weights whose names begin with `name.`, called by what comes after it. */
  part(name) {
    const part = new Weights({}, `${this.prefix}${name}.`);
    part.tensors = this.tensors;
    return part;
  }

  has(name) {
    return this.tensors.has(this.prefix + name);
  }

  tensor(name) {
    const tensor = this.tensors.get(this.prefix + name);
    if (!tensor) throw new Error(`no weights named ${this.prefix}${name}`);
    return tensor;
  }

  vector(name) {
    return this.tensor(name).data;
  }

  /** A tensor as a matrix: its last axis are the columns, all others the rows. */
  matrix(name) {
    const { shape, data } = this.tensor(name), columns = shape.at(-1);
    return new Matrix(data.length / columns, columns, data);
  }
}

// Vectors and activations ------------------------------------------------------------------------------------

function dot(a, b) {
  let total = 0;
  for (let k = 0; k < a.length; k++) total += a[k] * b[k];
  return total;
}

/** Scores to weights that sum to one; a score may be hidden by a mask. Where nothing may be seen all weights are zero. */
function softmax(scores, mask = null) {
  const weights = scores.slice();
  let highest = -Infinity, total = 0;
  for (let at = 0; at < scores.length; at++) if ((!mask || mask[at]) && scores[at] > highest) highest = scores[at];
  for (let at = 0; at < scores.length; at++) total += weights[at] = !mask || mask[at] ? Math.exp(scores[at] - highest) : 0;
  for (let at = 0; total && at < scores.length; at++) weights[at] /= total;
  return weights;
}

/** The error function to seven digits (Abramowitz and Stegun 1964, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
}

const gelu = (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));
const relu = (x) => Math.max(x, 0);
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** The sum of matrices of one shape. */
function add(first, ...others) {
  const total = new Matrix(first.rows, first.columns, first.data.slice());
  for (const { data } of others) for (let k = 0; k < data.length; k++) total.data[k] += data[k];
  return total;
}

/**
 * A B^T: every row of a with every row of b, or `width` columns of each from column `from` on. Sums are made two rows
 * by four at a time, since a processor adds faster than it waits and reads; in the last group of four, the last sum may be made more than once.
 * With `into`, a matrix of that shape is written over.
 */
function matmul(a, b, { from = 0, width = a.columns, into: product = new Matrix(a.rows, b.rows) } = {}) {
  const left = a.data, right = b.data, result = product.data, last = b.rows - 1;
  for (let j = 0; j <= last; j += 4) {
    const second = Math.min(j + 1, last), third = Math.min(j + 2, last), fourth = Math.min(j + 3, last);
    const q0 = j * b.columns + from, q1 = second * b.columns + from, q2 = third * b.columns + from, q3 = fourth * b.columns + from;
    let i = 0;
    for (; i + 1 < a.rows; i += 2) {
      const p = i * a.columns + from, next = p + a.columns, at = i * b.rows, below = at + b.rows;
      let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
      for (let k = 0; k < width; k++) {
        const x = left[p + k], y = left[next + k], r0 = right[q0 + k], r1 = right[q1 + k], r2 = right[q2 + k], r3 = right[q3 + k];
        a0 += x * r0;
        a1 += x * r1;
        a2 += x * r2;
        a3 += x * r3;
        b0 += y * r0;
        b1 += y * r1;
        b2 += y * r2;
        b3 += y * r3;
      }
      result[at + j] = a0;
      result[at + second] = a1;
      result[at + third] = a2;
      result[at + fourth] = a3;
      result[below + j] = b0;
      result[below + second] = b1;
      result[below + third] = b2;
      result[below + fourth] = b3;
    }
    if (i === a.rows) continue;
    let a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    for (let k = 0, p = i * a.columns + from; k < width; k++) {
      const x = left[p + k];
      a0 += x * right[q0 + k];
      a1 += x * right[q1 + k];
      a2 += x * right[q2 + k];
      a3 += x * right[q3 + k];
    }
    result[i * b.rows + j] = a0;
    result[i * b.rows + second] = a1;
    result[i * b.rows + third] = a2;
    result[i * b.rows + fourth] = a3;
  }
  return product;
}

// Layers -----------------------------------------------------------------------------------------------------

/** W x + b for every row x. */
function linear(part, x) {
  const product = matmul(x, part.matrix("weight"));
  if (!part.has("bias")) return product;
  const bias = part.vector("bias"), { data } = product;
  for (let at = 0; at < data.length;) for (let k = 0; k < bias.length; k++) data[at++] += bias[k];
  return product;
}

/** Linear layers with an activation between each two, as in a torch.nn.Sequential: name.0, name.2 and so on. */
function mlp(part, x, layers, activation = relu) {
  for (let layer = 0; layer < layers; layer++) x = linear(part.part(String(2 * layer)), layer ? x.map(activation) : x);
  return x;
}

/** Each row to mean 0 and variance 1, then a learned scale and shift. */
function layerNorm(part, x, eps = 1e-5) {
  const weight = part.vector("weight"), bias = part.vector("bias"), result = new Matrix(x.rows, x.columns), width = x.columns;
  for (let row = 0; row < x.rows; row++) {
    const from = x.row(row), to = result.row(row);
    let total = 0, squares = 0;
    for (let k = 0; k < width; k++) total += from[k];
    const mean = total / width;
    for (let k = 0; k < width; k++) squares += (from[k] - mean) ** 2;
    const spread = Math.sqrt(squares / width + eps);
    for (let k = 0; k < width; k++) to[k] = ((from[k] - mean) / spread) * weight[k] + bias[k];
  }
  return result;
}

/** The sum of some rows of a table, each times its share: a bag of words. */
function embeddingSum(table, ids, shares = null) {
  const { columns, data } = table, total = new Float32Array(columns);
  for (let at = 0; at < ids.length; at++) {
    const from = ids[at] * columns, share = shares ? shares[at] : 1;
    for (let k = 0; k < columns; k++) total[k] += share * data[from + k];
  }
  return total;
}

/** Sines and cosines of falling frequency (Vaswani et al. 2017, section 3.5), for positions from `start`. */
function sinusoidalPositions(length, width, start = 0) {
  const table = new Matrix(length, width);
  for (let t = 0; t < length; t++) {
    for (let k = 0; k < width; k++) {
      const angle = (t + start) / 10000 ** ((k - (k % 2)) / width);
      table.data[t * width + k] = k % 2 ? Math.cos(angle) : Math.sin(angle);
    }
  }
  return table;
}

/** A query sees the keys up to its own position; `past` keys stand before the first query. */
const causal = (past = 0) => (query, key) => key <= query + past;

/**
 * softmax(q k / sqrt C) v for H heads side by side. `mask(query, key)` says what may be seen; `bias(head, query, key)`
 * is added to the scores; `scale` divides them. Gives scores and weights of each head (H of T x T), and the
 * mixtures of all heads, joined (T x D).
 */
function attend(query, keys, values, heads, { mask = null, bias = null, scale = Math.sqrt(query.columns / heads) } = {}) {
  const size = query.columns / heads, width = values.columns / heads, joined = new Matrix(query.rows, values.columns);
  const upright = values.transposed().data, seen = mask && range(query.rows, (i) => range(keys.rows, (j) => mask(i, j)));
  const all = range(heads, (head) => {
    const scores = matmul(query, keys, { from: head * size, width: size }), weights = new Matrix(query.rows, keys.rows);
    for (let i = 0; i < query.rows; i++) {
      const row = scores.row(i);
      for (let j = 0; j < keys.rows; j++) row[j] = row[j] / scale + (bias ? bias(head, i, j) : 0);
      weights.row(i).set(softmax(row, seen && seen[i]));
    }
    const own = upright.subarray(head * width * values.rows, (head + 1) * width * values.rows);
    const mixed = matmul(weights, new Matrix(width, values.rows, own));
    for (let i = 0; i < query.rows; i++) joined.row(i).set(mixed.row(i), head * width);
    return { scores, weights };
  });
  return { joined, scores: all.map((one) => one.scores), weights: all.map((one) => one.weights) };
}

/** Keys and values of a memory, projected once for many queries. */
const project = (part, memory) => ({ keys: linear(part.part("key"), memory), values: linear(part.part("value"), memory) });

/** Multi-head attention to a memory, or to keys and values that were projected before. */
function multiHeadAttention(part, query, memory, heads, options = {}) {
  const { keys, values } = memory instanceof Matrix ? project(part, memory) : memory;
  const attended = attend(linear(part.part("query"), query), keys, values, heads, options);
  return { ...attended, output: linear(part.part("output"), attended.joined) };
}

const feedForward = (part, x, activation) => linear(part.part("narrow"), linear(part.part("wide"), x).map(activation));

/** x + f(x), normalised after the sum (post-norm, as published) or before f (pre-norm). */
function residual(part, x, { norm = "post", eps = 1e-5 }, change) {
  if (norm === "pre") return add(x, change(layerNorm(part.part("norm"), x, eps)));
  return layerNorm(part.part("norm"), add(x, change(x)), eps);
}

/** A Transformer encoder layer; `options`: heads, and norm, eps, activation, mask where they differ from the source's. */
function encoderLayer(part, x, options) {
  let attention = null;
  x = residual(part.part("attention_residual"), x, options, (inner) => {
    attention = multiHeadAttention(part.part("attention"), inner, inner, options.heads, options);
    return attention.output;
  });
  x = residual(part.part("feed_forward_residual"), x, options, (inner) => feedForward(part.part("feed_forward"), inner, options.activation ?? relu));
  return { output: x, attention };
}

/** A stack of encoder layers: the last states, the states before and after each layer, and each layer's attention. */
const encode = (part, x, layers, options) => finished(encodeSlowly(part, x, layers, options));

/** The same, with a pause after each layer. */
function* encodeSlowly(part, x, layers, options) {
  const states = [x], attention = [];
  for (let number = 0; number < layers; number++) {
    const layer = encoderLayer(part.part(`layers.${number}`), x, options);
    states.push((x = layer.output));
    attention.push(layer.attention);
    yield;
  }
  return { output: options.norm === "pre" ? layerNorm(part.part("end"), x, options.eps) : x, states, attention };
}

/** A decoder layer for the tokens that come next; `past` holds the keys and values of those before, and of the memory. */
function decoderLayer(part, x, memory, options, past = null) {
  let attention = null, memoryAttention = null, own = null, read = null;
  x = residual(part.part("attention_residual"), x, options, (inner) => {
    own = project(part.part("attention"), inner);
    if (past) own = { keys: past.own.keys.then(own.keys), values: past.own.values.then(own.values) };
    const mask = options.mask === undefined ? causal(past ? past.own.keys.rows : 0) : options.mask;
    attention = multiHeadAttention(part.part("attention"), inner, own, options.heads, { mask });
    return attention.output;
  });
  x = residual(part.part("memory_attention_residual"), x, options, (inner) => {
    read = past ? past.read : project(part.part("memory_attention"), memory);
    memoryAttention = multiHeadAttention(part.part("memory_attention"), inner, read, options.heads, { mask: options.memoryMask });
    return memoryAttention.output;
  });
  x = residual(part.part("feed_forward_residual"), x, options, (inner) => feedForward(part.part("feed_forward"), inner, options.activation ?? relu));
  return { output: x, attention, memoryAttention, past: { own, read } };
}

/** A stack of decoder layers; hand back its `past` to decode the next token. `options.memoryMask` hides memories. */
function decode(part, x, memory, layers, options, past = null) {
  const kept = [], attention = [], memoryAttention = [];
  for (let number = 0; number < layers; number++) {
    const layer = decoderLayer(part.part(`layers.${number}`), x, memory, options, past?.[number]);
    x = layer.output;
    kept.push(layer.past);
    attention.push(layer.attention);
    memoryAttention.push(layer.memoryAttention);
  }
  return { output: options.norm === "pre" ? layerNorm(part.part("end"), x, options.eps) : x, attention, memoryAttention, past: kept };
}

// Recurrent layers of torch.nn.GRU and LSTM ----------------------------------------------------------------------

/** One direction of one layer: its weights for the input (ih) and for the state before (hh). */
function recurrentCell(part, { layer = 0, reverse = false } = {}) {
  const suffix = `l${layer}${reverse ? "_reverse" : ""}`, weight = (of) => part.matrix(`weight_${of}_${suffix}`);
  return { input: weight("ih"), state: weight("hh"), inputBias: part.vector(`bias_ih_${suffix}`), stateBias: part.vector(`bias_hh_${suffix}`) };
}

/** W x + b for one vector. */
function affine(matrix, bias, vector) {
  const result = matmul(new Matrix(1, vector.length, vector), matrix).data;
  for (let row = 0; row < result.length; row++) result[row] += bias[row];
  return result;
}

/** What the inputs of a sequence give to the gates, row by row; computed once for any order of reading. */
function inputGates(cell, x) {
  const all = matmul(x, cell.input), bias = cell.inputBias;
  for (let row = 0, at = 0; row < all.rows; row++) for (let k = 0; k < bias.length; k++) all.data[at++] += bias[k];
  return range(x.rows, (row) => all.row(row));
}

/** From the state before and an input's gates to the next state. */
function gruCell(cell, given, h) {
  const kept = affine(cell.state, cell.stateBias, h), size = h.length, next = new Float32Array(size);
  for (let k = 0; k < size; k++) {
    const reset = sigmoid(given[k] + kept[k]), update = sigmoid(given[size + k] + kept[size + k]);
    next[k] = (1 - update) * Math.tanh(given[2 * size + k] + reset * kept[2 * size + k]) + update * h[k];
  }
  return next;
}

/** From state and cell before, and an input's gates, to the next { h, c }. */
function lstmCell(cell, given, { h, c }) {
  const kept = affine(cell.state, cell.stateBias, h), size = h.length, next = { h: new Float32Array(size), c: new Float32Array(size) };
  for (let k = 0; k < size; k++) {
    const f = k + size, g = f + size, o = g + size;
    next.c[k] = sigmoid(given[f] + kept[f]) * c[k] + sigmoid(given[k] + kept[k]) * Math.tanh(given[g] + kept[g]);
    next.h[k] = sigmoid(given[o] + kept[o]) * Math.tanh(next.c[k]);
  }
  return next;
}

/** The state before anything was read. */
function emptyState(kind, cell) {
  const zeros = () => new Float32Array(cell.state.columns);
  return kind === "lstm" ? { h: zeros(), c: zeros() } : zeros();
}

/** A recurrent layer over the rows of a matrix: its state after each row, in the order of the rows. */
function recur(kind, part, x, options = {}) {
  const cell = recurrentCell(part, options), given = inputGates(cell, x), states = new Matrix(x.rows, cell.state.columns);
  let state = emptyState(kind, cell);
  for (const row of options.reverse ? range(x.rows).reverse() : range(x.rows)) {
    state = kind === "lstm" ? lstmCell(cell, given[row], state) : gruCell(cell, given[row], state);
    states.row(row).set(state.h ?? state);
  }
  return states;
}
