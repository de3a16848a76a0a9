// One shared ALBERT encoder and a head for each task: the forward pass of reasonlib.multi_task.models.multi_task.
//
// T tokens, D width, K steps, C classes. Names of weights are those of the PyTorch model's state_dict.

const geluTanh = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

/** [CLS] first [SEP] second [SEP], as words, ids and segments. */
function pairRow(data, first, second = null) {
  const vocabulary = (data.vocabulary ??= new Vocabulary(data.tokens, { unknown: "[UNK]" }));
  const split = (text) => tokensIn(text).map((word) => (vocabulary.has(word) ? word : vocabulary.spelling(word) ?? word));
  const a = split(first), b = second === null ? null : split(second);
  const room = data.longest - (b ? 3 : 2), cut = a.length + (b?.length ?? 0) > room;
  while (a.length + (b?.length ?? 0) > room) (b?.length > a.length ? b : a).pop(); // of the longer one, from its end
  const words = ["[CLS]", ...a, "[SEP]", ...(b ? [...b, "[SEP]"] : [])];
  return {
    words, cut, ids: words.map((word) => vocabulary.id(word)), segments: words.map((_, at) => (at < a.length + 2 ? 0 : 1)),
    first: range(a.length, (at) => at + 1), second: b ? range(b.length, (at) => at + a.length + 2) : [],
    unknown: words.filter((word) => !vocabulary.has(word)),
  };
}

/** States of all tokens after the last layer (T x D); every layer of ALBERT has the same weights. */
function encodeRow(model, data, row) {
  const encoder = model.part("encoder.encoder"), tables = encoder.part("embeddings");
  const before = data.restart ? row.segments.filter((segment) => segment === 0).length - 1 : 0; // both sentences count from 1
  const positions = row.segments.map((segment, at) => (segment ? at - before : at));
  const x = add(
    tables.matrix("word_embeddings.weight").take(row.ids),
    tables.matrix("position_embeddings.weight").take(positions),
    tables.matrix("token_type_embeddings.weight").take(row.segments));
  const layer = encoder.part("encoder.albert_layer_groups.0.albert_layers.0"), attention = layer.part("attention");
  let states = linear(encoder.part("encoder.embedding_hidden_mapping_in"), layerNorm(tables.part("LayerNorm"), x, data.eps));
  for (let number = 0; number < data.layers; number++) {
    const project = (name) => linear(attention.part(name), states);
    const { joined } = attend(project("query"), project("key"), project("value"), data.heads);
    states = layerNorm(attention.part("LayerNorm"), add(states, linear(attention.part("dense"), joined)), data.eps);
    const wide = linear(layer.part("ffn"), states).map(geluTanh);
    states = layerNorm(layer.part("full_layer_layer_norm"), add(states, linear(layer.part("ffn_output"), wide)), data.eps);
  }
  return states;
}

/** The stochastic answer network: probabilities after K steps, those of each step, and where the steps look. */
function answerNetwork(part, states, premise, hypothesis, steps) {
  const mix = (weights, rows) => embeddingSum(states, rows, weights);
  const scores = linear(part.part("summary"), states.take(hypothesis));
  const alpha = softmax(Array.from(scores.data));
  const cell = part.part("cell");
  const gru = { input: cell.matrix("weight_ih"), state: cell.matrix("weight_hh"), inputBias: cell.vector("bias_ih"), stateBias: cell.vector("bias_hh") };
  let state = mix(alpha, hypothesis);
  const answers = [], betas = [];
  for (let step = 0; step < steps; step++) {
    const query = linear(part.part("attend"), Matrix.of([state])).row(0);
    const beta = softmax(premise.map((at) => dot(query, states.row(at))));
    const read = mix(beta, premise);
    const features = [...state, ...read, ...state.map((value, k) => Math.abs(value - read[k])), ...state.map((value, k) => value * read[k])];
    answers.push(softmax(Array.from(linear(part.part("classify"), Matrix.of([features])).row(0))));
    betas.push(beta);
    state = gruCell(gru, affine(gru.input, gru.inputBias, read), state);
  }
  const average = answers[0].map((_, label) => sum(answers.map((answer) => answer[label])) / steps);
  return { scores: average, steps: answers, alpha, betas };
}

/** The answer of one task's head. */
function applyHead(model, data, task, states, row) {
  const part = model.part(`heads.${task}`), { kind } = data.tasks[task];
  if (part.has("summary.weight")) return answerNetwork(part, states, row.first, row.second, data.steps);
  const logits = Array.from(linear(part.part("linear"), states.take([0])).row(0));
  if (kind === "similarity") return { scores: logits };
  if (kind === "ranking") return { scores: logits.map(sigmoid) };
  return { scores: softmax(logits) };
}

/** All heads on two sentences: single-sentence tasks answer for each, the others for the pair. */
function scorePair(model, data, first, second) {
  const texts = { first, second }, rows = {}, states = {}, answers = {};
  const written = (text) => wordsIn(text).length > 0;
  const read = (name) => (states[name] ??= encodeRow(model, data, (rows[name] ??= name === "pair" ? pairRow(data, first, second) : pairRow(data, texts[name]))));
  for (const [task, { kind }] of Object.entries(data.tasks)) {
    const inputs = kind === "single" ? ["first", "second"].filter((name) => written(texts[name])) : written(first) && written(second) ? ["pair"] : [];
    if (inputs.length) answers[task] = inputs.map((name) => ({ of: name === "pair" ? "" : name, ...applyHead(model, data, task, read(name), rows[name]) }));
  }
  const unknown = [...new Set(Object.values(rows).flatMap((row) => row.unknown))].filter((word) => !word.startsWith("["));
  const cut = Object.values(rows).some((row) => row.cut);
  return { answers, rows, unknown, cut, empty: !written(first) || !written(second) };
}
