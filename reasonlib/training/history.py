"""What happened in a training run, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["History"]


@dataclass
class History(Sequence[dict[str, float]]):
    """What happened in training: a sequence of one row an epoch, and how far the run came.

    A row holds ``epoch`` and ``step`` (done so far, counted from 1), ``seconds`` (of training so far, earlier
    calls included), ``lr`` (of the epoch's last step), ``loss`` (mean over the epoch's steps, in the loss's
    unit) and what ``validate`` returned.
    """

    rows: list[dict[str, float]] = field(default_factory=list)
    steps_done: int = 0  # optimiser steps, earlier calls included
    steps_planned: int = 0
    epochs_planned: int = 0
    stopped: str = "finished"  # finished | early | minutes
    diverged: bool = False  # stopped early because the loss was no longer finite
    best: dict[str, float] | None = None  # the row with the best monitored metric
    seconds: float = 0.0  # of training, earlier calls included
    resumed_from: int = 0  # the step this call went on from; 0: a fresh run

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def column(self, name: str) -> list[float]:
        """Return one value an epoch, such as ``history.column("loss")``."""
        return [row[name] for row in self.rows]

    def frame(self) -> list[dict[str, float]]:
        """Return the rows as plain dicts, ready for ``pandas.DataFrame``."""
        return [dict(row) for row in self.rows]

    def summary(self) -> str:
        """Say in one line how far the run came and why it stopped."""
        steps = f"{self.steps_done:,} of {self.steps_planned:,} steps"
        far = f"{steps}, {len(self)} of {self.epochs_planned} epochs"
        if self.diverged:
            return f"stopped early, the loss is no longer finite: {far}; lower lr or set clip"
        return {
            "finished": f"finished: {far}",
            "early": f"stopped early, the metric no longer improved: {far}",
            "minutes": f"out of its minutes: {far}; run it again with the same checkpoint folder to go on",
        }[self.stopped]
