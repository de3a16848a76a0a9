// The race: six optimisers from one point on one surface; the reader picks the point, the rates, the surface.

const NAMES = Object.keys(OPTIMISERS);
const TOUCH = { start: "Move the start", hill: "Raise hills", valley: "Dig valleys" };

live("race", ({ root, stage, data: { tracks, land } }) => {
  const titles = Object.fromEntries(Object.entries(tracks).map(([key, one]) => [key, one.title]));
  const state = { key: "", start: [0, 0], step: 0, playing: false, touch: "start", bumps: land.map((one) => [...one]), shown: new Set(NAMES), runs: {} };
  let field = null, frame = 0;

  const map = new Plot({ label: "Map of the surface with the paths of the optimisers", x: [-1, 1], y: [-1, 1], bare: true,
    left: 1, right: 1, top: 1, bottom: 1, height: (width) => Math.round(width * 0.75) });
  const canvas = make("canvas", { class: "rr-opt-ground", "aria-hidden": "true" });
  map.element.classList.add("rr-opt-map");
  map.element.prepend(canvas);
  const curve = new Plot({ label: "Loss of every optimiser against the step", x: [0, 100], y: [0, 1], height: (width) => clamp(Math.round(width * 0.62), 165, 210),
    xTitle: "step", yTitle: "loss", left: 44 });

  const pick = choices("Surface", titles, "ravine", (key) => choose(key));
  const tool = choices("Touch the map to", TOUCH, "start", (key) => {
    touch(key);
    render();
  });
  const play = button("Play", () => (state.playing ? pause() : begin()), { main: true });
  const once = button("Step", () => {
    pause();
    go(state.step + 1);
    speak();
  });
  const reset = button("To the start", () => {
    pause();
    go(0);
    speak();
  });
  const time = new Slider("Step", { min: 0, max: 100, step: 1, value: 0, say: (at) => String(Math.round(at)) }, (at) => {
    pause();
    go(Math.round(at));
  });
  const rerun = () => {
    run();
    render();
    speakSoon();
  };
  const rate = new Slider("Rate η", { min: 0.0001, max: 1, step: 0.02, value: 0.01, log: true, note: "gradient descent, momentum, Nesterov" }, rerun);
  const momentum = new Slider("Momentum γ", { min: 0, max: 0.99, step: 0.01, value: 0.9, say: (at) => at.toFixed(2), note: "momentum, Nesterov" }, rerun);
  const reach = new Slider("Step size η", { min: 0.001, max: 2, step: 0.02, value: 0.1, log: true, note: "Adagrad, Adam" }, rerun);
  const epsilon = new Slider("ε", { min: 1e-8, max: 0.1, step: 0.05, value: 1e-6, log: true, note: "Adadelta, which has no rate" }, rerun);
  const brush = new Slider("Width of the brush", { min: 0.2, max: 1.2, step: 0.05, value: 0.5, say: (at) => at.toFixed(2) }, () => render());
  const press = button("Raise at the start", () => dab(...state.start));
  const undo = button("Undo", () => {
    state.bumps.pop();
    reshape();
  });
  const clear = button("Flatten", () => {
    state.bumps = [];
    reshape();
  });
  const paint = make("div", { class: "rr-opt-paint" }, tool.element,
    make("div", { class: "rr-opt-row" }, brush.element, make("div", { class: "rr-opt-buttons" }, press, undo, clear)));
  const said = announcer();
  const rows = NAMES.map((name, number) => {
    const toggle = make("button", { type: "button", class: "rr-opt-toggle", "aria-pressed": "true" }, swatch(number), make("span", {}, name[0].toUpperCase() + name.slice(1)));
    toggle.addEventListener("click", () => {
      state.shown[state.shown.has(name) ? "delete" : "add"](name);
      toggle.setAttribute("aria-pressed", String(state.shown.has(name)));
      render();
      speakSoon();
    });
    const cells = { place: make("td"), loss: make("td"), there: make("td") };
    return { name, cells, row: make("tr", {}, cells.place, make("th", { scope: "row" }, toggle), cells.loss, cells.there) };
  });
  const head = make("th", { scope: "col" }, "There at");
  const table = make("table", { class: "rr-live-table rr-opt-table" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, make("span", { class: "rr-live-hidden" }, "Place")), make("th", { scope: "col" }, "Optimiser"), make("th", { scope: "col" }, "Loss"), head)),
    make("tbody", {}, ...rows.map(({ row }) => row)));

  stage.append(
    pick.element, paint,
    make("div", { class: "rr-live-sides" },
      make("div", { class: "rr-opt-wide" }, map.element,
        make("div", { class: "rr-opt-transport" }, play, once, reset, time.element),
        make("div", { class: "rr-live-sliders" }, rate.element, momentum.element, reach.element, epsilon.element)),
      make("div", { class: "rr-opt-narrow" }, table, curve.element)),
    said);

  const pen = new Handle(map, {
    label: "Starting point", axes: "xy", size: 7, mark: "circle", step: 0.05,
    get: () => state.start, ends: () => [map.x, map.y],
    set: (x, y) => (state.touch === "start" ? place(x, y) : (dabbed(x, y), render())),
    say: () => `x ${rounded(state.start[0])}, y ${rounded(state.start[1])}`,
  });
  pen.element.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && state.touch !== "start") {
      event.preventDefault();
      dab(...brushAt);
    }
  });
  let brushAt = [0, 0], last = null;
  pen.get = () => (state.touch === "start" ? state.start : brushAt);
  pen.say = () => `x ${rounded(pen.get()[0])}, y ${rounded(pen.get()[1])}`;

  function dabbed(x, y) {
    brushAt = [x, y];
  }

  /** Raise or dig at a place. */
  function dab(x, y, strength = 0.5) {
    const height = state.touch === "valley" ? -strength : strength;
    state.bumps.push([x, y, Number(height.toFixed(3)), brush.value]);
    if (state.bumps.length > 150) state.bumps.shift();
    reshape();
  }

  function reshape() {
    run();
    survey();
    render();
    speakSoon();
  }

  // The map takes the pointer: it moves the start, or paints.
  map.svg.addEventListener("pointerdown", (event) => {
    if (event.target.closest(".rr-live-handle") && state.touch === "start") return;
    event.preventDefault();
    map.svg.setPointerCapture(event.pointerId);
    last = null;
    touched(event);
  });
  map.svg.addEventListener("pointermove", (event) => {
    if (map.svg.hasPointerCapture(event.pointerId)) touched(event);
    else if (state.touch !== "start" && state.key === "draw" && event.pointerType === "mouse") {
      dabbed(...map.under(event));
      render();
    }
  });

  function touched(event) {
    const [x, y] = map.under(event);
    if (state.touch === "start" || state.key !== "draw") return pen.move(x, y);
    dabbed(x, y);
    if (last && Math.hypot(x - last[0], y - last[1]) < brush.value / 3) return render();
    last = [x, y];
    dab(x, y, 0.22);
  }

  function place(x, y) {
    state.start = [Number(x.toFixed(4)), Number(y.toFixed(4))];
    run();
    if (!state.playing && state.step === 0) go(steps());
    render();
    speakSoon();
  }

  /** What the map does with the pointer: move the start, raise or dig. */
  function touch(key) {
    state.touch = tool.value = key;
    pen.element.setAttribute("aria-label", key === "start" ? "Starting point" : "Brush");
  }

  const surface = () => (state.key === "draw" ? hills(state.bumps) : SURFACES[state.key]);
  const about = () => tracks[state.key];
  const steps = () => about().steps;
  const settings = () => ({ rate: rate.value, momentum: momentum.value, reach: reach.value, epsilon: epsilon.value });

  function choose(key) {
    pause();
    state.key = pick.value = key;
    const one = about();
    state.start = [...one.start];
    [map.x, map.y] = one.window;
    [rate.value, momentum.value, reach.value, epsilon.value] = [one.rate, one.momentum, one.reach, one.epsilon];
    time.input.max = one.steps;
    paint.hidden = key !== "draw";
    touch(key === "draw" ? "hill" : "start");
    told(head, one.there);
    run();
    survey();
    go(one.steps);
    speak();
  }

  function run() {
    for (const name of NAMES) state.runs[name] = follow(name, surface(), state.start, settings(), steps(), about().window);
  }

  const COLUMNS = 97, LINES = 73, surveyed = new Map(); // the grounds of the surfaces that stay as they are
  const pixels = make("canvas", { width: COLUMNS, height: LINES }).getContext("2d");

  /** Heights of a surface on a grid, and where each lies between the lowest and the highest, from 0 to 1. */
  function measured(key) {
    const { value } = key === "draw" ? hills(state.bumps) : SURFACES[key], { window: [[left, right], [low, high]], bend } = tracks[key];
    const heights = new Float64Array(COLUMNS * LINES), tones = new Float64Array(COLUMNS * LINES), place = [0, 0];
    let bottom = Infinity, top = -Infinity;
    for (let row = 0, at = 0; row < LINES; row += 1) {
      place[1] = high - ((high - low) * row) / (LINES - 1);
      for (let column = 0; column < COLUMNS; column += 1, at += 1) {
        place[0] = left + ((right - left) * column) / (COLUMNS - 1);
        const height = (heights[at] = value(place));
        if (height < bottom) bottom = height;
        if (height > top) top = height;
      }
    }
    const most = bend ? Math.log1p((top - bottom) * bend) : top - bottom || 1;
    for (let at = 0; at < tones.length; at += 1) tones[at] = (bend ? Math.log1p((heights[at] - bottom) * bend) : heights[at] - bottom) / most;
    return { heights, tones, bottom, top };
  }

  /** Paint a surface: darker where it is lower, and its contour lines. */
  function paintOn(sheet, { tones }, levels, dense) {
    const { width: wide, height: tall } = sheet, context = sheet.getContext("2d");
    const image = pixels.createImageData(COLUMNS, LINES), { data } = image;
    for (let at = 0; at < tones.length; at += 1) {
      data[4 * at] = 35;
      data[4 * at + 1] = 125;
      data[4 * at + 2] = 200;
      data[4 * at + 3] = Math.round(150 * (1 - tones[at]) ** 1.3);
    }
    pixels.putImageData(image, 0, 0);
    context.imageSmoothingQuality = "high";
    const sx = wide / (COLUMNS - 1), sy = tall / (LINES - 1);
    context.drawImage(pixels.canvas, -sx / 2, -sy / 2, sx * COLUMNS, sy * LINES);
    context.lineWidth = dense;
    context.strokeStyle = "rgba(110,130,150,.45)";
    context.beginPath();
    const crossed = new Float64Array(8);
    for (let row = 0; row + 1 < LINES; row += 1) {
      for (let column = 0; column + 1 < COLUMNS; column += 1) {
        const i = row * COLUMNS + column, a = tones[i], b = tones[i + 1], c = tones[i + COLUMNS + 1], d = tones[i + COLUMNS];
        const least = Math.min(a, b, c, d), most = Math.max(a, b, c, d);
        for (let k = Math.ceil(least * levels); k <= most * levels && k < levels; k += 1) {
          const level = k / levels;
          let count = 0; // where the line crosses the four sides of a cell
          if (a < level !== b < level) {
            crossed[count++] = column + (level - a) / (b - a);
            crossed[count++] = row;
          }
          if (b < level !== c < level) {
            crossed[count++] = column + 1;
            crossed[count++] = row + (level - b) / (c - b);
          }
          if (c < level !== d < level) {
            crossed[count++] = column + 1 - (level - c) / (d - c);
            crossed[count++] = row + 1;
          }
          if (d < level !== a < level) {
            crossed[count++] = column;
            crossed[count++] = row + 1 - (level - d) / (a - d);
          }
          for (let n = 0; n + 3 < count; n += 4) {
            context.moveTo(crossed[n] * sx, crossed[n + 1] * sy);
            context.lineTo(crossed[n + 2] * sx, crossed[n + 3] * sy);
          }
        }
      }
    }
    context.stroke();
  }

  /** A surface measured and painted in the size of the map. The reader's own changes, so it is painted in its place; the others are kept. */
  function groundOf(key) {
    const dense = Math.min(2, window.devicePixelRatio || 1), wide = Math.round(map.width * dense), tall = Math.round(map.tall * dense);
    const kept = surveyed.get(key);
    if (kept?.sheet.width === wide && kept.sheet.height === tall) return kept;
    const ground = kept ?? measured(key);
    ground.sheet = key === "draw" ? canvas : make("canvas");
    [ground.sheet.width, ground.sheet.height] = [wide, tall];
    paintOn(ground.sheet, ground, tracks[key].contours, dense);
    if (key !== "draw") surveyed.set(key, ground);
    return ground;
  }

  /** Show the ground of the surface that was chosen. */
  function survey() {
    field = groundOf(state.key);
    const { sheet } = field;
    if (sheet === canvas) return;
    [canvas.width, canvas.height] = [sheet.width, sheet.height];
    canvas.getContext("2d").drawImage(sheet, 0, 0);
  }

  /** Those that have not been chosen yet, while nothing else is to do. */
  function surveyNext() {
    const next = Object.keys(tracks).find((key) => key !== "draw" && !surveyed.has(key));
    if (!next) return;
    groundOf(next);
    whenIdle(surveyNext);
  }

  const goal = () => about().goal ?? field.bottom + 0.02 * (field.top - field.bottom);
  const reached = (losses) => losses.findIndex((loss) => loss <= goal());
  const at = (name) => Math.min(state.step, state.runs[name].points.length - 1);
  /** Off the map upwards: blown up. */
  const lost = (name) => {
    const { left, losses } = state.runs[name];
    return left !== null && left <= state.step && !(losses.at(-1) < losses[0]);
  };

  /** A slope without a lowest point: what counts is who leaves first. */
  const endless = () => !about().minima.length && about().goal !== null;

  /** Who is ahead: the lowest loss first, those blown up last; on an endless slope, who was off first. */
  function order() {
    const rank = (name) => {
      const arrived = reached(state.runs[name].losses);
      return [endless() && arrived >= 0 && arrived <= state.step ? arrived : Infinity, lost(name) ? Infinity : state.runs[name].losses[at(name)]];
    };
    const keyed = NAMES.filter((name) => state.shown.has(name)).map((name) => [rank(name), name]);
    return keyed.sort(([a], [b]) => (a[0] === b[0] ? (a[1] === b[1] ? 0 : a[1] - b[1]) : a[0] - b[0])).map(([, name]) => name);
  }

  function render() {
    const { top, bottom } = field, places = order();
    map.axes();
    map.svg.setAttribute("data-touch", state.key === "draw" ? state.touch : "start");
    const parts = [];
    for (const spot of about().minima) {
      parts.push(["path", { class: "rr-opt-goal", d: markPath("cross", 6), transform: `translate(${map.X(spot[0])} ${map.Y(spot[1])}) rotate(45)` }]);
    }
    const heads = [];
    NAMES.forEach((name, number) => {
      if (!state.shown.has(name)) return;
      const points = state.runs[name].points.slice(0, at(name) + 1);
      const path = map.path(points.map((one) => one[0]), points.map((one) => one[1]));
      parts.push(["path", { class: "rr-opt-casing", d: path }], ["path", { class: "rr-live-line", d: path, stroke: COLOURS[number], "stroke-dasharray": DASHES[number] }]);
      const [x, y] = points.at(-1);
      heads.push(["path", { class: "rr-live-mark", d: markPath(MARKS[number], 6), transform: `translate(${map.X(x).toFixed(1)} ${map.Y(y).toFixed(1)})`, fill: COLOURS[number] }]);
    });
    const painting = state.key === "draw" && state.touch !== "start";
    if (painting) {
      const [x, y] = brushAt, r = map.X(brush.value) - map.X(0);
      parts.push(["path", { class: "rr-live-mark", d: markPath("circle", 5), transform: `translate(${map.X(state.start[0])} ${map.Y(state.start[1])})`, fill: "currentColor" }],
        ["circle", { class: "rr-opt-brush", cx: map.X(x), cy: map.Y(y), r }]);
    }
    redo(map.inner, [...parts, ...heads]);
    told(press, state.touch === "valley" ? "Dig at the start" : "Raise at the start");
    press.disabled = !painting;
    pen.place();

    // The losses, up to this step.
    const logs = about().log, every = NAMES.filter((name) => state.shown.has(name)).flatMap((name) => state.runs[name].losses);
    const first = surface().value(state.start);
    curve.logY = logs;
    curve.x = [0, steps()];
    if (logs) {
      const lowest = Math.min(...every.filter((one) => one > 0)); // infinite where nothing is shown, or all began at the minimum
      const least = Math.max(1e-8, Number.isFinite(lowest) ? lowest : 1e-3);
      curve.y = [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(Math.max(first, least * 10) * 1.01))];
    } else {
      const floor = Math.max(bottom, Math.min(first, ...every)), most = Math.max(first, ...every.filter((one) => one < first + 0.4 * (top - bottom)));
      curve.y = [floor - 0.04 * (most - floor || 1), most + 0.08 * (most - floor || 1)];
    }
    curve.axes();
    const lines = NAMES.flatMap((name, number) => {
      if (!state.shown.has(name)) return [];
      const losses = state.runs[name].losses.slice(0, at(name) + 1);
      return [["path", { class: "rr-live-line", d: curve.path(losses.map((_, i) => i), losses), stroke: COLOURS[number], "stroke-dasharray": DASHES[number] }],
        ["path", { d: markPath(MARKS[number], 4), transform: `translate(${curve.X(losses.length - 1).toFixed(1)} ${clamp(curve.Y(losses.at(-1)), -50, 500).toFixed(1)})`, fill: COLOURS[number] }]];
    });
    redo(curve.inner, [["path", { class: "rr-live-now", d: `M${curve.X(state.step)} ${curve.top}v${curve.up}` }], ...lines]);

    for (const { name, cells, row } of rows) {
      const { losses, left } = state.runs[name], loss = losses[at(name)], arrived = reached(losses);
      const place = places.indexOf(name);
      told(cells.place, place < 0 ? "" : `${place + 1}`);
      told(cells.loss, lost(name) ? "blown up" : rounded(loss));
      told(cells.there, arrived >= 0 && arrived <= state.step ? `step ${arrived}` : lost(name) ? `off at ${left}` : "–");
      row.classList.toggle("rr-opt-first", place === 0);
    }
    time.value = state.step;
    told(play, state.playing ? "Pause" : "Play");
  }

  function sentence() {
    const places = order();
    if (!places.length) return "Choose an optimiser in the table.";
    const word = (name) => name[0].toUpperCase() + name.slice(1);
    const there = NAMES.filter((name) => state.shown.has(name) && reached(state.runs[name].losses) >= 0)
      .sort((a, b) => reached(state.runs[a].losses) - reached(state.runs[b].losses));
    if (state.step === 0) return `All start at a loss of ${rounded(state.runs[places[0]].losses[0])}. Press Play.`;
    const blown = NAMES.filter((name) => state.shown.has(name) && lost(name));
    const off = blown.length ? ` Diverged: ${blown.join(", ")}.` : "";
    const first = there.length ? ` ${word(there[0])} ${about().arrives} first, at step ${reached(state.runs[there[0]].losses)}.` : ` None ${about().arrives} within ${steps()} steps.`;
    const after = `After ${plural(state.step, "step")}`;
    if (endless()) {
      const gone = there.filter((name) => reached(state.runs[name].losses) <= state.step).length;
      return `${after} ${gone} of ${places.length} optimisers ${gone === 1 ? "has" : "have"} left the saddle.${state.step < steps() ? "" : first}${off}`;
    }
    const ahead = `${after} ${places[0]} is ahead with a loss of ${rounded(state.runs[places[0]].losses[at(places[0])])}.`;
    return state.step < steps() ? ahead + off : ahead + first + off;
  }

  const speak = () => told(said, sentence());

  /** Speak once the reader has stopped dragging. */
  let soon = 0;
  const speakSoon = () => {
    clearTimeout(soon);
    soon = setTimeout(() => state.playing || speak(), 250);
  };

  function go(step) {
    state.step = clamp(step, 0, steps());
    render();
    if (!state.playing) speak();
  }

  function begin() {
    state.playing = true;
    if (state.step >= steps()) state.step = 0;
    let began = null;
    const from = state.step, pace = steps() / 9; // the whole race takes nine seconds
    said.textContent = "Running.";
    const tick = (now) => {
      if (!state.playing) return;
      began ??= now;
      go(from + Math.floor(((now - began) / 1000) * pace));
      if (state.step >= steps()) {
        pause();
        return speak();
      }
      frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
    render();
  }

  function pause() {
    state.playing = false;
    cancelAnimationFrame(frame);
    told(play, "Play");
    speakSoon();
  }

  root.race = { state, choose, settings, surface, go, SURFACES, hills, follow }; // for the browser's console
  map.measure();
  choose(Object.keys(tracks)[0]);
  redrawn(stage, () => {
    const changed = map.measure();
    curve.measure();
    if (changed || !field) survey();
    render();
    whenIdle(surveyNext);
  });
});
