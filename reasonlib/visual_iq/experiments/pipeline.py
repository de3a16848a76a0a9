"""From pictures to answers, measured: the bundled detector and the bundled reasoners together.

Nothing is trained here. Source: An (2021), "Towards mastering complex reasoning with Transformers", section
3.3.4.

Axes: N problems, C 8 candidates.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.example import CONFIGURATIONS, CONTEXT, Problems
from reasonlib.visual_iq.data.majority_vote import majority_vote
from reasonlib.visual_iq.data.render import render_problems
from reasonlib.visual_iq.experiments.metrics import accuracy_by_configuration
from reasonlib.visual_iq.models.pipeline import ANGLE, detect_problems, score_hypotheses, without_angles
from reasonlib.visual_iq.models.pretrained import BUNDLED, from_pretrained
from reasonlib.visual_iq.models.solvers import predict_scores

__all__ = [
    "EXPERIMENTS",
    "pictures_like_the_answer",
    "run_pipeline",
    "sample_test_problems",
    "weights_version",
]


def sample_test_problems(answers: str, per_configuration: int) -> Problems:
    """Take test problems of each configuration, evenly spread over the split."""
    test_set = datasets.load(answers, per_configuration=min(10_000, 10 * -(-per_configuration // 2))).test
    available = len(test_set) // len(CONFIGURATIONS)
    step = max(1, available // per_configuration)
    chosen = np.concatenate(
        [
            start + step * np.arange(min(per_configuration, available))
            for start in range(0, len(test_set), available)
        ]
    )
    return test_set[chosen]


def pictures_like_the_answer(problems: Problems, *, batch_size: int = 64) -> Bool[ndarray, "N C"]:
    """Mark the candidates with exactly the pixels of the right one, itself included."""
    same = []
    for start in range(0, len(problems), batch_size):
        batch = problems[start : start + batch_size]
        candidates = render_problems(batch)[:, CONTEXT:]
        answer = candidates[np.arange(len(batch)), batch.target]
        same.append((candidates == answer[:, None]).all((2, 3)))
    return np.concatenate(same)


@lru_cache(maxsize=3)
def _perceived(answers: str, per_configuration: int) -> tuple[Problems, Problems, ndarray]:
    problems = sample_test_problems(answers, per_configuration)
    return problems, detect_problems(problems, angles=True), pictures_like_the_answer(problems)


def weights_version(answers: str) -> str:
    """Name the state of the bundled weights, a hash of their files; it is the same for every answer set."""
    digest = sha256()
    for path in BUNDLED.values():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def run_pipeline(trial: Trial) -> Measured:
    """Measure a bundled reasoner on what the bundled detector reads from pictures of test problems.

    Settings: ``solver``, one of `pretrained.REASONERS` or ``vote``, and ``per_configuration`` problems.

    Metrics, beside the accuracy of `score_hypotheses` on the detected tables: ``fair``, which counts every
    candidate as right that has the picture of the right one; ``drawn_twice``, the share of problems where
    another candidate has that picture; ``one_reading``, the accuracy on the detected tables without angles;
    ``with_angles``, that with the detected angles; ``told``, that on the simulator's tables of the same
    problems; ``layout``, the share of problems whose configuration is detected; and ``tables``, the share of
    problems in which every type, size and colour of all sixteen panels is.
    """
    settings = trial.settings
    problems, detected, same_picture = _perceived(trial.data, settings["per_configuration"])
    name = settings["solver"]

    def answers(tables: Problems, score: Callable[..., ndarray] = predict_scores) -> ndarray:
        if name == "vote":
            return majority_vote(tables)
        return score(from_pretrained(name), tables).argmax(1)

    plain = replace(detected, entities=without_angles(detected.entities))
    chosen = answers(plain, score_hypotheses)
    equal = detected.entities[..., :ANGLE] == problems.entities[..., :ANGLE]
    return Measured(
        metrics={
            **accuracy_by_configuration(problems.configuration, chosen == problems.target),
            "fair": float(same_picture[np.arange(len(problems)), chosen].mean()),
            "drawn_twice": float((same_picture.sum(1) > 1).mean()),
            "one_reading": float((answers(plain) == problems.target).mean()),
            "with_angles": float((answers(detected) == problems.target).mean()),
            "told": float((answers(problems) == problems.target).mean()),
            "layout": float((detected.configuration == problems.configuration).mean()),
            "tables": float(equal.all((1, 2, 3)).mean()),
            "problems": len(problems),
        },
        steps_done=1,
        steps_planned=1,
    )


# Experiments ------------------------------------------------------------------------------------------------

PIPELINE = Experiment(
    name="visual_iq/pipeline",
    title="The bundled detector and reasoners together: from pictures to answers",
    rows={solver: {"solver": solver} for solver in ("reasoner", "relational", "vote")},
    scales=by_scale(per_configuration=(1, 20, 600)),
    data=datasets.KINDS,
    run=run_pipeline,
    deterministic=("vote",),
    bundled=("reasoner", "relational"),
    version=weights_version,
)

EXPERIMENTS = (PIPELINE,)
