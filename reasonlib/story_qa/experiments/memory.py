"""Memory networks trained on all twenty tasks at once: sizes, learning rates, what each part is worth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.story_qa.data.datasets import DATA, Splits, load, version
from reasonlib.story_qa.data.encoding import Batch, StorySet, build_vocabulary, encode
from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.experiments.metrics import attention_on_support, by_support, predict, scores
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.tracking.experiment import Measured, Trial, family
from reasonlib.tracking.trials import measured
from reasonlib.training import RunOptions
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.settings import construct, with_defaults

__all__ = ["FULL", "Recipe", "accuracy", "build", "learn", "measure"]


def resolve(settings: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """Fill in what a row leaves to the defaults."""
    return with_defaults(settings, MemoryConfig, Recipe)


def build(
    splits: Splits, settings: Mapping[str, Any], seed: int
) -> tuple[MemoryNetwork, dict[str, StorySet]]:
    """Make a memory network and its three sets from the settings of a row."""
    vocabulary = build_vocabulary((*splits.train, *splits.valid, *splits.test))
    encoding = settings.get("encoding", "position")
    sets = {part: encode(getattr(splits, part), vocabulary, encoding) for part in ("train", "valid", "test")}
    config = construct(MemoryConfig, settings, vocabulary=len(vocabulary))
    return MemoryNetwork(config, seed=seed), sets


def measure(model: MemoryNetwork, stories: StorySet) -> dict[str, float]:
    """Measure accuracy, accuracy by number of supporting facts, and attention on them."""
    answers, weights = predict(model, stories)
    correct = answers == stories.answer
    return {
        **scores(stories.task, correct),
        **by_support(stories.examples, correct),
        **attention_on_support(stories.examples, weights),
    }


def run_memory(trial: Trial) -> Measured:
    """Train one memory network on all tasks together and test it on each."""
    settings = trial.settings
    splits = load(
        trial.data, settings["questions"], settings["test_size"], tuple(settings.get("tasks", TASKS))
    )
    model, sets = build(splits, settings, trial.seed)
    history = learn(
        model.to(trial.device),
        sets["train"],
        construct(Recipe, settings),
        valid=sets["valid"],
        **trial.options,
    )
    best = [row["accuracy"] for row in history]
    half = next((row["epoch"] for row in history if row["accuracy"] >= 0.5), float("nan"))
    metrics = {
        **measure(model, sets["test"]),
        "valid": best[-1] if best else float("nan"),
        "epochs_to_half": half,
        "questions_per_second": len(sets["train"]) * len(history) / max(history.seconds, 1e-9),
    }
    return measured(history, metrics, curve=("epoch", "loss", "accuracy"))


# The source's model: words as a bag, ages, one A and one C for all hops, no H (its sections "Multiple layers"
# and "Temporal encoding"). It gives rate, schedule and spread; batch and memory are from Sukhbaatar et al.
SOURCE = {"encoding": "bag", "tying": "layerwise", "slots": 50, "optimiser": "sgd", "lr": 0.01, "clip": 40.0}


# What we train when we want it to answer well, each part an ablation in the table of `recipe`.
FULL = {
    "encoding": "position",
    "tying": "adjacent",
    "width": 100,
    "hops": 3,
    "slots": 130,
    "rectified": 0.5,
    "noise": 0.1,
    "linear_start": 0.2,
    "optimiser": "adam",
    "lr": 0.004,
    "summed": False,
    "schedule": "linear",
    "warmup": 200,
    "batch_size": 128,
}


_memory = family("story_qa", data=DATA, run=run_memory, resolve=resolve, version=version)


JOINT = _memory(
    "joint",
    "Memory network trained on all twenty tasks at once: hops and width",
    {
        f"d{width}-n{hops}": {**SOURCE, "width": width, "hops": hops}
        for width in (20, 50, 100)
        for hops in (3, 6)
    },
    scales={
        "smoke": {"questions": 40, "test_size": 20, "epochs": 2},
        "quick": {"questions": 500, "test_size": 200, "epochs": 40, "halve_every": 10},
        "paper": {"questions": 10000, "test_size": 1000, "epochs": 100, "halve_every": 25},
    },
)


RATE = _memory(
    "rate",
    "Memory network: learning rates",
    {f"lr-{lr}": {**SOURCE, "width": 50, "hops": 3, "lr": lr} for lr in (0.02, 0.01, 0.005, 0.0025)},
    scales=JOINT.scales,
    shares={"accuracy": 4000, "*": 0},  # test questions at quick, the only scale with records
)


RECIPE = _memory(
    "recipe",
    "Memory network: the value of each part of the recipe",
    {
        "full": FULL,
        "no-linear-start": {**FULL, "linear_start": 0.0},
        "no-rectifier": {**FULL, "rectified": 0.0},
        "no-noise": {**FULL, "noise": 0.0},
        "bag-of-words": {**FULL, "encoding": "bag"},
        "no-time": {**FULL, "temporal": False},
        "one-hop": {**FULL, "hops": 1},
        "six-hops": {**FULL, "hops": 6},
        "layerwise": {**FULL, "tying": "layerwise", "mapped": True},
    },
    scales={
        "smoke": {"questions": 40, "test_size": 20, "epochs": 2, "warmup": 5},
        "quick": {"questions": 1000, "test_size": 200, "epochs": 20},
        "paper": {"questions": 10000, "test_size": 1000, "epochs": 80},
    },
)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a memory network is trained; the defaults are those of Sukhbaatar et al. (2015), section 4.2.

    Raises `ValueError` if a number is out of range.
    """

    epochs: int = 100
    batch_size: int = 32
    optimiser: str = "sgd"
    lr: float = 0.01
    summed: bool = True  # the rate is for the sum of a batch's losses, as in the authors' code
    schedule: str = "step"
    halve_every: int = 25  # epochs
    warmup: int = 0  # steps
    clip: float = 40.0  # largest norm of all gradients
    noise: float = 0.0  # share of empty slots put among the memories; 0.1 in the source
    linear_start: float = 0.0  # share of the epochs without softmax and ReLU, first; 1/3 in the authors' code

    def __post_init__(self) -> None:
        if not 0 <= self.linear_start <= 1:
            raise ValueError(f"linear_start must be between 0 and 1, got {self.linear_start}")
        check_at_least(self, 0, "noise")


def accuracy(model: MemoryNetwork, stories: StorySet) -> dict[str, float]:
    """Measure the share of right answers (see `metrics.scores`)."""
    answers, _ = predict(model, stories)
    return scores(stories.task, answers == stories.answer)


def learn(
    model: MemoryNetwork,
    train: StorySet,
    recipe: Recipe,
    *,
    valid: StorySet | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train a memory network in place.

    Parameters
    ----------
    model
        Freshly made, or one to train further.
    train, valid
        Questions to learn from, and questions to measure on after every epoch. Both must share the
        vocabulary the model was made for.
    recipe
        Batch size, rates, noise, linear start.
    **options
        Of the run, see `RunOptions`; the seed orders the batches and draws the random noise.

    Returns
    -------
    History
        One row an epoch: loss (nats a question) and, with `valid`, its accuracy.
    """
    slots, seed = model.config.slots, options.get("seed", 0)
    buckets = LengthBuckets(
        np.minimum(train.lengths, slots).tolist(), batch_size=recipe.batch_size, seed=seed
    )
    device = model.words.device
    phase = {"linear": False}

    def batches(epoch: int) -> Iterator[Batch]:
        rng = np.random.default_rng([seed, epoch])
        for items in buckets.plan(epoch):
            yield train.batch(items, slots=slots, noise=recipe.noise, rng=rng).to(device)

    def start(epoch: int, rows: list[dict[str, float]]) -> None:
        phase["linear"] = epoch < round(recipe.linear_start * recipe.epochs)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        logits = model(batch, linear=phase["linear"]).logits
        mean = functional.cross_entropy(logits, batch.answer)
        return mean * recipe.batch_size if recipe.summed else mean

    def validate(model: MemoryNetwork) -> dict[str, float]:
        return {"accuracy": accuracy(model, valid)["accuracy"]} if valid is not None else {}

    settings = {"step_every": recipe.halve_every}
    identity = {"model": repr(model.config), "questions": len(train)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        validate=None if valid is None else validate,
        loss=loss,
        settings=settings,
        identity=identity,
        steps_per_epoch=len(buckets),
        on_epoch_start=start,
        **options,
    )
