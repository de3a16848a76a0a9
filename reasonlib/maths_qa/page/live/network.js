// The character Transformer: read a question, write its answer greedily; and the encoder that fills in hidden characters.
//
// S characters of a question, U of an answer, T of both with [SOS] and [EOS], D width. Names of weights are those of the
// PyTorch models' state_dict.

const START = 1, END = 2, MASK = 3, FIRST = 4, CHARACTERS = 95; // marks, and the printable characters of ASCII

const isPrintable = (character) => character >= " " && character <= "~";
const idsOf = (text) => Array.from(text, (character) => character.charCodeAt(0) - 32 + FIRST);
const textOf = (id) => String.fromCharCode(id - FIRST + 32);

/** What a reader types, as the generator writes it: plain quotes and signs, one space for several. */
const tidyQuestion = (text) => tidy(text).replace(/\u2212/g, "-").replace(/[\u00d7\u22c5]/g, "*").replace(/\u00f7/g, "/").replace(/\s+/g, " ").trim();

/** The sum of the embeddings of characters, of their segment and of their positions. */
function embedCharacters(part, ids, segments, positions) {
  const rows = (name, numbers) => part.matrix(name).take(numbers);
  return add(rows("tokens.weight", ids), rows("segments.weight", segments), rows("positions.table", positions));
}

/** Characters of one segment (0 question, 1 answer), with positions counted from `start`. */
const embedSegment = (part, ids, segment, start = 0) =>
  embedCharacters(part, ids, ids.map(() => segment), ids.map((_, at) => start + at));

/** What the encoder makes of a question (S x D), with a pause after each layer. */
function* readSlowly(model, question, data) {
  const options = { heads: data.heads, norm: data.norm }, x = embedSegment(model.part("embedding"), idsOf(question), 0);
  return (yield* encodeSlowly(model.part("encoder"), x, data.layers, options)).output;
}

/** The likeliest answer, character by character: probability and attention to the question of each, the end included. */
const answerGreedily = (model, question, data) => finished(answerSlowly(model, question, data));

/** The same, with a pause after each layer that reads the question and after each character. */
function* answerSlowly(model, question, data) {
  const memory = yield* readSlowly(model, question, data), options = { heads: data.heads, norm: data.norm };
  const chances = [], attention = [];
  let text = "", token = START, past = null;
  while (chances.length <= data.longest) {
    const x = embedSegment(model.part("embedding"), [token], 1, chances.length);
    const decoded = decode(model.part("decoder"), x, memory, data.layers, options, past);
    const shares = softmax(Array.from(linear(model.part("output"), decoded.output).row(0)));
    const looks = new Array(question.length).fill(0), heads = decoded.memoryAttention.flatMap((layer) => layer.weights);
    token = argmax(shares);
    past = decoded.past;
    chances.push(shares[token]);
    for (const { data: weights } of heads) for (let at = 0; at < looks.length; at++) looks[at] += weights[at];
    attention.push(looks.map((total) => total / heads.length));
    if (token === END) break;
    text += token >= FIRST ? textOf(token) : "";
    yield;
  }
  return { text, chances, attention };
}

/**
 * Hide some characters of [question][SOS]answer[EOS] and guess them. `hidden` are positions in question + answer.
 * Gives for each of them the shares of all characters.
 */
function fillHidden(model, question, answer, hidden, data) {
  const ids = [...idsOf(question), START, ...idsOf(answer), END], length = question.length;
  const segments = ids.map((_, at) => Number(at >= length)), positions = ids.map((_, at) => (at >= length ? at - length : at));
  const places = hidden.map((at) => (at >= length ? at + 1 : at)); // [SOS] stands between them
  for (const at of places) ids[at] = MASK;
  const x = embedCharacters(model.part("embedding"), ids, segments, positions);
  const states = encode(model.part("encoder"), x, data.layers, { heads: data.heads, norm: data.norm }).output;
  const logits = linear(model.part("output"), states.take(places));
  return places.map((_, row) => softmax(Array.from(logits.row(row))));
}
