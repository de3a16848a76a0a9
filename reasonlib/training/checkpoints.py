"""Weights and checkpoints on disk: safetensors and JSON, written atomically.

A file is written as a draft beside the final path, synced, and then renamed, so that a process killed at any
moment leaves either the old file or the new one. Nothing is pickled.

A folder may hold ``SHA256SUMS``, as ``sha256sum`` writes it: a file listed there is checked when it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from reasonlib.errors import UserError

__all__ = ["SUMS", "Checkpoints", "load_weights", "save_weights", "verify", "weights_metadata"]

SUMS = "SHA256SUMS"


def save_weights(
    path: str | Path,
    model: nn.Module | Mapping[str, Tensor],
    *,
    half: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """Write a model's weights as safetensors, atomically.

    Parameters
    ----------
    path : str or Path
        The file; its folder is made if it is absent.
    model : torch.nn.Module or mapping of str to Tensor
        The model, or its ``state_dict``. Tensors that share memory (tied weights) are stored once.
    half : bool
        Store floating-point tensors in 16 bits (IEEE half precision).
    metadata : mapping, optional
        What to say about the weights; values that are not text are stored as JSON. See `weights_metadata`.

    Raises
    ------
    UserError
        If a weight is not finite in half precision, or the file cannot be written.
    """
    path = Path(path)
    tensors: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    seen: dict[Any, str] = {}
    storages: set[int] = set()
    for name, tensor in (model.state_dict() if isinstance(model, nn.Module) else model).items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"weights must be tensors, got {type(tensor).__name__} for {name!r}")
        tensor = tensor.detach()
        key = (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and key in seen:
            aliases[name] = seen[key]
            continue
        seen[key] = name
        stored = tensor.to("cpu", torch.float16 if half and tensor.is_floating_point() else None).contiguous()
        if half and tensor.is_floating_point() and not bool(torch.isfinite(stored).all()):
            raise UserError(f"{name!r} has values that half precision cannot hold; save with half=False")
        storage = stored.untyped_storage()
        if storage.data_ptr() in storages or storage.nbytes() != stored.numel() * stored.element_size():
            stored = stored.clone()
        storages.add(storage.data_ptr())
        tensors[name] = stored
    header = {k: v if isinstance(v, str) else json.dumps(v) for k, v in (metadata or {}).items()}
    if aliases:
        header["aliases"] = json.dumps(aliases)
    with _replacing(path) as draft:
        try:
            save_file(tensors, draft, metadata=header or None)
        except SafetensorError as error:  # a full disk, for one: safetensors does not raise an OSError
            raise UserError(f"{path}: the weights could not be written ({error})") from error
    if path.name in (sums := _checksums(path.parent)):
        sums[path.name] = _sha256(path)
        with _replacing(path.parent / SUMS) as draft:
            draft.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))
    return path


def verify(path: str | Path) -> None:
    """Check a file against the ``SHA256SUMS`` of its folder; a file that is not listed there passes.

    Raises
    ------
    UserError
        If the file is not the one that was listed.
    """
    path = Path(path)
    expected = _checksums(path.parent).get(path.name)
    if expected is not None and path.is_file() and _sha256(path) != expected:
        raise UserError(f"{path}: damaged (its checksum differs from {SUMS}); install the library again")


def _checksums(folder: Path) -> dict[str, str]:
    """Return name to digest from the folder's ``SHA256SUMS``; nothing where there is none."""
    file = folder / SUMS
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def load_weights(path: str | Path) -> dict[str, Tensor]:
    """Read what `save_weights` wrote, tied weights under each of their names, on the CPU.

    Raises
    ------
    UserError
        If the file is absent, cut short, not safetensors, or not the one of its checksum.
    """
    verify(path)
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        header = (file.metadata() or {}).get("aliases", "{}")
    try:
        return tensors | {alias: tensors[name] for alias, name in json.loads(header).items()}
    except (ValueError, KeyError, AttributeError) as error:
        raise UserError(f"{path}: its list of tied weights is damaged; make it again") from error


def weights_metadata(path: str | Path) -> dict[str, str]:
    """Read the metadata that `save_weights` stored with the weights.

    Raises
    ------
    UserError
        If the file is absent, cut short or not safetensors.
    """
    with _opened(path) as file:
        return {k: v for k, v in (file.metadata() or {}).items() if k != "aliases"}


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    if not Path(path).is_file():
        raise UserError(f"there are no weights at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path} is not a safetensors file or was cut short ({error}); make it again"
        ) from None


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Give a draft's path; on leaving, put the draft in the place of `path` in one motion, on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.touch()
        mode = draft.stat().st_mode  # as the user's other files; safetensors would let no one else read it
        yield draft
        draft.chmod(mode)
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # a folder cannot be synced on every system
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@dataclass
class Loaded:
    """A checkpoint as read: its number, its JSON, its tensors, and the weights of the best epoch so far."""

    serial: int
    content: dict[str, Any]
    tensors: dict[str, Tensor]
    best: dict[str, Tensor] | None


class Checkpoints:
    """A folder with a run's last two checkpoints and the weights of its best epoch.

    A checkpoint is ``checkpoint-<serial>.safetensors`` and, written after it, ``checkpoint-<serial>.json``,
    which names every file it needs with its SHA-256. A checkpoint without its JSON was never finished, and is
    ignored.
    """

    KEPT = 2
    FORMAT = 1

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"checkpoint must be a folder, and {folder} is a file")
        self.folder = folder
        self.run: dict[str, Any] = json.loads(json.dumps({"format": self.FORMAT, **run}))
        self.kept: list[tuple[int, set[str]]] = []
        self.serial = 0

    def load(self) -> Loaded | None:
        """Return the newest checkpoint that is whole; None where there is none at all.

        Raises
        ------
        UserError
            If the folder belongs to another run, or none of its checkpoints is whole.
        """
        reason = ""
        for path in sorted(self._ours("json"), reverse=True):
            self.serial = max(self.serial, _serial(path))
            try:
                loaded = self._read(path)
            except _OtherRunError:
                raise
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                reason = reason or f"{path.name}: {error}"
                continue
            if reason:
                warnings.warn(f"a checkpoint is damaged ({reason}); going on from {path.name}", stacklevel=3)
            self.kept = [(loaded.serial, {path.name, *loaded.content["files"]})]
            return loaded
        if reason:
            raise UserError(
                f"no checkpoint in {self.folder} is whole ({reason}); delete the folder to start again"
            )
        return None

    def _read(self, path: Path) -> Loaded:
        content = json.loads(path.read_text(encoding="utf-8"))
        self.refuse_other(differences(content["run"], self.run), "configuration")
        weights = {}
        for name, digest in content["files"].items():
            if not (self.folder / name).is_file():
                raise ValueError(f"{name} is missing")
            if _sha256(self.folder / name) != digest:
                raise ValueError(f"{name} was cut short or changed")
            weights[name] = load_weights(self.folder / name)
        tensors, best = weights[f"{path.stem}.safetensors"], weights.get(content["best_file"])
        return Loaded(_serial(path), content, tensors, best)

    def refuse_other(self, different: list[str], what: str) -> None:
        """Raise the error that says how the folder's run differs from this one, if it does.

        Raises
        ------
        UserError
            If there is a difference.
        """
        if different:
            shown = "; ".join(different[:3]) + (
                f"; and {len(different) - 3} more" if len(different) > 3 else ""
            )
            raise _OtherRunError(
                f"{self.folder} holds a run of another {what} ({shown}); "
                "use another folder, or delete this one to start again"
            )

    def save(
        self,
        content: Mapping[str, Any],
        tensors: Mapping[str, Tensor],
        best: Mapping[str, Tensor] | None,
        best_row: Mapping[str, float] | None,
    ) -> None:
        """Write one checkpoint; then, and only then, drop those that are no longer needed.

        Parameters
        ----------
        content, tensors
            What to store: JSON values, and tensors.
        best, best_row
            The weights of the best epoch so far and its row of the history, which has its ``epoch``.
        """
        self.serial += 1
        stem = f"checkpoint-{self.serial:06d}"
        names = [save_weights(self.folder / f"{stem}.safetensors", tensors).name]
        best_file = None
        if best is not None and best_row is not None:
            best_file = f"best-{best_row['epoch']:06d}.safetensors"
            if not any(best_file in files for _, files in self.kept):
                save_weights(self.folder / best_file, best, metadata=best_row)
            names.append(best_file)
        content = {
            **content,
            "run": self.run,
            "best_file": best_file,
            "files": {name: _sha256(self.folder / name) for name in names},
        }
        with _replacing(self.folder / f"{stem}.json") as draft:
            draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
        self.kept = [*self.kept, (self.serial, {f"{stem}.json", *names})][-self.KEPT :]
        needed = set().union(*(files for _, files in self.kept))
        for path in (*self._ours("json"), *self._ours("safetensors"), *self.folder.glob(".*.draft")):
            if path.name not in needed:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _ours(self, ending: str) -> list[Path]:
        pattern = re.compile(rf"(checkpoint|best)-\d{{6}}\.{ending}")
        return [path for path in self.folder.glob(f"*.{ending}") if pattern.fullmatch(path.name)]


class _OtherRunError(UserError):
    """A checkpoint that belongs to another run."""


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Say in which values two nested mappings differ, one text a value.

    Examples
    --------
    >>> differences({"lr": 0.1, "seed": 0}, {"lr": 0.2, "seed": 0})
    ['lr is 0.1 there, 0.2 here']
    """
    messages = []
    for name in [*there, *(name for name in here if name not in there)]:
        a, b = there.get(name, "absent"), here.get(name, "absent")
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            messages += differences(a, b)
        elif a != b:
            messages.append(f"{name} is {a} there, {b} here")
    return messages


def _serial(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
