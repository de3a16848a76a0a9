"""Pre-training the small encoder on simulated sentences by masked words (Devlin et al. 2019, 3.1).

``reasonlib run multi_task/bundle --row encoder --scale paper`` made the encoder in ``weights/encoder``. It
takes the place of BERT where nothing can be downloaded, and reads no label.

Axes: B texts, T tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.multi_task.data.encoding import EncodedExample, collate, encode
from reasonlib.multi_task.data.example import Example
from reasonlib.multi_task.data.world import words
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.masked_words import UNSCORED, mask_words, word_tokenizer

__all__ = [
    "MaskedBatch",
    "PretrainingConfig",
    "masked_accuracy",
    "pretrain",
    "save_encoder",
    "world_tokenizer",
]


@dataclass(frozen=True, kw_only=True)
class PretrainingConfig:
    """How long and how fast to pre-train.

    Raises
    ------
    ValueError
        If a count is below 1 or the share is not between 0 and 1.
    """

    epochs: int = 10
    batch: int = 64
    lr: float = 4e-3
    share: float = 0.2  # of the words, masked

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.share < 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share}")


class MaskedBatch(NamedTuple):
    """Texts with masked words.

    Attributes
    ----------
    tokens, words : (B, T)
        What the encoder reads, and the labels; -100 where no word is predicted.
    segments : (B, T)
        0 for the first sentence, 1 for the second.
    mask : (B, T)
        True where a token stands.
    """

    tokens: Int[Tensor, "B T"]
    words: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]

    def __len__(self) -> int:
        return len(self.tokens)


def world_tokenizer() -> Any:
    """Make the tokenizer of the small world: one token a word."""
    return word_tokenizer(words())


def _encode(texts: Sequence[tuple[str, str | None]], tokenizer: Any, longest: int) -> list[EncodedExample]:
    examples = [Example(first=first, second=second, label=0, task="text") for first, second in texts]
    return encode(examples, tokenizer, longest=longest)


def pretrain(
    model: Any,
    tokenizer: Any,
    texts: Sequence[tuple[str, str | None]],
    config: PretrainingConfig,
    *,
    longest: int = 128,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
) -> training.History:
    """Train an `AlbertForMaskedLM` in place; the loss is in nats for each masked word.

    Parameters
    ----------
    model, tokenizer
        As `reasonlib.training.encoders.small_encoder` and `word_tokenizer` make them.
    texts
        One sentence or two each.
    config
        How long, how fast.
    longest
        Tokens of a text at most.
    seed, minutes, checkpoint, progress
        As of `reasonlib.training.fit`.
    """
    encoded = _encode(texts, tokenizer, longest)
    buckets = LengthBuckets([example.length for example in encoded], batch_size=config.batch, seed=seed)
    padding = tokenizer.pad_token_id

    def batches(epoch: int) -> Iterator[MaskedBatch]:
        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
        for items in buckets.plan(epoch):
            batch = collate([encoded[item] for item in items], "text", padding=padding)
            read, words = mask_words(
                batch.tokens, words=len(tokenizer), share=config.share, generator=generator
            )
            yield MaskedBatch(read, words, batch.segments, batch.mask)

    steps = len(buckets)
    return training.fit(
        model,
        batches,
        loss=_masked_loss,
        config=training.TrainingConfig(
            epochs=config.epochs, lr=config.lr, optimiser="adamw", weight_decay=0.01, schedule="linear",
            warmup=max(1, min(100, steps * config.epochs // 10)), clip=1.0, seed=seed, minutes=minutes,
        ),
        monitor="loss",
        mode="min",
        checkpoint=checkpoint,
        identity={"pretraining": repr(config), "model": repr(model.config.to_diff_dict())},
        steps_per_epoch=steps,
        progress=progress,
    )  # fmt: skip


def _masked_loss(model: Any, batch: MaskedBatch) -> Tensor:
    encoded = model.albert(
        input_ids=batch.tokens, attention_mask=batch.mask.long(), token_type_ids=batch.segments
    )
    scored = batch.words != UNSCORED
    logits = model.predictions(encoded.last_hidden_state[scored])  # only where a word is predicted
    total = functional.cross_entropy(logits, batch.words[scored], reduction="sum")
    return total / scored.sum().clamp(min=1)


@torch.no_grad()
def masked_accuracy(model: Any, tokenizer: Any, texts: Sequence[tuple[str, str | None]]) -> float:
    """Return the share of masked words that are predicted right."""
    batch = collate(_encode(texts, tokenizer, 128), "text", padding=tokenizer.pad_token_id)
    generator = torch.Generator().manual_seed(0)
    read, words = mask_words(batch.tokens, words=len(tokenizer), generator=generator)
    device = next(model.parameters()).device
    output = model(
        input_ids=read.to(device),
        attention_mask=batch.mask.long().to(device),
        token_type_ids=batch.segments.to(device),
    )
    scored = words != UNSCORED
    return float((output.logits.argmax(2).cpu() == words)[scored].float().mean())


def save_encoder(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write the encoder in half precision, with its tokenizer, as a folder that `load_encoder` reads."""
    import copy

    copy.deepcopy(model.albert).half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
