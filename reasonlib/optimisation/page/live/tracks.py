"""Where the optimisers race: for each surface the piece of it that is shown, a start, and rates that suit it.

The page and the notebook's form begin with the same ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from reasonlib.optimisation.models.optimisers import OPTIMISERS, Optimiser
from reasonlib.optimisation.models.surfaces import SURFACES, Surface, hills, minimise

__all__ = [
    "BOWL",
    "LAND",
    "OUTLIER",
    "POINTS",
    "SPOILT",
    "TRACKS",
    "Bump",
    "Track",
    "drawn",
    "run",
    "surface_of",
]

BOWL = 0.15  # how strongly a drawn surface is curved upwards: the walk stays in the picture

Bump = tuple[float, float, float, float]
"""A hill, or a valley: x, y, its height (negative for a valley), its width."""

LAND: tuple[Bump, ...] = (
    (-1.3, 0.6, -0.7, 0.5),
    (1.5, -0.4, -1.8, 0.9),
    (0.8, 1.6, 0.9, 0.6),
    (-1.2, -1.4, 0.8, 0.6),
)
"""The surface that the reader draws on, at first: a shallow valley on the way to a deep one."""


@dataclass(frozen=True, kw_only=True)
class Track:
    """How a surface is shown, and how the race on it begins.

    Attributes
    ----------
    title
        For the reader.
    window
        What is seen: ``((left, right), (bottom, top))``, four by three.
    start
        The point from which all set off.
    rate
        Of gradient descent, momentum and Nesterov: a step is the rate times the slope.
    momentum
        Of momentum and Nesterov.
    reach
        The rate of Adagrad and Adam, whose first step is as long as this, however steep it is.
    epsilon
        Of Adadelta, which has no rate.
    steps
        How long the race is.
    goal
        The loss that counts as having arrived; None: close to the lowest height in the window.
    there, arrives
        What that is called, over a column and in a sentence.
    minima
        Points to mark.
    bend
        How much the map spreads what is low; 0 shows heights as they are.
    contours
        How many lines of equal height.
    log
        Whether the losses are shown on a logarithmic axis.
    """

    title: str
    window: tuple[tuple[float, float], tuple[float, float]]
    start: tuple[float, float]
    rate: float
    momentum: float
    reach: float
    epsilon: float = 1e-3
    steps: int = 120
    goal: float | None = 0.01
    there: str = "≤ 0.01 at"
    arrives: str = "gets below 0.01"
    minima: tuple[tuple[float, float], ...] = ()
    bend: float = 0.0
    contours: int = 16
    log: bool = True


TRACKS: dict[str, Track] = {
    "ravine": Track(
        title="Ravine",
        window=((-4.0, 4.0), (-3.0, 3.0)),
        start=(-3.4, 1.2),
        rate=0.054,
        momentum=0.8,
        reach=0.4,
        minima=((0.0, 0.0),),
        bend=0.6,
        contours=14,
    ),
    "saddle": Track(
        title="Saddle",
        window=((-2.0, 2.0), (-1.5, 1.5)),
        start=(-1.6, 0.01),
        rate=0.05,
        momentum=0.8,
        reach=0.05,
        steps=80,
        goal=-0.5,
        there="Leaves at",
        arrives="leaves the saddle",
        log=False,
    ),
    "beale": Track(
        title="Beale",
        window=((-4.5, 4.5), (-3.375, 3.375)),
        start=(1.0, 1.5),
        rate=0.01,
        momentum=0.8,
        reach=0.3,
        minima=((3.0, 0.5),),
        bend=3.0,
        contours=18,
    ),
    "rosenbrock": Track(
        title="Bent ravine",
        window=((-2.4, 2.4), (-0.8, 2.8)),
        start=(-1.5, 2.4),
        rate=0.005,
        momentum=0.8,
        reach=0.3,
        steps=200,
        minima=((1.0, 1.0),),
        bend=2.0,
        contours=18,
    ),
    "draw": Track(
        title="Draw your own",
        window=((-4.0, 4.0), (-3.0, 3.0)),
        start=(-2.8, 1.4),
        rate=0.2,
        momentum=0.9,
        reach=0.3,
        goal=None,
        there="Bottom at",
        arrives="reaches the lowest valley",
        log=False,
    ),
}
"""By the name of the surface; ``"draw"`` is the reader's own."""


POINTS = (
    (0.8, 2.0),
    (1.9, 2.7),
    (2.9, 2.8),
    (3.8, 3.9),
    (4.9, 4.1),
    (5.8, 4.9),
    (6.8, 5.2),
    (7.8, 6.1),
    (9.0, 6.4),
)
"""Points near a line, for the losses to fit; `SPOILT` is the number of the one that may move to `OUTLIER`."""

SPOILT, OUTLIER = 8, (9.0, 0.6)


def drawn(bumps: Sequence[Bump] = LAND) -> Surface:
    """Make the surface that a reader has drawn."""
    return hills(
        [bump[:2] for bump in bumps],
        [bump[2] for bump in bumps],
        [bump[3] for bump in bumps],
        bowl=BOWL,
        box=TRACKS["draw"].window,
        start=TRACKS["draw"].start,
        name="draw",
        title="a surface of the reader's own",
    )


def run(track: Track, surface: Surface, name: str) -> tuple[Tensor, Tensor]:
    """Let one optimiser walk: its points (T + 1, 2) and the height at each (T + 1,)."""
    path = minimise(surface, _optimiser(name, track), start=track.start, steps=track.steps)
    return path.points, path.values


def _optimiser(name: str, track: Track) -> Optimiser:
    """Make an optimiser with what it takes of a track's settings."""
    settings: dict[str, float] = {}
    if name == "Adadelta":
        settings["epsilon"] = track.epsilon
    else:
        settings["rate"] = track.reach if name in ("Adagrad", "Adam") else track.rate
    if name in ("momentum", "Nesterov"):
        settings["momentum"] = track.momentum
    return OPTIMISERS[name](**settings)


def surface_of(key: str) -> Surface:
    """The surface of a track."""
    return drawn() if key == "draw" else SURFACES[key]
