"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from typing import Any

from reasonlib.modality_alignment.data.datasets import DATA
from reasonlib.modality_alignment.data.simulator import KINDS
from reasonlib.modality_alignment.experiments.annotations import RULES, annotations_version, run_annotations
from reasonlib.modality_alignment.experiments.batch_bias import run_batch_bias
from reasonlib.modality_alignment.experiments.bundle import make_bundle
from reasonlib.modality_alignment.experiments.captions import run_captions
from reasonlib.modality_alignment.experiments.points import run_points
from reasonlib.modality_alignment.experiments.side_effects import run_side_effects
from reasonlib.modality_alignment.experiments.video_qa import run_video_qa
from reasonlib.tracking.experiment import Experiment, by_scale, extend_scales, family, named, subset

__all__ = ["DATA", "EXPERIMENTS"]

PRINTED: Mapping[str, Any] = {"batch_size": 512, "lr": 1e-3, "weight": 0.1, "width": 32, "layers": 3}
"""What the source prints of its experiment with points."""

POINT_ROWS: Mapping[str, Mapping[str, Any]] = {
    "cosine": {**PRINTED, "alignment": "none"},
    "cka": {**PRINTED, "objective": "none"},
    "both": PRINTED,
    "both-cold": {**PRINTED, "warmup_steps": 0},
    "both-rbf": {**PRINTED, "alignment": "cka-rbf"},
    "infonce": {**PRINTED, "alignment": "infonce"},
}
"""Figure 5.4 has the first three; the warm-up and the kernel are stated in words; InfoNCE is ours."""

POINT_SCALES: Mapping[str, Mapping[str, Any]] = {
    "smoke": {"pairs": 64, "held_out": 20, "batch_size": 16, "epochs": 2, "warmup_steps": 2, "drawn": 8},
    "quick": {"pairs": 10_000, "held_out": 1_000, "epochs": 10, "drawn": 300},
    "paper": {"pairs": 10_000, "held_out": 1_000, "epochs": 10, "drawn": 300},
}

_points = family("modality_alignment", scales=POINT_SCALES, data=subset(DATA, "shared-cause"), run=run_points)

POINTS = _points(
    "points",
    "Cosine similarity of random pairs, with and without CKA (figures 5.3 and 5.4)",
    POINT_ROWS,
    data=subset(DATA, "random-pairs"),
)

SHARED_POINTS = _points(
    "shared_points",
    "The same for pairs with a common cause, of which new ones can be found again",
    POINT_ROWS,
)

EQUAL_COMPUTE = _points(
    "equal_compute",
    "InfoNCE in as much time as CKA, for pairs with a common cause",
    {"infonce-short": POINT_ROWS["infonce"]},
    scales=extend_scales(POINT_SCALES, quick={"epochs": 3}, paper={"epochs": 3}),
)
"""A step with InfoNCE takes up to 2.6 times as long as one with CKA: 80 steps, warm-up included, not 220."""

BATCH_BIAS = Experiment(
    name="modality_alignment/batch_bias",
    title="CKA of a batch, plain and debiased, by the size of the batch",
    rows={str(size): {"batch_size": size} for size in (16, 32, 64, 128, 512, 2048)},
    scales={
        "smoke": {"pairs": 64, "held_out": 20, "steps": 4, "warmup_steps": 2},
        "quick": {"pairs": 10_000, "held_out": 1_000, "steps": 200},
        "paper": {"pairs": 10_000, "held_out": 1_000, "steps": 2_000},
    },
    data=subset(DATA, "shared-cause", "random-pairs"),
    run=run_batch_bias,
)

SIDE_EFFECTS = Experiment(
    name="modality_alignment/side_effects",
    title="What a step on one batch does to the pairs outside it (figure 5.1)",
    rows={row: POINT_ROWS[row] for row in ("cosine", "both", "infonce")},
    scales=extend_scales(POINT_SCALES, quick={"epochs": 5}, paper={"epochs": 5}),
    data=subset(DATA, "shared-cause", "random-pairs"),
    run=run_side_effects,
)
"""Half-way through the training of figure 5.4."""

ABC: Mapping[str, Any] = {
    "system": "tvqa-abc", "streams": ["subtitle", "regions"], "batch_size": 32, "weight": 0.2,
    "curriculum": 24.0,
}  # fmt: skip
VIDEO_ALONE: Mapping[str, Any] = {**ABC, "streams": ["regions"], "taught": ["video", "text"]}
SUBTITLE_ALONE: Mapping[str, Any] = {
    **ABC, "streams": ["subtitle"], "taught": ["subtitle", "text"], "starts": 3,
}  # fmt: skip
QUESTION_ALONE: Mapping[str, Any] = {**ABC, "streams": ["question"], "taught": ["text"]}
"""A baseline learns from the questions that it can answer; on all others it is tested only."""
STAGE: Mapping[str, Any] = {
    "system": "stage", "streams": ["subtitle", "regions"], "batch_size": 4, "weight": 0.1,
}  # fmt: skip
CAPTIONED: Mapping[str, Any] = {"streams": ["subtitle", "captions", "regions"]}
CKA: Mapping[str, Any] = {"alignment": "cka-linear"}

TINY: Mapping[str, Any] = {
    "train": 27, "valid": 9, "test": 18, "embedding": 8, "hidden": 4, "matched": 4, "width": 8, "bridge": 8,
    "kinds": list(KINDS), "samples": 8, "epochs": 1, "batch_size": 9, "warmup_steps": 1,
    "caption_steps": 2,
}  # fmt: skip

SMALL: Mapping[str, Any] = {
    "train": 3000, "valid": 120, "test": 600, "embedding": 32, "hidden": 24, "matched": 24, "width": 32,
    "bridge": 32, "kernel": 3, "statement_kernel": 3, "extra": 0, "dropout": 0.0, "epochs": 4, "lr": 3e-3,
    "clip": 1.0, "batch_size": 32, "feature_gain": 4.0,
    "kinds": ["presence", "wish", "colour", "moment", "meeting", "opposite"],
}  # fmt: skip
"""Few kinds of questions and small systems, for some minutes on one core."""

LARGE: Mapping[str, Any] = {
    "train": 60_000, "valid": 2000, "test": 5000, "embedding": 300, "hidden": 150, "matched": 300,
    "width": 128, "features": 300, "frames_each": 2, "noise": 0.1, "epochs": 20, "lr": 3e-4,
}  # fmt: skip

PUBLIC_STAGE: Mapping[str, Any] = {"lr": 1e-3, "weight_decay": 3e-7, "clip": 10.0}
"""Of the public code of STAGE, which the source keeps; those of TVQA_abc are the recipe's defaults."""

PHASED: Mapping[str, Mapping[str, Any]] = {
    "smoke": {**TINY, "curriculum": 4.0},
    "quick": {**SMALL, "embedding": 48},
    "paper": LARGE,
}
"""TVQA_abc learns in phases, and sees every question of a phase once."""

ONE_SIXTH: Mapping[str, float | str] = {
    "accuracy": 1, "accuracy.video": 1 / 3, "accuracy.both": 1 / 3, "accuracy.*": 1 / 6,
    "joint": 5 / 6, "retrieval.regions.top1": 5 / 6, "*": 0,
}  # fmt: skip
"""Metrics that are shares of test questions: of six kinds, as many of each; one of them has no moment."""

_video_qa = family(
    "modality_alignment", scales=PHASED, data=subset(DATA, "simulated"), run=run_video_qa, shares=ONE_SIXTH
)

TVQA = _video_qa(
    "tvqa",
    "TVQA_abc on simulated videos, with and without alignment (tables 5.1 and 5.2)",
    {
        "tvqa-abc": ABC,
        "tvqa-abc-cka": {**ABC, **CKA},
        "tvqa-abc-cka-cold": {**ABC, **CKA, "warmup_steps": 0},
        "tvqa-abc-cka-rbf": {**ABC, "alignment": "cka-rbf"},
        "tvqa-abc-cka-unpaired": {**ABC, **CKA, "paired": False},
        "tvqa-abc-infonce": {**ABC, "alignment": "infonce"},
        "tvqa-abc-infonce-weak": {**ABC, "alignment": "infonce", "weight": 0.005},
        "tvqa-abc-video": VIDEO_ALONE,
        "tvqa-abc-subtitle": SUBTITLE_ALONE,
        "tvqa-abc-question": QUESTION_ALONE,
        "tvqa-abc-caption": {**ABC, **CAPTIONED},
    },
)

VIDEO_QA = _video_qa(
    "video_qa",
    "STAGE on simulated videos, with and without alignment (tables 5.1 and 5.2)",
    {
        "stage": STAGE,
        "stage-cka": {**STAGE, **CKA},
        "stage-infonce": {**STAGE, "alignment": "infonce"},
        "stage-infonce-weak": {**STAGE, "alignment": "infonce", "weight": 0.02},
        "stage-caption": {**STAGE, **CAPTIONED},
        "stage-caption-cka": {**STAGE, **CAPTIONED, **CKA},
        "stage-video": {**STAGE, "streams": ["regions"]},
        "stage-subtitle": {**STAGE, "streams": ["subtitle"]},
    },
    scales={"smoke": TINY, "quick": SMALL, "paper": {**LARGE, **PUBLIC_STAGE}},
)

ONE_NEED: Mapping[str, float | str] = {"accuracy.video.*": 0.5, "accuracy*": 1, "*": 0}
"""The same where all test questions need the same: those on videos are of two kinds."""

LEAKS = _video_qa(
    "leaks",
    "One stream of TVQA_abc, trained on questions that need what it does not see",
    {
        name: {**ABC, "streams": [stream], "taught": [need], "kinds": kinds}
        for name, stream, need, kinds in (
            ("video-on-subtitles", "regions", "subtitle", ["wish"]),
            ("subtitles-on-video", "subtitle", "video", ["presence", "colour"]),
            ("words-on-subtitles", "question", "subtitle", ["wish"]),
            ("words-on-video", "question", "video", ["presence", "colour"]),
        )
    },
    scales={
        scale: {name: value for name, value in settings.items() if name != "kinds"}
        for scale, settings in extend_scales(PHASED, quick={"curriculum": 8.0, "test": 6000}).items()
    },
    shares=ONE_NEED,
)
"""A check of the simulator: a stream that never trained on such questions could not find what leaks."""

TEXT_BIAS = _video_qa(
    "text_bias",
    "Video questions while their words give away more and more",
    {
        f"{bias:g}{ending}": {**ABC, **changes, "bias": bias, "taught": ["video"]}
        for bias in (0.0, 0.5, 1.0)
        for ending, changes in (("", {}), ("-cka", CKA), ("-words", {"streams": ["question"]}))
    },
    scales=extend_scales(
        PHASED,
        quick={"kinds": ["presence", "colour"]},
        paper={"kinds": ["presence", "colour", "shape", "motion"]},
    ),
    shares=ONE_NEED,
)

CAPTIONS = Experiment(
    name="modality_alignment/captions",
    title="The captioner that gives STAGE a third stream",
    rows={"captioner": {}},
    scales={
        "smoke": {**TINY, "caption_steps": 2},
        "quick": {**SMALL, "train": 1000, "test": 200},
        "paper": {**LARGE, "caption_steps": 10_000},
    },
    data=subset(DATA, "simulated"),
    run=run_captions,
)

ANNOTATIONS = Experiment(
    name="modality_alignment/annotations",
    title="What the words of TVQA+ give away, and a guessed moment, by the released annotations",
    rows={rule: {"rule": rule} for rule in RULES},
    scales=by_scale(),
    data=subset(DATA, "tvqa-plus", "simulated"),
    run=run_annotations,
    version=annotations_version,
    deterministic=True,
    shares={"accuracy": 1, "joint": 1, "recall@*": 1, "*": 0},
)

BUNDLE = Experiment(
    name="modality_alignment/bundle",
    title="The bundled answerer of video questions",
    rows={"tvqa-abc": ABC},
    scales={
        "smoke": PHASED["smoke"],
        "quick": PHASED["quick"],
        "paper": {**PHASED["quick"], "curriculum": 40.0},
    },
    data=subset(DATA, "simulated"),
    run=make_bundle,
    shares=ONE_SIXTH,
)

EXPERIMENTS = named(
    POINTS, SHARED_POINTS, EQUAL_COMPUTE, SIDE_EFFECTS, BATCH_BIAS, TVQA, VIDEO_QA, LEAKS, TEXT_BIAS,
    CAPTIONS, ANNOTATIONS, BUNDLE,
)  # fmt: skip
