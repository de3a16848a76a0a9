"""Decoding strategies compared: greedy, beam search, sampling."""

from typing import Any

import torch

from reasonlib.nn import decoding
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset
from reasonlib.tracking.trials import measured
from reasonlib.transformer.data.datasets import DATA
from reasonlib.transformer.data.simulator import shares
from reasonlib.transformer.experiments import bleu
from reasonlib.transformer.experiments.tasks import RECIPES, Recipe, solve


def run_decoding(trial: Trial) -> Measured:
    """Train on a task, then write answers by one way of decoding and judge them."""
    settings = trial.settings
    task = settings["task"]
    solved = solve(
        task,
        recipe=Recipe(**{**RECIPES[task], "steps": settings["steps"]}),
        examples=settings["examples"],
        test_size=settings["test_size"],
        **trial.options,
    )
    source, target = solved.tested.ids.source, solved.tested.ids.target
    words = solved.tested.vocabulary
    longest = target.shape[1] + 1
    how = settings["how"]
    if how == "sample":
        generator = torch.Generator().manual_seed(trial.seed)
        answers = decoding.sample(
            solved.model, source, longest=longest, generator=generator, top_p=settings.get("top_p")
        )
    elif how == "greedy":
        answers = decoding.greedy(solved.model, source, longest=longest)
    else:
        answers = decoding.beam_search(
            solved.model, source, width=settings["width"], longest=longest, alpha=settings.get("alpha", 0.0)
        )
    written = [tuple(words.decode(ids)) for ids in decoding.best(answers)]
    references = [max(right := shares(item), key=right.__getitem__) for item in solved.tested.examples]
    true = [
        shares(item).get(answer, 0.0) for item, answer in zip(solved.tested.examples, written, strict=True)
    ]
    score = bleu.corpus_bleu(written, references)
    return measured(
        solved.history,
        {
            "logprob": float(answers.scores[:, 0].mean()),  # the model's own, nats an answer
            "share": sum(true) / len(true),  # probability of the answer in the simulator
            "likeliest": sum(a == b for a, b in zip(written, references, strict=True)) / len(references),
            "bleu": score.score,
        },
        details={"loss": [row["loss"] for row in solved.history]},
    )


STRATEGIES: dict[str, dict[str, Any]] = {
    "greedy": {"how": "greedy"},
    "beam-2": {"how": "beam", "width": 2},
    "beam-4": {"how": "beam", "width": 4},
    "beam-4-penalty": {"how": "beam", "width": 4, "alpha": 0.6},
    "sample": {"how": "sample"},
    "nucleus": {"how": "sample", "top_p": 0.9},
}


DECODING = Experiment(
    name="transformer/decoding",
    title="Ways to write an answer: greedy decoding, beam search, sampling",
    rows={
        **{f"fork.{name}": {"task": "fork", **way} for name, way in STRATEGIES.items()},
        **{f"reverse.{name}": {"task": "reverse", **STRATEGIES[name]} for name in ("greedy", "beam-4")},
    },
    scales=by_scale(steps=(4, 300, 900), examples=(40, 8000, 50_000), test_size=(10, 400, 2000)),
    data=subset(DATA, "simulated"),
    run=run_decoding,
    shares={"likeliest": "test_size", "*": 0},
)
