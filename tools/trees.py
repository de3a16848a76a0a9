"""The library as it was at a commit, beside the present one: its experiments, and what trials measure.

    tree = tree_at("2539183")     # unpacked into _run/same_bits/trees
    tree.ask()                    # its experiments: run function, rows, data
    tree.ask(experiment="story_qa/joint", row="d20-n3", data="simulated", seed=0)

Each tree answers from a process of its own, which imports that tree's library: `python tools/trees.py` there.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from threading import local
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "_run" / "same_bits"


class SameBitsError(Exception):
    """What stops the command; the message is printed as it is."""


@dataclass
class Tree:
    """A working tree, what its experiments are, and a process in it for each of our threads."""

    folder: Path
    name: str
    experiments: dict[str, dict[str, Any]] = field(default_factory=dict)
    _threads: local = field(default_factory=local)
    _hashes: dict[str, str] = field(default_factory=dict)

    def ask(self, **question: Any) -> Any:
        """Let a process in the tree answer one question; see `serve`."""
        process = getattr(self._threads, "process", None)
        if process is None or process.poll() is not None:
            process = self._threads.process = self._start()
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())
        except (OSError, ValueError):  # it is gone, killed for memory perhaps
            return {"error": f"the process ended with {process.wait()}"}

    def _start(self) -> subprocess.Popen[str]:
        environment = {
            **os.environ, "PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
            "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        KEPT.mkdir(parents=True, exist_ok=True)
        with (KEPT / f"{self.name}.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-W", "ignore", __file__],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def beside_code(self, topic: str) -> str:
        """Return a hash of what makes numbers beside code: a topic's bundled weights, and the libraries."""
        if topic in self._hashes:
            return self._hashes[topic]
        digest = hashlib.sha256(f"{sys.version} {version('torch')} {version('numpy')}".encode())
        for file in sorted((self.folder / "reasonlib" / topic).rglob("*.safetensors")):
            digest.update(file.read_bytes())
        self._hashes[topic] = digest.hexdigest()[:12]
        return self._hashes[topic]


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise SameBitsError(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout


def tree_at(commit: str) -> Tree:
    """Unpack the library as it was at a commit."""
    full = git("rev-parse", "--verify", f"{commit}^{{commit}}").decode().strip()
    folder = KEPT / "trees" / full[:12]
    if not (folder / ".complete").exists():
        with tarfile.open(fileobj=io.BytesIO(git("archive", full, "--", "reasonlib"))) as archive:
            archive.extractall(folder, filter="data")
        (folder / ".complete").touch()
    return Tree(folder, full[:12])


# Inside a tree ----------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer questions, one JSON line each: what experiments there are, and what a trial measures."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a trial prints does not mix with the answers
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = _trial(**question) if question else _list()
        except Exception as error:  # whatever it is, it is the answer
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _module() -> Any:
    try:
        from reasonlib.tracking import experiment
    except ImportError:
        from reasonlib import experiment  # type: ignore[attr-defined, no-redef]
    return experiment


def _runner() -> Any:
    """Return the module that runs experiments, which was a part of `experiment` before November 2026."""
    try:
        from reasonlib.tracking import runner
    except ImportError:
        return _module()
    return runner


def _list() -> dict[str, Any]:
    module = _module()
    try:
        from reasonlib.tracking.fingerprint import fingerprint
    except ImportError:
        fingerprint = None
    return {
        name: {
            "run": f"{experiment.run.__module__}:{experiment.run.__qualname__}",
            "fingerprint": fingerprint and fingerprint(experiment.run),
            "rows": {row: module.settings(experiment, row, "smoke") for row in experiment.rows},
            "data": dict(experiment.data),
        }
        for name, experiment in module.experiments().items()
        if "smoke" in experiment.scales
    }


def _trial(
    experiment: str, row: str, data: str, seed: int, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    import random

    import numpy
    import torch

    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    module = _module()
    definition = module.find(experiment)
    if settings is not None:
        definition = replace(definition, rows={row: _tuples(settings)}, scales={"smoke": {}})
    (record,) = _runner().run(definition, rows=row, data=data, seeds=seed, scale="smoke", device="cpu")
    return {"metrics": dict(record.metrics), "steps": record.steps.done}


def _tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


if __name__ == "__main__":
    serve()
