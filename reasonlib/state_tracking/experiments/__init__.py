"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from reasonlib.data import version_if_here
from reasonlib.state_tracking.data import corpus
from reasonlib.state_tracking.data.datasets import DATA
from reasonlib.state_tracking.experiments.bundle import make_encoder, make_tracker
from reasonlib.state_tracking.experiments.cost import run_cost
from reasonlib.state_tracking.experiments.train import run_carry, run_tracker
from reasonlib.state_tracking.models.encoder import BUNDLED
from reasonlib.tracking.experiment import (
    Experiment,
    Measured,
    Trial,
    by_scale,
    extend_scales,
    family,
    named,
    subset,
)
from reasonlib.training import best_precision

__all__ = ["DATA", "EXPERIMENTS"]

SMALL: Mapping[str, Any] = {"lr": 3e-3, "batch": 8, "curriculum_length": 48}  # small encoders: see `Recipe`
BASE: Mapping[str, Any] = {"lr": 5e-5, "batch": 8, "accumulate": 4}  # section 4.3.2: effective batch 32
LARGE: Mapping[str, Any] = {"lr": 1e-5, "batch": 4, "accumulate": 8}


def _version(data: str) -> str | None:
    """Name the state of the bundled encoder, and of the corpus where one is read."""
    encoder = sha256((BUNDLED / "model.safetensors").read_bytes()).hexdigest()[:12]
    if data != "multiwoz":
        return encoder
    released = version_if_here(corpus.CORPORA["multiwoz"])
    return None if released is None else f"{released}+{encoder}"


def _run(trial: Trial) -> Measured:
    return run_carry(trial) if trial.row == "carry-over" else run_tracker(trial)


def _run_encoders(trial: Trial) -> Measured:
    """Run a row of pre-trained encoders, in 16 bits on a GPU that computes in them; its record says so."""
    if trial.row == "carry-over":
        return run_carry(trial)
    precision = best_precision(trial.device)
    measured = run_tracker(replace(trial, settings={**trial.settings, "precision": precision}))
    return replace(measured, details={**measured.details, "precision": precision})


def _make(trial: Trial) -> Measured:
    return make_encoder(trial) if trial.row == "encoder" else make_tracker(trial)


SCALES = {
    "smoke": {"dialogues": 12, "valid_size": 4, "test_size": 6, "epochs": 1},
    "quick": {"dialogues": 200, "valid_size": 10, "test_size": 40, "epochs": 1},
    "paper": {"dialogues": 5000, "turns_per_dialogue": 4, "valid_size": 40, "test_size": 200, "epochs": 1},
}

OWN_ENCODER = extend_scales(SCALES, smoke={"encoder": None}, quick={"encoder": None})
"""The small encoder instead of the one that a row names, but at ``paper``."""


SHARES: Mapping[str, float | str] = {"joint_goal": "turns", "inherited": "inherited", "*": 0}
"""What is behind a metric; the first pattern that a name fits counts."""

SHARES_OF_200 = {"gate.dontcare.recall": 87, **SHARES}
"""Also how many labels are `dontcare` in the 200 simulated test dialogues of ``paper``."""

_trackers = family(
    "state_tracking", scales=SCALES, data=DATA, run=_run, version=_version, shares=SHARES_OF_200
)

RELATIONS = _trackers(
    "relations",
    "Domain-slot tokens with and without attention among them, and no such tokens (table 4.2)",
    {
        "merge": {**SMALL, "layout": "merge"},
        "merge-blocked": {**SMALL, "layout": "merge", "blocked": True},
        "none": {**SMALL, "layout": "none"},
        "split": {**SMALL, "layout": "split"},
        "split-blocked": {**SMALL, "layout": "split", "blocked": True},
        "three-way-gate": {**SMALL, "layout": "merge", "gate": "three"},
        "from-scratch": {**SMALL, "layout": "merge", "scratch": True},
        "truncated": {**SMALL, "layout": "merge", "longest": 96},
    },
    data=subset(DATA, "simulated", "simulated-unseen"),
)

BASELINES = _trackers(
    "baselines",
    "Baselines of a tracker, and an open vocabulary",
    {
        "carry-over": {},
        "copy": {**SMALL, "system": "copy"},
        "one-run-a-pair": {**SMALL, "system": "pairwise"},
        "closed": {**SMALL, "layout": "merge"},
        "span": {**SMALL, "layout": "merge", "system": "span"},
    },
    data=subset(DATA, "simulated", "simulated-unseen"),
    deterministic=("carry-over",),
)

LONG: Mapping[str, Any] = {**SMALL, "layout": "merge", "system": "span", "curriculum_share": 0.2}
LONG_SCALES = extend_scales(SCALES, paper={"dialogues": 60000, "valid_size": 100})

SPANS = _trackers(
    "spans",
    "Spans after long training, with and without attention among domain-slot tokens",
    {
        "merge": {**LONG, "blocked": False},
        "merge-blocked": {**LONG, "blocked": True},
        "renamed": {**LONG, "renamed": 0.5},
    },
    scales=LONG_SCALES,
    data=subset(DATA, "simulated", "simulated-unseen"),
)

EVERY_TURN = _trackers(
    "spans-every-turn",
    "Spans after training on every turn of many dialogues, so that late turns of long ones are not rare",
    {"merge": {**LONG, "blocked": False}, "merge-blocked": {**LONG, "blocked": True}},
    scales=extend_scales(
        LONG_SCALES, paper={"dialogues": 100000, "turns_per_dialogue": None, "test_size": 1000}
    ),
    data=subset(DATA, "simulated"),
    shares=SHARES,
)

PIECES: Mapping[str, Any] = {**SMALL, "pieces": 4000, "curriculum_share": 0.1}

REAL_SCALES = extend_scales(
    SCALES,
    paper={"dialogues": 7904, "turns_per_dialogue": None, "valid_size": 100, "test_size": 999, "epochs": 2},
)

MULTIWOZ = _trackers(
    "multiwoz",
    "Trackers that learn their words from MultiWOZ, with and without attention among slots (table 4.2)",
    {
        "merge": {**PIECES, "layout": "merge"},
        "merge-blocked": {**PIECES, "layout": "merge", "blocked": True},
        "none": {**PIECES, "layout": "none"},
        "split": {**PIECES, "layout": "split"},
        "split-blocked": {**PIECES, "layout": "split", "blocked": True},
        "span": {**PIECES, "layout": "merge", "system": "span"},
        "span-blocked": {**PIECES, "layout": "merge", "system": "span", "blocked": True},
        "copy": {**PIECES, "system": "copy"},
    },
    scales=REAL_SCALES,
    data=subset(DATA, "multiwoz", "simulated"),
)

MULTIWOZ_LONG = _trackers(
    "multiwoz-long",
    "Spans on MultiWOZ after longer training, with and without attention among slots",
    {
        "span": {**PIECES, "layout": "merge", "system": "span"},
        "span-blocked": {**PIECES, "layout": "merge", "system": "span", "blocked": True},
    },
    scales=extend_scales(REAL_SCALES, paper={"epochs": 6}),
    data=subset(DATA, "multiwoz", "simulated"),
)

WHOLE: Mapping[str, Any] = {**SMALL, "layout": "merge", "curriculum_share": 0.2}

LONG_DIALOGUES = _trackers(
    "long-dialogues",
    "Dialogues longer than the encoder's 512 positions: with new positions, or their last 512 tokens alone",
    {"grown": WHOLE, "last-512": {**WHOLE, "longest": 512}},
    scales={
        "smoke": {"dialogues": 2, "turns_per_dialogue": 4, "valid_size": 1, "test_size": 1, "epochs": 1},
        "quick": {"dialogues": 100, "turns_per_dialogue": 4, "valid_size": 2, "test_size": 4, "epochs": 1},
        "paper": {"dialogues": 5000, "turns_per_dialogue": 4, "valid_size": 10, "test_size": 40, "epochs": 1},
    },
    data=subset(DATA, "simulated-long"),
    shares=SHARES,
)

ENCODERS = _trackers(
    "encoders",
    "Both layouts on pre-trained encoders (tables 4.1, 4.2 and 4.5)",
    {
        f"{layout}-{name}": {**size, "layout": layout, "encoder": hub}
        for layout in ("merge", "split")
        for name, hub, size in (
            ("albert-base", "albert-base-v2", BASE),
            ("albert-large", "albert-large-v2", BASE),
            ("albert-xlarge", "albert-xlarge-v2", LARGE),
            ("roberta-base", "roberta-base", BASE),
            ("roberta-large", "roberta-large", LARGE),
            ("minilm", "microsoft/MiniLM-L12-H384-uncased", BASE),
        )
    }
    | {
        "carry-over": {},
        "none-albert-large": {**BASE, "layout": "none", "encoder": "albert-large-v2"},
        "merge-blocked-albert-large": {**BASE, "blocked": True, "encoder": "albert-large-v2"},
        "split-blocked-albert-large": {
            **BASE, "layout": "split", "blocked": True, "encoder": "albert-large-v2",
        },
        "merge-truncated-albert-large": {**BASE, "longest": 512, "encoder": "albert-large-v2"},
        "merge-three-way-gate-albert-large": {**BASE, "gate": "three", "encoder": "albert-large-v2"},
    },
    scales={
        **OWN_ENCODER,
        "paper": {"dialogues": 8000, "valid_size": 1000, "test_size": 1000, "epochs": 10},
    },
    data=subset(DATA, "multiwoz", "simulated"),
    deterministic=("carry-over",),
    run=_run_encoders,
)  # fmt: skip

PRETRAINED = _trackers(
    "pretrained",
    "A sentence encoder pre-trained elsewhere, on two turns of each of 2,100 dialogues of MultiWOZ",
    {
        "merge-minilm": {
            "layout": "merge", "encoder": "sentence-transformers/all-MiniLM-L6-v2", "lr": 3e-4, "batch": 8,
        },
    },
    scales={
        **OWN_ENCODER,
        "paper": {
            "dialogues": 2100, "turns_per_dialogue": 2, "valid_size": 40, "test_size": 200, "epochs": 1,
        },
    },
    data=subset(DATA, "multiwoz", "simulated"),
)  # fmt: skip

COST = Experiment(
    name="state_tracking/cost",
    title="One encoder run for all pairs, and one run for each pair",
    rows={"one-run": {}, "one-run-a-pair": {}},
    scales=by_scale(turns=(2, 8, 16), repeats=(1, 2, 5)),
    data=subset(DATA, "simulated"),
    run=run_cost,
    paired=False,
    version=_version,
)

BUNDLE = Experiment(
    name="state_tracking/bundle",
    title="The bundled encoder and tracker",
    rows={
        "encoder": {},
        "tracker": {**LONG, "renamed": 0.5},
    },
    scales=extend_scales(
        LONG_SCALES,
        smoke={"steps": 2, "texts": 40},
        quick={"steps": 60, "texts": 300},
        paper={"steps": 2400, "texts": 6000},
    ),
    data=subset(DATA, "simulated"),
    run=_make,
)

EXPERIMENTS = named(
    RELATIONS,
    BASELINES,
    SPANS,
    EVERY_TURN,
    MULTIWOZ,
    MULTIWOZ_LONG,
    LONG_DIALOGUES,
    ENCODERS,
    PRETRAINED,
    COST,
    BUNDLE,
)
