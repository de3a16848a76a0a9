"""Attention (stub, replaced next)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def masked_softmax(
    scores: Float[Tensor, "*B S"], mask: Bool[Tensor, "*#B S"] | None = None
) -> Float[Tensor, "*B S"]:
    """Softmax over the last axis among the entries whose mask is True; a row without any gives zeros."""
    if mask is None:
        return scores.softmax(-1)
    hidden = ~mask
    weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(hidden, 0.0)
