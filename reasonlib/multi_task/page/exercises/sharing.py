"""Exercises of the chapter "When sharing helps"."""

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.multi_task.experiments import conflict

__all__ = ["check_project", "check_safe_weights", "check_third_task"]


def project(gradient: Tensor, other: Tensor) -> Tensor:
    """Remove from a gradient its part along another one if the two conflict (PCGrad)."""
    product = gradient @ other
    return gradient - product / (other @ other) * other if product < 0 else gradient


@exercise(title="Remove a conflict", minutes=15, points=2)
@hint("The projection of g onto h is (g · h) / (h · h) times h. Subtract it only if g · h is negative.")
def check_project(answer: Answer, seed: int) -> None:
    """Check ``project(gradient, other)``: what PCGrad makes of one task's gradient.

    Both are vectors. If they conflict (their product is negative), remove the part of ``gradient`` that
    points against ``other``. If they do not, return ``gradient`` as it is.
    """
    draw = torch.Generator().manual_seed(seed)
    first, second = torch.randn(6, generator=draw), torch.randn(6, generator=draw)
    second = second * 1.7
    if first @ second > 0:
        second = -second
    product = first @ second
    expect_close(
        answer(first.clone(), second.clone()),
        project(first, second),
        "the two conflict: subtract the projection of the gradient onto the other",
        wrong={
            "the projection lies along the other gradient, not along the gradient itself": first
            - product / (first @ first) * first,
            "divide by the squared length of the other gradient": first - product * second,
            "divide by the square of the length, not by the length": first - product / second.norm() * second,
            "this is the part that conflicts: subtract it from the gradient": product
            / (second @ second)
            * second,
            "subtract the projection, do not add it": first + product / (second @ second) * second,
            "the two conflict, and you changed nothing": first,
        },
    )
    expect_close(
        answer(first.clone(), -second),
        first,
        "these two point the same way: leave the gradient as it is",
        wrong={"you project even where there is no conflict": first - product / (second @ second) * second},
    )


def safe_weights(first: Tensor, second: Tensor) -> tuple[float, float]:
    """Return the least and the greatest weight of the first gradient with which no loss rises."""
    product = float(first @ second)
    if product >= 0:
        return 0.0, 1.0
    return -product / (float(first @ first) - product), float(second @ second) / (
        float(second @ second) - product
    )


@exercise(title="Weigh two tasks so that neither loses", minutes=20, points=3)
@hint("A small step against d raises a task's loss if its gradient times d is negative. Solve for w.")
def check_safe_weights(answer: Answer, seed: int) -> None:
    """Check ``safe_weights(first, second)``: which weights let a joint step hurt neither of two tasks.

    Both are gradients. A small step is taken against w first + (1 - w) second, with w from 0 to 1. Return the
    least and the greatest w for which neither loss rises; (0, 1) if the two gradients do not conflict.
    """
    draw = torch.Generator().manual_seed(seed)
    first, side = torch.randn(2, 5, generator=draw, dtype=torch.float64)
    side -= side @ first / (first @ first) * first  # at a right angle to the first
    size = 2 + torch.rand(1, generator=draw, dtype=torch.float64)
    second = size * (0.6 * side / side.norm() - 0.8 * first / first.norm()) * first.norm()
    low, high = safe_weights(first, second)
    product, first_norm, second_norm = float(first @ second), float(first.norm()), float(second.norm())
    cosine = product / (first_norm * second_norm)

    def ends(first: Tensor, second: Tensor) -> list[float]:
        returned = answer(first.float(), second.float())
        expect(
            isinstance(returned, (tuple, list)) and len(returned) == 2,
            "return two numbers: the least weight and the greatest",
        )
        return [float(end) for end in returned]

    expect_close(
        ends(first, second),
        [low, high],
        "neither task's gradient may have a negative product with w first + (1 - w) second",
        wrong={
            "the least weight comes first, then the greatest": [high, low],
            "w is the weight of the first gradient, 1 - w that of the second": [1 - high, 1 - low],
            "use the squared lengths of the gradients, not their lengths": [
                -product / (first_norm - product),
                second_norm / (second_norm - product),
            ],
            "the lengths of the gradients matter: do not scale them to length 1": [
                -cosine / (1 - cosine),
                1 / (1 - cosine),
            ],
            "these two conflict, so a step for one task alone hurts the other": [0.0, 1.0],
            "the plain mean, w = 0.5, is not always safe: a long gradient overrules a short one": [0.5, 0.5],
            "only the first task is safe: find the greatest weight from the second": [low, 1.0],
            "only the second task is safe: find the least weight from the first": [0.0, high],
        },
        tolerance=1e-4,
    )
    expect_close(
        ends(first, -second),
        [0.0, 1.0],
        "these two do not conflict, so every weight from 0 to 1 is safe",
        tolerance=1e-4,
    )
    balance = float(size / (1 + size))
    expect_close(
        ends(first, -size * first),
        [balance, balance],
        "two gradients that point in opposite directions leave one weight, at which they cancel",
        tolerance=1e-4,
    )


@exercise(title="Find a third task that turns PCGrad against the first", minutes=25, points=3)
@hint("Let it conflict with the second gradient. What does PCGrad then add, and where does that point?")
def check_third_task(answer: Answer, seed: int) -> None:
    """Check ``third_task(first, second)``: a gradient with which PCGrad's step hurts the first task.

    ``first`` and ``second`` are gradients that conflict. Return a third one whose product with the first is
    not negative. PCGrad projects each gradient against the others in the order first, second, third, and the
    step goes against the mean of the three. It must raise the loss of the first task: the cosine of that mean
    with the first gradient must be -0.1 or less.
    """
    draw = torch.Generator().manual_seed(seed)
    first, side = torch.randn(2, 4, generator=draw)
    side -= side @ first / (first @ first) * first  # at a right angle to the first
    part = 0.4 + 0.2 * torch.rand(1, generator=draw)
    second = 0.9 * first.norm() * ((1 - part**2).sqrt() * side / side.norm() - part * first / first.norm())
    third = torch.as_tensor(answer(first.clone(), second.clone()), dtype=torch.float32)
    expect(
        third.shape == first.shape,
        f"return one gradient of shape {tuple(first.shape)}, got {tuple(third.shape)}",
    )
    expect(third.isfinite().all() and third.norm() > 0, "the third gradient must be finite and not zero")

    def cosine(a: Tensor, b: Tensor) -> float:
        return float(a @ b / (a.norm() * b.norm()).clamp(min=1e-12))

    def with_first(third: Tensor) -> float:
        return cosine(first, conflict.project(torch.stack([first, second, third])).mean(0))

    expect(
        cosine(first, third) > -1e-4,
        "your gradient conflicts with the first: find one that hurts it although the two do not conflict",
    )
    expect(
        cosine(second, third) < 0,
        "your gradient does not conflict with the second, so PCGrad leaves it as it is: let it conflict",
    )
    mean_cosine = with_first(third)
    expect(
        mean_cosine <= -0.1 or with_first(1000 * third) > -0.1,
        f"the direction is right, but your gradient is too short to decide the mean (cosine "
        f"{mean_cosine:.2f}): make it longer",
    )
    expect(
        mean_cosine <= -0.1,
        f"PCGrad's step does not raise the loss of the first task (cosine {mean_cosine:.2f}): find a "
        "gradient that PCGrad turns against the first when it spares the second",
    )
