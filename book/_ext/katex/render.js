// Typeset formulas: a line of JSON in, [formula, display]; a line of JSON out, {html} or {error}.
const katex = require("./katex.min.js");
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [formula, displayMode] = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(formula, { displayMode, strict: "ignore" }) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
