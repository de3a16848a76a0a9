"""Pre-training a small encoder on simulated dialogues by masked words (Devlin et al. 2019, 3.1).

The encoder in ``weights/encoder`` was made by ``reasonlib run state_tracking/bundle --row encoder --scale
paper``. It takes the place of ALBERT where nothing can be downloaded. It reads the dialogues' words alone,
never their labels.

Axes: B dialogues, T tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.state_tracking.data.encoding import SPECIALS, UNSCORED, TurnTokens, word_tokenizer
from reasonlib.state_tracking.data.example import Dialogue
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate
from reasonlib.training.batching import LengthBuckets, mask_of, pad

__all__ = ["MaskedBatch", "PretrainingConfig", "dialogue_tokenizer", "mask_words", "pretrain", "save_encoder"]


@dataclass(frozen=True, kw_only=True)
class PretrainingConfig:
    """How long and how fast to pre-train.

    Raises
    ------
    ValueError
        If a count is below 1 or the share is not between 0 and 1.
    """

    steps: int = 1200
    batch: int = 16  # dialogues
    lr: float = 3e-3
    share: float = 0.15  # of the words, masked
    longest: int = 224  # tokens of a dialogue; a longer one loses its beginning

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "longest"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.share < 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share}")


class MaskedBatch(NamedTuple):
    """Dialogues with masked words.

    Attributes
    ----------
    tokens, words : (B, T)
        What the encoder reads, and what it must say; -100 where it is not asked.
    mask : (B, T)
        True where a token stands.
    """

    tokens: Int[Tensor, "B T"]
    words: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]

    def __len__(self) -> int:
        return len(self.tokens)


def dialogue_tokenizer(size: str = "small") -> Any:
    """Make the tokenizer of the simulated dialogues: words, times, digits, no reference numbers."""
    words: set[str] = set()
    for unseen in (False, True):
        for dialogue in simulate(1500, seed=7, config=SimulatorConfig(size=size, unseen=unseen)):
            for turn in dialogue.turns:
                words.update(f"{turn.system} {turn.user}".split())
    return word_tokenizer([w for w in words if len(w) == 1 or ":" in w or not any(c.isdigit() for c in w)])


def mask_words(
    tokens: Int[Tensor, "B T"], *, words: int, share: float = 0.15, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Mask words by BERT's rule: of those asked for, 80 % become [MASK], 10 % a random word, 10 % stay.

    Parameters
    ----------
    tokens
        Ids; special tokens are never asked for.
    words
        Length of the tokenizer.
    share
        Probability that a word is asked for.
    generator
        Draws.

    Returns
    -------
    read, asked : (B, T)
        What the encoder reads, and the labels (-100 where it is not asked).
    """
    first = len(SPECIALS)
    asked = (torch.rand(tokens.shape, generator=generator) < share) & (tokens >= first)
    fate = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(first, words, tokens.shape, generator=generator)
    read = torch.where(asked & (fate < 0.8), SPECIALS.index("[MASK]"), tokens)
    read = torch.where(asked & (fate >= 0.8) & (fate < 0.9), other, read)
    return read, torch.where(asked, tokens, UNSCORED)


def pretrain(
    model: Any,
    tokenizer: Any,
    dialogues: Sequence[Dialogue],
    config: PretrainingConfig,
    *,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
) -> training.History:
    """Train an `AlbertForMaskedLM` in place; the loss is in nats for each masked word."""
    tokens = TurnTokens(tokenizer, config.longest)
    texts = [tokens.history(dialogue, len(dialogue.turns) - 1)[0] for dialogue in dialogues]
    each = -(-len(texts) // config.batch)
    epochs = max(1, config.steps // each)

    def batches(epoch: int) -> Iterator[MaskedBatch]:
        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
        lengths = [len(text) for text in texts]
        for items in LengthBuckets(lengths, batch_size=config.batch, seed=seed).plan(epoch):
            whole = pad([texts[item] for item in items])
            read, asked = mask_words(whole, words=len(tokenizer), share=config.share, generator=generator)
            yield MaskedBatch(read, asked, mask_of([lengths[item] for item in items]))

    def loss(model: nn.Module, batch: MaskedBatch) -> Tensor:
        logits = model(input_ids=batch.tokens, attention_mask=batch.mask.long()).logits
        asked = (batch.words != UNSCORED).sum().clamp(min=1)
        return functional.cross_entropy(logits.flatten(0, 1), batch.words.flatten(), reduction="sum") / asked

    return training.fit(
        model,
        batches,
        loss=loss,
        config=training.TrainingConfig(
            epochs=epochs, lr=config.lr, optimiser="adamw", weight_decay=0.01, schedule="linear",
            warmup=min(200, each * epochs // 10), clip=1.0, seed=seed, minutes=minutes,
        ),
        monitor="loss",
        mode="min",
        checkpoint=checkpoint,
        identity={"pretraining": repr(config), "model": repr(model.config.to_diff_dict())},
        steps_per_epoch=each,
        progress=progress,
    )  # fmt: skip


def save_encoder(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write the encoder in half precision, with its tokenizer, as a folder that `load_encoder` reads."""
    import copy

    copy.deepcopy(model.albert).half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
