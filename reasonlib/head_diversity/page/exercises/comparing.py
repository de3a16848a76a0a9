"""Exercises of the chapter "Comparing what two heads see"."""

from collections.abc import Callable

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.nn import cka, hsic_of_kernels, svcca

__all__ = ["check_break_svcca", "check_debiased_cka", "check_same_to_cka"]


@exercise(title="Debias CKA", minutes=25, points=3)
@hint("Set the diagonals of both kernel matrices to zero; use the same estimate of HSIC three times.")
def check_debiased_cka(answer: Answer, seed: int) -> None:
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

    def ratio(measure: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> Tensor:
        return measure(a, b) / (measure(a, a) * measure(b, b)).sqrt()

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
                lambda a, b: (a * b).sum(), *hollow
            ),
            "this is HSIC: divide by the root of the product of the two others": unbiased,
        },
        tolerance=1e-4,
    )
    below = torch.ones(())
    while float(below) > -0.01:
        far = torch.randn(2, 12, 60, dtype=torch.float64, generator=draw)
        below = cka(*far, debiased=True)
    expect_close(
        answer(*far.clone()),
        below,
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


@exercise(title="Equal to CKA, different to a probe", minutes=25, points=3)
@hint("CKA weighs directions by their variance. Where can you put the label so that CKA hardly sees it?")
def check_same_to_cka(answer: Answer) -> None:
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
    expect(
        with_x >= PROBED[0],
        f"from x the probe is right for {100 * with_x:.0f} % of the labels; 95 % are needed",
    )
    expect(
        with_y <= PROBED[1],
        f"from y the probe is right for {100 * with_y:.0f} %: y still holds the label",
    )


@exercise(title="Change SVCCA by a linear map", minutes=15, points=2)
@hint("The first step drops directions of little variance. Which map makes it drop what x and y share?")
def check_break_svcca(answer: Answer) -> None:
    """Check ``break_svcca()``: two representations, and a linear map that SVCCA should not notice.

    It returns ``(x, y, matrix)``: ``x`` is (N, D), ``y`` is (N, E), with N from 200 to 2,000, and ``matrix``
    is (D, D). Its largest singular value is at most 1,000 times its smallest, so that the map can be undone.
    The mean SVCCA of ``x`` and ``y`` must be at least 0.95, that of ``x @ matrix`` and ``y`` at most 0.2.
    """
    returned = answer()
    expect(isinstance(returned, (tuple, list)) and len(returned) == 3, "return three things: (x, y, matrix)")
    x, y, matrix = (torch.as_tensor(each, dtype=torch.float64) for each in returned)
    expect(x.ndim == y.ndim == 2 and len(x) == len(y), "x is (N, D) and y is (N, E), with the same N")
    expect(200 <= len(x) <= 2000, f"use 200 to 2,000 examples, not {len(x)}")
    size = x.shape[1]
    expect(matrix.shape == (size, size), f"matrix must be ({size}, {size}), got {tuple(matrix.shape)}")
    expect(
        bool(x.isfinite().all() and y.isfinite().all() and matrix.isfinite().all()),
        "all numbers must be finite",
    )
    values = torch.linalg.svdvals(matrix)
    expect(
        float(values[-1]) > 0 and float(values[0] / values[-1]) < 1000.1,
        "the map loses a direction: keep the largest singular value within 1,000 times the smallest",
    )
    before, after = (float(svcca(features, y).mean()) for features in (x, x @ matrix))
    expect(before >= 0.95, f"SVCCA of x and y is {before:.3f}; before the map it must be at least 0.95")
    expect(after <= 0.2, f"after the map SVCCA is still {after:.3f}; the first step keeps what x and y share")
