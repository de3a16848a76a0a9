// The tracker's forward pass: 30 slot tokens, [CLS] and the dialogue through an ALBERT encoder; a slot has a gate, and a span or a classifier.
//
// S tokens in all, D width, P = 30 pairs. The names of weights are those of the PyTorch model's state_dict.

const geluTanh = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));

/**
 * Token ids and speakers (1 system, 2 user) of [[system, user], ...]: [CLS] u [SEPU] s [SEPU] u [SEPU] ... [SEP], the words as they
 * were written, and how many were dropped at the beginning.
 */
function turnTokens(turns, vocabulary, longest) {
  let words = [], roles = [];
  for (const turn of turns) {
    turn.forEach((text, speaker) => {
      const said = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
      if (!said.length) return;
      words.push(...said, "[SEPU]");
      roles.push(...said.map(() => speaker + 1), speaker + 1);
    });
  }
  const dropped = Math.max(0, words.length - (longest - 2));
  words = ["[CLS]", ...words.slice(dropped), "[SEP]"];
  return { ids: words.map((word) => vocabulary.id(word)), roles: [0, ...roles.slice(dropped), 0], words, dropped };
}

/** The sum of word, position and type embeddings; slot tokens have no position, [CLS] and [SEP] no type. */
function embed(model, ids, roles) {
  const ds = model.matrix("ds"), types = model.matrix("types"), tables = model.part("encoder.embeddings");
  const words = tables.matrix("word_embeddings.weight"), positions = tables.matrix("position_embeddings.weight");
  const segment = tables.matrix("token_type_embeddings.weight").row(0);
  const sum = new Matrix(ds.rows + ids.length, ds.columns);
  for (let at = 0; at < sum.rows; at++) {
    const word = at - ds.rows, row = sum.row(at);
    for (let k = 0; k < ds.columns; k++) {
      row[k] = segment[k];
      if (word < 0) row[k] += ds.row(at)[k] + types.row(2)[k];
      else row[k] += words.row(ids[word])[k] + positions.row(word)[k] + (roles[word] ? types.row(roles[word] - 1)[k] : 0);
    }
  }
  return sum;
}

/** One layer of ALBERT; every layer has the same weights. `mask(query, key)` says what may be seen. */
function albertLayer(part, x, { heads, eps, mask }) {
  const attention = part.part("attention"), project = (name) => linear(attention.part(name), x);
  const attended = attend(project("query"), project("key"), project("value"), heads, { mask });
  x = layerNorm(attention.part("LayerNorm"), add(x, linear(attention.part("dense"), attended.joined)), eps);
  const wide = linear(part.part("ffn"), x).map(geluTanh);
  return { output: layerNorm(part.part("full_layer_layer_norm"), add(x, linear(part.part("ffn_output"), wide)), eps), attended };
}

/** First and last token of the best span: the sum of both scores decides, and a span has at most `longest` tokens. */
function bestSpan(starts, ends, longest) {
  let best = [0, 0], most = -Infinity;
  for (let first = 0; first < starts.length; first++) {
    for (let last = first; last < Math.min(first + longest, ends.length); last++) {
      if (starts[first] + ends[last] > most) [best, most] = [[first, last], starts[first] + ends[last]];
    }
  }
  return best;
}

/** The state after the turns: for every pair its value, how sure, and the first and last word of its span; and the weights of every layer's heads. */
function track(weights, data, turns, { blocked = false } = {}) {
  const vocabulary = (data.vocabulary ??= new Vocabulary(data.tokens, { unknown: "[UNK]" }));
  const { ids, roles, words, dropped } = turnTokens(turns, vocabulary, data.longest), heads = weights.part("tracker"), model = heads.part("encoder");
  const encoder = model.part("encoder"), count = data.pairs.length;
  const mask = blocked ? (query, key) => query >= count || key >= count || query === key : null;
  let x = linear(encoder.part("encoder.embedding_hidden_mapping_in"), layerNorm(encoder.part("embeddings.LayerNorm"), embed(model, ids, roles), data.eps));
  const attention = [];
  for (let layer = 1; layer <= data.layers; layer++) {
    const { output, attended } = albertLayer(encoder.part("encoder.albert_layer_groups.0.albert_layers.0"), x, { ...data, mask });
    x = output;
    attention.push(attended.weights);
  }
  const gateWeight = heads.matrix("gate_weight"), gateBias = heads.matrix("gate_bias");
  const valueWeight = heads.matrix("value_weight"), valueBias = heads.matrix("value_bias");
  const width = x.columns, cls = x.row(count);
  const state = {}, sure = {}, spans = {}, gates = [], values = [];

  /** Add the products of a vector and the rows of a matrix, from a row on, to scores. */
  function addProduct(scores, vector, matrix, from) {
    for (let k = 0; k < vector.length; k++) {
      const row = matrix.row(from + k);
      for (let n = 0; n < scores.length; n++) scores[n] += vector[k] * row[n];
    }
    return scores;
  }

  /** The scores of all words as the first, or the last, of a slot's span. */
  function pointer(token, matrix) {
    const query = addProduct(Array(width).fill(0), token, matrix, 0);
    return range(ids.length, (at) => {
      const word = x.row(count + at);
      let score = 0;
      for (let k = 0; k < width; k++) score += query[k] * word[k];
      return score / Math.sqrt(width);
    });
  }

  data.pairs.forEach((pair, p) => {
    const token = x.row(p);
    const gate = addProduct(Array.from(gateBias.row(p)), token, gateWeight, p * width);
    const scores = addProduct(Array.from(valueBias.row(p).subarray(0, data.candidates[p].length)), token, valueWeight, p * 2 * width);
    addProduct(scores, cls, valueWeight, (p * 2 + 1) * width);
    gates.push(gate);
    values.push(scores);
    const kind = argmax(gate);
    if (kind === 0) return;
    let chance = softmax(gate)[kind];
    if (kind === 1) state[pair] = data.candidates[p][1];
    else if (data.open.includes(p)) {
      const starts = pointer(token, weights.matrix("start")), ends = pointer(token, weights.matrix("end"));
      const [first, last] = bestSpan(starts, ends, data.longest_span);
      spans[pair] = [first, last];
      state[pair] = words.slice(first, last + 1).join(" ");
      chance *= softmax(starts)[first] * softmax(ends)[last];
    } else {
      const best = argmax(scores);
      if (best === 0) return; // none
      state[pair] = data.candidates[p][best];
      chance *= softmax(scores)[best];
    }
    sure[pair] = chance;
  });
  return { state, sure, spans, gates, values, attention, words, dropped, unknown: ids.map((id) => id === vocabulary.unknown) };
}
