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

import contextlib
import dataclasses
import itertools
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather, reduce
from torch import Tensor, nn

from reasonlib.errors import UserError
from reasonlib.training.checkpoints import Checkpoints, Loaded, differences
from reasonlib.training.checkpoints import load_weights as load_weights
from reasonlib.training.checkpoints import save_weights as save_weights
from reasonlib.training.checkpoints import weights_metadata as weights_metadata

__all__ = [
    "History",
    "TrainingConfig",
    "batch_weight",
    "denormals_flushed",
    "device",
    "fit",
    "learning_rate",
    "make_optimiser",
    "parameter_count",
    "seeded",
    "split_batch",
]

OPTIMISERS: dict[str, type[torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamax": torch.optim.Adamax,
    "adadelta": torch.optim.Adadelta,
    "adagrad": torch.optim.Adagrad,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "rmsprop": torch.optim.RMSprop,
}
SCHEDULES = ("constant", "linear", "step", "plateau")
PRECISIONS = ("no", "bf16")
_WITH_MOMENTUM = ("sgd", "rmsprop")
_WITH_BETAS = ("adam", "adamw", "adamax", "nadam", "radam")
_FUSED = ("sgd", "adam", "adamw", "adagrad")  # one kernel for all parameters: three times faster on one core


# --- configuration ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How to train, and nothing about what.

    Raises
    ------
    ValueError
        If a value is out of its range, or has no effect together with the others.
    """

    epochs: int = 10
    lr: float = 1e-3  # the peak rate; the schedule scales it
    optimiser: str = "adam"  # a key of OPTIMISERS
    momentum: float = 0.0  # sgd and rmsprop
    betas: tuple[float, float] = (0.9, 0.999)  # the Adam family
    weight_decay: float = 0.0
    clip: float | None = None  # greatest norm of all gradients together
    schedule: str = "constant"  # constant | linear | step | plateau
    warmup: int = 0  # optimiser steps over which the rate rises from 0, with any schedule
    step_every: int = (
        25  # epochs between two cuts of "step"; epochs without a better metric before one of "plateau"
    )
    factor: float = 0.5  # what "step" and "plateau" multiply the rate by
    patience: int | None = None  # stop after so many epochs without a better metric
    restore_best: bool | None = None  # end with the best epoch's weights; None: only where patience is set
    accumulate: int = 1  # batches to one optimiser step
    precision: str = "no"  # no | bf16 (autocast, CUDA only)
    seed: int = 0  # of what the model draws while it trains
    minutes: float | None = None  # budget of one call of fit, in minutes

    def __post_init__(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))
        for name, choices in (
            ("optimiser", tuple(OPTIMISERS)),
            ("schedule", SCHEDULES),
            ("precision", PRECISIONS),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}")
        for name, least in (("epochs", 1), ("warmup", 0), ("step_every", 1), ("accumulate", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.patience is not None and (not isinstance(self.patience, int) or self.patience < 1):
            raise ValueError(f"patience must be a whole number of at least 1 or None, got {self.patience!r}")
        if not (self.lr > 0 and math.isfinite(self.lr)):
            raise ValueError(f"lr must be above 0 and finite, got {self.lr}")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip must be above 0 or None, got {self.clip}")
        if not 0 < self.factor < 1:
            raise ValueError(f"factor must be between 0 and 1, got {self.factor}")
        if not self.weight_decay >= 0:
            raise ValueError(f"weight_decay must be at least 0, got {self.weight_decay}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1, got {self.momentum}")
        if self.momentum and self.optimiser not in _WITH_MOMENTUM:
            raise ValueError(
                f"momentum is for {' and '.join(_WITH_MOMENTUM)}, got {self.momentum} with {self.optimiser}"
            )
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1, got {self.betas}")
        if self.minutes is not None and not self.minutes >= 0:
            raise ValueError(f"minutes must be at least 0 or None, got {self.minutes}")

    @property
    def keeps_best(self) -> bool:
        """Whether training ends with the weights of the best epoch."""
        return self.patience is not None if self.restore_best is None else self.restore_best


# --- device, seeds, counts ----------------------------------------------------------------------------------


def device(name: str | None = None) -> torch.device:
    """Return the device called `name`, or the best one here: CUDA, then Apple's MPS, then the CPU.

    Under ``accelerate launch`` the best one is the process's own.

    Raises
    ------
    UserError
        If there is no such device on this machine.
    """
    if name is None or name == "auto":
        if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
            return torch.device("cpu")
        if torch.cuda.is_available():
            return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        wanted = torch.device(name)
    except RuntimeError:
        raise UserError(f"device must be auto, cpu, cuda, cuda:0, ... or mps, got {name!r}") from None
    if wanted.type == "cuda" and (wanted.index or 0) >= torch.cuda.device_count():
        raise UserError(
            f"there is no device {name!r} here (CUDA devices: {torch.cuda.device_count()}); use 'cpu'"
        )
    if wanted.type == "mps" and not torch.backends.mps.is_available():
        raise UserError("there is no device 'mps' here; use 'cpu'")
    if wanted.type not in ("cpu", "cuda", "mps"):
        raise UserError(f"device must be auto, cpu, cuda, cuda:0, ... or mps, got {name!r}")
    return wanted


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's CPU generator inside the block, and leave it afterwards as it was before.

    Examples
    --------
    >>> with seeded(0):
    ...     first = torch.rand(2)
    >>> with seeded(0):
    ...     bool((torch.rand(2) == first).all())
    True
    """
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(state)


@contextlib.contextmanager
def denormals_flushed() -> Iterator[None]:
    """Count numbers nearer to zero than 1.2e-38 as zero inside the block, on the CPU; then as it was before.

    A processor takes many times as long for such a number as for any other, and the softmax of a model that
    has become sure is full of them: with 4,000 candidates, a memory network then trains at half its speed.
    Holds for the thread that asks and those it starts later.

    Examples
    --------
    >>> small = torch.tensor(1e-38)
    >>> with denormals_flushed():
    ...     (small / 10).item()
    0.0
    """
    before = not bool(torch.full((1,), torch.finfo(torch.float32).tiny) / 2)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def parameter_count(model: nn.Module, *, trainable: bool = False) -> int:
    """Count the numbers in a model's parameters, a shared one once.

    Examples
    --------
    >>> parameter_count(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trainable)


# --- optimiser and schedule ---------------------------------------------------------------------------------


def make_optimiser(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Build the optimiser that `config` names, over the parameters that need a gradient.

    Raises
    ------
    ValueError
        If the model has no parameter to train.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("model must have a parameter that needs a gradient, got none")
    options: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    if config.optimiser in _WITH_MOMENTUM:
        options["momentum"] = config.momentum
    if config.optimiser in _WITH_BETAS:
        options["betas"] = config.betas
    if config.optimiser in _FUSED:
        sparse = any(getattr(module, "sparse", False) for module in model.modules())
        options["fused"] = not sparse and all(
            p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in parameters
        )
    return OPTIMISERS[config.optimiser](parameters, **options)


def learning_rate(
    config: TrainingConfig, step: int, *, epoch: int, steps_planned: int, cuts: int = 0
) -> float:
    r"""Return the rate of one optimiser step.

    With :math:`w` steps of warm-up, step :math:`s` of :math:`S`, epoch :math:`e` and :math:`c` cuts so far,
    it is ``lr`` times :math:`\min(1, s / w)` times

    - constant: 1
    - linear: :math:`(S - s) / (S - w)` after the warm-up
    - step: :math:`\mathrm{factor}^{\lfloor e / \mathrm{step\_every} \rfloor}`
    - plateau: :math:`\mathrm{factor}^{c}`

    Parameters
    ----------
    config : TrainingConfig
        Which schedule, and its numbers.
    step, epoch : int
        Counted from 0.
    steps_planned : int
        Optimiser steps of the whole run; used by "linear" alone.
    cuts : int
        How often the metric has come to a plateau; used by "plateau" alone.

    Returns
    -------
    float
        The rate, at least 0.

    Examples
    --------
    >>> config = TrainingConfig(lr=1.0, schedule="linear", warmup=2)
    >>> [learning_rate(config, s, epoch=0, steps_planned=6) for s in range(7)]
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    rate = config.lr
    if step < config.warmup:
        rate *= step / config.warmup
    elif config.schedule == "linear":
        rate *= max(0.0, (steps_planned - step) / max(1, steps_planned - config.warmup))
    if config.schedule == "step":
        rate *= config.factor ** (epoch // config.step_every)
    elif config.schedule == "plateau":
        rate *= config.factor**cuts
    return rate


# --- history ------------------------------------------------------------------------------------------------


@dataclass
class History(Sequence[dict[str, float]]):
    """What happened in training: a sequence of one row an epoch, and how far the run came.

    A row holds ``epoch`` and ``step`` (done so far, counted from 1), ``seconds`` (of training so far, earlier
    calls included), ``lr`` (of the epoch's last step), ``loss`` (mean over the epoch's steps, in the loss's
    unit) and what ``validate`` returned.
    """

    rows: list[dict[str, float]] = field(default_factory=list)
    steps_done: int = 0  # optimiser steps, earlier calls included
    steps_planned: int = 0
    epochs_planned: int = 0
    stopped: str = "finished"  # finished | early | minutes
    diverged: bool = False  # stopped early because the loss was no longer finite
    best: dict[str, float] | None = None  # the row with the best monitored metric
    seconds: float = 0.0  # of training, earlier calls included
    resumed_from: int = 0  # the step this call went on from; 0: a fresh run

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def column(self, name: str) -> list[float]:
        """Return one value an epoch, such as ``history.column("loss")``."""
        return [row[name] for row in self.rows]

    def frame(self) -> list[dict[str, float]]:
        """Return the rows as plain dicts, ready for ``pandas.DataFrame``."""
        return [dict(row) for row in self.rows]

    def summary(self) -> str:
        """Say in one line how far the run came and why it stopped."""
        steps = f"{self.steps_done:,} of {self.steps_planned:,} steps"
        far = f"{steps}, {len(self)} of {self.epochs_planned} epochs"
        if self.diverged:
            return f"stopped early, the loss is no longer finite: {far}; lower lr or set clip"
        return {
            "finished": f"finished: {far}",
            "early": f"stopped early, the metric no longer improved: {far}",
            "minutes": f"out of its minutes: {far}; run it again with the same checkpoint folder to go on",
        }[self.stopped]


# --- batches: slices, weights, devices ----------------------------------------------------------------------


def _parts(value: Any) -> dict[Any, Any] | None:
    """Return the named parts of a structure that holds tensors; None for a tensor or anything else."""
    if isinstance(value, Mapping):
        parts = dict(value)
    elif isinstance(value, (tuple, list)):
        parts = dict(enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    else:
        return None
    return parts if any(isinstance(p, Tensor) or _parts(p) is not None for p in parts.values()) else None


def _tensors(batch: Any) -> Iterator[Tensor]:
    if isinstance(batch, Tensor):
        yield batch
    else:
        for part in (_parts(batch) or {}).values():
            yield from _tensors(part)


def _changed(batch: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Rebuild a batch with every tensor changed."""
    if isinstance(batch, Tensor):
        return change(batch)
    parts = _parts(batch)
    if parts is None:
        return batch
    parts = {name: _changed(part, change) for name, part in parts.items()}
    if isinstance(batch, Mapping):
        return type(batch)(parts)  # type: ignore[call-arg]
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*parts.values())
    if isinstance(batch, (tuple, list)):
        return type(batch)(parts.values())
    return dataclasses.replace(batch, **parts)


def batch_weight(batch: Any) -> float:
    """Return how many examples a batch holds: its own length, or the first axis that all its tensors share.

    Raises
    ------
    ValueError
        If its tensors differ in their first axis, or there is none.

    Examples
    --------
    >>> batch_weight({"words": torch.zeros(3, 7), "answers": torch.zeros(3)})
    3.0
    """
    if hasattr(batch, "__len__") and not isinstance(batch, (Tensor, Mapping, tuple, list)):
        return float(len(batch))
    return float(_common_size(batch))


def _common_size(batch: Any) -> int:
    sizes = {len(tensor) for tensor in _tensors(batch) if tensor.dim()}
    if len(sizes) != 1:
        raise ValueError(
            f"a batch must hold tensors with one common first axis, got {sorted(sizes) or 'no tensor'}; "
            "give fit your own weight= (and shard= for several processes)"
        )
    return sizes.pop()


def split_batch(batch: Any, index: int, count: int) -> Any:
    """Return slice `index` of `count` of a batch, cut along the first axis of its tensors.

    A batch with a method ``shard(index, count)`` cuts itself. Else its tensors may lie in tuples, lists,
    mappings and dataclasses, nested at will; whatever is no tensor stays whole. The slices are contiguous,
    differ by one example at most, and may be empty.

    Raises
    ------
    ValueError
        If its tensors differ in their first axis: such a batch needs a cut of its own.

    Examples
    --------
    >>> [split_batch(torch.arange(5), i, 2).tolist() for i in range(2)]
    [[0, 1, 2], [3, 4]]
    """
    if hasattr(batch, "shard"):
        return batch.shard(index, count)
    _common_size(batch)
    return _changed(batch, lambda tensor: tensor.tensor_split(count)[index] if tensor.dim() else tensor)


# --- processes ----------------------------------------------------------------------------------------------


class _Processes:
    """The processes of this run, as `accelerate` knows them: one, or several under ``accelerate launch``."""

    def __init__(self) -> None:
        state = PartialState(cpu=device().type == "cpu")
        self.index: int = state.process_index
        self.count: int = state.num_processes
        self.device = torch.device("cpu") if state.device.type == "cpu" else state.device
        self.main = self.index == 0
        if self.count == 1 and {"ACCELERATE_MIXED_PRECISION", "MASTER_ADDR"} <= os.environ.keys():
            warnings.warn(
                "accelerate was asked for several processes and started one: on the CPU it needs mpirun, or "
                "ACCELERATE_USE_CPU=true accelerate launch --multi_gpu --num_processes 2; it trains alone",
                stacklevel=3,
            )

    def agree(self, value: Any) -> Any:
        """Return the main process's value on every process."""
        return value if self.count == 1 else broadcast_object_list([value])[0]

    def gather_bytes(self, value: Tensor) -> Tensor:
        """Stack one vector of bytes per process: (bytes,) to (processes, bytes)."""
        if self.count == 1:
            return value[None]
        return cast(Tensor, gather(value[None].to(self.device))).cpu()

    def same_start(self, model: nn.Module) -> None:
        """Give every process the main process's weights."""
        if self.count > 1:
            with torch.no_grad():
                for tensor in itertools.chain(model.parameters(), model.buffers()):
                    torch.distributed.broadcast(tensor, src=0)

    def sum_gradients(
        self, parameters: Sequence[nn.Parameter], weight: float, loss: Tensor, flags: tuple[bool, bool]
    ) -> tuple[float, Tensor, tuple[bool, bool]]:
        """Add the gradients, weights, losses and the main process's flags of all processes, in one message.

        A parameter without a gradient on any process keeps none, so that its optimiser still leaves it alone.
        """
        kind = torch.float64 if any(p.dtype == torch.float64 for p in parameters) else torch.float32
        signals = [float(flag and self.main) for flag in flags]
        present = [float(p.grad is not None) for p in parameters]
        head = torch.tensor([weight, *signals, *present], dtype=kind, device=self.device)
        grads = [
            torch.zeros(p.numel(), dtype=kind, device=self.device)
            if p.grad is None
            else p.grad.to_dense().reshape(-1).to(kind)
            for p in parameters
        ]
        message = cast(Tensor, reduce(torch.cat([head, loss.reshape(1).to(kind), *grads]), "sum"))
        head_list = message[: len(head)].tolist()
        position = len(head) + 1
        for parameter, anywhere in zip(parameters, head_list[3:], strict=True):
            piece = message[position : position + parameter.numel()]
            position += parameter.numel()
            parameter.grad = piece.view_as(parameter).to(parameter.dtype) if anywhere else None
        return head_list[0], message[len(head)], (head_list[1] > 0, head_list[2] > 0)


# --- what a checkpoint must hold ----------------------------------------------------------------------------


@dataclass
class _State:
    """How far a run is: every scalar that the next step depends on."""

    steps_per_epoch: int = 0  # as planned; the linear schedule counts on it
    epoch: int = 0
    batch: int = 0  # batches of this epoch already trained on
    step: int = 0  # optimiser steps in all
    epoch_start: int = 0  # the step at which this epoch began
    lr: float = 0.0  # of the last step
    seconds: float = 0.0
    rows: list[dict[str, float]] = field(default_factory=list)
    best: dict[str, float] | None = None
    waited: int = 0  # epochs since the best one
    cuts: int = 0  # of the rate, by "plateau"
    waited_since_cut: int = 0
    stopped: str = ""  # empty while there is more to do

    def steps_planned(self, epochs: int) -> int:
        """Estimate the steps of the whole run; exact where every epoch is as long as the first."""
        return max(self.step, self.epoch_start + (epochs - self.epoch) * self.steps_per_epoch)

    def judge(self, row: dict[str, float], config: TrainingConfig, monitor: str, mode: str) -> bool:
        """Take in an epoch's row, decide on a cut and an early stop, and say whether the row is the best."""
        self.rows.append(row)
        if not math.isfinite(row["loss"]):
            self.stopped = "early"
            return False
        if monitor not in row:
            return False
        value, sign = row[monitor], 1 if mode == "max" else -1
        better = not math.isnan(value) and (self.best is None or sign * value > sign * self.best[monitor])
        if better:
            self.best, self.waited, self.waited_since_cut = row, 0, 0
            return True
        self.waited += 1
        self.waited_since_cut += 1
        if self.waited_since_cut >= config.step_every:
            self.cuts, self.waited_since_cut = self.cuts + 1, 0
        if config.patience is not None and self.waited >= config.patience:
            self.stopped = "early"
        return False


class _Draws:
    """A run's random streams: torch's own, on the CPU and the device, and the caller's named generators."""

    def __init__(self, where: torch.device, generators: Mapping[str, torch.Generator]) -> None:
        self.generators = {f"generator/{name}": generator for name, generator in generators.items()}
        self.module = {"cuda": torch.cuda, "mps": torch.mps}.get(where.type)
        self.place = (where,) if where.type == "cuda" else ()

    def own(self) -> dict[str, Tensor]:
        states = {"rng/cpu": torch.get_rng_state()}
        if self.module is not None:
            states["rng/device"] = self.module.get_rng_state(*self.place)
        return states

    def read(self) -> dict[str, Tensor]:
        return self.own() | {name: generator.get_state() for name, generator in self.generators.items()}

    def write(self, states: Mapping[str, Tensor]) -> None:
        for name, state in states.items():
            if name == "rng/cpu":
                torch.set_rng_state(state)
            elif name == "rng/device":
                if self.module is not None:
                    self.module.set_rng_state(state, *self.place)
            elif name in self.generators:
                self.generators[name].set_state(state)

    def seed(self, seed: int) -> None:
        torch.default_generator.manual_seed(seed)
        if self.module is not None:
            with torch.cuda.device(self.place[0]) if self.place else contextlib.nullcontext():
                self.module.manual_seed(seed)


# --- progress -----------------------------------------------------------------------------------------------


class _Progress:
    """One line that says how far the run is: tqdm in a terminal, one updated output in a notebook."""

    def __init__(self, show: bool | None, state: _State, epochs: int) -> None:
        self.state, self.epochs = state, epochs
        self.bar: Any = None
        self.handle: Any = None
        self.done = state.step
        self.next = 0.0
        self.loss = ""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        notebook = hasattr(shell, "kernel")
        if show is False or not (show or notebook or sys.stderr.isatty()):
            self.next = math.inf
        elif notebook:
            from IPython.display import display

            self.handle = display({"text/plain": self.line()}, raw=True, display_id=True)
        else:
            from tqdm import tqdm

            self.bar = tqdm(
                total=state.steps_planned(epochs), initial=state.step, unit="step", dynamic_ncols=True
            )

    def line(self) -> str:
        state = self.state
        planned = state.steps_planned(self.epochs)
        filled = round(24 * state.step / max(planned, 1))
        bar = "█" * filled + "░" * (24 - filled)
        return f"{bar} {state.step:,} of {planned:,} steps, {state.seconds:.0f} s{self.said()}"

    def said(self) -> str:
        metrics = self.state.rows[-1] if self.state.rows else {}
        hidden = ("epoch", "step", "seconds", "lr", "loss")
        return self.loss + "".join(f", {k} {v:.4g}" for k, v in metrics.items() if k not in hidden)

    def step(self, now: float, loss: Tensor, steps: int) -> None:
        """Redraw, at most a few times a second: reading the loss waits for the device."""
        self.next = now + (0.5 if self.handle else 0.1)
        self.loss = f", loss {loss.item() / max(steps, 1):.4g}" if steps else self.loss
        self.draw()

    def draw(self) -> None:
        if self.bar is not None:
            self.bar.total = self.state.steps_planned(self.epochs)
            self.bar.set_postfix_str(self.said().removeprefix(", "), refresh=False)
            self.bar.update(self.state.step - self.done)
            self.done = self.state.step
        if self.handle is not None:
            self.handle.update({"text/plain": self.line()}, raw=True)

    def close(self) -> None:
        self.draw()
        if self.bar is not None:
            self.bar.close()


# --- the loop -----------------------------------------------------------------------------------------------


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
        Write a checkpoint at every such step, and after so many seconds since the last; at the end in any
        case.
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
    began = time.monotonic()
    deadline = math.inf if config.minutes is None else began + 60 * config.minutes
    watched = _check(config, validate, monitor, mode, save_every, save_seconds, steps_per_epoch)
    processes = _Processes()
    where = (
        processes.device
        if processes.count > 1
        else next((p.device for p in model.parameters()), device("cpu"))
    )
    autocast = _autocast(config, where)
    model.to(where)
    processes.same_start(model)
    optimiser = make_optimiser(model, config)
    parameters = [p for p in model.parameters() if p.requires_grad]
    draws = _Draws(where, generators or {})

    state = _State()
    total = torch.zeros((), dtype=torch.float32 if where.type == "mps" else torch.float64, device=where)
    best_weights: dict[str, Tensor] | None = None
    pending: dict[str, Tensor] = {}  # random states to go on from
    folder: Checkpoints | None = None
    if checkpoint is not None:
        settings = {k: v for k, v in dataclasses.asdict(config).items() if k != "minutes"}
        watch = {"monitor": monitor, "mode": mode}
        folder = Checkpoints(Path(checkpoint), {"config": settings | watch, "identity": dict(identity or {})})
        loaded = folder.load()
        if processes.agree(loaded and loaded.serial) != (loaded and loaded.serial):
            raise UserError(f"every process must see the same checkpoint folder, and {checkpoint} differs")
        if loaded is not None:
            state = _State(**loaded.content["state"])
            pending = _restore(loaded, folder, model, optimiser, total, processes.index)
            best_weights = loaded.best
    resumed_from, seconds_before, saved_at = state.step, state.seconds, began
    finished_before = bool(state.stopped)

    def save() -> None:
        nonlocal saved_at
        if folder is not None:
            streams = {name: processes.gather_bytes(stream) for name, stream in draws.read().items()}
            if processes.main:
                content, tensors = _snapshot(state, model, optimiser, total, streams)
                folder.save(content, tensors, best_weights, state.best)
        saved_at = time.monotonic()

    def due() -> tuple[bool, bool]:
        """Whether to stop after this step, and whether to save."""
        now = time.monotonic()
        by_steps = save_every is not None and state.step % save_every == 0
        by_seconds = save_seconds is not None and now - saved_at >= save_seconds
        return now >= deadline, folder is not None and (by_steps or by_seconds)

    callers = draws.own()
    out_of_time = stop_here = False
    line: _Progress | None = None
    try:
        draws.seed((config.seed + 1_000_003 * processes.index) % 2**63)
        if not state.steps_per_epoch:
            state.steps_per_epoch = steps_per_epoch or _count_steps(batches, config)
        line = _Progress(progress if processes.main else False, state, config.epochs)
        plan = config.epochs * state.steps_per_epoch
        rate = -1.0  # what the optimiser has
        while state.epoch < config.epochs and not state.stopped and not out_of_time:
            model.train()
            draws.write(pending)
            if on_epoch_start is not None:
                on_epoch_start(state.epoch, [dict(row) for row in state.rows])
            feed = _open_epoch(batches, state.epoch, config.seed)
            if state.batch:  # resumed within an epoch: pass over what was done, then draw on from there
                next(itertools.islice(feed, state.batch, state.batch), None)
                draws.write(pending)
            pending = {}

            while not stop_here and (group := list(itertools.islice(feed, config.accumulate))):
                state.lr = learning_rate(
                    config, state.step, epoch=state.epoch, steps_planned=plan, cuts=state.cuts
                )
                if state.lr != rate:
                    rate = state.lr
                    for options in optimiser.param_groups:
                        options["lr"] = rate
                state.step += 1
                state.batch += len(group)
                for parameter in parameters:
                    parameter.grad = None
                if processes.count == 1 and len(group) == 1:
                    with autocast:
                        value = _scalar(loss(model, _placed(group[0], where)))
                    value.backward()
                    value = value.detach()
                    flags = None
                else:
                    value, flags = _weighted_backward(
                        model, group, loss, autocast, where, parameters, processes, shard, weight, due
                    )
                if config.clip is not None:
                    _clip(parameters, config.clip)
                optimiser.step()
                total += value
                out_of_time, save_now = due() if flags is None else flags
                # a budget that ends with an epoch's last step leaves that epoch its row
                stop_here = out_of_time and state.step - state.epoch_start != state.steps_per_epoch
                now = time.monotonic()
                state.seconds = seconds_before + now - began
                if save_now:
                    save()
                if now >= line.next:
                    line.step(now, total, state.step - state.epoch_start)

            if stop_here:
                break
            if not state.batch:
                raise ValueError(f"batches({state.epoch}) gave no batch")
            row: dict[str, float] = {
                "epoch": state.epoch + 1,
                "step": state.step,
                "seconds": state.seconds,
                "lr": state.lr,
                "loss": total.item() / (state.step - state.epoch_start),
            }
            if validate is not None:
                row |= processes.agree(_metrics(model, validate, autocast) if processes.main else None)
                row["seconds"] = state.seconds = seconds_before + time.monotonic() - began
                if watched and monitor not in row:
                    raise ValueError(f"monitor must be one of {', '.join(list(row)[4:])}, got {monitor!r}")
            if state.judge(row, config, monitor, mode) and (config.keeps_best or folder is not None):
                best_weights = {name: tensor.cpu().clone() for name, tensor in _weights(model).items()}
            state.epoch, state.batch, state.epoch_start = state.epoch + 1, 0, state.step
            total.zero_()
            if on_epoch is not None and processes.main:
                on_epoch(dict(row))
        if state.epoch == config.epochs and not state.stopped:
            state.stopped = "finished"
        if not finished_before:
            save()
    finally:
        if line is not None:
            line.close()
        draws.write(callers)
    if best_weights is not None and config.keeps_best:
        model.load_state_dict(best_weights)
    model.eval()
    if processes.count > 1:
        PartialState().wait_for_everyone()
    return History(
        rows=state.rows,
        steps_done=state.step,
        steps_planned=state.steps_planned(config.epochs),
        epochs_planned=config.epochs,
        stopped=state.stopped or "minutes",
        diverged=any(not math.isfinite(row["loss"]) for row in state.rows),
        best=state.best,
        seconds=state.seconds,
        resumed_from=resumed_from,
    )


def _check(
    config: TrainingConfig,
    validate: object,
    monitor: str,
    mode: str,
    save_every: int | None,
    save_seconds: float | None,
    steps_per_epoch: int | None,
) -> bool:
    """Check what concerns fit's parameters together; return whether something depends on the metric."""
    if mode not in ("max", "min"):
        raise ValueError(f"mode must be one of max, min, got {mode!r}")
    for name, value in (("save_every", save_every), ("steps_per_epoch", steps_per_epoch)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1 or None, got {value}")
    if save_seconds is not None and not save_seconds >= 0:
        raise ValueError(f"save_seconds must be at least 0 or None, got {save_seconds}")
    if monitor == "loss" and mode == "max":
        raise ValueError("monitor 'loss' needs mode='min', got mode='max'")
    for name, asks in (
        ("patience", config.patience is not None),
        ("schedule 'plateau'", config.schedule == "plateau"),
        ("restore_best", bool(config.restore_best)),
    ):
        if asks and validate is None and monitor != "loss":
            raise ValueError(f"{name} needs validate=, or monitor='loss' with mode='min'")
    return config.patience is not None or config.schedule == "plateau" or bool(config.restore_best)


def _autocast(config: TrainingConfig, where: torch.device) -> contextlib.AbstractContextManager[Any]:
    if config.precision == "no":
        return contextlib.nullcontext()
    if where.type != "cuda":
        raise UserError(
            f"precision 'bf16' needs a CUDA GPU, and the model is on {where.type}; use precision 'no'"
        )
    if not torch.cuda.is_bf16_supported(including_emulation=False):
        raise UserError(
            f"precision 'bf16' is not known to {torch.cuda.get_device_name(where)}; use precision 'no'"
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


def _placed(batch: Any, where: torch.device) -> Any:
    return (
        batch if where.type == "cpu" else _changed(batch, lambda tensor: tensor.to(where, non_blocking=True))
    )


@torch.no_grad()
def _clip(parameters: Sequence[nn.Parameter], most: float) -> None:
    """Scale all gradients together to a norm of at most `most`, to the same bits as torch's own function.

    That one sorts the gradients by device and type first, which takes longer than clipping a small model's.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return
    kind = gradients[0].dtype
    if any(not one.is_cpu or one.layout is not torch.strided or one.dtype is not kind for one in gradients):
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


def _weighted_backward(
    model: nn.Module,
    group: list[Any],
    loss: Callable[[Any, Any], Tensor],
    autocast: contextlib.AbstractContextManager[Any],
    where: torch.device,
    parameters: Sequence[nn.Parameter],
    processes: _Processes,
    shard: Callable[[Any, int, int], Any],
    weight: Callable[[Any], float],
    due: Callable[[], tuple[bool, bool]],
) -> tuple[Tensor, tuple[bool, bool] | None]:
    """Leave in ``grad`` the weighted mean gradient of several batches, each cut into one slice a process."""
    weights, losses, flags = 0.0, torch.zeros((), device=where), None
    for batch in group:
        if processes.count > 1:
            batch = shard(batch, processes.index, processes.count)
        share = float(weight(batch))
        if not share:
            continue  # fewer examples than processes
        with autocast:
            value = _scalar(loss(model, _placed(batch, where))) * share
        value.backward()
        losses = losses + value.detach()
        weights += share
    if processes.count > 1:
        weights, losses, flags = processes.sum_gradients(parameters, weights, losses, due())
    if not weights:
        raise ValueError("weight must be above 0 for some batch of a step, got 0 for all")
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad /= weights
    return losses / weights, flags


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


def _weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach() for name, tensor in model.state_dict().items()}


def _snapshot(
    state: _State,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    total: Tensor,
    streams: dict[str, Tensor],
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Take all that the next step depends on: scalars for the JSON, tensors for the safetensors file."""
    tensors = (
        {f"model/{name}": tensor for name, tensor in _weights(model).items()} | streams | {"total": total}
    )
    scalars: dict[str, dict[str, Any]] = {}
    for index, values in optimiser.state_dict()["state"].items():
        scalars[str(index)] = {}
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser/{index}/{name}"] = value
            else:
                scalars[str(index)][name] = value
    return {"state": dataclasses.asdict(state), "optimiser": scalars}, tensors


def _restore(
    loaded: Loaded,
    folder: Checkpoints,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    total: Tensor,
    process: int,
) -> dict[str, Tensor]:
    """Put a snapshot back in its place; return this process's random states, to be set later."""
    weights = {k.removeprefix("model/"): v for k, v in loaded.tensors.items() if k.startswith("model/")}
    there = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    here = {name: tuple(tensor.shape) for name, tensor in _weights(model).items()}
    folder.refuse_other(differences(there, here), "model")
    model.load_state_dict(weights)
    values: dict[int, dict[str, Any]] = {int(i): dict(v) for i, v in loaded.content["optimiser"].items()}
    for name, tensor in loaded.tensors.items():
        if name.startswith("optimiser/"):
            _, index, key = name.split("/")
            values[int(index)][key] = tensor
    optimiser.load_state_dict({"state": values, "param_groups": optimiser.state_dict()["param_groups"]})
    total.copy_(loaded.tensors["total"])
    return {
        name: states[process].clone()  # a generator reads a state from the start of its memory
        for name, states in loaded.tensors.items()
        if name.startswith(("rng/", "generator/")) and process < len(states)
    }
