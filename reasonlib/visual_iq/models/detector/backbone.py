"""Features of a panel on several scales: a convolutional backbone and a feature pyramid on top of it.

::

    panel 160 ─> 80 ─> C2 40 ─> C3 20 ─> C4 10 ─> C5 5        bottom-up: ever coarser, ever more is known
                        │         │        │        │
                       1x1       1x1      1x1      1x1
                        │         │        │        │
                       (+) <──── (+) <─── (+) <──── │         top-down: doubled in size and added
                       3x3       3x3      3x3      3x3
                        P2        P3       P4       P5        strides 4, 8, 16, 32

Source: Lin et al. (2017), "Feature Pyramid Networks", section 3; He et al. (2016) for the residual block and
for ResNet-50, the source's backbone. https://arxiv.org/abs/1612.03144

Axes: B panels, C features, H W cells.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["STRIDES", "Pyramid", "ResNet", "Residual", "SmallBackbone"]

STRIDES = (4, 8, 16, 32)
"""Pixels from cell to cell, on each level of the pyramid."""


def convolution(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """3x3 convolution and batch normalisation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs)
    )


class Residual(nn.Module):
    """Two convolutions beside the identity: ``relu(x + f(x))``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = convolution(width, width), convolution(width, width)

    def forward(self, features: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
        """Refine features."""
        return functional.relu(features + self.second(functional.relu(self.first(features))))


class SmallBackbone(nn.Module):
    """Five halvings; a residual block after each but the first. Learns on one core.

    Parameters
    ----------
    widths
        Features after each halving.
    """

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.stem = nn.Sequential(convolution(1, widths[0], stride=2), nn.ReLU())
        self.stages = nn.ModuleList(
            nn.Sequential(convolution(inputs, outputs, stride=2), nn.ReLU(), Residual(outputs))
            for inputs, outputs in pairwise(widths)
        )
        self.widths = tuple(widths[1:])

    def forward(self, ink: Float[Tensor, "B 1 H W"]) -> list[Float[Tensor, "B _ _ _"]]:
        """Return C2 to C5."""
        features, levels = self.stem(ink), []
        for stage in self.stages:
            features = stage(features)
            levels.append(features)
        return levels


class ResNet(nn.Module):
    """A residual network of the ``transformers`` library, pre-trained or not.

    Parameters
    ----------
    name
        A folder or a name on the hub, such as ``microsoft/resnet-50``, the source's backbone.
    """

    MEAN, SPREAD = 0.449, 0.226  # of ImageNet, over the three colours

    def __init__(self, name: str | Path) -> None:
        super().__init__()
        from transformers import ResNetModel

        self.network = ResNetModel.from_pretrained(name)
        self.widths = tuple(self.network.config.hidden_sizes or ())

    def forward(self, ink: Float[Tensor, "B 1 H W"]) -> list[Float[Tensor, "B _ _ _"]]:
        """Return C2 to C5."""
        pixels = ((1 - ink - self.MEAN) / self.SPREAD).expand(-1, self.network.config.num_channels, -1, -1)
        return list(self.network(pixels, output_hidden_states=True).hidden_states[1:])


class Pyramid(nn.Module):
    """Carry what the coarse levels know down to the fine ones.

    Parameters
    ----------
    inputs
        Features of each level, the finest first.
    width
        Features of each level of the pyramid.
    """

    def __init__(self, inputs: Sequence[int], width: int) -> None:
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(channels, width, 1) for channels in inputs)
        self.output = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in inputs)

    def forward(self, levels: Sequence[Float[Tensor, "B _ _ _"]]) -> list[Float[Tensor, "B C _ _"]]:
        """Return P2 to P5."""
        # excerpt: pyramid
        merged: list[Tensor] = []  # from the coarsest level to the finest
        for lateral, level in zip(
            reversed(self.lateral),
            reversed(levels),
            strict=True,
        ):
            level_features = lateral(level)  # 1x1: the same width on every level
            if merged:  # add the coarser level, doubled in size
                level_features = level_features + functional.interpolate(
                    merged[-1], size=level_features.shape[2:], mode="nearest"
                )
            merged.append(level_features)
        # end excerpt
        return [output(features) for output, features in zip(self.output, reversed(merged), strict=True)]


def to_ink(images: Tensor) -> Float[Tensor, "B 1 H W"]:
    """Turn grey panels, 0 black to 255 white, into ink: 0 on empty paper, 1 on black."""
    return (1 - images.to(torch.get_default_dtype()) / 255).unsqueeze(1)
