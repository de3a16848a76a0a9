// Sliders for the lengths of sentences and the number of context sentences, and what each encoder compares.

/** Pairs of a query and a key in the encoder of each system, as reasonlib/context_translation/page/pairs.py counts them. */
function attentionPairs({ source, context, count, layers }) {
  const words = count * context, alone = layers * source ** 2, apart = layers * count * context ** 2;
  const pooled = count * context ** 2, together = count ** 2;
  return {
    "no-context": alone,
    concatenation: layers * (source + words) ** 2,
    dct: alone + apart + layers * source * words,
    dat: alone + apart + source * words,
    han: alone + apart + layers * source * (words + count),
    hce: alone + apart + pooled + together + source * count,
    hmce: alone + apart + pooled + together + 2 * source * count,
  };
}

live("counting", ({ root, stage, data }) => {
  const said = announcer(), table = make("div", {});
  const whole = (number) => number.toLocaleString("en-GB");

  function show() {
    const sizes = { count: count.value, source: source.value, context: context.value, layers: data.layers };
    const pairs = attentionPairs(sizes), most = Math.max(...Object.values(pairs));
    table.replaceChildren(make("ol", { class: "rr-live-bars rr-counting-bars", "aria-label": "Pairs of words that each encoder compares" },
      Object.entries(data.names).map(([system, name]) => make("li", {}, make("span", {}, name),
        make("span", { class: "rr-live-bar", style: `--share:${pairs[system] / most}` }), make("span", {}, whole(pairs[system]))))));
    const times = pairs.concatenation / pairs.hce;
    said.replaceChildren(`With ${plural(sizes.count, "context sentence")}, joining the sentences compares ${times.toFixed(1)} times as many pairs as HCE.`);
    root.counting = { pairs, set };
  }

  function set(sizes) {
    for (const [name, value] of Object.entries(sizes)) ({ count, source, context })[name].value = value;
    show();
  }

  const count = new Slider("Context sentences", { min: 0, max: 32, step: 1, value: 10 }, show);
  const source = new Slider("Words in the source", { min: 2, max: 40, step: 1, value: 10 }, show);
  const context = new Slider("Words in a context sentence", { min: 2, max: 40, step: 1, value: 10 }, show);
  stage.append(make("div", { class: "rr-live-sliders" }, count.element, source.element, context.element), said, table);
  show();
});
