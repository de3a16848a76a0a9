"""The trained system that is bundled with the library: all seven simulated tasks at once.

::

    weights/mt-dnn.safetensors   half precision; tasks, heads and how it was trained as metadata
    weights/encoder/             configuration and tokenizer of its encoder
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from reasonlib.errors import UserError
from reasonlib.multi_task.data.encoding import collate, encode
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.models.encoder import load_encoder
from reasonlib.multi_task.models.multi_task import HeadConfig, MultiTask, Scores
from reasonlib.training.weights import find_weights, reading, save_bundle

__all__ = ["BUNDLED", "WEIGHTS", "BundledSystem", "from_pretrained", "predict", "save_system"]

WEIGHTS = Path(__file__).parents[1] / "weights"
BUNDLED = ("mt-dnn",)
KIND = "multi-task network"


class BundledSystem(NamedTuple):
    """A trained system in float32 on the CPU, its tokenizer, and how it was trained and measured."""

    model: MultiTask
    tokenizer: Any
    made: Mapping[str, Any]

    def score(
        self, task: str, first: str, second: str | None = None, candidates: tuple[str, ...] = ()
    ) -> Scores:
        """Apply the head of one task to one input; see `MultiTask.forward`.

        Raises
        ------
        UserError
            If there is no such task, or its inputs are not what it needs.
        """
        tasks = self.model.tasks
        if task not in tasks:
            raise UserError(f"there is no task {task!r}; there are: {', '.join(tasks)}")
        kind = tasks[task].kind
        if not first.split() or (kind in ("similarity", "pair")) != (second is not None):
            raise UserError(
                f"the task {task} needs {'two sentences' if kind != 'single' else 'one sentence'}"
            )
        if (kind == "ranking") != bool(candidates):
            raise UserError(f"the task {task} needs {'' if kind == 'ranking' else 'no '}candidates")
        example = Example(first=first, second=second, candidates=candidates, label=0, task=task)
        longest = self.model.encoder.encoder.config.max_position_embeddings
        with torch.no_grad():
            return self.model(collate(encode([example], self.tokenizer, longest=longest), task))


def predict(first: str, second: str, *, system: BundledSystem | None = None) -> dict[str, dict[str, float]]:
    """Score a pair of sentences by all heads at once.

    Parameters
    ----------
    first, second
        Sentences in the words of the small world; a task of one sentence reads `first`, and the ranking rates
        `second` as an answer to `first`.
    system
        By default the bundled one.

    Returns
    -------
    dict
        Task to label to probability; of a similarity, ``similarity`` from 0 to 5; of the ranking,
        ``relevance`` from 0 to 1.
    """
    system = from_pretrained() if system is None else system
    answers: dict[str, dict[str, float]] = {}
    for name, task in system.model.tasks.items():
        if task.kind == "ranking":
            answers[name] = {"relevance": float(system.score(name, first, candidates=(second,)).values[0])}
        elif task.kind == "similarity":
            answers[name] = {"similarity": float(system.score(name, first, second).values[0])}
        else:
            values = system.score(name, first, None if task.kind == "single" else second).values[0].exp()
            answers[name] = {label: float(p) for label, p in zip(task.labels, values, strict=True)}
    return answers


def save_system(model: MultiTask, made: Mapping[str, Any], path: Path) -> Path:
    """Write a system as one safetensors file, atomically and in half precision."""
    return save_bundle(
        path,
        model,
        kind=KIND,
        tasks=[asdict(task) for task in model.tasks.values()],
        heads=asdict(model.config),
        made=dict(made),
    )


@lru_cache(maxsize=2)
def from_pretrained(name: str | Path = "mt-dnn") -> BundledSystem:
    """Load a trained system.

    Parameters
    ----------
    name
        One of `BUNDLED`, or a file that `save_system` wrote.

    Raises
    ------
    UserError
        If there is no such system, or its file is damaged or holds something else.
    """
    with reading(find_weights(name, WEIGHTS, BUNDLED), kind=KIND) as bundle:
        encoder, tokenizer = load_encoder()
        tasks = [Task(**{**task, "labels": tuple(task["labels"])}) for task in bundle["tasks"]]
        model = MultiTask(encoder, tasks, HeadConfig(**bundle["heads"]))
        bundle.fill(model)
        return BundledSystem(model, tokenizer, bundle["made"])
