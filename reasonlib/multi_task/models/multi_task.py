r"""MT-DNN: one encoder for all tasks, one head for each (Liu et al. 2019, figure 1).

::

    [CLS] a man plays . [SEP] a boy sings . [SEP]
      |
    shared encoder (lexicon and Transformer)            l_1, l_2
      |            \________________ words of both ____
    state of [CLS]                                      |
      |          |             |                        |
    Classifier  Similarity   Relevance            AnswerNetwork
    (single)    (similarity) (ranking)            (pair)

With one task this is ST-DNN: the same architecture, refined by no other task.

Axes: B rows, T tokens, D width, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_choice
from reasonlib.multi_task.data.encoding import Batch
from reasonlib.multi_task.data.example import Task
from reasonlib.multi_task.models.answer_network import Answer, AnswerConfig, AnswerNetwork
from reasonlib.multi_task.models.encoder import SharedEncoder, word_masks
from reasonlib.multi_task.models.heads import Classifier, Relevance, Similarity, ranking_loss

__all__ = ["HeadConfig", "MultiTask", "Scores", "task_loss"]


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """Which head a pair and a ranking get, and the sizes of the answer network.

    Raises
    ------
    ValueError
        If there is no such head, or a number is out of range.
    """

    pair: str = "san"  # san | linear
    ranking: str = "relevance"  # relevance | scores: no sigmoid | classification: each by itself
    dropout: float = 0.1
    steps: int = 5
    answer_dropout: float = 0.1
    gamma: float = 1.0  # sharpness of the ranking's softmax

    def __post_init__(self) -> None:
        rankings = ("relevance", "scores", "classification")
        check_choice("pair", self.pair, ("san", "linear"))
        check_choice("ranking", self.ranking, rankings)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")
        if not self.gamma > 0:
            raise ValueError(f"gamma must be above 0, got {self.gamma}")


class Scores(NamedTuple):
    """What a task's head gives for the B rows of a batch.

    Attributes
    ----------
    values : (B, C) or (B,)
        Log-probabilities of classes, similarities, or relevances.
    pooled : (B, D)
        The state of ``[CLS]``.
    answer
        The steps of the answer network, where the head is one.
    """

    values: Tensor
    pooled: Float[Tensor, "B D"]
    answer: Answer | None


class MultiTask(nn.Module):
    """A shared encoder and one head for each task.

    Parameters
    ----------
    encoder
        A `transformers` encoder, as `load_encoder` gives it.
    tasks
        The tasks.
    config
        Of the heads.
    seed
        Draws the heads' first weights.
    half
        As of `SharedEncoder`.

    Raises
    ------
    ValueError
        If there is no task, or two have one name.
    """

    def __init__(
        self,
        encoder: Any,
        tasks: Sequence[Task],
        config: HeadConfig | None = None,
        *,
        seed: int = 0,
        half: bool = False,
    ) -> None:
        super().__init__()
        if not tasks or len({task.name for task in tasks}) < len(tasks):
            raise ValueError(f"tasks must be distinct, and at least one, got {[task.name for task in tasks]}")
        self.config = config or HeadConfig()
        self.encoder = SharedEncoder(encoder, half=half)
        self.tasks = {task.name: task for task in tasks}
        self.heads = nn.ModuleDict()
        for number, task in enumerate(tasks):
            with training.seeded(1000 * seed + number):
                self.heads[task.name] = make_head(task, self.encoder.width, self.config)

    def forward(self, batch: Batch) -> Scores:
        """Encode the batch and apply the head of its task."""
        # excerpt: forward
        # the shared layers: (B, T, D)
        states = self.encoder(batch.tokens, batch.segments, batch.mask)
        head = self.heads[batch.task]
        if isinstance(head, AnswerNetwork):
            first, second = word_masks(batch.segments, batch.mask)
            answer = head(states, first, second)
            return Scores(answer.log_probabilities, states[:, 0], answer)
        return Scores(head(states[:, 0]), states[:, 0], None)
        # end excerpt

    def predictions(self, scores: Scores, batch: Batch) -> list[Any]:
        """Return for each example its class, its similarity, or the scores of its candidates."""
        kind = self.tasks[batch.task].kind
        values = scores.values
        if kind == "ranking":
            rows = values[:, 1] if values.dim() == 2 else values
            counts = torch.bincount(batch.groups).tolist()
            return [part.tolist() for part in rows.split(counts)]
        return values.tolist() if kind == "similarity" else values.argmax(1).tolist()


def make_head(task: Task, width: int, config: HeadConfig) -> nn.Module:
    """Make the head of a task with new weights."""
    if task.kind == "similarity":
        return Similarity(width, config.dropout)
    if task.kind == "ranking":
        if config.ranking == "relevance":
            return Relevance(width, config.dropout)
        if config.ranking == "scores":
            return Similarity(width, config.dropout, start=0.0)
        return Classifier(width, 2, config.dropout)
    if task.kind == "pair" and config.pair == "san":
        return AnswerNetwork(
            AnswerConfig(
                width=width,
                classes=len(task.labels),
                steps=config.steps,
                dropout=config.dropout,
                answer_dropout=config.answer_dropout,
            )
        )
    return Classifier(width, len(task.labels), config.dropout)


def task_loss(model: MultiTask, batch: Batch) -> Tensor:
    """Return the loss of a batch's task: equation 6, 7 or 8 of algorithm 1."""
    values = model(batch).values
    kind = model.tasks[batch.task].kind
    # excerpt: losses
    if kind == "similarity":
        return functional.mse_loss(values, batch.labels)  # eq. 7
    if kind == "ranking" and values.dim() == 1:
        return ranking_loss(  # eq. 8
            values,
            batch.groups,
            batch.relevant,
            gamma=model.config.gamma,
        )
    labels = batch.relevant if kind == "ranking" else batch.labels
    return functional.nll_loss(values, labels.long())  # eq. 6
    # end excerpt
