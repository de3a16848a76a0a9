r"""The whole Transformer, small: tokens in, tokens out (Vaswani et al. 2017, figure 1).

Source: Vaswani et al. (2017), "Attention Is All You Need", sections 3.1, 3.4 and 3.5.
https://arxiv.org/abs/1706.03762

Axes: B sequences, S source tokens, T target tokens, D width, V tokens known.

::

    source --> embed + positions --> encoder --> memory
                                                   |
    given  --> embed + positions --> decoder <-----'  --> states --> the same embedding --> logits over V

What is built here is whole. `reasonlib.transformer.models.ablations.without` takes single parts out of it.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from reasonlib.arguments import check_at_least, check_choice
from reasonlib.nn import (
    Decoded,
    Decoder,
    DecodingState,
    Encoded,
    Encoder,
    LearnedPositions,
    PostNorm,
    PreNorm,
    SinusoidalPositions,
    TransformerConfig,
    padding_mask,
    stack_of,
)
from reasonlib.training import seeded

__all__ = ["Tagger", "TaggerOutput", "Translator", "TranslatorConfig", "TranslatorOutput"]

POSITIONS = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}
RESIDUALS: dict[str, type[PostNorm] | type[PreNorm]] = {"post": PostNorm, "pre": PreNorm}


@dataclass(frozen=True, kw_only=True)
class TranslatorConfig:
    """Sizes of a small encoder-decoder, or of an encoder alone.

    Raises `ValueError` if a size is below 1, the width is odd or no multiple of the heads, or a name is
    unknown.
    """

    vocabulary: int  # V, padding being 0, the start 1 and the end 2
    longest: int = 64  # tokens in a source or a target
    layers: int = 2  # L, in the encoder and again in the decoder
    width: int = 32  # D
    heads: int = 4  # H
    hidden: int = 64  # F
    positions: str = "sinusoidal"  # or "learned"
    norm: str = "post"  # or "pre"
    dropout: float = 0.0  # 0.1 in the source; the tasks are small and training is short

    def __post_init__(self) -> None:
        check_at_least(self, 1, "vocabulary", "longest", "layers", "width", "heads", "hidden")
        check_choice("positions", self.positions, POSITIONS)
        check_choice("norm", self.norm, RESIDUALS)

    @property
    def stack(self) -> TransformerConfig:
        """Sizes of one stack of layers."""
        return stack_of(self, RESIDUALS[self.norm])


class TranslatorOutput(NamedTuple):
    """What a translator gives.

    Attributes
    ----------
    logits : (B, T, V)
        Of the token after each given one.
    encoded, decoded : Encoded, Decoded
        States and attention of every layer.
    """

    logits: Float[Tensor, "B T V"]
    encoded: Encoded
    decoded: Decoded


class Translator(nn.Module):
    """Encoder and decoder over one shared embedding (figure 1 of the source).

    Parameters
    ----------
    config : TranslatorConfig
        Its sizes.
    seed : int
        Draws the first weights.

    Notes
    -----
    As in section 3.4 of the source, one table embeds source and target and gives the logits, and is
    multiplied by the root of the width where it embeds.
    """

    def __init__(self, config: TranslatorConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with seeded(seed):
            self.embedding = nn.Embedding(config.vocabulary, config.width)
            nn.init.normal_(self.embedding.weight, 0.0, config.width**-0.5)
            self.positions: nn.Module = POSITIONS[config.positions](config.longest, config.width)
            self.encoder: nn.Module = Encoder(config.stack)
            self.decoder: nn.Module = Decoder(config.stack)

    def embed(self, tokens: Int[Tensor, "B T"], start: int = 0) -> Float[Tensor, "B T D"]:
        """Look tokens up and add their positions, counted from `start`."""
        scale = math.sqrt(self.config.width)
        return self.embedding(tokens) * scale + self.positions(tokens.shape[1], start)

    def encode(self, source: Int[Tensor, "B S"]) -> Encoded:
        """Read a source."""
        return self.encoder(self.embed(source), padding_mask(source))

    def logits(self, states: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        """Match states with the embedding of every token."""
        return states @ self.embedding.weight.T

    def forward(self, source: Int[Tensor, "B S"], given: Int[Tensor, "B T"]) -> TranslatorOutput:
        """Read a source and score the token after each given one.

        Parameters
        ----------
        source : (B, S)
            Token ids, padded with 0.
        given : (B, T)
            The start, then the answer without its last token: what the decoder is shown while it learns.
        """
        encoded = self.encode(source)
        decoded = self.decoder(self.embed(given), encoded.output, memory_mask=padding_mask(source))
        return TranslatorOutput(self.logits(decoded.output), encoded, decoded)

    def begin(self, source: Int[Tensor, "B S"]) -> DecodingState:
        """Read a source once, ready to be answered token by token."""
        return DecodingState(self.encode(source).output, padding_mask(source))

    def advance(
        self, state: DecodingState, tokens: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B V"], DecodingState]:
        """Take one more token of each answer and score the next.

        Parameters
        ----------
        state : DecodingState
            From `begin`, or from the call before.
        tokens : (B,)
            The last token of each answer; the start at first.

        Returns
        -------
        scores : (B, V)
            Log-probability (nats) of each next token.
        state : DecodingState
            To hand back with the token chosen.
        """
        x = self.embed(tokens.unsqueeze(1), state.length)
        decoded = self.decoder(x, state.memory, memory_mask=state.mask, past=state.past)
        scores = self.logits(decoded.output[:, -1]).log_softmax(-1)
        return scores, state._replace(past=decoded.past)


class TaggerOutput(NamedTuple):
    """What a tagger gives: logits (B, T, V), one answer a token, and what its encoder did."""

    logits: Float[Tensor, "B T V"]
    encoded: Encoded


class Tagger(nn.Module):
    """An encoder that answers at every token, all at once: no decoder.

    Parameters
    ----------
    config : TranslatorConfig
        Its sizes.
    seed : int
        Draws the first weights.
    """

    def __init__(self, config: TranslatorConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with seeded(seed):
            self.embedding = nn.Embedding(config.vocabulary, config.width)
            nn.init.normal_(self.embedding.weight, 0.0, config.width**-0.5)
            self.positions: nn.Module = POSITIONS[config.positions](config.longest, config.width)
            self.encoder: nn.Module = Encoder(config.stack)

    def forward(self, source: Int[Tensor, "B T"]) -> TaggerOutput:
        """Answer at every token.

        Parameters
        ----------
        source : (B, T)
            Token ids, padded with 0.
        """
        scale = math.sqrt(self.config.width)
        x = self.embedding(source) * scale + self.positions(source.shape[1])
        encoded = self.encoder(x, padding_mask(source))
        return TaggerOutput(encoded.output @ self.embedding.weight.T, encoded)
