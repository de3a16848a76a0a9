"""Examples as numbers: token ids with segments, and mini-batches of one task.

::

    tokens    [CLS] a man holds a guitar . [SEP] a man holds an instrument . [SEP]
    segments    0   0  0    0   0   0    0   0   1  1    1    1      1     1   1

A question with candidates becomes one such row for each candidate; `Batch.groups` says which rows belong
together.

Axes: B rows, T tokens, Q questions or examples.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reasonlib.multi_task.data.example import Example, Task
from reasonlib.training.batching import LengthBuckets, mask_of, pad

__all__ = ["Batch", "EncodedExample", "batches", "collate", "encode"]


class EncodedExample(NamedTuple):
    """One example: its rows of tokens and segments, and its label."""

    tokens: tuple[list[int], ...]
    segments: tuple[list[int], ...]
    label: float
    others: tuple[int, ...]

    @property
    def length(self) -> int:
        """Tokens of all rows when padded to one length."""
        return len(self.tokens) * max(len(row) for row in self.tokens)


class Batch(NamedTuple):
    """A mini-batch of one task.

    Attributes
    ----------
    tokens, segments : (B, T)
        Ids; 0 for the first sentence and 1 for the second.
    mask : (B, T)
        True where a token stands.
    labels : (Q,)
        Class numbers, similarities, or the row of the right candidate; Q = B but for rankings.
    groups : (B,)
        Number of the example that a row belongs to.
    relevant : (B,)
        Whether a row is a right candidate (rankings).
    task
        Its name.
    """

    tokens: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    labels: Float[Tensor, " Q"]
    groups: Int[Tensor, " B"]
    relevant: Bool[Tensor, " B"]
    task: str

    def to(self, device: torch.device | str) -> "Batch":
        """Copy the tensors to a device."""
        return Batch(*(part.to(device) for part in self[:-1]), self.task)  # type: ignore[call-arg, arg-type]


def encode(examples: Sequence[Example], tokenizer: Any, *, longest: int = 128) -> list[EncodedExample]:
    """Encode examples; every distinct text is tokenised once.

    Parameters
    ----------
    examples
        Of any tasks.
    tokenizer
        A `transformers` tokenizer with ``[CLS]`` and ``[SEP]`` (or what stands for them).
    longest
        Tokens of a row at most; of a longer pair, the longer sentence is cut first.

    Raises
    ------
    ValueError
        If `longest` leaves no room for a pair.
    """
    if longest < 8:
        raise ValueError(f"longest must be at least 8, got {longest}")
    cached: dict[str, list[int]] = {}

    def ids(text: str) -> list[int]:
        if text not in cached:
            cached[text] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return cached[text]

    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    encoded = []
    for example in examples:
        rows, segments = [], []
        for first, second in example.texts:
            a, b = list(ids(first)), [] if second is None else list(ids(second))
            room = longest - 2 - (second is not None)
            while len(a) + len(b) > room:
                (a if len(a) > len(b) else b).pop()
            row = [cls, *a, sep]
            if second is None:
                rows.append(row)
                segments.append([0] * len(row))
            else:
                rows.append([*row, *b, sep])
                segments.append([0] * len(row) + [1] * (len(b) + 1))
        encoded.append(EncodedExample(tuple(rows), tuple(segments), float(example.label), example.others))
    return encoded


def collate(examples: Sequence[EncodedExample], task: str, *, padding: int = 0) -> Batch:
    """Put encoded examples of one task into a batch."""
    rows = [row for example in examples for row in example.tokens]
    counts = torch.tensor([len(example.tokens) for example in examples])
    labels = torch.tensor([example.label for example in examples])
    relevant = torch.zeros(len(rows), dtype=torch.bool)
    if int(counts.max()) > 1:
        starts = counts.cumsum(0) - counts
        for start, example in zip(starts.tolist(), examples, strict=True):
            for position in (int(example.label), *example.others):
                relevant[start + position] = True
    return Batch(
        tokens=pad(rows, padding),
        segments=pad([row for example in examples for row in example.segments]),
        mask=mask_of([len(row) for row in rows]),
        labels=labels,
        groups=torch.repeat_interleave(torch.arange(len(examples)), counts),
        relevant=relevant,
        task=task,
    )


def batches(
    examples: Sequence[EncodedExample],
    task: Task,
    *,
    size: int,
    seed: int = 0,
    epoch: int = 0,
    padding: int = 0,
) -> Iterator[tuple[list[int], Batch]]:
    """Give mini-batches of like lengths, each with the numbers of its examples."""
    for items in LengthBuckets([example.length for example in examples], batch_size=size, seed=seed).plan(
        epoch
    ):
        yield items, collate([examples[item] for item in items], task.name, padding=padding)
