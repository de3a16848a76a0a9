"""Models that read pictures: built from the settings of a row, and their scores for any number of problems.

Axes: N or B problems, P 16 panels, H x W pixels.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import nn

from reasonlib import training
from reasonlib.arguments import check_choice
from reasonlib.training.settings import construct
from reasonlib.visual_iq.data.pixels import META_TARGETS, PixelBatch, PixelSet
from reasonlib.visual_iq.data.structure import structure_of
from reasonlib.visual_iq.models import baselines
from reasonlib.visual_iq.models.copinet import CoPINet, CoPINetConfig
from reasonlib.visual_iq.models.drt import ResNetDRT, forest
from reasonlib.visual_iq.models.grid_reasoner import GridReasoner
from reasonlib.visual_iq.models.reasoner import ReasonerConfig
from reasonlib.visual_iq.models.wren import WReN, WReNConfig

__all__ = ["build", "predict_scores"]


def forward(model: nn.Module, batch: PixelBatch) -> Any:
    """Let any model of this topic's pictures look at a batch; the one with a tree is given the trees."""
    if isinstance(model, ResNetDRT):
        trees = forest([structure_of(configuration) for configuration in batch.configuration.tolist()])
        return model(batch.images, trees.to(batch.images.device))
    return model(batch.images)


@torch.no_grad()
def predict_scores(model: nn.Module, pixels: PixelSet, batch_size: int = 64) -> Float[ndarray, "N 8"]:
    """Score all candidates of all problems; the model is left as it was, in training mode or not."""
    device, was_training = next(model.parameters()).device, model.training
    model.eval()
    logits = [
        forward(model, pixels.batch(items).to(device)).logits.float().cpu().numpy()
        for items in np.array_split(np.arange(len(pixels)), range(batch_size, len(pixels), batch_size))
    ]
    model.train(was_training)
    return np.concatenate(logits)


def build(settings: Mapping[str, Any], seed: int = 0) -> nn.Module:
    """Make the model of a row of `experiments.PIXELS`.

    Parameters
    ----------
    settings
        A row's, with a scale's: ``model``, ``size`` of a panel in pixels, ``narrow`` (how many times narrower
        than published) and what the model's config takes.
    seed
        Draws the first weights.

    Raises
    ------
    ValueError
        If there is no model of that name.
    """
    size, narrow = settings.get("size", 80), settings.get("narrow", 1)

    def wide(width: int) -> int:
        return max(1, width // narrow)

    models: dict[str, Callable[[], nn.Module]] = {
        "lstm": lambda: baselines.PanelLSTM(wide(16), wide(96), size),
        "lstm-by-candidate": lambda: baselines.CandidateLSTM(wide(16), wide(96), size),
        "cnn": lambda: baselines.PanelCNN(wide(32), wide(512), size),
        "resnet": lambda: baselines.PanelResNet(wide(64)),
        "resnet-drt": lambda: ResNetDRT(wide(64), word=wide(300)),
        "blind-cnn": lambda: baselines.BlindCNN(wide(64), wide(256), size),
        "blind-resnet": lambda: baselines.BlindResNet(wide(64)),
        "wren": lambda: WReN(
            WReNConfig(
                size=size,
                width=wide(32),
                embedding=wide(256),
                hidden=wide(512),
                tags=settings["tags"],
                auxiliary=len(META_TARGETS) * bool(settings["auxiliary"]),
            )
        ),
        "copinet": lambda: CoPINet(construct(CoPINetConfig, settings, width=wide(64))),
        "grid-reasoner": lambda: GridReasoner(ReasonerConfig(), channels=wide(32), size=size, seed=seed),
    }
    check_choice("model", settings["model"], models)
    with training.seeded(seed):
        return models[settings["model"]]()
