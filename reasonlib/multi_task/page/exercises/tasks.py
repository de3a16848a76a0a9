"""Exercises of the chapter "Many small sets, one encoder"."""

import math
import random
from collections.abc import Sequence
from typing import Any

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint

__all__ = ["check_luck", "check_matthews", "check_task_shares"]


def confusion(predicted: Sequence[int], labels: Sequence[int]) -> tuple[int, int, int, int]:
    """Count true positives, true negatives, false positives and false negatives."""
    pairs = list(zip(predicted, labels, strict=True))
    return pairs.count((1, 1)), pairs.count((0, 0)), pairs.count((1, 0)), pairs.count((0, 1))


def matthews(predicted: Sequence[int], labels: Sequence[int]) -> float:
    """Compute the Matthews correlation of labels 0 and 1; 0 if a prediction or a label never occurs."""
    tp, tn, fp, fn = confusion(predicted, labels)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0


@exercise(title="Compute the Matthews correlation", minutes=10, points=2)
@hint("Count the four cells of the confusion matrix first: (1, 1), (0, 0), (1, 0) and (0, 1).")
def check_matthews(answer: Answer, seed: int) -> None:
    """Check ``matthews(predicted, labels)``: the Matthews correlation of two lists of 0 and 1.

    Where a prediction or a label never occurs, the denominator is 0, and so is the correlation.
    """
    draw = random.Random(seed)
    counts = {(1, 1): draw.randint(20, 30), (0, 0): draw.randint(4, 7), (1, 0): draw.randint(2, 3)}
    counts[0, 1] = draw.randint(8, 11)
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    draw.shuffle(pairs)
    predicted, labels = [prediction for prediction, _ in pairs], [right for _, right in pairs]
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
    expect_close(constant, 0.0, "whoever always answers 1 has learned nothing: return 0")
    expect_close(
        answer([1, 0, 1, 0], [0, 1, 0, 1]), -1.0, "when every answer is wrong, the correlation is -1"
    )


def task_shares(sizes: dict[str, int], temperature: float) -> dict[str, float]:
    """Compute the share of steps of each task: its size to the power of 1 / temperature, normalised."""
    raised = {task: size ** (1 / temperature) for task, size in sizes.items()}
    total = sum(raised.values())
    return {task: value / total for task, value in raised.items()}


@exercise(title="Do not forget the smallest task", minutes=15, points=2)
@hint("Raise each size to the power of 1 / temperature, then divide by the sum.")
def check_task_shares(answer: Answer, seed: int) -> None:
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


@exercise(title="Ask whether a gain is luck", minutes=20, points=2)
@hint("Count the examples that only the joint model gets right, and those that only the other gets right.")
def check_luck(answer: Answer, seed: int) -> None:
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
    alone, joint = [outcome for outcome, _ in pairs], [outcome for _, outcome in pairs]
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
