r"""The stochastic answer network (SAN): several reasoning steps, whose predictions are averaged.

Source: the deck's section on pairwise text classification, equations 3 and 4; Liu et al. 2018,
https://arxiv.org/abs/1804.07888.

Axes: B pairs, T tokens, D width, K steps, C classes.

::

    M^h --weighted sum (w_1)--> s^0 ----------> s^1 ----------> ... s^{K-1}      GRU
                                 |  attend M^p   |  attend M^p
                                x^1             x^2
                                 |               |
                               P^0             P^1              ... P^{K-1}
                                 '------- mean over the steps -------'

In training each prediction is dropped with a probability, at least one stays; in evaluation all are averaged.

Notes
-----
The source writes :math:`P^k` with :math:`s^k` and :math:`x^k`, but :math:`x^0` is not defined. As the
authors' public code does, each step predicts from its state and from what that state reads.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.arguments import check_at_least

__all__ = ["Answer", "AnswerConfig", "AnswerNetwork"]


@dataclass(frozen=True, kw_only=True)
class AnswerConfig:
    """Sizes of an answer network.

    Raises
    ------
    ValueError
        If a size is below 1 or a probability is not at least 0 and below 1.
    """

    width: int
    classes: int
    steps: int = 5  # K; a hyperparameter in the source, 5 in the authors' code
    dropout: float = 0.1  # of states and features; 0.1 in the authors' code
    answer_dropout: float = 0.1  # of whole predictions; 0.1 in the authors' code

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "classes", "steps")
        for name in ("dropout", "answer_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {getattr(self, name)}")


class Answer(NamedTuple):
    """What the answer network gives.

    Attributes
    ----------
    log_probabilities, steps : (B, C), (K, B, C)
        Logarithm of the averaged prediction, and the probabilities that each step predicts.
    hypothesis : (B, T)
        Weights of the hypothesis' words in the first state, alpha.
    premise : (K, B, T)
        Weights of the premise's words at each step, beta.
    kept : (K, B)
        Which predictions were averaged; all in evaluation.
    """

    log_probabilities: Float[Tensor, "B C"]
    steps: Float[Tensor, "K B C"]
    hypothesis: Float[Tensor, "B T"]
    premise: Float[Tensor, "K B T"]
    kept: Bool[Tensor, "K B"]


def masked_softmax(scores: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T"]:
    """Softmax over the marked positions; zeros where none is marked."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


class AnswerNetwork(nn.Module):
    r"""Refine a state in K steps, predict at each, average the predictions.

    .. math::

        s^0 = \sum_j \alpha_j M^h_j, \quad \alpha = \mathrm{softmax}(w_1^\top M^h)

        x = \sum_j \beta_j M^p_j, \quad \beta = \mathrm{softmax}(s^k W_2^\top M^p), \quad
        s^{k+1} = \mathrm{GRU}(s^k, x)

        P^k = \mathrm{softmax}(W_3^\top [s^k; x; |s^k - x|; s^k \cdot x]), \quad
        P = \frac{1}{K} \sum_k P^k

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: AnswerConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.summary = nn.Linear(width, 1)  # w_1
        self.attend = nn.Linear(width, width)  # W_2
        self.cell = nn.GRUCell(width, width)
        self.classify = nn.Linear(4 * width, config.classes)  # W_3
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        states: Float[Tensor, "B T D"],
        premise: Bool[Tensor, "B T"],
        hypothesis: Bool[Tensor, "B T"],
    ) -> Answer:
        """Predict the relation of premise and hypothesis.

        Parameters
        ----------
        states
            Contextual vectors of both.
        premise, hypothesis
            True at the words of each.
        """
        # excerpt: answer network
        memory = self.dropout(states)
        alpha = masked_softmax(self.summary(memory)[..., 0], hypothesis)  # (B, T)
        state = torch.einsum("bt,btd->bd", alpha, states)  # s^0
        steps, betas = [], []
        for _ in range(self.config.steps):
            query = self.attend(self.dropout(state))
            beta = masked_softmax(torch.einsum("bd,btd->bt", query, memory), premise)
            read = torch.einsum("bt,btd->bd", beta, states)  # x
            features = torch.cat([state, read, (state - read).abs(), state * read], 1)
            steps.append(self.classify(self.dropout(features)).softmax(1))  # P^k, eq. 3
            betas.append(beta)
            state = self.cell(read, self.dropout(state))
        # end excerpt
        predictions = torch.stack(steps)  # (K, B, C)
        kept = self._kept(predictions)
        # excerpt: answer average
        weights = kept / kept.sum(0)  # (K, B); 1/K each in evaluation
        average = torch.einsum("kb,kbc->bc", weights, predictions)  # eq. 4
        # end excerpt
        return Answer(average.clamp(min=1e-30).log(), predictions, alpha, torch.stack(betas), kept)

    def _kept(self, predictions: Float[Tensor, "K B C"]) -> Bool[Tensor, "K B"]:
        """Draw which predictions stay: each with ``1 - answer_dropout``, and always one drawn at random."""
        count, rows, _ = predictions.shape
        if not self.training or not self.config.answer_dropout:
            return torch.ones(count, rows, dtype=torch.bool, device=predictions.device)
        kept = torch.rand(count, rows, device=predictions.device) >= self.config.answer_dropout
        always = torch.randint(count, (1, rows), device=predictions.device)
        return kept.scatter(0, always, True)
