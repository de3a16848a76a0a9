"""Losses, optimisers and activations to play with in the page: three figures that need no kernel.

- `losses`: drag a prediction, a target or an outlier, and watch every loss with its slope;
- `race`: six optimisers in a ravine, on a saddle, on Beale's function, on a surface that the reader draws;
- `saturation`: the activations and gradients of a deep stack, layer by layer, while it learns.

`reasonlib.display.live` puts each together, with a picture drawn from the library's numbers for a page where
scripts are off. With a kernel, `page.widget` does the same.

>>> race()
Six optimisers from one point on a surface (ravine, ...
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reasonlib.arguments import check_choice
from reasonlib.display import live as shell
from reasonlib.display.plotting import Picture
from reasonlib.optimisation.page.live import stills
from reasonlib.optimisation.page.live.stack import TRIES
from reasonlib.optimisation.page.live.tracks import LAND, OUTLIER, POINTS, SPOILT, TRACKS, Track, surface_of

__all__ = ["LARGEST", "losses", "race", "saturation"]

LARGEST = 180_000  # bytes: what one of these figures may weigh, its picture included

FOLDER = Path(__file__).parent


def race(**changes: Mapping[str, Any]) -> Picture:
    """Race six optimisers; the reader picks the surface, or draws one, the starting point and the rates.

    Parameters
    ----------
    **changes
        Other starts or rates than those of `TRACKS`, such as ``ravine={"start": [-2, 1], "rate": 0.02}``.

    Raises
    ------
    ValueError
        If there is no such surface, or it has no such setting.
    """
    tracks = {key: asdict(track) for key, track in TRACKS.items()}
    for key, settings in changes.items():
        check_choice("the surface", key, tracks)
        for name in settings:
            if name not in tracks[key]:
                raise ValueError(f"a track has {', '.join(tracks[key])}, got {name!r}")
        tracks[key] |= settings
    return _figure(
        "race",
        ("optimisers.js", "race.js"),
        stills.race(Track(**tracks["ravine"]), surface_of("ravine")),
        {"tracks": tracks, "land": LAND},
        "Race the optimisers",
        "With scripts you can choose surface, starting point and rates, and draw a surface of your own.",
    )


def losses() -> Picture:
    """Drag a prediction, a target, a point or a probability, and watch every loss with its slope."""
    return _figure(
        "losses",
        ("losses.js", "target.js"),
        stills.losses(),
        {"points": POINTS, "spoilt": SPOILT, "outlier": OUTLIER},
        "Losses and their slopes",
        "With scripts you can drag the prediction, its target, points of a line and a probability.",
    )


def saturation() -> Picture:
    """Watch activations and gradients pass through a deep stack, layer by layer, while it learns."""
    tries = {key: {"title": preset.title, "settings": preset.settings} for key, preset in TRIES.items()}
    config = TRIES["travels"].config
    return _figure(
        "saturation",
        ("stack.js", "saturation.js"),
        stills.saturation(config),
        {"tries": tries, "momentum": config.momentum, "width": config.width},
        "Saturation through a deep stack",
        "With scripts you can choose activation, depth and weights, and watch the stack learn.",
    )


def _figure(
    name: str,
    files: tuple[str, ...],
    static: Picture,
    data: Mapping[str, Any],
    label: str,
    offer: str,
) -> Picture:
    return shell.figure(
        name,
        label=label,
        static=static,
        scripts=[FOLDER / file for file in files],
        styles=[FOLDER / "figure.css"],
        modules=("plot",),
        data=data,
        offer=offer,
        largest=LARGEST,
    )
