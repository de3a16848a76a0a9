"""Train one system on subtitles and ask which of two translations it finds likelier (beyond the source)."""

from reasonlib.context_translation.data.corpus import CORPORA
from reasonlib.context_translation.data.datasets import files_version, load
from reasonlib.context_translation.experiments.corpus import subwords
from reasonlib.context_translation.experiments.measures import contrastive
from reasonlib.context_translation.experiments.train import Recipe, train
from reasonlib.data import version_if_here
from reasonlib.parallel.contrasts import read_contrasts
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import parameter_count
from reasonlib.training.settings import construct

__all__ = ["contrasts_version", "run_contrasts"]


def contrasts_version(data: str) -> str | None:
    """Name the state of the subtitles and of the contrastive sets; None where they are not here."""
    versions = files_version(data), version_if_here(CORPORA["discourse-en-fr"])
    return "+".join(map(str, versions)) if None not in versions else None


def run_contrasts(trial: Trial) -> Measured:
    """Train one system and measure its contrastive accuracy, in all and by kind; see `contrastive`.

    The contrasts are those of `read_contrasts`, or those of the test documents where text is simulated.
    """
    settings = trial.settings
    splits = load(
        trial.data, train=settings["documents"], valid=settings["valid_size"], test=settings["test_size"]
    )
    documents = splits.test if trial.data == "simulated" else read_contrasts()
    pairs = [pair for document in documents for pair in document.pairs]
    tokens = subwords(splits, settings["vocabulary"])
    trained = train(construct(Recipe, settings), splits, tokens, device=trial.device, **trial.options)
    return measured(
        trained.history,
        contrastive(trained, trained.encode(documents), pairs),
        curve=("epoch", "loss", "valid_loss"),
        examples={"contrastive_accuracy": sum(pair.decides is not None for pair in pairs)},
        details={"parameters": parameter_count(trained.model)},
    )
