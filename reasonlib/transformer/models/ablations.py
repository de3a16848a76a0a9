"""Take one part out of a Transformer and leave all else as it was, to see what the part is for.

    model = without(Translator(config), "positions")

Every entry of `PARTS` is a few lines on the parts of `reasonlib.nn`: nothing there knows that it can be taken
away. Sizes, first weights and training stay the same; only the one part is gone. A part is taken out before
training, so that the model may learn to do without it if that can be done.

Axes: B sequences, T tokens, S tokens of the memory, D width.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.arguments import check_choice
from reasonlib.nn import (
    Decoded,
    Decoder,
    DecoderLayer,
    Encoded,
    Encoder,
    EncoderLayer,
    MultiHeadAttention,
    Past,
    PostNorm,
    PreNorm,
)

__all__ = [
    "PARTS",
    "IsolatedEncoder",
    "NoCausalMask",
    "NoFeedForward",
    "NoMemoryAttention",
    "NoPositions",
    "NoResidual",
    "Scale",
    "without",
]


class NoPositions(nn.Module):
    """In the place of positions: zeros, wherever a token stands."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "T D"]:
        """Rows of zeros."""
        # excerpt: no positions
        return torch.zeros(length, self.width)  # every position is the same
        # end excerpt


class NoFeedForward(nn.Module):
    """In the place of a feed-forward layer: it adds nothing to what it is given."""

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Zeros."""
        return torch.zeros_like(x)


class NoResidual(nn.Module):
    """In the place of a residual: ``LayerNorm(f(x))``, what was given is let go.

    Parameters
    ----------
    residual : PostNorm or PreNorm
        The `PostNorm` or `PreNorm` that it replaces; its norm is kept.
    """

    def __init__(self, residual: PostNorm | PreNorm) -> None:
        super().__init__()
        self.norm = residual.norm

    def enter(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Prepare what ``f`` is given."""
        return x

    def leave(self, x: Float[Tensor, "B T D"], change: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Keep only what ``f`` gave."""
        # excerpt: no residual
        return self.norm(change)  # the input x is dropped
        # end excerpt


class Scale(nn.Module):
    """Multiply by a number."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Multiply."""
        return x * self.factor


class IsolatedEncoder(nn.Module):
    """In the place of an encoder whose tokens see each other: each sees itself only."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "*#B #T T"] | None = None) -> Encoded:
        """Encode every token by itself."""
        return self.encoder(x, torch.eye(x.shape[1], dtype=torch.bool, device=x.device))


class NoMemoryAttention(nn.Module):
    """In the place of a decoder that reads the memory: it sees what it has written, and nothing else."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        past: tuple[Past, ...] | None = None,
    ) -> Decoded:
        """Decode with every memory hidden."""
        hidden = torch.zeros(1, memory.shape[1], dtype=torch.bool, device=x.device)
        return self.decoder(x, memory, mask, hidden, past)


class NoCausalMask(nn.Module):
    """In the place of a decoder with a causal mask: every token sees all that is given, later ones too."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        past: tuple[Past, ...] | None = None,
    ) -> Decoded:
        """Decode without the causal mask."""
        return self.decoder.decode(x, memory, mask, memory_mask, past)


# One part a function: changes the model in place ------------------------------------------------------------


def _positions(model: Any) -> None:
    model.positions = NoPositions(model.config.width)


def _scale(model: Any) -> None:
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            part.add_module("query", nn.Sequential(part.query, Scale(math.sqrt(part.width // part.heads))))


def _feed_forward(model: Any) -> None:
    for part in model.modules():
        if isinstance(part, EncoderLayer | DecoderLayer):
            part.add_module("feed_forward", NoFeedForward())


def _residual(model: Any) -> None:
    for part in model.modules():
        if isinstance(part, EncoderLayer | DecoderLayer):
            for name, child in list(part.named_children()):
                if isinstance(child, PostNorm | PreNorm):
                    setattr(part, name, NoResidual(child))


def _self_attention(model: Any) -> None:
    model.encoder = IsolatedEncoder(model.encoder)


def _memory_attention(model: Any) -> None:
    model.decoder = NoMemoryAttention(_decoder(model))


def _causal_mask(model: Any) -> None:
    model.decoder = NoCausalMask(_decoder(model))


def _decoder(model: Any) -> Any:
    if not hasattr(model, "decoder"):
        raise ValueError(f"{type(model).__name__} has no decoder to take a part from")
    return model.decoder


PARTS: Mapping[str, Callable[[nn.Module], None]] = {
    "positions": _positions,
    "scale": _scale,
    "feed-forward": _feed_forward,
    "residual": _residual,
    "self-attention": _self_attention,
    "memory-attention": _memory_attention,
    "causal-mask": _causal_mask,
}
"""What can be taken out of a translator; of a tagger, all but the last two."""


def without(model: nn.Module, part: str) -> nn.Module:
    """Take a part out of a model, in place, and return the model.

    Parameters
    ----------
    model
        A `Translator` or a `Tagger`, freshly made.
    part
        A key of `PARTS`.

    Raises
    ------
    ValueError
        If there is no such part, or the model does not have it.
    """
    check_choice("part", part, PARTS)
    PARTS[part](model)
    return model
