// Convolutions over maps of features, in WebAssembly with SIMD where the browser has it (convolve.c), else in JavaScript.
//
// A map has height x width cells with their features side by side, filled up to a multiple of four, and a margin of one
// cell of zeros, so that a kernel lies within it everywhere. Maps and kernels are in one memory, at a place (a count of
// numbers) that never changes: a convolution writes into the same map each time it runs over one of the same size.

/** The memory of a network, and the function that runs a convolution in it. */
class Workspace {
  constructor(size, { compiled = true } = {}) {
    const sums = compiled ? compiledSums(size) : null;
    this.numbers = new Float32Array(sums?.memory.buffer ?? new ArrayBuffer(4 * size));
    this.sums = sums?.convolve ?? ((...given) => plainSums(this.numbers, ...given));
    this.free = 4; // 0 stands for no map; kernels begin at a multiple of four
  }

  /** The place of so many zeros. */
  take(count) {
    const at = this.free;
    this.free += 4 * Math.ceil(count / 4);
    if (this.free > this.numbers.length) throw new RangeError(`a workspace of ${this.numbers.length} numbers is full`);
    return at;
  }
}

/** The compiled function and its memory; null where the browser cannot run it. */
function compiledSums(size) {
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil((4 * size) / 65536) }); // in pages of 64 KiB
    const bytes = Uint8Array.from(atob(CONVOLVE_WASM), (letter) => letter.charCodeAt(0));
    const { convolve } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } }).exports;
    const inBytes = (at) => 4 * at;
    return { memory, convolve: (input, kernel, bias, added, output, ...sizes) => convolve(...[input, kernel, bias, added, output].map(inBytes), ...sizes) };
  } catch {
    return null;
  }
}

/**
 * The sums of a convolution: for each cell of `output` its bias, its cell of `added` (unless that is 0), and the products of
 * the kernel with the cells of `input` under it; at least `lowest`. The kernel holds for each block of four outputs
 * and each cell under it, row by row, four weights for each of `step` inputs. Lines are the lengths of rows: `line` of
 * the input in numbers, those of output and `added` in fours. A cell of `added` serves 2 ** zoom rows and columns.
 */
function plainSums(numbers, input, kernel, bias, added, output, height, width, side, stride, step, line, blocks, outputLine, addedLine, zoom, lowest) {
  const across = side * step, hop = stride * step, next = 4 * blocks;
  const store = (at, a, b, c, d) => {
    numbers[at] = Math.max(lowest, a);
    numbers[at + 1] = Math.max(lowest, b);
    numbers[at + 2] = Math.max(lowest, c);
    numbers[at + 3] = Math.max(lowest, d);
  };
  for (let y = 0; y < height; y++) {
    for (let start = 0; start < width; start += 2) {
      const x = Math.min(start, width - 2); // two cells at a time; the last two may overlap those before
      for (let block = 0, k = kernel; block < blocks; block++) {
        let a0 = numbers[bias + 4 * block], a1 = numbers[bias + 4 * block + 1], a2 = numbers[bias + 4 * block + 2], a3 = numbers[bias + 4 * block + 3];
        let b0 = a0, b1 = a1, b2 = a2, b3 = a3;
        if (added) {
          const row = (y >> zoom) * addedLine + block, one = added + 4 * (row + (x >> zoom) * blocks), two = added + 4 * (row + ((x + 1) >> zoom) * blocks);
          a0 += numbers[one];
          a1 += numbers[one + 1];
          a2 += numbers[one + 2];
          a3 += numbers[one + 3];
          b0 += numbers[two];
          b1 += numbers[two + 1];
          b2 += numbers[two + 2];
          b3 += numbers[two + 3];
        }
        for (let row = 0; row < side; row++) {
          const from = input + (y * stride + row) * line + x * hop;
          for (let at = from, end = from + across; at < end; at++, k += 4) { // the taps of a row lie side by side, as their cells do
            const a = numbers[at], b = numbers[at + hop];
            if (a === 0 && b === 0) continue; // white paper, and what a rectifier cut off
            const k0 = numbers[k], k1 = numbers[k + 1], k2 = numbers[k + 2], k3 = numbers[k + 3];
            a0 += a * k0;
            a1 += a * k1;
            a2 += a * k2;
            a3 += a * k3;
            b0 += b * k0;
            b1 += b * k1;
            b2 += b * k2;
            b3 += b * k3;
          }
        }
        const to = output + 4 * (y * outputLine + x * blocks + block);
        store(to, a0, a1, a2, a3);
        store(to + next, b0, b1, b2, b3);
      }
    }
  }
}

/** A map of features in a workspace, zero at first. */
class FeatureMap {
  constructor(workspace, height, width, features) {
    const step = features === 1 ? 1 : 4 * Math.ceil(features / 4), line = (width + 2) * step;
    Object.assign(this, { workspace, height, width, features, step, line, corner: workspace.take((height + 2) * line) });
  }

  /** The place of a cell's first feature. */
  at(row, column) {
    return this.corner + (row + 1) * this.line + (column + 1) * this.step;
  }

  /** The features of a cell, to be read and written. */
  cell(row, column) {
    return this.workspace.numbers.subarray(this.at(row, column), this.at(row, column) + this.features);
  }

  /** All features, cell by cell. */
  toArray() {
    return range(this.height * this.width, (at) => [...this.cell(Math.floor(at / this.width), at % this.width)]).flat();
  }
}

/** A convolution of side x side cells, stored as outputs x inputs x side x side weights; of outputs x inputs weights, a linear layer for each cell. */
class Convolution {
  constructor(workspace, { shape: [outputs, inputs, side = 1], data }, bias, scale = null) {
    const blocks = Math.ceil(outputs / 4), step = inputs === 1 ? 1 : 4 * Math.ceil(inputs / 4), taps = side * side, { numbers } = workspace;
    Object.assign(this, { workspace, outputs, inputs, side, blocks, step, results: new Map(), kernel: workspace.take(4 * blocks * taps * step), bias: workspace.take(4 * blocks) });
    numbers.set(bias, this.bias);
    for (let o = 0; o < outputs; o++) {
      for (let i = 0; i < inputs; i++) {
        for (let tap = 0; tap < taps; tap++) {
          numbers[this.kernel + (((o >> 2) * taps + tap) * step + i) * 4 + (o & 3)] = data[(o * inputs + i) * taps + tap] * (scale ? scale[o] : 1);
        }
      }
    }
  }

  /**
   * Run over a map: the map of results, which the next run over a map of this size overwrites. Before `rectify` cuts off what
   * is negative, `added` is added, a map of as many features and as large as the result or half as large. Of each row
   * only the first `cells` results are computed, or four.
   */
  over(map, { stride = 1, rectify = false, added = null, cells = Infinity } = {}) {
    const { workspace, side, blocks, outputs } = this, height = Math.ceil(map.height / stride), width = Math.ceil(map.width / stride);
    if (map.step !== this.step) throw new RangeError(`a map must have ${this.inputs} features, got ${map.features}`);
    if (width < 4) throw new RangeError(`a result must be at least 4 cells wide, got ${width}`);
    const size = `${height} x ${width}`, known = this.results.get(size), result = known ?? new FeatureMap(workspace, height, width, 4 * blocks);
    if (!known) this.results.set(size, Object.assign(result, { features: outputs }));
    workspace.sums(side === 1 ? map.at(0, 0) : map.corner, this.kernel, this.bias, added?.at(0, 0) ?? 0, result.at(0, 0), height, clamp(cells, 4, width),
      side, stride, map.step, map.line, blocks, result.line / 4, added ? added.line / 4 : 0, added && added.height < height ? 1 : 0, rectify ? 0 : -Infinity);
    return result;
  }
}
