"""What a detector finds, drawn: boxes with types and scores, and every stage of one detection.

Axes: M panels, D boxes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8
from numpy import ndarray

from reasonlib.display.plotting import COLOURS as LINES
from reasonlib.display.plotting import Picture
from reasonlib.visual_iq.data.example import CANVAS, TYPES, configuration_index
from reasonlib.visual_iq.models.detector import DetectionStages
from reasonlib.visual_iq.page.figures import EMPTY, FILLED, _key, boxed, card, picture
from reasonlib.visual_iq.page.svg import image_svg, panel_svg

__all__ = ["detection_stages", "detections", "grid_and_objects"]


def grid_and_objects(
    configuration: int | str, panels: Sequence[Int[ndarray, "S A"]], *, cells: int = 5
) -> Picture:
    """Set the uniform grid of a convolutional network beside salient objects (figure 3.2).

    Parameters
    ----------
    configuration
        Layout of the panels.
    panels
        One row of the figure each.
    cells
        Cells of the grid along each side: 5 for CoPINet's network on 80 pixels.
    """
    index = configuration_index(configuration)
    lines = "".join(
        f"M{offset:.1f} 0V{CANVAS}M0 {offset:.1f}H{CANVAS}"
        for offset in (CANVAS * step / cells for step in range(1, cells))
    )
    grid = f'<path d="{lines}" stroke="{LINES["blue"]}" stroke-width="2" fill="none"/>'
    rows = []
    for panel in panels:
        rows.append(
            card(panel_svg(index, panel))
            + card(panel_svg(index, panel, over=grid, label=""))
            + card(panel_svg(index, panel, over=boxed(index, panel), label=""))
        )
    heads = "".join(
        f'<p class="rr-iq-title" style="align-self:end">{name}</p>'
        for name in ("Panel", "A uniform grid", "Salient objects")
    )
    inner = (
        '<div style="display:grid;grid-template-columns:repeat(3,1fr);gap:.6rem .9rem;max-width:30rem">'
        + heads
        + "".join(rows)
        + f'</div><p class="rr-iq-tag" style="text-align:left;padding-top:.7rem">{_key()}</p>'
    )
    alt = (
        f"The same panels three times: unchanged; cut into {cells} by {cells} equal cells, whose borders "
        "cross the shapes; and with a box around each entity and each empty slot."
    )
    return picture(
        inner,
        alt=alt,
        caption="The cells of a feature map cut shapes apart (middle); boxes keep each shape whole (right). "
        "After the source's figure 3.2.",
    )


def detections(
    images: UInt8[ndarray, "M H W"],
    predictions: Sequence[Any],
    *,
    threshold: float = 0.9,
    caption: str | None = None,
) -> Picture:
    """Draw what a detector found, each box with its type and score (figure 3.11).

    Parameters
    ----------
    images
        Grey panels, 0 to 255, as the detector was given them.
    predictions
        For each image an object with ``boxes`` (n, 4), ``scores`` (n,) and ``type`` (n,): indices into
        `TYPES`, where 0 is an empty place.
    threshold
        Boxes of lower score are not drawn.
    caption
        Printed under it.
    """
    cells, descriptions = [], []
    for image, prediction in zip(images, predictions, strict=True):
        marks, names = [], []
        boxes, scores, kinds = (_numpy(getattr(prediction, name)) for name in ("boxes", "scores", "type"))
        wide = image.shape[1]
        pen = wide / 160
        for index in np.argsort(kinds > 0, kind="stable"):  # entities above empty places
            box, score, kind = boxes[index], scores[index], kinds[index]
            if score < threshold:
                continue
            left, top, right, bottom = (float(number) for number in box)
            colour = EMPTY if int(kind) == 0 else FILLED
            label = f"{TYPES[int(kind)]} {score:.2f}"
            room = (right - left) / pen / 0.62  # how many points of letters stand side by side
            text = label if room / len(label) >= 7.5 else TYPES[int(kind)]
            size = min(max(room / (len(text) + 1), 5.5), 9.5) * pen
            width = 0.62 * size * len(text) + 2 * pen
            x = min(max(left, 0), wide - width)
            high = max(top - size - 3 * pen, 0)  # above the box, as far as there is room
            marks.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                f'height="{bottom - top:.1f}" fill="none" stroke="{colour}" stroke-width="{1.8 * pen:g}"/>'
                f'<rect x="{x:.1f}" y="{high:.1f}" width="{width:.1f}" height="{size + 3 * pen:.1f}" '
                f'fill="{colour}"/><text x="{x + width / 2:.1f}" y="{high + size:.1f}" '
                f'font-size="{size:.1f}" font-family="sans-serif" text-anchor="middle" fill="#fff">'
                f"{text}</text>"
            )
            names.append(label)
        words = ", ".join(names) or "nothing"
        descriptions.append(words)
        cells.append(card(image_svg(image, over="".join(marks), label=f"Found: {words}")))
    inner = (
        '<div style="display:grid;gap:.7rem;'
        'grid-template-columns:repeat(auto-fill,minmax(min(100%,16rem),1fr))">' + "".join(cells) + "</div>"
    )
    alt = f"Panels with the boxes a detector found. {'; '.join(descriptions[:4])}."
    return picture(inner, alt=alt, caption=caption)


def _numpy(values: Any) -> ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    return np.asarray(values)


def detection_stages(image: UInt8[ndarray, "H W"], look: DetectionStages, *, anchors: int = 24) -> Picture:
    """Draw how a detector arrives at its boxes: anchors, proposals, a first look, what it finds.

    Parameters
    ----------
    image
        The panel that was looked at.
    look
        What `Detector.look` gave for it.
    anchors
        How many of the anchors that most look like something.
    """
    likely = np.argsort(-look.objectness)[:anchors]
    final = look.detections
    steps = (
        (
            f"The {anchors} most probable of {len(look.anchors)} anchors",
            look.anchors[likely],
            look.objectness[likely],
        ),
        (f"{len(look.proposals)} proposals", look.proposals, look.proposal_scores),
        ("After the first correction", look.first, look.first_scores),
        ("After the second: detections", final.boxes, final.scores),
    )
    cards = [
        f'<div style="flex:1 1 9rem;max-width:14rem"><p class="rr-iq-title">{title}</p>'
        + card(image_svg(image, over=_outlines(boxes, scores), label=f"{title}: {len(boxes)} boxes"))
        + "</div>"
        for title, boxes, scores in steps
    ]
    return picture(
        f'<div class="rr-iq-board" style="gap:1rem;align-items:end">{"".join(cards)}</div>',
        alt="Four copies of one panel: its most probable anchors, its proposals, the boxes after one "
        f"correction, and the {len(final.boxes)} final boxes.",
        caption="Anchors are boxes of fixed size; proposals are anchors moved and stretched; two "
        "corrections move these and drop duplicates. The higher a box's score, the stronger its line.",
        wide=True,
    )


def _outlines(boxes: Float[ndarray, "D 4"], scores: Float[ndarray, "D"]) -> str:
    return "".join(
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" fill="none" '
        f'stroke="{FILLED}" stroke-width="1.6" stroke-opacity="{max(0.15, float(score)):.2f}"/>'
        for (left, top, right, bottom), score in zip(boxes, scores, strict=True)
    )
