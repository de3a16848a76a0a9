"""From documents to batches: a sentence, the sentences before it, and its translation, as token ids.

Axes: B sentences of a batch, S source tokens, C context sentences, T context tokens, U target tokens.

By hand, with two context sentences, nearest first::

    document   mary found the lamp .  /  snow fell outside .  /  it was old .
    source     it was old .
    context    <context> snow fell outside .
               <context> mary found the lamp .
    target     ro veko esto . <end>

Padding is 0, the start of a translation 1, its end 2, and 3 is the *beginning of context* token that the
source puts before each context sentence (section 3.3.2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Int
from torch import Tensor

from reasonlib.parallel.example import Document, contexts
from reasonlib.parallel.words import CONTEXT, END, SPECIALS, START, Tokens, Words
from reasonlib.training.batching import LengthBuckets, pad

__all__ = [
    "CONTEXT",
    "END",
    "SPECIALS",
    "START",
    "Batch",
    "EncodedSentence",
    "Tokens",
    "Words",
    "batches",
    "collate",
    "encode",
]


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence with its context, as ids.

    Attributes
    ----------
    source
        Its tokens.
    context
        The sentences before it, nearest first, each with the context mark before it.
    target
        Its translation and the end.
    document
        All source tokens of its document; empty unless they were asked for.
    position
        Number of the document, and of the sentence in it.
    """

    source: tuple[int, ...]
    context: tuple[tuple[int, ...], ...]
    target: tuple[int, ...]
    document: tuple[int, ...] = ()
    position: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Batch:
    """Padded tensors of a batch; its length is the number of sentences.

    Attributes
    ----------
    source : (B, S)
        Token ids, padded with 0.
    context : (B, C, T)
        The sentences before, nearest first; a row of zeros where there is none.
    target : (B, U)
        The translation and its end; only the first column is needed to translate.
    document : (B, N)
        All source tokens of the document, for models with a document vector; N may be 0.
    """

    source: Int[Tensor, "B S"]
    context: Int[Tensor, "B C T"]
    target: Int[Tensor, "B U"]
    document: Int[Tensor, "B N"]

    def __len__(self) -> int:
        return len(self.source)

    @property
    def given(self) -> Int[Tensor, "B U"]:
        """The target one step later: what the decoder is shown while it learns, from the start on."""
        return torch.cat((torch.full_like(self.target[:, :1], START), self.target[:, :-1]), 1)

    def to(self, device: torch.device | str) -> "Batch":
        """Move every tensor to a device."""
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))

    def with_context(self, context: Int[Tensor, "B C T"]) -> "Batch":
        """Return the same sentences after another context."""
        return replace(self, context=context)


def encode(
    documents: Sequence[Document],
    tokens: Tokens,
    *,
    context: int = 2,
    longest: int | None = None,
    whole: bool = False,
) -> list[EncodedSentence]:
    """Encode every sentence of documents with its context.

    Parameters
    ----------
    documents
        Parallel text.
    tokens
        Turns text into ids.
    context
        How many sentences before each, at most; the source uses 2, and 10 in table 3.3.
    longest
        Tokens after which a sentence is cut; None: never.
    whole
        Whether to keep the tokens of the whole document, for a document vector.
    """
    encoded = []
    for number, document in enumerate(documents):
        sources = {pair.source: tuple(tokens.encode(pair.source)[:longest]) for pair in document.pairs}
        everything = (
            tuple(token for pair in document.pairs for token in sources[pair.source]) if whole else ()
        )
        for position, (pair, before) in enumerate(
            zip(document.pairs, contexts(document, context), strict=True)
        ):
            encoded.append(
                EncodedSentence(
                    sources[pair.source],
                    tuple((CONTEXT, *sources[text]) for text in before),
                    (*tokens.encode(pair.target)[:longest], END),
                    everything,
                    (number, position),
                )
            )
    return encoded


def collate(sentences: Sequence[EncodedSentence], *, context: int | None = None) -> Batch:
    """Pad sentences to a batch.

    Parameters
    ----------
    sentences
        B of them.
    context
        C; by default the most that a sentence here has, and at least 1.

    Raises
    ------
    ValueError
        If a sentence has more context than that.
    """
    most = max(1, *(len(sentence.context) for sentence in sentences))
    count = most if context is None else context
    rows: list[tuple[int, ...]] = []
    for sentence in sentences:
        if len(sentence.context) > count:
            raise ValueError(f"context must be at least {len(sentence.context)}, got {count}")
        rows += [*sentence.context, *[()] * (count - len(sentence.context))]
    width = max(1, *(len(row) for row in rows)) if rows else 1
    flat = pad([*rows, (0,) * width])[:-1]  # (B * C, T)
    return Batch(
        pad([sentence.source for sentence in sentences]),
        flat.view(len(sentences), count, width),
        pad([sentence.target for sentence in sentences]),
        pad([sentence.document for sentence in sentences]),
    )


def batches(
    sentences: Sequence[EncodedSentence], *, size: int, seed: int, epoch: int = 0, by_pair: bool = False
) -> Iterator[tuple[list[int], Batch]]:
    """Give batches of sentences of similar length, with the numbers of the sentences in each.

    Parameters
    ----------
    sentences
        All of them come once.
    size
        B.
    seed, epoch
        Of the order.
    by_pair
        Whether the length is that of the sentence or its translation, the longer one, and not that of the
        sentence and its context. On real text a fifth less is computed, padding included.
    """
    lengths = [
        max(len(sentence.source), len(sentence.target))
        if by_pair
        else len(sentence.source) + sum(map(len, sentence.context))
        for sentence in sentences
    ]
    count = max(1, *(len(sentence.context) for sentence in sentences))
    for items in LengthBuckets(lengths, batch_size=size, seed=seed).plan(epoch):
        yield items, collate([sentences[item] for item in items], context=count)
