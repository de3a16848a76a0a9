"""Pre-training a small BERT on simulated stories: hidden words, next sentences (Devlin et al. 2019, 3.1).

::

    [CLS] mary went to the [MASK] . [SEP] she took the milk there . [SEP]
                             |        masked language model: garden
      |____________________________   next sentence prediction: does the second part continue the first?

The encoder in ``weights/encoder`` was made by ``python -m reasonlib.story_qa.experiments.pretrain``.

Axes: B pairs, T tokens.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.masking import SPECIALS, MaskedBatch, next_sentence_pairs
from reasonlib.story_qa.data.tokens import StoryTokens, stack
from reasonlib.training import RunOptions
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.masked_words import UNSCORED, mask_tokens

__all__ = ["EncoderSize", "PretrainingRecipe", "new_model", "pretrain", "save_encoder"]


@dataclass(frozen=True, kw_only=True)
class EncoderSize:
    """Sizes of a small BERT; the base model of the source has 12 layers, 12 heads and width 768."""

    layers: int = 4
    heads: int = 4
    width: int = 128  # D
    longest: int = 512  # tokens

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, got {self.width} and {self.heads}")


def new_model(size: EncoderSize, words: int, *, seed: int = 0) -> Any:
    """Make a BERT with both pre-training heads and random weights.

    Parameters
    ----------
    size
        Layers, heads, width.
    words
        V, the tokenizer's length.
    seed
        Draws the weights.
    """
    from transformers import BertConfig, BertForPreTraining

    config = BertConfig(
        vocab_size=words,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
        max_position_embeddings=size.longest,
        hidden_dropout_prob=0.0,  # every round simulates new stories, so the model cannot overfit
        attention_probs_dropout_prob=0.0,
    )
    with training.seeded(seed):
        return BertForPreTraining(config)


@dataclass(frozen=True, kw_only=True)
class PretrainingRecipe:
    """How long and how fast to pre-train."""

    steps: int = 2000  # optimiser steps
    tokens: int = 8192  # in a batch, padding included
    lr: float = 1e-3
    warmup: float = 0.1  # share of the steps
    share: float = 0.15  # of the words, hidden

    def __post_init__(self) -> None:
        check_at_least(self, 1, "steps", "tokens")


def pretrain(
    model: Any,
    tokenizer: Any,
    examples: Callable[[int], Sequence[Example]],
    recipe: PretrainingRecipe,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train both heads at once, in place; the loss is the sum of theirs.

    Parameters
    ----------
    model
        From `new_model`.
    tokenizer
        From `word_tokenizer`.
    examples
        ``examples(round)`` gives fresh questions; one round is used up before the next is asked for.
    recipe
        Steps, batch size, rate; an epoch is ten per cent of the steps.
    **options
        Of the run, see `RunOptions`; the seed draws cuts, exchanges and hidden words.
    """
    tokens = StoryTokens(tokenizer, model.config.max_position_embeddings)
    device = next(model.parameters()).device
    epochs, seed = 10, options.get("seed", 0)
    each = -(-recipe.steps // epochs)

    def batches(epoch: int) -> Iterator[MaskedBatch]:
        masked = (
            batch
            for number in itertools.count(epoch * 1_000_000)
            for batch in _mask_round(examples(number), number, tokens, recipe, seed)
        )
        for batch in itertools.islice(masked, each):
            yield batch.to(device)

    settings = {
        **training.ADAMW_LINEAR,
        "epochs": epochs,
        "warmup": round(recipe.warmup * recipe.steps),
    }
    identity = {"model": repr(model.config.to_diff_dict())}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        loss=_loss,
        settings=settings,
        identity=identity,
        steps_per_epoch=each,
        **options,
    )


def _mask_round(
    examples: Sequence[Example], number: int, tokens: StoryTokens, recipe: PretrainingRecipe, seed: int
) -> Iterator[MaskedBatch]:
    """Give one round of questions in batches: cut into pairs, some exchanged, some words hidden."""
    tokenizer = tokens.tokenizer
    generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
    parts = next_sentence_pairs(examples, random.Random(f"{seed}:{number}"))
    pairs = [tokens.pair(a, b) for a, b, _ in parts]
    lengths = [len(pair.tokens) for pair in pairs]
    for items in LengthBuckets(lengths, max_tokens=recipe.tokens, seed=seed).plan(0):
        batch = stack([pairs[item] for item in items], tokenizer.pad_token_id)
        hidden, labels = mask_tokens(
            batch.tokens,
            words=len(tokenizer),
            first=len(SPECIALS),
            mask=tokenizer.mask_token_id,
            share=recipe.share,
            generator=generator,
        )
        follows = torch.tensor([0 if parts[item][2] else 1 for item in items])
        yield MaskedBatch(batch._replace(tokens=hidden), labels, follows)


def _loss(model: nn.Module, batch: MaskedBatch) -> Tensor:
    """Add the loss of the hidden words, as a mean over them, and that of the next sentences."""
    output = model(
        input_ids=batch.pairs.tokens,
        token_type_ids=batch.pairs.segments,
        attention_mask=batch.pairs.mask.long(),
    )
    count = (batch.words != UNSCORED).sum().clamp(min=1)  # a small batch may hide no word at all
    masked = functional.cross_entropy(
        output.prediction_logits.flatten(0, 1),
        batch.words.flatten(),
        ignore_index=UNSCORED,
        reduction="sum",
    )
    return masked / count + functional.cross_entropy(output.seq_relationship_logits, batch.continues)


def save_encoder(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write encoder (half precision) and tokenizer as a folder that `bert.load_encoder` reads."""
    import copy

    encoder = copy.deepcopy(model.bert).half()
    encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
