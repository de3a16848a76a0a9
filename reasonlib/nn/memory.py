"""The memory hop: weigh every memory by its match with the query, return their mixture.

Source: Sukhbaatar et al. (2015), "End-To-End Memory Networks", section 2.1, eq. 1 and 2.
https://arxiv.org/abs/1503.08895

Axes: B questions, S memory slots, D width, U rows of a table of distinct sentences.

::

             keys m                        values c
               |                              |
    query --> dot --> scores --> softmax --> sum --> output
      u                             |                  o
                                 weights p
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from .attention import masked_softmax

__all__ = ["Reading", "Weigh", "masked_identity", "read", "read_shared"]

Weigh = Callable[[Tensor, Tensor | None], Tensor]
"""Turns scores (B, S) and a mask (B, S) into weights (B, S) that are zero wherever the mask is False."""


class Reading(NamedTuple):
    """What one hop reads.

    Attributes
    ----------
    output : (B, D)
        The mixture of values, ``o`` of eq. 2.
    weights : (B, S)
        The share of each memory in it, ``p`` of eq. 1; zero in masked slots.
    scores : (B, S)
        The match of each memory with the query before it is weighed. A masked slot's score means nothing.
    """

    output: Float[Tensor, "B D"]
    weights: Float[Tensor, "B S"]
    scores: Float[Tensor, "B S"]


def masked_identity(
    scores: Float[Tensor, "*B S"], mask: Bool[Tensor, "*#B S"] | None = None
) -> Float[Tensor, "*B S"]:
    """Use the scores themselves as weights, zero where the mask is False.

    This is the reading of *linear start* (section 4.2): training begins without the softmax, so that the
    hops are linear in their scores, and the softmax is put in once the loss stops falling.
    """
    if mask is None:
        return scores
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be boolean, True where a slot holds a memory, got {mask.dtype}")
    return scores.masked_fill(~mask, 0.0)


def read(
    query: Float[Tensor, "B D"],
    keys: Float[Tensor, "B S D"],
    values: Float[Tensor, "B S D"],
    mask: Bool[Tensor, "B S"] | None = None,
    *,
    weigh: Weigh = masked_softmax,
) -> Reading:
    r"""Weigh every memory by its match with the query, return their mixture (eq. 1, 2).

    .. math:: p_i = \mathrm{softmax}(u^\top m_i), \quad o = \sum_i p_i c_i

    Parameters
    ----------
    query : (B, D)
        The state of the question, ``u``.
    keys, values : (B, S, D)
        Input memories ``m`` and output memories ``c``.
    mask : (B, S), optional
        True where a slot holds a memory. A question without any memory reads zeros.
    weigh : callable
        From scores and mask to weights; `masked_identity` leaves the softmax out.

    Returns
    -------
    Reading
    """
    # excerpt: read
    scores = (keys @ query.unsqueeze(-1)).squeeze(-1)  # u . m_i: (B, S)
    weights = weigh(scores, mask)  # p: softmax over the memories
    output = (weights.unsqueeze(-2) @ values).squeeze(-2)  # o: (B, D)
    return Reading(output, weights, scores)
    # end excerpt


def read_shared(
    query: Float[Tensor, "B D"],
    keys: Float[Tensor, "U D"],
    values: Float[Tensor, "U D"],
    index: Int[Tensor, "B S"],
    mask: Bool[Tensor, "B S"] | None = None,
    *,
    key_time: Float[Tensor, "S D"] | None = None,
    value_time: Float[Tensor, "S D"] | None = None,
    weigh: Weigh = masked_softmax,
) -> Reading:
    """Read memories that are rows of one table, without ever making a (B, S, D) tensor.

    Equal to `read` with ``keys[index] + key_time`` and ``values[index] + value_time``. Stories repeat
    their sentences, so the table is far smaller than the memories it stands for: the query meets each
    distinct sentence once, and each slot looks its score up.

    Parameters
    ----------
    query : (B, D)
        The state of the question, ``u``.
    keys, values : (U, D)
        Input and output embedding of each distinct sentence.
    index : (B, S)
        The row of the table each slot holds. A masked slot may hold any valid row.
    mask : (B, S), optional
        True where a slot holds a memory. A question without any memory reads zeros.
    key_time, value_time : (S, D), optional
        What slot ``s`` adds to its key and to its value, whatever sentence it holds. With slots filled from
        the latest sentence backwards, this is the temporal encoding of section 4.1.
    weigh : callable
        From scores and mask to weights; `masked_identity` leaves the softmax out.

    Returns
    -------
    Reading
    """
    scores = (query @ keys.T).gather(1, index)  # (B, U) -> (B, S)
    if key_time is not None:
        scores = scores + query @ key_time.T
    weights = weigh(scores, mask)
    shares = weights.new_zeros(len(query), len(values)).scatter_add(1, index, weights)  # (B, U)
    output = shares @ values  # (B, D)
    if value_time is not None:
        output = output + weights @ value_time
    return Reading(output, weights, scores)
