// The figure around the detector: the reader fills the slots of a panel, and the detector reads its pixels.

const STEPS = { anchors: "1. Anchors", proposals: "2. Proposals", detections: "3. What it finds" };

/** The box around what a slot holds; of a vacant slot, the slot (entity_boxes of render.py). */
function boxOf(slot, [kind, size, , angle], levels) {
  const [row, column, height, width] = slot.map((part) => part * CANVAS);
  if (!kind) return [column - width / 2, row - height / 2, column + width / 2, row + height / 2];
  const half = Math.min(height, width) / 2, name = levels.types[kind], reach = half * levels.sizes[size];
  const x = Math.trunc(column), y = Math.trunc(row), margin = 1.5;
  if (name === "circle") return [x - reach - margin, y - reach - margin, x + reach + margin, y + reach + margin];
  const turn = levels.angles[angle] * (Math.PI / 180), cos = Math.cos(turn), sin = Math.sin(turn);
  const points = cornersFrom(half, name, levels.sizes[size]).map(([across, down]) => [across * cos + down * sin, down * cos - across * sin]);
  const ends = [0, 1].map((axis) => points.map((point) => point[axis]));
  return [x + Math.min(...ends[0]) - margin, y + Math.min(...ends[1]) - margin, x + Math.max(...ends[0]) + margin, y + Math.max(...ends[1]) + margin];
}

/** Each detection in the slot whose box would be nearest; of two in one slot the surer stays. */
function inSlots(layout, detections, levels) {
  const slots = layout.slots.map(() => null);
  for (const one of detections) {
    const apart = layout.slots.map((slot) => sum(boxOf(slot, one.levels, levels).map((edge, at) => Math.abs(edge - one.box[at]))));
    const nearest = argmax(apart.map((distance) => -distance));
    if (!slots[nearest] || slots[nearest].score < one.score) slots[nearest] = one;
  }
  return slots;
}

live("detect", ({ root, stage, data, weights, find }) => {
  const { levels, layouts } = data, network = new Detector(weights("detector"), data.sizes);
  const random = new Random(data.seed), folds = { triangle: 3, square: 4, pentagon: 5, hexagon: 6, circle: Infinity };
  let layout = layouts[data.layout], panel = data.panel.map((entity) => [...entity]), chosen = data.slot, answer = null, pixels = null;

  // What the reader sets
  const layoutMenu = menu("Layout", Object.fromEntries(layouts.map(({ title }, at) => [at, title])), data.layout, (at) => {
    layout = layouts[at];
    shuffle();
  });
  const steps = choices("Show", STEPS, "detections", () => drawBoxes());
  const canvas = make("canvas", { width: CANVAS, height: CANVAS, role: "img" }), over = draw("svg", { viewBox: `0 0 ${CANVAS} ${CANVAS}`, "aria-hidden": "true" });
  const slots = make("div", { class: "rr-detect-slots", role: "group", "aria-label": "Slots of the panel" });
  const edit = make("div", { class: "rr-detect-edit" });
  const rows = make("tbody"), said = announcer();
  const head = ["Slot", "You put", "The detector reads"].map((words) => make("th", { scope: "col" }, words));
  const table = make("table", { class: "rr-live-table rr-detect-table" }, make("thead", {}, make("tr", {}, head)), rows);
  stage.append(
    make("div", { class: "rr-live-sides" },
      make("div", { class: "rr-detect-left" }, make("div", { class: "rr-detect-panel" }, canvas, over, slots), edit),
      make("div", { class: "rr-detect-right" }, said, table)),
    make("div", { class: "rr-live-row" }, layoutMenu.element, button("Another panel", () => shuffle(), { main: true })), steps.element);

  const angleName = (angle) => `${minus(String(levels.angles[angle]))}°`;
  const wordsOf = ([kind, size, colour, angle]) => (kind ? [levels.types[kind], size + 1, colour, angleName(angle)] : ["empty"]);
  const describeSlot = (entity, slot) => `Slot ${slot + 1}: ${entity[0] ? `${levels.types[entity[0]]}, size ${entity[1] + 1}, shade ${entity[2]}, angle ${angleName(entity[3])}` : "empty"}`;

  /** Whether two angles show the same picture of a shape. */
  const alike = (kind, a, b) => {
    const fold = folds[levels.types[kind]], turn = Math.abs(levels.angles[a] - levels.angles[b]);
    return fold === Infinity || (turn * fold) % 360 === 0;
  };

  /** Whether a slot's shape is drawn with the same pixels in another size. */
  function drawnAlike(slot, size) {
    const other = panel.map((entity, at) => (at === slot ? Object.assign([...entity], { 1: size }) : entity));
    return panelPixels(layout, other, levels).every((pixel, at) => pixel === pixels[at]);
  }

  /** Show one entity's menus; only levels that this layout draws are offered. */
  function drawEdit() {
    const entity = panel[chosen], { sizes, shades } = layout.ranges[chosen];
    const among = ([low, high], name) => Object.fromEntries(range(high - low + 1, (at) => [low + at, name(low + at)]));
    const set = (attribute) => (value) => {
      entity[attribute] = Number(value);
      if (attribute === 0 && entity[0]) for (const [at, [low, high]] of [[1, sizes], [2, shades]]) entity[at] = clamp(entity[at], low, high);
      changed({ menus: attribute === 0 });
    };
    const kinds = Object.fromEntries(levels.types.map((name, at) => [at, name]));
    const menus = [menu(`Slot ${chosen + 1}`, kinds, entity[0], set(0))];
    if (entity[0]) {
      menus.push(menu("Size", among(sizes, (size) => size + 1), entity[1], set(1)), menu("Shade", among(shades, String), entity[2], set(2)),
        menu("Angle", among([0, levels.angles.length - 1], angleName), entity[3], set(3)));
    }
    const focused = edit.contains(document.activeElement);
    edit.replaceChildren(...menus.map(({ element }) => element));
    if (focused) menus[0].input.focus({ preventScroll: true });
  }

  /** Select a slot; the selected one takes the next type. */
  function press(slot) {
    if (slot === chosen) {
      const entity = panel[slot], { sizes, shades } = layout.ranges[slot];
      entity[0] = (entity[0] + 1) % levels.types.length;
      entity[1] = clamp(entity[1], ...sizes);
      entity[2] = clamp(entity[2], ...shades);
      return changed();
    }
    chosen = slot;
    changed({ same: true });
  }

  function drawSlots() {
    const focused = [...slots.children].indexOf(document.activeElement);
    slots.replaceChildren(...layout.slots.map(([row, column, height, width], slot) => make("button", {
      type: "button", "aria-label": describeSlot(panel[slot], slot), "aria-pressed": String(slot === chosen), onclick: () => press(slot),
      style: `left:${100 * (column - width / 2)}%;top:${100 * (row - height / 2)}%;width:${100 * width}%;height:${100 * height}%`,
    })));
    slots.children[focused]?.focus({ preventScroll: true });
  }

  /** Boxes of the step that is shown: the surer, the stronger the line. */
  function drawBoxes() {
    const outline = ([left, top, right, bottom], score, kind = 1) => draw("rect", {
      x: left.toFixed(1), y: top.toFixed(1), width: (right - left).toFixed(1), height: (bottom - top).toFixed(1),
      class: kind ? "rr-detect-box" : "rr-detect-box rr-detect-empty", "stroke-opacity": Math.max(0.15, score).toFixed(2),
    });
    const label = ({ box: [left, top, right], levels: [kind] }) => {
      const words = levels.types[kind], size = clamp((right - left) / 0.62 / (words.length + 1), 5.5, 9), width = 0.6 * size * words.length + 2;
      const x = clamp(left, 0, CANVAS - width), y = Math.max(top - size - 2, 0);
      return draw("g", { class: kind ? "rr-detect-label" : "rr-detect-label rr-detect-empty" }, draw("rect", { x, y, width, height: size + 2 }),
        draw("text", { x: x + width / 2, y: y + size, "font-size": size }, words));
    };
    const { anchors, proposals, detections } = answer;
    const shown = {
      anchors: () => anchors.slice(0, data.anchors).map(({ anchor, score }) => outline(anchor, score)),
      proposals: () => proposals.map(({ box, score }) => outline(box, score)),
      detections: () => [...detections].sort((a, b) => a.levels[0] - b.levels[0]).flatMap((one) => [outline(one.box, 1, one.levels[0]), label(one)]),
    };
    over.replaceChildren(...shown[steps.value]());
  }

  function drawTable(found) {
    let count = 0;
    rows.replaceChildren(...panel.map((put, slot) => {
      const read = found[slot]?.levels ?? null;
      const wrong = (at) => read[at] !== put[at] && !(at === 3 && put[0] && alike(put[0], put[3], read[3])) && !(at === 1 && put[0] && drawnAlike(slot, read[1]));
      const cells = !read ? [make("b", {}, "nothing")] : wordsOf(read).flatMap((word, at) => [at ? " · " : "", make(read[0] === put[0] && wrong(at) ? "b" : "span", {}, word)]);
      const right = read && read[0] === put[0] && (!put[0] || [1, 2, 3].every((at) => !wrong(at)));
      if (right) count++;
      return make("tr", { class: slot === chosen ? "rr-detect-chosen" : null }, make("th", { scope: "row" }, slot + 1),
        make("td", {}, wordsOf(put).join(" · ")), make("td", {}, right ? "✓ " : "✗ ", read && read[0] !== put[0] ? make("b", {}, cells) : cells));
    }));
    const { anchors, proposals, detections } = answer;
    said.replaceChildren(make("strong", {}, `${count} of ${plural(panel.length, "slot")} read right.`),
      panel.some(([kind]) => kind) ? "" : " Without shapes, most layouts look the same.",
      ` The detector moved ${anchors.length} of ${data.all} anchors, proposed ${plural(proposals.length, "box", "boxes")} and kept ${detections.length}.`);
  }

  /** Draw the panel again and let the detector read its pixels. */
  function changed({ same = false, menus = true } = {}) {
    drawSlots();
    if (menus) drawEdit();
    if (!same || !answer) {
      const context = canvas.getContext("2d"), image = context.createImageData(CANVAS, CANVAS);
      pixels = panelPixels(layout, panel, levels);
      const whole = new Uint32Array(image.data.buffer); // red, green, blue and alpha of a pixel at once
      for (let at = 0; at < pixels.length; at++) whole[at] = 0xff000000 | (pixels[at] * 0x10101);
      context.putImageData(image, 0, 0);
      canvas.setAttribute("aria-label", `The panel as pixels. ${panel.map(describeSlot).join("; ")}`);
      const { result, ms } = timed(() => network.detect(pixels, data.threshold));
      answer = result;
      find("took").textContent = took(ms);
      drawBoxes();
    }
    drawTable(inSlots(layout, answer.detections, levels));
  }

  /** Another panel of the layout, drawn at random. */
  function shuffle() {
    do {
      panel = layout.ranges.map(({ sizes, shades, often }) => {
        const of = ([low, high]) => low + random.integer(high - low + 1);
        return random.next() < often ? [1 + random.integer(levels.types.length - 1), of(sizes), of(shades), random.integer(levels.angles.length)] : [0, sizes[0], shades[0], 3];
      });
    } while (!panel.some(([kind]) => kind));
    chosen = Math.max(panel.findIndex(([kind]) => kind), 0);
    changed();
  }

  Object.assign(root, { network, read: () => ({ panel, layout, answer }), put: (entities) => { panel = entities; changed(); } }); // for tests and for the console
  changed();
});
