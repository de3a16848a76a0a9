// The losses: drag a prediction and its target, points with an outlier, or a probability; watch loss and slope.

const TITLES = {
  mse: "Squared error", mae: "Absolute error", huber: "Huber", "log-cosh": "Log-cosh", quantile: "Quantile", mbe: "Bias error",
  "log loss": "Log loss", focal: "Focal", hinge: "Hinge", kl: "KL divergence", square: "Squared error of p",
};
const MODES = { one: "One prediction", line: "A line through points", choice: "Yes or no" };

/** A table of losses whose rows can be switched off; the last column may hold a bar to either side. */
class LossTable {
  constructor(names, columns, changed) {
    this.shown = new Set(names);
    this.rows = names.map((name, number) => {
      const toggle = make("button", { type: "button", class: "rr-opt-toggle", "aria-pressed": "true" }, swatch(number), make("span", {}, TITLES[name]));
      toggle.addEventListener("click", () => {
        this.shown[this.shown.has(name) ? "delete" : "add"](name);
        toggle.setAttribute("aria-pressed", String(this.shown.has(name)));
        changed();
      });
      const cells = columns.map((column) => make("td", column ? {} : { class: "rr-opt-barcell", "aria-hidden": "true" }));
      return { name, cells, row: make("tr", {}, make("th", { scope: "row" }, toggle), ...cells) };
    });
    this.heads = columns.map((column) => (column ? make("th", { scope: "col" }, column) : make("td")));
    this.element = make("table", { class: "rr-live-table rr-opt-table rr-opt-slopes" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Loss"), ...this.heads)),
      make("tbody", {}, ...this.rows.map(({ row }) => row)));
  }

  fill(number, texts, bar) {
    const { cells } = this.rows[number];
    texts.forEach((text, i) => told(cells[i], text));
    if (bar === undefined) return;
    const last = cells.at(-1);
    if (!last.firstChild) last.append(make("span", { class: "rr-opt-bar" }, make("i")));
    styled(last.firstChild.firstChild, `left:${(50 + Math.min(0, bar) * 50).toFixed(1)}%;width:${(Math.abs(bar) * 50).toFixed(1)}%;background:${COLOURS[number]}`);
  }
}

live("losses", ({ root, stage, data }) => {
  const settings = { delta: 1, gamma: 0.9, focus: 2 };
  const said = announcer();
  const knob = (name, key, options) => {
    const slider = new Slider(name, { value: settings[key], ...options }, (value) => {
      settings[key] = value;
      redraw();
    });
    return Object.assign(slider, { key });
  };
  const share = { min: 0.05, max: 0.95, step: 0.05, say: (at) => at.toFixed(2) };
  const knobs = {
    one: [knob("Huber’s δ", "delta", { min: 0.1, max: 5, step: 0.1 }), knob("Quantile γ", "gamma", share)],
    line: [knob("Huber’s δ", "delta", { min: 0.1, max: 5, step: 0.1 }), knob("Quantile γ", "gamma", share)],
    choice: [knob("Focal γ", "focus", { min: 0, max: 5, step: 0.25 })],
  };
  const panel = (plot, side, ...below) => make("div", { class: "rr-live-sides" },
    make("div", { class: "rr-opt-wide" }, plot.element, ...below), make("div", { class: "rr-opt-narrow" }, ...side));

  let widths = 0; // that the figure has had

  /** Give a plot the width of the figure, if it has changed: to ask for it makes the browser lay out the page. */
  function fit(plot) {
    if (plot.fitted === widths) return;
    plot.measure();
    plot.fitted = widths;
  }

  const modes = { one: oneMode(), line: lineMode(), choice: choiceMode() };
  let mode = "one";
  const tabs = choices("Losses of", MODES, mode, (key) => {
    mode = key;
    redraw();
  });
  stage.append(tabs.element, ...Object.values(modes).map((one) => one.element), said);

  /** One prediction, one target; each loss may go its own way downhill. */
  function oneMode() {
    const names = Object.keys(REGRESSION);
    const state = { target: 0, at: names.map(() => 2.5), step: 0, playing: false };
    const plot = new Plot({ label: "Every loss against the prediction", x: [-5, 5], y: [-2.4, 9], height: (width) => clamp(Math.round(width * 0.78), 270, 390), xTitle: "prediction", yTitle: "loss", left: 30 });
    const table = new LossTable(names, ["Value", "Slope", ""], () => redraw());
    const rate = new Slider("Rate η", { min: 0.05, max: 1.2, step: 0.05, value: 0.4, say: (at) => at.toFixed(2) }, () => {});
    const play = button("Let them descend", () => (state.playing ? stop() : begin()), { main: true });
    const once = button("Step", () => {
      stop();
      advance();
      redraw();
    });
    const back = button("Together", () => {
      stop();
      together(2.5);
    });
    let frame = 0;
    const ends = () => [plot.x, plot.y];
    const target = new Handle(plot, {
      label: "Target", mark: "diamond", colour: "currentColor", step: 0.1, ends, get: () => [state.target, 0],
      set: (x) => {
        state.target = Number(x.toFixed(3));
        redraw();
      }, say: () => `target ${rounded(state.target)}`,
    });
    const guess = new Handle(plot, {
      label: "Prediction", mark: "circle", step: 0.1, ends, get: () => [state.at[0], 0],
      set: (x) => {
        stop();
        together(Number(x.toFixed(3)));
      }, say: () => `prediction ${rounded(state.at[0])}`,
    });

    function together(x) {
      state.at = names.map(() => x);
      state.step = 0;
      redraw();
    }

    function advance() {
      state.at = names.map((name, i) => state.at[i] - rate.value * REGRESSION[name](state.at[i] - state.target, settings)[1]);
      state.step += 1;
    }

    function begin() {
      if (state.step >= 40) together(2.5);
      state.playing = true;
      let last = null;
      const tick = (now) => {
        if (!state.playing) return;
        last ??= now;
        if (now - last > 180) {
          last = now;
          advance();
          redraw();
          if (state.step >= 40) return stop();
        }
        frame = requestAnimationFrame(tick);
      };
      frame = requestAnimationFrame(tick);
      redraw();
    }

    function stop() {
      state.playing = false;
      cancelAnimationFrame(frame);
      told(play, "Let them descend");
    }

    function render() {
      fit(plot);
      plot.axes();
      const xs = range(241, (i) => plot.x[0] + (i / 240) * (plot.x[1] - plot.x[0])), parts = [], marks = [];
      const slopes = names.map((name, i) => REGRESSION[name](state.at[i] - state.target, settings));
      const steepest = Math.max(1, ...slopes.filter((_, i) => table.shown.has(names[i])).map(([, slope]) => Math.abs(slope)));
      const apart = state.step > 0;
      parts.push(["path", { class: "rr-live-axis", d: `M${plot.left} ${plot.Y(0)}h${plot.across}` }],
        ["path", { class: "rr-live-now", d: `M${plot.X(state.target)} ${plot.top}v${plot.up}` }]);
      if (!apart) parts.push(["path", { class: "rr-live-now", style: "stroke-dasharray:none", d: `M${plot.X(state.at[0])} ${plot.top}v${plot.up}` }]);
      names.forEach((name, i) => {
        const [value, slope] = slopes[i];
        table.fill(i, [rounded(value), rounded(slope)], slope / steepest);
        if (!table.shown.has(name)) return;
        parts.push(["path", { class: "rr-live-line", d: plot.path(xs, xs.map((x) => REGRESSION[name](x - state.target, settings)[0])), stroke: COLOURS[i], "stroke-dasharray": DASHES[i] }]);
        const px = plot.X(state.at[i]), py = plot.Y(value), run = plot.X(1) - plot.X(0), rise = slope * (plot.Y(0) - plot.Y(1));
        const size = 26 / Math.hypot(run, rise);
        marks.push(["path", { class: "rr-opt-tangent", stroke: COLOURS[i], d: `M${px - run * size} ${py + rise * size}L${px + run * size} ${py - rise * size}` }],
          ["path", { class: "rr-live-mark", d: markPath(MARKS[i], 6), fill: COLOURS[i], transform: `translate(${px} ${py})` }]);
      });
      redo(plot.inner, [...parts, ...marks]);
      target.place();
      guess.place();
      guess.element.style.display = apart ? "none" : "";
      told(play, state.playing ? "Pause" : "Let them descend");
      const error = state.at[0] - state.target;
      if (!apart) return `The prediction is ${error ? `${rounded(Math.abs(error))} too ${error < 0 ? "low" : "high"}` : "exactly right"}. Gradient descent moves it against each slope.`;
      const off = (name) => rounded(Math.abs(state.at[names.indexOf(name)] - state.target));
      return `After ${state.step} ${state.step === 1 ? "step" : "steps"} at rate ${rate.value.toFixed(2)}: squared error is ${off("mse")} from the target, absolute error ${off("mae")}, Huber ${off("huber")}.`;
    }

    const buttons = make("div", { class: "rr-opt-transport" }, play, once, back, rate.element);
    const element = panel(plot, [table.element, make("div", { class: "rr-live-sliders" }, ...knobs.one.map((one) => one.element))], buttons);
    return { element, render, state, stop, table };
  }

  /** Points to drag, and for each loss the line that makes it least. */
  function lineMode() {
    const names = Object.keys(REGRESSION).filter((name) => name !== "mbe");
    const state = { points: data.points.map((one) => [...one]), lines: {} };
    const plot = new Plot({ label: "Points, and the line that each loss fits to them", x: [0, 10], y: [0, 10], height: (width) => clamp(Math.round(width * 0.78), 270, 390), xTitle: "x", yTitle: "y", left: 30 });
    const table = new LossTable(names, ["Mean", "Line"], () => redraw());
    const ends = () => [plot.x, plot.y];
    const handles = state.points.map((_, i) => new Handle(plot, {
      label: `Point ${i + 1}`, axes: "xy", size: 5.5, step: 0.1, ends, get: () => state.points[i],
      set: (x, y) => {
        state.points[i] = [Number(x.toFixed(3)), Number(y.toFixed(3))];
        redraw();
      }, say: () => `x ${rounded(state.points[i][0])}, y ${rounded(state.points[i][1])}`,
    }));
    const outlier = button("Spoil one point", () => {
      state.points[data.spoilt] = [...data.outlier];
      redraw();
    }, { main: true });
    const straight = button("As before", () => {
      state.points = data.points.map((one) => [...one]);
      redraw();
    });

    function render() {
      fit(plot);
      plot.axes();
      const parts = [];
      names.forEach((name, i) => {
        const line = fitLine(name, state.points, settings);
        state.lines[name] = line;
        table.fill(i, line ? [rounded(meanLoss(name, line, state.points, settings)), `${rounded(line[0])} ${line[1] < 0 ? "−" : "+"} ${rounded(Math.abs(line[1]))} x`] : ["–", "–"]);
        if (!line || !table.shown.has(name)) return;
        parts.push(["path", { class: "rr-live-line", d: plot.path(plot.x, plot.x.map((x) => line[0] + line[1] * x)), stroke: COLOURS[i], "stroke-dasharray": DASHES[i] }]);
      });
      redo(plot.inner, parts);
      handles.forEach((one) => one.place());
      const [a, b] = [state.lines.mse, state.lines.mae];
      if (!a || !b) return "The points stand one above the other: no line fits them.";
      const gap = Math.max(...plot.x.map((x) => Math.abs(a[0] + a[1] * x - b[0] - b[1] * x)));
      return gap < 0.8
        ? "The lines agree. Drag a point far away, or press “Spoil one point”."
        : `The line of the squared error is ${rounded(gap)} away from that of the absolute error, at one end.`;
    }

    const buttons = make("div", { class: "rr-opt-transport" }, outlier, straight);
    const element = panel(plot, [table.element, make("div", { class: "rr-live-sliders" }, ...knobs.line.map((one) => one.element))], buttons);
    return { element, render, state, table };
  }

  /** A yes-or-no answer: its score, its probability, and the truth. */
  function choiceMode() {
    const names = Object.keys(CLASSIFICATION);
    const state = { z: -1.5, y: 1, axis: "p" };
    const plot = new Plot({ label: "Every loss against the answer", x: [0, 1], y: [0, 5], height: (width) => clamp(Math.round(width * 0.78), 270, 390), yTitle: "loss", left: 30 });
    const table = new LossTable(names, ["Value", "Slope", ""], () => redraw());
    const axis = choices("Against", { p: "probability p", z: "score z" }, "p", (key) => {
      state.axis = key;
      redraw();
    });
    const truth = new Slider("Truth y", { min: 0, max: 1, step: 0.05, value: 1, say: (at) => at.toFixed(2), note: "1 yes, 0 no, between: unsure" }, (at) => {
      state.y = at;
      redraw();
    });
    const logit = (p) => Math.log(p / (1 - p));
    const answer = new Handle(plot, {
      label: "Answer", step: 0.02, ends: () => [state.axis === "p" ? [0.005, 0.995] : [-5.2, 5.2], plot.y],
      get: () => [state.axis === "p" ? sigmoid(state.z) : state.z, 0],
      set: (x) => {
        state.z = Number((state.axis === "p" ? logit(x) : x).toFixed(4));
        redraw();
      }, say: () => `probability ${sigmoid(state.z).toFixed(2)}, score ${rounded(state.z)}`,
    });

    function render() {
      const byP = state.axis === "p";
      plot.x = byP ? [0, 1] : [-5.3, 5.3];
      plot.xTitle = byP ? "probability p of a yes" : "score z, where p = σ(z)";
      answer.step = byP ? 0.02 : 0.2;
      fit(plot);
      plot.axes();
      told(table.heads[1], byP ? "dL/dp" : "dL/dz");
      const xs = range(281, (i) => (byP ? clamp(i / 280, 0.0005, 0.9995) : -5.3 + (10.6 * i) / 280));
      const z = (x) => (byP ? logit(x) : x), per = byP ? 1 / (sigmoid(state.z) * (1 - sigmoid(state.z))) : 1;
      const found = names.map((name) => CLASSIFICATION[name](state.z, state.y, settings)).map(([value, slope]) => [value, slope * per]);
      const steepest = Math.max(1, ...found.filter((_, i) => table.shown.has(names[i])).map(([, slope]) => Math.abs(slope)));
      const here = plot.X(byP ? sigmoid(state.z) : state.z);
      const parts = [["path", { class: "rr-live-now", style: "stroke-dasharray:none", d: `M${here} ${plot.top}v${plot.up}` }]], marks = [];
      names.forEach((name, i) => {
        const [value, slope] = found[i];
        table.fill(i, [rounded(value), rounded(slope)], slope / steepest);
        if (!table.shown.has(name)) return;
        parts.push(["path", { class: "rr-live-line", d: plot.path(xs, xs.map((x) => CLASSIFICATION[name](z(x), state.y, settings)[0])), stroke: COLOURS[i], "stroke-dasharray": DASHES[i] }]);
        const py = plot.Y(value), run = plot.X(1) - plot.X(0), rise = slope * (plot.Y(0) - plot.Y(1)), size = 26 / Math.hypot(run, rise);
        marks.push(["path", { class: "rr-opt-tangent", stroke: COLOURS[i], d: `M${here - run * size} ${py + rise * size}L${here + run * size} ${py - rise * size}` }],
          ["path", { class: "rr-live-mark", d: markPath(MARKS[i], 6), fill: COLOURS[i], transform: `translate(${here} ${py})` }]);
      });
      redo(plot.inner, [...parts, ...marks]);
      answer.place();
      const p = sigmoid(state.z), focal = found[1][0], log = found[0][0];
      return `The probability of a yes is ${p.toFixed(2)}; the truth is ${state.y.toFixed(2)}. ` +
        (log > 1e-9 ? `The focal loss is ${rounded((100 * focal) / log, 2)} % of the log loss.` : "The loss is zero.");
    }

    const element = panel(plot, [table.element, make("div", { class: "rr-live-sliders" }, truth.element, ...knobs.choice.map((one) => one.element))], axis.element);
    return { element, render, state, table };
  }

  function redraw() {
    for (const [key, one] of Object.entries(modes)) if (one.element.hidden !== (key !== mode)) one.element.hidden = key !== mode;
    if (mode !== "one") modes.one.stop();
    for (const list of Object.values(knobs)) for (const one of list) one.value = settings[one.key];
    told(said, modes[mode].render());
  }

  root.losses = { modes, settings, REGRESSION, CLASSIFICATION, fitLine, meanLoss, show: (key) => { mode = tabs.value = key; redraw(); } }; // for the console
  redrawn(stage, () => {
    widths += 1;
    redraw();
  });
});
