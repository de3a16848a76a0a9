r"""Attention: every query takes a weighted mixture of values, weighted by its match with their keys.

Source: Vaswani et al. (2017), "Attention Is All You Need", section 3.2. https://arxiv.org/abs/1706.03762

Axes: B sequences, Tq queries, Tk keys, T either, D width, H heads, C = D / H width of a head.

::

    query --> W_Q --> split --+--> scaled dot-product attention, once a head --> join --> W_O --> output
    key   --> W_K --> split --+              |                    |
    value --> W_V --> split --+           weights               heads
         (B, T, D)   (B, H, T, C)      (B, H, Tq, Tk)       (B, H, Tq, C)                    (B, Tq, D)

A mask is boolean: True where a query may attend to a key. A query that may attend to nothing gets zeros.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

__all__ = [
    "Attended",
    "KeyValues",
    "MultiHeadAttended",
    "MultiHeadAttention",
    "masked_softmax",
    "scaled_dot_product_attention",
]


class Attended(NamedTuple):
    """What attention gives.

    Attributes
    ----------
    output : (..., Tq, C)
        A mixture of the values for each query.
    weights : (..., Tq, Tk)
        The share of each value in it, before dropout. A row sums to one, or to zero if nothing may be seen.
    """

    output: Float[Tensor, "*B Tq C"]
    weights: Float[Tensor, "*B Tq Tk"]


class MultiHeadAttended(NamedTuple):
    """What multi-head attention gives: the joined output, and what each head did on the way to it.

    Attributes
    ----------
    output : (B, Tq, D)
        All heads joined and projected.
    weights : (B, H, Tq, Tk)
        Where each head looked, before dropout.
    heads : (B, H, Tq, C)
        What each head read there, before the output projection.
    """

    output: Float[Tensor, "B Tq D"]
    weights: Float[Tensor, "B H Tq Tk"]
    heads: Float[Tensor, "B H Tq C"]


class KeyValues(NamedTuple):
    """Keys and values as each head sees them, ready to be attended to again and again.

    Attributes
    ----------
    keys, values : (B, H, Tk, C)
        Projected and split into heads.
    """

    keys: Float[Tensor, "B H Tk C"]
    values: Float[Tensor, "B H Tk C"]

    def then(self, later: "KeyValues") -> "KeyValues":
        """Append the keys and values of later positions."""
        return KeyValues(
            torch.cat((self.keys, later.keys), dim=2), torch.cat((self.values, later.values), dim=2)
        )

    def select(self, rows: Tensor) -> "KeyValues":
        """Keep these sequences of the batch, in this order; a row may be named twice."""
        return KeyValues(self.keys[rows], self.values[rows])


def masked_softmax(
    scores: Float[Tensor, "*B S"], mask: Bool[Tensor, "*#B S"] | None = None
) -> Float[Tensor, "*B S"]:
    """Softmax over the last axis among the entries whose mask is True; a row without any gives zeros.

    Parameters
    ----------
    scores : (..., S)
        Any real numbers.
    mask : broadcastable to (..., S), optional
        True where an entry takes part.

    Returns
    -------
    (..., S)
        Weights, exactly zero where the mask is False.

    Raises
    ------
    ValueError
        If the mask is not boolean.

    Examples
    --------
    >>> masked_softmax(torch.zeros(2, 3), torch.tensor([[True, True, False], [False, False, False]]))
    tensor([[0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    if mask is None:
        return scores.softmax(-1)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be boolean, True where an entry takes part, got {mask.dtype}")
    # excerpt: masked softmax
    hidden = ~mask
    # the lowest finite number, because a row of -inf would become NaN
    weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(hidden, 0.0)  # a row that may see nothing: zeros
    # end excerpt


def scaled_dot_product_attention(
    query: Float[Tensor, "*B Tq K"],
    key: Float[Tensor, "*B Tk K"],
    value: Float[Tensor, "*B Tk C"],
    mask: Bool[Tensor, "*#B #Tq Tk"] | None = None,
    *,
    dropout: float = 0.0,
) -> Attended:
    r"""Mix the values, each by the match of its key with the query (eq. 1).

    .. math:: \mathrm{Attention}(Q, K, V) = \mathrm{softmax}(Q K^\top / \sqrt{d_k}) V

    Parameters
    ----------
    query : (..., Tq, K)
        ``Q``, what is looked for.
    key : (..., Tk, K)
        ``K``, what is compared with it; the root of its width, ``d_k``, scales the scores.
    value : (..., Tk, C)
        ``V``, what is read.
    mask : broadcastable to (..., Tq, Tk), optional
        True where a query may attend to a key.
    dropout : float
        Probability that a weight is dropped on its way to the output.

    Returns
    -------
    Attended

    Examples
    --------
    The query matches the first key, so it reads mostly the first value.

    >>> key = torch.tensor([[4.0, 0.0], [0.0, 4.0]])
    >>> value = torch.tensor([[1.0], [2.0]])
    >>> output, weights = scaled_dot_product_attention(torch.tensor([[1.0, 0.0]]), key, value)
    >>> weights, output
    (tensor([[0.9442, 0.0558]]), tensor([[1.0558]]))
    """
    # excerpt: attention
    # the match of every query with every key: (..., Tq, Tk)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = masked_softmax(scores, mask)  # each row sums to one
    used = functional.dropout(weights, dropout) if dropout else weights
    return Attended(used @ value, weights)  # a mixture of values for each query
    # end excerpt


class MultiHeadAttention(nn.Module):
    r"""Attend H times side by side, each time in a narrow projection of its own (section 3.2.2).

    .. math:: \mathrm{head}_h = \mathrm{Attention}(Q W^Q_h, K W^K_h, V W^V_h), \quad
              \mathrm{output} = [\mathrm{head}_1; \dots; \mathrm{head}_H] W^O

    Of all heads together, ``W^Q``, ``W^K``, ``W^V`` and ``W^O`` are the layers ``query``, ``key``, ``value``
    and ``output``, each of shape (D, D).

    Parameters
    ----------
    width : int
        D, the width of its input and output; the source's ``d_model``.
    heads : int
        H; the width must be a multiple of it.
    dropout : float
        Probability that an attention weight is dropped in training.

    Raises
    ------
    ValueError
        If a number is out of range, or a query, key or value has another width.

    Notes
    -----
    The projections have biases and the weights may be dropped; the source's equations have neither, but its
    published code, BERT and `torch.nn.MultiheadAttention` have both.
    """

    def __init__(self, width: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads must be at least 1, got {heads}")
        if width < 1 or width % heads:
            raise ValueError(f"width must be a multiple of heads={heads}, got {width}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
        self.width = width
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def split(self, joined: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T C"]:
        """Give each head its own slice of the width."""
        # excerpt: split
        return joined.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, H, T, C)
        # end excerpt

    def project(self, key: Float[Tensor, "B Tk D"], value: Float[Tensor, "B Tk D"]) -> KeyValues:
        """Project keys and values once, to be kept for many queries."""
        self._check("key", key)
        self._check("value", value)
        # excerpt: project
        # one linear map for all heads, then each head takes its slice of the width
        return KeyValues(self.split(self.key(key)), self.split(self.value(value)))
        # end excerpt

    def attend(
        self,
        query: Float[Tensor, "B Tq D"],
        projected: KeyValues,
        mask: Bool[Tensor, "*#B #Tq Tk"] | None = None,
    ) -> MultiHeadAttended:
        """Attend to keys and values that were projected before."""
        self._check("query", query)
        # excerpt: heads
        heads, weights = scaled_dot_product_attention(  # every head at once
            self.split(self.query(query)),
            projected.keys,
            projected.values,
            None if mask is None else mask.unsqueeze(-3),  # the same for all heads
            dropout=self.dropout if self.training else 0.0,
        )
        # concatenate the heads: (B, H, Tq, C) -> (B, Tq, D)
        output = self.output(heads.transpose(1, 2).flatten(2))
        # end excerpt
        return MultiHeadAttended(output, weights, heads)

    def forward(
        self,
        query: Float[Tensor, "B Tq D"],
        key: Float[Tensor, "B Tk D"],
        value: Float[Tensor, "B Tk D"],
        mask: Bool[Tensor, "*#B #Tq Tk"] | None = None,
    ) -> MultiHeadAttended:
        """Attend with every head.

        Parameters
        ----------
        query : (B, Tq, D)
            What looks; in self-attention the same tensor as key and value.
        key, value : (B, Tk, D)
            What is looked at, and what is read there.
        mask : (B, Tq, Tk), (B, 1, Tk) or (Tq, Tk), optional
            True where a query may attend to a key.

        Returns
        -------
        MultiHeadAttended
        """
        return self.attend(query, self.project(key, value), mask)

    def _check(self, name: str, given: Tensor) -> None:
        if given.ndim != 3 or given.shape[-1] != self.width:
            raise ValueError(f"{name} must have shape (B, T, {self.width}), got {tuple(given.shape)}")
