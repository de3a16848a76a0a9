"""The trained tracker that is bundled with the library: layout merge, with spans.

::

    weights/tracker.safetensors   half precision; candidates, sizes and how it was made as metadata
    weights/encoder/              configuration and tokenizer of its encoder

Open pairs need no list of candidates, so the file holds none for them.

Axes: P pairs, K open pairs.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from reasonlib.state_tracking.data.encoding import Candidates, TurnTokens, collate
from reasonlib.state_tracking.data.encoding import encode as encode_dialogues
from reasonlib.state_tracking.data.example import Dialogue, Turn
from reasonlib.state_tracking.data.ontology import PAIRS
from reasonlib.state_tracking.models.encoder import DSCEncoder, load_encoder
from reasonlib.state_tracking.models.span import OPEN, Spans, SpanTracker
from reasonlib.training.weights import find_weights, reading, save_bundle

__all__ = ["BUNDLED", "TRACKER", "BundledTracker", "Tracked", "from_pretrained", "save_tracker"]

TRACKER = Path(__file__).parents[1] / "weights" / "tracker.safetensors"
BUNDLED = ("tracker",)
KIND = "state tracker"


class Tracked(NamedTuple):
    """What the tracker makes of one turn.

    Attributes
    ----------
    state, confidence : dict
        Pair to value, and pair to the probability of this value: that of the gate times that of the
        classifier, or times those of the first and the last token of the span.
    tokens
        Names of the sequence's positions: the 30 pairs, then the words.
    attention : (L, H, S, S)
        Where each head of each layer looks: row the looking token, column the one looked at.
    """

    state: dict[str, str]
    confidence: dict[str, float]
    tokens: tuple[str, ...]
    attention: torch.Tensor | None


class BundledTracker(NamedTuple):
    """A tracker in float32 on the CPU, its tokenizer, and how it was trained and measured."""

    model: SpanTracker
    tokenizer: Any
    made: Mapping[str, Any]

    def track(self, utterances: Sequence[tuple[str, str]], *, attention: bool = False) -> Tracked:
        """Track a dialogue of (system, user) turns and return the state after the last.

        A dialogue with more tokens than the encoder has positions loses its oldest tokens.

        Raises
        ------
        ValueError
            If there is no turn.
        """
        if not utterances:
            raise ValueError("utterances must hold at least one turn, got none")
        turns = tuple(Turn(system=system, user=user, state={}) for system, user in utterances)
        tokens = TurnTokens(self.tokenizer, _positions(self.model))
        encoded = encode_dialogues([Dialogue(name="", turns=turns)], tokens, self.model.candidates)[-1]
        batch = collate([encoded], self.tokenizer.pad_token_id)
        with torch.no_grad():
            output: Spans = self.model(batch.tokens, batch.roles, batch.mask, attention=attention)
        words = _words(utterances, len(encoded.tokens))
        (state,) = output.states(
            self.model.candidates, lambda _, first, last: " ".join(words[first : last + 1])
        )
        chances = _chances(output)
        return Tracked(
            state=state,
            confidence={pair: float(chances[PAIRS.index(pair)]) for pair in state},
            tokens=(*PAIRS, *words),
            attention=None if output.encoded.attention is None else output.encoded.attention[:, 0],
        )


def _words(utterances: Sequence[tuple[str, str]], count: int) -> list[str]:
    """Give the last words of a dialogue, as many as there are tokens, in small letters."""
    words: list[str] = []
    for text in (text for turn in utterances for text in turn):
        words += [*text.lower().split(), "[SEPU]"] if text.strip() else []
    return ["[CLS]", *words[len(words) - count + 2 :], "[SEP]"]


def _chances(said: Spans) -> torch.Tensor:
    """Return the probability of each pair's likeliest value, (P,), for a single turn."""
    kinds, values = said.gates[0].softmax(1), said.values[0].softmax(1).amax(1)
    spans = said.best_spans()[0]
    first = said.starts[0].softmax(1).gather(1, spans[:, :1])[:, 0]
    last = said.ends[0].softmax(1).gather(1, spans[:, 1:])[:, 0]
    values[list(OPEN)] = first * last
    kind = kinds.argmax(1)
    return kinds.amax(1) * torch.where(kind == 2, values, 1.0)


def save_tracker(model: SpanTracker, made: Mapping[str, Any], path: Path = TRACKER) -> Path:
    """Write a tracker as one safetensors file, atomically and in half precision."""
    listed = [
        values[:2] if pair in OPEN else values  # none and dontcare
        for pair, values in enumerate(model.candidates.values)
    ]
    most = max(map(len, listed))
    weights = model.state_dict()
    for name in ("tracker.value_weight", "tracker.value_bias"):
        weights[name] = weights[name][..., :most].contiguous()
    return save_bundle(
        path,
        weights,
        kind=KIND,
        candidates=[list(values) for values in listed],
        layout=model.tracker.encoder.layout,
        longest=_positions(model),
        made=dict(made),
    )


def _positions(model: SpanTracker) -> int:
    """Return how many tokens of a dialogue the position table has rows for."""
    encoder: DSCEncoder = model.tracker.encoder
    return encoder.nowhere - encoder.first


@lru_cache(maxsize=2)
def from_pretrained(name: str | Path = "tracker", *, attention: bool = False) -> BundledTracker:
    """Load a trained tracker.

    Parameters
    ----------
    name
        One of `BUNDLED`, or a file that `save_tracker` wrote.
    attention
        Whether `BundledTracker.track` will be asked for attention weights.

    Raises
    ------
    UserError
        If there is no such tracker, or its file is damaged or holds something else.
    """
    with reading(find_weights(name, TRACKER.parent, BUNDLED), kind=KIND) as bundle:
        encoder, tokenizer = load_encoder()
        if attention:
            encoder.set_attn_implementation("eager")
        candidates = Candidates(tuple(tuple(names) for names in bundle["candidates"]))
        dsc = DSCEncoder(encoder, layout=bundle["layout"], longest=bundle["longest"])
        model = SpanTracker(dsc, candidates)
        bundle.fill(model)
        return BundledTracker(model, tokenizer, bundle["made"])
