"""Exercises of the chapter "The shortcut".

Axes: N problems, B problems of a batch, C 8 candidates, D width, S slots, A attributes.
"""

import itertools

import numpy as np

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.visual_iq.data.example import ATTRIBUTES, COLOURS, CONFIGURATIONS, CONTEXT, SIZES, TYPES
from reasonlib.visual_iq.page.exercises.problems import some_problems

__all__ = ["check_border", "check_other_questions", "check_preferred_share", "check_vote"]

ALIKE = 0.25  # share of fair problems that a vote may solve: chance is 0.125, ties are broken at random
SOLVED = 0.9  # and of RAVEN's that it must


@exercise(title="Find the answer without the puzzle", minutes=20, points=3)
@hint("A wrong candidate of RAVEN changes one thing of the right one. Which is most like the others?")
def check_vote(answer: Answer, seed: int) -> None:
    """Check ``vote(candidates)``: choose 0 to 7 from the eight candidates' attributes alone.

    ``candidates`` is an array (8, S, A) of levels: type, size, colour and angle of what each slot holds.
    Angles are noise. It must solve most problems of RAVEN, and it will not solve those of I-RAVEN.
    """
    solved = {}
    for name in ("raven", "i-raven"):
        problems = some_problems(name, seed=seed)
        chosen = []
        for panels in problems.entities[:, CONTEXT:]:
            result = answer(panels.copy())
            expect(
                np.ndim(result) == 0 and int(result) == result and 0 <= result < 8,
                f"return the number of a candidate, 0 to 7, not {result!r}",
            )
            chosen.append(int(result))
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


@exercise(title="Explain a score below chance", minutes=20, points=3)
@hint("The right candidate wins if each weight has the sign that it needs. Which need both signs?")
def check_preferred_share(answer: Answer, seed: int) -> None:
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
        changes = [
            (attribute, level)
            for attribute in chosen
            for level in range(counts[attribute])
            if level != right[attribute]
        ]
        candidates = np.repeat(right[None], 8, axis=0)
        for row, (attribute, level) in enumerate(draw.permutation(changes)[:7], 1):
            candidates[row, attribute] = level
    order = draw.permutation(8)
    return candidates[order], int(order.argmin())


@exercise(title="Give each puzzle another question", minutes=15, points=2)
@hint("Take one layout at a time. Which order of its questions leaves none at its own problem?")
def check_other_questions(answer: Answer, seed: int) -> None:
    """Check ``other_questions(entities, configuration)``: candidates as they were, questions of others.

    ``entities`` (N, 16, 9, 4) holds the eight panels of the question and the eight candidates of N problems,
    ``configuration`` (N,) the number of each layout, of which each occurs at least twice. In the result, of
    the same shape, the question of every problem is the whole question of another problem of its layout.
    """
    problems = some_problems("raven", 70, seed)
    order = np.random.default_rng(seed).permutation(len(problems))[:60]
    problems = problems[order]
    entities, layouts = problems.entities, problems.configuration
    result = np.asarray(answer(entities.copy(), layouts.copy()))
    expect(result.shape == entities.shape, f"return an array of shape {entities.shape}, got {result.shape}")
    expect(
        bool((result[:, CONTEXT:] == entities[:, CONTEXT:]).all()),
        "the candidates must stay with their problem: move only the first eight panels",
    )
    owner = {question.tobytes(): number for number, question in enumerate(entities[:, :CONTEXT])}
    for number, question in enumerate(result[:, :CONTEXT].astype(entities.dtype)):
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
        titles = [CONFIGURATIONS[layouts[index]].title for index in (number, source)]
        expect(
            titles[0] == titles[1],
            f"problem {number} has the layout {titles[0]} and its new question {titles[1]}: take one of its "
            "own layout",
        )


@exercise(title="Add an attribute", minutes=180, points=5)
@hint("Draw three different levels, lay them out as a Latin square, then choose the other candidates.")
def check_border(answer: Answer, seed: int) -> None:
    """Check ``border(problems, seed)``: a fifth attribute, the thickness of a panel's border.

    Returns levels 0 to 3 as an array (N, 16), for context and candidates. The rule is *distribute three*:
    over the eight context panels and the right candidate each row holds the same three different levels,
    and so does each column. Every problem draws levels and order anew from ``seed``. Half of the eight
    candidates carry the right level, and the right one is among them; the other half carry one wrong level,
    so that the border alone gives nothing away.
    """
    problems = some_problems("i-raven", seed=seed)
    result = np.asarray(answer(problems, 1))
    expect(
        result.shape == (len(problems), 16), f"return an array of {len(problems)} by 16, not {result.shape}"
    )
    expect(
        bool(np.isin(result, range(4)).all()), "the levels are the whole numbers 0 to 3, and there is another"
    )
    result = result.astype(int)
    right = result[np.arange(len(problems)), CONTEXT + problems.target.astype(int)]
    square = np.concatenate([result[:, :CONTEXT], right[:, None]], 1).reshape(-1, 3, 3)
    rows, columns = np.sort(square, 2), np.sort(square, 1)
    expect(bool((np.diff(rows, axis=2) > 0).all()), "a row repeats a level: its three levels must differ")
    expect(bool((rows == rows[:, :1]).all()), "the three rows of a problem must hold the same three levels")
    expect(
        bool((np.diff(columns, axis=1) > 0).all()),
        "a column repeats a level: each row must be another order of the three",
    )
    carry = (result[:, CONTEXT:] == right[:, None]).sum(1)
    expect(
        bool((carry == 4).all()), "four of the eight candidates must carry the right level, in every problem"
    )
    wrong = np.sort(result[:, CONTEXT:] + 4 * (result[:, CONTEXT:] == right[:, None]), 1)[:, :4]
    expect(
        bool((wrong == wrong[:, :1]).all()),
        "the other four candidates must share one wrong level: if they differ, the right level stands out",
    )
    expect(len({tuple(row) for row in rows[:, 0]}) == 4, "all four choices of three levels must occur")
    expect(
        len({tuple(matrix.ravel()) for matrix in square}) > 20,
        "every problem must draw its levels and their order anew: too few different squares occur",
    )
    expect(
        bool((np.asarray(answer(problems, 1)) == result).all()),
        "the same seed must give the same levels again",
    )
    expect(not bool((np.asarray(answer(problems, 2)) == result).all()), "another seed must give other levels")
    first = (result[:, CONTEXT:] == right[:, None])[:, 0].mean()
    expect(
        0.3 < first < 0.7,
        "which candidates carry the right level must be drawn too, not fixed by their place",
    )
