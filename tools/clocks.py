"""What benchmarks share: functions whose calls are timed, and a step of training to time."""

import time
from statistics import median

import torch


class Timed:
    """A function whose calls are timed by the clock and by the processor.

    Parameters
    ----------
    call
        What is timed.
    count
        How many things one call does, for rates.
    returns_seconds
        Whether the call returns its processor time, because it works in another process.
    """

    def __init__(self, call, count, *, returns_seconds=False):
        self.call, self.count, self.returns_seconds = call, count, returns_seconds
        self.clock, self.processor = [], []

    def __call__(self):
        clock, processor = time.perf_counter(), time.process_time()
        result = self.call()
        self.processor.append(result if self.returns_seconds else time.process_time() - processor)
        self.clock.append(time.perf_counter() - clock)

    def rates(self):
        """Say how many a second, by the clock and by the processor."""
        clock, processor = (self.count / median(seconds) for seconds in (self.clock, self.processor))
        return f"{clock:,.0f} a second, {processor:,.0f} a second of processor time"


def print_rates(label, **sides):
    """Print the rates of each side that ran."""
    for name, side in sides.items():
        if side.clock:
            print(f"    {label}, {name}: {side.rates()}", flush=True)


def training_step(model, loss):
    """Return a function that does one step of training."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    model.train()

    def step():
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()

    return step
