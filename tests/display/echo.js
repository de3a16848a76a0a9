// A figure that uses every shared part: the most alike of three words, and all controls.

live("echo", ({ root, stage, data, weights, find }) => {
  const model = weights("echo"), vocabulary = new Vocabulary(data.tokens);
  const said = announcer(), remarks = make("ul", { class: "rr-live-notes" }), list = make("div");
  const choose = (at) => {
    row.press(at);
    row.shade(root.shares, at);
  };
  const row = new TokenRow({ label: "Words", choose });

  function answer() {
    const words = wordsIn(input.value), spelled = words.map((word) => vocabulary.spelling(word));
    const ids = spelled.filter(Boolean).map((word) => vocabulary.id(word));
    const { result, ms } = timed(() => softmax(linear(model, model.matrix("words").take(ids)).row(0)));
    said.replaceChildren(make("strong", {}, ids.length ? vocabulary.tokens[argmax(result)] : "?"));
    find("took").textContent = took(ms);
    root.shares = spelled.map((word) => (word ? 1 / words.length : 0));
    row.set(words.map((text, at) => ({ text, unknown: !spelled[at] })));
    if (words.length) choose(0);
    list.replaceChildren(bars("Words", ranked(result).map((id) => [vocabulary.tokens[id], result[id]])));
    remark(remarks, [spelled.includes(null) && "It does not know every word."]);
  }

  const input = field("Word", { value: "Hello", entered: answer });
  const say = (text) => {
    input.value = text;
    answer();
  };
  const pick = menu("Example", { hello: "Hello", bye: "Bye" }, "hello", say);
  const kind = choices("Read as", { words: "words", letters: "letters" }, "words", answer);
  const size = new Slider("Size", { min: 1, max: 9, step: 1, value: 3 }, answer);
  const loud = tick("Loud", true, answer);
  stage.append(
    pick.element, input.element, button("Ask", answer, { main: true }), kind.element, size.element, loud.element,
    row.element, said, list, remarks);
  shortcuts(root, { n: () => say("bye") });
  root.controls = { pick, kind, size, loud }; // for tests
  answer();
});
