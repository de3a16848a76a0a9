"""Graded exercises of the chapters on heads that differ.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from reasonlib.grading.checks import exercise, expect, expect_close
from reasonlib.nn import cka, hsic_of_kernels

__all__ = [
    "check_debiased_cka",
    "check_drophead",
    "check_head_similarity",
    "check_same_to_cka",
    "check_spectral_norm",
]

# Chapter "Comparing what two heads see" ---------------------------------------------------------------------


@exercise(
    title="Debias CKA",
    minutes=25,
    points=3,
    hint="Set the diagonals of both kernel matrices to zero; use the same estimate of HSIC three times.",
)
def check_debiased_cka(answer: Callable[..., Any], seed: int) -> None:
    """Check ``debiased_cka(x, y)``: linear CKA with the estimate of HSIC that has no bias.

    ``x`` is (N, D), ``y`` is (N, E), with more examples than 3. Return a number; it may be below 0.
    """
    draw = torch.Generator().manual_seed(seed)
    x, noise = torch.randn(2, 14, 9, dtype=torch.float64, generator=draw)
    y = torch.cat([x[:, :2] + 0.5 * noise[:, :2], noise[:, 2:7]], 1) + 0.4
    first, second = x @ x.mT, y @ y.mT
    hollow = [kernel - torch.diag(kernel.diagonal()) for kernel in (first, second)]

    unbiased = hsic_of_kernels(first, second, debiased=True)
    plain_below = (hsic_of_kernels(first, first) * hsic_of_kernels(second, second)).sqrt()

    def ratio(measure: Callable[[Tensor, Tensor], Tensor], one: Tensor, other: Tensor) -> Tensor:
        return measure(one, other) / (measure(one, one) * measure(other, other)).sqrt()

    expect_close(
        answer(x.clone(), y.clone()),
        cka(x, y, debiased=True),
        "put the unbiased estimate of HSIC into all three places of CKA",
        wrong={
            "this is plain CKA, which is too high when examples are few": cka(x, y),
            "the two HSIC below the fraction line need the unbiased estimate, too": unbiased / plain_below,
            "setting the diagonals to zero is not enough: two more terms correct the sum": ratio(
                hsic_of_kernels, *hollow
            ),
            "the sum of products alone is not centred: add the two other terms": ratio(
                lambda one, other: (one * other).sum(), *hollow
            ),
            "this is HSIC: divide by the root of the product of the two others": unbiased,
        },
        tolerance=1e-4,
    )
    far = torch.randn(2, 12, 60, dtype=torch.float64, generator=draw)
    expect_close(
        answer(*far.clone()),
        cka(*far, debiased=True),
        "two independent clouds in 60 dimensions: the result lies near 0, and may be below it",
        wrong={"leave negative estimates as they are": torch.zeros(())},
        tolerance=1e-4,
    )


PROBED = 0.95, 0.65  # accuracy at least with the first representation, and at most with the second


def probe_accuracy(x: Tensor, labels: Tensor) -> float:
    """Fit a linear probe by ridge regression on every other example; return its accuracy on the others."""
    rows = (x - x[::2].mean(0)) / x[::2].std(0).clamp_min(1e-9)
    rows = torch.cat([rows, torch.ones(len(rows), 1, dtype=rows.dtype)], 1)
    train, target = rows[::2], 2.0 * labels[::2].to(rows.dtype) - 1
    weight = torch.linalg.solve(train.mT @ train + 1e-3 * torch.eye(rows.shape[1]), train.mT @ target)
    return float(((rows[1::2] @ weight > 0) == (labels[1::2] > 0.5)).double().mean())


@exercise(
    title="Equal to CKA, different to a probe",
    minutes=25,
    points=3,
    hint="CKA weighs directions by their variance. Where can you put the label so that CKA hardly sees it?",
)
def check_same_to_cka(answer: Callable[..., Any]) -> None:
    """Check ``same_to_cka()``: two representations that CKA calls equal and a probe does not.

    It returns ``(x, y, labels)``: ``x`` is (N, D), ``y`` is (N, E), ``labels`` holds N numbers 0 and 1, with
    N from 200 to 2,000 and at least a third of each label. Linear CKA must be at least 0.99. A linear probe,
    fitted on every other example, must find the labels of the others from ``x`` (accuracy at least 0.95) and
    must not from ``y`` (at most 0.65).
    """
    returned = answer()
    expect(isinstance(returned, (tuple, list)) and len(returned) == 3, "return three things: (x, y, labels)")
    x, y, labels = (torch.as_tensor(each, dtype=torch.float64) for each in returned)
    expect(x.ndim == y.ndim == 2 and labels.ndim == 1, "x is (N, D), y is (N, E), labels is (N,)")
    expect(len(x) == len(y) == len(labels), "x, y and labels need the same number of examples")
    expect(200 <= len(x) <= 2000, f"use 200 to 2,000 examples, not {len(x)}")
    expect(bool(((labels == 0) | (labels == 1)).all()), "labels must be 0 or 1")
    expect(1 / 3 <= float(labels.mean()) <= 2 / 3, "at least a third of the examples need each label")
    expect(bool(x.isfinite().all() and y.isfinite().all()), "representations must be finite numbers")
    similarity = float(cka(x, y))
    expect(similarity >= 0.99, f"linear CKA is {similarity:.3f}; make the shared directions larger")
    with_x, with_y = probe_accuracy(x, labels), probe_accuracy(y, labels)
    expect(with_x >= PROBED[0], f"from x the probe is right for {with_x:.0%} of the labels; 95 % are needed")
    expect(with_y <= PROBED[1], f"from y the probe is right for {with_y:.0%}: y still holds the label")


# Chapter "Do more heads differ more?" ----------------------------------------------------------------------


def head_similarity(outputs: Tensor) -> Tensor:
    """Average linear CKA over all pairs of heads (equation 4.6 of the source)."""
    heads = range(len(outputs))
    return torch.stack([cka(outputs[i], outputs[j]) for i in heads for j in heads if i < j]).mean()


@exercise(
    title="Similarity between the heads of a layer",
    minutes=15,
    points=2,
    hint="There are H (H - 1) / 2 pairs with i < j. A head is not compared with itself.",
)
def check_head_similarity(answer: Callable[..., Any], seed: int) -> None:
    """Check ``head_similarity(outputs)``: the mean of linear CKA over all pairs of heads.

    ``outputs`` is (H, N, D): what each of H heads gives for each of N tokens. Use
    ``reasonlib.nn.similarity.cka``. With one head there is no pair; return 1 then.
    """
    draw = torch.Generator().manual_seed(seed)
    outputs = torch.randn(4, 12, 5, dtype=torch.float64, generator=draw)
    outputs[1] += outputs[0]
    outputs[3] += 2 * outputs[2]
    pairs = torch.tensor([[float(cka(one, other)) for other in outputs] for one in outputs])
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


# Chapter "Training heads to differ" ------------------------------------------------------------------------


def drophead(outputs: Tensor, kept: Tensor) -> Tensor:
    """Set the outputs of dropped heads to zero and scale the others up (Zhou et al. 2020)."""
    scale = kept.shape[1] / kept.sum(1, keepdim=True)
    return outputs * (kept * scale)[:, :, None, None]


@exercise(
    title="Write Drophead",
    minutes=15,
    points=2,
    hint="Give `kept` two more axes so that it fits (B, H, T, D). How many heads are kept in each example?",
)
def check_drophead(answer: Callable[..., Any], seed: int) -> None:
    """Check ``drophead(outputs, kept)``: drop whole heads of each example.

    ``outputs`` is (B, H, T, D), what each head gives for each token. ``kept`` is (B, H), 1 for a head that is
    kept and 0 for one that is dropped; at least one head of each example is kept. Multiply the kept heads
    of an example by H divided by how many are kept.
    """
    draw = torch.Generator().manual_seed(seed)
    outputs = torch.randn(3, 4, 4, 2, generator=draw)
    kept = torch.tensor([[1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    kept = kept[torch.randperm(3, generator=draw)][:, torch.randperm(4, generator=draw)]
    zeroed = outputs * kept[:, :, None, None]
    expect_close(
        answer(outputs.clone(), kept.clone()),
        drophead(outputs, kept),
        "zero for dropped heads; the others times H over the number of kept heads of their example",
        wrong={
            "the kept heads must be scaled, or the sum shrinks": zeroed,
            "scale by the kept heads of each example, not by their mean over the batch": zeroed / kept.mean(),
            "`kept` says which heads are kept, not which are dropped": outputs * (1 - kept)[:, :, None, None],
            "drop heads, not tokens: `kept` belongs to the second axis": outputs
            * (kept * 4 / kept.sum(1, keepdim=True))[:, None, :, None],
            "multiply by H over the number of kept heads, not by its inverse": zeroed
            * kept.mean(1)[:, None, None, None],
            "nothing is dropped": outputs,
        },
    )
    every = torch.ones(3, 4)
    expect_close(answer(outputs.clone(), every), outputs, "with every head kept nothing changes")


def spectral_norm(matrix: Tensor, start: Tensor, steps: int) -> Tensor:
    """Estimate the largest singular value by power iteration."""
    vector = start / start.norm()
    for _ in range(steps):
        vector = matrix.mT @ (matrix @ vector)
        vector = vector / vector.norm()
    return (matrix @ vector).norm()


@exercise(
    title="The spectral norm by power iteration",
    minutes=20,
    points=2,
    hint="Multiply by the matrix and divide by the length, over and over; the last length is the norm.",
)
def check_spectral_norm(answer: Callable[..., Any], seed: int) -> None:
    """Check ``spectral_norm(matrix, start, steps)``: the largest singular value of a symmetric matrix.

    ``matrix`` is (D, D) and symmetric, such as the Gram matrix of value vectors minus the identity. ``start``
    holds D numbers; divide it by its length first. Multiply by the matrix and divide by the length ``steps``
    times, and return the length of one more product. The test takes enough steps to converge.
    """
    draw = torch.Generator().manual_seed(seed)
    turned = torch.linalg.qr(torch.randn(5, 5, dtype=torch.float64, generator=draw)).Q
    values = torch.tensor([-3.0, 1.5, 0.9, 0.4, -0.2], dtype=torch.float64)
    matrix = turned @ torch.diag(values) @ turned.mT
    start = torch.randn(5, dtype=torch.float64, generator=draw) + turned[:, 0]
    steps = 60
    right = torch.linalg.matrix_norm(matrix, 2)
    once = matrix @ (start / start.norm())
    expect_close(
        answer(matrix.clone(), start.clone(), steps),
        right,
        "the largest singular value of the matrix",
        wrong={
            "this is an eigenvalue with its sign; a norm is its absolute value": -right,
            "this is the largest eigenvalue; the norm is the largest absolute value": values.max(),
            "this is the Frobenius norm": matrix.norm(),
            "this is the length after a single product: repeat it": once.norm(),
            "this is the square of the norm": right**2,
            "this is the trace": matrix.trace(),
        },
        tolerance=1e-4,
    )
    once_more = answer(matrix.clone(), start.clone(), 0)
    expect_close(
        once_more, once.norm(), "with no step, return the length of matrix times start, of length one"
    )
