"""A public memory network trained beside ours: the same files, as many epochs, one thread each.

The other one is the NumPy version of the authors' code (Khuc 2016). `REASONLIB_PEER_MEMN2N` names a checkout
that runs on this Python: after ``2to3``, ``np.int`` is ``int`` and ``zip(*tmp)`` is ``tuple(zip(*tmp))``. It
trains in a process of its own, with its own settings. Its speed and ours are in questions a second of
processor time, which does not count what else the machine does.
"""

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reasonlib import data
from reasonlib.errors import UserError
from reasonlib.story_qa.data.corpus import CORPORA, path_of, read
from reasonlib.story_qa.data.datasets import DATA, load, version
from reasonlib.story_qa.data.encoding import build_vocabulary, encode_ordered
from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.experiments.memory import FULL, Recipe, accuracy, build, learn
from reasonlib.story_qa.experiments.per_task import RestartsRecipe, evaluate_restarts, kept, train_restarts
from reasonlib.story_qa.models.restarts import Restarts, RestartsConfig
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset
from reasonlib.training.settings import construct

__all__ = ["VARIABLE", "PeerNetwork", "checkout", "one_thread", "run_peer", "trained"]

VARIABLE = "REASONLIB_PEER_MEMN2N"

_DRIVER = """
import io, os, sys, time
said = os.fdopen(os.dup(1), "w")
sys.stdout = open(os.devnull, "w")
folder, seed, *files = sys.argv[1:]
sys.path.insert(0, folder)
import numpy
from config import BabiConfig, BabiConfigJoint
from train_test import test, train, train_linear_start
from util import build_model, parse_babi_task
numpy.random.seed(int(seed))
dictionary, tasks = {"nil": 0}, len(files) // 2
learnt = parse_babi_task(files[:tasks], dictionary, False)
asked = [parse_babi_task([name], dictionary, False) for name in files[tasks:]]
config = (BabiConfig if tasks == 1 else BabiConfigJoint)(learnt[0], learnt[1], dictionary)
network = build_model(config)
sizes = config.train_config["in_dim"], config.nhops, config.batch_size, config.train_config["sz"]
print(*sizes, len(config.train_range), file=said, flush=True)
for line in sys.stdin:
    linear, config.nepochs = map(int, line.split())
    start = time.process_time()
    if linear:
        config.ls_nepochs, config.ls_lrate_decay_step = linear, linear + 1
        train_linear_start(*learnt, *network, config)
    elif config.nepochs:
        train(*learnt, *network, config)
    numbers = [time.process_time() - start]
    if not config.nepochs:
        sys.stdout = io.StringIO()
        for one in asked:
            test(*one, *network, config)
        lines, sys.stdout = sys.stdout.getvalue().splitlines(), open(os.devnull, "w")
        numbers = [line.split()[-1] for line in lines if line.strip()]
    print(*numbers, file=said, flush=True)
"""


def checkout() -> Path:
    """Find the checkout of the other implementation.

    Raises
    ------
    UserError
        If `REASONLIB_PEER_MEMN2N` names none.
    """
    name = os.environ.get(VARIABLE, "")
    if not (Path(name) / "train_test.py").is_file():
        raise UserError(
            f"{VARIABLE} must name a checkout of vinhkhuc/MemN2N-babi-python that runs on this Python, "
            f"got {name!r}"
        )
    return Path(name).resolve()


class PeerNetwork:
    """The other implementation's network for one task or for several at once, in a process of its own.

    Parameters
    ----------
    folder
        See `checkout`.
    learnt, asked
        A file a task, to learn from and to test on. With one task its settings are those it has for one, and
        the last tenth of the questions is its validation set; with several they are its settings for joint
        training, and that tenth is drawn from all.
    seed
        Of NumPy there.

    Attributes
    ----------
    width, hops, batch, slots, questions
        Its settings, and how many questions it learns from.
    """

    def __init__(self, folder: Path, learnt: Sequence[Path], asked: Sequence[Path], *, seed: int = 0) -> None:
        one_thread_each = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _DRIVER, str(folder), str(seed), *map(str, (*learnt, *asked))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | one_thread_each,
        )
        self.width, self.hops, self.batch, self.slots, self.questions = map(int, self._answer().split())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.close()
            raise UserError(
                f"the network in {VARIABLE} ended early; does its babi_runner.py run on this Python?"
            )
        return line

    def _ask(self, linear: int, epochs: int) -> list[float]:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # then it ended early, which the answer tells
            self.process.stdin.write(f"{linear} {epochs}\n")
            self.process.stdin.flush()
        return [float(number) for number in self._answer().split()]

    def train(self, epochs: int, *, linear: int = 0) -> float:
        """Train on, `linear` epochs without the softmax first; return the seconds of processor time."""
        return self._ask(linear, epochs)[0]

    def errors(self) -> list[float]:
        """Share of wrong answers to each task's test questions; it leaves out the few that fill no batch."""
        return self._ask(0, 0)

    def close(self) -> None:
        """End its process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self) -> "PeerNetwork":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_peer(trial: Trial) -> Measured:
    """Train the other network, ours once, and ours from several starts; measure the errors and speeds.

    Each has its own recipe; as many questions pass through one network of ours as through the other.
    """
    settings, folder = trial.settings, data.locate(CORPORA["babi"])
    recipe = RestartsRecipe(epochs=settings["epochs"], halve_every=settings["halve_every"])
    train_examples, test_examples = (
        read(folder, settings["task"], split, "en") for split in ("train", "test")
    )
    files = ([path_of(folder, settings["task"], split, "en")] for split in ("train", "test"))
    with PeerNetwork(checkout(), *files, seed=trial.seed) as port:
        rate, errors = trained(port, recipe.epochs - settings["port_linear"], settings["port_linear"])
        metrics = {"port.error": errors[0], "port.rate": rate}

    held_out, vocabulary = len(train_examples) // 10, build_vocabulary((*train_examples, *test_examples))
    width = settings["width"]
    train = encode_ordered(train_examples[:-held_out], vocabulary, width)
    valid = encode_ordered(train_examples[-held_out:], vocabulary, width, like=train)
    test = encode_ordered(test_examples, vocabulary, width, like=train)
    slots = min(50, math.ceil((1 + recipe.noise) * int(train.lengths.max())))  # room for the empty ones
    steps = 0
    for name, starts in (("warm", 1), ("one", 1), ("together", settings["restarts"])):
        sizes = {"restarts": starts, "width": width, "hops": port.hops, "slots": slots}
        model = Restarts(RestartsConfig(vocabulary=len(vocabulary), **sizes), seed=trial.seed)

        def validate(_: dict[str, Any], model: Restarts = model) -> None:
            evaluate_restarts(model, valid)  # as the other one does after every epoch

        with one_thread():
            clock = time.process_time()
            plan = RestartsRecipe(epochs=1) if name == "warm" else recipe
            history = train_restarts(model, train, plan, seed=trial.seed, progress=False, on_epoch=validate)
            seconds = time.process_time() - clock
        if name == "warm":  # what the first call in a process makes is made
            continue
        test_result, best = (
            evaluate_restarts(model, test),
            kept(evaluate_restarts(model, train), evaluate_restarts(model, valid)),
        )
        rate = starts * history.steps_done * recipe.batch_size / seconds
        metrics |= {f"{name}.error": float(test_result.error[best]), f"{name}.rate": rate}
        metrics |= {f"{name}.speed": rate / metrics["port.rate"]}
        steps += history.steps_done
    metrics["together.mean_error"] = float(test_result.error.mean())
    return Measured(metrics=metrics, steps_done=steps, steps_planned=steps)


def trained(port: PeerNetwork, epochs: int, linear: int) -> tuple[float, list[float]]:
    """Train the other network; its questions a second of processor time, and its errors."""
    seconds = port.train(epochs, linear=linear)
    questions = (epochs + linear) * (port.questions // port.batch) * port.batch
    return questions / seconds, port.errors()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep Torch to one thread for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


PEER = Experiment(
    name="story_qa/peer",
    title="A public memory network and ours on the same questions, errors and speeds in one run",
    rows={f"qa{task}": {"task": task, "width": 32} for task in TASKS},
    scales=by_scale(
        epochs=(6, 30, 120), restarts=(2, 10, 10), halve_every=(2, 10, 40), port_linear=(1, 5, 20)
    ),
    data=subset(DATA, "babi-1k"),
    run=run_peer,
    version=version,
)


def run_peer_joint(trial: Trial) -> Measured:
    """Train the public network on all tasks at once, as it does so, then ours; measure errors and speeds."""
    settings, folder = trial.settings, data.locate(CORPORA["babi"])
    tasks, linear = settings["tasks"], settings["port_linear"]
    files = ([path_of(folder, task, split, "en") for task in tasks] for split in ("train", "test"))
    with PeerNetwork(checkout(), *files, seed=trial.seed) as other:
        rate, errors = trained(other, settings["port_epochs"], linear)
    metrics = {"port.error": float(np.mean(errors)), "port.rate": rate}
    metrics |= {f"port.error.qa{task}": error for task, error in zip(tasks, errors, strict=True)}

    splits, recipe = load("babi-1k", tasks=tasks), construct(Recipe, settings)
    with one_thread():
        model, sets = build(splits, settings, trial.seed)
        # what the first call in a process makes is made before the clock starts
        learn(model, sets["valid"], replace(recipe, epochs=1), progress=False)
        model, sets = build(splits, settings, trial.seed)
        clock = time.process_time()
        history = learn(model, sets["train"], recipe, valid=sets["valid"], seed=trial.seed, progress=False)
        seconds = time.process_time() - clock
    result = accuracy(model, sets["test"])
    rate = len(sets["train"]) * len(history) / seconds
    metrics |= {
        "one.error": 1 - result["accuracy"],
        "one.rate": rate,
        "one.speed": rate / metrics["port.rate"],
    }
    metrics |= {f"one.error.qa{task}": 1 - result[f"accuracy.qa{task}"] for task in tasks}
    return Measured(metrics=metrics, steps_done=history.steps_done, steps_planned=history.steps_planned)


PEER_JOINT = Experiment(
    name="story_qa/peer-joint",
    title="A public memory network and ours trained on all tasks at once, errors and speeds in one run",
    rows={"all": {**FULL, "tasks": TASKS}},
    scales={
        "smoke": {"epochs": 2, "warmup": 5, "port_epochs": 1, "port_linear": 1},
        "quick": {"epochs": 9, "port_epochs": 6, "port_linear": 3},
        "paper": {"epochs": 90, "port_epochs": 60, "port_linear": 30},
    },
    data=subset(DATA, "babi-1k"),
    run=run_peer_joint,
    version=version,
)
