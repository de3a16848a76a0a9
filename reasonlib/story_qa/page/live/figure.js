// The figure around the network: pick or write a story, ask, and see the answer with every hop.

const HEAT = [RED, GREEN, BLUE], STRONGEST = OPACITY; // as in reasonlib.display.plotting
const TITLES = new Set(["mr.", "mrs.", "ms.", "dr.", "st."]);

/** Make an element: make("td", { class: "x" }, "text", child, ...). */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** The lines of a story; one copied from the files of the twenty tasks loses its numbers and its questions. */
function linesOf(text) {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim()).filter(Boolean);
  const numbers = lines.map((line) => Number(line.match(/^(\d+)\s+\S/)?.[1]));
  const numbered = numbers[0] === 1 && numbers.every((number, place) => number > 0 && (number > 1 || !place));
  return numbered ? lines.filter((line) => !line.includes("\t")).map((line) => line.replace(/^\d+\s+/, "")) : lines;
}

/** A text to sentences: at line ends, and after each of . ! ? */
function sentencesOf(text) {
  const cut = linesOf(text).join("\n").replace(/(\S*[.!?]["')\]]*)\s+/g, (all, end) => (TITLES.has(end.toLowerCase()) ? all : end + "\n"));
  return cut.split(/[\r\n]+/).map((line) => line.trim()).filter((line) => /[\p{L}\p{N}_]/u.test(line));
}

/** The names in a question that its story has not: the network always answers something. */
function absentFrom(sentences, question) {
  const told = new Set(sentences.flatMap(wordsOf));
  const names = question.trim().split(/\s+/).slice(1).filter((word) => /^\p{Lu}/u.test(word));
  const bare = new Set(names.map((word) => word.replace(/('s)?[^\p{L}\p{N}_]*$/u, "")));
  return [...bare].filter((name) => wordsOf(name).some((word) => !told.has(word)));
}

function start(root) {
  root.setAttribute("data-ready", "");
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const network = new MemoryNetwork(data);
  const find = (name) => root.querySelector(`.rr-live-${name}`);
  const [picker, story, question] = ["picker", "story", "question"].map(find);
  const [form, own, said, bars, notes, told] = ["form", "own", "said", "bars", "notes", "told"].map(find);
  const hops = root.querySelector(".rr-hops");

  /** The picked story, as long as nobody has changed it. */
  function picked() {
    const one = data.stories[Number(picker.value)];
    return one && story.value === one.story.join("\n") ? one : null;
  }

  /** A sentence whose unknown words are underlined. */
  function marked(sentence) {
    const parts = sentence.split(/([A-Za-z0-9']+)/);
    return parts.map((part, place) =>
      place % 2 && network.unknown(part).length
        ? make("span", { class: "rr-live-unknown", title: "not among the words it knows" }, part) : part);
  }

  /** The table of sentences; with the weights of each hop once they are known. */
  function drawMap(sentences, weights, support) {
    const rows = sentences.map((sentence, row) => {
      const needed = support.includes(row);
      const head = make("th", { scope: "row" }, `${row + 1}. `, ...marked(sentence));
      if (needed) head.append(" ", make("span", { class: "rr-tag" }, "needed"));
      const cells = Array.from({ length: network.hops }, (_, hop) => {
        if (!weights) return make("td");
        const share = weights[hop][row];
        const colour = `rgba(${HEAT},${(STRONGEST * share).toFixed(3)})`;
        return make("td", { style: `background:${colour}` }, share.toFixed(2));
      });
      return make("tr", needed ? { class: "rr-needed" } : {}, head, ...cells);
    });
    hops.querySelector("tbody").replaceChildren(...rows);
    const reads = (weights ?? []).map((look, hop) => {
      const best = look.indexOf(Math.max(...look));
      return `Hop ${hop + 1} reads sentence ${best + 1} most (${look[best].toFixed(2)}): ${sentences[best]}`;
    });
    hops.setAttribute("aria-label", reads.join(" ") || "The story, before the network has read it.");
  }

  /** Before an answer: the story alone, so that the reader may answer first. */
  function waiting() {
    said.replaceChildren(make("span", { class: "rr-live-wait" }, "What would you answer? Then press Ask."));
    bars.replaceChildren();
    notes.replaceChildren();
    told.textContent = "";
    drawMap(sentencesOf(story.value), null, []);
  }

  function pick() {
    const one = data.stories[Number(picker.value)];
    if (one) {
      story.value = one.story.join("\n");
      question.value = one.question;
    } else {
      own.open = true;
    }
    waiting();
  }

  function ask() {
    const sentences = sentencesOf(story.value), asked = question.value.trim();
    if (!sentences.length || !wordsOf(asked).length) {
      waiting();
      own.open ||= !sentences.length;
      said.textContent = sentences.length ? "Type a question first." : "Write a story first: a sentence a line.";
      return;
    }
    const began = performance.now();
    const { probabilities, weights } = network.answer(sentences, asked);
    const took = performance.now() - began;
    const order = probabilities.map((_, id) => id).filter((id) => !network.tokens[id].startsWith("<"));
    order.sort((a, b) => probabilities[b] - probabilities[a]);
    const name = (id) => network.tokens[id].replaceAll(",", ", ");
    const one = picked()?.question === asked ? picked() : null;

    const right = one && one.answer === name(order[0]);
    const verdict = one ? (right ? "✓ right" : `✗ the story says: ${one.answer}`) : "";
    said.replaceChildren(
      make("span", { class: "rr-live-asked" }, asked), " ",
      make("strong", {}, name(order[0])), " ",
      make("span", { class: "rr-live-verdict" }, verdict));
    bars.replaceChildren(...order.slice(0, 5).map((id) => {
      const share = probabilities[id].toFixed(2);
      return make("li", {}, make("span", {}, name(id)),
        make("span", { class: "rr-live-bar", style: `--share:${probabilities[id]}` }), make("span", {}, share));
    }));
    const strange = [...new Set(network.unknown(`${sentences.join(" ")} ${asked}`))];
    notes.replaceChildren();
    if (strange.length) {
      const many = strange.length === 1 ? "this word" : "these words";
      notes.append(make("li", {}, `It has never met ${many}, so the answer may mean nothing: ${strange.join(", ")}.`));
    }
    const absent = absentFrom(sentences, asked);
    if (absent.length) notes.append(make("li", {}, `The story does not mention ${absent.join(", ")}.`));
    if (sentences.length > network.slots) {
      notes.append(make("li", {}, `It remembers the latest ${network.slots} sentences and has forgotten those before.`));
    }
    told.textContent = `Answered in your browser in ${took < 1 ? "less than 1" : Math.round(took)} ms.`;
    drawMap(sentences, weights, one ? one.support : []);
  }

  picker.addEventListener("change", pick);
  story.addEventListener("input", () => {
    if (!picked()) picker.value = "own";
    waiting();
  });
  question.addEventListener("input", () => told.textContent && waiting());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  story.value = data.stories[0].story.join("\n");
  question.value = data.stories[0].question;
  picker.value = "0";
  form.hidden = false;
  root.network = network; // for whoever opens the browser's console
}

document.querySelectorAll(".rr-live:not([data-ready])").forEach(start);
