"""Every set by its name, split into train, valid and test."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.simulator import FAMILY, TASKS, simulate

__all__ = ["DATA", "SIZES", "Splits", "load_simulated"]

DATA = {"simulated": "stand-in", "sentence-tasks": "released"}
"""The sets by name and kind."""

SIZES: Mapping[str, int] = {
    "acceptability": 600,
    "sentiment": 1500,
    "similarity": 500,
    "inference": 3000,
    "entailment": 150,
    "paraphrase": 300,
    "answers": 400,
}
"""Training examples of the simulated family, in the order of the source's sets."""


class Splits(NamedTuple):
    """Examples of one task to train on, to choose the best weights by, and to measure on."""

    task: Task
    train: tuple[Example, ...]
    valid: tuple[Example, ...]
    test: tuple[Example, ...]


@lru_cache(maxsize=64)
def load_simulated(
    task: str,
    *,
    train: int | None = None,
    valid: int = 100,
    test: int = 500,
    seed: int = 0,
    relatedness: float = 1.0,
    noise: float = 0.0,
) -> Splits:
    """Simulate one task's parts; a second call gives the same object.

    Parameters
    ----------
    task
        A name in `reasonlib.multi_task.data.simulator.TASKS`.
    train
        Training examples; by default those of `SIZES`.
    valid, test
        Examples to validate and measure on; they are the same for every seed, and without noise.
    seed
        Draws the training examples.
    relatedness, noise
        As of `simulate`; only training labels are noisy.

    Raises
    ------
    ValueError
        If there is no such task, or a number is out of range.
    """
    count = SIZES.get(task, SIZES["entailment"]) if train is None else train
    return Splits(
        TASKS[task] if task in TASKS else _unknown(task),
        tuple(simulate(task, count, seed=1000 * seed + 1, relatedness=relatedness, noise=noise)),
        tuple(simulate(task, valid, seed=1000 * 10**6 + 2, relatedness=relatedness)),
        tuple(simulate(task, test, seed=1000 * 10**6 + 3, relatedness=relatedness)),
    )


def _unknown(task: str) -> Task:
    raise ValueError(f"task must be one of {', '.join((*FAMILY, 'captions', 'science'))}, got {task!r}")
