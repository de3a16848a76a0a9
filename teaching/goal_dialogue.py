"""Teacher's edition of `goal_dialogue`: solutions, wrong answers, and what each of them teaches."""

import string
from functools import partial

import torch

from reasonlib.goal_dialogue.page import exercises
from reasonlib.grading.edition import Mistake, Solved


def next_question(slots):
    for slot, question in (
        ("cuisine", exercises.CUISINE),
        ("location", exercises.PLACE),
        ("number", exercises.NUMBER),
        ("price", exercises.PRICE),
    ):
        if slot not in slots:
            return question
    return exercises.LOOK


def match_feature(dialogue, candidate, types, *, split=str.split):
    dialogue_words = {word for sentence in dialogue for word in split(sentence)}
    counts = {}
    for word in candidate.split():
        if word in types and word in dialogue_words:
            counts[types[word]] = counts.get(types[word], 0) + 1
    return counts


def gate(state, output, weight, bias, *, open_takes="output"):
    share = (state @ weight.T + bias).sigmoid()
    taken, kept = (output, state) if open_takes == "output" else (state, output)
    return taken * share + kept * (1 - share)


def break_tagger(tag, word, *, puts_in=True):
    letters = string.ascii_lowercase
    tries = [word[:i] + c + word[i + 1 :] for i in range(len(word)) for c in letters]
    tries += [word[:i] + word[i + 1 :] for i in range(len(word))]
    if puts_in:
        tries += [word[:i] + c + word[i:] for i in range(len(word) + 1) for c in letters]
    return next((each for each in tries if each != word and tag(each) != tag(word)), "")


def template(response, sentences, common, *, whole=True):
    dialogue_names = {word for sentence in sentences for word in sentence.split()} - common
    text = " ".join(sentences)
    words, names = [], []
    for word in response.split():
        is_name = word in dialogue_names if whole else word in text and word not in common
        words.append("_" if is_name else word)
        names += [word] if is_name else []
    return " ".join(words), names


def most_alike(query, candidates, weight, *, normed=True):
    def cosine(candidate):
        words = set(candidate.split())
        length = sum(weight.get(word, 0) ** 2 for word in words) ** 0.5 if normed else 1
        shared = sum(weight.get(word, 0) ** 2 for word in words & set(query.split()))
        return shared / length if length else 0

    return max(candidates, key=cosine)


def tie(keys, values, fresh, z, *, printed=False):
    return keys * z + values * (1 - z), values * z + (values if printed else fresh) * (1 - z)


def lstm_step(x, h, cell, W, b, *, own=True):
    joined = torch.cat([h, x], dim=1)
    given = {name: joined @ W[name].T + b[name if own or name == "f" else "i"] for name in "fico"}
    cell = cell * given["f"].sigmoid() + given["i"].sigmoid() * given["c"].tanh()
    return given["o"].sigmoid() * cell.tanh(), cell


def beside(words, tags, A, T):
    return torch.cat([A[words].sum(0), T[tags].sum(0)])


def bound(training, test):
    train_words = {word for response in training for word in response.split()}
    return sum(train_words.issuperset(response.split()) for response in test) / len(test)


def describe(mentions, names, count):
    return mentions.new_zeros(count, mentions.shape[1]).index_add(0, names, mentions)


def assigned(mentions, names, count):
    descriptions = mentions.new_zeros(count, mentions.shape[1])
    for mention, name in zip(mentions, names, strict=True):
        descriptions[name] = mention
    return descriptions


def whole_dialogues(right):
    return sum(map(all, right)) / len(right)


def by_word_count(query, candidates, weight):
    def score(candidate):
        words = candidate.split()
        return sum(weight.get(word, 0) ** 2 for word in set(words) & set(query.split())) / len(words) ** 0.5

    return max(candidates, key=score)


def squared_norm(query, candidates, weight):
    def score(candidate):
        words = set(candidate.split())
        length = sum(weight.get(word, 0) ** 2 for word in words)
        return sum(weight.get(word, 0) ** 2 for word in words & set(query.split())) / (length or 1)

    return max(candidates, key=score)


def match_once(dialogue, candidate, types):
    return match_feature(dialogue, " ".join(dict.fromkeys(candidate.split())), types)


def match_parts(dialogue, candidate, types):
    text = " ".join(dialogue)
    counts = {}
    for word in candidate.split():
        if word in types and word in text:
            counts[types[word]] = counts.get(types[word], 0) + 1
    return counts


def by_heart(tag, word):
    return {
        "spanish": "spanis",
        "chinese": "chines",
        "eight": "eigh",
        "cheaper": "cheape",
        "rome": "roma",
    }.get(word, "")


def at_the_end(tag, word):
    tries = [
        word[:-1],
        *(word[:-1] + c for c in string.ascii_lowercase),
        *(word + c for c in string.ascii_lowercase),
    ]
    return next((each for each in tries if each != word and tag(each) != tag(word)), "")


def first_mention(mentions, names, count):
    descriptions = mentions.new_zeros(count, mentions.shape[1])
    for mention, name in reversed(list(zip(mentions, names, strict=True))):
        descriptions[name] = mention
    return descriptions


def ungated_lstm(x, h, cell, W, b):
    new_h, new_cell = lstm_step(x, h, cell, W, b)
    return new_h / new_cell.tanh() * new_cell, new_cell


EDITION = {
    "next_question": Solved(
        next_question,
        [
            Mistake(lambda slots: exercises.CUISINE, "the cuisine is known", "a policy depends on the state"),
            Mistake(
                lambda slots: (
                    list(exercises.QUESTIONS.values())[len(slots)] if len(slots) < 4 else exercises.LOOK
                ),
                "the price came first",
                "how many slots are known is not which",
            ),
            Mistake(
                lambda slots: (
                    next_question({**slots, "price": slots.pop("price", "")})
                    if "price" in slots
                    else next_question(slots)
                ),
                "leave the dictionary as it was",
                "arguments belong to the caller",
            ),
            Mistake(
                lambda slots: next((q for s, q in exercises.QUESTIONS.items() if s not in slots), None),
                "return",
                "the last case is easily forgotten",
            ),
        ],
    ),
    "whole_dialogues": Solved(
        whole_dialogues,
        [
            Mistake(
                lambda right: sum(map(any, right)) / len(right), "one of two dialogues", "all is not any"
            ),
            Mistake(
                lambda right: sum(map(sum, right)) / sum(map(len, right)),
                "one of two",
                "responses are not dialogues",
            ),
            Mistake(lambda right: float(all(map(all, right))), "one of two", "a share has steps in between"),
            Mistake(lambda right: sum(map(all, right)), "one of two", "a count is no share"),
        ],
    ),
    "most_alike": Solved(
        most_alike,
        [
            Mistake(partial(most_alike, normed=False), "divide by its length", "long texts share more"),
            Mistake(
                by_word_count, "not the number of words|adds no length|divide by its", "length in weights"
            ),
            Mistake(squared_norm, "root of the summed squares", "a cosine divides by a root"),
            Mistake(lambda query, candidates, weight: candidates[0], "after", "the first wins ties alone"),
        ],
    ),
    "match_feature": Solved(
        match_feature,
        [
            Mistake(match_once, "each time", "types and tokens"),
            Mistake(
                lambda d, *rest: match_feature(d[-2:], *rest),
                "the first sentence",
                "memory is the whole dialogue",
            ),
            Mistake(match_parts, "does not count as rome", "names can be parts of words"),
            Mistake(
                lambda d, c, t: {t[w]: 1 for w in c.split() if w in t and w in " ".join(d).split()},
                "two words of one type",
                "a count is not a flag",
            ),
            Mistake(lambda d, c, t: match_feature([c], c, t), "was never said", "what matches is in both"),
        ],
    ),
    "gate": Solved(
        gate,
        [
            Mistake(partial(gate, open_takes="state"), "swapped", "what an open gate lets in"),
            Mistake(lambda s, o, w, b: s + o, "the plain update", "what the gate replaces"),
            Mistake(lambda s, o, w, b: gate(s, o, w.T, b), "transposed", "W u with rows as units"),
            Mistake(
                lambda s, o, w, b: gate(s, o, w, 0 * b), "the bias is left out", "a gate has a resting state"
            ),
        ],
    ),
    "tie": Solved(
        tie,
        [
            Mistake(
                partial(tie, printed=True), "as printed", "an equation that changes nothing is a misprint"
            ),
            Mistake(lambda k, v, f, z: tie(k, v, f, 1 - z), "swapped", "what z = 1 means"),
            Mistake(
                lambda k, v, f, z: (k * z + f * (1 - z), tie(k, v, f, z)[1]),
                "fresh is for the next C",
                "which tables are tied",
            ),
            Mistake(lambda *a: tie(*a)[0], "return a pair", "two tables a hop"),
        ],
    ),
    "break_tagger": Solved(
        break_tagger,
        [
            Mistake(partial(break_tagger, puts_in=False), "from 'eight'", "three kinds of edits"),
            Mistake(
                by_heart,
                "there is a word one letter from|the tagger still says",
                "attacks depend on the model",
            ),
            Mistake(at_the_end, "there is a word one letter from", "letters count wherever they stand"),
            Mistake(
                lambda tag, word: word + "xx", "is not one letter away", "the size of an attack is bounded"
            ),
            Mistake(
                lambda tag, word: break_tagger(tag, word) or word,
                "return an empty word",
                "some models cannot be broken",
            ),
        ],
    ),
    "lstm_step": Solved(
        lstm_step,
        [
            Mistake(partial(lstm_step, own=False), "as printed", "misprints in equations"),
            Mistake(lambda x, h, c, W, b: lstm_step(h, x, c, W, b), "h comes first", "joins have an order"),
            Mistake(ungated_lstm, "apply tanh to the state", "what is shown is bounded"),
            Mistake(
                lambda *a: lstm_step(*a)[::-1], "the new state is not right", "the order of what is returned"
            ),
        ],
    ),
    "beside": Solved(
        beside,
        [
            Mistake(
                lambda w, t, A, T: A[w].sum(0) + T[t].sum(0),
                "side by side",
                "a sum mixes what a join keeps apart",
            ),
            Mistake(lambda w, t, A, T: beside(t, w, T, A), "the words come first", "joins have an order"),
            Mistake(lambda w, t, A, T: beside(w, t, A, T) / len(w), "do not average", "bags sum"),
            Mistake(
                lambda w, t, A, T: beside(w.unique(), t.unique(), A, T), "counts twice", "a bag is not a set"
            ),
        ],
    ),
    "template": Solved(
        template,
        [
            Mistake(
                lambda response, sentences, common: (response, []), "all four were said", "what a gap is"
            ),
            Mistake(
                lambda r, s, common: template(r, s, set()), "they are common", "why common words are listed"
            ),
            Mistake(
                partial(template, whole=False),
                "never said|compare whole words",
                "names can be parts of words",
            ),
            Mistake(
                lambda *a: (template(*a)[0], list(dict.fromkeys(template(*a)[1]))),
                "of its own",
                "one name a gap",
            ),
            Mistake(lambda *a: template(*a)[0], "return a pair", "the names fill the gaps again"),
        ],
    ),
    "bound": Solved(
        bound,
        [
            Mistake(
                lambda training, test: sum(response in training for response in test) / len(test),
                "words may come from several",
                "a generator is not a retriever",
            ),
            Mistake(
                lambda training, test: bound(training, sorted(set(test))),
                "repeated or not",
                "types and tokens",
            ),
            Mistake(
                lambda training, test: (
                    sum(all(w in " ".join(training) for w in r.split()) for r in test) / len(test)
                ),
                "compare whole words",
                "names can be parts of words",
            ),
            Mistake(
                lambda training, test: (
                    sum(any(w in " ".join(training).split() for w in r.split()) for r in test) / len(test)
                ),
                "words may come from several",
                "all is not any",
            ),
        ],
    ),
    "describe": Solved(
        describe,
        [
            Mistake(assigned, "do not assign them", "indexed assignment keeps the last"),
            Mistake(first_mention, "the first mention", "every mention says something"),
            Mistake(
                lambda m, n, c: describe(m, n, c) / torch.bincount(n, minlength=c).clamp(min=1)[:, None],
                "do not average",
                "sums count, means do not",
            ),
            Mistake(
                lambda m, n, c: describe(m, n, int(n.max()) + 1),
                "a row of zeros, too",
                "sizes come from the argument",
            ),
        ],
    ),
}
