"""What the source says of losses, tried: outliers, oversteps, intervals, margins, rare classes.

Each `run_...` measures one row of an experiment; see `reasonlib.optimisation.experiments`.

Axes: B examples, D inputs.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from reasonlib.optimisation.models import as_printed, losses
from reasonlib.optimisation.models.network import Examples, Network, digits, learn
from reasonlib.optimisation.models.optimisers import Adam, GradientDescent
from reasonlib.tracking.experiment import Measured, Trial

__all__ = [
    "Fit",
    "approach",
    "fit_line",
    "interval_data",
    "regression_data",
    "run_approach",
    "run_imbalance",
    "run_intervals",
    "run_margin",
    "run_outliers",
    "run_skewed",
    "run_worked",
    "skewed_data",
]

Loss = Callable[[Tensor, Tensor], Tensor]


class Fit(NamedTuple):
    """A straight line: what it gives for inputs (B, D) is ``inputs @ slope + offset``."""

    slope: Tensor
    offset: Tensor

    def __call__(self, inputs: Tensor) -> Tensor:
        """Return predictions (B,)."""
        return inputs @ self.slope + self.offset


def fit_line(inputs: Tensor, targets: Tensor, loss: Loss, *, steps: int = 1500, rate: float = 0.1) -> Fit:
    """Fit a line (B, D) to (B,) by a loss, with Adam at a rate that falls to nothing.

    Parameters
    ----------
    inputs, targets
        Best of size about one.
    loss
        Of predictions and targets, a mean.
    steps, rate
        Of the descent, over all examples at once.
    """
    columns = torch.cat([inputs, torch.ones(len(inputs), 1, dtype=inputs.dtype)], 1)
    point = torch.zeros(columns.shape[1], dtype=inputs.dtype)
    optimiser = Adam(rate=rate)
    for number in range(steps):
        optimiser.rate = rate * (1 - number / steps)
        weights = point.clone().requires_grad_()
        (slope,) = torch.autograd.grad(loss(columns @ weights, targets), weights)
        point = optimiser.step(point, slope)
    return Fit(point[:-1], point[-1])


# Worked by hand ---------------------------------------------------------------------------------------------


def run_worked(trial: Trial) -> Measured:
    """Compute the cross-entropy of one prediction, and eq. 2.2 of the same."""
    p = torch.tensor([trial.settings["p"]], dtype=torch.float64)
    right = torch.tensor([trial.settings["right"]])
    loss = float(losses.cross_entropy(p.log(), right))
    truth = torch.nn.functional.one_hot(right, p.shape[1]).to(p)
    printed = float(as_printed.cross_entropy(p, truth))
    return Measured(metrics={"loss": loss, "printed": printed, "difference": abs(loss - printed)})


# The last steps ---------------------------------------------------------------------------------------------


def approach(loss: Loss, *, start: float, target: float, rate: float, steps: int) -> Tensor:
    """Walk a single number towards a target at a fixed rate; return it after each step, (T + 1,)."""
    point, goal = torch.tensor(start, dtype=torch.float64), torch.tensor(target, dtype=torch.float64)
    optimiser = GradientDescent(rate=rate)
    points = [point]
    for _ in range(steps):
        prediction = point.clone().requires_grad_()
        (slope,) = torch.autograd.grad(loss(prediction, goal), prediction)
        point = optimiser.step(point, slope)
        points.append(point)
    return torch.stack(points)


def run_approach(trial: Trial) -> Measured:
    """Approach a target from some way off, and see whether the last steps settle."""
    settings = trial.settings
    draw = np.random.default_rng(trial.seed)
    start = settings["target"] - settings["distance"] * draw.uniform(0.9, 1.1)
    points = approach(
        losses.REGRESSION[settings["loss"]],
        start=start,
        target=settings["target"],
        rate=settings["rate"],
        steps=settings["steps"],
    )
    error = points - settings["target"]
    return Measured(
        metrics={
            "final_error": float(error[-20:].abs().mean()),
            "oversteps": float((error[1:] * error[:-1] < 0).sum()),
        },
        steps_done=settings["steps"],
        steps_planned=settings["steps"],
    )


# Outliers ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def regression_data(seed: int) -> tuple[Examples, Examples]:
    """Return diabetes patients, half to learn from and half to test: ten measurements, the disease a year on.

    Both are scaled to mean zero and variance one.
    """
    from sklearn.datasets import load_diabetes

    table, progress = load_diabetes(return_X_y=True)
    inputs, targets = torch.tensor(table), torch.tensor(progress)
    inputs = (inputs - inputs.mean(0)) / inputs.std(0)
    targets = (targets - targets.mean()) / targets.std()
    return _halves(inputs, targets, seed)


def _halves(inputs: Tensor, truths: Tensor, seed: int) -> tuple[Examples, Examples]:
    """Divide examples at random: half to learn from and half to test."""
    order = torch.randperm(len(truths), generator=torch.Generator().manual_seed(seed))
    half = len(truths) // 2
    return Examples(inputs[order[:half]], truths[order[:half]]), Examples(
        inputs[order[half:]], truths[order[half:]]
    )


def run_outliers(trial: Trial) -> Measured:
    """Fit a line twice, with and without corrupted targets, and see how far the outliers pull it."""
    settings = trial.settings
    train, test = regression_data(trial.seed)
    loss = losses.REGRESSION[settings["loss"]]
    spoilt = train.truths.clone()
    chosen = torch.randperm(len(spoilt), generator=torch.Generator().manual_seed(trial.seed + 1))
    spoilt[chosen[: round(settings["share"] * len(spoilt))]] += settings["size"]
    clean = fit_line(train.inputs, train.truths, loss, steps=settings["steps"])(test.inputs)
    pulled = fit_line(train.inputs, spoilt, loss, steps=settings["steps"])(test.inputs)
    tail = test.truths.abs() >= test.truths.abs().quantile(0.9)
    return Measured(
        metrics={
            "pull": float((pulled - clean).abs().mean()),
            "error": float((pulled - test.truths).abs().mean()),
            "clean_error": float((clean - test.truths).abs().mean()),
            "tail_error": float((clean - test.truths)[tail].abs().mean()),
        },
        steps_done=2 * settings["steps"],
        steps_planned=2 * settings["steps"],
    )


def skewed_data(seed: int, number: int = 1000) -> tuple[Tensor, Tensor]:
    """Draw the source's example: 95 of 100 targets are 1000, the others between 0 and 200.

    The three inputs tell a little of which is which: those of a rare target are shifted by one.
    """
    draw = torch.Generator().manual_seed(seed)
    rare = torch.arange(number) < number // 20
    inputs = torch.randn(number, 3, generator=draw, dtype=torch.float64) + rare[:, None]
    low = 200 * torch.rand(number, generator=draw, dtype=torch.float64)
    return inputs, torch.where(rare, low, torch.tensor(1000.0, dtype=torch.float64))


def run_skewed(trial: Trial) -> Measured:
    """Fit targets nearly all alike, and count the predictions that are something else."""
    settings = trial.settings
    inputs, targets = skewed_data(trial.seed)
    loss = losses.REGRESSION[settings["loss"]]
    if "delta" in settings:
        loss = partial(losses.huber, delta=settings["delta"])
    predicted = 1000 * fit_line(inputs, targets / 1000, loss, steps=settings["steps"])(inputs)
    rare = targets < 1000
    wrong = (predicted - targets).abs()
    return Measured(
        metrics={
            "other": float(((predicted - 1000).abs() > 10).double().mean()),
            "rare_error": float(wrong[rare].mean()),
            "common_error": float(wrong[~rare].mean()),
            "balanced_error": float((wrong[rare].mean() + wrong[~rare].mean()) / 2),
        },
        steps_done=settings["steps"],
        steps_planned=settings["steps"],
    )


# Intervals --------------------------------------------------------------------------------------------------


def interval_data(seed: int, number: int = 1000) -> Examples:
    """Draw a line whose noise grows along it: inputs (B, 1) between 0 and 1, targets (B,)."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.rand(number, 1, generator=draw, dtype=torch.float64)
    noise = torch.randn(number, generator=draw, dtype=torch.float64)
    return Examples(x, x[:, 0] + (0.05 + 0.5 * x[:, 0]) * noise)


def run_intervals(trial: Trial) -> Measured:
    """Predict an interval that should hold nine targets in ten, and count how many it holds, and where."""
    settings = trial.settings
    train, test = interval_data(2 * trial.seed), interval_data(2 * trial.seed + 1, 4000)
    fit = partial(fit_line, train.inputs, train.truths, steps=settings["steps"])
    if settings["by"] == "spread":
        middle = fit(losses.mse)
        spread = float((train.truths - middle(train.inputs)).std())
        low, high = (middle(test.inputs) + side * 1.645 * spread for side in (-1, 1))
    else:

        def printed(prediction: Tensor, target: Tensor, gamma: float) -> Tensor:
            return as_printed.quantile(prediction, target, gamma=gamma).mean()

        loss = losses.quantile if settings["by"] == "quantiles" else printed
        low, high = (fit(partial(loss, gamma=gamma))(test.inputs) for gamma in (0.05, 0.95))
    inside = ((test.truths >= low) & (test.truths <= high)).double()
    quiet, loud = test.inputs[:, 0] < 1 / 3, test.inputs[:, 0] > 2 / 3
    return Measured(
        metrics={
            "coverage": float(inside.mean()),
            "uneven": float((inside[quiet].mean() - inside[loud].mean()).abs()),
            "below_low": float((low < test.truths).double().mean()),
            "below_high": float((high < test.truths).double().mean()),
            "above_all": float((low > test.truths.max()).double().mean()),
        },
        steps_done=2 * settings["steps"],
        steps_planned=2 * settings["steps"],
    )


# Classes ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _tumours(seed: int) -> tuple[Examples, Examples]:
    """Breast tumours, half to learn from: thirty measurements (B, 30), malignant -1 or benign 1."""
    from sklearn.datasets import load_breast_cancer

    table, kind = load_breast_cancer(return_X_y=True)
    inputs, truths = torch.tensor(table), 2.0 * torch.tensor(kind) - 1
    return _halves((inputs - inputs.mean(0)) / inputs.std(0), truths, seed)


def run_margin(trial: Trial) -> Measured:
    """Separate two classes by a line, with a margin, a logarithm or a square."""
    settings = trial.settings
    train, test = _tumours(trial.seed)
    measures: dict[str, Loss] = {
        "hinge": losses.hinge,
        "log loss": lambda score, truth: losses.log_loss(score, (truth + 1) / 2),
        "mse": losses.mse,
    }
    scores = fit_line(train.inputs, train.truths, measures[settings["loss"]], steps=settings["steps"])(
        test.inputs
    )
    return Measured(
        metrics={"accuracy": float((scores.sign() == test.truths).double().mean())},
        steps_done=settings["steps"],
        steps_planned=settings["steps"],
    )


def run_imbalance(trial: Trial) -> Measured:
    """Find the eights among digits where they are rare, with focal losses of several strengths."""
    from sklearn.metrics import average_precision_score

    settings = trial.settings
    split = digits(900, 100, seed=trial.seed)
    truths = (split.train.truths == 8).float()
    keep = (truths == 0) | (truths.cumsum(0) <= settings["positives"])
    train = Examples(split.train.inputs[keep], truths[keep])
    model = Network("ReLU", depth=2, classes=1, seed=trial.seed)

    def loss(logits: Tensor, target: Tensor) -> Tensor:
        return losses.focal(logits[:, 0], target, gamma=settings["gamma"], alpha=settings["alpha"])

    learn(model, train, Adam(rate=0.003), loss=loss, epochs=settings["epochs"], seed=trial.seed)
    with torch.no_grad():
        scores = model(split.test.inputs)[:, 0]
    # How much of the loss falls on the hard examples is asked of one and the same half-trained network.
    other = Network("ReLU", depth=2, classes=1, seed=trial.seed)
    learn(
        other,
        train,
        Adam(rate=0.003),
        loss=lambda logits, target: losses.log_loss(logits[:, 0], target),
        epochs=min(3, settings["epochs"]),
        seed=trial.seed,
    )
    with torch.no_grad():
        logits = other(train.inputs)[:, 0]
        each = losses.focal(logits, train.truths, gamma=settings["gamma"], reduction="none")
        hard = each.topk(len(each) // 20).values  # the hardest twentieth
    eights = split.test.truths == 8
    precision = average_precision_score(eights.numpy(), scores.numpy())
    predicted = (scores > 0).double()
    return Measured(
        metrics={
            "average_precision": float(precision),
            "balanced_accuracy": float((predicted[eights].mean() + 1 - predicted[~eights].mean()) / 2),
            "found": float(predicted[eights].mean()),
            "hard_share": float(hard.sum() / each.sum()),
        },
        steps_done=settings["epochs"],
        steps_planned=settings["epochs"],
    )
