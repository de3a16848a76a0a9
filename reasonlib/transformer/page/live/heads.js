// The figure around the encoder: write a text, hide words, choose a token and a head, and see where it looks.

/** A text as it is read: hidden words as _, and a second part after the first line. */
function partsOf(text) {
  const whole = text.replaceAll("[MASK]", "_").trim(), end = whole.indexOf("\n");
  return end < 0 ? [whole, ""] : [whole.slice(0, end).trim(), whole.slice(end).trim()];
}

live("heads", ({ root, data, weights, find }) => {
  const encoder = new Bert(weights("encoder"), data.sizes), { vocabulary } = encoder;
  const [form, picker, text, hide, said, maps, guesses, notes, time] = ["form", "picker", "text", "hide", "said", "maps",
    "guesses", "notes", "took"].map(find);
  const row = new TokenRow({
    label: "Tokens: choose the query", parent: find("tokens"), choose: (at) => choose(at),
    point: (at) => looked && paint(at ?? chosen),
  });
  let { layer, head } = data.first;
  let chosen = 0, looked = null, words = []; // the token that looks; the last look; tokens as they were written

  /** The picked text, as long as nobody has changed it. */
  function picked() {
    const example = data.texts[Number(picker.value)];
    return example && text.value === example.text ? example : null;
  }

  /** The likeliest words at a hidden one, with their probabilities. */
  function likeliest(guess) {
    if (!guess.best) {
      const shares = softmax(guess.logits);
      guess.best = topOf(shares, 5).map((id) => [vocabulary.tokens[id], shares[id]]);
    }
    return guess.best;
  }

  /** Read the text again; the token at `keep` stays chosen if there is one. */
  function read(keep = -1) {
    const [first, second] = partsOf(text.value);
    words = encoder.pack(first, second);
    looked = null;
    if (!split(first).length || words.length > encoder.longest) {
      row.set([]);
      for (const part of [maps, guesses, said]) part.replaceChildren();
      time.textContent = "";
      hide.disabled = true;
      remark(notes, [words.length <= encoder.longest ? "Write some words first."
        : `It reads at most ${encoder.longest} tokens, and this text has ${words.length}.`]);
      return;
    }
    const { result, ms } = timed(() => encoder.look(first, second));
    looked = result;
    time.textContent = took(ms, "Read");
    const strange = [...new Set(words.filter((word) => !vocabulary.has(word)))];
    const many = strange.length === 1 ? "this word and reads it" : "these words and reads them";
    remark(notes, [strange.length && `It has never met ${many} as [UNK]: ${few(strange, shortened).join(", ")}.`]);
    row.set(words.map((word) => ({ text: word, unknown: !vocabulary.has(word) })), { keep: true });
    drawMaps();
    drawGuesses();
    choose(keep > 0 && keep < words.length - 1 ? keep : looked.guesses[0]?.place ?? 1);
  }

  const colour = root.style.getPropertyValue("--heat").split(" ").map(Number), pens = [], buttons = [];

  function drawMaps() {
    if (!maps.children.length) layMaps();
    const size = words.length, image = new ImageData(size, size), { data: pixels } = image;
    for (let at = 0; at < pixels.length; at += 4) pixels.set(colour, at);
    looked.weights.flat().forEach((weights, number) => {
      let at = 3;
      for (const line of weights) {
        for (let k = 0; k < line.length; k++, at += 4) pixels[at] = Math.round(255 * Math.sqrt(line[k])); // the root, so that weak ones are seen too
      }
      const { canvas } = pens[number];
      if (canvas.width !== size) canvas.width = canvas.height = size;
      pens[number].putImageData(image, 0, 0);
    });
  }

  function layMaps() {
    pens.length = buttons.length = 0;
    maps.replaceChildren(...looked.weights.map((heads, l) => make("div", { class: "rr-heads-layer" },
      make("span", { class: "rr-heads-name" }, `Layer ${l + 1}`),
      ...heads.map((_, h) => {
        const canvas = make("canvas", { width: words.length, height: words.length, "aria-hidden": "true" });
        pens.push(canvas.getContext("2d"));
        const pick = () => {
          [layer, head] = [l, h];
          paint(chosen);
        };
        const one = make("button", { type: "button", class: "rr-heads-head", "aria-label": `layer ${l + 1}, head ${h + 1}`, onclick: pick },
          make("span", { class: "rr-heads-map" }, canvas), make("span", {}, `head ${h + 1}`));
        buttons.push(one);
        return one;
      }))));
  }

  function drawGuesses() {
    const answers = picked()?.answers ?? [];
    guesses.replaceChildren(...looked.guesses.map((guess, number) => {
      const { place } = guess, best = likeliest(guess), right = answers[number];
      const around = [...words.slice(Math.max(1, place - 3), place), "____", words[place + 1]].join(" ");
      const verdict = right === undefined ? [] : [" ", make("strong", {}, right === best[0][0] ? "✓ right" : `✗ it was: ${right}`)];
      return make("div", {}, make("p", {}, `… ${around} `, ...verdict), bars(`What token ${place + 1} could be`, best));
    }));
    if (!looked.guesses.length) {
      guesses.append(make("p", {}, "No word is hidden. Type _ for one, or choose a word and press “Hide this word”."));
    }
    if (looked.follows !== null && !data.following) guesses.append(make("p", {}, data.untold));
    if (looked.follows !== null && data.following) {
      const ours = picked()?.follows ?? null, says = looked.follows > 0.5;
      const verdict = ours === null ? [] : [" ", make("strong", {}, ours === says ? "✓ right" : "✗ wrong")];
      guesses.append(make("div", {}, make("p", {}, "Does the second part continue the first?", ...verdict),
        bars("Does it?", [["yes", looked.follows], ["no", 1 - looked.follows]])));
    }
  }

  /** Let a token look, for good. */
  function choose(place) {
    chosen = place;
    const guess = looked.guesses.find((one) => one.place === place);
    hide.disabled = ["[CLS]", "[SEP]"].includes(words[place]);
    told(hide, guess ? `Fill in ${quoted(likeliest(guess)[0][0])}` : "Hide this word");
    row.press(place);
    paint(place);
  }

  /** Show where a token looks, in the head that was chosen. */
  function paint(place) {
    const weights = looked.weights[layer][head][place];
    row.shade(weights, place);
    const order = topOf(weights, 3).filter((at) => weights[at] >= 0.005);
    const most = order.map((at) => `${quoted(words[at])} (${weights[at].toFixed(2)})`);
    said.textContent = `Layer ${layer + 1}, head ${head + 1}: from ${quoted(words[place])}, token ${place + 1}, it attends most to ${most.join(", ")}.`;
    const number = layer * encoder.heads + head;
    if (buttons[number].ariaPressed !== "true") buttons.forEach((button, at) => button.setAttribute("aria-pressed", at === number));
    styled(maps, `--row:${place};--rows:${words.length}`);
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
    const example = data.texts[Number(picker.value)];
    if (example) text.value = example.text;
    else text.focus();
    read();
  });
  text.addEventListener("input", () => changed());
  hide.addEventListener("click", () => {
    const guess = looked.guesses.find((one) => one.place === chosen);
    replace(guess ? likeliest(guess)[0][0] : "_");
  });
  root.querySelectorAll(".rr-heads-words button").forEach((button) => button.addEventListener("click", () => {
    const before = text.value.slice(0, text.selectionStart), after = text.value.slice(text.selectionEnd);
    const word = (before && !/\s$/.test(before) ? " " : "") + button.value + (/^[\s.?!,]/.test(after) ? "" : " ");
    text.value = before + word + after;
    text.selectionStart = text.selectionEnd = (before + word).length;
    changed();
  }));
  form.addEventListener("submit", (event) => event.preventDefault());
  text.value = data.texts[0].text;
  picker.value = "0";
  root.encoder = encoder; // for tests and for the browser's console
  read();
});
