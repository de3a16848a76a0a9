"""Exercises of the chapter "What it costs and what it looks at"."""

import math
import random
from itertools import pairwise
from statistics import linear_regression

from reasonlib.context_translation.experiments.cost import exponent, growth_exponent
from reasonlib.context_translation.page import pairs as encoders
from reasonlib.grading.checks import Answer, exercise, expect_close, expect_equal, hint

__all__ = ["check_attention_pairs", "check_growth"]


def attention_pairs(system: str, source: int, context: int, count: int) -> int:
    """Count the query-key pairs of one encoder layer."""
    if system == "no-context":
        return source**2
    if system == "concatenation":
        return (source + count * context) ** 2
    if system == "hce":
        return source**2 + count * context**2 + count**2 + source * count
    raise ValueError(f"system must be no-context, concatenation or hce, got {system!r}")


@exercise(title="Count the cost of concatenation", minutes=15, points=2)
@hint("Self-attention over T tokens compares T times T pairs; attention from T to S tokens T times S.")
def check_attention_pairs(answer: Answer, seed: int) -> None:
    """Check ``attention_pairs(system, source, context, count)``: query-key pairs that are compared.

    For a source of ``source`` tokens and ``count`` context sentences of ``context`` tokens each. Count each
    self-attention once: "no-context" over the source; "concatenation" over everything joined; "hce" over the
    source, over each context sentence, over the sentence vectors, and from the source to the sentence
    vectors.
    """
    draw = random.Random(seed)
    for count in (draw.randint(2, 4), draw.randint(6, 20), 1):
        source, context = draw.randint(5, 15), draw.randint(16, 30)
        right = attention_pairs("concatenation", source, context, count)
        expect_equal(
            int(answer("concatenation", source, context, count)),
            right,
            f"concatenation joins {source} and {count} times {context} tokens, and each attends to all",
            wrong={
                "the source and the context attend to each other, too": source**2 + (count * context) ** 2
                if count > 1
                else None,
                "here each sentence is read separately; joined, every token attends to every other": source**2
                + count * context**2,
            },
        )
        hce = attention_pairs("hce", source, context, count)
        expect_equal(
            int(answer("hce", source, context, count)),
            hce,
            f"HCE reads {source} tokens, {count} sentences of {context}, and {count} sentence vectors",
            wrong={
                "count the attention among the sentence vectors, and from the source to them": source**2
                + count * context**2,
                "the source attends to the sentence vectors, too": hce - source * count,
                "sentence vectors attend to one another": hce - count**2,
            },
        )
        expect_equal(int(answer("no-context", source, context, count)), source**2, "the source alone")


@exercise(title="Measure how the cost grows", minutes=20, points=2)
@hint("`statistics.linear_regression(x, y).slope` is the slope of a line; take logarithms for x and y.")
def check_growth(answer: Answer, seed: int) -> None:
    """Check ``growth(sizes, costs)``: the exponent e of cost = a + c size ** e.

    ``sizes`` are numbers of context sentences, each twice the one before, and ``costs`` what they cost. The
    differences of successive costs do not depend on a. Return the slope of the least-squares line through
    their logarithms, over the logarithms of the larger size of each difference.
    """
    draw = random.Random(seed)
    least, fixed, power = draw.choice((2, 3, 4)), draw.uniform(40, 60), draw.uniform(1.2, 1.8)
    sizes = [least * 2**number for number in range(5)]
    costs = [fixed + 2 * size**power for size in sizes]
    steps = [after - before for before, after in pairwise(costs)]
    across = [math.log(size) for size in sizes[1:]]
    expect_close(
        answer(list(sizes), list(costs)),
        power,
        f"the costs are a + 2 size ** {power:.3f}, so the exponent is {power:.3f}",
        wrong={
            "the fixed cost a makes this too small: take the differences of successive costs": exponent(
                sizes, costs
            ),
            "the first cost is not the fixed cost a: take the differences of successive costs": exponent(
                sizes[1:], [cost - costs[0] for cost in costs[1:]]
            ),
            "take logarithms: a power is a straight line only on logarithmic axes": linear_regression(
                sizes[1:], steps
            ).slope,
            "take the logarithm of the sizes, too": linear_regression(
                sizes[1:], [math.log(step) for step in steps]
            ).slope,
            "the slope is the other way round: sizes go across, costs go up": linear_regression(
                [math.log(step) for step in steps], across
            ).slope,
        },
    )
    for system, message in {
        "concatenation": "with a term in N and one in N squared the exponent is between 1 and 2",
        "hce": "almost all pairs of HCE are in proportion to N, so the exponent is close to 1",
    }.items():
        compared = [
            float(encoders.attention_pairs(system, source=10, context=12, count=count)) for count in sizes
        ]
        expect_close(
            answer(list(sizes), list(compared)),
            growth_exponent(sizes, compared),
            f"these are the pairs of {system}: {message}; fit one line to all differences",
        )
