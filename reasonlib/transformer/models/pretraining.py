r"""BERT in miniature: hidden words, next sentences, and what they are worth afterwards.

Source: Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding", sections 3 and 5.1. https://arxiv.org/abs/1810.04805

Axes: B pairs of texts, T tokens, D width, V words, L layers, H heads.

::

    [CLS] mary went to the [MASK] . [SEP] mary is in the garden . [SEP]     tokens
      0     0    0   0  0     0   .    0     1   1  1   1   1   .    1      segments
      |                       |
      |                       masked language model: garden
      next sentence prediction: does the second part continue the first?

Pre-training fills one encoder's weights from text without labels; fine-tuning goes on from them: an answer
to a question about a story, read at a hidden word or at [CLS], or whether a statement is true of the story.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.nn import Encoded, Encoder, LearnedPositions, PostNorm, TransformerConfig, padding_mask
from reasonlib.training import seeded
from reasonlib.training.batching import pad
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.transformer.data.stories import WORDS, Claimed, Story

__all__ = [
    "SPECIALS",
    "UNASKED",
    "Bert",
    "BertConfig",
    "Classifier",
    "Cloze",
    "Labelled",
    "Masked",
    "Pairs",
    "Pretrained",
    "Pretraining",
    "fine_tune",
    "halves",
    "hide",
    "labelled_answers",
    "labelled_claims",
    "labelled_gaps",
    "masked_accuracy",
    "pack",
    "pretrain",
    "share_right",
    "words_of",
]

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CLS, SEP, MASK = 2, 3, 4
UNASKED = -100
"""Label of a token whose word is not asked for."""


def words_of(extra: Sequence[str] = ()) -> Vocabulary:
    """Number the words of the stories, after the five marks.

    >>> words_of().tokens[:6]
    ('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'mary')
    """
    return Vocabulary((*SPECIALS, *WORDS, *extra))


# Input: two texts in one sequence (section 3, "Input/Output Representations") -------------------------------


class Pairs(NamedTuple):
    """Pairs of texts as the encoder reads them.

    Attributes
    ----------
    tokens : (B, T)
        ``[CLS] first [SEP] second [SEP]``, padded with 0.
    segments : (B, T)
        0 up to the first [SEP], 1 after it.
    """

    tokens: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"]

    def take(self, items: Tensor) -> "Pairs":
        """Keep these pairs, without padding that none of them needs."""
        tokens = self.tokens[items]
        longest = int((tokens != 0).sum(1).max())
        return Pairs(tokens[:, :longest], self.segments[items, :longest])


def pack(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], vocabulary: Vocabulary) -> Pairs:
    """Put two texts in one sequence; an empty second text leaves its [SEP] out too.

    >>> pack([(("mary", "is"), ("in", "the"))], words_of()).segments
    tensor([[0, 0, 0, 0, 1, 1, 1]])
    """
    tokens, segments = [], []
    for first, second in pairs:
        one = [CLS, *_ids(first, vocabulary), SEP]
        two = [*_ids(second, vocabulary), SEP] if second else []
        tokens.append(one + two)
        segments.append([0] * len(one) + [1] * len(two))
    return Pairs(pad(tokens), pad(segments))


def _ids(words: Sequence[str], vocabulary: Vocabulary) -> list[int]:
    return [vocabulary.id_of(word) if word in vocabulary else 1 for word in words]


# The encoder (section 3, "Model Architecture") --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Sizes; the base model of the source has 12 layers, 12 heads, width 768 and 30,522 words.

    Raises
    ------
    ValueError
        If a size is below 1 or the width is no multiple of the heads.
    """

    vocabulary: int  # V
    longest: int = 96  # tokens in a pair
    layers: int = 2  # L
    width: int = 64  # D
    heads: int = 4  # H
    hidden: int = 256  # F
    dropout: float = 0.0  # 0.1 in the source; stories never end, so that none is learnt by heart

    def __post_init__(self) -> None:
        for name in ("vocabulary", "longest", "layers", "width", "heads", "hidden"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads={self.heads}, got {self.width}")


class Pretrained(NamedTuple):
    """What the encoder gives with its two pre-training heads.

    Attributes
    ----------
    words : (B, T, V)
        Logits of the word that stands, or should stand, at each token.
    follows : (B, 2)
        Logits of: the second text continues the first (0), it does not (1).
    encoded : Encoded
        States and attention of every layer.
    """

    words: Float[Tensor, "B T V"]
    follows: Float[Tensor, "B 2"]
    encoded: Encoded


class Bert(nn.Module):
    """An encoder of token, segment and position embeddings, with the heads it is pre-trained by.

    Parameters
    ----------
    config : BertConfig
        Its sizes.
    seed : int
        Draws the first weights: normal, 0.02 at the source's width of 768 and wider the narrower the model.

    Notes
    -----
    The masked-word head is the source's: a linear map, GELU, a norm, and the table of embeddings once more.
    The norm stands after the sum (post-norm), with 1e-12 added to the variance.
    """

    def __init__(self, config: BertConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        width = config.width
        spread = 0.02 * math.sqrt(768 / width)
        with seeded(seed):
            self.words = nn.Embedding(config.vocabulary, width)
            self.segments = nn.Embedding(2, width)
            self.positions = LearnedPositions(config.longest, width)
            self.norm = nn.LayerNorm(width, eps=1e-12)
            self.dropout = nn.Dropout(config.dropout)
            self.encoder = Encoder(
                TransformerConfig(
                    layers=config.layers,
                    width=width,
                    heads=config.heads,
                    hidden=config.hidden,
                    dropout=config.dropout,
                    activation=functional.gelu,
                    residual=PostNorm,
                    eps=1e-12,
                )
            )
            self.pool = nn.Linear(width, width)
            self.follows = nn.Linear(width, 2)
            self.guess = nn.Linear(width, width)
            self.guess_norm = nn.LayerNorm(width, eps=1e-12)
            self.guess_bias = nn.Parameter(torch.zeros(config.vocabulary))
            for part in self.modules():
                if isinstance(part, nn.Linear | nn.Embedding):
                    nn.init.normal_(part.weight, 0.0, spread)
            nn.init.normal_(self.positions.table, 0.0, spread)

    def encode(self, pairs: Pairs) -> Encoded:
        """Read pairs of texts."""
        longest = pairs.tokens.shape[1]
        if longest > self.config.longest:
            raise ValueError(f"a pair must have at most {self.config.longest} tokens, got {longest}")
        x = self.words(pairs.tokens) + self.segments(pairs.segments) + self.positions(longest)
        return self.encoder(self.dropout(self.norm(x)), padding_mask(pairs.tokens))

    def summary(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        """What stands at [CLS], as the heads over whole pairs read it: ``tanh(W c + b)``."""
        return torch.tanh(self.pool(encoded.output[:, 0]))

    def guesses(self, states: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """Score every word at the states given."""
        inner = self.guess_norm(functional.gelu(self.guess(states)))
        return inner @ self.words.weight.T + self.guess_bias

    def forward(self, pairs: Pairs) -> Pretrained:
        """Read pairs, guess every word, and whether the texts belong together."""
        encoded = self.encode(pairs)
        return Pretrained(self.guesses(encoded.output), self.follows(self.summary(encoded)), encoded)


# Task 1: hidden words ---------------------------------------------------------------------------------------


def hide(
    tokens: Int[Tensor, "B T"],
    *,
    words: int,
    share: float = 0.15,
    rule: tuple[float, float, float] = (0.8, 0.1, 0.1),
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Hide words by the 80/10/10 rule (section 3.1, task 1, and appendix A.1).

    Of all words, `share` are asked for. Of those, a part of `rule` each becomes [MASK], becomes a random
    word, and stays as it is: whatever word the encoder sees, it may be asked whether it is the right one.

    Parameters
    ----------
    tokens
        Ids; the five marks are never hidden.
    words
        V.
    share
        Probability that a word is asked for.
    rule
        Shares of [MASK], of random words and of words that stay; they sum to one.
    generator
        Draws.

    Returns
    -------
    seen, labels : (B, T)
        What the encoder reads, and what it must say: `UNASKED` where nothing is asked.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be above 0 and below 1, got {share}")
    if len(rule) != 3 or min(rule) < 0 or abs(sum(rule) - 1) > 1e-9:
        raise ValueError(f"rule must be three shares that sum to 1, got {rule}")
    first = len(SPECIALS)
    asked = (torch.rand(tokens.shape, generator=generator) < share) & (tokens >= first)
    fate = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(first, words, tokens.shape, generator=generator)
    seen = torch.where(asked & (fate < rule[0]), torch.full_like(tokens, MASK), tokens)
    seen = torch.where(asked & (fate >= rule[0]) & (fate < rule[0] + rule[1]), other, seen)
    return seen, torch.where(asked, tokens, torch.full_like(tokens, UNASKED))


# Task 2: next sentences -------------------------------------------------------------------------------------


def halves(
    texts: Sequence[Sequence[Sequence[str]]], draw: random.Random, *, exchanged: float = 0.5
) -> list[tuple[tuple[str, ...], tuple[str, ...], bool]]:
    """Cut each text in two; half the second parts are exchanged for another text's (section 3.1).

    Parameters
    ----------
    texts
        Sentences of words; of each text two or more.
    draw
        Where to cut, and whether to exchange.
    exchanged
        Probability of an exchange.

    Returns
    -------
    list of (first part, second part, whether it continues)
    """
    if len(texts) < 2:
        raise ValueError(f"texts must be at least 2, to exchange parts, got {len(texts)}")
    cuts = [draw.randrange(1, len(text)) for text in texts]
    found = []
    for place, (text, cut) in enumerate(zip(texts, cuts, strict=True)):
        continues = draw.random() >= exchanged
        other = place if continues else (place + draw.randrange(1, len(texts))) % len(texts)
        second = texts[other][cuts[other] :]
        found.append((_flat(text[:cut]), _flat(second), continues))
    return found


def _flat(sentences: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(word for sentence in sentences for word in sentence)


# Pre-training -----------------------------------------------------------------------------------------------


class Masked(NamedTuple):
    """A batch to pre-train on.

    Attributes
    ----------
    pairs
        With words hidden.
    labels : (B, T)
        The hidden words; `UNASKED` where nothing is asked.
    follows : (B,)
        0 where the second part continues the first, 1 where it does not.
    """

    pairs: Pairs
    labels: Int[Tensor, "B T"]
    follows: Int[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.follows)


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """How to pre-train, and by which tasks.

    Raises
    ------
    ValueError
        If a number is out of range or no task is left.
    """

    steps: int = 1000  # optimiser steps
    batch: int = 64  # pairs in each
    lr: float = 2e-3  # peak; it then falls to zero
    warmup: float = 0.1  # share of the steps
    share: float = 0.15  # of the words, asked for
    rule: tuple[float, float, float] = (0.8, 0.1, 0.1)  # hidden, random, kept
    masked: bool = True  # masked language model
    following: bool = True  # next sentence prediction

    def __post_init__(self) -> None:
        for name in ("steps", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not (self.masked or self.following):
            raise ValueError("masked or following must be true: there is nothing to learn")


def pretrain(
    model: Bert,
    texts: Callable[[int], Sequence[Sequence[Sequence[str]]]],
    vocabulary: Vocabulary,
    how: Pretraining,
    *,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Pre-train in place on texts that need no labels; the loss is the sum of the tasks'.

    Without next sentence prediction no second part is exchanged: every text is whole.

    Parameters
    ----------
    model
        Trained in place.
    texts
        ``texts(round)`` gives texts, each a list of sentences of words; a round is cut into batches, then the
        next is asked for.
    vocabulary
        Of the words.
    how
        Steps, tasks, rates.
    seed
        Draws cuts, exchanges and hidden words.
    minutes, checkpoint, progress, on_epoch
        As in `reasonlib.training.fit`; there are ten epochs.
    """
    epochs = min(10, how.steps)
    each = -(-how.steps // epochs)

    def batches(epoch: int) -> Iterator[Masked]:
        left, number = each, epoch * 10_000
        while left:
            draw = random.Random(f"{seed}:{number}")
            generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
            parts = halves(texts(number), draw, exchanged=0.5 if how.following else 0.0)
            pairs = pack([(a, b) for a, b, _ in parts], vocabulary)
            follows = torch.tensor([0 if continues else 1 for *_, continues in parts])
            for items in torch.randperm(len(parts), generator=generator).split(how.batch):
                batch = pairs.take(items)
                seen, labels = hide(
                    batch.tokens, words=len(vocabulary), share=how.share, rule=how.rule, generator=generator
                )
                yield Masked(Pairs(seen, batch.segments), labels, follows[items])
                left -= 1
                if not left:
                    return
            number += 1

    def loss(model: Bert, batch: Masked) -> Tensor:
        total = torch.zeros(())
        encoded = model.encode(batch.pairs)
        if how.masked:
            asked = batch.labels != UNASKED
            logits = model.guesses(encoded.output[asked])  # (words asked, V)
            wanted = batch.labels[asked]
            total = total + functional.cross_entropy(logits, wanted, reduction="sum") / max(1, len(wanted))
        if how.following:
            logits = model.follows(model.summary(encoded))
            total = total + functional.cross_entropy(logits, batch.follows)
        return total

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
            warmup=round(how.warmup * each * epochs),
            clip=1.0,
            seed=seed,
            minutes=minutes,
        ),
        monitor="loss",
        mode="min",
        checkpoint=checkpoint,
        identity={"how": repr(how), "model": asdict(model.config)},
        steps_per_epoch=each,
        progress=progress,
        on_epoch=on_epoch,
    )


@torch.no_grad()
def masked_accuracy(
    model: Bert,
    texts: Sequence[Sequence[Sequence[str]]],
    vocabulary: Vocabulary,
    *,
    places: Callable[[Sequence[str], int], bool] | None = None,
    seed: int = 0,
) -> dict[str, float]:
    """Measure both pre-training tasks on texts.

    Parameters
    ----------
    model
        Pre-trained or not.
    texts
        Fresh ones.
    vocabulary
        Of the words.
    places
        Which words to ask for, from the words of a pair and a place in them; by default `hide` draws them.
        Each asked word is hidden by [MASK].
    seed
        Draws cuts, exchanges and hidden words.

    Returns
    -------
    dict
        ``words``, the share of hidden words guessed, and ``follows``, of pairs told apart.
    """
    mode = model.training
    model.eval()
    parts = halves(texts, random.Random(f"{seed}:measured"))
    pairs = pack([(a, b) for a, b, _ in parts], vocabulary)
    generator = torch.Generator().manual_seed(seed)
    seen, labels = hide(pairs.tokens, words=len(vocabulary), rule=(1.0, 0.0, 0.0), generator=generator)
    if places is not None:
        chosen = torch.tensor(
            [
                [place < len(words) and places(words, place) for place in range(pairs.tokens.shape[1])]
                for words in (vocabulary.decode(row) for row in pairs.tokens.tolist())
            ]
        )
        labels = torch.where(chosen, pairs.tokens, torch.full_like(labels, UNASKED))
        seen = torch.where(chosen, torch.full_like(seen, MASK), pairs.tokens)
    output = model(Pairs(seen, pairs.segments))
    asked = labels != UNASKED
    right = output.words.argmax(-1)[asked] == labels[asked]
    follows = torch.tensor([0 if continues else 1 for *_, continues in parts])
    told = output.follows.argmax(-1) == follows
    model.train(mode)
    return {"words": float(right.float().mean()), "follows": float(told.float().mean())}


# Fine-tuning ------------------------------------------------------------------------------------------------


class Labelled(NamedTuple):
    """Pairs to fine-tune on: the pairs, the class of each (B,), and how many classes there are."""

    pairs: Pairs
    classes: Int[Tensor, " B"]
    choices: int

    def __len__(self) -> int:
        return len(self.classes)

    def take(self, items: Tensor) -> "Labelled":
        """Keep these pairs."""
        return Labelled(self.pairs.take(items), self.classes[items], self.choices)


def labelled_answers(stories: Sequence[Story], vocabulary: Vocabulary) -> Labelled:
    """Pair each story with its question; the class is the answer's id."""
    pairs = pack([(story.words, story.question) for story in stories], vocabulary)
    classes = torch.tensor([vocabulary.id_of(story.answer) for story in stories])
    return Labelled(pairs, classes, len(vocabulary))


def labelled_gaps(stories: Sequence[Story], vocabulary: Vocabulary) -> Labelled:
    """Pair each story with its question and a hidden word in the answer's place; the class is its id."""
    pairs = pack([(story.words, (*story.question, "[MASK]")) for story in stories], vocabulary)
    classes = torch.tensor([vocabulary.id_of(story.answer) for story in stories])
    return Labelled(pairs, classes, len(vocabulary))


def labelled_claims(claims: Sequence[Claimed], vocabulary: Vocabulary) -> Labelled:
    """Pair each story with a statement; the class is 1 where it is true."""
    pairs = pack([(claim.words, claim.statement) for claim in claims], vocabulary)
    return Labelled(pairs, torch.tensor([int(claim.true) for claim in claims]), 2)


class Classifier(nn.Module):
    """An encoder and one layer more over [CLS] (section 3.2).

    Parameters
    ----------
    bert : Bert
        Pre-trained or not; trained on.
    classes : int
        How many.
    seed : int
        Draws the new layer.
    """

    def __init__(self, bert: Bert, classes: int, *, seed: int = 0) -> None:
        super().__init__()
        self.bert = bert
        with seeded(seed):
            self.answer = nn.Linear(bert.config.width, classes)
            nn.init.normal_(self.answer.weight, 0.0, 0.02)

    def forward(self, pairs: Pairs) -> Float[Tensor, "B classes"]:
        """Score every class."""
        return self.answer(self.bert.summary(self.bert.encode(pairs)))


class Cloze(nn.Module):
    """An encoder that answers by filling a gap, with the head it was pre-trained by: no new layer at all.

    Parameters
    ----------
    bert : Bert
        Pre-trained or not; trained on. Each pair has one [MASK].

    Notes
    -----
    A task as a gap (Schick and Schütze 2021). What pre-training has learnt about words stands at the words,
    not at [CLS]; an answer read there starts from it.
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, pairs: Pairs) -> Float[Tensor, "B V"]:
        """Score every word for the gap."""
        return self.bert.guesses(self.bert.encode(pairs).output[pairs.tokens == MASK])


@torch.no_grad()
def share_right(model: Classifier | Cloze, tested: Labelled) -> float:
    """Measure the share of pairs put in their class."""
    mode = model.training
    model.eval()
    right = model(tested.pairs).argmax(-1) == tested.classes
    model.train(mode)
    return float(right.float().mean())


def fine_tune(
    model: Classifier | Cloze,
    train: Labelled,
    *,
    steps: int,
    batch: int = 64,
    lr: float = 1e-3,
    warmup: float = 0.1,
    valid: Labelled | None = None,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
) -> training.History:
    """Train all weights on labelled pairs, in place; a history of ten rows.

    Parameters
    ----------
    model
        An encoder with its new layer, or with the gap it fills.
    train
        Drawn from again and again.
    steps, batch, lr, warmup
        Optimiser steps, pairs in each, peak rate, share of the steps over which it rises.
    valid
        Measured on ten times on the way, as ``accuracy``.
    seed
        Draws the batches.
    minutes, checkpoint, progress
        As in `reasonlib.training.fit`.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    epochs = min(10, steps)
    each = -(-steps // epochs)

    def batches(epoch: int) -> Iterator[Labelled]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        for _ in range(each):
            yield train.take(torch.randint(len(train), (batch,), generator=generator))

    def validate(model: Classifier | Cloze) -> Mapping[str, float]:
        return {} if valid is None else {"accuracy": share_right(model, valid)}

    return training.fit(
        model,
        batches,
        loss=lambda model, batch: functional.cross_entropy(model(batch.pairs), batch.classes),
        config=training.TrainingConfig(
            epochs=epochs,
            lr=lr,
            optimiser="adamw",
            weight_decay=0.01,
            schedule="linear",
            warmup=round(warmup * each * epochs),
            clip=1.0,
            seed=seed,
            minutes=minutes,
            restore_best=False,
        ),
        validate=None if valid is None else validate,
        monitor="loss" if valid is None else "accuracy",
        mode="min" if valid is None else "max",
        checkpoint=checkpoint,
        identity={"pairs": len(train), "classes": train.choices, "model": asdict(model.bert.config)},
        steps_per_epoch=each,
        progress=progress,
    )


def attention_of(model: Bert, pairs: Pairs) -> Float[Tensor, "L B H T T"]:
    """Give where every head of every layer looks, from the one code path that the model computes with."""
    with torch.no_grad():
        return torch.stack([layer.weights for layer in model.encode(pairs).attention])


def seen_by(pairs: Pairs) -> Bool[Tensor, "B T"]:
    """Tell tokens (True) from padding."""
    return pairs.tokens != 0
