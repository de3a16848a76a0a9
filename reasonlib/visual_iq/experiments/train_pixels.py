"""Problems as pictures: drawn when they are needed, shrunk to 80 x 80, and learnt from.

The 70,000 problems of the test are 29 GB as pictures and 40 MB as tables of entities. So the tables are kept,
and a batch is drawn from them; what was drawn is kept as well, as long as it fits in a given memory.

    Problems ─ render ─ (B, 16, 160, 160) ─ mean of 2 x 2 pixels ─ (B, 16, 80, 80) ─ model ─ (B, 8) scores

Sources: Zhang et al. (2019b), section 4 and its published code (rate, batch, epochs, size); Barrett et al.
(2018), section 4 (auxiliary training).

Axes: N or B problems, P 16 panels, H x W pixels, M 9 meta-targets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from numpy import ndarray
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.example import CANVAS, CONFIGURATIONS, PANELS, Problems
from reasonlib.visual_iq.data.render import problem_images
from reasonlib.visual_iq.models import baselines
from reasonlib.visual_iq.models.contrast import LOSSES, choice_loss
from reasonlib.visual_iq.models.copinet import CoPINet, CoPINetConfig
from reasonlib.visual_iq.models.drt import ResNetDRT, forest, structure_of
from reasonlib.visual_iq.models.grid_reasoner import GridReasoner
from reasonlib.visual_iq.models.reasoner import ReasonerConfig
from reasonlib.visual_iq.models.wren import WReN, WReNConfig

__all__ = [
    "META",
    "PixelBatch",
    "PixelSet",
    "Recipe",
    "build",
    "evaluate",
    "learn",
    "meta_targets",
    "predict",
    "run_pixels",
    "shrink",
]

META = (
    "constant",
    "progression",
    "arithmetic",
    "distribute three",
    "number",
    "position",
    "type",
    "size",
    "colour",
)
"""What a meta-target tells: which rules are at work in a problem, and what they govern."""


# Data -------------------------------------------------------------------------------------------------------


def meta_targets(rules: Int[ndarray, "N K G 3"]) -> Float[ndarray, "N M"]:
    """Say for each of `META` whether it occurs among a problem's rules.

    Parameters
    ----------
    rules
        As in `puzzle.Problems`.
    """
    rule, governed = rules[..., 0, None], rules[..., 1, None]
    names = np.concatenate([rule == np.arange(4), governed == np.arange(1, 6)], -1)  # (N, K, G, M)
    names[..., 4:6] |= governed == 0  # a constant of number and position is one of both
    return np.any(names & (rule >= 0), axis=(1, 2)).astype(np.float32)


def shrink(images: UInt8[ndarray, "*N 160 160"], size: int) -> UInt8[ndarray, "*N H W"]:
    """Make pictures smaller by taking the mean of square blocks of pixels, rounded to a byte.

    Parameters
    ----------
    images
        Grey values.
    size
        New side, a divisor of 160.

    Raises
    ------
    ValueError
        If it is none.

    Notes
    -----
    The published models see pictures shrunk by PIL's bilinear filter, which spreads over 4 x 4 pixels.
    """
    if size < 1 or CANVAS % size:
        raise ValueError(f"size must be a divisor of {CANVAS}, got {size}")
    step = CANVAS // size
    if step == 1:
        return images
    blocks = images.reshape(*images.shape[:-2], size, step, size, step)
    rows = blocks.sum(-3, dtype=np.uint16)  # contiguous first
    return ((rows.sum(-1, dtype=np.uint32) + step * step // 2) // (step * step)).astype(np.uint8)


class PixelBatch(NamedTuple):
    """Problems as the models see them.

    Attributes
    ----------
    images : (B, 16, H, W)
        Grey values as bytes.
    configuration, target : (B,)
        As in `puzzle.Problems`.
    meta : (B, M)
        See `meta_targets`.
    """

    images: UInt8[Tensor, "B P H W"]
    configuration: Int[Tensor, " B"]
    target: Int[Tensor, " B"]
    meta: Float[Tensor, "B M"]

    def to(self, device: torch.device | str) -> "PixelBatch":
        """Move all tensors."""
        return PixelBatch(*(part.to(device) for part in self))


class PixelSet:
    """Problems as pictures, each drawn when it is first asked for.

    Parameters
    ----------
    problems
        As tables.
    size
        Side of a panel in pixels.
    keep
        Memory for pictures already drawn, in MB. If all of them would take more, none is kept, and every
        batch is drawn anew.
    """

    def __init__(self, problems: Problems, size: int = 80, keep: int = 1024) -> None:
        self.problems, self.size = problems, size
        self.meta = meta_targets(problems.rules)
        fits = len(problems) * PANELS * size * size <= keep * 2**20
        self.kept = np.empty((len(problems), PANELS, size, size), np.uint8) if fits else None
        self.drawn = np.zeros(len(problems), bool)

    def __len__(self) -> int:
        return len(self.problems)

    def images(self, items: Sequence[int] | ndarray) -> UInt8[ndarray, "B P H W"]:
        """Draw some of the problems, or take them from those already drawn."""
        chosen = np.asarray(items, dtype=int)
        if self.kept is None:
            return shrink(problem_images(self.problems[chosen]), self.size)
        new = np.unique(chosen[~self.drawn[chosen]])
        if len(new):
            self.kept[new] = shrink(problem_images(self.problems[new]), self.size)
            self.drawn[new] = True
        return self.kept[chosen]

    def batch(self, items: Sequence[int] | ndarray) -> PixelBatch:
        """Take some of the problems, by their indices."""
        chosen = np.asarray(items, dtype=int)
        return PixelBatch(
            torch.from_numpy(self.images(chosen)),
            torch.from_numpy(self.problems.configuration[chosen].astype(np.int64)),
            torch.from_numpy(self.problems.target[chosen].astype(np.int64)),
            torch.from_numpy(self.meta[chosen]),
        )


# Training ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model on pictures is trained; the defaults are those of CoPINet's authors.

    Raises
    ------
    ValueError
        If a number is out of range or the loss unknown.
    """

    epochs: int = 200
    batch_size: int = 32
    lr: float = 1e-3  # of Adam
    loss: str = "ce"  # or bce, as CoPINet's authors
    auxiliary: float = 0.0  # weight of the meta-targets' loss; 10 where WReN is published with it

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {self.loss!r}")
        if not self.auxiliary >= 0:
            raise ValueError(f"auxiliary must be at least 0, got {self.auxiliary}")

    def config(self, *, seed: int = 0, minutes: float | None = None, choose: bool = False) -> Any:
        """Translate into the settings of the common training loop."""
        return training.TrainingConfig(
            epochs=self.epochs, lr=self.lr, restore_best=choose, seed=seed, minutes=minutes
        )


def answer(model: nn.Module, batch: PixelBatch) -> Any:
    """Let any model of this topic's pictures look at a batch; the one with a tree is given the trees."""
    if isinstance(model, ResNetDRT):
        trees = forest([structure_of(one) for one in batch.configuration.tolist()])
        return model(batch.images, trees.to(batch.images.device))
    return model(batch.images)


@torch.no_grad()
def predict(model: nn.Module, pixels: PixelSet, batch_size: int = 64) -> Float[ndarray, "N 8"]:
    """Score all candidates of all problems; the model is left as it was, in training mode or not."""
    device, was = next(model.parameters()).device, model.training
    model.eval()
    logits = [
        answer(model, pixels.batch(items).to(device)).logits.float().cpu().numpy()
        for items in np.array_split(np.arange(len(pixels)), range(batch_size, len(pixels), batch_size))
    ]
    model.train(was)
    return np.concatenate(logits)


def evaluate(model: nn.Module, pixels: PixelSet) -> dict[str, float]:
    """Measure the share of right answers: ``accuracy``, and ``accuracy_<title>`` of each configuration."""
    right = predict(model, pixels).argmax(1) == pixels.problems.target
    kinds = pixels.problems.configuration
    by_kind = {
        f"accuracy_{CONFIGURATIONS[kind].title}": float(right[kinds == kind].mean())
        for kind in np.unique(kinds)
    }
    return {"accuracy": float(right.mean()), **by_kind}


def learn(
    model: nn.Module,
    train: PixelSet,
    recipe: Recipe,
    *,
    valid: PixelSet | None = None,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train a model on pictures in place.

    Parameters
    ----------
    model
        Any that `build` makes; its `forward` takes the pictures and gives `logits`.
    train, valid
        Problems to learn from, and problems to measure on after every epoch. With `valid`, training ends with
        the weights of the epoch that did best there.
    recipe
        Epochs, batch, rate, loss.
    seed
        Orders the batches and draws dropout.
    minutes
        Budget; training stops cleanly when it is used up.
    checkpoint
        Folder to resume from and to write to.
    progress, on_epoch
        As in `reasonlib.training.fit`.

    Returns
    -------
    History
        One row an epoch: loss (nats) and, with `valid`, its accuracy.
    """
    device = next(model.parameters()).device
    steps = -(-len(train) // recipe.batch_size)

    def batches(epoch: int) -> Iterator[PixelBatch]:
        order = np.random.default_rng([seed, epoch]).permutation(len(train))
        for items in np.array_split(order, range(recipe.batch_size, len(train), recipe.batch_size)):
            yield train.batch(items).to(device)

    def loss(model: nn.Module, batch: PixelBatch) -> Tensor:
        said = answer(model, batch)
        value = choice_loss(said.logits, batch.target, recipe.loss)
        if recipe.auxiliary:
            told = functional.binary_cross_entropy_with_logits(said.meta, batch.meta)
            value = value + recipe.auxiliary * told
        return value

    def validate(model: nn.Module) -> dict[str, float]:
        return {"accuracy": evaluate(model, valid)["accuracy"]} if valid is not None else {}

    return training.fit(
        model,
        batches,
        loss=loss,
        config=recipe.config(seed=seed, minutes=minutes, choose=valid is not None),
        validate=None if valid is None else validate,
        monitor="loss" if valid is None else "accuracy",
        mode="min" if valid is None else "max",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "model": repr(model), "problems": len(train), "size": train.size},
        steps_per_epoch=steps,
        weight=lambda batch: len(batch.target),
        on_epoch=on_epoch,
        progress=progress,
    )


# Rows -------------------------------------------------------------------------------------------------------


def _pick(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in settings.items() if name in names}


def build(settings: Mapping[str, Any], seed: int = 0) -> nn.Module:
    """Make the model of a row of `experiments.PIXELS`.

    Parameters
    ----------
    settings
        A row's, with a scale's: ``model``, ``size`` of a panel in pixels, ``narrow`` (how many times narrower
        than published) and what the model's config takes.
    seed
        Draws the first weights.

    Raises
    ------
    ValueError
        If there is no model of that name.
    """
    size, narrow = settings.get("size", 80), settings.get("narrow", 1)

    def wide(width: int) -> int:
        return max(1, width // narrow)

    models: dict[str, Callable[[], nn.Module]] = {
        "lstm": lambda: baselines.PanelLSTM(wide(16), wide(96), size),
        "lstm-by-candidate": lambda: baselines.CandidateLSTM(wide(16), wide(96), size),
        "cnn": lambda: baselines.PanelCNN(wide(32), wide(512), size),
        "resnet": lambda: baselines.PanelResNet(wide(64)),
        "resnet-drt": lambda: ResNetDRT(wide(64), word=wide(300)),
        "blind-cnn": lambda: baselines.BlindCNN(wide(64), wide(256), size),
        "blind-resnet": lambda: baselines.BlindResNet(wide(64)),
        "wren": lambda: WReN(
            WReNConfig(
                size=size,
                width=wide(32),
                embedding=wide(256),
                hidden=wide(512),
                tags=settings["tags"],
                auxiliary=len(META) * bool(settings["auxiliary"]),
            )
        ),
        "copinet": lambda: CoPINet(CoPINetConfig(width=wide(64), **_pick(CoPINetConfig, settings))),
        "grid-reasoner": lambda: GridReasoner(ReasonerConfig(), channels=wide(32), size=size, seed=seed),
    }
    if settings["model"] not in models:
        raise ValueError(f"model must be one of {', '.join(models)}, got {settings['model']!r}")
    with training.seeded(seed):
        return models[settings["model"]]()


def run_pixels(trial: Trial) -> Measured:
    """Train one model on pictures of all configurations together and test it on each.

    Beside what `build` and `Recipe` take, its settings are ``problems`` of each configuration, 60 % to
    learn from, and ``keep``, the memory of each `PixelSet` in MB.
    """
    settings = trial.settings
    splits = datasets.load(trial.data, per_configuration=settings["problems"])
    parts = {
        part: PixelSet(getattr(splits, part), settings["size"], settings["keep"])
        for part in ("train", "valid", "test")
    }
    model = build(settings, trial.seed).to(trial.device)
    history = learn(
        model,
        parts["train"],
        Recipe(**_pick(Recipe, settings)),
        valid=parts["valid"],
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    return Measured(
        metrics={
            **evaluate(model, parts["test"]),
            "valid": max((row["accuracy"] for row in history), default=float("nan")),
            "parameters": training.parameter_count(model),
            "problems_per_second": len(parts["train"]) * len(history) / max(history.seconds, 1e-9),
        },
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={"curve": [{key: row[key] for key in ("epoch", "loss", "accuracy")} for row in history]},
    )
