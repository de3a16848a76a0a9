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

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.state_tracking.data.encoding import EncodedTurn, collate
from reasonlib.state_tracking.data.ontology import DOMAINS, DONTCARE, NONE, PAIRS, SLOTS, domain_of, slot_of
from reasonlib.training.batching import pad

__all__ = ["CopyBatch", "CopyConfig", "CopyTracker", "Written", "copy_batch", "copy_loss"]


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


class Written(NamedTuple):
    """What the tracker says.

    Attributes
    ----------
    gates : (B, P, 3)
        Logits of none, dontcare, write.
    words : (B, P, M, V)
        Probabilities of the words.
    """

    gates: Float[Tensor, "B P 3"]
    words: Float[Tensor, "B P M V"]


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

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"],
        values: Int[Tensor, "B P M"] | None = None,
    ) -> Written:
        """Write the value of every pair; `values` are fed in training, else the model's own words."""
        both, last = self.encoder(self.words(tokens))
        width = self.config.width
        memory = both[..., :width] + both[..., width:]  # (B, T, D), the directions added as in TRADE
        batch, pairs = len(tokens), len(PAIRS)
        state = last.sum(0)[:, None].expand(-1, pairs, -1).reshape(-1, width)  # (B P, D)
        word = self.names(self._rows).sum(1)[None].expand(batch, -1, -1).reshape(-1, width)
        gates, written = None, []
        for step in range(self.config.longest):
            state = self.decoder(word, state)
            query = state.view(batch, pairs, width)
            scores = (query @ memory.transpose(1, 2)).masked_fill(~mask[:, None], -torch.inf)
            weights = scores.softmax(2)  # (B, P, T)
            context = weights @ memory
            if gates is None:
                gates = self.gate(context)
            make = torch.sigmoid(self.mix(torch.cat([query, context, word.view(batch, pairs, width)], 2)))
            own = make * (query @ self.words.weight.T).softmax(2)
            copied = (1 - make) * weights
            probs = own.scatter_add(2, tokens[:, None].expand(-1, pairs, -1), copied)  # (B, P, V)
            written.append(probs)
            chosen = probs.argmax(2) if values is None else values[:, :, step]
            word = self.words(chosen).view(-1, width)
        assert gates is not None
        return Written(gates, torch.stack(written, 2))

    @torch.no_grad()
    def states(self, batch: CopyBatch, tokenizer: Any) -> list[dict[str, str]]:
        """Write the states of B turns as text."""
        output = self(batch.tokens, batch.mask)
        gates, words = output.gates.argmax(2).tolist(), output.words.argmax(3).tolist()
        end = tokenizer.sep_token_id
        states = []
        for kinds, values in zip(gates, words, strict=True):
            state = {}
            for pair, kind, ids in zip(PAIRS, kinds, values, strict=True):
                ids = ids[: ids.index(end)] if end in ids else ids
                text = tokenizer.decode(ids) if kind == 2 else (NONE, DONTCARE)[kind]
                if text != NONE:
                    state[pair] = text
            states.append(state)
        return states


def copy_batch(
    turns: list[EncodedTurn], states: list[dict[str, str]], tokenizer: Any, *, longest: int = 4
) -> CopyBatch:
    """Pad B turns and spell out the values of their states; a longer value is cut."""
    plain = collate(turns)
    end = tokenizer.sep_token_id
    gates, values = [], []
    for state in states:
        texts = [state.get(pair, NONE) for pair in PAIRS]
        gates.append([0 if t == NONE else 1 if t == DONTCARE else 2 for t in texts])
        spelled = [tokenizer(t, add_special_tokens=False)["input_ids"][: longest - 1] for t in texts]
        rows = [[*ids, end] if kind == 2 else [] for ids, kind in zip(spelled, gates[-1], strict=True)]
        values.append(pad([*rows, [0] * longest])[:-1])
    return CopyBatch(plain.tokens, plain.mask, torch.tensor(gates), torch.stack(values))


def copy_loss(model: CopyTracker, batch: CopyBatch) -> Float[Tensor, ""]:
    """Sum the losses of gates and words over the pairs, in nats a turn."""
    output = model(batch.tokens, batch.mask, batch.values)
    total = functional.cross_entropy(output.gates.flatten(0, 1), batch.gates.flatten(), reduction="sum")
    words = output.words.clamp(min=1e-9).log()
    total = total + functional.nll_loss(
        words.flatten(0, 2), batch.values.flatten(), ignore_index=0, reduction="sum"
    )
    return total / len(batch)
