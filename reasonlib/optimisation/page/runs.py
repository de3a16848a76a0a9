"""Small runs of the chapters on losses and on descent, each drawn: a chapter's cell is one call.

Nothing here comes from records. Each function computes what it shows when the page is made.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from reasonlib.display import plotting
from reasonlib.display.plotting import Picture
from reasonlib.optimisation.experiments import optimisers, search
from reasonlib.optimisation.experiments.descent import arrival, rare_gradients
from reasonlib.optimisation.experiments.losses import Fit, fit_line, interval_data
from reasonlib.optimisation.models import as_printed, losses
from reasonlib.optimisation.models.network import Network, Split, learn
from reasonlib.optimisation.models.optimisers import (
    OPTIMISERS,
    Adadelta,
    Adagrad,
    Adam,
    AdamW,
    AMSGrad,
    GradientDescent,
    Momentum,
    Optimiser,
    TorchMomentum,
)
from reasonlib.optimisation.models.surfaces import SURFACES, minimise, ravine
from reasonlib.optimisation.page import figures

__all__ = [
    "decays",
    "distance_left",
    "interval",
    "kl_directions",
    "one_step",
    "own_rates",
    "printed_quantile",
    "pulls",
    "races",
    "rare_batches",
    "rate_drop",
    "ridge",
    "searches",
    "steepness",
    "two_rates",
    "with_momentum",
]


# Losses -----------------------------------------------------------------------------------------------------


def printed_quantile(gamma: float = 0.75) -> Picture:
    """Draw the quantile loss as equation 2.11 prints it, and corrected."""
    return figures.curves(
        {
            "corrected": lambda p: losses.quantile(p, 0 * p, gamma=gamma, reduction="none"),
            "as printed": lambda p: as_printed.quantile(p, 0 * p, gamma=gamma),
        },
        (-4, 4),
        x="prediction; the target is 0",
        y=f"quantile loss, γ = {gamma:g}",
        alt="The corrected loss is lowest at the target; the printed one goes on falling to the right of it",
    )


def interval(steps: int, *, seed: int = 0) -> Picture:
    """Fit a low and a high quantile line to points whose noise grows, and draw them over fresh points."""
    noisy = interval_data(2 * seed)
    low, high = (
        fit_line(noisy.inputs, noisy.truths, partial(losses.quantile, gamma=gamma), steps=steps)
        for gamma in (0.05, 0.95)
    )
    return figures.interval(low, high, seed=2 * seed + 1)


def kl_directions() -> Picture:
    """Find the single bump with the lowest divergence from data with two peaks, in each direction."""
    grid = torch.linspace(-5, 5, 101, dtype=torch.float64)

    def bump(centre: float, width: float) -> Tensor:
        return torch.softmax(-(((grid - centre) / width) ** 2) / 2, 0)

    data = 0.6 * bump(-2, 0.5) + 0.4 * bump(2, 0.5)
    models = [
        bump(float(centre), float(width))
        for centre in torch.linspace(-3, 3, 61)
        for width in torch.linspace(0.3, 3, 28)
    ]
    covering = min(models, key=lambda model: float(losses.kl_divergence(data, model)))
    choosing = min(models, key=lambda model: float(losses.kl_divergence(model, data)))
    return plotting.show(
        plotting.lines(
            {
                "data": (grid, data),
                "data first": (grid, covering),
                "model first, as in the source": (grid, choosing),
            },
            x="value",
            y="probability",
        ),
        alt="Data with two peaks; the model that is best with the data first is one wide bump over both, "
        "the one that is best with the model first sits on the higher peak alone",
        caption="Data with two peaks, and the single bump with the lowest divergence in each direction.",
    )


def pulls(inputs: Tensor, targets: Tensor, corrupt: Tensor, line: Fit) -> Picture:
    """Draw the share of all slopes that comes from the corrupt points, for four losses.

    Parameters
    ----------
    inputs, targets
        Points (B, 1) and (B,).
    corrupt
        Which of them are corrupt: (B,) booleans.
    line
        Fitted to the others.
    """
    measures: dict[str, Callable[..., Tensor]] = {
        "squared error": losses.mse,
        "absolute error": losses.mae,
        "Huber, delta 1": losses.huber,
        "quantile 0.9": partial(losses.quantile, gamma=0.9),
    }
    share = {}
    for name, loss in measures.items():
        predictions = line(inputs).requires_grad_()
        (slope,) = torch.autograd.grad(loss(predictions, targets), predictions)
        share[name] = float(slope[corrupt].abs().sum() / slope.abs().sum())
    number, total = int(corrupt.sum()), len(corrupt)
    return plotting.show(
        plotting.bars(
            share,
            unit="share of all slopes",
            reference=("their share of the points", number / total),
            limits=(0, 1),
        ),
        alt="Share of the summed slopes that comes from the corrupt points, for four losses",
        caption=f"Share of the summed absolute slopes that comes from {number} corrupt points of {total}, "
        "under each loss.",
    )


# Descent ----------------------------------------------------------------------------------------------------


def one_step() -> Picture:
    """Draw one step in the steepest direction from the side of a long valley."""
    valley = ravine()
    first = minimise(valley, GradientDescent(rate=0.04), steps=1)
    down, home = -first.gradients[0], torch.tensor(valley.minimum) - first.points[0]
    angle = torch.rad2deg(torch.acos(down @ home / (down.norm() * home.norm())))
    return figures.contour(
        valley,
        {"one step, straight down": first},
        alt="A long valley, a start on its side, the lowest point far along it.",
        caption="Contour lines of a long valley. Square: the start. Star: the lowest point. Line: one step "
        f"in the steepest direction, which is {angle:.0f} degrees from the way to the star.",
    )


def two_rates() -> Picture:
    """Walk down the ravine at a low and at a high rate."""
    return plotting.beside(
        *(figures.ravine_paths({f"rate {rate:g}": GradientDescent(rate=rate)}) for rate in (0.01, 0.076))
    )


def with_momentum() -> Picture:
    """Walk down the ravine with and without momentum, at a high and at a low rate."""
    return plotting.beside(
        *(
            figures.ravine_paths(
                {"without": GradientDescent(rate=rate), "with momentum": Momentum(rate=rate)},
                caption=f"Rate {rate:g}.",
            )
            for rate in (0.076, 0.02)
        )
    )


def races() -> Picture:
    """Race the six on the saddle, all but Adadelta at 0.01, and on Beale at rates that suit each."""
    suited = {
        "gradient descent": 0.01,
        "momentum": 0.002,
        "Nesterov": 0.002,
        "Adagrad": 0.5,
        "Adadelta": 1.0,
        "Adam": 0.1,
    }
    low = {name: make(rate=1.0 if name == "Adadelta" else 0.01) for name, make in OPTIMISERS.items()}
    best = {name: OPTIMISERS[name](rate=rate) for name, rate in suited.items()}
    return plotting.beside(figures.race("saddle", low, steps=60), figures.race("beale", best, steps=60))


def searches(split: Split, *, evaluations: int, seed: int = 0) -> Picture:
    """Fit a linear classifier by three searches and by its gradient, with equally many loss evaluations."""
    methods = {
        "random": "random weights",
        "each-weight": "one weight at a time",
        "stepping": "random steps",
        "gradient": "along the gradient",
    }
    traces = {
        name: search.search(method, split.train, evaluations=evaluations, seed=seed)[1]
        for method, name in methods.items()
    }
    return plotting.show(
        plotting.lines(
            {name: tuple(zip(*trace, strict=True)) for name, trace in traces.items()},
            x="loss evaluations",
            y="best loss so far (nats)",
        ),
        alt="Best loss so far in nats against the number of loss evaluations, for four methods",
        caption="Best loss so far (nats) against loss evaluations, computed on this page.",
    )


def distance_left() -> Picture:
    """Draw what one step of gradient descent leaves of the distance to the bottom of a bowl."""
    return figures.curves(
        {"": lambda rate: (1 - rate).abs()},
        (0, 2.5),
        x="rate times curvature",
        y="distance left after one step",
        alt="The distance left falls from one to zero as the rate grows to one over the curvature, "
        "and rises again; beyond two over the curvature it is more than one",
    )


def steepness() -> Picture:
    """Count the steps that gradient descent and momentum need in valleys that are ever steeper across."""
    ratios = [2, 5, 10, 25, 50, 100, 200, 400]
    needed: dict[str, list[float]] = {"gradient descent": [], "momentum, 0.9": []}
    for ratio in ratios:
        ground = ravine(ratio)
        for name, optimiser in (
            ("gradient descent", GradientDescent(rate=2 / (1 + ratio))),
            ("momentum, 0.9", Momentum(rate=0.1 / ratio**0.5)),
        ):
            needed[name].append(float(arrival(ground, minimise(ground, optimiser, steps=1000))))
    return plotting.show(
        plotting.lines(
            {name: (ratios, steps) for name, steps in needed.items()},
            x="curvature across, divided by curvature along",
            y="steps to the bottom",
            log=True,
        ),
        alt="Steps to the bottom against steepness from 2 to 400: gradient descent needs ever more, "
        "momentum less than twice as many at 400 as at 2",
    )


def rate_drop() -> Picture:
    """Draw both ways to write momentum, when the rate drops to a tenth at step 10."""

    def drop(number: int) -> float:
        return 0.02 if number < 10 else 0.002

    valley = ravine()
    return figures.contour(
        valley,
        {
            "source": minimise(valley, Momentum(), steps=25, schedule=drop),
            "PyTorch": minimise(valley, TorchMomentum(), steps=25, schedule=drop),
        },
        alt="Two paths that part where the rate drops: the source's rolls on at its old speed, "
        "PyTorch's slows down at once.",
    )


def own_rates(split: Split, *, epochs: int, seed: int = 0) -> Picture:
    """Train a network with Adagrad and with Adadelta, and draw the rates that they give to its weights."""
    fades: dict[str, list[float]] = {}
    watched: dict[str, Optimiser] = {"Adagrad": Adagrad(rate=0.03), "Adadelta": Adadelta()}
    for name, optimiser in watched.items():
        seen: list[float] = []

        def look(_: int, optimiser: Optimiser = optimiser, seen: list[float] = seen) -> None:
            seen.append(optimisers.own_rate(optimiser) or 0.0)

        learn(
            Network("ReLU", depth=2, seed=seed),
            split.train,
            optimiser,
            epochs=epochs,
            seed=seed,
            on_step=look,
        )
        fades[name] = seen
    return figures.fading(fades)


def rare_batches(steps: int, *, seed: int = 0) -> Picture:
    """Walk through the example of Reddi et al. (2018) with Adam, AMSGrad and gradient descent."""
    walks = {
        "Adam": rare_gradients(Adam(rate=5.0, betas=(0.9, 0.99)), steps=steps, seed=seed),
        "AMSGrad": rare_gradients(AMSGrad(rate=5.0, betas=(0.9, 0.99)), steps=steps, seed=seed),
        "gradient descent": rare_gradients(GradientDescent(rate=0.05), steps=steps, seed=seed),
    }
    every = max(1, steps // 40)
    return plotting.show(
        plotting.lines(
            {name: (range(0, steps + 1, every), walk[::every]) for name, walk in walks.items()},
            x="step",
            y="position; the best is -1",
            limits=(-1.1, 1.1),
        ),
        alt="Adam moves towards plus one, the worst point, the others towards minus one",
    )


def ridge(*, seed: int = 0) -> Picture:
    """Start exactly on the ridge of the saddle, without and with a little noise in the gradients."""
    saddle, start = SURFACES["saddle"], (1.2, 0.0)
    draw = torch.Generator().manual_seed(seed)
    return figures.contour(
        saddle,
        {
            "exact": minimise(saddle, GradientDescent(rate=0.05), start=start, steps=150),
            "with a little noise": minimise(
                saddle, GradientDescent(rate=0.05), start=start, steps=150, noise=0.001, generator=draw
            ),
        },
        alt="Without noise the path ends in the middle of the saddle; with a little it turns and falls off.",
    )


def decays(steps: int, *, seed: int = 0) -> Picture:
    """Decay weights whose gradients are noise of two sizes, with Adam and with AdamW."""

    def left(optimiser: Adam | AdamW, added: float = 0.0) -> dict[str, float]:
        draw = torch.Generator().manual_seed(seed)
        weights = torch.ones(2, 200)
        for _ in range(steps):
            noise = torch.tensor([[0.01], [10.0]]) * torch.randn(2, 200, generator=draw)
            weights = optimiser.step(weights, noise + added * weights)
        small, large = weights.mean(1).tolist()
        return {"small gradients": small, "large gradients": large}

    pulled = {
        "Adam, decay added to the gradient": left(Adam(rate=0.01), added=0.1),
        "AdamW": left(AdamW(rate=0.01, decay=0.1)),
    }
    return plotting.show(
        plotting.bars(pulled, unit="mean weight left; all started at one"),
        alt="Mean weight left, for weights with small and with large gradients, when the decay is added to "
        "Adam's gradient and when it is applied outside",
        caption="Mean weight left after training on noise. Under Adam, weights with large gradients "
        "are hardly decayed; AdamW decays all alike.",
    )
