"""Two clouds of paired points: the examples of the first chapter, and what every measure says of them."""

import math
import random
from collections.abc import Sequence

import torch

from reasonlib.display import plotting
from reasonlib.display.plotting import PALETTE, Picture
from reasonlib.nn import cka, svcca

__all__ = ["MEASURES", "MOST", "RELATIONS", "draw_points", "measure", "related", "relations", "still"]

MOST = 24  # examples that a reader can have
MEASURES = {
    "linear": "CKA, linear",
    "debiased": "CKA, debiased",
    "rbf": "CKA, RBF kernel",
    "svcca": "SVCCA",
}
RELATIONS = ("same", "turned", "stretched", "bent", "shuffled", "unrelated")

APART = 0.25  # distance of two points, so that both can be grasped

Points = list[tuple[float, float]]


def draw_points(count: int = MOST, *, seed: int = 5) -> Points:
    """Draw points between -1 and 1 that keep some distance, rounded to hundredths.

    Parameters
    ----------
    count
        How many.
    seed
        Seed of the random draws.
    """
    draw = random.Random(seed)
    points: Points = []
    while len(points) < count:
        point = (round(draw.uniform(-1, 1), 2), round(draw.uniform(-1, 1), 2))
        if all(math.dist(point, other) > APART for other in points):
            points.append(point)
    return points


def related(relation: str, left: Points, *, others: Points | None = None) -> Points:
    """Make the second cloud from the first.

    Parameters
    ----------
    relation
        One of `RELATIONS`.
    left
        The first cloud.
    others
        What `unrelated` takes; by default points of another seed.
    """

    def turn(angle: float, point: tuple[float, float]) -> tuple[float, float]:
        cosine, sine = math.cos(angle), math.sin(angle)
        return cosine * point[0] - sine * point[1], sine * point[0] + cosine * point[1]

    def stretch(point: tuple[float, float]) -> tuple[float, float]:
        x, y = turn(-0.6, point)
        return turn(0.6, (1.1 * x, 0.3 * y))

    count, step = len(left), math.ceil(len(left) / 2) - 1
    match relation:
        case "same":
            return list(left)
        case "turned":
            return [(0.6 * x, 0.6 * y) for x, y in (turn(0.9, point) for point in left)]
        case "stretched":
            return [stretch(point) for point in left]
        case "bent":
            return [(x, 1.3 * x * x - 0.55 + 0.15 * y) for x, y in left]
        case "shuffled":
            return [left[(index + step) % count] for index in range(count)]
        case "unrelated":
            return list((others or draw_points(seed=6))[:count])
    raise ValueError(f"relation must be one of {', '.join(RELATIONS)}, got {relation!r}")


def measure(x: Sequence[Sequence[float]], y: Sequence[Sequence[float]]) -> dict[str, float]:
    """Compute every measure of `MEASURES` for two clouds of paired points."""
    first, second = (torch.tensor(cloud, dtype=torch.float64) for cloud in (x, y))
    return {
        "linear": float(cka(first, second)),
        "debiased": float(cka(first, second, debiased=True)),
        "rbf": float(cka(first, second, "rbf")),
        "svcca": float(svcca(first, second).mean()),
    }


def relations(count: int = 12) -> Picture:
    """Draw what every measure says of each relation of two clouds."""
    left = draw_points()[:count]
    values = {relation: measure(left, related(relation, left)) for relation in RELATIONS}
    shown = {
        words: {relation: max(0.0, scores[key]) for relation, scores in values.items()}
        for key, words in MEASURES.items()
    }
    return plotting.show(
        plotting.bars(shown, unit="similarity", limits=(0, 1)),
        alt="What four measures say of two clouds, for six relations between them.",
        caption=f"Four measures of two clouds of {count} points in two dimensions, for six ways to make the "
        "second from the first. Estimates below 0 are drawn as 0.",
    )


def still(relation: str, count: int) -> Picture:
    """Draw both clouds with the values of all measures, for a page without scripts."""
    left = draw_points()[:count]
    right = related(relation, left)
    scores = measure(left, right)
    summary = ", ".join(f"{words} {scores[key]:.2f}" for key, words in MEASURES.items())
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.9, columns=2)
        for panel, cloud, title, colour in zip(
            axes, (left, right), ("Head A", "Head B"), PALETTE, strict=False
        ):
            panel.scatter(*zip(*cloud, strict=True), s=130, color=colour)
            for number, (x, y) in enumerate(cloud, start=1):
                panel.annotate(str(number), (x, y), ha="center", va="center", fontsize=7, color="white")
            panel.set(
                title=title, xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), xticks=[], yticks=[], aspect="equal"
            )
    drawing.set_label(summary + ".")
    return plotting.show(
        drawing,
        alt=f"Two clouds of {count} numbered points; the second is {relation}.",
        caption=summary + ".",
    )
