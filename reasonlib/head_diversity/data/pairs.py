"""Sentence pairs as batches of token ids, for the translator.

Axes: B pairs, S source tokens, U target tokens. Padding is 0, the start of a translation 1, its end 2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from reasonlib.parallel.example import Document
from reasonlib.parallel.words import END, START, Tokens
from reasonlib.training.batching import LengthBuckets, pad

__all__ = ["EncodedPair", "PairBatch", "encode_pairs", "pair_batches"]

EncodedPair = tuple[tuple[int, ...], tuple[int, ...]]
"""Ids of a source, and of its translation with the end."""


@dataclass(frozen=True)
class PairBatch:
    """Padded sources (B, S) and targets (B, U), each target with its end; its length is B."""

    source: Int[Tensor, "B S"]
    target: Int[Tensor, "B U"]

    def __len__(self) -> int:
        return len(self.source)

    @property
    def given(self) -> Int[Tensor, "B U"]:
        """The target one step later: what the decoder reads while it learns, from the start on."""
        return torch.cat((torch.full_like(self.target[:, :1], START), self.target[:, :-1]), 1)

    def to(self, device: torch.device | str) -> "PairBatch":
        """Move both tensors to a device."""
        return PairBatch(self.source.to(device), self.target.to(device))


def encode_pairs(
    documents: Sequence[Document], tokens: Tokens, *, longest: int | None = None
) -> list[EncodedPair]:
    """Encode every sentence pair of documents, each side cut after `longest` tokens, the end included."""
    room = None if longest is None else longest - 1
    return [
        (tuple(tokens.encode(pair.source)[:longest]), (*tokens.encode(pair.target)[:room], END))
        for document in documents
        for pair in document.pairs
    ]


def pair_batches(
    pairs: Sequence[EncodedPair], *, size: int, seed: int = 0, epoch: int = 0
) -> Iterator[tuple[list[int], PairBatch]]:
    """Give batches of pairs of similar length, with the numbers of the pairs in each."""
    for items in LengthBuckets([len(source) for source, _ in pairs], batch_size=size, seed=seed).plan(epoch):
        yield (
            items,
            PairBatch(pad([pairs[item][0] for item in items]), pad([pairs[item][1] for item in items])),
        )
