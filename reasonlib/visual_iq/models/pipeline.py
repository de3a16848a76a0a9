"""From sixteen pictures to an answer: a detector fills tables of entities, and a reasoner reads these alone.

    pictures ─ detector ─> tables of entities without angles ─ reasoner ─> eight scores

Two properties of a picture cannot be detected:

- Angles. No rule governs them, and many cannot be told apart. The detector gives every circle the same
  angle, which a relational model takes for a rule: all angles constant; a candidate with another shape
  would break it. So `without_angles` removes them.
- Two sizes of a square in the smallest grid, which are drawn with the same pixels. `size_hypotheses` lists
  both, square by square, and `score_hypotheses` keeps the likeliest.

Source: An (2021), "Towards mastering complex reasoning with Transformers", sections 3.2 and 3.3.4, where
every figure of the reasoner is one of detector and reasoner together.

Axes: N problems, H hypotheses of one problem, P 16 panels, S 9 slots, A 4 attributes, C 8 candidates.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from reasonlib.visual_iq.data import symmetry
from reasonlib.visual_iq.data.example import CONTEXT, POSITION_OF, Problems
from reasonlib.visual_iq.data.render import render_problems
from reasonlib.visual_iq.models.detector import Detector, perceive
from reasonlib.visual_iq.models.pretrained import DETECTOR, from_pretrained
from reasonlib.visual_iq.models.relational import Relational
from reasonlib.visual_iq.models.solvers import Solver, predict_scores

__all__ = [
    "detect_problems",
    "score_hypotheses",
    "size_bounds",
    "size_hypotheses",
    "upper_row_likelihood",
    "without_angles",
]

SIZE, ANGLE = 1, 3
"""Indices of these attributes of an entity; rules may govern those before the angle."""


def detect_problems(
    problems: Problems, detector: Detector | None = None, *, angles: bool = False, batch_size: int = 64
) -> Problems:
    """Render problems, and replace their tables by what a detector reads from the pictures.

    Parameters
    ----------
    problems
        To be rendered. Their rules and targets are kept, to measure with.
    detector
        The bundled one by default.
    angles
        Whether to keep the detected angles; else all are 0.
    batch_size
        Problems rendered at once.
    """
    detector = from_pretrained(DETECTOR) if detector is None else detector
    batches = [
        perceive(detector, render_problems(problems[start : start + batch_size]))
        for start in range(0, len(problems), batch_size)
    ]
    entities = np.concatenate([batch.entities for batch in batches]).astype(problems.entities.dtype)
    return Problems(
        np.concatenate([batch.configuration for batch in batches]).astype(problems.configuration.dtype),
        entities if angles else without_angles(entities),
        problems.uniformity,
        problems.rules,
        problems.target,
    )


def without_angles(entities: Int[ndarray, "*N A"]) -> Int[ndarray, "*N A"]:
    """Return a table of entities with all angles at level 0."""
    plain = entities.copy()
    plain[..., ANGLE] = 0
    return plain


def size_bounds(problems: Problems) -> tuple[Int[ndarray, "N P S"], Int[ndarray, "N P S"]]:
    """Give the smallest and the largest size that is drawn with the same pixels as each entity.

    Parameters
    ----------
    problems
        Tables, such as `detect_problems` returns.
    """
    position = POSITION_OF[problems.configuration][:, None]  # (N, 1, S)
    kind, size, _, angle = np.moveaxis(problems.entities.astype(int), -1, 0)
    same = symmetry.same_pixels("size")[position, kind, size, angle] & (kind > 0)[..., None]  # (N, P, S, L)
    levels = np.arange(same.shape[-1])
    vacant = ~same.any(-1)
    smallest = np.where(same, levels, levels[-1]).min(-1)
    largest = np.where(same, levels, 0).max(-1)
    return np.where(vacant, size, smallest), np.where(vacant, size, largest)


def size_hypotheses(problem: Problems, limit: int = 6) -> Problems:
    """List the tables that one problem's pictures may show, where two sizes are drawn alike.

    Parameters
    ----------
    problem
        One, as `detect_problems` returns it.
    limit
        Ambiguous entities of the context that are varied one by one. If there are more, all of a panel vary
        together, in at most this many panels, and other panels stay as detected. The candidates vary all
        together.

    Returns
    -------
    Problems
        H hypotheses.
    """
    low, high = (bound[0] for bound in size_bounds(problem))  # (P, S)
    ambiguous = low != high
    context = np.argwhere(ambiguous[:CONTEXT])  # panel and slot
    if len(context) <= limit:
        groups = [(panel, np.array([slot])) for panel, slot in context]
    else:
        groups = [(panel, np.flatnonzero(ambiguous[panel])) for panel in np.unique(context[:, 0])[:limit]]
    count = 2 ** (len(groups) + bool(ambiguous[CONTEXT:].any()))
    hypotheses = problem[np.zeros(count, dtype=int)]
    entities = hypotheses.entities.copy()
    for number, table in enumerate(entities):
        for bit, (panel, slots) in enumerate(groups):
            table[panel, slots, SIZE] = (low, high)[number >> bit & 1][panel, slots]
        table[CONTEXT:, :, SIZE] = (low, high)[number >> len(groups) & 1][CONTEXT:]
    return replace(hypotheses, entities=entities)


def upper_row_likelihood(model: Relational, problems: Problems) -> Float[ndarray, "N C"]:
    """Score how well the two upper rows follow from the other rows, were each candidate the answer.

    Rules hold for every row, in any order. So each upper row is put last, below the row that the candidate
    completes, and the model predicts its third panel.

    Returns
    -------
    Float (N, C)
        Log-likelihood of both third panels together, in nats.
    """
    candidates = np.arange(problems.entities.shape[1] - CONTEXT)
    reordered = []
    for candidate in candidates:
        grid = problems.entities[:, [*range(CONTEXT), CONTEXT + candidate]]  # (N, 9, S, A)
        for last in (0, 1):
            rows = [row for row in (0, 1, 2) if row != last]
            panels = [3 * row + column for row in (*rows, last) for column in (0, 1, 2)]
            reordered.append(grid[:, [*panels[:-1], *[panels[-1]] * len(candidates)]])
    repeated = problems[np.tile(np.arange(len(problems)), len(reordered))]
    scores = predict_scores(model, replace(repeated, entities=np.concatenate(reordered)))[:, 0]
    return scores.reshape(len(candidates), 2, len(problems)).sum(1).T


def score_hypotheses(model: Solver, problems: Problems) -> Float[ndarray, "N C"]:
    """Score candidates on what a detector read: each candidate's best score over all size hypotheses.

    A rule that explains the context makes one candidate very likely; a wrong size breaks the rule, and then
    no candidate is. Two hypotheses may still explain two candidates. A model that predicts panels therefore
    scores the upper rows as well: the right hypothesis explains all three rows.
    """
    # excerpt: readings
    low, high = size_bounds(problems)  # the sizes that are drawn alike
    scores = predict_scores(model, problems)
    for index in np.flatnonzero((low != high).any((1, 2))):
        # every table that these pictures may show
        hypotheses = size_hypotheses(problems[index : index + 1])
        likelihood = predict_scores(model, hypotheses)
        if isinstance(model, Relational):  # it predicts the upper rows too
            likelihood = likelihood + upper_row_likelihood(model, hypotheses)
        scores[index] = likelihood.max(0)  # the best table for each candidate
    return scores
    # end excerpt
