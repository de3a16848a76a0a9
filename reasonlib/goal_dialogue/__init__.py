"""Goal-oriented dialogue: memory networks, and a network that copies names, book a table.

>>> from reasonlib import goal_dialogue
>>> dialogues = goal_dialogue.simulate(task=5, dialogues=2)
>>> dialogues[0].turns[0].bot
'hello what can i help you with today'
>>> system = goal_dialogue.from_pretrained("copying")
>>> system.answer(list(goal_dialogue.examples(dialogues)))[:2]
['hello what can i help you with today', "i'm on it"]

``read(task)`` reads the released dialogues, `load` any set by name; ``chat("copying")`` begins a talk.
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.goal_dialogue.data.corpus import read
    from reasonlib.goal_dialogue.data.datasets import load
    from reasonlib.goal_dialogue.data.example import examples
    from reasonlib.goal_dialogue.data.simulator import simulate
    from reasonlib.goal_dialogue.models.copying import CopyNetwork
    from reasonlib.goal_dialogue.models.memory_network import MemoryNetwork
    from reasonlib.goal_dialogue.models.pretrained import from_pretrained
    from reasonlib.goal_dialogue.models.tagger import ContextTagger, WordTagger
    from reasonlib.goal_dialogue.page.chat import open_conversation as chat

__all__ = [
    "ContextTagger",
    "CopyNetwork",
    "MemoryNetwork",
    "WordTagger",
    "chat",
    "examples",
    "from_pretrained",
    "load",
    "read",
    "simulate",
]

__getattr__ = lazy(__name__, __file__)
