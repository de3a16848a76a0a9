// The answer network step by step: where each step looks in the premise, what it answers, and the average.

live("reasoning", ({ root, stage, data, weights, find }) => {
  const model = weights("model"), labels = data.tasks.inference.labels;
  let result = null, step = 0;
  const said = announcer(), remarks = make("ul", { class: "rr-live-notes" });
  const premise = make("div", { class: "rr-live-tokens" }), hypothesis = make("div", { class: "rr-live-tokens" });
  const answers = make("div", { class: "rr-live-scroll", tabindex: 0, role: "group", "aria-label": "Answers of every step" });

  /** Words of one sentence, each shaded by its share. */
  const shaded = (positions, shares) => positions.map((at, number) => make("span", { class: "rr-live-token", style: heat(shares[number]) },
    make("span", result.row.unknown.includes(result.row.words[at]) ? { class: "rr-live-unknown" } : {}, result.row.words[at]),
    make("small", {}, shares[number].toFixed(2))));

  function show() {
    if (!result) return;
    const { alpha, betas, steps, scores, row: { first: p, second: h } } = result;
    premise.replaceChildren(...shaded(p, betas[step]));
    hypothesis.replaceChildren(...shaded(h, alpha));
    slider.value = step + 1;
    const row = (name, shares, chosen) => make("tr", chosen ? { class: "rr-reasoning-now" } : {}, make("th", { scope: "row" }, name),
      shares.map((share) => make("td", { class: "rr-live-heat", style: heat(share) }, percent(share))));
    answers.replaceChildren(make("table", { class: "rr-live-table" },
      make("thead", {}, make("tr", {}, make("th", {}, "answer"), labels.map((label) => make("th", { scope: "col" }, label)))),
      make("tbody", {}, steps.map((shares, at) => row(`step ${at}`, shares, at === step)), row("average", scores))));
    const firsts = steps.map(argmax), best = argmax(scores);
    said.replaceChildren(make("strong", {}, `Average: ${labels[best]}. `),
      firsts.every((label) => label === best) ? "All steps agree." : `The steps answer ${listed(firsts.map((label) => labels[label]))}.`);
    root.reasoning = { write, open, go, result };
  }

  function answer() {
    const texts = [first.value, second.value];
    if (!wordsIn(texts[0]).length || !wordsIn(texts[1]).length) {
      result = null; // no old answer under new sentences
      for (const part of [premise, hypothesis, said, answers]) part.replaceChildren();
      remark(remarks, ["Write a premise and a hypothesis."]);
      return;
    }
    const { result: now, ms } = timed(() => {
      const row = pairRow(data, ...texts);
      return { row, ...applyHead(model, data, "inference", encodeRow(model, data, row), row) };
    });
    result = now;
    find("took").textContent = took(ms);
    remark(remarks, [
      result.row.unknown.length && `Not in the small model's vocabulary: ${listed(few(result.row.unknown))}.`,
      result.row.cut && `The model reads at most ${data.longest} tokens; the end of the longer sentence is left out.`,
    ]);
    show();
  }

  function go(to) {
    step = clamp(to, 0, data.steps - 1);
    show();
  }

  function write(one, other) {
    first.value = one;
    second.value = other;
    answer();
  }

  const open = (number) => write(...data.pairs[Number(number)].texts);
  const pick = menu("Try a pair", Object.fromEntries(data.pairs.map((pair, at) => [at, pair.name])), 0, open);
  const first = field("Premise", { changed: answer }), second = field("Hypothesis", { changed: answer });
  const slider = new Slider("Step", { min: 1, max: data.steps, step: 1, value: 1, say: (value) => `${value - 1}` }, (value) => go(value - 1));
  const titled = (title, row) => make("div", {}, make("div", { class: "rr-live-title" }, title), row);
  stage.append(pick.element, make("div", { class: "rr-live-row" }, first.element, second.element), slider.element,
    titled("Where this step looks in the premise", premise), titled("The first state: weights of the hypothesis", hypothesis), said, answers, remarks);
  open(0);
});
