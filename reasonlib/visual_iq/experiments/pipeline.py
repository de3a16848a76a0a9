"""From sixteen pictures to an answer: the detector reads the tables, a reasoner knows nothing else.

    pictures ─ detector ─> tables of slots, angles left out ─ reasoner ─> eight scores

Two things no detector can know. Angles are left out: no rule governs them, and many cannot be told. What a
detector says of a circle's angle is always the same, and to a model that looks for rules that is a rule: all
angles constant. A candidate whose shape shows another angle then breaks it. And in the smallest grid two
sizes of a square are drawn with the same pixels. Each is tried, square by square, and of all readings the
one counts that makes most sense: in which a candidate is likeliest, and the rows above it are too.

The models are those that travel with the library; nothing is trained here.

Source: An (2021), sections 3.2 and 3.3.4, where every figure of the reasoner is one of the two together.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.example import CONFIGURATIONS, CONTEXT, PLACE_OF, Problems
from reasonlib.visual_iq.data.render import problem_images
from reasonlib.visual_iq.data.rule_solver import majority_vote
from reasonlib.visual_iq.experiments import train_detector, train_reasoners
from reasonlib.visual_iq.models.detector import Detector, load_detector, perceive
from reasonlib.visual_iq.models.detector.perceive import SHIPPED
from reasonlib.visual_iq.models.relational import Relational

__all__ = [
    "drawn_like_the_right_one",
    "open_sizes",
    "read",
    "readings",
    "run_pipeline",
    "scores",
    "some",
    "upper_rows",
    "weights_version",
    "without_angles",
]

SIZE, ANGLE = 1, 3
"""Where they stand among an entity's attributes; rules may govern those before the angle."""


def read(
    problems: Problems, detector: Detector | None = None, *, angles: bool = False, few: int = 64
) -> Problems:
    """Draw problems, and write down what a detector sees on them.

    Parameters
    ----------
    problems
        Those to be drawn. Their rules and right answers are kept, for whoever measures.
    detector
        The shipped one by default.
    angles
        Whether to write down the angles too; else all are 0.
    few
        Problems drawn at once.
    """
    eyes = load_detector() if detector is None else detector
    seen = [
        perceive(eyes, problem_images(problems[start : start + few]))
        for start in range(0, len(problems), few)
    ]
    entities = np.concatenate([one.entities for one in seen]).astype(problems.entities.dtype)
    return Problems(
        np.concatenate([one.configuration for one in seen]).astype(problems.configuration.dtype),
        entities if angles else without_angles(entities),
        problems.uniformity,
        problems.rules,
        problems.target,
    )


def without_angles(entities: Int[ndarray, "*N A"]) -> Int[ndarray, "*N A"]:
    """Return a table of slots in which every entity stands at angle 0."""
    plain = entities.copy()
    plain[..., ANGLE] = 0
    return plain


def open_sizes(problems: Problems) -> tuple[Int[ndarray, "N P S"], Int[ndarray, "N P S"]]:
    """Say which sizes each entity may have, drawn as it is: the smallest and the largest.

    Parameters
    ----------
    problems
        Tables, such as a detector writes.
    """
    place = PLACE_OF[problems.configuration][:, None]  # (N, 1, S)
    kind, size, _, angle = np.moveaxis(problems.entities.astype(int), -1, 0)
    same = train_detector.alike("size")[place, kind, size, angle] & (kind > 0)[..., None]  # (N, P, S, L)
    levels = np.arange(same.shape[-1])
    vacant = ~same.any(-1)
    smallest = np.where(same, levels, levels[-1]).min(-1)
    largest = np.where(same, levels, 0).max(-1)
    return np.where(vacant, size, smallest), np.where(vacant, size, largest)


def readings(problem: Problems, most: int = 6) -> Problems:
    """List what one problem may show, where sizes are drawn alike.

    Parameters
    ----------
    problem
        One, as a detector wrote it down.
    most
        Entities of the context that are read both ways, each by itself. Where more are unsure, those of a
        panel are read one way together, in so many panels; those beyond are read as they are. The candidates
        are all read one way, then all the other.
    """
    low, high = (one[0] for one in open_sizes(problem))  # (P, S)
    unsure = low != high
    context = np.argwhere(unsure[:CONTEXT])  # panel and slot
    if len(context) <= most:
        parts = [(panel, np.array([slot])) for panel, slot in context]
    else:
        parts = [(panel, np.flatnonzero(unsure[panel])) for panel in np.unique(context[:, 0])[:most]]
    ways = 2 ** (len(parts) + bool(unsure[CONTEXT:].any()))
    found = problem[np.zeros(ways, dtype=int)]
    entities = found.entities.copy()
    for way, table in enumerate(entities):
        for bit, (panel, slots) in enumerate(parts):
            table[panel, slots, SIZE] = (low, high)[way >> bit & 1][panel, slots]
        table[CONTEXT:, :, SIZE] = (low, high)[way >> len(parts) & 1][CONTEXT:]
    return replace(found, entities=entities)


def upper_rows(model: Relational, problems: Problems) -> Float[ndarray, "N C"]:
    """Say how well the two upper rows follow from the others, were each candidate the answer.

    Rules hold for every row, whatever their order. So an upper row is put last, below the row that the
    candidate completes, and its own third panel is what the model has to predict.

    Returns
    -------
    Float (N, C)
        Log-likelihood of both third panels together, in nats.
    """
    candidates = np.arange(problems.entities.shape[1] - CONTEXT)
    turned = []
    for candidate in candidates:
        grid = problems.entities[:, [*range(CONTEXT), CONTEXT + candidate]]  # (N, 9, S, A)
        for last in (0, 1):
            rows = [row for row in (0, 1, 2) if row != last]
            panels = [3 * row + column for row in (*rows, last) for column in (0, 1, 2)]
            turned.append(grid[:, [*panels[:-1], *[panels[-1]] * len(candidates)]])
    many = problems[np.tile(np.arange(len(problems)), len(turned))]
    told = train_reasoners.scores(model, replace(many, entities=np.concatenate(turned)))[:, 0]
    return told.reshape(len(candidates), 2, len(problems)).sum(1).T


def scores(model: train_reasoners.Solver, problems: Problems) -> Float[ndarray, "N C"]:
    """Score candidates on what a detector read: each candidate's best score over all readings.

    A rule that explains the context makes one candidate very likely; a wrong reading breaks the rule, and
    then no candidate is. Two readings may still explain two candidates. A model that predicts panels is
    therefore asked for the upper rows as well: the right reading makes sense of all three.
    """
    low, high = open_sizes(problems)
    found = train_reasoners.scores(model, problems)
    for index in np.flatnonzero((low != high).any((1, 2))):
        tried = readings(problems[index : index + 1])
        each = train_reasoners.scores(model, tried)
        if isinstance(model, Relational):
            each = each + upper_rows(model, tried)
        found[index] = each.max(0)
    return found


def some(answers: str, per_configuration: int) -> Problems:
    """Take so many test problems of each configuration, evenly spread over the split."""
    whole = datasets.load(answers, per_configuration=min(10_000, 10 * -(-per_configuration // 2))).test
    each = len(whole) // len(CONFIGURATIONS)
    step = max(1, each // per_configuration)
    chosen = np.concatenate(
        [start + step * np.arange(min(per_configuration, each)) for start in range(0, len(whole), each)]
    )
    return whole[chosen]


def drawn_like_the_right_one(problems: Problems, *, few: int = 64) -> Bool[ndarray, "N C"]:
    """Say which candidates have the very pixels of the right one, itself included; draws `few` at once."""
    same = []
    for start in range(0, len(problems), few):
        part = problems[start : start + few]
        candidates = problem_images(part)[:, CONTEXT:]
        right = candidates[np.arange(len(part)), part.target]
        same.append((candidates == right[:, None]).all((2, 3)))
    return np.concatenate(same)


@lru_cache(maxsize=3)
def _seen(answers: str, per_configuration: int) -> tuple[Problems, Problems, ndarray]:
    asked = some(answers, per_configuration)
    return asked, read(asked, angles=True), drawn_like_the_right_one(asked)


def weights_version() -> str:
    """Name the state of the weights that the library ships: other weights are another measurement."""
    total = sha256()
    for path in (SHIPPED, *train_reasoners.SHIPPED.values()):
        total.update(Path(path).read_bytes())
    return total.hexdigest()[:8]


def run_pipeline(trial: Trial) -> Measured:
    """Measure a shipped reasoner on what the shipped detector reads from pictures of test problems.

    Settings: ``solver``, a name of `solving.SHIPPED` or ``vote``, and ``per_configuration`` problems to draw.
    The accuracy is that of `scores` on the detector's tables. Beside it stand ``fair``, which counts every
    answer as right whose picture is the right one's; ``drawn_twice``, the share of problems where another
    candidate has that picture; ``one_reading``, the accuracy on the tables as they are, but for the angles;
    ``with_angles``, that on the tables with the angles it names; ``told``, that on the generator's tables of
    the same problems; ``layout``, the share of problems whose layout is read right; and ``tables``, the share
    of those in which every type, size and colour of all sixteen panels is.
    """
    settings = trial.settings
    asked, seen, alike = _seen(trial.data, settings["per_configuration"])
    name = settings["solver"]

    def said(problems: Problems, score: Callable[..., ndarray] = train_reasoners.scores) -> ndarray:
        if name == "vote":
            return majority_vote(problems)
        return score(train_reasoners.load_solver(name).model, problems).argmax(1)

    plain = replace(seen, entities=without_angles(seen.entities))
    answers = said(plain, scores)
    same = seen.entities[..., :ANGLE] == asked.entities[..., :ANGLE]
    return Measured(
        metrics={
            **train_reasoners.by_configuration(
                asked, answers == asked.target
            ),  # by the layout that was drawn
            "fair": float(alike[np.arange(len(asked)), answers].mean()),
            "drawn_twice": float((alike.sum(1) > 1).mean()),
            "one_reading": float((said(plain) == asked.target).mean()),
            "with_angles": float((said(seen) == asked.target).mean()),
            "told": float((said(asked) == asked.target).mean()),
            "layout": float((seen.configuration == asked.configuration).mean()),
            "tables": float(same.all((1, 2, 3)).mean()),
            "problems": len(asked),
        },
        steps_done=1,
        steps_planned=1,
    )
