"""Algorithmic tasks with one part of the Transformer removed; positions; where the norm stands."""

from collections.abc import Mapping
from typing import Any

from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset
from reasonlib.tracking.trials import measured
from reasonlib.transformer.data.datasets import DATA
from reasonlib.transformer.data.simulator import simulate
from reasonlib.transformer.experiments.tasks import LENGTHS, RECIPES, TAGGED, Recipe, accuracy, encode, solve
from reasonlib.transformer.models.analysis import gradient_norms


def run_task(trial: Trial) -> Measured:
    """Train a small Transformer on a task, whole or without a part, and measure it."""
    settings = dict(trial.settings)
    task = settings["task"]
    recipe = dict(RECIPES[task])
    if "steps" in settings:
        recipe["steps"] = settings["steps"]
    else:
        recipe["steps"] *= settings["longer"]
    recipe["lr"] = settings.get("lr", recipe["lr"])
    sizes: dict[str, Any] = {
        name: settings[name] for name in ("layers", "heads", "width", "norm") if name in settings
    }
    solved = solve(
        task,
        without=settings.get("without"),
        recipe=Recipe(**recipe),
        examples=settings["examples"],
        test_size=settings["test_size"],
        sizes=sizes,
        **trial.options,
    )
    return measured(solved.history, solved.metrics, details={"loss": [row["loss"] for row in solved.history]})


WHOLE = ("copy", "reverse", "sort", "recall", "neighbours", "parity", "aloud")


TAKEN = {
    task: ("positions", "scale", "feed-forward", "residual", "self-attention")
    + (() if task in TAGGED else ("memory-attention", "causal-mask"))
    for task in ("copy", "reverse", "sort", "recall", "neighbours", "aloud")
}
"""What is taken out of each task's model: all that it has."""


WIDE = {"width": 128, "heads": 1, "lr": 2e-3}  # one head of width 128: its dot products are large


WRITTEN: Mapping[str, float | str] = {"exact.beyond": 1600, "exact*": "test_size", "*": 0}
"""Of how many test examples a metric is a share; beyond, of those of four lengths at quick."""

PARTS = Experiment(
    name="transformer/parts",
    title="Algorithmic tasks, with the whole model and without one part",
    rows={
        **{task: {"task": task} for task in WHOLE},
        **{
            f"{task}.no-{part}": {"task": task, "without": part}
            for task, taken in TAKEN.items()
            for part in taken
        },
        "copy.wide": {"task": "copy", **WIDE},
        "copy.wide.no-scale": {"task": "copy", "without": "scale", **WIDE},
        "recall.one-layer": {"task": "recall", "layers": 1},
        "neighbours.one-head": {"task": "neighbours", "heads": 1},
        "parity.four-layers": {"task": "parity", "layers": 4, "norm": "pre"},
    },
    scales={
        "smoke": {"steps": 4, "examples": 40, "test_size": 10},
        "quick": {"longer": 1, "examples": 8000, "test_size": 400},
        "paper": {"longer": 3, "examples": 50_000, "test_size": 2000},
    },
    data=subset(DATA, "simulated"),
    run=run_task,
    shares=WRITTEN,
)


def run_positions(trial: Trial) -> Measured:
    """Learn to copy short sequences, then copy longer ones than were ever seen."""
    settings = trial.settings
    longest = LENGTHS["copy"][1]
    kind = settings["positions"]
    solved = solve(
        "copy",
        without="positions" if kind == "none" else None,
        recipe=Recipe(**{**RECIPES["copy"], "steps": settings["steps"]}),
        examples=settings["examples"],
        test_size=settings["test_size"],
        sizes=None if kind == "none" else {"positions": kind},
        **trial.options,
    )
    beyond = {}
    for length in range(longest + 1, longest + 5):
        examples = simulate("copy", settings["test_size"], shortest=length, longest=length, seed=3)
        beyond[f"exact.{length}"] = accuracy(solved.model, encode(examples))["exact"]
    return measured(
        solved.history,
        {**solved.metrics, **beyond, "exact.beyond": sum(beyond.values()) / len(beyond)},
        details={"loss": [row["loss"] for row in solved.history]},
    )


POSITIONS = Experiment(
    name="transformer/positions",
    title="Positions: at the lengths of training, and beyond them",
    rows={kind: {"positions": kind} for kind in ("sinusoidal", "learned", "none")},
    scales=by_scale(steps=(4, 400, 1200), examples=(40, 8000, 50_000), test_size=(10, 400, 2000)),
    data=subset(DATA, "simulated"),
    run=run_positions,
    shares=WRITTEN,
)


def run_norm(trial: Trial) -> Measured:
    """Measure gradients before training, layer by layer, then train a deep stack."""
    settings = trial.settings
    norms = gradient_norms(settings["norm"], layers=settings["deep"], seed=trial.seed)
    deep = {f"gradient.{number}": norm for number, norm in enumerate(norms, start=1)}
    solved = solve(
        "sort",
        recipe=Recipe(steps=settings["steps"], batch=32, lr=settings["lr"], warmup=settings["warmup"]),
        examples=settings["examples"],
        test_size=settings["test_size"],
        sizes={"layers": settings["layers"], "norm": settings["norm"]},
        **trial.options,
    )
    return measured(
        solved.history,
        {
            **solved.metrics,
            **deep,
            "gradient.last-to-middle": norms[-1] / norms[len(norms) // 2],
            "gradient.largest": max(norms),
            "loss": solved.history[-1]["loss"],
        },
        details={"loss": [row["loss"] for row in solved.history]},
    )


NORM = Experiment(
    name="transformer/norm",
    title="Post-norm and pre-norm, with and without warm-up",
    rows={
        "post": {"norm": "post", "warmup": 0.0},
        "pre": {"norm": "pre", "warmup": 0.0},
        "post-warm-up": {"norm": "post", "warmup": 0.3},
        "pre-warm-up": {"norm": "pre", "warmup": 0.3},
    },
    scales=by_scale(
        steps=(2, 200, 600),
        examples=(20, 8000, 50_000),
        test_size=(10, 400, 2000),
        layers=(2, 6, 6),
        deep=(2, 12, 12),
        lr=3e-3,
    ),
    data=subset(DATA, "simulated"),
    run=run_norm,
    shares=WRITTEN,
)
