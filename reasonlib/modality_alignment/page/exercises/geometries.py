"""Exercises of the chapter "Two geometries"."""

import torch
from torch import Tensor
from torch.nn import functional

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.nn.similarity import cka, hsic

__all__ = ["check_collapse", "check_linear_cka", "check_retrieval", "check_rotation"]


@exercise(title="CKA in six lines", minutes=15, points=2)
@hint("Subtract the mean of each column; then compare squared norms of the products of columns.")
def check_linear_cka(answer: Answer, seed: int) -> None:
    """Check ``linear_cka(x, y)``: CKA of two representations with a linear kernel.

    ``x`` is (N, D) and ``y`` is (N, E); row n of both belongs to example n. Return a number from 0 to 1.
    """
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(20, 5, generator=draw) + 1.0
    y = x[:, :3] @ torch.randn(3, 4, generator=draw) + 0.5 * torch.randn(20, 4, generator=draw)
    cross = hsic(x, y)
    norms = [(part - part.mean(0)).T @ (other - other.mean(0)) for part, other in ((x, y), (x, x), (y, y))]
    expect_close(
        answer(x.clone(), y.clone()),
        cka(x, y),
        "20 examples, 5 and 4 dimensions",
        wrong={
            "centre both first: subtract the mean of each column": (x.T @ y).square().sum()
            / ((x.T @ x).norm() * (y.T @ y).norm()),
            "this is HSIC; divide by the root of both HSIC of a representation with itself": cross,
            "HSIC is the squared norm of the products of columns": norms[0].norm()
            / (norms[1].norm() * norms[2].norm()),
            "take the root of the product below": norms[0].square().sum()
            / (norms[1].square().sum() * norms[2].square().sum()),
        },
        tolerance=1e-4,
    )
    turn = torch.linalg.qr(torch.randn(5, 5, generator=draw)).Q
    expect_close(
        answer(3.0 * x @ turn, y.clone()),
        cka(x, y),
        "x is turned and scaled: nothing may change",
        tolerance=1e-4,
    )


def _pairs(draw: torch.Generator) -> tuple[Tensor, Tensor, dict[str, float]]:
    """Draw pairs of vectors with many lengths; return the right share, and what mistakes give."""
    count = int(torch.randint(60, 90, (1,), generator=draw))
    words = torch.randn(count, 3, generator=draw)
    lengths = 0.1 + 6 * torch.rand(count, 1, generator=draw)
    frames = lengths * (functional.normalize(words, dim=1) + 0.25 * torch.randn(count, 3, generator=draw))
    words = words * (0.2 + 4 * torch.rand(count, 1, generator=draw))
    similar = functional.normalize(words, dim=1) @ functional.normalize(frames, dim=1).T
    own = torch.arange(count)

    def share(nearest: Tensor) -> float:
        return float((nearest == own).double().mean())

    return (
        words,
        frames,
        {
            "right": share(similar.argmax(1)),
            "a long vector has large products: divide each row by its length first": share(
                (words @ frames.T).argmax(1)
            ),
            "search for each word among the frames, not for each frame among the words": share(
                similar.argmax(0)
            ),
            "nearest means the largest cosine similarity, not the smallest distance": share(
                torch.cdist(words, frames).argmin(1)
            ),
            "this is the mean cosine similarity; retrieval compares a pair with all other frames": float(
                similar.diagonal().mean()
            ),
        },
    )


@exercise(title="Measure alignment on pairs that training has not seen", minutes=10, points=2)
@hint("Divide each row by its length; one product gives all similarities; argmax finds the nearest.")
def check_retrieval(answer: Answer, seed: int) -> None:
    """Check ``retrieval(words, frames)``: the share of words whose nearest frame is their own.

    Both are (N, H); row n of both is a pair. Nearest means the largest cosine similarity. Return a number.
    """
    draw = torch.Generator().manual_seed(seed)
    mistakes: dict[str, float] = {}
    while len(set(mistakes.values())) < 5:  # no two mistakes may give the same number
        words, frames, mistakes = _pairs(draw)
    right = mistakes.pop("right")
    expect_close(answer(words, frames), right, f"{len(words)} pairs in three dimensions", wrong=mistakes)
    same = torch.randn(12, 4, generator=draw)
    expect_close(answer(same.clone(), 5 * same), 1.0, "each word equals its frame up to its length: return 1")
    other = torch.roll(same, 1, 0)
    expect_close(answer(same.clone(), other), 0.0, "every word equals the frame of another pair: return 0")


def _orthogonal(width: int, draw: torch.Generator) -> Tensor:
    """Draw a rotation that also mirrors, (H, H)."""
    turn = torch.linalg.qr(torch.randn(width, width, generator=draw)).Q
    turn[:, 0] *= -turn.det().sign()
    return turn


@exercise(title="Rotate one cloud onto the other", minutes=15, points=2)
@hint("`torch.linalg.svd(words.T @ frames)` gives three matrices. Which of them stretches?")
def check_rotation(answer: Answer, seed: int) -> None:
    """Check ``rotation(words, frames)``: the orthogonal matrix that brings words closest to their frames.

    Both are (N, H) with mean zero; row n of both is a pair. Return (H, H).
    """
    draw = torch.Generator().manual_seed(seed)
    spread = torch.linspace(0.6, 2.0, 5)
    words = spread * torch.randn(40, 5, generator=draw)
    frames = words @ _orthogonal(5, draw) * torch.linspace(0.5, 1.5, 5)
    frames = frames + 0.3 * torch.randn(40, 5, generator=draw)
    words, frames = words - words.mean(0), frames - frames.mean(0)
    left, sizes, right = torch.linalg.svd(words.T @ frames)
    proper = left.clone()
    proper[:, -1] *= (left @ right).det().sign()
    expect_close(
        answer(words.clone(), frames.clone()),
        left @ right,
        "40 pairs in five dimensions: another orthogonal matrix brings words closer to their frames",
        wrong={
            "least squares also stretches the cloud: the matrix must be orthogonal": torch.linalg.lstsq(
                words, frames
            ).solution,
            "leave the singular values out: they stretch the cloud": left @ torch.diag(sizes) @ right,
            "this rotates frames onto words: transpose the matrix": (left @ right).T,
            "the third result of `torch.linalg.svd` is transposed already": left @ right.T,
            "the matrix may mirror the cloud, too: do not force its determinant to be 1": proper @ right,
        },
        tolerance=1e-3,
    )
    cloud = torch.randn(212, 6, generator=draw)
    turned = 3.0 * cloud @ _orthogonal(6, draw)
    few = [each[:12] - each[:12].mean(0) for each in (cloud, turned)]
    matrix = torch.as_tensor(answer(*few), dtype=cloud.dtype)
    expect(
        matrix.shape == (6, 6), f"12 pairs in six dimensions: return shape (6, 6), got {tuple(matrix.shape)}"
    )
    similar = functional.normalize(cloud[12:] @ matrix, dim=1) @ functional.normalize(turned[12:], dim=1).T
    correct = int((similar.argmax(1) == torch.arange(200)).sum())
    expect(correct == 200, f"after your rotation only {correct} of 200 held-out words find their own frame")


@exercise(title="Collapse in spite of batch normalisation", minutes=15, points=2)
@hint("A long row weighs more than a short one in the mean of a column, but not in the mean of cosines.")
def check_collapse(answer: Answer, seed: int) -> None:
    """Check ``collapse(count, width)``: rows in nearly one direction, with mean 0 and variance 1.

    Return (``count``, ``width``), from 50 to 200 rows. Each column has mean 0 and variance 1 (the mean of its
    squares); the mean cosine similarity over all pairs of different rows is above 0.9.
    """
    draw = torch.Generator().manual_seed(seed)
    for least in (50, 120):
        count = least + int(torch.randint(70, (1,), generator=draw))
        width = int(torch.randint(2, 10, (1,), generator=draw))
        returned = answer(count, width)
        expect(isinstance(returned, Tensor), "return one tensor")
        rows = returned.to(torch.float64)
        expect(rows.shape == (count, width), f"the shape must be {(count, width)}, got {tuple(rows.shape)}")
        expect(
            rows.isfinite().all(), "every number must be finite: a column of equal numbers has no variance"
        )
        mean = float(rows.mean(0).abs().max())
        expect(mean < 1e-3, f"a column has a mean of {mean:.2f}: batch normalisation makes it 0")
        squares = rows.square().mean(0)
        furthest = float(squares[(squares - 1).abs().argmax()])
        expect(
            abs(furthest - 1) < 1e-2,
            f"a column has a variance of {furthest:.2f}: divide each column by the root of its mean square",
        )
        unit = functional.normalize(rows, dim=1)
        total = unit.sum(0).square().sum() - unit.square().sum()
        cosine = float(total / (count * (count - 1)))
        expect(
            cosine > 0.9,
            f"the mean cosine similarity of different rows is {cosine:.2f}: "
            "let more rows point in one direction, and let fewer, longer rows balance them",
        )
