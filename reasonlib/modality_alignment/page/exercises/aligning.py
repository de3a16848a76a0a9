"""Exercises of the chapter "Does alignment help?"."""

import random
from collections.abc import Sequence
from itertools import combinations, permutations

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.nn.similarity import cka

__all__ = ["check_chance_share", "check_lying_batch", "check_shuffled_cka"]


@exercise(title="A batch whose CKA lies", minutes=20, points=3)
@hint("In a space of many more dimensions than examples, all examples are nearly at right angles.")
def check_lying_batch(answer: Answer, seed: int) -> None:
    """Check ``lying_batch(generator)``: two matrices that have nothing to do with each other, CKA above 0.9.

    Return two tensors of 16 to 64 rows. ``generator`` is a `torch.Generator`. The rows must be different
    examples, and no row of the first may belong to one row of the second: CKA stays above 0.9 when the rows
    of the second are shuffled, and the unbiased estimate is below 0.3.
    """
    draw = torch.Generator().manual_seed(seed)
    returned = answer(torch.Generator().manual_seed(seed + 17))
    expect(isinstance(returned, (tuple, list)) and len(returned) == 2, "return two tensors")
    x, y = (torch.as_tensor(each, dtype=torch.float64) for each in returned)
    expect(x.ndim == y.ndim == 2 and len(x) == len(y), "both must be matrices with equally many rows")
    expect(16 <= len(x) <= 64, f"16 to 64 rows are asked for, got {len(x)}")
    for each in (x, y):
        expect(torch.isfinite(each).all(), "every number must be finite")
        least = torch.cdist(each, each).fill_diagonal_(torch.inf).min()
        expect(least > 1e-3 * each.norm(dim=1).mean(), "two rows are the same: every example must be another")
    expect(
        float(cka(x, y)) > 0.9,
        f"CKA is {float(cka(x, y)):.2f}: take more dimensions, or fewer examples",
    )
    shuffled = torch.stack([cka(x, y[torch.randperm(len(y), generator=draw)]) for _ in range(20)])
    expect(
        float(shuffled.min()) > 0.9,
        f"CKA falls to {float(shuffled.min()):.2f} when the rows of the second are shuffled: "
        "yours belong together, so it does not lie",
    )
    unbiased = float(cka(x, y, debiased=True))
    expect(
        abs(unbiased) < 0.3,
        f"the unbiased estimate is {unbiased:.2f}: yours belong together; draw the two independently",
    )


def _spread(rows: Tensor) -> Tensor:
    """Trace of a cloud's table of products, divided by its norm."""
    table = rows @ rows.T
    return table.trace() / table.norm()


@exercise(title="Predict the CKA of shuffled rows", minutes=20, points=3)
@hint("The sum of the products of K' with C is the trace of K'. A shuffle changes no norm.")
def check_shuffled_cka(answer: Answer, seed: int) -> None:
    """Check ``shuffled_cka(x, y)``: plain linear CKA, its mean over all orders of the rows of ``y``.

    ``x`` is (N, D) and ``y`` is (N, E). Return a number.
    """
    draw = torch.Generator().manual_seed(seed)
    for count, wide, narrow in ((5, 4, 2), (24, 60, 9)):
        x = torch.randn(count, wide, dtype=torch.float64, generator=draw) + 0.7
        y = x[:, :narrow] + torch.randn(count, narrow, dtype=torch.float64, generator=draw)
        first, second = x - x.mean(0), y - y.mean(0)
        directions = _spread(first) * _spread(second)
        mean = directions / (count - 1)
        if count == 5:
            mean = torch.stack([cka(x, y[list(order)]) for order in permutations(range(count))]).mean()
        expect_close(
            answer(x.clone(), y.clone()),
            mean,
            f"{count} rows with {wide} and {narrow} columns",
            wrong={
                "this is CKA of the rows in the order in which they are given": cka(x, y),
                "centre both clouds first: the formula is about K' and L'": _spread(x)
                * _spread(y)
                / (count - 1),
                "the mean of L' has N - 1 in the denominator, not N": directions / count,
                "the sum of the products of K' with C is still to be divided by N - 1": directions,
                "divide by the norms of K' and L', not by their squares": mean
                / ((first @ first.T).norm() * (second @ second.T).norm()),
                "this is HSIC: divide by the root of both HSIC of a cloud with itself": mean
                * (first @ first.T).norm()
                * (second @ second.T).norm()
                / (count - 1) ** 2,
                "only the unbiased estimate has a mean near 0": 0.0,
            },
            tolerance=1e-5,
        )


def _gains(aligned: Sequence[int], plain: Sequence[int]) -> tuple[int, list[int]]:
    """Return the measured difference of sums, and that of every division into two groups of this size."""
    total = sum(aligned) + sum(plain)
    divided = [2 * sum(group) - total for group in combinations([*aligned, *plain], len(aligned))]
    return 2 * sum(aligned) - total, divided


def _runs(draw: random.Random) -> tuple[list[int], list[int], dict[str, float]]:
    """Draw four runs with and four without; return the right share, and what mistakes give."""
    aligned, plain = ([draw.randint(low, low + 9) for _ in range(4)] for low in (63, 60))
    gain, divided = _gains(aligned, plain)
    count = len(divided)
    shares = {
        "right": sum(each >= gain for each in divided) / count,
        "count every gain that is at least as large, also those that are equal": sum(
            each > gain for each in divided
        )
        / count,
        "count the divisions with a gain at least as large, not those with a smaller one": sum(
            each < gain for each in divided
        )
        / count,
        "a loss of this size is no gain: leave the sign as it is": sum(abs(each) >= gain for each in divided)
        / count,
        "divide all runs anew into two groups, and compare means; do not compare single runs": sum(
            a > b for a in aligned for b in plain
        )
        / 16,
    }
    return aligned, plain, shares


@exercise(title="Count how often chance gives such a gain", minutes=15, points=2)
@hint("`combinations([*aligned, *plain], len(aligned))` lists every group that could have been aligned.")
def check_chance_share(answer: Answer, seed: int) -> None:
    """Check ``chance_share(aligned, plain)``: an exact permutation test of a gain.

    Both are lists of the same length: the number of right answers in each run. Return the share of all
    divisions into two groups of this size whose gain is at least the measured one.
    """
    draw = random.Random(seed)
    shares: dict[str, float] = {"right": 0.0}
    # until each mistake has its own number
    while len(set(shares.values())) < 5 or not 0.03 < shares["right"] < 0.5:
        aligned, plain, shares = _runs(draw)
    right = shares.pop("right")
    expect_close(
        answer(list(aligned), list(plain)),
        right,
        f"runs with {aligned} right answers against {plain}",
        wrong=shares,
    )
    low, high = draw.randint(10, 40), draw.randint(50, 90)
    expect_close(
        answer([high, high + 5, high + 2], [low, low + 3, low + 1]),
        1 / 20,
        "three runs against three, all better: one of the 20 divisions has this gain",
    )
    expect_close(
        answer([low, low], [low, low]), 1.0, "equal runs: every division has the measured gain, return 1"
    )
