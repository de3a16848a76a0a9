"""A trained memory network as a system that answers: from dialogues to responses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from reasonlib.goal_dialogue.data.encoding import Batch, EncodedTask, TurnSet, encode
from reasonlib.goal_dialogue.data.example import Dialogue, Example, Turn
from reasonlib.goal_dialogue.models.memory_network import MemoryNetwork, MemoryNetworkOutput

__all__ = ["MemoryNetworkSystem", "predict"]


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


@torch.no_grad()
def predict(model: MemoryNetwork, turns: TurnSet, *, batch_size: int = 256) -> np.ndarray:
    """Index of the candidate a network gives at every turn, shape (N,)."""
    training = model.training
    model.eval()
    device = _device(model)
    predictions = [
        model(turns.batch(range(start, min(start + batch_size, len(turns))), slots=model.slots).to(device))
        .logits.argmax(1)
        .cpu()
        for start in range(0, len(turns), batch_size)
    ]
    model.train(training)
    return torch.cat(predictions).numpy()


@dataclass(frozen=True)
class MemoryNetworkSystem:
    """A trained network with its vocabulary and candidates: a `system.System`.

    Attributes
    ----------
    model
        A trained model.
    task
        What it was trained on: its vocabulary, candidates and types are used, its sets are not.
    facts
        Whether it remembers what API calls returned.
    """

    model: MemoryNetwork
    task: EncodedTask
    facts: bool = True

    def batch(self, examples: Sequence[Example]) -> Batch:
        """Encode some turns as the network reads them; the latest sentence is the last filled slot."""
        dialogues = [
            Dialogue(task=example.task, events=(*example.history, Turn(example.user, example.response)))
            for example in examples
        ]
        turns = encode(
            dialogues,
            self.task.vocabulary,
            self.task.candidates,
            facts=self.facts,
            entities={entity: index for index, entity in enumerate(self.task.types)} or None,
        )
        last = np.flatnonzero(np.diff(turns.dialogue, append=len(dialogues)))
        return turns.batch(last, slots=self.model.slots).to(_device(self.model))

    @torch.no_grad()
    def ask(self, examples: Sequence[Example]) -> MemoryNetworkOutput:
        """Give logits (B, C), attention and gates at some turns."""
        return self.model(self.batch(examples))

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response to each example: one of the candidates."""
        answers: list[str] = []
        for start in range(0, len(examples), 256):
            logits = self.ask(examples[start : start + 256]).logits
            answers += [self.task.candidates[index] for index in logits.argmax(1).tolist()]
        return answers
