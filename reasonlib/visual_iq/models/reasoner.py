"""The reasoner: entities make up panels, panels make up rows, and a Transformer encoder reads each.

Source: An (2021), "Towards mastering complex reasoning with Transformers", sections 3.2.2 and 3.2.3,
eq. 3.1 to 3.5, figures 3.5 to 3.9.

::

    each attribute by itself, with the same weights                                all attributes together

    entities  --> entity encoder --> sum --> panel + segments --> panel encoder --> [;] --> contrast --> MLP
    + places      eq. 3.1            3.2     row, item, kind      eq. 3.3           3.4     eq. 3.5
    (U, S, D)                        (U, D)  (B V, T, D)          (B V, T, D)       (B, C, V D)         (B, C)

Axes: B problems, P 16 panels, C 8 candidates, V 5 streams, U different sequences of S slots, D width,
T tokens of the panel encoder: 8 context panels, 2 separators and 8 candidates, H heads.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.arguments import check_at_least, check_choice
from reasonlib.nn.transformer import Encoder, EncoderLayer, TransformerConfig, initialise
from reasonlib.visual_iq.data.encoding import STREAMS, TOKEN_COUNTS, TokenBatch, TokenSequences
from reasonlib.visual_iq.data.example import CONTEXT, PANELS, POSITIONS
from reasonlib.visual_iq.models.contrast import LOSSES, Contrast, choice_loss

__all__ = ["Reasoner", "ReasonerConfig", "ReasonerOutput", "encode_fused"]

CANDIDATES = PANELS - CONTEXT


@dataclass(frozen=True, kw_only=True)
class ReasonerConfig:
    """Sizes and parts of the reasoner; the defaults are the source's (section 3.3.2).

    Raises `ValueError` if a size is out of range or the loss unknown.
    """

    width: int = 32  # D
    hidden: int = 64  # of the feed-forward layers of both encoders
    entity_layers: int = 2  # 0: panels are plain sums of embeddings (table 3.3)
    entity_heads: int = 2
    panel_layers: int = 4  # 0: candidates never see a context panel (table 3.3)
    panel_heads: int = 4
    contrast: bool = True
    separators: bool = True
    context: bool = True  # False: only the eight candidates are shown
    loss: str = "bce"  # or ce
    output: int = 64  # hidden width of the output MLP; the source gives none
    dropout: float = 0.0  # the source gives none

    def __post_init__(self) -> None:
        check_at_least(self, 0, "entity_layers", "panel_layers")
        check_at_least(self, 1, "output")
        check_choice("loss", self.loss, LOSSES)
        for layers, heads in ((1, self.entity_heads), (1, self.panel_heads)):  # it checks the rest
            self._encoder(layers, heads)

    def _encoder(self, layers: int, heads: int) -> TransformerConfig:
        return TransformerConfig(
            layers=layers, width=self.width, heads=heads, hidden=self.hidden, dropout=self.dropout
        )

    @property
    def entity(self) -> TransformerConfig:
        """Sizes of the entity encoder."""
        return self._encoder(self.entity_layers, self.entity_heads)

    @property
    def panel(self) -> TransformerConfig:
        """Sizes of the panel encoder."""
        return self._encoder(self.panel_layers, self.panel_heads)


class ReasonerOutput(NamedTuple):
    """What the reasoner gives.

    Attributes
    ----------
    logits : (B, C)
        One number for each candidate: the larger, the better it completes the matrix.
    attention : one (B, V, H, T, T) for each panel layer
        Where each token of the panel encoder looked, in each stream. Empty unless asked for.
    """

    logits: Float[Tensor, "B C"]
    attention: tuple[Float[Tensor, "B V H T T"], ...]


def encode_fused(encoder: Encoder, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    """Give the output of `encoder` alone, by PyTorch's fused attention: the same numbers in less time.

    The weights of attention never come to lie in memory.
    """
    for layer in cast(Iterable[EncoderLayer], encoder.layers):
        attention = layer.attention
        inner = layer.attention_residual.enter(x)
        weight = torch.cat((attention.query.weight, attention.key.weight, attention.value.weight))
        bias = torch.cat((attention.query.bias, attention.key.bias, attention.value.bias))
        split = functional.linear(inner, weight, bias).unflatten(-1, (3, attention.heads, -1))
        query, key, value = split.permute(2, 0, 3, 1, 4)  # each (B, H, T, C)
        dropout = attention.dropout if attention.training else 0.0
        heads = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
        x = layer.attention_residual.leave(x, attention.output(heads.transpose(1, 2).flatten(2)))
        inner = layer.feed_forward_residual.enter(x)
        x = layer.feed_forward_residual.leave(x, layer.feed_forward(inner))
    return encoder.end(x)


class PanelEmbedding(nn.Module):
    """Entity feature extraction: one vector for each panel and stream (eq. 3.1 and 3.2, figure 3.5).

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: ReasonerConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.tokens = nn.Embedding(sum(TOKEN_COUNTS), config.width)
        self.places = nn.Embedding(len(POSITIONS), config.width)
        self.encoder = Encoder(config.entity, generator=generator) if config.entity_layers else None
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=config.width**-0.5, generator=generator)

    def forward(self, sequences: TokenSequences) -> Float[Tensor, "U D"]:
        """Embed different sequences of one length."""
        # excerpt: entities
        # U different sequences of S slots: the level in each slot, and its position
        x = self.tokens(sequences.tokens) + self.places(sequences.places)  # (U, S, D)
        if self.encoder is not None:
            x = encode_fused(self.encoder, x)  # entities attend to each other
        return x.sum(1)  # one vector for each panel: the sum over its slots
        # end excerpt


class Segments(nn.Module):
    """Tell every panel its row, its place in the row and whether it is a candidate (figure 3.6).

    A separator stands between two rows. All candidates stand for the third panel of the third row, and none
    is told from another, so that they may change places.

    Parameters
    ----------
    config
        Width, and whether there are separators and a context.
    """

    def __init__(self, config: ReasonerConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.context = config.context
        self.row = nn.Parameter(torch.empty(3, config.width))
        self.item = nn.Parameter(torch.empty(3, config.width))
        self.kind = nn.Parameter(torch.empty(2, config.width))  # context, candidate
        self.separator = nn.Parameter(torch.empty(config.width)) if config.separators else None
        for table in self.parameters():
            nn.init.normal_(table, std=config.width**-0.5, generator=generator)

    def forward(self, panels: Float[Tensor, "B V P D"]) -> Float[Tensor, "B V T D"]:
        """Add the segments' embeddings and put in the separators."""
        # excerpt: segments
        # each of the nine cells of the matrix: its row plus its column
        cell = (self.row[:, None] + self.item).flatten(0, 1)  # (9, D)
        # all candidates stand in the last cell
        candidates = panels[:, :, CONTEXT:] + (cell[8] + self.kind[1])
        # end excerpt
        if not self.context:
            return candidates
        # excerpt: segments
        context = panels[:, :, :CONTEXT] + (cell[:CONTEXT] + self.kind[0])
        # end excerpt
        if self.separator is None:
            return torch.cat((context, candidates), 2)
        # excerpt: segments
        between = self.separator.expand(*context.shape[:2], 1, -1)  # a separator
        first, second, third = (
            context[:, :, :3],
            context[:, :, 3:6],
            context[:, :, 6:],  # the two panels of the third row
        )
        return torch.cat((first, between, second, between, third, candidates), 2)
        # end excerpt


class Reasoner(nn.Module):
    """Choose the candidate that completes the matrix (section 3.2.2 and 3.2.3).

    Parameters
    ----------
    config
        Sizes and parts.
    seed
        Draws the first weights.
    """

    def __init__(self, config: ReasonerConfig | None = None, *, seed: int = 0) -> None:
        super().__init__()
        config = ReasonerConfig() if config is None else config
        generator = torch.Generator().manual_seed(seed)
        self.config = config
        self.panel = PanelEmbedding(config, generator)
        self.segments = Segments(config, generator)
        self.encoder = Encoder(config.panel, generator=generator) if config.panel_layers else None
        joined = len(STREAMS) * config.width
        self.contrast = (
            Contrast(nn.Sequential(nn.Linear(joined, joined), nn.ReLU(), nn.Linear(joined, joined)))
            if config.contrast
            else nn.Identity()
        )
        self.output = nn.Sequential(nn.Linear(joined, config.output), nn.ReLU(), nn.Linear(config.output, 1))
        initialise(self.contrast, generator)
        initialise(self.output, generator)

    def embed(self, batch: TokenBatch) -> Float[Tensor, "B V P D"]:
        """Embed every panel in every stream, each different sequence once."""
        panels = torch.cat([self.panel(sequences) for sequences in batch.sequences])  # (U, D)
        index = batch.index.transpose(1, 2)  # (B, V, P)
        return functional.embedding(index, panels)

    def forward(self, batch: TokenBatch, *, attention: bool = False) -> ReasonerOutput:
        """Give every candidate a number, and on demand where the panel encoder looked."""
        x = self.segments(self.embed(batch))  # (B, V, T, D)
        problems, streams = x.shape[:2]
        weights: tuple[Tensor, ...] = ()
        if self.encoder is not None:
            tokens = x.flatten(0, 1)  # every stream by itself
            if attention:
                encoded = self.encoder(tokens)
                tokens = encoded.output
                weights = tuple(
                    layer.weights.unflatten(0, (problems, streams)) for layer in encoded.attention
                )
            else:
                tokens = encode_fused(self.encoder, tokens)
            x = tokens.unflatten(0, (problems, streams))
        # excerpt: answer
        candidates = x[:, :, -CANDIDATES:]  # (B, V, C, D), as encoded
        # the streams of a candidate end to end, then the contrast
        features = self.contrast(candidates.transpose(1, 2).flatten(2))  # (B, C, V D)
        # end excerpt
        return ReasonerOutput(self.output(features).squeeze(-1), weights)

    def loss(self, batch: TokenBatch) -> Float[Tensor, ""]:
        """Loss of a batch: binary cross-entropy of each candidate, or cross-entropy (section 3.2.3)."""
        return choice_loss(self(batch).logits, batch.target, self.config.loss)
