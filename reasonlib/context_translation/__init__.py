"""Translation in context: seven translators, of which six also read the preceding sentences.

>>> from reasonlib import context_translation
>>> document = context_translation.simulate(1, seed=3)[0]
>>> pair = document.pairs[2]
>>> pair.source, pair.target, pair.decides.context_word
('it was big .', 'ro grando esto .', 'lamp')
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.context_translation.data.corpus import read
    from reasonlib.context_translation.models.decoding import translate
    from reasonlib.context_translation.models.pretrained import from_pretrained
    from reasonlib.context_translation.models.translator import Translator
    from reasonlib.parallel.simulator import simulate

__all__ = ["Translator", "from_pretrained", "read", "simulate", "translate"]

__getattr__ = lazy(__name__, __file__)
