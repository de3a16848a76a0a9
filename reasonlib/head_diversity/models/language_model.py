"""A language model: a Transformer without an encoder, which predicts the next word.

Source: Yun (2022), section 4.5.1: two layers, width 256, four heads; Vaswani et al. (2017) for the layers.

Axes: B windows, T tokens, D width, V vocabulary.

::

    tokens --> embedding + position --> L layers of masked self-attention --> embedding^T --> logits over V
"""

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.nn import (
    Encoder,
    MultiHeadAttended,
    PreNorm,
    ScaledEmbedding,
    TransformerConfig,
    causal_mask,
    initialise,
)
from reasonlib.training import seeded

__all__ = ["LanguageModel", "LanguageModelConfig", "Predicted", "prediction_loss"]


@dataclass(frozen=True, kw_only=True)
class LanguageModelConfig:
    """Sizes of a language model; the defaults are the source's, where it prints them.

    Raises `ValueError` if a size is out of range.
    """

    vocabulary: int  # V
    width: int = 256  # D
    layers: int = 2
    heads: int = 4  # H
    hidden: int = 1024  # of the feed-forward layers; the source prints none
    dropout: float = 0.1  # the source prints none
    longest: int = 512  # tokens of a window

    def __post_init__(self) -> None:
        if self.vocabulary < 1 or self.longest < 1:
            raise ValueError(
                f"vocabulary and longest must be at least 1, got {self.vocabulary} and {self.longest}"
            )
        _ = self.stack

    @property
    def stack(self) -> TransformerConfig:
        """Sizes of the layers; norms come first in each part."""
        return TransformerConfig(
            layers=self.layers,
            width=self.width,
            heads=self.heads,
            hidden=self.hidden,
            dropout=self.dropout,
            residual=PreNorm,
        )


class Predicted(NamedTuple):
    """Logits (B, T, V) of the word after each, and the attention of each layer."""

    logits: Float[Tensor, "B T V"]
    attention: tuple[MultiHeadAttended, ...]


class LanguageModel(nn.Module):
    """Predict each word from those before it.

    Parameters
    ----------
    config : LanguageModelConfig
        Its sizes.
    seed : int
        Draws the first weights.

    Notes
    -----
    Input and output share one embedding (Press and Wolf 2017).
    """

    def __init__(self, config: LanguageModelConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with seeded(seed):
            self.embedding = ScaledEmbedding(config.vocabulary, config.width, config.longest, config.dropout)
            self.layers = Encoder(config.stack)
            initialise(self.layers)

    def forward(self, tokens: Int[Tensor, "B T"]) -> Predicted:
        """Score the word after each token."""
        encoded = self.layers(self.embedding(tokens), causal_mask(tokens.shape[1], device=tokens.device))
        return Predicted(self.embedding.logits(encoded.output), encoded.attention)


def prediction_loss(model: LanguageModel, windows: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of every word of windows but the first (nats a word)."""
    logits = model(windows[:, :-1]).logits
    return functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
