"""Graded exercises of the chapters on many tasks and one encoder.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reasonlib.grading.checks import exercise, expect, expect_close
from reasonlib.multi_task.experiments import conflict
from reasonlib.multi_task.models.pretrained import from_pretrained
from reasonlib.multi_task.page.answering import ask
from reasonlib.multi_task.page.relations import TRUTHS, changed_word, relation

__all__ = [
    "check_answer",
    "check_fooling_pair",
    "check_luck",
    "check_matthews",
    "check_project",
    "check_ranking_loss",
    "check_safe_weights",
    "check_task_shares",
    "check_third_task",
]

# Chapter "Many small sets, one encoder" ---------------------------------------------------------------------


def confusion(predicted: Sequence[int], labels: Sequence[int]) -> tuple[int, int, int, int]:
    """Count true positives, true negatives, false positives and false negatives."""
    pairs = list(zip(predicted, labels, strict=True))
    return pairs.count((1, 1)), pairs.count((0, 0)), pairs.count((1, 0)), pairs.count((0, 1))


def matthews(predicted: Sequence[int], labels: Sequence[int]) -> float:
    """Compute the Matthews correlation of labels 0 and 1; 0 if a prediction or a label never occurs."""
    tp, tn, fp, fn = confusion(predicted, labels)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0


@exercise(
    title="Compute the Matthews correlation",
    minutes=10,
    points=2,
    hint="Count the four cells of the confusion matrix first: (1, 1), (0, 0), (1, 0) and (0, 1).",
)
def check_matthews(answer: Callable[..., Any], seed: int) -> None:
    """Check ``matthews(predicted, labels)``: the Matthews correlation of two lists of 0 and 1.

    Where a prediction or a label never occurs, the denominator is 0, and so is the correlation.
    """
    draw = random.Random(seed)
    counts = {(1, 1): draw.randint(20, 30), (0, 0): draw.randint(4, 7), (1, 0): draw.randint(2, 3)}
    counts[0, 1] = draw.randint(8, 11)
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    draw.shuffle(pairs)
    predicted, labels = [said for said, _ in pairs], [right for _, right in pairs]
    tp, tn, fp, fn = confusion(predicted, labels)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    expect_close(
        answer(list(predicted), list(labels)),
        matthews(predicted, labels),
        f"{tp} true positives, {tn} true negatives, {fp} false positives and {fn} false negatives",
        wrong={
            "this is the accuracy, which a constant answer can please": (tp + tn) / len(pairs),
            "this is F1, which ignores the true negatives": 2 * tp / (2 * tp + fp + fn),
            "the denominator is the square root of the product": (tp * tn - fp * fn) / below,
            "the wrong predictions count against the right ones: subtract their product": (tp * tn + fp * fn)
            / math.sqrt(below),
        },
    )
    same = [1] * draw.randint(3, 6)
    constant = answer([*same, 1], [*same, 0])
    expect_close(constant, 0.0, "whoever always answers 1 has learnt nothing: return 0")
    expect_close(
        answer([1, 0, 1, 0], [0, 1, 0, 1]), -1.0, "when every answer is wrong, the correlation is -1"
    )


def task_shares(sizes: dict[str, int], temperature: float) -> dict[str, float]:
    """Compute the share of steps of each task: its size to the power of 1 / temperature, normalised."""
    raised = {task: size ** (1 / temperature) for task, size in sizes.items()}
    total = sum(raised.values())
    return {task: value / total for task, value in raised.items()}


@exercise(
    title="Do not forget the smallest task",
    minutes=15,
    points=2,
    hint="Raise each size to the power of 1 / temperature, then divide by the sum.",
)
def check_task_shares(answer: Callable[..., Any], seed: int) -> None:
    """Check ``task_shares(sizes, temperature)``: how often each task is drawn.

    ``sizes`` maps the name of a task to its number of training examples. Return a dictionary of shares that
    sum to one. A temperature of 1 draws in proportion to the sizes, 2 to their square roots; as it grows, the
    shares become equal.
    """
    draw = random.Random(seed)
    sizes = {"inference": draw.randint(2000, 4000), "similarity": draw.randint(300, 500)}
    sizes["acceptability"] = draw.randint(30, 60)
    names = list(sizes)

    def listed(shares: Any) -> list[float]:
        expect(isinstance(shares, dict), "return a dictionary from the name of each task to its share")
        expect(set(shares) == set(sizes), f"every task needs a share: {', '.join(names)}")
        return [float(shares[name]) for name in names]

    proportional = [size / sum(sizes.values()) for size in sizes.values()]
    powers = [size**2 for size in sizes.values()]
    roots = [size**0.5 for size in sizes.values()]
    expect_close(
        listed(answer(dict(sizes), 2.0)),
        listed(task_shares(sizes, 2.0)),
        "temperature 2 draws in proportion to the square roots of the sizes",
        wrong={
            "this is proportional to the sizes: the temperature changes nothing": proportional,
            "the exponent is 1 divided by the temperature, not the temperature": [
                power / sum(powers) for power in powers
            ],
            "the shares must sum to one: divide by the sum of the powers": roots,
            "equal shares come only with a very high temperature": [1 / 3] * 3,
            "divide by the sum of the powers, not of the sizes": [
                root / sum(sizes.values()) for root in roots
            ],
        },
    )
    expect_close(listed(answer(dict(sizes), 1.0)), proportional, "temperature 1 is proportional")
    warm = listed(answer(dict(sizes), 5.0))
    expect_close(warm, listed(task_shares(sizes, 5.0)), "temperature 5: the fifth root of every size")


def at_least(heads: int, throws: int) -> float:
    """Return the probability of at least `heads` heads in `throws` throws of a fair coin."""
    return sum(math.comb(throws, number) for number in range(heads, throws + 1)) / 2**throws


@exercise(
    title="Ask whether a gain is luck",
    minutes=20,
    points=2,
    hint="Count the examples that only the joint model gets right, and those that only the other gets right.",
)
def check_luck(answer: Callable[..., Any], seed: int) -> None:
    """Check ``luck(alone, joint)``: how probable a gain is if sharing changes nothing.

    ``alone`` and ``joint`` say for each test example whether a model is right (1) or wrong (0). On the m
    examples where the two differ, the joint model is right k times. Return the probability of at least k
    heads in m throws of a fair coin; 1 if m is 0.
    """
    draw = random.Random(seed)
    gained, lost = draw.randint(10, 14), draw.randint(4, 7)
    both, neither = draw.randint(60, 80), draw.randint(15, 25)
    pairs = [(0, 1)] * gained + [(1, 0)] * lost + [(1, 1)] * both + [(0, 0)] * neither
    draw.shuffle(pairs)
    alone, joint = [one for one, _ in pairs], [other for _, other in pairs]
    right = at_least(gained, gained + lost)
    expect_close(
        answer(list(alone), list(joint)),
        right,
        f"only the joint model is right on {gained} examples, only the single model on {lost}",
        wrong={
            "examples on which both models are right or both are wrong do not count: leave them out": (
                at_least(sum(joint), len(pairs))
            ),
            "leave out the examples on which both models are right": at_least(
                gained + both, len(pairs) - neither
            ),
            "count exactly k heads as well: at least k, not more than k": at_least(gained + 1, gained + lost),
            "this is the probability of exactly k heads: add those of more heads": (
                math.comb(gained + lost, gained) / 2 ** (gained + lost)
            ),
            "count what the joint model gains, not what it loses": at_least(lost, gained + lost),
            "only a gain counts here, so do not double the probability": 2 * right,
            "this is the gain in accuracy, not a probability": (gained - lost) / len(pairs),
        },
    )
    few = draw.randint(2, 4)
    expect_close(
        answer([1] * few + [0] * few, [0] * few + [1] * few),
        at_least(few, 2 * few),
        "each model alone is right equally often, so the probability is above one half",
    )
    expect_close(answer([1, 0, 1], [1, 0, 1]), 1.0, "the two models never differ: return 1")


# Chapter "Four heads" ---------------------------------------------------------------------------------------


def san_answer(logits: Tensor, kept: Tensor | None = None) -> Tensor:
    """Average the probabilities of the steps, without those that are dropped."""
    probabilities = logits.softmax(-1)
    if kept is None:
        return probabilities.mean(0)
    return (probabilities * kept[:, :, None]).sum(0) / kept.sum(0)[:, None]


@exercise(
    title="Average the steps of the answer network",
    minutes=15,
    points=2,
    hint="Turn the scores of each step into probabilities first; then average over the steps that are kept.",
)
def check_answer(answer: Callable[..., Any], seed: int) -> None:
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


@exercise(
    title="Rank the candidates of one question",
    minutes=20,
    points=3,
    hint="`scores.split(counts)` cuts the scores into questions; each gets a softmax of its own.",
)
def check_ranking_loss(answer: Callable[..., Any], seed: int) -> None:
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


@exercise(
    title="Fool two heads and not the third",
    minutes=25,
    points=3,
    hint="Replace one word by a synonym, an opposite or a more general word; `ask` asks a head.",
)
def check_fooling_pair(answer: Callable[..., Any]) -> None:
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
    known = from_pretrained().tokenizer.get_vocab()
    unknown = sorted({word for text in (first, second) for word in text.split() if word not in known})
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
    said = "; ".join(f"{task} says {given[task]}, right is {truth}" for task, truth in truths.items())
    expect(len(wrong) == 2, f"{len(wrong)} of the three heads are wrong, and it should be two. {said}")


# Chapter "When sharing helps" -------------------------------------------------------------------------------


def project(gradient: Tensor, other: Tensor) -> Tensor:
    """Remove from a gradient its part along another one if the two conflict (PCGrad)."""
    product = gradient @ other
    return gradient - product / (other @ other) * other if product < 0 else gradient


@exercise(
    title="Remove a conflict",
    minutes=15,
    points=2,
    hint="The projection of g onto h is (g · h) / (h · h) times h. Subtract it only if g · h is negative.",
)
def check_project(answer: Callable[..., Any], seed: int) -> None:
    """Check ``project(gradient, other)``: what PCGrad makes of one task's gradient.

    Both are vectors. If they conflict (their product is negative), remove the part of ``gradient`` that
    points against ``other``. If they do not, return ``gradient`` as it is.
    """
    draw = torch.Generator().manual_seed(seed)
    first, second = torch.randn(6, generator=draw), torch.randn(6, generator=draw)
    second = second * 1.7
    if first @ second > 0:
        second = -second
    product = first @ second
    expect_close(
        answer(first.clone(), second.clone()),
        project(first, second),
        "the two conflict: subtract the projection of the gradient onto the other",
        wrong={
            "the projection lies along the other gradient, not along the gradient itself": first
            - product / (first @ first) * first,
            "divide by the squared length of the other gradient": first - product * second,
            "divide by the square of the length, not by the length": first - product / second.norm() * second,
            "this is the part that conflicts: subtract it from the gradient": product
            / (second @ second)
            * second,
            "subtract the projection, do not add it": first + product / (second @ second) * second,
            "the two conflict, and you changed nothing": first,
        },
    )
    expect_close(
        answer(first.clone(), -second),
        first,
        "these two point the same way: leave the gradient as it is",
        wrong={"you project even where there is no conflict": first - product / (second @ second) * second},
    )


def safe_weights(first: Tensor, second: Tensor) -> tuple[float, float]:
    """Return the least and the greatest weight of the first gradient with which no loss rises."""
    product = float(first @ second)
    if product >= 0:
        return 0.0, 1.0
    return -product / (float(first @ first) - product), float(second @ second) / (
        float(second @ second) - product
    )


@exercise(
    title="Weigh two tasks so that neither loses",
    minutes=20,
    points=3,
    hint="A small step against d raises a task's loss if its gradient times d is negative. Solve for w.",
)
def check_safe_weights(answer: Callable[..., Any], seed: int) -> None:
    """Check ``safe_weights(first, second)``: which weights let a joint step hurt neither of two tasks.

    Both are gradients. A small step is taken against w first + (1 - w) second, with w from 0 to 1. Return the
    least and the greatest w for which neither loss rises; (0, 1) if the two gradients do not conflict.
    """
    draw = torch.Generator().manual_seed(seed)
    first, side = torch.randn(2, 5, generator=draw, dtype=torch.float64)
    side -= side @ first / (first @ first) * first  # at a right angle to the first
    size = 2 + torch.rand(1, generator=draw, dtype=torch.float64)
    second = size * (0.6 * side / side.norm() - 0.8 * first / first.norm()) * first.norm()
    low, high = safe_weights(first, second)
    product, one, two = float(first @ second), float(first.norm()), float(second.norm())
    cosine = product / (one * two)

    def ends(first: Tensor, second: Tensor) -> list[float]:
        returned = answer(first.float(), second.float())
        expect(
            isinstance(returned, (tuple, list)) and len(returned) == 2,
            "return two numbers: the least weight and the greatest",
        )
        return [float(end) for end in returned]

    expect_close(
        ends(first, second),
        [low, high],
        "neither task's gradient may have a negative product with w first + (1 - w) second",
        wrong={
            "the least weight comes first, then the greatest": [high, low],
            "w is the weight of the first gradient, 1 - w that of the second": [1 - high, 1 - low],
            "use the squared lengths of the gradients, not their lengths": [
                -product / (one - product),
                two / (two - product),
            ],
            "the lengths of the gradients matter: do not scale them to length 1": [
                -cosine / (1 - cosine),
                1 / (1 - cosine),
            ],
            "these two conflict, so a step for one task alone hurts the other": [0.0, 1.0],
            "the plain mean, w = 0.5, is not always safe: a long gradient overrules a short one": [0.5, 0.5],
            "only the first task is safe: find the greatest weight from the second": [low, 1.0],
            "only the second task is safe: find the least weight from the first": [0.0, high],
        },
        tolerance=1e-4,
    )
    expect_close(
        ends(first, -second),
        [0.0, 1.0],
        "these two do not conflict, so every weight from 0 to 1 is safe",
        tolerance=1e-4,
    )
    balance = float(size / (1 + size))
    expect_close(
        ends(first, -size * first),
        [balance, balance],
        "two gradients that point in opposite directions leave one weight, at which they cancel",
        tolerance=1e-4,
    )


@exercise(
    title="Find a third task that turns PCGrad against the first",
    minutes=25,
    points=3,
    hint="Let it conflict with the second gradient. What does PCGrad then add, and where does that point?",
)
def check_third_task(answer: Callable[..., Any], seed: int) -> None:
    """Check ``third_task(first, second)``: a gradient with which PCGrad's step hurts the first task.

    ``first`` and ``second`` are gradients that conflict. Return a third one whose product with the first is
    not negative. PCGrad projects each gradient against the others in the order first, second, third, and the
    step goes against the mean of the three. It must raise the loss of the first task: the cosine of that mean
    with the first gradient must be -0.1 or less.
    """
    draw = torch.Generator().manual_seed(seed)
    first, side = torch.randn(2, 4, generator=draw)
    side -= side @ first / (first @ first) * first  # at a right angle to the first
    part = 0.4 + 0.2 * torch.rand(1, generator=draw)
    second = 0.9 * first.norm() * ((1 - part**2).sqrt() * side / side.norm() - part * first / first.norm())
    third = torch.as_tensor(answer(first.clone(), second.clone()), dtype=torch.float32)
    expect(
        third.shape == first.shape,
        f"return one gradient of shape {tuple(first.shape)}, got {tuple(third.shape)}",
    )
    expect(third.isfinite().all() and third.norm() > 0, "the third gradient must be finite and not zero")

    def cosine(one: Tensor, other: Tensor) -> float:
        return float(one @ other / (one.norm() * other.norm()).clamp(min=1e-12))

    def with_first(third: Tensor) -> float:
        return cosine(first, conflict.project(torch.stack([first, second, third])).mean(0))

    expect(
        cosine(first, third) > -1e-4,
        "your gradient conflicts with the first: find one that hurts it although the two do not conflict",
    )
    expect(
        cosine(second, third) < 0,
        "your gradient does not conflict with the second, so PCGrad leaves it as it is: let it conflict",
    )
    found = with_first(third)
    expect(
        found <= -0.1 or with_first(1000 * third) > -0.1,
        f"the direction is right, but your gradient is too short to decide the mean (cosine {found:.2f}): "
        "make it longer",
    )
    expect(
        found <= -0.1,
        f"PCGrad's step does not raise the loss of the first task (cosine {found:.2f}): find a gradient that "
        "PCGrad turns against the first when it spares the second",
    )
