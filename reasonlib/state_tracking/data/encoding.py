"""Dialogues as numbers: one token sequence for every turn, one candidate number for every pair.

::

    tokens  [CLS] i need a hotel . [SEPU] what area ? [SEPU] the north . [SEPU] [SEP]
    roles     0   2  2   2 2     2   2     1    1   1   1     2    2   2   2      0      1 system, 2 user

The source puts ``[SEPU]`` after every utterance and leaves out the first, empty one of the system. The tokens
for domains and slots come before ``[CLS]``; the model adds them, because they are the same for every turn.

Axes: B turns, T tokens, P pairs.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from reasonlib.state_tracking.data.example import Dialogue
from reasonlib.state_tracking.data.ontology import DONTCARE, NONE, PAIRS
from reasonlib.training.batching import LengthBuckets, mask_of, pad
from reasonlib.training.masked_words import SPECIALS, UNSCORED

__all__ = [
    "Candidates",
    "EncodedTurn",
    "TurnBatch",
    "TurnTokens",
    "batches",
    "candidates_of",
    "collate",
    "encode",
]

NO_ROLE, SYSTEM, USER = 0, 1, 2


@dataclass(frozen=True)
class Candidates:
    """The values that each pair can take, in the order of the classifier's outputs.

    Attributes
    ----------
    values
        For each of the 30 pairs, its values: ``none``, then ``dontcare``, then the others by falling count.

    Raises
    ------
    ValueError
        If there are not 30 lists, or one does not begin with ``none`` and ``dontcare``.
    """

    values: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(PAIRS) or any(names[:2] != (NONE, DONTCARE) for names in self.values):
            raise ValueError("values must hold 30 lists that begin with none and dontcare")

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each pair has, none and dontcare included."""
        return tuple(len(values) for values in self.values)

    def number(self, pair: int, value: str) -> int:
        """Return the number of a value, or `UNSCORED` if training never shows it for this pair."""
        try:
            return self.values[pair].index(value)
        except ValueError:
            return UNSCORED

    def state(self, numbers: Sequence[int]) -> dict[str, str]:
        """Return the state that 30 value numbers stand for."""
        return {PAIRS[p]: self.values[p][n] for p, n in enumerate(numbers) if n > 0}


def candidates_of(dialogues: Sequence[Dialogue]) -> Candidates:
    """Collect the values of every pair from training dialogues, as the source does (section 4.2.3)."""
    counts: dict[str, Counter[str]] = {pair: Counter() for pair in PAIRS}
    for dialogue in dialogues:
        for turn in dialogue.turns:
            for pair, value in turn.state.items():
                counts[pair][value] += 1
    values = []
    for pair in PAIRS:
        names = sorted(set(counts[pair]) - {NONE, DONTCARE}, key=lambda name: (-counts[pair][name], name))
        values.append((NONE, DONTCARE, *names))
    return Candidates(tuple(values))


class EncodedTurn(NamedTuple):
    """One turn: what was said up to it, and what is true after it.

    Attributes
    ----------
    tokens, roles
        Ids and speakers, ``[CLS]`` first, ``[SEP]`` last.
    labels
        P candidate numbers.
    dialogue, turn
        Where it comes from.
    dropped
        Tokens left out at the beginning because the sequence would have been too long.
    """

    tokens: list[int]
    roles: list[int]
    labels: list[int]
    dialogue: int
    turn: int
    dropped: int


class TurnTokens:
    """Turn utterances into token ids; every distinct utterance is tokenised once.

    Parameters
    ----------
    tokenizer
        A `transformers` tokenizer that knows ``[SEPU]``.
    longest
        Tokens in a sequence at most, DS tokens not counted; a longer history loses its oldest tokens. None:
        no limit.
    """

    def __init__(self, tokenizer: Any, longest: int | None = None) -> None:
        if longest is not None and longest < 3:
            raise ValueError(f"longest must be at least 3 or None, got {longest}")
        self.tokenizer, self.longest = tokenizer, longest
        self.separator = tokenizer.convert_tokens_to_ids(SPECIALS[5])
        self._known: dict[str, list[int]] = {}

    def utterance(self, text: str) -> list[int]:
        """Give the ids of one utterance, ``[SEPU]`` at its end; nothing for an empty one."""
        ids = self._known.get(text)
        if ids is None:
            words = self.tokenizer(text, add_special_tokens=False)["input_ids"] if text.strip() else []
            ids = self._known[text] = [*words, self.separator] if words else []
        return ids

    def history(self, dialogue: Dialogue, turn: int) -> tuple[list[int], list[int], int]:
        """Give the tokens and roles of a dialogue up to a turn, and how many tokens were dropped."""
        tokens: list[int] = []
        roles: list[int] = []
        for past in dialogue.turns[: turn + 1]:
            for text, role in ((past.system, SYSTEM), (past.user, USER)):
                ids = self.utterance(text)
                tokens += ids
                roles += [role] * len(ids)
        room = len(tokens) if self.longest is None else self.longest - 2
        dropped = max(0, len(tokens) - room)
        tokens, roles = tokens[dropped:], roles[dropped:]
        first, last = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        return [first, *tokens, last], [NO_ROLE, *roles, NO_ROLE], dropped


def encode(
    dialogues: Sequence[Dialogue],
    tokens: TurnTokens,
    candidates: Candidates,
    *,
    each: int | None = None,
    seed: int = 0,
) -> list[EncodedTurn]:
    """Encode the turns of every dialogue.

    Parameters
    ----------
    dialogues
        Dialogues.
    tokens
        Turns utterances into ids.
    candidates
        The values of each pair.
    each
        How many turns of a dialogue; a dialogue with fewer gives all it has. None: all.
    seed
        Draws the turns if not all are encoded.

    Raises
    ------
    ValueError
        If `each` is below 1.
    """
    if each is not None and each < 1:
        raise ValueError(f"each must be at least 1 or None, got {each}")
    encoded = []
    for dialogue_index, dialogue in enumerate(dialogues):
        for number in _chosen(len(dialogue.turns), each, random.Random(f"{seed}:{dialogue_index}")):
            ids, roles, dropped = tokens.history(dialogue, number)
            state = dialogue.turns[number].state
            labels = [candidates.number(p, state.get(pair, NONE)) for p, pair in enumerate(PAIRS)]
            encoded.append(EncodedTurn(ids, roles, labels, dialogue_index, number, dropped))
    return encoded


def _chosen(turns: int, each: int | None, draw: random.Random) -> Sequence[int]:
    if each is None or each >= turns:
        return range(turns)
    return sorted(draw.sample(range(turns), each))


class TurnBatch(NamedTuple):
    """Turns of like length, padded.

    Attributes
    ----------
    tokens, roles : (B, T)
        Ids and speakers.
    mask : (B, T)
        True where a token stands.
    labels : (B, P)
        Candidate numbers; -100 for a value that training never shows.
    """

    tokens: Int[Tensor, "B T"]
    roles: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    labels: Int[Tensor, "B P"]

    def __len__(self) -> int:
        return len(self.tokens)


def collate(turns: Sequence[EncodedTurn], padding: int = 0) -> TurnBatch:
    """Pad B turns to the length of the longest."""
    return TurnBatch(
        tokens=pad([turn.tokens for turn in turns], padding),
        roles=pad([turn.roles for turn in turns]),
        mask=mask_of([len(turn.tokens) for turn in turns]),
        labels=torch.tensor([turn.labels for turn in turns]),
    )


def batches(
    turns: Sequence[EncodedTurn], *, batch_size: int, seed: int, epoch: int = 0, padding: int = 0
) -> Iterator[TurnBatch]:
    """Give all turns once, those of like length together."""
    buckets = LengthBuckets([len(turn.tokens) for turn in turns], batch_size=batch_size, seed=seed)
    for items in buckets.plan(epoch):
        yield collate([turns[item] for item in items], padding)
