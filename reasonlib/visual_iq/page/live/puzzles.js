// The figure around the network: a puzzle, the reader's answer, and the reasoner's beside it.

const GAP = 10; // between panels of the matrix, in the panels' own pixels
const LABEL = 30; // under each panel, for the share of attention that it gets
const CONTEXT = 8;
const NETWORKS = { Reasoner, Relational };

/** The packed problems: a byte for the layout, one a set for the right answer, two for each place of each panel. */
function unpack({ bytes, layouts, sets, hints, lines }) {
  const data = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  let at = 0;
  const entity = () => {
    let code = data[at++] + 256 * data[at++];
    const take = (levels) => { const level = code % levels; code = Math.floor(code / levels); return level; };
    const [angle, colour, size] = [8, 10, 6].map(take);
    return [code, size, colour, angle];
  };
  return hints.map((hint) => {
    const layout = layouts[data[at++]], targets = sets.map(() => data[at++]);
    const panels = (count) => range(count).map(() => layout.slots.map(entity));
    return { layout, targets, context: panels(CONTEXT), candidates: sets.map(() => panels(8)), hint: hint.map((line) => lines[line]) };
  });
}

live("play", ({ root, data, weights, find }) => {
  const { levels, layouts, sets } = data, problems = unpack(data);
  const models = data.models.map(({ kind, name, about, sizes }) => Object.assign(new NETWORKS[kind](weights(name), sizes), { name, about }));
  const [form, layoutPicker, setPicker, modelPicker, next] = ["form", "layout", "set", "against", "next"].map(find);
  const [matrix, choices, said, score, hint, looks] = ["matrix", "choices", "said", "score", "hint", "looks"].map(find);
  const [stream, layer, drawLines, time, lookWords, about] = ["stream", "layer", "draw", "took", "look-words", "kind"].map(find);
  const [pickers, partsList, all, allTold] = ["pickers", "parts", "all", "all-told"].map(find);
  const chosenSet = () => Number(setPicker.value), model = () => models[Number(modelPicker?.value ?? 0)];
  let game = null, queue = [], run = null;
  let tally = { asked: 0, you: 0, model: 0 };

  const svg = (place, inner, words) => {
    const label = words ? `role="img" aria-label="${words}"` : 'aria-hidden="true"';
    return `<svg ${place} viewBox="0 0 ${SIDE} ${SIDE}" class="rr-play-figure" ${label}>`
      + `<rect width="${SIDE}" height="${SIDE}" fill="#fff"/>${inner}<rect class="rr-play-dim" width="${SIDE}" height="${SIDE}" fill="none"/></svg>`;
  };
  const corner = (cell) => [(cell % 3) * (SIDE + GAP), Math.floor(cell / 3) * (SIDE + GAP + LABEL)];
  const label = (cell) => [corner(cell)[0] + SIDE / 2, corner(cell)[1] + SIDE + LABEL / 2 + 3]; // under a panel, beside no shape

  /** The three by three matrix; the last panel is the candidate that is looked at, or a question mark. */
  function drawMatrix(weights) {
    const { layout, context } = game.problem;
    const shown = game.looked === null ? context : [...context, game.candidates[game.looked]];
    const parts = shown.map((panel, cell) => {
      const [x, y] = corner(cell);
      const words = `Row ${Math.floor(cell / 3) + 1}, panel ${(cell % 3) + 1}: ${describe(layout, panel, levels)}`;
      return svg(`x="${x}" y="${y}" width="${SIDE}" height="${SIDE}"`, drawn(layout, panel, levels), words)
        + `<rect class="rr-play-edge" x="${x}" y="${y}" width="${SIDE}" height="${SIDE}" rx="5"/>`;
    });
    const [x, y] = corner(8);
    if (game.looked === null) {
      parts.push(`<g role="img" aria-label="Row 3, panel 3: missing"><rect class="rr-play-missing" x="${x + 2}" y="${y + 2}" width="${SIDE - 4}" height="${SIDE - 4}" rx="6"/>`
        + `<text class="rr-play-mark" x="${x + SIDE / 2}" y="${y + SIDE / 2 + 24}">?</text></g>`);
    } else {
      const kind = game.looked === game.target ? "right" : "wrong";
      parts.push(`<rect class="rr-play-ring rr-play-${kind}" x="${x}" y="${y}" width="${SIDE}" height="${SIDE}" rx="5"/>`);
    }
    if (weights) parts.push(lines(weights));
    matrix.innerHTML = parts.join("");
  }

  /** From under the last panel to under each other one: the wider and darker, the more attention. */
  function lines({ matrix: weights, others }) {
    const most = Math.max(...weights, ...others), [x, y] = label(8);
    return '<g class="rr-play-lines" aria-hidden="true">' + weights.map((weight, cell) => {
      const [to, down] = label(cell), part = weight / most;
      const across = (x + to) / 2 + (y - down) * 0.17, deep = (y + down) / 2 - (x - to) * 0.17; // bent, so that none hides another
      return `<path d="M${x} ${y}Q${across.toFixed(1)} ${deep.toFixed(1)} ${to} ${down}" stroke-width="${(1.5 + 9 * part).toFixed(1)}" opacity="${(0.2 + 0.55 * part).toFixed(2)}"/>`
        + `<rect x="${to - 30}" y="${down - 13}" width="60" height="26" rx="5"/><text x="${to}" y="${down + 6}">${percent(weight)}</text>`;
    }).join("") + "</g>";
  }

  /** The share of attention that each candidate gets, under its panel. */
  function drawShares(others) {
    game.buttons.forEach((button, number) => {
      button.querySelector(".rr-play-share")?.remove();
      if (others) button.querySelector(".rr-play-who").append(make("i", { class: "rr-play-share", title: "share of the attention" }, percent(others[number])));
    });
  }

  function drawChoices() {
    game.buttons = game.candidates.map((panel, number) => {
      const words = describe(game.problem.layout, panel, levels);
      const button = make("button", { type: "button", class: "rr-play-choice", "aria-label": `Candidate ${number + 1}: ${words}` });
      button.innerHTML = `<span class="rr-play-panel">${svg("", drawn(game.problem.layout, panel, levels))}</span>`
        + `<span class="rr-play-line"><b>${number + 1}</b><span class="rr-play-number"></span></span>`
        + '<span class="rr-live-bar"></span><span class="rr-play-who"></span>';
      button.addEventListener("click", () => (game.answer ? look(number) : choose(number)));
      return button;
    });
    choices.replaceChildren(...game.buttons);
  }

  /** Put a problem before the reader. */
  function show(number) {
    const problem = problems[number], set = chosenSet();
    game = { number, problem, candidates: problem.candidates[set], target: problem.targets[set], answer: null, looked: null };
    root.game = game;
    drawMatrix();
    const focused = choices.contains(document.activeElement);
    drawChoices();
    if (focused) game.buttons[0].focus({ preventScroll: true });
    said.innerHTML = '<span class="rr-play-wait">Which panel completes the matrix? Choose one, or press 1 to 8.</span>';
    hint.open = false;
    hint.querySelector("ul").replaceChildren(...problem.hint.map((line) => make("li", {}, `${line}.`)));
    looks.hidden = true;
    time.textContent = "";
  }

  /** A problem of the chosen layout that has not been shown for the longest time. */
  function another() {
    const wanted = (number) => layoutPicker.value === "any" || problems[number].layout === layouts[Number(layoutPicker.value)];
    if (!queue.some(wanted)) queue = new Random(Math.floor(Math.random() * 2 ** 32)).shuffle(range(problems.length));
    const place = queue.findIndex((number) => wanted(number) && number !== game?.number);
    show(queue.splice(Math.max(place, 0), 1)[0]);
  }

  /** The reader's answer; the reasoner's follows. */
  function choose(yours) {
    const opponent = model(), panels = [...game.problem.context, ...game.candidates];
    const { result, ms } = timed(() => opponent.answer(panels, game.problem.layout));
    game.answer = result;
    game.scores = opponent.loss === "ce" ? softmax(game.answer.logits) : game.answer.logits.map(sigmoid);
    game.theirs = argmax(game.answer.logits);
    tally = { asked: tally.asked + 1, you: tally.you + (yours === game.target), model: tally.model + (game.theirs === game.target) };
    game.buttons.forEach((button, number) => {
      const right = number === game.target, who = [...(number === yours ? ["you"] : []), ...(number === game.theirs ? ["model"] : [])];
      button.classList.toggle("rr-play-is-right", right);
      button.classList.toggle("rr-play-is-wrong", !right && who.length > 0);
      button.querySelector("b").textContent = `${number + 1}${right ? " ✓" : who.length ? " ✗" : ""}`;
      button.querySelector(".rr-play-number").textContent = game.scores[number].toFixed(2);
      button.querySelector(".rr-live-bar").style.setProperty("--share", game.scores[number].toFixed(4));
      button.querySelector(".rr-play-who").append(...who.map((one) => make("i", { class: `rr-play-${one}` }, one)));
      const words = `${button.getAttribute("aria-label")}. ${right ? "Right. " : ""}The model's score: ${game.scores[number].toFixed(2)}${who.length ? `. Chosen by ${who.join(" and ")}` : ""}`;
      button.setAttribute("aria-label", words);
    });
    const verdict = (number) => `${number + 1} ${number === game.target ? "✓" : "✗"}`;
    const verdictWords = yours === game.target ? "Right." : `The answer is ${game.target + 1}.`;
    said.replaceChildren(
      make("strong", {}, verdictWords), " ",
      make("span", {}, `You: ${verdict(yours)}. The model: ${verdict(game.theirs)}, with a score of ${game.scores[game.theirs].toFixed(2)}.`),
    );
    const counted = (name, right) => [make("b", {}, name), ` ${right} of ${tally.asked}`];
    score.replaceChildren(make("span", {}, ...counted("You", tally.you)), " ", make("span", {}, ...counted("Model", tally.model)));
    time.textContent = took(ms);
    look(game.theirs);
  }

  /** Show what the model read, or expected, to judge one candidate. */
  function look(candidate) {
    game.looked = candidate;
    game.buttons.forEach((button, number) => button.classList.toggle("rr-play-looked", number === candidate));
    game.weights = null;
    const { attention, parts } = game.answer, seen = model().context && attention?.[0].length;
    if (seen) readFrom(attention, candidate);
    if (parts) expected(parts, candidate);
    const shown = seen && drawLines.checked ? game.weights : null;
    drawMatrix(shown);
    drawShares(shown?.others);
    looks.hidden = !seen && !parts;
    pickers.hidden = !seen;
    partsList.hidden = !parts;
  }

  /** The shares of attention from a candidate to every panel, over the streams and layers that are picked. */
  function readFrom(attention, candidate) {
    const names = attention[0].map((_, number) => `Layer ${number + 1}`);
    if (layer.options.length !== names.length + 1) {
      layer.replaceChildren(...["All layers", ...names].map((name, number) => make("option", { value: number - 1 }, name)));
    }
    const streams = stream.value === "all" ? range(5) : [Number(stream.value)];
    const layers = Number(layer.value) < 0 ? range(names.length) : [Number(layer.value)];
    const maps = streams.flatMap((one) => layers.flatMap((depth) => attention[one][depth]));
    const tokens = maps[0].length, separators = tokens > 16 ? [3, 7] : [];
    const row = range(tokens).map((token) => maps.reduce((sum, map) => sum + map[tokens - 8 + candidate][token], 0) / maps.length);
    const weights = row.slice(0, -8).filter((_, token) => !separators.includes(token));
        const most = argmax(weights), others = sum(row.slice(-8));
    lookWords.textContent = `To judge candidate ${candidate + 1}, ${percent(sum(weights))} of its attention goes to the matrix, `
      + `most to panel ${(most % 3) + 1} of row ${Math.floor(most / 3) + 1}, ${percent(others)} to the candidates`
      + `${separators.length ? `, ${percent(1 - sum(weights) - others)} to the separators between rows` : ""}. Choose another candidate to see what the model read to judge it.`;
    game.weights = { matrix: weights, others: row.slice(-8) };
  }

  /** The probability that the model gives to what a candidate shows, attribute by attribute. */
  function expected(parts, candidate) {
    const worst = parts.reduce((a, b) => (b.scores[candidate] < a.scores[candidate] ? b : a));
    partsList.replaceChildren(...parts.map(({ name, scores }) => {
      const share = Math.exp(scores[candidate]), bar = make("span", { class: "rr-live-bar" });
      bar.style.setProperty("--share", share.toFixed(4));
      return make("li", {}, make("span", {}, name), bar, make("span", {}, share < 0.0005 ? "0" : share.toFixed(share < 0.0095 ? 3 : 2)));
    }));
    lookWords.textContent = `The model's probability for each attribute of candidate ${candidate + 1}, given the panels of the question. `
      + `Lowest: its ${worst.name}. Choose another candidate to compare.`;
  }

  /** Let the model solve every puzzle of the set, a few between two frames, and count by layout. */
  async function solveAll() {
    const mine = (run = {}), set = chosenSet(), opponent = model(), counts = new Map();
    all.disabled = true;
    allTold.textContent = "";
    for (const [number, { layout, context, candidates, targets }] of problems.entries()) {
      const { logits } = opponent.answer([...context, ...candidates[set]], layout);
      const [right, asked] = counts.get(layout) ?? [0, 0];
      counts.set(layout, [right + (argmax(logits) === targets[set]), asked + 1]);
      if (number % 4) continue;
      all.textContent = `Tried ${number + 1} of ${problems.length}`;
      await new Promise(requestAnimationFrame);
      if (run !== mine) return; // another set or model was picked meanwhile
    }
    const right = [...counts.values()].reduce((sum, [some]) => sum + some, 0);
    const each = layouts.filter((one) => counts.has(one)).map((one) => `${one.title} ${percent(counts.get(one)[0] / counts.get(one)[1])}`);
    allTold.textContent = `Of ${problems.length} puzzles with the answers of ${setPicker.selectedOptions[0].text}, this model solves `
      + `${right}, or ${percent(right / problems.length)}: ${each.join(", ")}. Chance is 12.5 %.`;
    fresh({ solved: true });
  }

  /** Another opponent, or another set: what was counted is of the past. */
  function fresh({ solved = false } = {}) {
    all.disabled = false;
    all.textContent = `Let the model solve all ${problems.length}`;
    run = null;
    if (solved) return;
    allTold.textContent = "";
    tally = { asked: 0, you: 0, model: 0 };
    score.replaceChildren();
    about.textContent = model().about;
  }

  next.addEventListener("click", another);
  all.addEventListener("click", solveAll);
  layoutPicker.addEventListener("change", another);
  setPicker.addEventListener("change", () => { fresh(); show(game.number); });
  modelPicker?.addEventListener("change", () => { fresh(); show(game.number); });
  [stream, layer, drawLines].forEach((picker) => picker.addEventListener("change", () => look(game.looked)));
  form.addEventListener("submit", (event) => event.preventDefault());
  const click = (key) => game.buttons[Number(key) - 1].click();
  shortcuts(root, { ...Object.fromEntries(range(8).map((number) => [String(number + 1), click])), n: another });
  Object.assign(root, { models, problems, show, choose }); // for tests and for the browser's console
  fresh();
  show(0);
  // Code runs faster the second time: the first time is spent while the reader thinks.
  whenIdle(() => model().answer([...problems[0].context, ...problems[0].candidates[0]], problems[0].layout));
});
