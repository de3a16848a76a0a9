"""What the source says of activations, tried in networks that read handwritten digits.

Each `run_...` measures one row of an experiment; see `reasonlib.optimisation.experiments`. Where rows are
compared, each has its own rate: the best of those that were tried, chosen on other examples than those of
the test.

Axes: B examples, U units of a layer.
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from reasonlib.optimisation.experiments.measures import epochs_to_learn, mean_loss, try_rates
from reasonlib.optimisation.models import optimisers
from reasonlib.optimisation.models.activations import ACTIVATIONS, Maxout
from reasonlib.optimisation.models.losses import cross_entropy
from reasonlib.optimisation.models.network import Examples, Network, Split, accuracy, digits, learn
from reasonlib.tracking.experiment import Measured, Trial

__all__ = [
    "TIMED",
    "derivatives",
    "gradient_norms",
    "idle_pieces",
    "run_activation",
    "run_cost",
    "run_depth",
    "run_dying",
]


def derivatives(model: Network, inputs: Tensor) -> list[Tensor]:
    """Return the slope of each hidden unit for each example, (B, U) a layer; for maxout all are one."""
    slopes = []
    for number, (given, state) in enumerate(model.hidden(inputs)):
        if model.activation == "maxout":
            slopes.append(torch.ones_like(state))
            continue
        x = given.detach().requires_grad_()
        out = model.shapes[number](x) if model.activation == "PELU" else ACTIVATIONS[model.activation](x)
        slopes.append(torch.autograd.grad(out.sum(), x)[0])
    return slopes


class _Run(NamedTuple):
    """A network trained at one rate: its loss on the digits that rates are chosen by, and passes to learn."""

    loss: float
    epochs: float
    model: Network
    history: list[dict[str, float]]


def _trainer(trial: Trial, split: Split, **build: Any) -> Callable[[float], _Run]:
    """Return a function that trains a network with momentum at a rate."""
    settings = trial.settings

    def train(rate: float) -> _Run:
        model = Network(settings["activation"], seed=trial.seed, **build)
        optimiser = optimisers.Momentum(rate=rate)
        history = learn(model, split.train, optimiser, epochs=settings["epochs"], seed=trial.seed)
        epochs = epochs_to_learn(history, settings["epochs"])
        return _Run(mean_loss(model, split.valid), epochs, model, history)

    return train


def run_activation(trial: Trial) -> Measured:
    """Train a network with one activation, at the best of several rates."""
    settings = trial.settings
    split = digits(seed=trial.seed)
    train = _trainer(trial, split, depth=settings.get("depth", 3), dropout=settings.get("dropout", 0.0))
    (rate, soonest), runs = try_rates(settings["rates"], train, lambda run: run.loss, lambda run: run.epochs)
    _, _, model, history = runs[rate]
    with torch.no_grad():
        states = [state for _, state in model.hidden(split.train.inputs)]
    flat = [slope.abs().amax(0) for slope in derivatives(model, split.train.inputs)]
    return Measured(
        metrics={
            "accuracy": accuracy(model, split.test),
            "epochs": runs[soonest].epochs,
            "gap": mean_loss(model, split.test) - mean_loss(model, split.train),
            "mean": sum(abs(float(state.mean())) for state in states) / len(states),
            "dead": float(torch.cat(flat).eq(0).float().mean()),
            "parameters": float(sum(weights.numel() for weights in model.parameters())),
            "rate": rate,
        },
        steps_done=len(history),
        steps_planned=len(history),
        details={"tried": list(runs), "loss": [round(epoch["loss"], 5) for epoch in history]},
    )


def gradient_norms(model: Network, examples: Examples) -> list[float]:
    """Return the length of the loss's slope in what each layer's units are given, first layer first."""
    seen = model.hidden(examples.inputs)
    loss = cross_entropy(model.head(seen[-1][1]), examples.truths)
    return [float(slope.norm()) for slope in torch.autograd.grad(loss, [given for given, _ in seen])]


def run_depth(trial: Trial) -> Measured:
    """Send a gradient down a deep stack before training, then train the stack."""
    settings = trial.settings
    split = digits(seed=trial.seed)
    build = {"depth": settings["depth"], "scaled": settings["scaled"]}
    norms = gradient_norms(Network(settings["activation"], seed=trial.seed, **build), split.train)
    (rate,), runs = try_rates(settings["rates"], _trainer(trial, split, **build), lambda run: run.loss)
    _, _, model, history = runs[rate]
    return Measured(
        metrics={
            "reach": math.log10(max(norms[0], 1e-30) / norms[-1]),
            "accuracy": accuracy(model, split.test),
            "rate": rate,
        },
        steps_done=len(history),
        steps_planned=len(history),
        details={"tried": list(runs), "norms": norms},
    )


@torch.no_grad()
def idle_pieces(model: Network, inputs: Tensor) -> float:
    """Share of the pieces of a network's maxout units that win for no example: they get no gradient."""
    won, state = [], inputs
    for layer in model.layers:
        assert isinstance(layer, Maxout)
        pieces = layer.linear(state).unflatten(-1, (layer.units, layer.pieces))
        won.append((pieces == pieces.amax(-1, keepdim=True)).any(0).reshape(-1))
        state = pieces.amax(-1)
    return float(1 - torch.cat(won).float().mean())


def run_dying(trial: Trial) -> Measured:
    """Train with steps that are too large, and count the units that no example moves any more."""
    settings = trial.settings
    split = digits(seed=trial.seed)
    model = Network(settings["activation"], depth=2, seed=trial.seed)
    history = learn(
        model,
        split.train,
        optimisers.GradientDescent(rate=settings["rate"]),
        epochs=settings["epochs"],
        seed=trial.seed,
    )
    most = torch.cat([slope.abs().amax(0) for slope in derivatives(model, split.train.inputs)])
    metrics = {
        "dead": float(most.eq(0).float().mean()),
        "stuck": float((most < 1e-3).float().mean()),
        "accuracy": accuracy(model, split.test),
    }
    if settings["activation"] == "maxout":
        metrics["idle"] = idle_pieces(model, split.train.inputs)
    return Measured(
        metrics=metrics,
        steps_done=len(history),
        steps_planned=len(history),
    )


TIMED: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "hard sigmoid": F.hardsigmoid,
    "tanh": torch.tanh,
    "hard tanh": F.hardtanh,
    "ReLU": torch.relu,
    "softplus": F.softplus,
    "ELU": F.elu,
    "swish": F.silu,
}


def run_cost(trial: Trial) -> Measured:
    """Time torch's own version of an activation on a hundred thousand numbers: the best of many tries."""
    settings = trial.settings
    numbers = torch.randn(100_000, generator=torch.Generator().manual_seed(trial.seed))
    function = TIMED[settings["activation"]]
    best = math.inf
    for _ in range(settings["tries"]):
        start = time.perf_counter()
        function(numbers)
        best = min(best, time.perf_counter() - start)
    return Measured(
        metrics={"nanoseconds": 1e9 * best / len(numbers)},
        steps_done=settings["tries"],
        steps_planned=settings["tries"],
    )
