// The heads of trained models: how similar every two are, and their SVCCA coefficients, for every model that was trained.

/** The mean of a matrix over all pairs i < j; null where there is no pair. */
function meanOverPairs(matrix) {
  const values = matrix.flatMap((row, i) => row.slice(i + 1));
  return values.length ? values.reduce((total, value) => total + value, 0) / values.length : null;
}

live("views", ({ root, stage, data, find }) => {
  let family = data.start, at = data.families[family].first ?? 0;
  const said = announcer(), maps = make("div", { class: "rr-views-maps" }), facts = make("dl", { class: "rr-views-facts" });
  const plot = new Plot({ label: "SVCCA coefficients between heads", x: [0, 1], y: [0, 1.02], height: 190, xTitle: "number of the coefficient", yTitle: "SVCCA coefficients of two heads, mean" });
  const chosen = () => data.families[family].models[at], reference = () => data.families[family].models[data.families[family].reference ?? 0];

  function map({ matrix }, number) {
    const size = matrix.length, words = `Layer ${number + 1}`;
    const cells = matrix.flatMap((row, y) => row.map((value, x) => [
      draw("rect", { x, y, width: 1, height: 1, class: "rr-views-cell", style: heat(clamp(value, 0, 1)) }),
      size <= 4 ? draw("text", { x: x + 0.5, y: y + 0.58, "text-anchor": "middle" }, x === y ? "1" : fixed(value)) : null,
    ]));
    const mean = meanOverPairs(matrix);
    return make("div", {}, make("div", { class: "rr-live-title" }, words),
      draw("svg", { viewBox: `0 0 ${size} ${size}`, class: "rr-views-map", role: "img", "aria-label": `${words}: ${plural(size, "head")}${mean === null ? "" : `, mean CKA of two heads ${fixed(mean)}`}` }, cells));
  }

  /** The mean of the layers' curves, as far as all of them go. */
  function curveOf(model) {
    const curves = model.layers.map((layer) => layer.curve), length = Math.min(...curves.map((curve) => curve.length));
    return range(length, (index) => curves.reduce((total, curve) => total + curve[index], 0) / curves.length);
  }

  function line(model, number) {
    const curve = curveOf(model);
    return [draw("path", { class: "rr-live-line", d: plot.path(curve.map((_, index) => index + 1), curve), stroke: COLOURS[number], "stroke-dasharray": DASHES[number] })];
  }

  function show() {
    const model = chosen(), other = reference(), all = data.families[family].models;
    plot.x = [1, Math.max(2, ...all.map((one) => curveOf(one).length))];
    plot.axes();
    plot.inner.replaceChildren(...(other === model ? [] : line(other, 1)), ...line(model, 0));
    maps.replaceChildren(...model.layers.map(map));
    const fact = (words, value) => make("div", {}, make("dt", {}, words), make("dd", {}, value));
    const pairs = model.heads > 1, shown = (value) => (pairs && value !== null ? fixed(value) : "–");
    facts.replaceChildren(fact("CKA of two heads", shown(model.cka)), fact("SVCCA of two heads", shown(model.svcca)), fact("perplexity", model.perplexity.toFixed(2)));
    key.replaceChildren(swatch(0, false), ` ${model.words} `, ...(other === model ? [] : [swatch(1, false), ` ${other.words}`]));
    said.replaceChildren(make("strong", {}, `${model.words}. `), pairs ? "Each cell is the CKA of two heads: the stronger the colour, the more alike." : "One head has nothing to be compared with.");
    root.views = { choose, state: () => ({ family, at, model, curve: curveOf(model) }) }; // for tests
  }

  function choose(name, index) {
    family = name;
    at = index ?? data.families[name].first ?? 0;
    names.value = name;
    renew();
    show();
  }

  const key = make("p", { class: "rr-live-key" }), holder = make("div", {});
  let slider = null;
  function renew() {
    const { title, models } = data.families[family];
    slider = new Slider(title, { min: 0, max: models.length - 1, step: 1, value: at, say: (index) => models[index]?.words ?? "" }, (index) => {
      at = index;
      show();
    });
    holder.replaceChildren(slider.element);
  }

  const families = Object.keys(data.families);
  const names = choices("Control", Object.fromEntries(families.map((name) => [name, name])), family, (name) => choose(name));
  stage.append(...(families.length > 1 ? [names.element] : []), holder, maps, facts, said, plot.element, key);
  renew();
  redrawn(plot.element, () => {
    plot.measure();
    show();
  });
});
