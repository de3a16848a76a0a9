// The vote of models/vote.py: above zero the answer is 1.

/** The sum of the digits, each as -1 or 1 and times its weight. */
function voteScore(layer, digits) {
  const weight = layer.matrix("weight").row(0);
  return digits.reduce((sum, digit, at) => sum + weight[at] * (2 * digit - 1), layer.vector("bias")[0]);
}

live("vote", ({ root, stage, data, weights, find }) => {
  const layer = weights("vote"), digits = [...data.digits], said = announcer();

  function answer() {
    const { result, ms } = timed(() => voteScore(layer, digits));
    said.replaceChildren(make("strong", {}, `The vote says ${result > 0 ? 1 : 0}`), ` (score ${result.toFixed(2)}).`);
    find("took").textContent = took(ms);
  }
  const keys = digits.map((digit, at) => {
    const key = button(String(digit), () => {
      digits[at] = 1 - digits[at];
      key.textContent = digits[at];
      answer();
    });
    return key;
  });
  stage.append(make("div", { class: "rr-live-row" }, ...keys), said);
  root.vote = { digits, answer }; // for tests
  answer();
});
