"""Exercises of the chapter "Four heads"."""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.multi_task.models.pretrained import from_pretrained
from reasonlib.multi_task.page.answering import ask
from reasonlib.multi_task.page.relations import TRUTHS, changed_word, relation

__all__ = ["check_answer", "check_fooling_pair", "check_ranking_loss"]


def san_answer(logits: Tensor, kept: Tensor | None = None) -> Tensor:
    """Average the probabilities of the steps, without those that are dropped."""
    probabilities = logits.softmax(-1)
    if kept is None:
        return probabilities.mean(0)
    return (probabilities * kept[:, :, None]).sum(0) / kept.sum(0)[:, None]


@exercise(title="Average the steps of the answer network", minutes=15, points=2)
@hint("Turn the scores of each step into probabilities first; then average over the steps that are kept.")
def check_answer(answer: Answer, seed: int) -> None:
    """Check ``answer(logits, kept)``: equation 4 with stochastic prediction dropout.

    ``logits`` is (K, B, C), the scores of each step. ``kept`` is (K, B), 1 for a step that counts and 0 for
    a step that is dropped; at least one step counts for every example. Return (B, C): the mean of the
    probabilities over the steps that count.
    """
    draw = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(4, 3, 3, generator=draw)
    every = torch.ones(4, 3)
    expect_close(
        answer(logits.clone(), every.clone()),
        san_answer(logits),
        "with every step kept, the mean of the probabilities of the steps",
        wrong={
            "average probabilities, not scores: the softmax comes first": logits.mean(0).softmax(-1),
            "this is the last step alone": logits[-1].softmax(-1),
            "this is the sum over the steps: divide by how many count": logits.softmax(-1).sum(0),
        },
    )
    kept = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    kept = kept[torch.randperm(4, generator=draw)]
    probabilities = logits.softmax(-1)
    expect_close(
        answer(logits.clone(), kept.clone()),
        san_answer(logits, kept),
        "some steps are dropped: average over the others, example by example",
        wrong={
            "dropped steps still count: leave them out": probabilities.mean(0),
            "divide by the number of kept steps, not by K": (probabilities * kept[:, :, None]).mean(0),
            "divide by the kept steps of each example, not by their mean over the batch": (
                probabilities * kept[:, :, None]
            ).sum(0)
            / kept.sum(0).mean(),
            "a dropped step has no answer; with zero scores it says that all classes are equally likely": (
                logits * kept[:, :, None]
            )
            .softmax(-1)
            .mean(0),
        },
    )


def ranking_loss(scores: Tensor, right: Sequence[int], counts: Sequence[int]) -> Tensor:
    """Compute the mean over questions of minus the log-probability of the right candidate."""
    parts = scores.split(list(counts))
    losses = [-part.log_softmax(0)[index] for part, index in zip(parts, right, strict=True)]
    return torch.stack(losses).mean()


@exercise(title="Rank the candidates of one question", minutes=20, points=3)
@hint("`scores.split(counts)` cuts the scores into questions; each gets a softmax of its own.")
def check_ranking_loss(answer: Answer, seed: int) -> None:
    """Check ``ranking_loss(scores, right, counts)``: the loss of the relevance ranking head (equation 8).

    ``scores`` holds the scores of all candidates of all questions, one question after another; ``counts``
    how many candidates each question has; ``right`` which of them is right, counted from 0 within its
    question. Return the mean over the questions of minus the log-probability of the right candidate.
    """
    draw = torch.Generator().manual_seed(seed)
    chance = random.Random(seed)
    counts = [chance.randint(2, 3), chance.randint(4, 6), chance.randint(2, 4)]
    scores = 2 * torch.randn(sum(counts), generator=draw)
    right = [chance.randrange(1, count) for count in counts]
    starts = [sum(counts[:number]) for number in range(len(counts))]
    positions = [start + index for start, index in zip(starts, right, strict=True)]
    target = torch.zeros_like(scores)
    target[positions] = 1.0
    binary = torch.nn.functional.binary_cross_entropy_with_logits(scores, target)
    parts = [-part.log_softmax(0)[index] for part, index in zip(scores.split(counts), right, strict=True)]
    expect_close(
        answer(scores.clone(), list(right), list(counts)),
        ranking_loss(scores, right, counts),
        "a softmax over the candidates of each question, then the mean over the questions",
        wrong={
            "this is one softmax over all candidates; only those of one question compete": (
                -scores.log_softmax(0)[positions].mean()
            ),
            "this judges each pair alone, as a classifier; ranking compares a question's candidates": binary,
            "return the mean over the questions, not their sum": torch.stack(parts).sum(),
            "take minus the logarithm of the probability": torch.stack(
                [(-part).exp() for part in parts]
            ).mean(),
            "`right` counts from 0 within each question": -torch.stack(
                [scores.log_softmax(0)[index] for index in right]
            ).mean(),
        },
        tolerance=1e-4,
    )
    shift = torch.cat([torch.full((count,), 3.0 * number) for number, count in enumerate(counts)])
    expect_close(
        answer(scores + shift, list(right), list(counts)),
        ranking_loss(scores, right, counts),
        "the same number added to all scores of a question must change nothing",
        tolerance=1e-4,
    )


@exercise(title="Fool two heads and not the third", minutes=25, points=3)
@hint("Replace one word by a synonym, an opposite or a more general word; `ask` asks a head.")
def check_fooling_pair(answer: Answer) -> None:
    """Check ``fooling_pair()``: two sentences on which two of three heads of the bundled model are wrong.

    It returns ``(first, second)``. The second sentence is the first with one word replaced by a word of the
    small world: a synonym, an opposite, one that is more general or more specific, or one that excludes it.
    So it is known what the heads *inference*, *entailment* and *paraphrase* should answer. Exactly two must
    be wrong.
    """
    returned = answer()
    expect(
        isinstance(returned, (tuple, list)) and len(returned) == 2, "return two sentences: (first, second)"
    )
    first, second = (str(text).lower() for text in returned)
    vocabulary = from_pretrained().tokenizer.get_vocab()
    unknown = sorted({word for text in (first, second) for word in text.split() if word not in vocabulary})
    expect(not unknown, f"the model does not know {', '.join(unknown[:3])}: use words of the small world")
    expect(len(first.split()) >= 5, "write whole sentences, such as “a man sips a wine .”")
    expect("not" not in first.split(), "leave out “not”: it turns around what follows from what")
    change = changed_word(first, second)
    expect(change is not None, "replace exactly one word of the first sentence, and keep all others")
    kind = relation(*(change or ("", "")))
    expect(
        kind is not None,
        "the two words must be related in the small world: synonyms, opposites, or one more general",
    )
    truths = TRUTHS[kind or "synonym"]
    given = {task: ask(task, first, second).words for task in truths}
    wrong = [task for task, truth in truths.items() if given[task] != truth]
    answers = "; ".join(f"{task} says {given[task]}, right is {truth}" for task, truth in truths.items())
    expect(len(wrong) == 2, f"{len(wrong)} of the three heads are wrong, and it should be two. {answers}")
