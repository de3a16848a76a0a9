r"""A BERT that reads sentences: one encoder for the words of a sentence, one for the sentences of a story.

Source: HIBERT (Zhang, Wei and Zhou 2019), section 3.1, which reads documents for summaries in this way.
https://arxiv.org/abs/1905.06566

::

    every distinct sentence once                        every question with its story, S + 1 vectors

    [CLS] where is mary ?         --> s_q  ---------->  [s_q, s_1 (latest), s_2, ..., s_S]
    [CLS] mary moved to the ...   --> s_1               + age of each, counted back from the question
    [CLS] john went to the ...    --> s_2               document layer, run N times
               sentence encoder                          |
                                                        answer: from the question's vector

The sentence encoder is any `transformers` encoder (see `bert.load_encoder`); a sentence's vector is that of
its [CLS]. A story of bAbI tells the same few sentences again and again, so that encoding each distinct
sentence of a batch once leaves a small part of the work of reading the story word by word.

The document layers share their weights, as in ALBERT (Lan et al. 2020) and in the Universal Transformer
(Dehghani et al. 2019), which adds positions and the number of the step before every one of them, as is
done here.

Axes: B questions, S sentences, U distinct sentences, T tokens, D width, A answers, N steps, H heads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.nn.positions import sinusoidal_positions
from reasonlib.nn.transformer import EncoderLayer, PreNorm, TransformerConfig, initialise
from reasonlib.story_qa.data.encoding import Batch, StorySet, encode
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.experiments.metrics import scores
from reasonlib.story_qa.models.bert import StoryTokens
from reasonlib.training.batching import LengthBuckets, pad
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "SentenceReader",
    "SentenceReaderConfig",
    "SentenceRecipe",
    "SentencesRead",
    "accuracy",
    "choose",
    "encode_sentences",
    "fresh",
    "lowest_layers",
    "practice_shares",
    "read_stories",
    "train_reader",
]


GROUPS = 4  # of sentences of like length, encoded one after another: less padding


# Data -------------------------------------------------------------------------------------------------------


def encode_sentences(examples: Sequence[Example], tokenizer: Any, answers: Vocabulary) -> StorySet:
    """Turn examples into a `StorySet` whose sentences are rows of token ids, ``[CLS]`` first, zero behind.

    Parameters
    ----------
    examples
        Questions with their stories.
    tokenizer
        Of the sentence encoder; its ``pad_token_id`` must be 0.
    answers
        The answer classes (see `reading.answer_classes`).

    Returns
    -------
    StorySet
        With ``bags`` of shape (U, T): the token ids of every distinct sentence, and `answers` as vocabulary.

    Raises
    ------
    ValueError
        If there are no examples or the padding has another id.
    """
    if tokenizer.pad_token_id != 0:
        raise ValueError(f"tokenizer must pad with id 0, got {tokenizer.pad_token_id}")
    stories = encode(examples, answers, "bag")
    tokens = StoryTokens(tokenizer)
    rows: dict[str, list[int]] = {}
    for example in examples:  # in the order in which `encode` numbers them
        for sentence in example.story:
            rows.setdefault(sentence, [])
    for example in examples:
        rows.setdefault(example.question, [])
    ids = [[tokenizer.cls_token_id, *tokens.sentence(sentence)] for sentence in rows]
    return replace(stories, bags=pad(ids))


# The model --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SentenceReaderConfig:
    """Sizes of the document level; its width D is the sentence encoder's.

    Raises
    ------
    ValueError
        If a size is out of range.
    """

    answers: int  # A
    steps: int = 4  # N
    shared: bool = True  # one layer, run N times; else N layers
    heads: int = 4  # H
    hidden: int = 128  # width between the two maps of the feed-forward part
    slots: int = 130  # S at most; older sentences are forgotten

    def __post_init__(self) -> None:
        for name, lowest in (("answers", 2), ("steps", 1), ("heads", 1), ("hidden", 1), ("slots", 1)):
            if getattr(self, name) < lowest:
                raise ValueError(f"{name} must be at least {lowest}, got {getattr(self, name)}")


class SentencesRead(NamedTuple):
    """What the reader makes of a batch.

    Attributes
    ----------
    logits : (B, A)
        Score of every answer class.
    hidden : (B, S + 1, D)
        The last vectors of the question (first) and of the sentences, latest first.
    attention : (B, N, H, S + 1, S + 1) or None
        Every head's weights at every step, if they were asked for.
    """

    logits: Float[Tensor, "B A"]
    hidden: Float[Tensor, "B S+1 D"]
    attention: Float[Tensor, "B N H S+1 S+1"] | None


class SentenceReader(nn.Module):
    r"""Encode sentences by their words and stories by their sentences, and answer from the question's vector.

    .. math::
        h^0_i &= s_i + e_{\text{kind}(i)} \\
        h^{n+1} &= \mathrm{Layer}\left(h^n_i + a_i + t_n\right)_i \\
        \hat a &= \mathrm{softmax}(W\, \mathrm{LayerNorm}(h^N_0) + b)

    :math:`s_i` is the sentence encoder's [CLS], :math:`a_i` the vector of age i (the question is 0, the
    latest sentence 1), :math:`t_n` that of step n.

    Parameters
    ----------
    encoder
        A `transformers` encoder for single sentences.
    config
        Sizes of the document level.
    seed
        Draws the first weights of the document level.

    Raises
    ------
    ValueError
        If the encoder's width is no multiple of the heads.
    """

    def __init__(self, encoder: Any, config: SentenceReaderConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        width = encoder.config.hidden_size
        sizes = TransformerConfig(
            layers=1 if config.shared else config.steps,
            width=width,
            heads=config.heads,
            hidden=config.hidden,
            dropout=0.0,
            activation=functional.gelu,
            residual=PreNorm,
        )
        with training.seeded(seed):
            self.layers = nn.ModuleList(EncoderLayer(sizes) for _ in range(sizes.layers))
            initialise(self.layers)
            self.ages = nn.Parameter(0.3 * sinusoidal_positions(config.slots + 1, width))
            self.step = nn.Parameter(0.02 * torch.randn(config.steps, width))
            self.kind = nn.Parameter(0.1 * torch.randn(2, width))  # question, sentence
            self.end = nn.LayerNorm(width)
            self.answer = nn.Linear(width, config.answers)

    def sentences(self, tokens: Int[Tensor, "U T"]) -> Float[Tensor, "U D"]:
        """Encode each sentence by itself: the vector of its [CLS]; sentences of like length go together."""
        lengths = (tokens != 0).sum(1)
        order = lengths.argsort(stable=True)
        found = []
        for rows in order.chunk(GROUPS):
            group = tokens[rows, : int(lengths[rows[-1]])]
            mask = (group != 0).long()
            found.append(self.encoder(input_ids=group, attention_mask=mask).last_hidden_state[:, 0])
        return torch.cat(found)[order.argsort()]

    def forward(self, batch: Batch, *, attention: bool = False) -> SentencesRead:
        """Score every answer; `attention` also returns where each sentence looked at every step.

        Parameters
        ----------
        batch
            From an `encode_sentences` set, with at most ``config.slots`` sentences a story.
        attention
            Whether to keep the weights.
        """
        places = torch.cat([batch.question[:, None], batch.story], dim=1)  # (B, S + 1)
        told = torch.cat([batch.filled.new_ones(len(places), 1), batch.filled], dim=1)
        kinds = self.kind[(torch.arange(places.shape[1], device=places.device) > 0).long()]
        hidden = functional.embedding(places, self.sentences(batch.sentences)) + kinds
        ages = self.ages[: places.shape[1]]
        weights = []
        for number in range(self.config.steps):
            layer = self.layers[0 if self.config.shared else number]
            hidden, looked = layer(hidden + ages + self.step[number], told[:, None])
            if attention:
                weights.append(looked.weights)
        logits = self.answer(self.end(hidden[:, 0]))
        return SentencesRead(logits, hidden, torch.stack(weights, dim=1) if attention else None)


def lowest_layers(encoder: Any, layers: int) -> Any:
    """Keep the embeddings and the first layers of a BERT, in place: single sentences need few.

    Raises
    ------
    ValueError
        If the encoder has fewer.
    """
    if not 1 <= layers <= len(encoder.encoder.layer):
        raise ValueError(f"layers must be between 1 and {len(encoder.encoder.layer)}, got {layers}")
    encoder.encoder.layer = encoder.encoder.layer[:layers]
    encoder.config.num_hidden_layers = layers
    encoder.pooler = None  # not used, and a weight that gets no gradient
    return encoder


def fresh(encoder: Any, *, seed: int = 0, spread: float = 0.1) -> Any:
    """Make an encoder of the same size with random weights.

    Parameters
    ----------
    encoder
        Any `transformers` encoder.
    seed
        Draws the weights.
    spread
        Their standard deviation. BERT's 0.02 is for a width of 768; a narrow encoder starts faster with more.
    """
    config = type(encoder.config).from_dict({**encoder.config.to_dict(), "initializer_range": spread})
    with training.seeded(seed):
        made = type(encoder)(config)
    made.pooler = None
    return made


# Training ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SentenceRecipe:
    """How a reader of sentences is trained.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    epochs: int = 10
    batch_size: int = 128
    lr: float = 2e-3
    weight_decay: float = 0.01
    warmup: float = 0.05  # share of all steps
    clip: float = 1.0
    noise: float = 0.1  # share of empty slots put among the sentences (see `StorySet.batch`)
    practice: float | None = None  # the floor of `practice_shares`; None: every question once an epoch

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup must be between 0 and 1, got {self.warmup}")
        if self.noise < 0:
            raise ValueError(f"noise must be at least 0, got {self.noise}")
        if self.practice is not None and not self.practice > 0:
            raise ValueError(f"practice must be above 0 or None, got {self.practice}")


def practice_shares(errors: Mapping[int, float], floor: float) -> dict[int, float]:
    """Share an epoch's questions among the tasks: each gets its error on held-out questions plus `floor`.

    The tasks that are mastered cost most, since their stories are the longest; the tasks that are not need
    more looks than there are questions.

    >>> {task: round(share, 2) for task, share in practice_shares({1: 0.0, 17: 0.4}, 0.1).items()}
    {1: 0.17, 17: 0.83}
    """
    total = sum(errors.values()) + floor * len(errors)
    return {task: (error + floor) / total for task, error in errors.items()}


def choose(tasks: np.ndarray, shares: Mapping[int, float], rng: np.random.Generator) -> np.ndarray:
    """Draw as many questions as there are, each task by its share; none again before all of its task came up.

    Parameters
    ----------
    tasks : (N,)
        Task of every question.
    shares
        Of every task; they sum to 1.
    rng
        Draws.

    Returns
    -------
    (N,)
        Numbers of questions, in no useful order.
    """
    chosen: list[np.ndarray] = []
    ends = np.round(np.cumsum([shares[task] for task in sorted(shares)]) * len(tasks)).astype(int)
    ends[-1] = len(tasks)
    for task, wanted in zip(sorted(shares), np.diff(ends, prepend=0), strict=True):
        own = np.flatnonzero(tasks == task)
        rounds = [rng.permutation(own) for _ in range(-(-int(wanted) // len(own)))]
        chosen += [np.concatenate(rounds)[:wanted]] if rounds else []
    return np.concatenate(chosen)


@torch.no_grad()
def read_stories(model: SentenceReader, stories: StorySet, *, size: int = 256) -> np.ndarray:
    """Answer every question; returns the classes, shape (N,)."""
    model.eval()
    slots = model.config.slots
    answers = np.zeros(len(stories), dtype=np.int64)
    for items in LengthBuckets(stories.lengths.tolist(), batch_size=size).plan(0):
        batch = stories.batch(items, slots=slots).to(model.ages.device)
        answers[items] = model(batch).logits.argmax(1).cpu().numpy()
    return answers


def accuracy(model: SentenceReader, stories: StorySet) -> dict[str, float]:
    """Measure the share of right answers (see `evaluation.scores`)."""
    return scores(stories.task, read_stories(model, stories) == stories.answer)


def train_reader(
    model: SentenceReader,
    train: StorySet,
    recipe: SentenceRecipe,
    *,
    valid: StorySet | None = None,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train both levels together, in place.

    Parameters
    ----------
    model
        With a pre-trained or a fresh sentence encoder.
    train, valid
        From `encode_sentences`, with the same answers and the same tasks. With `recipe.practice`, what is
        held out also says what to practise.
    recipe
        Batch size, rate, noise.
    seed
        Orders the batches and draws the empty slots.
    minutes, checkpoint, progress, on_epoch
        As in `reasonlib.training.fit`.
    """
    slots = model.config.slots
    lengths = np.minimum(train.lengths, slots)
    everything = np.arange(len(train))
    steps = len(LengthBuckets(lengths, batch_size=recipe.batch_size, seed=seed))
    device = model.ages.device
    latest: dict[str, float] = {}

    def start(epoch: int, rows: list[dict[str, float]]) -> None:
        latest.clear()
        latest.update(rows[-1] if rows else {})

    def batches(epoch: int) -> Iterator[Batch]:
        rng = np.random.default_rng([seed, epoch])
        items = everything
        if latest and valid is not None and recipe.practice is not None:
            errors = {int(task): 1 - latest[f"accuracy.qa{task}"] for task in np.unique(valid.task)}
            items = choose(train.task, practice_shares(errors, recipe.practice), rng)
        for rows in LengthBuckets(lengths[items], batch_size=recipe.batch_size, seed=seed).plan(epoch):
            yield train.batch(items[rows], slots=slots, noise=recipe.noise, rng=rng).to(device)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        return functional.cross_entropy(model(batch).logits, batch.answer)

    def validate(model: SentenceReader) -> dict[str, float]:
        return accuracy(model, valid) if valid is not None else {}

    return training.fit(
        model,
        batches,
        loss=loss,
        config=training.TrainingConfig(
            epochs=recipe.epochs,
            lr=recipe.lr,
            optimiser="adamw",
            betas=(0.9, 0.98),  # as in Vaswani et al. (2017), section 5.3
            weight_decay=recipe.weight_decay,
            schedule="linear",
            warmup=round(recipe.warmup * steps * recipe.epochs),
            clip=recipe.clip,
            seed=seed,
            minutes=minutes,
        ),
        validate=None if valid is None else validate,
        monitor="loss" if valid is None else "accuracy",
        mode="min" if valid is None else "max",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "model": repr(model.config), "questions": len(train)},
        steps_per_epoch=steps,
        on_epoch_start=start,
        on_epoch=on_epoch,
        progress=progress,
    )
