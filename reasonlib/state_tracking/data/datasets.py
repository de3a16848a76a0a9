"""Every set of dialogues by its name, simulated or real, split into train, valid and test."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from reasonlib.arguments import check_choice
from reasonlib.state_tracking.data import corpus
from reasonlib.state_tracking.data.example import Dialogue
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate

__all__ = ["DATA", "Splits", "load"]

DATA = {
    "simulated": "stand-in",
    "simulated-unseen": "stand-in",
    "simulated-long": "stand-in",
    "multiwoz": "mixed",
}
"""The sets by name and kind: ``multiwoz`` has released dialogues with labels edited by the STAR authors."""

_SEEDS = {"train": 1, "valid": 2, "test": 3}


class Splits(NamedTuple):
    """Dialogues to train on, to choose the best weights by, and to measure on."""

    train: tuple[Dialogue, ...]
    valid: tuple[Dialogue, ...]
    test: tuple[Dialogue, ...]


@lru_cache(maxsize=4)
def load(data: str, *, train: int, valid: int, test: int, inherit: float = 0.8, seed: int = 0) -> Splits:
    """Load a set; a second call gives the same object.

    Parameters
    ----------
    data
        One of `DATA`. In ``simulated-unseen`` the places of valid and test have names that training never
        shows; every dialogue of ``simulated-long`` has more than 512 words.
    train, valid, test
        How many dialogues of each part. Of the real set, `train` are drawn by `seed`; the others are the
        first.
    inherit
        Rate of references in simulated dialogues.
    seed
        Draws which real dialogues train.

    Raises
    ------
    ValueError
        If there is no such set.
    DataError
        If the real set is not on this machine.
    """
    check_choice("data", data, DATA)
    counts = {"train": train, "valid": valid, "test": test}
    parts: dict[str, tuple[Dialogue, ...]] = {}
    for part, count in counts.items():
        if data == "multiwoz":
            dialogues = corpus.read(part)
            if part == "train" and count < len(dialogues):
                chosen = np.random.default_rng(seed).permutation(len(dialogues))[:count]
                dialogues = [dialogues[number] for number in sorted(chosen)]
            parts[part] = tuple(dialogues[:count])
            continue
        unseen = data == "simulated-unseen" and part != "train"
        long = 1.0 if data == "simulated-long" else SimulatorConfig.long
        config = SimulatorConfig(inherit=inherit, unseen=unseen, long=long)
        parts[part] = tuple(simulate(count, _SEEDS[part], config))
    return Splits(**parts)
