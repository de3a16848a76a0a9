"""Story question answering: the twenty bAbI tasks, memory networks and BERT.

>>> from reasonlib import story_qa
>>> example = story_qa.simulate(1, questions=1, seed=0)[0]
>>> network = story_qa.from_pretrained("memory").model
>>> story_qa.answer(" ".join(example.story), example.question).text == example.answer[0]
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
    "simulate": "data.simulator",
    "read": "data.corpus",
    "load": "data.datasets",
    "MemoryConfig": "models.memory_network",
    "MemoryNetwork": "models.memory_network",
    "AnswerReader": "models.bert",
    "SentenceReader": "models.hibert",
    "EvidenceReader": "models.evidence",
    "from_pretrained": "models.pretrained",
    "answer": "page.ask",
}

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


def __getattr__(name: str) -> Any:
    """Import a name of ``__all__`` when it is first used: PyTorch takes a second to load."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
