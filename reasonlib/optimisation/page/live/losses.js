// Losses with their slopes, as in reasonlib.optimisation.models.losses, and the lines that make them least.

/** Of a number: from an error (prediction less target) to the loss and its slope against the prediction. */
const REGRESSION = {
  mse: (e) => [e ** 2, 2 * e],
  mae: (e) => [Math.abs(e), Math.sign(e)],
  huber: (e, { delta }) => (Math.abs(e) <= delta ? [e ** 2 / 2, e] : [delta * (Math.abs(e) - delta / 2), delta * Math.sign(e)]),
  "log-cosh": (e) => [Math.abs(e) + Math.log1p(Math.exp(-2 * Math.abs(e))) - Math.LN2, Math.tanh(e)],
  quantile: (e, { gamma }) => (e > 0 ? [(1 - gamma) * e, 1 - gamma] : [-gamma * e, e < 0 ? -gamma : 0.5 - gamma]),
  mbe: (e) => [e, 1],
};

const softplus = (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
const surprise = (p) => (p > 0 ? p * Math.log(p) : 0);

/** Of a yes or no: from a score z and the truth y (0 to 1) to the loss and its slope against the score. */
const CLASSIFICATION = {
  "log loss": (z, y) => [softplus(z) - z * y, sigmoid(z) - y],
  focal: (z, y, { focus }) => {
    const missed = softplus(z) - z * y, easy = Math.exp(-missed), hard = -Math.expm1(-missed);
    const turned = hard > 0 ? focus * hard ** (focus - 1) * easy * missed : 0;
    return [hard ** focus * missed, (sigmoid(z) - y) * (hard ** focus + turned)];
  },
  hinge: (z, y) => {
    const sign = 2 * y - 1, short = 1 - sign * z;
    return [Math.max(0, short), short >= 0 ? -sign : 0];
  },
  kl: (z, y) => [softplus(z) - z * y + surprise(y) + surprise(1 - y), sigmoid(z) - y],
  square: (z, y) => {
    const p = sigmoid(z);
    return [(p - y) ** 2, 2 * (p - y) * p * (1 - p)];
  },
};

/** The line [height at 0, slope] that weighted squares make least. */
function weighted(points, weights) {
  let w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  points.forEach(([x, y], i) => {
    w += weights[i];
    wx += weights[i] * x;
    wy += weights[i] * y;
    wxx += weights[i] * x * x;
    wxy += weights[i] * x * y;
  });
  const slope = (w * wxy - wx * wy) / (w * wxx - wx * wx || 1e-12);
  return [(wy - slope * wx) / w, slope];
}

const meanLoss = (name, [a, b], points, settings) =>
  points.reduce((sum, [x, y]) => sum + REGRESSION[name](a + b * x - y, settings)[0], 0) / points.length;

/** The line with the least mean loss; null where all points stand one above the other. */
function fitLine(name, points, settings) {
  if (points.every(([x]) => x === points[0][0])) return null;
  if (name === "mse") return weighted(points, points.map(() => 1));
  if (name === "mae" || name === "quantile") {
    // Losses with a corner: one of the best lines goes through two of the points, so try all pairs.
    let best = null, least = Infinity;
    points.forEach(([x1, y1], i) => points.slice(0, i).forEach(([x2, y2]) => {
      if (x1 === x2) return;
      const slope = (y1 - y2) / (x1 - x2), line = [y1 - slope * x1, slope];
      const loss = meanLoss(name, line, points, settings);
      if (loss < least) [best, least] = [line, loss];
    }));
    return best;
  }
  // Smooth losses: squares, weighted by slope over error, again and again.
  let line = fitLine("mae", points, settings);
  for (let turn = 0; turn < 400; turn += 1) {
    const [a, b] = line;
    line = weighted(points, points.map(([x, y]) => {
      const error = a + b * x - y;
      return Math.abs(error) < 1e-9 ? 1 : REGRESSION[name](error, settings)[1] / error;
    }));
    if (Math.abs(line[0] - a) + Math.abs(line[1] - b) < 1e-12) break;
  }
  return line;
}
