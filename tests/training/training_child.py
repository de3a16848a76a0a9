"""A small training run for the tests: in their process, in one that is killed, and in several at once.

As a script: ``training_child.py kill FOLDER KILLS`` trains in FOLDER once for each of KILLS, in a process of
its own that is killed with SIGKILL at a step (``step:12``) or when it puts a file in its place
(``replace:4``); ``training_child.py several FOLDER`` runs every case of `CASES` in this process group and
writes the results to FOLDER.
"""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

from reasonlib.training import TrainingConfig, fit, save_weights, seeded

WORDS, CLASSES = 30, 6


class Model(nn.Module):
    """Embeddings shared by input and output, dropout, and a layer that no loss uses."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 8)
        self.hidden = nn.Linear(8, 8)
        self.out = nn.Linear(8, WORDS, bias=False)
        self.out.weight = self.words.weight
        self.unused = nn.Linear(2, 2)
        self.dropout = nn.Dropout(dropout)

    def read(self, words: Tensor) -> Tensor:
        return self.out(self.dropout(torch.tanh(self.hidden(self.words(words).mean(1)))))


def make(dropout: float = 0.0, seed: int = 3) -> Model:
    with seeded(seed):
        return Model(dropout)


def examples(count: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    words = torch.randint(WORDS, (count, 4), generator=generator)
    return words, words[:, 0]


def batches_of(count: int, size: int):
    words, answers = examples(count)

    def batches(epoch: int):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(epoch))
        for items in order.split(size):
            yield {"words": words[items], "answers": answers[items]}

    return batches


def cross_entropy(model: Model, batch: dict[str, Tensor]) -> Tensor:
    return nn.functional.cross_entropy(model.read(batch["words"]), batch["answers"])


def accuracy(model: Model) -> dict[str, float]:
    words, answers = examples(40)
    return {"accuracy": (model.read(words).argmax(-1) == answers).float().mean().item()}


def digest(model: nn.Module) -> str:
    """SHA-256 of all weights, bit by bit."""
    total = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        total.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return total.hexdigest()


def rows_of(history) -> list[dict[str, float]]:
    """Rows without the seconds, which no two runs share."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in history]


# 4 epochs of 7 batches in groups of 2: the last group of an epoch is one batch, of 1 example.
RESUMED = TrainingConfig(
    epochs=4,
    lr=0.05,
    optimiser="adamw",
    weight_decay=0.1,
    clip=1.0,
    schedule="linear",
    warmup=3,
    accumulate=2,
    seed=7,
    restore_best=True,
)


def resumable(folder: Path | None, *, loss=cross_entropy, config: TrainingConfig = RESUMED, **options):
    """Train with dropout, noise from a generator, and a checkpoint at every second step."""
    model = make(dropout=0.3)
    noise = torch.Generator().manual_seed(11)

    def noisy(model: Model, batch: dict[str, Tensor]) -> Tensor:
        return loss(model, batch) * (1 + 0.1 * torch.rand((), generator=noise))

    settings = {"save_every": 2, "validate": accuracy, "generators": {"noise": noise}} | options
    history = fit(model, batches_of(31, 5), loss=noisy, config=config, checkpoint=folder, **settings)
    return history, model


def killed(folder: Path, *, step: int = 0, replace: int = 0) -> None:
    """Train until the process is killed at a call of the loss or of `os.replace`."""
    calls = {"loss": 0, "replace": 0}
    put = os.replace

    def loss(model: Model, batch: dict[str, Tensor]) -> Tensor:
        calls["loss"] += 1
        if calls["loss"] == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return cross_entropy(model, batch)

    def replacing(source, target) -> None:
        calls["replace"] += 1
        if calls["replace"] == replace:
            os.kill(os.getpid(), signal.SIGKILL)
        put(source, target)

    os.replace = replacing
    resumable(folder, loss=loss)


def newest(folder: Path) -> int:
    """Return the step of the newest checkpoint."""
    return json.loads(max(folder.glob("checkpoint-*.json")).read_text())["state"]["step"]


STEPPED = {"optimiser": "sgd", "momentum": 0.9, "clip": 0.5, "schedule": "step", "step_every": 1}
CASES = {
    "sgd": TrainingConfig(epochs=3, lr=0.5, **STEPPED),
    "adam": TrainingConfig(epochs=3, lr=0.01, weight_decay=0.01, accumulate=3, schedule="linear", warmup=2),
    "early": TrainingConfig(epochs=9, lr=0.01, optimiser="adamw", weight_decay=0.01, patience=2),
}


def case(name: str, folder: Path | None, results: Path | None = None) -> tuple[dict, Model]:
    """Run a case in two calls of `fit`: out of its minutes after one step, then to the end."""
    rank = int(os.environ.get("RANK", "0"))
    model = make(seed=3 + rank)  # the main process's weights must prevail
    config = CASES[name]
    validations = 0

    def validate(model: Model) -> dict[str, float]:
        nonlocal validations
        validations += 1
        if name == "early":
            return {"accuracy": 0.5 if validations == 2 else 0.1}
        return accuracy(model)

    first = TrainingConfig(**{**vars(config), "minutes": 0})
    options = {"loss": cross_entropy, "validate": validate, "checkpoint": folder and folder / name}
    begun = fit(model, batches_of(31, 5), config=first, **options)
    model = make()  # another start: the checkpoint must prevail
    history = fit(model, batches_of(31, 5), config=config, **options)
    result = {
        "first": [begun.stopped, begun.steps_done],
        "stopped": history.stopped,
        "rows": rows_of(history),
        "validations": validations,
        "digest": digest(model),
    }
    if results is not None:
        (results / f"{name}-{rank}.json").write_text(json.dumps(result))
        save_weights(results / f"{name}-{rank}.safetensors", model)
    return result, model


if __name__ == "__main__":
    torch.set_num_threads(1)
    command, root = sys.argv[1], Path(sys.argv[2])
    if command == "kill":
        resumable(None)  # imports what is loaded lazily, once for all children
        for kill in sys.argv[3:]:
            what, _, number = kill.partition(":")
            if not (child := os.fork()):
                killed(root, **{what: int(number)})
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), newest(root), flush=True)
    else:
        for name in CASES:
            case(name, root / "checkpoints", root)
