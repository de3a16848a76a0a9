r"""Gradients of tasks that conflict, and a cure that projects the conflict away (Yu et al. 2020).

Every step takes one mini-batch of each task. With the gradients :math:`g_t` of the shared encoder,

- ``joint`` moves along their mean,
- ``pcgrad`` first takes from each :math:`g_t` its component against every other :math:`g_s` with which it
  conflicts: :math:`g_t \leftarrow g_t - \frac{g_t^\top g_s}{\|g_s\|^2} g_s` where :math:`g_t^\top g_s < 0`,
  in a random order of its own. https://arxiv.org/abs/2001.06782

Both compute the same gradients on the same batches: their compute is equal. ``one-task-a-step`` is
algorithm 1 on the same mini-batches, one after the other.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from reasonlib import training
from reasonlib.multi_task.data.encoding import Batch, encode
from reasonlib.multi_task.data.metrics import score
from reasonlib.multi_task.experiments.joint import joined, load_family, measure_all
from reasonlib.multi_task.experiments.train import MixedBatches, Trained, adamw, build, predict, recipe_of
from reasonlib.multi_task.models.multi_task import MultiTask, task_loss
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["Step", "conflict_loss", "cosines", "project", "run_conflict"]


class Step(NamedTuple):
    """One mini-batch of each task."""

    batches: tuple[Batch, ...]

    def __len__(self) -> int:
        return sum(len(batch.labels) for batch in self.batches)


def cosines(gradients: Float[Tensor, "N P"]) -> Float[Tensor, "N N"]:
    """Return the cosine of every pair of gradients; 0 where one is zero."""
    units = gradients / gradients.norm(dim=1, keepdim=True).clamp(min=1e-12)
    return units @ units.T


def project(
    gradients: Float[Tensor, "N P"], *, orders: Sequence[Sequence[int]] | None = None
) -> Float[Tensor, "N P"]:
    """Take from each gradient what conflicts with another (PCGrad, algorithm 1).

    Parameters
    ----------
    gradients
        Of N tasks.
    orders
        For each gradient, in which order the others are taken; by default as they come.

    Examples
    --------
    >>> project(torch.tensor([[1.0, 0.0], [-1.0, 1.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    orders = orders or [range(len(gradients))] * len(gradients)
    # excerpt: pcgrad
    projected = gradients.clone()
    for t, order in enumerate(orders):
        for u in order:
            against = projected[t] @ gradients[u]
            if u != t and against < 0:
                projected[t] -= against / gradients[u].square().sum() * gradients[u]
    # end excerpt
    return projected


def conflict_loss(model: MultiTask, step: Step, *, cure: bool, log: list[Tensor]) -> Tensor:
    """Return a scalar whose value is the mean loss and whose gradient is the (projected) mean gradient."""
    shared = [p for p in model.encoder.parameters() if p.requires_grad]
    losses = [task_loss(model, batch) for batch in step.batches]
    rows = []
    for loss in losses:
        parts = torch.autograd.grad(loss, shared, retain_graph=True, allow_unused=True)
        rows.append(
            torch.cat(
                [
                    (torch.zeros_like(p) if g is None else g).flatten()
                    for p, g in zip(shared, parts, strict=True)
                ]
            )
        )
    gradients = torch.stack(rows)  # (N, P)
    log.append(cosines(gradients))
    mean = torch.stack(losses).mean()
    if not cure:
        return mean
    orders = [torch.randperm(len(gradients)).tolist() for _ in gradients]
    change = (project(gradients, orders=orders) - gradients).mean(0)
    parameters = torch.cat([p.flatten() for p in shared])
    extra = parameters @ change  # its gradient is what projecting changes
    return mean + extra - extra.detach()


def run_conflict(trial: Trial) -> Measured:
    """Train one row and measure its tasks, the cosines of their gradients, and how often they conflict."""
    settings = trial.settings
    recipe = recipe_of(settings)
    splits = load_family(settings, seed=trial.seed)
    tasks = [split.task for split in splits]
    model, tokenizer = build(recipe, tasks, seed=trial.seed)
    model.to(trial.device)
    padding = tokenizer.pad_token_id
    encoded = [encode(split.train, tokenizer, longest=recipe.longest) for split in splits]
    each = [
        MixedBatches([task.name], [examples], size=recipe.batch, seed=trial.seed, padding=padding)
        for task, examples in zip(tasks, encoded, strict=True)
    ]
    valid = [encode(split.valid, tokenizer, longest=recipe.longest) for split in splits]
    mixed, count = trial.row == "one-task-a-step", settings["updates"]
    log: list[Tensor] = []
    curve: list[dict[str, float]] = []

    def steps(epoch: int) -> Iterator[Any]:
        feeds = [_endless(one, start=epoch * count) for one in each]
        for _ in range(count):
            step = Step(tuple(next(feed) for feed in feeds))
            if mixed:
                yield from step.batches
            else:
                yield step

    def loss(model: MultiTask, step: Any) -> Tensor:
        if mixed:
            return task_loss(model, step)
        return conflict_loss(model, step, cure=trial.row == "pcgrad", log=log)

    def validation(model: MultiTask) -> dict[str, float]:
        scores = [
            score(split.task, split.valid, predict(model, examples, split.task.name, padding=padding))
            for split, examples in zip(splits, valid, strict=True)
        ]
        if log:
            curve.append(_summary(log[len(curve) * count :]))
        return {
            "mean": sum(s[split.task.metric] for s, split in zip(scores, splits, strict=True)) / len(splits)
        }

    each_epoch = count * (len(tasks) if mixed else 1)
    history = training.fit_recipe(
        model,
        steps,
        recipe,
        loss=loss,
        settings=adamw(recipe, each_epoch) | {"restore_best": True},
        validate=validation,
        monitor="mean",
        steps_per_epoch=each_epoch,
        weight=lambda step: float(len(step)),
        **trial.options | {"checkpoint": None},  # the log of cosines is not in a checkpoint
    )
    trained = Trained(model, tokenizer, history)
    metrics = measure_all([trained] * len(splits), splits, recipe)
    details: dict[str, Any] = {"tasks": [task.name for task in tasks], "curve": curve}
    if log:
        metrics |= _summary(log)
        details["cosines"] = torch.stack(log).mean(0).round(decimals=4).tolist()
    return joined([trained], metrics, details)


def _endless(mixed: MixedBatches, *, start: int) -> Iterator[Batch]:
    """Give the mini-batches of a task from a number on, epoch after epoch."""
    while True:
        epoch, position = divmod(start, len(mixed))
        for number, batch in enumerate(mixed.epoch(epoch)):
            if number >= position:
                yield batch
        start = (epoch + 1) * len(mixed)


def _summary(log: Sequence[Tensor]) -> dict[str, float]:
    """Return the mean cosine of two tasks' gradients, and the share of pairs that conflict."""
    pairs = torch.stack(list(log))
    upper = torch.triu(torch.ones(pairs.shape[1:], dtype=torch.bool), diagonal=1)
    values = pairs[:, upper]
    return {"cosine": float(values.mean()), "conflicts": float((values < 0).float().mean())}
