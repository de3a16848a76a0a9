"""Exercises of the chapter "Attention".

Axes: Q queries, N keys, T tokens, D width.
"""

import random

import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.nn import scaled_dot_product_attention, sinusoidal_positions

__all__ = ["check_attend", "check_may_see", "check_waves"]


@exercise(title="Attention in three lines", minutes=10, points=2)
@hint("Scores are dot products, divided by the root of the width; the softmax runs over the keys.")
def check_attend(answer: Answer, seed: int) -> None:
    """Check ``attend(query, key, value)``: scaled dot-product attention, (Q, D), (N, D), (N, D) to (Q, D)."""
    for width in (6, random.Random(seed).randint(8, 16)):
        draw = torch.Generator().manual_seed(width + 100 * seed)
        query, key, value = (torch.randn(rows, width, generator=draw) for rows in (3, 5, 5))
        scores = query @ key.T
        expect_close(
            answer(query.clone(), key.clone(), value.clone()),
            scaled_dot_product_attention(query, key, value).output,
            f"the mixture is not right at width {width}",
            wrong={
                "the scores are not divided by the root of the width": scores.softmax(-1) @ value,
                "divide by the root of the width, not by the width": (scores / width).softmax(-1) @ value,
                "the softmax must run over the keys, the last axis of the scores": (
                    (scores / width**0.5).softmax(0) @ value
                ),
                "the keys were mixed instead of the values": (scores / width**0.5).softmax(-1) @ key,
            },
        )


@exercise(title="A causal mask", minutes=5, points=1)
@hint("Row i is token i; it may attend to column j where j is not later than i.")
def check_may_see(answer: Answer, seed: int) -> None:
    """Check ``may_see(length)``: the causal mask of T tokens, True where a token may attend, (T, T)."""
    for length in (4, 1, 5 + random.Random(seed).randint(0, 20)):
        result = torch.as_tensor(answer(length))
        right = torch.tril(torch.ones(length, length, dtype=torch.bool))
        expect(result.dtype == torch.bool, f"return booleans, as `a <= b` gives them, got {result.dtype}")
        expect(result.shape == (length, length), f"for {length} tokens the shape must be {(length, length)}")
        expect(
            length == 1 or not torch.equal(result, right.T),
            "rows and columns are exchanged: token i may attend to earlier tokens, not to later ones",
        )
        expect(
            length == 1 or not torch.equal(result, right & ~torch.eye(length, dtype=torch.bool)),
            "a token may attend to itself, or the first one could attend to nothing",
        )
        expect(
            length == 1 or not bool(result.all()),
            "every token attends to every other: hide the tokens that come after that of the row",
        )
        row = next((row for row in range(length) if not torch.equal(result[row], right[row])), None)
        expect(row is None, f"of {length} tokens, token {row} may attend to tokens 0 to {row} and no other")


@exercise(title="A wave for each unit", minutes=20, points=3)
@hint("Units 2i and 2i + 1 are a sine and a cosine of the same angle, t / 10000 ** (2 i / D).")
def check_waves(answer: Answer, seed: int) -> None:
    """Check ``waves(length, width)``: the sinusoidal positions of T places in D units, (T, D)."""
    draw = random.Random(seed)
    for length, width in ((5, 8), (3, 2), (draw.randint(6, 30), 2 * draw.randint(5, 12))):
        position = torch.arange(length)[:, None]
        speeds = {power: 10_000.0 ** (-torch.arange(0, width, 2) * power / width) for power in (0.5, 1, 2)}
        angle = {power: position * speed for power, speed in speeds.items()}
        pairs = {power: torch.stack([item.sin(), item.cos()], -1).flatten(1) for power, item in angle.items()}
        result = torch.as_tensor(answer(length, width))
        expect(
            result.shape == (length, width), f"the shape must be {(length, width)}, got {tuple(result.shape)}"
        )
        expect_close(
            result,
            sinusoidal_positions(length, width),
            f"for {length} places in {width} units",
            wrong={
                "sines and cosines take turns, unit by unit; here all sines come first": torch.cat(
                    [angle[1].sin(), angle[1].cos()], 1
                ),
                "the sine comes before the cosine of the same angle": torch.stack(
                    [angle[1].cos(), angle[1].sin()], -1
                ).flatten(1),
                "the exponent is 2i / D where 2i is the number of the unit, not twice that": pairs[2],
                "the exponent is 2i / D, not i / D": pairs[0.5],
            }
            if width > 2
            else {},
        )
