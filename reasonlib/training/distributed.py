"""The processes of a run under ``accelerate launch``, and the messages between them."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Sequence
from typing import Any, cast

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather, reduce
from torch import Tensor, nn

from reasonlib.training.devices import device

__all__ = ["Processes"]


class Processes:
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

    def wait(self) -> None:
        """Return once every process has come this far."""
        if self.count > 1:
            PartialState().wait_for_everyone()
