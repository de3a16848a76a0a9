"""The Transformer's decoder: a stack of layers that looks at what was written and at the encoder's output.

Source: Vaswani et al. (2017), "Attention Is All You Need", section 3.1. https://arxiv.org/abs/1706.03762

The axes are those of `reasonlib.nn.transformer`, where the parts of a layer are.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from .attention import KeyValues, MultiHeadAttended, MultiHeadAttention
from .transformer import FeedForward, TransformerConfig, causal_mask, initialise

__all__ = ["Decoded", "DecodedLayer", "Decoder", "DecoderLayer", "DecodingState", "Past"]


class Past(NamedTuple):
    """What a decoder layer need not compute again for the next token.

    Attributes
    ----------
    own : KeyValues
        Keys and values of all tokens decoded so far.
    memory : KeyValues
        Keys and values of the memory.
    """

    own: KeyValues
    memory: KeyValues

    @property
    def length(self) -> int:
        """Number of tokens decoded so far."""
        return self.own.keys.shape[2]

    def select(self, rows: Tensor) -> "Past":
        """Keep these sequences of the batch, as beam search does with its survivors."""
        return Past(self.own.select(rows), self.memory.select(rows))


class DecodingState(NamedTuple):
    """Where the writing of answers stands, see `reasonlib.nn.decoding`.

    Attributes
    ----------
    memory : (B, S, D)
        The encoder's output.
    mask : (B, 1, S)
        True where the memory may be attended to.
    past : L of Past, or None
        Keys and values of the tokens written; None before the first.
    """

    memory: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B 1 S"]
    past: tuple[Past, ...] | None = None

    @property
    def rows(self) -> int:
        """Number of answers under way."""
        return len(self.memory)

    @property
    def length(self) -> int:
        """Number of tokens written of each answer."""
        return 0 if self.past is None else self.past[0].length

    def select(self, rows: Tensor) -> "DecodingState":
        """Keep these answers, in this order; one may be named twice, as beam search does."""
        past = None if self.past is None else tuple(layer.select(rows) for layer in self.past)
        return DecodingState(self.memory[rows], self.mask[rows], past)


class DecodedLayer(NamedTuple):
    """What one decoder layer gives: output (B, T, D), attention to itself and to the memory, and its past."""

    output: Float[Tensor, "B T D"]
    attention: MultiHeadAttended
    memory_attention: MultiHeadAttended
    past: Past


class Decoded(NamedTuple):
    """What a decoder gives.

    Attributes
    ----------
    output : (B, T, D)
        The states after the last layer.
    states : L + 1 of (B, T, D)
        What went into the first layer, and what came out of each.
    attention : L of MultiHeadAttended
        Each layer's masked self-attention, weights (B, H, T, T).
    memory_attention : L of MultiHeadAttended
        Each layer's attention to the memory, weights (B, H, T, S).
    past : L of Past
        What to hand back to decode the next token.
    """

    output: Float[Tensor, "B T D"]
    states: tuple[Float[Tensor, "B T D"], ...]
    attention: tuple[MultiHeadAttended, ...]
    memory_attention: tuple[MultiHeadAttended, ...]
    past: tuple[Past, ...]


class DecoderLayer(nn.Module):
    """Every token looks at the tokens before it, then at the memory, then thinks by itself (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, dropout, eps = config.width, config.dropout, config.eps
        self.attention = MultiHeadAttention(width, config.heads, dropout)
        self.attention_residual = config.residual(width, dropout, eps)
        self.memory_attention = MultiHeadAttention(width, config.heads, dropout)
        self.memory_attention_residual = config.residual(width, dropout, eps)
        self.feed_forward = FeedForward(width, config.hidden, config.activation)
        self.feed_forward_residual = config.residual(width, dropout, eps)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "*#B #T known"] | None = None,
        memory_mask: Bool[Tensor, "*#B #T S"] | None = None,
        past: Past | None = None,
    ) -> DecodedLayer:
        """Attend to itself, attend to the memory, then feed forward.

        With `past`, ``x`` holds only the tokens that come next, and `mask` covers past and new tokens.
        """
        inner = self.attention_residual.enter(x)
        own = self.attention.project(inner, inner)
        if past is not None:
            own = past.own.then(own)
        attention = self.attention.attend(inner, own, mask)
        x = self.attention_residual.leave(x, attention.output)

        inner = self.memory_attention_residual.enter(x)
        read = self.memory_attention.project(memory, memory) if past is None else past.memory
        memory_attention = self.memory_attention.attend(inner, read, memory_mask)
        x = self.memory_attention_residual.leave(x, memory_attention.output)

        inner = self.feed_forward_residual.enter(x)
        x = self.feed_forward_residual.leave(x, self.feed_forward(inner))
        return DecodedLayer(x, attention, memory_attention, Past(own, read))


class Decoder(nn.Module):
    """A stack of decoder layers, in which no token sees a later one (section 3.1).

    Parameters
    ----------
    config : TransformerConfig
        Its sizes.
    generator : torch.Generator, optional
        Draws the first weights, see `initialise`.
    """

    def __init__(self, config: TransformerConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.end = config.residual.end(config.width, eps=config.eps)
        initialise(self, generator)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "*#B #T known"] | None = None,
        memory_mask: Bool[Tensor, "*#B #T S"] | None = None,
        past: tuple[Past, ...] | None = None,
    ) -> Decoded:
        """Decode vectors to which positions were added; the causal mask is put in here.

        Parameters
        ----------
        x : (B, T, D)
            Embedded tokens with their positions: all of them, or only those after `past`.
        memory : (B, S, D)
            The encoder's output. With `past` its keys and values are taken from there.
        mask : (B, 1, T), (B, T, T) or (T, T), optional
            True where a token may be attended to, as `padding_mask` gives it. With `past`, the last axis
            counts past and new tokens.
        memory_mask : (B, 1, S) or (B, T, S), optional
            True where the memory may be attended to.
        past : L of Past, optional
            What an earlier call returned: decoding goes on from there, one or more tokens at a time.

        Returns
        -------
        Decoded
        """
        before = 0 if past is None else past[0].length
        total = before + x.shape[1]
        seen = causal_mask(x.shape[1], before, device=x.device)  # (T, total)
        if mask is not None:
            if mask.shape[-1] != total:
                raise ValueError(f"mask must cover {total} past and new tokens, got {mask.shape[-1]}")
            seen = seen & mask
        return self.decode(x, memory, seen, memory_mask, past)

    def decode(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "*#B #T total"] | None,
        memory_mask: Bool[Tensor, "*#B #T S"] | None,
        past: tuple[Past, ...] | None,
    ) -> Decoded:
        """Go through the layers with `mask` as it is: what may not be seen must be hidden by it.

        The parameters are those of `forward`.
        """
        states, attention, memory_attention, kept = [x], [], [], []
        for number, layer in enumerate(self.layers):
            decoded = layer(x, memory, mask, memory_mask, None if past is None else past[number])
            x = decoded.output
            states.append(x)
            attention.append(decoded.attention)
            memory_attention.append(decoded.memory_attention)
            kept.append(decoded.past)
        return Decoded(self.end(x), tuple(states), tuple(attention), tuple(memory_attention), tuple(kept))
