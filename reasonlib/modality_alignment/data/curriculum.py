"""Kinds of questions in the order in which TVQA_abc learns them.

Asked everything at once, it stays at chance for thousands of steps: a question about a scene is answered
only once its words find the object, its colour and the line, and none of the three pays without the others.
"""

from typing import NamedTuple

__all__ = ["PHASES", "Phase"]


class Phase(NamedTuple):
    """One phase of training.

    Attributes
    ----------
    kinds
        Of questions, in turn; None for those of the experiment's row.
    share
        Of all questions of the curriculum.
    lr
        Learning rate as a multiple of the recipe's.
    """

    kinds: tuple[str, ...] | None
    share: float
    lr: float


# excerpt: phases
PHASES = (
    Phase(("wish", "opposite"), 0.3, 1.0),
    Phase(("presence", "presence", "wish"), 0.3, 1.0),
    Phase(("presence", "colour", "colour", "wish"), 0.2, 1.0),
    Phase(
        ("presence", "colour", "colour", "wish", "meeting", "opposite"),
        0.1,
        1.0,
    ),
    Phase(None, 0.1, 1 / 3),
)
# end excerpt
"""The simplest kinds first."""
