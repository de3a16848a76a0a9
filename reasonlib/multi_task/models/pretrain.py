"""Pre-training the small encoder: masked words and next sentence, as BERT's (Devlin et al. 2019, 3.1).

``reasonlib run multi_task/bundle --row encoder --scale paper`` made the encoder in ``weights/encoder``. It
takes the place of BERT where nothing can be downloaded, and reads no label.

Axes: B texts, T tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.multi_task.data.encoding import EncodedExample, collate, encode
from reasonlib.multi_task.data.example import Example
from reasonlib.multi_task.data.simulator import Text
from reasonlib.multi_task.data.world import words
from reasonlib.multi_task.models.encoder import SharedEncoder
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.masked_words import UNSCORED, mask_tokens, word_tokenizer

__all__ = [
    "MaskedBatch",
    "PretrainingConfig",
    "PretrainingModel",
    "masked_accuracy",
    "pretrain",
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

    epochs: int = 8
    batch: int = 16
    lr: float = 1e-3
    share: float = 0.15  # of the words, masked

    def __post_init__(self) -> None:
        check_at_least(self, 1, "epochs", "batch")
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
    follows : (B,)
        Whether the second sentence goes on from the first; -100 where there is no second.
    """

    tokens: Int[Tensor, "B T"]
    words: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    follows: Int[Tensor, " B"]


def world_tokenizer() -> Any:
    """Make the tokenizer of the small world: one token a word."""
    return word_tokenizer(words())


def _encode(texts: Sequence[Text], tokenizer: Any, longest: int) -> list[EncodedExample]:
    examples = [
        Example(
            first=text.first,
            second=text.second,
            label=UNSCORED if text.second is None else int(text.follows),
            task="text",
        )
        for text in texts
    ]
    return encode(examples, tokenizer, longest=longest)


class PretrainingModel(nn.Module):
    """An `AlbertForMaskedLM` and a head that predicts from ``[CLS]`` whether the second sentence follows.

    Parameters
    ----------
    masked
        The encoder with its head for masked words. Its keys start equal to its queries: a word attends to
        words like itself from the first step on, so that a small encoder compares two sentences early.
    seed
        Draws the new head.
    """

    def __init__(self, masked: Any, *, seed: int = 0) -> None:
        super().__init__()
        self.masked: Any = masked
        self.encoder = SharedEncoder(masked.albert)
        with training.seeded(seed):
            self.follows = nn.Linear(masked.config.hidden_size, 2)
        for name, module in masked.named_modules():
            if name.endswith("attention") and hasattr(module, "query"):
                module.key.load_state_dict(module.query.state_dict())


def pretrain(
    model: Any,
    tokenizer: Any,
    texts: Sequence[Text],
    config: PretrainingConfig,
    *,
    longest: int = 128,
    **options: Unpack[training.RunOptions],
) -> training.History:
    """Train an `AlbertForMaskedLM` in place; the loss is in nats, for a masked word and for a next sentence.

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
    **options
        Of the run, see `RunOptions`; the seed draws the new head, the order of the texts and what is hidden.
    """
    seed = options.get("seed", 0)
    encoded = _encode(texts, tokenizer, longest)
    buckets = LengthBuckets([example.length for example in encoded], batch_size=config.batch, seed=seed)
    padding = tokenizer.pad_token_id

    def batches(epoch: int) -> Iterator[MaskedBatch]:
        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
        for items in buckets.plan(epoch):
            batch = collate([encoded[item] for item in items], "text", padding=padding)
            read, words = mask_tokens(
                batch.tokens, words=len(tokenizer), share=config.share, generator=generator
            )
            yield MaskedBatch(read, words, batch.segments, batch.mask, batch.labels.long())

    steps = len(buckets)
    return training.fit_recipe(
        PretrainingModel(model, seed=seed),
        batches,
        config,
        loss=_loss,
        settings={
            "optimiser": "adamw",
            "weight_decay": 0.01,
            "schedule": "linear",
            "warmup": max(1, min(100, steps * config.epochs // 10)),
            "clip": 1.0,
        },
        identity={"model": repr(model.config.to_diff_dict())},
        steps_per_epoch=steps,
        **options,
    )


def _loss(model: PretrainingModel, batch: MaskedBatch) -> Tensor:
    states = model.encoder(batch.tokens, batch.segments, batch.mask)
    scored = batch.words != UNSCORED
    logits = model.masked.predictions(states[scored])  # only where a word is predicted
    words = functional.cross_entropy(logits, batch.words[scored], reduction="sum") / scored.sum().clamp(min=1)
    pairs = batch.follows != UNSCORED
    follows = functional.cross_entropy(model.follows(states[pairs, 0]), batch.follows[pairs], reduction="sum")
    return words + follows / pairs.sum().clamp(min=1)


@torch.no_grad()
def masked_accuracy(model: Any, tokenizer: Any, texts: Sequence[Text]) -> float:
    """Return the share of masked words that are predicted right."""
    batch = collate(_encode(texts, tokenizer, 128), "text", padding=tokenizer.pad_token_id)
    generator = torch.Generator().manual_seed(0)
    read, words = mask_tokens(batch.tokens, words=len(tokenizer), generator=generator)
    states = SharedEncoder(model.albert)(read, batch.segments, batch.mask)
    guessed = model.predictions(states).argmax(2)
    scored = words != UNSCORED
    return float((guessed == words)[scored].float().mean())
