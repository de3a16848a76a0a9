"""Two small clouds of points in the plane, and two maps that learn to bring them together.

The live figure of the first chapter trains the same maps in the reader's browser. Words are drawn around four
things; frames are the same points seen by another instrument: turned, bent, and, as far as `gap` says, of
another point. At a gap of 0 both clouds have one structure; at 1 the pairs are random, as in the source.

Axes: P pairs of which the last H are held out of training, 2 coordinates, 12 hidden units.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reasonlib.modality_alignment.models.objectives import cosine, retrieval
from reasonlib.nn.similarity import cka

__all__ = ["CONCEPTS", "Clouds", "Score", "apply", "draw_clouds", "initial_maps", "measure", "train"]

CONCEPTS = ("dog", "cat", "car", "tree")
HIDDEN = 12
WARM_UP = 20  # steps with CKA alone before both are maximised
LR = 0.01


@dataclass(frozen=True, kw_only=True)
class Clouds:
    """Points behind both clouds.

    Attributes
    ----------
    words : (P, 2)
        What the map of the words reads.
    partners : (P, 2)
        The same points in another, random order.
    concepts
        Which of `CONCEPTS` each word is about.
    held_out
        How many pairs, the last ones, training does not see.
    """

    words: NDArray[np.float64]
    partners: NDArray[np.float64]
    concepts: tuple[int, ...]
    held_out: int

    def frames(self, gap: float) -> NDArray[np.float64]:
        """Return what the map of the frames reads, (P, 2): mixed by `gap`, then turned and bent."""
        x, y = (np.sqrt(1 - gap) * self.words + np.sqrt(gap) * self.partners).T
        return np.stack(
            [-0.5 * x - 0.9 * y + 0.5 * np.sin(2 * x), 0.9 * x - 0.5 * y + 0.4 * y * y - 0.4], axis=1
        )


@dataclass(frozen=True, kw_only=True)
class Score:
    """What is measured on some pairs.

    Attributes
    ----------
    cosine, cka
        Mean cosine similarity of the pairs, and CKA.
    retrieval
        Share of words whose nearest frame, by cosine, is their own.
    """

    cosine: float
    cka: float
    retrieval: float


def draw_clouds(pairs: int = 56, held_out: int = 16, *, seed: int = 5) -> Clouds:
    """Draw the points around four centres, rounded to three decimals as the page gets them."""
    draw = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(len(CONCEPTS)) / len(CONCEPTS) + 0.3
    centres = np.stack([1.1 * np.cos(angles), 0.9 * np.sin(angles)], axis=1)
    concepts = np.arange(pairs) % len(CONCEPTS)
    words = (centres[concepts] + 0.24 * draw.standard_normal((pairs, 2))).round(3)
    return Clouds(
        words=words,
        partners=words[draw.permutation(pairs)],
        concepts=tuple(concepts.tolist()),
        held_out=held_out,
    )


Weights = Mapping[str, Tensor]
"""Of both maps: ``words1``, ``frames1`` (3, 12), ``words2``, ``frames2`` (13, 2); a last row is the bias."""


def apply(weights: Weights, name: str, points: Tensor, trained: int, *, normalise: bool = True) -> Tensor:
    """Map the points of one cloud, (P, 2) to (P, 2): linear, tanh, linear, standardised if `normalise`.

    Standardising is batch normalisation by the mean and the standard deviation of the first `trained` points,
    those of training; the held-out points use them, too.
    """
    first, second = weights[f"{name}1"], weights[f"{name}2"]
    hidden = torch.tanh(points @ first[:-1] + first[-1])
    output = hidden @ second[:-1] + second[-1]
    if not normalise:
        return output
    seen = output[:trained]
    return (output - seen.mean(0)) / (seen.var(0, correction=0) + 1e-5).sqrt()


def initial_maps(seed: int = 6) -> dict[str, list[list[float]]]:
    """Draw the first weights of both maps, rounded to four decimals as the page gets them."""
    draw = np.random.default_rng(seed)
    return {
        f"{name}{layer}": draw.normal(0, scale, shape).round(4).tolist()
        for name in ("words", "frames")
        for layer, shape, scale in ((1, (3, HIDDEN), 0.8), (2, (HIDDEN + 1, 2), 0.5))
    }


def measure(words: Tensor, frames: Tensor) -> Score:
    """Measure some pairs of mapped points, (P, 2) each."""
    return Score(
        cosine=float(cosine(words, frames)),
        cka=float(cka(words, frames)),
        retrieval=retrieval(words, frames)["top1"],
    )


def objective(words: Tensor, frames: Tensor, goal: str, weight: float, step: int) -> Tensor:
    """Compute what is maximised: the cosine similarity, CKA, or the first plus `weight` times the second."""
    if goal == "cosine":
        return cosine(words, frames)
    if goal == "cka" or step < WARM_UP:
        return cka(words, frames)
    return cosine(words, frames) + weight * cka(words, frames)


def train(
    clouds: Clouds,
    goal: str = "both",
    *,
    steps: int,
    weight: float = 0.1,
    gap: float = 0.3,
    normalise: bool = True,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Train both maps by Adam on all training pairs at once.

    Parameters
    ----------
    clouds
        The points.
    goal
        ``cosine``, ``cka`` or ``both``.
    steps
        Updates.
    weight
        The lambda of CKA where both are maximised.
    gap
        As for `Clouds.frames`.
    normalise
        As for `apply`.

    Yields
    ------
    tuple
        Mapped words and frames, (P, 2) each, before each update and after the last.
    """
    weights = {
        name: torch.tensor(values, dtype=torch.float64, requires_grad=True)
        for name, values in initial_maps().items()
    }
    optimiser = torch.optim.Adam(weights.values(), lr=LR)
    trained = len(clouds.words) - clouds.held_out
    words, frames = torch.tensor(clouds.words), torch.tensor(clouds.frames(gap))
    for step in range(steps + 1):
        first, second = (
            apply(weights, name, points, trained, normalise=normalise)
            for name, points in (("words", words), ("frames", frames))
        )
        yield first.detach(), second.detach()
        optimiser.zero_grad()
        (-objective(first[:trained], second[:trained], goal, weight, step)).backward()
        optimiser.step()
