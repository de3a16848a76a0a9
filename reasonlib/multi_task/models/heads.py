r"""Task-specific layers on the shared states (source, section *Model*, and equation 5).

::

    kind        head            gives                                       loss
    single      Classifier      softmax(W x), x the state of [CLS]          cross-entropy (eq. 6)
    similarity  Similarity      w x                                         squared error (eq. 7)
    pair        AnswerNetwork   several steps over both sentences' words    cross-entropy (eq. 6)
    ranking     Relevance       sigmoid(w x) of each candidate              -log softmax (eq. 8)

A ranking can also take the scores w x of `Similarity` to its softmax without the sigmoid, as the authors'
public code does.

Axes: B rows (a sentence, a pair, or a question with one candidate), D width, C classes, Q questions.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

__all__ = ["Classifier", "Relevance", "Similarity", "ranking_loss"]


class Classifier(nn.Module):
    r"""Logistic regression with softmax, :math:`P(c|X) = \mathrm{softmax}(W^\top x)`.

    Parameters
    ----------
    width, classes
        D and C.
    dropout
        Of x.
    """

    def __init__(self, width: int, classes: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, classes)

    def forward(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B C"]:
        """Give log-probabilities."""
        # excerpt: single
        return self.linear(self.dropout(x)).log_softmax(-1)
        # end excerpt


class Similarity(nn.Module):
    r"""Regression, :math:`\mathrm{Sim}(X_1, X_2) = w^\top x`.

    Parameters
    ----------
    width
        D.
    dropout
        Of x.
    start
        First value of the bias: the middle of the scale.
    """

    def __init__(self, width: int, dropout: float = 0.1, start: float = 2.5) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, 1)
        nn.init.constant_(self.linear.bias, start)

    def forward(self, x: Float[Tensor, "B D"]) -> Float[Tensor, " B"]:
        """Give similarities; the scale of the labels is 0 to 5."""
        # excerpt: similarity
        return self.linear(self.dropout(x))[..., 0]
        # end excerpt


class Relevance(nn.Module):
    r"""Relevance of a candidate, :math:`\mathrm{Rel}(Q, A) = g(w^\top x)` with the logistic g (eq. 5).

    Parameters
    ----------
    width
        D.
    dropout
        Of x.
    """

    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, 1)

    def forward(self, x: Float[Tensor, "B D"]) -> Float[Tensor, " B"]:
        """Give relevances between 0 and 1."""
        # excerpt: relevance
        return torch.sigmoid(self.linear(self.dropout(x))[..., 0])
        # end excerpt


def ranking_loss(
    relevance: Float[Tensor, " B"],
    groups: Int[Tensor, " B"],
    relevant: Bool[Tensor, " B"],
    *,
    gamma: float = 1.0,
) -> Tensor:
    r"""Return the mean of :math:`-\log P(A^+ | Q)`, a softmax over the candidates of a question (eq. 8).

    .. math:: P(A^+|Q) = \frac{\exp(\gamma \mathrm{Rel}(Q, A^+))}{\sum_{A} \exp(\gamma \mathrm{Rel}(Q, A))}

    Where a question has several right candidates, their probabilities are added.

    Parameters
    ----------
    relevance
        Of each candidate of Q questions, in order.
    groups
        Which question each belongs to, 0 to Q - 1.
    relevant
        Whether each is right.
    gamma
        Sharpness.

    Examples
    --------
    >>> groups = torch.tensor([0, 0, 0])
    >>> loss = ranking_loss(torch.zeros(3), groups, torch.tensor([True, False, False]))
    >>> round(float(loss.exp()), 4)
    3.0
    """
    # excerpt: ranking loss
    questions = int(groups[-1]) + 1
    scores = (gamma * relevance).exp()
    total = scores.new_zeros(questions).index_add(0, groups, scores)
    right = scores.new_zeros(questions).index_add(0, groups, scores * relevant)
    return (total.log() - right.clamp(min=1e-30).log()).mean()
    # end excerpt
