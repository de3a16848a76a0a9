"""Graded exercises of the chapters on heads that differ.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from reasonlib.grading.checks import exercise, expect, expect_close
from reasonlib.nn import cka, hsic_of_kernels, svcca

__all__ = [
    "check_break_svcca",
    "check_cka_of_weights",
    "check_debiased_cka",
    "check_drophead",
    "check_head_similarity",
    "check_orthonormal_copies",
    "check_same_outputs",
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


@exercise(
    title="Change SVCCA by a linear map",
    minutes=15,
    points=2,
    hint="The first step drops directions of little variance. Which map makes it drop what x and y share?",
)
def check_break_svcca(answer: Callable[..., Any]) -> None:
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
    before, after = (float(svcca(one, y).mean()) for one in (x, x @ matrix))
    expect(before >= 0.95, f"SVCCA of x and y is {before:.3f}; before the map it must be at least 0.95")
    expect(after <= 0.2, f"after the map SVCCA is still {after:.3f}; the first step keeps what x and y share")


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


def cka_of_weights(first: Tensor, second: Tensor, covariance: Tensor) -> Tensor:
    """Return linear CKA of two linear maps of the same inputs, from weights and the inputs' covariance."""

    def size(one: Tensor, other: Tensor) -> Tensor:
        return (one.mT @ covariance @ other).norm()

    return size(first, second) ** 2 / (size(first, first) * size(second, second))


@exercise(
    title="Compute CKA from the weights",
    minutes=15,
    points=2,
    hint="With a linear kernel, HSIC of centred X and Y is the squared norm of X^T Y, up to a factor. Put "
    "X = Z W into it.",
)
def check_cka_of_weights(answer: Callable[..., Any], seed: int) -> None:
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


@exercise(
    title="Attend differently, say the same",
    minutes=20,
    points=3,
    hint="An output is a mean of values. Which two means of different numbers among 0, 1 and 2 are equal?",
)
def check_same_outputs(answer: Callable[..., Any]) -> None:
    """Check ``same_outputs()``: two heads with different attention weights and the same outputs.

    It returns ``(first, second, values)``: the attention weights of two heads, both (T, T), one row for each
    token that attends, and the values (T, C) that both heads use; T is from 4 to 50. A row of weights is not
    negative and sums to 1. In each row the smaller of the two weights, summed over columns, is at most 0.1.
    Any two values are at least 0.01 apart. At least three outputs differ. Both heads give equal outputs.
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
        bool((torch.pdist(values) > 0.01).all()),
        "two values are equal, or nearly: keep any two at least 0.01 apart",
    )
    outputs = first @ values
    gap = float((outputs - second @ values).abs().max())
    expect(gap <= 1e-4, f"the outputs of the two heads differ by {gap:.2g}; they must agree")
    apart = {tuple(row) for row in outputs.mul(100).round().tolist()}
    expect(len(apart) >= 3, f"different outputs: {len(apart)}; give at least three different ones")


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


@exercise(
    title="Satisfy the orthogonality penalty with copies",
    minutes=20,
    points=3,
    hint="Vectors that use different coordinates are at right angles. CKA does not ask which coordinates a "
    "head uses.",
)
def check_orthonormal_copies(answer: Callable[..., Any]) -> None:
    """Check ``orthonormal_copies()``: heads that the orthogonality penalty accepts and CKA calls equal.

    It returns ``vectors`` (N, H, C): for each of 20 to 2,000 tokens a vector of each of three or more heads.
    The spectral norm of V^T V - I is at most 0.01 for every token. CKA of every pair of heads is at least
    0.99. No direction holds 90 % of the variance of a head.
    """
    vectors = torch.as_tensor(answer(), dtype=torch.float64)
    expect(vectors.ndim == 3, f"vectors is (N, H, C), got shape {tuple(vectors.shape)}")
    tokens, heads, _ = vectors.shape
    expect(20 <= tokens <= 2000, f"use 20 to 2,000 tokens, not {tokens}")
    expect(heads >= 3, f"use three heads or more, not {heads}")
    expect(bool(vectors.isfinite().all()), "all numbers must be finite")
    gram = vectors @ vectors.mT
    lengths = gram.diagonal(dim1=1, dim2=2).sqrt()
    expect(
        bool(((lengths - 1).abs() <= 0.01).all()),
        f"the penalty also asks for unit length; yours are {lengths.min():.2f} to {lengths.max():.2f} long",
    )
    deviation = float(torch.linalg.matrix_norm(gram - torch.eye(heads, dtype=gram.dtype), 2).max())
    expect(
        deviation <= 0.01,
        "vectors of two heads are not at a right angle, or not quite of unit length: the spectral norm"
        f" reaches {deviation:.3f}",
    )
    for head in vectors.unbind(1):
        variances = torch.linalg.svdvals(head - head.mean(0)).square()
        expect(
            float(variances[0]) < 0.9 * float(variances.sum()),
            "a head hardly varies outside one direction; let its vectors spread over more",
        )
    alike = min(float(cka(vectors[:, i], vectors[:, j])) for i in range(heads) for j in range(i))
    expect(alike >= 0.99, f"CKA of two heads is {alike:.2f}: they do not see the tokens in the same way")
