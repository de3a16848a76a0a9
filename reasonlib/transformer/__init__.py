"""The Transformer: attention, what each part is for, positions, decoding, BERT pre-training.

>>> from reasonlib import transformer
>>> transformer.simulate("copy", 1, shortest=3, longest=3)[0].source
('i', 'o', 'c')
>>> encoder = transformer.from_pretrained("encoder")
>>> transformer.inspect_text(encoder, "mary went to the garden . mary is in the _ .").guesses[0].words[0][0]
'garden'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasonlib.transformer.data.corpus import read
    from reasonlib.transformer.data.simulator import simulate
    from reasonlib.transformer.experiments.tasks import solve
    from reasonlib.transformer.models.bert import Bert
    from reasonlib.transformer.models.pretrained import from_pretrained, inspect_text
    from reasonlib.transformer.models.translator import Tagger, Translator

_MODULES = {
    "simulate": "data.simulator",
    "read": "data.corpus",
    "Bert": "models.bert",
    "Translator": "models.translator",
    "Tagger": "models.translator",
    "from_pretrained": "models.pretrained",
    "inspect_text": "models.pretrained",
    "solve": "experiments.tasks",
}

__all__ = ["Bert", "Tagger", "Translator", "from_pretrained", "inspect_text", "read", "simulate", "solve"]


def __getattr__(name: str) -> Any:
    """Import a name of ``__all__`` when it is first used: PyTorch takes a second to load."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
