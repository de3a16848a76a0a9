"""What a record says of the machine and the code: device, versions, commit, fingerprint."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reasonlib
from reasonlib.errors import UserError
from reasonlib.tracking.equivalence import RUN
from reasonlib.tracking.fingerprint import fingerprint

if TYPE_CHECKING:
    from reasonlib.tracking.experiment import Experiment

__all__ = ["choose_device", "commit", "describe_device", "facts", "leads"]

LIBRARIES = ("torch", "numpy", "accelerate", "transformers")


def choose_device(name: str) -> str:
    """Return a device that is there; a CUDA card if there is one, else the CPU, for an empty name."""
    if name == "cpu":
        return name
    try:
        import torch
    except ImportError:
        if name:
            raise UserError(f"the device {name} needs torch") from None
        return "cpu"
    cards = torch.cuda.device_count()
    if not name:
        if not cards or os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
            return "cpu"
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % cards)  # each process its own card
        return "cuda"
    if name == "mps":
        if not torch.backends.mps.is_available():
            raise UserError("there is no mps device here; use --device cpu")
    elif int(name.partition(":")[2] or 0) >= cards:
        raise UserError(f"there is no device {name} here ({cards} CUDA cards); use --device cpu")
    return name


def describe_device(device: str) -> str:
    """Name a device and its hardware."""
    if device.startswith("cuda"):
        import torch

        return f"{device} ({torch.cuda.get_device_name(device)})"
    return f"{device} ({platform.machine()}, {os.cpu_count()} cores)"


def facts(experiment: "Experiment") -> dict[str, Any]:
    """Return what all records of one call share, before the first trial: code may be edited meanwhile."""
    versions = {"python": platform.python_version(), "reasonlib": reasonlib.__version__}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return {"versions": versions, "commit": commit(), "code": {RUN: fingerprint(experiment.run)}}


def leads() -> bool:
    """Whether this process writes: it is alone, or the first of those that ``accelerate launch`` started."""
    return os.environ.get("RANK", "0") == "0"


def commit() -> str | None:
    """Return the commit of the package, with ``+dirty`` for changed files; None outside a repository."""
    package = Path(reasonlib.__file__).parent
    # An installed copy may lie inside somebody else's repository: the package itself must be tracked.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    head = _git(package, "rev-parse", "HEAD")
    if head is None:
        return None
    return head + "+dirty" if _git(package, "status", "--porcelain", "--", ".") else head


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments], cwd=folder, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
