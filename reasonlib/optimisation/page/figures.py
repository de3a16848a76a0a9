"""The source's figures of losses, activations and descents, drawn again from the library's own functions.

Each function returns a `Picture` with its words. The numbers of a figure are those of its docstring: figure
2.6 is the mean squared error, and so on.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from reasonlib.display import plotting, results
from reasonlib.display.plotting import COLOURS, DASHES, INK, PALETTE, Picture
from reasonlib.optimisation.experiments.losses import Fit, approach, interval_data
from reasonlib.optimisation.models import activations, losses
from reasonlib.optimisation.models.network import Network, digits, learn
from reasonlib.optimisation.models.optimisers import Adam, Nesterov
from reasonlib.optimisation.models.surfaces import SURFACES, Path, Surface, minimise, ravine

__all__ = [
    "activation",
    "contour",
    "curves",
    "descents",
    "elish",
    "fading",
    "focal",
    "focal_shares",
    "gradient_flow",
    "huber",
    "interval",
    "layer_means",
    "line_fits",
    "log_cosh",
    "log_loss",
    "mae",
    "mse",
    "nesterov",
    "overstep",
    "printed",
    "quantile",
    "race",
    "ravine_paths",
    "regression",
    "saddle",
]

Function = Callable[[Tensor], Tensor]


def curves(
    functions: Mapping[str, Function],
    across: tuple[float, float],
    *,
    x: str,
    y: str,
    alt: str,
    caption: str | None = None,
    limits: tuple[float, float] | None = None,
    slopes: bool | tuple[float, float] = False,
    points: int = 401,
) -> Picture:
    """Draw functions of one number, at most six.

    Parameters
    ----------
    functions
        From what the legend says to the function.
    across
        Ends of the horizontal axis.
    x, y
        What the axes say.
    alt, caption
        As of `plotting.show`.
    limits
        Ends of the vertical axis.
    slopes
        Draw the derivatives too, on axes of their own below; ends of these axes, if wanted.
    points
        At how many places.
    """
    if not 1 <= len(functions) <= len(PALETTE):
        raise ValueError(f"functions must be 1 to {len(PALETTE)} to stay apart, got {len(functions)}")
    at = torch.linspace(*across, points, dtype=torch.float64)
    with plotting.theme():
        drawing, grid = plotting.figure(
            height=4.2 if slopes else 2.7, rows=2 if slopes else 1, sharex=True, squeeze=False
        )
        axes, below = grid[0, 0], grid[-1, 0]
        for (label, function), colour, dash in zip(functions.items(), PALETTE, DASHES, strict=False):
            place = at.clone().requires_grad_()
            value = function(place)
            axes.plot(at, value.detach(), color=colour, linestyle=dash, label=label or None)
            if slopes:
                (slope,) = torch.autograd.grad(value.sum(), place)
                below.plot(at, slope, color=colour, linestyle=dash)
        axes.set_title(y, fontsize=10)
        below.set_xlabel(x)
        if abs(across[1] - across[0]) > 1000:  # long numbers need room
            below.xaxis.set_major_locator(MaxNLocator(4))
        if slopes:
            below.set_title("its derivative", fontsize=10)
        if isinstance(slopes, tuple):
            below.set_ylim(*slopes)
        if limits is not None:
            axes.set_ylim(*limits)
        if any(functions):
            _legend(drawing, list(functions))
    return plotting.show(drawing, alt=alt, caption=caption)


def _legend(drawing: Figure, labels: Sequence[str]) -> None:
    """Put the legend above, in as many columns as its letters leave room for."""
    widest = 42 + 5.8 * max(map(len, labels))
    drawing.legend(
        loc="outside upper left", ncols=int(max(1, min(len(labels), 3, 300 // widest))), handlelength=2.6
    )


# Losses -----------------------------------------------------------------------------------------------------


def log_loss() -> Picture:
    """Figure 2.3: the log loss of the probability given to the truth."""
    return curves(
        {"": lambda p: -p.log()},
        (0.005, 1.0),
        x="probability of the right answer",
        y="log loss (nats)",
        alt="The log loss is zero at a probability of one, about 0.7 at one half, and grows without bound "
        "as the probability falls to zero",
        caption="A confident mistake costs most (the source's figure 2.3).",
    )


def focal() -> Picture:
    """Focal losses of several strengths, beside figure 2.4."""

    def of(gamma: float) -> Function:
        return lambda p: losses.focal(torch.logit(p), torch.ones_like(p), gamma=gamma, reduction="none")

    return curves(
        {f"γ = {gamma:g}": of(gamma) for gamma in (0.0, 0.5, 1.0, 2.0, 5.0)},
        (0.005, 0.999),
        x="probability of the right answer",
        y="focal loss (nats)",
        limits=(0, 4),
        alt="Five focal losses: the stronger the focus, the closer to zero the loss where the right answer "
        "is fairly sure; for wrong answers all grow in the same way",
    )


def focal_shares(*, epochs: int = 3, seed: int = 0) -> Picture:
    """Figure 2.4: how the loss is spread over rare (foreground) and common (background) examples.

    Trains a small network to tell eights from other digits, then sorts the examples by their loss.
    """
    train = digits(900, 100, seed=seed).train
    truths = (train.truths == 8).float()
    model = Network("ReLU", depth=2, classes=1, seed=seed)
    learn(
        model,
        train._replace(truths=truths),
        Adam(rate=0.003),
        loss=lambda logits, target: losses.log_loss(logits[:, 0], target),
        epochs=epochs,
        seed=seed,
    )
    with torch.no_grad():
        logits = model(train.inputs)[:, 0]
    said = []
    with plotting.theme():
        drawing, both = plotting.figure(height=2.9, columns=2, sharey=True)
        for axes, name, kind in zip(both, ("eights (rare)", "others (common)"), (1, 0), strict=True):
            chosen = truths == kind
            for gamma, colour, dash in zip((0.0, 0.5, 1.0, 2.0), PALETTE, DASHES, strict=False):
                each = losses.focal(logits[chosen], truths[chosen], gamma=gamma, reduction="none")
                share = each.sort().values.cumsum(0) / each.sum()
                axes.plot(
                    np.linspace(0, 1, len(share)), share, color=colour, linestyle=dash, label=f"γ = {gamma:g}"
                )
                said.append(
                    f"{name}, γ = {gamma:g}: the hardest tenth carries "
                    f"{1 - float(share[int(0.9 * len(share)) - 1]):.0%} of the loss."
                )
            axes.set_title(name, fontsize=9.5)
            axes.set_xlabel("share of examples")
        handles = both[0].get_legend_handles_labels()
        drawing.legend(*handles, loc="outside upper left", ncols=2, handlelength=2.6)
    drawing.set_label(" ".join(said))
    return plotting.show(
        drawing,
        alt="Share of the whole loss against share of examples, easiest first.",
        caption="On digits: the share of the loss that the easiest examples carry, easiest first "
        "(the source's figure 2.4).",
    )


def _far(loss: Callable[..., Tensor]) -> dict[str, Function]:
    target = 100.0
    return {"": lambda p: loss(p, torch.full_like(p, target), reduction="none")}


def mse() -> Picture:
    """Figure 2.6: the mean squared error of predictions from -10,000 to 10,000 where 100 is right."""
    return curves(
        _far(losses.mse),
        (-10_000, 10_000),
        x="prediction; the target is 100",
        y="squared error",
        alt="A parabola with its lowest point at 100",
        caption="The squared error grows ever faster with the distance (the source's figure 2.6).",
    )


def mae() -> Picture:
    """Figure 2.7: the mean absolute error of the same predictions."""
    return curves(
        _far(losses.mae),
        (-10_000, 10_000),
        x="prediction; the target is 100",
        y="absolute error",
        alt="Two straight lines that meet in a corner at 100",
        caption="The absolute error has the same slope everywhere (the source's figure 2.7).",
    )


def overstep(rate: float = 0.9, steps: int = 40) -> Picture:
    """Figure 2.8: the last steps of gradient descent by absolute and by squared error, at one fixed rate."""
    series = {
        name: (
            np.arange(steps + 1),
            approach(losses.REGRESSION[loss], start=80.0, target=100.0, rate=rate * scale, steps=steps),
        )
        for name, loss, scale in (("absolute error", "mae", 1.0), ("squared error", "mse", 0.1))
    }
    return plotting.show(
        plotting.lines(series, x="step", y="prediction; the target is 100"),
        alt="Descent on the absolute error reaches the target in equal steps and then jumps from side to "
        "side of it; descent on the squared error slows down and settles.",
        caption="At a fixed rate, the absolute error never settles (the source's figure 2.8).",
    )


def _near(loss: Callable[..., Tensor]) -> Function:
    return lambda p: loss(p, torch.zeros_like(p), reduction="none")


def huber() -> Picture:
    """Figure 2.9: Huber losses with delta 0.1, 1 and 10."""
    return curves(
        {f"δ = {delta:g}": _near(partial(losses.huber, delta=delta)) for delta in (0.1, 1.0, 10.0)},
        (-20, 20),
        x="prediction; the target is 0",
        y="Huber loss",
        limits=(0, 60),
        alt="Three Huber losses: the larger delta, the wider the round bottom and the steeper the arms",
        caption="Huber loss: a parabola within δ, straight lines outside (the source's figure 2.9).",
    )


def log_cosh() -> Picture:
    """Figure 2.10: the log-cosh loss."""
    return curves(
        {"log-cosh": _near(losses.log_cosh), "absolute error less log 2": lambda p: p.abs() - np.log(2)},
        (-5, 5),
        x="prediction; the target is 0",
        y="loss",
        limits=(-0.8, 5),
        alt="The log-cosh loss is round at zero and approaches the absolute error minus log two further out",
        caption="Log-cosh: round near the target, straight far from it, without a parameter "
        "(the source's figure 2.10).",
    )


def quantile() -> Picture:
    """Figure 2.11: quantile losses with gamma 0.25, 0.5 and 0.75."""
    return curves(
        {f"γ = {gamma:g}": _near(partial(losses.quantile, gamma=gamma)) for gamma in (0.25, 0.5, 0.75)},
        (-5, 5),
        x="prediction; the target is 0",
        y="quantile loss",
        alt="Three pairs of straight lines meeting at zero: at 0.25 predictions that are too high cost more, "
        "at 0.75 those that are too low, at 0.5 both the same",
        caption="Quantile loss: a low γ favours predictions that are too low, a high γ those that are too "
        "high (the source's figure 2.11).",
    )


def regression() -> Picture:
    """Figure 2.12: the regression losses together."""
    return curves(
        {
            "square": _near(losses.mse),
            "absolute": _near(losses.mae),
            "Huber, δ = 1": _near(losses.huber),
            "log-cosh": _near(losses.log_cosh),
            "quantile, γ = 0.75": _near(partial(losses.quantile, gamma=0.75)),
        },
        (-4, 4),
        x="prediction; the target is 0",
        y="loss",
        limits=(0, 4),
        slopes=(-2.5, 2.5),
        alt="Five regression losses and their derivatives: the square's derivative grows with the error, all "
        "others stay between minus one and one",
        caption="The value of each regression loss, and below it the slope (the source's figure 2.12).",
    )


def line_fits(inputs: Tensor, targets: Tensor, fits: Mapping[str, Fit]) -> Picture:
    """Draw points of one input (B, 1) and lines fitted to them by several losses."""
    ends = torch.stack([inputs.min(0).values, inputs.max(0).values])
    said = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.8)
        axes.plot(inputs[:, 0], targets, "o", color=INK, markersize=3, linestyle="none", alpha=0.7)
        for (label, fit), colour, dash in zip(fits.items(), PALETTE, DASHES, strict=False):
            axes.plot(ends[:, 0], fit(ends), color=colour, linestyle=dash, label=label, linewidth=2.2)
            said.append(f"{label}: slope {float(fit.slope[0]):.2f}.")
        axes.set_xlabel("input")
        axes.set_title("target", fontsize=10)
        _legend(drawing, list(fits))
    drawing.set_label(" ".join(said))
    return plotting.show(drawing, alt="Points with a few outliers, and a line for each loss.")


def interval(low: Fit, high: Fit, *, seed: int = 1, number: int = 300) -> Picture:
    """Draw fresh points with growing noise, and an interval given by two lines."""
    inputs, targets = interval_data(seed, number)
    ends = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.7)
        axes.plot(inputs[:, 0], targets, "o", color=INK, markersize=2.6, linestyle="none", alpha=0.6)
        axes.plot(ends, low(ends), color=COLOURS["blue"], label="γ = 0.05")
        axes.plot(ends, high(ends), color=COLOURS["orange"], linestyle=DASHES[1], label="γ = 0.95")
        axes.fill_between(ends[:, 0], low(ends), high(ends), color=COLOURS["blue"], alpha=0.12, linewidth=0)
        axes.set_xlabel("input")
        axes.set_title("target", fontsize=10)
        _legend(drawing, ["γ = 0.05", "γ = 0.95"])
    inside = ((targets >= low(inputs)) & (targets <= high(inputs))).double().mean()
    return plotting.show(
        drawing,
        alt=f"Points whose spread grows to the right, and an interval that widens with them; it holds "
        f"{float(inside):.0%} of the points",
        caption="Two quantile losses make an interval for nine points in ten.",
    )


# Activations ------------------------------------------------------------------------------------------------


def activation(*names: str, across: tuple[float, float] = (-6, 6), caption: str | None = None) -> Picture:
    """Draw activations by name with their derivatives, such as figures 2.13 to 2.15."""
    for name in names:
        if name not in activations.ACTIVATIONS:
            known = ", ".join(activations.ACTIVATIONS)
            raise ValueError(f"name must be one of {known}, got {name!r}")
    at = torch.linspace(*across, 401, dtype=torch.float64).requires_grad_()
    said = []
    for name in names:
        value = activations.ACTIVATIONS[name](at)
        (slope,) = torch.autograd.grad(value.sum(), at)
        said.append(
            f"{name} runs from {float(value.min().detach()):.2f} to {float(value.max().detach()):.2f}, its "
            f"derivative from {float(slope.min()):.2f} to {float(slope.max()):.2f}."
        )
    return curves(
        {name: activations.ACTIVATIONS[name] for name in names},
        across,
        x="input of the unit",
        y="output",
        slopes=True,
        alt=" ".join(said),
        caption=caption,
    )


def elish() -> Picture:
    """Figure 2.16: ELiSH and HardELiSH with their derivatives."""
    return activation(
        "ELiSH", "HardELiSH", across=(-6, 4), caption="ELiSH and HardELiSH (the source's figure 2.16)."
    )


def printed(right: Function, wrong: Function, name: str, across: tuple[float, float] = (-3, 3)) -> Picture:
    """Draw what the source prints beside what was meant."""
    return curves(
        {f"{name}, corrected": right, "as printed": wrong},
        across,
        x="input of the unit",
        y="output",
        alt=f"{name} corrected, and the different curve of the printed formula",
    )


def layer_means() -> Picture:
    """How far the mean output of a layer is from zero, for each activation, from records."""
    return results.rows(
        "optimisation/activations",
        metric="mean",
        unit="distance of a layer's mean from zero",
        caption="Distance of a layer's mean output from zero, by activation function",
    )


def gradient_flow(norms: Mapping[str, Sequence[float]]) -> Picture:
    """Draw the length of the gradient at each layer of deep stacks, last layer left, on a log scale."""
    said = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.9)
        for (name, values), colour, dash in zip(norms.items(), PALETTE, DASHES, strict=False):
            relative = np.maximum(np.array(values, dtype=float) / values[-1], 1e-16)
            axes.plot(range(len(values), 0, -1), relative[::-1], color=colour, linestyle=dash, label=name)
            said.append(f"{name}: {relative[0]:.1g} of it reaches the first layer.")
        axes.set_yscale("log")
        axes.invert_xaxis()
        axes.set_xlabel("layer, from the last down to the first")
        axes.set_title("gradient, relative to the last layer", fontsize=10)
        _legend(drawing, list(norms))
    drawing.set_label(" ".join(said))
    return plotting.show(drawing, alt="Length of the gradient, layer by layer.")


# Descents ---------------------------------------------------------------------------------------------------


def _levels(surface: Surface, height: np.ndarray) -> np.ndarray:
    """Heights of the contour lines: even on a saddle, ever wider apart above a minimum."""
    if surface.minimum is None:
        return np.linspace(height.min(), height.max(), 14)
    low = float(surface.value(torch.tensor(surface.minimum, dtype=torch.float64)))
    return low + (height.max() - low) * np.linspace(0.02, 1, 14) ** 3


def contour(
    surface: Surface, paths: Mapping[str, Path], *, alt: str, caption: str | None = None, last: int = -1
) -> Picture:
    """Draw a surface by its contour lines, and up to six walks on it.

    Parameters
    ----------
    surface
        What was walked on.
    paths
        From what the legend says to a walk from a single start.
    alt, caption
        As of `plotting.show`.
    last
        Draw so many points of a walk at most; -1 for all.
    """
    x, y, height = surface.grid(101)
    said = []
    (left, right), (bottom, top) = surface.box
    with plotting.theme():
        drawing, axes = plotting.figure(height=3.4)
        axes.contour(
            x, y, height, levels=_levels(surface, height.numpy()), colors=INK, linewidths=0.6, alpha=0.55
        )
        for (name, path), colour, dash in zip(paths.items(), PALETTE, DASHES, strict=False):
            points = path.points if last < 0 else path.points[: last + 1]
            points = points[torch.isfinite(points).all(-1)].clamp(-1e3, 1e3)
            axes.plot(points[:, 0], points[:, 1], color=colour, linestyle=dash, label=name, linewidth=1.6)
            axes.plot(points[-1, 0], points[-1, 1], "o", color=colour, markersize=5)
            at = f"({float(points[-1, 0]):.2f}, {float(points[-1, 1]):.2f})"
            said.append(f"{name} ends at {at} after {len(points) - 1} steps.")
        start = next(iter(paths.values())).points[0] if paths else None
        if start is not None:
            axes.plot(start[0], start[1], "s", color=INK, markersize=5)
        if surface.minimum is not None:
            axes.plot(*surface.minimum, "*", color=INK, markersize=9)
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)
        axes.grid(visible=False)
        if paths:
            _legend(drawing, list(paths))
    drawing.set_label(" ".join(said))
    return plotting.show(drawing, alt=alt, caption=caption)


def saddle() -> Picture:
    """Figure 2.18: the saddle of x² - y², in space."""
    ground = SURFACES["saddle"]
    x, y, height = ground.grid(25)
    down, across = torch.meshgrid(y, x, indexing="ij")
    with plotting.theme():
        drawing, axes = plotting.figure(height=3.2, subplot_kw={"projection": "3d"})
        axes.plot_wireframe(
            across.numpy(), down.numpy(), height.numpy(), color=COLOURS["blue"], linewidth=0.7, rstride=2,
            cstride=2,
        )  # fmt: skip
        axes.plot([0], [0], [0], "o", color=COLOURS["orange"], markersize=6)
        for side in (axes.xaxis, axes.yaxis, axes.zaxis):
            side.set_pane_color((0, 0, 0, 0))
            side.line.set_color(INK)
        axes.grid(visible=False)
        axes.set_xlabel("x")
        axes.set_ylabel("y")
        axes.set_title("z = x² - y²", fontsize=10)
        axes.tick_params(labelsize=8)
        axes.view_init(elev=28, azim=-60)
    return plotting.show(
        drawing,
        alt="A saddle in space: it rises to both ends of x and falls to both ends of y; at its middle, "
        "which is marked, it is flat",
        caption="A saddle: zero gradient in the middle, but no minimum (the source's figure 2.18).",
    )


def descents(
    surface: Surface | str, optimisers: Mapping[str, Any], *, steps: int, alt: str, **show: Any
) -> Picture:
    """Walk down a surface with fresh optimisers and draw where they went."""
    ground = SURFACES[surface] if isinstance(surface, str) else surface
    return contour(
        ground,
        {name: minimise(ground, one, steps=steps) for name, one in optimisers.items()},
        alt=alt,
        **show,
    )


def ravine_paths(optimisers: Mapping[str, Any], *, steps: int = 40, caption: str | None = None) -> Picture:
    """Figures 2.19 and 2.20: walks in a ravine, 25 times as steep across as along."""
    return descents(
        ravine(),
        optimisers,
        steps=steps,
        alt="Paths of descent down a long valley with steep sides.",
        caption=caption,
    )


def nesterov(momentum: float = 0.9) -> Picture:
    """Figure 2.21: one step of momentum and of Nesterov's variant from the same place and velocity."""
    ground = ravine(6.0)
    rate = 0.15
    one = Nesterov(rate=rate, momentum=momentum)
    here = torch.tensor([-2.2, 0.75], dtype=torch.float64)
    one.velocity = torch.tensor([-0.75, 0.85], dtype=torch.float64)  # it has come from the upper left
    ahead = one.look(here)
    plain = here - (momentum * one.velocity + rate * ground.gradient(here))
    looked = one.step(here, ground.gradient(ahead))
    arrows = {
        "velocity": (here, ahead, COLOURS["olive"], "-"),
        "gradient there": (ahead, looked, COLOURS["orange"], "-"),
        "Nesterov": (here, looked, COLOURS["green"], DASHES[1]),
        "momentum": (here, plain, COLOURS["blue"], DASHES[2]),
    }
    x = torch.linspace(-3, 1, 101, dtype=torch.float64)
    y = torch.linspace(-1.2, 1.2, 101, dtype=torch.float64)
    down, across = torch.meshgrid(y, x, indexing="ij")
    height = ground.value(torch.stack([across, down], -1))
    with plotting.theme():
        drawing, axes = plotting.figure(height=3.2)
        axes.contour(x, y, height, levels=12, colors=INK, linewidths=0.6, alpha=0.55)
        for name, (start, end, colour, dash) in arrows.items():
            axes.plot([start[0], end[0]], [start[1], end[1]], color=colour, linestyle=dash, label=name)
            axes.plot(end[0], end[1], "o", color=colour, markersize=5)
        axes.plot(here[0], here[1], "s", color=INK, markersize=6)
        axes.plot(0, 0, "*", color=INK, markersize=9)
        axes.grid(visible=False)
        _legend(drawing, list(arrows))
    return plotting.show(
        drawing,
        alt=f"From the same point and velocity, momentum lands at height {float(ground.value(plain)):.2f}, "
        f"Nesterov's step at {float(ground.value(looked)):.2f}: the slope at the end of the kept step "
        "already points back",
        caption="Nesterov's step: first the velocity, then the gradient computed there "
        "(the source's figure 2.21).",
    )


def race(surface: Surface | str, optimisers: Mapping[str, Any], *, steps: int) -> Picture:
    """Figure 2.22: the optimisers on one surface, from one start."""
    ground = SURFACES[surface] if isinstance(surface, str) else surface
    return descents(
        ground,
        optimisers,
        steps=steps,
        alt=f"Paths of {len(optimisers)} optimisers on the {ground.title}.",
        caption=f"{ground.title}; {steps} steps each (the source's figure 2.22).",
    )


def fading(rates: Mapping[str, Sequence[float]], *, every: float = 1.0) -> Picture:
    """Draw how the rates that adaptive optimisers give their weights change, on log scales."""
    said = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.7)
        for (name, values), colour, dash in zip(rates.items(), PALETTE, DASHES, strict=False):
            level = np.array(values, dtype=float) / values[0]
            axes.plot(every * np.arange(1, len(level) + 1), level, color=colour, linestyle=dash, label=name)
            said.append(f"{name}: {level[-1]:.2g} of the first rate is left.")
        axes.set_yscale("log")
        axes.set_xscale("log")
        axes.set_xlabel("step")
        axes.set_title("rate of a weight, relative to the first step's", fontsize=10)
        _legend(drawing, list(rates))
    drawing.set_label(" ".join(said))
    return plotting.show(drawing, alt="How the rates of single weights fall.")
