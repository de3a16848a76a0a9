// CKA with a linear kernel, plain and unbiased, as in reasonlib.nn.similarity. Rows are examples.

/** The products of all examples with one another, N numbers N times. */
function products(rows) {
  const table = rows.map(() => new Float64Array(rows.length));
  rows.forEach((x, k) => { for (let l = 0; l <= k; l++) table[k][l] = table[l][k] = dot(x, rows[l]); });
  return table;
}

/** HSIC of two tables of products: centred (biased), times (N - 1) squared. */
function plainHsic(first, second) {
  const count = first.length, means = first.map((row) => sum(row) / count), mean = sum(means) / count;
  return first.reduce((total, row, k) => total + row.reduce((part, value, l) => part + (value - means[k] - means[l] + mean) * second[k][l], 0), 0);
}

/** The unbiased estimate of HSIC (Song et al. 2012): no example is compared with itself. */
function unbiasedHsic(first, second) {
  const count = first.length, rows = (table) => table.map((row, k) => sum(row) - row[k]), a = rows(first), b = rows(second);
  const both = first.reduce((total, row, k) => total + row.reduce((part, value, l) => part + (k === l ? 0 : value * second[k][l]), 0), 0);
  const cross = a.reduce((total, value, k) => total + value * b[k], 0);
  return both + (sum(a) * sum(b)) / ((count - 1) * (count - 2)) - (2 * cross) / (count - 2);
}

/** CKA of two tables of products, by an estimate of HSIC. */
const estimateCka = (first, second, hsic) => hsic(first, second) / Math.sqrt(hsic(first, first) * hsic(second, second));
