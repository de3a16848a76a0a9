// A dialogue to step through or to write, the state that the tracker fills in, and where one slot looks.

live("tracking", ({ root, stage, data, weights, find }) => {
  const model = weights("tracker");
  const FULL = { m: "am", d: "would", re: "are", ll: "will", ve: "have", s: "is" };
  /** As the simulated dialogues are written: small letters, full words, only the marks . , and ? and a time such as 09:30 in one piece. */
  function split(text) {
    const plain = tidy(text).toLowerCase().replace(/\bcan't\b/g, "can not").replace(/\bwon't\b/g, "will not").replace(/n't\b/g, " not")
      .replace(/'(m|d|re|ll|ve|s)\b/g, (_, end) => ` ${FULL[end]}`).replace(/\b\d:\d\d\b/g, "0$&").replace(/[!…]/g, ".").replace(/;/g, ",");
    const pieces = plain.match(/\d\d:\d\d|[\p{L}\p{N}]+(?:['-]+[\p{L}\p{N}]+)*|[.,?]/gu) ?? [], isMark = (piece) => ".,?".includes(piece);
    const kept = pieces.filter((piece, at) => at === 0 || !isMark(piece) || !isMark(pieces[at - 1]));
    return kept.every(isMark) ? "" : kept.join(" ");
  }
  const domainOf = (pair) => pair.split("-")[0], slotOf = (pair) => pair.slice(pair.indexOf("-") + 1);
  const tracked = new Map(); // what the tracker said of a dialogue so far; the next turn asks for it again
  let turns = [], step = 1, before = {}, result = null, chosen = data.slot;

  const talk = make("ol", { class: "rr-tracking-talk", tabindex: 0, "aria-label": "Dialogue" });
  const table = make("div", { class: "rr-tracking-state", "aria-label": "State after this turn" });
  const looks = make("div", { class: "rr-live-sides" }), said = announcer(), source = make("p", { class: "rr-live-about" }), remarks = make("ul", { class: "rr-live-notes" });

  function trackOnce(shown) {
    const key = JSON.stringify([shown, cut.value]);
    if (!tracked.has(key)) tracked.set(key, track(model, data, shown, { blocked: cut.value }));
    return tracked.get(key);
  }

  /** Track the dialogue up to this turn and show the state; `stay` with the slot that was looked at, or go to one that the turn fills. */
  function answer({ stay = false } = {}) {
    const shown = turns.slice(0, step);
    before = step > 1 ? trackOnce(shown.slice(0, -1)).state : {};
    const { result: now, ms } = timed(() => trackOnce(shown));
    result = now;
    find("took").textContent = took(ms);
    let position = 1 - result.dropped; // of the next word among those that the tracker reads; [CLS] is the first
    /** A text whose words can be marked. */
    const spoken = (text) => {
      const words = text.split(/\s+/).filter(Boolean), first = position;
      position += words.length ? words.length + 1 : 0; // [SEPU] follows
      return words.flatMap((word, k) => [k ? " " : "", make("span", { "data-word": first + k }, word)]);
    };
    talk.replaceChildren(...shown.flatMap(([system, user], at) => [
      system ? make("li", { class: "rr-tracking-system" }, make("b", {}, "system "), ...spoken(system)) : null,
      make("li", { class: `rr-tracking-user${at === step - 1 ? " rr-tracking-now" : ""}` }, make("b", {}, "user "), ...spoken(user)),
    ]).filter(Boolean));
    toTheEnd(talk);
    const changed = Object.keys(result.state).filter((pair) => before[pair] !== result.state[pair]);
    said.replaceChildren(changed.length ? `Turn ${step} fills ${listed(changed.map((pair) => `${pair} = ${result.state[pair]}`))}.` : `Turn ${step} changes nothing.`);
    const domains = [...new Set(Object.keys(result.state).map(domainOf))];
    table.replaceChildren(...domains.map((domain) => make("div", { class: "rr-tracking-domain" }, make("div", { class: "rr-live-title" }, domain),
      ...Object.keys(result.state).filter((pair) => domainOf(pair) === domain).map((pair) => make("button", {
        type: "button", class: `rr-tracking-slot${changed.includes(pair) ? " rr-tracking-new" : ""}`, onclick: () => look(pair, { scroll: true }),
        "aria-label": `${pair} is ${result.state[pair]}, ${percent(result.sure[pair])} sure; show where it looks`,
      }, make("span", {}, slotOf(pair)), make("strong", {}, result.state[pair]))))));
    back.disabled = step <= 1;
    next.disabled = step >= turns.length;
    remark(remarks, [result.unknown.includes(true) && shown.at(-1)[1].split(" ").some((word) => word && !data.tokens.includes(word.toLowerCase()))
      && "Some words of this turn are not in the small tracker's vocabulary.",
    result.words.length === data.longest && `The tracker reads only the last ${data.longest} tokens of a dialogue, and this one is longer.`]);
    const still = chosen in result.state;
    look(changed.includes(chosen) || (stay && still) ? chosen : changed.at(-1) ?? (still ? chosen : Object.keys(result.state).at(-1)));
  }

  /** Where the value of a slot comes from, and the mean attention of the last layer's heads from its token to the other slots and to the words. */
  function look(pair, { scroll = false } = {}) {
    chosen = pair;
    looks.replaceChildren();
    const [first, last] = result.spans[pair] ?? [1, 0];
    for (const word of talk.querySelectorAll("[data-word]")) word.classList.toggle("rr-tracking-marked", word.dataset.word >= first && word.dataset.word <= last);
    const marked = talk.querySelector(".rr-tracking-marked");
    if (scroll && marked) talk.scrollTop += marked.getBoundingClientRect().top - talk.getBoundingClientRect().top - talk.clientHeight / 2;
    source.textContent = !pair ? "" : first <= last ? `${pair} is copied from the dialogue, where its words are marked.` : `${pair} is chosen from a list.`;
    if (!pair) return;
    const heads = result.attention.at(-1), from = data.pairs.indexOf(pair), count = data.pairs.length;
    const shares = range(heads[0].columns, (key) => sum(heads.map((head) => head.row(from)[key])) / heads.length);
    const slots = ranked(shares.slice(0, count)).filter((key) => key !== from).slice(0, 5);
    const words = ranked(shares.slice(count)).slice(0, 5);
    looks.append(
      make("div", {}, make("div", { class: "rr-live-title" }, `${pair} attends to these slots`), bars(`${pair} attends to these slots`, slots.map((key) => [data.pairs[key], shares[key]]))),
      make("div", {}, make("div", { class: "rr-live-title" }, "and to these words"), bars("and to these words", words.map((key) => [result.words[key], shares[count + key]]))));
    for (const slot of table.querySelectorAll(".rr-tracking-slot")) slot.setAttribute("aria-pressed", slot.getAttribute("aria-label").startsWith(`${pair} is`));
  }

  function open(number, turn = 1) {
    turns = data.dialogues[Number(number)].map((said) => [...said]);
    step = turn;
    answer();
  }

  function go(to) {
    step = clamp(to, 1, turns.length);
    answer();
  }

  function write(text) {
    const words = split(text);
    if (!words) {
      remark(remarks, ["Write your answer in words first."]);
      return;
    }
    turns = [...turns.slice(0, step), [split(system.value) || "is there anything else ?", words]];
    own.value = "";
    go(step + 1);
  }

  const pick = menu("Dialogue", Object.fromEntries(data.dialogues.map((_, at) => [at, `Dialogue ${at + 1}`])), data.start, (number) => open(number));
  const back = button("Back", () => go(step - 1)), next = button("Next turn", () => go(step + 1), { main: true });
  const cut = tick("Cut the attention among slots", false, () => answer({ stay: true }));
  const system = field("The system says", { value: "is there anything else ?" });
  const own = field("You answer", { placeholder: "i need a taxi to the hotel", note: "Enter to send", entered: write });
  stage.append(
    make("div", { class: "rr-live-row" }, pick.element, back, next), talk, said, table, source, looks, cut.element, remarks,
    make("details", {}, make("summary", {}, "Write the next turn yourself"), make("div", { class: "rr-live-row" }, system.element, own.element, button("Send", () => write(own.value)))));
  shortcuts(root, { ArrowRight: () => go(step + 1), ArrowLeft: () => go(step - 1) });
  root.tracking = { go, write, open, state: () => result.state }; // for tests and for the browser's console
  open(data.start, data.turn);
});
