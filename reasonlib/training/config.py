"""How to train, and nothing about what: the settings of one run of `fit`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reasonlib.arguments import check_at_least, check_choice
from reasonlib.training.optimisers import MOMENTUM, OPTIMISERS

__all__ = ["PRECISIONS", "SCHEDULES", "TrainingConfig"]

SCHEDULES = ("constant", "linear", "step", "plateau")
PRECISIONS = ("no", "bf16")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How to train, and nothing about what.

    Raises `ValueError` if a value is out of its range, or has no effect together with the others.
    """

    epochs: int = 10
    lr: float = 1e-3  # the peak rate; the schedule scales it
    optimiser: str = "adam"  # a key of OPTIMISERS
    momentum: float = 0.0  # sgd and rmsprop
    betas: tuple[float, float] = (0.9, 0.999)  # the Adam family
    weight_decay: float = 0.0
    clip: float | None = None  # greatest norm of all gradients together
    schedule: str = "constant"  # constant | linear | step | plateau
    warmup: int = 0  # optimiser steps over which the rate rises from 0, with any schedule
    # epochs between two cuts of "step"; epochs without a better metric before one of "plateau"
    step_every: int = 25
    factor: float = 0.5  # what "step" and "plateau" multiply the rate by
    patience: int | None = None  # stop after this many epochs without a better metric
    restore_best: bool | None = None  # end with the best epoch's weights; None: only where patience is set
    accumulate: int = 1  # batches to one optimiser step
    precision: str = "no"  # no | bf16 (autocast, CUDA only)
    seed: int = 0  # of what the model draws while it trains
    minutes: float | None = None  # budget of one call of fit, in minutes

    def __post_init__(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))
        check_choice("optimiser", self.optimiser, tuple(OPTIMISERS))
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("precision", self.precision, PRECISIONS)
        for name, least in (("epochs", 1), ("warmup", 0), ("step_every", 1), ("accumulate", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.patience is not None and (not isinstance(self.patience, int) or self.patience < 1):
            raise ValueError(f"patience must be a whole number of at least 1 or None, got {self.patience!r}")
        if not (self.lr > 0 and math.isfinite(self.lr)):
            raise ValueError(f"lr must be above 0 and finite, got {self.lr}")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip must be above 0 or None, got {self.clip}")
        if not 0 < self.factor < 1:
            raise ValueError(f"factor must be between 0 and 1, got {self.factor}")
        check_at_least(self, 0, "weight_decay")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1, got {self.momentum}")
        if self.momentum and self.optimiser not in MOMENTUM:
            raise ValueError(
                f"momentum is for {' and '.join(MOMENTUM)}, got {self.momentum} with {self.optimiser}"
            )
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1, got {self.betas}")
        if self.minutes is not None and not self.minutes >= 0:
            raise ValueError(f"minutes must be at least 0 or None, got {self.minutes}")

    @property
    def keeps_best(self) -> bool:
        """Whether training ends with the weights of the best epoch."""
        return self.patience is not None if self.restore_best is None else self.restore_best

    @property
    def watches_metric(self) -> bool:
        """Whether a stopping rule, the schedule or the choice of weights depends on the monitored metric."""
        return self.patience is not None or self.schedule == "plateau" or bool(self.restore_best)
