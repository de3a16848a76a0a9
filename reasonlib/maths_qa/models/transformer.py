r"""The character Transformer that reads a question and writes its answer (section 5.2.2, figure 5.4).

Source: An (2021), chapter 5, after Saxton et al. (2019); the Transformer is that of Vaswani et al. (2017).

Axes: B problems, S characters of the question, U of the answer, T of any sequence, D width, V vocabulary.

::

    question --> embedding --> encoder --> memory (B, S, D)
                                             |
    [SOS] answer --> embedding --> decoder <-'  --> output --> logits (B, U, V)

The embedding of a character is the sum of three: of the character, of its segment (question or answer) and of
its position, which counts from 0 in each segment (figure 5.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.maths_qa.data.encoding import PLACES, Batch, Joined, place_values
from reasonlib.maths_qa.data.vocabulary import SIZE
from reasonlib.maths_qa.models import fused
from reasonlib.nn import (
    Decoded,
    Decoder,
    Encoder,
    LearnedPositions,
    MultiHeadAttended,
    Past,
    PostNorm,
    PreNorm,
    SinusoidalPositions,
    TransformerConfig,
    initialise,
    padding_mask,
    stack_of,
)
from reasonlib.training import seeded

__all__ = ["InputEmbedding", "Progress", "Solved", "Solver", "SolverConfig", "answer_loss"]

QUESTION, ANSWER = 0, 1  # segments


@dataclass(frozen=True, kw_only=True)
class SolverConfig:
    """Sizes; the defaults are the source's (section 5.3.2).

    Raises
    ------
    ValueError
        If a size is below 1, the width is odd or no multiple of the heads, or a choice is unknown.
    """

    width: int = 512  # D
    layers: int = 4  # of the encoder, and again of the decoder
    heads: int = 8
    hidden: int = 2048  # of the feed-forward layers
    dropout: float = 0.0  # the source prints none, and no question comes twice often
    positions: str = "learned"  # learned | sinusoidal
    norm: str = "post"  # post | pre; where the layer norm stands in each part
    # whether digits of questions are also given their place value; not the source's
    place_values: bool = False
    longest: int = 162  # positions of a segment: 160 characters of a question; [SOS], 30 and [EOS] fit too
    vocabulary: int = SIZE  # V

    def __post_init__(self) -> None:
        if self.positions not in ("learned", "sinusoidal"):
            raise ValueError(f"positions must be learned or sinusoidal, got {self.positions!r}")
        if self.norm not in ("post", "pre"):
            raise ValueError(f"norm must be post or pre, got {self.norm!r}")
        if self.width % 2:
            raise ValueError(f"width must be even, got {self.width}")
        if self.longest < 1 or self.vocabulary < 1:
            raise ValueError(
                f"longest and vocabulary must be at least 1, got {self.longest} and {self.vocabulary}"
            )
        _ = self.stack

    @property
    def stack(self) -> TransformerConfig:
        """Sizes of one stack of layers."""
        return stack_of(self, PostNorm if self.norm == "post" else PreNorm)


class InputEmbedding(nn.Module):
    """Sum of the embeddings of a character, its segment and its position (figure 5.3).

    Parameters
    ----------
    config : SolverConfig
        Its width, vocabulary and kind of positions.
    """

    def __init__(self, config: SolverConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.segments = nn.Embedding(2, config.width)
        self.positions: LearnedPositions | SinusoidalPositions
        if config.positions == "learned":
            self.positions = LearnedPositions(config.longest, config.width)
        else:
            self.positions = SinusoidalPositions(config.longest, config.width)
        self.places = nn.Embedding(PLACES, config.width) if config.place_values else None
        # Embeddings begin at N(0, 1), as large as what the first layers add to them: with the N(0, 0.02) of
        # BERT, positions are lost in the sums of a network with few layers.
        if config.positions == "learned":
            nn.init.normal_(self.positions.table)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, joined: Joined) -> Float[Tensor, "B T D"]:
        """Embed questions joined with their answers."""
        tokens, segments, positions, places = joined
        # excerpt: embedding
        x = self.tokens(tokens) + self.segments(segments)
        x = x + self.positions.table[positions]
        # end excerpt
        if self.places is not None:
            x = x + self.places(places)
        return self.dropout(x)

    def segment(self, tokens: Int[Tensor, "B T"], number: int, start: int = 0) -> Float[Tensor, "B T D"]:
        """Embed tokens of one segment, with positions counted from `start`."""
        count = tokens.shape[1]
        x = self.tokens(tokens) + self.segments.weight[number] + self.positions(count, start)
        if self.places is not None:
            # An answer is written from its first digit on: nobody knows yet how many will follow.
            x = x + self.places(place_values(tokens) * (number == QUESTION))
        return self.dropout(x)


class Solved(NamedTuple):
    """What a solver gives while the answer is known.

    Attributes
    ----------
    logits : (B, U, V)
        Of each character of the answer, given those before it.
    attention : (B, U, S)
        Where the decoder looked in the question for each character, mean over heads and layers.
    """

    logits: Float[Tensor, "B U V"]
    attention: Float[Tensor, "B U S"]


class Progress(NamedTuple):
    """Where the writing of answers stands; see `reasonlib.nn.decoding`.

    Attributes
    ----------
    memory, mask : (B, S, D), (B, 1, S)
        What the encoder made of the questions, and True at characters.
    past
        Keys and values of what was written; None at the beginning.
    attention : (B, S)
        Where the decoder looked for the last character.
    """

    memory: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B 1 S"]
    past: tuple[Past, ...] | None = None
    attention: Float[Tensor, "B S"] | None = None

    def select(self, rows: Int[Tensor, " N"]) -> "Progress":
        """Keep these answers, in this order; one may be named twice."""
        past = None if self.past is None else tuple(layer.select(rows) for layer in self.past)
        attention = None if self.attention is None else self.attention[rows]
        return Progress(self.memory[rows], self.mask[rows], past, attention)


class Solver(nn.Module):
    """Read questions, write answers.

    Parameters
    ----------
    config : SolverConfig
        Its sizes.
    seed : int
        Draws the first weights: Xavier-uniform, as in the source (section 5.3.2).

    Notes
    -----
    The source says that the input representation of pre-training is used again, and not whether encoder and
    decoder share it. Here they share one embedding, because pre-training fills in both of its segments.
    """

    def __init__(self, config: SolverConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with seeded(seed):
            self.embedding = InputEmbedding(config)
            self.encoder = Encoder(config.stack)
            self.decoder = Decoder(config.stack)
            self.output = nn.Linear(config.width, config.vocabulary)
            initialise(self.output)

    def encode(self, question: Int[Tensor, "B S"]) -> Progress:
        """Read questions."""
        mask = padding_mask(question)
        memory = self.encoder(self.embedding.segment(question, QUESTION), mask).output
        return Progress(memory, mask)

    def decode(self, given: Int[Tensor, "B U"], progress: Progress) -> Decoded:
        """Run the decoder over characters of answers, from where `progress` stands."""
        start = 0 if progress.past is None else progress.past[0].length
        x = self.embedding.segment(given, ANSWER, start)
        return self.decoder(x, progress.memory, memory_mask=progress.mask, past=progress.past)

    def forward(self, batch: Batch) -> Solved:
        """Score the answers of a batch."""
        # excerpt: solver
        progress = self.encode(batch.question)  # (B, S, D)
        decoded = self.decode(batch.given, progress)  # (B, U, D)
        logits = self.output(decoded.output)  # (B, U, V)
        # end excerpt
        return Solved(logits, _mean(decoded.memory_attention))

    def scores(self, batch: Batch) -> Float[Tensor, "B U V"]:
        """Return the logits of `forward` without its attention: faster, for training."""
        mask = padding_mask(batch.question)
        memory = fused.encode(self.encoder, self.embedding.segment(batch.question, QUESTION), mask)
        written = self.embedding.segment(batch.given, ANSWER)
        return self.output(fused.decode(self.decoder, written, memory, mask))

    def begin(self, question: Int[Tensor, "B S"]) -> Progress:
        """Read questions once, ready to be answered character by character."""
        return self.encode(question.to(self.output.weight.device))

    def advance(self, progress: Progress, tokens: Int[Tensor, " B"]) -> tuple[Float[Tensor, "B V"], Progress]:
        """Take one more character of each answer and give the log-probability (nats) of every next one."""
        decoded = self.decode(tokens.unsqueeze(1).to(progress.memory.device), progress)
        scores = self.output(decoded.output[:, -1]).log_softmax(-1).cpu()
        attention = _mean(decoded.memory_attention)[:, -1]
        return scores, progress._replace(past=decoded.past, attention=attention)


def _mean(attention: Sequence[MultiHeadAttended]) -> Float[Tensor, "B U S"]:
    return torch.stack([layer.weights.detach().mean(1) for layer in attention]).mean(0)


def answer_loss(model: Any, batch: Batch) -> Tensor:
    """Return the mean cross-entropy of the characters of the answers (nats), padding left out."""
    logits = model.scores(batch)
    return functional.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=0)
