"""Parallel text: documents of translated sentences, simulated or read from files.

>>> from reasonlib.parallel import simulate
>>> document = simulate(1, seed=3)[0]
>>> len(document.pairs)
10
"""

from reasonlib.parallel.example import Deciding, Document, SentencePair, contexts
from reasonlib.parallel.simulator import SimulatorConfig, simulate

__all__ = ["Deciding", "Document", "SentencePair", "SimulatorConfig", "contexts", "simulate"]
