// Two clouds of paired points that the reader changes, and what CKA and SVCCA say about them.

const MEASURES = { linear: "CKA, linear", debiased: "CKA, debiased", rbf: "CKA, RBF kernel", svcca: "SVCCA" };
const RELATIONS = {
  same: "Both clouds are the same. Every measure is 1.",
  turned: "The right cloud is the left one, turned and shrunk. No measure sees a difference.",
  stretched: "A linear map has stretched one direction. SVCCA stays at 1; CKA falls.",
  bent: "The right cloud is a curved function of the left one. Each measure sees only part of that.",
  shuffled: "The shapes are equal, but the pairs are wrong. What counts is the pairs.",
  unrelated: "The clouds have nothing to do with each other. What the bars show is chance, and bias.",
  yours: "These clouds are yours.",
};
const [FEWEST, MOST] = [4, 24];

/** The right cloud of a relation: a map of each left point, or points of its own. */
function related(relation, left, data) {
  const turn = (angle, [x, y]) => [Math.cos(angle) * x - Math.sin(angle) * y, Math.sin(angle) * x + Math.cos(angle) * y];
  const maps = {
    same: (point) => [...point],
    turned: (point) => turn(0.9, point).map((value) => 0.6 * value),
    stretched: (point) => turn(0.6, (([x, y]) => [1.1 * x, 0.3 * y])(turn(-0.6, point))),
    bent: ([x, y]) => [x, 1.3 * x * x - 0.55 + 0.15 * y],
    shuffled: (_, at) => [...left[(at + Math.ceil(left.length / 2) - 1) % left.length]],
    unrelated: (_, at) => [...data.others[at]],
  };
  return left.map(maps[relation]);
}

/** Add dimensions of noise, independent in the two clouds; the same for the same seed. */
function withNoise(cloud, dimensions, seed) {
  return cloud.map((point, at) => {
    const random = new Random(7919 * seed + at);
    return [...point, ...range(dimensions, () => 0.5 * random.normal())];
  });
}

live("clouds", ({ root, stage, data, find }) => {
  let relation = data.relation, left = data.points.slice(0, data.count), right = related(relation, left, data), shownAt = -1;
  const said = announcer(), bars_ = make("div", {}), sides = [];
  const clouds = () => [left, right];

  function side(number, title) {
    const plot = new Plot({ label: title, x: [-1.35, 1.35], y: [-1.35, 1.35], bare: true, left: 1, right: 1, top: 1, bottom: 1, height: (width) => width });
    const made = { plot, handles: [] };
    plot.svg.addEventListener("pointerdown", (event) => {
      if (event.target.closest(".rr-live-handle") || left.length >= MOST || event.button) return;
      const point = plot.under(event).map((value) => clamp(value, -1.3, 1.3));
      const other = data.others[left.length % data.others.length].map((value) => 0.9 * value);
      clouds().forEach((cloud, at) => cloud.push(at === number ? point : other));
      become("yours");
    });
    sides.push(made);
    return make("div", { class: `rr-clouds-side rr-clouds-${number ? "right" : "left"}` }, make("div", { class: "rr-live-title" }, title), plot.element);
  }

  /** One handle for each point of a cloud. */
  function handles(number) {
    const { plot, handles: own } = sides[number], cloud = clouds()[number];
    while (own.length > cloud.length) own.pop().element.remove();
    while (own.length < cloud.length) {
      const at = own.length;
      const handle = new Handle(plot, {
        label: `Example ${at + 1}, ${number ? "right" : "left"} cloud`, axes: "xy", step: 0.05, size: 8.5,
        get: () => clouds()[number][at] ?? [0, 0], ends: () => [[-1.3, 1.3], [-1.3, 1.3]],
        say: () => clouds()[number][at].map((value) => fixed(value)).join(", "),
        set: (x, y) => { clouds()[number][at] = [x, y]; become("yours"); },
      });
      handle.element.append(draw("text", { "text-anchor": "middle", y: 3.6, class: "rr-clouds-number" }, String(at + 1)));
      handle.element.tabIndex = at ? -1 : 0; // Page Up and Page Down lead to the others
      handle.element.addEventListener("keydown", (event) => {
        const step = { PageDown: 1, PageUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        own[(at + step + own.length) % own.length].element.focus();
      });
      for (const begin of ["pointerenter", "focus"]) handle.element.addEventListener(begin, () => point(at));
      for (const end of ["pointerleave", "blur"]) handle.element.addEventListener(end, () => point(-1));
      own.push(handle);
    }
    if (plot.tall) own.forEach((handle) => handle.place()); // before it is drawn, a plot has no height
  }

  function point(at) {
    shownAt = at;
    for (const { handles: own } of sides) own.forEach((handle, other) => handle.element.classList.toggle("rr-clouds-paired", other === at));
  }

  function show() {
    const noise = dimensions.value, { result, ms } = timed(() => measuresOf(withNoise(left, noise, 1), withNoise(right, noise, 2)));
    [0, 1].forEach(handles);
    point(shownAt);
    bars_.replaceChildren(bars("How similar the clouds are", Object.entries(MEASURES).map(([key, words]) => [words, clamp(result[key], 0, 1), fixed(result[key])])));
    said.replaceChildren(make("strong", {}, `${left.length} examples. `), noise
      ? `Each cloud has ${plural(noise, "more dimension")} of noise, which you do not see. The noise in one has nothing to do with the noise in the other.` : RELATIONS[relation]);
    find("took").textContent = took(ms);
    root.clouds = { set, add, result, state: () => ({ left, right, relation, noise }) }; // for tests
  }

  function become(next) {
    relation = next;
    relations.value = next;
    count.value = left.length;
    show();
  }

  /** Draw the right cloud anew from the left one. */
  function relate(next) {
    right = related(next, left, data);
    become(next);
  }

  function resize(size) {
    left = range(size, (at) => left[at] ?? data.points[at]);
    if (relation === "yours") right = range(size, (at) => right[at] ?? data.others[at]);
    else right = related(relation, left, data);
    become(relation);
  }

  const add = (x, y) => { left.push(x); right.push(y); become("yours"); };
  const set = (x, y, noise = 0) => { left = x.map((row) => [...row]); right = y.map((row) => [...row]); dimensions.value = noise; become("yours"); };
  const relations = choices("Right cloud", Object.fromEntries(Object.keys(RELATIONS).filter((key) => key !== "yours").map((key) => [key, key])), relation, relate);
  const count = new Slider("Examples", { min: FEWEST, max: MOST, step: 1, value: left.length }, resize);
  const dimensions = new Slider("Dimensions of noise", { min: 0, max: 64, step: 1, value: 0 }, show);
  stage.append(relations.element, make("div", { class: "rr-clouds-sides" }, side(0, "Head A"), side(1, "Head B")), bars_, said,
    make("div", { class: "rr-live-sliders" }, count.element, dimensions.element),
    make("p", { class: "rr-live-note" }, "Equal numbers are the same example. Drag points; press an empty spot to add one."));
  for (const { plot } of sides) {
    redrawn(plot.element, () => {
      plot.measure();
      plot.axes();
      show();
    });
  }
});
