"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from typing import Any

from reasonlib.head_diversity.data.datasets import DATA, files_version
from reasonlib.head_diversity.experiments.cost import run_cost
from reasonlib.head_diversity.experiments.every_model import bundles_version, run_every_model
from reasonlib.head_diversity.experiments.invariance import run_invariance
from reasonlib.head_diversity.experiments.language_model import run_language_model, text_version
from reasonlib.head_diversity.experiments.pruning import run_pruning
from reasonlib.head_diversity.experiments.random_vectors import run_random_vectors
from reasonlib.head_diversity.experiments.small_samples import run_small_samples
from reasonlib.head_diversity.experiments.translation import run_translation, sizes
from reasonlib.tracking.experiment import Experiment, by_scale, extend_scales, family, named, subset

__all__ = ["DATA", "EXPERIMENTS"]

DROPHEAD: Mapping[str, Any] = {"drophead": 0.1}
ORTHOGONALITY: Mapping[str, Any] = {"orthogonality": 1.0}
HSIC: Mapping[str, Any] = {"hsic": 0.1}
"""The source prints 1e-7, which changes nothing here, where HSIC is divided by (N - 1)^2 as it prints."""

CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "baseline": {},
    "drophead": DROPHEAD,
    "orthogonality": ORTHOGONALITY,
    "hsic": HSIC,
    "all": {**DROPHEAD, **ORTHOGONALITY, **HSIC},
}
"""Row to what controls its heads (tables 4.4 and 4.7)."""

WEIGHTS: Mapping[str, Mapping[str, Any]] = {
    "baseline": {},
    "drophead": DROPHEAD,
    "drophead-0.3": {"drophead": 0.3},
    "drophead-0.5": {"drophead": 0.5},
    "orthogonality-0.1": {"orthogonality": 0.1},
    "orthogonality": ORTHOGONALITY,
    "orthogonality-10": {"orthogonality": 10.0},
    "hsic-weak": {"hsic": 0.01},
    "hsic": HSIC,
    "hsic-strong": {"hsic": 1.0},
}
"""Row to a regulariser in three strengths (table 4.5)."""

TEXT: Mapping[str, Mapping[str, Any]] = {
    "smoke": {
        "train": 6, "valid_size": 3, "test_size": 3, "window": 16, "tokens": 60, "width": 16,
        "layers": 1, "hidden": 32, "epochs": 1, "batch": 8, "warmup": 1,
    },
    "quick": {
        "train": 300, "valid_size": 30, "test_size": 60, "window": 35, "tokens": 2000, "width": 64,
        "layers": 2, "hidden": 128, "epochs": 6, "batch": 20, "lr": 3e-3, "dropout": 0.1, "warmup": 30,
    },
    "paper": {
        "train": 42068, "valid_size": 3370, "test_size": 3761, "window": 35, "tokens": 4000, "width": 256,
        "layers": 2, "hidden": 1024, "epochs": 4, "batch": 20, "lr": 3e-3, "dropout": 0.1, "warmup": 500,
        "half": True,
    },
}  # fmt: skip
"""Language models: on documents of ten simulated sentences; ``paper`` counts sentences of the treebank.

Its rate, dropout and epochs were chosen by the validation perplexity of a model without controls, seed 100.
"""


_text_experiment = family(
    "head_diversity",
    scales=TEXT,
    data=subset(DATA, "simulated", "penn-treebank"),
    run=run_language_model,
    version=text_version,
)

LANGUAGE_MODEL = _text_experiment(
    "language_model",
    "A language model with Drophead, orthogonality and HSIC (table 4.7)",
    {
        name: {"heads": 4, **controls}
        for name, controls in {
            **CONTROLS,
            "drophead-orthogonality": {**DROPHEAD, **ORTHOGONALITY},
            "drophead-hsic": {**DROPHEAD, **HSIC},
            "orthogonality-hsic": {**ORTHOGONALITY, **HSIC},
            "drophead-scheduled": {**DROPHEAD, "drophead_start": 0.1},
            "hsic-printed": {"hsic": 1e-7},
        }.items()
    },
)

HEAD_COUNTS = _text_experiment(
    "head_counts",
    "A language model with one head to sixteen, at one width",
    {f"h{heads}": {"heads": heads} for heads in (1, 2, 4, 8, 16)},
)

TREEBANK = _text_experiment(
    "treebank",
    "The language model on a small part of the Penn Treebank, where it overfits (table 4.7)",
    {name: {"heads": 4, **controls} for name, controls in CONTROLS.items()},
    scales=extend_scales(
        TEXT, quick={"train": 5000, "valid_size": 500, "test_size": 1000, "epochs": 8, "batch": 32}
    ),
    data=subset(DATA, "penn-treebank", "simulated"),
)  # fmt: skip

STRENGTHS = _text_experiment(
    "weights",
    "A language model of eight heads with regularisers of three strengths",
    {name: {"heads": 8, **controls} for name, controls in WEIGHTS.items()},
)

PAIRS: Mapping[str, Mapping[str, Any]] = {
    "smoke": {
        "train": 6, "valid_size": 3, "test_size": 3, "longest": 24, "tokens": 60, "shrink": 16,
        "vocabulary": 300,
        "layers": 1, "epochs": 1, "batch": 16, "warmup": 1,
    },
    "quick": {
        "train": 300, "valid_size": 20, "test_size": 40, "longest": 24, "tokens": 2000, "shrink": 8,
        "vocabulary": 4000,
        "layers": 2, "epochs": 6, "batch": 64, "lr": 3e-3, "dropout": 0.0, "warmup": 50,
    },
    "paper": {
        "train": 22_000, "valid_size": 60, "test_size": 200, "longest": 64, "tokens": 4000, "shrink": 1,
        "vocabulary": 16384,
        "layers": 6, "epochs": 10, "batch": 64, "lr": 5e-4, "dropout": 0.1, "warmup": 1000,
    },
}  # fmt: skip
"""Translators; `shrink` divides the source's widths, and pieces of words are for real text alone.

``paper`` trains on as many simulated sentences as the source has real ones, or on all talks.
"""


_pair_experiment = family(
    "head_diversity",
    scales=PAIRS,
    data=subset(DATA, "simulated", "doc-en-de", "iwslt17-de-en", "iwslt17-en-de"),
    run=run_translation,
    version=files_version,
    resolve=lambda settings, metric: {**settings, **sizes(settings)},
)

GRID = {64: (1, 2), 128: (1, 2, 4), 256: (1, 2, 4, 8), 512: (1, 2, 4, 8, 16)}
"""Width to numbers of heads (table 4.1)."""

HEADS = _pair_experiment(
    "heads",
    "Translators of several widths and numbers of heads (tables 4.1 to 4.3)",
    {
        f"h{heads}-d{width}": {"heads": heads, "source_width": width, "single": width == 512}
        for width, counts in GRID.items()
        for heads in counts
    },
)

TRANSLATION = _pair_experiment(
    "controls",
    "A translator of eight heads with Drophead, orthogonality and HSIC (tables 4.4 and 4.5)",
    {
        name: {"heads": 8, "source_width": 512, **controls}
        for name, controls in {**WEIGHTS, "all": CONTROLS["all"]}.items()
    },
)

PRUNING = Experiment(
    name="head_diversity/pruning",
    title="Each head of a language model switched off alone, beside its similarity to the others",
    rows={"language-model": {"heads": 8}, "language-model-hsic": {"heads": 8, **HSIC}},
    scales=TEXT,
    data=subset(DATA, "simulated", "penn-treebank"),
    run=run_pruning,
    version=text_version,
)

SMALL_SAMPLES = Experiment(
    name="head_diversity/small_samples",
    title="The bias of CKA where examples are few",
    rows={f"n{count}": {"count": count} for count in (16, 32, 64, 128, 256, 512, 1024)},
    scales=by_scale(draws=(2, 10, 100), width=(8, 64, 64)),
    data=subset(DATA, "gaussian"),
    run=run_small_samples,
    shares={"*": 0},  # similarities
)

RANDOM_VECTORS = Experiment(
    name="head_diversity/random_vectors",
    title="The cosine of two random vectors, by their number of dimensions",
    rows={f"d{width}": {"width": width} for width in (8, 64, 512)},
    scales=by_scale(pairs=(10, 1000, 10_000)),
    data=subset(DATA, "gaussian"),
    run=run_random_vectors,
    shares={"*": 0},  # cosines
)

INVARIANCE = Experiment(
    name="head_diversity/invariance",
    title="Which linear maps the measures of similarity do not see",
    rows={name: {"map": name} for name in ("rotation", "scaling", "affine")},
    scales=by_scale(draws=(2, 20, 100), count=(64, 512, 2048), width=(8, 32, 64)),
    data=subset(DATA, "gaussian"),
    run=run_invariance,
    shares={"*": 0},  # similarities
)

MODELS = (
    "context_translation.hce",
    "maths_qa.filler",
    "maths_qa.pretrained",
    "maths_qa.scratch",
    "multi_task.encoder.model",
    "multi_task.mt-dnn",
    "state_tracking.encoder.model",
    "state_tracking.tracker",
    "story_qa.encoder.model",
    "story_qa.evidence.reader",
    "transformer.encoder",
)
"""Bundled models whose attention has one number of heads everywhere; `bundled_models` finds the same ones."""

EVERY_MODEL = Experiment(
    name="head_diversity/every_model",
    title="Heads of the book's bundled models, on random input, beside their accuracy",
    rows={name: {"model": name} for name in (*MODELS, "all")},
    scales=by_scale(sequences=(2, 32, 128), length=(16, 32, 32)),
    data=subset(DATA, "bundled"),
    run=run_every_model,
    version=bundles_version,
    bundled=(*MODELS, "all"),
)

COST = Experiment(
    name="head_diversity/cost",
    title="Time of a training step with each regulariser, as a ratio of one without",
    rows={name: {"heads": 4, **controls} for name, controls in CONTROLS.items() if controls},
    scales=extend_scales(TEXT, smoke={"repeats": 2}, quick={"repeats": 20}, paper={"repeats": 20}),
    data=subset(DATA, "simulated"),
    run=run_cost,
    paired=False,
)

EXPERIMENTS = named(
    LANGUAGE_MODEL,
    HEAD_COUNTS,
    TREEBANK,
    STRENGTHS,
    HEADS,
    TRANSLATION,
    PRUNING,
    SMALL_SAMPLES,
    RANDOM_VECTORS,
    INVARIANCE,
    EVERY_MODEL,
    COST,
)
