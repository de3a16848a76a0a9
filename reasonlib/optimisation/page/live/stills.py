"""The pictures that stand in the page where scripts are off, drawn from the library's own numbers."""

from collections.abc import Mapping

import numpy as np
import torch

from reasonlib.display.plotting import COLOURS, DASHES, INK, MARKERS, Picture, figure, show, theme
from reasonlib.optimisation.models.losses import focal, hinge, huber, log_cosh, log_loss, mae, mse, quantile
from reasonlib.optimisation.models.optimisers import OPTIMISERS
from reasonlib.optimisation.models.surfaces import Surface
from reasonlib.optimisation.page.live.stack import Pass, Stack, StackConfig
from reasonlib.optimisation.page.live.tracks import Track, run

__all__ = ["layers", "losses", "race", "saturation"]


def race(track: Track, surface: Surface, *, steps: int | None = None) -> Picture:
    """Draw the paths of the six optimisers on a surface, all from one point."""
    (left, right), (bottom, top) = track.window
    x, y = np.meshgrid(np.linspace(left, right, 33), np.linspace(bottom, top, 33))
    height = surface.value(torch.from_numpy(np.stack([x, y], -1))).numpy()
    level = np.log1p(track.bend * (height - height.min())) if track.bend else height
    steps = track.steps if steps is None else steps
    descriptions = [f"Six optimisers from one point on a surface ({surface.title}), {steps} steps each."]
    with theme():
        drawing, axes = figure(height=3.5)
        axes.contour(x, y, level, 9, colors=INK, linewidths=0.5, linestyles="solid")
        for name, colour, dash, marker in zip(OPTIMISERS, COLOURS.values(), DASHES, MARKERS, strict=True):
            points, losses = (values[: steps + 1].numpy() for values in run(track, surface, name))
            away = np.abs(points - [(left + right) / 2, (bottom + top) / 2])
            inside = away < 2 * np.array([right - left, top - bottom])  # a path that blows up is cut
            seen = points[: len(points) if inside.all() else int(np.argmin(inside.all(1))) + 1]
            axes.plot(*seen[:60].T, color=colour, linestyle=dash, linewidth=1.5)
            axes.plot(*seen[-1], color=colour, marker=marker, linestyle="none", label=name)
            descriptions.append(f"{name[0].upper()}{name[1:]} ends with a loss of {losses[-1]:.2g}.")
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.grid(False)
        drawing.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return show(drawing, alt=" ".join(descriptions))


def losses(target: float = 0.0) -> Picture:
    """Draw the losses of a number against the prediction, and those of a yes against its probability."""
    prediction = torch.linspace(-5, 5, 81, dtype=torch.float64)
    truth = torch.full_like(prediction, target)
    p = torch.linspace(0.01, 0.99, 81, dtype=torch.float64)
    yes = torch.ones_like(p)
    regression = {
        "squared": mse(prediction, truth, reduction="none"),
        "absolute": mae(prediction, truth, reduction="none"),
        "Huber": huber(prediction, truth, reduction="none"),
        "log-cosh": log_cosh(prediction, truth, reduction="none"),
        "quantile": quantile(prediction, truth, gamma=0.9, reduction="none"),
    }
    classification = {
        "log loss": log_loss(p.logit(), yes, reduction="none"),
        "focal": focal(p.logit(), yes, reduction="none"),
        "hinge": hinge(p.logit(), yes, reduction="none"),
    }
    with theme():
        drawing, (left, right) = figure(height=3.4, columns=2)
        for axes, x, lines in ((left, prediction, regression), (right, p, classification)):
            for (name, values), colour, dash in zip(lines.items(), COLOURS.values(), DASHES, strict=False):
                axes.plot(x, values, color=colour, linestyle=dash, linewidth=1.5, label=name)
            axes.set(ylim=(0, 5))
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=8.5)
        left.set_xlabel(f"prediction (target {target:g})")
        right.set_xlabel("probability of a yes")
        left.set_title("loss")
    far, near = float(mse(prediction[:1], truth[:1])), float(mae(prediction[:1], truth[:1]))
    return show(
        drawing,
        alt=f"Losses of a number and of a yes. At an error of {near:.3g} the squared error is {far:.3g}, the "
        f"absolute error {near:.3g}. For a yes, log loss at a probability of 0.01 is "
        f"{float(classification['log loss'][0]):.3g}.",
    )


def saturation(config: StackConfig, steps: int = 150) -> Picture:
    """Draw how saturated every layer is, and how much gradient reaches it, before and after training."""
    passes = Stack(config).train(steps)
    return layers({"step 0": passes[0], f"step {steps}": passes[-1]}, config)


def layers(passes: Mapping[str, Pass], config: StackConfig) -> Picture:
    """Draw the saturation and the gradient of every layer, for up to six passes by name."""
    places = np.arange(1, config.depth + 1)
    descriptions = [f"A stack of {config.depth} {config.activation} layers."]
    with theme():
        drawing, (left, right) = figure(height=2.7, columns=2)
        for (name, seen), colour, dash, marker in zip(
            passes.items(), COLOURS.values(), DASHES, MARKERS, strict=False
        ):
            look = {"color": colour, "linestyle": dash, "marker": marker, "label": name}
            left.plot(places, 100 * seen.saturated.numpy(), **look)
            right.semilogy(places, seen.gradients.clamp(min=1e-30).numpy(), **look)
            for layer in (0, config.depth - 1):
                share, gradient = 100 * float(seen.saturated[layer]), float(seen.gradients[layer])
                descriptions.append(
                    f"At {name}, layer {layer + 1} has {share:.0f} % of its slopes saturated and "
                    f"a gradient of {gradient:.1e}."
                )
        left.set_title("% saturated")
        left.set_ylim(-4, 104)
        right.set_title("gradient norm")
        for axes in (left, right):
            axes.set_xlabel("layer")
            axes.set_xticks(places[:: 1 if config.depth <= 8 else 2])
        drawing.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return show(drawing, alt=" ".join(descriptions))
