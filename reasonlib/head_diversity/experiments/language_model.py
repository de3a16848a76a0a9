"""A language model with regularisers and Drophead (table 4.7): perplexity, and how its heads differ."""

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from reasonlib.data import locate, version
from reasonlib.errors import DataError
from reasonlib.head_diversity.data.corpus import CORPORA
from reasonlib.head_diversity.data.datasets import load_text
from reasonlib.head_diversity.data.text import vocabulary_of, windows
from reasonlib.head_diversity.experiments.train import (
    Recipe,
    similarity_details,
    text_heads,
    text_loss,
    train_language_model,
)
from reasonlib.head_diversity.models.language_model import LanguageModel, LanguageModelConfig
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import parameter_count
from reasonlib.training.settings import construct

__all__ = ["prepare", "run_language_model", "text_version"]


def text_version(data: str) -> str | None:
    """Name the state of the files that are read; None for simulated text, or where they are not here."""
    if data != "penn-treebank":
        return None
    try:
        return version(locate(CORPORA["penn-treebank"]))
    except DataError:
        return None


def prepare(data: str, settings: Mapping[str, Any], seed: int) -> tuple[LanguageModel, list[Tensor]]:
    """Return an untrained model and the windows of train, valid and test."""
    text = load_text(data, train=settings["train"], valid=settings["valid_size"], test=settings["test_size"])
    vocabulary = vocabulary_of(text.train)
    parts = [windows(sentences, vocabulary, settings["window"]) for sentences in text]
    config = construct(LanguageModelConfig, settings, vocabulary=len(vocabulary))
    return LanguageModel(config, seed=seed), parts


def run_language_model(trial: Trial) -> Measured:
    """Train one language model and measure it.

    Metrics
    -------
    ``perplexity`` on test, ``valid_perplexity``; ``cka``, ``cka_debiased``, ``svcca``: mean over pairs of
    heads and over layers, on test words; ``top_svcca``: the largest SVCCA coefficient, mean likewise.
    """
    settings = trial.settings
    model, (train, valid, test) = prepare(trial.data, settings, trial.seed)
    model.to(trial.device)
    history = train_language_model(model, train, valid, construct(Recipe, settings), **trial.options)
    compared, details = similarity_details(text_heads(model, test, tokens=settings["tokens"]))
    means = [similarity.means() for similarity in compared.values()]
    return measured(
        history,
        {
            "perplexity": math.exp(text_loss(model, test)),
            "valid_perplexity": math.exp(text_loss(model, valid)),
            **{name: sum(mean[name] for mean in means) / len(means) for name in means[0]},
            "top_svcca": sum(float(one.curve[0]) for one in compared.values()) / len(compared),
        },
        curve=("epoch", "loss", "valid_loss"),
        details={
            "similarity": details,
            "parameters": parameter_count(model),
            "words": int(test[:, 1:].numel()),
        },
    )
