"""Gradients of all examples, of some or of one: what a step costs, and where the loss ends."""

import math
import time
from collections.abc import Callable
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from reasonlib.optimisation.experiments.measures import mean_loss
from reasonlib.optimisation.models import optimisers
from reasonlib.optimisation.models.losses import cross_entropy
from reasonlib.optimisation.models.network import Examples, Network, digits, gradient, learn, minibatches
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["moved_digits", "run_batches", "run_crowd"]

LAST = 200
"""Steps at the end of a descent that are looked at one by one."""


@lru_cache(maxsize=16)
def _lowest(seed: int) -> float:
    """Return the lowest loss a linear classifier with a little decay can have on the training digits."""
    examples = digits(seed=seed).train
    model = Network("ReLU", depth=0, seed=seed).double()
    inputs = examples.inputs.double()
    descent = torch.optim.LBFGS(model.parameters(), max_iter=2000, tolerance_grad=1e-9, tolerance_change=0)

    def closure() -> Tensor:
        descent.zero_grad()
        loss = _decayed(model, model(inputs), examples.truths)
        loss.backward()
        return loss

    descent.step(closure)
    with torch.no_grad():
        return float(_decayed(model, model(inputs), examples.truths))


def _decayed(model: torch.nn.Module, logits: Tensor, truths: Tensor) -> Tensor:
    """Cross-entropy with a little decay, so that there is one lowest point."""
    square = torch.stack([(weights**2).sum() for weights in model.parameters()]).sum()
    return cross_entropy(logits, truths) + 0.005 * square


def run_batches(trial: Trial) -> Measured:
    """Train a linear classifier with the gradient of all, some or single examples."""
    settings = trial.settings
    examples = digits(seed=trial.seed).train
    size = min(settings["batch_size"], len(examples.truths))
    floor = _lowest(trial.seed)

    def whole(model: Network) -> float:
        with torch.no_grad():
            return float(_decayed(model, model(examples.inputs), examples.truths)) - floor

    def train(rate: float, epochs: int, **how: bool) -> tuple[list[float], float]:
        return _descend(examples, size, whole, trial.seed, rate=rate, epochs=epochs, **how)

    first = [train(rate, 1) for rate in settings["rates"]]
    seconds = min(outcome[1] for outcome in first)
    gaps, _ = train(settings["rate"], settings["epochs"], falling=settings["falling"], watch=True)
    end = torch.tensor(gaps[-LAST:])
    timed = []
    if not settings["falling"]:  # as many passes as the same time allows
        passes = max(1, round(settings["budget"] / seconds))
        timed = [train(rate, passes)[0][-1] for rate in settings["rates"]]
    steps = math.ceil(len(examples.truths) / size)
    metrics = {
        "after_one_pass": min(gap for (gap, *_), _ in first if math.isfinite(gap)),
        "gap": float(end.mean()),
        "uphill": float((end.diff() > 0).double().mean()) if len(end) > 1 else 0.0,
        "variance": _variance(examples, size, trial.seed),
        "pass_seconds": seconds,
        "update_seconds": seconds / steps,
        "held": float(size),
    }
    if timed:
        metrics["gap_in_time"] = min(gap for gap in timed if math.isfinite(gap))
    return Measured(
        metrics=metrics,
        steps_done=settings["epochs"],
        steps_planned=settings["epochs"],
        details={"gaps": [round(gap, 6) for gap in gaps[:: max(1, len(gaps) // 100)]]},
    )


def _descend(
    examples: Examples,
    size: int,
    whole: Callable[[Network], float],
    seed: int,
    *,
    rate: float,
    epochs: int,
    falling: bool = False,
    watch: bool = False,
) -> tuple[list[float], float]:
    """Train once; return the gaps that were seen on the way, or the last one, and the seconds it took."""
    model = Network("ReLU", depth=0, seed=seed)
    gaps: list[float] = []
    steps = epochs * math.ceil(len(examples.truths) / size)
    often = max(1, steps // 1000)

    def look(number: int) -> None:  # now and then, and after each of the last steps
        if number % often == 0 or number > steps - LAST:
            gaps.append(whole(model))

    def schedule(number: int) -> float:
        return rate / (1 + 19 * number / steps) if falling else rate

    start = time.process_time()
    learn(
        model,
        examples,
        optimisers.GradientDescent(rate=rate),
        loss=lambda logits, truths: _decayed(model, logits, truths),
        batch_size=size,
        epochs=epochs,
        schedule=schedule,
        seed=seed,
        on_step=look if watch else None,
    )
    seconds = time.process_time() - start
    return gaps or [whole(model)], seconds


def _variance(examples: Examples, size: int, seed: int) -> float:
    """Return the variance of the gradients of batches around that of all examples, over its square."""
    model = Network("ReLU", depth=0, seed=seed)
    true = gradient(model, _decayed(model, model(examples.inputs), examples.truths))
    draw = torch.Generator().manual_seed(seed)
    apart = [
        float(((gradient(model, _decayed(model, model(x), y)) - true) ** 2).sum())
        for x, y in list(minibatches(examples, size, draw))[:200]
    ]
    return sum(apart) / len(apart) / float((true**2).sum())


@lru_cache(maxsize=16)
def moved_digits(seed: int, number: int = 800) -> Examples:
    """Return `number` digits, each at 25 positions, shifted by up to two pixels in each direction."""
    examples = digits(number, seed=seed).train
    pictures = F.pad(examples.inputs.unflatten(1, (8, 8)), (2, 2, 2, 2), value=float(examples.inputs.min()))
    places = [pictures[:, down : down + 8, right : right + 8] for down in range(5) for right in range(5)]
    return Examples(torch.cat(places).flatten(1), examples.truths.repeat(25))


def run_crowd(trial: Trial) -> Measured:
    """Train one hidden layer on many pictures for a given time, with all, some or one to a step."""
    settings = trial.settings
    examples = moved_digits(trial.seed)
    size = settings["batch_size"] or len(examples.truths)
    tried = []
    for rate in settings["rates"]:
        model = Network("ReLU", depth=1, seed=trial.seed)
        weights = list(model.parameters())
        draw = torch.Generator().manual_seed(trial.seed)
        steps, end = 0, time.process_time() + settings["budget"]
        while time.process_time() < end:
            for inputs, truths in minibatches(examples, size, draw):
                slopes = torch.autograd.grad(cross_entropy(model(inputs), truths), weights)
                with torch.no_grad():
                    for weight, slope in zip(weights, slopes, strict=True):
                        weight.sub_(rate * slope)
                steps += 1
                if time.process_time() >= end:
                    break
        loss = mean_loss(model, examples)
        tried.append((loss if math.isfinite(loss) else math.inf, rate, steps))
    loss, rate, steps = min(tried)
    return Measured(
        metrics={"loss_in_time": loss, "rate": rate, "updates": float(steps)}, steps_done=1, steps_planned=1
    )
