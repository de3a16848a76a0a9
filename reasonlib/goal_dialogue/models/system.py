"""What every system of this topic can do, whatever is inside: answer."""

from collections.abc import Sequence
from typing import Protocol

from reasonlib.goal_dialogue.data.example import Example

__all__ = ["System"]


class System(Protocol):
    """A dialogue system: rules, retrieval or a trained network."""

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response to each example."""
