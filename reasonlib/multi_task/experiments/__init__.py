"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from reasonlib.multi_task.data.counts import NAMES, files_version
from reasonlib.multi_task.data.datasets import DATA
from reasonlib.multi_task.data.sampling import RULES
from reasonlib.multi_task.data.simulator import FAMILY
from reasonlib.multi_task.experiments.adaptation import run_adaptation
from reasonlib.multi_task.experiments.benchmarks import run_benchmarks
from reasonlib.multi_task.experiments.bundle import make_encoder, make_system
from reasonlib.multi_task.experiments.conflict import run_conflict
from reasonlib.multi_task.experiments.glue import glue_version, run_glue
from reasonlib.multi_task.experiments.heads import run_heads
from reasonlib.multi_task.experiments.joint import run_joint
from reasonlib.multi_task.experiments.overfitting import run_overfitting
from reasonlib.multi_task.experiments.real import real_version, run_real, run_real_adaptation
from reasonlib.multi_task.experiments.real_transfer import SIMULATED, run_real_transfer
from reasonlib.multi_task.experiments.transfer import run_dial, run_transfer
from reasonlib.multi_task.models.encoder import BUNDLED
from reasonlib.tracking.experiment import Experiment, Measured, Trial, extend_scales, family, named, subset

__all__ = ["DATA", "EXPERIMENTS"]

SMALL: Mapping[str, Any] = {
    "lr": 1e-3, "batch": 32, "least_steps": 60, "further_lr": 5e-4, "longest": 64,
    "gamma": 10.0,  # 1 in the source; the small sets have too few steps for so flat a softmax
}  # fmt: skip
"""Rates at which the bundled encoder learns; the source's are for BERT."""

SCALES: Mapping[str, Mapping[str, Any]] = {
    "smoke": {"share": 0.03, "checked": 8, "asked": 10, "epochs": 1, "further": 1, "least_steps": 1},
    "quick": {"share": 1.0, "checked": 60, "asked": 600, "epochs": 3, "further": 2},
    "paper": {"share": 8.0, "checked": 300, "asked": 2000, "epochs": 5, "further": 3},
}

FEW: Mapping[str, Mapping[str, Any]] = {
    "smoke": {"few": 8, "many": 16, "checked": 8, "asked": 10, "epochs": 1, "least_steps": 1},
    "quick": {"few": 120, "many": 2000, "checked": 60, "asked": 600, "epochs": 4},
    "paper": {"few": 120, "many": 6000, "checked": 300, "asked": 2000, "epochs": 4},
}
"""A small target and a large helper."""


def _without(scales: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    """Return scales without a setting that the rows set."""
    return {
        scale: {key: value for key, value in settings.items() if key != name or scale == "smoke"}
        for scale, settings in scales.items()
    }


def encoder_version(_: str) -> str | None:
    """Name the state of the bundled encoder."""
    return sha256((BUNDLED / "model.safetensors").read_bytes()).hexdigest()[:12]


def _make(trial: Trial) -> Measured:
    return make_encoder(trial) if trial.row == "encoder" else make_system(trial)


_simulated = family(
    "multi_task", SMALL, scales=SCALES, data=subset(DATA, "simulated"), version=encoder_version
)

BENCHMARKS = Experiment(
    name="multi_task/benchmarks",
    title="How many examples the released sets hold (summary of the three benchmarks)",
    rows={"files": {}},
    scales={scale: {} for scale in ("smoke", "quick", "paper")},
    data=subset(DATA, "simulated", *NAMES),
    run=run_benchmarks,
    version=files_version,
    deterministic=True,
    shares={"*": 0},
)

JOINT = _simulated(
    "joint",
    "All tasks together, with and without fine-tuning, and each by itself (tables 2 and 3)",
    {
        "mt-dnn": {"joint": True, "fine_tune": True},
        "mt-dnn-no-fine-tuning": {"joint": True},
        "st-dnn": {"joint": False},
        "bert": {"joint": False, "pair": "linear", "ranking": "classification"},
        "mt-dnn-from-scratch": {"joint": True, "scratch": True},
        "st-dnn-from-scratch": {"joint": False, "scratch": True},
    },
    run=run_joint,
)

OVERFITTING = _simulated(
    "overfitting",
    "How far training examples are answered better than new ones: all tasks together, and each by itself",
    {"mt-dnn-no-fine-tuning": {"joint": True}, "st-dnn": {"joint": False}},
    run=run_overfitting,
    shares={"gap*": 0, "train": 0, "*": 1.0},
)

PAIRS = ["inference", "entailment", "paraphrase"]

HEADS = _simulated(
    "heads",
    "The heads alone: answer network or softmax, ranking or classification (table 3)",
    {
        "linear": {"tasks": PAIRS, "pair": "linear"},
        "san": {"tasks": PAIRS},
        "san-one-step": {"tasks": PAIRS, "steps": 1},
        "san-keeps-all": {"tasks": PAIRS, "answer_dropout": 0.0},
        "classification": {"tasks": ["answers"], "ranking": "classification"},
        "relevance": {"tasks": ["answers"], "gamma": 1.0},
        "relevance-sharp": {"tasks": ["answers"]},
        "scores": {"tasks": ["answers"], "ranking": "scores", "gamma": 1.0},
    },
    scales=extend_scales(SCALES, quick={"share": 4.0}),
    run=run_heads,
)

SAMPLING = _simulated(
    "sampling",
    "Which task comes next: in proportion to its size, or more evenly",
    {rule: {"rule": rule} for rule in RULES},
    run=run_joint,
)

ADAPTATION = _simulated(
    "adaptation",
    "New tasks from 0.1, 1, 10 and 100 % of their examples (figure 2)",
    {
        "mt-dnn": {"adaptation_lr": 5e-4, "joint": True},
        "mt-dnn-head": {"adaptation_lr": 5e-4, "joint": True, "keep_head": True},
        "bert": {"adaptation_lr": 5e-4, "joint": False, "pair": "linear"},
    },
    scales=extend_scales(
        SCALES,
        smoke={"new": 20, "adaptation_epochs": 1},
        quick={"new": 2000, "adaptation_epochs": 4},
        paper={"new": 20000, "adaptation_epochs": 3},
    ),
    run=run_adaptation,
)

TRANSFER = _simulated(
    "transfer",
    "Which task helps which: a small target with each other task beside it",
    {task: {"rule": "uniform"} for task in FAMILY},
    # alone the target takes as many steps as beside another
    scales=extend_scales(FEW, quick={"least_steps": 134}, paper={"least_steps": 384}),
    run=run_transfer,
)

RELATEDNESS = _simulated(
    "relatedness",
    "The gain of small tasks while words mean the same in all tasks, or in few",
    {f"{share:g}": {"relatedness": share} for share in (0.0, 0.25, 0.5, 0.75, 1.0)},
    scales=FEW,
    run=run_dial,
)

SIZE = _simulated(
    "size",
    "The gain of small tasks while they grow",
    {f"{count}": {"few": count} for count in (50, 100, 200, 400, 800, 1600)},
    scales=_without(FEW, "few"),
    run=run_dial,
)

SIZE_EQUAL_STEPS = _simulated(
    "size-equal-steps",
    "The gain of small tasks while they grow, with as many steps alone as beside inference",
    {
        f"{count}": {"rule": "uniform", "few": count, "many": 2016, "least_steps": steps}
        for count, steps in ((32, 128), (96, 132), (224, 140), (672, 168), (2016, 252))
    },  # mini-batches of 32 divide these sizes, and 63 by the target's is odd: no step too many or too few
    scales={
        scale: {name: value for name, value in settings.items() if name in ("checked", "asked", "epochs")}
        | ({"few": 8, "many": 16, "least_steps": 1} if scale == "smoke" else {})
        for scale, settings in FEW.items()
    },
    run=run_dial,
)

NOISE = _simulated(
    "noise",
    "The gain of small tasks while wrong labels grow",
    {f"{share:g}": {"noise": share} for share in (0.0, 0.1, 0.2, 0.3)},
    scales=FEW,
    run=run_dial,
)

CONFLICT = _simulated(
    "conflict",
    "Gradients of tasks that conflict, and a cure at equal compute",
    {
        "joint": {"batch": 8},
        "pcgrad": {"batch": 8},
        "one-task-a-step": {"batch": 8},
    },
    scales=extend_scales(SCALES, smoke={"updates": 2}, quick={"updates": 80}, paper={"updates": 400}),
    run=run_conflict,
)

MINILM: Mapping[str, Any] = {
    "encoder": "sentence-transformers/all-MiniLM-L6-v2", "half": True, "frozen": 4, "gamma": 10.0,
    "lr": 6e-4, "further_lr": 2e-4, "adaptation_lr": 6e-4,
}  # fmt: skip
"""A sentence encoder that was itself trained on pairs, paraphrases and inference among them. Its lower four
layers of six are fixed, so that three seeds of each row fit an hour of a processor."""

OWN: Mapping[str, Any] = {
    "own": True, "pieces": 4000, "passes": 10, "width": 128, "layers": 3, "gamma": 10.0, "lr": 1e-3,
    "further_lr": 5e-4, "adaptation_lr": 5e-4,
}  # fmt: skip
"""A small encoder, pre-trained on the training texts alone, without their labels."""

SYSTEMS: Mapping[str, Mapping[str, Any]] = {
    "mt-dnn": {"joint": True, "fine_tune": True},
    "mt-dnn-no-fine-tuning": {"joint": True},
    "st-dnn": {"joint": False},
    "bert": {"joint": False, "pair": "linear", "ranking": "classification"},
}

REAL_SCALES: Mapping[str, Mapping[str, Any]] = {
    "smoke": {
        **SCALES["smoke"], "encoder": None, "frozen": 0, "most": 8, "pieces": 300, "texts": 60, "passes": 1,
        "width": 16, "lr": 1e-3, "longest": 64, "adaptation_lr": 1e-3, "adaptation_epochs": 1, "new": 20,
    },
    "quick": {
        "texts": 20000, "most": 800, "checked": 100, "asked": 2000, "epochs": 2, "further": 1, "batch": 8,
        "longest": 64, "adaptation_epochs": 3, "new": 1200,
    },
    "paper": {
        "frozen": 0, "texts": 100000, "passes": 20, "pieces": 8000, "most": 10000, "checked": 300,
        "asked": 2000, "epochs": 5, "further": 3, "batch": 32,
        "longest": 128, "adaptation_epochs": 5, "new": 10000,
    },
}  # fmt: skip

_real = family(
    "multi_task", scales=REAL_SCALES, data=subset(DATA, "sentence-tasks", "simulated"), version=real_version
)

REAL = _real(
    "real",
    "RTE, MRPC, CoLA, STS-B, SST-2 and WikiQA, two encoders (tables 2 and 3)",
    {
        f"{name}-{system}": {**encoder, **settings}
        for name, encoder in (("minilm", MINILM), ("own", OWN))
        for system, settings in SYSTEMS.items()
    },
    run=run_real,
)

REAL_ADAPTATION = _real(
    "real-adaptation",
    "SNLI and SciTail from 0.1, 1, 10 and 100 % of what can be had of them (figure 2)",
    {
        f"{name}-{system}": {**encoder, **settings}
        for name, encoder in (("minilm", MINILM), ("own", OWN))
        for system, settings in (
            ("mt-dnn", {"joint": True}),
            ("mt-dnn-head", {"joint": True, "keep_head": True}),
            ("bert", {"joint": False, "pair": "linear"}),
        )
    },
    run=run_real_adaptation,
)

REAL_TRANSFER = _real(
    "real-transfer",
    "Which released set helps which: a small target with each other set beside it",
    {name: {**MINILM, "rule": "uniform"} for name in SIMULATED},
    # 20 mini-batches of the target and 60 of the other: the target takes as many steps alone as beside it
    scales={
        "smoke": {**FEW["smoke"], "encoder": None, "frozen": 0, "lr": 1e-3, "batch": 8, "longest": 64},
        "quick": {
            "few": 160, "many": 480, "checked": 100, "asked": 1000, "epochs": 2, "batch": 8, "longest": 64,
            "least_steps": 80,
        },
        "paper": {
            "few": 1000, "many": 3000, "checked": 300, "asked": 2000, "epochs": 4, "batch": 32,
            "longest": 128, "least_steps": 252, "frozen": 0,
        },
    },
    run=run_real_transfer,
)  # fmt: skip

BERT_LARGE: Mapping[str, Any] = {
    "encoder": "bert-large-uncased", "half": True, "batch": 32, "lr": 3e-5, "further_lr": 2e-5,
}  # fmt: skip
"""The encoder of tables 2 and 3; the source prints no rate and no batch size."""

GLUE = Experiment(
    name="multi_task/glue",
    title="All nine sets of GLUE, whole, with BERT-large (tables 2 and 3)",
    rows={system: {**BERT_LARGE, **settings} for system, settings in SYSTEMS.items()},
    scales={
        "smoke": {**REAL_SCALES["smoke"], "half": False},
        "quick": {
            "encoder": MINILM["encoder"], "frozen": 4, "lr": 6e-4, "further_lr": 2e-4, "most": 800,
            "checked": 100, "asked": 2000, "epochs": 2, "further": 1, "batch": 8, "longest": 64,
        },
        "paper": {"checked": 200, "epochs": 3, "further": 3, "longest": 256},
    },
    data=subset(DATA, "glue", "glue-qnli-v1", "simulated"),
    run=run_glue,
    version=glue_version,
)  # fmt: skip

BUNDLE = Experiment(
    name="multi_task/bundle",
    title="The bundled encoder and MT-DNN",
    rows={"encoder": {}, "mt-dnn": {**SMALL, "joint": True}},
    scales=extend_scales(
        SCALES,
        smoke={"texts": 100, "passes": 1},
        quick={"texts": 2000, "passes": 1},
        paper={"texts": 16000, "passes": 8, "asked": 1000, "share": 3.0, "epochs": 4},
    ),
    data=subset(DATA, "simulated"),
    run=_make,
)

EXPERIMENTS = named(
    BENCHMARKS, JOINT, OVERFITTING, HEADS, SAMPLING, ADAPTATION, TRANSFER, RELATEDNESS, SIZE,
    SIZE_EQUAL_STEPS, NOISE, CONFLICT, REAL, REAL_ADAPTATION, REAL_TRANSFER, GLUE, BUNDLE,
)  # fmt: skip
