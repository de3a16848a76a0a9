"""QA-MLM: hide some characters of a question and its answer, and ask for them (section 5.2.1).

Source: An (2021), section 5.2.1, after Devlin et al. (2019).

Axes: B problems, T tokens.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from reasonlib.arguments import check_choice
from reasonlib.maths_qa.data.encoding import Joined
from reasonlib.maths_qa.data.vocabulary import FIRST, MASK, SIZE, TOKENS, kind_of

__all__ = ["IGNORED", "RULE", "WHICH", "Masked", "mask_pairs", "of_kind"]

IGNORED = -100
"""Label of a token that is not asked for."""

RULE = (0.8, 0.1, 0.1)
"""Shares of [MASK], of a random character and of the character itself."""

WHICH = ("all", "non-numeric", "numeric", "answers")
"""Which characters may be asked for: every one, all but digits, digits alone, or those of the answer."""

_NUMERIC = torch.tensor([number >= FIRST and kind_of(text) == "number" for number, text in enumerate(TOKENS)])


class Masked(NamedTuple):
    """A batch to pre-train on.

    Attributes
    ----------
    seen : Joined
        Question and answer with characters hidden.
    labels : (B, T)
        The hidden characters; `IGNORED` where nothing is asked.
    """

    seen: Joined
    labels: Int[Tensor, "B T"]

    def __len__(self) -> int:
        return len(self.labels)


def of_kind(joined: Joined, which: str) -> Bool[Tensor, "B T"]:
    """Mark the characters that may be asked for; [SOS], [EOS] and padding never are."""
    check_choice("which", which, WHICH)
    character = joined.tokens >= FIRST
    if which == "answers":
        return character & (joined.segments == 1)
    numeric = _NUMERIC[joined.tokens]
    return character & {"all": torch.ones_like(numeric), "numeric": numeric, "non-numeric": ~numeric}[which]


def mask_pairs(
    joined: Joined,
    *,
    generator: torch.Generator,
    share: float = 0.15,
    rule: tuple[float, float, float] = RULE,
    which: str = "all",
) -> Masked:
    """Hide characters by the 80/10/10 rule.

    Parameters
    ----------
    joined
        Questions with their answers.
    generator
        Source of the random draws.
    share
        Probability that a character which may be asked for is chosen.
    rule
        Shares of the chosen characters that become [MASK], become a random character, and stay; they sum
        to 1.
    which
        One of `WHICH`.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}")
    if len(rule) != 3 or min(rule) < 0 or abs(sum(rule) - 1) > 1e-9:
        raise ValueError(f"rule must be three shares that sum to 1, got {rule}")
    tokens = joined.tokens
    # excerpt: mask
    chosen = of_kind(joined, which)
    chosen &= torch.rand(tokens.shape, generator=generator) < share
    fate = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(FIRST, SIZE, tokens.shape, generator=generator)
    # eight in ten become [MASK], one in ten a random character
    hidden = chosen & (fate < rule[0])
    random = chosen & (fate >= rule[0]) & (fate < rule[0] + rule[1])
    seen = torch.where(random, other, tokens.masked_fill(hidden, MASK))
    # only the chosen characters count in the loss
    labels = tokens.masked_fill(~chosen, IGNORED)
    # end excerpt
    return Masked(Joined(seen, *joined[1:]), labels)  # a hidden digit keeps its place value
