// Six optimisers and the surfaces they race on, as in reasonlib.optimisation.models.optimisers and surfaces. Every sum is
// taken in the library's order: close to a minimum Adadelta may swing, and then it magnifies the last digit.

/** From the state after a step to the next one: `at` (the point), and what an optimiser remembers. */
const OPTIMISERS = {
  "gradient descent": (slope, at, _, { rate }) => {
    const g = slope(at);
    return at.map((x, i) => x - rate * g[i]);
  },
  momentum: (slope, at, memory, { rate, momentum }) => {
    const g = slope(at);
    memory.v = (memory.v ?? [0, 0]).map((v, i) => momentum * v + rate * g[i]);
    return at.map((x, i) => x - memory.v[i]);
  },
  Nesterov: (slope, at, memory, { rate, momentum }) => {
    const v = memory.v ?? [0, 0];
    const g = slope(at.map((x, i) => x - momentum * v[i])); // the slope at where momentum alone would go
    memory.v = v.map((one, i) => momentum * one + rate * g[i]);
    return at.map((x, i) => x - memory.v[i]);
  },
  Adagrad: (slope, at, memory, { reach }) => {
    const g = slope(at);
    memory.sum = (memory.sum ?? [0, 0]).map((sum, i) => sum + g[i] * g[i]);
    return at.map((x, i) => x - (reach / Math.sqrt(memory.sum[i] + 1e-8)) * g[i]);
  },
  Adadelta: (slope, at, memory, { epsilon }) => {
    const g = slope(at), keep = 0.9;
    memory.squares = (memory.squares ?? [0, 0]).map((one, i) => keep * one + (1 - keep) * (g[i] * g[i]));
    const moved = memory.moved ?? [0, 0];
    const by = g.map((one, i) => (Math.sqrt(moved[i] + epsilon) / Math.sqrt(memory.squares[i] + epsilon)) * one);
    memory.moved = moved.map((one, i) => keep * one + (1 - keep) * (by[i] * by[i]));
    return at.map((x, i) => x - by[i]);
  },
  Adam: (slope, at, memory, { reach }) => {
    const g = slope(at), first = 0.9, second = 0.999;
    memory.t = (memory.t ?? 0) + 1;
    memory.m = (memory.m ?? [0, 0]).map((m, i) => first * m + (1 - first) * g[i]);
    memory.v = (memory.v ?? [0, 0]).map((v, i) => second * v + (1 - second) * (g[i] * g[i]));
    return at.map((x, i) => {
      const mean = memory.m[i] / (1 - first ** memory.t), square = memory.v[i] / (1 - second ** memory.t);
      return x - (reach * mean) / (Math.sqrt(square) + 1e-8);
    });
  },
};

const STEEPNESS = 25, BOWL = 0.15;

/** A surface: its height and its slope at a point. */
const SURFACES = {
  ravine: { value: ([x, y]) => (x * x + STEEPNESS * (y * y)) / 2, slope: ([x, y]) => [x, STEEPNESS * y] },
  saddle: { value: ([x, y]) => x * x - y * y, slope: ([x, y]) => [2 * x, -2 * y] },
  beale: {
    value: ([x, y]) => {
      const [one, two, three] = [1.5 - x + x * y, 2.25 - x + x * (y * y), 2.625 - x + x * (y * y * y)];
      return one * one + two * two + three * three;
    },
    slope: ([x, y]) => {
      const [one, two, three] = [1.5 - x + x * y, 2.25 - x + x * (y * y), 2.625 - x + x * (y * y * y)];
      return [2 * (one * (y - 1) + two * (y * y - 1) + three * (y * y * y - 1)), 2 * x * (one + two * 2 * y + three * 3 * (y * y))];
    },
  },
  rosenbrock: {
    value: ([x, y]) => (1 - x) * (1 - x) + 20 * ((y - x * x) * (y - x * x)),
    slope: ([x, y]) => [-2 * (1 - x) - 80 * x * (y - x * x), 40 * (y - x * x)],
  },
};

/** A bowl with the reader's hills and valleys, each [x, y, height, width]: `hills` of the library. */
function hills(bumps) {
  const round = ([a, b, height, width], x, y) => height * Math.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width ** 2));
  return {
    value: ([x, y]) => bumps.reduce((sum, bump) => sum + round(bump, x, y), (BOWL / 2) * (x ** 2 + y ** 2)),
    slope: ([x, y]) => bumps.reduce(([gx, gy], bump) => {
      const push = round(bump, x, y) / bump[3] ** 2;
      return [gx - push * (x - bump[0]), gy - push * (y - bump[1])];
    }, [BOWL * x, BOWL * y]),
  };
}

/** Follow an optimiser from a point; it ends early once it has left the window far behind. */
function follow(name, surface, start, settings, steps, ends) {
  const points = [start], losses = [surface.value(start)], memory = {};
  for (let step = 0; step < steps; step += 1) {
    const next = OPTIMISERS[name](surface.slope, points[step], memory, settings);
    const loss = surface.value(next);
    const gone = next.some((x, i) => !(Math.abs(x - (ends[i][0] + ends[i][1]) / 2) <= ends[i][1] - ends[i][0]));
    if (!Number.isFinite(loss) || !next.every(Number.isFinite)) return { points, losses, left: step + 1 };
    points.push(next);
    losses.push(loss);
    if (gone) return { points, losses, left: step + 1 };
  }
  return { points, losses, left: null };
}
