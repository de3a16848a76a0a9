"""Problems as symbols: for each component, panel and attribute the level that all entities share.

Axes: B or N problems, M components of problems, K 2 components, P 16 panels, V 5 attributes of a component,
Q 22 positions, S slots, G components with more than one slot.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from reasonlib.visual_iq.data.example import (
    CONFIGURATIONS,
    LEVELS,
    PANELS,
    POSITION_OF,
    POSITIONS,
    SLOTS,
    Problems,
)

__all__ = [
    "SYMBOL_ATTRIBUTES",
    "SYMBOL_COUNTS",
    "SYMBOL_OFFSETS",
    "SymbolBatch",
    "SymbolSet",
    "component_symbols",
]

SYMBOL_ATTRIBUTES = ("type", "size", "colour", "angle", "number")
"""What the entities of a component share in a panel, or how many there are."""
SYMBOL_COUNTS = (*(levels + 2 for levels in LEVELS), SLOTS + 1)
"""Symbols of each: its levels, "mixed" and "mixed, as in the panel before"; of the number, 0 to 9."""
SYMBOL_OFFSETS = tuple(int(start) for start in np.cumsum((0, *SYMBOL_COUNTS))[:-1])
"""Where each attribute's symbols begin in one table of all symbols."""
COMPONENTS = 2


def component_symbols(entities: Int[ndarray, "N P S 4"], *, alike: bool = True) -> Int[ndarray, "N P V"]:
    """Name what the entities of one component have in common, panel by panel.

    Parameters
    ----------
    entities
        The slots of one component of sixteen panels.
    alike
        Whether a mixed panel is told to be like the one before it in its row: the same entities slot by slot
        if the same slots are filled, else the same levels equally often. A candidate follows panel 7.
    """
    levels = entities.astype(np.int16)
    filled = levels[..., 0] > 0
    mixed = np.array(LEVELS, dtype=np.int16)
    low = np.where(filled[..., None], levels, 99).min(2)  # (N, P, 4)
    high = np.where(filled[..., None], levels, -1).max(2)
    common = np.where(low == high, low, mixed)
    if alike:
        before = np.array([-1, 0, 1, -1, 3, 4, -1, 6, *[7] * (PANELS - 8)])
        after = np.flatnonzero(before >= 0)
        before = before[after]
        masked_levels = np.where(filled[..., None], levels, -1)
        ordered = np.sort(masked_levels, axis=2)
        in_place = (masked_levels[:, after] == masked_levels[:, before]).all(2)  # (N, 13, 4)
        as_often = (ordered[:, after] == ordered[:, before]).all(2)
        same_slots = (filled[:, after] == filled[:, before]).all(2)[..., None]
        copied = np.where(same_slots, in_place, as_often)
        common[:, after] += copied & (common[:, after] == mixed)
    return np.concatenate((common, filled.sum(2)[..., None]), -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SymbolBatch:
    """Components of problems, each attribute a symbol in each panel.

    Parameters
    ----------
    symbols : (M, P, V)
        Row of each symbol in one table of all symbols.
    problem : (M,)
        Which of the batch's problems a component belongs to.
    filled : (G, P, Q)
        Filled places, for those components that have more than one slot.
    places : (G, Q)
        The places that such a component has.
    grid : (G,)
        Which problem such a component belongs to.
    target : (B,)
        The right candidate.
    """

    symbols: Int[Tensor, "M P V"]
    problem: Int[Tensor, "M"]
    filled: Float[Tensor, "G P Q"]
    places: Bool[Tensor, "G Q"]
    grid: Int[Tensor, "G"]
    target: Int[Tensor, "B"]

    def __len__(self) -> int:
        return len(self.target)

    def to(self, device: torch.device | str) -> "SymbolBatch":
        """Move all tensors."""
        return SymbolBatch(*(getattr(self, field.name).to(device) for field in fields(self)))

    def shard(self, index: int, count: int) -> "SymbolBatch":
        """Take one of `count` slices of the problems, as `training.fit` asks for with several processes."""
        mine, theirs = self.problem % count == index, self.grid % count == index
        return SymbolBatch(
            self.symbols[mine],
            self.problem[mine] // count,
            self.filled[theirs],
            self.places[theirs],
            self.grid[theirs] // count,
            self.target[index::count],
        )


@dataclass(frozen=True, eq=False)
class SymbolSet:
    """Problems as symbols, ready for batches.

    Parameters
    ----------
    configuration, target
        As in `example.Problems`.
    symbols
        Of each component and panel, rows of one table of all symbols; -1 where there is no such component.
    filled
        Which places each component fills in each panel; all False for a component of one slot.
    places
        Which places each component has; all False for a component of one slot.
    """

    configuration: Int[ndarray, "N"]
    target: Int[ndarray, "N"]
    symbols: Int[ndarray, "N K P V"]
    filled: Bool[ndarray, "N K P Q"]
    places: Bool[ndarray, "N K Q"]

    def __len__(self) -> int:
        return len(self.target)

    @classmethod
    def from_problems(cls, problems: Problems, *, alike: bool = True) -> Self:
        """Encode problems of any configurations."""
        count = len(problems)
        symbols_of = np.full((count, COMPONENTS, PANELS, len(SYMBOL_ATTRIBUTES)), -1, dtype=np.int16)
        filled = np.zeros((count, COMPONENTS, PANELS, len(POSITIONS)), dtype=bool)
        places = np.zeros((count, COMPONENTS, len(POSITIONS)), dtype=bool)
        for configuration in np.unique(problems.configuration):
            members = np.flatnonzero(problems.configuration == configuration)
            for component, slots in enumerate(CONFIGURATIONS[configuration].component_slices):
                entities = problems.entities[members][:, :, slots]
                symbols_of[members, component] = component_symbols(entities, alike=alike) + np.array(
                    SYMBOL_OFFSETS
                )
                if entities.shape[2] > 1:
                    positions_of = POSITION_OF[configuration, slots].astype(int)
                    places[members[:, None], component, positions_of] = True
                    occupied = np.zeros((len(members), PANELS, len(POSITIONS)), dtype=bool)
                    occupied[..., positions_of] = entities[..., 0] > 0
                    filled[members, component] = occupied
        return cls(problems.configuration, problems.target, symbols_of, filled, places)

    def batch(self, items: Sequence[int] | ndarray, swap: ndarray | None = None) -> SymbolBatch:
        """Take some of the problems; whether rows are swapped changes nothing here."""
        chosen = np.asarray(items)
        symbols_of, places = self.symbols[chosen], self.places[chosen]
        problem, component = np.nonzero(symbols_of[:, :, 0, 0] >= 0)
        grid, grid_component = np.nonzero(places.any(-1))
        return SymbolBatch(
            torch.from_numpy(symbols_of[problem, component].astype(np.int64)),
            torch.from_numpy(problem),
            torch.from_numpy(self.filled[chosen[grid], grid_component].astype(np.float32)),
            torch.from_numpy(places[grid, grid_component]),
            torch.from_numpy(grid),
            torch.from_numpy(self.target[chosen].astype(np.int64)),
        )
