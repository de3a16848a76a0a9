"""Every set by its name, split into train, valid and test."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from reasonlib.arguments import check_choice
from reasonlib.multi_task.data.counts import NAMES
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.simulator import TASKS, simulate

__all__ = ["DATA", "SIZES", "Splits", "load_simulated"]

DATA = {
    "simulated": "stand-in",
    "sentence-tasks": "released",
    "glue": "released",
    "glue-qnli-v1": "released",
    **dict.fromkeys(NAMES, "released"),
}
"""The sets by name and kind."""

SIZES: Mapping[str, int] = {
    "acceptability": 400,
    "sentiment": 600,
    "similarity": 300,
    "inference": 1600,
    "entailment": 120,
    "paraphrase": 200,
    "answers": 300,
}
"""Training examples of the simulated family, in the order of the source's sets."""


class Splits(NamedTuple):
    """Examples of one task to train on, to choose the best weights by, and to measure on."""

    task: Task
    train: tuple[Example, ...]
    valid: tuple[Example, ...]
    test: tuple[Example, ...]


@lru_cache(maxsize=256)
def _part(task: str, count: int, seed: int, relatedness: float, noise: float) -> tuple[Example, ...]:
    return tuple(simulate(task, count, seed=seed, relatedness=relatedness, noise=noise))


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
    """Simulate one task's parts; a second call gives the same examples.

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
    check_choice("task", task, TASKS)
    count = SIZES.get(task, SIZES["entailment"]) if train is None else train
    return Splits(
        TASKS[task],
        _part(task, count, 1000 * seed + 1, relatedness, noise),
        _part(task, valid, 10**9 + 2, relatedness, 0.0),
        _part(task, test, 10**9 + 3, relatedness, 0.0),
    )
