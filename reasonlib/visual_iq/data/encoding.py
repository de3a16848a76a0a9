"""From problems to what the reasoner reads: each attribute of a panel as a short sequence of tokens.

Source: An (2021), "Towards mastering complex reasoning with Transformers", section 3.2.2 and figure 3.5.

::

    panel        slots      streams             tokens (0 is "empty")
    +-------+    triangle   type         ->     2  0  0  5
    | A     |    empty      size         ->     4  0  0  4
    |     O |    empty      colour       ->     1  0  0  1
    +-------+    circle     angle        ->     8  0  0  3
                            position     ->     2  0  0  5

A panel of one, two or four slots takes few values in one stream, so panels share most of their sequences: the
five streams of sixteen panels of all Center problems are forty different sequences. A batch therefore holds
each different sequence once, and an index of which panel has which.

Axes: N or B problems, P 16 panels, V 5 streams, S slots of a configuration, U different sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from reasonlib.visual_iq.data.example import CONFIGURATIONS, LEVELS, POSITION_OF, POSITIONS, Problems

__all__ = [
    "STREAMS",
    "TOKEN_COUNTS",
    "TOKEN_OFFSETS",
    "TokenBatch",
    "TokenSequences",
    "TokenSet",
    "stream_tokens",
]

STREAMS = ("type", "size", "colour", "angle", "position")
"""What the reasoner reads of an entity, each by itself."""
TOKEN_COUNTS = (LEVELS[0], *(levels + 1 for levels in LEVELS[1:]), len(POSITIONS) + 1)
"""Number of tokens of each stream; token 0 is "empty" in all of them."""
TOKEN_OFFSETS = tuple(int(start) for start in np.cumsum((0, *TOKEN_COUNTS))[:-1])
"""Where each stream's tokens begin in one table of all tokens."""

_ROWS_SWAPPED = [3, 4, 5, 0, 1, 2, *range(6, 16)]


def stream_tokens(configuration: int, entities: Int[ndarray, "N P 9 4"]) -> Int[ndarray, "N P V S"]:
    """Write panels of one configuration as tokens, each stream by itself.

    Parameters
    ----------
    configuration
        Index into `example.CONFIGURATIONS`.
    entities
        As in `example.Problems`.

    Notes
    -----
    The source adds an "empty" category to what the detector predicts, so an empty slot is a token in every
    stream. The position of an entity is both a stream and added to all streams; of an empty slot only the
    second, since otherwise the stream of positions would be the same for every panel.
    """
    slots = len(CONFIGURATIONS[configuration].slots)
    levels = np.moveaxis(entities[..., :slots, :].astype(np.int64), -1, -2)  # (N, P, A, S)
    filled = levels[..., :1, :] > 0
    position = POSITION_OF[configuration, :slots].astype(np.int64) + 1
    tokens = np.concatenate(
        [levels[..., :1, :], levels[..., 1:, :] + 1, np.broadcast_to(position, filled.shape)], -2
    )
    return np.where(filled, tokens, 0)


class TokenSequences(NamedTuple):
    """Different sequences of one length.

    Attributes
    ----------
    tokens : (U, S)
        Row of each slot's token in one table of the tokens of all streams.
    places : (U, S)
        Index of each slot into `example.PLACES`.
    """

    tokens: Int[Tensor, "U S"]
    places: Int[Tensor, "U S"]


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Problems as the reasoner reads them.

    Parameters
    ----------
    sequences : one `TokenSequences` for each number of slots
        Each different sequence of the batch, once.
    index : (B, P, V)
        Which sequence each panel has in each stream, counted through all of `sequences`.
    target : (B,)
        The right candidate.
    """

    sequences: tuple[TokenSequences, ...]
    index: Int[Tensor, "B P V"]
    target: Int[Tensor, "B"]

    def __len__(self) -> int:
        return len(self.target)

    def to(self, device: torch.device | str) -> "TokenBatch":
        """Move all tensors."""
        sequences = tuple(
            TokenSequences(*(tensor.to(device) for tensor in sequence)) for sequence in self.sequences
        )
        return TokenBatch(sequences, self.index.to(device), self.target.to(device))

    def shard(self, index: int, count: int) -> "TokenBatch":
        """Take one of `count` slices of the problems, as `training.fit` asks for with several processes."""
        return TokenBatch(self.sequences, self.index[index::count], self.target[index::count])


@dataclass(frozen=True, eq=False)
class TokenSet:
    """Problems as sequences of tokens, ready for batches.

    Parameters
    ----------
    configuration, target
        As in `example.Problems`.
    tokens, places
        For each number of slots, the different sequences (U, S) and their places; see `TokenSequences`.
    index
        Which sequence each panel has in each stream, counted through all of `tokens`.
    """

    configuration: Int[ndarray, "N"]
    target: Int[ndarray, "N"]
    tokens: tuple[Int[ndarray, "U S"], ...]
    places: tuple[Int[ndarray, "U S"], ...]
    index: Int[ndarray, "N P V"]

    def __len__(self) -> int:
        return len(self.target)

    @classmethod
    def from_problems(cls, problems: Problems) -> Self:
        """Encode problems of any configurations."""
        configurations = problems.configuration.astype(int)
        index = np.zeros((len(problems), problems.entities.shape[1], len(STREAMS)), dtype=np.int64)
        lengths: dict[int, list[int]] = {}
        for configuration in np.unique(configurations):
            lengths.setdefault(len(CONFIGURATIONS[configuration].slots), []).append(int(configuration))
        tables, places, count = [], [], 0
        for slots, same_length in sorted(lengths.items()):
            rows: list[ndarray] = []
            position_rows: list[ndarray] = []
            for configuration in same_length:
                members = np.flatnonzero(configurations == configuration)
                # one number for each sequence: its configuration, its stream, its tokens
                tokens = stream_tokens(configuration, problems.entities[members])  # (n, P, V, S)
                code = np.zeros(tokens.shape[:-1], dtype=np.int64) + np.arange(len(STREAMS))
                for slot in range(slots):
                    code = code * max(TOKEN_COUNTS) + tokens[..., slot]
                _, first, back = np.unique(code, return_index=True, return_inverse=True)
                index[members] = back.reshape(code.shape) + count
                count += len(first)
                stream = first % len(STREAMS)
                rows.append(tokens.reshape(-1, slots)[first] + np.array(TOKEN_OFFSETS)[stream, None])
                position_rows.append(
                    np.broadcast_to(POSITION_OF[configuration, :slots].astype(np.int64), rows[-1].shape)
                )
            tables.append(np.concatenate(rows))
            places.append(np.concatenate(position_rows))
        return cls(problems.configuration, problems.target, tuple(tables), tuple(places), index)

    def batch(self, items: Sequence[int] | ndarray, swap: ndarray | None = None) -> TokenBatch:
        """Take some of the problems.

        Parameters
        ----------
        items
            Their indices.
        swap
            True for the problems whose first and second row change places.
        """
        chosen = np.asarray(items)
        index = self.index[chosen]
        if swap is not None:
            index = np.where(swap[:, None, None], index[:, _ROWS_SWAPPED], index)
        used = np.zeros(sum(map(len, self.tokens)), dtype=bool)
        used[index] = True
        new_index = np.cumsum(used) - 1
        sequences, start = [], 0
        for tokens, places in zip(self.tokens, self.places, strict=True):
            in_batch = used[start : start + len(tokens)]
            start += len(tokens)
            if in_batch.any():
                sequences.append(
                    TokenSequences(torch.from_numpy(tokens[in_batch]), torch.from_numpy(places[in_batch]))
                )
        return TokenBatch(
            tuple(sequences),
            torch.from_numpy(new_index[index]),
            torch.from_numpy(self.target[chosen].astype(np.int64)),
        )
