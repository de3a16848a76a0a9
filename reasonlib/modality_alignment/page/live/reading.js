// TVQA_abc in the page, as in reasonlib.modality_alignment.models.tvqa_abc: a question, five answers, subtitles, regions.

/** Both directions of an LSTM over the rows of a matrix, side by side. */
function readBothWays(part, x) {
  const forward = recur("lstm", part, x), backward = recur("lstm", part, x, { reverse: true });
  return Matrix.of(range(x.rows, (row) => [...forward.row(row), ...backward.row(row)]));
}

/** What each position of a context reads from some words: softmax over the words. */
function readWords(context, words) {
  return Matrix.of(range(context.rows, (row) => {
    const weights = softmax(range(words.rows, (word) => dot(context.row(row), words.row(word))));
    return embeddingSum(words, range(words.rows), weights);
  }));
}

/** Context, answer, question, and both products, position by position. */
function matchContext(context, question, answer) {
  return Matrix.of(range(context.rows, (row) => {
    const [c, q, a] = [context, question, answer].map((matrix) => Array.from(matrix.row(row)));
    return [...c, ...a, ...q, ...a.map((value, k) => value * c[k]), ...q.map((value, k) => value * c[k])];
  }));
}

/**
 * The score of each answer by each stream, and how many units of the second LSTM are largest at each position.
 * `asked` has ids of words: question, answers, subtitle; and regions, one list of features each.
 */
function readVideo(model, asked, streams) {
  const words = (ids) => readBothWays(model.part("lstm"), model.matrix("embedding.weight").take(ids));
  const question = words(asked.question), answers = asked.answers.map(words);
  const result = {};
  for (const name of streams) {
    const context = name === "regions"
      ? readBothWays(model.part("lstm"), linear(model.part("features.regions.1"), Matrix.of(asked.regions)).map(Math.tanh))
      : words(asked[name]);
    const about = readWords(context, question);
    result[name] = answers.map((answer) => {
      const states = readBothWays(model.part(`second.${name}`), matchContext(context, about, readWords(context, answer)));
      const largest = range(states.columns, (unit) => argmax(range(states.rows, (row) => states.row(row)[unit])));
      const pooled = Matrix.of([largest.map((row, unit) => states.row(row)[unit])]);
      const shares = new Array(states.rows).fill(0);
      for (const row of largest) shares[row] += 1 / states.columns;
      return { score: linear(model.part(`classifier.${name}`), pooled).row(0)[0], shares };
    });
  }
  return result;
}
