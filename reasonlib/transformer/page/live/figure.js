// The figure around the encoder: write a text, hide words, choose a token and a head, and see where it looks.

/** Make an element: make("td", { class: "x" }, "text", child, ...). */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A text as it is read: hidden words as _, and a second part after the first line. */
function partsOf(text) {
  const whole = text.replaceAll("[MASK]", "_").trim(), end = whole.indexOf("\n");
  return end < 0 ? [whole, ""] : [whole.slice(0, end).trim(), whole.slice(end).trim()];
}

const share = (number) => number.toFixed(2);
const quoted = (word) => `“${word}”`;

function start(root) {
  root.setAttribute("data-ready", "");
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const encoder = new Encoder(data);
  const find = (name) => root.querySelector(`.rr-look-${name}`);
  const [form, picker, text, hide, row, said, maps, found, notes, told] = ["form", "picker", "text", "hide",
    "tokens", "said", "maps", "guesses", "notes", "told"].map(find);
  let { layer, head } = data.first;
  let chosen = 0, looked = null, words = []; // the token that looks; the last look; tokens as they were written

  /** The picked text, as long as nobody has changed it. */
  function picked() {
    const one = data.texts[Number(picker.value)];
    return one && text.value === one.text ? one : null;
  }

  /** The likeliest words at a hidden one, with their probabilities. */
  function likeliest(logits) {
    const shares = softmax(logits), order = shares.map((_, id) => id).sort((a, b) => shares[b] - shares[a]);
    return order.slice(0, 5).map((id) => [encoder.tokens[id], shares[id]]);
  }

  function note(...lines) {
    notes.replaceChildren(...lines.map((line) => make("li", {}, line)));
  }

  /** Read the text again; the token at `keep` stays chosen if there is one. */
  function read(keep = -1) {
    const [first, second] = partsOf(text.value), began = performance.now();
    words = encoder.pack(first, second);
    looked = split(first).length && words.length <= encoder.longest ? encoder.look(first, second) : null;
    const took = performance.now() - began;
    if (!looked) {
      for (const part of [row, maps, found, said]) part.replaceChildren();
      told.textContent = "";
      hide.disabled = true;
      note(words.length <= encoder.longest ? "Write some words first."
        : `It reads at most ${encoder.longest} tokens, and this text has ${words.length}.`);
      return;
    }
    told.textContent = `Read in your browser in ${took < 1 ? "less than 1" : Math.round(took)} ms.`;
    const strange = [...new Set(words.filter((word) => !encoder.known.has(word)))];
    const many = strange.length === 1 ? "this word and reads it" : "these words and reads them";
    note(...(strange.length ? [`It has never met ${many} as [UNK]: ${strange.join(", ")}.`] : []));
    drawTokens();
    drawMaps();
    drawGuesses();
    choose(keep > 0 && keep < words.length - 1 ? keep : looked.guesses[0]?.place ?? 1);
  }

  function drawTokens() {
    row.replaceChildren(...words.map((word, place) => {
      const strange = !encoder.known.has(word);
      const button = make("button", { type: "button", class: "rr-look-token" },
        make("span", strange ? { class: "rr-look-unknown" } : {}, word), make("small", {}));
      button.addEventListener("click", () => choose(place));
      button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && paint(place));
      return button;
    }));
  }

  function drawMaps() {
    maps.replaceChildren(...looked.weights.map((heads, l) => make("div", { class: "rr-look-layer" },
      make("span", { class: "rr-look-name" }, `Layer ${l + 1}`),
      ...heads.map((weights, h) => {
        const canvas = make("canvas", { width: words.length, height: words.length, "aria-hidden": "true" });
        const pen = canvas.getContext("2d"), [red, green, blue] = data.heat;
        const image = pen.createImageData(words.length, words.length);
        // the root of a weight, so that weak ones are seen too
        weights.flat().forEach((weight, at) => image.data.set([red, green, blue, Math.round(255 * Math.sqrt(weight))], 4 * at));
        pen.putImageData(image, 0, 0);
        const button = make("button", { type: "button", class: "rr-look-head", "aria-label": `layer ${l + 1}, head ${h + 1}` },
          make("span", { class: "rr-look-map" }, canvas), make("span", {}, `head ${h + 1}`));
        button.addEventListener("click", () => {
          [layer, head] = [l, h];
          paint(chosen);
        });
        return button;
      }))));
  }

  function drawGuesses() {
    const answers = picked()?.answers ?? [];
    found.replaceChildren(...looked.guesses.map(({ place, logits }, number) => {
      const best = likeliest(logits), right = answers[number];
      const around = [...words.slice(Math.max(1, place - 3), place), "____", words[place + 1]].join(" ");
      const verdict = right === undefined ? [] : [" ", make("strong", {}, right === best[0][0] ? "✓ right" : `✗ it was: ${right}`)];
      return make("div", {}, make("p", {}, `… ${around} `, ...verdict), make("ol", { "aria-label": `What token ${place + 1} could be` },
        ...best.map(([word, size]) => bar(word, size))));
    }));
    if (!looked.guesses.length) {
      found.append(make("p", {}, "No word is hidden. Type _ for one, or choose a word and press “Hide this word”."));
    }
    if (looked.follows !== null && !data.following) found.append(make("p", {}, data.untold));
    if (looked.follows !== null && data.following) {
      const ours = picked()?.follows ?? null, says = looked.follows > 0.5;
      const verdict = ours === null ? [] : [" ", make("strong", {}, ours === says ? "✓ right" : "✗ wrong")];
      found.append(make("div", {}, make("p", {}, "Does the second part continue the first?", ...verdict),
        make("ol", {}, bar("yes", looked.follows), bar("no", 1 - looked.follows))));
    }
  }

  const bar = (word, size) => make("li", {}, make("span", {}, word),
    make("span", { class: "rr-look-bar", style: `--share:${size}` }), make("span", {}, share(size)));

  /** Let a token look, for good. */
  function choose(place) {
    chosen = place;
    const guess = looked.guesses.find((one) => one.place === place);
    const mark = ["[CLS]", "[SEP]"].includes(words[place]);
    hide.disabled = mark;
    hide.textContent = guess ? `Fill in ${quoted(likeliest(guess.logits)[0][0])}` : "Hide this word";
    [...row.children].forEach((button, at) => {
      button.setAttribute("aria-pressed", at === place);
      button.tabIndex = at === place ? 0 : -1;
    });
    paint(place);
  }

  /** Show where a token looks, in the head that was chosen. */
  function paint(place) {
    const weights = looked.weights[layer][head][place];
    [...row.children].forEach((button, at) => {
      button.style.setProperty("--share", weights[at]);
      button.lastChild.textContent = weights[at] >= 0.005 ? share(weights[at]) : "";
      button.classList.toggle("rr-look-looking", at === place);
    });
    const order = weights.map((_, at) => at).sort((a, b) => weights[b] - weights[a]).slice(0, 3);
    const most = order.filter((at) => weights[at] >= 0.005).map((at) => `${quoted(words[at])} (${share(weights[at])})`);
    said.textContent = `Layer ${layer + 1}, head ${head + 1}: from ${quoted(words[place])}, token ${place + 1}, it looks most at ${most.join(", ")}.`;
    maps.querySelectorAll(".rr-look-head").forEach((button, number) => {
      button.setAttribute("aria-pressed", number === layer * encoder.heads + head);
    });
    maps.style.setProperty("--row", place);
    maps.style.setProperty("--rows", words.length);
  }

  /** Put another word in the place of the chosen one. */
  function replace(word) {
    const [first, second] = partsOf(text.value), cut = split(first).length;
    const inSecond = chosen > cut + 1, number = chosen - (inSecond ? cut + 2 : 1);
    const parts = [first, second];
    let at = -1;
    parts[Number(inSecond)] = parts[Number(inSecond)].replace(/[.?!,_]|[^\s.?!,_]+/g, (old) => (++at === number ? word : old));
    text.value = parts.filter(Boolean).join("\n");
    changed(chosen);
  }

  function changed(keep) {
    if (!picked()) picker.value = "own";
    read(keep);
  }

  picker.addEventListener("change", () => {
    const one = data.texts[Number(picker.value)];
    if (one) text.value = one.text;
    else text.focus();
    read();
  });
  text.addEventListener("input", () => changed());
  hide.addEventListener("click", () => {
    const guess = looked.guesses.find((one) => one.place === chosen);
    replace(guess ? likeliest(guess.logits)[0][0] : "_");
  });
  root.querySelectorAll(".rr-look-words button").forEach((button) => button.addEventListener("click", () => {
    const before = text.value.slice(0, text.selectionStart), after = text.value.slice(text.selectionEnd);
    const word = (before && !/\s$/.test(before) ? " " : "") + button.value + (/^[\s.?!,]/.test(after) ? "" : " ");
    text.value = before + word + after;
    text.selectionStart = text.selectionEnd = (before + word).length;
    changed();
  }));
  row.addEventListener("pointerleave", () => looked && paint(chosen));
  row.addEventListener("keydown", (event) => {
    const last = words.length - 1;
    const next = { ArrowLeft: Math.max(chosen - 1, 0), ArrowRight: Math.min(chosen + 1, last), Home: 0, End: last }[event.key];
    if (next === undefined || !looked) return;
    event.preventDefault();
    choose(next);
    row.children[next].focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  row.setAttribute("role", "toolbar");
  row.setAttribute("aria-label", "Tokens: choose the one that looks");
  text.value = data.texts[0].text;
  picker.value = "0";
  for (const part of root.querySelectorAll("[data-scripted]")) part.hidden = false;
  read();
  root.encoder = encoder; // for whoever opens the browser's console
}

document.querySelectorAll(".rr-look:not([data-ready])").forEach(start);
