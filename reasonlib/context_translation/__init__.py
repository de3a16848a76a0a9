"""Translation in context: seven systems that read the sentences before the one they translate.

>>> from reasonlib import context_translation
>>> document = context_translation.simulate(1, seed=3)[0]
>>> pair = document.pairs[2]
>>> pair.source, pair.target, pair.decides.context_word
('it was big .', 'ro grando esto .', 'lamp')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasonlib.context_translation.data.corpus import read
    from reasonlib.context_translation.models.decoding import translate
    from reasonlib.context_translation.models.pretrained import from_pretrained
    from reasonlib.context_translation.models.translator import Translator
    from reasonlib.parallel.simulator import simulate

__all__ = ["Translator", "from_pretrained", "read", "simulate", "translate"]

_MODULES = {
    "Translator": "reasonlib.context_translation.models.translator",
    "from_pretrained": "reasonlib.context_translation.models.pretrained",
    "read": "reasonlib.context_translation.data.corpus",
    "simulate": "reasonlib.parallel.simulator",
    "translate": "reasonlib.context_translation.models.decoding",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
