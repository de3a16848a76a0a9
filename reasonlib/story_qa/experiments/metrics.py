"""How well a model answers, task by task, and whether it looked at the sentences that matter.

Axes: N questions, K hops, S memory slots.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch

from reasonlib.story_qa.data.encoding import StorySet
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.models.memory_network import MemoryNetwork

__all__ = ["FAILED", "attention_on_support", "by_support", "predict", "scores"]

FAILED = 0.05  # a task with a larger error counts as failed (Weston et al. 2015, section 3)


def scores(tasks: Sequence[int] | np.ndarray, correct: Sequence[bool] | np.ndarray) -> dict[str, float]:
    """Average over questions within a task, then over tasks.

    Parameters
    ----------
    tasks
        Task of each of N questions.
    correct
        Whether each was answered rightly; a list or a path must be right as a whole.

    Returns
    -------
    dict
        ``accuracy`` (mean over tasks), ``accuracy.without_3`` (the same without task 3, whose 10k training
        file is not always at hand), ``failed`` (tasks with more than 5 % error), ``accuracy.qa1`` and so on.

    Raises
    ------
    ValueError
        If there are no questions.
    """
    tasks, correct = np.asarray(tasks), np.asarray(correct, dtype=float)
    if not len(tasks):
        raise ValueError("scores needs at least one question, got none")
    each = {int(task): float(correct[tasks == task].mean()) for task in np.unique(tasks)}
    others = [value for task, value in each.items() if task != 3]
    return {
        "accuracy": float(np.mean(list(each.values()))),
        "accuracy.without_3": float(np.mean(others)) if others else float("nan"),
        "failed": float(sum(value < 1 - FAILED for value in each.values())),
        **{f"accuracy.qa{task}": value for task, value in each.items()},
    }


@torch.no_grad()
def predict(
    model: MemoryNetwork, stories: StorySet, *, size: int = 256, items: Iterable[int] | None = None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Answer questions with a memory network.

    Parameters
    ----------
    model
        In whatever mode it is; nothing in it draws random numbers.
    stories
        The questions.
    size
        Questions in a batch.
    items
        Which questions; all by default.

    Returns
    -------
    answers : (N,)
        Class of each answer.
    weights : N arrays of shape (K, sentences kept)
        Attention of each hop, oldest sentence first, over the sentences that fitted into memory.
    """
    chosen = np.arange(len(stories)) if items is None else np.fromiter(items, dtype=np.int64)
    answers = np.zeros(len(chosen), dtype=np.int64)
    weights: list[np.ndarray] = [np.empty(0)] * len(chosen)
    slots = model.config.slots
    device = model.words.device
    order = np.argsort(stories.lengths[chosen], kind="stable")
    for start in range(0, len(order), size):
        indices = order[start : start + size]
        output = model(stories.batch(chosen[indices], slots=slots).to(device))
        answers[indices] = output.logits.argmax(1).cpu().numpy()
        attention = output.weights.cpu().numpy()
        for row, position in enumerate(indices):
            kept = min(int(stories.lengths[chosen[position]]), slots)
            weights[position] = attention[row, :, :kept][:, ::-1]
    return answers, weights


def attention_on_support(examples: Sequence[Example], weights: Sequence[np.ndarray]) -> dict[str, float]:
    """Compare where the hops look with the sentences labelled as needed.

    Parameters
    ----------
    examples
        N questions with labels.
    weights
        Attention (K, sentences kept) of each, as `predict` gives it.

    Returns
    -------
    dict
        ``support.found``: share of the supporting sentences on which some hop puts its largest weight.
        ``support.weight``: weight on supporting sentences, averaged over hops.
        ``support.chance``: the weight that looking everywhere alike would put on them.
    """
    result, weight, chance = [], [], []
    for example, attention in zip(examples, weights, strict=True):
        forgotten = len(example.story) - attention.shape[1]
        support = {position - forgotten for position in example.support}
        in_memory = [position for position in support if position >= 0]
        if not support or not attention.size:
            continue
        top = set(attention.argmax(1).tolist())
        result.append(sum(position in top for position in support) / len(support))
        weight.append(float(attention[:, in_memory].sum(1).mean()))
        chance.append(len(in_memory) / attention.shape[1])
    if not result:
        return {}
    return {
        "support.found": float(np.mean(result)),
        "support.weight": float(np.mean(weight)),
        "support.chance": float(np.mean(chance)),
    }


def by_support(examples: Sequence[Example], correct: Sequence[bool] | np.ndarray) -> Mapping[str, float]:
    """Average the accuracy over questions that need one sentence (``facts.1``), two (``facts.2``) and so on.

    Questions that need more than eight share ``facts.9``.
    """
    groups: dict[int, list[bool]] = {}
    for example, right in zip(examples, correct, strict=True):
        groups.setdefault(min(len(example.support), 9), []).append(bool(right))
    return {f"facts.{count}": float(np.mean(groups[count])) for count in sorted(groups) if count}
