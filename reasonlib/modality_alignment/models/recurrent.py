"""Bidirectional LSTMs over sequences of different lengths, and the largest state of each.

Axes: N sequences, T positions, E inputs, H width of one direction.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

__all__ = ["compact", "max_over_time", "read_sequences"]


def read_sequences(
    lstm: nn.Module, inputs: Float[Tensor, "N T E"], mask: Bool[Tensor, "N T"]
) -> Float[Tensor, "N T H2"]:
    """Run an LSTM over the positions of each sequence that are not padding; padding gives zeros.

    Parameters
    ----------
    lstm
        Bidirectional, ``batch_first``.
    inputs, mask
        Padding comes after the sequence; an empty sequence is read as one position, and gives zeros.
    """
    lengths = mask.sum(1).clamp(min=1).cpu()
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=inputs.shape[1])
    return states * mask.unsqueeze(-1)


def max_over_time(states: Float[Tensor, "N T H"], mask: Bool[Tensor, "N T"]) -> Float[Tensor, "N H"]:
    """Return the largest value of each unit over the positions; zeros for an empty sequence."""
    largest = states.masked_fill(~mask.unsqueeze(-1), torch.finfo(states.dtype).min).amax(1)
    return largest * mask.any(1, keepdim=True)


def compact(
    values: Float[Tensor, "N T E"], mask: Bool[Tensor, "N T"]
) -> tuple[Float[Tensor, "N S E"], Bool[Tensor, "N S"]]:
    """Move the positions of each sequence that are not padding to its start, in their order."""
    order = (~mask).to(torch.uint8).argsort(dim=1, stable=True)[:, : max(1, int(mask.sum(1).max()))]
    rows = torch.arange(len(values), device=values.device)[:, None]
    return values[rows, order], mask[rows, order]
