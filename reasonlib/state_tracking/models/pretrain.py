"""Pre-training a small encoder on simulated dialogues by masked words (Devlin et al. 2019, 3.1).

The encoder in ``weights/encoder`` was made by ``reasonlib run state_tracking/bundle --row encoder --scale
paper``. It takes the place of ALBERT where nothing can be downloaded. It reads the dialogues' words alone,
never their labels.

Axes: B dialogues, T tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.state_tracking.data.encoding import TurnTokens
from reasonlib.state_tracking.data.example import Dialogue
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate
from reasonlib.training import RunOptions
from reasonlib.training.batching import mask_of, pad
from reasonlib.training.masked_words import UNSCORED, mask_tokens, word_tokenizer

__all__ = ["MaskedBatch", "PretrainingConfig", "dialogue_tokenizer", "pretrain"]

_EPOCHS = 20  # parts of a pre-training; its loss is noted after each


@dataclass(frozen=True, kw_only=True)
class PretrainingConfig:
    """How long, how fast and on what to pre-train: short windows of dialogues first, long ones later.

    In a short window a word has few others to attend to, and the encoder learns soon that its neighbours say
    most about it. On whole dialogues alone it learns this much later.

    Raises `ValueError` if a count is below 1 or a share is not between 0 and 1.
    """

    steps: int = 2400
    tokens: int = 1536  # in a batch
    window: int = 48  # tokens of a dialogue in the first part of training
    windows: tuple[int, ...] = (48, 96, 224)  # one of these for each batch in the second part
    first: float = 0.6  # share of the steps that the first part takes
    lr: float = 4e-3
    share: float = 0.2  # of the words, masked

    def __post_init__(self) -> None:
        check_at_least(self, 1, "steps", "tokens", "window")
        for name in ("first", "share"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name)}")


class MaskedBatch(NamedTuple):
    """Windows of dialogues with masked words.

    Attributes
    ----------
    tokens, words : (B, T)
        What the encoder reads, and the labels; -100 where no word is predicted.
    mask : (B, T)
        True where a token stands.
    positions : (B, T)
        Position of each token in its dialogue.
    """

    tokens: Int[Tensor, "B T"]
    words: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    positions: Int[Tensor, "B T"]

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


def _windows(
    texts: Sequence[Sequence[int]], size: int, count: int, draw: np.random.Generator
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Cut windows of `size` tokens out of `count` dialogues; return tokens, positions and mask."""
    chosen = [texts[number] for number in draw.integers(len(texts), size=count)]
    starts = [int(draw.integers(max(1, len(text) - size + 1))) for text in chosen]
    cut = [text[start : start + size] for text, start in zip(chosen, starts, strict=True)]
    mask = mask_of([len(text) for text in cut])
    positions = torch.tensor(starts)[:, None] + torch.arange(mask.shape[1])
    return pad(cut), positions * mask, mask


def pretrain(
    model: Any,
    tokenizer: Any,
    dialogues: Sequence[Dialogue],
    config: PretrainingConfig,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train an `AlbertForMaskedLM` in place; the loss is in nats for each masked word."""
    tokens = TurnTokens(tokenizer)
    texts = [tokens.history(dialogue, len(dialogue.turns) - 1)[0] for dialogue in dialogues]
    epochs, seed = min(_EPOCHS, config.steps), options.get("seed", 0)
    each = config.steps // epochs
    texts = [text[: model.config.max_position_embeddings] for text in texts]

    def batches(epoch: int) -> Iterator[MaskedBatch]:
        draw = np.random.default_rng((seed, epoch))
        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
        for _ in range(each):
            early = epoch < config.first * epochs
            size = config.window if early else int(draw.choice(config.windows))
            whole, positions, mask = _windows(texts, size, max(1, config.tokens // size), draw)
            read, labels = mask_tokens(whole, words=len(tokenizer), share=config.share, generator=generator)
            yield MaskedBatch(read, labels, mask, positions)

    def loss(model: Any, batch: MaskedBatch) -> Tensor:
        encoded = model.albert(
            input_ids=batch.tokens, attention_mask=batch.mask.long(), position_ids=batch.positions
        )
        masked = batch.words != UNSCORED
        logits = model.predictions(encoded.last_hidden_state[masked])  # only where a word is predicted
        total = functional.cross_entropy(logits, batch.words[masked], reduction="sum")
        return total / masked.sum().clamp(min=1)

    settings = {
        **training.ADAMW_LINEAR,
        "epochs": epochs,
        "warmup": max(1, min(100, config.steps // 10)),
    }
    identity = {"model": repr(model.config.to_diff_dict())}
    return training.fit_recipe(
        model,
        batches,
        config,
        loss=loss,
        settings=settings,
        identity=identity,
        steps_per_epoch=each,
        **options,
    )
