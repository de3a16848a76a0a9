"""Training: one loop for every system of the book, on one CPU core, a GPU or several processes.

The data path of one optimiser step, with ``accumulate=2`` and two processes under ``accelerate launch``:

    batches(epoch) ──> batch, batch                         the same on every process
                         │      │
                       shard  shard                         each process takes its slice
                         │      │
                       loss   loss     x weight of slice    gradients add up locally ...
                         └──┬───┘
                      sum over processes, divided by the weights' sum
                            │                               ... and are now those of one big batch
                      clip ─> optimiser ─> schedule

The loop runs on `accelerate <https://huggingface.co/docs/accelerate>`_: it starts the processes, picks their
device and carries their messages. The model itself is never wrapped, so a loss may call any of its methods.
Several GPUs take ``accelerate launch --multi_gpu --num_processes 2 train.py``. So do several processes on the
CPU, with ``ACCELERATE_USE_CPU=true`` before it where there is a GPU (accelerate's own ``--cpu`` starts one
process only, unless it is given an MPI).

Nothing here is random but for what the model draws (dropout): that stream is seeded by ``config.seed``, kept
apart from the caller's, and saved with every checkpoint, so that a killed run resumes to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reasonlib.training.config import TrainingConfig
from reasonlib.training.devices import denormals_flushed
from reasonlib.training.history import History
from reasonlib.training.nested import batch_weight, split_batch
from reasonlib.training.run import Run

__all__ = ["fit"]


@denormals_flushed()
def fit(
    model: nn.Module,
    batches: Callable[[int], Iterable[Any]],
    *,
    loss: Callable[[Any, Any], Tensor],
    config: TrainingConfig,
    validate: Callable[[Any], Mapping[str, float]] | None = None,
    monitor: str = "accuracy",
    mode: str = "max",
    checkpoint: str | Path | None = None,
    save_every: int | None = None,
    save_seconds: float | None = 60.0,
    identity: Mapping[str, Any] | None = None,
    generators: Mapping[str, torch.Generator] | None = None,
    steps_per_epoch: int | None = None,
    shard: Callable[[Any, int, int], Any] = split_batch,
    weight: Callable[[Any], float] = batch_weight,
    on_epoch_start: Callable[[int, list[dict[str, float]]], None] | None = None,
    on_epoch: Callable[[dict[str, float]], None] | None = None,
    progress: bool | None = None,
) -> History:
    """Train `model` in place and return what happened; it ends in evaluation mode.

    Parameters
    ----------
    model : torch.nn.Module
        Trained where its parameters lie; under ``accelerate launch`` it moves to the process's own device.
    batches : callable
        ``batches(epoch)``, epochs from 0, gives the epoch's batches. It must depend on the epoch alone, since
        a resumed run asks for the epoch again and passes over what it has done. Torch's generator is seeded
        by the epoch while the first batch is made, so a shuffling ``DataLoader`` is fine.
    loss : callable
        ``loss(model, batch)``, a scalar: the mean over what the batch holds.
    config : TrainingConfig
        Optimiser, schedule, stopping rules.
    validate : callable, optional
        ``validate(model)``, called after every epoch in evaluation mode without gradients (on the main
        process), gives the metrics of the epoch.
    monitor, mode : str
        The metric that decides on the best epoch, an early stop and "plateau", and whether "max" or "min" is
        best. Without `validate` only "loss", the training loss, can be monitored.
    checkpoint : str or Path, optional
        A folder. If it holds a run, training goes on from there; the result is the same, bit for bit on the
        CPU, as if it had never stopped. A finished run is returned at once.
    save_every, save_seconds : int and float, optional
        Write a checkpoint every `save_every` steps, and `save_seconds` after the last one; always at the end.
    identity : mapping, optional
        What else must be equal for a checkpoint to be this run's: the data's name, the model's settings. JSON
        values.
    generators : mapping of str to torch.Generator, optional
        Generators that the model or the loss draws from; their states are saved and restored in place.
    steps_per_epoch : int, optional
        Optimiser steps an epoch, where ``batches(0)`` has no length and counting it by making it costs too
        much.
    shard : callable
        ``shard(batch, index, count)``, the slice of a batch that process `index` of `count` trains on. Every
        process makes the same whole batches. See `split_batch`.
    weight : callable
        ``weight(batch)``, how many terms the loss of a batch or slice averages over. Gradients of several
        batches (`accumulate`) or slices are averaged by it, so that they equal those of the one big batch.
        Where the loss averages over words and not examples, count the words. See `batch_weight`. Not called
        with one process and ``accumulate=1``.
    on_epoch_start : callable, optional
        ``on_epoch_start(epoch, rows)``, called on every process before an epoch, with the rows so far. Where
        a model changes with time, change it here: a resumed run calls it again for the epoch that it takes
        up.
    on_epoch : callable, optional
        ``on_epoch(row)``, called on the main process after an epoch.
    progress : bool, optional
        Show a progress line; None: only in a terminal or a notebook.

    Returns
    -------
    History
        One row an epoch, how far the run came, and why it stopped.

    Raises
    ------
    ValueError
        If a parameter does not fit the others, or `loss` gives no scalar.
    UserError
        If the checkpoint belongs to another run or is damaged, or the device cannot do ``precision="bf16"``.

    Notes
    -----
    The loss of a row is the mean over the epoch's optimiser steps, each before its update. ``minutes`` bounds
    this call, of which at least one step is done; a budget that ends within an epoch leaves that epoch
    without a row. Where the loss is no longer finite at the end of an epoch, training stops there
    (`History.diverged`). Only the main process writes.

    Examples
    --------
    >>> x = torch.linspace(-1, 1, 8)[:, None]
    >>> def batches(epoch):
    ...     return [(x, 3 * x)]
    >>> def loss(model, batch):
    ...     return nn.functional.mse_loss(model(batch[0]), batch[1])
    >>> model = nn.Linear(1, 1)
    >>> history = fit(model, batches, loss=loss, config=TrainingConfig(epochs=200, lr=0.1))
    >>> round(model.weight.item(), 3), history.summary()
    (3.0, 'finished: 200 of 200 steps, 200 of 200 epochs')
    """
    _check(config, validate, monitor, mode, save_every, save_seconds, steps_per_epoch)
    run = Run(
        model=model,
        batches=batches,
        loss=loss,
        config=config,
        validate=validate,
        monitor=monitor,
        mode=mode,
        save_every=save_every,
        save_seconds=save_seconds,
        shard=shard,
        weight=weight,
        on_epoch_start=on_epoch_start,
        on_epoch=on_epoch,
        generators=generators or {},
    )
    if checkpoint is not None:
        run.resume(Path(checkpoint), dict(identity or {}))
    run.train(steps_per_epoch, progress)
    return run.finish()


def _check(
    config: TrainingConfig,
    validate: object,
    monitor: str,
    mode: str,
    save_every: int | None,
    save_seconds: float | None,
    steps_per_epoch: int | None,
) -> None:
    """Check what concerns fit's parameters together."""
    if mode not in ("max", "min"):
        raise ValueError(f"mode must be one of max, min, got {mode!r}")
    for name, value in (("save_every", save_every), ("steps_per_epoch", steps_per_epoch)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1 or None, got {value}")
    if save_seconds is not None and not save_seconds >= 0:
        raise ValueError(f"save_seconds must be at least 0 or None, got {save_seconds}")
    if monitor == "loss" and mode == "max":
        raise ValueError("monitor 'loss' needs mode='min', got mode='max'")
    for name, needs_score in (
        ("patience", config.patience is not None),
        ("schedule 'plateau'", config.schedule == "plateau"),
        ("restore_best", bool(config.restore_best)),
    ):
        if needs_score and validate is None and monitor != "loss":
            raise ValueError(f"{name} needs validate=, or monitor='loss' with mode='min'")
