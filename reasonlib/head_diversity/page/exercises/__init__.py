"""Graded exercises of the chapters on heads that differ.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.head_diversity.page.exercises.comparing import (
    check_break_svcca,
    check_debiased_cka,
    check_same_to_cka,
)
from reasonlib.head_diversity.page.exercises.differing import (
    check_drophead,
    check_orthonormal_copies,
    check_spectral_norm,
)
from reasonlib.head_diversity.page.exercises.views import (
    check_cka_of_weights,
    check_head_similarity,
    check_same_outputs,
)

__all__ = [
    "check_break_svcca",
    "check_cka_of_weights",
    "check_debiased_cka",
    "check_drophead",
    "check_head_similarity",
    "check_orthonormal_copies",
    "check_same_outputs",
    "check_same_to_cka",
    "check_spectral_norm",
]
