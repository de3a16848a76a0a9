"""An encoder whose lower layers stay as they are, so that each input passes them once.

::

    tokens --> lexicon and lower layers (fixed, without dropout) --> states, kept
                                                                      |
                                       upper layers (trained) <-------'

Training then costs what the upper layers cost: with four of six layers fixed, about a third. Which layers are
fixed is a compromise; the source trains all of them.

Axes: B rows, T tokens, D width.
"""

import copy
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from reasonlib.errors import UserError

__all__ = ["PartlyFrozen", "freeze_lower"]

KEPT = 30_000
"""Rows whose states are kept; of MiniLM, 40 tokens are 30 kB."""


class Encoded(NamedTuple):
    """The states of the last layer, under the name that `transformers` gives them: (B, T, D)."""

    last_hidden_state: Float[Tensor, "B T D"]


class _Lower:
    """The lexicon and the lower layers, and the states that they gave; copies of a model share one."""

    def __init__(self, network: Any) -> None:
        self.network: Any = network.eval().requires_grad_(False)
        self.kept: dict[tuple[Any, ...], Tensor] = {}

    def __deepcopy__(self, _: dict[int, Any]) -> "_Lower":
        return self

    @torch.no_grad()
    def states(self, tokens: Int[Tensor, " T"], segments: Int[Tensor, " T"] | None) -> Float[Tensor, "T D"]:
        """Encode one row without padding, so that its states do not depend on the rows beside it."""
        device = tokens.device.type
        half = torch.is_autocast_enabled(device)
        key = (half, *tokens.tolist(), -1, *([] if segments is None else segments.tolist()))
        if key not in self.kept:
            if len(self.kept) >= KEPT:
                self.kept.clear()
            self.network.to(tokens.device)
            further = {} if segments is None else {"token_type_ids": segments[None]}
            hidden = self.network(input_ids=tokens[None], **further).last_hidden_state[0]
            self.kept[key] = hidden.to(torch.bfloat16 if half else torch.float32)
        return self.kept[key]


class _Given(nn.Module):
    """Stands in the place of the lexicon: the states come from the lower layers."""

    def forward(self, inputs_embeds: Tensor, **_: Any) -> Tensor:
        """Return what was given."""
        return inputs_embeds


class PartlyFrozen(nn.Module):
    """The upper layers of an encoder on the fixed states of its lower ones.

    Parameters
    ----------
    network
        An encoder of BERT's shape.
    layers
        How many lower layers are fixed, and the lexicon with them.

    Raises
    ------
    UserError
        If the encoder's layers cannot be told apart, or none would be left to train.
    """

    def __init__(self, network: Any, layers: int) -> None:
        super().__init__()
        stack = getattr(getattr(network, "encoder", None), "layer", None)
        if stack is None or not hasattr(network, "embeddings"):
            raise UserError("layers can be fixed in encoders of BERT's shape only; set frozen to 0")
        if not 1 <= layers < len(stack):
            raise UserError(f"frozen must be from 1 to {len(stack) - 1}, got {layers}")
        lower = copy.deepcopy(network)
        lower.encoder.layer = lower.encoder.layer[:layers]
        self.lower = _Lower(lower)  # no module: neither trained nor saved
        self.upper: Any = copy.deepcopy(network)
        self.upper.encoder.layer = self.upper.encoder.layer[layers:]
        self.upper.embeddings = _Given()
        self.config: Any = network.config

    def forward(
        self,
        input_ids: Int[Tensor, "B T"],
        attention_mask: Int[Tensor, "B T"],
        token_type_ids: Int[Tensor, "B T"] | None = None,
    ) -> Encoded:
        """Encode rows of tokens."""
        rows = []
        for number, length in enumerate(attention_mask.sum(1).tolist()):
            segments = None if token_type_ids is None else token_type_ids[number, :length]
            rows.append(self.lower.states(input_ids[number, :length], segments).float())
        states = pad_sequence(rows, batch_first=True)
        missing = input_ids.shape[1] - states.shape[1]
        states = nn.functional.pad(states, (0, 0, 0, missing))
        encoded = self.upper(inputs_embeds=states, attention_mask=attention_mask)
        return Encoded(encoded.last_hidden_state)


_frozen: dict[tuple[str, int], PartlyFrozen] = {}


def freeze_lower(network: Any, layers: int, *, name: str) -> Any:
    """Fix the lower layers of an encoder; systems that start from the same one share what these give.

    Parameters
    ----------
    network
        A pre-trained encoder.
    layers
        As of `PartlyFrozen`; with 0 the network is returned as it is.
    name
        Of the encoder, to know it again.
    """
    if not layers:
        return network
    if (name, layers) not in _frozen:
        _frozen[name, layers] = PartlyFrozen(network, layers)
    return copy.deepcopy(_frozen[name, layers])
