"""Weights as a line of text in a page, and the same weights back in PyTorch.

>>> import torch
>>> state = {"weight": torch.tensor([[1.0, 2.0], [0.1, 0.0]])}
>>> pack_weights(state)["tensors"]
[['weight', [2, 2], 16]]
>>> round_weights(state)["weight"]
tensor([[1.0000, 2.0000],
        [0.1000, 0.0000]])
"""

import base64
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from reasonlib.errors import UserError

__all__ = ["pack_weights", "round_weights"]


def pack_weights(state: Mapping[str, Tensor], *, bits: int = 16) -> dict[str, Any]:
    """Write weights as ``Weights`` in ``layers.js`` reads them.

    Parameters
    ----------
    state
        A ``state_dict``.
    bits
        16: half precision. 8: matrices as whole numbers from -127 to 127 with a factor of 16 bits for each
        row; vectors in half precision.

    Returns
    -------
    dict
        ``tensors``, of each its name, shape and bits, and ``bytes`` in base64.

    Raises
    ------
    ValueError
        If the bits are neither 8 nor 16.
    UserError
        If a weight is too large for half precision.
    """
    tensors, packed = [], bytearray()
    for name, tensor in state.items():
        numbers, factors = _rounded(name, tensor, bits)
        if factors is None:
            packed += numbers.numpy().astype("<f2").tobytes()
        else:
            packed += factors.numpy().astype("<f2").tobytes() + numbers.numpy().astype("i1").tobytes()
        tensors.append([name, list(tensor.shape), 16 if factors is None else 8])
    return {"tensors": tensors, "bytes": base64.b64encode(bytes(packed)).decode()}


def round_weights(state: Mapping[str, Tensor], *, bits: int = 16) -> dict[str, Tensor]:
    """Round weights as the page gets them, to compute the same numbers here.

    Parameters
    ----------
    state
        A ``state_dict``.
    bits
        As for `pack_weights`.

    Returns
    -------
    dict
        In single precision, to be loaded into a model.
    """
    rounded = {}
    for name, tensor in state.items():
        numbers, factors = _rounded(name, tensor, bits)
        number = numbers.float()
        rounded[name] = number if factors is None else number * factors.float()
    return rounded


def _rounded(name: str, tensor: Tensor, bits: int) -> tuple[Tensor, Tensor | None]:
    """Round to 16 bits; or to whole numbers of 8 bits, and a factor of 16 bits for each row."""
    if bits not in (8, 16):
        raise ValueError(f"bits must be 8 or 16, got {bits}")
    tensor = tensor.detach().cpu().float()
    if bits == 16 or tensor.ndim < 2:
        half, factors = tensor.half(), None
    else:
        rows = tensor.flatten(1)
        factors = (rows.abs().amax(1) / 127).half().clamp(min=2**-24)
        factors = factors.reshape(-1, *[1] * (tensor.ndim - 1))
        half = (tensor / factors.float()).round().clamp(-127, 127).to(torch.int8)
    if not bool((half if factors is None else factors).isfinite().all()):
        raise UserError(f"{name} has weights that 16 bits cannot hold; train it with a lower rate")
    return half, factors
