"""The trained tracker that is bundled with the library.

::

    weights/tracker.safetensors   half precision; candidates, sizes and how it was made as metadata
    weights/encoder/              configuration and tokenizer of its encoder
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
from reasonlib.state_tracking.models.tracker import Tracker, Tracking
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
        Pair to value, and pair to the probability of this value, gate and classifier together.
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
    """A tracker with what is needed to use it.

    Attributes
    ----------
    model
        In float32, on the CPU.
    tokenizer
        Of its encoder.
    made
        How it was trained, and what it was measured to do.
    """

    model: Tracker
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
            output: Tracking = self.model(batch.tokens, batch.roles, batch.mask, attention=attention)
        numbers = output.numbers()[0].tolist()
        chances = torch.sigmoid(output.gates[0, :, 0]) * output.values[0].softmax(1).amax(1)
        state = self.model.candidates.state(numbers)
        return Tracked(
            state=state,
            confidence={pair: float(chances[PAIRS.index(pair)]) for pair in state},
            tokens=(*PAIRS, *self.tokenizer.convert_ids_to_tokens(encoded.tokens)),
            attention=None if output.encoded.attention is None else output.encoded.attention[:, 0],
        )


def save_tracker(model: Any, tokenizer: Any, made: Mapping[str, Any], path: Path = TRACKER) -> Path:
    """Write a tracker as one safetensors file, atomically and in half precision."""
    return save_bundle(
        path,
        model,
        kind=KIND,
        candidates=[list(values) for values in model.candidates.values],
        layout=model.encoder.layout,
        longest=_positions(model),
        made=dict(made),
    )


def _positions(model: Any) -> int:
    """Return how many tokens of a dialogue the position table has rows for."""
    encoder: DSCEncoder = model.encoder
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
        model = Tracker(dsc, candidates)
        bundle.fill(model)
        return BundledTracker(model, tokenizer, bundle["made"])
