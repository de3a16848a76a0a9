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
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from reasonlib.errors import UserError

__all__ = ["pack_weights", "round_weights", "rounded"]

Model = TypeVar("Model", bound=nn.Module)


def pack_weights(state: Mapping[str, Tensor], *, bits: int = 16) -> dict[str, Any]:
    """Write weights as ``Weights`` in ``layers.js`` reads them.

    Parameters
    ----------
    state
        A ``state_dict``.
    bits
        16: half precision. 4 to 8: matrices as integers of this many bits, with a factor in half precision
        for each row; vectors in half precision.

    Returns
    -------
    dict
        ``tensors``, of each its name, shape and bits, and ``bytes`` in base64.

    Raises
    ------
    ValueError
        If the bits are neither 16 nor 4 to 8.
    UserError
        If a weight is too large for half precision.
    """
    tensors, packed = [], bytearray()
    for name, tensor in state.items():
        numbers, factors = _rounded(name, tensor, bits)
        if factors is None:
            packed += numbers.numpy().astype("<f2").tobytes()
        else:
            packed += factors.numpy().astype("<f2").tobytes() + _squeezed(numbers.numpy(), bits)
        tensors.append([name, list(tensor.shape), 16 if factors is None else bits])
    return {"tensors": tensors, "bytes": base64.b64encode(bytes(packed)).decode()}


def round_weights(state: Mapping[str, Tensor], *, bits: int = 16) -> dict[str, Tensor]:
    """Round weights as `pack_weights` does, and give them in single precision."""
    result = {}
    for name, tensor in state.items():
        numbers, factors = _rounded(name, tensor, bits)
        number = numbers.float()
        result[name] = number if factors is None else number * factors.float()
    return result


def rounded(model: Model, *, bits: int = 16) -> Model:
    """Copy a model with its weights rounded as the page gets them, to compute the same numbers here."""
    copy = deepcopy(model)
    copy.load_state_dict(round_weights(model.state_dict(), bits=bits))
    return copy.eval()


def _rounded(name: str, tensor: Tensor, bits: int) -> tuple[Tensor, Tensor | None]:
    """Round to 16 bits; or to whole numbers of fewer bits, and a factor of 16 bits for each row."""
    if bits not in (4, 5, 6, 7, 8, 16):
        raise ValueError(f"bits must be 16 or from 4 to 8, got {bits}")
    tensor = tensor.detach().cpu().float()
    if bits == 16 or tensor.ndim < 2:
        numbers, factors = tensor.half(), None
    else:
        most = 2 ** (bits - 1) - 1
        factors = (tensor.flatten(1).abs().amax(1) / most).half().clamp(min=2**-24)
        factors = factors.reshape(-1, *[1] * (tensor.ndim - 1))
        numbers = (tensor / factors.float()).round().clamp(-most, most).to(torch.int8)
    if not bool((numbers if factors is None else factors).isfinite().all()):
        raise UserError(f"{name} has weights that 16 bits cannot hold; train it with a lower rate")
    return numbers, factors


def _squeezed(numbers: np.ndarray, bits: int) -> bytes:
    """Pack integers side by side with `bits` bits each, the lowest bit first."""
    shifted = (numbers.ravel().astype(np.int64) + 2 ** (bits - 1)).astype(np.uint8)
    each = np.unpackbits(shifted[:, None], axis=1, bitorder="little")[:, :bits]
    return np.packbits(each, bitorder="little").tobytes()
