"""Reasoning, Reproduced: the library beside the executable book.

One word opens every door: ``reasonlib.<topic>`` holds a topic's simulator, corpus reader, models and
experiments; ``book/<topic>``, ``notebooks/<topic>``, ``tests/<topic>`` and ``records/<topic>`` hold the rest.
"""

__version__ = "0.1.0"
