"""Every exercise turns the stub away with its hint, passes its solution, and knows a plausible mistake."""

import string

import pytest

from reasonlib import check
from reasonlib.goal_dialogue import exercises

ALL = check.exercises("goal_dialogue")


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


SOLUTIONS = {
    "next_question": next_question,
    "match_feature": match_feature,
    "gate": gate,
    "break_tagger": break_tagger,
    "template": template,
}

MISTAKES = {
    "next_question": (lambda known: exercises.CUISINE, "the cuisine is known"),
    "match_feature": (
        lambda dialogue, candidate, types: {
            kind: 1
            for word, kind in types.items()
            if word in candidate.split() and word in " ".join(dialogue)
        },
        "two words of one type",
    ),
    "gate": (lambda *given: gate(*given, open_takes="state"), "exchanged"),
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
    untouched = one(check.stub())
    assert not untouched.passed and one.hint in untouched.message
    assert one(SOLUTIONS[name]).passed, one(SOLUTIONS[name]).message
    mistake, hint = MISTAKES[name]
    wrong = one(mistake)
    assert not wrong.passed and hint in wrong.message
