"""Exercises of the chapter "BERT in miniature".

Axes: Q queries, N keys, T tokens, D width.
"""

import random

import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint
from reasonlib.transformer.data.masking import next_sentence_pairs
from reasonlib.transformer.data.stories import simulate_stories

__all__ = ["check_continues", "check_hide", "check_pair"]


@exercise(title="Eighty, ten, ten", minutes=15, points=2)
@hint("Where `selected` is true: the mask for a fate below 0.8, `other` from 0.8 to 0.9, else the token.")
def check_hide(answer: Answer, seed: int) -> None:
    """Check ``hide(tokens, selected, fate, other, mask)``: what the encoder reads by the 80/10/10 rule.

    ``tokens`` and ``other`` are ids (B, T), ``selected`` is boolean (B, T), ``fate`` is drawn evenly from 0
    to 1 for each token, ``mask`` is an id. The answer is (B, T).
    """
    draw = torch.Generator().manual_seed(9 + 100 * seed)
    mask = 4 + 96 * (seed % 2)
    for number in (mask, 4, int(torch.randint(50, 90, (1,), generator=draw))):
        tokens, other = torch.randint(5, 50, (2, 6, 40), generator=draw)
        selected = torch.rand(6, 40, generator=draw) < 0.5
        fate = torch.rand(6, 40, generator=draw)
        masks = torch.full_like(tokens, number)
        right = torch.where(selected & (fate < 0.8), masks, tokens)
        right = torch.where(selected & (fate >= 0.8) & (fate < 0.9), other, right)
        every = torch.where(fate < 0.8, masks, tokens)
        every = torch.where((fate >= 0.8) & (fate < 0.9), other, every)
        expect_close(
            answer(tokens.clone(), selected.clone(), fate.clone(), other.clone(), number),
            right,
            "some tokens are not what the encoder should read",
            wrong={
                "only words that are asked for may change": every,
                "one in ten stays as it is, one in ten becomes another word": torch.where(
                    selected & (fate < 0.8), masks, torch.where(selected & (fate >= 0.8), other, tokens)
                ),
                "that hides every word that is asked for": torch.where(selected, masks, tokens),
                f"the mask is the argument `mask`, here {number}": torch.where(right == number, 4, right)
                if number != 4
                else -right,
            },
            what="what the encoder reads",
        )


@exercise(title="Two texts in one sequence", minutes=10, points=2)
@hint("[CLS] first [SEP] second [SEP]; the first [SEP] still belongs to the first part.")
def check_pair(answer: Answer, seed: int) -> None:
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
        result = answer(list(first), list(second))
        expect(
            isinstance(result, (tuple, list)) and len(result) == 2, "return two lists: `return tokens, parts`"
        )
        tokens, parts = map(list, result)
        right = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
        expect_equal(tokens, right, f"the tokens of {first} and {second}")
        ones = len(second) + 1
        expect(len(parts) == len(tokens), f"one number a token: {len(tokens)}, got {len(parts)}")
        expect(parts[len(first) + 1] == 0, "the first [SEP] ends the first part and belongs to it")
        expect_equal(parts, [0] * (len(right) - ones) + [1] * ones, f"the parts of {first} and {second}")


@exercise(title="Next sentences by hand", minutes=20, points=3)
@hint("Each story has its own people. `reasonlib.transformer.data.stories.NAMES` lists all there are.")
def check_continues(answer: Answer, seed: int) -> None:
    """Check ``continues(first, second)``: whether the second part belongs to the first, without a network.

    Both are tuples of words. On parts never shown, at least 85 in 100 must be right.
    """
    texts = [list(item.sentences) for item in simulate_stories(400, shortest=1, reports=3, seed=4_021 + seed)]
    parts = next_sentence_pairs(texts, random.Random(11 + seed))
    answers = [bool(answer(first, second)) for first, second, _ in parts]
    right = [continues for *_, continues in parts]
    share = sum(item == other for item, other in zip(answers, right, strict=True)) / len(parts)
    expect(len(set(answers)) > 1, f"the answer is always {answers[0]}: that is right for half of the pairs")
    expect(
        share >= 0.85,
        f"{100 * share:.0f} % of the answers are right; 85 % are possible. "
        "Which words would a continuation share?",
    )
