"""Graded exercises of the four chapters on visual IQ tests.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.

Axes: N problems, B problems of a batch, C 8 candidates, D width, S slots, A attributes.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import torch

from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal
from reasonlib.visual_iq.data.datasets import load
from reasonlib.visual_iq.data.encoding import STREAMS, TokenSet
from reasonlib.visual_iq.data.example import (
    ANGLES,
    ATTRIBUTES,
    COLOURS,
    CONFIGURATIONS,
    CONTEXT,
    FOLDS,
    LEVELS,
    SIZES,
    TYPES,
    Problems,
)
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.models.contrast import Contrast
from reasonlib.visual_iq.models.detector.boxes import iou
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig

__all__ = [
    "check_angle_ceiling",
    "check_answer_set",
    "check_border",
    "check_contrast",
    "check_keep_best",
    "check_other_questions",
    "check_overlap",
    "check_preferred_share",
    "check_row_rules",
    "check_twin",
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


@exercise(
    title="Draw wrong answers that give nothing away",
    minutes=20,
    points=3,
    hint="Draw one wrong level for each attribute; two levels of three attributes make eight combinations.",
)
def check_answer_set(answer: Callable[..., Any], seed: int) -> None:
    """Check ``answer_set(right, levels, seed)``: eight candidates, and which of them is right.

    ``right`` holds the levels of the right answer, from 0: its type, size and colour. ``levels`` is how many
    levels each attribute has. The result is an array (8, 3) and the number of the right candidate, 0 to 7.
    Each attribute shows two levels, the right one and one drawn from all others, in all eight combinations;
    the order of the candidates is drawn, too.
    """
    levels = (len(TYPES) - 1, len(SIZES), len(COLOURS))
    draw = random.Random(seed)
    first = draw.randrange(10_000)
    rights = [tuple(draw.randrange(count) for count in levels) for _ in range(160)]
    places: Counter[int] = Counter()
    offsets: list[Counter[int]] = [Counter() for _ in levels]
    for number, right in enumerate(rights):
        candidates, target = _read_answer_set(answer(right, levels, first + number), right, levels)
        places[target] += 1
        for offset, column, level, count in zip(offsets, candidates.T, right, levels, strict=True):
            offset[(int(column[column != level][0]) - level) % count] += 1
    again, place = _read_answer_set(answer(rights[-1], levels, first + number), rights[-1], levels)
    expect(
        place == target and bool((again == candidates).all()),
        "the same seed must give the same candidates again: draw only from the seed",
    )
    others = [
        _read_answer_set(answer(rights[-1], levels, other), rights[-1], levels)[0] for other in range(9)
    ]
    expect(
        any(bool((other != others[0]).any()) for other in others),
        "another seed must give other candidates: draw from the argument `seed`",
    )
    place, times = places.most_common(1)[0]
    expect(
        len(places) == len(again) and times < 0.3 * len(rights),
        f"the right answer stands at place {place} in {times / len(rights):.0%} of your sets: draw the order",
    )
    for name, offset, count in zip(ATTRIBUTES, offsets, levels, strict=False):
        expect(
            len(offset) == count - 1,
            f"draw the wrong {name} from all {count - 1} other levels: yours shows only {len(offset)} of "
            "the distances from the right level, and so gives the right answer away",
        )


def _read_answer_set(got: Any, right: tuple[int, ...], levels: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Return candidates (8, 3) and target of one answer set, or complain."""
    expect(
        isinstance(got, (tuple, list)) and len(got) == 2,
        "return two things: the candidates, and the number of the right one",
    )
    candidates, target = np.asarray(got[0]), got[1]
    expect(candidates.shape == (8, 3), f"the candidates must have shape (8, 3), got {candidates.shape}")
    expect(
        np.ndim(target) == 0 and int(target) == target and 0 <= target < 8,
        f"the number of the right candidate must be 0 to 7, got {target!r}",
    )
    target = int(target)
    expect(
        tuple(candidates[target].tolist()) == right,
        f"candidate {target} should be the right one, {right}, and is {tuple(candidates[target].tolist())}",
    )
    expect(
        len({tuple(one) for one in candidates.tolist()}) == 8,
        "two of your candidates are equal: make all differ",
    )
    for name, column, level, count in zip(ATTRIBUTES, candidates.T, right, levels, strict=False):
        expect(
            bool(np.isin(column, range(count)).all()),
            f"the levels of {name} are the whole numbers 0 to {count - 1}, and there is another",
        )
        shown = Counter(column.tolist())
        expect(
            len(shown) == 2,
            f"{name} must show two levels, the right one and one other; yours shows {len(shown)}",
        )
        expect(
            shown[level] == 4,
            f"the right {name} must stand in four of the eight candidates, and stands in {shown[level]}: "
            "a vote would count that",
        )
    return candidates, target


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
    title="Keep one box for each object",
    minutes=20,
    points=2,
    hint="Go through the boxes from the highest score down, and compare each with those that you have kept.",
)
def check_keep_best(answer: Callable[..., Any], seed: int) -> None:
    """Check ``keep_best(overlaps, scores, threshold)``: non-maximum suppression, as a list of box numbers.

    ``overlaps`` (N, N) is the intersection over union of each box with each box, ``scores`` (N,) is how
    likely each holds something; no two are equal. From the best score down, a box is kept unless its overlap
    with a box kept before it is larger than ``threshold``. The result lists the kept boxes, the best first.
    """
    draw = torch.Generator().manual_seed(11 + 100 * seed)
    cases = []
    for threshold in (0.5, 0.3, 0.7, 0.5):
        # rows of boxes, each shifted a little, so that one overlaps its neighbours and not the box after next
        starts = 120 * torch.arange(3.0)[:, None] + (28 - 30 * threshold) * torch.arange(4.0)
        left = starts.flatten() + torch.rand(12, generator=draw)
        boxes = torch.stack([left, 0 * left, left + 40, 0 * left + 40], 1)
        cases.append((boxes, torch.rand(12, generator=draw), threshold))
    # three in a row, the middle one second best: it is dropped, and must not drop the third
    chain = torch.tensor([[0.0, 0, 40, 40], [10, 0, 50, 40], [20, 0, 60, 40], [200, 0, 240, 40]])
    turn = torch.randperm(4, generator=draw)
    cases.insert(0, (chain[turn], torch.tensor([0.9, 0.8, 0.7, 0.6])[turn], 0.5))
    for boxes, scores, threshold in cases:
        table = iou(boxes, boxes)
        order = scores.argsort(descending=True).tolist()
        near = (table > threshold).tolist()
        right = _apart(order, near)
        got = answer(table.clone(), scores.clone(), threshold)
        got = got.tolist() if hasattr(got, "tolist") else got
        expect(
            isinstance(got, (list, tuple)) and all(isinstance(one, int) for one in got),
            "return a list of the numbers of the boxes that are kept, as Python integers, such as [4, 0]",
        )
        expect_equal(
            list(got),
            right,
            f"keep {len(right)} of these {len(order)} boxes at threshold {threshold}, the best first",
            wrong={
                "a box that was dropped must not drop others: compare only with the boxes that are kept": [
                    one
                    for rank, one in enumerate(order)
                    if not any(near[one][other] for other in order[:rank])
                ],
                "those are the right boxes: list the one with the highest score first": sorted(right),
                "go from the highest score down: yours keeps the least likely of boxes that overlap": (
                    _apart(order[::-1], near)
                ),
                "sort by score first: yours goes through the boxes in the order in which they came": (
                    _apart(sorted(order), near)
                ),
                "that is the box with the highest score alone: boxes apart from it stay, too": order[:1],
                "that keeps every box: drop those that overlap a kept box too much": order,
            },
        )


def _apart(order: list[int], near: list[list[bool]]) -> list[int]:
    """Keep each box, in this order, that is near none of those kept before it."""
    kept: list[int] = []
    for box in order:
        if not any(near[box][other] for other in kept):
            kept.append(box)
    return kept


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


@exercise(
    title="Two panels with one sum",
    minutes=15,
    points=2,
    hint="A sum has no order. What happens to each of the five sums if two shapes exchange their sizes?",
)
def check_twin(answer: Callable[..., Any], seed: int) -> None:
    """Check ``twin(panel)``: another panel that a reasoner without its entity encoder takes for the same.

    ``panel`` is a table (9, 4) of one panel of 3x3Grid: type, size, colour and angle of each slot, zeros for
    an empty slot. The twin must differ in the type, size or colour of some slot, and must have the same sum
    of embeddings in each of the five streams.
    """
    model = Reasoner(ReasonerConfig(entity_layers=0), seed=seed).eval()
    problems = simulate("3x3Grid", 40, seed=40 + seed)
    for number in range(len(problems)):
        panel = problems.entities[number, 0]
        filled = panel[panel[:, 0] > 0, :3]
        if (filled == filled[0]).all():
            continue  # all entities look alike: there is no twin
        got = np.asarray(answer(panel.copy()))
        expect(got.shape == (9, 4), f"return a table of shape (9, 4), got {got.shape}")
        expect(
            bool(((got >= 0) & (got < LEVELS)).all()),
            "a level is out of range: exchange levels that are in the panel",
        )
        expect(
            bool((got[:, :3] != panel[:, :3]).any()),
            "the twin shows what the panel shows: change the type, size or colour of some slot",
        )
        expect(not got[got[:, 0] == 0].any(), "an empty slot must be four zeros")
        pair = problems[[number, number]]
        pair.entities[1, 0] = got
        with torch.no_grad():
            ours, theirs = model.embed(TokenSet.from_problems(pair).batch([0, 1]))[:, :, 0]  # each (V, D)
        for stream, difference in zip(STREAMS, (ours - theirs).abs().amax(-1).tolist(), strict=True):
            same = "fill the same slots" if stream == "position" else f"show each {stream} equally often"
            expect(
                difference < 1e-4,
                f"the sums of the stream {stream} differ by {difference:.2g}: the twin must {same}",
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
    title="Explain a score below chance",
    minutes=20,
    points=3,
    hint="The right candidate wins if each weight has the sign that it needs. Which need both signs?",
)
def check_preferred_share(answer: Callable[..., Any], seed: int) -> None:
    """Check ``preferred_share(candidates, right)``: how often a random preference is right.

    ``candidates`` (8, 3) are levels of type, size and colour, ``right`` is the number of the right one. A
    preference gives a candidate the sum of weight times level. The three weights are drawn independently,
    each as likely above zero as below and never zero. The sets are made as RAVEN's (each wrong candidate
    changes one attribute) or as I-RAVEN's (two levels for each attribute, in all eight combinations).
    """
    draw = np.random.default_rng([seed, 5])
    for kind in ["raven", "one side", "i-raven", "one side", "raven", "i-raven"] * 5:
        candidates, right = _drawn_candidates(kind, draw)
        change = candidates - candidates[right]
        above, below = (change > 0).any(0), (change < 0).any(0)
        varies = int((above | below).sum())
        both = bool((above & below).any())
        share = 0.0 if both else 0.5**varies
        names = [name for name, two in zip(ATTRIBUTES, above & below, strict=False) if two]
        why = (
            f"the right {names[0]} lies between wrong ones, so no weight makes it the best: the share is 0"
            if both
            else f"{varies} attributes differ among the candidates, and each weight needs one sign of two"
        )
        expect_close(
            answer(candidates.copy(), right),
            share,
            why,
            wrong={
                "look at both sides: no weight helps if wrong levels lie above and below the right one": (
                    0.5**varies
                ),
                "a weight may be below zero too: then the right candidate wins with the lowest level": 0.0,
                "each weight has the sign that it needs in half of the draws, not in all": 1.0,
                "an attribute that all candidates share decides nothing: leave it out": 0.5**3,
                "the wrong candidates do not lose independently: count attributes, not candidates": 0.5**7,
            },
            what="the share",
        )


def _drawn_candidates(kind: str, draw: np.random.Generator) -> tuple[np.ndarray, int]:
    """Draw eight candidates (8, 3) and the number of the right one.

    ``raven`` changes one attribute of the right one each time, ``one side`` does so in one direction for each
    attribute, and ``i-raven`` has all combinations of two levels.
    """
    counts = np.array([len(TYPES) - 1, len(SIZES), len(COLOURS)])
    if kind == "i-raven":
        right = draw.integers(0, counts)
        wrong = (right + draw.integers(1, counts)) % counts
        candidates = np.array(list(itertools.product(*zip(right, wrong, strict=True))))
    else:
        ends = draw.random(3) < 0.5
        right = np.where(ends, 0, counts - 1) if kind == "one side" else draw.integers(0, counts)
        chosen = draw.permutation(3)[: draw.integers(1, 4)] if kind == "one side" else np.arange(3)
        if len(chosen) == 1:
            chosen = np.array([2])  # only colour has seven other levels
        changes = [(one, level) for one in chosen for level in range(counts[one]) if level != right[one]]
        candidates = np.repeat(right[None], 8, axis=0)
        for row, (one, level) in enumerate(draw.permutation(changes)[:7], 1):
            candidates[row, one] = level
    order = draw.permutation(8)
    return candidates[order], int(order.argmin())


@exercise(
    title="Give each puzzle another question",
    minutes=15,
    points=2,
    hint="Take one layout at a time. Which order of its questions leaves none at its own problem?",
)
def check_other_questions(answer: Callable[..., Any], seed: int) -> None:
    """Check ``other_questions(entities, configuration)``: candidates as they were, questions of others.

    ``entities`` (N, 16, 9, 4) holds the eight panels of the question and the eight candidates of N problems,
    ``configuration`` (N,) the number of each layout, of which each occurs at least twice. In the result, of
    the same shape, the question of every problem is the whole question of another problem of its layout.
    """
    problems = some_problems("raven", 70, seed)
    order = np.random.default_rng(seed).permutation(len(problems))[:60]
    problems = problems[order]
    entities, layouts = problems.entities, problems.configuration
    got = np.asarray(answer(entities.copy(), layouts.copy()))
    expect(got.shape == entities.shape, f"return an array of shape {entities.shape}, got {got.shape}")
    expect(
        bool((got[:, CONTEXT:] == entities[:, CONTEXT:]).all()),
        "the candidates must stay with their problem: move only the first eight panels",
    )
    owner = {question.tobytes(): number for number, question in enumerate(entities[:, :CONTEXT])}
    for number, question in enumerate(got[:, :CONTEXT].astype(entities.dtype)):
        source = owner.get(question.tobytes(), -1)
        expect(
            bool(question.any()),
            "an empty question is like none that a model was trained on: take that of another problem",
        )
        expect(
            source >= 0,
            f"the question of problem {number} is that of no problem: take all eight panels of one, in order",
        )
        expect(source != number, f"problem {number} keeps its own question: every problem needs another's")
        titles = [CONFIGURATIONS[layouts[one]].title for one in (number, source)]
        expect(
            titles[0] == titles[1],
            f"problem {number} has the layout {titles[0]} and its new question {titles[1]}: take one of its "
            "own layout",
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
