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

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.arguments import check_at_least
from reasonlib.nn.transformer import initialise
from reasonlib.visual_iq.data.example import POSITIONS
from reasonlib.visual_iq.data.symbols import SYMBOL_ATTRIBUTES, SYMBOL_COUNTS, SymbolBatch
from reasonlib.visual_iq.models.contrast import choice_loss

__all__ = ["Relational", "RelationalConfig", "RelationalOutput"]


@dataclass(frozen=True, kw_only=True)
class RelationalConfig:
    """Sizes and steps of the relational model.

    Raises `ValueError` if a size is below 1, or every row is asked for without prediction.
    """

    width: int = 32  # D, of the embedding of a symbol, as in the source
    hidden: int = 192  # of row encoder and predictor
    rule: int = 64  # of the code of a rule
    rows: bool = True  # False: a rule's code is a sum over single panels, each with its column
    alike: bool = True  # False: no symbol says that mixed entities were copied
    predict: bool = True  # False: trained to choose among the candidates
    every_row: bool = True  # False: only the third row is predicted

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "hidden", "rule")


class RelationalOutput(NamedTuple):
    """What the relational model gives.

    Attributes
    ----------
    logits : (B, C)
        Log-probability of each candidate, in nats.
    parts : (M, W, C)
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
    generator
        Draws the first weights.
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
        self.symbols = nn.Embedding(sum(SYMBOL_COUNTS), config.width)
        self.places = nn.Parameter(torch.empty(len(POSITIONS), config.width))
        self.shared = RowRule(config, generator)
        self.position = RowRule(config, generator)
        self.symbol_bias = nn.Parameter(torch.zeros(sum(SYMBOL_COUNTS)))
        self.place_bias = nn.Parameter(torch.zeros(len(POSITIONS)))
        nn.init.normal_(self.symbols.weight, std=config.width**-0.5, generator=generator)
        nn.init.normal_(self.places, std=config.width**-0.5, generator=generator)
        owner = torch.repeat_interleave(torch.arange(len(SYMBOL_ATTRIBUTES)), torch.tensor(SYMBOL_COUNTS))
        self.register_buffer("own", owner == torch.arange(len(SYMBOL_ATTRIBUTES))[:, None], persistent=False)
        self.own: Tensor

    def _guess(
        self, rule: RowRule, embedded: Float[Tensor, "*M 9 D"], every_row: bool
    ) -> Float[Tensor, "*M R D"]:
        """Predict the third panel of the third row, or of every row (whose third panel is then known)."""
        # excerpt: prediction
        rows = embedded.unflatten(-2, (3, 3))  # (..., R rows, 3 panels of a row, D)
        if every_row:  # in training: the end of each row, from the two other rows
            codes = rule.read(rows)  # f: one code for each complete row
            return rule(codes.sum(-2, keepdim=True) - codes, rows[..., :2, :])
        # to answer: f of the two upper rows, then g with the third row's first panels
        code = rule.read(rows[..., :2, :, :]).sum(-2, keepdim=True)
        return rule(code, rows[..., 2:, :2, :])
        # end excerpt

    def _levels(self, guess: Float[Tensor, "M V R D"]) -> Float[Tensor, "M V R Y"]:
        """Log-probability of each symbol of the attribute."""
        # excerpt: distribution
        # the product with each symbol's embedding; other attributes' symbols are masked
        logits = functional.linear(guess, self.symbols.weight, self.symbol_bias)
        return logits.masked_fill(~self.own[:, None], -torch.inf).log_softmax(-1)
        # end excerpt

    def _sets(
        self, guess: Float[Tensor, "G R D"], filled: Float[Tensor, "G R Q"], places: Bool[Tensor, "G Q"]
    ) -> Float[Tensor, "G R"]:
        """Log-probability of sets of places, each place filled or empty by itself."""
        logits = functional.linear(guess, self.places, self.place_bias)
        each = -functional.binary_cross_entropy_with_logits(
            logits.expand_as(filled), filled, reduction="none"
        )
        return (each * places[:, None]).sum(-1)

    def forward(self, batch: SymbolBatch) -> RelationalOutput:
        """Give every candidate its log-probability as the third panel of the third row."""
        symbols = batch.symbols.transpose(1, 2)  # (M, V, P)
        context = functional.pad(self.symbols(symbols[..., :8]), (0, 0, 0, 1))  # the ninth is not looked at
        levels = self._levels(self._guess(self.shared, context, False))  # (M, V, 1, Y)
        by_attribute = levels.squeeze(2).gather(-1, symbols[..., 8:])  # (M, V, C)
        context = functional.pad(batch.filled[:, :8] @ self.places, (0, 0, 0, 1))
        guess = self._guess(self.position, context, False)  # (G, 1, D)
        positions = self._sets(guess, batch.filled[:, 8:], batch.places)  # (G, C)
        logits = by_attribute.new_zeros(len(batch), by_attribute.shape[-1])
        logits = logits.index_add(0, batch.problem, by_attribute.sum(1)).index_add(0, batch.grid, positions)
        return RelationalOutput(logits, by_attribute)

    def loss(self, batch: SymbolBatch) -> Float[Tensor, ""]:
        """Nats a problem: of what the third panels are (of every row, on average), or of the right choice."""
        if not self.config.predict:
            return choice_loss(self(batch).logits, batch.target, "ce")
        panel_numbers = torch.arange(9)
        matrix = panel_numbers.expand(len(batch), 9).clone()
        matrix[:, 8] = 8 + batch.target.cpu()
        matrix = matrix.to(batch.target.device)
        panels = matrix[batch.problem]  # (M, 9)
        symbols = batch.symbols.gather(1, panels[..., None].expand(-1, -1, len(SYMBOL_ATTRIBUTES))).transpose(
            1, 2
        )  # (M, V, 9)
        every_row = self.config.every_row
        thirds = [2, 5, 8] if every_row else [8]
        levels = self._levels(self._guess(self.shared, self.symbols(symbols), every_row))
        log_likelihood = levels.gather(-1, symbols[..., thirds].unsqueeze(-1)).sum()
        panels = matrix[batch.grid]
        filled = batch.filled.gather(1, panels[..., None].expand(-1, -1, len(POSITIONS)))  # (G, 9, Q)
        guess = self._guess(self.position, filled @ self.places, every_row)
        log_likelihood = log_likelihood + self._sets(guess, filled[:, thirds], batch.places).sum()
        return -log_likelihood / (len(batch) * len(thirds))
