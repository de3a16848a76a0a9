"""The reasoner without a detector: a CNN's grid of features stands where the entities stood.

Source: An (2021), section 3.3.5, first row of table 3.3; figure 3.2 (grid features
against salient objects).

    panel ─ convolutions ─ 4 x 4 cells of V x D channels ─ entity encoder over cells ─ sum ─ as in `reasoner`

Axes: B problems, P 16 panels, H x W pixels, V 5 streams, S cells of the grid, D width, T tokens.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from reasonlib.nn.transformer import Encoder, initialise
from reasonlib.visual_iq.data.encoding import STREAMS
from reasonlib.visual_iq.data.example import PANELS
from reasonlib.visual_iq.models.baselines import CANDIDATES, as_panels, convolutions, side_after
from reasonlib.visual_iq.models.contrast import Contrast
from reasonlib.visual_iq.models.reasoner import ReasonerConfig, Segments, encode_fused

__all__ = ["GridReasoner", "GridReasonerOutput"]


class GridReasonerOutput(NamedTuple):
    """Scores of the candidates, and the cells of every panel before the encoders: the source's figure 3.2."""

    logits: Float[Tensor, "B 8"]
    cells: Float[Tensor, "B P V S D"]


class GridReasoner(nn.Module):
    """Choose the candidate by encoders over grid cells and panels.

    Parameters
    ----------
    config
        Sizes of the encoders, as of `reasoner.Reasoner`.
    channels
        Of the convolutions.
    size
        Side of a panel in pixels.
    seed
        Draws the first weights.

    Notes
    -----
    The source says no more than that a CNN took the detector's place. The convolutions here are those of the
    other baselines. Their channels are cut into five streams, so that all behind them is the reasoner as it
    is; but nothing tells the streams to be attributes, and a cell's place is not an entity's.
    """

    def __init__(
        self, config: ReasonerConfig | None = None, *, channels: int = 32, size: int = 80, seed: int = 0
    ) -> None:
        super().__init__()
        config = ReasonerConfig() if config is None else config
        generator = torch.Generator().manual_seed(seed)
        self.config = config
        self.backbone = convolutions(1, channels, size)[:-1]  # the last makes the grid flat
        self.streams = nn.Conv2d(channels, len(STREAMS) * config.width, 1)
        self.places = nn.Parameter(torch.empty(side_after(size) ** 2, config.width))
        nn.init.normal_(self.places, std=config.width**-0.5, generator=generator)
        self.entity = Encoder(config.entity, generator=generator) if config.entity_layers else None
        self.segments = Segments(config, generator)
        self.panel = Encoder(config.panel, generator=generator) if config.panel_layers else None
        joined = len(STREAMS) * config.width
        self.contrast: nn.Module = nn.Identity()
        if config.contrast:
            self.contrast = Contrast(
                nn.Sequential(nn.Linear(joined, joined), nn.ReLU(), nn.Linear(joined, joined))
            )
        self.output = nn.Sequential(nn.Linear(joined, config.output), nn.ReLU(), nn.Linear(config.output, 1))
        for part in (self.backbone, self.streams):
            for weights in part.parameters():
                if weights.ndim > 1:
                    nn.init.kaiming_normal_(weights, nonlinearity="relu", generator=generator)
        initialise(self.contrast, generator)
        initialise(self.output, generator)

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> GridReasonerOutput:
        """Score the candidates."""
        panels = as_panels(images)
        grid = self.streams(self.backbone(panels.flatten(0, 1).unsqueeze(1)))  # (B * P, V * D, h, w)
        cells = grid.unflatten(1, (len(STREAMS), -1)).flatten(3).transpose(2, 3)  # (B * P, V, S, D)
        x = (cells + self.places).flatten(0, 1)
        if self.entity is not None:
            x = encode_fused(self.entity, x)
        x = x.sum(1).unflatten(0, (len(panels), PANELS, -1)).transpose(1, 2)  # (B, V, P, D)
        x = self.segments(x)  # (B, V, T, D)
        if self.panel is not None:
            x = encode_fused(self.panel, x.flatten(0, 1)).unflatten(0, x.shape[:2])
        candidates = x[:, :, -CANDIDATES:].transpose(1, 2).flatten(2)  # (B, 8, V * D)
        scores = self.output(self.contrast(candidates)).squeeze(2)
        return GridReasonerOutput(scores, cells.unflatten(0, (len(panels), PANELS)))
