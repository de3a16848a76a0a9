// Panels as pixels: the arithmetic of reasonlib/visual_iq/data/raster.py and render.py, one for one, in whole numbers.
//
// Points are [x, y], column first, in 65536ths of a pixel where a name says `fine`.

const CANVAS = 160, FINE = 65536, WHITE = 255;

/** Round to the nearest whole number, and halves to the even one. */
function rint(value) {
  const low = Math.floor(value), part = value - low;
  return part < 0.5 || (part === 0.5 && low % 2 === 0) ? low : low + 1;
}

const toPixel = (fine) => Math.floor((fine + FINE / 2) / FINE);
const mark = (mask, column, row) => {
  if (column >= 0 && row >= 0 && column < CANVAS && row < CANVAS) mask[row * CANVAS + column] = 1;
};

/** A line one pixel wide: one pixel for each step along the longer of its sides. */
function drawLine(mask, start, end) {
  mark(mask, toPixel(end[0]), toPixel(end[1]));
  const long = Math.abs(end[0] - start[0]) > Math.abs(end[1] - start[1]) ? 0 : 1;
  const [first, last] = end[long] >= start[long] ? [start, end] : [end, start];
  const length = last[long] - first[long];
  const slope = Math.trunc(((last[1 - long] - first[1 - long]) * FINE) / (length | 1));
  for (let step = 0; step <= length >> 16; step++) {
    const along = toPixel(first[long]) + step, across = toPixel(first[1 - long] + step * slope);
    mark(mask, long ? across : along, long ? along : across);
  }
}

/** Fill a convex outline: its edges, and in each row whatever lies between two of them. */
function fillConvex(mask, corners) {
  const low = new Int32Array(CANVAS).fill(CANVAS), high = new Int32Array(CANVAS).fill(-1);
  corners.forEach((end, at) => {
    const start = corners.at(at - 1);
    drawLine(mask, start, end);
    const [[x, y], [to, below]] = start[1] <= end[1] ? [start, end] : [end, start];
    const top = toPixel(y), rows = toPixel(below) - top;
    const slope = rows ? Math.trunc((2 * (to - x) + rows) / (2 * rows)) : 0;
    for (let row = 0; row < rows; row++) {
      const column = toPixel(x + row * slope);
      low[top + row] = Math.min(low[top + row], column);
      high[top + row] = Math.max(high[top + row], column);
    }
  });
  for (let row = 0; row < CANVAS; row++) for (let column = low[row]; column <= high[row]; column++) mark(mask, column, row);
}

/** A line two pixels wide, with a dot of five pixels at its end. */
function drawStroke(mask, start, end) {
  const dx = (start[0] - end[0]) / FINE, dy = (end[1] - start[1]) / FINE, length = Math.sqrt(dx * dx + dy * dy);
  if (length) {
    const half = FINE / length, x = rint(dy * half), y = rint(dx * half), [ax, ay] = start, [bx, by] = end;
    fillConvex(mask, [[ax + x, ay + y], [ax - x, ay - y], [bx - x, by - y], [bx + x, by + y]]);
  }
  const column = toPixel(end[0]), row = toPixel(end[1]);
  for (const [across, down] of [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]]) mark(mask, column + across, row + down);
}

/** Corners of an entity before it is turned, in pixels from the centre of its slot; none of a circle. */
function cornersFrom(half, name, part) {
  const radius = Math.trunc(half * part);
  const of = (angle) => [Math.trunc(radius * Math.cos(angle)), Math.trunc(radius * Math.sin(angle))];
  if (name === "square") {
    const edge = Math.trunc((half / 2) * Math.SQRT2 * part);
    return [[-edge, -edge], [edge, -edge], [edge, edge], [-edge, edge]];
  }
  if (name === "pentagon") {
    const [wide, high] = of(Math.PI / 10), near = Math.trunc(radius * Math.sin(Math.PI / 5)), low = Math.trunc(radius * Math.cos(Math.PI / 5));
    return [[0, -radius], [-wide, -high], [-near, low], [near, low], [wide, -high]];
  }
  const wide = Math.trunc((radius / 2) * Math.sqrt(3)), high = Math.trunc(radius / 2);
  if (name === "triangle") return [[0, -radius], [wide, high], [-wide, high]];
  return [[0, -radius], [-wide, -high], [-wide, high], [0, radius], [wide, high], [wide, -high]];
}

const MASKS = [new Uint8Array(CANVAS * CANVAS), new Uint8Array(CANVAS * CANVAS)];

/** Pixels of a filling and of an outline before they are turned: two masks of a panel, until the next ones are asked for. */
function masksOf([x, y], half, name, part) {
  const [fill, edge] = MASKS.map((mask) => mask.fill(0));
  if (name !== "circle") {
    const points = cornersFrom(half, name, part).map(([across, down]) => [(x + across) * FINE, (y + down) * FINE]);
    fillConvex(fill, points);
    points.forEach((end, at) => drawStroke(edge, points.at(at - 1), end));
    return [fill, edge];
  }
  const radius = Math.trunc(half * part), every = radius < 3 ? 90 : radius < 10 ? 30 : radius < 15 ? 18 : 5;
  const sine = (degrees) => Math.fround(rint(Math.sin((degrees * Math.PI) / 180) * 1e7) / 1e7); // as OpenCV tabulates it
  const points = range(360 / every + 1, (number) => number * every).map((degrees) =>
    [rint((x + radius * sine(degrees + 90)) * FINE), rint((y + radius * sine(degrees)) * FINE)]);
  points.slice(1).forEach((end, at) => {
    if (points[at].some((value, axis) => value !== end[axis])) drawStroke(edge, points[at], end);
  });
  for (let row = Math.max(y - radius, 0); row <= Math.min(y + radius, CANVAS - 1); row++) {
    for (let column = Math.max(x - radius, 0); column <= Math.min(x + radius, CANVAS - 1); column++) if ((column - x) ** 2 + (row - y) ** 2 <= radius ** 2) mark(fill, column, row);
  }
  return [fill, edge];
}

/** Draw an entity of a slot over `image`; in an inner slot white paper hides nothing. */
function drawEntity(image, slot, [kind, size, colour, angle], levels, inside) {
  const x = Math.trunc(slot[1] * CANVAS), y = Math.trunc(slot[0] * CANVAS), half = (Math.min(slot[2], slot[3]) * CANVAS) / 2;
  const [fill, edge] = masksOf([x, y], half, levels.types[kind], levels.sizes[size]);
  const reach = Math.trunc(half * Math.max(...levels.sizes)) + levels.edge, ink = WHITE - levels.colours[colour];
  const turn = levels.angles[angle] * (Math.PI / 180), cos = Math.cos(turn), sin = Math.sin(turn);
  const from = (offset, byRow, row, byColumn, column) => (rint((byRow * row + offset) * 1024) + rint(byColumn * column * 1024) + 16) >> 5;
  for (let row = Math.max(y - reach, 0); row < Math.min(y + reach + 1, CANVAS); row++) {
    for (let column = Math.max(x - reach, 0); column < Math.min(x + reach + 1, CANVAS); column++) {
      const left = from(x - cos * x + sin * y, -sin, row, cos, column), top = from(y - sin * x - cos * y, cos, row, sin, column);
      const right = left & 31, below = top & 31; // the origin of a pixel lies between four pixels
      let black = 0, grey = 0;
      for (let corner = 0; corner < 4; corner++) {
        const r = (top >> 5) + (corner >> 1), c = (left >> 5) + (corner & 1), at = r * CANVAS + c;
        if (r < 0 || c < 0 || r >= CANVAS || c >= CANVAS || !(edge[at] || fill[at])) continue;
        const share = (corner > 1 ? below : 32 - below) * (corner & 1 ? right : 32 - right);
        if (edge[at]) black += share;
        else grey += share;
      }
      const value = WHITE - ((black * WHITE + grey * ink + 512) >> 10);
      if (!inside || value < WHITE) image[row * CANVAS + column] = value;
    }
  }
}

/** A panel as 160 by 160 grey values, 255 on white paper. */
function panelPixels(layout, panel, levels) {
  const image = new Uint8ClampedArray(CANVAS * CANVAS).fill(WHITE);
  panel.forEach((entity, slot) => {
    if (entity[0]) drawEntity(image, layout.slots[slot], entity, levels, layout.structure === "Out_In" && slot > 0);
  });
  for (let at = 0; at < CANVAS; at++) {
    if (layout.structure === "Left_Right") image[at * CANVAS + CANVAS / 2] = 0;
    if (layout.structure === "Up_Down") image[(CANVAS / 2) * CANVAS + at] = 0;
  }
  return image;
}
