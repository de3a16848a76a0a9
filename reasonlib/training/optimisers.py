"""Optimisers by name, and the learning rate of each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from reasonlib.training.config import TrainingConfig

__all__ = ["BETAS", "MOMENTUM", "OPTIMISERS", "learning_rate", "make_optimiser"]


OPTIMISERS: dict[str, type[torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamax": torch.optim.Adamax,
    "adadelta": torch.optim.Adadelta,
    "adagrad": torch.optim.Adagrad,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "rmsprop": torch.optim.RMSprop,
}
MOMENTUM = ("sgd", "rmsprop")
BETAS = ("adam", "adamw", "adamax", "nadam", "radam")
_FUSED = ("sgd", "adam", "adamw", "adagrad")  # one kernel for all parameters: three times faster on one core


def make_optimiser(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Build the optimiser that `config` names, over the parameters that need a gradient.

    Raises
    ------
    ValueError
        If the model has no parameter to train.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("model must have a parameter that needs a gradient, got none")
    options: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    if config.optimiser in MOMENTUM:
        options["momentum"] = config.momentum
    if config.optimiser in BETAS:
        options["betas"] = config.betas
    if config.optimiser in _FUSED:
        sparse = any(getattr(module, "sparse", False) for module in model.modules())
        options["fused"] = not sparse and all(
            p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in parameters
        )
    return OPTIMISERS[config.optimiser](parameters, **options)


def learning_rate(
    config: TrainingConfig, step: int, *, epoch: int, steps_planned: int, cuts: int = 0
) -> float:
    r"""Return the rate of one optimiser step.

    With :math:`w` steps of warm-up, step :math:`s` of :math:`S`, epoch :math:`e` and :math:`c` cuts so far,
    it is ``lr`` times :math:`\min(1, s / w)` times

    - constant: 1
    - linear: :math:`(S - s) / (S - w)` after the warm-up
    - step: :math:`\mathrm{factor}^{\lfloor e / \mathrm{step\_every} \rfloor}`
    - plateau: :math:`\mathrm{factor}^{c}`

    Parameters
    ----------
    config : TrainingConfig
        Which schedule, and its numbers.
    step, epoch : int
        Counted from 0.
    steps_planned : int
        Optimiser steps of the whole run; used by "linear" alone.
    cuts : int
        How often the metric has come to a plateau; used by "plateau" alone.

    Returns
    -------
    float
        The rate, at least 0.

    Examples
    --------
    >>> from reasonlib.training.config import TrainingConfig
    >>> config = TrainingConfig(lr=1.0, schedule="linear", warmup=2)
    >>> [learning_rate(config, s, epoch=0, steps_planned=6) for s in range(7)]
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    rate = config.lr
    if step < config.warmup:
        rate *= step / config.warmup
    elif config.schedule == "linear":
        rate *= max(0.0, (steps_planned - step) / max(1, steps_planned - config.warmup))
    if config.schedule == "step":
        rate *= config.factor ** (epoch // config.step_every)
    elif config.schedule == "plateau":
        rate *= config.factor**cuts
    return rate
