// A BERT that reads sentence by sentence and marks the sentences it needs, in the reader's browser: the sums of
// reasonlib/story_qa/models/evidence.py, one for one, on the weights that were trained there.
//
// S sentences, T tokens of a sentence, D width, H heads, N steps of the document layer.

const EPS = 1e-12; // of the layer norms of the sentence encoder

class EvidenceReader {
  constructor(weights, { sizes, words, answers }) {
    Object.assign(this, sizes, { weights, tokens: answers, vocabulary: new Vocabulary(words, { unknown: "[UNK]" }) });
    this.columns = ["mark"];
    this.vectors = new Map(); // of sentences that were read before
  }

  /** "Where is Mary?" -> ["where", "is", "mary", "?"]; each mark of punctuation is a word of its own. */
  words(text) {
    return text.toLowerCase().match(/[^\s\p{P}$+<=>^`|~]+|[\p{P}$+<=>^`|~]/gu) ?? [];
  }

  /** A sentence as the reader's own are written: no mark inside, one at the end. */
  clean(text) {
    const bare = tidy(text).replace(/'s\b/g, "").replace(/[^\p{L}\p{N}\s?]/gu, " ").trim();
    return /\?$/.test(bare) ? bare : `${bare}.`;
  }

  /** The words a text has that the reader does not. */
  unknown(text) {
    return this.words(text).filter((word) => /[\p{L}\p{N}]/u.test(word) && !this.vocabulary.has(word));
  }

  /** Word, position and segment of each token, summed and normalised. */
  embed(ids) {
    const table = (name, rows) => this.weights.matrix(`encoder.embeddings.${name}.weight`).take(rows);
    const x = add(
      table("word_embeddings", ids), table("position_embeddings", range(ids.length)), table("token_type_embeddings", ids.map(() => 0)));
    return layerNorm(this.weights.part("encoder.embeddings.LayerNorm"), x, EPS);
  }

  /** A sentence's vector: its [CLS] after the encoder, and its words, each weighed by its place. */
  sentence(text) {
    if (!this.vectors.has(text)) {
      const ids = ["[CLS]", ...this.words(text)].map((word) => this.vocabulary.id(word));
      const embedded = this.embed(ids), places = this.weights.matrix("places");
      const words = new Matrix(1, this.width);
      range(Math.min(ids.length, places.rows), (at) => words.data.forEach((_, k) => {
        words.data[k] += embedded.row(at)[k] * places.row(at)[k];
      }));
      let x = embedded;
      for (let number = 0; number < this.layers; number++) x = this.encoderLayer(this.weights.part(`encoder.encoder.layer.${number}`), x);
      this.vectors.set(text, add(x.take([0]), layerNorm(this.weights.part("spelt"), words)).data);
    }
    return this.vectors.get(text);
  }

  /** A layer of BERT, whose weights are named as in the `transformers` library. */
  encoderLayer(part, x) {
    const own = part.part("attention.self"), { keys, values } = project(own, x);
    const { joined } = attend(linear(own.part("query"), x), keys, values, this.encoderHeads);
    const change = linear(part.part("attention.output.dense"), joined);
    x = layerNorm(part.part("attention.output.LayerNorm"), add(x, change), EPS);
    const inner = linear(part.part("output.dense"), linear(part.part("intermediate.dense"), x).map(gelu));
    return layerNorm(part.part("output.LayerNorm"), add(x, inner), EPS);
  }

  /** The document layer: question and sentences look at each other, never at themselves; distance counts. */
  documentLayer(part, x) {
    const distance = part.matrix("distance"), middle = Math.floor(distance.columns / 2);
    const bias = (head, i, j) => (i === j && x.rows > 1 ? -1e8 : distance.row(head)[i - j + middle]);
    const inner = layerNorm(part.part("before_attention"), x);
    x = add(x, multiHeadAttention(part.part("attention"), inner, inner, this.heads, { bias }).output);
    return add(x, feedForward(part.part("feed_forward"), layerNorm(part.part("before_feeding"), x), gelu));
  }

  /** Score every answer, and the chance of each sentence that it is needed. */
  answer(story, question) {
    const memory = story.slice(-this.slots).reverse(), kinds = this.weights.matrix("kind"); // the latest first
    const texts = Matrix.of([question, ...memory].map((text) => this.sentence(text)));
    let x = add(texts, kinds.take(range(texts.rows, (row) => Math.min(row, 1))));
    const ages = this.weights.matrix("ages").take(range(texts.rows)), step = this.weights.matrix("step");
    for (let number = 0; number < this.steps; number++) {
      x = this.documentLayer(this.weights.part("layer"), add(x, ages, step.take(range(x.rows, () => number))));
    }
    const ended = layerNorm(this.weights.part("end"), x);
    const logits = Array.from(linear(this.weights.part("answer"), ended.take([0])).row(0));
    const marks = Array.from(linear(this.weights.part("mark"), ended).data.subarray(1), sigmoid);
    const needed = [...new Array(story.length - memory.length).fill(0), ...marks.reverse()];
    return { logits, probabilities: softmax(logits), weights: [needed] };
  }
}

live("evidence", (figure) => asking(figure, new EvidenceReader(figure.weights("reader"), figure.data.network)));
