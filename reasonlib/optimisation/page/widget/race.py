"""A race of six optimisers, for a notebook that has a kernel."""

from dataclasses import replace
from typing import Any

import torch

from reasonlib.arguments import check_choice
from reasonlib.optimisation.models.optimisers import OPTIMISERS
from reasonlib.optimisation.models.surfaces import Surface
from reasonlib.optimisation.page.live import stills
from reasonlib.optimisation.page.live.tracks import LAND, TRACKS, Bump, Track, drawn, run, surface_of
from reasonlib.optimisation.page.widget import controls

__all__ = ["Race"]


class Race(controls.Controlled):
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
    """

    def __init__(self, surface: str = "ravine") -> None:
        check_choice("surface", surface, TRACKS)
        widgets = controls.ipywidgets()
        self.surface = widgets.Dropdown(
            options=[(track.title, key) for key, track in TRACKS.items()],
            value=surface,
            **controls.labelled("Surface"),
        )
        self.x = widgets.FloatText(step=0.1, **controls.labelled("Start x"))
        self.y = widgets.FloatText(step=0.1, **controls.labelled("Start y"))
        self.rate = controls.powers("Rate η", -4, 0)
        self.momentum = controls.slider("Momentum γ", 0.9, 0, 0.99, 0.01)
        self.reach = controls.powers("η, Adagrad, Adam", -3, 0.3)
        self.epsilon = controls.powers("ε, Adadelta", -8, -1)
        self.steps = widgets.IntSlider(
            value=100, min=1, max=300, continuous_update=False, **controls.labelled("Steps")
        )
        self.hill = controls.slider("Hill (valley < 0)", 1, -3, 3, 0.1)
        self.width = controls.slider("Its width", 0.5, 0.2, 1.2, 0.05)
        self.raised = widgets.Button(description="Put it at the start")
        self.bumps: list[Bump] = list(LAND)
        self.paths: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._still = False
        watched = [self.x, self.y, self.rate, self.momentum, self.reach, self.epsilon, self.steps]
        self.lay_out([self.surface, *watched, self.hill, self.width, self.raised], watched)
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
            arrival = f"step {int(arrived[0])}" if len(arrived) else "–"
            rows.append([str(order.index(name) + 1), name, f"{ends[name]:.3g}", arrival])
        table = controls.table_html(
            ["Place", "Optimiser", "Loss", track.there if track.goal is not None else ""], rows
        )
        self.result.value = stills.race(track, ground)._repr_html_() + table
