"""Losses, optimisers and a deep stack to play with: the live figures for a notebook that has a kernel.

On the book's pages the same is done without a kernel by `reasonlib.optimisation.page.live`.
"""

from reasonlib.optimisation.page.widget.losses import Losses
from reasonlib.optimisation.page.widget.race import Race
from reasonlib.optimisation.page.widget.stack import DeepStack

__all__ = ["DeepStack", "Losses", "Race"]
