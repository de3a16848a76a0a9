r"""The Transformer: a stack of attention and feed-forward layers, each added to what it was given.

Source: Vaswani et al. (2017), "Attention Is All You Need", sections 3.1 and 3.3. https://arxiv.org/abs/1706.03762

Axes: B sequences, T tokens, S tokens of the other sequence (the memory), D width, F feed-forward width,
L layers, H heads, C = D / H width of a head.

::

    EncoderLayer            DecoderLayer

    x                       x
    |-- self-attention --.  |-- masked self-attention ---.
    (+)<-----------------'  (+)<-------------------------'
    |-- feed-forward ----.  |-- attention to the memory -.  <-- memory: the encoder's output
    (+)<-----------------'  (+)<-------------------------'
    |                       |-- feed-forward ------------.
    v                       (+)<-------------------------'

Every (+) is a residual: `PostNorm`, as published, or `PreNorm`. Encoder and decoder take vectors to which
positions were added already and return every layer's states and attention. Masks are True where a token may
be attended to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reasonlib.arguments import check_at_least

from .attention import MultiHeadAttended, MultiHeadAttention

__all__ = [
    "Encoded",
    "EncodedLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "PostNorm",
    "PreNorm",
    "TransformerConfig",
    "causal_mask",
    "initialise",
    "padding_mask",
    "stack_of",
]

Activation = Callable[[Tensor], Tensor]
"""A function of each number, such as `torch.relu` or `torch.nn.functional.gelu`."""


# Masks


def padding_mask(tokens: Int[Tensor, "B T"], pad: int = 0) -> Bool[Tensor, "B 1 T"]:
    """Hide padding from every query.

    >>> padding_mask(torch.tensor([[5, 7, 0]]))
    tensor([[[ True,  True, False]]])
    """
    return (tokens != pad).unsqueeze(1)


def causal_mask(length: int, past: int = 0, *, device: torch.device | None = None) -> Bool[Tensor, "T known"]:
    """Hide from each of `length` tokens what comes after it; all `past` tokens before them are seen.

    >>> causal_mask(3)
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True,  True]])
    """
    return torch.ones(length, past + length, dtype=torch.bool, device=device).tril(past)


# Parts


class PostNorm(nn.Module):
    """Residual of the source: ``LayerNorm(x + dropout(f(x)))`` (sections 3.1 and 5.4).

    Call ``leave(x, f(enter(x)))``. Every output is normalised, so a stack needs nothing at its end.

    Parameters
    ----------
    width : int
        D.
    dropout : float
        Probability that a number of ``f(x)`` is dropped in training.
    eps : float
        Added to the variance by the layer norm.
    """

    end: type[nn.Module] = nn.Identity

    def __init__(self, width: int, dropout: float, eps: float = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Prepare what ``f`` is given."""
        return x

    def leave(self, x: Float[Tensor, "B T D"], change: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Add what ``f`` gave."""
        # excerpt: add and norm
        return self.norm(x + self.dropout(change))
        # end excerpt


class PreNorm(nn.Module):
    """Residual with the norm inside: ``x + dropout(f(LayerNorm(x)))`` (Xiong et al. 2020).

    Called as `PostNorm` is. The sum itself is never normalised: gradients reach the first layer unchanged
    and training needs no warm-up, but a stack needs one more norm at its end.
    https://arxiv.org/abs/2002.04745
    """

    end: type[nn.Module] = nn.LayerNorm

    def __init__(self, width: int, dropout: float, eps: float = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Prepare what ``f`` is given."""
        return self.norm(x)

    def leave(self, x: Float[Tensor, "B T D"], change: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Add what ``f`` gave."""
        return x + self.dropout(change)


class FeedForward(nn.Module):
    """Two linear maps with an activation between them, at every position alike (section 3.3, eq. 2).

    ``FFN(x) = max(0, x W_1 + b_1) W_2 + b_2``

    Parameters
    ----------
    width : int
        D, the width of its input and output.
    hidden : int
        F, the width between the maps; four times D in the source.
    activation : callable
        `torch.relu` in the source, `torch.nn.functional.gelu` in BERT.
    """

    def __init__(self, width: int, hidden: int, activation: Activation = torch.relu) -> None:
        super().__init__()
        if hidden < 1:
            raise ValueError(f"hidden must be at least 1, got {hidden}")
        self.wide = nn.Linear(width, hidden)
        self.narrow = nn.Linear(hidden, width)
        self.activation = activation

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Map every position by itself."""
        # excerpt: feed forward
        return self.narrow(self.activation(self.wide(x)))  # D -> F -> D
        # end excerpt


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes of an encoder or a decoder; the defaults are the source's base model (table 3).

    Raises `ValueError` if a size is below 1, the width is no multiple of the heads, or the dropout is no
    probability below 1.
    """

    layers: int = 6  # L
    width: int = 512  # D, the source's d_model
    heads: int = 8  # H
    hidden: int = 2048  # F, the source's d_ff
    dropout: float = 0.1  # of the output of each part, and of the attention weights
    activation: Activation = torch.relu  # torch.nn.functional.gelu in BERT
    residual: type[PostNorm] | type[PreNorm] = PostNorm
    eps: float = 1e-5  # added to the variance by the layer norms; 1e-12 in BERT

    def __post_init__(self) -> None:
        check_at_least(self, 1, "layers", "width", "heads", "hidden")
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads={self.heads}, got {self.width}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")


def stack_of(sizes: Any, residual: type[PostNorm] | type[PreNorm]) -> TransformerConfig:
    """Return the configuration of one stack of a system.

    Parameters
    ----------
    sizes
        The system's configuration; ``layers``, ``width``, ``heads``, ``hidden`` and ``dropout`` are taken.
    residual
        Whether norms come after the sums or before the parts.
    """
    return TransformerConfig(
        layers=sizes.layers,
        width=sizes.width,
        heads=sizes.heads,
        hidden=sizes.hidden,
        dropout=sizes.dropout,
        residual=residual,
    )


# Encoder


class EncodedLayer(NamedTuple):
    """What one encoder layer gives: its output (B, T, D) and its self-attention."""

    output: Float[Tensor, "B T D"]
    attention: MultiHeadAttended


class Encoded(NamedTuple):
    """What an encoder gives.

    Attributes
    ----------
    output : (B, T, D)
        The states after the last layer.
    states : L + 1 of (B, T, D)
        What went into the first layer, and what came out of each.
    attention : L of MultiHeadAttended
        Output, weights (B, H, T, T) and heads (B, H, T, C) of each layer's self-attention.
    """

    output: Float[Tensor, "B T D"]
    states: tuple[Float[Tensor, "B T D"], ...]
    attention: tuple[MultiHeadAttended, ...]


class EncoderLayer(nn.Module):
    """Every token looks at all tokens, then thinks by itself (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, dropout, eps = config.width, config.dropout, config.eps
        self.attention = MultiHeadAttention(width, config.heads, dropout)
        self.attention_residual = config.residual(width, dropout, eps)
        self.feed_forward = FeedForward(width, config.hidden, config.activation)
        self.feed_forward_residual = config.residual(width, dropout, eps)

    def forward(
        self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "*#B #T T"] | None = None
    ) -> EncodedLayer:
        """Attend, then feed forward."""
        # excerpt: encoder layer
        inner = self.attention_residual.enter(x)
        attention = self.attention(inner, inner, inner, mask)  # self-attention
        x = self.attention_residual.leave(x, attention.output)  # add and norm

        inner = self.feed_forward_residual.enter(x)
        x = self.feed_forward_residual.leave(x, self.feed_forward(inner))
        # end excerpt
        return EncodedLayer(x, attention)


class Encoder(nn.Module):
    """A stack of encoder layers (section 3.1).

    Parameters
    ----------
    config : TransformerConfig
        Its sizes.
    generator : torch.Generator, optional
        Draws the first weights, see `initialise`.

    Notes
    -----
    All attention weights are returned, so that B * H * T * T numbers a layer stay in memory until the result
    is let go.
    """

    def __init__(self, config: TransformerConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.end = config.residual.end(config.width, eps=config.eps)
        initialise(self, generator)

    def forward(self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "*#B #T T"] | None = None) -> Encoded:
        """Encode vectors to which positions were added.

        Parameters
        ----------
        x : (B, T, D)
            Embedded tokens with their positions.
        mask : (B, 1, T), (B, T, T) or (T, T), optional
            True where a token may be attended to, as `padding_mask` gives it.

        Returns
        -------
        Encoded
        """
        states, attention = [x], []
        for layer in self.layers:
            x, attended = layer(x, mask)
            states.append(x)
            attention.append(attended)
        return Encoded(self.end(x), tuple(states), tuple(attention))


def initialise(module: nn.Module, generator: torch.Generator | None = None) -> None:
    """Draw every linear map of a module anew: weights by Glorot's uniform rule, biases zero.

    Parameters
    ----------
    module : nn.Module
        Anything that holds `torch.nn.Linear`; all else stays as it is.
    generator : torch.Generator, optional
        Draws the weights; without one they come from PyTorch's global generator.

    Notes
    -----
    The source does not say how it starts; its published code uses this rule (Glorot and Bengio 2010), as do
    `torch.nn.Transformer` and most that followed.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight, generator=generator)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
