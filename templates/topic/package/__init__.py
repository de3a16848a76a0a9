"""TOPIC: one line that says what it is about.

>>> from reasonlib import TOPIC
>>> TOPIC.simulate(1, seed=0, length=5)[0].answer
1
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.TOPIC.data.corpus import read
    from reasonlib.TOPIC.data.simulator import simulate
    from reasonlib.TOPIC.models.vote import Vote

__all__ = ["Vote", "read", "simulate"]

__getattr__ = lazy(__name__, __file__)
