"""Sequences of different lengths in one tensor, and batches that waste little of it.

Axes: B sequences in a batch, T the longest of them.

By hand: ``[[5, 6, 7], [8]]`` becomes ``[[5, 6, 7], [8, 0, 0]]``, and its mask is ``[[1, 1, 1], [1, 0, 0]]``.
A third of that tensor is padding; `LengthBuckets` puts sequences of like length together, which leaves less.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

__all__ = ["LengthBuckets", "mask_of", "pad", "predict_in_buckets"]


def pad(sequences: Sequence[Sequence[int]], value: int = 0) -> Tensor:
    """Stack sequences of ids, filling the shorter ones at the end.

    Parameters
    ----------
    sequences
        B sequences of integers; any of them may be empty.
    value
        What fills the gaps; 0 is the padding id of every vocabulary here.

    Returns
    -------
    LongTensor
        Shape (B, T), T the length of the longest sequence.

    Raises
    ------
    ValueError
        If there are no sequences.

    Examples
    --------
    >>> pad([[5, 6, 7], [8]])
    tensor([[5, 6, 7],
            [8, 0, 0]])
    """
    if not len(sequences):
        raise ValueError("sequences must hold at least one sequence, got none")
    lengths = [len(sequence) for sequence in sequences]
    padded = torch.full((len(lengths), max(lengths)), value, dtype=torch.long)  # (B, T)
    flat = [int(number) for sequence in sequences for number in sequence]
    padded[mask_of(lengths)] = torch.tensor(flat, dtype=torch.long)
    return padded


def mask_of(lengths: Sequence[int] | Tensor, width: int | None = None) -> Tensor:
    """Mark the places that hold a token: true within the length, false in the padding.

    Parameters
    ----------
    lengths
        B lengths, as numbers or as an integer tensor of shape (B,).
    width
        T; by default the largest length.

    Returns
    -------
    BoolTensor
        Shape (B, T), on the device of `lengths`.

    Raises
    ------
    ValueError
        If there are no lengths, one is negative, or one is above `width`.

    Examples
    --------
    >>> mask_of([3, 1])
    tensor([[ True,  True,  True],
            [ True, False, False]])
    """
    sizes = torch.as_tensor(lengths)
    if sizes.ndim != 1 or sizes.numel() == 0:
        raise ValueError(f"lengths must be one row of at least one number, got shape {tuple(sizes.shape)}")
    if sizes.is_floating_point() or sizes.is_complex() or sizes.dtype == torch.bool:
        raise ValueError(f"lengths must be integers, got {sizes.dtype}")
    shortest, longest = int(sizes.min()), int(sizes.max())
    if shortest < 0:
        raise ValueError(f"lengths must be at least 0, got {shortest}")
    if width is None:
        width = longest
    elif longest > width:
        raise ValueError(f"width must be at least the largest length {longest}, got {width}")
    return torch.arange(width, device=sizes.device) < sizes[:, None]  # (B, T)


class LengthBuckets(Sampler[list[int]]):
    """Batches of item numbers in which the items have nearly the same length.

    ::

        all items --shuffle--> pools of many batches --sort by length--> cut --shuffle--> batches

    Every item comes exactly once an epoch. The order depends on `seed` and the epoch alone, so a run that
    was killed finds its batches again.

    Parameters
    ----------
    lengths
        Length of every item, in tokens.
    batch_size
        Items in a batch; the last batch of an epoch's plan may hold fewer. Give this or `max_tokens`.
    max_tokens
        Largest padded size of a batch in tokens: its items times the length of its longest one.
    seed
        Start of the random order.
    pool
        Batches that are sorted together. 1 is a plain shuffle; larger pads less and mixes less.

    Raises
    ------
    ValueError
        If a parameter is out of range, both or neither of the two sizes are given, or an item alone is
        longer than `max_tokens`.

    Examples
    --------
    >>> buckets = LengthBuckets([9, 1, 8, 2, 9, 1], batch_size=2, seed=0)
    >>> sorted(sorted(batch) for batch in buckets)
    [[0, 4], [1, 5], [2, 3]]
    """

    def __init__(
        self,
        lengths: Sequence[int] | Tensor,
        *,
        batch_size: int | None = None,
        max_tokens: int | None = None,
        seed: int = 0,
        pool: int = 64,
    ) -> None:
        self.lengths = np.asarray(lengths, dtype=np.int64)
        if self.lengths.ndim != 1 or self.lengths.size == 0:
            raise ValueError(
                f"lengths must be one row of at least one number, got shape {self.lengths.shape}"
            )
        if self.lengths.min() < 0:
            raise ValueError(f"lengths must be at least 0, got {self.lengths.min()}")
        if (batch_size is None) == (max_tokens is None):
            raise ValueError(
                f"give either batch_size or max_tokens, got batch_size={batch_size}, max_tokens={max_tokens}"
            )
        for name, value, lowest in (
            ("batch_size", batch_size, 1),
            ("max_tokens", max_tokens, 1),
            ("pool", pool, 1),
            ("seed", seed, 0),
        ):
            if value is not None and value < lowest:
                raise ValueError(f"{name} must be at least {lowest}, got {value}")
        if max_tokens is not None and self.lengths.max() > max_tokens:
            item = int(self.lengths.argmax())
            raise ValueError(
                f"max_tokens must be at least the longest item's length {self.lengths[item]} (item {item}), "
                f"got {max_tokens}"
            )
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self.seed = seed
        self.pool = pool
        self.epoch = 0
        self._planned: tuple[int, list[list[int]]] | None = None

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration gives.

        Raises
        ------
        ValueError
            If `epoch` is negative.
        """
        if epoch < 0:
            raise ValueError(f"epoch must be at least 0, got {epoch}")
        self.epoch = epoch

    def plan(self, epoch: int | None = None) -> list[list[int]]:
        """List the batches of an epoch, by default the one set.

        Returns
        -------
        list of list of int
            Item numbers; the lists are the caller's own.

        Raises
        ------
        ValueError
            If `epoch` is negative.
        """
        epoch = self.epoch if epoch is None else epoch
        if epoch < 0:
            raise ValueError(f"epoch must be at least 0, got {epoch}")
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, self._make(epoch))
        return [list(batch) for batch in self._planned[1]]

    def _make(self, epoch: int) -> list[list[int]]:
        draw = np.random.default_rng([self.seed, epoch])
        order = draw.permutation(self.lengths.size)
        batches: list[list[int]] = []
        for start in range(0, order.size, self._pool_items()):
            items = order[start : start + self._pool_items()]
            items = items[np.argsort(self.lengths[items], kind="stable")]  # ties stay shuffled
            batches += self._cut(items)
        return [batches[index] for index in draw.permutation(len(batches))]

    def _pool_items(self) -> int:
        if self.batch_size is not None:
            return self.pool * self.batch_size
        assert self.max_tokens is not None
        return self.pool * max(1, int(self.max_tokens / max(1.0, float(self.lengths.mean()))))

    def _cut(self, items: np.ndarray) -> list[list[int]]:
        """Cut items sorted by length into batches."""
        if self.batch_size is not None:
            size = self.batch_size
            return [items[start : start + size].tolist() for start in range(0, items.size, size)]
        assert self.max_tokens is not None
        batches: list[list[int]] = []
        batch: list[int] = []
        for item in items.tolist():
            longest = max(1, int(self.lengths[item]))  # sorted: the newest is the longest
            if batch and (len(batch) + 1) * longest > self.max_tokens:
                batches.append(batch)
                batch = []
            batch.append(item)
        return [*batches, batch]

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.plan())

    def __len__(self) -> int:
        self.plan()
        assert self._planned is not None
        return len(self._planned[1])


@torch.no_grad()
def predict_in_buckets(
    predict: Callable[[list[int]], Tensor],
    lengths: Sequence[int] | np.ndarray,
    *,
    batch_size: int | None = None,
    max_tokens: int | None = None,
) -> np.ndarray:
    """Predict items batch by batch, each batch of nearly the same length, without gradients.

    Parameters
    ----------
    predict
        From the numbers of a batch's items to one prediction each, in the same order.
    lengths
        Length of every item, in tokens.
    batch_size, max_tokens
        As in `LengthBuckets`; an item that is longer than `max_tokens` is allowed.

    Returns
    -------
    numpy.ndarray
        The predictions in the order of the items.

    Examples
    --------
    >>> predict_in_buckets(lambda items: 10 * torch.tensor(items), [3, 1, 2], batch_size=2).tolist()
    [0, 10, 20]
    """
    sizes = np.asarray(lengths)
    longest = max_tokens if max_tokens is None else max(max_tokens, int(sizes.max()))
    predictions: np.ndarray | None = None
    for items in LengthBuckets(sizes.tolist(), batch_size=batch_size, max_tokens=longest).plan(0):
        values = predict(items).cpu().numpy()
        if predictions is None:
            predictions = np.zeros((len(sizes), *values.shape[1:]), dtype=values.dtype)
        predictions[items] = values
    assert predictions is not None  # there is at least one item
    return predictions
