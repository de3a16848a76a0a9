"""How similar the heads of a Transformer are, and what makes them differ.

>>> import torch
>>> from reasonlib import head_diversity, nn
>>> encoder = nn.Encoder(nn.TransformerConfig(layers=1, width=8, heads=2, hidden=8))
>>> similarity = head_diversity.head_similarity(encoder, torch.randn(3, 5, 8))
>>> similarity["layers.0.attention"].cka.shape
torch.Size([2, 2])
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.head_diversity.data.corpus import read
    from reasonlib.head_diversity.models.diversity import compare_heads, head_similarity
    from reasonlib.head_diversity.models.drophead import Drophead
    from reasonlib.head_diversity.models.hooks import record_heads, switch_off
    from reasonlib.head_diversity.models.language_model import LanguageModel
    from reasonlib.head_diversity.models.translator import Translator

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

__getattr__ = lazy(__name__, __file__)
