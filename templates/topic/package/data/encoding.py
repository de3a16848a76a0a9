"""Examples to what the model reads.

Axes: N questions, L positions in a row.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from reasonlib.TOPIC.data.example import Example
from torch import Tensor

__all__ = ["encode"]


def encode(examples: Sequence[Example]) -> tuple[Float[Tensor, "N L"], Float[Tensor, " N"]]:
    """Turn examples into rows of -1 and 1, and answers of 0 and 1."""
    rows = torch.tensor([example.digits for example in examples], dtype=torch.float32)
    return 2 * rows - 1, torch.tensor([example.answer for example in examples], dtype=torch.float32)
