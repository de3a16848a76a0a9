"""The Transformer: attention, what each part is for, positions, decoding, BERT pre-training.

>>> from reasonlib import transformer
>>> transformer.simulate("copy", 1, shortest=3, longest=3)[0].source
('i', 'o', 'c')
>>> encoder = transformer.from_pretrained("encoder")
>>> transformer.inspect_text(encoder, "mary went to the garden . mary is in the _ .").guesses[0].words[0][0]
'garden'
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.transformer.data.corpus import read
    from reasonlib.transformer.data.simulator import simulate
    from reasonlib.transformer.experiments.tasks import solve
    from reasonlib.transformer.models.bert import Bert
    from reasonlib.transformer.models.pretrained import from_pretrained, inspect_text
    from reasonlib.transformer.models.translator import Tagger, Translator

__all__ = ["Bert", "Tagger", "Translator", "from_pretrained", "inspect_text", "read", "simulate", "solve"]

__getattr__ = lazy(__name__, __file__)
