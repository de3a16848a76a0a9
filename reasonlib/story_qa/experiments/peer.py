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
from pathlib import Path
from typing import Any

import torch

from reasonlib import data
from reasonlib.errors import UserError
from reasonlib.story_qa.data.corpus import CORPORA, path_of, read
from reasonlib.story_qa.data.encoding import build_vocabulary
from reasonlib.story_qa.experiments.restarts import (
    Restarts,
    RestartsConfig,
    RestartsRecipe,
    encode_ordered,
    kept,
    learn_restarts,
    try_all,
)
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["VARIABLE", "Port", "checkout", "one_thread", "run_beside", "trained"]

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


class Port:
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
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _DRIVER, str(folder), str(seed), *map(str, (*learnt, *asked))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | one,
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

    def __enter__(self) -> "Port":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_beside(trial: Trial) -> Measured:
    """Train the other network, ours once, and ours from several starts; measure the errors and speeds.

    Each has its own recipe; as many questions pass through one network of ours as through the other.
    """
    settings, folder = trial.settings, data.locate(CORPORA["babi"])
    recipe = RestartsRecipe(epochs=settings["epochs"], halve_every=settings["halve_every"])
    learnt, asked = (read(folder, settings["task"], split, "en") for split in ("train", "test"))
    files = ([path_of(folder, settings["task"], split, "en")] for split in ("train", "test"))
    with Port(checkout(), *files, seed=trial.seed) as port:
        rate, errors = trained(port, recipe.epochs - settings["port_linear"], settings["port_linear"])
        metrics = {"port.error": errors[0], "port.rate": rate}

    held, vocabulary = len(learnt) // 10, build_vocabulary((*learnt, *asked))
    width = settings["width"]
    train = encode_ordered(learnt[:-held], vocabulary, width)
    valid = encode_ordered(learnt[-held:], vocabulary, width, like=train)
    test = encode_ordered(asked, vocabulary, width, like=train)
    slots = min(50, math.ceil((1 + recipe.noise) * int(train.lengths.max())))  # room for the empty ones
    steps = 0
    for name, starts in (("warm", 1), ("one", 1), ("together", settings["restarts"])):
        sizes = {"restarts": starts, "width": width, "hops": port.hops, "slots": slots}
        model = Restarts(RestartsConfig(vocabulary=len(vocabulary), **sizes), seed=trial.seed)

        def validate(_: dict[str, Any], model: Restarts = model) -> None:
            try_all(model, valid)  # as the other one does after every epoch

        with one_thread():
            clock = time.process_time()
            plan = RestartsRecipe(epochs=1) if name == "warm" else recipe
            history = learn_restarts(model, train, plan, seed=trial.seed, progress=False, on_epoch=validate)
            seconds = time.process_time() - clock
        if name == "warm":  # what the first call in a process makes is made
            continue
        tried, best = try_all(model, test), kept(try_all(model, train), try_all(model, valid))
        rate = starts * history.steps_done * recipe.batch_size / seconds
        metrics |= {f"{name}.error": float(tried.error[best]), f"{name}.rate": rate}
        metrics |= {f"{name}.speed": rate / metrics["port.rate"]}
        steps += history.steps_done
    metrics["together.mean_error"] = float(tried.error.mean())
    return Measured(metrics=metrics, steps_done=steps, steps_planned=steps)


def trained(port: Port, epochs: int, linear: int) -> tuple[float, list[float]]:
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
