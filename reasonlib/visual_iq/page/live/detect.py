"""A panel to fill with shapes, and a small detector that reads its pixels in the reader's own browser.

The bundled detector is too large for a page and too slow for a phone. A smaller one of the same kind answers
here: `SMALL`, which the experiment ``visual_iq/page-detector`` trains.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reasonlib.display import live
from reasonlib.display.plotting import Picture
from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import (
    ANGLES,
    COLOURS,
    CONFIGURATIONS,
    SIZES,
    SLOTS,
    TYPES,
    configuration_index,
)
from reasonlib.visual_iq.experiments import page_detector
from reasonlib.visual_iq.models.detector.backbone import STRIDES
from reasonlib.visual_iq.models.detector.detector import Detector
from reasonlib.visual_iq.models.detector.heads import BACKGROUND, Heads
from reasonlib.visual_iq.models.pretrained import load_pretrained
from reasonlib.visual_iq.page import detection_figures

__all__ = ["FIRST", "SCRIPTS", "SMALL", "detect", "rounded", "weights"]

FOLDER = Path(__file__).parent
SCRIPTS = tuple(FOLDER / f"{name}.js" for name in ("raster", "detector", "detect"))
SMALL = page_detector.SMALL
"""The detector that answers in the page."""

FIRST = (  # type, size, shade and angle of each slot of the first panel
    (1, 5, 3, 3),
    (0, 0, 0, 3),
    (4, 2, 9, 5),
    (2, 4, 0, 4),
    (5, 3, 6, 3),
    (0, 0, 0, 3),
    (3, 5, 2, 1),
    (5, 1, 8, 3),
    (2, 2, 5, 3),
)


def detect(
    model: Detector | None = None,
    *,
    layout: int | str = "3x3Grid",
    panel: Sequence[Sequence[int]] = FIRST,
    threshold: float = 0.9,
    seed: int = 5,
) -> Picture:
    """Put a panel into the page: the reader sets its shapes, and the detector reads the pixels.

    Parameters
    ----------
    model
        A detector small enough for a page; by default `SMALL`.
    layout
        Of the first panel: an index, key or title of `CONFIGURATIONS`.
    panel
        Levels of type, size, colour and angle in each slot of the first panel.
    threshold
        Least probability of a detection, as in `Detector.detect`.
    seed
        Draws the panels that come next.

    Raises
    ------
    ValueError
        If the panel has not as many slots as the layout.
    UserError
        If the figure is too large for a page.
    """
    number = configuration_index(layout)
    slots = len(CONFIGURATIONS[number].slots)
    if len(panel) != slots:
        raise ValueError(f"panel must have {slots} slots, got {len(panel)}")
    steps = ""
    if model is None:
        bundled = load_pretrained(SMALL)
        model, steps = bundled.model, f", trained for {bundled.provenance['steps']} steps"
    detector = rounded(model)
    entities = np.zeros((1, SLOTS, 4), int)
    entities[0, :slots] = panel
    image = render.render_panels(np.array([number]), entities)
    count = sum(parameter.numel() for parameter in detector.parameters())
    return live.figure(
        "detect",
        label="Put shapes into a panel and see what a detector finds",
        static=detection_figures.detections(image, detector.detect(image, threshold=threshold)),
        scripts=SCRIPTS,
        modules=["convolve"],
        styles=[FOLDER / "detect.css"],
        data={
            "layouts": _layouts(),
            "levels": {
                "types": TYPES,
                "sizes": SIZES,
                "colours": COLOURS,
                "angles": ANGLES,
                "edge": render.EDGE,
            },
            "layout": number,
            "panel": [list(map(int, entity)) for entity in panel],
            "slot": 0,
            "seed": seed,
            "threshold": threshold,
            "anchors": 24,
            "all": len(detector.anchors),
            "sizes": _sizes(detector),
        },
        models={"detector": live.pack_weights(weights(detector))},
        about=f"A detector of {count:,} weights{steps}. Each cell: type · size · shade · angle. "
        "Select a slot; press it again for the next shape.",
        offer="With scripts you can put shapes into the panel and see what the detector finds.",
    )


def weights(model: Detector) -> dict[str, torch.Tensor]:
    """Return what the page needs of a detector's ``state_dict``."""
    return {
        name: tensor
        for name, tensor in model.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }


def rounded(model: Detector) -> Detector:
    """Copy a detector with its weights rounded as the page gets them."""
    copy = Detector(model.config)
    copy.load_state_dict(live.round_weights(weights(model)), strict=False)
    return copy.eval()


def _sizes(model: Detector) -> dict[str, Any]:
    config = model.config
    return {
        "strides": STRIDES,
        "anchors": config.anchors,
        "bins": config.bins,
        "preNms": config.looked_at,
        "kept": config.kept,
        "found": config.found,
        "suppress": config.suppress,
        "scale": Heads.SCALE,
        "background": BACKGROUND,
    }


def _layouts() -> list[dict[str, Any]]:
    """Return slots of each layout, and the levels that each may show."""
    return [
        {
            "title": layout.title,
            "structure": layout.structure,
            "slots": layout.slots,
            "ranges": [
                {
                    "sizes": component.size,
                    "shades": component.colour,
                    "often": 1 if len(component.slots) == 1 else 0.6,
                }
                for component, part in zip(layout.components, layout.component_slices, strict=True)
                for _ in range(part.start, part.stop)
            ],
        }
        for layout in CONFIGURATIONS
    ]
