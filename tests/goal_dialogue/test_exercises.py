"""Every exercise turns the stub away with its hint, passes its solution, and knows a plausible mistake."""

import string

import pytest
import torch

from reasonlib.goal_dialogue.page import exercises
from reasonlib.grading import checks

ALL = checks.exercises("goal_dialogue")


def next_question(known):
    for slot, question in (
        ("cuisine", exercises.CUISINE),
        ("location", exercises.PLACE),
        ("number", exercises.NUMBER),
        ("price", exercises.PRICE),
    ):
        if slot not in known:
            return question
    return exercises.LOOK


def match_feature(dialogue, candidate, types, *, split=str.split):
    heard = {word for sentence in dialogue for word in split(sentence)}
    found = {}
    for word in candidate.split():
        if word in types and word in heard:
            found[types[word]] = found.get(types[word], 0) + 1
    return found


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


def template(response, said, common, *, whole=True):
    heard = {word for sentence in said for word in sentence.split()} - common
    text = " ".join(said)
    words, names = [], []
    for word in response.split():
        known = word in heard if whole else word in text and word not in common
        words.append("_" if known else word)
        names += [word] if known else []
    return " ".join(words), names


def most_alike(said, candidates, weight, *, normed=True):
    def alike(candidate):
        words = set(candidate.split())
        length = sum(weight.get(word, 0) ** 2 for word in words) ** 0.5 if normed else 1
        shared = sum(weight.get(word, 0) ** 2 for word in words & set(said.split()))
        return shared / length if length else 0

    return max(candidates, key=alike)


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
    said = {word for response in training for word in response.split()}
    return sum(said.issuperset(response.split()) for response in test) / len(test)


def describe(mentions, names, count):
    return mentions.new_zeros(count, mentions.shape[1]).index_add(0, names, mentions)


def assigned(mentions, names, count):
    found = mentions.new_zeros(count, mentions.shape[1])
    for mention, name in zip(mentions, names, strict=True):
        found[name] = mention
    return found


SOLUTIONS = {
    "whole_dialogues": lambda right: sum(map(all, right)) / len(right),
    "most_alike": most_alike,
    "tie": tie,
    "lstm_step": lstm_step,
    "beside": beside,
    "bound": bound,
    "describe": describe,
    "next_question": next_question,
    "match_feature": match_feature,
    "gate": gate,
    "break_tagger": break_tagger,
    "template": template,
}

MISTAKES = {
    "whole_dialogues": (lambda right: sum(map(any, right)) / len(right), "one of two dialogues"),
    "most_alike": (lambda *given: most_alike(*given, normed=False), "divide by its length"),
    "tie": (lambda *given: tie(*given, printed=True), "as printed"),
    "lstm_step": (lambda *given: lstm_step(*given, own=False), "as printed"),
    "beside": (lambda words, tags, A, T: A[words].sum(0) + T[tags].sum(0), "side by side"),
    "bound": (
        lambda training, test: sum(one in training for one in test) / len(test),
        "words may come from several",
    ),
    "describe": (assigned, "do not assign them"),
    "next_question": (lambda known: exercises.CUISINE, "the cuisine is known"),
    "match_feature": (
        lambda dialogue, candidate, types: {
            kind: 1
            for word, kind in types.items()
            if word in candidate.split() and word in " ".join(dialogue)
        },
        "two words of one type",
    ),
    "gate": (lambda *given: gate(*given, open_takes="state"), "swapped"),
    "break_tagger": (lambda tag, word: break_tagger(tag, word, puts_in=False), "one letter from 'eight'"),
    "template": (
        lambda response, said, common: (response, []),
        "all four were said",
    ),
}


def test_there_is_one_solution_for_each():
    assert {each.name for each in ALL} == set(SOLUTIONS)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_the_stub_the_solution_and_a_mistake(name):
    one = next(each for each in ALL if each.name == name)
    untouched = one(checks.stub())
    assert not untouched.passed and one.hint in untouched.message
    assert one(SOLUTIONS[name]).passed, one(SOLUTIONS[name]).message
    mistake, hint = MISTAKES[name]
    wrong = one(mistake)
    assert not wrong.passed and hint in wrong.message
