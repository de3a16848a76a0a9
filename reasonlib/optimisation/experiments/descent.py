"""What the source says of optimisers on surfaces, tried: races, overshoot, pits, flat places, rare gradients.

Each `run_...` measures one row of an experiment; see `reasonlib.optimisation.experiments`. A surface is not a
stand-in for data: it is what the source itself speaks of.

Axes: S starts, T steps.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from reasonlib.optimisation.experiments.measures import try_rates
from reasonlib.optimisation.models import optimisers
from reasonlib.optimisation.models.network import rates
from reasonlib.optimisation.models.surfaces import SURFACES, Path, Surface, hills, minimise, ravine
from reasonlib.tracking.experiment import Measured, Trial

__all__ = [
    "ARENA",
    "METHODS",
    "arrival",
    "best_rate",
    "flat_and_sharp",
    "make",
    "many_pits",
    "rare_gradients",
    "run_pits",
    "run_race",
    "run_rare",
    "starts",
]

METHODS: dict[str, Callable[..., Any]] = {
    **optimisers.OPTIMISERS,
    "rootless Adagrad": optimisers.RootlessAdagrad,
    "AMSGrad": optimisers.AMSGrad,
}

ARENA: dict[str, Surface] = {**SURFACES, "bowl": ravine(1.0)}
ARRIVED = 0.01  # height above the minimum that counts as there
FALLEN = -1.0  # height below which a saddle is behind


def make(name: str, rate: float | None = None) -> Any:
    """Make a fresh optimiser by name, at a rate or at its own default."""
    return METHODS[name]() if rate is None else METHODS[name](rate=rate)


def starts(surface: Surface, number: int, seed: int) -> Tensor:
    """Draw starts (S, 2) around the surface's own: within a twentieth of what is drawn of it.

    On the saddle the second coordinate, along which it falls, is kept as small as it is.
    """
    draw = torch.Generator().manual_seed(seed)
    (left, right), (bottom, top) = surface.box
    spread = torch.tensor([right - left, top - bottom], dtype=torch.float64) / 20
    if surface.name == "saddle":
        spread[1] = surface.start[1] / 2
    away = 2 * torch.rand(number, 2, generator=draw, dtype=torch.float64) - 1
    return torch.tensor(surface.start, dtype=torch.float64) + away * spread


def arrival(surface: Surface, path: Path) -> Tensor:
    """Return the step (S,) from which a walk is there for good; one more than there were where it never is.

    There is below `FALLEN` on a surface without a minimum, and else within `ARRIVED` of the lowest height.
    """
    if surface.minimum is None:
        arrived = path.values < FALLEN
    else:
        lowest = surface.value(torch.tensor(surface.minimum, dtype=torch.float64))
        arrived = path.values - lowest < ARRIVED
    arrived = arrived & torch.isfinite(path.values)
    if surface.minimum is None:  # further down it may leave the range of numbers: it has fallen all the same
        arrived = arrived.cumsum(0) > 0
    stays = arrived.flip(0).cumprod(0).flip(0).bool()  # (T + 1, S)
    return (~stays).sum(0).double()


@lru_cache(maxsize=64)
def best_rate(
    name: str, surface: str, number: int, steps: int, choices: int, seed: int
) -> tuple[float, list[float]]:
    """Return the rate at which an optimiser arrives soonest on average, and all that were tried.

    The first `choices` are spread from 0.0001 to 10; further ones follow as `try_rates` says.
    """
    ground = ARENA[surface]
    from_here = starts(ground, number, seed)

    def steps_at(rate: float) -> float:
        path = minimise(ground, make(name, rate), start=from_here, steps=steps)
        return float(arrival(ground, path).mean())

    (best,), tried = try_rates(rates(1e-4, 10.0, choices), steps_at, float)
    return best, list(tried)


def run_race(trial: Trial) -> Measured:
    """Send one optimiser down one surface from many starts."""
    settings = trial.settings
    surface = ARENA[trial.data]
    from_here = starts(surface, settings["starts"], trial.seed)
    rate = settings.get("rate")
    tried: list[float] = []
    if settings.get("tune"):  # on other starts than those of the race
        rate, tried = best_rate(
            settings["tune"],
            trial.data,
            settings["starts"],
            settings["steps"],
            settings["choices"],
            trial.seed + 1000,
        )
    path = minimise(surface, make(settings["optimiser"], rate), start=from_here, steps=settings["steps"])
    arrival_steps = arrival(surface, path)
    moved = path.points.diff(dim=0)  # (T, S, 2)
    finite = torch.isfinite(moved).all(-1)
    turned = (moved[1:, :, 1] * moved[:-1, :, 1] < 0) & finite[1:] & (path.values[1:-1] > ARRIVED)
    beyond = (-path.points[..., 0] * path.points[0, :, 0].sign()).amax(0) / path.points[0, :, 0].abs()
    metrics = {
        "steps": float(arrival_steps.mean()),
        "arrived": float((arrival_steps <= settings["steps"]).double().mean()),
        "turns": float(turned.sum(0).double().mean()),
        "overshoot": float(beyond.clamp(min=0).nan_to_num(posinf=0.0).mean()),
    }
    return Measured(
        metrics={**metrics, **({} if rate is None else {"rate": rate})},
        steps_done=settings["steps"],
        steps_planned=settings["steps"],
        details={"tried": tried},
    )


# Pits -------------------------------------------------------------------------------------------------------


def many_pits(seed: int) -> Surface:
    """Draw a surface with seven pits of several depths."""
    draw = torch.Generator().manual_seed(seed)
    centres = 5 * torch.rand(7, 2, generator=draw, dtype=torch.float64) - 2.5
    depths = -0.4 - 1.2 * torch.rand(7, generator=draw, dtype=torch.float64)
    widths = 0.35 + 0.35 * torch.rand(7, generator=draw, dtype=torch.float64)
    return hills([(float(x), float(y)) for x, y in centres], depths.tolist(), widths.tolist(), name="pits")


def flat_and_sharp() -> Surface:
    """Make two pits of one depth side by side, the left one three times as wide."""
    return hills([(-1.5, 0.0), (1.0, 0.0)], [-1.0, -1.0], [0.9, 0.3], bowl=0.02, name="flat-and-sharp")


def _lowest(surface: Surface) -> tuple[Tensor, Tensor]:
    """Return the lowest point (2,) of a surface and its height, by a fine grid and a few steps of descent."""
    x, y, height = surface.grid(301)
    row, column = divmod(int(height.argmin()), len(x))
    start = torch.stack([x[column], y[row]])
    path = minimise(surface, optimisers.GradientDescent(rate=0.02), start=start, steps=500)
    return path.points[-1], path.values[-1]


def run_pits(trial: Trial) -> Measured:
    """Start anywhere, walk, and see in which pit it ends; the last steps are taken without noise."""
    settings = trial.settings
    surface = flat_and_sharp() if trial.data == "flat-and-sharp" else many_pits(trial.seed)
    draw = torch.Generator().manual_seed(trial.seed)
    (left, right), (bottom, top) = surface.box
    sides = torch.tensor([right - left, top - bottom], dtype=torch.float64)
    corner = torch.tensor([left, bottom], dtype=torch.float64)
    start = corner + sides * torch.rand(settings["starts"], 2, generator=draw, dtype=torch.float64)
    steps = settings["steps"]
    noise = settings["noise"] or 0.0
    path = minimise(
        surface,
        make(settings["optimiser"], settings["rate"]),
        start=start,
        steps=steps,
        noise=noise,
        generator=draw if noise else None,
    )
    settled = minimise(surface, optimisers.GradientDescent(rate=0.05), start=path.points[-1], steps=steps)
    end = settled.points[-1]
    minimum, height = _lowest(surface)
    return Measured(
        metrics={
            "deepest": float(((end - minimum).norm(dim=-1) < 0.3).double().mean()),
            "trapped": float((settled.values[-1] > height + 0.05).double().mean()),
            "flat": float(((end - torch.tensor([-1.5, 0.0])).norm(dim=-1) < 0.9).double().mean()),
        },
        steps_done=2 * steps,
        steps_planned=2 * steps,
    )


# Rare gradients ---------------------------------------------------------------------------------------------


def rare_gradients(optimiser: Any, *, steps: int, seed: int, every: int = 100) -> Tensor:
    r"""Minimise a sum of losses of which a rare one is large, between -1 and 1 (Reddi et al. 2018).

    Every hundredth batch says: down, with a slope of 1010. All others say: up, with -10. On average the slope
    is :math:`0.01 \cdot 1010 - 0.99 \cdot 10 = 0.2`: the best point is -1. The seed says when the first
    comes. In the paper a batch is the rare one with probability 0.01, or every 101st is.

    Returns
    -------
    Tensor
        (T + 1,) every point, from 0 on.
    """
    phase = int(torch.randint(every, (1,), generator=torch.Generator().manual_seed(seed)))
    point = torch.zeros((), dtype=torch.float64)
    first = optimiser.rate
    points = [point]
    for number in range(steps):
        optimiser.rate = first / math.sqrt(1 + number)
        slope = torch.tensor(1010.0 if number % every == phase else -10.0, dtype=torch.float64)
        point = optimiser.step(point, slope).clamp(-1, 1)
        points.append(point)
    return torch.stack(points)


def run_rare(trial: Trial) -> Measured:
    """See where an optimiser ends when the batches that matter are rare."""
    settings = trial.settings
    options = {"betas": (0.9, 0.99)} if settings["optimiser"] in ("Adam", "AMSGrad") else {}
    optimiser = METHODS[settings["optimiser"]](rate=settings["rate"], **options)
    points = rare_gradients(optimiser, steps=settings["steps"], seed=trial.seed)
    return Measured(
        metrics={"distance": float((points[-settings["steps"] // 10 :] + 1).mean())},
        steps_done=settings["steps"],
        steps_planned=settings["steps"],
    )
