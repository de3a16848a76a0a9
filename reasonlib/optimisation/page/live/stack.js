// A deep stack of equal layers, as in stack.py: drawn, passed forward and back, and trained in the page.

/** Every activation f with its slope, as in reasonlib.optimisation.models.activations. */
const ACTIVATIONS = {
  sigmoid: [sigmoid, (z) => { const share = sigmoid(z); return share * (1 - share); }],
  "hard sigmoid": [(z) => clamp((z + 1) / 2, 0, 1), (z) => (Math.abs(z) <= 1 ? 0.5 : 0)],
  dSiLU: [(z) => sigmoid(z) * (1 + z * (1 - sigmoid(z))), (z) => sigmoid(z) * (1 - sigmoid(z)) * (2 + z * (1 - 2 * sigmoid(z)))],
  tanh: [Math.tanh, (z) => 1 - Math.tanh(z) ** 2],
  "hard tanh": [(z) => clamp(z, -1, 1), (z) => (Math.abs(z) <= 1 ? 1 : 0)],
  softsign: [(z) => z / (1 + Math.abs(z)), (z) => 1 / (1 + Math.abs(z)) ** 2],
  ReLU: [(z) => (z > 0 ? z : 0), (z) => (z > 0 ? 1 : 0)],
  "leaky ReLU": [(z) => (z > 0 ? z : 0.01 * z), (z) => (z > 0 ? 1 : 0.01)],
  softplus: [(z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))), sigmoid],
  ELU: [(z) => (z > 0 ? z : Math.expm1(z)), (z) => (z > 0 ? 1 : Math.exp(z))],
  swish: [(z) => z * sigmoid(z), (z) => sigmoid(z) * (1 + z * (1 - sigmoid(z)))],
  ELiSH: [(z) => (z >= 0 ? z : Math.expm1(z)) * sigmoid(z),
    (z) => sigmoid(z) * (z >= 0 ? 1 + z * (1 - sigmoid(z)) : Math.exp(z) + Math.expm1(z) * (1 - sigmoid(z)))],
  HardELiSH: [(z) => (z >= 0 ? z : Math.expm1(z)) * clamp((z + 1) / 2, 0, 1),
    (z) => (z >= 0 ? 1 : Math.exp(z)) * clamp((z + 1) / 2, 0, 1) + (Math.abs(z) <= 1 ? 0.5 : 0) * (z >= 0 ? z : Math.expm1(z))],
};

const FADED = 0.1, POINTS = 64;

/** Normal numbers from a seed, two at a time (Box and Muller 1958), as in stack.py. */
function normals(seed) {
  const random = new Random(seed), uniform = () => random.next() + 0.5 / 2 ** 32;
  let spare = null;
  return () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    const radius = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

let drawn = { seed: null, values: [] };

/** The same, without drawing again what was drawn from the last seed. */
function normalsAgain(seed) {
  if (drawn.seed !== seed) drawn = { seed, values: [], draw: normals(seed) };
  const own = drawn;
  let at = 0;
  return () => {
    if (at === own.values.length) own.values.push(own.draw());
    return own.values[at++];
  };
}

let some = null;

/** The points of the plane, one after the other, and their truth: 1 for the half that is farther out. */
function somePoints() {
  if (some) return some;
  const draw = normals(7), x = Float64Array.from({ length: 2 * POINTS }, () => draw());
  const distance = Array.from({ length: POINTS }, (_, i) => Math.hypot(x[2 * i], x[2 * i + 1]));
  const middle = [...distance].sort((a, b) => a - b)[POINTS / 2 - 1];
  return (some = { x, truth: distance.map((one) => (one > middle ? 1 : 0)) });
}

const STEEPEST = new Map(); // the steepest slope of each activation that was asked for

function steepestOf(activation) {
  if (!STEEPEST.has(activation)) {
    const slope = ACTIVATIONS[activation][1];
    STEEPEST.set(activation, range(3201).reduce((most, i) => Math.max(most, Math.abs(slope(-8 + i / 200))), 0));
  }
  return STEEPEST.get(activation);
}

class Stack {
  /** A new stack; it computes in the room of one `before` it that is as deep and no longer used. */
  constructor({ activation, depth, scale, rate, momentum, width, seed }, before = null) {
    Object.assign(this, { depth, width, rate, momentum, steps: 0, points: somePoints(), rooms: before?.depth === depth ? before.rooms : null });
    [this.f, this.slope] = ACTIVATIONS[activation];
    const draw = normalsAgain(seed);
    this.sizes = [2, ...Array(depth).fill(width), 1];
    this.weights = this.sizes.slice(1).map((outs, l) => {
      const weights = new Float64Array(outs * this.sizes[l]), spread = scale / Math.sqrt(this.sizes[l]);
      for (let k = 0; k < weights.length; k += 1) weights[k] = draw() * spread;
      return weights;
    });
    this.biases = this.sizes.slice(1).map((outs) => new Float64Array(outs));
    this.velocities = [...this.weights, ...this.biases].map((one) => new Float64Array(one.length));
    this.steepest = steepestOf(activation);
  }

  /** Room for what one pass computes in a layer; the next pass writes over it. */
  roomFor(l) {
    this.rooms ??= this.sizes.slice(1).map((outs, below) => {
      const ins = this.sizes[below], of = (rows, columns) => new Matrix(rows, columns, new Float64Array(rows * columns));
      return {
        a: of(POINTS, outs), slope: new Float64Array(POINTS * outs), gw: of(outs, ins), gb: new Float64Array(outs), below: of(POINTS, ins),
        fromTurned: of(ins, POINTS), backTurned: of(outs, POINTS), weightsTurned: of(ins, outs),
      };
    });
    return this.rooms[l];
  }

  /** One pass forward and back. It leaves the gradients of the weights for `learn`. */
  look() {
    const { sizes, depth, biases, points: { x, truth } } = this;
    const weights = this.weights.map((one, l) => new Matrix(sizes[l + 1], sizes[l], one));
    const as = [new Matrix(POINTS, 2, x)], slopes = [];
    for (let l = 0; l <= depth; l += 1) {
      const { a, slope } = this.roomFor(l), b = biases[l], z = matmul(as[l], weights[l], { into: a }).data;
      for (let k = 0; k < z.length;) for (let u = 0; u < b.length; u += 1, k += 1) z[k] += b[u];
      if (l < depth) {
        const { f, slope: slopeAt } = this;
        for (let k = 0; k < z.length; k += 1) {
          const at = z[k];
          z[k] = f(at);
          slope[k] = slopeAt(at);
        }
      } else slope.fill(1);
      as.push(a);
      slopes.push(slope);
    }
    const scores = as[depth + 1].data;
    let loss = 0, right = 0, back = new Matrix(POINTS, 1, new Float64Array(POINTS));
    for (let p = 0; p < POINTS; p += 1) {
      const z = scores[p];
      loss += (Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))) - z * truth[p]) / POINTS;
      right += (z > 0) === (truth[p] > 0.5) ? 1 / POINTS : 0;
      back.data[p] = (sigmoid(z) - truth[p]) / POINTS;
    }
    this.gradients = [];
    for (let l = depth; l >= 0; l -= 1) {
      const { gw, gb, below, fromTurned, backTurned, weightsTurned } = this.roomFor(l), { data } = back;
      matmul(back.transposed(backTurned), as[l].transposed(fromTurned), { into: gw });
      gb.fill(0);
      for (let k = 0; k < data.length;) for (let u = 0; u < gb.length; u += 1, k += 1) gb[u] += data[k];
      this.gradients[l] = [gw.data, gb];
      if (!l) break; // of the points themselves no gradient is needed
      matmul(back, weights[l].transposed(weightsTurned), { into: below });
      for (let k = 0; k < below.data.length; k += 1) below.data[k] *= slopes[l - 1][k];
      back = below;
    }
    const layers = Array.from({ length: depth }, (_, l) => {
      const a = as[l + 1].data, slope = slopes[l], faded = FADED * this.steepest, width = this.width;
      let sum = 0, saturated = 0, dead = 0;
      for (let k = 0; k < a.length; k += 1) {
        sum += a[k];
        saturated += !(Math.abs(slope[k]) >= faded);
      }
      for (let u = 0; u < width; u += 1) {
        let alive = false;
        for (let p = 0; p < POINTS && !alive; p += 1) alive = slope[p * width + u] !== 0;
        dead += !alive;
      }
      const gradient = Math.sqrt(dot(this.gradients[l][0], this.gradients[l][0]));
      return { values: a, slopes: slope, mean: sum / a.length, saturated: saturated / a.length, dead, gradient };
    });
    return { loss, accuracy: right, layers };
  }

  /** One step of momentum down the gradients of the last look. */
  learn() {
    const moved = [...this.weights, ...this.biases], by = [...this.gradients.map(([w]) => w), ...this.gradients.map(([, b]) => b)];
    moved.forEach((one, n) => {
      const v = this.velocities[n], g = by[n];
      for (let k = 0; k < one.length; k += 1) {
        v[k] = this.momentum * v[k] + this.rate * g[k];
        one[k] -= v[k];
      }
    });
    this.steps += 1;
  }
}
