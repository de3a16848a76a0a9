"""One line that says how far a run is, in a terminal and in a notebook."""

from __future__ import annotations

import math
import sys
from typing import Any

from torch import Tensor

from reasonlib.training.state import TrainingState

__all__ = ["ProgressLine"]


class ProgressLine:
    """One line that says how far the run is: tqdm in a terminal, one updated output in a notebook."""

    def __init__(self, show: bool | None, state: TrainingState, epochs: int) -> None:
        self.state, self.epochs = state, epochs
        self.bar: Any = None
        self.handle: Any = None
        self.done = state.step
        self.next = 0.0
        self.loss = ""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        notebook = hasattr(shell, "kernel")
        if show is False or not (show or notebook or sys.stderr.isatty()):
            self.next = math.inf
        elif notebook:
            from IPython.display import display

            self.handle = display({"text/plain": self.line()}, raw=True, display_id=True)
        else:
            from tqdm import tqdm

            self.bar = tqdm(
                total=state.steps_planned(epochs), initial=state.step, unit="step", dynamic_ncols=True
            )

    def line(self) -> str:
        """Return the whole line, with a bar of block characters."""
        state = self.state
        planned = state.steps_planned(self.epochs)
        filled = round(24 * state.step / max(planned, 1))
        bar = "█" * filled + "░" * (24 - filled)
        return f"{bar} {state.step:,} of {planned:,} steps, {state.seconds:.0f} s{self.metrics()}"

    def metrics(self) -> str:
        """Return the loss and the metrics of the last epoch as text."""
        row = self.state.rows[-1] if self.state.rows else {}
        hidden = ("epoch", "step", "seconds", "lr", "loss")
        return self.loss + "".join(f", {k} {v:.4g}" for k, v in row.items() if k not in hidden)

    def step(self, now: float, loss: Tensor, steps: int) -> None:
        """Redraw, at most a few times a second: reading the loss waits for the device."""
        self.next = now + (0.5 if self.handle else 0.1)
        self.loss = f", loss {loss.item() / max(steps, 1):.4g}" if steps else self.loss
        self.draw()

    def draw(self) -> None:
        """Show the present state."""
        if self.bar is not None:
            self.bar.total = self.state.steps_planned(self.epochs)
            self.bar.set_postfix_str(self.metrics().removeprefix(", "), refresh=False)
            self.bar.update(self.state.step - self.done)
            self.done = self.state.step
        if self.handle is not None:
            self.handle.update({"text/plain": self.line()}, raw=True)

    def close(self) -> None:
        """Show the final state and leave the line."""
        self.draw()
        if self.bar is not None:
            self.bar.close()
