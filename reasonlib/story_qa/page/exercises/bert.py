"""Exercises of the chapter "BERT on the same stories".

Axes: B questions, S sentences in memory, D width, J words in a sentence, T tokens.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reasonlib.grading.checks import exercise, expect, expect_equal
from reasonlib.story_qa.data.masking import UNSCORED

__all__ = ["check_best_span", "check_hide_words", "check_pack"]


@exercise(
    title="Hide words by the 80/10/10 rule",
    minutes=10,
    points=2,
    hint="Draw one number for each token to select 15 % of the words, and a second for what becomes of it.",
)
def check_hide_words(answer: Callable[..., Any], seed: int) -> None:
    """Check ``hide_words(tokens, specials, mask, words, generator)``: returns hidden and labels, both (B, T).

    Ids below ``specials`` are marks and are never hidden; ``mask`` is the id of [MASK]; ids of words run from
    ``specials`` to ``words - 1``. Labels are -100 where nothing is asked.
    """
    specials, mask, count = 5, 4, 105
    tokens = torch.randint(
        specials, count, (400, 102), generator=torch.Generator().manual_seed(2 + 100 * seed)
    )
    tokens[:, 0], tokens[:, 30], tokens[:, -1] = 2, 3, 0  # [CLS], [SEP] and padding
    before = tokens.clone()
    draws = 3 + 100 * seed
    got = answer(tokens, specials, mask, count, torch.Generator().manual_seed(draws))
    expect(torch.equal(tokens, before), "`tokens` itself was changed: work on a copy, `tokens.clone()`")
    expect(
        isinstance(got, (tuple, list)) and len(got) == 2,
        "return two tensors, what the encoder reads and what it must predict: `return hidden, labels`",
    )
    hidden, labels = (torch.as_tensor(part) for part in got)
    for name, part in (("hidden", hidden), ("labels", labels)):
        expect(
            part.shape == tokens.shape and not part.is_floating_point() and part.dtype != torch.bool,
            f"`{name}` must hold one id for every token, in shape {tuple(tokens.shape)}",
        )
    asked = labels != UNSCORED
    word = tokens >= specials
    expect(
        not (asked & ~word).any(),
        "special tokens or padding are selected: choose only among ids of at least `specials`",
    )
    expect(not asked[word].all(), f"every word is selected: set the label to {UNSCORED} where none is")
    share = asked[word].float().mean().item()
    expect(abs(share - 0.15) < 0.015, f"15 % of the words should be selected, yours are {share:.1%}")
    expect(
        torch.equal(labels[asked], tokens[asked]),
        "a label must be the word that was hidden, not what now stands in its place",
    )
    expect(torch.equal(hidden[~asked], tokens[~asked]), "a token that is not selected must stay as it is")
    _fates(hidden[asked], tokens[asked], specials=specials, mask=mask, words=count)
    again = answer(tokens, specials, mask, count, torch.Generator().manual_seed(draws))
    expect(
        torch.equal(torch.as_tensor(again[0]), hidden) and torch.equal(torch.as_tensor(again[1]), labels),
        "the same generator should give the same words: pass `generator=generator` to everything that draws",
    )
    columns = asked.float().mean(0)
    expect(
        bool(columns.max() < 0.5),
        "the same positions are asked for in every row: draw a number for each token of each row",
    )
    other = answer(tokens, specials, mask, count, torch.Generator().manual_seed(draws + 1))
    expect(
        not torch.equal(torch.as_tensor(other[1]), labels),
        "another generator should hide other words: draw from `generator`, not from one of your own",
    )


def _fates(hidden: Tensor, truth: Tensor, *, specials: int, mask: int, words: int) -> None:
    """Complain unless 80 % of the words asked for became [MASK], 10 % another word, and 10 % stayed."""
    masked = (hidden == mask).float().mean().item()
    same = (hidden == truth).float().mean().item()
    other = 1 - masked - same
    expect(
        masked < 0.97,
        "every selected word became [MASK]: 10 % should become a random word and 10 % stay, because [MASK] "
        "never occurs when the encoder is used",
    )
    expect(
        same > 0.05,
        f"{same:.0%} of the selected words stay as they are, 10 % should",
    )
    expect(
        other > 0.05,
        f"{other:.0%} of the selected words became another word, 10 % should",
    )
    drawn = hidden[(hidden != mask) & (hidden != truth)]
    expect(
        ((drawn >= specials) & (drawn < words)).all(),
        "a random word must be a word: draw ids from `specials` to `words` - 1",
    )
    expect(
        abs(masked - 0.8) < 0.03 and abs(same - 0.1) < 0.03,
        f"of the selected words, {masked:.0%} became [MASK], {other:.0%} another word and {same:.0%} stay; "
        "the rule is 80, 10 and 10: compare one number for each word with 0.8 and with 0.9",
    )


@exercise(
    title="Pack a question and its story",
    minutes=15,
    points=2,
    hint="Count the tokens left beside the question and three special ones, then fill up from the end.",
)
def check_pack(answer: Callable[..., Any], seed: int) -> None:
    """Check ``pack(question, story, longest)``: returns tokens and segments, two lists of one length.

    ``question`` is a list of words and ``story`` a list of such lists, oldest sentence first. Tokens are
    ``[CLS] question [SEP] story [SEP]``; a story that does not fit loses whole sentences, oldest first.
    """
    draw = random.Random(4 + 100 * seed)
    name, position = ["mary", "john", "daniel"], ["kitchen", "garden", "hallway", "office"]
    for case in range(60):
        question = ["where", "is", draw.choice(name), "?"]
        story = [
            [draw.choice(name), "went", *["back"] * draw.randint(0, 1), "to", draw.choice(position), "."]
            for _ in range(draw.randint(1, 9))
        ]
        told = sum(map(len, story))
        longest = told + len(question) + 3 + (draw.randint(0, 5) if case < 15 else -draw.randint(1, told - 1))
        right = _packed(question, story, longest)
        given = [list(sentence) for sentence in story]
        got = answer(list(question), given, longest)
        expect(
            isinstance(got, (tuple, list)) and len(got) == 2,
            "return two lists, tokens and segments: `return tokens, segments`",
        )
        tokens, segments = (list(part) for part in got)
        expect(
            len(tokens) <= longest,
            f"{len(tokens)} tokens came back where {longest} fit: leave out the oldest sentences",
        )
        flat = [word for sentence in story for word in sentence]
        room = longest - len(question) - 3
        head = ["[CLS]", *question, "[SEP]"]
        expect_equal(
            tokens,
            right[0],
            f"{len(story)} sentences with room for {longest} tokens are not packed as "
            "[CLS] question [SEP] story [SEP]",
            wrong={
                "you kept the beginning of the story: leave out the oldest sentences and keep the latest": (
                    [*head, *_fitting(story, room), "[SEP]"]
                ),
                "a sentence was cut in two: leave out whole sentences": [*head, *flat[-room:], "[SEP]"],
                "the words were cut at the story's end: leave out whole sentences, the oldest first": (
                    [*head, *flat[:room], "[SEP]"]
                ),
                "the last [SEP] is missing: it ends the story": right[0][:-1],
            },
        )
        expect_equal(
            segments,
            right[1],
            "segments are 0 for the question and 1 for the story, each with its own special tokens",
            wrong={
                "the first [SEP] ends the question, so it belongs to segment 0": (
                    [0] * (len(question) + 1) + [1] * (len(right[0]) - len(question) - 1)
                ),
                "segments are exchanged: 0 for the question, 1 for the story": [
                    1 - item for item in right[1]
                ],
            },
        )


def _packed(question: list[str], story: list[list[str]], longest: int) -> tuple[list[str], list[int]]:
    """Pack as the exercise asks."""
    newest_first = _fitting(story[::-1], longest - len(question) - 3, backwards=True)
    return (
        ["[CLS]", *question, "[SEP]", *newest_first, "[SEP]"],
        [0] * (len(question) + 2) + [1] * (len(newest_first) + 1),
    )


def _fitting(story: Sequence[list[str]], room: int, *, backwards: bool = False) -> list[str]:
    """Take sentences in the given order while there is room; return their words in the order of the story."""
    kept: list[list[str]] = []
    for sentence in story:
        if len(sentence) > room:
            break
        kept.append(sentence)
        room -= len(sentence)
    return [word for sentence in (kept[::-1] if backwards else kept) for word in sentence]


@exercise(
    title="Find the best span",
    minutes=15,
    points=3,
    hint="Try every start with every end that does not come before it; keep the pair of the highest sum.",
)
def check_best_span(answer: Callable[..., Any], seed: int) -> None:
    """Check ``best_span(start, end, longest)``: the pair (first, last) with the highest start + end score.

    ``start`` and ``end`` are (T,) tensors; a span runs from first to last, both included, and holds at most
    ``longest`` tokens.
    """
    draw = torch.Generator().manual_seed(5 + 100 * seed)
    for case in range(80):
        length = 3 + case % 12
        longest = length if case < 20 else 1 + case % 5
        start, end = torch.randn(2, length, generator=draw).unbind(0)
        spans = [
            (begin, stop) for begin in range(length) for stop in range(begin, min(begin + longest, length))
        ]
        right = max(spans, key=lambda span: (start[span[0]] + end[span[1]]).item())
        got = answer(start.clone(), end.clone(), longest)
        expect(
            isinstance(got, (tuple, list, Tensor)) and len(got) == 2,
            "return two positions, the first and the last token of the span: `return first, last`",
        )
        begin, stop = (int(position) for position in got)
        expect(
            0 <= begin < length and 0 <= stop < length,
            f"({begin}, {stop}) does not lie within {length} tokens",
        )
        expect(
            stop >= begin,
            f"the span ends at token {stop}, before its start at {begin}: start and end cannot be chosen "
            "apart from each other",
        )
        expect(
            stop - begin < longest,
            f"({begin}, {stop}) holds {stop - begin + 1} tokens, {longest} are allowed",
        )
        first = int(start.argmax())
        expect_equal(
            (begin, stop),
            right,
            f"another span of {longest} tokens or fewer has a higher sum of start and end",
            wrong={
                "the best start is not always part of the best span: compare the sums of all pairs": (
                    (first, first + int(end[first : first + longest].argmax()))
                ),
            },
        )
