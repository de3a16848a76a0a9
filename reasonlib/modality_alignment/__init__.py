"""Two modalities, aligned: points in pairs, and questions about videos with subtitles.

>>> from reasonlib import modality_alignment
>>> question = modality_alignment.simulate(2, seed=0)[1]
>>> question.question, question.answers[question.right], question.needs
('what colour is the ring ?', 'blue', 'video')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasonlib.modality_alignment.data.corpus import read
    from reasonlib.modality_alignment.data.simulator import simulate
    from reasonlib.modality_alignment.models.pretrained import answer, from_pretrained
    from reasonlib.modality_alignment.models.stage import STAGE
    from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc

__all__ = ["STAGE", "TVQA_abc", "answer", "from_pretrained", "read", "simulate"]

_MODULES = {
    "STAGE": "reasonlib.modality_alignment.models.stage",
    "TVQA_abc": "reasonlib.modality_alignment.models.tvqa_abc",
    "answer": "reasonlib.modality_alignment.models.pretrained",
    "from_pretrained": "reasonlib.modality_alignment.models.pretrained",
    "read": "reasonlib.modality_alignment.data.corpus",
    "simulate": "reasonlib.modality_alignment.data.simulator",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
