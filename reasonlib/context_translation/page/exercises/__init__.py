"""Graded exercises of the chapters on translation in context.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.context_translation.page.exercises.context import (
    check_ceiling,
    check_contrastive,
    check_fooling_document,
    check_lower_bleu,
)
from reasonlib.context_translation.page.exercises.cost import check_attention_pairs, check_growth
from reasonlib.context_translation.page.exercises.models import (
    check_gated_sum,
    check_other_sentence,
    check_sentence_vector,
)

__all__ = [
    "check_attention_pairs",
    "check_ceiling",
    "check_contrastive",
    "check_fooling_document",
    "check_gated_sum",
    "check_growth",
    "check_lower_bleu",
    "check_other_sentence",
    "check_sentence_vector",
]
