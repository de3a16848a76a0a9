"""What a checkpoint holds: everything that the next optimiser step depends on."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from reasonlib.training.checkpoints import Checkpoints, Loaded, differences
from reasonlib.training.config import TrainingConfig

__all__ = ["RandomStreams", "TrainingState", "model_weights", "restore", "snapshot"]


@dataclass
class TrainingState:
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


class RandomStreams:
    """A run's random streams: torch's own, on the CPU and the device, and the caller's named generators."""

    def __init__(self, device: torch.device, generators: Mapping[str, torch.Generator]) -> None:
        self.generators = {f"generator/{name}": generator for name, generator in generators.items()}
        self.module = {"cuda": torch.cuda, "mps": torch.mps}.get(device.type)
        self.device_index = (device,) if device.type == "cuda" else ()

    def own(self) -> dict[str, Tensor]:
        """Return the states of torch's own generators."""
        states = {"rng/cpu": torch.get_rng_state()}
        if self.module is not None:
            states["rng/device"] = self.module.get_rng_state(*self.device_index)
        return states

    def read(self) -> dict[str, Tensor]:
        """Return the states of all generators, the caller's included."""
        return self.own() | {name: generator.get_state() for name, generator in self.generators.items()}

    def write(self, states: Mapping[str, Tensor]) -> None:
        """Set the states of the generators that are named."""
        for name, state in states.items():
            if name == "rng/cpu":
                torch.set_rng_state(state)
            elif name == "rng/device":
                if self.module is not None:
                    self.module.set_rng_state(state, *self.device_index)
            elif name in self.generators:
                self.generators[name].set_state(state)

    def seed(self, seed: int) -> None:
        """Seed torch's own generators."""
        torch.default_generator.manual_seed(seed)
        if self.module is not None:
            with torch.cuda.device(self.device_index[0]) if self.device_index else contextlib.nullcontext():
                self.module.manual_seed(seed)


def model_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return every tensor of a model by name, without its gradient."""
    return {name: tensor.detach() for name, tensor in model.state_dict().items()}


def snapshot(
    state: TrainingState,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    total: Tensor,
    streams: dict[str, Tensor],
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Take all that the next step depends on: scalars for the JSON, tensors for the safetensors file."""
    weights = {f"model/{name}": tensor for name, tensor in model_weights(model).items()}
    tensors = weights | streams | {"total": total}
    scalars: dict[str, dict[str, Any]] = {}
    for index, values in optimiser.state_dict()["state"].items():
        scalars[str(index)] = {}
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser/{index}/{name}"] = value
            else:
                scalars[str(index)][name] = value
    return {"state": dataclasses.asdict(state), "optimiser": scalars}, tensors


def restore(
    loaded: Loaded,
    folder: Checkpoints,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    total: Tensor,
    process: int,
) -> dict[str, Tensor]:
    """Put a snapshot back in its place; return this process's random states, to be set later."""
    weights = {k.removeprefix("model/"): v for k, v in loaded.tensors.items() if k.startswith("model/")}
    saved_shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    model_shapes = {name: tuple(tensor.shape) for name, tensor in model_weights(model).items()}
    folder.refuse_other(differences(saved_shapes, model_shapes), "model")
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
