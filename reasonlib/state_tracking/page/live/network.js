// The tracker's forward pass: 30 slot tokens, [CLS] and the dialogue through an ALBERT encoder, a gate and a classifier a slot.
//
// S tokens in all, D width, P = 30 pairs. The names of weights are those of the PyTorch model's state_dict.

const geluTanh = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));

/** Token ids and speakers (1 system, 2 user) of [[system, user], ...]: [CLS] u [SEPU] s [SEPU] u [SEPU] ... [SEP]. */
function turnTokens(turns, vocabulary, longest) {
  let ids = [], roles = [];
  for (const turn of turns) {
    turn.forEach((text, speaker) => {
      const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
      if (!words.length) return;
      for (const word of [...words, "[SEPU]"]) {
        ids.push(vocabulary.id(word === "[SEPU]" ? word : word.toLowerCase()));
        roles.push(speaker + 1);
      }
    });
  }
  const room = longest - 2;
  ids = ids.slice(-room);
  roles = roles.slice(-room);
  return { ids: [vocabulary.id("[CLS]"), ...ids, vocabulary.id("[SEP]")], roles: [0, ...roles, 0] };
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

/**
 * One layer of ALBERT, for the first `count` tokens, which look at all of them; every layer has the same weights.
 * `mask(query, key)` says what may be seen.
 */
function albertLayer(part, x, { heads, eps, mask }, count) {
  const attention = part.part("attention"), project = (name, x) => linear(attention.part(name), x), asking = x.take(range(count));
  const attended = attend(project("query", asking), project("key", x), project("value", x), heads, { mask });
  x = layerNorm(attention.part("LayerNorm"), add(asking, linear(attention.part("dense"), attended.joined)), eps);
  const wide = linear(part.part("ffn"), x).map(geluTanh);
  return { output: layerNorm(part.part("full_layer_layer_norm"), add(x, linear(part.part("ffn_output"), wide)), eps), attended };
}

/** The state after the turns: for every pair its value and how sure, and the weights of every layer's heads; in the last layer, only those of the slots and [CLS]. */
function track(weights, data, turns, { blocked = false } = {}) {
  const vocabulary = (data.vocabulary ??= new Vocabulary(data.tokens, { unknown: "[UNK]" }));
  const { ids, roles } = turnTokens(turns, vocabulary, data.longest), model = weights.part("encoder");
  const encoder = model.part("encoder"), count = data.pairs.length;
  const mask = blocked ? (query, key) => query >= count || key >= count || query === key : null;
  let x = linear(encoder.part("encoder.embedding_hidden_mapping_in"), layerNorm(encoder.part("embeddings.LayerNorm"), embed(model, ids, roles), data.eps));
  const attention = [];
  for (let layer = 1; layer <= data.layers; layer++) {
    const needed = layer < data.layers ? x.rows : count + 1; // of the last layer, slots and [CLS] are read
    const { output, attended } = albertLayer(encoder.part("encoder.albert_layer_groups.0.albert_layers.0"), x, { ...data, mask }, needed);
    x = output;
    attention.push(attended.weights);
  }
  const gateWeight = weights.matrix("gate_weight"), gateBias = weights.vector("gate_bias");
  const valueWeight = weights.matrix("value_weight"), valueBias = weights.matrix("value_bias");
  const width = x.columns, cls = x.row(count), state = {}, sure = {}, gates = [], values = [];
  data.pairs.forEach((pair, p) => {
    const token = x.row(p);
    let gate = gateBias[p];
    for (let k = 0; k < width; k++) gate += token[k] * gateWeight.data[p * width + k];
    const scores = Array.from(valueBias.row(p).subarray(0, data.candidates[p].length));
    for (let k = 0; k < 2 * width; k++) {
      const row = valueWeight.row(p * 2 * width + k), input = k < width ? token[k] : cls[k - width];
      for (let n = 0; n < scores.length; n++) scores[n] += input * row[n];
    }
    const best = argmax(scores);
    gates.push(gate);
    values.push(scores);
    if (gate > 0 && best > 0) {
      state[pair] = data.candidates[p][best];
      sure[pair] = sigmoid(gate) * softmax(scores)[best];
    }
  });
  return { state, sure, gates, values, attention, words: ids.map((id) => data.tokens[id]), unknown: ids.map((id) => id === vocabulary.unknown) };
}
