"""A deep stack that is trained some steps at a time, for a notebook that has a kernel."""

from collections.abc import Mapping
from typing import Any

from reasonlib.optimisation.models.activations import ACTIVATIONS
from reasonlib.optimisation.page.live import stills
from reasonlib.optimisation.page.live.stack import Pass, Stack, StackConfig
from reasonlib.optimisation.page.widget import controls

__all__ = ["DeepStack"]


class DeepStack(controls.Controlled):
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
    """

    def __init__(self, config: StackConfig | None = None) -> None:
        config = config or StackConfig()
        widgets = controls.ipywidgets()
        self.activation = widgets.Dropdown(
            options=list(ACTIVATIONS), value=config.activation, **controls.labelled("Activation")
        )
        self.depth = widgets.IntSlider(
            value=config.depth, min=2, max=16, continuous_update=False, **controls.labelled("Layers")
        )
        self.scale = controls.slider("Weight scale", config.scale, 0.1, 6, 0.1)
        self.rate = controls.powers("Rate η", -3, 1, config.rate)
        self.seed = widgets.BoundedIntText(value=config.seed, min=1, max=999, **controls.labelled("Seed"))
        self.ahead = widgets.IntSlider(value=20, min=1, max=100, **controls.labelled("Steps at a time"))
        self.train = widgets.Button(description="Train", button_style="primary")
        watched = [self.activation, self.depth, self.scale, self.rate, self.seed]
        self.lay_out([*watched, self.ahead, self.train], watched)
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
        summary = (
            f"<p>Step {self.stack.steps}: loss {seen.loss:.3f}, {100 * seen.accuracy:.0f} % of the points "
            "right. Saturated: a slope below a tenth of the steepest. Dead: no slope for any point.</p>"
        )
        passes: Mapping[str, Pass] = {"step 0": self.first}
        if self.stack.steps:
            passes = {**passes, f"step {self.stack.steps}": self.last}
        picture = stills.layers(passes, self.stack.config)._repr_html_()
        head = ["Layer", "Mean", "Saturated", "Dead units", "Gradient"]
        self.result.value = summary + picture + controls.table_html(head, rows)
