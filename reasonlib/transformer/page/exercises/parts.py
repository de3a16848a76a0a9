"""Exercises of the chapter "What each part is for".

Axes: Q queries, N keys, T tokens, D width.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint

__all__ = ["check_best_pair", "check_next_beam", "check_shared"]


@exercise(title="The next merge", minutes=15, points=2)
@hint("Count every pair of neighbours, as often as its word occurs; the first pair in order wins a tie.")
def check_best_pair(answer: Answer, seed: int) -> None:
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
        random_words = {tuple(draw.choices(few, k=draw.randint(1, 6))): draw.randint(1, 9) for _ in range(5)}
        if any(len(word) > 1 for word in random_words):
            cases.append(
                (random_words, "the most frequent pair, the first in alphabetical order of those that tie")
            )
    for words, why in cases:
        result = answer(dict(words))
        expect(isinstance(result, (tuple, list)) and len(result) == 2, "return a pair of pieces")
        expect_equal(tuple(result), _best_pair(words), f"for {words}: {why}")


def _best_pair(words: Mapping[tuple[str, ...], int]) -> tuple[str, str]:
    counts: Counter[tuple[str, str]] = Counter()
    for word, times in words.items():
        for neighbours in pairwise(word):
            counts[neighbours] += times
    return min(counts, key=lambda each: (-counts[each], each))


@exercise(title="One step of a beam", minutes=20, points=3)
@hint("Every kept answer grows by every token; of all of them keep the `width` best by their sum.")
def check_next_beam(answer: Answer, seed: int) -> None:
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
            hypotheses = [(tuple(tokens), float(total)) for tokens, total in returned]
            expect(len(hypotheses) == width, f"keep {width} answers, got {len(hypotheses)}")
            expect(
                width == 1
                or {tokens[:-1] for tokens, _ in grown[:width]} == {tokens[:-1] for tokens, _ in hypotheses},
                "keep the best of all continuations, not the best of each answer: one may have several",
            )
            expect(
                width == 1 or hypotheses[0][1] >= hypotheses[-1][1],
                "the answers must come best first: the highest sum leads",
            )
            added = [
                tokens for tokens, _ in sorted(grown, key=lambda each: -_last_score(beam, scores, each[0]))
            ]
            expect(
                [tokens for tokens, _ in hypotheses] != added[:width]
                or added[:width] == [tokens for tokens, _ in grown[:width]],
                "an answer is as good as the sum of all its tokens, not as its last one",
            )
            expect_equal(
                [tokens for tokens, _ in hypotheses],
                [tokens for tokens, _ in grown[:width]],
                f"with a width of {width} others are better, or the order is not best first",
            )
            expect_close(
                [total for _, total in hypotheses],
                [total for _, total in grown[:width]],
                "an answer's score is its own so far plus that of its new token",
                what="the list of scores",
            )


def _last_score(
    beam: Sequence[tuple[tuple[int, ...], float]], scores: Sequence[Sequence[float]], tokens: tuple[int, ...]
) -> float:
    row = [before for before, _ in beam].index(tokens[:-1])
    return scores[row][tokens[-1]]


@exercise(title="The first term of BLEU", minutes=10, points=2)
@hint("Count each word of both; of every word the smaller count is shared. Divide by the words written.")
def check_shared(answer: Answer, seed: int) -> None:
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
        result = answer(written.split(), reference.split())
        both = Counter(written.split()) & Counter(reference.split())
        right = both.total() / len(written.split())
        expect_close(result, right, f"for {written!r} and {reference!r}: {why}", what="the share")
