// HSIC, CKA and SVCCA of small sets of points, as reasonlib.nn.similarity computes them. A representation is an array of rows.

const inner = (a, b) => a.reduce((total, value, at) => total + value * b[at], 0);
const meanOf = (values) => values.reduce((total, value) => total + value, 0) / values.length;

/** Every row minus the mean of the rows. */
function centredRows(x) {
  const means = x[0].map((_, at) => meanOf(x.map((row) => row[at])));
  return x.map((row) => row.map((value, at) => value - means[at]));
}

const linearKernel = (x) => x.map((row) => x.map((other) => inner(row, other)));

/** A Gaussian whose bandwidth is the median distance between examples. */
function gaussianKernel(x) {
  const squares = x.map((row) => x.map((other) => row.reduce((total, value, at) => total + (value - other[at]) ** 2, 0)));
  const sorted = squares.flat().sort((a, b) => a - b), half = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return squares.map((row) => row.map((square) => Math.exp(-square / (2 * Math.max(median, 1e-300)))));
}

function hsicOf(first, second) {
  const rows = first.map(meanOf), all = meanOf(rows), count = first.length;
  return first.reduce((total, row, i) => total + row.reduce((sum, value, j) => sum + (value - rows[i] - rows[j] + all) * second[i][j], 0), 0) / (count - 1) ** 2;
}

/** The estimate without bias (Song et al. 2012). */
function debiasedHsic(first, second) {
  const hollow = (kernel) => kernel.map((row, i) => row.map((value, j) => (i === j ? 0 : value)));
  const [k, l] = [hollow(first), hollow(second)], count = k.length, rows = (kernel) => kernel.map((row) => inner(row, row.map(() => 1)));
  const [a, b] = [rows(k), rows(l)], total = (values) => inner(values, values.map(() => 1));
  const sum = k.reduce((all, row, i) => all + inner(row, l[i]), 0) + (total(a) * total(b)) / ((count - 1) * (count - 2)) - (2 * inner(a, b)) / (count - 2);
  return sum / (count * (count - 3));
}

function ckaOf(first, second, measure = hsicOf) {
  const [both, one, other] = [measure(first, second), measure(first, first), measure(second, second)];
  return one > 0 && other > 0 ? both / (Math.sqrt(one) * Math.sqrt(other)) : 0;
}

/** Eigenvalues and eigenvectors (columns) of a symmetric matrix, by Jacobi's rotations; the largest first. */
function eigen(matrix) {
  const a = matrix.map((row) => [...row]), count = a.length, v = a.map((_, i) => a.map((_, j) => Number(i === j)));
  for (let sweep = 0; sweep < 60; sweep += 1) {
    let off = 0;
    for (let p = 0; p < count; p += 1) for (let q = p + 1; q < count; q += 1) off += a[p][q] ** 2;
    if (off < 1e-26) break;
    for (let p = 0; p < count; p += 1) {
      for (let q = p + 1; q < count; q += 1) {
        if (Math.abs(a[p][q]) < 1e-300) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]), t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1), s = t * c;
        for (let k = 0; k < count; k += 1) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
        for (let k = 0; k < count; k += 1) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
        for (let k = 0; k < count; k += 1) [v[k][p], v[k][q]] = [c * v[k][p] - s * v[k][q], s * v[k][p] + c * v[k][q]];
      }
    }
  }
  const order = a.map((_, i) => i).sort((i, j) => a[j][j] - a[i][i]);
  return { values: order.map((i) => a[i][i]), vectors: v.map((row) => order.map((i) => row[i])) };
}

/** Orthonormal scores of the centred rows on the directions that hold most of their variance; as columns. */
function principalScores(x, threshold = 0.99) {
  const { values, vectors } = eigen(linearKernel(centredRows(x))), total = values.reduce((sum, value) => sum + Math.max(value, 0), 0);
  let kept = 0, explained = 0;
  while (kept < values.length && values[kept] > 1e-10 * values[0] && explained < threshold * total) explained += values[kept++];
  return Array.from({ length: kept }, (_, at) => vectors.map((row) => row[at]));
}

/** Singular vector canonical correlations, the largest first. */
function svccaOf(x, y, threshold = 0.99) {
  const [u, v] = [principalScores(x, threshold), principalScores(y, threshold)].sort((a, b) => a.length - b.length);
  if (!u.length) return [];
  const products = u.map((one) => v.map((other) => inner(one, other)));
  return eigen(linearKernel(products)).values.map((value) => Math.min(1, Math.sqrt(Math.max(value, 0))));
}

/** All measures of two representations of the same examples. */
function measuresOf(x, y) {
  const [k, l] = [linearKernel(x), linearKernel(y)], coefficients = svccaOf(x, y);
  return {
    linear: ckaOf(k, l), debiased: ckaOf(k, l, debiasedHsic), rbf: ckaOf(gaussianKernel(x), gaussianKernel(y)),
    svcca: coefficients.length ? meanOf(coefficients) : 0,
  };
}
