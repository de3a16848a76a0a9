"""Batches as nested structures of tensors: their size, slices of them, and the move to a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

__all__ = ["batch_weight", "map_tensors", "split_batch", "to_device"]


def _parts(value: Any) -> dict[Any, Any] | None:
    """Return the named parts of a structure that holds tensors; None for a tensor or anything else."""
    if isinstance(value, Mapping):
        parts = dict(value)
    elif isinstance(value, (tuple, list)):
        parts = dict(enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    else:
        return None
    return parts if any(isinstance(p, Tensor) or _parts(p) is not None for p in parts.values()) else None


def _tensors(batch: Any) -> Iterator[Tensor]:
    if isinstance(batch, Tensor):
        yield batch
    else:
        for part in (_parts(batch) or {}).values():
            yield from _tensors(part)


def map_tensors(batch: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Rebuild a batch with every tensor changed."""
    if isinstance(batch, Tensor):
        return change(batch)
    parts = _parts(batch)
    if parts is None:
        return batch
    parts = {name: map_tensors(part, change) for name, part in parts.items()}
    if isinstance(batch, Mapping):
        return type(batch)(parts)  # type: ignore[call-arg]
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*parts.values())
    if isinstance(batch, (tuple, list)):
        return type(batch)(parts.values())
    return dataclasses.replace(batch, **parts)


def batch_weight(batch: Any) -> float:
    """Return how many examples a batch holds: its own length, or the first axis that all its tensors share.

    Raises
    ------
    ValueError
        If its tensors differ in their first axis, or there is none.

    Examples
    --------
    >>> batch_weight({"words": torch.zeros(3, 7), "answers": torch.zeros(3)})
    3.0
    """
    if hasattr(batch, "__len__") and not isinstance(batch, (Tensor, Mapping, tuple, list)):
        return float(len(batch))
    return float(_common_size(batch))


def _common_size(batch: Any) -> int:
    sizes = {len(tensor) for tensor in _tensors(batch) if tensor.dim()}
    if len(sizes) != 1:
        raise ValueError(
            f"a batch must hold tensors with one common first axis, got {sorted(sizes) or 'no tensor'}; "
            "give fit your own weight= (and shard= for several processes)"
        )
    return sizes.pop()


def split_batch(batch: Any, index: int, count: int) -> Any:
    """Return slice `index` of `count` of a batch, cut along the first axis of its tensors.

    A batch with a method ``shard(index, count)`` cuts itself. Else its tensors may lie in tuples, lists,
    mappings and dataclasses, nested at will; whatever is no tensor stays whole. The slices are contiguous,
    differ by one example at most, and may be empty.

    Raises
    ------
    ValueError
        If its tensors differ in their first axis: such a batch needs a cut of its own.

    Examples
    --------
    >>> [split_batch(torch.arange(5), i, 2).tolist() for i in range(2)]
    [[0, 1, 2], [3, 4]]
    """
    if hasattr(batch, "shard"):
        return batch.shard(index, count)
    _common_size(batch)
    return map_tensors(batch, lambda tensor: tensor.tensor_split(count)[index] if tensor.dim() else tensor)


def to_device(batch: Any, device: torch.device) -> Any:
    """Copy every tensor of a batch to a device; the batch itself where that is the CPU."""
    if device.type == "cpu":
        return batch
    return map_tensors(batch, lambda tensor: tensor.to(device, non_blocking=True))
