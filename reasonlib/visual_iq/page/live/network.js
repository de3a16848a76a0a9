// What every network here is made of: weights from a line of text, vectors, and linear layers.

const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** Bytes to the 16-bit floating-point numbers they stand for. */
function halfFloats(bytes) {
  const bits = new DataView(bytes.buffer, bytes.byteOffset);
  return Float32Array.from({ length: bytes.length / 2 }, (_, place) => {
    const half = bits.getUint16(2 * place, true);
    const sign = half >> 15 ? -1 : 1, exponent = (half >> 10) & 31, fraction = half & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}

/** Bytes to a matrix of small whole numbers, each row with a factor of its own. */
function wholeNumbers(bytes, rows) {
  const factors = halfFloats(bytes.subarray(0, 2 * rows)), whole = Int8Array.from(bytes.subarray(2 * rows));
  return Float32Array.from(whole, (number, place) => number * factors[Math.floor((place * rows) / whole.length)]);
}

const range = (count) => Array.from({ length: count }, (_, place) => place);
const dot = (a, b, from, to) => { let sum = 0; for (let k = from; k < to; k++) sum += a[k] * b[k]; return sum; };
const sigmoid = (number) => 1 / (1 + Math.exp(-number));

/** The sum of vectors. */
function plus(first, ...others) {
  const sum = Float64Array.from(first);
  for (const one of others) for (let k = 0; k < sum.length; k++) sum[k] += one[k];
  return sum;
}

function relu(vector) {
  const result = new Float64Array(vector.length);
  for (let k = 0; k < vector.length; k++) result[k] = Math.max(vector[k], 0);
  return result;
}

/** Scores to shares that sum to one. */
function softmax(scores) {
  const highest = Math.max(...scores);
  const raised = scores.map((score) => Math.exp(score - highest));
  const total = raised.reduce((sum, value) => sum + value, 0);
  return raised.map((value) => value / total);
}

class Network {
  /** What `live` wrote: sizes, what each tensor is called and takes, and all weights as one line of text. */
  constructor({ sizes, tensors, weights }) {
    Object.assign(this, sizes);
    const bytes = bytesOf(weights);
    let taken = 0;
    this.tensors = new Map(tensors.map(([name, size, rows]) => {
      const own = bytes.subarray(taken, (taken += size));
      return [name, rows ? wholeNumbers(own, rows) : halfFloats(own)];
    }));
  }

  row(table, number) {
    return this.tensors.get(table).subarray(number * this.width, (number + 1) * this.width);
  }

  /** W x + b for each vector of a list. */
  linear(name, x) {
    const weight = this.tensors.get(`${name}.weight`), bias = this.tensors.get(`${name}.bias`);
    return x.map((vector) => {
      const result = new Float64Array(bias.length), width = vector.length;
      for (let row = 0, at = 0; row < bias.length; row++) {
        let sum = bias[row];
        for (let k = 0; k < width; k++) sum += weight[at++] * vector[k];
        result[row] = sum;
      }
      return result;
    });
  }

  /** Linear layers with a ReLU between each two: name.0, name.2 and so on. */
  mlp(name, x, layers) {
    for (let layer = 0; layer < layers; layer++) {
      x = this.linear(`${name}.${2 * layer}`, layer ? x.map(relu) : x);
    }
    return x;
  }
}
