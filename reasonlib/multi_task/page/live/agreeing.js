// Two tasks pull at the shared parameters: drag what each wants, and see the plain sum and PCGrad's step.

const inner = (a, b) => a[0] * b[0] + a[1] * b[1];
const plus = (a, b) => [a[0] + b[0], a[1] + b[1]];

/** Remove from a what points against b, if anything does (Yu et al. 2020). */
function projected(a, b) {
  const product = inner(a, b);
  if (product >= 0) return a;
  const share = product / inner(b, b);
  return [a[0] - share * b[0], a[1] - share * b[1]];
}

/** Both steps, the cosine of the two pulls, and how fast each task's loss falls along each step. */
function pulls(a, b) {
  const sum = plus(a, b), surgery = plus(projected(a, b), projected(b, a));
  const cosine = inner(a, b) / (Math.sqrt(inner(a, a) * inner(b, b)) || 1);
  return { cosine, sum, surgery, gains: { sum: [inner(a, sum), inner(b, sum)], surgery: [inner(a, surgery), inner(b, surgery)] } };
}

live("agreeing", ({ root, stage, data, find }) => {
  let wants = data.wants.map((vector) => [...vector]);
  const said = announcer(), gains = make("div", {}), arrows = draw("g", {});
  const plot = new Plot({
    label: "Steps that two tasks want, and the step that is taken", x: [-1.6, 1.6], y: [-0.8, 1.1], bare: true,
    left: 6, right: 6, top: 6, bottom: 6, height: (width) => Math.min(270, 0.58 * width),
  });
  plot.front.before(arrows);
  const names = ["Task A", "Task B"];
  const handles = names.map((name, at) => new Handle(plot, {
    label: `Step that ${name} wants`, axes: "xy", step: 0.05, colour: COLOURS[at], size: 7, mark: MARKS[at],
    get: () => wants[at], ends: () => [[-1.5, 1.5], [-0.7, 1]], say: () => `${fixed(wants[at][0])} across, ${fixed(wants[at][1])} up`,
    set: (x, y) => { wants[at] = Math.hypot(x, y) < 0.1 ? wants[at] : [x, y]; show(); },
  }));

  function arrow([x, y], colour, dashes = "", width = 2.5) {
    const [x0, y0, x1, y1] = [plot.X(0), plot.Y(0), plot.X(x), plot.Y(y)], length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [u, v] = [(x1 - x0) / length, (y1 - y0) / length], tip = `M${x1} ${y1}L${x1 - 9 * u - 5 * v} ${y1 - 9 * v + 5 * u}L${x1 - 9 * u + 5 * v} ${y1 - 9 * v - 5 * u}z`;
    return [draw("path", { d: `M${x0} ${y0}L${x1} ${y1}`, stroke: colour, "stroke-width": width, "stroke-dasharray": dashes, fill: "none" }), draw("path", { d: tip, fill: colour })];
  }

  function show() {
    const result = pulls(...wants), which = step.value, taken = result[which];
    arrows.replaceChildren(...[...arrow(wants[0], COLOURS[0]), ...arrow(wants[1], COLOURS[1]), ...arrow(taken.map((value) => value / 2), "currentColor", which === "sum" ? "" : "6 3", 3)]);
    handles.forEach((handle) => handle.place());
    const [a, b] = result.gains[which], most = Math.max(0.5, ...Object.values(result.gains).flat().map(Math.abs));
    gains.replaceChildren(make("ol", { class: "rr-live-bars rr-agreeing-bars", "aria-label": "How fast each loss falls along the step" },
      [a, b].map((gain, at) => make("li", {}, make("span", {}, `${names[at]}: its loss ${gain < -1e-9 ? "rises" : gain > 1e-9 ? "falls" : "stays"}`),
        make("span", { class: `rr-live-bar${gain < 0 ? " rr-agreeing-loss" : ""}`, style: `--share:${Math.abs(gain) / most}` }), make("span", {}, fixed(gain))))));
    const hurt = names.filter((_, at) => result.gains.sum[at] < -1e-9), idle = names.filter((_, at) => result.gains.sum[at] <= 1e-9);
    said.replaceChildren(make("strong", {}, `Cosine ${fixed(result.cosine)}. `),
      result.cosine >= 0 ? "The tasks agree: both steps are the same."
        : hurt.length ? `The tasks conflict: the plain sum makes the loss of ${listed(hurt)} rise.` : idle.length ? `The tasks conflict: the plain sum does nothing for ${listed(idle)}.` : "The tasks conflict, but the plain sum still serves both.");
    root.agreeing = { set, result };
  }

  function set(a, b, which = step.value) {
    wants = [[...a], [...b]];
    step.value = which;
    show();
  }

  const step = choices("Step taken", { sum: "sum", surgery: "PCGrad" }, "sum", () => show());
  const key = make("p", { class: "rr-live-note" }, swatch(0), " what task A wants ", swatch(1), " what task B wants; black or white: half of the step that is taken");
  stage.append(make("div", { class: "rr-live-row" }, step.element), plot.element, said, gains, key);
  redrawn(plot.element, () => {
    plot.measure();
    plot.axes();
    show();
  });
});
