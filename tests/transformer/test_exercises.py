"""Every exercise turns the stub away with its hint, passes its solution, and knows a plausible mistake."""

from collections import Counter
from itertools import pairwise

import pytest
import torch

from reasonlib.grading import checks
from reasonlib.transformer.data.stories import NAMES

ALL = checks.exercises("transformer")


def attend(query, key, value, *, scale=True):
    scores = query @ key.T
    if scale:
        scores = scores / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ value


def may_see(length):
    return torch.arange(length)[:, None] >= torch.arange(length)


def best_pair(words, *, weighed=True):
    counts = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count if weighed else 1
    return min(counts, key=lambda pair: (-counts[pair], pair))


def next_beam(beam, scores, width):
    grown = [
        ((*tokens, token), total + score)
        for (tokens, total), row in zip(beam, scores, strict=True)
        for token, score in enumerate(row)
    ]
    return sorted(grown, key=lambda one: -one[1])[:width]


def mask_tokens(tokens, asked, fate, other, mask, *, only_asked=True):
    chosen = asked if only_asked else torch.ones_like(asked)
    seen = torch.where(chosen & (fate < 0.8), torch.full_like(tokens, mask), tokens)
    return torch.where(chosen & (fate >= 0.8) & (fate < 0.9), other, seen)


def waves(length, width, *, joined=False):
    angle = torch.arange(length)[:, None] * 10000 ** (-torch.arange(0, width, 2) / width)
    waves = [angle.sin(), angle.cos()]
    return torch.cat(waves, 1) if joined else torch.stack(waves, -1).flatten(1)


def shared(written, reference, *, clipped=True):
    known = Counter(reference)
    found = sum(
        min(count, known[word]) if clipped else count * (word in known)
        for word, count in Counter(written).items()
    )
    return found / len(written)


def pair(first, second, *, late=False):
    tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    start = len(first) + (1 if late else 2)
    return tokens, [int(place >= start) for place in range(len(tokens))]


def continues(first, second):
    return bool(set(first) & set(second) & set(NAMES))


SOLUTIONS = {
    "attend": attend,
    "may_see": may_see,
    "best_pair": best_pair,
    "next_beam": next_beam,
    "hide": mask_tokens,
    "waves": waves,
    "shared": shared,
    "pair": pair,
    "continues": continues,
}

MISTAKES = {
    "attend": (lambda *given: attend(*given, scale=False), "not divided by the root"),
    "may_see": (lambda length: may_see(length).T, "exchanged"),
    "best_pair": (lambda words: best_pair(words, weighed=False), "as often as it occurs"),
    "next_beam": (
        lambda beam, scores, width: [
            next_beam([one], [row], 1)[0] for one, row in zip(beam, scores, strict=True)
        ][:width],
        "keep 4 answers",
    ),
    "hide": (lambda *given: mask_tokens(*given, only_asked=False), "only words that are asked for"),
    "waves": (lambda length, width: waves(length, width, joined=True), "take turns"),
    "shared": (lambda *given: shared(*given, clipped=False), "at most as often"),
    "pair": (lambda *given: pair(*given, late=True), "the first [SEP] ends the first part"),
    "continues": (lambda first, second: True, "the answer is always True"),
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
