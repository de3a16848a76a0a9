// What chats share: how typed text is heard, and how lines are shown.

/** What was typed, in the words of the system; its unknown words are kept and marked. */
function heard(text, vocabulary) {
  const words = wordsIn(text).map((word) => ({ word, spelled: vocabulary.spelling(word) }));
  return { text: words.map(({ word, spelled }) => spelled ?? word).join(" "), words };
}

/** A user's line, its unknown words underlined. */
function userBubble(words) {
  if (!words.length) return make("p", { class: "rr-chat-quiet" }, "(you say nothing)");
  return make("p", { class: "rr-chat-user" }, words.flatMap(({ word, spelled }, number) => [number ? " " : "",
    spelled ? word : make("span", { class: "rr-live-unknown", title: "not among the words it knows" }, word)]));
}

/** A response; choose it to see what was read before it. */
function botBubble({ text, remark }, chosen, choose) {
  const call = text.startsWith("api_call");
  return make("button", { type: "button", class: "rr-chat-bot", "aria-pressed": chosen, title: "show what it read", onclick: choose },
    call ? [make("span", { class: "rr-chat-call" }, "query"), ` ${text.slice(9)}`] : text,
    remark ? make("span", { class: "rr-chat-remark" }, remark) : null);
}

/** What the knowledge base returned, folded away. */
function factsFound(found) {
  const names = [...new Set(found.map((fact) => fact.subject))];
  if (!names.length) return null;
  return make("details", { class: "rr-chat-facts" }, make("summary", {}, `the knowledge base returns ${plural(names.length, "restaurant")}`),
    make("ul", {}, names.map((name) => make("li", {}, name))));
}
