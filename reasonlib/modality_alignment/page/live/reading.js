// TVQA_abc in the page, as in reasonlib.modality_alignment.models.tvqa_abc: a question, five answers, subtitles, regions.

/** Both directions of an LSTM over the rows of a matrix, side by side. */
function readBothWays(part, x) {
  const forward = recur("lstm", part, x), backward = recur("lstm", part, x, { reverse: true });
  const both = new Matrix(x.rows, forward.columns + backward.columns);
  for (let row = 0; row < x.rows; row++) {
    both.row(row).set(forward.row(row));
    both.row(row).set(backward.row(row), forward.columns);
  }
  return both;
}

const READ = new WeakMap(), MOST_READ = 60; // sequences that a model read before: a reader asks many questions about one scene

/** The same, once for each sequence; `key` tells it from others. */
function readOnce(model, key, x) {
  if (!READ.has(model)) READ.set(model, new Map());
  const read = READ.get(model);
  if (!read.has(key)) {
    if (read.size === MOST_READ) read.clear();
    read.set(key, readBothWays(model.part("lstm"), x()));
  }
  return read.get(key);
}

/** What each position of a context reads from some words: softmax over the words. */
function readWords(context, words) {
  const all = range(words.rows);
  return Matrix.of(range(context.rows, (row) => {
    const own = context.row(row), weights = softmax(all.map((word) => dot(own, words.row(word))));
    return embeddingSum(words, all, weights);
  }));
}

/** Context, answer, question, and both products, position by position. */
function matchContext(context, question, answer) {
  const width = context.columns, matched = new Matrix(context.rows, 5 * width), { data } = matched;
  for (let row = 0, at = 0; row < context.rows; row++, at += 4 * width) {
    const c = context.row(row), q = question.row(row), a = answer.row(row);
    for (let k = 0; k < width; k++, at++) {
      data[at] = c[k];
      data[at + width] = a[k];
      data[at + 2 * width] = q[k];
      data[at + 3 * width] = a[k] * c[k];
      data[at + 4 * width] = q[k] * c[k];
    }
  }
  return matched;
}

/**
 * The score of each answer by each stream, and how many units of the second LSTM are largest at each position.
 * `asked` has ids of words: question, answers, subtitle; and regions, one list of features each.
 */
function readVideo(model, asked, streams) {
  const words = (ids) => readOnce(model, ids.join(), () => model.matrix("embedding.weight").take(ids));
  const question = words(asked.question), answers = asked.answers.map(words);
  const result = {};
  for (const name of streams) {
    const context = name === "regions"
      ? readOnce(model, asked.regions.join(), () => linear(model.part("features.regions.1"), Matrix.of(asked.regions)).map(Math.tanh))
      : words(asked[name]);
    const about = readWords(context, question);
    result[name] = answers.map((answer) => {
      const states = readBothWays(model.part(`second.${name}`), matchContext(context, about, readWords(context, answer)));
      const upright = states.transposed(), largest = range(states.columns, (unit) => argmax(upright.row(unit)));
      const pooled = Matrix.of([largest.map((row, unit) => states.row(row)[unit])]);
      const shares = new Array(states.rows).fill(0);
      for (const row of largest) shares[row] += 1 / states.columns;
      return { score: linear(model.part(`classifier.${name}`), pooled).row(0)[0], shares };
    });
  }
  return result;
}
