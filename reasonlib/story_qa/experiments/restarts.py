r"""One network a task, as Sukhbaatar et al. (2015) train it: ten starts, the best of them kept.

The ten are trained side by side. Their weights lie along an axis of their own, so that one step of Python
moves all of them, and a batch is gathered once::

    one task's questions -> batch --+--> restart 1 --+
                                    +--> restart 2 --+--> error of each --> which one is kept
                                    +--> ...       --+

`MemoryNetwork` is the network of the book's chapter; this one follows the code that the authors released in
three things that decide about some tasks and that the paper does not say, or says otherwise:

- every memory of `slots` places takes part in the softmax, those that hold no sentence with a score of zero;
- words are weighed by `order_bags`, twice the paper's weight, with one J for all sentences;
- a linear start takes the bare scores. One task's stories are of like length, so that this does not diverge.

Source: sections 4.1, 4.2 and 4.4. https://arxiv.org/abs/1503.08895

Axes: R restarts, B questions, S memory slots, U distinct sentences, V words, D width, K hops, T tables.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.nn.memory import masked_identity
from reasonlib.story_qa.data.encoding import Batch, StorySet, encode
from reasonlib.story_qa.data.example import Example, words
from reasonlib.story_qa.models.memory_gradient import loss_by_hand
from reasonlib.story_qa.models.memory_network import Tying
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "Restarts",
    "RestartsConfig",
    "RestartsRecipe",
    "Tried",
    "encode_ordered",
    "kept",
    "learn_restarts",
    "order_bags",
    "softmax_with_empty",
    "try_all",
]


# Sentences --------------------------------------------------------------------------------------------------


def order_bags(
    sentences: Sequence[Sequence[int]], vocabulary: int, width: int, longest: int
) -> Float[Tensor, "U 2 V"]:
    r"""Weigh the words of each sentence by place, around one and from the middle of the longest sentence.

    .. math:: l_{kj} = 1 + \frac{4}{J D} \left(k - \tfrac{D + 1}{2}\right) \left(j - \tfrac{J + 1}{2}\right)

    As in `tensors.sentence_bags` this is a straight line in :math:`k / D`, so two bags a sentence are enough.

    Parameters
    ----------
    sentences
        Word ids of each sentence.
    vocabulary, width
        V and D.
    longest
        J.

    Returns
    -------
    Float (U, 2, V)
        P and Q of each sentence: its vector is :math:`P A + \tfrac{k}{D} \circ (Q A)`.

    Notes
    -----
    The paper's weight, :math:`(1 - j/J) - (k/D)(1 - 2j/J)`, is half of this one but for the halves that are
    taken from j and k.
    """
    bags = np.zeros((len(sentences), 2, vocabulary), dtype=np.float32)
    for row, sentence in enumerate(sentences):
        for place, word in enumerate(sentence, start=1):
            slope = 4 * (place - (longest + 1) / 2) / longest
            bags[row, 0, word] += 1 - slope * (width + 1) / (2 * width)
            bags[row, 1, word] += slope
    bags[:, :, 0] = 0.0
    return torch.from_numpy(bags)


def encode_ordered(
    examples: Iterable[Example], vocabulary: Vocabulary, width: int, *, like: StorySet | None = None
) -> StorySet:
    """Turn examples into a `StorySet` whose sentences are weighed by `order_bags`.

    Parameters
    ----------
    examples, vocabulary
        As in `tensors.encode`.
    width
        D of the network.
    like
        The training set, whose longest sentence gives J; by default the examples' own. J is one more than
        that sentence has words: the released code counts the word that names a sentence's age.

    Raises
    ------
    ValueError
        If there are no examples.
    """
    stories = encode(examples, vocabulary)
    rows = [vocabulary.encode(words(sentence)) for sentence in _sentences(stories.examples)]
    longest = max(len(words(sentence)) for sentence in _sentences((like or stories).examples)) + 1
    return replace(stories, bags=order_bags(rows, len(vocabulary), width, longest))


def _sentences(examples: Sequence[Example]) -> list[str]:
    """List every sentence and question once, in the order of `tensors.encode`."""
    told = dict.fromkeys(sentence for one in examples for sentence in one.story)
    return list(told | dict.fromkeys(one.question for one in examples))


# The networks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RestartsConfig:
    """Sizes of memory networks that differ in nothing but their first weights.

    Raises
    ------
    ValueError
        If a size is below 1.
    """

    vocabulary: int  # V, answers included
    restarts: int = 10  # R, as in section 4.4
    width: int = 20  # D
    hops: int = 3  # K
    slots: int = 50  # S
    spread: float = 0.1  # standard deviation of the first weights

    def __post_init__(self) -> None:
        for name in ("vocabulary", "restarts", "width", "hops", "slots"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def softmax_with_empty(
    scores: Float[Tensor, "R B S"], mask: Bool[Tensor, "B S"], places: int
) -> Float[Tensor, "R B S"]:
    """Softmax over all places of the memory; those without a sentence have a score of zero and are not read.

    >>> softmax_with_empty(torch.zeros(1, 1, 2), torch.tensor([[True, False]]), places=4)
    tensor([[[0.2500, 0.0000]]])
    """
    hidden = ~mask
    empty = (places - mask.sum(1, keepdim=True)).to(scores.dtype).log()
    empty = empty.expand(len(scores), -1, -1)  # all of them in one score
    lowest = torch.finfo(scores.dtype).min
    scores = torch.cat([scores.masked_fill(hidden, lowest), empty.clamp(min=lowest)], dim=2)
    return scores.softmax(2)[:, :, :-1].masked_fill(hidden, 0.0)


class Restarts(nn.Module):
    """R memory networks with adjacent tying, asked the same questions.

    ``words`` is (T, R, V, D) and ``ages`` is (T, R, S, D); `Tying` says which table serves as what.

    Parameters
    ----------
    config
        Sizes.
    seed
        Draws the first weights of all of them from N(0, spread).
    """

    unit: Tensor

    def __init__(self, config: RestartsConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.tying = Tying.adjacent(config.hops)
        draw = torch.Generator().manual_seed(seed)
        shape = (self.tying.tables, config.restarts)
        words = torch.randn((*shape, config.vocabulary, config.width), generator=draw)
        ages = torch.randn((*shape, config.slots, config.width), generator=draw)
        self.words = nn.Parameter(words * config.spread)
        self.ages = nn.Parameter(ages * config.spread)
        self.register_buffer("unit", torch.arange(1, config.width + 1) / config.width, persistent=False)

    def forward(self, batch: Batch, *, linear: bool = False) -> Float[Tensor, "R B V"]:
        """Score every word as the answer to every question, by every restart.

        Parameters
        ----------
        batch
            Stories with at most ``config.slots`` sentences.
        linear
            Leave the softmax out (linear start, section 4.2).
        """
        bags = batch.sentences.unbind(1)
        sentences = bags[0] @ self.words + self.unit * (bags[1] @ self.words)  # (T, R, U, D)
        state = sentences[self.tying.query][:, batch.question]  # (R, B, D)
        slots = batch.story.shape[1]
        story = batch.story.expand(len(state), -1, -1)  # (R, B, S)
        for key, value in zip(self.tying.keys, self.tying.values, strict=True):
            scores = (state @ sentences[key].mT).gather(2, story) + state @ self.ages[key, :, :slots].mT
            if linear:
                weights = masked_identity(scores, batch.filled)
            else:
                weights = softmax_with_empty(scores, batch.filled, self.config.slots)
            shares = torch.zeros_like(weights[..., :1]).expand(-1, -1, sentences.shape[2])
            shares = shares.scatter_add(2, story, weights)  # (R, B, U): what each distinct sentence is given
            state = state + shares @ sentences[value] + weights @ self.ages[value, :, :slots]
        return state @ self.words[self.tying.answer].mT


# Training ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RestartsRecipe:
    """How they are trained (section 4.2 and the released code).

    The source trains on batches of 32 at 0.01, and at 0.005 where training starts linear, halved every 25
    epochs. At 0.01 many starts settle on a guess on task 16. Batch and rate here were chosen on validation
    questions.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    epochs: int = 120  # 30 of linear start, then 90
    linear_start: float = 0.25  # share of the epochs without softmax, first
    batch_size: int = 64
    lr: float = 0.006  # for the sum of a batch's losses
    halve_every: int = 40  # epochs
    clip: float = 40.0  # largest norm of the gradient of one table of one restart
    noise: float = 0.1  # share of empty slots put among the memories

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")
        if not 0 <= self.linear_start <= 1:
            raise ValueError(f"linear_start must be between 0 and 1, got {self.linear_start}")
        if self.clip <= 0:
            raise ValueError(f"clip must be above 0, got {self.clip}")
        if self.noise < 0:
            raise ValueError(f"noise must be at least 0, got {self.noise}")

    @property
    def linear_epochs(self) -> int:
        """How many epochs go without the softmax."""
        return round(self.linear_start * self.epochs)


def learn_restarts(
    model: Restarts,
    train: StorySet,
    recipe: RestartsRecipe,
    *,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train all restarts in place, on the same batches.

    Parameters
    ----------
    model
        Freshly made.
    train
        Questions to learn from; an epoch leaves out the few that fill no batch.
    recipe
        Rates, noise, linear start.
    seed
        Orders the batches and draws the noise.
    minutes, checkpoint, progress, on_epoch
        As in `reasonlib.training.fit`.

    Returns
    -------
    History
        One row an epoch; the loss is in nats a batch, summed over the restarts that have not diverged.
    """
    size = min(recipe.batch_size, len(train))
    steps, slots = len(train) // size, model.config.slots
    device = model.words.device
    phase = {"linear": False}

    def batches(epoch: int) -> Iterator[Batch]:
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(train))
        for items in order[: steps * size].reshape(steps, size):
            yield train.batch(items, slots=slots, noise=recipe.noise, rng=rng).to(device)

    def start(epoch: int, rows: list[dict[str, float]]) -> None:
        phase["linear"] = epoch < recipe.linear_epochs

    def loss(model: Restarts, batch: Batch) -> Tensor:
        return loss_by_hand(
            model.words,
            model.ages,
            batch,
            tying=model.tying,
            linear=phase["linear"],
            size=size,
            clip=recipe.clip,
        )

    return training.fit(
        model,
        batches,
        loss=loss,
        config=training.TrainingConfig(
            epochs=recipe.epochs,
            lr=recipe.lr,
            optimiser="sgd",
            schedule="step",
            step_every=recipe.halve_every,
            seed=seed,
            minutes=minutes,
        ),
        monitor="loss",
        mode="min",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "model": repr(model.config), "questions": len(train)},
        steps_per_epoch=steps,
        on_epoch_start=start,
        on_epoch=on_epoch,
        progress=progress,
    )


def _losses(logits: Float[Tensor, "R B V"], answer: Tensor) -> Float[Tensor, "R B"]:
    """Cross entropy of every answer of every restart, in nats."""
    wanted = answer.expand(len(logits), -1)
    return functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none").view_as(wanted)


# Which one is kept ------------------------------------------------------------------------------------------


class Tried(NamedTuple):
    """How each restart answers a set of questions.

    Attributes
    ----------
    error : (R,)
        Share of wrong answers.
    loss : (R,)
        Mean cross entropy, in nats.
    """

    error: np.ndarray
    loss: np.ndarray


def kept(train: Tried, valid: Tried) -> int:
    """Choose the restart to keep: the one with the lowest training error, as the source does (section 4.4).

    Among equals the validation error decides, then the training loss. One that diverged comes last.
    """
    loss = np.nan_to_num(train.loss, nan=np.inf)
    return int(np.lexsort((loss, valid.error, train.error, ~np.isfinite(loss)))[0])


@torch.no_grad()
def try_all(model: Restarts, stories: StorySet, *, size: int = 256) -> Tried:
    """Ask every restart every question, without noise.

    Parameters
    ----------
    model
        Trained.
    stories
        The questions.
    size
        Questions in a batch.
    """
    wrong: list[Tensor] = []
    losses: list[Tensor] = []
    for start in range(0, len(stories), size):
        items = np.arange(start, min(start + size, len(stories)))
        batch = stories.batch(items, slots=model.config.slots).to(model.words.device)
        logits = model(batch)
        wrong.append(logits.argmax(2) != batch.answer)
        losses.append(_losses(logits, batch.answer))
    return Tried(
        torch.cat(wrong, dim=1).double().mean(1).cpu().numpy(),
        torch.cat(losses, dim=1).double().mean(1).cpu().numpy(),
    )
