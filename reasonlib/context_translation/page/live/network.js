// HCE's forward pass and greedy decoding: each context sentence becomes a vector, a gate lets the vectors into the last layer.
//
// S source tokens, C context sentences, T tokens of one, U target tokens, D width. Names of weights are those of the
// PyTorch model's state_dict; norms come first in each part.

const START = 1, END = 2, CONTEXT = 3;

/** Vectors of tokens, scaled by the root of the width, with positions from `start`. */
function embedTokens(part, ids, start = 0) {
  const table = part.matrix("table.weight"), scale = Math.sqrt(table.columns);
  return add(table.take(ids).map((value) => value * scale), sinusoidalPositions(ids.length, table.columns, start));
}

/** A sentence as one vector, and the share of each of its words: a softmax of scores after one more attention. */
function poolSentence(model, ids, options) {
  const encoder = model.part("encoder"), pooling = encoder.part("pooling");
  const words = encode(encoder.part("encoder"), embedTokens(model.part("source"), ids), options.layers, options).output;
  const attended = multiHeadAttention(pooling.part("attention"), words, words, options.heads).output;
  const alpha = softmax(Array.from(linear(pooling.part("score"), attended).data));
  const vector = new Float32Array(words.columns);
  alpha.forEach((share, row) => words.row(row).forEach((value, k) => { vector[k] += share * value; }));
  return { vector, alpha };
}

/** The last layer: attention to the source itself and to the context, mixed number by number by a gate. */
function gatedLayer(part, x, t, options) {
  const inner = layerNorm(part.part("attention_residual.norm"), x);
  const source = multiHeadAttention(part.part("attention"), inner, inner, options.heads).output;
  const read = multiHeadAttention(part.part("context_attention"), inner, t, options.heads);
  const both = Matrix.of(range(x.rows, (row) => [...source.row(row), ...read.output.row(row)]));
  const gate = linear(part.part("sum.gate"), both).map(sigmoid);
  const mixed = new Matrix(x.rows, x.columns, gate.data.map((g, at) => g * source.data[at] + (1 - g) * read.output.data[at]));
  const output = residual(part.part("feed_forward_residual"), add(x, mixed), options, (inner) => feedForward(part.part("feed_forward"), inner, relu));
  return { output, gate, weights: read.weights };
}

/** Mean of the heads of each layer, and of the layers: rows of shares. */
function meanWeights(matrices) {
  return range(matrices[0].rows, (row) => range(matrices[0].columns, (column) => sum(matrices.map((one) => one.row(row)[column])) / matrices.length));
}

/** Encode a source sentence and its context sentences, nearest first, each a list of token ids. */
function encodeInContext(model, source, context, data) {
  const options = { heads: data.heads, layers: data.layers, norm: "pre" }, encoder = model.part("encoder");
  const pooled = context.map((ids) => poolSentence(model, [CONTEXT, ...ids], options));
  const width = model.part("source").matrix("table.weight").columns;
  let t = new Matrix(0, width);
  if (pooled.length) {
    const marked = add(Matrix.of(pooled.map((one) => one.vector)), sinusoidalPositions(pooled.length, width));
    const upper = encoder.part("upper");
    t = layerNorm(upper.part("end"), encoderLayer(upper.part("layer"), marked, options).output);
  }
  let x = embedTokens(model.part("source"), source);
  const stack = encoder.part("encoder");
  for (let number = 0; number < data.layers - 1; number++) x = encoderLayer(stack.part(`layers.${number}`), x, options).output;
  const last = gatedLayer(stack.part(`layers.${data.layers - 1}`), x, t, options);
  return {
    memory: layerNorm(stack.part("end"), last.output),
    sentences: pooled.length ? meanWeights(last.weights) : source.map(() => []), // S rows of C shares
    alphas: pooled.map((one) => one.alpha), // C lists of T shares, the mark before the sentence first
    gate: range(source.length, (row) => sum(last.gate.row(row)) / last.gate.columns), // S: how much of the source is kept
  };
}

/** Log-probabilities of every next token after each of some tokens. */
function decodeStep(model, tokens, start, encoding, data, past) {
  const options = { heads: data.heads, norm: "pre" }, x = embedTokens(model.part("target"), tokens, start);
  const decoded = decode(model.part("decoder.decoder"), x, encoding.memory, data.layers, options, past);
  const logits = matmul(decoded.output, model.part("target").matrix("table.weight"));
  const attention = meanWeights(decoded.memoryAttention.flatMap((layer) => layer.weights));
  return { logits, attention, past: decoded.past };
}

/** The likeliest translation, token by token: ids, the probability of each and where it looked in the source. */
function writeGreedily(model, encoding, data) {
  const ids = [], chances = [], attention = [];
  let token = START, past = null;
  while (ids.length < data.longest) {
    const step = decodeStep(model, [token], ids.length, encoding, data, past);
    const shares = softmax(Array.from(step.logits.row(0)));
    token = argmax(shares);
    past = step.past;
    if (token === END) break;
    ids.push(token);
    chances.push(shares[token]);
    attention.push(step.attention[0]);
  }
  return { ids, chances, attention };
}

/** The probability of each token of a translation that is given. */
function chancesOf(model, ids, encoding, data) {
  const { logits } = decodeStep(model, [START, ...ids.slice(0, -1)], 0, encoding, data, null);
  return ids.map((id, row) => softmax(Array.from(logits.row(row)))[id]);
}

/** Words of a text as the simulated sentences have them: small letters, punctuation apart. */
const splitWords = (text) => tidy(text).toLowerCase().replace(/([.,?!])/g, " $1 ").split(/\s+/).filter(Boolean);

/**
 * Translate a sentence after its context (texts, the nearest last). For each word of the translation: its probability,
 * what it loses without the context, and how far it looks at each word of the context.
 */
function translateInContext(model, data, sentence, context) {
  const vocabulary = (data.vocabulary ??= new Vocabulary(data.tokens));
  const idsOf = (text) => splitWords(text).slice(0, data.words).map((word) => vocabulary.id(word));
  const near = context.map(idsOf).filter((ids) => ids.length).slice(-data.contexts).reverse(), source = idsOf(sentence);
  const encoding = encodeInContext(model, source, near, data), written = writeGreedily(model, encoding, data);
  const bare = near.length ? encodeInContext(model, source, [], data) : encoding;
  const without = written.ids.length ? chancesOf(model, written.ids, bare, data) : [];
  const looks = written.attention.map((shares) => near.map((ids, c) => {
    const at = sum(shares.map((share, s) => share * encoding.sentences[s][c]));
    return encoding.alphas[c].slice(1).map((alpha) => at * alpha);
  }).reverse());
  return {
    words: written.ids.map((id) => data.tokens[id]),
    chances: written.chances,
    without,
    looks, // U lists of C lists, in the order of the context as it was given
    gates: written.attention.map((shares) => sum(shares.map((share, s) => share * (1 - encoding.gate[s])))),
    alone: near.length ? writeGreedily(model, bare, data).ids.map((id) => data.tokens[id]) : null,
    unknown: [...new Set([sentence, ...context].flatMap(splitWords).filter((word) => !vocabulary.has(word)))],
    encoding,
  };
}
