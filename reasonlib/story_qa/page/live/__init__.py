"""Readers of stories to ask in the page: figures that need no kernel.

- `memory`: the memory network, and the sentences that each of its hops reads;
- `evidence`: a BERT that reads sentence by sentence, and marks the sentences it needed.

With a kernel, `page.widget` does the same.
"""

from reasonlib.story_qa.page.live.asking import some_stories
from reasonlib.story_qa.page.live.evidence import evidence
from reasonlib.story_qa.page.live.memory import memory

__all__ = ["evidence", "memory", "some_stories"]
