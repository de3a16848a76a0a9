r"""The source's tracker: a gate and a classifier for every pair on the encoder's DS tokens (eq. 4.7 to 4.13).

::

    DS_ij ──────────┬──> gate: is there a value?           sigmoid(W_G DS_ij)
                    └──┬──> value: which one?              softmax(W_V [DS_ij | CLS])
    CLS ───────────────┘

With DS-split, ``DS_ij`` is the domain's vector beside the slot's, ``[D_i | S_j]``. Where the gate says none,
the value is none whatever the classifier says.

Axes: B turns, T tokens, P pairs, N most values of a pair, d width of a pair's vector, D width of the encoder.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.arguments import check_choice
from reasonlib.state_tracking.data.encoding import UNSCORED, Candidates, TurnBatch
from reasonlib.state_tracking.models.encoder import DSCEncoder, Encoded

__all__ = ["GATES", "PairwiseTracker", "Tracker", "Tracking", "tracker_loss"]

GATES = ("two", "three")  # {none, prediction}, or {none, dontcare, prediction} as in TRADE


class Tracking(NamedTuple):
    """What a tracker says about B turns.

    Attributes
    ----------
    gates : (B, P, G)
        Logits: one for "there is a value" (two-way), or one each for none, dontcare, prediction (three-way).
    values : (B, P, N)
        Logits of the candidates, -inf beyond a pair's own.
    encoded
        What the encoder gave.
    """

    gates: Float[Tensor, "B P G"]
    values: Float[Tensor, "B P N"]
    encoded: Encoded

    def numbers(self) -> Int[Tensor, "B P"]:
        """Return the predicted candidate of each pair: 0 (none) where the gate is closed."""
        best = self.values.argmax(2)
        if self.gates.shape[2] == 1:
            return torch.where(self.gates[..., 0] > 0, best, 0)
        gate = self.gates.argmax(2)  # 0 none, 1 dontcare, 2 prediction
        return torch.where(gate == 2, best, gate)


class Tracker(nn.Module):
    """One encoder run for each turn, a gate and a classifier for each pair.

    Parameters
    ----------
    encoder
        The domain-slot-context encoder.
    candidates
        The values of each pair.
    gate
        One of `GATES`.
    seed
        Draws the classifiers.

    Raises
    ------
    ValueError
        If there is no such gate.
    """

    _closed: Tensor

    def __init__(
        self, encoder: DSCEncoder, candidates: Candidates, *, gate: str = "two", seed: int = 0
    ) -> None:
        super().__init__()
        check_choice("gate", gate, GATES)
        self.encoder, self.candidates = encoder, candidates
        pairs, most = len(candidates.sizes), max(candidates.sizes)
        cls = encoder.encoder.config.hidden_size
        draw = torch.Generator().manual_seed(seed)
        outputs = 1 if gate == "two" else 3
        self.gate_weight = nn.Parameter(
            0.02 * torch.randn(pairs, encoder.width or cls, outputs, generator=draw)
        )
        self.gate_bias = nn.Parameter(torch.zeros(pairs, outputs))
        self.value_weight = nn.Parameter(0.02 * torch.randn(pairs, encoder.width + cls, most, generator=draw))
        self.value_bias = nn.Parameter(torch.zeros(pairs, most))
        closed = torch.arange(most) >= torch.tensor(candidates.sizes)[:, None]
        self.register_buffer("_closed", closed, persistent=False)  # (P, N): beyond a pair's own candidates

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        roles: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"],
        *,
        attention: bool = False,
    ) -> Tracking:
        """Predict the state of B turns, the whole history of each given."""
        return self.classify(self.encoder(tokens, roles, mask, attention=attention))

    def classify(self, encoded: Encoded) -> Tracking:
        """Apply gates (eq. 4.7, 4.8) and classifiers (eq. 4.10, 4.11) to the encoder's vectors."""
        # excerpt: gate and value
        cls = encoded.cls[:, None].expand(-1, len(self.gate_bias), -1)
        # [CLS] alone in the ablation without DS tokens
        gated = encoded.pairs if self.encoder.width else cls
        gates = torch.einsum("bpd,pdg->bpg", gated, self.gate_weight) + self.gate_bias
        both = torch.cat([encoded.pairs, cls], 2)
        values = torch.einsum("bpd,pdn->bpn", both, self.value_weight) + self.value_bias
        # end excerpt
        return Tracking(gates, values.masked_fill(self._closed, -torch.inf), encoded)


class PairwiseTracker(nn.Module):
    """One encoder run for each pair (eq. 4.1): the design that the source argues against.

    Parameters
    ----------
    tracker
        A tracker with layout merge; its weights are used, one DS token at a time (eq. 4.1).

    Raises
    ------
    ValueError
        If the layout is another.
    """

    def __init__(self, tracker: Tracker) -> None:
        super().__init__()
        if tracker.encoder.layout != "merge":
            raise ValueError(f"layout must be 'merge' for one run a pair, got {tracker.encoder.layout!r}")
        self.tracker = tracker
        self.candidates = tracker.candidates

    def forward(
        self, tokens: Int[Tensor, "B T"], roles: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> Tracking:
        """Predict the state of B turns in P runs of the encoder."""
        tracker, parts = self.tracker, []
        closed = tracker._closed
        for pair in range(len(tracker.gate_bias)):
            encoded = tracker.encoder(tokens, roles, mask, pairs=slice(pair, pair + 1))
            token = encoded.pairs[:, 0]
            gate = token @ tracker.gate_weight[pair] + tracker.gate_bias[pair]
            both = torch.cat([token, encoded.cls], 1)
            value = both @ tracker.value_weight[pair] + tracker.value_bias[pair]
            parts.append((gate, value.masked_fill(closed[pair], -torch.inf), token))
        gates, values, pairs = (torch.stack(part, 1) for part in zip(*parts, strict=True))
        return Tracking(gates, values, encoded._replace(pairs=pairs))


def tracker_loss(model: Any, batch: TurnBatch) -> Float[Tensor, ""]:
    """Sum the gates' and the classifiers' losses over the pairs, in nats a turn (eq. 4.9, 4.12, 4.13).

    A value that training never shows has no class; its classifier is not trained on that turn.
    """
    tracking = model(batch.tokens, batch.roles, batch.mask)
    labels = batch.labels
    filled = (labels != 0).float()
    if tracking.gates.shape[2] == 1:
        # excerpt: gate loss
        gate = functional.binary_cross_entropy_with_logits(
            tracking.gates[..., 0],
            filled,  # 1 where the pair has a value, else 0
            reduction="sum",
        )
        # end excerpt
    else:
        kind = labels.clone().clamp(max=2)
        kind[labels == UNSCORED] = 2
        gate = functional.cross_entropy(tracking.gates.flatten(0, 1), kind.flatten(), reduction="sum")
    # excerpt: value loss
    value = functional.cross_entropy(
        tracking.values.flatten(0, 1),
        labels.flatten(),
        ignore_index=UNSCORED,  # values that training never shows
        reduction="sum",
    )
    return (gate + value) / len(labels)
    # end excerpt
