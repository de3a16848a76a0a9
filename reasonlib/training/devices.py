"""Devices, seeds and parameter counts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch
from torch import nn

from reasonlib.errors import UserError

__all__ = ["best_precision", "denormals_flushed", "device", "parameter_count", "seeded"]


def device(name: str | None = None) -> torch.device:
    """Return the device called `name`, or the best one here: CUDA, then Apple's MPS, then the CPU.

    Under ``accelerate launch`` the best one is the process's own.

    Raises
    ------
    UserError
        If there is no such device on this machine.
    """
    if name is None or name == "auto":
        if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
            return torch.device("cpu")
        if torch.cuda.is_available():
            return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        requested = torch.device(name)
    except RuntimeError:
        raise UserError(f"device must be auto, cpu, cuda, cuda:0, ... or mps, got {name!r}") from None
    if requested.type == "cuda" and (requested.index or 0) >= torch.cuda.device_count():
        raise UserError(
            f"there is no device {name!r} here (CUDA devices: {torch.cuda.device_count()}); use 'cpu'"
        )
    if requested.type == "mps" and not torch.backends.mps.is_available():
        raise UserError("there is no device 'mps' here; use 'cpu'")
    if requested.type not in ("cpu", "cuda", "mps"):
        raise UserError(f"device must be auto, cpu, cuda, cuda:0, ... or mps, got {name!r}")
    return requested


def best_precision(device: torch.device | str) -> str:
    """Return the precision to train in on a device: ``bf16`` on a GPU that computes in it, else ``no``.

    The value is one of `TrainingConfig.precision`. A run function that uses it says so in the details of its
    record.
    """
    half = torch.device(device).type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if half else "no"


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's CPU generator inside the block, and leave it afterwards as it was before.

    Examples
    --------
    >>> with seeded(0):
    ...     first = torch.rand(2)
    >>> with seeded(0):
    ...     bool((torch.rand(2) == first).all())
    True
    """
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(state)


@contextlib.contextmanager
def denormals_flushed() -> Iterator[None]:
    """Count numbers nearer to zero than 1.2e-38 as zero inside the block, on the CPU; then as it was before.

    A processor takes many times as long for such a number as for any other, and the softmax of a model that
    has become sure is full of them: with 4,000 candidates, a memory network then trains at half its speed.
    Holds for the thread that asks and those it starts later.

    Examples
    --------
    >>> small = torch.tensor(1e-38)
    >>> with denormals_flushed():
    ...     (small / 10).item()
    0.0
    """
    before = not bool(torch.full((1,), torch.finfo(torch.float32).tiny) / 2)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def parameter_count(model: nn.Module, *, trainable: bool = False) -> int:
    """Count the numbers in a model's parameters, a shared one once.

    Examples
    --------
    >>> parameter_count(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trainable)
