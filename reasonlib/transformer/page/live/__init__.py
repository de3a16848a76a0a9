"""Trained encoders to play with in the page: figures that need no kernel.

- `attention`: one layer's attention step by step, from scores to the mixture of values;
- `copying`: models that copy a word, each without another part;
- `heads`: a text with hidden words, where every head looks, and what the encoder guesses.

With a kernel, `page.widget` does the same as `heads`.
"""

from reasonlib.transformer.page.live.attention import attention
from reasonlib.transformer.page.live.copying import copying
from reasonlib.transformer.page.live.heads import framed, heads, learnt_following, shown
from reasonlib.transformer.page.live.texts import Text, parts, some_texts, telling_head, written

__all__ = [
    "Text",
    "attention",
    "copying",
    "framed",
    "heads",
    "learnt_following",
    "parts",
    "shown",
    "some_texts",
    "telling_head",
    "written",
]
