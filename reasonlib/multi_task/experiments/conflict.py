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
from statistics import fmean
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from reasonlib import training
from reasonlib.multi_task.data.datasets import Splits
from reasonlib.multi_task.data.encoding import Batch, collate, encode
from reasonlib.multi_task.data.metrics import score
from reasonlib.multi_task.experiments.joint import joined, load_family, measure_all
from reasonlib.multi_task.experiments.train import Recipe, Trained, adamw, build, predict, recipe_of
from reasonlib.multi_task.models.multi_task import MultiTask, task_loss
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.batching import LengthBuckets

__all__ = ["Step", "Watched", "conflict_loss", "cosines", "project", "run_conflict"]

SUMMARY = ("cosine", "conflicts")
"""What a record says of all pairs of gradients: their mean cosine, and the share that conflicts."""


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


class Watched(nn.Module):
    """A system and the cosines of its gradients in this epoch, which are so a part of every checkpoint.

    Parameters
    ----------
    system
        What is trained.
    steps
        Of an epoch.
    """

    log: Float[Tensor, "S N N"]
    done: Int[Tensor, ""]  # steps of this epoch

    def __init__(self, system: MultiTask, steps: int) -> None:
        super().__init__()
        self.system = system
        self.register_buffer("log", torch.zeros(steps, len(system.tasks), len(system.tasks)))
        self.register_buffer("done", torch.tensor(0))

    def add(self, cosine: Float[Tensor, "N N"]) -> None:
        """Take in the cosines of one step."""
        self.log[self.done] = cosine
        self.done += 1

    def take(self) -> dict[str, float]:
        """Return what the epoch's gradients did, and begin anew; nothing where none was compared.

        Returns
        -------
        dict
            ``cosine``, the mean over pairs and steps; ``conflicts``, the share of them below 0; and the mean
            over steps of each pair, such as ``cosine.0.1``.
        """
        if not self.done:
            return {}
        log = self.log[: self.done]
        self.done.zero_()
        upper = torch.triu(torch.ones(log.shape[1:], dtype=torch.bool, device=log.device), diagonal=1)
        values = log[:, upper]
        pairs = zip(upper.nonzero().tolist(), values.mean(0).tolist(), strict=True)
        return {
            "cosine": float(values.mean()),
            "conflicts": float((values < 0).float().mean()),
            **{f"cosine.{a}.{b}": mean for (a, b), mean in pairs},
        }


def conflict_loss(model: MultiTask, step: Step, *, cure: bool) -> tuple[Tensor, Float[Tensor, "N N"]]:
    """Return a scalar whose value is the mean loss and whose gradient is the (projected) mean gradient.

    Returns
    -------
    loss : Tensor
        The scalar.
    cosines : (N, N)
        Of the tasks' gradients, before they are projected.
    """
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
    mean = torch.stack(losses).mean()
    if not cure:
        return mean, cosines(gradients)
    orders = [torch.randperm(len(gradients)).tolist() for _ in gradients]
    change = (project(gradients, orders=orders) - gradients).mean(0)
    parameters = torch.cat([p.flatten() for p in shared])
    extra = parameters @ change  # its gradient is what projecting changes
    return mean + extra - extra.detach(), cosines(gradients)


class _TaskBatches:
    """The mini-batches of each task by their numbers, counted through all passes over its examples."""

    def __init__(self, splits: Sequence[Splits], tokenizer: Any, recipe: Recipe, *, seed: int) -> None:
        self.tasks, self.padding = [split.task.name for split in splits], tokenizer.pad_token_id
        self.examples = [encode(split.train, tokenizer, longest=recipe.longest) for split in splits]
        self.orders = [
            LengthBuckets([example.length for example in part], batch_size=recipe.batch, seed=seed)
            for part in self.examples
        ]

    def step(self, number: int) -> Step:
        """Return one mini-batch of each task."""
        return Step(tuple(self._batch(task, number) for task in range(len(self.tasks))))

    def _batch(self, task: int, number: int) -> Batch:
        epoch, position = divmod(number, len(self.orders[task]))
        items = self.orders[task].plan(epoch)[position]
        return collate([self.examples[task][item] for item in items], self.tasks[task], padding=self.padding)


def run_conflict(trial: Trial) -> Measured:
    """Train one row and measure its tasks, the cosines of their gradients, and how often they conflict."""
    settings = trial.settings
    recipe = recipe_of(settings)
    splits = load_family(settings, seed=trial.seed)
    tasks = [split.task for split in splits]
    system, tokenizer = build(recipe, tasks, seed=trial.seed)
    model = Watched(system, settings["updates"]).to(trial.device)
    padding = tokenizer.pad_token_id
    batches = _TaskBatches(splits, tokenizer, recipe, seed=trial.seed)
    valid = [encode(split.valid, tokenizer, longest=recipe.longest) for split in splits]
    mixed, count = trial.row == "one-task-a-step", settings["updates"]

    def steps(epoch: int) -> Iterator[Any]:
        for number in range(epoch * count, (epoch + 1) * count):
            step = batches.step(number)
            if mixed:
                yield from step.batches
            else:
                yield step

    def loss(model: Watched, step: Any) -> Tensor:
        if mixed:
            return task_loss(model.system, step)
        value, cosine = conflict_loss(model.system, step, cure=trial.row == "pcgrad")
        model.add(cosine)
        return value

    def validation(model: Watched) -> dict[str, float]:
        scores = [
            score(split.task, split.valid, predict(model.system, encoded, split.task.name, padding=padding))
            for split, encoded in zip(splits, valid, strict=True)
        ]
        main = sum(s[split.task.metric] for s, split in zip(scores, splits, strict=True))
        return {"mean": main / len(splits), **model.take()}

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
        **trial.options,
    )
    trained = Trained(system, tokenizer, history)
    metrics = measure_all([trained] * len(splits), splits, recipe)
    details: dict[str, Any] = {"tasks": [task.name for task in tasks], "curve": []}
    if not mixed and history.rows:  # every epoch has as many steps
        metrics |= {name: fmean(row[name] for row in history) for name in SUMMARY}
        details["curve"] = [{name: row[name] for name in SUMMARY} for row in history]
        details["cosines"] = _mean_cosines(history, len(tasks))
    return joined([trained], metrics, details)


def _mean_cosines(history: training.History, tasks: int) -> list[list[float]]:
    """Return the mean cosine of every pair of tasks' gradients over the epochs, each row a task."""
    return [
        [
            1.0 if a == b else round(fmean(row[f"cosine.{min(a, b)}.{max(a, b)}"] for row in history), 4)
            for b in range(tasks)
        ]
        for a in range(tasks)
    ]
