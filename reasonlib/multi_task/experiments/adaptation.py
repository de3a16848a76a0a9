"""A new task with few labels: from MT-DNN's encoder or from the pre-trained one (figure 2).

The new tasks, ``captions`` and ``science``, speak of plants and tools, which no task of the family shows.
Each is learned from 0.1, 1, 10 and 100 % of its examples.

::

    mt-dnn         the encoder after joint training, a new head
    mt-dnn-head    the encoder and the head of the task with the same labels
    bert           the pre-trained encoder, a new plain head
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reasonlib.multi_task.data.datasets import Splits, load_simulated
from reasonlib.multi_task.data.encoding import encode
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.metrics import score
from reasonlib.multi_task.experiments.joint import joined, joint_stage, load_family, measure_all, train_joint
from reasonlib.multi_task.experiments.train import Recipe, Trained, evaluate, predict, recipe_of, train
from reasonlib.multi_task.models.multi_task import MultiTask
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["SHARES", "adapt_to", "adapted", "run_adaptation"]

SHARES = {"0.1": 0.001, "1": 0.01, "10": 0.1, "100": 1.0}
"""Percent to share."""

_NEAREST: Mapping[str, str | None] = {"captions": "inference", "science": "entailment"}


def adapted(start: Trained, split: Splits, recipe: Recipe, *, seed: int, head: str | None) -> Trained:
    """Give a trained encoder one head for a new task: a new one, or a copy of that of another task."""
    network = copy.deepcopy(start.model.encoder.encoder)
    model = MultiTask(network, [split.task], recipe.heads, seed=seed, half=recipe.half)
    if head is not None:
        model.heads[split.task.name].load_state_dict(start.model.heads[head].state_dict())
    return Trained(model, start.tokenizer, start.history)


def run_adaptation(trial: Trial) -> Measured:
    """Train the encoder of a row on the simulated family, then adapt it to each share of each new task."""
    settings = trial.settings
    new = {
        task: (
            load_simulated(
                task,
                train=settings["new"],
                valid=settings["checked"],
                test=settings["asked"],
                seed=trial.seed,
            ),
            head,
        )
        for task, head in _NEAREST.items()
    }
    if not settings.get("joint", True):
        return adapt_to(trial, [], new)
    return adapt_to(
        trial, load_family(settings, seed=trial.seed), new, together=joint_stage(trial, train_joint)
    )


def adapt_to(
    trial: Trial,
    family: Sequence[Splits],
    new: Mapping[str, tuple[Splits, str | None]],
    *,
    encoder: tuple[Any, Any] | None = None,
    together: Trained | None = None,
    further: Mapping[str, Sequence[Example]] | None = None,
) -> Measured:
    """Adapt what joint training gave, or an encoder, to each share of each new task.

    Parameters
    ----------
    trial
        Its settings say how.
    family
        Tasks of the joint training.
    new
        Name of a new task to its examples and the task whose head may be kept.
    encoder
        A pre-trained encoder and its tokenizer; by default those that the settings name.
    together
        The system that joint training gave; None to start from the encoder.
    further
        Name of a new task to other examples, on which the system that learned all of it is measured, too.
    """
    settings = trial.settings
    recipe = recipe_of(settings)
    runs = [] if together is None else [together]
    if together is not None and together.history.stopped != "finished":  # adaptation starts from its end
        return joined(runs, measure_all(runs * len(family), family, recipe))
    own = replace(recipe, lr=settings["adaptation_lr"], epochs=settings["adaptation_epochs"])
    metrics: dict[str, float] = {}
    counts: dict[str, int] = {}
    answers: dict[str, list[str]] = {}
    for task, (whole, nearest) in new.items():
        for percent, share in SHARES.items():
            counts[f"{task}.{percent}"] = count = max(1, round(share * len(whole.train)))
            split = whole._replace(train=whole.train[:count])
            head = nearest if settings.get("keep_head") else None
            start = together and adapted(together, split, recipe, seed=trial.seed, head=head)
            trained = train(
                own,
                [split],
                start=start,
                encoder=encoder,
                device=trial.device,
                **trial.stage(f"{task}-{percent}").options,
            )
            scores = evaluate(
                trained.model, trained.tokenizer, split.task, split.test, longest=recipe.longest
            )
            metrics[f"{task}.accuracy_{percent}"] = scores["accuracy"]
            runs.append(trained)
        others = (further or {}).get(task, ())
        if others:
            answers[task], metrics[f"{task}.further"] = _answer(trained, whole.task, others, recipe)
    return joined(runs, metrics, {"train": counts, **({"answers": answers} if answers else {})})


def _answer(
    trained: Trained, task: Task, examples: Sequence[Example], recipe: Recipe
) -> tuple[list[str], float]:
    """Return the label that a system gives each example, and the share that is right."""
    encoded = encode(examples, trained.tokenizer, longest=recipe.longest)
    given = predict(trained.model, encoded, task.name, padding=trained.tokenizer.pad_token_id)
    return [task.labels[answer] for answer in given], score(task, examples, given)["accuracy"]
