"""Every set of dialogues by its name."""

import dataclasses
from functools import lru_cache

from reasonlib.arguments import check_choice
from reasonlib.goal_dialogue.data import advice, asr_noise, corpus, simulator
from reasonlib.goal_dialogue.data.example import Split

__all__ = ["SETS", "load"]

SETS = {
    "dialog-babi": "released",
    "simulated": "stand-in",
    "simulated-noisy": "stand-in",
    "advice": "stand-in",  # the source's own fifty dialogues are private
}
"""The sets by name, and of which kind each is; see `reasonlib.tracking.record.KINDS`."""


@lru_cache(maxsize=16)
def load(data: str, task: int, *, dialogues: int | None = None, seed: int = 1) -> Split:
    """Load one task of a set; a second call gives the same object.

    Parameters
    ----------
    data
        One of `SETS`.
    task
        1 to 6 for the released set, 1 to 5 for the simulated ones, 1, 2, 3 or 5 for the advice line.
    dialogues
        How many of each of the four sets: the first ones of the released set, all of it by default; 1,000
        simulated ones by default. The advice line has 50 in all, or this many if that is fewer.
    seed
        Of a simulated set.

    Raises
    ------
    UserError
        If there is no such set; a `DataError` if the released one is not on this machine.
    ValueError
        If the set has no such task, or `dialogues` is below 1.
    """
    check_choice("data", data, SETS)
    if dialogues is not None and dialogues < 1:
        raise ValueError(f"dialogues must be at least 1, got {dialogues}")
    if data == "simulated":
        return simulator.make_split(task, dialogues=dialogues or 1000, seed=seed)
    if data == "simulated-noisy":
        return asr_noise.add_asr_noise_to_split(
            load("simulated", task, dialogues=dialogues, seed=seed), seed=seed
        )
    if data == "advice":
        return advice.make_split(
            task, dialogues=min(dialogues or advice.DIALOGUES, advice.DIALOGUES), seed=seed
        )
    split = corpus.read(task)
    if dialogues is None:
        return split
    cut = {name: getattr(split, name)[:dialogues] for name in corpus.SPLITS}
    return dataclasses.replace(split, **cut)
