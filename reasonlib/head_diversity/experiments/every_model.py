"""Does diversity predict accuracy? The bundled models of every topic, found by their weight files.

A bundle says what it is in its metadata; the attention inside is known by the names of its tensors, so no
topic is imported. What each model reads is not here: every attention is given standard normal vectors, and
what is compared is how differently its heads treat the same input.
"""

import json
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reasonlib.head_diversity.experiments.measures import head_metrics, mean_metrics, rank_correlation
from reasonlib.nn import MultiHeadAttention
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.checkpoints import load_weights, weights_metadata

__all__ = ["BundledModel", "bundled_models", "bundles_version", "random_heads", "run_every_model"]

ROOT = Path(str(files("reasonlib")))
ACCURACY = ("accuracy", "sentence_accuracy", "joint_goal")
"""What bundles call the share of right answers."""


class BundledModel(NamedTuple):
    """A weight file with multi-head attention.

    Attributes
    ----------
    path
        The file.
    heads
        Of each attention.
    accuracy
        Share of right answers on its own test data, as its metadata says; None if it says none.
    """

    path: Path
    heads: int
    accuracy: float | None


@lru_cache(maxsize=1)
def bundled_models() -> dict[str, BundledModel]:
    """Find the bundled models whose attention has one number of heads: ``<topic>.<file>`` to model."""
    models = {}
    for path in sorted(ROOT.glob("*/weights/**/*.safetensors")):
        metadata = {name: _parsed(text) for name, text in weights_metadata(path).items()}
        sizes: dict[str, Any] = next(
            (metadata[name] for name in ("settings", "config") if name in metadata), {}
        )
        heads = sizes.get("heads") or _neighbour(path)
        if heads and any(name.endswith("query.weight") for name in load_weights(path)):
            topic, _, *folders = path.relative_to(ROOT).parts
            provenance = metadata.get("made")
            accuracy = (
                next((provenance[name] for name in ACCURACY if name in provenance), None)
                if isinstance(provenance, dict)
                else None
            )
            models[".".join((topic, *folders)).removesuffix(".safetensors")] = BundledModel(
                path, heads, accuracy
            )
    return models


def bundles_version(_: str) -> str:
    """Name the state of all weight files that are read."""
    digests = [sha256(model.path.read_bytes()).hexdigest() for model in bundled_models().values()]
    return sha256("".join(digests).encode()).hexdigest()[:16]


def random_heads(model: BundledModel, *, sequences: int, length: int, seed: int) -> dict[str, Tensor]:
    """Return what every head of a model gives for standard normal vectors: name to (H, N, C)."""
    tensors = load_weights(model.path)
    outputs = {}
    for name in [name.removesuffix(".query.weight") for name in tensors if name.endswith(".query.weight")]:
        width = len(tensors[f"{name}.query.weight"])
        if tensors[f"{name}.query.weight"].shape != (width, width) or width % model.heads:
            continue
        attention = MultiHeadAttention(width, model.heads).eval()
        for part in ("query", "key", "value"):
            layer = getattr(attention, part)
            layer.weight.data = tensors[f"{name}.{part}.weight"].float()
            layer.bias.data = tensors[f"{name}.{part}.bias"].float()
        x = torch.randn(sequences, length, width, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            heads = attention(x, x, x).heads  # (B, H, T, C)
        outputs[name] = heads.transpose(1, 2).flatten(0, 1).transpose(0, 1)
    return outputs


def run_every_model(trial: Trial) -> Measured:
    """Measure the heads of one bundled model, or of all.

    Metrics
    -------
    Those of `head_metrics`, mean over attentions, and ``accuracy`` where it is known. Row ``all``: their mean
    over models, and ``correlation``, Spearman's between debiased CKA and accuracy.
    """
    settings = trial.settings
    models = bundled_models()
    chosen = models if settings["model"] == "all" else {settings["model"]: models[settings["model"]]}
    measured: dict[str, dict[str, float]] = {}
    for name, model in chosen.items():
        heads = random_heads(
            model, sequences=settings["sequences"], length=settings["length"], seed=trial.seed
        )
        measured[name] = mean_metrics({part: head_metrics(outputs)[0] for part, outputs in heads.items()})
    metrics = mean_metrics(measured)
    if settings["model"] == "all":
        scored = [name for name in measured if models[name].accuracy is not None]
        metrics["correlation"] = rank_correlation(
            [measured[name]["cka_debiased"] for name in scored],
            [models[name].accuracy or 0.0 for name in scored],
        )
        metrics["models"] = len(scored)
    else:
        accuracy = chosen[settings["model"]].accuracy
        metrics |= {} if accuracy is None else {"accuracy": accuracy}
    rounded = {
        name: {part: round(value, 4) for part, value in values.items()} for name, values in measured.items()
    }
    details = {name: {**values, "accuracy": models[name].accuracy} for name, values in rounded.items()}
    return Measured(metrics=metrics, details={"models": details})


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _neighbour(path: Path) -> int | None:
    """Return the heads that a configuration beside the file, or in a folder ``encoder`` there, names."""
    for config in (path.parent / "config.json", path.parent / "encoder" / "config.json"):
        if config.is_file():
            heads: int | None = json.loads(config.read_text(encoding="utf-8")).get("num_attention_heads")
            return heads
    return None
