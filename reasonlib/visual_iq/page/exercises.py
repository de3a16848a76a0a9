"""Graded exercises of the four chapters on visual IQ tests.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.

Axes: N problems, B problems of a batch, C 8 candidates, D width, S slots, A attributes.
"""

import random
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import torch

from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal
from reasonlib.visual_iq.data.datasets import load
from reasonlib.visual_iq.data.encoding import TokenSet
from reasonlib.visual_iq.data.example import ANGLES, CONTEXT, FOLDS, Problems
from reasonlib.visual_iq.models.contrast import Contrast
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig

__all__ = [
    "check_angle_ceiling",
    "check_border",
    "check_contrast",
    "check_overlap",
    "check_row_rules",
    "check_vote",
    "check_without_contrast",
    "some_problems",
]

Rows = tuple[tuple[int, int, int], tuple[int, int, int]]

ALIKE = 0.25  # share of fair problems that a vote may solve: chance is 0.125, ties are broken at random
SOLVED = 0.9  # and of RAVEN's that it must


@cache
def some_problems(answers: str, number: int = 350, seed: int = 0) -> Problems:
    """Take a few held-out problems of all layouts: what the checks try an answer on.

    Parameters
    ----------
    answers
        ``raven``, ``i-raven`` or ``raven-fair``.
    number
        How many in all; a multiple of seven takes as many of each layout.
    seed
        Draws them.
    """
    return load(answers, per_configuration=max(10, number // 7 * 5), seed=70_001 + seed).test


# Chapter "Puzzles" ------------------------------------------------------------------------------------------


@exercise(
    title="Name the rules",
    minutes=20,
    points=3,
    hint="Try each rule on both full rows: a rule counts only if it explains the first and the second.",
)
def check_row_rules(answer: Callable[..., Any], seed: int) -> None:
    """Check ``row_rules(rows)``: which rules explain both full rows of one attribute.

    ``rows`` is two tuples of three levels, such as ``((1, 2, 3), (4, 5, 6))``. The answer is a set of
    words from ``constant``, ``progression`` (a step of the same size and sign in both rows, not zero),
    ``arithmetic`` (the third level is the sum of the first two in both rows, or the difference in both)
    and ``distribute three`` (both rows hold the same three different levels, in another order).
    """
    cases: list[tuple[Rows, set[str], str]] = [
        (((2, 2, 2), (5, 5, 5)), {"constant"}, "each row may have its own constant level"),
        (((1, 2, 3), (4, 5, 6)), {"progression"}, "both rows rise by one"),
        (((5, 3, 1), (9, 7, 5)), {"progression"}, "a progression may fall, here by two"),
        (
            ((1, 2, 3), (6, 5, 4)),
            set(),
            "one row rises and the other falls: the step must be the same in both",
        ),
        (((1, 2, 3), (2, 4, 6)), {"arithmetic"}, "the steps differ, the sums do not"),
        (((1, 2, 3), (2, 3, 5)), {"arithmetic"}, "the third is the sum of the first two in both rows"),
        (((7, 2, 5), (6, 5, 1)), {"arithmetic"}, "the third is the difference in both rows"),
        (((1, 2, 3), (5, 2, 3)), set(), "a sum in one row and a difference in the other is no rule"),
        (((1, 4, 9), (9, 1, 4)), {"distribute three"}, "the same three levels, shifted"),
        (((1, 4, 9), (1, 4, 9)), set(), "the order of the three levels must change"),
        (((1, 1, 2), (2, 1, 1)), set(), "the three levels must be different"),
        (((3, 2, 5), (5, 3, 2)), {"distribute three"}, "the sum holds in the first row alone"),
        (((0, 0, 0), (0, 0, 0)), {"constant", "arithmetic"}, "two rules may explain the same rows"),
    ]
    cases += [
        (
            ((1, 2, 3), (2, 3, 4)),
            {"progression"},
            "a sum in the first row alone does not spoil the progression",
        ),
        (((1, 2, 3), (1, 2, 3)), {"progression", "arithmetic"}, "a progression can be arithmetic, too"),
        (((6, 4, 2), (6, 4, 2)), {"progression", "arithmetic"}, "a progression can be arithmetic, too"),
    ]
    draw = random.Random(seed)
    for _ in range(40):
        cases.append(_drawn_rows(draw))
    for rows, right, why in cases:
        got = answer(rows)
        expect(isinstance(got, (set, frozenset)), "return a set of words, such as {'constant'}")
        expect_equal(set(got), right, f"for the rows {rows[0]} and {rows[1]}: {why}")


def _drawn_rows(draw: random.Random) -> tuple[Rows, set[str], str]:
    """Draw two rows, many of them by a rule, with the rules that explain them."""
    a, b, c, d = (draw.randint(0, 6) for _ in range(4))
    step = draw.choice([-2, -1, 1, 2])
    three = draw.sample(range(9), 3)
    rows: Rows = draw.choice(
        [
            ((a, a, a), (b, b, b)),
            ((a + 4, a + 4 + step, a + 4 + 2 * step), (b + 4, b + 4 + step, b + 4 + 2 * step)),
            ((a, b, a + b), (c, d, c + d)),
            ((a + b, a, b), (c + d, c, d)),
            ((three[0], three[1], three[2]), (three[2], three[0], three[1])),
            ((a, b, c), (b, c, d)),
        ]
    )
    (a, b, c), (d, e, f) = rows
    found = set()
    if a == b == c and d == e == f:
        found.add("constant")
    if b - a == c - b == e - d == f - e != 0:
        found.add("progression")
    if (a + b == c and d + e == f) or (a - b == c and d - e == f):
        found.add("arithmetic")
    if len({a, b, c}) == 3 and {a, b, c} == {d, e, f} and (a, b, c) != (d, e, f):
        found.add("distribute three")
    return rows, found, f"what holds in both rows: {', '.join(sorted(found)) or 'no rule'}"


# Chapter "Perception" ---------------------------------------------------------------------------------------


@exercise(
    title="How much do two boxes overlap?",
    minutes=10,
    points=2,
    hint="The intersection starts at the larger left and top and ends at the smaller right and bottom.",
)
def check_overlap(answer: Callable[..., Any], seed: int) -> None:
    """Check ``overlap(ours, theirs)``: intersection over union of boxes (N, 4) with boxes (M, 4), as (N, M).

    A box is ``(left, top, right, bottom)``.
    """
    draw = torch.Generator().manual_seed(3 + 100 * seed)
    corners = 100 * torch.rand(9, 2, 2, generator=draw)
    boxes = torch.cat([corners.amin(1), corners.amax(1)], -1)
    boxes = torch.cat([boxes, torch.tensor([[200.0, 200.0, 210.0, 210.0]])])
    boxes[4] = boxes[0]  # the same box on both sides
    ours, theirs = boxes[:4], boxes[4:]

    def sides(one: torch.Tensor, clip: bool) -> torch.Tensor:
        low = torch.maximum(ours[:, None, :2], theirs[None, :, :2])
        high = torch.minimum(ours[:, None, 2:], theirs[None, :, 2:])
        size = high - low
        return (size.clamp(min=0) if clip else size).prod(-1)

    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    both = area[:4, None] + area[None, 4:]
    inside, unclipped = sides(ours, True), sides(ours, False)
    expect_close(
        answer(ours.clone(), theirs.clone()),
        inside / (both - inside),
        "the shares of the union are not right",
        wrong={
            "boxes that do not touch share nothing: clip the sides at zero before you multiply": (
                unclipped / (both - unclipped)
            ),
            "the intersection is counted twice: the union is both areas less the intersection": inside / both,
            "the axes are exchanged: a row for each of `ours`, a column for each of `theirs`": (
                inside / (both - inside)
            ).T,
            "that is the intersection itself: divide it by the union": inside,
        },
        what="the result",
    )


@exercise(
    title="Angles that look alike",
    minutes=20,
    points=2,
    hint="Which of the eight angles give the same picture as another? Turn the shape by each and compare.",
)
def check_angle_ceiling(answer: Callable[..., Any], seed: int) -> None:
    """Check ``angle_ceiling(fold)``: the best share of angles that pixels allow to name.

    ``fold`` is the number of turns, up to a full one, after which a shape looks as before: 3 for a
    triangle, 4 for a square. Angles are the eight of `reasonlib.visual_iq.data.example.ANGLES`, in degrees,
    each as likely as the others. Angles that look alike cannot be told apart, so one of them is a guess.
    """
    shapes = {fold: f"a {name}" for name, fold in FOLDS.items() if fold is not None}  # a circle has no angle
    shapes |= {fold: "a shape" for fold in random.Random(seed).sample([*range(7, 25), 1, 2], 6)}
    for fold, name in shapes.items():
        seen = {(angle * fold) % 360 for angle in ANGLES}
        expect_close(
            answer(fold),
            len(seen) / len(ANGLES),
            f"for {name} with {fold} turns, {len(seen)} of the 8 angles look different",
            wrong={
                "that is how many look different: divide by the number of angles": float(len(seen)),
                "the turn is 360 / fold, not fold": len({angle % fold for angle in ANGLES}) / len(ANGLES),
                f"for {name} with {fold} turns, not every fold of 8 angles looks alike: turn each angle and "
                "compare": 1 / fold,
            },
            what="the share",
        )


# Chapter "Reasoning" ----------------------------------------------------------------------------------------


@exercise(
    title="Contrast the candidates",
    minutes=10,
    points=2,
    hint="Sum over the candidates, pass the sum through h, and take it from each candidate.",
)
def check_contrast(answer: Callable[..., Any], seed: int) -> None:
    """Check ``contrast(features, h)``: each candidate less h of their sum; features are (B, C, D)."""
    draw = torch.Generator().manual_seed(5 + 100 * seed)
    features = torch.randn(2, 8, 6, generator=draw)
    weights = torch.randn(6, 6, generator=draw)

    def h(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x @ weights)

    total = features.sum(1, keepdim=True)
    expect_close(
        answer(features.clone(), h),
        features - h(total),
        "the result is not each candidate less h of the sum of all",
        wrong={
            "the sum is over the candidates, the second axis": features - h(features.sum(0, keepdim=True)),
            "h takes the sum, not the mean": features - h(total / 8),
            "h comes after the sum: h of each candidate, summed, is something else": (
                features - h(features).sum(1, keepdim=True)
            ),
            "subtract, do not add": features + h(total),
            "the sum is left as it was: pass it through h first": features - total,
        },
        what="the features",
    )


@exercise(
    title="Remove the contrast module",
    minutes=20,
    points=2,
    hint="Copy the model with copy.deepcopy, and put in the place of its contrast what changes nothing.",
)
def check_without_contrast(answer: Callable[..., Any], seed: int) -> None:
    """Check ``without_contrast(model)``: a copy of a reasoner that scores each candidate by itself.

    Everything but the contrast module is to stay: the copy passes a candidate's features to the output as
    they are. The model that was given must score as before.
    """
    model = Reasoner(ReasonerConfig(width=12, hidden=10, entity_heads=3, output=7), seed=6 + seed).eval()
    problems = some_problems("raven", 14, seed)
    batch = TokenSet.from_problems(problems).batch(np.arange(len(problems)))
    with torch.no_grad():
        before = model(batch).logits
        got = answer(model)
        expect(isinstance(got, Reasoner), f"return a Reasoner, not {got.__class__.__name__}")
        expect(
            got is not model and bool((model(batch).logits == before).all()),
            "the model you were given scores differently now: change a copy of it",
        )
        features: list[torch.Tensor] = []
        contrast = cast(Contrast, model.contrast)
        hook = contrast.register_forward_pre_hook(lambda _, inputs: features.append(inputs[0]))
        model(batch)
        hook.remove()
        common = contrast.aggregate(features[0].sum(1, keepdim=True))
        expect_close(
            got(batch).logits,
            model.output(features[0]).squeeze(-1),
            "the scores are not those of the same model without contrast",
            wrong={
                "the copy still contrasts: put something else in the place of its `contrast`": before,
                "the features themselves must reach the output, and only what was subtracted does": (
                    model.output(common.expand_as(features[0])).squeeze(-1)
                ),
                "nothing reaches the output: the features must pass as they are": (
                    model.output(torch.zeros_like(features[0])).squeeze(-1)
                ),
            },
            what="the scores",
        )


# Chapter "The shortcut" -------------------------------------------------------------------------------------


@exercise(
    title="Find the answer without the puzzle",
    minutes=20,
    points=3,
    hint="A wrong candidate of RAVEN changes one thing of the right one. Which is most like the others?",
)
def check_vote(answer: Callable[..., Any], seed: int) -> None:
    """Check ``vote(candidates)``: choose 0 to 7 from the eight candidates' attributes alone.

    ``candidates`` is an array (8, S, A) of levels: type, size, colour and angle of what each slot holds.
    Angles are noise. It must solve most problems of RAVEN, and it will not solve those of I-RAVEN.
    """
    solved = {}
    for name in ("raven", "i-raven"):
        problems = some_problems(name, seed=seed)
        chosen = []
        for panels in problems.entities[:, CONTEXT:]:
            got = answer(panels.copy())
            expect(
                np.ndim(got) == 0 and int(got) == got and 0 <= got < 8,
                f"return the number of a candidate, 0 to 7, not {got!r}",
            )
            chosen.append(int(got))
        solved[name] = float(np.mean(np.array(chosen) == problems.target))
    share = f"it solves {100 * solved['raven']:.0f} % of RAVEN's problems"
    expect(
        solved["raven"] >= SOLVED,
        f"{share}, and more than {100 * SOLVED:.0f} % is possible: "
        + (
            "do not count the angles, they are noise"
            if solved["raven"] > 0.3
            else "compare the candidates with each other, slot by slot"
        ),
    )
    expect(
        solved["i-raven"] <= ALIKE,
        f"it solves {100 * solved['i-raven']:.0f} % of I-RAVEN's too: did you see more than the candidates?",
    )


@exercise(
    title="Add an attribute",
    minutes=180,
    points=5,
    hint="Draw three different levels, lay them out as a Latin square, then choose the other candidates.",
)
def check_border(answer: Callable[..., Any], seed: int) -> None:
    """Check ``border(problems, seed)``: a fifth attribute, the thickness of a panel's border.

    Returns levels 0 to 3 as an array (N, 16), for context and candidates. The rule is *distribute three*:
    over the eight context panels and the right candidate each row holds the same three different levels,
    and so does each column. Every problem draws levels and order anew from ``seed``. Half of the eight
    candidates carry the right level, and the right one is among them, so that the border alone never
    gives the answer away.
    """
    problems = some_problems("i-raven", seed=seed)
    got = np.asarray(answer(problems, 1))
    expect(got.shape == (len(problems), 16), f"return an array of {len(problems)} by 16, not {got.shape}")
    expect(
        bool(np.isin(got, range(4)).all()), "the levels are the whole numbers 0 to 3, and there is another"
    )
    got = got.astype(int)
    right = got[np.arange(len(problems)), CONTEXT + problems.target.astype(int)]
    square = np.concatenate([got[:, :CONTEXT], right[:, None]], 1).reshape(-1, 3, 3)
    rows, columns = np.sort(square, 2), np.sort(square, 1)
    expect(bool((np.diff(rows, axis=2) > 0).all()), "a row repeats a level: its three levels must differ")
    expect(bool((rows == rows[:, :1]).all()), "the three rows of a problem must hold the same three levels")
    expect(
        bool((np.diff(columns, axis=1) > 0).all()),
        "a column repeats a level: each row must be another order of the three",
    )
    carry = (got[:, CONTEXT:] == right[:, None]).sum(1)
    expect(
        bool((carry == 4).all()), "four of the eight candidates must carry the right level, in every problem"
    )
    expect(len({tuple(one) for one in rows[:, 0]}) == 4, "all four choices of three levels must occur")
    expect(
        len({tuple(one.ravel()) for one in square}) > 20,
        "every problem must draw its levels and their order anew: too few different squares occur",
    )
    expect(
        bool((np.asarray(answer(problems, 1)) == got).all()), "the same seed must give the same levels again"
    )
    expect(not bool((np.asarray(answer(problems, 2)) == got).all()), "another seed must give other levels")
    first = (got[:, CONTEXT:] == right[:, None])[:, 0].mean()
    expect(
        0.3 < first < 0.7,
        "which candidates carry the right level must be drawn too, not fixed by their place",
    )
