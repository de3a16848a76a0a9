"""Every loss with its slope and the line that it fits, for a notebook that has a kernel."""

from typing import Any

import torch

from reasonlib.display.plotting import COLOURS, DASHES, Picture, figure, show, theme
from reasonlib.optimisation.models.losses import REGRESSION, focal, hinge, log_loss
from reasonlib.optimisation.page.live.lines import fit_line, mean_loss
from reasonlib.optimisation.page.live.tracks import OUTLIER, POINTS, SPOILT
from reasonlib.optimisation.page.widget import controls

__all__ = ["Losses"]


class Losses(controls.Controlled):
    """Move a prediction, a target or an outlier; see every loss with its slope, and the lines they fit.

    Attributes
    ----------
    prediction, target, delta, gamma
        For losses of a number.
    spoilt
        How far one of the points is dragged to where it does not belong, 0 to 1.
    probability, focus
        For losses of a yes or no, of which the truth is yes.
    values
        From the name of a loss to its value and its slope, for the prediction and for the probability.
    lines
        From the name of a loss to the line, height at 0 and slope, that it fits.
    """

    def __init__(self) -> None:
        self.prediction = controls.slider("Prediction", 2.5, -5, 5, 0.1)
        self.target = controls.slider("Target", 0, -5, 5, 0.1)
        self.delta = controls.slider("Huber's δ", 1, 0.1, 5, 0.1)
        self.gamma = controls.slider("Quantile γ", 0.9, 0.05, 0.95, 0.05)
        self.spoilt = controls.slider("Outlier", 0, 0, 1, 0.05)
        self.probability = controls.slider("Probability", 0.2, 0.01, 0.99, 0.01)
        self.focus = controls.slider("Focal γ", 2, 0, 5, 0.25)
        self.values: dict[str, tuple[float, float]] = {}
        self.lines: dict[str, tuple[float, float]] = {}
        moved = [
            self.prediction,
            self.target,
            self.delta,
            self.gamma,
            self.spoilt,
            self.probability,
            self.focus,
        ]
        self.lay_out(moved, moved)
        self.draw()

    def draw(self, change: Any = None) -> None:
        """Show what the controls say."""
        settings = {"huber": {"delta": self.delta.value}, "quantile": {"gamma": self.gamma.value}}
        self.values = {}
        for name, loss in REGRESSION.items():
            prediction = torch.tensor([float(self.prediction.value)], requires_grad=True)
            target = torch.tensor([float(self.target.value)])
            self.values[name] = _slope(loss(prediction, target, **settings.get(name, {})), prediction)
        p = float(self.probability.value)
        yes = torch.ones(1, dtype=torch.float64)
        for name, loss, more in (
            ("log loss", log_loss, {}),
            ("focal", focal, {"gamma": self.focus.value}),
            ("hinge", hinge, {}),
        ):
            score = torch.tensor([p], dtype=torch.float64).logit().requires_grad_(True)
            self.values[name] = _slope(loss(score, yes, **more), score)
        points = torch.tensor(POINTS, dtype=torch.float64)
        points[SPOILT] += float(self.spoilt.value) * (torch.tensor(OUTLIER) - points[SPOILT])
        self.lines = {
            name: fit_line(name, points, **settings.get(name, {})) for name in REGRESSION if name != "mbe"
        }
        rows = [
            [name, f"{value:.3f}", f"{slope:.3f}", _line(self.lines.get(name)), ""]
            for name, (value, slope) in self.values.items()
        ]
        for row in rows[: len(REGRESSION)]:
            if row[0] in self.lines:
                means = mean_loss(row[0], self.lines[row[0]], points, **settings.get(row[0], {}))
                row[4] = f"{means:.3f}"
        table = controls.table_html(["Loss", "Value", "Slope", "Line", "Its mean loss"], rows)
        note = (
            "<p>The last three score a yes with the probability above; their slope is against its logit.</p>"
        )
        self.result.value = table + note + self._picture(points)._repr_html_()

    def _picture(self, points: torch.Tensor) -> Picture:
        descriptions = []
        with theme():
            drawing, axes = figure()
            axes.plot(*points.T.numpy(), "o", color=COLOURS["olive"])
            for (name, (height, slope)), colour, dash in zip(
                self.lines.items(), COLOURS.values(), DASHES, strict=False
            ):
                axes.plot([0, 10], [height, height + 10 * slope], color=colour, linestyle=dash, label=name)
                descriptions.append(f"{name}: {_line((height, slope))}.")
            axes.set(xlim=(0, 10), ylim=(0, 8), xlabel="x", title="y")
            drawing.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return show(drawing, alt="Points and the line that each loss fits to them. " + " ".join(descriptions))


def _slope(loss: torch.Tensor, point: torch.Tensor) -> tuple[float, float]:
    (slope,) = torch.autograd.grad(loss, point)
    return float(loss.detach()), float(slope)


def _line(line: tuple[float, float] | None) -> str:
    if line is None:
        return ""
    return f"{line[0]:.2f} {'-' if line[1] < 0 else '+'} {abs(line[1]):.2f} x"
