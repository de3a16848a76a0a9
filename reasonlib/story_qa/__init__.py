"""Story question answering: the twenty bAbI tasks, memory networks and BERT.

>>> from reasonlib import story_qa
>>> example = story_qa.simulate(1, questions=1, seed=0)[0]
>>> network = story_qa.from_pretrained("memory").model
>>> story_qa.answer(" ".join(example.story), example.question).text == example.answer[0]
True
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.story_qa.data.corpus import read
    from reasonlib.story_qa.data.datasets import load
    from reasonlib.story_qa.data.simulator import simulate
    from reasonlib.story_qa.models.bert import AnswerReader
    from reasonlib.story_qa.models.evidence import EvidenceReader
    from reasonlib.story_qa.models.hibert import SentenceReader
    from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
    from reasonlib.story_qa.models.pretrained import from_pretrained
    from reasonlib.story_qa.page.ask import answer

__all__ = [
    "AnswerReader",
    "EvidenceReader",
    "MemoryConfig",
    "MemoryNetwork",
    "SentenceReader",
    "answer",
    "from_pretrained",
    "load",
    "read",
    "simulate",
]

__getattr__ = lazy(__name__, __file__)
