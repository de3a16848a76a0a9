// CKA with a linear kernel, plain and unbiased, as in reasonlib.nn.similarity, of two clouds that grow. Rows are examples.

/** The products of four rows of a matrix with four others, at once: most of the time goes here. */
function products({ columns, data }, first, second) {
  const p0 = first * columns, p1 = p0 + columns, p2 = p1 + columns, p3 = p2 + columns;
  const q0 = second * columns, q1 = q0 + columns, q2 = q1 + columns, q3 = q2 + columns;
  let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0, c0 = 0, c1 = 0, c2 = 0, c3 = 0, d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (let k = 0; k < columns; k++) {
    const y0 = data[q0 + k], y1 = data[q1 + k], y2 = data[q2 + k], y3 = data[q3 + k];
    let x = data[p0 + k];
    a0 += x * y0, a1 += x * y1, a2 += x * y2, a3 += x * y3;
    x = data[p1 + k];
    b0 += x * y0, b1 += x * y1, b2 += x * y2, b3 += x * y3;
    x = data[p2 + k];
    c0 += x * y0, c1 += x * y1, c2 += x * y2, c3 += x * y3;
    x = data[p3 + k];
    d0 += x * y0, d1 += x * y1, d2 += x * y2, d3 += x * y3;
  }
  return [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3];
}

/** Sums over the products of all examples with one another that both estimates of CKA are made of. */
class Comparison {
  constructor(x, y) {
    const zeros = () => [new Float64Array(x.rows), new Float64Array(x.rows)];
    Object.assign(this, { clouds: [x, y], count: 0, sums: zeros(), own: zeros(), both: [0, 0, 0] }); // of x with x, x with y, y with y
  }

  /** Compare the next four examples with those before and with one another. */
  grow() {
    for (const _ of this.slowly());
  }

  /** The same, with a pause after each few of those before. */
  * slowly() {
    const { clouds, count, both, sums: [xs, ys], own: [xx, yy] } = this;
    for (let from = 0; from <= count; from += 4) {
      const a = products(clouds[0], count, from), b = products(clouds[1], count, from);
      for (let at = 0; at < 16; at++) {
        const k = count + (at >> 2), l = from + (at & 3), times = l < k ? 2 : 1; // a pair stands for its mirror image, too
        if (l > k) continue;
        both[0] += times * a[at] * a[at];
        both[1] += times * a[at] * b[at];
        both[2] += times * b[at] * b[at];
        xs[k] += a[at];
        ys[k] += b[at];
        if (l < k) {
          xs[l] += a[at];
          ys[l] += b[at];
        } else {
          xx[k] = a[at];
          yy[k] = b[at];
        }
      }
      if (from % 64 === 60) yield;
    }
    this.count += 4;
  }

  /** HSIC times (N - 1) squared; or the unbiased estimate (Song et al. 2012), where no example is compared with itself. */
  hsic(i, j, unbiased) {
    const { count: n, sums, own } = this;
    let both = this.both[i + j], cross = 0, left = 0, right = 0;
    for (let k = 0; k < n; k++) {
      const a = sums[i][k] - (unbiased ? own[i][k] : 0), b = sums[j][k] - (unbiased ? own[j][k] : 0);
      if (unbiased) both -= own[i][k] * own[j][k];
      cross += a * b;
      left += a;
      right += b;
    }
    return unbiased ? both + (left * right) / ((n - 1) * (n - 2)) - (2 * cross) / (n - 2) : both + (left * right) / (n * n) - (2 * cross) / n;
  }

  /** CKA of the examples so far, by the plain or the unbiased estimate. */
  cka(unbiased = false) {
    return this.hsic(0, 1, unbiased) / Math.sqrt(this.hsic(0, 0, unbiased) * this.hsic(1, 1, unbiased));
  }
}
