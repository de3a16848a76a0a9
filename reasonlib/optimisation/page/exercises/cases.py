"""Numbers that the checks of all three chapters draw their cases from."""

import torch
from torch import Tensor

__all__ = ["DOUBLE", "between", "drawn"]

DOUBLE = torch.float64


def drawn(number: int, case: int, seed: int) -> Tensor:
    """Draw normal numbers for a case, others for each seed."""
    return torch.randn(number, generator=torch.Generator().manual_seed(case + 1000 * seed), dtype=DOUBLE)


def between(low: float, high: float, case: int, seed: int) -> float:
    """Draw one number between two."""
    return low + (high - low) * float(torch.sigmoid(2 * drawn(1, case, seed)))
