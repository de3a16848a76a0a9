"""Seven wrong answers beside the right one: the released way, and two ways that do not give it away.

- ``raven``: each wrong answer changes one attribute of the right one. Zhang et al. (2019), "RAVEN: A Dataset
  for Relational and Analogical Visual Reasoning", section 3.3. https://arxiv.org/abs/1903.02741
- ``i-raven``: three attributes get one wrong value each, and the eight candidates are all ways to have or not
  to have them: the attribute bisection tree. Hu et al. (2021), "Stratified Rule-Aware Network for Abstract
  Visual Reasoning", section 4. https://arxiv.org/abs/2002.06838
- ``raven-fair``: each wrong answer changes one attribute of any candidate made before. Benny et al. (2021),
  "Scale-Localized Abstract Reasoning", section 3. https://arxiv.org/abs/2009.09405

::

    raven                 i-raven                            raven-fair
    right                 right                              right
      +-- type                + type                           +-- type
      +-- size                  + size     + size              |     +-- size
      +-- type                    + colour   + colour  ...     +-- colour
      ... seven               ... two, four, eight                   +-- type ... seven

Axes: N problems, M some of them, E 8 candidates (the right one first), K components, S slots of a component,
L levels of an attribute, A 4 attributes, G 4 groups of rules.
"""

from collections.abc import Callable, Sequence

from jaxtyping import Int
from numpy import ndarray
from numpy.random import Generator

from reasonlib.visual_iq.data.bisection_tree import i_raven
from reasonlib.visual_iq.data.candidate_tree import raven, raven_fair
from reasonlib.visual_iq.data.components import EntityLists

__all__ = ["DISTRACTORS"]

DistractorFunction = Callable[
    [
        int,
        Int[ndarray, "N K G 3"],
        Int[ndarray, "N K G 2"],
        Int[ndarray, "N K"],
        Sequence[EntityLists],
        Generator,
    ],
    list[EntityLists],
]
"""Takes configuration, rules, ranges, uniformity, right answer by component and a source of chance; gives the
candidates by component, with axes (N, E)."""


DISTRACTORS: dict[str, DistractorFunction] = {"raven": raven, "i-raven": i_raven, "raven-fair": raven_fair}
"""Ways to make the candidates, by name."""
