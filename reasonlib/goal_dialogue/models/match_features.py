r"""Match features: a candidate that names what the dialogue named says so (Bordes et al. 2017, section 4.2).

The candidates' vocabulary is widened by one word for each type of entity: cuisine, location, price, ... A
candidate holds the word of type t once for each of its entities of type t that also occurs in the question or
the memory. Such a word has a vector :math:`M_t` like any other, so a candidate's score gains

.. math:: \sum_{e} n_{ce}\, h_e\; u^\top M_{t(e)}

where :math:`h_e` is 1 if the dialogue mentions entity e and :math:`n_{ce}` counts e in candidate c. A word
that training never saw matches as well as any other: its type was seen.

Axes: B turns, C candidates, E entities, T types, D width.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.goal_dialogue.data.bags import words
from reasonlib.goal_dialogue.data.example import Fact, Split
from reasonlib.nn.sums import Groups, sum_groups

__all__ = ["Match", "entity_types"]


def entity_types(split: Split) -> dict[str, str]:
    """Map every entity to its type, one of the seven that relations lead to.

    Parameters
    ----------
    split
        The types are those of its knowledge base. Task 6 has none; there they are those of the facts in the
        training dialogues.

    Returns
    -------
    dict
        Entities in alphabetical order. Names of restaurants are no type here, as in the source.
    """
    if split.knowledge is not None:
        types = split.knowledge.types()
    else:
        types = {
            event.value: event.relation.removeprefix("R_")
            for dialogue in split.train
            for event in dialogue.events
            if isinstance(event, Fact)
        }
    return {entity: types[entity] for entity in sorted(types) if types[entity] != "restaurant"}


class Match(nn.Module):
    """What match features add to the score of every candidate.

    Parameters
    ----------
    candidates
        Everything the system may say.
    types
        Entity to type; their order is that of `Batch.mentioned`.
    width
        D, of the state that asks.
    generator
        Draws the first vectors of the types from N(0, init_std).
    """

    kind: Tensor

    def __init__(
        self,
        candidates: Sequence[str],
        types: Mapping[str, str],
        width: int,
        *,
        generator: torch.Generator,
        init_std: float = 0.1,
    ) -> None:
        super().__init__()
        if not types:
            raise ValueError("types must name at least one entity, got none")
        numbers = {entity: index for index, entity in enumerate(types)}
        self.names = tuple(sorted(set(types.values())))
        members: list[int] = []
        starts = [0]
        for candidate in candidates:
            members += [numbers[word] for word in words(candidate) if word in numbers]
            starts.append(len(members))
        self.named = Groups.of(np.asarray(members, dtype=np.int64), np.asarray(starts), len(types))
        kind = torch.tensor([self.names.index(kind) for kind in types.values()])
        self.register_buffer("kind", torch.eye(len(self.names))[:, kind], persistent=False)  # (T, E)
        self.types = nn.Parameter(torch.randn((len(self.names), width), generator=generator) * init_std)

    def forward(self, state: Float[Tensor, "B D"], mentioned: Float[Tensor, "B E"]) -> Float[Tensor, "B C"]:
        """Score every candidate by the entities it shares with the dialogue."""
        # excerpt: match
        # what each entity adds: u M of its type, if the dialogue mentions it
        worth = (state @ self.types.T @ self.kind) * mentioned  # (B, E)
        # a candidate adds up its entities
        return sum_groups(worth.T, self.named.to(state.device)).T
        # end excerpt
