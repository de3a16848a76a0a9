// What a reader types, read as people type: capitals, punctuation, curly quotes, digits for number words.

const NUMBER_WORDS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
  + "sixteen seventeen eighteen nineteen twenty").split(" ");
const ABBREVIATIONS = new Set(["mr.", "mrs.", "ms.", "dr.", "st."]);

/** One way to write each quote, dash and space. */
const tidy = (text) => text.normalize("NFC").replace(/[\u2018\u2019\u02bc]/g, "'").replace(/[\u201c\u201d]/g, '"')
  .replace(/[\u2013\u2014]/g, "-").replace(/[\u00a0\u2009\u202f]/g, " ");

/** "Is O'Neill in resto_rome_cheap?" -> ["is", "o'neill", "in", "resto_rome_cheap"] */
const wordsIn = (text) => tidy(text).toLowerCase().match(/[\p{L}\p{N}]+(?:['_-]+[\p{L}\p{N}]+)*/gu) ?? [];

/** The same with its marks: "Mary ran." -> ["mary", "ran", "."] */
const tokensIn = (text) => tidy(text).toLowerCase().match(/[\p{L}\p{N}]+(?:['_-]+[\p{L}\p{N}]+)*|[.?!,;:]/gu) ?? [];

/** A text as sentences: cut at line ends and after each of . ! ? */
function sentencesIn(text) {
  const cut = text.replace(/(\S*[.!?]["'”’)\]]*)\s+/g, (all, end) => (ABBREVIATIONS.has(end.toLowerCase()) ? all : `${end}\n`));
  return cut.split(/[\r\n]+/).map((line) => line.trim()).filter((line) => /[\p{L}\p{N}_]/u.test(line));
}

/** The words a model was trained with, and the number of each. */
class Vocabulary {
  constructor(tokens, { unknown = "<unk>" } = {}) {
    this.tokens = tokens;
    this.numbers = new Map(tokens.map((token, number) => [token, number]));
    this.unknown = this.numbers.get(unknown);
  }

  has(word) {
    return this.numbers.has(word);
  }

  /** The number of a word; that of the unknown word where the model has none. */
  id(word) {
    return this.numbers.get(word) ?? this.unknown;
  }

  /** How the model writes what was typed ("4" may be "four", "Mary" "mary", "mary's" "mary"); null if it has no such word. */
  spelling(typed) {
    const lower = typed.toLowerCase(), number = NUMBER_WORDS.indexOf(lower);
    const forms = [NUMBER_WORDS[/^\d+$/.test(lower) ? Number(lower) : -1], typed, lower, number < 0 ? null : String(number), lower.replace(/'s?$/, "")];
    return forms.find((form) => form && this.has(form)) ?? null;
  }
}
