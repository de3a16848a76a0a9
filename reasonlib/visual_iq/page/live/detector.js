// The detector in the reader's browser: the sums of reasonlib/visual_iq/models/detector, one for one, on weights
// that were trained there. Maps and convolutions are those of convolve.js; a box is [x0, y0, x1, y1].

const LONGEST_STEP = Math.log(1000 / 16), WORKSPACE = 2 ** 20; // numbers: 4 MiB

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

/** A convolution and its batch normalisation in one. */
function normalised(workspace, part) {
  const norm = part.part("1"), mean = norm.vector("running_mean"), start = norm.vector("bias");
  const scale = norm.vector("weight").map((weight, o) => weight / Math.sqrt(norm.vector("running_var")[o] + 1e-5));
  return new Convolution(workspace, part.part("0").tensor("weight"), scale.map((factor, o) => start[o] - mean[o] * factor), scale);
}

/** The first layer of a head, whose inputs are a patch and a place: its weights in the order in which `patch` writes them. */
function byCells(workspace, part, bins) {
  const { shape: [outputs, inputs], data } = part.tensor("weight"), cells = bins * bins, features = (inputs - 6) / cells;
  const order = range(inputs, (at) => (at < inputs - 6 ? (at % features) * cells + Math.floor(at / features) : at));
  const turned = new Float32Array(data.length);
  for (let o = 0, at = 0; o < outputs; o++) for (const from of order) turned[at++] = data[o * inputs + from];
  return new Convolution(workspace, { shape: [outputs, inputs], data: turned }, part.vector("bias"));
}

class Detector {
  constructor(weights, { strides, anchors, bins, preNms, kept, found, suppress, scale, background }, options = {}) {
    const workspace = new Workspace(WORKSPACE, options), boxes = Math.max(kept, found, 4);
    Object.assign(this, { strides, anchors, bins, preNms, kept, found, suppress, scale, background, workspace });
    const plain = (name) => new Convolution(workspace, weights.part(name).tensor("weight"), weights.part(name).vector("bias"));
    this.ink = new FeatureMap(workspace, CANVAS, CANVAS, 1);
    this.stem = normalised(workspace, weights.part("backbone.stem.0"));
    this.stages = strides.map((_, level) => {
      const [down, first, second] = ["0", "2.first", "2.second"].map((name) => normalised(workspace, weights.part(`backbone.stages.${level}.${name}`)));
      return { down, first, second };
    });
    this.lateral = strides.map((_, level) => plain(`pyramid.lateral.${level}`));
    this.output = strides.map((_, level) => plain(`pyramid.output.${level}`));
    this.proposal = { hidden: plain("proposal.hidden"), answer: plain("proposal.answer") };
    const head = (name) => [byCells(workspace, weights.part(`${name}.first`), bins), plain(`${name}.second`), plain(`${name}.answer`)];
    this.heads = { object: head("heads.object"), attributes: range(3, (number) => head(`heads.attributes.${number}`)) };
    this.patches = new FeatureMap(workspace, 1, boxes, this.heads.object[0].inputs);
  }

  /** Features of a panel on four scales, each with what the coarser ones know. */
  features(pixels) {
    const { numbers } = this.workspace;
    for (let row = 0, from = 0; row < CANVAS; row++) {
      for (let at = this.ink.at(row, 0), end = at + CANVAS; at < end; at++) numbers[at] = 1 - pixels[from++] / 255;
    }
    let map = this.stem.over(this.ink, { stride: 2, rectify: true });
    const levels = this.stages.map(({ down, first, second }) => {
      map = down.over(map, { stride: 2, rectify: true });
      return (map = second.over(first.over(map, { rectify: true }), { rectify: true, added: map }));
    });
    const merged = [];
    for (const level of [3, 2, 1, 0]) merged[level] = this.lateral[level].over(levels[level], { added: merged[level + 1] });
    return merged.map((map, level) => this.output[level].over(map));
  }

  /** The anchors most likely to hold something, moved and stretched; of these the best, without near copies. */
  propose(pyramid) {
    const per = this.anchors[0].length, start = [0], { numbers } = this.workspace;
    pyramid.forEach(({ height, width }, level) => start.push(start[level] + height * width * per));
    const answers = pyramid.map((map) => this.proposal.answer.over(this.proposal.hidden.over(map, { rectify: true }))), logits = new Float32Array(start.at(-1));
    let to = 0;
    for (const answer of answers) {
      for (let row = 0; row < answer.height; row++) {
        for (let column = 0, at = answer.at(row, 0); column < answer.width; column++, at += answer.step) for (let k = 0; k < per; k++) logits[to++] = numbers[at + 5 * k];
      }
    }
    const anchors = topOf(logits, this.preNms).map((at) => {
      const level = start.findLastIndex((first) => first <= at), own = at - start[level], cell = Math.floor(own / per), { width } = answers[level];
      const row = Math.floor(cell / width), column = cell % width, x = (column + 0.5) * this.strides[level], y = (row + 0.5) * this.strides[level];
      const half = this.anchors[level][own % per] / 2, anchor = [x - half, y - half, x + half, y + half], first = 5 * (own % per);
      return { anchor, score: sigmoid(logits[at]), box: decodeBox(answers[level].cell(row, column).subarray(first + 1, first + 5), anchor) };
    });
    return { anchors, proposals: suppressed(anchors, this.suppress[0]).slice(0, this.kept) };
  }

  /** Write the patch of a box, of `bins` by `bins` cells, each read between four cells (RoI align); then where the box lies. */
  patch(pyramid, box, into) {
    const wide = box[2] - box[0], high = box[3] - box[1], { bins } = this, { numbers } = this.workspace;
    const side = Math.sqrt(Math.max(wide, 1) * Math.max(high, 1));
    const map = pyramid[clamp(Math.floor(Math.log2(Math.fround(side) / (bins * this.strides[0]))), 0, 2)], { height, width, features } = map;
    const between = (low, length, bin, cells) => {
      const at = clamp(((low + ((bin + 0.5) / bins) * length) / CANVAS) * cells - 0.5, 0, cells - 1);
      const first = Math.min(Math.floor(at), Math.max(cells - 2, 0));
      return [first, Math.min(first + 1, cells - 1), at - first];
    };
    const columns = range(bins, (column) => between(box[0], wide, column, width));
    let to = 0;
    for (let row = 0; row < bins; row++) {
      const [top, below, down] = between(box[1], high, row, height);
      for (const [left, right, across] of columns) {
        const a = map.at(top, left), b = map.at(top, right), c = map.at(below, left), d = map.at(below, right);
        for (let k = 0; k < features; k++) {
          into[to++] = (1 - down) * ((1 - across) * numbers[a + k] + across * numbers[b + k]) + down * ((1 - across) * numbers[c + k] + across * numbers[d + k]);
        }
      }
    }
    into.set([...box.map((edge) => edge / (CANVAS / 2) - 1), ...[wide, high].map((length) => Math.log(Math.max(length, 1) / CANVAS) + 1)], to);
  }

  /** Two hidden layers and an answer, for the first `count` of the patches. */
  ask([first, second, answer], count) {
    const hidden = second.over(first.over(this.patches, { rectify: true, cells: count }), { rectify: true, cells: count });
    const answers = answer.over(hidden, { cells: count });
    return range(count, (at) => Array.from(answers.cell(0, at)));
  }

  /** Of every box: the type and probability of what stands in it, and a better box. */
  look(pyramid, boxes) {
    boxes.forEach((box, at) => this.patch(pyramid, box, this.patches.cell(0, at)));
    return this.ask(this.heads.object, boxes.length).map((answer, at) => {
      const shares = softmax(answer.slice(0, this.background + 1)), type = argmax(shares.slice(0, this.background));
      const code = answer.slice(this.background + 1).map((value, axis) => value / this.scale[axis]);
      return { type, score: shares[type], box: decodeBox(code, boxes[at]) };
    });
  }

  /** What stands on a panel: `anchors` and `proposals` on the way, then `detections`, the surest first. */
  detect(pixels, threshold = 0.9) {
    const pyramid = this.features(pixels), { anchors, proposals } = this.propose(pyramid);
    const first = suppressed(this.look(pyramid, proposals.map(({ box }) => box)), this.suppress[1]).slice(0, this.found);
    const likely = this.look(pyramid, first.filter(({ score }) => score > threshold / 3).map(({ box }) => box));
    const attributes = this.heads.attributes.map((head) => this.ask(head, likely.length)); // of the patches that were looked at last
    const second = likely.map(({ type, score, box }, at) => ({ box, score, levels: [type, ...attributes.map((answers) => argmax(answers[at]))] }));
    const detections = suppressed(second, this.suppress[1]).filter(({ score }) => score >= threshold);
    return { anchors, proposals, detections };
  }
}
