// The figure around a reader of stories: pick or write a story, ask, and see the answer with what was read for it.

/** The lines of a story; one copied from the files of the twenty tasks loses its numbers and its questions. */
function linesOf(text) {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim()).filter(Boolean);
  const numbers = lines.map((line) => Number(line.match(/^(\d+)\s+\S/)?.[1]));
  const numbered = numbers[0] === 1 && numbers.every((number, at) => number > 0 && (number > 1 || !at));
  return numbered ? lines.filter((line) => !line.includes("\t")).map((line) => line.replace(/^\d+\s+/, "")) : lines;
}

/** Start a figure around a network that has columns, slots, tokens, words, unknown and answer, and longest if a sentence must be short. */
function asking({ root, data, find }, network) {
  const [picker, story, question] = ["picker", "story", "question"].map(find);
  const [form, own, said, list, notes, time] = ["form", "own", "said", "bars", "notes", "took"].map(find);
  const hops = root.querySelector(".rr-hops"), colour = root.style.getPropertyValue("--heat").split(" ");
  const clean = (text) => network.clean?.(text) ?? text;
  const strongest = root.style.getPropertyValue("--strongest");

  /** The picked story, as long as nobody has changed it. */
  function picked() {
    const example = data.stories[Number(picker.value)];
    return example && story.value === example.story.join("\n") ? example : null;
  }

  const sentences = () => sentencesIn(linesOf(story.value).join("\n"));

  /** A sentence whose unknown words are underlined. */
  const marked = (sentence) => sentence.split(/([\p{L}\p{N}'’]+)/u).map((part, at) => (at % 2 && network.unknown(part).length
    ? make("span", { class: "rr-live-unknown", title: "not among the words it knows" }, part) : part));

  /** The names in a question that its story has not, unless all is in capitals: the network always answers something. */
  function absent(story, asked) {
    const told = new Set(story.flatMap((sentence) => network.words(sentence)));
    const names = asked.trim().split(/\s+/).slice(1).filter((word) => /^\p{Lu}/u.test(word) && (word.length === 1 || word !== word.toUpperCase()));
    const bare = new Set(names.map((word) => word.replace(/(['’]s)?[^\p{L}\p{N}_]*$/u, "")));
    return [...bare].filter((name) => network.words(name).some((word) => !told.has(word)));
  }

  /** The table of sentences; with the weights of each column once there are any. */
  function drawMap(shown, weights, support) {
    hops.querySelector("tbody").replaceChildren(...shown.map((sentence, row) => {
      const needed = support.includes(row);
      const tag = needed ? [" ", make("span", { class: "rr-tag" }, "needed")] : [];
      return make("tr", needed ? { class: "rr-needed" } : {}, make("th", { scope: "row" }, `${row + 1}. `, marked(sentence), tag),
        network.columns.map((_, column) => {
          if (!weights) return make("td");
          const share = weights[column][row];
          return make("td", { style: `background:rgba(${colour},${(strongest * share).toFixed(3)})` }, share.toFixed(2));
        }));
    }));
    const reads = (weights ?? []).map((look, column) => {
      const best = argmax(look);
      return `${data.reads.replace("#", column + 1)} sentence ${best + 1} most (${look[best].toFixed(2)}): ${shown[best]}`;
    });
    hops.setAttribute("aria-label", reads.join(" ") || "The story, before it is read.");
  }

  /** Before an answer: the story alone, so that the reader may answer first. */
  function waiting(words = make("span", { class: "rr-live-wait" }, "What would you answer? Then press Ask.")) {
    said.replaceChildren(words);
    list.replaceChildren();
    notes.replaceChildren();
    time.textContent = "";
    drawMap(sentences(), null, []);
  }

  function pick() {
    const example = data.stories[Number(picker.value)];
    if (example) {
      story.value = example.story.join("\n");
      question.value = example.question;
    } else {
      own.open = true;
    }
    waiting();
  }

  function ask() {
    const told = sentences(), asked = question.value.trim();
    if (!told.length || !network.words(asked).length) {
      own.open ||= !told.length;
      waiting(told.length ? "Type a question first." : "Write a story first: a sentence a line.");
      return;
    }
    const texts = told.map(clean), query = clean(asked), count = Math.max(...[...texts, query].map((text) => network.words(text).length));
    if (count > network.longest) {
      waiting(`It reads at most ${network.longest} tokens of a sentence, and one of these has ${count}.`);
      return;
    }
    const { result: { probabilities, weights }, ms } = timed(() => network.answer(texts, query));
    const order = ranked(probabilities).filter((id) => !network.tokens[id].startsWith("<"));
    const name = (id) => network.tokens[id].replaceAll(",", ", ");
    const example = picked()?.question === asked ? picked() : null;
    const right = example?.answer === name(order[0]);
    const verdict = example ? (right ? "✓ right" : `✗ the story says: ${example.answer}`) : "";
    said.replaceChildren(
      make("span", { class: "rr-live-asked" }, shortened(asked, 120)), " ", make("strong", {}, name(order[0])), " ",
      make("span", { class: "rr-live-verdict" }, verdict));
    list.replaceChildren(...order.slice(0, 5).map((id) => bar(name(id), probabilities[id])));
    const strange = [...new Set(network.unknown(`${told.join(" ")} ${asked}`))];
    const missing = absent(told, asked), many = strange.length === 1 ? "this word" : "these words";
    remark(notes, [
      strange.length && `It has never met ${many}, so the answer may mean nothing: ${few(strange, shortened).join(", ")}.`,
      missing.length && `The story does not mention ${few(missing, shortened).join(", ")}.`,
      told.length > network.slots && `It remembers the latest ${network.slots} sentences and has forgotten those before.`,
    ]);
    time.textContent = took(ms);
    drawMap(told, weights, example ? example.support : []);
  }

  picker.addEventListener("change", pick);
  story.addEventListener("input", () => {
    if (!picked()) picker.value = "own";
    waiting();
  });
  question.addEventListener("input", () => time.textContent && waiting());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  story.value = data.stories[0].story.join("\n");
  question.value = data.stories[0].question;
  picker.value = "0";
  root.network = network; // for tests and for the browser's console
  whenIdle(() => network.answer(data.stories[0].story, data.stories[0].question)); // so that the first answer is quick
}
