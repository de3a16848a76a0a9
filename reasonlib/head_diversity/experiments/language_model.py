"""A language model with regularisers and Drophead (table 4.7): perplexity, and how its heads differ."""

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from reasonlib import training
from reasonlib.data import version_if_here
from reasonlib.head_diversity.data.corpus import CORPORA
from reasonlib.head_diversity.data.datasets import load_text
from reasonlib.head_diversity.data.text import vocabulary_of, windows
from reasonlib.head_diversity.experiments.measures import head_metrics, mean_metrics, similarity_details
from reasonlib.head_diversity.experiments.train import Recipe, text_heads, text_loss, train_language_model
from reasonlib.head_diversity.models.language_model import LanguageModel, LanguageModelConfig
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import parameter_count
from reasonlib.training.settings import construct

__all__ = ["fit_language_model", "prepare", "run_language_model", "text_version"]


def text_version(data: str) -> str | None:
    """Name the state of the files that are read; None for simulated text, or where they are not here."""
    return version_if_here(CORPORA["penn-treebank"]) if data == "penn-treebank" else None


def prepare(data: str, settings: Mapping[str, Any], seed: int) -> tuple[LanguageModel, list[Tensor]]:
    """Return an untrained model and the windows of train, valid and test."""
    text = load_text(data, train=settings["train"], valid=settings["valid_size"], test=settings["test_size"])
    vocabulary = vocabulary_of(text.train)
    parts = [windows(sentences, vocabulary, settings["window"]) for sentences in text]
    config = construct(LanguageModelConfig, settings, vocabulary=len(vocabulary))
    return LanguageModel(config, seed=seed), parts


def fit_language_model(trial: Trial) -> tuple[LanguageModel, training.History, list[Tensor]]:
    """Train the model of a trial; returns it with its history and the windows of train, valid and test."""
    model, parts = prepare(trial.data, trial.settings, trial.seed)
    model.to(trial.device)
    recipe = construct(Recipe, trial.settings)
    return model, train_language_model(model, parts[0], parts[1], recipe, **trial.options), parts


def run_language_model(trial: Trial) -> Measured:
    """Train one language model and measure it.

    Metrics
    -------
    ``perplexity`` on test, ``valid_perplexity``; those of `head_metrics` on test words, mean over layers.
    """
    model, history, (_, valid, test) = fit_language_model(trial)
    heads = text_heads(model, test, tokens=trial.settings["tokens"])
    compared = {name: head_metrics(outputs) for name, outputs in heads.items()}
    return measured(
        history,
        {
            "perplexity": math.exp(text_loss(model, test)),
            "valid_perplexity": math.exp(text_loss(model, valid)),
            **mean_metrics({name: metrics for name, (metrics, _) in compared.items()}),
        },
        curve=("epoch", "loss", "valid_loss"),
        details={
            "similarity": similarity_details({name: pairs for name, (_, pairs) in compared.items()}),
            "parameters": parameter_count(model),
            "words": int(test[:, 1:].numel()),
        },
    )
