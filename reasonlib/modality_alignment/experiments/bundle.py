"""Make the bundled weights again.

    reasonlib run modality_alignment/bundle --scale paper     weights/tvqa-abc.safetensors

Asked everything at once, the model stays at chance for thousands of steps; so it learns in phases, the
simplest kinds of question first. A run at ``paper`` replaces the file; at a smaller scale it only measures.
"""

from collections.abc import Sequence
from typing import Any

from reasonlib.modality_alignment.data.datasets import QuestionSet
from reasonlib.modality_alignment.data.encoding import encode
from reasonlib.modality_alignment.data.scene import SceneConfig
from reasonlib.modality_alignment.data.simulator import SimulatorConfig, simulate
from reasonlib.modality_alignment.experiments.train import Recipe, build, load_trial, train_answerer
from reasonlib.modality_alignment.experiments.video_qa import measured_on
from reasonlib.modality_alignment.models.pretrained import WEIGHTS, save_model
from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.settings import construct
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["PHASES", "make_bundle"]

PHASES: Sequence[tuple[tuple[str, ...], float, float]] = (
    (("wish", "opposite"), 1.0, 5e-3),
    (("presence", "presence", "wish"), 1.0, 5e-3),
    (("presence", "colour", "colour", "wish"), 2.0, 4e-3),
    (("presence", "colour", "colour", "wish", "meeting", "opposite"), 3.0, 3e-3),
    (("presence", "colour", "wish", "meeting", "opposite"), 3.0, 1e-3),
)
"""Of each phase: kinds of question, questions as a multiple of ``train``, learning rate."""


def _draw(
    kinds: tuple[str, ...], count: int, seed: int, features: int, vocabulary: Vocabulary
) -> QuestionSet:
    """Draw questions of some kinds, in the words of a vocabulary."""
    scene = SceneConfig(frames_each=1, features=features, noise=0.05)
    questions = tuple(simulate(count, seed=seed, config=SimulatorConfig(kinds=kinds, scene=scene)))
    return QuestionSet(questions, encode(questions, vocabulary))


def make_bundle(trial: Trial) -> Measured:
    """Train TVQA_abc in `PHASES` and write it if the scale is ``paper``; metrics as of `run_video_qa`."""
    settings = trial.settings
    vocabulary, parts = load_trial(trial)
    features = parts["train"].batch.regions.shape[-1]
    model = build(settings, vocabulary=len(vocabulary), features=features, seed=trial.seed)
    done, planned, stopped = 0, 0, "finished"
    for number, (kinds, share, lr) in enumerate(PHASES):
        stage = trial.stage(f"phase-{number}", lr=lr)
        recipe = construct(Recipe, stage.settings)
        count = round(share * settings["train"])
        planned += recipe.epochs * -(-count // recipe.batch_size)
        if stopped != "finished":
            continue
        asked = _draw(kinds, count, 100 + number, features, vocabulary)
        history = train_answerer(model, asked, recipe, valid_set=parts["valid"], **stage.options)
        done, stopped = done + history.steps_done, history.stopped
    measured = measured_on(model, parts["test"], history)
    if trial.scale == "paper" and done == planned:
        made: dict[str, Any] = {
            name: round(value, 4) for name, value in measured.metrics.items() if "accuracy" in name
        }
        made |= {"seed": trial.seed, "train": settings["train"], "kinds": list(settings["kinds"])}
        assert isinstance(model, TVQA_abc)
        save_model(model, WEIGHTS / "tvqa-abc.safetensors", vocabulary=vocabulary, made=made)
    return Measured(
        metrics=measured.metrics, steps_done=done, steps_planned=planned, stopped=stopped,
        examples=measured.examples, details=measured.details,
    )  # fmt: skip
