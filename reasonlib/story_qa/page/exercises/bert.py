"""Exercises of the chapter "BERT on the same stories".

Axes: B questions, S sentences in memory, N sentences of a batch, D width, J words in a sentence, T tokens.
"""

import math

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint

__all__ = ["check_agreement", "check_best_span", "check_encode_once"]


@exercise(title="Encode each sentence once", minutes=10, points=2)
@hint("`torch.unique` with `dim=0` and `return_inverse=True` also says where each sentence went.")
def check_encode_once(answer: Answer, seed: int) -> None:
    """Check ``encode_once(sentences, encode)``: the vectors (N, D) of N sentences (N, J) of word ids.

    ``encode`` turns sentences (M, J) into vectors (M, D); it must be called once, with every distinct
    sentence once.
    """
    draw = torch.Generator().manual_seed(2 + 100 * seed)
    width, length, count = 5, 4, 30
    words = torch.randn(length, count, width, generator=draw)  # a vector for each word in each position

    def vectors(sentences: Tensor) -> Tensor:
        return words[torch.arange(length), sentences].sum(-2)

    for _ in range(20):
        pool = torch.randint(1, count, (6, length), generator=draw)
        pool = torch.cat([pool, pool.flip(1)])  # the same words in another order
        sentences = pool[torch.randint(0, len(pool), (40,), generator=draw)]
        distinct = sentences.unique(dim=0)
        calls: list[Tensor] = []

        def encode(rows: Tensor, calls: list[Tensor] = calls) -> Tensor:
            expect(
                isinstance(rows, Tensor) and rows.ndim == 2 and rows.shape[1] == length,
                f"give `encode` sentences in shape (M, {length}), one in each row",
            )
            calls.append(rows.clone())
            return vectors(rows)

        result = answer(sentences.clone(), encode)
        expect(bool(calls), "`encode` was never called: it turns sentences into vectors")
        expect(
            len(calls) == 1,
            f"`encode` was called {len(calls)} times: call it once, with all distinct sentences together",
        )
        expect(
            len(calls[0]) <= len(distinct),
            f"{len(calls[0])} sentences were encoded, and only {len(distinct)} of them are distinct: "
            "encode each distinct sentence once",
        )
        expect(
            len(calls[0]) == len(distinct),
            f"{len(calls[0])} sentences were encoded, but {len(distinct)} are distinct: sentences with the "
            "same words in another order differ",
        )
        expect_close(
            result,
            vectors(sentences),
            "each row of the result must be the vector of the sentence in the same row",
            wrong={
                "these are the vectors of the distinct sentences: look up the vector of each of the "
                f"{len(sentences)} rows": vectors(calls[0]),
            },
            what="the vectors",
        )


@exercise(title="Compare the marks with the labels", minutes=15, points=2)
@hint("Count the sentences that are marked, those that are needed, and those that are both.")
def check_agreement(answer: Answer, seed: int) -> None:
    """Check ``agreement(marks, needed, filled)``: precision and recall of the marked sentences.

    ``marks`` (B, S) is the probability that a sentence is needed, above 0.5 it is marked; ``needed`` and
    ``filled`` (B, S) are boolean. Sentences of all questions count alike, padding not at all; both numbers
    are 0 where they would divide by 0.
    """
    draw = torch.Generator().manual_seed(3 + 100 * seed)
    for case in range(40):
        marks = torch.rand(6, 7, generator=draw)
        lengths = torch.randint(2, 7, (6, 1), generator=draw)
        filled = torch.arange(7) < lengths
        needed = (torch.rand(6, 7, generator=draw) < 0.3 + marks / 3) & filled
        needed[0, 0], marks[0, 0] = True, 0.9  # one that both agree on,
        needed[1, 0], marks[1, 0] = False, 0.8  # and one of each kind of mistake
        needed[2, :2], marks[2, :2] = True, 0.2
        if case % 4 == 3:
            marks = marks / 2 - 1e-3
        marked = (marks > 0.5) & filled
        both = float((marked & needed).sum())
        right = (both / max(1, int(marked.sum())), both / max(1, int(needed.sum())))
        result = answer(marks.clone(), needed.clone(), filled.clone())
        expect(
            isinstance(result, (tuple, list, Tensor)) and len(result) == 2,
            "return two numbers: `return precision, recall`",
        )
        numbers = [float(number) for number in result]
        expect(
            not any(math.isnan(number) for number in numbers),
            "nothing is marked here, and you divided by 0: precision is then 0",
        )
        everywhere = float((marks > 0.5).sum())
        rows = [(marked & needed).sum(1) / part.sum(1).clamp(min=1) for part in (marked, needed)]
        alike = float(((marked == needed) & filled).sum() / filled.sum())
        expect_close(
            numbers,
            right,
            "precision is the share of marked sentences that are needed, recall the share of needed ones "
            "that are marked",
            wrong={
                "precision and recall are exchanged": right[::-1],
                "padding counts as marked: leave out what is not `filled`": (
                    (both / max(1, everywhere), right[1])
                ),
                "you took a mean over questions: count the sentences of all questions together": (
                    [float(row.mean()) for row in rows]
                ),
                "this is accuracy: sentences that are neither marked nor needed should not count": (
                    (alike, right[1])
                ),
            },
            what="(precision, recall)",
        )


@exercise(title="Find the best span", minutes=15, points=3)
@hint("Try every start with every end that does not come before it; keep the pair of the highest sum.")
def check_best_span(answer: Answer, seed: int) -> None:
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
        result = answer(start.clone(), end.clone(), longest)
        expect(
            isinstance(result, (tuple, list, Tensor)) and len(result) == 2,
            "return two positions, the first and the last token of the span: `return first, last`",
        )
        begin, stop = (int(position) for position in result)
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
