r"""A tracker that writes each value word by word, copying from the dialogue (after TRADE, Wu et al. 2019).

::

    X ──> GRU ──> H (T vectors)            domain + slot embedding ──┐
                   │                                                v
                   ├── attention <── state <── GRU decoder <── previous word
                   v                   │
          P = p_gen softmax(E state) + (1 - p_gen) attention        gate from the first context

Every pair is decoded on its own: nothing passes from one slot to another, as in all systems that the source
compares itself with but two. The gate says none, dontcare or "write".

Axes: B turns, T tokens, P pairs, M words of a value, V words, D width.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.state_tracking.data.encoding import EncodedTurn, collate
from reasonlib.state_tracking.data.ontology import DOMAINS, DONTCARE, NONE, PAIRS, SLOTS, domain_of, slot_of
from reasonlib.training.batching import pad

__all__ = ["CopyBatch", "CopyConfig", "CopyTracker", "Reading", "copy_batch", "copy_loss"]

WRITE = 2  # the gate of a pair whose value is written


@dataclass(frozen=True, kw_only=True)
class CopyConfig:
    """Sizes of the copy model.

    Raises `ValueError` if a size is below 1.
    """

    words: int  # V
    width: int = 64  # D; TRADE has 400
    longest: int = 4  # M, words of a value, the end mark included

    def __post_init__(self) -> None:
        check_at_least(self, 1, "words", "width", "longest")


class CopyBatch(NamedTuple):
    """Turns with the words of each pair's value.

    Attributes
    ----------
    tokens : (B, T)
        Ids of the dialogue.
    mask : (B, T)
        True where a token stands.
    gates : (B, P)
        0 none, 1 dontcare, 2 a value.
    values : (B, P, M)
        Ids of the value's words, then ``[SEP]``, then padding (0).
    """

    tokens: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    gates: Int[Tensor, "B P"]
    values: Int[Tensor, "B P M"]

    def __len__(self) -> int:
        return len(self.tokens)


class Reading(NamedTuple):
    """A dialogue as the decoder finds it.

    Attributes
    ----------
    tokens, mask : (B, T)
        As read.
    memory : (B, T, D)
        The encoder's states.
    states : (B, P, D)
        The decoder's first state for each pair.
    gates : (B, P, 3)
        Logits of none, dontcare, write.
    """

    tokens: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    memory: Float[Tensor, "B T D"]
    states: Float[Tensor, "B P D"]
    gates: Float[Tensor, "B P 3"]


class CopyTracker(nn.Module):
    """A GRU encoder, and a GRU decoder that generates or copies.

    Parameters
    ----------
    config
        Sizes.
    seed
        Draws the weights.
    """

    def __init__(self, config: CopyConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with training.seeded(seed):
            self.words = nn.Embedding(config.words, config.width, padding_idx=0)
            self.encoder = nn.GRU(config.width, config.width, bidirectional=True, batch_first=True)
            self.decoder = nn.GRUCell(config.width, config.width)
            self.names = nn.Embedding(len(DOMAINS) + len(SLOTS), config.width)
            self.mix = nn.Linear(3 * config.width, 1)
            self.gate = nn.Linear(config.width, 3)
        with torch.no_grad():
            self.words.weight.mul_(0.1)
        rows = [[DOMAINS.index(domain_of(p)), len(DOMAINS) + SLOTS.index(slot_of(p))] for p in PAIRS]
        self.register_buffer("_rows", torch.tensor(rows), persistent=False)

    def forward(self, tokens: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Reading:
        """Read the dialogues and decide by the first context of each pair whether it has a value."""
        lengths = mask.sum(1).cpu()
        words = pack_padded_sequence(self.words(tokens), lengths, batch_first=True, enforce_sorted=False)
        packed, last = self.encoder(words)  # no direction reads padding
        both, _ = pad_packed_sequence(packed, batch_first=True, total_length=tokens.shape[1])
        width = self.config.width
        memory = both[..., :width] + both[..., width:]  # (B, T, D), the directions added as in TRADE
        states = last.sum(0)[:, None].expand(-1, len(PAIRS), -1)
        names = self._names().expand(len(tokens), -1, -1)  # (B, P, D)
        states = self.decoder(names.flatten(0, 1), states.flatten(0, 1)).view_as(names)
        _, contexts = _attend(states, memory, mask)
        return Reading(tokens, mask, memory, states, self.gate(contexts))

    def write(
        self, reading: Reading, chosen: Bool[Tensor, "B P"], values: Int[Tensor, "N M"] | None = None
    ) -> Float[Tensor, "N M V"]:
        """Return the probabilities of the words of N chosen pairs' values.

        Parameters
        ----------
        reading
            From `forward`.
        chosen
            The N pairs, of any dialogues; most have no value, and nothing is computed for them.
        values
            Ids fed one step later, in training; by default the model's own words.
        """
        rows, pairs = chosen.nonzero().T
        tokens, mask, memory = (part[rows] for part in reading[:3])
        state, word = reading.states[rows, pairs], self._names()[pairs]
        written = []
        for step in range(self.config.longest if values is None else values.shape[1]):
            state = self.decoder(word, state) if step else state
            weights, context = (part.squeeze(1) for part in _attend(state[:, None], memory, mask))
            make = torch.sigmoid(self.mix(torch.cat([state, context, word], 1)))
            own = make * (state @ self.words.weight.T).softmax(1)
            written.append(own.scatter_add(1, tokens, (1 - make) * weights))  # (N, V)
            word = self.words(written[-1].argmax(1) if values is None else values[:, step])
        return torch.stack(written, 1)

    def _names(self) -> Float[Tensor, "P D"]:
        return self.names(self._rows).sum(1)

    @torch.no_grad()
    def states(self, batch: CopyBatch, tokenizer: Any) -> list[dict[str, str]]:
        """Write the states of B turns as text."""
        reading = self(batch.tokens, batch.mask)
        gates = reading.gates.argmax(2)
        texts = iter(self.write(reading, gates == WRITE).argmax(2).tolist())
        end = tokenizer.sep_token_id
        states = []
        for kinds in gates.tolist():
            state = {}
            for pair, kind in zip(PAIRS, kinds, strict=True):
                if kind == WRITE:
                    ids = next(texts)
                    text = tokenizer.decode(ids[: ids.index(end)] if end in ids else ids)
                else:
                    text = (NONE, DONTCARE)[kind]
                if text != NONE:
                    state[pair] = text
            states.append(state)
        return states


def _attend(
    queries: Float[Tensor, "B Q D"], memory: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
) -> tuple[Float[Tensor, "B Q T"], Float[Tensor, "B Q D"]]:
    """Return the weights of dot-product attention and the weighted memory."""
    weights = (queries @ memory.transpose(1, 2)).masked_fill(~mask[:, None], -torch.inf).softmax(2)
    return weights, weights @ memory


def copy_batch(
    turns: list[EncodedTurn], states: list[dict[str, str]], tokenizer: Any, *, longest: int = 4
) -> CopyBatch:
    """Pad B turns and spell out the values of their states; a longer value is cut."""
    plain = collate(turns)
    end = tokenizer.sep_token_id
    gates, values = [], []
    for state in states:
        texts = [state.get(pair, NONE) for pair in PAIRS]
        gates.append([0 if t == NONE else 1 if t == DONTCARE else WRITE for t in texts])
        spelled = [tokenizer(t, add_special_tokens=False)["input_ids"][: longest - 1] for t in texts]
        rows = [[*ids, end] if kind == WRITE else [] for ids, kind in zip(spelled, gates[-1], strict=True)]
        values.append(pad([*rows, [0] * longest])[:-1])
    return CopyBatch(plain.tokens, plain.mask, torch.tensor(gates), torch.stack(values))


def copy_loss(model: CopyTracker, batch: CopyBatch) -> Float[Tensor, ""]:
    """Sum the losses of gates and words over the pairs, in nats a turn."""
    reading = model(batch.tokens, batch.mask)
    total = functional.cross_entropy(reading.gates.flatten(0, 1), batch.gates.flatten(), reduction="sum")
    chosen = batch.gates == WRITE
    values = batch.values[chosen]
    values = values[:, : max(1, int((values != 0).any(0).sum()))]
    words = model.write(reading, chosen, values).clamp(min=1e-9).log()
    total = total + functional.nll_loss(
        words.flatten(0, 1), values.flatten(), ignore_index=0, reduction="sum"
    )
    return total / len(batch)
