"""Problems as pictures: rendered when they are needed, shrunk to 80 x 80, kept as long as memory allows.

The 70,000 problems of the test are 29 GB as pictures and 40 MB as tables of entities. So the tables are kept,
and a batch is drawn from them.

    Problems ─ render ─ (B, 16, 160, 160) ─ mean of 2 x 2 pixels ─ (B, 16, 80, 80)

Source: Barrett et al. (2018), "Measuring abstract reasoning in neural networks", section 4 (meta-targets).

Axes: N or B problems, P 16 panels, H x W pixels, M 9 meta-targets.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from numpy import ndarray
from torch import Tensor

from reasonlib.visual_iq.data.example import CANVAS, PANELS, Problems
from reasonlib.visual_iq.data.render import render_problems

__all__ = ["META_TARGETS", "PixelBatch", "PixelSet", "meta_targets", "shrink"]

META_TARGETS = (
    "constant",
    "progression",
    "arithmetic",
    "distribute three",
    "number",
    "position",
    "type",
    "size",
    "colour",
)
"""What a meta-target tells: which rules are at work in a problem, and what they govern."""


# Data -------------------------------------------------------------------------------------------------------


def meta_targets(rules: Int[ndarray, "N K G 3"]) -> Float[ndarray, "N M"]:
    """Say for each of `META_TARGETS` whether it occurs among a problem's rules.

    Parameters
    ----------
    rules
        As in `example.Problems`.
    """
    rule, governed = rules[..., 0, None], rules[..., 1, None]
    names = np.concatenate([rule == np.arange(4), governed == np.arange(1, 6)], -1)  # (N, K, G, M)
    names[..., 4:6] |= governed == 0  # a constant of number and position is one of both
    return np.any(names & (rule >= 0), axis=(1, 2)).astype(np.float32)


def shrink(images: UInt8[ndarray, "*N 160 160"], size: int) -> UInt8[ndarray, "*N H W"]:
    """Make pictures smaller by taking the mean of square blocks of pixels, rounded to a byte.

    Parameters
    ----------
    images
        Grey values.
    size
        New side, a divisor of 160.

    Raises
    ------
    ValueError
        If it is none.

    Notes
    -----
    The published models see pictures shrunk by PIL's bilinear filter, which spreads over 4 x 4 pixels.
    """
    if size < 1 or CANVAS % size:
        raise ValueError(f"size must be a divisor of {CANVAS}, got {size}")
    step = CANVAS // size
    if step == 1:
        return images
    blocks = images.reshape(*images.shape[:-2], size, step, size, step)
    rows = blocks.sum(-3, dtype=np.uint16)  # contiguous first
    return ((rows.sum(-1, dtype=np.uint32) + step * step // 2) // (step * step)).astype(np.uint8)


class PixelBatch(NamedTuple):
    """Problems as the models see them.

    Attributes
    ----------
    images : (B, 16, H, W)
        Grey values as bytes.
    configuration, target : (B,)
        As in `example.Problems`.
    meta : (B, M)
        See `meta_targets`.
    """

    images: UInt8[Tensor, "B P H W"]
    configuration: Int[Tensor, " B"]
    target: Int[Tensor, " B"]
    meta: Float[Tensor, "B M"]

    def to(self, device: torch.device | str) -> "PixelBatch":
        """Move all tensors."""
        return PixelBatch(*(part.to(device) for part in self))


class PixelSet:
    """Problems as pictures, each drawn when it is first asked for.

    Parameters
    ----------
    problems
        As tables.
    size
        Side of a panel in pixels.
    keep
        Memory for pictures already drawn, in MB. If all of them would take more, none is kept, and every
        batch is drawn anew.
    """

    def __init__(self, problems: Problems, size: int = 80, keep: int = 1024) -> None:
        self.problems, self.size = problems, size
        self.meta = meta_targets(problems.rules)
        fits = len(problems) * PANELS * size * size <= keep * 2**20
        self.kept = np.empty((len(problems), PANELS, size, size), np.uint8) if fits else None
        self.drawn = np.zeros(len(problems), bool)

    def __len__(self) -> int:
        return len(self.problems)

    def images(self, items: Sequence[int] | ndarray) -> UInt8[ndarray, "B P H W"]:
        """Draw some of the problems, or take them from those already drawn."""
        chosen = np.asarray(items, dtype=int)
        if self.kept is None:
            return shrink(render_problems(self.problems[chosen]), self.size)
        new = np.unique(chosen[~self.drawn[chosen]])
        if len(new):
            self.kept[new] = shrink(render_problems(self.problems[new]), self.size)
            self.drawn[new] = True
        return self.kept[chosen]

    def batch(self, items: Sequence[int] | ndarray) -> PixelBatch:
        """Take some of the problems, by their indices."""
        chosen = np.asarray(items, dtype=int)
        return PixelBatch(
            torch.from_numpy(self.images(chosen)),
            torch.from_numpy(self.problems.configuration[chosen].astype(np.int64)),
            torch.from_numpy(self.problems.target[chosen].astype(np.int64)),
            torch.from_numpy(self.meta[chosen]),
        )
