"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reasonlib.tracking.experiment import Experiment, Measured, Trial, subset
from reasonlib.training.settings import with_defaults
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.rule_solver import consistent, majority_vote
from reasonlib.visual_iq.experiments.train_reasoners import (
    BRISK,
    SHORT,
    Recipe,
    by_configuration,
    run_reasoner,
)
from reasonlib.visual_iq.models.reasoner import ReasonerConfig

__all__ = ["DATA", "EXPERIMENTS"]

# Drawn by the rules that the data sets' authors published; rules, attributes and pixels agree with the public
# generators (tests/visual_iq/test_visual_statistics.py, test_visual_render.py).
DATA = {"raven": "regenerated", "i-raven": "regenerated", "raven-fair": "regenerated"}
# Perception -------------------------------------------------------------------------------------------------


def run_detector(trial: Trial) -> Measured:
    """Train or only measure a detector; see `reasonlib.visual_iq.experiments.train_detector.run_detector`."""
    from reasonlib.visual_iq.experiments import (
        train_detector,  # here, so that a chapter on reasoning does not rest on it
    )

    return train_detector.run_detector(trial)


DETECTOR = Experiment(
    name="visual_iq/detector",
    title="The detector of entities and their attributes",
    rows={
        "small": {"backbone": "small"},
        "resnet-50": {"backbone": "microsoft/resnet-50", "width": 256, "hidden": 1024, "lr": 2e-4},
        "shipped": {"start": "shipped", "steps": 0},
    },
    scales={
        "smoke": {"steps": 2, "batch_size": 4, "every": 2, "warmup": 1, "panels": 28},
        "quick": {"steps": 30, "every": 10, "warmup": 5, "panels": 560},
        "paper": {"panels": 14_000},
    },
    data=subset(DATA, "raven"),
    run=run_detector,
    bundled=("shipped",),
)


def _resolve(settings: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """Fill in what a row leaves to the defaults."""
    return with_defaults(settings, ReasonerConfig, Recipe)


# Reasoning --------------------------------------------------------------------------------------------------

STEADY = {**SHORT, "lr": 0.002, "warmup": 500}  # at 0.005 it falls to a constant answer in the second pass

REASONER = Experiment(
    name="visual_iq/reasoner",
    title="The hierarchy of Transformers and its ablations, in few passes at a falling rate",
    rows={
        "full": {"model": "reasoner", "ship": True, **STEADY},
        "no-panel": {"model": "reasoner", "panel_layers": 0, **STEADY},
        "no-entity": {"model": "reasoner", "entity_layers": 0, **STEADY},
        "neither": {"model": "reasoner", "panel_layers": 0, "entity_layers": 0, **STEADY},
        "no-contrast": {"model": "reasoner", "contrast": False, **STEADY},
        "no-separators": {"model": "reasoner", "separators": False, **STEADY},
        "no-swap": {"model": "reasoner", "swap": False, **STEADY},
        "cross-entropy": {"model": "reasoner", "loss": "ce", **STEADY},
    },
    scales={
        "smoke": {"per_configuration": 20, "epochs": 1, "warmup": 1},
        "quick": {"per_configuration": 500, "epochs": 20, "warmup": 100},
        "paper": {"per_configuration": 10_000, "epochs": 10},
    },
    data=DATA,
    run=run_reasoner,
    resolve=_resolve,
)

AS_PUBLISHED = Experiment(
    name="visual_iq/as-published",
    title="The hierarchy of Transformers with the source's recipe: 400 passes, the rate halved on a plateau",
    rows={"full": {"model": "reasoner"}},
    scales={
        "smoke": {"per_configuration": 20, "epochs": 1},
        "quick": {"per_configuration": 500, "epochs": 20},
        "paper": {"per_configuration": 10_000, "epochs": 400},
    },
    data=DATA,
    run=run_reasoner,
    resolve=_resolve,
)

LONGER = Experiment(
    name="visual_iq/longer",
    title="The hierarchy of Transformers, whole, in more passes than its ablations",
    rows={
        "full": {"model": "reasoner", "ship": True, **STEADY},
        "cross-entropy": {"model": "reasoner", "loss": "ce", **STEADY},
    },
    scales={
        "smoke": {"per_configuration": 20, "epochs": 1, "warmup": 1},
        "quick": {"per_configuration": 500, "epochs": 40, "warmup": 100},
        "paper": {"per_configuration": 10_000, "epochs": 50},
    },
    data=DATA,
    run=run_reasoner,
    resolve=_resolve,
)

RELATIONAL = Experiment(
    name="visual_iq/relational",
    title="A reasoner that predicts the missing panel, and each step to it",
    rows={
        "full": {"model": "relational", "ship": True, **BRISK},
        "no-rows": {"model": "relational", "rows": False, **BRISK},
        "no-alike": {"model": "relational", "alike": False, **BRISK},
        "third-row": {"model": "relational", "every_row": False, **BRISK},
        "choose": {"model": "relational", "predict": False, "every_row": False, **BRISK},
    },
    scales={
        "smoke": {"per_configuration": 20, "epochs": 1, "warmup": 1},
        "quick": {"per_configuration": 500, "epochs": 40},
        "paper": {"per_configuration": 10_000, "epochs": 25},
    },
    data=subset(DATA, "i-raven", "raven", "raven-fair"),
    run=run_reasoner,
    resolve=_resolve,
)

# From pictures to answers -----------------------------------------------------------------------------------


def run_pipeline(trial: Trial) -> Measured:
    """Let the shipped models answer from pictures; see `pipeline.run_pipeline`."""
    from reasonlib.visual_iq.experiments import pipeline

    return pipeline.run_pipeline(trial)


def _with_weights(name: str) -> str:
    """Name the state of the bundled weights, which are part of what this experiment is given."""
    from reasonlib.visual_iq.experiments import pipeline

    return pipeline.weights_version()


PIPELINE = Experiment(
    name="visual_iq/pipeline",
    title="The shipped detector and the shipped reasoners together: from pictures to answers",
    rows={
        "reasoner": {"solver": "reasoner"},
        "relational": {"solver": "relational"},
        "vote": {"solver": "vote"},
    },
    scales={
        "smoke": {"per_configuration": 1},
        "quick": {"per_configuration": 20},
        "paper": {"per_configuration": 600},
    },
    data=DATA,
    run=run_pipeline,
    deterministic=("vote",),
    bundled=("reasoner", "relational"),
    version=_with_weights,
)

# The shortcut -----------------------------------------------------------------------------------------------


def run_shortcut(trial: Trial) -> Measured:
    """Measure what the candidates alone give away: to a vote, or to a model that never sees the context."""
    if trial.settings["model"] != "vote":
        measured = run_reasoner(trial)
        return replace(measured, metrics={**measured.metrics, "chance": 0.125})
    problems = datasets.load(trial.data, per_configuration=trial.settings["per_configuration"]).test
    fits = consistent(problems)
    return Measured(
        metrics={
            **by_configuration(problems, majority_vote(problems) == problems.target),
            "sound": float((fits.argmax(1) == problems.target)[fits.sum(1) == 1].sum() / len(problems)),
            "chance": 0.125,
        },
        steps_done=1,
        steps_planned=1,
    )


SHORTCUT = Experiment(
    name="visual_iq/shortcut",
    title="What the eight candidates give away without the puzzle",
    rows={"vote": {"model": "vote"}, "blind": {"model": "context-blind", **STEADY}},
    scales={
        "smoke": {"per_configuration": 20, "epochs": 1, "warmup": 1},
        "quick": {"per_configuration": 500, "epochs": 20, "warmup": 100},
        "paper": {"per_configuration": 10_000, "epochs": 4},
    },
    data=DATA,
    run=run_shortcut,
    deterministic=("vote",),
)

# Pixels -----------------------------------------------------------------------------------------------------


def run_pixels(trial: Trial) -> Measured:
    """Train one of the models on pictures; see `reasonlib.visual_iq.experiments.train_pixels.run_pixels`."""
    from reasonlib.visual_iq.experiments import train_pixels

    return train_pixels.run_pixels(trial)


PIXELS = Experiment(
    name="visual_iq/pixels",
    title="Models that see pictures: the baselines",
    rows={
        "lstm": {"model": "lstm", "lr": 1e-4},
        "lstm-by-candidate": {"model": "lstm-by-candidate", "lr": 1e-4},
        "wren": {"model": "wren", "tags": True, "auxiliary": 0.0, "lr": 1e-4},
        "wren-notag-aux": {"model": "wren", "tags": False, "auxiliary": 10.0, "lr": 1e-4},
        "wren-tag-aux": {"model": "wren", "tags": True, "auxiliary": 10.0, "lr": 1e-4},
        "cnn": {"model": "cnn", "lr": 1e-4},
        "resnet": {"model": "resnet", "lr": 1e-4},
        "resnet-drt": {"model": "resnet-drt", "lr": 1e-4},
        "copinet": {"model": "copinet", "loss": "bce"},
        "copinet-ce": {"model": "copinet", "loss": "ce"},
        "copinet-no-inference": {"model": "copinet", "inference": False, "loss": "bce"},
        "copinet-no-inference-ce": {"model": "copinet", "inference": False, "loss": "ce"},
        "copinet-no-contrast": {"model": "copinet", "inference": False, "contrast": False, "loss": "ce"},
        "cnn-reasoner": {"model": "grid-reasoner", "loss": "bce"},
        "blind-cnn": {"model": "blind-cnn"},
        "blind-resnet": {"model": "blind-resnet", "lr": 1e-4},
    },
    scales={
        "smoke": {"problems": 20, "epochs": 1, "narrow": 16, "size": 40, "lr": 1e-3, "keep": 256},
        "quick": {"problems": 1000, "epochs": 4, "narrow": 4, "size": 40, "lr": 3e-3, "keep": 512},
        "paper": {"problems": 10_000, "epochs": 200, "narrow": 1, "size": 80, "keep": 8192},
    },
    data=DATA,
    run=run_pixels,
)

FEW = {  # passes over the problems: what some minutes on one processor core allow
    "lstm": 4,
    "wren": 4,
    "wren-notag-aux": 4,
    "cnn": 20,
    "resnet": 6,
    "resnet-drt": 6,
    "copinet": 2,
    "cnn-reasoner": 3,
    "blind-cnn": 5,
    "blind-resnet": 5,
}

SMALL_PIXELS = Experiment(
    name="visual_iq/small-pixels",
    title="The baselines at a processor's budget: a quarter as wide, 40 x 40 pixels, a few passes",
    rows={row: {**PIXELS.rows[row], "epochs": epochs} for row, epochs in FEW.items()},
    scales={
        "smoke": {"problems": 20, "epochs": 1, "narrow": 16, "size": 40, "lr": 1e-3, "keep": 256},
        "quick": {"problems": 1000, "epochs": 1, "narrow": 4, "size": 40, "lr": 1e-3, "keep": 512},
        "paper": {"problems": 10_000, "narrow": 4, "size": 40, "lr": 1e-3, "keep": 2048},
    },
    data=DATA,
    run=run_pixels,
)

# The models that travel with the library --------------------------------------------------------------------


def run_ship(trial: Trial) -> Measured:
    """Train one of the models that travel with the library, and write it at ``paper``."""
    if trial.settings["model"] == "detector":
        from reasonlib.visual_iq.experiments import train_detector

        return train_detector.make_detector(trial)
    if trial.settings["model"] == "detector-boxes":
        from reasonlib.visual_iq.experiments import finetune_boxes

        return finetune_boxes.make_sharp(trial)
    raise ValueError(f"no such model is made here: {trial.settings['model']!r}")


SHIP = Experiment(
    name="visual_iq/ship",
    title="The trained models that travel with the library",
    rows={
        "detector": {"model": "detector", "backbone": "small"},
        "detector-boxes": {"model": "detector-boxes"},  # after it: goes on from what it wrote
    },
    scales={
        "smoke": {"warmup": 1, "steps": 2, "panels": 28, "test_panels": 28},
        "quick": {"steps": 30, "panels": 560, "test_panels": 560},
        "paper": {"steps": 6000, "panels": 3000, "test_panels": 2800},
    },
    data=DATA,
    run=run_ship,
)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        DETECTOR,
        REASONER,
        AS_PUBLISHED,
        LONGER,
        RELATIONAL,
        PIPELINE,
        SHORTCUT,
        PIXELS,
        SMALL_PIXELS,
        SHIP,
    )
}
