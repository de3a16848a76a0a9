"""Predict the missing panel instead of comparing the candidates: the reasoner, changed for fair answers.

Five steps away from `models.reasoner`, each with its reason; all but the first can be undone:

1. Candidates do not see each other. A score that compares candidates can be read off them alone, and on
   RAVEN it was. Here a candidate's score depends on the context and on itself.
2. A component's attribute in a panel is one *symbol*: the level that all its entities share, or "mixed".
   Rules govern what entities share; a sum over entities hides it behind their number.
3. `rows`: a rule lives in a row. An encoder reads the three symbols of a row together, and the codes of two
   complete rows add up to the code of the rule. Their order is lost: nothing need be swapped in training.
4. `alike`: where entities differ, a constant rule copies them. A symbol "mixed, as in the panel before" says
   that they were copied.
5. `predict`: the rule's code and the first two symbols of a row give a distribution of the third, trained on
   what the symbol is. No candidate is needed, so there is nothing in a candidate to exploit, and
   (`every_row`) any row can be the one that is predicted from the two others: three lessons a problem.

The score of a candidate is its log-probability, the sum over components and attributes. An attribute that is
noise is predicted as noise, with about the same probability for every value, so that it hardly counts.

::

    row 1:  s1 s2 s3 --> row encoder --.
                                       (+)--> rule --.
    row 2:  s1 s2 s3 --> row encoder --'             +--> predictor --> p(s3)
    row 3:  s1 s2 -----------------------------------'

Each attribute by itself, all with the same weights; positions, which are sets of places, with their own.

Axes: B problems, M components of problems, K 2 components, P 16 panels, V 5 attributes of a component,
Q 22 places, Y symbols of all attributes, R 3 rows, C 8 candidates, D width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.nn.transformer import initialise
from reasonlib.visual_iq.data.example import CONFIGURATIONS, LEVELS, PANELS, PLACE_OF, PLACES, SLOTS, Problems
from reasonlib.visual_iq.models.contrast import choice_loss

__all__ = [
    "OFFSETS",
    "SHARED",
    "SYMBOLS",
    "Predicted",
    "Relational",
    "RelationalConfig",
    "SymbolBatch",
    "SymbolSet",
    "symbols",
]

SHARED = ("type", "size", "colour", "angle", "number")
"""What the entities of a component share in a panel, or how many there are."""
SYMBOLS = (*(levels + 2 for levels in LEVELS), SLOTS + 1)
"""Symbols of each: its levels, "mixed" and "mixed, as in the panel before"; of the number, 0 to 9."""
OFFSETS = tuple(int(start) for start in np.cumsum((0, *SYMBOLS))[:-1])
"""Where each attribute's symbols begin in one table of all symbols."""
COMPONENTS = 2


def symbols(entities: Int[ndarray, "N P S 4"], *, alike: bool = True) -> Int[ndarray, "N P V"]:
    """Name what the entities of one component have in common, panel by panel.

    Parameters
    ----------
    entities
        The slots of one component of sixteen panels.
    alike
        Whether a mixed panel is told to be like the one before it in its row: the same entities slot by slot
        if the same slots are filled, else the same levels equally often. A candidate follows panel 7.
    """
    seen = entities.astype(np.int16)
    filled = seen[..., 0] > 0
    mixed = np.array(LEVELS, dtype=np.int16)
    low = np.where(filled[..., None], seen, 99).min(2)  # (N, P, 4)
    high = np.where(filled[..., None], seen, -1).max(2)
    common = np.where(low == high, low, mixed)
    if alike:
        before = np.array([-1, 0, 1, -1, 3, 4, -1, 6, *[7] * (PANELS - 8)])
        after = np.flatnonzero(before >= 0)
        before = before[after]
        bare = np.where(filled[..., None], seen, -1)
        ordered = np.sort(bare, axis=2)
        in_place = (bare[:, after] == bare[:, before]).all(2)  # (N, 13, 4)
        as_often = (ordered[:, after] == ordered[:, before]).all(2)
        same_slots = (filled[:, after] == filled[:, before]).all(2)[..., None]
        copied = np.where(same_slots, in_place, as_often)
        common[:, after] += copied & (common[:, after] == mixed)
    return np.concatenate((common, filled.sum(2)[..., None]), -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SymbolBatch:
    """Components of problems, each attribute a symbol in each panel.

    Parameters
    ----------
    symbols : (M, P, V)
        Row of each symbol in one table of all symbols.
    problem : (M,)
        Which of the batch's problems a component belongs to.
    filled : (G, P, Q)
        Filled places, for those components that have more than one slot.
    places : (G, Q)
        The places that such a component has.
    grid : (G,)
        Which problem such a component belongs to.
    target : (B,)
        The right candidate.
    """

    symbols: Int[Tensor, "M P V"]
    problem: Int[Tensor, "M"]
    filled: Float[Tensor, "G P Q"]
    places: Bool[Tensor, "G Q"]
    grid: Int[Tensor, "G"]
    target: Int[Tensor, "B"]

    def __len__(self) -> int:
        return len(self.target)

    def to(self, device: torch.device | str) -> "SymbolBatch":
        """Move all tensors."""
        return SymbolBatch(*(getattr(self, one.name).to(device) for one in fields(self)))

    def part(self, index: int, count: int) -> "SymbolBatch":
        """Take one of `count` slices of the problems, as `training.fit` asks for with several processes."""
        mine, theirs = self.problem % count == index, self.grid % count == index
        return SymbolBatch(
            self.symbols[mine],
            self.problem[mine] // count,
            self.filled[theirs],
            self.places[theirs],
            self.grid[theirs] // count,
            self.target[index::count],
        )


@dataclass(frozen=True, eq=False)
class SymbolSet:
    """Problems as symbols, ready for batches.

    Parameters
    ----------
    configuration, target
        As in `puzzle.Problems`.
    symbols
        Of each component and panel, rows of one table of all symbols; -1 where there is no such component.
    filled
        Which places each component fills in each panel; all False for a component of one slot.
    places
        Which places each component has; all False for a component of one slot.
    """

    configuration: Int[ndarray, "N"]
    target: Int[ndarray, "N"]
    symbols: Int[ndarray, "N K P V"]
    filled: Bool[ndarray, "N K P Q"]
    places: Bool[ndarray, "N K Q"]

    def __len__(self) -> int:
        return len(self.target)

    @classmethod
    def of(cls, problems: Problems, *, alike: bool = True) -> Self:
        """Encode problems of any configurations."""
        count = len(problems)
        found = np.full((count, COMPONENTS, PANELS, len(SHARED)), -1, dtype=np.int16)
        filled = np.zeros((count, COMPONENTS, PANELS, len(PLACES)), dtype=bool)
        places = np.zeros((count, COMPONENTS, len(PLACES)), dtype=bool)
        for kind in np.unique(problems.configuration):
            chosen = np.flatnonzero(problems.configuration == kind)
            for component, slots in enumerate(CONFIGURATIONS[kind].parts):
                entities = problems.entities[chosen][:, :, slots]
                found[chosen, component] = symbols(entities, alike=alike) + np.array(OFFSETS)
                if entities.shape[2] > 1:
                    where = PLACE_OF[kind, slots].astype(int)
                    places[chosen[:, None], component, where] = True
                    holds = np.zeros((len(chosen), PANELS, len(PLACES)), dtype=bool)
                    holds[..., where] = entities[..., 0] > 0
                    filled[chosen, component] = holds
        return cls(problems.configuration, problems.target, found, filled, places)

    def batch(self, items: Sequence[int] | ndarray, swap: ndarray | None = None) -> SymbolBatch:
        """Take some of the problems; whether rows are swapped changes nothing here."""
        chosen = np.asarray(items)
        found, places = self.symbols[chosen], self.places[chosen]
        problem, component = np.nonzero(found[:, :, 0, 0] >= 0)
        grid, gridded = np.nonzero(places.any(-1))
        return SymbolBatch(
            torch.from_numpy(found[problem, component].astype(np.int64)),
            torch.from_numpy(problem),
            torch.from_numpy(self.filled[chosen[grid], gridded].astype(np.float32)),
            torch.from_numpy(places[grid, gridded]),
            torch.from_numpy(grid),
            torch.from_numpy(self.target[chosen].astype(np.int64)),
        )


@dataclass(frozen=True, kw_only=True)
class RelationalConfig:
    """Sizes and steps of the relational model.

    Raises
    ------
    ValueError
        If a size is below 1, or every row is asked for without prediction.
    """

    width: int = 32  # D, of the embedding of a symbol, as in the source
    hidden: int = 192  # of row encoder and predictor
    rule: int = 64  # of the code of a rule
    rows: bool = True  # False: a rule's code is a sum over single panels, each with its column
    alike: bool = True  # False: no symbol says that mixed entities were copied
    predict: bool = True  # False: trained to choose among the candidates
    every_row: bool = True  # False: only the third row is predicted

    def __post_init__(self) -> None:
        for name in ("width", "hidden", "rule"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


class Predicted(NamedTuple):
    """What the relational model gives.

    Attributes
    ----------
    logits : (B, C)
        Log-probability of each candidate, in nats.
    parts : (M, V, C)
        The share of each attribute of each component (`SHARED`) in it; what positions add is not among them.
    """

    logits: Float[Tensor, "B C"]
    parts: Float[Tensor, "M W C"]


class RowRule(nn.Module):
    """Read a rule off complete rows, and say what it makes of an incomplete one.

    Parameters
    ----------
    config
        Sizes, and whether rows are read as rows.
    """

    def __init__(self, config: RelationalConfig, generator: torch.Generator) -> None:
        super().__init__()
        width, hidden, rule = config.width, config.hidden, config.rule
        self.rows = config.rows
        self.reader = nn.Sequential(
            nn.Linear(3 * width if config.rows else width, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, rule),
        )
        self.column = nn.Parameter(torch.empty(3, width))
        self.predictor = nn.Sequential(
            nn.Linear(rule + 2 * width, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, width),
        )
        initialise(self, generator)
        nn.init.normal_(self.column, std=width**-0.5, generator=generator)

    def read(self, rows: Float[Tensor, "*M R 3 D"]) -> Float[Tensor, "*M R rule"]:
        """Give the code of each complete row."""
        if self.rows:
            return self.reader(rows.flatten(-2))
        return self.reader(rows + self.column).sum(-2)

    def forward(
        self, rule: Float[Tensor, "*M rule"], begun: Float[Tensor, "*M 2 D"]
    ) -> Float[Tensor, "*M D"]:
        """Give a vector whose products with the symbols' embeddings are the third symbol's logits."""
        return self.predictor(torch.cat((rule, begun.flatten(-2)), -1))


class Relational(nn.Module):
    """Predict the third panel of each row, attribute by attribute, from the two other rows.

    Parameters
    ----------
    config
        Sizes and steps.
    seed
        Draws the first weights.
    """

    def __init__(self, config: RelationalConfig | None = None, *, seed: int = 0) -> None:
        super().__init__()
        config = RelationalConfig() if config is None else config
        generator = torch.Generator().manual_seed(seed)
        self.config = config
        self.symbols = nn.Embedding(sum(SYMBOLS), config.width)
        self.places = nn.Parameter(torch.empty(len(PLACES), config.width))
        self.shared = RowRule(config, generator)
        self.position = RowRule(config, generator)
        self.symbol_bias = nn.Parameter(torch.zeros(sum(SYMBOLS)))
        self.place_bias = nn.Parameter(torch.zeros(len(PLACES)))
        nn.init.normal_(self.symbols.weight, std=config.width**-0.5, generator=generator)
        nn.init.normal_(self.places, std=config.width**-0.5, generator=generator)
        owner = torch.repeat_interleave(torch.arange(len(SHARED)), torch.tensor(SYMBOLS))
        self.register_buffer("own", owner == torch.arange(len(SHARED))[:, None], persistent=False)
        self.own: Tensor

    def _guess(
        self, rule: RowRule, embedded: Float[Tensor, "*M 9 D"], every_row: bool
    ) -> Float[Tensor, "*M R D"]:
        """Predict the third panel of the third row, or of every row (whose third panel is then known)."""
        rows = embedded.unflatten(-2, (3, 3))  # (..., R, 3, D)
        if every_row:
            codes = rule.read(rows)
            return rule(codes.sum(-2, keepdim=True) - codes, rows[..., :2, :])
        code = rule.read(rows[..., :2, :, :]).sum(-2, keepdim=True)
        return rule(code, rows[..., 2:, :2, :])

    def _levels(self, guess: Float[Tensor, "M V R D"]) -> Float[Tensor, "M V R Y"]:
        """Log-probability of each symbol of the attribute."""
        logits = functional.linear(guess, self.symbols.weight, self.symbol_bias)
        return logits.masked_fill(~self.own[:, None], -torch.inf).log_softmax(-1)

    def _sets(
        self, guess: Float[Tensor, "G R D"], filled: Float[Tensor, "G R Q"], places: Bool[Tensor, "G Q"]
    ) -> Float[Tensor, "G R"]:
        """Log-probability of sets of places, each place filled or empty by itself."""
        logits = functional.linear(guess, self.places, self.place_bias)
        each = -functional.binary_cross_entropy_with_logits(
            logits.expand_as(filled), filled, reduction="none"
        )
        return (each * places[:, None]).sum(-1)

    def forward(self, batch: SymbolBatch) -> Predicted:
        """Give every candidate its log-probability as the third panel of the third row."""
        seen = batch.symbols.transpose(1, 2)  # (M, V, P)
        context = functional.pad(self.symbols(seen[..., :8]), (0, 0, 0, 1))  # the ninth is not looked at
        levels = self._levels(self._guess(self.shared, context, False))  # (M, V, 1, Y)
        parts = levels.squeeze(2).gather(-1, seen[..., 8:])  # (M, V, C)
        context = functional.pad(batch.filled[:, :8] @ self.places, (0, 0, 0, 1))
        guess = self._guess(self.position, context, False)  # (G, 1, D)
        positions = self._sets(guess, batch.filled[:, 8:], batch.places)  # (G, C)
        logits = parts.new_zeros(len(batch), parts.shape[-1])
        logits = logits.index_add(0, batch.problem, parts.sum(1)).index_add(0, batch.grid, positions)
        return Predicted(logits, parts)

    def loss(self, batch: SymbolBatch) -> Float[Tensor, ""]:
        """Nats a problem: of what the third panels are (of every row, on average), or of the right choice."""
        if not self.config.predict:
            return choice_loss(self(batch).logits, batch.target, "ce")
        nine = torch.arange(9)
        right = nine.expand(len(batch), 9).clone()
        right[:, 8] = 8 + batch.target.cpu()
        right = right.to(batch.target.device)
        which = right[batch.problem]  # (M, 9)
        seen = batch.symbols.gather(1, which[..., None].expand(-1, -1, len(SHARED))).transpose(
            1, 2
        )  # (M, V, 9)
        every = self.config.every_row
        thirds = [2, 5, 8] if every else [8]
        levels = self._levels(self._guess(self.shared, self.symbols(seen), every))
        known = levels.gather(-1, seen[..., thirds].unsqueeze(-1)).sum()
        which = right[batch.grid]
        filled = batch.filled.gather(1, which[..., None].expand(-1, -1, len(PLACES)))  # (G, 9, Q)
        guess = self._guess(self.position, filled @ self.places, every)
        known = known + self._sets(guess, filled[:, thirds], batch.places).sum()
        return -known / (len(batch) * len(thirds))
