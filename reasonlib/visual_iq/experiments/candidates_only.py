"""What the candidates alone give away: to a vote, or to a model that never sees the context.

Source: Hu et al. (2021), "Stratified Rule-Aware Network for Abstract Visual Reasoning", section 3.
https://arxiv.org/abs/2002.06838
"""

from dataclasses import replace

from reasonlib.tracking.experiment import Experiment, Measured, Trial, extend_scales
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.majority_vote import majority_vote
from reasonlib.visual_iq.data.rule_solver import consistent_candidates
from reasonlib.visual_iq.experiments.metrics import CHANCE, accuracy_by_configuration
from reasonlib.visual_iq.experiments.reasoners import SCALES, STEADY, run_reasoner

__all__ = ["EXPERIMENTS", "run_candidates_only"]


def run_candidates_only(trial: Trial) -> Measured:
    """Measure a vote among the candidates, or train and measure the model that never sees the context.

    Settings: ``model``, ``vote`` or ``context-blind``, and those of `reasoners.run_reasoner`. ``sound`` is
    the share of problems where the rules leave one candidate, the right one.
    """
    if trial.settings["model"] != "vote":
        measured = run_reasoner(trial)
        return replace(measured, metrics={**measured.metrics, "chance": CHANCE})
    problems = datasets.load(trial.data, per_configuration=trial.settings["per_configuration"]).test
    fits = consistent_candidates(problems)
    return Measured(
        metrics={
            **accuracy_by_configuration(problems.configuration, majority_vote(problems) == problems.target),
            "sound": float((fits.argmax(1) == problems.target)[fits.sum(1) == 1].sum() / len(problems)),
            "chance": CHANCE,
        },
        steps_done=1,
        steps_planned=1,
    )


# Experiments ------------------------------------------------------------------------------------------------

SHORTCUT = Experiment(
    name="visual_iq/shortcut",
    title="The eight candidates without the puzzle",
    rows={"vote": {"model": "vote"}, "blind": {"model": "context-blind", **STEADY}},
    scales=extend_scales(SCALES, paper={"epochs": 4}),
    data=datasets.KINDS,
    run=run_candidates_only,
    deterministic=("vote",),
)

EXPERIMENTS = (SHORTCUT,)
