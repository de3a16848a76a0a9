"""Translators of several numbers of heads and widths, and with regularisers (tables 4.1 to 4.6)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from torch import Tensor

from reasonlib import training
from reasonlib.head_diversity.data.datasets import load_documents
from reasonlib.head_diversity.data.pairs import EncodedPair, encode_pairs, pair_batches
from reasonlib.head_diversity.experiments.measures import head_metrics, similarity_details
from reasonlib.head_diversity.experiments.train import Recipe, train_translator, translation_heads, valid_loss
from reasonlib.head_diversity.models.diversity import model_similarity
from reasonlib.head_diversity.models.translator import MODULES, Translator, TranslatorConfig
from reasonlib.nn import decoding
from reasonlib.parallel.bpe import Subwords
from reasonlib.parallel.datasets import texts
from reasonlib.parallel.metrics import bleu, sentence_accuracy
from reasonlib.parallel.words import SPECIALS, Tokens, Words
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import parameter_count
from reasonlib.training.settings import construct

__all__ = [
    "Prepared",
    "last_attentions",
    "prepare_pairs",
    "run_translation",
    "sizes",
    "translate",
]

ANOTHER_SEED = 1000
"""Added to a trial's seed for the single-headed model that it is compared with."""


class Prepared(NamedTuple):
    """Tokens, encoded pairs of each part, and the references of the test part."""

    tokens: Tokens
    train: list[EncodedPair]
    valid: list[EncodedPair]
    test: list[EncodedPair]
    references: list[str]


class Fitted(NamedTuple):
    """A trained translator, and what happened."""

    model: Translator
    history: training.History


def sizes(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return width and feed-forward width of a row: the source's, divided by the scale's `shrink`."""
    width = settings["source_width"] // settings["shrink"]
    return {"width": width, "hidden": 4 * width}


@lru_cache(maxsize=2)
def prepare_pairs(
    data: str, *, train: int, valid: int, test: int, vocabulary: int | None, longest: int
) -> Prepared:
    """Load and encode documents; words are the tokens if `vocabulary` is None, else pieces of words."""
    documents = load_documents(data, train=train, valid=valid, test=test)
    written = texts(documents.train)
    tokens: Tokens
    if vocabulary is None:
        tokens = Words.of(written)
    else:
        tokens = Subwords.learn(written, size=vocabulary, specials=SPECIALS)
    train_pairs, valid_pairs, test_pairs = (encode_pairs(part, tokens, longest=longest) for part in documents)
    references = [pair.target for part in documents.test for pair in part.pairs]
    return Prepared(tokens, train_pairs, valid_pairs, test_pairs, references)


def translate(model: Translator, prepared: Prepared, *, longest: int = 64) -> list[str]:
    """Translate the test part greedily."""
    translations = [""] * len(prepared.test)
    for items, batch in pair_batches(prepared.test, size=128):
        written = decoding.best(decoding.greedy(model, batch, longest=longest))
        for item, ids in zip(items, written, strict=True):
            translations[item] = prepared.tokens.decode(ids)
    return translations


def last_attentions(names: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of the last layer's attention of each module, as the source reports them."""
    return {
        module: [name for name in names if name.startswith(start) and name.endswith(end)][-1]
        for module, (start, end) in MODULES.items()
    }


def run_translation(trial: Trial) -> Measured:
    """Train one translator and measure it.

    Metrics
    -------
    ``bleu``, ``accuracy`` (whole sentences) and ``valid_loss``; those of `head_metrics` for the last layer's
    encoder-decoder attention, and with ``_encoder`` and ``_decoder`` for self-attention. With the setting
    `single`: ``single_encoder``, ``single_decoder``, ``single_cross``, mean SVCCA coefficient between this
    model's heads, joined, and those of a single-headed model of another seed.
    """
    settings = trial.settings
    prepared = _prepared(trial)
    model, history = _fit(trial, trial.seed)
    further: list[training.History] = []
    heads = _heads(model, prepared, trial)
    metrics, compared = _measure(heads)
    if settings.get("single"):
        other, single = trial.shared_stage("single", fit_single, {**settings, "heads": 1})
        further.append(single)
        curves = model_similarity(heads, _heads(other, prepared, trial))
        names = {"memory": "cross"}
        metrics |= {f"single_{names.get(part, part)}": float(curves[part].mean()) for part in curves}
    translations = translate(model, prepared, longest=settings["longest"])
    score = bleu(translations, prepared.references, tokenize="none" if trial.data == "simulated" else "13a")
    return measured(
        history,
        {
            "bleu": score.score,
            "accuracy": sentence_accuracy(translations, prepared.references),
            "valid_loss": valid_loss(model, prepared.valid),
            **metrics,
        },
        further=further,
        curve=("epoch", "loss", "valid_loss"),
        examples={"accuracy": len(translations)},
        details={
            "similarity": similarity_details(compared),
            "signature": score.signature,
            "parameters": parameter_count(model),
        },
    )


def _prepared(trial: Trial) -> Prepared:
    settings = trial.settings
    return prepare_pairs(
        trial.data,
        train=settings["train"],
        valid=settings["valid_size"],
        test=settings["test_size"],
        vocabulary=None if trial.data == "simulated" else settings["vocabulary"],
        longest=settings["longest"],
    )


def fit_single(stage: Trial) -> Fitted:
    """Train the single-headed model that rows of a width are compared with."""
    return _fit(stage, stage.seed + ANOTHER_SEED)


def _fit(trial: Trial, seed: int) -> Fitted:
    prepared = _prepared(trial)
    settings = {**trial.settings, **sizes(trial.settings)}
    config = construct(TranslatorConfig, settings, vocabulary=len(prepared.tokens))
    model = Translator(config, seed=seed).to(trial.device)
    recipe = construct(Recipe, trial.settings)
    options: training.RunOptions = {**trial.options, "seed": seed}
    return Fitted(model, train_translator(model, prepared.train, prepared.valid, recipe, **options))


def _heads(model: Translator, prepared: Prepared, trial: Trial) -> dict[str, Tensor]:
    """Return what the heads of each module's last layer give, by module."""
    heads = translation_heads(model, prepared.test, tokens=trial.settings["tokens"])
    return {module: heads[name] for module, name in last_attentions(heads).items()}


def _measure(heads: Mapping[str, Tensor]) -> tuple[dict[str, float], dict[str, Any]]:
    metrics: dict[str, float] = {}
    compared = {}
    for module, outputs in heads.items():
        values, compared[module] = head_metrics(outputs)
        ending = "" if module == "memory" else f"_{module}"
        metrics |= {f"{name}{ending}": value for name, value in values.items()}
    return metrics, compared
