"""Train a small Transformer on an algorithmic task, whole or without one part, and see whether it solves it.

    simulate -> examples -> encode -> TaskSet -> learn -> accuracy

    >>> solved = solve("copy")                          # a few seconds         # doctest: +SKIP
    >>> failed = solve("copy", without="positions")                             # doctest: +SKIP
    >>> solved.metrics["exact"] > failed.metrics["exact"]                                  # doctest: +SKIP
    True

Axes: B examples, S source tokens, T target tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.nn import decoding
from reasonlib.training import RunOptions
from reasonlib.training.batching import pad
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.transformer.data.simulator import Example, simulate, vocabulary
from reasonlib.transformer.models import ablations
from reasonlib.transformer.models.translator import Tagger, Translator, TranslatorConfig

__all__ = [
    "LENGTHS",
    "RECIPES",
    "SIZES",
    "TAGGED",
    "Recipe",
    "TaskBatch",
    "TaskResult",
    "TaskSet",
    "accuracy",
    "build",
    "encode",
    "learn",
    "solve",
]

START, END = 1, 2

TAGGED = ("recall", "neighbours")
"""Tasks answered at every token by a `Tagger`; a `Translator` writes the answers to all others."""

LENGTHS: Mapping[str, tuple[int, int]] = {
    "copy": (4, 8),
    "reverse": (4, 8),
    "sort": (4, 8),
    "recall": (7, 10),
    "neighbours": (4, 8),
    "parity": (10, 16),
    "aloud": (10, 16),
    "fork": (2, 2),
}
"""Shortest and longest source a task is learned on. Of bits there must be many, or all cases are seen."""

SIZES: Mapping[str, Mapping[str, Any]] = {
    "copy": {"layers": 1},
    "reverse": {"layers": 1},
    "sort": {"layers": 1},
    "recall": {"layers": 2, "width": 64, "norm": "pre"},
    "neighbours": {"layers": 1},
    "parity": {"layers": 1},
    "aloud": {"layers": 1},
    "fork": {"layers": 1},
}
"""Sizes of a task's model, where they differ from `TranslatorConfig`: the least that solves it."""

RECIPES: Mapping[str, Mapping[str, Any]] = {
    "copy": {"steps": 400, "lr": 5e-3},
    "reverse": {"steps": 700, "lr": 5e-3},
    "sort": {"steps": 300, "lr": 5e-3},
    "recall": {"steps": 600, "lr": 1e-2},
    "neighbours": {"steps": 800, "lr": 2e-2},
    "parity": {"steps": 500, "lr": 6e-3},
    "aloud": {"steps": 500, "lr": 6e-3},
    "fork": {"steps": 400, "lr": 5e-3},
}
"""How a task is learned in seconds, where that differs from `Recipe`."""


class TaskBatch(NamedTuple):
    """Examples as ids.

    Attributes
    ----------
    source : (B, S)
        Padded with 0.
    given : (B, T)
        The start, then the target without its last token: what the decoder is shown.
    target : (B, T)
        The target and the end, padded with 0. Of a tagger, the target alone.
    """

    source: Int[Tensor, "B S"]
    given: Int[Tensor, "B T"]
    target: Int[Tensor, "B T"]

    def __len__(self) -> int:
        return len(self.source)

    def take(self, items: Tensor) -> "TaskBatch":
        """Keep these examples."""
        return TaskBatch(self.source[items], self.given[items], self.target[items])


class TaskSet(NamedTuple):
    """A task's examples, as they are told and as ids."""

    examples: tuple[Example, ...]
    vocabulary: Vocabulary
    ids: TaskBatch

    def __len__(self) -> int:
        return len(self.examples)


def encode(examples: Sequence[Example], words: Vocabulary | None = None) -> TaskSet:
    """Number the tokens of examples of one task.

    Parameters
    ----------
    examples
        At least one, all of one task.
    words
        The vocabulary; the task's own by default.
    """
    tasks = {example.task for example in examples}
    if len(tasks) != 1:
        raise ValueError(f"examples must be of one task, got {', '.join(sorted(tasks)) or 'none'}")
    task = tasks.pop()
    words = vocabulary(task) if words is None else words
    source = pad([words.encode(example.source) for example in examples])
    targets = [words.encode(example.target) for example in examples]
    if task in TAGGED:
        target = pad(targets)
        return TaskSet(tuple(examples), words, TaskBatch(source, target, target))
    given, target = pad([[START, *ids] for ids in targets]), pad([[*ids, END] for ids in targets])
    return TaskSet(tuple(examples), words, TaskBatch(source, given, target))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a task is learned.

    Raises `ValueError` if a number is out of range.
    """

    steps: int = 800  # optimiser steps
    batch: int = 64  # examples in each
    lr: float = 3e-3  # peak
    warmup: float = 0.1  # share of the steps over which the rate rises; it then falls to zero

    def __post_init__(self) -> None:
        check_at_least(self, 1, "steps", "batch")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup must be at least 0 and below 1, got {self.warmup}")


def build(task: str, *, without: str | None = None, seed: int = 0, **sizes: Any) -> nn.Module:
    """Make the small model of a task, whole or without one part.

    Parameters
    ----------
    task
        A key of `simulator.TASKS`.
    without
        A key of `ablations.PARTS`; None for the whole model.
    seed
        Draws the first weights: the same ones, whatever part is taken out.
    **sizes
        Of `TranslatorConfig`, in place of the task's own.
    """
    config = TranslatorConfig(vocabulary=len(vocabulary(task)), **{**SIZES.get(task, {}), **sizes})
    model: nn.Module = (Tagger if task in TAGGED else Translator)(config, seed=seed)
    return model if without is None else ablations.without(model, without)


def learn(
    model: nn.Module,
    train: TaskSet,
    recipe: Recipe | None = None,
    *,
    valid: TaskSet | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train a model in place on examples drawn again and again from a set; ten rows of history.

    Parameters
    ----------
    model
        From `build`.
    train, valid
        What to learn from, and what to measure `accuracy` on ten times on the way.
    recipe
        Steps, batch, rate.
    **options
        Of the run, see `RunOptions`; the seed draws the batches.

    Returns
    -------
    History
        Rows with the loss (nats a token) and, with `valid`, its accuracies.
    """
    recipe = Recipe() if recipe is None else recipe
    epochs, each = training.divide_steps(recipe.steps)
    seed = options.get("seed", 0)

    def batches(epoch: int) -> Iterator[TaskBatch]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        for _ in range(each):
            yield train.ids.take(torch.randint(len(train), (recipe.batch,), generator=generator))

    def loss(model: nn.Module, batch: TaskBatch) -> Tensor:
        logits = _logits(model, batch)
        return functional.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=0)

    settings = {
        "epochs": epochs,
        "schedule": "linear",
        "warmup": round(recipe.warmup * each * epochs),
        "clip": 1.0,
        "restore_best": False,
    }
    identity = {"model": repr(model), "examples": len(train)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        validate=None if valid is None else lambda model: accuracy(model, valid),
        loss=loss,
        settings=settings,
        monitor="loss" if valid is None else "exact",
        identity=identity,
        steps_per_epoch=each,
        **options,
    )


def _logits(model: nn.Module, batch: TaskBatch) -> Tensor:
    if isinstance(model, Tagger):
        return model(batch.source).logits
    return model(batch.source, batch.given).logits


@torch.no_grad()
def accuracy(model: nn.Module, tested: TaskSet) -> dict[str, float]:
    """Measure how well a model solves a task.

    Parameters
    ----------
    model
        From `build`.
    tested
        Examples it was not trained on.

    Returns
    -------
    dict
        ``exact``, the share of answers right from end to end, as the model writes them by itself (greedily);
        ``token``, the share of right tokens where it is shown the right tokens before. Of a tagger, which
        writes nothing, both are of its answers at all tokens and at each.
    """
    mode = model.training
    model.eval()
    logits = _logits(model, tested.ids)
    target = tested.ids.target
    scored = target != 0
    right = logits.argmax(-1) == target
    token = float(right[scored].float().mean())
    if isinstance(model, Tagger):
        exact = float((right | ~scored).all(1).float().mean())
    else:
        written = decoding.greedy(model, tested.ids.source, longest=target.shape[1])  # type: ignore[arg-type]
        exact = float((written.tokens[:, 0] == target).all(1).float().mean())
    model.train(mode)
    return {"exact": exact, "token": token}


class TaskResult(NamedTuple):
    """A trained model, how it was trained, and what it makes of examples it has not seen.

    Attributes
    ----------
    model
        A `Translator`, or a `Tagger` for tasks in `TAGGED`.
    history
        Of its training.
    metrics
        See `accuracy`.
    tested
        The examples it was measured on.
    """

    model: Any
    history: training.History
    metrics: dict[str, float]
    tested: TaskSet


def solve(
    task: str,
    *,
    without: str | None = None,
    recipe: Recipe | None = None,
    examples: int = 8000,
    test_size: int = 400,
    lengths: tuple[int, int] | None = None,
    watch: bool = False,
    sizes: Mapping[str, Any] | None = None,
    **options: Unpack[RunOptions],
) -> TaskResult:
    """Simulate a task, train a small Transformer on it and measure it: all in one call.

    Parameters
    ----------
    task
        A key of `simulator.TASKS`.
    without
        A part to take out first, a key of `ablations.PARTS`.
    recipe
        How to learn; `RECIPES` of the task by default.
    examples, test_size
        How many to learn from, and how many others to be measured on.
    lengths
        Shortest and longest source; `LENGTHS` by default.
    watch
        Measure ten times on the way too, on the first hundred.
    sizes
        Of `TranslatorConfig`, in place of the task's own.
    **options
        Of the run, see `RunOptions`; the seed draws the first weights and the batches. The examples are the
        same for every seed.
    """
    shortest, longest = LENGTHS[task] if lengths is None else lengths
    recipe = Recipe(**RECIPES[task]) if recipe is None else recipe
    model = build(task, without=without, seed=options.get("seed", 0), **(sizes or {}))
    train = encode(simulate(task, examples, shortest=shortest, longest=longest, seed=1))
    tested = encode(simulate(task, test_size, shortest=shortest, longest=longest, seed=2))
    history = learn(
        model,
        train,
        recipe,
        valid=encode(tested.examples[:100]) if watch else None,
        **options,
    )
    return TaskResult(model, history, accuracy(model, tested), tested)
