"""Make the bundled weights again: the small HCE that answers in the reader's browser.

    reasonlib run context_translation/bundle --scale paper     weights/hce.safetensors

A run at ``paper`` replaces the file; at a smaller scale it only measures.
"""

from dataclasses import replace

from reasonlib.context_translation.data.encoding import Words
from reasonlib.context_translation.experiments.measures import measure
from reasonlib.context_translation.experiments.simulated import fit_simulated
from reasonlib.context_translation.experiments.train import train
from reasonlib.context_translation.models.pretrained import WEIGHTS, save_translator
from reasonlib.parallel.example import KINDS
from reasonlib.parallel.simulator import SimulatorConfig, simulate
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured

__all__ = ["make_bundle"]


def make_bundle(trial: Trial) -> Measured:
    """Train the bundled translator in two stages and write it if the scale is ``paper``.

    The first stage passes several times over the documents of the comparison. The second goes on with
    documents that the first has not shown; half of their helpful sentences have a pronoun, which the first
    stage learns last.
    """
    settings = trial.settings
    first, splits = fit_simulated(trial.stage("first"))
    if first.history.stopped != "finished":  # the second stage starts from the end of the first alone
        metrics, details = measure(first, splits.test)
        return measured(first.history, metrics, examples=details["sentences"])
    config = SimulatorConfig(kinds=(*KINDS, "pronoun", "pronoun"))
    fresh = tuple(simulate(settings["further"], seed=21, config=config))
    trained = train(
        replace(first.recipe, lr=settings["further_lr"], epochs=1),
        splits._replace(train=fresh),
        first.tokens,
        start=first.model,
        device=trial.device,
        **trial.stage("further").options,
    )
    metrics, details = measure(trained, splits.test)
    if trial.scale == "paper" and trained.history.stopped == "finished":
        assert isinstance(trained.tokens, Words)
        bundle_metrics = {name: round(value, 4) for name, value in metrics.items() if "." not in name}
        path = WEIGHTS / f"{trial.row}.safetensors"
        save_translator(trained.model, trained.tokens, {"seed": trial.seed, **bundle_metrics}, path)
    return measured(trained.history, metrics, further=[first.history], examples=details["sentences"])
