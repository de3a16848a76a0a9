"""What the source says of optimisers, tried in a network that reads handwritten digits.

Each optimiser has its own rate: the best of those that were tried.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from reasonlib.optimisation.experiments.measures import epochs_to_learn, mean_loss, try_rates
from reasonlib.optimisation.models import optimisers
from reasonlib.optimisation.models.network import Network, accuracy, digits, learn, rates
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["METHODS", "own_rate", "run_network", "run_rates"]

METHODS: dict[str, Callable[..., Any]] = {
    **optimisers.OPTIMISERS,
    "rootless Adagrad": optimisers.RootlessAdagrad,
    "AMSGrad": optimisers.AMSGrad,
    "AdamW": optimisers.AdamW,
}


def own_rate(optimiser: Any) -> float | None:
    """Return the middle of the rates that single weights have, where an optimiser gives each its own."""
    if isinstance(optimiser, optimisers.Adagrad):
        return float((optimiser.rate / torch.sqrt(torch.as_tensor(optimiser.squares) + 1e-8)).median())
    if isinstance(optimiser, optimisers.RootlessAdagrad):
        return float((optimiser.rate / (torch.as_tensor(optimiser.squares) + 1e-8)).median())
    if isinstance(optimiser, optimisers.Adadelta) and optimiser.steps is not None:
        ratio = (optimiser.steps + optimiser.epsilon) / (torch.as_tensor(optimiser.squares) + 1e-6)
        return float(ratio.sqrt().median())
    return None


class _Run(NamedTuple):
    """A network trained at one rate: its loss on the training images, and the rates of single weights."""

    loss: float
    model: Network
    history: list[dict[str, float]]
    seen: dict[int, float]


def run_network(trial: Trial) -> Measured:
    """Train a small network with one optimiser at the best of several rates."""
    settings = trial.settings
    split = digits(seed=trial.seed)
    low, high = settings["between"]

    def train(rate: float) -> _Run:
        model = Network("ReLU", depth=2, seed=trial.seed)
        optimiser = METHODS[settings["optimiser"]](rate=rate, **settings.get("options", {}))
        seen: dict[int, float] = {}

        def look(number: int) -> None:
            own = own_rate(optimiser)
            if own is not None:
                seen[number] = own

        history = learn(
            model, split.train, optimiser, epochs=settings["epochs"], seed=trial.seed, on_step=look
        )
        return _Run(mean_loss(model, split.train), model, history, seen)

    (rate,), runs = try_rates(rates(low, high, settings["rates"]), train, lambda run: run.loss)
    loss, model, history, seen = runs[rate]
    metrics = {
        "loss": loss,
        "log_loss": math.log10(max(loss, 1e-12)),
        "accuracy": accuracy(model, split.test),
        "rate": rate,
    }
    if seen:
        metrics["rate_left"] = seen[max(seen)] / seen[min(seen)]
        middle = history[len(history) // 2]["loss"]
        metrics["late_progress"] = (middle - history[-1]["loss"]) / middle
    return Measured(
        metrics=metrics,
        steps_done=len(history),
        steps_planned=len(history),
        details={
            "tried": list(runs),
            "loss": [round(epoch["loss"], 6) for epoch in history],
            "own_rate": [seen[number] for number in sorted(seen)][:: max(1, len(seen) // 40)],
        },
    )


def run_rates(trial: Trial) -> Measured:
    """Train a small network at one rate, or at one that falls, and see where the loss ends."""
    settings = trial.settings
    split = digits(seed=trial.seed)
    model = Network("ReLU", depth=2, seed=trial.seed)
    start, end = settings["rate"], settings["end"]
    planned = settings["epochs"] * math.ceil(len(split.train.truths) / 32)

    def schedule(number: int) -> float:
        return start * (end / start) ** (number / max(1, planned - 1))

    optimiser = optimisers.GradientDescent(rate=start)
    history = learn(
        model, split.train, optimiser, epochs=settings["epochs"], schedule=schedule, seed=trial.seed
    )
    loss = mean_loss(model, split.train)
    worst = math.log(10)  # of a network that says nothing
    return Measured(
        metrics={
            "loss": loss if math.isfinite(loss) else worst,
            "log_loss": math.log10(loss) if math.isfinite(loss) and loss > 0 else math.log10(worst),
            "epochs": epochs_to_learn(history, settings["epochs"]),
            "accuracy": accuracy(model, split.test),
        },
        steps_done=len(history),
        steps_planned=len(history),
        details={"loss": [round(epoch["loss"], 6) for epoch in history]},
    )
