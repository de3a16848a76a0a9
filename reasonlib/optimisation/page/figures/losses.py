"""Figures of losses: their values and slopes, and what they do to a fit."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor

from reasonlib.display import plotting
from reasonlib.display.plotting import COLOURS, DASHES, INK, PALETTE, Picture
from reasonlib.optimisation.experiments.losses import Fit, approach, interval_data
from reasonlib.optimisation.models import losses
from reasonlib.optimisation.models.network import Network, digits, learn
from reasonlib.optimisation.models.optimisers import Adam
from reasonlib.optimisation.page.figures.functions import Function, curves, legend

__all__ = [
    "focal",
    "focal_shares",
    "huber",
    "interval",
    "line_fits",
    "log_cosh",
    "log_loss",
    "mae",
    "mse",
    "overstep",
    "quantile",
    "regression",
]


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
    descriptions = []
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
                descriptions.append(
                    f"{name}, γ = {gamma:g}: the hardest tenth carries "
                    f"{100 - 100 * float(share[int(0.9 * len(share)) - 1]):.0f} % of the loss."
                )
            axes.set_title(name, fontsize=9.5)
            axes.set_xlabel("share of examples")
        handles = both[0].get_legend_handles_labels()
        drawing.legend(*handles, loc="outside upper left", ncols=2, handlelength=2.6)
    drawing.set_label(" ".join(descriptions))
    return plotting.show(
        drawing,
        alt="Share of the whole loss against share of examples, easiest first.",
        caption="On digits: the share of the loss that the easiest examples carry, easiest first "
        "(the source's figure 2.4).",
    )


def _far(loss: Callable[..., Tensor], *, y: str, alt: str, caption: str) -> Picture:
    """Draw a loss from -10,000 to 10,000, where 100 is right."""
    return curves(
        {"": lambda p: loss(p, torch.full_like(p, 100.0), reduction="none")},
        (-10_000, 10_000),
        x="prediction; the target is 100",
        y=y,
        alt=alt,
        caption=caption,
    )


def mse() -> Picture:
    """Figure 2.6: the mean squared error of predictions from -10,000 to 10,000 where 100 is right."""
    return _far(
        losses.mse,
        y="squared error",
        alt="A parabola with its lowest point at 100",
        caption="The squared error grows ever faster with the distance (the source's figure 2.6).",
    )


def mae() -> Picture:
    """Figure 2.7: the mean absolute error of the same predictions."""
    return _far(
        losses.mae,
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
        caption=f"At a fixed rate (here {rate:g}), the absolute error never settles; the squared error does, "
        f"here at {0.1 * rate:g} (the source's figure 2.8).",
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
    descriptions = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.8)
        axes.plot(inputs[:, 0], targets, "o", color=INK, markersize=3, linestyle="none", alpha=0.7)
        for (label, fit), colour, dash in zip(fits.items(), PALETTE, DASHES, strict=False):
            axes.plot(ends[:, 0], fit(ends), color=colour, linestyle=dash, label=label, linewidth=2.2)
            descriptions.append(f"{label}: slope {float(fit.slope[0]):.2f}.")
        axes.set_xlabel("input")
        axes.set_title("target", fontsize=10)
        legend(drawing, list(fits))
    drawing.set_label(" ".join(descriptions))
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
        legend(drawing, ["γ = 0.05", "γ = 0.95"])
    inside = ((targets >= low(inputs)) & (targets <= high(inputs))).double().mean()
    return plotting.show(
        drawing,
        alt=f"Points whose spread grows to the right, and an interval that widens with them; it holds "
        f"{100 * float(inside):.0f} % of the points",
        caption="Two quantile losses make an interval for nine points in ten.",
    )
