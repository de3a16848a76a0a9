"""Figures of activation functions, and of gradients on their way through a deep network."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from reasonlib.display import plotting, results
from reasonlib.display.plotting import DASHES, PALETTE, Picture
from reasonlib.optimisation.models import activations
from reasonlib.optimisation.page.figures.functions import Function, curves, legend

__all__ = ["activation", "elish", "gradient_flow", "layer_means", "printed"]


def activation(*names: str, across: tuple[float, float] = (-6, 6), caption: str | None = None) -> Picture:
    """Draw activations by name with their derivatives, such as figures 2.13 to 2.15."""
    for name in names:
        if name not in activations.ACTIVATIONS:
            choices = ", ".join(activations.ACTIVATIONS)
            raise ValueError(f"name must be one of {choices}, got {name!r}")
    x = torch.linspace(*across, 401, dtype=torch.float64).requires_grad_()
    descriptions = []
    for name in names:
        value = activations.ACTIVATIONS[name](x)
        (slope,) = torch.autograd.grad(value.sum(), x)
        descriptions.append(
            f"{name} runs from {float(value.min().detach()):.2f} to {float(value.max().detach()):.2f}, its "
            f"derivative from {float(slope.min()):.2f} to {float(slope.max()):.2f}."
        )
    return curves(
        {name: activations.ACTIVATIONS[name] for name in names},
        across,
        x="input of the unit",
        y="output",
        slopes=True,
        alt=" ".join(descriptions),
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
        names={"ReLU-dropout": "ReLU with dropout"},
        caption="Distance of a layer's mean output from zero, by activation function",
    )


def gradient_flow(norms: Mapping[str, Sequence[float]]) -> Picture:
    """Draw the length of the gradient at each layer of deep stacks, last layer left, on a log scale."""
    descriptions = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.9)
        for (name, values), colour, dash in zip(norms.items(), PALETTE, DASHES, strict=False):
            relative = np.maximum(np.array(values, dtype=float) / values[-1], 1e-16)
            axes.plot(range(len(values), 0, -1), relative[::-1], color=colour, linestyle=dash, label=name)
            descriptions.append(f"{name}: {relative[0]:.1g} of it reaches the first layer.")
        plotting.make_logarithmic(axes, "y")
        axes.invert_xaxis()
        axes.set_xlabel("layer, from the last down to the first")
        axes.set_title("gradient, relative to the last layer", fontsize=10)
        legend(drawing, list(norms))
    drawing.set_label(" ".join(descriptions))
    return plotting.show(drawing, alt="Length of the gradient, layer by layer.")
