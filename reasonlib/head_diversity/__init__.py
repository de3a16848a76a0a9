"""How similar the heads of a Transformer are, and what makes them differ.

>>> import torch
>>> from reasonlib import head_diversity, nn
>>> encoder = nn.Encoder(nn.TransformerConfig(layers=1, width=8, heads=2, hidden=8))
>>> similarity = head_diversity.head_similarity(encoder, torch.randn(3, 5, 8))
>>> similarity["layers.0.attention"].cka.shape
torch.Size([2, 2])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasonlib.head_diversity.data.corpus import read
    from reasonlib.head_diversity.models.diversity import compare_heads, head_similarity
    from reasonlib.head_diversity.models.drophead import Drophead
    from reasonlib.head_diversity.models.hooks import record_heads, switch_off
    from reasonlib.head_diversity.models.language_model import LanguageModel
    from reasonlib.head_diversity.models.translator import Translator

_MODULES = {
    "Drophead": "reasonlib.head_diversity.models.drophead",
    "LanguageModel": "reasonlib.head_diversity.models.language_model",
    "Translator": "reasonlib.head_diversity.models.translator",
    "compare_heads": "reasonlib.head_diversity.models.diversity",
    "head_similarity": "reasonlib.head_diversity.models.diversity",
    "read": "reasonlib.head_diversity.data.corpus",
    "record_heads": "reasonlib.head_diversity.models.hooks",
    "switch_off": "reasonlib.head_diversity.models.hooks",
}

__all__ = [
    "Drophead",
    "LanguageModel",
    "Translator",
    "compare_heads",
    "head_similarity",
    "read",
    "record_heads",
    "switch_off",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
