// Saturation: what passes through a deep stack, layer by layer, while it learns.

const WARM = "#d55e00", COOL = "#2389d7";
const KEPT = 320; // looks back that the carpet and the curve remember
const LONGEST = 3000; // steps after which training pauses by itself

/** What stands at a place once the values are sorted, found without sorting all (Hoare 1961); what is no number comes last. */
function inOrder(values, place) {
  const some = new Float64Array(values.length);
  let low = 0, high = -1;
  for (let k = 0; k < values.length; k += 1) if (!Number.isNaN(values[k])) some[(high += 1)] = values[k];
  if (place > high) return NaN;
  while (low < high) {
    const pivot = some[(low + high) >> 1];
    let i = low, j = high;
    while (i <= j) {
      while (some[i] < pivot) i += 1;
      while (some[j] > pivot) j -= 1;
      if (i > j) break;
      const moved = some[i];
      some[i] = some[j];
      some[j] = moved;
      i += 1;
      j -= 1;
    }
    if (place <= j) high = j;
    else if (place >= i) low = i;
    else break;
  }
  return some[place];
}

live("saturation", ({ root, stage, data: { tries, momentum, width } }) => {
  const chosen = { ...Object.values(tries)[0].settings };
  let stack, seen, first, history, every, span = null, training = false, frame = 0, drawnAt = -1, late = false;

  const wide = (share, low, high) => (at) => clamp(Math.round(at * share), low, high);
  const violins = new Plot({ label: "Activations of every layer", x: [0.5, 6.5], y: [0, 1], height: wide(0.6, 220, 300), left: 34, yTitle: "activations" });
  const gradients = new Plot({ label: "Norm of the gradient at every layer", x: [0.5, 6.5], y: [1e-6, 1], logY: true, height: wide(0.62, 180, 225), left: 40, yTitle: "gradient of the weights (norm)", xTitle: "layer" });
  const carpet = new Plot({ label: "Share of saturated slopes at every layer and step", x: [0, 60], y: [0.5, 6.5], height: wide(0.36, 130, 190), left: 34, yTitle: "saturation, layer by layer", xTitle: "step of training" });
  const curve = new Plot({ label: "Loss against the step", x: [0, 60], y: [0, 1], height: wide(0.4, 120, 150), left: 40, yTitle: "loss", xTitle: "step of training" });
  const cloth = make("canvas", { class: "rr-opt-cloth", "aria-hidden": "true" });
  carpet.element.prepend(cloth);

  const preset = menu("Try", { ...Object.fromEntries(Object.entries(tries).map(([key, one]) => [key, one.title])), own: "Your own setting" }, Object.keys(tries)[0], (key) => {
    if (!tries[key]) return;
    Object.assign(chosen, tries[key].settings);
    anew();
  });
  const ours = () => { if (preset.value !== "own") preset.value = "own"; };
  const own = () => {
    ours();
    anew();
  };
  const kind = menu("Activation", Object.fromEntries(Object.keys(ACTIVATIONS).map((name) => [name, name])), chosen.activation, (name) => {
    chosen.activation = name;
    own();
  });
  const slider = (name, key, options) => new Slider(name, { value: chosen[key], ...options }, (value) => {
    chosen[key] = value;
    own();
  });
  const depth = slider("Layers", "depth", { min: 2, max: 16, step: 1, say: String });
  const scale = slider("Weight scale", "scale", { min: 0.1, max: 6, step: 0.1, say: (at) => at.toFixed(1) });
  const rate = new Slider("Rate η", { min: 0.001, max: 10, step: 0.02, value: chosen.rate, log: true }, (value) => {
    chosen.rate = stack.rate = value;
    ours();
  });
  const train = button("Train", () => (training ? pause() : begin()), { main: true });
  const once = button("Step", () => {
    pause();
    advance();
    render();
    speak();
  });
  const reset = button("To the start", () => anew());
  const fresh = button("New weights", () => {
    chosen.seed = (chosen.seed % 999) + 1;
    own();
  });
  const said = announcer();
  const step = make("span", { class: "rr-opt-count" });
  const body = make("tbody");
  const numbers = make("details", { class: "rr-opt-numbers", ontoggle: tabulate }, make("summary", {}, "The numbers, layer by layer"),
    make("table", { class: "rr-live-table rr-opt-table" }, make("thead", {}, make("tr", {}, ...["Layer", "Mean", "Saturated", "Dead units", "Gradient"].map((name) => make("th", { scope: "col" }, name)))), body));
  const key = make("p", { class: "rr-opt-legend" }, make("span", { style: `background:${COOL}` }), "responds ", make("span", { style: `background:${WARM}` }), "saturated: a slope below a tenth of the steepest ", make("span", { class: "rr-opt-dash" }), "mean");

  stage.append(
    make("div", { class: "rr-live-sliders rr-opt-top" }, preset.element, kind.element, depth.element, scale.element, rate.element),
    make("div", { class: "rr-opt-transport" }, train, once, reset, fresh, step),
    make("div", { class: "rr-live-sides" },
      make("div", { class: "rr-opt-wide" }, violins.element, key, carpet.element),
      make("div", { class: "rr-opt-narrow" }, gradients.element, curve.element)),
    said, numbers);

  function anew() {
    pause();
    stack = new Stack({ ...chosen, momentum, width }, stack);
    if (kind.value !== chosen.activation) kind.value = chosen.activation;
    [depth.value, scale.value, rate.value] = [chosen.depth, chosen.scale, chosen.rate];
    seen = first = stack.look();
    history = [];
    every = 1;
    note();
    span = null;
    render();
    speak();
  }

  function note() {
    if (stack.steps % every) return;
    history.push({ step: stack.steps, loss: seen.loss, saturated: seen.layers.map((one) => one.saturated) });
    if (history.length > KEPT) {
      every *= 2;
      history = history.filter((one) => one.step % every === 0);
    }
  }

  function advance() {
    if (!Number.isFinite(seen.loss)) return;
    stack.learn();
    seen = stack.look();
    note();
  }

  function begin() {
    training = true;
    train.textContent = "Pause";
    said.textContent = "Training. Pause to read where it stands.";
    let last = null, due = 0;
    const tick = (now) => {
      if (!training) return;
      const pace = stack.steps < 90 ? 15 : stack.steps < 300 ? 40 : 120; // steps in a second: slowly at first
      due = Math.min(6, due + (last === null ? 1 : ((now - last) / 1000) * pace));
      last = now;
      const began = performance.now();
      for (; due >= 1 && performance.now() - began < BUDGET; due -= 1) advance();
      if (late) drawCourse(); // in turn, so that each frame has half of the work
      else if (stack.steps !== drawnAt) drawLayers();
      if (!Number.isFinite(seen.loss) || stack.steps >= LONGEST) {
        pause();
        render();
        return speak();
      }
      frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
  }

  function pause() {
    if (training) queueMicrotask(speak);
    training = false;
    cancelAnimationFrame(frame);
    told(train, "Train");
    if (late) drawCourse();
  }

  /** What the activations' axis shows: fixed for bounded functions, else it grows with the values. */
  function limits() {
    const fixed = { sigmoid: [0, 1], "hard sigmoid": [0, 1], dSiLU: [-0.15, 1.15], tanh: [-1, 1], "hard tanh": [-1, 1], softsign: [-1, 1] }[chosen.activation];
    if (fixed) return fixed;
    let low = 0, high = 1;
    for (const { values } of seen.layers) {
      const few = Math.floor(0.01 * values.length), most = Math.floor(0.985 * values.length);
      let inside = 0, within = 0; // most layers change no end, and this is seen without an order
      for (let k = 0; k < values.length; k += 1) {
        if (values[k] >= low) inside += 1;
        if (values[k] <= high) within += 1;
      }
      if (values.length - inside > few) low = Math.min(low, inOrder(values, few));
      if (within <= most) high = Math.max(high, inOrder(values, most));
    }
    if (!span || high > span[1] || low < span[0] || high < span[1] / 3) span = [low < 0 ? Math.min(-0.3, low * 1.2) : 0, high * 1.3];
    return span;
  }

  function render() {
    drawLayers();
    drawCourse();
  }

  const everyLayer = () => range(seen.layers.length, (l) => l + 1);
  const fewLayers = () => (seen.layers.length > 10 ? everyLayer().filter((l) => l % 2) : everyLayer());

  /** Activations and gradients of the layers, as they are. */
  function drawLayers() {
    drawnAt = stack.steps;
    late = true;
    const { layers } = seen, count = layers.length, whole = everyLayer(), few = fewLayers();
    violins.x = gradients.x = [0.5, count + 0.5];

    // How the activations of each layer are spread.
    violins.y = limits();
    violins.axes({ xTicks: few });
    const bins = 36, [low, high] = violins.y, half = (violins.X(2) - violins.X(1)) * 0.44, thick = violins.up / bins, tall = tenths(thick - 0.5);
    const parts = [["path", { class: "rr-live-axis", style: "stroke-opacity:.25", d: `M${violins.left} ${violins.Y(0)}h${violins.across}` }]];
    const faded = FADED * stack.steepest, fine = bins / (high - low), all = new Uint32Array(bins), awake = new Uint32Array(bins);
    layers.forEach(({ values, slopes, mean }, l) => {
      all.fill(0);
      awake.fill(0);
      for (let k = 0; k < values.length; k += 1) {
        const at = (values[k] - low) * fine;
        if (Number.isNaN(at)) continue;
        const bin = at < 1 ? 0 : at < bins ? at | 0 : bins - 1;
        all[bin] += 1;
        if (Math.abs(slopes[k]) >= faded) awake[bin] += 1;
      }
      const most = Math.sqrt(Math.max(...all)), middle = violins.X(l + 1);
      let cool = "", warm = "";
      for (let bin = 0; bin < bins; bin += 1) {
        if (!all[bin]) continue;
        const reach = Math.max(0.8, (Math.sqrt(all[bin]) / most) * half), y = violins.top + violins.up - (bin + 1) * thick;
        const inner = reach * (awake[bin] / all[bin]), from = tenths(y);
        if (awake[bin] < all[bin]) warm += `M${tenths(middle - reach)} ${from}h${tenths(2 * reach)}v${tall}h${tenths(-2 * reach)}z`; // else it is covered
        if (inner > 0) cool += `M${tenths(middle - inner)} ${from}h${tenths(2 * inner)}v${tall}h${tenths(-2 * inner)}z`;
      }
      parts.push(["path", { d: warm, fill: WARM }], ["path", { d: cool, fill: COOL }]);
      if (Number.isFinite(mean)) parts.push(["path", { class: "rr-opt-mean", d: `M${middle - half * 0.9} ${violins.Y(mean)}h${half * 1.8}` }]);
    });
    redo(violins.inner, parts);

    // The gradient at each layer, now and before training.
    const now = layers.map((one) => one.gradient), before = first.layers.map((one) => one.gradient);
    const positive = [...now, ...before].filter((one) => one > 0 && Number.isFinite(one));
    const least = Math.max(1e-18, Math.min(1e-3, ...positive)), most = Math.max(1, ...positive);
    gradients.y = [10 ** Math.floor(Math.log10(least) - 0.2), 10 ** Math.ceil(Math.log10(most) + 0.1)];
    gradients.axes({ xTicks: few });
    const dots = now.flatMap((one, l) => (one > 0 && Number.isFinite(one) ? [["circle", { cx: gradients.X(l + 1), cy: gradients.Y(one), r: 4, fill: COLOURS[0], class: "rr-live-mark" }]] : []));
    redo(gradients.inner, [
      ["path", { class: "rr-live-line", style: "stroke:currentColor;stroke-opacity:.35;stroke-dasharray:3 3;stroke-width:1.6", d: gradients.path(whole, before) }],
      ["path", { class: "rr-live-line", stroke: COLOURS[0], d: gradients.path(whole, now) }], ...dots]);
    told(step, `step ${stack.steps}, ${Math.round(100 * seen.accuracy)} % right`);
    if (numbers.open) tabulate();
  }

  /** What has been, step by step. */
  function drawCourse() {
    late = false;
    const count = seen.layers.length, few = fewLayers(), last = Math.max(60, stack.steps);
    carpet.y = [0.5, count + 0.5];
    carpet.x = curve.x = [0, last];
    carpet.axes({ yTicks: few });
    const long = Math.max(1, Math.round(last / every) + 1);
    cloth.width = long;
    cloth.height = count;
    const context = cloth.getContext("2d"), image = context.createImageData(long, count);
    const { data } = image;
    for (const { step: at, saturated } of history) {
      for (let l = 0, pixel = 4 * ((count - 1) * long + Math.round(at / every)); l < count; l += 1, pixel -= 4 * long) {
        data[pixel] = 213;
        data[pixel + 1] = 94;
        data[pixel + 3] = Math.round(12 + 243 * saturated[l]);
      }
    }
    context.putImageData(image, 0, 0);
    styled(cloth, Object.entries({ left: `${(100 * carpet.left) / carpet.width}%`, width: `${(100 * carpet.across) / carpet.width}%`, top: `${(100 * carpet.top) / carpet.tall}%`, height: `${(100 * carpet.up) / carpet.tall}%` }).map((one) => one.join(":")).join(";"));
    const losses = history.map((one) => one.loss), finite = losses.filter(Number.isFinite);
    curve.y = [0, Math.min(3, Math.max(0.8, ...finite)) * 1.05];
    curve.axes();
    redo(curve.inner, [
      ["path", { class: "rr-live-now", d: `M${curve.left} ${curve.Y(Math.LN2)}h${curve.across}` }],
      ["path", { class: "rr-live-line", stroke: COLOURS[2], d: curve.path(history.map((one) => one.step), losses) }]]);
  }

  function tabulate() {
    body.replaceChildren(...seen.layers.map(({ mean, saturated, dead, gradient }, l) => make("tr", {}, make("th", { scope: "row" }, String(l + 1)),
      ...[rounded(mean), `${(100 * saturated).toFixed(1)} %`, `${dead} of ${width}`, rounded(gradient)].map((text) => make("td", {}, text)))));
  }

  function speak() {
    const { layers, loss, accuracy } = seen, top = layers.at(-1), bottom = layers[0];
    if (!Number.isFinite(loss)) {
      said.textContent = "The loss has blown up: the rate is too high for these weights.";
      return;
    }
    const worst = layers.reduce((found, one, l) => (one.saturated > layers[found].saturated ? l : found), 0);
    const ratio = bottom.gradient / top.gradient, dead = layers.reduce((sum, one) => sum + one.dead, 0);
    const faint = ratio > 0 ? `The gradient at layer 1 is ${rounded(ratio)} of that at layer ${layers.length}.` : "No gradient reaches layer 1.";
    const most = layers[worst].saturated > 0.005 ? `Layer ${worst + 1} is the most saturated, with ${Math.round(100 * layers[worst].saturated)} % of its slopes.` : "No layer is saturated.";
    const points = `${Math.round(100 * accuracy)} % of the points are right${Math.abs(accuracy - 0.5) < 0.1 ? ", about what guessing gives" : ""}.`;
    said.textContent = `${stack.steps ? `After ${plural(stack.steps, "step")} ${points} ` : ""}${faint} ${most}${dead ? ` ${dead} of ${layers.length * width} units are dead: no point moves them.` : ""}`;
  }

  root.saturation = {
    chosen, get stack() { return stack; }, get seen() { return seen; }, advance, render, anew, ACTIVATIONS,
    set: (changes) => { Object.assign(chosen, changes); anew(); }, make: (settings) => new Stack(settings),
  }; // for the console
  redrawn(stage, () => {
    for (const plot of [violins, gradients, carpet, curve]) plot.measure();
    violins.xTitle = violins.width < 330 ? "layer" : "layer, from the input to the output";
    if (stack) render();
    else anew();
  });
});
