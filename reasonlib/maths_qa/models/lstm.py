r"""The attentional LSTM that the Transformer is compared with (Saxton et al. 2019, section 4.1).

An encoder LSTM reads the question. At each step the decoder LSTM takes the last character and what its
attention read before; the attention is additive (Bahdanau et al. 2014).

Axes: B problems, S characters of the question, U of the answer, D width, V vocabulary.

::

    question --> encoder LSTM --> states (B, S, D)
                                   ^ attention
    [SOS] answer --> decoder LSTM -'--> output --> logits (B, U, V)
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reasonlib.maths_qa.data.encoding import Batch
from reasonlib.maths_qa.data.vocabulary import PAD, SIZE
from reasonlib.maths_qa.models.transformer import Solved
from reasonlib.training import seeded

__all__ = ["LSTMProgress", "LSTMSolver"]

State = tuple[Tensor, Tensor]


class LSTMProgress(NamedTuple):
    """Where the writing of answers stands; see `reasonlib.nn.decoding`."""

    states: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]
    hidden: Float[Tensor, "B D"]
    cell: Float[Tensor, "B D"]
    read: Float[Tensor, "B D"]
    weights: Float[Tensor, "B S"]

    def select(self, rows: Int[Tensor, " N"]) -> "LSTMProgress":
        """Keep these answers, in this order; one may be named twice."""
        return LSTMProgress(*(part[rows] for part in self))


class LSTMSolver(nn.Module):
    """Read questions with one LSTM, write answers with another.

    Parameters
    ----------
    width : int
        D, of the embeddings and of both LSTMs.
    seed : int
        Draws the first weights.
    """

    def __init__(self, width: int, *, seed: int = 0) -> None:
        super().__init__()
        if width < 1:
            raise ValueError(f"width must be at least 1, got {width}")
        with seeded(seed):
            self.tokens = nn.Embedding(SIZE, width, padding_idx=PAD)
            self.encoder = nn.LSTM(width, width, batch_first=True)
            self.decoder = nn.LSTMCell(2 * width, width)
            self.query = nn.Linear(width, width)
            self.key = nn.Linear(width, width, bias=False)
            self.match = nn.Linear(width, 1, bias=False)
            self.output = nn.Linear(2 * width, SIZE)

    def begin(self, question: Int[Tensor, "B S"]) -> LSTMProgress:
        """Read questions once."""
        question = question.to(self.output.weight.device)
        mask = question != PAD
        states, _ = self.encoder(self.tokens(question))
        last = states[torch.arange(len(question)), mask.sum(1) - 1]
        zeros = torch.zeros_like(last)
        return LSTMProgress(states, mask, last, zeros, zeros, torch.zeros_like(mask, dtype=states.dtype))

    def step(
        self, progress: LSTMProgress, tokens: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B V"], LSTMProgress]:
        """Take one more character of each answer and give the logits of the next."""
        x = torch.cat((self.tokens(tokens), progress.read), 1)
        hidden, cell = self.decoder(x, (progress.hidden, progress.cell))
        keys = self.key(progress.states) + self.query(hidden).unsqueeze(1)
        scores = self.match(keys.tanh()).squeeze(2).masked_fill(~progress.mask, -torch.inf)
        weights = scores.softmax(1)  # (B, S)
        read = (weights.unsqueeze(1) @ progress.states).squeeze(1)
        logits = self.output(torch.cat((hidden, read), 1))
        return logits, LSTMProgress(progress.states, progress.mask, hidden, cell, read, weights)

    def forward(self, batch: Batch) -> Solved:
        """Score the answers of a batch."""
        progress = self.begin(batch.question)
        logits, attention = [], []
        for tokens in batch.given.unbind(1):
            scores, progress = self.step(progress, tokens)
            logits.append(scores)
            attention.append(progress.weights.detach())
        return Solved(torch.stack(logits, 1), torch.stack(attention, 1))

    def scores(self, batch: Batch) -> Float[Tensor, "B U V"]:
        """Return the logits of `forward`."""
        return self.forward(batch).logits

    def advance(
        self, progress: LSTMProgress, tokens: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B V"], LSTMProgress]:
        """Take one more character and give the log-probability (nats) of every next one."""
        logits, progress = self.step(progress, tokens.to(progress.states.device))
        return logits.log_softmax(-1).cpu(), progress
