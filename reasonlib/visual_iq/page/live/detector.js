// The detector in the reader's browser: the sums of reasonlib/visual_iq/models/detector, one for one, on weights
// that were trained there. A map has H x W cells with their C features side by side; a box is [x0, y0, x1, y1].

const LONGEST_STEP = Math.log(1000 / 16);

/** A convolution whose kernel is laid out for four outputs at a time; batch normalisation is folded into it. */
class Convolution {
  constructor(part, norm = null, bias = null) {
    const { shape: [outputs, inputs, side], data } = part.tensor("weight");
    const blocks = Math.ceil(outputs / 4), taps = side * side;
    Object.assign(this, { outputs, inputs, side, blocks, before: new Map() });
    this.kernel = new Float64Array(blocks * taps * inputs * 4);
    this.bias = new Float64Array(4 * blocks);
    for (let o = 0; o < outputs; o++) {
      const scale = norm ? norm.vector("weight")[o] / Math.sqrt(norm.vector("running_var")[o] + 1e-5) : 1;
      this.bias[o] = norm ? norm.vector("bias")[o] - norm.vector("running_mean")[o] * scale : bias[o];
      for (let i = 0; i < inputs; i++) {
        for (let tap = 0; tap < taps; tap++) {
          this.kernel[(((o >> 2) * taps + tap) * inputs + i) * 4 + (o & 3)] = data[(o * inputs + i) * taps + tap] * scale;
        }
      }
    }
  }

  /** Which cells of the result see a cell that is not what it was when a map of this size came last. */
  changed({ height, width, data }, h, w, stride, last) {
    const { inputs, side } = this, reach = (side - 1) / 2, todo = new Uint8Array(h * w);
    for (let cell = 0, at = 0; cell < height * width; cell++, at += inputs) {
      let k = 0;
      while (k < inputs && data[at + k] === last[at + k]) k++;
      if (k === inputs) continue;
      const y = Math.floor(cell / width), x = cell % width;
      for (let row = Math.ceil((y - reach) / stride); row <= Math.min((y + reach) / stride, h - 1); row++) {
        for (let column = Math.ceil((x - reach) / stride); column <= Math.min((x + reach) / stride, w - 1); column++) {
          if (row >= 0 && column >= 0) todo[row * w + column] = 1;
        }
      }
    }
    return todo;
  }

  /** A map with a margin of zeros, so that the kernel lies within it everywhere. */
  padded({ height, width, data }, reach) {
    if (!reach) return data;
    const line = width * this.inputs, whole = line + 2 * reach * this.inputs, all = new Float64Array((height + 2 * reach) * whole);
    for (let y = 0; y < height; y++) all.set(data.subarray(y * line, (y + 1) * line), (y + reach) * whole + reach * this.inputs);
    return all;
  }

  /**
   * Run over a map; `rectify` cuts off what is negative. Cells that see nothing new keep their result. Both maps are kept
   * for that: do not write into them. Two cells and four outputs go together: a processor adds faster than it reads.
   */
  over(map, { stride = 1, rectify = false } = {}) {
    const { height, width, data } = map, { outputs, inputs, side, blocks, kernel, bias } = this, reach = (side - 1) / 2;
    const h = Math.ceil(height / stride), w = Math.ceil(width / stride), last = this.before.get(height);
    const todo = last ? this.changed(map, h, w, stride, last.data) : null, input = this.padded(map, reach);
    const result = last ? last.result.slice() : new Float64Array(h * w * outputs), line = (width + 2 * reach) * inputs, across = side * inputs;
    const lowest = rectify ? 0 : -Infinity, tiles = side === 3 && stride === 1 && h % 2 === 0 && w % 2 === 0;
    if (tiles) this.overTiles(input, line, h, w, todo, result, lowest);
    for (let y = 0; !tiles && y < h; y++) {
      for (let x = 0; x < w; x += 2) {
        const both = x + 1 < w;
        if (todo && !todo[y * w + x] && !(both && todo[y * w + x + 1])) continue;
        const first = y * stride * line + x * stride * inputs, second = both ? stride * inputs : 0;
        for (let block = 0, k = 0; block < blocks; block++) {
          let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
          for (let row = 0, from = first; row < side; row++, from += line) {
            for (let at = from, end = from + across; at < end; at++, k += 4) { // the taps of a row lie side by side, as their cells do
              const a = input[at], b = input[at + second];
              if (a === 0 && b === 0) continue; // white paper, and what a rectifier cut off
              const k0 = kernel[k], k1 = kernel[k + 1], k2 = kernel[k + 2], k3 = kernel[k + 3];
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
          const o = 4 * block, to = (y * w + x) * outputs + o, count = Math.min(4, outputs - o);
          result[to] = Math.max(lowest, a0 + bias[o]);
          if (count > 1) result[to + 1] = Math.max(lowest, a1 + bias[o + 1]);
          if (count > 2) result[to + 2] = Math.max(lowest, a2 + bias[o + 2]);
          if (count > 3) result[to + 3] = Math.max(lowest, a3 + bias[o + 3]);
          if (!both) continue;
          result[to + outputs] = Math.max(lowest, b0 + bias[o]);
          if (count > 1) result[to + outputs + 1] = Math.max(lowest, b1 + bias[o + 1]);
          if (count > 2) result[to + outputs + 2] = Math.max(lowest, b2 + bias[o + 2]);
          if (count > 3) result[to + outputs + 3] = Math.max(lowest, b3 + bias[o + 3]);
        }
      }
    }
    this.before.set(height, { data, result });
    return { height: h, width: w, features: outputs, data: result };
  }

  /**
   * The same for four cells at a time, two by two, with 16 products of numbers where there were 36 (Lavin and Gray 2016):
   * cells and kernel are turned so that their products, place by place, are those of the four results, turned.
   */
  overTiles(input, line, h, w, todo, result, lowest) {
    const { inputs, outputs, blocks, bias } = this, turned = (this.turned ??= turnedKernel(this)), wide = 4 * blocks, tiles = [];
    for (let y = 0; y < h; y += 2) {
      for (let x = 0, at = y * w; x < w; x += 2, at += 2) if (!todo || todo[at] || todo[at + 1] || todo[at + w] || todo[at + w + 1]) tiles.push([y, x]);
    }
    const seen = new Float64Array(2 * 16 * inputs), found = new Float64Array(2 * 16 * wide);
    for (let number = 0; number < tiles.length; number += 2) {
      const both = tiles.slice(number, number + 2);
      both.forEach(([y, x], which) => turnCells(input, y * line + x * inputs, line, inputs, seen, which * 16 * inputs));
      for (let place = 0, k = 0; place < 16; place++) {
        const one = place * inputs, other = one + 16 * inputs;
        for (let block = 0; block < blocks; block++) {
          let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
          for (let i = 0; i < inputs; i++, k += 4) {
            const a = seen[one + i], b = seen[other + i], k0 = turned[k], k1 = turned[k + 1], k2 = turned[k + 2], k3 = turned[k + 3];
            a0 += a * k0;
            a1 += a * k1;
            a2 += a * k2;
            a3 += a * k3;
            b0 += b * k0;
            b1 += b * k1;
            b2 += b * k2;
            b3 += b * k3;
          }
          const to = place * wide + 4 * block, next = to + 16 * wide;
          found[to] = a0;
          found[to + 1] = a1;
          found[to + 2] = a2;
          found[to + 3] = a3;
          found[next] = b0;
          found[next + 1] = b1;
          found[next + 2] = b2;
          found[next + 3] = b3;
        }
      }
      both.forEach(([y, x], which) => {
        const to = (y * w + x) * outputs, below = to + w * outputs;
        for (let o = 0, at = which * 16 * wide; o < outputs; o++, at++) {
          let left = bias[o], right = left, lower = left, corner = left; // the two cells above, the two below
          for (let r = 0, one = at; r < 4; r++, one += 4 * wide) {
            const b = found[one + wide], c = found[one + 2 * wide], near = found[one] + b + c, far = b - c - found[one + 3 * wide];
            if (r < 3) {
              left += near;
              right += far;
            }
            if (r === 1) {
              lower += near;
              corner += far;
            } else if (r > 1) {
              lower -= near;
              corner -= far;
            }
          }
          result[to + o] = left > lowest ? left : lowest;
          result[to + outputs + o] = right > lowest ? right : lowest;
          result[below + o] = lower > lowest ? lower : lowest;
          result[below + outputs + o] = corner > lowest ? corner : lowest;
        }
      });
    }
  }
}

/** A kernel of three by three, turned to four by four: G k G^T, for each input and output. */
function turnedKernel({ inputs, blocks, kernel }) {
  const size = 4 * inputs, turned = new Float64Array(16 * blocks * size), half = new Float64Array(12);
  for (let block = 0; block < blocks; block++) {
    for (let k = 0; k < size; k++) {
      for (let column = 0; column < 3; column++) { // down the columns, then along the rows
        const at = (block * 9 + column) * size + k, a = kernel[at], b = kernel[at + 3 * size], c = kernel[at + 6 * size];
        half[column] = a;
        half[3 + column] = (a + b + c) / 2;
        half[6 + column] = (a - b + c) / 2;
        half[9 + column] = c;
      }
      for (let row = 0; row < 4; row++) {
        const a = half[3 * row], b = half[3 * row + 1], c = half[3 * row + 2], put = (4 * row * blocks + block) * size + k, next = blocks * size;
        turned[put] = a;
        turned[put + next] = (a + b + c) / 2;
        turned[put + 2 * next] = (a - b + c) / 2;
        turned[put + 3 * next] = c;
      }
    }
  }
  return turned;
}

/** Four by four cells from `from` on, turned: B^T d B, for each input. */
function turnCells(input, from, line, inputs, into, to) {
  for (let i = 0; i < inputs; i++) {
    for (let column = 0; column < 4; column++) { // down the columns; then along the rows, in place
      const at = from + column * inputs + i, a = input[at], b = input[at + line], c = input[at + 2 * line], d = input[at + 3 * line], put = to + column * inputs + i;
      into[put] = a - c;
      into[put + 4 * inputs] = b + c;
      into[put + 8 * inputs] = c - b;
      into[put + 12 * inputs] = b - d;
    }
    for (let row = 0; row < 4; row++) {
      const put = to + 4 * row * inputs + i, a = into[put], b = into[put + inputs], c = into[put + 2 * inputs], d = into[put + 3 * inputs];
      into[put] = a - c;
      into[put + inputs] = b + c;
      into[put + 2 * inputs] = c - b;
      into[put + 3 * inputs] = b - d;
    }
  }
}

// Boxes ------------------------------------------------------------------------------------------------------

/** What encode wrote, moved and stretched back from an anchor, and cut to the canvas. */
function decodeBox([x, y, w, h], [left, top, right, bottom]) {
  const wide = right - left, high = bottom - top, column = (left + right) / 2 + x * wide, row = (top + bottom) / 2 + y * high;
  const across = (Math.exp(Math.min(w, LONGEST_STEP)) * wide) / 2, down = (Math.exp(Math.min(h, LONGEST_STEP)) * high) / 2;
  const low = [clamp(column - across, 0, CANVAS - 1), clamp(row - down, 0, CANVAS - 1)];
  return [...low, Math.max(Math.min(column + across, CANVAS), low[0] + 1), Math.max(Math.min(row + down, CANVAS), low[1] + 1)];
}

/** Intersection over union. */
function overlapOf(a, b) {
  const wide = Math.min(a[2], b[2]) - Math.max(a[0], b[0]), high = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  if (wide <= 0 || high <= 0) return 0;
  const area = (box) => (box[2] - box[0]) * (box[3] - box[1]);
  return (wide * high) / (area(a) + area(b) - wide * high);
}

/** Non-maximum suppression: from the best box to the worst, those that overlap no kept one by more than `most`. */
function suppressed(found, most) {
  const kept = [];
  for (const one of [...found].sort((a, b) => b.score - a.score)) {
    if (kept.every((better) => overlapOf(better.box, one.box) <= most)) kept.push(one);
  }
  return kept;
}

// The two stages ---------------------------------------------------------------------------------------------

class Detector {
  constructor(weights, { strides, anchors, bins, preNms, kept, found, suppress, scale, background }) {
    Object.assign(this, { strides, anchors, bins, preNms, kept, found, suppress, scale, background });
    const pair = (name) => new Convolution(weights.part(`${name}.0`), weights.part(`${name}.1`));
    const plain = (name) => new Convolution(weights.part(name), null, weights.part(name).vector("bias"));
    this.stem = pair("backbone.stem.0");
    this.stages = strides.map((_, level) => {
      const name = `backbone.stages.${level}`;
      return { down: pair(`${name}.0`), first: pair(`${name}.2.first`), second: pair(`${name}.2.second`) };
    });
    this.lateral = strides.map((_, level) => plain(`pyramid.lateral.${level}`));
    this.output = strides.map((_, level) => plain(`pyramid.output.${level}`));
    this.proposal = { hidden: plain("proposal.hidden"), answer: plain("proposal.answer") };
    this.heads = { object: weights.part("heads.object"), attributes: range(3, (number) => weights.part(`heads.attributes.${number}`)) };
  }

  /** Features of a panel on four scales, each with what the coarser ones know. */
  features(pixels) {
    const ink = new Float64Array(pixels.length);
    for (let at = 0; at < ink.length; at++) ink[at] = 1 - pixels[at] / 255;
    let map = this.stem.over({ height: CANVAS, width: CANVAS, data: ink }, { stride: 2, rectify: true });
    const levels = this.stages.map(({ down, first, second }) => {
      map = down.over(map, { stride: 2, rectify: true });
      const change = second.over(first.over(map, { rectify: true })).data, data = new Float64Array(change.length);
      for (let at = 0; at < data.length; at++) data[at] = Math.max(0, map.data[at] + change[at]);
      return (map = { ...map, data });
    });
    const merged = [];
    for (const level of [3, 2, 1, 0]) {
      const own = this.lateral[level].over(levels[level]), { height, width, features } = own, data = own.data.slice(), coarser = merged[level + 1];
      for (let y = 0, to = 0; coarser && y < height; y++) {
        for (let x = 0; x < width; x++) {
          const from = ((y >> 1) * coarser.width + (x >> 1)) * features;
          for (let k = 0; k < features; k++) data[to++] += coarser.data[from + k];
        }
      }
      merged[level] = { ...own, data };
    }
    return merged.map((map, level) => this.output[level].over(map));
  }

  /** The anchors most likely to hold something, moved and stretched; of these the best, without near copies. */
  propose(pyramid) {
    const answers = pyramid.map((map) => this.proposal.answer.over(this.proposal.hidden.over(map, { rectify: true })));
    const per = this.anchors[0].length, start = answers.map(({ data }) => data.length / 5).map((_, level, all) => sum(all.slice(0, level)));
    const logits = new Float64Array(start.at(-1) + answers.at(-1).data.length / 5);
    answers.forEach(({ data }, level) => {
      for (let at = 0, to = start[level]; at < data.length; at += 5) logits[to++] = data[at];
    });
    const anchors = topOf(logits, this.preNms).map((at) => {
      const level = start.findLastIndex((first) => first <= at), own = at - start[level], cell = Math.floor(own / per), { width, data } = answers[level];
      const x = ((cell % width) + 0.5) * this.strides[level], y = (Math.floor(cell / width) + 0.5) * this.strides[level];
      const half = this.anchors[level][own % per] / 2, anchor = [x - half, y - half, x + half, y + half];
      return { anchor, score: sigmoid(logits[at]), box: decodeBox(data.subarray(5 * own + 1, 5 * own + 5), anchor) };
    });
    return { anchors, proposals: suppressed(anchors, this.suppress[0]).slice(0, this.kept) };
  }

  /** The patch of a box, of `bins` by `bins` cells, each read between four cells (RoI align); then where the box lies. */
  patch(pyramid, box) {
    const wide = box[2] - box[0], high = box[3] - box[1], { bins } = this;
    const side = Math.sqrt(Math.max(wide, 1) * Math.max(high, 1));
    const level = clamp(Math.floor(Math.log2(Math.fround(side) / (bins * this.strides[0]))), 0, 2);
    const { height, width, features, data } = pyramid[level], result = new Float64Array(features * bins * bins + 6);
    const between = (low, length, bin, cells) => {
      const at = clamp((low + ((bin + 0.5) / bins) * length) / this.strides[level] - 0.5, 0, cells - 1);
      const first = Math.min(Math.floor(at), Math.max(cells - 2, 0));
      return [first, Math.min(first + 1, cells - 1), at - first];
    };
    for (let row = 0; row < bins; row++) {
      const [top, below, down] = between(box[1], high, row, height);
      for (let column = 0; column < bins; column++) {
        const [left, right, across] = between(box[0], wide, column, width);
        const corners = [[top, left, (1 - down) * (1 - across)], [top, right, (1 - down) * across], [below, left, down * (1 - across)], [below, right, down * across]];
        for (const [y, x, share] of corners) {
          const from = (y * width + x) * features;
          for (let k = 0; k < features; k++) result[(k * bins + row) * bins + column] += share * data[from + k];
        }
      }
    }
    const place = [...box.map((edge) => edge / (CANVAS / 2) - 1), ...[wide, high].map((length) => Math.log(Math.max(length, 1) / CANVAS) + 1)];
    result.set(place, features * bins * bins);
    return result;
  }

  /** Two hidden layers and an answer, for every patch. */
  ask(head, patches) {
    const hidden = linear(head.part("second"), linear(head.part("first"), patches).map(relu)).map(relu);
    return linear(head.part("answer"), hidden);
  }

  /** Of every box: the patch, the type and probability of what stands in it, and a better box. */
  look(pyramid, boxes) {
    const patches = Matrix.of(boxes.map((box) => this.patch(pyramid, box))), answers = this.ask(this.heads.object, patches);
    return boxes.map((box, at) => {
      const answer = Array.from(answers.row(at)), shares = softmax(answer.slice(0, this.background + 1)), type = argmax(shares.slice(0, this.background));
      const code = answer.slice(this.background + 1).map((value, axis) => value / this.scale[axis]);
      return { patch: patches.row(at), type, score: shares[type], box: decodeBox(code, box) };
    });
  }

  /** What stands on a panel: `anchors` and `proposals` on the way, then `detections`, the surest first. */
  detect(pixels, threshold = 0.9) {
    const pyramid = this.features(pixels), { anchors, proposals } = this.propose(pyramid);
    const first = suppressed(this.look(pyramid, proposals.map(({ box }) => box)), this.suppress[1]).slice(0, this.found);
    const likely = this.look(pyramid, first.filter(({ score }) => score > threshold / 3).map(({ box }) => box));
    const patches = Matrix.of(likely.map(({ patch }) => patch)), attributes = this.heads.attributes.map((head) => this.ask(head, patches));
    const second = likely.map(({ type, score, box }, at) => ({ box, score, levels: [type, ...attributes.map((answers) => argmax(answers.row(at)))] }));
    const detections = suppressed(second, this.suppress[1]).filter(({ score }) => score >= threshold);
    return { anchors, proposals, detections };
  }
}
