"""Graded exercises of the chapters on modality alignment.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.modality_alignment.page.exercises.aligning import (
    check_chance_share,
    check_lying_batch,
    check_shuffled_cka,
)
from reasonlib.modality_alignment.page.exercises.geometries import (
    check_collapse,
    check_linear_cka,
    check_retrieval,
    check_rotation,
)
from reasonlib.modality_alignment.page.exercises.watching import (
    check_ask_about_video,
    check_match,
    check_second_scene,
)

__all__ = [
    "check_ask_about_video",
    "check_chance_share",
    "check_collapse",
    "check_linear_cka",
    "check_lying_batch",
    "check_match",
    "check_retrieval",
    "check_rotation",
    "check_second_scene",
    "check_shuffled_cka",
]
