// Two clouds turn as CKA, the cosine similarity, or both are maximised; a reader chooses, and sets lambda and the gap.

live("clouds", ({ root, stage, data }) => {
  const { words, partners, concepts, names, trained, longest } = data;
  let goal = "cka", model = null, history = [], timer = 0, scored = null;

  const plot = new Plot({ label: "Words and frames in one plane", x: [-2.3, 2.3], y: [-2, 2], height: (width) => Math.min(0.87 * width, 420), left: 2, right: 2, top: 2, bottom: 2, bare: true });
  const curves = new Plot({ label: "Cosine similarity and CKA over the steps", x: [0, longest], y: [-1, 1], height: 150, xTitle: "steps", left: 34, top: 8 });
  const groups = [true, false].map((seen) => range(words.length).filter((at) => at < trained === seen)); // trained pairs, and those held out
  const threads = groups.map((_, out) => draw("path", { class: `rr-clouds-thread${out ? " rr-clouds-out" : ""}` }));
  const points = ["frames", "words"].flatMap((name) => names.flatMap((_, concept) => groups.map((group, out) => ({
    name, members: group.filter((at) => concepts[at] === concept), mark: markPath(name === "words" ? "circle" : "square", 4.6).replace("M", "m"),
    path: draw("path", { class: "rr-clouds-point", stroke: COLOURS[concept], fill: out ? "var(--paper)" : COLOURS[concept] }) }))));
  const clustered = names.map((_, concept) => groups[0].filter((at) => concepts[at] === concept));
  const labels = names.map((name) => draw("text", { class: "rr-clouds-name", "text-anchor": "middle" }, name));
  const origin = draw("path", { class: "rr-clouds-origin" });
  const lines = ["cosine", "cka"].map((_, number) => ["", "4 3"].map((dash) => draw("path", { class: "rr-live-line", stroke: COLOURS[4 + number], "stroke-dasharray": dash })));
  plot.inner.append(origin, ...threads, ...points.map(({ path }) => path), ...labels);
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
  function sized(rows) {
    const size = Math.sqrt(sum(rows.slice(0, trained).map((point) => inner2(point, point))) / trained) || 1;
    return rows.map((point) => times2(point, 1.25 / size));
  }

  /** The scores of the pairs in training and of those held out, computed once for each step. */
  function score() {
    const positions = model.positions();
    if (scored?.positions.words !== positions.words) {
      const of = (...part) => scoreClouds(positions.words.slice(...part), positions.frames.slice(...part));
      scored = { positions, scores: [of(0, trained), of(trained)] };
    }
    return scored.scores;
  }

  function paint() {
    const positions = model.positions(), now = { words: sized(positions.words), frames: sized(positions.frames) }, scores = score();
    const place = ([x, y]) => `${tenths(plot.X(x))} ${tenths(plot.Y(y))}`;
    for (const { name, members, mark, path } of points) path.setAttribute("d", members.map((at) => `M${place(now[name][at])}${mark}`).join(""));
    threads.forEach((thread, out) => thread.setAttribute("d", groups[out].map((at) => `M${place(now.words[at])}L${place(now.frames[at])}`).join("")));
    labels.forEach((label, concept) => {
      const [x, y] = columnMeans(clustered[concept].map((at) => now.words[at]));
      label.setAttribute("transform", `translate(${tenths(plot.X(x))} ${tenths(plot.Y(y) - 11)})`);
    });
    for (const [key, [inside, outside]] of Object.entries(cells)) {
      [inside, outside].forEach((cell, which) => {
        told(cell, key === "retrieval" ? percent(scores[which][key]) : fixed(scores[which][key]));
      });
    }
  }

  function trace() {
    const steps = history.map((entry) => entry.step);
    ["cosine", "cka"].forEach((key, number) => lines[number].forEach((line, which) => line.setAttribute("d", curves.path(steps, history.map((entry) => entry.scores[which][key])))));
  }

  const note = () => history.push({ step: model.step, scores: score() });

  function advance(steps) {
    const known = history.length;
    for (let left = steps; left && model.step < longest; left -= 1) {
      model.update(goal, lambda.value);
      if (model.step % 4 === 0) note();
    }
    if (history.length > known) trace();
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
    advance(2);
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
    trace();
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
    origin.setAttribute("d", `M${plot.X(0) - 6} ${plot.Y(0)}h12M${plot.X(0)} ${plot.Y(0) - 6}v12`);
    curves.axes({ yTicks: [-1, 0, 1] });
    if (!model) return;
    trace();
    paint();
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
