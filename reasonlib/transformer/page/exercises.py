"""Graded exercises of the three chapters on the Transformer.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.

Axes: Q queries, N keys, T tokens, D width.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch

from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal
from reasonlib.nn import scaled_dot_product_attention, sinusoidal_positions
from reasonlib.transformer.data.masking import next_sentence_pairs
from reasonlib.transformer.data.stories import simulate_stories

__all__ = [
    "check_attend",
    "check_best_pair",
    "check_continues",
    "check_hide",
    "check_may_see",
    "check_next_beam",
    "check_pair",
    "check_shared",
    "check_waves",
]


# Chapter "Attention" ----------------------------------------------------------------------------------------


@exercise(
    title="Attention in three lines",
    minutes=10,
    points=2,
    hint="Scores are dot products, divided by the root of the width; the softmax runs over the keys.",
)
def check_attend(answer: Callable[..., Any], seed: int) -> None:
    """Check ``attend(query, key, value)``: scaled dot-product attention, (Q, D), (N, D), (N, D) to (Q, D)."""
    for width in (6, random.Random(seed).randint(8, 16)):
        draw = torch.Generator().manual_seed(width + 100 * seed)
        query, key, value = (torch.randn(rows, width, generator=draw) for rows in (3, 5, 5))
        scores = query @ key.T
        expect_close(
            answer(query.clone(), key.clone(), value.clone()),
            scaled_dot_product_attention(query, key, value).output,
            f"the mixture is not right at width {width}",
            wrong={
                "the scores are not divided by the root of the width": scores.softmax(-1) @ value,
                "divide by the root of the width, not by the width": (scores / width).softmax(-1) @ value,
                "the softmax must run over the keys, the last axis of the scores": (
                    (scores / width**0.5).softmax(0) @ value
                ),
                "the keys were mixed instead of the values": (scores / width**0.5).softmax(-1) @ key,
            },
        )


@exercise(
    title="A causal mask",
    minutes=5,
    points=1,
    hint="Row i is token i; it may see column j where j is not later than i.",
)
def check_may_see(answer: Callable[..., Any], seed: int) -> None:
    """Check ``may_see(length)``: the causal mask of T tokens, True where a token may look, (T, T)."""
    for length in (4, 1, 5 + random.Random(seed).randint(0, 20)):
        got = torch.as_tensor(answer(length))
        right = torch.tril(torch.ones(length, length, dtype=torch.bool))
        expect(got.dtype == torch.bool, f"return booleans, such as `scores <= limit`, got {got.dtype}")
        expect(got.shape == (length, length), f"for {length} tokens the shape must be {(length, length)}")
        expect(
            length == 1 or not torch.equal(got, right.T),
            "rows and columns are exchanged: token i may look back, not ahead",
        )
        expect(
            length == 1 or not torch.equal(got, right & ~torch.eye(length, dtype=torch.bool)),
            "a token may see itself, or the first one would see nothing",
        )
        expect(
            length == 1 or not bool(got.all()),
            "every token sees every other: hide what comes later than the row",
        )
        row = next((row for row in range(length) if not torch.equal(got[row], right[row])), None)
        expect(row is None, f"of {length} tokens, token {row} may look at tokens 0 to {row} and at no other")


@exercise(
    title="A wave for each unit",
    minutes=20,
    points=3,
    hint="Units 2i and 2i + 1 are a sine and a cosine of the same angle, t / 10000 ** (2 i / D).",
)
def check_waves(answer: Callable[..., Any], seed: int) -> None:
    """Check ``waves(length, width)``: the sinusoidal positions of T places in D units, (T, D)."""
    draw = random.Random(seed)
    for length, width in ((5, 8), (3, 2), (draw.randint(6, 30), 2 * draw.randint(5, 12))):
        position = torch.arange(length)[:, None]
        speeds = {power: 10_000.0 ** (-torch.arange(0, width, 2) * power / width) for power in (0.5, 1, 2)}
        angle = {power: position * speed for power, speed in speeds.items()}
        pairs = {power: torch.stack([item.sin(), item.cos()], -1).flatten(1) for power, item in angle.items()}
        got = torch.as_tensor(answer(length, width))
        expect(got.shape == (length, width), f"the shape must be {(length, width)}, got {tuple(got.shape)}")
        expect_close(
            got,
            sinusoidal_positions(length, width),
            f"for {length} places in {width} units",
            wrong={
                "sines and cosines take turns, unit by unit; here all sines come first": torch.cat(
                    [angle[1].sin(), angle[1].cos()], 1
                ),
                "the sine comes before the cosine of the same angle": torch.stack(
                    [angle[1].cos(), angle[1].sin()], -1
                ).flatten(1),
                "the exponent is 2i / D where 2i is the number of the unit, not twice that": pairs[2],
                "the exponent is 2i / D, not i / D": pairs[0.5],
            }
            if width > 2
            else {},
        )


# Chapter "What each part is for" ----------------------------------------------------------------------------


@exercise(
    title="The next merge",
    minutes=15,
    points=2,
    hint="Count every pair of neighbours, as often as its word occurs; the first pair in order wins a tie.",
)
def check_best_pair(answer: Callable[..., Any], seed: int) -> None:
    """Check ``best_pair(words)``: the pair of neighbouring pieces that byte-pair encoding merges next.

    ``words`` maps a word, as a tuple of pieces, to how often it occurs. Of pairs that are as frequent, the
    one that comes first in alphabetical order is returned.
    """
    cases: list[tuple[dict[tuple[str, ...], int], str]] = [
        ({("l", "o", "w"): 5, ("l", "o", "t"): 2, ("n", "e", "w"): 6}, "7 times, in two words"),
        ({("a", "b"): 1, ("c", "d"): 3}, "a word counts as often as it occurs"),
        ({("a", "b", "a", "b"): 2, ("c", "d"): 3}, "it stands twice in each of two words"),
        ({("lo", "w"): 2, ("w", "lo"): 2}, "a tie: the first in alphabetical order"),
        ({("w", "lo"): 2, ("lo", "w"): 2}, "a tie: the first in alphabetical order, not the first counted"),
        ({("b", "c"): 2, ("a", "a", "a"): 1}, "neighbours may overlap: a a a holds the pair twice"),
    ]
    draw = random.Random(seed)
    for _ in range(20):
        few = draw.sample("abcdefgh", 3)
        made = {tuple(draw.choices(few, k=draw.randint(1, 6))): draw.randint(1, 9) for _ in range(5)}
        if any(len(word) > 1 for word in made):
            cases.append((made, "the most frequent pair, the first in alphabetical order of those that tie"))
    for words, why in cases:
        got = answer(dict(words))
        expect(isinstance(got, (tuple, list)) and len(got) == 2, "return a pair of pieces")
        expect_equal(tuple(got), _best_pair(words), f"for {words}: {why}")


def _best_pair(words: Mapping[tuple[str, ...], int]) -> tuple[str, str]:
    counts: Counter[tuple[str, str]] = Counter()
    for word, times in words.items():
        for neighbours in pairwise(word):
            counts[neighbours] += times
    return min(counts, key=lambda each: (-counts[each], each))


@exercise(
    title="One step of a beam",
    minutes=20,
    points=3,
    hint="Every kept answer grows by every token; of all of them keep the `width` best by their sum.",
)
def check_next_beam(answer: Callable[..., Any], seed: int) -> None:
    """Check ``next_beam(beam, scores, width)``: the best continuations of some answers.

    ``beam`` is a list of pairs, an answer (a tuple of tokens) and its log-probability; ``scores[i][t]`` is
    the log-probability of token t after answer i. The result is such a list again, best first.
    """
    small = ([((0,), -1.0), ((1,), -1.5)], [[-0.2, -3.0, -2.0], [-0.1, -0.4, -9.0]])
    draw = torch.Generator().manual_seed(seed)
    large = 4 * torch.rand(3, 6, generator=draw)
    drawn = ([((2, row), -float(row)) for row in range(3)], (-large).tolist())
    crowded = ([((0,), -0.5), ((1,), -6.0)], [(-large[0, :4]).tolist(), (-large[1, :4]).tolist()])
    for beam, scores in (small, crowded, drawn):
        grown = sorted(
            (
                ((*tokens, token), total + score)
                for (tokens, total), row in zip(beam, scores, strict=True)
                for token, score in enumerate(row)
            ),
            key=lambda each: -each[1],
        )
        for width in (1, 2, 4):
            returned = answer(list(beam), [list(row) for row in scores], width)
            expect(
                isinstance(returned, (list, tuple)) and all(len(each) == 2 for each in returned),
                "return a list of pairs, an answer and its score",
            )
            got = [(tuple(tokens), float(total)) for tokens, total in returned]
            expect(len(got) == width, f"keep {width} answers, got {len(got)}")
            expect(
                width == 1
                or {tokens[:-1] for tokens, _ in grown[:width]} == {tokens[:-1] for tokens, _ in got},
                "keep the best of all continuations, not the best of each answer: one may have several",
            )
            expect(
                width == 1 or got[0][1] >= got[-1][1],
                "the answers must come best first: the highest sum leads",
            )
            added = [
                tokens for tokens, _ in sorted(grown, key=lambda each: -_last_score(beam, scores, each[0]))
            ]
            expect(
                [tokens for tokens, _ in got] != added[:width]
                or added[:width] == [tokens for tokens, _ in grown[:width]],
                "an answer is as good as the sum of all its tokens, not as its last one",
            )
            expect_equal(
                [tokens for tokens, _ in got],
                [tokens for tokens, _ in grown[:width]],
                f"with a width of {width} others are better, or the order is not best first",
            )
            expect_close(
                [total for _, total in got],
                [total for _, total in grown[:width]],
                "an answer's score is its own so far plus that of its new token",
                what="the list of scores",
            )


def _last_score(
    beam: Sequence[tuple[tuple[int, ...], float]], scores: Sequence[Sequence[float]], tokens: tuple[int, ...]
) -> float:
    row = [before for before, _ in beam].index(tokens[:-1])
    return scores[row][tokens[-1]]


@exercise(
    title="The first term of BLEU",
    minutes=10,
    points=2,
    hint="Count each word of both; of every word the smaller count is shared. Divide by the words written.",
)
def check_shared(answer: Callable[..., Any], seed: int) -> None:
    """Check ``shared(written, reference)``: the share of words written that the reference has too.

    Both are lists of words. A word counts at most as often as it stands in the reference: BLEU's precision of
    single words.
    """
    cases = [
        ("the cat sat", "the cat sat on the mat", "every word is in the reference"),
        ("the the the the", "the cat on the mat", "a word counts at most as often as in the reference"),
        ("a dog sat", "the cat sat", "one word of three"),
        ("sat cat the", "the cat sat", "the order of single words does not matter"),
        ("the cat sat on a mat", "cat", "divide by the words written, not by those of the reference"),
    ]
    draw = random.Random(seed)
    for _ in range(20):
        two = [" ".join(draw.choices("the a cat mat dog sat on".split(), k=draw.randint(1, 9))) for _ in "ab"]
        cases.append((two[0], two[1], "of each word the smaller of both counts is shared"))
    for written, reference, why in cases:
        got = answer(written.split(), reference.split())
        both = Counter(written.split()) & Counter(reference.split())
        right = both.total() / len(written.split())
        expect_close(got, right, f"for {written!r} and {reference!r}: {why}", what="the share")


# Chapter "BERT in miniature" --------------------------------------------------------------------------------


@exercise(
    title="Eighty, ten, ten",
    minutes=15,
    points=2,
    hint="Where `asked` is true: the mask for a fate below 0.8, `other` from there to 0.9, else the token.",
)
def check_hide(answer: Callable[..., Any], seed: int) -> None:
    """Check ``hide(tokens, asked, fate, other, mask)``: what the encoder reads by the 80/10/10 rule.

    ``tokens`` and ``other`` are ids (B, T), ``asked`` is boolean (B, T), ``fate`` is drawn evenly from 0 to 1
    for each token, ``mask`` is an id. The answer is (B, T).
    """
    draw = torch.Generator().manual_seed(9 + 100 * seed)
    mask = 4 + 96 * (seed % 2)
    for number in (mask, 4, int(torch.randint(50, 90, (1,), generator=draw))):
        tokens, other = torch.randint(5, 50, (2, 6, 40), generator=draw)
        asked = torch.rand(6, 40, generator=draw) < 0.5
        fate = torch.rand(6, 40, generator=draw)
        masks = torch.full_like(tokens, number)
        right = torch.where(asked & (fate < 0.8), masks, tokens)
        right = torch.where(asked & (fate >= 0.8) & (fate < 0.9), other, right)
        every = torch.where(fate < 0.8, masks, tokens)
        every = torch.where((fate >= 0.8) & (fate < 0.9), other, every)
        expect_close(
            answer(tokens.clone(), asked.clone(), fate.clone(), other.clone(), number),
            right,
            "some tokens are not what the encoder should read",
            wrong={
                "only words that are asked for may change": every,
                "one in ten stays as it is, one in ten becomes another word": torch.where(
                    asked & (fate < 0.8), masks, torch.where(asked & (fate >= 0.8), other, tokens)
                ),
                "that hides every word that is asked for": torch.where(asked, masks, tokens),
                f"the mask is the argument `mask`, here {number}": torch.where(right == number, 4, right)
                if number != 4
                else -right,
            },
            what="what the encoder reads",
        )


@exercise(
    title="Two texts in one sequence",
    minutes=10,
    points=2,
    hint="[CLS] first [SEP] second [SEP]; the first [SEP] still belongs to the first part.",
)
def check_pair(answer: Callable[..., Any], seed: int) -> None:
    """Check ``pair(first, second)``: the tokens of a pair as BERT reads them, and the part each is of.

    ``first`` and ``second`` are lists of words. The answer is two lists of one length: tokens with the marks
    ``[CLS]`` and ``[SEP]``, and 0 or 1 for each.
    """
    draw = random.Random(seed)
    some = [
        [draw.choices("mary john ran sat she yes .".split(), k=draw.randint(1, 7)) for _ in "ab"]
        for _ in range(5)
    ]
    for first, second in ((["mary", "ran", "."], ["she", "sat", "."]), (["yes"], ["no", "."]), *some):
        got = answer(list(first), list(second))
        expect(isinstance(got, (tuple, list)) and len(got) == 2, "return two lists: `return tokens, parts`")
        tokens, parts = map(list, got)
        right = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
        expect_equal(tokens, right, f"the tokens of {first} and {second}")
        ones = len(second) + 1
        expect(len(parts) == len(tokens), f"one number a token: {len(tokens)}, got {len(parts)}")
        expect(parts[len(first) + 1] == 0, "the first [SEP] ends the first part and belongs to it")
        expect_equal(parts, [0] * (len(right) - ones) + [1] * ones, f"the parts of {first} and {second}")


@exercise(
    title="Next sentences by hand",
    minutes=20,
    points=3,
    hint="Each story has its own people. `reasonlib.transformer.data.stories.NAMES` lists all there are.",
)
def check_continues(answer: Callable[..., Any], seed: int) -> None:
    """Check ``continues(first, second)``: whether the second part belongs to the first, without a network.

    Both are tuples of words. On parts never shown, at least 85 in 100 must be right.
    """
    texts = [list(item.sentences) for item in simulate_stories(400, shortest=1, reports=3, seed=4_021 + seed)]
    parts = next_sentence_pairs(texts, random.Random(11 + seed))
    said = [bool(answer(first, second)) for first, second, _ in parts]
    right = [continues for *_, continues in parts]
    share = sum(item == other for item, other in zip(said, right, strict=True)) / len(parts)
    expect(len(set(said)) > 1, f"the answer is always {said[0]}: that is right for half of the pairs")
    expect(
        share >= 0.85,
        f"{share:.0%} of the answers are right; 85% are possible. Which words would a continuation share?",
    )
