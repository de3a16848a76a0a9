r"""An open-vocabulary head: names and times are cut out of the dialogue, not chosen from a list.

The source names this as its future work. A closed list cannot hold a hotel that opened yesterday; a span can.

::

    DS_ij ──> gate (none, dontcare, value)
          ├─> start_t = h_t . A DS_ij        end_t = h_t . B DS_ij       pairs of `OPEN`
          └─> softmax(W_V [DS_ij | CLS])                                 all other pairs

The target span is the last mention of the value in the dialogue, so that a slot that refers to another one
points at the place where that other value was said.

Axes: B turns, T tokens of the dialogue, P pairs, K open pairs, D width.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.state_tracking.data.encoding import UNSCORED, Candidates, EncodedTurn, TurnBatch, collate
from reasonlib.state_tracking.data.ontology import DONTCARE, NONE, PAIRS, slot_of
from reasonlib.state_tracking.models.encoder import DSCEncoder, Encoded
from reasonlib.state_tracking.models.tracker import Tracker

__all__ = [
    "LONGEST_SPAN",
    "OPEN",
    "SpanBatch",
    "SpanTracker",
    "Spans",
    "find_span",
    "span_batch",
    "span_loss",
]

_OPEN_SLOTS = ("name", "departure", "destination", "food", "leaveat", "arriveby", "book time")
OPEN = tuple(number for number, pair in enumerate(PAIRS) if slot_of(pair) in _OPEN_SLOTS)
"""Numbers of the pairs whose values are spans."""

LONGEST_SPAN = 6
"""Tokens of a span at most."""


class SpanBatch(NamedTuple):
    """Turns with the spans of their open pairs.

    Attributes
    ----------
    turns
        As for every tracker.
    gates : (B, P)
        0 none, 1 dontcare, 2 a value.
    starts, ends : (B, K)
        First and last token of each open pair's value; -100 where it has none or it is never said.
    """

    turns: TurnBatch
    gates: Int[Tensor, "B P"]
    starts: Int[Tensor, "B K"]
    ends: Int[Tensor, "B K"]

    def __len__(self) -> int:
        return len(self.turns)


class Spans(NamedTuple):
    """What the tracker says about B turns.

    Attributes
    ----------
    gates : (B, P, 3)
        Logits of none, dontcare, value.
    values : (B, P, N)
        Logits of the candidates.
    starts, ends : (B, K, T)
        Logits of the tokens, -inf in the padding.
    encoded
        The vectors behind them.
    """

    gates: Float[Tensor, "B P 3"]
    values: Float[Tensor, "B P N"]
    starts: Float[Tensor, "B K T"]
    ends: Float[Tensor, "B K T"]
    encoded: Encoded

    def best_spans(self) -> Int[Tensor, "B K 2"]:
        """Return first and last token of the best span of each open pair, last not before first."""
        length = self.starts.shape[2]
        both = self.starts[..., :, None] + self.ends[..., None, :]
        allowed = (
            torch.ones(length, length, dtype=torch.bool, device=both.device).triu().tril(LONGEST_SPAN - 1)
        )
        best = both.masked_fill(~allowed, -torch.inf).flatten(2).argmax(2)
        return torch.stack([best // length, best % length], 2)

    def states(self, candidates: Candidates, words: Callable[[int, int, int], str]) -> list[dict[str, str]]:
        """Return the states that are predicted for the B turns.

        Parameters
        ----------
        candidates
            The values of each pair.
        words
            ``words(turn, first, last)`` gives the text from one token of a turn to another.
        """
        kinds, values, spans = self.gates.argmax(2), self.values.argmax(2), self.best_spans().tolist()
        numbers = torch.where(kinds == 2, values, kinds).tolist()
        states = []
        for turn, chosen in enumerate(numbers):
            state = candidates.state(chosen)
            for (first, last), pair in zip(spans[turn], OPEN, strict=True):
                if kinds[turn, pair] == 2:
                    state[PAIRS[pair]] = words(turn, first, last)
            states.append(state)
        return states


class SpanTracker(nn.Module):
    """The source's tracker with a pointer into the dialogue for open pairs.

    Parameters
    ----------
    encoder
        The domain-slot-context encoder, layout merge or split.
    candidates
        Values of the pairs that are not open.
    seed
        Draws the heads.
    """

    def __init__(self, encoder: DSCEncoder, candidates: Candidates, *, seed: int = 0) -> None:
        super().__init__()
        if encoder.layout == "none":
            raise ValueError("layout must be 'merge' or 'split' for spans, got 'none'")
        self.tracker = Tracker(encoder, candidates, gate="three", seed=seed)
        self.candidates = candidates
        width = encoder.encoder.config.hidden_size
        draw = torch.Generator().manual_seed(seed + 1)
        self.start = nn.Parameter(torch.randn(encoder.width, width, generator=draw) * width**-0.5)
        self.end = nn.Parameter(torch.randn(encoder.width, width, generator=draw) * width**-0.5)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        roles: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"],
        *,
        attention: bool = False,
    ) -> Spans:
        """Predict the state of B turns, the whole history of each given."""
        tracking = self.tracker(tokens, roles, mask, attention=attention)
        context, pairs = tracking.encoded.context, tracking.encoded.pairs[:, list(OPEN)]
        scale = context.shape[2] ** -0.5
        # excerpt: first and last token
        pad = ~mask[:, None, :]
        starts, ends = (  # a score of every token, for every pair
            (scale * pairs @ weight @ context.transpose(1, 2)).masked_fill(
                pad,
                -torch.inf,
            )
            for weight in (self.start, self.end)
        )
        # end excerpt
        return Spans(tracking.gates, tracking.values, starts, ends, tracking.encoded)


def find_span(tokens: list[int], value: list[int]) -> tuple[int, int]:
    """Return first and last token of the last mention of a value; -100 twice if it is not said.

    Examples
    --------
    >>> find_span([2, 7, 8, 9, 7, 8, 3], [7, 8])
    (4, 5)
    """
    size = len(value)
    for first in range(len(tokens) - size, -1, -1):
        if size and tokens[first : first + size] == value:
            return first, first + size - 1
    return UNSCORED, UNSCORED


def span_batch(
    turns: list[EncodedTurn], states: list[dict[str, str]], tokenizer: Any, *, padding: int = 0
) -> SpanBatch:
    """Pad B turns and look up the spans of their states' values."""
    gates, spans = [], []
    for turn, state in zip(turns, states, strict=True):
        values = [state.get(pair, NONE) for pair in PAIRS]
        gates.append([0 if v == NONE else 1 if v == DONTCARE else 2 for v in values])
        row = [(UNSCORED, UNSCORED)] * len(OPEN)
        for slot, pair in enumerate(OPEN):
            if gates[-1][pair] == 2:
                words = tokenizer(values[pair], add_special_tokens=False)["input_ids"]
                row[slot] = find_span(turn.tokens, words)
        spans.append(row)
    both = torch.tensor(spans)
    return SpanBatch(collate(turns, padding), torch.tensor(gates), both[..., 0], both[..., 1])


def span_loss(model: SpanTracker, batch: SpanBatch) -> Float[Tensor, ""]:
    """Sum the losses of gates, classifiers and pointers over the pairs, in nats a turn."""
    turns = batch.turns
    output = model(turns.tokens, turns.roles, turns.mask)
    closed = [p for p in range(len(PAIRS)) if p not in OPEN]
    total = functional.cross_entropy(output.gates.flatten(0, 1), batch.gates.flatten(), reduction="sum")
    labels = turns.labels[:, closed]
    values = output.values[:, closed].flatten(0, 1)
    total = total + functional.cross_entropy(values, labels.flatten(), ignore_index=UNSCORED, reduction="sum")
    for logits, places in ((output.starts, batch.starts), (output.ends, batch.ends)):
        total = total + functional.cross_entropy(
            logits.flatten(0, 1), places.flatten(), ignore_index=UNSCORED, reduction="sum"
        )
    return total / len(turns)
