"""Pictures of the chapters, made from claims and records: one module a chapter."""

from reasonlib.modality_alignment.page.figures.aligning import (
    aligned,
    aligned_stage,
    bias,
    cka_table,
    matched,
    variants,
)
from reasonlib.modality_alignment.page.figures.geometries import (
    curves,
    ends,
    maps,
    points,
    retrieval,
    seen_and_new,
    seen_and_new_with_cause,
)
from reasonlib.modality_alignment.page.figures.watching import (
    captions,
    giveaways,
    guessed,
    leaks,
    moments,
    published_accuracy,
    streams,
    text_bias,
)

__all__ = [
    "aligned",
    "aligned_stage",
    "bias",
    "captions",
    "cka_table",
    "curves",
    "ends",
    "giveaways",
    "guessed",
    "leaks",
    "maps",
    "matched",
    "moments",
    "points",
    "published_accuracy",
    "retrieval",
    "seen_and_new",
    "seen_and_new_with_cause",
    "streams",
    "text_bias",
    "variants",
]
