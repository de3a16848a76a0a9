"""Exercises of the chapter "Training heads to differ"."""

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.nn import cka

__all__ = ["check_drophead", "check_orthonormal_copies", "check_spectral_norm"]


def drophead(outputs: Tensor, kept: Tensor) -> Tensor:
    """Set the outputs of dropped heads to zero and scale the others up (Zhou et al. 2020)."""
    scale = kept.shape[1] / kept.sum(1, keepdim=True)
    return outputs * (kept * scale)[:, :, None, None]


@exercise(title="Write Drophead", minutes=15, points=2)
@hint("Give `kept` two more axes so that it fits (B, H, T, D). How many heads are kept in each example?")
def check_drophead(answer: Answer, seed: int) -> None:
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
    """Estimate the largest absolute eigenvalue of a symmetric matrix by power iteration."""
    vector = start / start.norm()
    for _ in range(steps):
        vector = matrix @ vector
        vector = vector / vector.norm()
    return (matrix @ vector).norm()


@exercise(title="The spectral norm by power iteration", minutes=20, points=2)
@hint("Multiply by the matrix and divide by the length, over and over; the last length is the norm.")
def check_spectral_norm(answer: Answer, seed: int) -> None:
    """Check ``spectral_norm(matrix, start, steps)``: the largest singular value of a symmetric matrix.

    ``matrix`` is (D, D) and symmetric, such as the Gram matrix of value vectors minus the identity. ``start``
    holds D numbers; divide it by its length first. Multiply by the matrix and divide by the length ``steps``
    times, and return the length of one more product.
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
    expect_close(
        answer(matrix.clone(), start.clone(), 2),
        spectral_norm(matrix, start, 2),
        "after two steps and one more product the length is another: count the steps",
    )


@exercise(title="Satisfy the orthogonality penalty with copies", minutes=20, points=3)
@hint(
    "Vectors that use different coordinates are at right angles. CKA does not ask which coordinates a "
    "head uses."
)
def check_orthonormal_copies(answer: Answer) -> None:
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
    squares = gram.diagonal(dim1=1, dim2=2)
    low, high = float(squares.min()) ** 0.5, float(squares.max()) ** 0.5
    expect(
        bool(((squares - 1).abs() <= 0.01).all()),
        f"the penalty also asks for unit length; yours are {low:.3f} to {high:.3f} long",
    )
    deviation = float(torch.linalg.matrix_norm(gram - torch.eye(heads, dtype=gram.dtype), 2).max())
    expect(
        deviation <= 0.01,
        f"vectors of two heads are not at a right angle: the spectral norm reaches {deviation:.3f}",
    )
    for head in vectors.unbind(1):
        variances = torch.linalg.svdvals(head - head.mean(0)).square()
        expect(
            float(variances[0]) < 0.9 * float(variances.sum()),
            "a head hardly varies outside one direction; let its vectors spread over more",
        )
    alike = min(float(cka(vectors[:, i], vectors[:, j])) for i in range(heads) for j in range(i))
    expect(alike >= 0.99, f"CKA of two heads is {alike:.2f}: they do not see the tokens in the same way")
