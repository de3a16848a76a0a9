// CKA of two clouds that are drawn in the page, against the number of examples: the plain estimate and the unbiased one.

live("lying", ({ root, stage, data, find }) => {
  const sizes = data.sizes;
  let seed = 1, drawn = { plain: [], unbiased: [] }, stop = () => {};
  const plot = new Plot({ label: "CKA against the number of examples", x: [Math.log2(sizes[0]) - 0.1, Math.log2(sizes.at(-1)) + 0.1], y: [-0.4, 1], height: 230, xTitle: "examples in the batch", yTitle: "CKA", left: 38 });
  const lines = range(2, (number) => draw("path", { class: "rr-live-line", stroke: COLOURS[number], "stroke-dasharray": DASHES[number] }));
  const marks = range(2, (number) => sizes.map(() => draw("path", { class: "rr-live-mark", d: markPath(MARKS[number], 4.6), fill: COLOURS[number] })));
  plot.inner.append(...lines, ...marks.flat());
  const said = announcer();

  /**
   * Draw two clouds that have a share of their variance in common, and compare them as they grow. An example has a seed,
   * so it stays where it is when a slider moves; each dimension takes two normal numbers (Box and Muller 1958).
   */
  function* compare(size, share) {
    const x = new Matrix(sizes.at(-1), size, new Float64Array(sizes.at(-1) * size)), y = new Matrix(x.rows, size, x.data.slice());
    const compared = new Comparison(x, y), [common, own] = [Math.sqrt(share), Math.sqrt(1 - share)];
    for (const count of sizes) {
      while (compared.count < count) {
        for (let row = compared.count; row < compared.count + 4; row++) {
          const random = new Random(1000 * seed + row);
          for (let at = row * size; at < (row + 1) * size; at++) {
            const radius = Math.sqrt(-2 * Math.log(1 - random.next())), angle = 2 * Math.PI * random.next();
            x.data[at] = radius * Math.cos(angle);
            y.data[at] = common * x.data[at] + own * radius * Math.sin(angle);
          }
        }
        yield;
        yield* compared.slowly();
      }
      drawn.plain.push(compared.cka());
      drawn.unbiased.push(compared.cka(true));
    }
  }

  function paint() {
    const seen = sizes.slice(0, drawn.plain.length).map(Math.log2);
    Object.values(drawn).forEach((values, number) => {
      lines[number].setAttribute("d", plot.path(seen, values));
      marks[number].forEach((mark, at) => {
        mark.setAttribute("visibility", at < seen.length ? "visible" : "hidden");
        if (at < seen.length) mark.setAttribute("transform", `translate(${plot.X(seen[at]).toFixed(1)} ${plot.Y(values[at]).toFixed(1)})`);
      });
    });
  }

  function measure() {
    const size = Math.round(width.value), at = sizes.indexOf(data.said);
    let spent = 0, known = -1;
    stop();
    drawn = { plain: [], unbiased: [] };
    stop = littleByLittle(compare(size, share.value), (done, ms) => {
      spent += ms;
      if (drawn.plain.length === known) return;
      if (known <= at && drawn.plain.length > at) {
        said.replaceChildren(`With ${data.said} examples in ${size} dimensions: plain `, make("strong", {}, fixed(drawn.plain[at])), ", unbiased ", make("strong", {}, fixed(drawn.unbiased[at])), ".");
      }
      known = drawn.plain.length;
      paint();
      if (done) find("took").textContent = took(spent, "Drawn");
    });
  }

  const quarter = Math.log10(2) / 4 - 1e-9; // four steps double the number; rounding must not cut off the last one
  const width = new Slider("dimensions", { min: 2, max: 512, step: quarter, value: 64, log: true, say: (value) => String(Math.round(value)) }, measure);
  const share = new Slider("what both have in common", { min: 0, max: 1, step: 0.05, value: 0, say: (value) => `${Math.round(100 * value)} %` }, measure);
  const again = button("Draw again", () => { seed += 1; measure(); }, { main: true });
  stage.append(make("div", { class: "rr-live-row" }, again, make("span", { class: "rr-live-key" }, swatch(0), " plain estimate  ", swatch(1), " unbiased estimate")),
    make("div", { class: "rr-live-sliders" }, width.element, share.element), plot.element, said);
  redrawn(plot.element, () => {
    plot.measure();
    plot.axes({ xTicks: sizes.map(Math.log2), xSay: (x) => String(Math.round(2 ** x)), yTicks: [0, 0.5, 1] });
    paint();
  });
  measure();

  root.lying = { // for tests and for the browser's console
    set: (values) => {
      if ("width" in values) width.value = values.width;
      if ("share" in values) share.value = values.share;
      measure();
    },
    drawn: () => drawn,
  };
});
