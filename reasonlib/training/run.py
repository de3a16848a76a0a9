"""One call of `training.fit`, step by step: what it keeps, what it saves, and how it ends."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reasonlib.errors import UserError
from reasonlib.training.checkpoints import Checkpoints
from reasonlib.training.config import TrainingConfig
from reasonlib.training.devices import device, seeded
from reasonlib.training.distributed import Processes
from reasonlib.training.history import History
from reasonlib.training.nested import to_device
from reasonlib.training.optimisers import learning_rate, make_optimiser
from reasonlib.training.progress import ProgressLine
from reasonlib.training.state import RandomStreams, TrainingState, model_weights, restore, snapshot

__all__ = ["Run"]


class Run:
    """One call of `fit`: the model, its optimiser, how far it is, and where that is saved."""

    def __init__(
        self,
        *,
        model: nn.Module,
        batches: Callable[[int], Iterable[Any]],
        loss: Callable[[Any, Any], Tensor],
        config: TrainingConfig,
        validate: Callable[[Any], Mapping[str, float]] | None,
        monitor: str,
        mode: str,
        save_every: int | None,
        save_seconds: float | None,
        shard: Callable[[Any, int, int], Any],
        weight: Callable[[Any], float],
        on_epoch_start: Callable[[int, list[dict[str, float]]], None] | None,
        on_epoch: Callable[[dict[str, float]], None] | None,
        generators: Mapping[str, torch.Generator],
    ) -> None:
        self.began = time.monotonic()
        self.deadline = math.inf if config.minutes is None else self.began + 60 * config.minutes
        self.model, self.batches, self.loss, self.config = model, batches, loss, config
        self.validate, self.monitor, self.mode = validate, monitor, mode
        self.save_every, self.save_seconds = save_every, save_seconds
        self.shard, self.weight = shard, weight
        self.on_epoch_start, self.on_epoch = on_epoch_start, on_epoch

        self.processes = Processes()
        self.device = (
            self.processes.device
            if self.processes.count > 1
            else next((p.device for p in model.parameters()), device("cpu"))
        )
        self.autocast = _autocast(config, self.device)
        model.to(self.device)
        self.processes.same_start(model)
        self.optimiser = make_optimiser(model, config)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.streams = RandomStreams(self.device, generators)

        self.state = TrainingState()
        kind = torch.float32 if self.device.type == "mps" else torch.float64
        self.total = torch.zeros((), dtype=kind, device=self.device)  # of the losses of this epoch's steps
        self.best_weights: dict[str, Tensor] | None = None
        self.pending: dict[str, Tensor] = {}  # random states to continue from
        self.folder: Checkpoints | None = None
        self.resumed_from, self.seconds_before, self.saved_at = 0, 0.0, self.began
        self.rate = -1.0  # what the optimiser has
        self.out_of_time = self.stop_here = False

    def resume(self, folder: Path, identity: dict[str, Any]) -> None:
        """Open the checkpoint folder, and take up the run it holds, if any."""
        settings = {k: v for k, v in dataclasses.asdict(self.config).items() if k != "minutes"}
        watch = {"monitor": self.monitor, "mode": self.mode}
        self.folder = Checkpoints(folder, {"config": settings | watch, "identity": identity})
        loaded = self.folder.load()
        if self.processes.agree(loaded and loaded.serial) != (loaded and loaded.serial):
            raise UserError(f"every process must see the same checkpoint folder, and {folder} differs")
        if loaded is not None:
            self.state = TrainingState(**loaded.content["state"])
            self.pending = restore(
                loaded, self.folder, self.model, self.optimiser, self.total, self.processes.index
            )
            self.best_weights = loaded.best
        self.resumed_from, self.seconds_before = self.state.step, self.state.seconds

    def train(self, steps_per_epoch: int | None, progress: bool | None) -> None:
        """Train until the epochs, the patience or the minutes are used up."""
        state, config = self.state, self.config
        finished_before = bool(state.stopped)
        callers_streams = self.streams.own()
        line: ProgressLine | None = None
        try:
            self.streams.seed((config.seed + 1_000_003 * self.processes.index) % 2**63)
            if not state.steps_per_epoch:
                state.steps_per_epoch = steps_per_epoch or _count_steps(self.batches, config)
            line = ProgressLine(progress if self.processes.main else False, state, config.epochs)
            while state.epoch < config.epochs and not state.stopped and not self.out_of_time:
                self.epoch(line)
                if self.stop_here:
                    break
                self.end_epoch()
            if state.epoch == config.epochs and not state.stopped:
                state.stopped = "finished"
            if not finished_before:
                self.save()
        finally:
            if line is not None:
                line.close()
            self.streams.write(callers_streams)

    def epoch(self, line: ProgressLine) -> None:
        """Train on one epoch's batches, or on what is left of them after a resumed run's."""
        state = self.state
        self.model.train()
        self.streams.write(self.pending)
        if self.on_epoch_start is not None:
            self.on_epoch_start(state.epoch, [dict(row) for row in state.rows])
        feed = _open_epoch(self.batches, state.epoch, self.config.seed)
        if state.batch:  # resumed within an epoch: skip what was done, then draw on from there
            next(itertools.islice(feed, state.batch, state.batch), None)
            self.streams.write(self.pending)
        self.pending = {}
        while not self.stop_here and (group := list(itertools.islice(feed, self.config.accumulate))):
            save_now = self.step(group)
            # a budget that ends with an epoch's last step leaves that epoch its row
            self.stop_here = self.out_of_time and state.step - state.epoch_start != state.steps_per_epoch
            now = time.monotonic()
            state.seconds = self.seconds_before + now - self.began
            if save_now:
                self.save()
            if now >= line.next:
                line.step(now, self.total, state.step - state.epoch_start)

    def step(self, group: list[Any]) -> bool:
        """Take one optimiser step on a group of batches; return whether a checkpoint is due."""
        state, config = self.state, self.config
        self.set_rate()
        state.step += 1
        state.batch += len(group)
        for parameter in self.parameters:
            parameter.grad = None
        if self.processes.count == 1 and len(group) == 1:
            with self.autocast:
                value = _scalar(self.loss(self.model, to_device(group[0], self.device)))
            value.backward()
            value = value.detach()
            flags = None
        else:
            value, flags = self.weighted_backward(group)
        if config.clip is not None:
            _clip(self.parameters, config.clip)
        self.optimiser.step()
        self.total += value
        self.out_of_time, save_now = self.due() if flags is None else flags
        return save_now

    def set_rate(self) -> None:
        """Give the optimiser the learning rate of the next step."""
        state = self.state
        state.lr = learning_rate(
            self.config,
            state.step,
            epoch=state.epoch,
            steps_planned=self.config.epochs * state.steps_per_epoch,
            cuts=state.cuts,
        )
        if state.lr != self.rate:
            self.rate = state.lr
            for options in self.optimiser.param_groups:
                options["lr"] = self.rate

    def weighted_backward(self, group: list[Any]) -> tuple[Tensor, tuple[bool, bool] | None]:
        """Set ``grad`` to the weighted mean gradient of several batches, one slice of each per process."""
        processes = self.processes
        weights, losses, flags = 0.0, torch.zeros((), device=self.device), None
        for batch in group:
            if processes.count > 1:
                batch = self.shard(batch, processes.index, processes.count)
            share = float(self.weight(batch))
            if not share:
                continue  # fewer examples than processes
            with self.autocast:
                value = _scalar(self.loss(self.model, to_device(batch, self.device))) * share
            value.backward()
            losses = losses + value.detach()
            weights += share
        if processes.count > 1:
            weights, losses, flags = processes.sum_gradients(self.parameters, weights, losses, self.due())
        if not weights:
            raise ValueError("weight must be above 0 for some batch of a step, got 0 for all")
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.grad /= weights
        return losses / weights, flags

    def end_epoch(self) -> None:
        """Validate, add the epoch's row, and keep the weights if it is the best epoch so far."""
        state, config = self.state, self.config
        if not state.batch:
            raise ValueError(f"batches({state.epoch}) gave no batch")
        row: dict[str, float] = {
            "epoch": state.epoch + 1,
            "step": state.step,
            "seconds": state.seconds,
            "lr": state.lr,
            "loss": self.total.item() / (state.step - state.epoch_start),
        }
        if self.validate is not None:
            metrics = _metrics(self.model, self.validate, self.autocast) if self.processes.main else None
            row |= self.processes.agree(metrics)
            row["seconds"] = state.seconds = self.seconds_before + time.monotonic() - self.began
            if config.watches_metric and self.monitor not in row:
                raise ValueError(f"monitor must be one of {', '.join(list(row)[4:])}, got {self.monitor!r}")
        is_best = state.judge(row, config, self.monitor, self.mode)
        if is_best and (config.keeps_best or self.folder is not None):
            self.best_weights = {
                name: tensor.cpu().clone() for name, tensor in model_weights(self.model).items()
            }
        state.epoch, state.batch, state.epoch_start = state.epoch + 1, 0, state.step
        self.total.zero_()
        if self.on_epoch is not None and self.processes.main:
            self.on_epoch(dict(row))

    def due(self) -> tuple[bool, bool]:
        """Whether to stop after this step, and whether to save."""
        now = time.monotonic()
        by_steps = self.save_every is not None and self.state.step % self.save_every == 0
        by_seconds = self.save_seconds is not None and now - self.saved_at >= self.save_seconds
        return now >= self.deadline, self.folder is not None and (by_steps or by_seconds)

    def save(self) -> None:
        """Write a checkpoint, if there is a folder for it."""
        if self.folder is not None:
            streams = {name: self.processes.gather_bytes(s) for name, s in self.streams.read().items()}
            if self.processes.main:
                content, tensors = snapshot(self.state, self.model, self.optimiser, self.total, streams)
                self.folder.save(content, tensors, self.best_weights, self.state.best)
        self.saved_at = time.monotonic()

    def finish(self) -> History:
        """Leave the model with its final weights, in evaluation mode, and say what happened."""
        state, config = self.state, self.config
        if self.best_weights is not None and config.keeps_best:
            self.model.load_state_dict(self.best_weights)
        self.model.eval()
        self.processes.wait()
        return History(
            rows=state.rows,
            steps_done=state.step,
            steps_planned=state.steps_planned(config.epochs),
            epochs_planned=config.epochs,
            stopped=state.stopped or "minutes",
            diverged=any(not math.isfinite(row["loss"]) for row in state.rows),
            best=state.best,
            seconds=state.seconds,
            resumed_from=self.resumed_from,
        )


def _autocast(config: TrainingConfig, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    if config.precision == "no":
        return contextlib.nullcontext()
    if device.type != "cuda":
        raise UserError(
            f"precision 'bf16' needs a CUDA GPU, and the model is on {device.type}; use precision 'no'"
        )
    if not torch.cuda.is_bf16_supported(including_emulation=False):
        raise UserError(
            f"precision 'bf16' is not known to {torch.cuda.get_device_name(device)}; use precision 'no'"
        )
    return torch.autocast("cuda", torch.bfloat16)


def _count_steps(batches: Callable[[int], Iterable[Any]], config: TrainingConfig) -> int:
    """Count an epoch's optimiser steps: by its length, or by making it once."""
    with seeded(config.seed):
        epoch = batches(0)
        try:
            count = len(epoch)  # type: ignore[arg-type]
        except TypeError:
            count = sum(1 for _ in epoch)
    return math.ceil(count / config.accumulate)


def _open_epoch(batches: Callable[[int], Iterable[Any]], epoch: int, seed: int) -> Iterator[Any]:
    """Start an epoch's batches, with a shuffle that depends on the seed and the epoch alone."""
    with seeded((1_000_003 * seed + epoch) % 2**63):
        feed = iter(batches(epoch))
        first = list(itertools.islice(feed, 1))
    return itertools.chain(first, feed)


@torch.no_grad()
def _clip(parameters: Sequence[nn.Parameter], most: float) -> None:
    """Scale all gradients together to a norm of at most `most`, to the same bits as torch's own function.

    That one sorts the gradients by device and type first, which takes longer than clipping a small model's.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return
    kind = gradients[0].dtype
    if any(not g.is_cpu or g.layout is not torch.strided or g.dtype is not kind for g in gradients):
        nn.utils.clip_grad_norm_(parameters, most)
        return
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    share = most / (norm + 1e-6)
    if not share >= 1:  # or no number
        torch._foreach_mul_(gradients, share)


def _scalar(value: Tensor) -> Tensor:
    if value.dim():
        raise ValueError(f"loss must give a scalar, got shape {tuple(value.shape)}; take the mean")
    return value


def _metrics(
    model: nn.Module,
    validate: Callable[[Any], Mapping[str, float]],
    autocast: contextlib.AbstractContextManager[Any],
) -> dict[str, float]:
    model.eval()
    with torch.no_grad(), autocast:
        metrics = {name: float(value) for name, value in validate(model).items()}
    for name in ("epoch", "step", "seconds", "lr", "loss"):
        if name in metrics:
            raise ValueError(
                f"validate must not give {name!r}, a name of the training's own; call it 'valid_{name}'"
            )
    return metrics
