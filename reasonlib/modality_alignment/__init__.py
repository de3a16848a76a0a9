"""Two modalities, aligned: points in pairs, and questions about videos with subtitles.

>>> from reasonlib import modality_alignment
>>> question = modality_alignment.simulate(2, seed=0)[1]
>>> question.question, question.answers[question.right], question.needs
('what colour is the ring ?', 'blue', 'video')
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.modality_alignment.data.corpus import read
    from reasonlib.modality_alignment.data.simulator import simulate
    from reasonlib.modality_alignment.models.pretrained import answer, from_pretrained
    from reasonlib.modality_alignment.models.stage import STAGE
    from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc

__all__ = ["STAGE", "TVQA_abc", "answer", "from_pretrained", "read", "simulate"]

__getattr__ = lazy(__name__, __file__)
