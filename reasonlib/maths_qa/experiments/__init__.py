"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from typing import Any

from reasonlib.maths_qa.data import datasets
from reasonlib.maths_qa.data.modules import CURVES, MODULES
from reasonlib.maths_qa.experiments.all_modules import run_all_modules
from reasonlib.maths_qa.experiments.baselines import run_baseline
from reasonlib.maths_qa.experiments.bundle import make_bundle
from reasonlib.maths_qa.experiments.compute import run_compute
from reasonlib.maths_qa.experiments.pretraining import run_pretraining
from reasonlib.maths_qa.experiments.probes import run_probes
from reasonlib.tracking.experiment import Experiment, by_scale, extend_scales, family, named, subset

__all__ = ["DATA", "EXPERIMENTS"]

DATA: Mapping[str, str] = {**datasets.DATA, "arithmetic": "stand-in"}
"""Kind of each data set: questions of the canonical generator, and our own for the probes."""

EASY = ("numbers__round_number", "numbers__place_value")
"""Modules that a small model learns in minutes on one core, and whose questions are drawn fast."""

PRE: Mapping[str, Any] = {"norm": "pre", "clip": 1.0}
"""Differs from the source's recipe so that a small model learns in few steps."""

TINY: Mapping[str, Any] = {
    "train": 60, "valid": 4, "test": 8, "width": 16, "layers": 1, "heads": 2, "hidden": 32,
    "pre_steps": 4, "steps": 4, "every": 1, "batch": 8, "lr": 2e-3,
}  # fmt: skip

SMALL: Mapping[str, Any] = {
    "levels": ["easy"], "tested": ["easy"], "train": 8000, "valid": 100, "test": 250, "width": 64,
    "layers": 2, "heads": 4, "hidden": 128, "pre_steps": 300, "steps": 300, "every": 75, "batch": 32,
    "lr": 3e-3, "warmup": 50,
}  # fmt: skip
"""Easy questions alone, for minutes on one core."""

CURVE: Mapping[str, Any] = {
    "modules": CURVES, "train": 6000, "valid": 100, "test": 200, "extrapolation": 100, "width": 128,
    "layers": 2, "heads": 8, "hidden": 512, "pre_steps": 1600, "steps": 1600, "every": 200, "batch": 64,
    "lr": 1e-3, "warmup": 100,
}  # fmt: skip
"""The nine modules of figure 5.6; as many questions as one core draws in minutes, and steps in an hour."""

SCALES: Mapping[str, Mapping[str, Any]] = {
    "smoke": {**TINY, "modules": EASY, "extrapolation": 4},
    "quick": {**SMALL, "modules": EASY[1:], "extrapolation": 100},
    "paper": CURVE,
}


NO_SHARES: Mapping[str, float | str] = {
    "modules_above_90": 0,
    "relative_cost": 0,
    "extrapolation.known_words": 0,
}
SHARES: Mapping[str, float | str] = {
    **NO_SHARES,
    "accuracy.equal_compute": 1,
    "accuracy.double": 1,
    "accuracy.*": "test",
    "early.*": "test",
    "*extrapolation*": "extrapolation",
    "*": 1,
}
"""Metrics that are shares of all test questions, or of those of each module, which two settings count."""

SEVERAL: Mapping[str, float | str] = {"extrapolation": 0, **SHARES}
"""The same where a scale has several modules: no setting counts the harder questions of all of them."""

_pretraining = family(
    "maths_qa",
    PRE,
    scales=SCALES,
    data=subset(DATA, "mathematics"),
    run=run_pretraining,
    shares=SEVERAL,
)

STARTS: Mapping[str, Any] = {start: {"start": start} for start in ("scratch", "encoder", "both")}
"""Rows of what a solver starts from: first weights, a pre-trained encoder, or encoder and decoder of it."""

PRETRAINING = _pretraining(
    "pretraining",
    "QA-MLM and fine-tuning, beside fine-tuning alone (tables 5.1 and 5.2, figure 5.6)",
    {
        **STARTS,
        "both-non-numeric": {"start": "both", "which": "non-numeric"},
        "both-numeric": {"start": "both", "which": "numeric"},
        "both-answers": {"start": "both", "which": "answers"},
        "scratch-sinusoidal": {"start": "scratch", "positions": "sinusoidal", "continued": False},
    },
)

TWO_MODULES = _pretraining(
    "two_modules",
    "QA-MLM and fine-tuning on two easy modules in one model",
    STARTS,
    scales={
        "smoke": {**TINY, "modules": EASY, "extrapolation": 4},
        "quick": {
            **SMALL, "modules": EASY, "extrapolation": 100, "train": 12000, "test": 200, "hidden": 256,
            "pre_steps": 640, "steps": 640, "every": 80, "lr": 1.5e-3,
        },
        "paper": {**CURVE, "modules": EASY, "train": 30000},
    },
    shares={
        **NO_SHARES, "accuracy.n*": 0.5, "early.n*": 0.5, "extrapolation.n*": 0.25, "*extrapolation*": 0.5,
        "*": 1,
    },
)  # fmt: skip

LEARNED = _pretraining(
    "two_modules_learned",
    "Two easy modules, with fine-tuning that lasts until a small model has learned both",
    {"both": STARTS["both"]},
    scales={
        "smoke": {**TINY, "modules": EASY, "extrapolation": 4},
        "quick": {
            **SMALL, "modules": EASY, "extrapolation": 100, "train": 12000, "test": 200, "hidden": 256,
            "pre_steps": 320, "steps": 1280, "every": 320, "lr": 3e-3, "schedule": "linear",
        },
        "paper": {
            **CURVE, "modules": EASY, "train": 30000, "steps": 4800, "every": 400, "lr": 2e-3,
            "schedule": "linear",
        },
    },
    shares=TWO_MODULES.shares,
)  # fmt: skip
"""At `paper`, rate and steps are those of one trial, seed 100, which got 99.5 % of validation questions."""

ONE_MODULE = _pretraining(
    "one_module",
    "One easy module, learned in the page",
    {
        "scratch": {"start": "scratch", "continued": False},
        "both": {"start": "both"},
    },
    scales={
        "smoke": {**TINY, "modules": EASY[1:]},
        "quick": {**SMALL, "modules": EASY[1:]},
        "paper": {**SMALL, "modules": EASY[1:], "steps": 4000, "pre_steps": 4000, "every": 500},
    },
    shares=SHARES,
)

STRUCTURE = _pretraining(
    "structure",
    "Digits that know their place value, a structure that the source leaves to future work",
    {
        "learned": {"start": "scratch", "continued": False},
        "place-value": {"start": "scratch", "continued": False, "place_values": True},
        "pretrained": {"start": "both"},
        "pretrained-place-value": {"start": "both", "place_values": True},
    },
    scales={
        "smoke": {**TINY, "modules": EASY[1:], "extrapolation": 4},
        "quick": {**SMALL, "modules": EASY[1:], "extrapolation": 100},
        "paper": {**CURVE, "modules": ["arithmetic__add_or_sub", "numbers__place_value"]},
    },
    shares=SHARES,
)

ALL_MODULES = _pretraining(
    "all_modules",
    "One model on all 56 modules, tested on these and on the 15 of extrapolation",
    {
        "most-frequent": {"system": "most-frequent"},
        "both": {"start": "both"},
        "scratch": {"start": "scratch", "continued": False},
    },
    run=run_all_modules,
    scales={
        "smoke": {**TINY, "modules": MODULES, "train": 6, "valid": 1, "test": 1, "extrapolation": 1},
        "quick": {
            **SMALL, "modules": MODULES, "train": 150, "valid": 1, "test": 20, "extrapolation": 10,
            "every": 150,
        },
        "paper": {
            **CURVE, "modules": MODULES, "train": 1500, "valid": 1, "test": 100, "extrapolation": 50,
            "pre_steps": 4000, "steps": 6000, "every": 2000, "schedule": "linear",
        },
    },
    deterministic=("most-frequent",),
    shares={
        **NO_SHARES, "accuracy.equal_compute": 1, "accuracy.double": 1, "accuracy.*": 1 / 56,
        "early.*": 1 / 56, "extrapolation.*": 1 / 112, "extrapolation": 15 / 112, "*": 1,
    },
)  # fmt: skip

PROBES = Experiment(
    name="maths_qa/probes",
    title="Arithmetic by carry chain, length, nesting and distance",
    rows={
        "sums": {**PRE, "family": "sums", "place_values": True},
        "sums-learned": {**PRE, "family": "sums"},
        "chained-sums": {**PRE, "family": "chained-sums", "place_values": True},
        "trees": {**PRE, "family": "trees", "place_values": True},
        "gaps": {**PRE, "family": "gaps", "place_values": True},
        "gaps-learned": {**PRE, "family": "gaps"},
    },
    scales=by_scale(
        start="scratch", train=(60, 60000, 400000), valid=(4, 400, 400), test=(4, 200, 200),
        width=(16, 128, 128), layers=(1, 2, 2), heads=(2, 4, 4), hidden=(32, 256, 256),
        steps=(4, 4000, 12000), every=(1, 1000, 2000), batch=(8, 64, 64), lr=(2e-3, 2e-3, 1e-3),
        warmup=(0, 100, 100), schedule="linear",
    ),
    data=subset(DATA, "arithmetic"),
    run=run_probes,
)  # fmt: skip

BASELINES = Experiment(
    name="maths_qa/baselines",
    title="The most frequent answer, computer algebra, and an LSTM with attention",
    rows={
        "most-frequent": {"system": "most-frequent"},
        "symbolic": {"system": "symbolic"},
        "lstm": {"system": "lstm", "start": "scratch", "clip": 1.0},
    },
    scales=extend_scales(
        SCALES, smoke={"lstm_width": 16}, quick={"lstm_width": 96}, paper={"lstm_width": 256}
    ),
    data=subset(DATA, "mathematics"),
    run=run_baseline,
    deterministic=("most-frequent", "symbolic"),
    shares=SEVERAL,
)

COMPUTE = Experiment(
    name="maths_qa/compute",
    title="The cost of a step of QA-MLM beside a step of fine-tuning (section 5.3.3)",
    rows={"qa-mlm": {}},
    scales={
        "smoke": {**SCALES["smoke"], "extrapolation": 0, "repeats": 2},
        "quick": {**SCALES["quick"], "train": 1000, "repeats": 20},
        "paper": {
            "modules": CURVES, "train": 60, "valid": 1, "test": 1, "width": 512, "layers": 4, "heads": 8,
            "hidden": 2048, "batch": 16, "lr": 1e-4, "repeats": 5,
        },
    },
    data=subset(DATA, "mathematics"),
    run=run_compute,
    paired=False,
)  # fmt: skip

BUNDLE = Experiment(
    name="maths_qa/bundle",
    title="The bundled filler and solvers",
    rows={"solvers": {**PRE, "start": "both"}},
    scales={
        "smoke": {**TINY, "modules": EASY, "tested": ["interpolate"]},
        "quick": {**SMALL, "modules": EASY},
        "paper": {
            **SMALL, "modules": EASY[1:], "pre_steps": 400, "steps": 800, "every": 400, "schedule": "linear",
        },
    },
    data=subset(DATA, "mathematics"),
    run=make_bundle,
)  # fmt: skip

EXPERIMENTS = named(
    PRETRAINING, TWO_MODULES, LEARNED, ONE_MODULE, STRUCTURE, ALL_MODULES, PROBES, BASELINES, COMPUTE, BUNDLE
)  # fmt: skip
