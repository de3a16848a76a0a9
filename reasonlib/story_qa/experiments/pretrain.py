"""Pre-training a small BERT on simulated stories: hidden words, next sentences (Devlin et al. 2019, 3.1).

::

    [CLS] mary went to the [MASK] . [SEP] she took the milk there . [SEP]
                             |        masked language model: garden
      |____________________________   next sentence prediction: does the second part continue the first?

The encoder in ``weights/encoder`` was made by ``python -m reasonlib.story_qa.experiments.pretrain``.

Axes: B pairs, T tokens.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.models.bert import PairBatch, StoryTokens, stack
from reasonlib.training.batching import LengthBuckets

__all__ = [
    "EncoderSize",
    "Masked",
    "Pretraining",
    "mask_words",
    "new_model",
    "next_sentence_pairs",
    "pretrain",
    "retell",
    "save_encoder",
    "word_tokenizer",
]

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
UNSCORED = -100  # label of a token whose word is not asked for


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


def word_tokenizer(sentences: Sequence[str]) -> Any:
    """Make a tokenizer whose tokens are lower-case words and punctuation marks.

    The closed world of the stories has under two hundred words, so that pieces of words would gain nothing.

    Parameters
    ----------
    sentences
        Text that holds every word to be known; others become ``[UNK]``.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    split = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    known = sorted({piece for text in set(sentences) for piece, _ in split.pre_tokenize_str(text.lower())})
    ids = {token: number for number, token in enumerate([*SPECIALS, *known])}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = split
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIALS}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


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
        hidden_dropout_prob=0.0,  # stories are simulated without end, so that nothing can be learnt by heart
        attention_probs_dropout_prob=0.0,
    )
    with training.seeded(seed):
        return BertForPreTraining(config)


def retell(examples: Sequence[Example]) -> list[tuple[str, ...]]:
    """Tell each story once, with its questions and their answers where they were asked.

    This is how the released files read; an encoder trained on it has met questions, and must recall the story
    to guess a hidden answer.

    Parameters
    ----------
    examples
        Questions; those of one story follow one another and share a growing list of sentences.

    Returns
    -------
    list of tuple of str
        The sentences of each story, "Where is Mary? garden." among them.
    """
    stories: dict[tuple[int, int], list[str]] = {}
    heard: dict[tuple[int, int], int] = {}
    for example in examples:
        key = (example.task, example.group)
        told = stories.setdefault(key, [])
        told += example.story[heard.get(key, 0) :]
        heard[key] = len(example.story)
        told.append(f"{example.question} {' '.join(example.answer)}.")
    return [tuple(story) for story in stories.values()]


def next_sentence_pairs(
    examples: Sequence[Example], draw: random.Random, longest: int = 40
) -> list[tuple[str, tuple[str, ...], bool]]:
    """Cut each story in two and keep or exchange the second part.

    Parameters
    ----------
    examples
        Questions (see `retell`).
    draw
        Chooses where to cut and whether to exchange.
    longest
        Sentences in each part at most.

    Returns
    -------
    list of (first part, second part, continues)
        Half of the second parts continue their first part, half come from another story.

    Raises
    ------
    ValueError
        If there are fewer than two stories to cut.
    """
    told = [story for story in retell(examples) if len(story) > 1]
    if len(told) < 2:
        raise ValueError(f"examples must hold at least two stories, got {len(told)}")
    cuts = [draw.randrange(1, len(story)) for story in told]
    pairs = []
    for place, (story, cut) in enumerate(zip(told, cuts, strict=True)):
        continues = draw.random() < 0.5
        other = (place + draw.randrange(1, len(told))) % len(told)
        second = story[cut:] if continues else told[other][cuts[other] :]
        pairs.append((" ".join(story[:cut][-longest:]), second[:longest], continues))
    return pairs


class Masked(NamedTuple):
    """A batch to pre-train on.

    Attributes
    ----------
    pairs
        Token sequences in which some words are hidden.
    words : (B, T)
        The hidden words; -100 wherever nothing is asked.
    continues : (B,)
        0 where the second part continues the first, 1 where it does not, as in the source's code.
    """

    pairs: PairBatch
    words: Int[Tensor, "B T"]
    continues: Int[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.continues)

    def to(self, device: torch.device | str) -> "Masked":
        """Move every tensor to a device."""
        return Masked(self.pairs.to(device), self.words.to(device), self.continues.to(device))


def mask_words(
    tokens: Int[Tensor, "B T"],
    *,
    specials: int,
    mask: int,
    words: int,
    share: float = 0.15,
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Hide words by the 80/10/10 rule of the source.

    Of all words, `share` are asked for; of those, 80 % are replaced by [MASK], 10 % by a random word, and
    10 % stay as they are, so that the encoder must keep a picture of every word it sees.

    Parameters
    ----------
    tokens
        Ids; those below `specials` are marks and padding and are never hidden.
    specials
        Number of marks; words have the ids from there on.
    mask, words
        Id of [MASK], and V.
    share
        Probability that a word is asked for.
    generator
        Draws.

    Returns
    -------
    hidden, labels : (B, T)
        What the encoder reads, and what it must say (-100 where it is not asked).

    Raises
    ------
    ValueError
        If `share` is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    asked = (torch.rand(tokens.shape, generator=generator) < share) & (tokens >= specials)
    fate = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(specials, words, tokens.shape, generator=generator)
    hidden = torch.where(asked & (fate < 0.8), torch.full_like(tokens, mask), tokens)
    hidden = torch.where(asked & (fate >= 0.8) & (fate < 0.9), other, hidden)
    return hidden, torch.where(asked, tokens, torch.full_like(tokens, UNSCORED))


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """How long and how fast to pre-train."""

    steps: int = 2000  # optimiser steps
    tokens: int = 8192  # in a batch, padding included
    lr: float = 1e-3
    warmup: float = 0.1  # share of the steps
    share: float = 0.15  # of the words, hidden

    def __post_init__(self) -> None:
        for name in ("steps", "tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def pretrain(
    model: Any,
    tokenizer: Any,
    examples: Callable[[int], Sequence[Example]],
    how: Pretraining,
    *,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
    progress: bool | None = None,
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
    how
        Steps, batch size, rate.
    seed
        Draws cuts, exchanges and hidden words.
    minutes, checkpoint, on_epoch, progress
        As in `reasonlib.training.fit`; an epoch is ten per cent of the steps.
    """
    tokens = StoryTokens(tokenizer, model.config.max_position_embeddings)
    device = next(model.parameters()).device
    epochs = 10
    each = -(-how.steps // epochs)

    def rounds(first: int) -> Iterator[Masked]:
        number = first * 1_000_000
        while True:
            generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
            parts = next_sentence_pairs(examples(number), random.Random(f"{seed}:{number}"))
            pairs = [tokens.pair(a, b) for a, b, _ in parts]
            for items in LengthBuckets(
                [len(pair.tokens) for pair in pairs], max_tokens=how.tokens, seed=seed
            ).plan(0):
                batch = stack([pairs[item] for item in items], tokenizer.pad_token_id)
                hidden, labels = mask_words(
                    batch.tokens,
                    specials=len(SPECIALS),
                    mask=tokenizer.mask_token_id,
                    words=len(tokenizer),
                    share=how.share,
                    generator=generator,
                )
                follows = torch.tensor([0 if parts[item][2] else 1 for item in items])
                yield Masked(batch._replace(tokens=hidden), labels, follows).to(device)
            number += 1

    def batches(epoch: int) -> Iterator[Masked]:
        for _, batch in zip(range(each), rounds(epoch), strict=False):
            yield batch

    def loss(model: nn.Module, batch: Masked) -> Tensor:
        output = model(
            input_ids=batch.pairs.tokens,
            token_type_ids=batch.pairs.segments,
            attention_mask=batch.pairs.mask.long(),
        )
        asked = (batch.words != UNSCORED).sum().clamp(min=1)  # a small batch may hide no word at all
        masked = functional.cross_entropy(
            output.prediction_logits.flatten(0, 1),
            batch.words.flatten(),
            ignore_index=UNSCORED,
            reduction="sum",
        )
        return masked / asked + functional.cross_entropy(output.seq_relationship_logits, batch.continues)

    return training.fit(
        model,
        batches,
        loss=loss,
        config=training.TrainingConfig(
            epochs=epochs,
            lr=how.lr,
            optimiser="adamw",
            weight_decay=0.01,
            schedule="linear",
            warmup=round(how.warmup * how.steps),
            clip=1.0,
            seed=seed,
            minutes=minutes,
        ),
        monitor="loss",
        mode="min",
        checkpoint=checkpoint,
        identity={"how": repr(how), "model": repr(model.config.to_diff_dict())},
        steps_per_epoch=each,
        on_epoch=on_epoch,
        progress=progress,
    )


def save_encoder(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write encoder (half precision) and tokenizer as a folder that `bert.load_encoder` reads."""
    import copy

    encoder = copy.deepcopy(model.bert).half()
    encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
