// Two clouds turn as CKA, the cosine similarity, or both are maximised; a reader chooses, and sets lambda and the gap.

live("clouds", ({ root, stage, data }) => {
  const { words, partners, concepts, names, trained, longest } = data;
  let goal = "cka", model = null, history = [], timer = 0;

  const plot = new Plot({ label: "Words and frames in one plane", x: [-2.3, 2.3], y: [-2, 2], height: (width) => Math.min(0.87 * width, 420), left: 2, right: 2, top: 2, bottom: 2, bare: true });
  const curves = new Plot({ label: "Cosine similarity and CKA over the steps", x: [0, longest], y: [-1, 1], height: 150, xTitle: "steps", left: 34, top: 8 });
  const threads = words.map((_, at) => draw("path", { class: `rr-clouds-thread${at < trained ? "" : " rr-clouds-out"}` }));
  const marks = { words: "circle", frames: "square" };
  const points = Object.fromEntries(Object.entries(marks).map(([name, kind]) => [name, words.map((_, at) => draw("path", {
    d: markPath(kind, 4.6), class: "rr-clouds-point", stroke: COLOURS[concepts[at]], fill: at < trained ? COLOURS[concepts[at]] : "var(--paper)" }))]));
  const labels = names.map((name) => draw("text", { class: "rr-clouds-name", "text-anchor": "middle" }, name));
  const origin = draw("path", { class: "rr-clouds-origin" });
  const lines = ["cosine", "cka"].map((_, number) => ["", "4 3"].map((dash) => draw("path", { class: "rr-live-line", stroke: COLOURS[4 + number], "stroke-dasharray": dash })));
  plot.inner.append(origin, ...threads, ...points.frames, ...points.words, ...labels);
  curves.inner.append(...lines.flat());

  const key = (number) => draw("svg", { class: "rr-live-swatch", viewBox: "0 0 30 14", "aria-hidden": "true" }, draw("path", { d: "M1 7H29", stroke: COLOURS[number], "stroke-width": 2.5 }));
  const cells = {};
  const row = (name, title, mark) => {
    cells[name] = [make("td"), make("td")];
    return make("tr", {}, make("th", { scope: "row" }, mark, title), cells[name]);
  };
  const table = make("table", { class: "rr-live-table rr-clouds-table" }, make("thead", {}, make("tr", {}, make("th"), make("th", { scope: "col" }, "trained pairs"), make("th", { scope: "col" }, "held-out pairs"))),
    make("tbody", {}, row("cosine", " cosine similarity", key(4)), row("cka", " CKA", key(5)), row("retrieval", "nearest frame is right", null)));
  const said = announcer();

  /** Both clouds, each drawn at the same size: neither the cosine nor CKA sees the size. */
  function shown() {
    const { words: w, frames: f } = model.positions();
    const sized = (rows) => {
      const size = Math.sqrt(sum(rows.slice(0, trained).map((point) => inner2(point, point))) / trained) || 1;
      return rows.map((point) => point.map((value) => (1.25 * value) / size));
    };
    return { words: sized(w), frames: sized(f) };
  }

  function score() {
    const { words: w, frames: f } = model.positions();
    return [scoreClouds(w.slice(0, trained), f.slice(0, trained)), scoreClouds(w.slice(trained), f.slice(trained))];
  }

  function paint() {
    const now = shown(), scores = score();
    for (const [name, all] of Object.entries(points)) {
      all.forEach((point, at) => point.setAttribute("transform", `translate(${plot.X(now[name][at][0]).toFixed(1)} ${plot.Y(now[name][at][1]).toFixed(1)})`));
    }
    threads.forEach((thread, at) => thread.setAttribute("d", plot.path([now.words[at][0], now.frames[at][0]], [now.words[at][1], now.frames[at][1]])));
    labels.forEach((label, concept) => {
      const mine = now.words.filter((_, at) => concepts[at] === concept && at < trained), [x, y] = columnMeans(mine);
      label.setAttribute("x", plot.X(x));
      label.setAttribute("y", plot.Y(y) - 11);
    });
    origin.setAttribute("d", `M${plot.X(0) - 6} ${plot.Y(0)}h12M${plot.X(0)} ${plot.Y(0) - 6}v12`);
    ["cosine", "cka"].forEach((key, number) => [0, 1].forEach((which) => {
      lines[number][which].setAttribute("d", curves.path(history.map((entry) => entry.step), history.map((entry) => entry.scores[which][key])));
    }));
    for (const [key, [inside, outside]] of Object.entries(cells)) {
      [inside, outside].forEach((cell, which) => { cell.textContent = key === "retrieval" ? percent(scores[which][key]) : fixed(scores[which][key]); });
    }
  }

  const note = () => history.push({ step: model.step, scores: score() });

  function advance(steps) {
    for (let left = steps; left && model.step < longest; left -= 1) {
      model.update(goal, lambda.value);
      if (model.step % 4 === 0) note();
    }
    paint();
  }

  function report() {
    const [inside, outside] = score();
    said.textContent = `After ${plural(model.step, "step")}: cosine similarity ${fixed(inside.cosine)} in training and ${fixed(outside.cosine)} held out; CKA ${fixed(inside.cka)} and ${fixed(outside.cka)}.`;
  }

  function pause() {
    cancelAnimationFrame(timer);
    timer = 0;
    go.textContent = model.step < longest ? "Train" : "Train again";
    report();
  }

  function frame() {
    advance(3);
    if (model.step >= longest) pause();
    else timer = requestAnimationFrame(frame);
  }

  function run() {
    if (timer) return pause();
    if (model.step >= longest) reset();
    said.textContent = "Training …";
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      advance(longest);
      return pause();
    }
    go.textContent = "Pause";
    timer = requestAnimationFrame(frame);
  }

  function reset() {
    if (timer) cancelAnimationFrame(timer);
    timer = 0;
    const clouds = { words, frames: bendPoints(words, partners, gap.value) };
    model = new Alignment(data, clouds, normalise.value);
    history = [];
    note();
    go.textContent = "Train";
    said.textContent = "Circles are words, squares are frames; a line joins a pair. Hollow pairs are held out of training.";
    paint();
  }

  const aims = choices("Maximise", { cosine: "cosine", cka: "CKA", both: "both" }, goal, (chosen) => { goal = chosen; });
  const lambda = new Slider("λ, weight of CKA in both", { min: 0.01, max: 10, step: 0.25, value: 0.1, log: true, say: (value) => rounded(value, 2) }, () => {});
  const gap = new Slider("gap between the modalities", { min: 0, max: 1, step: 0.05, value: 0.1, say: (value) => value.toFixed(2) }, reset);
  const normalise = tick("Batch normalisation of the outputs", true, reset);
  const go = button("Train", run, { main: true });
  stage.append(make("div", { class: "rr-live-row" }, go, button("Start again", reset), aims.element), make("div", { class: "rr-live-sides" }, plot.element,
    make("div", { class: "rr-clouds-side" }, make("div", { class: "rr-live-sliders" }, gap.element, lambda.element), normalise.element, curves.element, table)), said);

  redrawn(stage, () => {
    for (const each of [plot, curves]) each.measure();
    plot.axes({ xTicks: [], yTicks: [] });
    curves.axes({ yTicks: [-1, 0, 1] });
    if (model) paint();
  });
  reset();

  root.clouds = { // for tests and for the browser's console
    advance, score, reset,
    set: (values) => {
      if ("goal" in values) { goal = values.goal; aims.value = goal; }
      if ("lambda" in values) lambda.value = values.lambda;
      if ("gap" in values) gap.value = values.gap;
      if ("normalise" in values) normalise.value = values.normalise;
      reset();
    },
    positions: () => model.positions(),
  };
});
