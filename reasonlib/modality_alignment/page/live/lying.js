// CKA of two clouds that are drawn in the page, against the number of examples: the plain estimate and the unbiased one.

live("lying", ({ root, stage, data, find }) => {
  const sizes = data.sizes, estimates = { plain: plainHsic, unbiased: unbiasedHsic };
  let seed = 1, drawn = {};
  const plot = new Plot({ label: "CKA against the number of examples", x: [Math.log2(sizes[0]), Math.log2(sizes.at(-1))], y: [-0.4, 1], height: 230, xTitle: "examples in the batch", yTitle: "CKA", left: 38 });
  const lines = range(2, (number) => draw("path", { class: "rr-live-line", stroke: COLOURS[number], "stroke-dasharray": DASHES[number] }));
  const marks = range(2, (number) => sizes.map(() => draw("path", { class: "rr-live-mark", d: markPath(MARKS[number], 4.6), fill: COLOURS[number] })));
  plot.inner.append(...lines, ...marks.flat());
  const said = announcer();

  /** Two clouds that have a share of their variance in common. */
  function cloud(count, width, share, random) {
    const row = () => Float64Array.from({ length: width }, () => random.normal());
    const cause = range(count, row), mixed = () => cause.map((common) => row().map((own, k) => Math.sqrt(share) * common[k] + Math.sqrt(1 - share) * own));
    return [mixed(), mixed()];
  }

  function paint() {
    plot.measure();
    plot.axes({ xTicks: sizes.map(Math.log2), xSay: (x) => String(Math.round(2 ** x)), yTicks: [0, 0.5, 1] });
    Object.keys(estimates).forEach((name, number) => {
      lines[number].setAttribute("d", plot.path(sizes.map(Math.log2), drawn[name]));
      marks[number].forEach((mark, at) => mark.setAttribute("transform", `translate(${plot.X(Math.log2(sizes[at])).toFixed(1)} ${plot.Y(drawn[name][at]).toFixed(1)})`));
    });
  }

  function measure() {
    const random = new Random(seed), size = Math.round(width.value);
    const { ms } = timed(() => {
      drawn = { plain: [], unbiased: [] };
      for (const count of sizes) {
        const [x, y] = cloud(count, size, share.value, random).map(products);
        for (const [name, hsic] of Object.entries(estimates)) drawn[name].push(estimateCka(x, y, hsic));
      }
    });
    const at = sizes.indexOf(data.said);
    said.replaceChildren(`With ${data.said} examples in ${size} dimensions: plain `, make("strong", {}, fixed(drawn.plain[at])), ", unbiased ", make("strong", {}, fixed(drawn.unbiased[at])), ".");
    find("took").textContent = took(ms, "Drawn");
    paint();
  }

  const quarter = Math.log10(2) / 4 - 1e-9; // four steps double the number; rounding must not cut off the last one
  const width = new Slider("dimensions", { min: 2, max: 512, step: quarter, value: 64, log: true, say: (value) => String(Math.round(value)) }, measure);
  const share = new Slider("what both have in common", { min: 0, max: 1, step: 0.05, value: 0, say: (value) => percent(value) }, measure);
  const again = button("Draw again", () => { seed += 1; measure(); }, { main: true });
  stage.append(make("div", { class: "rr-live-row" }, again, make("span", { class: "rr-live-key" }, swatch(0), " plain estimate  ", swatch(1), " unbiased estimate")),
    make("div", { class: "rr-live-sliders" }, width.element, share.element), plot.element, said);
  drawn = { plain: sizes.map(() => 0), unbiased: sizes.map(() => 0) };
  measure();
  redrawn(plot.element, paint);

  root.lying = { // for tests and for the browser's console
    set: (values) => {
      if ("width" in values) width.value = values.width;
      if ("share" in values) share.value = values.share;
      measure();
    },
    drawn: () => drawn,
  };
});
