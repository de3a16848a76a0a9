"""A small encoder-decoder that describes a frame in words, in the manner of MMT (Lei et al. 2020, TVR).

::

    regions (N, R, D) -> linear -> Transformer encoder -> memory
                    <s> large red cube moves -> decoder -> left and pushes ball </s>

The source passes MMT's captions to STAGE as one more text stream, to lessen the text bias (section 5.3.2).

Axes: N frames, R regions, D features, U words of a caption, H width, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.modality_alignment.data.encoding import END, START
from reasonlib.nn import Decoded, Decoder, DecodingState, Encoder, PreNorm, SinusoidalPositions, stack_of
from reasonlib.nn.decoding import best, greedy
from reasonlib.training.devices import seeded
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["Captioner", "CaptionerConfig", "FrameBatch", "caption_loss", "describe"]


@dataclass(frozen=True, kw_only=True)
class CaptionerConfig:
    """Sizes of the captioner; MMT has 2 layers, 12 heads and width 768."""

    vocabulary: int
    features: int  # D
    width: int = 64  # H
    layers: int = 1  # of the encoder and of the decoder
    heads: int = 4
    hidden: int = 128
    dropout: float = 0.0
    longest: int = 16  # words of a caption, its end included


class FrameBatch(NamedTuple):
    """Frames and their captions; `words` begins with the start, `target` ends with the end."""

    regions: Float[Tensor, "N R D"]
    mask: Bool[Tensor, "N R"]
    words: Int[Tensor, "N U"]
    target: Int[Tensor, "N U"]


class Captioner(nn.Module):
    """Read the regions of a frame, write a caption.

    `config` gives its sizes, `seed` draws its first weights.
    """

    def __init__(self, config: CaptionerConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        stack = stack_of(config, PreNorm)
        with seeded(seed):
            self.regions = nn.Linear(config.features, config.width)
            self.order = nn.Embedding(8, config.width)  # the number of a region, at most 8
            self.words = nn.Embedding(config.vocabulary, config.width, padding_idx=0)
            self.encoder, self.decoder = Encoder(stack), Decoder(stack)
            self.output = nn.Linear(config.width, config.vocabulary)
        self.positions = SinusoidalPositions(config.longest + 1, config.width)

    def encode(self, regions: Float[Tensor, "N R D"], mask: Bool[Tensor, "N R"]) -> DecodingState:
        """Read frames.

        Raises
        ------
        ValueError
            If a frame has more than 8 regions.
        """
        if regions.shape[1] > len(self.order.weight):
            raise ValueError(
                f"a frame must have at most {len(self.order.weight)} regions, got {regions.shape[1]}"
            )
        x = self.regions(regions) + self.order.weight[: regions.shape[1]]
        return DecodingState(self.encoder(x, mask.unsqueeze(1)).output, mask.unsqueeze(1))

    def decode(self, words: Int[Tensor, "N U"], state: DecodingState) -> Decoded:
        """Run the decoder over words, from where `state` ends."""
        x = self.words(words) + self.positions(words.shape[1], state.length)
        return self.decoder(x, state.memory, memory_mask=state.mask, past=state.past)

    def forward(self, batch: FrameBatch) -> Float[Tensor, "N U V"]:
        """Give the logits of each next word."""
        return self.output(self.decode(batch.words, self.encode(batch.regions, batch.mask)).output)

    def begin(self, frames: FrameBatch) -> DecodingState:
        """Read frames once, ready to be described word by word."""
        return self.encode(frames.regions, frames.mask)

    def advance(
        self, state: DecodingState, tokens: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, "N V"], DecodingState]:
        """Take one more word of each caption and give the log-probability (nats) of every next one."""
        decoded = self.decode(tokens.unsqueeze(1), state)
        return self.output(decoded.output[:, -1]).log_softmax(-1), state._replace(past=decoded.past)


def caption_loss(model: Captioner, batch: FrameBatch) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the words, in nats."""
    return functional.cross_entropy(model(batch).flatten(0, 1), batch.target.flatten(), ignore_index=0)


@torch.no_grad()
def describe(
    model: Captioner,
    regions: Float[Tensor, "B F R D"],
    mask: Bool[Tensor, "B F R"],
    vocabulary: Vocabulary,
    *,
    size: int = 500,
) -> list[list[str]]:
    """Write a caption for each frame of each clip, by greedy decoding.

    Returns
    -------
    list of list of str
        Captions of the frames of each clip; an empty frame has an empty caption.
    """
    model.eval()
    flat, present = regions.flatten(0, 1), mask.flatten(0, 1)
    captions: list[str] = []
    for start in range(0, len(flat), size):
        part, seen = flat[start : start + size], present[start : start + size]
        empty = torch.zeros(len(part), 1, dtype=torch.long)
        written = greedy(
            model, _Sized(part, seen, empty, empty), longest=model.config.longest, start=START, end=END
        )
        texts: Sequence[tuple[int, ...]] = best(written, end=END)
        captions += [
            " ".join(vocabulary.decode(ids)) if any_region else ""
            for ids, any_region in zip(texts, seen.any(1).tolist(), strict=True)
        ]
    frames = regions.shape[1]
    return [captions[row : row + frames] for row in range(0, len(captions), frames)]


class _Sized(FrameBatch):
    """Frames whose length is their number, as decoding needs it."""

    def __len__(self) -> int:
        return len(self.regions)
