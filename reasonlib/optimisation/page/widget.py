"""Losses, optimisers and a deep stack to play with: the live figures for a notebook that has a kernel.

On the book's pages the same is done without a kernel by `reasonlib.optimisation.page.live`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape
from typing import Any

import torch

from reasonlib.display.plotting import COLOURS, DASHES, Picture, figure, show, theme
from reasonlib.errors import UserError
from reasonlib.optimisation.models.activations import ACTIVATIONS
from reasonlib.optimisation.models.losses import REGRESSION, focal, hinge, log_loss
from reasonlib.optimisation.models.optimisers import OPTIMISERS
from reasonlib.optimisation.models.surfaces import Surface
from reasonlib.optimisation.page.live import stills
from reasonlib.optimisation.page.live.lines import fit_line, mean_loss
from reasonlib.optimisation.page.live.stack import Pass, Stack, StackConfig
from reasonlib.optimisation.page.live.tracks import (
    LAND,
    OUTLIER,
    POINTS,
    SPOILT,
    TRACKS,
    Bump,
    Track,
    drawn,
    run,
    surface_of,
)

__all__ = ["DeepStack", "Losses", "Race"]


def _widgets() -> Any:
    try:
        import ipywidgets
    except ImportError as error:
        raise UserError(
            "the widget needs ipywidgets; install it (pip install ipywidgets), "
            "or use reasonlib.optimisation.page.live, which needs nothing"
        ) from error
    return ipywidgets


class _Form(ABC):
    """Controls over a result; whatever changes, `draw` is called."""

    box: Any
    result: Any

    def _lay_out(self, controls: Iterable[Any], watched: Iterable[Any]) -> None:
        widgets = _widgets()
        self.result = widgets.HTML(layout=widgets.Layout(width="100%", max_width="48rem"))
        row = widgets.Layout(flex_flow="row wrap")
        self.box = widgets.VBox([widgets.Box(list(controls), layout=row), self.result])
        for control in watched:
            control.observe(self.draw, names="value")

    @abstractmethod
    def draw(self, change: Any = None) -> None:
        """Show what the controls say."""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.box)


class Losses(_Form):
    """Move a prediction, a target or an outlier; see every loss with its slope, and the lines they fit.

    Attributes
    ----------
    prediction, target, delta, gamma
        For losses of a number.
    spoilt
        How far one of the points is dragged to where it does not belong, 0 to 1.
    probability, focus
        For losses of a yes or no, of which the truth is yes.
    result
        What is shown.
    values
        From the name of a loss to its value and its slope, for the prediction and for the probability.
    lines
        From the name of a loss to the line, height at 0 and slope, that it fits.
    box
        All of them, one under the other.

    Raises
    ------
    UserError
        If ``ipywidgets`` is not installed.
    """

    def __init__(self) -> None:
        self.prediction = _slider("Prediction", 2.5, -5, 5, 0.1)
        self.target = _slider("Target", 0, -5, 5, 0.1)
        self.delta = _slider("Huber's δ", 1, 0.1, 5, 0.1)
        self.gamma = _slider("Quantile γ", 0.9, 0.05, 0.95, 0.05)
        self.spoilt = _slider("Outlier", 0, 0, 1, 0.05)
        self.probability = _slider("Probability", 0.2, 0.01, 0.99, 0.01)
        self.focus = _slider("Focal γ", 2, 0, 5, 0.25)
        self.values: dict[str, tuple[float, float]] = {}
        self.lines: dict[str, tuple[float, float]] = {}
        controls = [
            self.prediction,
            self.target,
            self.delta,
            self.gamma,
            self.spoilt,
            self.probability,
            self.focus,
        ]
        self._lay_out(controls, controls)
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
        table = _table(["Loss", "Value", "Slope", "Line", "Its mean loss"], rows)
        note = (
            "<p>The last three score a yes with the probability above; their slope is against its logit.</p>"
        )
        self.result.value = table + note + self._picture(points)._repr_html_()

    def _picture(self, points: torch.Tensor) -> Picture:
        said = []
        with theme():
            drawing, axes = figure()
            axes.plot(*points.T.numpy(), "o", color=COLOURS["olive"])
            for (name, (height, slope)), colour, dash in zip(
                self.lines.items(), COLOURS.values(), DASHES, strict=False
            ):
                axes.plot([0, 10], [height, height + 10 * slope], color=colour, linestyle=dash, label=name)
                said.append(f"{name}: {_line((height, slope))}.")
            axes.set(xlim=(0, 10), ylim=(0, 8), xlabel="x", title="y")
            drawing.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return show(drawing, alt="Points and the line that each loss fits to them. " + " ".join(said))


class Race(_Form):
    """Race six optimisers: pick the surface, the start and the rates, or raise hills of your own.

    Attributes
    ----------
    surface, x, y, rate, momentum, reach, epsilon, steps
        The controls, as of `live.tracks.Track`.
    hill, width, raised
        Height and width of a bump, and the button that puts it where the start is, on the drawn surface.
    bumps
        What has been raised and dug so far.
    paths
        From the name of an optimiser to its points (T + 1, 2) and losses (T + 1,).
    result
        What is shown.
    box
        All of them, one under the other.

    Raises
    ------
    UserError
        If ``ipywidgets`` is not installed.
    """

    def __init__(self, surface: str = "ravine") -> None:
        if surface not in TRACKS:
            raise ValueError(f"surface must be one of {', '.join(TRACKS)}, got {surface!r}")
        widgets = _widgets()
        self.surface = widgets.Dropdown(
            options=[(track.title, key) for key, track in TRACKS.items()], value=surface, **_look("Surface")
        )
        self.x = widgets.FloatText(step=0.1, **_look("Start x"))
        self.y = widgets.FloatText(step=0.1, **_look("Start y"))
        self.rate = _powers("Rate η", -4, 0)
        self.momentum = _slider("Momentum γ", 0.9, 0, 0.99, 0.01)
        self.reach = _powers("η, Adagrad, Adam", -3, 0.3)
        self.epsilon = _powers("ε, Adadelta", -8, -1)
        self.steps = widgets.IntSlider(value=100, min=1, max=300, continuous_update=False, **_look("Steps"))
        self.hill = _slider("Hill (valley < 0)", 1, -3, 3, 0.1)
        self.width = _slider("Its width", 0.5, 0.2, 1.2, 0.05)
        self.raised = widgets.Button(description="Put it at the start")
        self.bumps: list[Bump] = list(LAND)
        self.paths: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._still = False
        watched = [self.x, self.y, self.rate, self.momentum, self.reach, self.epsilon, self.steps]
        self._lay_out([self.surface, *watched, self.hill, self.width, self.raised], watched)
        self.surface.observe(self._choose, names="value")
        self.raised.on_click(self.put)
        self._choose()

    def put(self, button: Any = None) -> None:
        """Raise a hill, or dig a valley, where the start is."""
        self.bumps.append((self.x.value, self.y.value, self.hill.value, self.width.value))
        self.draw()

    @property
    def track(self) -> Track:
        """The race as the controls have it."""
        return replace(
            TRACKS[self.surface.value],
            start=(self.x.value, self.y.value),
            rate=self.rate.value,
            momentum=self.momentum.value,
            reach=self.reach.value,
            epsilon=self.epsilon.value,
            steps=self.steps.value,
        )

    @property
    def ground(self) -> Surface:
        """The surface of the race."""
        own = self.surface.value == "draw"
        return drawn(self.bumps) if own else surface_of(self.surface.value)

    def _choose(self, change: Any = None) -> None:
        track = TRACKS[self.surface.value]
        self._still = True  # one drawing, not eight
        self.x.value, self.y.value = track.start
        for name in ("rate", "momentum", "reach", "epsilon", "steps"):
            getattr(self, name).value = getattr(track, name)
        self._still = False
        for control in (self.hill, self.width, self.raised):
            control.layout.display = None if self.surface.value == "draw" else "none"
        self.draw()

    def draw(self, change: Any = None) -> None:
        """Show what the controls say."""
        if self._still:
            return
        track, ground = self.track, self.ground
        self.paths = {name: run(track, ground, name) for name in OPTIMISERS}
        ends = {name: float(losses[-1]) for name, (_, losses) in self.paths.items()}
        order = sorted(ends, key=lambda name: ends[name] if ends[name] == ends[name] else float("inf"))
        rows = []
        for name, (_, losses) in self.paths.items():
            arrived = torch.nonzero(losses <= track.goal) if track.goal is not None else torch.empty(0)
            there = f"step {int(arrived[0])}" if len(arrived) else "–"
            rows.append([str(order.index(name) + 1), name, f"{ends[name]:.3g}", there])
        table = _table(["Place", "Optimiser", "Loss", track.there if track.goal is not None else ""], rows)
        self.result.value = stills.race(track, ground)._repr_html_() + table


class DeepStack(_Form):
    """Choose a deep stack, train it some steps at a time, and see every layer.

    Attributes
    ----------
    activation, depth, scale, rate, seed
        What the stack is made of; a change begins anew.
    train
        The button that learns `ahead` more steps.
    ahead
        How many.
    stack, first, last
        The `live.stack.Stack`, and what its first and its latest pass showed.
    result
        What is shown.
    box
        All of them, one under the other.

    Raises
    ------
    UserError
        If ``ipywidgets`` is not installed.
    """

    def __init__(self, config: StackConfig | None = None) -> None:
        config = config or StackConfig()
        widgets = _widgets()
        self.activation = widgets.Dropdown(
            options=list(ACTIVATIONS), value=config.activation, **_look("Activation")
        )
        self.depth = widgets.IntSlider(
            value=config.depth, min=2, max=16, continuous_update=False, **_look("Layers")
        )
        self.scale = _slider("Weight scale", config.scale, 0.1, 6, 0.1)
        self.rate = _powers("Rate η", -3, 1, config.rate)
        self.seed = widgets.BoundedIntText(value=config.seed, min=1, max=999, **_look("Seed"))
        self.ahead = widgets.IntSlider(value=20, min=1, max=100, **_look("Steps at a time"))
        self.train = widgets.Button(description="Train", button_style="primary")
        watched = [self.activation, self.depth, self.scale, self.rate, self.seed]
        self._lay_out([*watched, self.ahead, self.train], watched)
        self.train.on_click(self.learn)
        self.draw()

    def learn(self, button: Any = None) -> None:
        """Train some steps more."""
        self.last = self.stack.train(self.ahead.value)[-1]
        self._show()

    def draw(self, change: Any = None) -> None:
        """Begin anew with what the controls say."""
        self.stack = Stack(
            StackConfig(
                activation=self.activation.value,
                depth=self.depth.value,
                scale=self.scale.value,
                rate=self.rate.value,
                seed=self.seed.value,
            )
        )
        self.first = self.last = self.stack.look()
        self._show()

    def _show(self) -> None:
        seen, width = self.last, self.stack.config.width
        rows = [
            [
                str(layer + 1),
                f"{float(seen.activations[layer].mean()):.3f}",
                f"{100 * float(seen.saturated[layer]):.1f} %",
                f"{int(seen.dead[layer])} of {width}",
                f"{float(seen.gradients[layer]):.2e}",
            ]
            for layer in range(self.stack.config.depth)
        ]
        told = (
            f"<p>Step {self.stack.steps}: loss {seen.loss:.3f}, {100 * seen.accuracy:.0f} % of the points "
            "right. Saturated: a slope below a tenth of the steepest. Dead: no slope for any point.</p>"
        )
        passes: Mapping[str, Pass] = {"step 0": self.first}
        if self.stack.steps:
            passes = {**passes, f"step {self.stack.steps}": self.last}
        picture = stills.layers(passes, self.stack.config)._repr_html_()
        head = ["Layer", "Mean", "Saturated", "Dead units", "Gradient"]
        self.result.value = told + picture + _table(head, rows)


def _look(name: str) -> dict[str, Any]:
    widgets = _widgets()
    return {
        "description": name,
        "layout": widgets.Layout(width="22rem"),
        "style": {"description_width": "8rem"},
    }


def _slider(name: str, value: float, low: float, high: float, step: float) -> Any:
    return _widgets().FloatSlider(
        value=value, min=low, max=high, step=step, continuous_update=False, **_look(name)
    )


def _powers(name: str, low: float, high: float, value: float = 0.1) -> Any:
    return _widgets().FloatLogSlider(
        value=value,
        min=low,
        max=high,
        step=0.02,
        continuous_update=False,
        readout_format=".3g",
        **_look(name),
    )


def _slope(loss: torch.Tensor, at: torch.Tensor) -> tuple[float, float]:
    (slope,) = torch.autograd.grad(loss, at)
    return float(loss.detach()), float(slope)


def _line(line: tuple[float, float] | None) -> str:
    if line is None:
        return ""
    return f"{line[0]:.2f} {'-' if line[1] < 0 else '+'} {abs(line[1]):.2f} x"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f'<th scope="col">{escape(one)}</th>' for one in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='padding:.1rem .6rem'>{escape(one)}</td>" for one in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
