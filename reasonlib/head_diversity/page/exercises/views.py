"""Exercises of the chapter "Do more heads differ more?"."""

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.nn import cka

__all__ = ["check_cka_of_weights", "check_head_similarity", "check_same_outputs"]


def head_similarity(outputs: Tensor) -> Tensor:
    """Average linear CKA over all pairs of heads (equation 4.6 of the source)."""
    heads = range(len(outputs))
    return torch.stack([cka(outputs[i], outputs[j]) for i in heads for j in heads if i < j]).mean()


@exercise(title="Similarity between the heads of a layer", minutes=15, points=2)
@hint("There are H (H - 1) / 2 pairs with i < j. A head is not compared with itself.")
def check_head_similarity(answer: Answer, seed: int) -> None:
    """Check ``head_similarity(outputs)``: the mean of linear CKA over all pairs of heads.

    ``outputs`` is (H, N, D): what each of H heads gives for each of N tokens. Use
    ``reasonlib.nn.similarity.cka``. With one head there is no pair; return 1 then.
    """
    draw = torch.Generator().manual_seed(seed)
    outputs = torch.randn(4, 12, 5, dtype=torch.float64, generator=draw)
    outputs[1] += outputs[0]
    outputs[3] += 2 * outputs[2]
    pairs = torch.tensor([[float(cka(head, other)) for other in outputs] for head in outputs])
    mean = head_similarity(outputs)
    expect_close(
        answer(outputs.clone()),
        mean,
        "the mean over all pairs of different heads",
        wrong={
            "a head compared with itself gives 1 and does not count": pairs.mean(),
            "divide by the number of pairs, H (H - 1) / 2": 6 * mean,
            "all pairs count, not only neighbours": (pairs[0, 1] + pairs[1, 2] + pairs[2, 3]) / 3,
            "all pairs count, not only those with the first head": pairs[0, 1:].mean(),
            "the heads stand along the first axis, the tokens along the second": head_similarity(
                outputs.transpose(0, 1)
            ),
        },
        tolerance=1e-4,
    )
    expect_close(answer(outputs[:1].clone()), 1.0, "with one head there is no pair: return 1")


def cka_of_weights(first: Tensor, second: Tensor, covariance: Tensor) -> Tensor:
    """Return linear CKA of two linear maps of the same inputs, from weights and the inputs' covariance."""

    def size(left: Tensor, right: Tensor) -> Tensor:
        return (left.mT @ covariance @ right).norm()

    return size(first, second) ** 2 / (size(first, first) * size(second, second))


@exercise(title="Compute CKA from the weights", minutes=15, points=2)
@hint(
    "With a linear kernel, HSIC of centred X and Y is the squared norm of X^T Y, up to a factor. Put "
    "X = Z W into it."
)
def check_cka_of_weights(answer: Answer, seed: int) -> None:
    """Check ``cka_of_weights(first, second, covariance)``: CKA of two heads without any token.

    Both heads map the same inputs: X = Z W and Y = Z V. ``first`` is W (D, C), ``second`` is V (D, E), and
    ``covariance`` is that of the inputs (D, D). Attention is left aside. Return linear CKA, not debiased.
    """
    draw = torch.Generator().manual_seed(seed)
    inputs = torch.randn(50, 6, dtype=torch.float64, generator=draw)
    inputs = inputs @ torch.randn(6, 6, dtype=torch.float64, generator=draw)
    inputs[:, 0] *= 3
    inputs = inputs - inputs.mean(0)
    covariance = inputs.mT @ inputs / (len(inputs) - 1)
    first, second = torch.randn(2, 6, 3, dtype=torch.float64, generator=draw)
    second = second[:, :2]
    right = cka(inputs @ first, inputs @ second)
    crossed = first.mT @ covariance @ second
    sizes = [(each.mT @ covariance @ each).norm() for each in (first, second)]
    expect_close(
        answer(first.clone(), second.clone(), covariance.clone()),
        right,
        "the squared norm of W^T S V, over the norms of W^T S W and V^T S V; S is the covariance",
        wrong={
            "you left out the covariance: inputs rarely vary equally in all directions": cka_of_weights(
                first, second, torch.eye(6, dtype=torch.float64)
            ),
            "the covariance stands once between two weights; you multiplied by it twice": cka_of_weights(
                first, second, covariance @ covariance
            ),
            "this is the square root of CKA: HSIC is the squared norm, not the norm": right.sqrt(),
            "this is HSIC, up to a factor: divide by the two norms": crossed.square().sum(),
            "the norms below the fraction line are not squared": crossed.square().sum()
            / (sizes[0] * sizes[1]) ** 2,
        },
        tolerance=1e-4,
    )
    expect_close(
        answer(2 * first, first @ torch.linalg.qr(first.mT @ first).Q, covariance.clone()),
        1.0,
        "a head and the same head, scaled and rotated, have a CKA of 1",
        tolerance=1e-4,
    )


@exercise(title="Attend differently, say the same", minutes=20, points=3)
@hint("An output is a mean of values. Which two means of different numbers among 0, 1 and 2 are equal?")
def check_same_outputs(answer: Answer) -> None:
    """Check ``same_outputs()``: two heads with different attention weights and the same outputs.

    It returns ``(first, second, values)``: the attention weights of two heads, both (T, T), one row for each
    token that attends, and the values (T, C) that both heads use; T is from 4 to 50. A row of weights is not
    negative and sums to 1. In each row the smaller of the two weights, summed over columns, is at most 0.1.
    Any two values are at least 0.01 apart. At least three outputs, rounded to two decimals, differ. Both
    heads give equal outputs.
    """
    returned = answer()
    three = isinstance(returned, (tuple, list)) and len(returned) == 3
    expect(three, "return three things: (first, second, values)")
    first, second, values = (torch.as_tensor(each, dtype=torch.float64) for each in returned)
    tokens = len(values)
    expect(values.ndim == 2 and 4 <= tokens <= 50, "values is (T, C), with 4 to 50 tokens")
    square = (tokens, tokens)
    expect(first.shape == second.shape == square, f"the weights of both heads must have shape {square}")
    for weights in (first, second):
        expect(
            bool((weights >= -1e-9).all()) and bool(((weights.sum(1) - 1).abs() < 1e-4).all()),
            "attention weights are not negative, and each row sums to 1",
        )
    shared = float(torch.minimum(first, second).sum(1).max())
    expect(shared <= 0.1, f"the heads attend to the same tokens: a row shares {shared:.2f} of its weight")
    expect(
        bool((torch.pdist(values) > 0.01 - 1e-6).all()),
        "two values are equal, or nearly: keep any two at least 0.01 apart",
    )
    outputs = first @ values
    gap = float((outputs - second @ values).abs().max())
    expect(gap <= 1e-4, f"the outputs of the two heads differ by {gap:.2g}; they must agree")
    apart = {tuple(row) for row in outputs.mul(100).round().tolist()}
    expect(len(apart) >= 3, f"different outputs: {len(apart)}; give at least three different ones")
